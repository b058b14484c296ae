/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench coll`: every algorithm of every collective that has several, on a switched network, and of these measurements
 * the table that the library chooses by (libmpi_offload/coll/select.h). */
#include "../tools/nof/commands.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nof_private/coll_counts.h"

#include "lib/testbed_option.h"
#include "lib/option.h"
#include "lib/our_job.h"
#include "lib/peer_mpi.h"
#include "lib/report.h"
#include "lib/scratch.h"
#include "lib/testbed.h"

#define SIZES "64,1k,8k,64k"
#define SIZES_MAX 16u
#define RUNS_MAX 16u
#define RUN_S 60
#define PROGRAM "bench/coll_mpi"
#define SOURCE "programs/coll_mpi.c"
#define FIGURE_BYTES 64u
/* Figures of another MPI whose job failed, each of which may take RUN_S: then it is measured no more. */
#define FAILURES_MOST 3u
#define FAILED "its program failed or took too long"
#define GIVEN_UP "three of its figures failed, and it was measured no more"
#define CLOSE 0.05 /* as good as the best, if its runs are not further apart themselves */
#define KI 1024u
#define MI (1024u * 1024u)

enum { OPT_SIZES = 256, OPT_RUNS, OPT_MS, OPT_DRIVER, OPT_ONLY, OPT_TUNE, OPT_RANKS, OPT_LAB };

/* What is measured beside the algorithms, and not chosen: what the library takes, and other MPIs. */
enum { AUTO, MPICH, OPENMPI, BESIDES };
static const char *const beside_names[BESIDES] = {"auto", "mpich", "openmpi"};

enum {
#define X(id, collective, name, help) id,
    NOF_ALGORITHMS(X)
#undef X
        ALGORITHMS
};

static const struct {
    const char *collective, *name;
} algorithms[ALGORITHMS] = {
#define X(id, collective, name, help) {collective, name},
    NOF_ALGORITHMS(X)
#undef X
};

struct figure {
    size_t n;
    double ms[RUNS_MAX]; /* sorted, once all are there */
    double drops;
    bool failed; /* of another MPI: it is not tried again */
};

struct bench {
    bool json, tune;
    struct nof_testbed_config config;
    struct nof_testbed bed;
    const char *driver, *only, *output;
    uint64_t sizes[SIZES_MAX];
    unsigned nsizes, runs, least_ms;
    struct figure figure[ALGORITHMS][SIZES_MAX];
    struct figure beside[BESIDES][ALGORITHMS]
                        [SIZES_MAX]; /* at the place of the collective's first algorithm */
    struct nof_peer peer[BESIDES];
    const char *why[BESIDES]; /* another MPI is not measured; NULL: it is */
    unsigned failures[BESIDES];
    int best[ALGORITHMS][SIZES_MAX]; /* at the place of the collective's first; an algorithm */
    char program[NOF_BENCH_PATH_BYTES], table[NOF_BENCH_PATH_BYTES];
};

/* The first algorithm of the next collective. */
static int next_of(int first)
{
    int a = first;

    while (a < ALGORITHMS && strcmp(algorithms[a].collective, algorithms[first].collective) == 0)
        a++;
    return a;
}

/* Is the collective named in --only? */
static bool is_wanted(const struct bench *b, int first)
{
    const char *name = algorithms[first].collective;
    size_t length;

    for (const char *at = b->only; at != NULL && *at != '\0'; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        if (length == strlen(name) && strncmp(at, name, length) == 0)
            return true;
    }
    return b->only == NULL;
}

static void take_line(void *ctx, const char *text)
{
    double busy;

    (void)sscanf(text, "run %lf %lf", (double *)ctx, &busy);
}

/* One row for everything; algorithm NULL: as the library chooses. */
static bool write_table(const struct bench *b, const char *collective, const char *algorithm)
{
    FILE *file = fopen(b->table, "we");

    if (file == NULL)
        return false;
    if (algorithm != NULL)
        fprintf(file, "%s 1 any %s\n", collective, algorithm);
    return fclose(file) == 0;
}

/* `what`: an algorithm, or ALGORITHMS and what is beside them. */
static bool run_job(struct bench *b, int what, const char *const *argv, double *ms)
{
    char environment[NOF_BENCH_PATH_BYTES + 16];

    snprintf(environment, sizeof(environment), "NOF_COLL_TABLE=%s", b->table);
    if (what > ALGORITHMS + AUTO)
        return nof_peer_run(&b->peer[what - ALGORITHMS], &b->bed, argv + 1, RUN_S, take_line, ms);
    return nof_our_job_run(&b->bed, what < ALGORITHMS ? environment : NULL, argv, RUN_S, take_line, ms) == 0;
}

static bool measure_one(struct bench *b, int first, int what, unsigned size)
{
    const char *name = what < ALGORITHMS ? algorithms[what].name : beside_names[what - ALGORITHMS];
    struct figure *f =
        what < ALGORITHMS ? &b->figure[what][size] : &b->beside[what - ALGORITHMS][first][size];
    char bytes[24], least[24];
    const char *const argv[] = {b->program, algorithms[first].collective, bytes, "1", least, NULL};
    double ms = NAN, before = nof_testbed_drops(&b->bed);

    nof_bench_progress("%s, %llu bytes, %s", algorithms[first].collective, (unsigned long long)b->sizes[size],
                       name);
    snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)b->sizes[size]);
    snprintf(least, sizeof(least), "%u", b->least_ms);
    if ((what < ALGORITHMS && !write_table(b, algorithms[first].collective, name)) ||
        !run_job(b, what, argv, &ms) || isnan(ms))
        return false;
    f->ms[f->n++] = ms;
    f->drops += nof_testbed_drops(&b->bed) - before;
    return true;
}

/* False: one of ours failed. */
static bool measure_besides(struct bench *b, int first, unsigned size)
{
    for (int i = 0; i < BESIDES; i++) {
        struct figure *f = &b->beside[i][first][size];

        if (b->why[i] != NULL || f->failed || measure_one(b, first, ALGORITHMS + i, size))
            continue;
        if (i == AUTO)
            return false;
        f->failed = true;
        if (++b->failures[i] == FAILURES_MOST)
            b->why[i] = GIVEN_UP;
    }
    return true;
}

/* Rounds of all, so that what else the machine does meets all of them. */
static bool measure(struct bench *b)
{
    for (unsigned i = 0; i < b->runs; i++)
        for (int first = 0; first < ALGORITHMS; first = next_of(first))
            for (unsigned s = 0; s < b->nsizes && is_wanted(b, first); s++) {
                for (int a = first; a < next_of(first); a++)
                    if (!measure_one(b, first, a, s))
                        return false;
                if (!measure_besides(b, first, s))
                    return false;
            }
    return true;
}

static double median_of(struct figure *f)
{
    return nof_bench_median(f->ms, f->n);
}

static double spread_of(struct figure *f)
{
    double median = median_of(f);

    return f->n > 0 ? (f->ms[f->n - 1] - f->ms[0]) / median : NAN;
}

/* As good as the best, as far as can be told. */
static bool is_close(struct figure *f, struct figure *best)
{
    double spread = spread_of(best), within = spread > CLOSE ? spread : CLOSE;

    return f->drops <= best->drops && median_of(f) <= median_of(best) * (1 + within);
}

/* The fewest frames dropped, then the shortest. */
static int best_of(struct bench *b, int first, unsigned size)
{
    int best = first;

    for (int a = first + 1; a < next_of(first); a++) {
        struct figure *f = &b->figure[a][size], *so_far = &b->figure[best][size];

        if (f->drops < so_far->drops || (f->drops <= so_far->drops && median_of(f) < median_of(so_far)))
            best = a;
    }
    return best;
}

/* An algorithm stays from one size to the next while it is as good as the best: a table has no rows for noise. */
static void choose(struct bench *b, int first)
{
    for (unsigned s = 0; s < b->nsizes; s++) {
        int best = best_of(b, first, s), last = s > 0 ? b->best[first][s - 1] : best;

        b->best[first][s] = is_close(&b->figure[last][s], &b->figure[best][s]) ? last : best;
    }
}

/* A border lies between two sizes, at the power of two nearest to the middle of their logarithms. */
static uint64_t border(uint64_t below, uint64_t above)
{
    double middle = exp2(round((log2((double)below) + log2((double)above)) / 2));

    return middle < (double)below || middle >= (double)above ? below : (uint64_t)middle;
}

static json_t *table_of(struct bench *b)
{
    json_t *table = json_array();

    for (int first = 0; first < ALGORITHMS; first = next_of(first))
        for (unsigned s = 0; s < b->nsizes && is_wanted(b, first); s++) {
            int best = b->best[first][s];
            bool last = s + 1 == b->nsizes;

            if (last || b->best[first][s + 1] != best)
                json_array_append_new(
                    table, json_pack("{s:s, s:i, s:o, s:s}", "collective", algorithms[first].collective,
                                     "ranks", (int)(b->config.hosts * b->config.ranks_per_host), "bytes",
                                     last ? json_null()
                                          : json_integer((json_int_t)border(b->sizes[s], b->sizes[s + 1])),
                                     "algorithm", algorithms[best].name));
        }
    return table;
}

/* How a figure is named where it is said that it proves nothing. */
static void name_figure(char name[FIGURE_BYTES], const char *collective, uint64_t bytes,
                        const char *algorithm)
{
    snprintf(name, FIGURE_BYTES, "%s.%llu.%s", collective, (unsigned long long)bytes, algorithm);
}

static json_t *row_of(struct nof_bench_report *report, int first, const char *name, uint64_t bytes,
                      struct figure *f, bool chosen)
{
    char figure[FIGURE_BYTES];

    name_figure(figure, algorithms[first].collective, bytes, name);
    nof_bench_compared(report, figure, f->ms, f->n, NAN);
    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:b}", "collective", algorithms[first].collective,
                     "algorithm", name, "bytes", (json_int_t)bytes, "ms", nof_bench_number(median_of(f)),
                     "best_ms", nof_bench_number(f->n > 0 ? f->ms[0] : NAN), "spread",
                     nof_bench_number(spread_of(f)), "drop_buffer", nof_bench_number(f->drops), "chosen",
                     (int)chosen);
}

/* The rows of what is beside the algorithms; other MPIs in a lab alone. */
static void append_besides(struct bench *b, struct nof_bench_report *report, json_t *rows, int first,
                           unsigned s)
{
    char figure[FIGURE_BYTES];

    for (int i = 0; i < (b->config.lab ? BESIDES : AUTO + 1); i++) {
        struct figure *f = &b->beside[i][first][s];

        if (i != AUTO)
            f->drops = NAN; /* its switch is not asked */
        if (f->failed) {
            name_figure(figure, algorithms[first].collective, b->sizes[s], beside_names[i]);
            nof_bench_skip(report, figure, FAILED);
        }
        json_array_append_new(rows, row_of(report, first, beside_names[i], b->sizes[s], f, false));
    }
}

static json_t *result_of(struct bench *b, struct nof_bench_report *report)
{
    json_t *rows = json_array();
    double load[1] = {NAN};

    for (int first = 0; first < ALGORITHMS; first = next_of(first)) {
        if (!is_wanted(b, first))
            continue;
        choose(b, first);
        for (unsigned s = 0; s < b->nsizes; s++) {
            for (int a = first; a < next_of(first); a++)
                json_array_append_new(rows, row_of(report, first, algorithms[a].name, b->sizes[s],
                                                   &b->figure[a][s], b->best[first][s] == a));
            append_besides(b, report, rows, first, s);
        }
    }
    for (int i = AUTO + 1; i < BESIDES && b->config.lab; i++)
        if (b->why[i] != NULL)
            nof_bench_skip(report, beside_names[i], b->why[i]);
    (void)getloadavg(load, 1);
    return json_pack("{s:o, s:o, s:s, s:i, s:i, s:I, s:I, s:i, s:i, s:s, s:o}", "rows", rows, "table",
                     table_of(b), "network", b->config.lab ? "lab" : "fabric", "hosts", (int)b->config.hosts,
                     "ranks_per_host", (int)b->config.ranks_per_host, "link_bps",
                     (json_int_t)b->config.rate_bps, "buffer_bytes", (json_int_t)b->config.buffer_bytes,
                     "mtu", (int)b->config.mtu_bytes, "runs", (int)b->runs, "collectives", b->driver, "load",
                     nof_bench_number(load[0]));
}

static void print_about(const struct bench *b, FILE *out, const char *before)
{
    fprintf(out, "%s%u ranks on %u hosts, %.0f Mbit/s, buffers of %llu bytes, MTU %u, collectives=%s\n",
            before, b->config.hosts * b->config.ranks_per_host, b->config.hosts,
            (double)b->config.rate_bps / 1e6, (unsigned long long)b->config.buffer_bytes, b->config.mtu_bytes,
            b->driver);
}

static void print_rows(const struct bench *b, const struct nof_bench_report *report, const json_t *result)
{
    const json_t *row;
    size_t i;

    print_about(b, stdout, "");
    printf("%-15s %9s %-12s %12s %7s %8s  medians of %u\n", "collective", "bytes", "algorithm", "ms",
           "spread", "dropped", b->runs);
    json_array_foreach(json_object_get(result, "rows"), i, row)
    {
        const char *collective = json_string_value(json_object_get(row, "collective"));
        const char *algorithm = json_string_value(json_object_get(row, "algorithm"));
        char name[FIGURE_BYTES];

        name_figure(name, collective, (uint64_t)nof_bench_real(row, "bytes"), algorithm);
        printf("%-15s %9.0f %-12s %12s %6s%% %8s%s\n", collective, nof_bench_real(row, "bytes"), algorithm,
               nof_bench_cell(report, name, nof_bench_real(row, "ms"), 3).text,
               nof_bench_cell(report, NULL, nof_bench_real(row, "spread") * 100, 0).text,
               nof_bench_cell(report, NULL, nof_bench_real(row, "drop_buffer"), 0).text,
               json_is_true(json_object_get(row, "chosen")) ? "  <" : "");
    }
}

/* The table, as the library reads it. */
static void print_table(const struct bench *b, const json_t *result, FILE *out)
{
    const json_t *row;
    size_t i;

    fprintf(out, "# Written by nof bench coll --tune; read with NOF_COLL_TABLE=FILE, by all ranks.\n");
    print_about(b, out, "# ");
    fprintf(out, "# RANKS: at least; BYTES: at most. The first row that fits counts.\n%-15s %6s %9s  %s\n",
            "# COLLECTIVE", "RANKS", "BYTES", "ALGORITHM");
    json_array_foreach(json_object_get(result, "table"), i, row)
    {
        json_int_t bytes = json_integer_value(json_object_get(row, "bytes"));
        char text[32];

        if (json_is_null(json_object_get(row, "bytes")))
            snprintf(text, sizeof(text), "any");
        else if (bytes % MI == 0)
            snprintf(text, sizeof(text), "%lldM", (long long)(bytes / MI));
        else
            snprintf(text, sizeof(text), bytes % KI == 0 ? "%lldK" : "%lld",
                     (long long)(bytes % KI == 0 ? bytes / KI : bytes));
        fprintf(out, "%-15s %6lld %9s  %s\n", json_string_value(json_object_get(row, "collective")),
                (long long)json_integer_value(json_object_get(row, "ranks")), text,
                json_string_value(json_object_get(row, "algorithm")));
    }
}

static bool write_output(const struct bench *b, const json_t *result)
{
    FILE *out = b->output == NULL ? stdout : fopen(b->output, "we");
    bool good;

    if (out == NULL || (b->output == NULL && b->json)) /* the object has the table */
        return out != NULL;
    print_table(b, result, out);
    good = ferror(out) == 0;
    return (b->output == NULL || fclose(out) == 0) && good;
}

static void check_only(const struct bench *b, struct argp_state *state)
{
    size_t length;

    for (const char *at = b->only; *at != '\0'; at += length + (at[length] == ',')) {
        bool known = false;

        length = strcspn(at, ",");
        for (int a = 0; a < ALGORITHMS; a++)
            known = known || (strlen(algorithms[a].collective) == length &&
                              strncmp(at, algorithms[a].collective, length) == 0);
        if (!known)
            argp_error(state,
                       "--only: '%.*s' is none of alltoall, allgather, allreduce, bcast, reduce, "
                       "reduce_scatter, gather, scatter, scatterv",
                       (int)length, at);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;

    switch (key) {
    case OPT_SIZES:
        b->nsizes = nof_sizes_option(arg, b->sizes, SIZES_MAX, state);
        for (unsigned i = 1; i < b->nsizes; i++)
            if (b->sizes[i] <= b->sizes[i - 1])
                argp_error(state, "--sizes: each must be larger than the one before");
        return 0;
    case OPT_RUNS:
        b->runs = nof_number_option(arg, 1, RUNS_MAX, "--runs", state);
        return 0;
    case OPT_MS:
        b->least_ms = nof_number_option(arg, 1, 60000, "--ms", state);
        return 0;
    case OPT_RANKS:
        b->config.ranks_per_host = nof_number_option(arg, 1, 16, "--ranks-per-host", state);
        return 0;
    case OPT_DRIVER:
        b->driver = nof_driver_option(arg, state);
        return 0;
    case OPT_ONLY:
        b->only = arg;
        check_only(b, state);
        return 0;
    case OPT_LAB:
        b->config.lab = true;
        return 0;
    case OPT_TUNE:
        b->tune = true;
        return 0;
    case 'o':
        b->output = arg;
        return 0;
    case ARGP_KEY_END:
        if (b->output != NULL && !b->tune)
            argp_error(state, "-o is where the table of --tune goes");
        if (b->config.lab && b->config.ranks_per_host != 1)
            argp_error(state, "--lab has one rank on each host: not with --ranks-per-host %u",
                       b->config.ranks_per_host);
        return 0;
    default:
        return nof_testbed_option(key, arg, state, &b->config, &b->json);
    }
}

static void read_arguments(struct bench *b, int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        NOF_TESTBED_OPTIONS,
        {"ranks-per-host", OPT_RANKS, "N", 0, "ranks on each host, 1 to 16 (1)", 0},
        {"lab", OPT_LAB, NULL, 0, "on network namespaces, beside other MPIs over TCP; needs root", 0},
        {"only", OPT_ONLY, "LIST", 0, "of these collectives (all)", 0},
        {"sizes", OPT_SIZES, "SIZE[,SIZE]", 0, "bytes, as the table counts them (" SIZES ")", 0},
        {"runs", OPT_RUNS, "N", 0, "jobs of each kind, in turn; medians count (3)", 0},
        {"ms", OPT_MS, "MS", 0, "a job goes on for so long, and through one collective at least (100)", 0},
        {"collectives", OPT_DRIVER, "nic|host", 0, "who goes through them (nic)", 0},
        {"tune", OPT_TUNE, NULL, 0, "print the table that the library should choose by", 0},
        {"output", 'o', "FILE", 0, "write the table there, for NOF_COLL_TABLE=FILE", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    static const struct argp argp = {
        options,
        parse,
        NULL,
        "Each algorithm of each collective that has several, and what the library chooses (auto); with "
        "--lab also what other MPIs over TCP take.\vBytes are "
        "those "
        "of one block of an all-to-all, allgather, gather, scatter and scatterv, else of the whole vector. "
        "An algorithm is chosen (<) if no other drops fewer frames for want of buffer or takes less time, or "
        "as "
        "the one for the size before if it is within 5 % of the best, or within the best one's spread.",
        NULL,
        NULL,
        NULL};

    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, b);
    if (b->nsizes == 0)
        b->nsizes = nof_sizes_option(SIZES, b->sizes, SIZES_MAX, NULL);
}

/* NULL, or why nothing can be measured. */
static const char *prepare(struct bench *b)
{
    const char *dir = nof_bench_scratch(), *why;
    char setting[32];

    nof_bench_beside(PROGRAM, b->program);
    if (access(b->program, X_OK) != 0)
        return "its program " PROGRAM
               " is not beside nof: run it from the build tree, with the MPI library built";
    nof_bench_progress("setting up %u hosts", b->config.hosts);
    (void)unsetenv("NOF_ALLTOALL"); /* goes before a table */
    why = nof_testbed_up(&b->bed, &b->config);
    if (why != NULL)
        return why;
    snprintf(b->table, sizeof(b->table), "%s/table", dir);
    for (int i = AUTO + 1; i < BESIDES; i++)
        b->why[i] =
            nof_peer_compile(&b->peer[i], i == MPICH ? NOF_PEER_MPICH : NOF_PEER_OPENMPI, &b->bed, SOURCE);
    snprintf(setting, sizeof(setting), "collectives=%s", b->driver);
    return nof_testbed_set(&b->bed, setting) ? NULL : "the daemon does not take a feature";
}

/* True: all was measured, and written where it was to go. */
static bool run(struct bench *b, struct nof_bench_report *report)
{
    json_t *result;
    bool written;
    FILE *out = b->output == NULL ? NULL : fopen(b->output, "ae");

    if (b->output != NULL && out == NULL) {
        fprintf(stderr, "%s: %s cannot be written: %m; is its folder there? Nothing was measured\n",
                report->self, b->output);
        return false;
    }
    if (out != NULL)
        (void)fclose(out);
    if (!measure(b)) {
        fprintf(stderr, "%s: a run failed; the message above says why\n", report->self);
        return false;
    }
    result = result_of(b, report);
    if (!b->json)
        print_rows(b, report, result);
    written = !b->tune || write_output(b, result);
    if (!written)
        fprintf(stderr, "%s: %s cannot be written: %m; is its folder there?\n", report->self, b->output);
    return nof_bench_end(report, result) && written;
}

int nof_bench_coll(int argc, char **argv)
{
    struct bench *b = calloc(1, sizeof(*b));
    struct nof_bench_report report;
    const char *why;
    bool complete = false;

    if (b == NULL)
        return 1;
    b->config = (struct nof_testbed_config)NOF_TESTBED_DEFAULT;
    b->driver = "nic";
    b->runs = 3;
    b->least_ms = 100;
    read_arguments(b, argc, argv);
    nof_bench_begin(&report, argv[0], b->json);
    why = prepare(b);
    if (why != NULL) {
        nof_bench_skip(&report, "rows", why);
        (void)nof_bench_end(&report, json_object());
    } else {
        complete = run(b, &report);
    }
    nof_testbed_down(&b->bed);
    free(b);
    return complete ? 0 : 1;
}
