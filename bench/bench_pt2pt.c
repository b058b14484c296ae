/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench pt2pt`: latency and bandwidth of MPI messages between two ranks on the embedded default, beside
 * Debian's MPICH over loop-back TCP. Same source, same machine, runs of both in turn; medians. */
#include "../tools/nof/commands.h"
#include "lib/child.h"
#include "lib/option.h"
#include "lib/report.h"
#include "lib/scratch.h"
#include "lib/spawn.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 32
#define SIZES_MAX 32
#define RUN_S 60
#define LOUD "/dev/stderr"

enum { OPT_HOSTS = 256, OPT_ROUNDS, OPT_MS };

struct figure {
    long bytes;
    size_t n;
    double latency_us[ROUNDS_MAX];
    double mbps[ROUNDS_MAX];
    double messages, host_user_us, host_sys_us; /* of the last run, both ranks */
};

struct series {
    struct figure figure[SIZES_MAX];
    size_t sizes;
};

struct bench {
    bool json;
    char hosts[16];
    int rounds;
    char ms[16];
    char nof[NOF_BENCH_PATH_BYTES];
    char ours[NOF_BENCH_PATH_BYTES];
    char peer[NOF_BENCH_PATH_BYTES]; /* compiled at run time */
    char stats[NOF_BENCH_PATH_BYTES];
    const char *no_peer; /* why there is none */
    struct series nof_row, mpich_row, asleep_row, where_row;
};

static struct figure *figure_of(struct series *s, long bytes)
{
    for (size_t i = 0; i < s->sizes; i++)
        if (s->figure[i].bytes == bytes)
            return &s->figure[i];
    if (s->sizes == SIZES_MAX)
        return NULL;
    s->figure[s->sizes].bytes = bytes;
    return &s->figure[s->sizes++];
}

static void take_line(void *ctx, const char *text)
{
    struct figure *f;
    long bytes;
    double a, b, v[5];

    if (sscanf(text, "row %ld %lf %lf", &bytes, &a, &b) == 3) {
        f = figure_of(ctx, bytes);
        if (f != NULL && f->n < ROUNDS_MAX) {
            f->latency_us[f->n] = a;
            f->mbps[f->n++] = b;
        }
    } else if (sscanf(text, "cpu %ld %lf %lf %lf %lf %lf", &bytes, &v[0], &v[1], &v[2], &v[3], &v[4]) == 6) {
        f = figure_of(ctx, bytes);
        if (f != NULL) {
            f->messages = v[0];
            f->host_user_us = v[1] + v[3];
            f->host_sys_us = v[2] + v[4];
        }
    }
}

/* A run of ours: `spin` is the environment of the ranks, `feature` that of the daemon; bytes NULL: all sizes. */
static bool run_ours(struct bench *b, struct series *into, const char *spin, const char *feature,
                     const char *bytes)
{
    const char *const argv[] = {"env",   "-u",   "NOF_SOCKET", "-u",     "NOF_CONTROL", spin,
                                b->nof,  "run",  "--hosts",    b->hosts, "-n",          "2",
                                "--mtu", "9000", "--feature",  feature,  "--stats",     b->stats,
                                b->ours, b->ms,  bytes,        NULL};

    return nof_bench_spawn(argv, LOUD, RUN_S, take_line, into) == 0;
}

static bool run_peer(struct bench *b)
{
    /* NOLOCAL: not through shared memory. */
    const char *const argv[] = {
        "env", "UCX_TLS=tcp,self", "MPIR_CVAR_NOLOCAL=1", "mpiexec.hydra", "-n", "2", b->peer, b->ms, NULL};

    return nof_bench_spawn_peer(argv, NULL, RUN_S, take_line, &b->mpich_row) == 0;
}

static void ignore_line(void *ctx, const char *text)
{
    (void)ctx;
    (void)text;
}

/* The peer's copy of the program, compiled here because it needs the peer's mpi.h. */
static void compile_peer(struct bench *b)
{
    const char *const argv[] = {
        "mpicc.mpich", "-O2", "-o", b->peer, NOF_BENCH_SOURCE_DIR "/programs/pt2pt_mpi.c", NULL};

    if (!nof_bench_have("mpicc.mpich") || !nof_bench_have("mpiexec.hydra"))
        b->no_peer = "MPICH is not installed: apt install mpich libmpich-dev";
    else if (nof_bench_spawn(argv, LOUD, RUN_S, ignore_line, NULL) != 0)
        b->no_peer = "mpicc.mpich could not compile bench/programs/pt2pt_mpi.c";
}

static bool measure(struct bench *b)
{
    for (int i = 0; i < b->rounds; i++) {
        nof_bench_progress("round %d of %d", i + 1, b->rounds);
        if (!run_ours(b, &b->nof_row, "NOF_SPIN_US=20", "spin_us=20", NULL))
            return false;
        if (b->no_peer == NULL && !run_peer(b))
            b->no_peer = "the MPICH program failed";
        if (!run_ours(b, &b->asleep_row, "NOF_SPIN_US=0", "spin_us=0", "8"))
            return false;
    }
    return true;
}

/* Counters of all NICs of a run, summed, and the daemon's own CPU time. */
static json_t *read_stats(const struct bench *b)
{
    json_t *stats = json_load_file(b->stats, 0, NULL);
    json_t *sum = nof_bench_counters(stats);

    json_object_set(sum, "user_us", json_object_get(json_object_get(stats, "daemon"), "user_us"));
    json_object_set(sum, "system_us", json_object_get(json_object_get(stats, "daemon"), "system_us"));
    json_decref(stats);
    return sum;
}

static double per(const json_t *sum, const char *name, double messages)
{
    return json_number_value(json_object_get(sum, name)) / messages;
}

/* Where the time goes: one run of one size; what the daemon and the ranks spent per message. The daemon's figures
 * are over the whole run (latency part too), the ranks' over the bandwidth part. */
static json_t *where(struct bench *b, const char *bytes)
{
    const struct figure *f;
    json_t *sum;
    json_t *row;
    double messages;

    if (!run_ours(b, &b->where_row, "NOF_SPIN_US=20", "spin_us=20", bytes))
        return NULL;
    f = figure_of(&b->where_row, atol(bytes));
    sum = read_stats(b);
    messages = json_number_value(json_object_get(sum, "msg.tx"));
    row = json_pack("{s:I, s:f, s:f, s:f, s:f}", "bytes", (json_int_t)f->bytes, "nofd_user_us",
                    per(sum, "user_us", messages), "nofd_system_us", per(sum, "system_us", messages),
                    "ranks_user_us", f->host_user_us / f->messages, "ranks_system_us",
                    f->host_sys_us / f->messages);
    json_object_set_new(row, "frames", json_real(per(sum, "port.tx_frames", messages)));
    json_object_set_new(row, "acks", json_real(per(sum, "path.acks_tx", messages)));
    json_object_set_new(row, "retransmits", json_real(per(sum, "path.retransmits", messages)));
    json_object_set_new(row, "dma_reads", json_real(per(sum, "dma.reads", messages)));
    json_object_set_new(row, "dma_writes", json_real(per(sum, "dma.writes", messages)));
    json_object_set_new(row, "core_sleeps", json_real(per(sum, "core.sleeps", messages)));
    json_object_set_new(row, "host_wakes", json_real(per(sum, "host.wakes", messages)));
    json_decref(sum);
    return row;
}

static json_t *peer_figure(struct nof_bench_report *report, long bytes, const char *key, double *runs,
                           size_t n)
{
    char name[64];

    snprintf(name, sizeof(name), "%ld.%s", bytes, key);
    nof_bench_compared(report, name, runs, n, NAN);
    return nof_bench_number(nof_bench_median(runs, n));
}

static json_t *rows(struct bench *b, struct nof_bench_report *report)
{
    json_t *list = json_array();

    for (size_t i = 0; i < b->nof_row.sizes; i++) {
        struct figure *f = &b->nof_row.figure[i];
        struct figure *m = figure_of(&b->mpich_row, f->bytes);
        json_t *row = json_pack("{s:I, s:o, s:o}", "bytes", (json_int_t)f->bytes, "latency_us",
                                nof_bench_number(nof_bench_median(f->latency_us, f->n)), "mbps",
                                nof_bench_number(nof_bench_median(f->mbps, f->n)));

        json_object_set_new(row, "mpich_tcp_latency_us",
                            peer_figure(report, f->bytes, "mpich_tcp_latency_us", m->latency_us, m->n));
        json_object_set_new(row, "mpich_tcp_mbps",
                            peer_figure(report, f->bytes, "mpich_tcp_mbps", m->mbps, m->n));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *result_of(struct bench *b, struct nof_bench_report *report)
{
    static const char *const where_bytes[] = {"8", "65536", "1048576"};
    struct figure *spinning = figure_of(&b->nof_row, 8);
    struct figure *asleep = figure_of(&b->asleep_row, 8);
    json_t *stages = json_array();
    json_t *result = json_pack(
        "{s:o, s:i, s:o, s:o}", "rows", rows(b, report), "rounds", b->rounds, "spin_20us_8b_latency_us",
        nof_bench_number(nof_bench_median(spinning->latency_us, spinning->n)), "asleep_8b_latency_us",
        nof_bench_number(nof_bench_median(asleep->latency_us, asleep->n)));

    for (size_t i = 0; i < sizeof(where_bytes) / sizeof(where_bytes[0]); i++) {
        json_t *row = where(b, where_bytes[i]);

        if (row != NULL)
            json_array_append_new(stages, row);
    }
    json_object_set_new(result, "per_message", stages);
    if (b->no_peer != NULL) {
        nof_bench_skip(report, "mpich_tcp_latency_us", b->no_peer);
        nof_bench_skip(report, "mpich_tcp_mbps", b->no_peer);
    }
    return result;
}

static void print_row(const struct nof_bench_report *report, const json_t *row)
{
    double latency_us = nof_bench_real(row, "latency_us"),
           peer_us = nof_bench_real(row, "mpich_tcp_latency_us");
    double mbps = nof_bench_real(row, "mbps"), peer_mbps = nof_bench_real(row, "mpich_tcp_mbps");
    long long bytes = json_integer_value(json_object_get(row, "bytes"));
    char latency_name[64], mbps_name[64];

    snprintf(latency_name, sizeof(latency_name), "%lld.mpich_tcp_latency_us", bytes);
    snprintf(mbps_name, sizeof(mbps_name), "%lld.mpich_tcp_mbps", bytes);
    printf("%9lld %12s %10s %18s %16s %8s %8s\n", bytes, nof_bench_cell(report, NULL, latency_us, 2).text,
           nof_bench_cell(report, NULL, mbps, 0).text, nof_bench_cell(report, latency_name, peer_us, 2).text,
           nof_bench_cell(report, mbps_name, peer_mbps, 0).text,
           nof_bench_cell(report, NULL, latency_us / peer_us, 2).text,
           nof_bench_cell(report, NULL, mbps / peer_mbps, 2).text);
}

static void print_table(const struct nof_bench_report *report, const json_t *result)
{
    json_t *row;
    size_t i;

    printf("%9s %12s %10s %18s %16s %8s %8s\n", "bytes", "latency us", "Mbit/s", "MPICH TCP lat. us",
           "MPICH TCP Mbit/s", "lat. x", "bandw. x");
    json_array_foreach(json_object_get(result, "rows"), i, row) print_row(report, row);
    printf("\n8 bytes: all sides spin 20 us %s us, asleep at once %s us\n",
           nof_bench_cell(report, NULL, nof_bench_real(result, "spin_20us_8b_latency_us"), 2).text,
           nof_bench_cell(report, NULL, nof_bench_real(result, "asleep_8b_latency_us"), 2).text);
    printf("\nper message: %8s %10s %10s %11s %11s %7s %6s %6s %6s %7s %6s\n", "bytes", "nofd usr us",
           "nofd sys us", "ranks usr us", "ranks sys us", "frames", "acks", "reads", "writes", "sleeps",
           "wakes");
    json_array_foreach(json_object_get(result, "per_message"), i, row) printf(
        "             %8lld %11.2f %11.2f %12.2f %12.2f %7.2f %6.2f %6.2f %6.2f %7.3f %6.3f\n",
        (long long)json_integer_value(json_object_get(row, "bytes")), nof_bench_real(row, "nofd_user_us"),
        nof_bench_real(row, "nofd_system_us"), nof_bench_real(row, "ranks_user_us"),
        nof_bench_real(row, "ranks_system_us"), nof_bench_real(row, "frames"), nof_bench_real(row, "acks"),
        nof_bench_real(row, "dma_reads"), nof_bench_real(row, "dma_writes"),
        nof_bench_real(row, "core_sleeps"), nof_bench_real(row, "host_wakes"));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;

    switch (key) {
    case OPT_HOSTS:
        snprintf(b->hosts, sizeof(b->hosts), "%u", nof_number_option(arg, 1, 2, "--hosts", state));
        return 0;
    case OPT_MS:
        nof_ms_option(arg, b->ms, sizeof(b->ms), state);
        return 0;
    case OPT_ROUNDS:
        b->rounds = (int)nof_number_option(arg, 1, ROUNDS_MAX, "--rounds", state);
        return 0;
    default:
        return nof_bench_option(key, arg, state, &b->json);
    }
}

int nof_bench_pt2pt(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"hosts", OPT_HOSTS, "H", 0, "simulated hosts for the two ranks: 1 or 2 (2)", 0},
        {"rounds", OPT_ROUNDS, "N", 0, "runs of each side, in turn; medians are printed (5)", 0},
        {"ms", OPT_MS, "MS", 0, "time per measurement (30)", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    const struct argp argp = {options, parse, NULL, "Latency and bandwidth of MPI messages.",
                              NULL,    NULL,  NULL};
    const char *dir;
    struct bench *b = calloc(1, sizeof(*b));
    struct nof_bench_report report;
    json_t *result = NULL;
    bool complete = false;

    if (b == NULL)
        return 1;
    b->rounds = 5;
    snprintf(b->hosts, sizeof(b->hosts), "2");
    snprintf(b->ms, sizeof(b->ms), "30");
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, b);
    nof_bench_beside("nof", b->nof);
    nof_bench_beside("bench/pt2pt_mpi", b->ours);
    dir = nof_bench_scratch_for(argv[0], b->ours);
    if (dir == NULL) {
        free(b);
        return 1;
    }
    snprintf(b->stats, sizeof(b->stats), "%s/stats.json", dir);
    snprintf(b->peer, sizeof(b->peer), "%s/pt2pt_mpich", dir);
    compile_peer(b);
    nof_bench_begin(&report, argv[0], b->json);
    if (measure(b))
        result = result_of(b, &report);
    if (result != NULL && !b->json)
        print_table(&report, result);
    if (result != NULL)
        complete = nof_bench_end(&report, result);
    else
        fprintf(stderr, "%s: a run failed; the message above says why\n", argv[0]);
    free(b);
    return complete ? 0 : 1;
}
