/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench overlap`: how much of a non-blocking collective goes on while the ranks compute without a call of MPI: driven
 * by the NIC, driven by the host, and MPICH over loop-back TCP. Same source, same machine, in turn; medians. Before that
 * the first two in virtual time, on many simulated hosts. */
#include "../tools/nof/commands.h"
#include "lib/child.h"
#include "lib/option.h"
#include "lib/report.h"
#include "lib/scratch.h"
#include "lib/spawn.h"
#include "overlap_sim.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 32
#define COLLECTIVES_MAX 8
#define RUN_S 120
#define LOUD "/dev/stderr"

enum { OPT_HOSTS = 256, OPT_SIM_HOSTS, OPT_WHERE, OPT_RUNS, OPT_ROUNDS, OPT_BYTES };
enum driver { BY_NIC, BY_HOST, BY_MPICH, DRIVERS };

static const char *const driver_names[DRIVERS] = {"nic", "host", "mpich"};

struct figure {
    char collective[32];
    size_t n[DRIVERS];
    double overlap[DRIVERS][RUNS_MAX];
    double pure_us[DRIVERS][RUNS_MAX];
};

struct bench {
    bool json;
    bool in_sim, on_machine;
    int hosts, sim_hosts, runs;
    char ranks[16], rounds[16], bytes[16];
    char nof[NOF_BENCH_PATH_BYTES];
    char ours[NOF_BENCH_PATH_BYTES];
    char peer[NOF_BENCH_PATH_BYTES]; /* compiled at run time */
    const char *no_peer; /* why there is none */
    enum driver now; /* whose lines come */
    struct figure figure[COLLECTIVES_MAX];
    size_t figures;
};

static struct figure *figure_of(struct bench *b, const char *collective)
{
    for (size_t i = 0; i < b->figures; i++)
        if (strcmp(b->figure[i].collective, collective) == 0)
            return &b->figure[i];
    if (b->figures == COLLECTIVES_MAX)
        return NULL;
    struct figure *f = &b->figure[b->figures++];
    snprintf(f->collective, sizeof(f->collective), "%s", collective);
    return f;
}

static void take_line(void *ctx, const char *text)
{
    struct bench *b = ctx;
    char collective[32];
    double overlap, pure_us;

    if (sscanf(text, "row %31s %lf %lf", collective, &overlap, &pure_us) != 3)
        return;
    struct figure *f = figure_of(b, collective);
    if (f == NULL || f->n[b->now] == RUNS_MAX)
        return;
    f->overlap[b->now][f->n[b->now]] = overlap;
    f->pure_us[b->now][f->n[b->now]++] = pure_us;
}

static bool run_ours(struct bench *b, enum driver driver, const char *feature)
{
    char hosts[16];
    const char *const argv[] = {"env",    "-u",     "NOF_SOCKET", "-u",        "NOF_CONTROL",
                                b->nof,   "run",    "--hosts",    hosts,       "-n",
                                b->ranks, "--mtu",  "9000",       "--feature", feature,
                                b->ours,  b->bytes, b->rounds,    NULL};

    snprintf(hosts, sizeof(hosts), "%d", b->hosts);
    b->now = driver;
    return nof_bench_spawn(argv, LOUD, RUN_S, take_line, b) == 0;
}

static bool run_peer(struct bench *b)
{
    /* NOLOCAL: not through shared memory. */
    const char *const argv[] = {"env",
                                "UCX_TLS=tcp,self",
                                "MPIR_CVAR_NOLOCAL=1",
                                "mpiexec.hydra",
                                "-n",
                                b->ranks,
                                b->peer,
                                b->bytes,
                                b->rounds,
                                NULL};

    b->now = BY_MPICH;
    return nof_bench_spawn_peer(argv, NULL, RUN_S, take_line, b) == 0;
}

static void ignore_line(void *ctx, const char *text)
{
    (void)ctx;
    (void)text;
}

static void compile_peer(struct bench *b)
{
    const char *const argv[] = {
        "mpicc.mpich", "-O2", "-o", b->peer, NOF_BENCH_SOURCE_DIR "/programs/overlap_mpi.c", "-lm", NULL};

    if (!nof_bench_have("mpicc.mpich") || !nof_bench_have("mpiexec.hydra"))
        b->no_peer = "MPICH is not installed: apt install mpich libmpich-dev";
    else if (nof_bench_spawn(argv, LOUD, RUN_S, ignore_line, NULL) != 0)
        b->no_peer = "mpicc.mpich could not compile bench/programs/overlap_mpi.c";
}

static bool measure(struct bench *b)
{
    for (int i = 0; i < b->runs; i++) {
        nof_bench_progress("run %d of %d", i + 1, b->runs);
        if (!run_ours(b, BY_NIC, "collectives=nic") || !run_ours(b, BY_HOST, "collectives=host"))
            return false;
        if (b->no_peer == NULL && !run_peer(b))
            b->no_peer = "the MPICH program failed";
    }
    return true;
}

static json_t *result_of(struct bench *b, struct nof_bench_report *report, json_t *rows)
{
    for (size_t i = 0; i < b->figures; i++) {
        struct figure *f = &b->figure[i];
        json_t *row =
            json_pack("{s:s, s:i, s:s}", "collective", f->collective, "hosts", b->hosts, "where", "machine");

        for (int d = 0; d < DRIVERS; d++) {
            char name[32];

            snprintf(name, sizeof(name), "%s_pure_us", driver_names[d]);
            json_object_set_new(row, driver_names[d],
                                nof_bench_number(nof_bench_median(f->overlap[d], f->n[d])));
            json_object_set_new(row, name, nof_bench_number(nof_bench_median(f->pure_us[d], f->n[d])));
        }
        json_array_append_new(rows, row);
    }
    if (b->no_peer != NULL)
        nof_bench_skip(report, "mpich", b->no_peer);
    return json_pack("{s:o, s:i, s:i}", "rows", rows, "bytes", atoi(b->bytes), "runs", b->runs);
}

static void print_table(const struct nof_bench_report *report, const json_t *result)
{
    json_t *row;
    size_t i;

    printf("overlap, 1: the collective costs a computing rank nothing; us: the collective alone\n");
    printf("%-8s %5s %-12s %8s %8s %8s %12s %12s %12s\n", "where", "hosts", "collective", "nic", "host",
           "mpich", "nic us", "host us", "mpich us");
    json_array_foreach(json_object_get(result, "rows"), i, row)
    {
        printf("%-8s %5lld %-12s", json_string_value(json_object_get(row, "where")),
               (long long)json_integer_value(json_object_get(row, "hosts")),
               json_string_value(json_object_get(row, "collective")));
        for (int d = 0; d < DRIVERS; d++)
            printf(" %8s", nof_bench_cell(report, NULL, nof_bench_real(row, driver_names[d]), 3).text);
        for (int d = 0; d < DRIVERS; d++) {
            char name[32];

            snprintf(name, sizeof(name), "%s_pure_us", driver_names[d]);
            printf(" %12s", nof_bench_cell(report, NULL, nof_bench_real(row, name), 0).text);
        }
        printf("\n");
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;

    switch (key) {
    case OPT_HOSTS:
        b->hosts = (int)nof_number_option(arg, 1, 64, "--hosts", state);
        return 0;
    case OPT_SIM_HOSTS:
        b->sim_hosts = (int)nof_number_option(arg, 2, NOF_OVERLAP_SIM_HOSTS_MAX, "--sim-hosts", state);
        return 0;
    case OPT_WHERE:
        b->in_sim = strcmp(arg, "machine") != 0;
        b->on_machine = strcmp(arg, "sim") != 0;
        if (b->in_sim && b->on_machine && strcmp(arg, "both") != 0)
            argp_error(state, "--where is sim, machine or both");
        return 0;
    case OPT_RUNS:
        b->runs = (int)nof_number_option(arg, 1, RUNS_MAX, "--runs", state);
        return 0;
    case OPT_ROUNDS:
        snprintf(b->rounds, sizeof(b->rounds), "%u", nof_number_option(arg, 1, 100000, "--rounds", state));
        return 0;
    case OPT_BYTES:
        snprintf(b->bytes, sizeof(b->bytes), "%u", nof_number_option(arg, 1, 1 << 24, "--bytes", state));
        return 0;
    default:
        return nof_bench_option(key, arg, state, &b->json);
    }
}

int nof_bench_overlap(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"hosts", OPT_HOSTS, "H", 0, "simulated hosts, a rank each, 1 to 64 (4)", 0},
        {"sim-hosts", OPT_SIM_HOSTS, "H", 0, "in virtual time: 2, 4, 8, ... up to H, 2 to 64 (64)", 0},
        {"where", OPT_WHERE, "WHERE", 0, "sim (in virtual time), machine or both (both)", 0},
        {"bytes", OPT_BYTES, "N", 0, "of a block, in bytes (65536); in virtual time at most 1 MiB / hosts",
         0},
        {"runs", OPT_RUNS, "N", 0, "runs of each side, in turn; medians are printed (3)", 0},
        {"rounds", OPT_ROUNDS, "N", 0, "of a collective in a run (30)", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    const struct argp argp = {options, parse, NULL, "How much of a collective goes on while ranks compute.",
                              NULL,    NULL,  NULL};
    const char *dir;
    json_t *rows = json_array();
    struct bench *b = calloc(1, sizeof(*b));
    struct nof_bench_report report;
    json_t *result = NULL;
    bool complete = false;

    if (b == NULL)
        return 1;
    b->hosts = 4;
    b->sim_hosts = 64;
    b->in_sim = b->on_machine = true;
    b->runs = 3;
    snprintf(b->rounds, sizeof(b->rounds), "30");
    snprintf(b->bytes, sizeof(b->bytes), "65536");
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, b);
    if (b->in_sim)
        nof_overlap_sim_prepare();
    snprintf(b->ranks, sizeof(b->ranks), "%d", b->hosts);
    nof_bench_beside("nof", b->nof);
    nof_bench_beside("bench/overlap_mpi", b->ours);
    dir = nof_bench_scratch_for(argv[0], b->ours);
    if (dir == NULL) {
        free(b);
        return 1;
    }
    snprintf(b->peer, sizeof(b->peer), "%s/overlap_mpich", dir);
    if (b->on_machine)
        compile_peer(b);
    nof_bench_begin(&report, argv[0], b->json);
    if ((!b->in_sim || nof_overlap_sim_rows(rows, (unsigned)b->sim_hosts, (uint32_t)atoi(b->bytes))) &&
        (!b->on_machine || measure(b)))
        result = result_of(b, &report, json_incref(rows));
    if (result != NULL && !b->json)
        print_table(&report, result);
    if (result != NULL)
        complete = nof_bench_end(&report, result);
    else
        fprintf(stderr, "%s: a run failed; the message above says why\n", argv[0]);
    json_decref(rows);
    free(b);
    return complete ? 0 : 1;
}
