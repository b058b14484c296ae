/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench NAME`. */
#include "commands.h"

#include <stddef.h>

static const char needs_daemon[] = "it needs the daemon and the MPI library, and this build has none "
                                   "(" NOF_WHY_NO_MPI "); " NOF_HOW_MPI;
static const char needs_sources[] = "this build was made without it; run: ninja -C BUILD";

int nof_cmd_bench(int argc, char **argv)
{
    static const char about[] = "Each bench prints a table, or with --json exactly one object.";
    const struct nof_command table[] = {
        {"pt2pt", nof_bench_pt2pt, "latency and bandwidth of MPI messages, beside MPICH over TCP",
         needs_daemon},
        {"channels", nof_bench_channels, "two ranks of one host, by each channel, beside MPICH and Open MPI",
         needs_daemon},
        {"polling", nof_bench_polling,
         "what looking for messages costs, and gains by ratio and by what came last", needs_daemon},
        {"staging", nof_bench_staging, "time inside the receive of messages that came early, by prediction",
         needs_daemon},
        {"idle", nof_bench_idle, "what waiting costs: daemon, ranks, first message after silence",
         needs_daemon},
        {"overlap", nof_bench_overlap,
         "how much of a collective goes on while the ranks compute, beside MPICH", needs_daemon},
        {"alltoall", nof_bench_alltoall,
         "an all-to-all of many hosts on slow links, beside the limit, MPICH and Open MPI", needs_daemon},
        {"alltoallv", nof_bench_alltoallv, "the same of compiled communication, at its three levels",
         needs_daemon},
        {"allgather", nof_bench_allgather, "the same of an allgather, all at once and in phases",
         needs_daemon},
        {"delta", nof_bench_delta, "tasks that work on parts of messages, beside whole messages",
         needs_daemon},
        {"partitioned", nof_bench_partitioned, "frames of partitioned messages, beside MPICH (root)",
         needs_daemon},
        {"dsm", nof_bench_dsm,
         "barriers of a distributed shared memory, by compiled communication and without", needs_daemon},
        {"npb", nof_bench_npb, "IS and FT of the NAS Parallel Benchmarks, beside MPICH and Open MPI",
         needs_daemon},
        {"replay", nof_bench_replay, "collectives of recorded programs, beside the limit, MPICH and Open MPI",
         needs_daemon},
        {"coll", nof_bench_coll,
         "each algorithm of each collective; writes the table that the library chooses by", needs_daemon},
        {"mixed", nof_bench_mixed,
         "collectives over hosts, by the NIC and with the ranks of a host by memory", needs_daemon},
        {"wire", nof_bench_wire, "two hosts on a link, beside testpmd and MPICH over TCP (root)",
         needs_daemon},
        {"strangers", nof_bench_strangers,
         "a stream beside frames that XDP drops, beside a bare XDP_DROP (root)", needs_daemon},
        {"stream", nof_bench_stream,
         "recorded messages over a slow link, compression off, on, adaptive (root)", needs_daemon},
        {"hostile", nof_bench_hostile,
         "two hosts and a network that floods, forges, loses, marks, shrinks (root)", needs_daemon},
        {"neighbour", nof_bench_neighbour,
         "what a pair of ranks has left of the NIC beside others that attack it", needs_daemon},
        {"path", nof_bench_path, "goodput, loss, incast and fairness under a virtual clock", needs_sources},
        {"mcast", nof_bench_mcast,
         "broadcasts and scatters by multicast, beside trees, under a virtual clock", needs_sources},
        {"match", nof_bench_match, "instructions per match against the length of the list", needs_sources},
        {"core", nof_bench_core, "instructions per message and per frame through the core", needs_sources},
        {"cores", nof_bench_cores, "two simulated NICs on two cores beside one: CPU time, instructions",
         needs_sources},
        {"dfcm", nof_bench_dfcm, "ratio and speed of the codec, beside a literal one, lz4 and zstd",
         needs_sources},
        {NULL, NULL, NULL, NULL},
    };

    return nof_commands_dispatch(table, argv[0], about, argc, argv);
}
