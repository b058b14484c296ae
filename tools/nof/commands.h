/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Subcommands of `nof`. Each is a function with main's arguments (argv[0] is what argp calls itself,
 * "nof run") and main's result: 0 done, 1 the thing failed, 2 wrong usage; `run` answers with the
 * program's code, or 125..127 as env(1) does.
 *
 * To add one: write the function in a file of its own, declare it here, give it a line in the table of
 * commands.c (or bench.c). A function that is declared here and not linked (a build without DPDK, or without
 * the MPI library) is known to be missing, and `nof` says why. */
#ifndef NOF_COMMANDS_H
#define NOF_COMMANDS_H

#define NOF_OPTIONAL __attribute__((weak))

int nof_cmd_run(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_record(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_up(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_down(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_status(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_stats(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_features(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_set(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_devices(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_bind(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_unbind(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_doctor(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_bench(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_replay(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_schedule(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_sim(int argc, char **argv) NOF_OPTIONAL;
int nof_cmd_sim_alltoall(int argc, char **argv) NOF_OPTIONAL; /* `nof sim alltoall` */

/* `nof bench NAME`. With --json each prints exactly one object and nothing else on stdout, and exits 0
 * only if everything was measured. */
int nof_bench_path(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_match(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_mcast(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_core(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_cores(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_dfcm(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_strangers(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_stream(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_wire(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_hostile(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_pt2pt(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_channels(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_polling(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_staging(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_idle(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_overlap(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_neighbour(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_allgather(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_alltoall(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_coll(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_mixed(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_alltoallv(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_delta(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_partitioned(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_dsm(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_npb(int argc, char **argv) NOF_OPTIONAL;
int nof_bench_replay(int argc, char **argv) NOF_OPTIONAL;

/* One row of a table of commands; the table ends with name NULL. */
struct nof_command {
    const char *name;
    int (*run)(int argc, char **argv); /* NULL: not in this build */
    const char *help;
    const char *missing; /* what to say when it is not in this build */
};

/* Finds argv[1] in the table and runs it with the rest; prints the table for --help, the nearest name
 * for an unknown one. `self` is what the user typed so far ("nof", "nof bench"). */
int nof_commands_dispatch(const struct nof_command *table, const char *self, const char *about, int argc,
                          char **argv);

#endif
