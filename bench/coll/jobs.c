/* SPDX-License-Identifier: BSD-3-Clause */
#include "jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/option.h"
#include "lib/our_job.h"
#include "lib/peer_mpi.h"
#include "lib/report.h"
#include "lib/testbed_option.h"
#include "sim.h"

#define NAME_BYTES 64u

/* While it is measured. */
struct run {
    struct nof_jobs *jobs;
    struct nof_testbed bed;
    struct nof_bench_report report;
    double said_s; /* by the job under way; NAN: nothing yet */
    struct nof_sim_timed timed;
    struct nof_peer peer[NOF_PEERS]; /* compiled, if the kind has a source */
    const char *no_peer[NOF_PEERS];
};

void nof_jobs_init(struct nof_jobs *jobs, const struct nof_jobs_kind *kind, void *ctx, const char *self)
{
    static const unsigned hosts[] = {4, 8, 16};

    *jobs = (struct nof_jobs){.kind = kind, .ctx = ctx, .self = self, .runs = 3};
    jobs->config = (struct nof_testbed_config)NOF_TESTBED_DEFAULT;
    jobs->nhosts = sizeof(hosts) / sizeof(hosts[0]);
    memcpy(jobs->hosts, hosts, sizeof(hosts));
}

error_t nof_jobs_option(int key, char *arg, struct argp_state *state, struct nof_jobs *jobs)
{
    switch (key) {
    case NOF_JOBS_HOSTS:
        jobs->nhosts =
            nof_numbers_option(arg, 2, NOF_LAB_HOSTS_MAX, jobs->hosts, NOF_JOBS_HOSTS_MAX, "--hosts", state);
        return 0;
    case NOF_JOBS_RUNS:
        jobs->runs = nof_number_option(arg, 1, NOF_JOBS_RUNS_MAX, "--runs", state);
        return 0;
    case NOF_JOBS_LAB:
        jobs->config.lab = true;
        return 0;
    case NOF_JOBS_SIM:
        jobs->sim = true;
        return 0;
    case ARGP_KEY_END:
        if (jobs->sim && jobs->config.lab)
            argp_error(state, "--sim is without machines: not with --lab");
        return nof_bench_option(key, arg, state, &jobs->json);
    default:
        return nof_testbed_option(key, arg, state, &jobs->config, &jobs->json);
    }
}

bool nof_jobs_add(struct nof_jobs *jobs, unsigned hosts, unsigned what, unsigned which, const char *label)
{
    struct nof_jobs_row *row = &jobs->row[jobs->rows];

    if (jobs->rows == NOF_JOBS_ROWS_MAX)
        return false;
    *row = (struct nof_jobs_row){.hosts = hosts, .what = {what, which}};
    snprintf(row->label, sizeof(row->label), "%s", label);
    jobs->rows++;
    return true;
}

static void take_line(void *ctx, const char *text)
{
    struct run *r = ctx;
    double s = r->jobs->kind->seconds(r->jobs->ctx, text);

    if (s >= 0)
        r->said_s = s;
}

static void skip(struct run *r, struct nof_jobs_row *row, unsigned column, const char *why)
{
    char name[NAME_BYTES];

    row->figure[column].skipped = true;
    snprintf(name, sizeof(name), "%s.%s_s", row->label, r->jobs->kind->columns[column].name);
    nof_bench_skip(&r->report, name, why);
}

static bool set_features(const struct run *r, const struct nof_jobs_column *column)
{
    bool all = true;

    for (unsigned i = 0; i < NOF_JOBS_SETTINGS_MAX && column->set[i] != NULL; i++)
        all = all && nof_testbed_set(&r->bed, column->set[i]);
    return all;
}

static const char *run_ours(struct run *r, const struct nof_jobs_column *column, const char *const *words)
{
    if (!set_features(r, column))
        return "the daemon does not take a feature";
    return nof_our_job_run(&r->bed, NULL, words, r->jobs->kind->timeout_s, take_line, r) == 0 &&
                   !isnan(r->said_s)
               ? NULL
               : "our program failed or took too long";
}

/* Twice, because a launcher between namespaces may fail to start: Open MPI's daemons share a folder. */
static const char *run_peer(struct run *r, enum nof_peer_mpi mpi, const char *const *words)
{
    const struct nof_jobs_kind *kind = r->jobs->kind;
    const char *why = kind->source != NULL ? r->no_peer[mpi]
                                           : nof_peer_take(&r->peer[mpi], mpi, &r->bed, words[0], kind->told);

    for (int i = 0; why == NULL && i < 2; i++)
        if (nof_peer_run(&r->peer[mpi], &r->bed, words + 1, kind->timeout_s, take_line, r) &&
            !isnan(r->said_s))
            return NULL;
    return why != NULL ? why : "its program failed or took too long, twice";
}

/* False: ours failed, which ends all. */
static bool measure_one(struct run *r, struct nof_jobs_row *row, unsigned c)
{
    const struct nof_jobs_column *column = &r->jobs->kind->columns[c];
    struct nof_jobs_figure *f = &row->figure[c];
    const char *words[NOF_JOBS_WORDS_MAX];
    double before = nof_testbed_drops(&r->bed);
    const char *why = r->jobs->kind->command(r->jobs->ctx, row, column, words);

    r->said_s = NAN;
    if (why == NULL && column->who == NOF_COLL_OURS) {
        why = run_ours(r, column, words);
        if (why != NULL) {
            fprintf(stderr, "%s: %s, %s: %s\n", r->jobs->self, row->label, column->name, why);
            return false;
        }
    } else if (why == NULL) {
        why = run_peer(r, column->who == NOF_COLL_MPICH ? NOF_PEER_MPICH : NOF_PEER_OPENMPI, words);
    }
    if (why != NULL) {
        skip(r, row, c, why);
        return true;
    }
    f->s[f->n++] = r->said_s;
    f->drops += nof_testbed_drops(&r->bed) - before;
    return true;
}

/* Rounds of all rows and columns, so that what else the machine does meets all of them. */
static bool measure_hosts(struct run *r, struct nof_jobs_row *row, unsigned rows)
{
    const struct nof_jobs_column *columns = r->jobs->kind->columns;

    for (unsigned i = 0; i < r->jobs->runs; i++)
        for (unsigned k = 0; k < rows; k++)
            for (unsigned c = 0; columns[c].name != NULL; c++) {
                if (row[k].figure[c].skipped)
                    continue;
                nof_bench_progress("run %u of %u, %s, %s", i + 1, r->jobs->runs, row[k].label,
                                   columns[c].name);
                if (!measure_one(r, &row[k], c))
                    return false;
            }
    return true;
}

/* By the column's name among the simulator's. NULL, or what went wrong. */
static const char *simulate_timed(struct run *r, const struct nof_jobs_row *row,
                                  const struct nof_jobs_column *column, struct nof_jobs_figure *figure)
{
    const struct nof_testbed_config *config = &r->jobs->config;
    struct nof_sim_timed *t = &r->timed;

    *t = (struct nof_sim_timed){.hosts = row->hosts,
                                .by_nic = true,
                                .amount = row->what[0],
                                .times = row->what[1],
                                .rate_bps = config->rate_bps,
                                .buffer_bytes = config->buffer_bytes,
                                .mtu_bytes = config->mtu_bytes};
    nof_sim_run_timed(nof_sim_timed_way(column->sim), t);
    figure->s[0] = t->sum_ms / 1e3;
    figure->drops = (double)t->drops;
    return t->problem[0] != '\0' ? t->problem : NULL;
}

/* Once, because another run has the same figures. False: a run failed, which was told. */
static bool simulate(struct run *r)
{
    const struct nof_jobs *jobs = r->jobs;

    for (unsigned i = 0; i < jobs->rows; i++)
        for (unsigned c = 0; jobs->kind->columns[c].name != NULL; c++) {
            const struct nof_jobs_column *column = &jobs->kind->columns[c];
            struct nof_jobs_row *row = &r->jobs->row[i];
            const char *why;

            if (column->sim == NULL) {
                skip(r, row, c, "it is not simulated: --lab has it");
                continue;
            }
            nof_bench_progress("%s, %s", row->label, column->name);
            why = jobs->kind->simulate != NULL
                      ? jobs->kind->simulate(jobs->ctx, row, column, &jobs->config, &row->figure[c])
                      : simulate_timed(r, row, column, &row->figure[c]);
            if (why != NULL) {
                fprintf(stderr, "%s: %s, %s: %s\n", jobs->self, row->label, column->name, why);
                return false;
            }
            row->figure[c].n = 1;
        }
    return true;
}

static void compile_peers(struct run *r)
{
    const char *source = r->jobs->kind->source;

    for (unsigned i = 0; source != NULL && i < NOF_PEERS; i++)
        r->no_peer[i] = nof_peer_compile(&r->peer[i], (enum nof_peer_mpi)i, &r->bed, source);
}

static bool measure(struct run *r)
{
    struct nof_jobs *jobs = r->jobs;

    for (unsigned i = 0, rows; i < jobs->rows; i += rows) {
        const char *why;
        bool done = true;

        for (rows = 1; i + rows < jobs->rows && jobs->row[i + rows].hosts == jobs->row[i].hosts;)
            rows++;
        jobs->config.hosts = jobs->row[i].hosts;
        nof_bench_progress("setting up %u hosts", jobs->config.hosts);
        why = nof_testbed_up(&r->bed, &jobs->config);
        if (why == NULL) {
            compile_peers(r);
            done = measure_hosts(r, &jobs->row[i], rows);
        }
        for (unsigned k = 0; why != NULL && k < rows; k++)
            for (unsigned c = 0; jobs->kind->columns[c].name != NULL; c++)
                skip(r, &jobs->row[i + k], c, why);
        nof_testbed_down(&r->bed);
        if (!done)
            return false;
    }
    return true;
}

static void put_number(json_t *object, const char *column, const char *what, double value)
{
    char name[NAME_BYTES];

    snprintf(name, sizeof(name), "%s_%s", column, what);
    json_object_set_new(object, name, nof_bench_number(value));
}

/* Median, best, and how far the runs are apart, as a part of the median; of ours, frames that were dropped. */
static void put_figure(struct run *r, const struct nof_jobs_row *row, unsigned c, json_t *object)
{
    const struct nof_jobs_column *column = &r->jobs->kind->columns[c];
    const struct nof_jobs_figure *f = &row->figure[c];
    double sorted[NOF_JOBS_RUNS_MAX], median;
    char name[NAME_BYTES];

    memcpy(sorted, f->s, sizeof(sorted));
    median = nof_bench_median(sorted, f->n);
    put_number(object, column->name, "s", median);
    put_number(object, column->name, "best_s", f->n > 0 ? sorted[0] : NAN);
    put_number(object, column->name, "spread", f->n > 0 ? (sorted[f->n - 1] - sorted[0]) / median : NAN);
    if (column->who == NOF_COLL_OURS)
        put_number(object, column->name, "drop_buffer", f->n > 0 ? f->drops : NAN);
    snprintf(name, sizeof(name), "%s.%s_s", row->label, column->name);
    nof_bench_compared(&r->report, name, f->s, f->n, NAN);
}

static const char *network_of(const struct nof_jobs *jobs)
{
    return jobs->sim ? "sim" : jobs->config.lab ? "lab" : "fabric";
}

static json_t *result_of(struct run *r)
{
    const struct nof_jobs *jobs = r->jobs;
    json_t *rows = json_array();

    for (unsigned i = 0; i < jobs->rows; i++) {
        json_t *object = json_object();

        for (unsigned c = 0; jobs->kind->columns[c].name != NULL; c++)
            put_figure(r, &jobs->row[i], c, object);
        jobs->kind->put(jobs->ctx, &jobs->row[i], object);
        json_array_append_new(rows, object);
    }
    return json_pack("{s:o, s:s, s:I, s:I, s:i, s:i}", "rows", rows, "network", network_of(jobs), "link_bps",
                     (json_int_t)jobs->config.rate_bps, "buffer_bytes", (json_int_t)jobs->config.buffer_bytes,
                     "mtu", (int)jobs->config.mtu_bytes, "runs", (int)jobs->runs);
}

static void print_table(const struct run *r, const json_t *result)
{
    const struct nof_jobs *jobs = r->jobs;
    const struct nof_jobs_column *columns = jobs->kind->columns;
    json_t *row;
    size_t i;

    printf("%s; %s, %.0f Mbit/s, buffers of %llu bytes, MTU %u; medians of %u, s\n", jobs->kind->about,
           network_of(jobs), (double)jobs->config.rate_bps / 1e6,
           (unsigned long long)jobs->config.buffer_bytes, jobs->config.mtu_bytes, jobs->runs);
    printf("%-14s", "");
    for (unsigned c = 0; columns[c].name != NULL; c++)
        printf(" %10s", columns[c].name);
    printf("   %s\n", jobs->kind->printed != NULL ? jobs->kind->printed : "the paper");
    json_array_foreach(json_object_get(result, "rows"), i, row)
    {
        printf("%-14s", jobs->row[i].label);
        for (unsigned c = 0; columns[c].name != NULL; c++) {
            char key[NAME_BYTES], name[2 * NAME_BYTES];

            snprintf(key, sizeof(key), "%s_s", columns[c].name);
            snprintf(name, sizeof(name), "%s.%s", jobs->row[i].label, key);
            printf(" %10s", nof_bench_cell(&r->report, name, nof_bench_real(row, key), 3).text);
        }
        printf("  ");
        jobs->kind->print(row);
        printf("\n");
    }
}

/* Without a lab nobody expects other MPIs. */
static bool is_complete(const struct nof_jobs *jobs)
{
    for (unsigned i = 0; i < jobs->rows; i++)
        for (unsigned c = 0; jobs->kind->columns[c].name != NULL; c++)
            if (jobs->row[i].figure[c].skipped &&
                (jobs->config.lab || jobs->kind->columns[c].who == NOF_COLL_OURS))
                return false;
    return true;
}

static bool has_figures(const struct nof_jobs *jobs)
{
    for (unsigned i = 0; i < jobs->rows; i++)
        for (unsigned c = 0; jobs->kind->columns[c].name != NULL; c++)
            if (jobs->row[i].figure[c].n > 0)
                return true;
    return false;
}

int nof_jobs_run(struct nof_jobs *jobs)
{
    struct run *r = calloc(1, sizeof(*r));
    bool complete = false;

    if (r == NULL)
        return 1;
    r->jobs = jobs;
    if (jobs->sim) {
        nof_sim_library_prepare();
        jobs->runs = 1;
    }
    nof_bench_begin(&r->report, jobs->self, jobs->json);
    if (jobs->sim ? simulate(r) : measure(r)) {
        json_t *result = has_figures(jobs) ? result_of(r) : json_object();

        if (!jobs->json && has_figures(jobs))
            print_table(r, result);
        (void)nof_bench_end(&r->report, result);
        complete = is_complete(jobs);
    }
    free(r);
    return complete ? 0 : 1;
}
