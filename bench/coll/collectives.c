/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/testbed_option.h"
#include "lib/option.h"
#include "lib/our_job.h"
#include "lib/peer_mpi.h"
#include "lib/report.h"
#include "lib/testbed.h"
#include "pattern_phases.h"
#include "sim.h"

#define ROWS_MAX 64u
#define RUNS_MAX 16u
#define RUN_S 60
#define RANDOM_BYTES "64k"
#define SEEDS 5u
#define SIM_TIMES 5u
#define BUSY_LEAST 0.95 /* of the machine's CPU time: then it, and not the link, may be the limit */
#define PROGRAM "bench/coll_mpi"
#define SOURCE "programs/coll_mpi.c"
#define TEXT_BYTES 24u

enum { OPT_SIZES = 256, OPT_RUNS, OPT_MS, OPT_LAB, OPT_DRIVER, OPT_LEVELS, OPT_RANDOM, OPT_SEEDS, OPT_SIM };

struct figure {
    size_t n;
    double ms[RUNS_MAX];
    double busy; /* in the best run */
    double drops;
    double descs; /* of ours; in the last run */
};

struct row {
    uint64_t bytes;
    unsigned seed; /* 0: all messages are alike */
    double link_bytes; /* of the fullest link */
    struct figure figure[NOF_COLL_COLUMNS_MAX];
};

struct bench {
    const struct nof_coll_table *table;
    const struct nof_coll_column *columns;
    const char *why[NOF_COLL_COLUMNS_MAX]; /* a column is not measured; NULL: it is */
    bool json, random, sim;
    struct nof_testbed_config config;
    struct nof_testbed bed;
    struct nof_peer peer[NOF_PEERS];
    const char *driver; /* of collectives */
    unsigned kinds_of_options; /* that not all benches have */
    uint64_t sizes[ROWS_MAX];
    unsigned nsizes, seeds, runs, least_ms;
    struct row row[ROWS_MAX];
    unsigned rows;
    char program[NOF_BENCH_PATH_BYTES];
};

/* What one job printed. */
struct said {
    double ms, busy, link_bytes, descs;
};

static void take_line(void *ctx, const char *text)
{
    struct said *said = ctx;

    if (sscanf(text, "run %lf %lf", &said->ms, &said->busy) == 2)
        return;
    (void)sscanf(text, "link %lf", &said->link_bytes);
    (void)sscanf(text, "descs %lf", &said->descs);
}

static bool run_job(struct bench *b, const struct nof_coll_column *c, const struct row *row,
                    struct said *said)
{
    char bytes[TEXT_BYTES], least[TEXT_BYTES], seed[TEXT_BYTES];
    const char *const argv[] = {b->program, c->collective, bytes, "1", least, seed, NULL};

    *said = (struct said){NAN, NAN, NAN, NAN};
    snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)row->bytes);
    snprintf(least, sizeof(least), "%u", b->least_ms);
    snprintf(seed, sizeof(seed), "%u", row->seed);
    if (c->who == NOF_COLL_OURS)
        return nof_our_job_run(&b->bed, c->environment, argv, RUN_S, take_line, said) == 0 &&
               !isnan(said->ms);
    return nof_peer_run(&b->peer[c->who == NOF_COLL_MPICH ? NOF_PEER_MPICH : NOF_PEER_OPENMPI], &b->bed,
                        argv + 1, RUN_S, take_line, said) &&
           !isnan(said->ms);
}

static void keep(struct figure *f, const struct said *said, double drops)
{
    bool best = true;

    for (size_t i = 0; i < f->n; i++)
        best = best && said->ms < f->ms[i];
    if (best)
        f->busy = said->busy;
    f->ms[f->n++] = said->ms;
    f->drops += drops;
    f->descs = said->descs;
}

static bool measure_one(struct bench *b, struct row *row, unsigned column)
{
    const struct nof_coll_column *c = &b->columns[column];
    struct said said;
    double before = nof_testbed_drops(&b->bed);
    bool done = c->set == NULL || nof_testbed_set(&b->bed, c->set);

    done = done && run_job(b, c, row, &said);
    if (c->unset != NULL)
        done = nof_testbed_set(&b->bed, c->unset) && done;
    if (!done)
        return false;
    if (!isnan(said.link_bytes))
        row->link_bytes = said.link_bytes;
    keep(&row->figure[column], &said, nof_testbed_drops(&b->bed) - before);
    return true;
}

/* Rounds of all sizes and columns, so that what else the machine does meets all of them. */
static bool measure(struct bench *b)
{
    for (unsigned i = 0; i < b->runs; i++)
        for (unsigned r = 0; r < b->rows; r++)
            for (unsigned c = 0; b->columns[c].name != NULL; c++) {
                if (b->why[c] != NULL)
                    continue;
                nof_bench_progress("run %u of %u, %llu bytes, %s", i + 1, b->runs,
                                   (unsigned long long)b->row[r].bytes, b->columns[c].name);
                if (measure_one(b, &b->row[r], c))
                    continue;
                if (b->columns[c].who == NOF_COLL_OURS)
                    return false;
                b->why[c] = "its program failed or took too long";
            }
    return true;
}

/* NOF_SIM_TIMED_COUNT: it is not simulated. What an environment has changed has its own name there. */
static enum nof_sim_timed_way simulated(const struct nof_coll_column *c)
{
    char name[64];

    if (c->who != NOF_COLL_OURS)
        return NOF_SIM_TIMED_COUNT;
    snprintf(name, sizeof(name), "%s%s%s", c->collective, c->environment != NULL ? ":" : "",
             c->environment != NULL ? c->name : "");
    return nof_sim_timed_way(name);
}

/* Once, because another run has the same figures. */
static bool simulate(struct bench *b)
{
    for (unsigned r = 0; r < b->rows; r++)
        for (unsigned c = 0; b->columns[c].name != NULL; c++) {
            struct nof_sim_timed t = {.hosts = b->config.hosts,
                                      .by_nic = strcmp(b->driver, "nic") == 0,
                                      .amount = (uint32_t)b->row[r].bytes,
                                      .times = SIM_TIMES,
                                      .rate_bps = b->config.rate_bps,
                                      .buffer_bytes = b->config.buffer_bytes,
                                      .mtu_bytes = b->config.mtu_bytes};

            if (b->why[c] != NULL)
                continue;
            nof_bench_progress("%llu bytes, %s", (unsigned long long)b->row[r].bytes, b->columns[c].name);
            nof_sim_run_timed(simulated(&b->columns[c]), &t);
            if (t.problem[0] != '\0') {
                fprintf(stderr, "%llu bytes, %s: %s\n", (unsigned long long)b->row[r].bytes,
                        b->columns[c].name, t.problem);
                return false;
            }
            keep(&b->row[r].figure[c], &(struct said){t.median_ms, 0, NAN, (double)t.descs}, (double)t.drops);
        }
    return true;
}

static double limit_ms(const struct bench *b, const struct row *row)
{
    return row->link_bytes * 8e3 / (double)b->config.rate_bps;
}

static void name_of(char name[64], const char *column, const char *what)
{
    snprintf(name, 64, "%s_%s", column, what);
}

/* Median, best, and how far the runs are apart, as a part of the median. */
static void put_figure(json_t *row, const char *column, const struct figure *f)
{
    double sorted[RUNS_MAX], median;
    char name[64];

    memcpy(sorted, f->ms, sizeof(sorted));
    median = nof_bench_median(sorted, f->n);
    name_of(name, column, "ms");
    json_object_set_new(row, name, nof_bench_number(median));
    name_of(name, column, "best_ms");
    json_object_set_new(row, name, nof_bench_number(f->n > 0 ? sorted[0] : NAN));
    name_of(name, column, "spread");
    json_object_set_new(row, name,
                        nof_bench_number(f->n > 0 ? (sorted[f->n - 1] - sorted[0]) / median : NAN));
}

static bool as_in_paper(const struct bench *b)
{
    return b->config.hosts == 16 && b->config.rate_bps == 100000000;
}

static void put_paper(const struct bench *b, const struct row *row, json_t *object)
{
    const struct nof_coll_paper *paper = b->random ? b->table->random_paper : b->table->paper;
    json_t *said = json_object();
    char name[64];

    for (; paper != NULL && paper->bytes != 0 && as_in_paper(b); paper++)
        if (paper->bytes == row->bytes) {
            name_of(name, paper->name, "ms");
            json_object_set_new(said, name, json_real(paper->ms));
        }
    if (json_object_size(said) > 0)
        json_object_set(object, "paper", said);
    json_decref(said);
}

static json_t *row_of(const struct bench *b, struct nof_bench_report *report, const struct row *row)
{
    json_t *object = json_pack("{s:I}", "bytes", (json_int_t)row->bytes);
    double drops = 0, busy = 0;
    char name[96];

    if (row->seed != 0) {
        json_object_set_new(object, "seed", json_integer(row->seed));
        json_object_set_new(object, "phases", nof_pattern_phases(row->seed, b->config.hosts, row->bytes));
    }
    json_object_set_new(object, "limit_ms", json_real(limit_ms(b, row)));
    for (unsigned c = 0; b->columns[c].name != NULL; c++) {
        const struct figure *f = &row->figure[c];
        const struct nof_coll_column *column = &b->columns[c];

        put_figure(object, column->name, f);
        snprintf(name, sizeof(name), "%llu.%s_ms", (unsigned long long)row->bytes, column->name);
        nof_bench_compared(report, name, f->ms, f->n, NAN);
        if (column->who != NOF_COLL_OURS)
            continue;
        name_of(name, column->name, "descs");
        json_object_set_new(object, name, nof_bench_number(f->n > 0 ? f->descs : NAN));
        if (column->may_drop) {
            name_of(name, column->name, "drop_buffer");
            json_object_set_new(object, name, json_integer((json_int_t)f->drops));
        } else {
            drops += f->drops;
            busy = f->busy > busy ? f->busy : busy;
        }
    }
    put_paper(b, row, object);
    json_object_set_new(object, "drop_buffer", json_integer((json_int_t)drops));
    json_object_set_new(object, "busy", json_real(busy));
    json_object_set_new(object, "cpu_bound", json_boolean(busy >= BUSY_LEAST));
    return object;
}

/* All that can be measured on such a network. */
static bool is_complete(const struct bench *b)
{
    for (unsigned c = 0; !b->sim && b->columns[c].name != NULL; c++)
        if (b->why[c] != NULL && b->columns[c].who != NOF_COLL_NOBODY &&
            (b->columns[c].who == NOF_COLL_OURS || b->config.lab))
            return false;
    return true;
}

static const char *network_of(const struct bench *b)
{
    return b->sim ? "sim" : b->config.lab ? "lab" : "fabric";
}

static json_t *result_of(const struct bench *b, struct nof_bench_report *report)
{
    json_t *rows = json_array();
    double load[1] = {NAN};

    for (unsigned r = 0; r < b->rows; r++)
        json_array_append_new(rows, row_of(b, report, &b->row[r]));
    for (unsigned c = 0; b->columns[c].name != NULL; c++)
        if (b->why[c] != NULL) {
            char name[64];

            name_of(name, b->columns[c].name, "ms");
            nof_bench_skip(report, name, b->why[c]);
        }
    (void)getloadavg(load, 1);
    return json_pack("{s:o, s:i, s:s, s:I, s:I, s:i, s:i, s:s, s:o}", "rows", rows, "hosts",
                     (int)b->config.hosts, "network", network_of(b), "link_bps",
                     (json_int_t)b->config.rate_bps, "buffer_bytes", (json_int_t)b->config.buffer_bytes,
                     "mtu", (int)b->config.mtu_bytes, "runs", (int)b->runs, "collectives", b->driver, "load",
                     nof_bench_number(load[0]));
}

static void print_table(const struct bench *b, const struct nof_bench_report *report, const json_t *result)
{
    json_t *row;
    size_t i;

    printf("%u hosts, %s, %.0f Mbit/s, buffers of %llu bytes, MTU %u; medians of %u, ms\n", b->config.hosts,
           network_of(b), (double)b->config.rate_bps / 1e6, (unsigned long long)b->config.buffer_bytes,
           b->config.mtu_bytes, b->runs);
    printf("%8s %9s", b->random ? "seed" : "bytes", "limit");
    for (unsigned c = 0; b->columns[c].name != NULL; c++)
        printf(" %12s", b->columns[c].name);
    printf(" %7s %5s\n", "dropped", "busy");
    json_array_foreach(json_object_get(result, "rows"), i, row)
    {
        printf("%8llu %9.3f", b->random ? b->row[i].seed : (unsigned long long)b->row[i].bytes,
               limit_ms(b, &b->row[i]));
        for (unsigned c = 0; b->columns[c].name != NULL; c++) {
            char key[64], name[96];

            name_of(key, b->columns[c].name, "ms");
            snprintf(name, sizeof(name), "%llu.%s", (unsigned long long)b->row[i].bytes, key);
            printf(" %12s", nof_bench_cell(report, name, nof_bench_real(row, key), 3).text);
        }
        printf(" %7.0f %5.2f%s\n", nof_bench_real(row, "drop_buffer"), nof_bench_real(row, "busy"),
               json_is_true(json_object_get(row, "cpu_bound")) ? " CPU-bound" : "");
    }
}

static error_t parse_random(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;

    switch (key) {
    case OPT_LEVELS:
        b->random = false;
        return 0;
    case OPT_RANDOM:
        b->random = true;
        return 0;
    case OPT_SEEDS:
        b->seeds = nof_number_option(arg, 1, ROWS_MAX, "--seeds", state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_sim(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;

    (void)arg;
    b->sim |= key == OPT_SIM;
    return key == OPT_SIM ? 0 : ARGP_ERR_UNKNOWN;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;

    switch (key) {
    case OPT_SIZES:
        b->nsizes = nof_sizes_option(arg, b->sizes, ROWS_MAX, state);
        return 0;
    case OPT_LAB:
        b->config.lab = true;
        return 0;
    case OPT_RUNS:
        b->runs = nof_number_option(arg, 1, RUNS_MAX, "--runs", state);
        return 0;
    case OPT_MS:
        b->least_ms = nof_number_option(arg, 1, 60000, "--ms", state);
        return 0;
    case OPT_DRIVER:
        b->driver = nof_driver_option(arg, state);
        return 0;
    case ARGP_KEY_END:
        if (b->seeds != 0 && !b->random)
            argp_error(state, "--seeds are those of --random");
        if (b->sim && b->config.lab)
            argp_error(state, "--sim is without machines: not with --lab");
        if (b->sim && b->random)
            argp_error(state, "--sim has no random patterns: not with --random");
        return nof_bench_option(key, arg, state, &b->json);
    case ARGP_KEY_INIT:
        for (unsigned i = 0; i < b->kinds_of_options; i++)
            state->child_inputs[i] = b;
        return 0;
    default:
        return nof_testbed_option(key, arg, state, &b->config, &b->json);
    }
}

static void read_arguments(struct bench *b, int argc, char **argv)
{
    static const struct argp_option random_options[] = {
        {"levels", OPT_LEVELS, NULL, 0,
         "each size, by levels of compiled communication (this is the default)", 0},
        {"random", OPT_RANDOM, NULL, 0,
         "random patterns instead: of all messages two thirds of --sizes (64k), a twelfth of a quarter of "
         "it, a "
         "quarter of 100 bytes",
         0},
        {"seeds", OPT_SEEDS, "N", 0, "as many of them (5)", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        NOF_TESTBED_OPTIONS,
        {"lab", OPT_LAB, NULL, 0, "on network namespaces, beside other MPIs over TCP; needs root", 0},
        {"sizes", OPT_SIZES, "SIZE[,SIZE]", 0, "bytes from each rank to each", 0},
        {"runs", OPT_RUNS, "N", 0, "jobs of each kind, in turn; medians are printed (5)", 0},
        {"ms", OPT_MS, "MS", 0, "a job goes on for so long, and through one collective at least (200)", 0},
        {"collectives", OPT_DRIVER, "nic|host", 0, "who goes through ours (nic)", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    static const struct argp_option sim_options[] = {
        {"sim", OPT_SIM, NULL, 0, "in virtual time: the same figures in every run", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    const struct argp random = {random_options, parse_random, NULL, NULL, NULL, NULL, NULL};
    const struct argp sim = {sim_options, parse_sim, NULL, NULL, NULL, NULL, NULL};
    struct argp_child children[3] = {{NULL, 0, NULL, 0}};
    const struct argp argp = {options, parse, NULL, b->table->about, children, NULL, NULL};

    if (b->table->sim)
        children[b->kinds_of_options++] = (struct argp_child){&sim, 0, NULL, 0};
    if (b->table->random != NULL)
        children[b->kinds_of_options++] = (struct argp_child){&random, 0, "", 0};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, b);
    if (b->nsizes == 0)
        b->nsizes = nof_sizes_option(b->random ? RANDOM_BYTES : b->table->sizes, b->sizes, ROWS_MAX, NULL);
}

static void fill_rows(struct bench *b)
{
    unsigned each = !b->random ? 1 : b->seeds != 0 ? b->seeds : SEEDS;

    for (unsigned i = 0; i < b->nsizes * each && i < ROWS_MAX; i++)
        b->row[b->rows++] = (struct row){.bytes = b->sizes[i / each],
                                         .seed = b->random ? i % each + 1 : 0,
                                         .link_bytes = (double)b->sizes[i / each] * (b->config.hosts - 1)};
}

static void find_simulated(struct bench *b)
{
    for (unsigned c = 0; b->columns[c].name != NULL; c++)
        if (simulated(&b->columns[c]) == NOF_SIM_TIMED_COUNT)
            b->why[c] = "it is not simulated: --lab has it";
    b->runs = 1;
    nof_sim_library_prepare();
}

static void find_columns(struct bench *b)
{
    const char *why[NOF_PEERS];

    for (unsigned i = 0; i < NOF_PEERS; i++)
        why[i] = nof_peer_compile(&b->peer[i], (enum nof_peer_mpi)i, &b->bed, SOURCE);
    for (unsigned c = 0; b->columns[c].name != NULL; c++) {
        if (b->columns[c].who == NOF_COLL_NOBODY)
            b->why[c] = b->columns[c].collective;
        else if (b->columns[c].who != NOF_COLL_OURS)
            b->why[c] = why[b->columns[c].who == NOF_COLL_MPICH ? NOF_PEER_MPICH : NOF_PEER_OPENMPI];
    }
}

/* NULL, or why nothing can be measured. */
static const char *prepare(struct bench *b)
{
    char setting[32];
    const char *why;

    if (b->sim) {
        find_simulated(b);
        return NULL;
    }
    nof_bench_beside(PROGRAM, b->program);
    if (access(b->program, X_OK) != 0)
        return "its program " PROGRAM
               " is not beside nof: run it from the build tree, with the MPI library built";
    nof_bench_progress("setting up %u hosts", b->config.hosts);
    why = nof_testbed_up(&b->bed, &b->config);
    if (why != NULL)
        return why;
    snprintf(setting, sizeof(setting), "collectives=%s", b->driver);
    if (!nof_testbed_set(&b->bed, setting))
        return "the daemon does not take a feature";
    find_columns(b);
    return NULL;
}

int nof_coll_bench(const struct nof_coll_table *table, int argc, char **argv)
{
    struct bench *b = calloc(1, sizeof(*b));
    struct nof_bench_report report;
    const char *why;
    bool complete = false;

    if (b == NULL)
        return 1;
    b->table = table;
    b->config = (struct nof_testbed_config)NOF_TESTBED_DEFAULT;
    b->driver = "nic";
    b->runs = 5;
    b->least_ms = 200;
    read_arguments(b, argc, argv);
    b->columns = b->random ? table->random : table->columns;
    fill_rows(b);
    nof_bench_begin(&report, argv[0], b->json);
    why = prepare(b);
    if (why != NULL) {
        nof_bench_skip(&report, "rows", why);
        (void)nof_bench_end(&report, json_object());
    } else if (b->sim ? simulate(b) : measure(b)) {
        json_t *result = result_of(b, &report);

        if (!b->json)
            print_table(b, &report, result);
        (void)nof_bench_end(&report, result);
        complete = is_complete(b);
    } else {
        fprintf(stderr, "%s: a run failed; the message above says why\n", argv[0]);
    }
    nof_testbed_down(&b->bed);
    free(b);
    return complete ? 0 : 1;
}
