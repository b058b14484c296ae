/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench mixed`: collectives over several hosts, wholly by the NIC (channels=nic) and with the ranks of each host by memory
 * (auto), in turn. */
#include "../tools/nof/commands.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/option.h"
#include "lib/our_job.h"
#include "lib/report.h"
#include "lib/testbed.h"
#include "lib/testbed_option.h"

#define SIZES "8,4k,64k"
#define RANKS "2,8"
#define SIZES_MAX 8u
#define RANKS_MAX 8u
#define RUNS_MAX 32u
#define RUN_S 60
#define PROGRAM "bench/coll_mpi"

enum { OPT_SIZES = 256, OPT_RUNS, OPT_MS, OPT_DRIVER, OPT_RANKS };

enum way { NIC, AUTO, WAYS };
static const char *const channels[WAYS] = {"NOF_CHANNELS=nic", "NOF_CHANNELS=auto"};
static const char *const collectives[] = {"barrier",   "bcast",  "reduce", "allreduce",
                                          "allgather", "gather", "scatter"};
enum { COLLECTIVES = sizeof(collectives) / sizeof(collectives[0]) };

struct figure {
    double us[RUNS_MAX];
    size_t n;
};

struct bench {
    bool json;
    struct nof_testbed_config config;
    struct nof_testbed bed;
    const char *driver;
    uint64_t sizes[SIZES_MAX];
    unsigned ranks[RANKS_MAX]; /* of each host */
    unsigned nsizes, nranks, runs, least_ms;
    struct figure figure[COLLECTIVES][SIZES_MAX][WAYS]; /* of one number of ranks */
    char program[NOF_BENCH_PATH_BYTES];
};

/* A barrier has no bytes. */
static unsigned sizes_of(const struct bench *b, unsigned collective)
{
    return collective == 0 ? 1 : b->nsizes;
}

static void take_line(void *ctx, const char *text)
{
    double busy;

    (void)sscanf(text, "run %lf %lf", (double *)ctx, &busy);
}

static bool measure_one(struct bench *b, unsigned collective, unsigned size, enum way way)
{
    struct figure *f = &b->figure[collective][size][way];
    char bytes[24], least[16];
    const char *const argv[] = {b->program, collectives[collective], bytes, "1", least, NULL};
    double ms = NAN;

    nof_bench_progress("%u ranks on each of %u hosts, %s, %llu bytes, %s", b->config.ranks_per_host,
                       b->config.hosts, collectives[collective], (unsigned long long)b->sizes[size],
                       channels[way]);
    snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)b->sizes[size]);
    snprintf(least, sizeof(least), "%u", b->least_ms);
    if (nof_our_job_run(&b->bed, channels[way], argv, RUN_S, take_line, &ms) != 0 || isnan(ms))
        return false;
    f->us[f->n++] = ms * 1000;
    return true;
}

/* Both ways in turn, so that what else the machine does meets both. */
static bool measure(struct bench *b)
{
    memset(b->figure, 0, sizeof(b->figure));
    for (unsigned run = 0; run < b->runs; run++)
        for (unsigned c = 0; c < COLLECTIVES; c++)
            for (unsigned s = 0; s < sizes_of(b, c); s++)
                for (unsigned way = 0; way < WAYS; way++)
                    if (!measure_one(b, c, s, way))
                        return false;
    return true;
}

static void add_rows(struct bench *b, json_t *rows)
{
    for (unsigned c = 0; c < COLLECTIVES; c++)
        for (unsigned s = 0; s < sizes_of(b, c); s++) {
            struct figure *f = b->figure[c][s];
            double nic = nof_bench_median(f[NIC].us, f[NIC].n), shm = nof_bench_median(f[AUTO].us, f[AUTO].n);

            json_array_append_new(
                rows, json_pack("{s:i, s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "ranks_per_host",
                                (int)b->config.ranks_per_host, "collective", collectives[c], "bytes",
                                c == 0 ? (json_int_t)0 : (json_int_t)b->sizes[s], "nic_us", nic, "auto_us",
                                shm, "ratio", shm / nic, "nic_best_us", f[NIC].us[0], "auto_best_us",
                                f[AUTO].us[0], "best_ratio", f[AUTO].us[0] / f[NIC].us[0]));
        }
}

static void print_rows(const struct bench *b, const json_t *result)
{
    const json_t *row;
    size_t i;

    printf("%u hosts, collectives=%s, us: medians of %u runs, and the best\n", b->config.hosts, b->driver,
           b->runs);
    printf("%9s  %-10s %8s %9s %9s %6s %9s %9s %6s\n", "ranks", "", "bytes", "nic", "auto", "ratio", "nic",
           "auto", "ratio");
    json_array_foreach(json_object_get(result, "rows"), i, row)
    {
        printf("%u x %5.0f  %-10s %8.0f %9.1f %9.1f %6.2f %9.1f %9.1f %6.2f\n", b->config.hosts,
               nof_bench_real(row, "ranks_per_host"), json_string_value(json_object_get(row, "collective")),
               nof_bench_real(row, "bytes"), nof_bench_real(row, "nic_us"), nof_bench_real(row, "auto_us"),
               nof_bench_real(row, "ratio"), nof_bench_real(row, "nic_best_us"),
               nof_bench_real(row, "auto_best_us"), nof_bench_real(row, "best_ratio"));
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;

    switch (key) {
    case OPT_SIZES:
        b->nsizes = nof_sizes_option(arg, b->sizes, SIZES_MAX, state);
        return 0;
    case OPT_RUNS:
        b->runs = nof_number_option(arg, 1, RUNS_MAX, "--runs", state);
        return 0;
    case OPT_MS:
        b->least_ms = nof_number_option(arg, 1, 60000, "--ms", state);
        return 0;
    case OPT_RANKS:
        b->nranks = nof_numbers_option(arg, 2, 16, b->ranks, RANKS_MAX, "--ranks-per-host", state);
        return 0;
    case OPT_DRIVER:
        b->driver = nof_driver_option(arg, state);
        return 0;
    default:
        return nof_testbed_option(key, arg, state, &b->config, &b->json);
    }
}

static void read_arguments(struct bench *b, int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"hosts", NOF_OPTION_HOSTS, "N", 0, "simulated hosts, 2 to 32 (2)", 0},
        {"ranks-per-host", OPT_RANKS, "N[,N]", 0, "ranks on each host, 2 to 16 (" RANKS ")", 0},
        {"sizes", OPT_SIZES, "SIZE[,SIZE]", 0,
         "bytes of a block of an allgather, gather and scatter, else of the whole vector (" SIZES ")", 0},
        {"runs", OPT_RUNS, "N", 0, "jobs of each kind, in turn; medians count (5)", 0},
        {"ms", OPT_MS, "MS", 0, "a job goes on for so long, and through one collective at least (50)", 0},
        {"collectives", OPT_DRIVER, "nic|host", 0, "who goes through them (host)", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    static const struct argp argp = {
        options,
        parse,
        NULL,
        "Collectives of communicators over several hosts: all messages by the NIC, and those between ranks "
        "of "
        "one host by memory (auto).\vratio: auto over nic, so that less than 1 is gained. On a machine with "
        "fewer CPUs than ranks and NIC cores medians are of who runs when; the best runs say more.",
        NULL,
        NULL,
        NULL};

    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, b);
    if (b->nsizes == 0)
        b->nsizes = nof_sizes_option(SIZES, b->sizes, SIZES_MAX, NULL);
    if (b->nranks == 0)
        b->nranks = nof_numbers_option(RANKS, 2, 16, b->ranks, RANKS_MAX, "--ranks-per-host", NULL);
}

/* NULL, or why nothing can be measured with so many ranks. */
static const char *measure_ranks(struct bench *b, unsigned ranks, json_t *rows)
{
    char setting[32];

    b->config.ranks_per_host = ranks;
    const char *why = nof_testbed_up(&b->bed, &b->config);
    if (why != NULL)
        return why;
    snprintf(setting, sizeof(setting), "collectives=%s", b->driver);
    bool good = nof_testbed_set(&b->bed, setting) && measure(b);
    nof_testbed_down(&b->bed);
    if (!good)
        return "a run failed; the message above says why";
    add_rows(b, rows);
    return NULL;
}

int nof_bench_mixed(int argc, char **argv)
{
    struct bench *b = calloc(1, sizeof(*b));
    struct nof_bench_report report;
    const char *why = NULL;
    double load[1] = {NAN};

    if (b == NULL)
        return 1;
    b->config = (struct nof_testbed_config)NOF_TESTBED_DEFAULT;
    b->config.hosts = 2;
    b->config.rate_bps = 100000000000;
    b->config.buffer_bytes = 16 << 20;
    b->config.mtu_bytes = 9000;
    b->driver = "host";
    b->runs = 5;
    b->least_ms = 50;
    read_arguments(b, argc, argv);
    nof_bench_begin(&report, "nof bench mixed", b->json);
    nof_bench_beside(PROGRAM, b->program);
    if (access(b->program, X_OK) != 0)
        why = "its program " PROGRAM
              " is not beside nof: run it from the build tree, with the MPI library built";
    json_t *rows = json_array();
    for (unsigned i = 0; i < b->nranks && why == NULL; i++)
        why = measure_ranks(b, b->ranks[i], rows);
    if (why != NULL)
        nof_bench_skip(&report, "rows", why);
    (void)getloadavg(load, 1);
    json_t *result =
        json_pack("{s:o, s:i, s:s, s:i, s:o}", "rows", rows, "hosts", (int)b->config.hosts, "collectives",
                  b->driver, "runs", (int)b->runs, "load", nof_bench_number(load[0]));
    if (!b->json && json_array_size(rows) > 0)
        print_rows(b, result);
    bool complete = nof_bench_end(&report, result);
    free(b);
    return complete ? 0 : 1;
}
