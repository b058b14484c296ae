/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench channels`: two ranks of one host, by each of the channels that can carry a message between them and by the one
 * that the library chooses, beside Debian's MPICH and Open MPI over shared memory. Runs of all sides in turn; medians. */
#include "../tools/nof/commands.h"
#include "channels_tune.h"
#include "lib/child.h"
#include "lib/option.h"
#include "lib/report.h"
#include "lib/scratch.h"
#include "lib/spawn.h"
#include "lib/short_path.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 32
#define SIZES 21 /* each power of two from 4 B to 4 MiB */
#define RUN_S 120
#define LOUD "/dev/stderr"

enum { OPT_ROUNDS = 256, OPT_MS, OPT_MAX, OPT_TUNE, OPT_BY };

enum who { OURS, MPICH, OPENMPI };

/* What is measured: a program between two ranks. channels: value of NOF_CHANNELS. */
struct side {
    const char *key;
    enum who who;
    const char *channels;
    bool multiple; /* MPI_THREAD_MULTIPLE, 8 bytes only: not in the rows */
};

enum { SHM, SINGLE_COPY, NIC, AUTO, MULTIPLE = 6 };
static const struct side sides[] = {
    [SHM] = {"shm", OURS, "shm", false},
    [SINGLE_COPY] = {"single_copy", OURS, "single-copy", false},
    [NIC] = {"nic", OURS, "nic", false},
    [AUTO] = {"auto", OURS, "auto", false},
    {"mpich", MPICH, NULL, false},
    {"openmpi", OPENMPI, NULL, false},
    [MULTIPLE] = {"multiple", OURS, "auto", true},
};
enum { NSIDES = sizeof(sides) / sizeof(sides[0]) };

/* Those have one pair of processes, message by message, so that what a channel is compared with is not another process: such differ by a
 * tenth and more. */
#define BY_MEMORY "PT2PT_CHANNELS=shm,single-copy,auto"

struct figure {
    size_t n;
    double latency_us[ROUNDS_MAX], mbps[ROUNDS_MAX];
};

struct series {
    struct figure figure[SIZES];
    const char *why_not; /* it cannot be measured */
};

struct bench {
    bool json;
    int rounds;
    long most_bytes;
    char ms[16];
    bool tune;
    int by; /* enum nof_channels_by; -1: not told */
    const char *output;
    char nof[NOF_BENCH_PATH_BYTES];
    char ours[NOF_BENCH_PATH_BYTES];
    char peer[2][NOF_BENCH_PATH_BYTES]; /* of MPICH and Open MPI, compiled at run time */
    struct series series[NSIDES];
};

static long bytes_of(size_t i)
{
    return 4l << i;
}

static size_t sizes_of(const struct bench *b)
{
    size_t n = 0;
    while (n < SIZES && bytes_of(n) <= b->most_bytes)
        n++;
    return n;
}

/* Of the program that goes by the channels that its rows name, or of another. */
static void take_line(void *ctx, const char *text)
{
    struct series *s = ctx;
    long bytes;
    double latency_us, mbps;
    char channel[16] = "";

    if (strcmp(text, "unread") == 0) {
        (s + (SINGLE_COPY - AUTO))->why_not = "the kernel forbids ranks to read each other's memory here: "
                                              "messages of single-copy go in cells, as shm's";
        return;
    }
    if (sscanf(text, "row %ld %lf %lf %15s", &bytes, &latency_us, &mbps, channel) < 3)
        return;
    if (strcmp(channel, sides[SHM].channels) == 0)
        s += SHM - AUTO;
    else if (strcmp(channel, sides[SINGLE_COPY].channels) == 0)
        s += SINGLE_COPY - AUTO;
    for (size_t i = 0; i < SIZES; i++) {
        struct figure *f = &s->figure[i];
        if (bytes_of(i) != bytes || f->n == ROUNDS_MAX)
            continue;
        f->latency_us[f->n] = latency_us;
        f->mbps[f->n++] = mbps;
    }
}

static void ignore_line(void *ctx, const char *text)
{
    (void)ctx;
    (void)text;
}

/* Puts the program's arguments behind what is in argv. */
static void arguments(const struct bench *b, const struct side *side, const char **argv, size_t n,
                      char text[SIZES][24])
{
    argv[n++] = b->ms;
    for (size_t i = 0; i < sizes_of(b); i++) {
        if (side->multiple && bytes_of(i) != 8)
            continue;
        snprintf(text[i], 24, "%ld", bytes_of(i));
        argv[n++] = text[i];
    }
    argv[n] = NULL;
}

static bool run_ours(struct bench *b, const struct side *side, struct series *into)
{
    char channels[64], text[SIZES][24];
    const char *argv[32 + SIZES] = {"env",
                                    "-u",
                                    "NOF_SOCKET",
                                    "-u",
                                    "NOF_CONTROL",
                                    channels,
                                    side == &sides[AUTO] ? BY_MEMORY : "PT2PT_CHANNELS=",
                                    side->multiple ? "PT2PT_THREADS=multiple" : "PT2PT_THREADS=single",
                                    b->nof,
                                    "run",
                                    "--hosts",
                                    "1",
                                    "-n",
                                    "2",
                                    b->ours};

    snprintf(channels, sizeof(channels), "NOF_CHANNELS=%s", side->channels);
    arguments(b, side, argv, 15, text);
    return nof_bench_spawn(argv, LOUD, 3 * RUN_S, take_line, into) == 0;
}

/* Of one host: both MPIs take shared memory by themselves. */
static bool run_peer(struct bench *b, const struct side *side, struct series *into)
{
    char text[SIZES][24];
    const char *mpich[32 + SIZES] = {"mpiexec.hydra", "-n", "2", b->peer[0]};
    const char *openmpi[32 + SIZES] = {"mpirun.openmpi",
                                       "--allow-run-as-root",
                                       "--oversubscribe",
                                       "--mca",
                                       "btl_vader_backing_directory",
                                       nof_bench_scratch_memory(),
                                       "-n",
                                       "2",
                                       b->peer[1]};

    if (side->who == MPICH)
        arguments(b, side, mpich, 4, text);
    else
        arguments(b, side, openmpi, 9, text);
    return nof_bench_spawn_peer(side->who == MPICH ? mpich : openmpi, NULL, RUN_S, take_line, into) == 0;
}

/* The peers' copies of the program, compiled here because they need the peers' mpi.h. NULL, or why there is none. */
static const char *compile_peer(struct bench *b, enum who who)
{
    const char *cc = who == MPICH ? "mpicc.mpich" : "mpicc.openmpi";
    const char *const argv[] = {
        cc, "-O2", "-o", b->peer[who - MPICH], NOF_BENCH_SOURCE_DIR "/programs/pt2pt_mpi.c", NULL};

    if (!nof_bench_have(cc) || !nof_bench_have(who == MPICH ? "mpiexec.hydra" : "mpirun.openmpi"))
        return who == MPICH ? "MPICH is not installed: apt install mpich libmpich-dev"
                            : "Open MPI is not installed: apt install openmpi-bin libopenmpi-dev";
    return nof_bench_spawn(argv, LOUD, RUN_S, ignore_line, NULL) == 0
               ? NULL
               : "its compiler could not compile bench/programs/pt2pt_mpi.c";
}

static bool measure(struct bench *b)
{
    unsetenv("PT2PT_CHANNELS"); /* a peer's rows name no channel */
    for (int round = 0; round < b->rounds; round++) {
        for (size_t k = 0; k < NSIDES; k++) {
            const struct side *side = &sides[k];
            struct series *s = &b->series[k];

            if (s->why_not != NULL || k == SHM || k == SINGLE_COPY)
                continue;
            nof_bench_progress("round %d of %d, %s", round + 1, b->rounds, side->key);
            if (side->who != OURS && !run_peer(b, side, s))
                s->why_not = "its program failed";
            else if (side->who == OURS && !run_ours(b, side, s))
                s->why_not = "the program failed with this NOF_CHANNELS; the message above says why";
        }
    }
    b->series[SHM].why_not = b->series[AUTO].why_not;
    if (b->series[SINGLE_COPY].why_not == NULL)
        b->series[SINGLE_COPY].why_not = b->series[AUTO].why_not;
    return b->series[NIC].why_not == NULL; /* without a NIC nothing is ours */
}

static void add(json_t *row, const char *key, const char *unit, double *runs, size_t n)
{
    char name[64];

    snprintf(name, sizeof(name), "%s_%s", key, unit);
    json_object_set_new(row, name, nof_bench_number(nof_bench_median(runs, n)));
}

static json_t *rows(struct bench *b)
{
    json_t *list = json_array();

    for (size_t i = 0; i < sizes_of(b); i++) {
        json_t *row = json_pack("{s:I}", "bytes", (json_int_t)bytes_of(i));

        for (size_t k = 0; k < NSIDES; k++)
            if (!sides[k].multiple)
                add(row, sides[k].key, "us", b->series[k].figure[i].latency_us, b->series[k].figure[i].n);
        for (size_t k = 0; k < NSIDES; k++)
            if (!sides[k].multiple)
                add(row, sides[k].key, "mbps", b->series[k].figure[i].mbps, b->series[k].figure[i].n);
        json_array_append_new(list, row);
    }
    return list;
}

/* Of 8 bytes: latency with MPI_THREAD_MULTIPLE over that without. */
static double multiple_over_single(struct bench *b)
{
    struct figure *single = &b->series[AUTO].figure[1], *multiple = &b->series[MULTIPLE].figure[1];

    return nof_bench_median(multiple->latency_us, multiple->n) /
           nof_bench_median(single->latency_us, single->n);
}

static json_t *result_of(struct bench *b, struct nof_bench_report *report)
{
    struct nof_short_path path;
    json_t *result = json_pack("{s:o, s:i}", "rows", rows(b), "rounds", b->rounds);
    const char *why_not = nof_short_path_measure(&path);

    if (why_not != NULL)
        nof_bench_skip(report, "short_path", why_not);
    json_object_set_new(result, "short_path",
                        why_not != NULL
                            ? json_null()
                            : json_pack("{s:f, s:f, s:f, s:f, s:f}", "instructions", path.instructions,
                                        "lock_prefixes", path.lock_prefixes, "fences", path.fences,
                                        "allocations", path.allocations, "syscalls", path.syscalls));
    json_object_set_new(result, "multiple_over_single", nof_bench_number(multiple_over_single(b)));
    for (size_t k = 0; k < NSIDES; k++) {
        char name[64];

        if (b->series[k].why_not == NULL)
            continue;
        snprintf(name, sizeof(name), sides[k].multiple ? "multiple_over_single" : "%s", sides[k].key);
        nof_bench_skip(report, name, b->series[k].why_not);
    }
    for (size_t k = 0; k < NSIDES; k++) {
        for (size_t i = 0; sides[k].who != OURS && i < sizes_of(b); i++) {
            struct figure *f = &b->series[k].figure[i];
            char name[64];

            snprintf(name, sizeof(name), "%ld.%s_us", bytes_of(i), sides[k].key);
            nof_bench_compared(report, name, f->latency_us, f->n, NAN);
            snprintf(name, sizeof(name), "%ld.%s_mbps", bytes_of(i), sides[k].key);
            nof_bench_compared(report, name, f->mbps, f->n, NAN);
        }
    }
    return result;
}

static void print_half(const struct nof_bench_report *report, const json_t *result, const char *unit,
                       int decimals)
{
    json_t *row;
    size_t i;

    printf("%9s", strcmp(unit, "us") == 0 ? "us" : "Mbit/s");
    for (size_t k = 0; k < NSIDES; k++)
        if (!sides[k].multiple)
            printf(" %12s", sides[k].key);
    printf("\n");
    json_array_foreach(json_object_get(result, "rows"), i, row)
    {
        long long bytes = json_integer_value(json_object_get(row, "bytes"));

        printf("%9lld", bytes);
        for (size_t k = 0; k < NSIDES; k++) {
            char name[48], starred[72];

            if (sides[k].multiple)
                continue;
            snprintf(name, sizeof(name), "%s_%s", sides[k].key, unit);
            snprintf(starred, sizeof(starred), "%lld.%s", bytes, name);
            printf(" %12s", nof_bench_cell(report, starred, nof_bench_real(row, name), decimals).text);
        }
        printf("\n");
    }
}

static void print_table(const struct nof_bench_report *report, const json_t *result)
{
    const json_t *path = json_object_get(result, "short_path");

    print_half(report, result, "us", 2);
    printf("\n");
    print_half(report, result, "mbps", 0);
    printf(
        "\nMPI_Send and MPI_Recv of 8 bytes together: %s instructions, %s locked, %s fences, %s allocations, "
        "%s system calls\n",
        nof_bench_cell(report, NULL, nof_bench_real(path, "instructions"), 1).text,
        nof_bench_cell(report, NULL, nof_bench_real(path, "lock_prefixes"), 2).text,
        nof_bench_cell(report, NULL, nof_bench_real(path, "fences"), 2).text,
        nof_bench_cell(report, NULL, nof_bench_real(path, "allocations"), 2).text,
        nof_bench_cell(report, NULL, nof_bench_real(path, "syscalls"), 2).text);
    printf("8 bytes with MPI_THREAD_MULTIPLE: %s of the latency without\n",
           nof_bench_cell(report, NULL, nof_bench_real(result, "multiple_over_single"), 2).text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;

    switch (key) {
    case OPT_MS:
        nof_ms_option(arg, b->ms, sizeof(b->ms), state);
        return 0;
    case OPT_ROUNDS:
        b->rounds = (int)nof_number_option(arg, 1, ROUNDS_MAX, "--rounds", state);
        return 0;
    case OPT_MAX:
        b->most_bytes = nof_number_option(arg, 8, (unsigned)bytes_of(SIZES - 1), "--max", state);
        return 0;
    case OPT_TUNE:
        b->tune = true;
        return 0;
    case OPT_BY:
        b->by = nof_channels_by_named(arg);
        if (b->by < 0)
            argp_error(state, "--by=%s: speed, cpu or overlap", arg);
        return 0;
    case 'o':
        b->output = arg;
        return 0;
    case ARGP_KEY_END:
        if (!b->tune && (b->output != NULL || b->by >= 0))
            argp_error(state, "-o is where the table of --tune goes, and --by what it is about");
        if (b->tune && b->most_bytes < 128)
            argp_error(state, "--max: a table begins at 128 bytes");
        return 0;
    default:
        return nof_bench_option(key, arg, state, &b->json);
    }
}

/* In place of everything else. */
static int tune(struct bench *b, const char *self)
{
    const struct nof_channels_tune how = {.rounds = b->rounds,
                                          .most_bytes = b->most_bytes,
                                          .ms = b->ms,
                                          .by =
                                              b->by < 0 ? NOF_CHANNELS_BY_SPEED : (enum nof_channels_by)b->by,
                                          .output = b->output,
                                          .json = b->json};
    struct nof_bench_report report;
    FILE *out = b->output == NULL ? NULL : fopen(b->output, "ae");

    if (b->output != NULL && out == NULL) {
        fprintf(stderr, "%s: %s cannot be written: %m; is its folder there? Nothing was measured\n", self,
                b->output);
        return 1;
    }
    if (out != NULL)
        (void)fclose(out);
    nof_bench_begin(&report, self, b->json);
    return nof_channels_tune(&report, &how) ? 0 : 1;
}

int nof_bench_channels(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"rounds", OPT_ROUNDS, "N", 0, "runs of each side, in turn; medians are printed (5)", 0},
        {"ms", OPT_MS, "MS", 0, "time per measurement (20)", 0},
        {"max", OPT_MAX, "BYTES", 0, "the largest messages (4194304)", 0},
        {"tune", OPT_TUNE, NULL, 0,
         "print the table that the library should choose by, and measure nothing else", 0},
        {"by", OPT_BY, "speed|cpu|overlap", 0, "what the way of a length must be better at (speed)", 0},
        {"output", 'o', "FILE", 0, "write the table there, for NOF_CHANNELS_TABLE=FILE", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    const struct argp argp = {
        options, parse, NULL, "Latency and bandwidth between two ranks of one host, by each channel.",
        NULL,    NULL,  NULL};
    struct bench *b = calloc(1, sizeof(*b));
    struct nof_bench_report report;
    bool complete = false;

    if (b == NULL)
        return 1;
    b->rounds = 5;
    b->by = -1;
    b->most_bytes = bytes_of(SIZES - 1);
    snprintf(b->ms, sizeof(b->ms), "20");
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, b);
    nof_bench_beside("nof", b->nof);
    nof_bench_beside("bench/pt2pt_mpi", b->ours);
    const char *dir = nof_bench_scratch_for(argv[0], b->ours);
    if (dir == NULL) {
        free(b);
        return 1;
    }
    if (b->tune) {
        int code = tune(b, argv[0]);
        free(b);
        return code;
    }
    for (size_t k = 0; k < NSIDES; k++) {
        if (sides[k].who == OURS)
            continue;
        snprintf(b->peer[sides[k].who - MPICH], NOF_BENCH_PATH_BYTES, "%s/pt2pt_%s", dir, sides[k].key);
        b->series[k].why_not = compile_peer(b, sides[k].who);
    }
    nof_bench_begin(&report, argv[0], b->json);
    if (measure(b)) {
        json_t *result = result_of(b, &report);
        if (!b->json)
            print_table(&report, result);
        complete = nof_bench_end(&report, result);
    } else {
        fprintf(stderr, "%s: a run by the NIC failed; the message above says why\n", argv[0]);
    }
    free(b);
    return complete ? 0 : 1;
}
