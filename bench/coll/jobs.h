/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables of whole programs on testbeds of several numbers of hosts: a row for each program and number of hosts, a column for
 * each way to run it, ours or another MPI's, in seconds.
 *
 *   nof_jobs_option() while arguments are read -> nof_jobs_add() each row, those of a number of hosts one after the other
 *     -> nof_jobs_run()
 *
 * Threads: one. */
#ifndef NOF_BENCH_JOBS_H
#define NOF_BENCH_JOBS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "collectives.h"
#include "lib/testbed.h"

#define NOF_JOBS_COLUMNS_MAX 6u
#define NOF_JOBS_SETTINGS_MAX 3u
#define NOF_JOBS_ROWS_MAX 64u
#define NOF_JOBS_RUNS_MAX 16u
#define NOF_JOBS_HOSTS_MAX 8u
#define NOF_JOBS_WORDS_MAX 8u
#define NOF_JOBS_LABEL_BYTES 32u

enum { NOF_JOBS_HOSTS = 768, NOF_JOBS_RUNS, NOF_JOBS_LAB, NOF_JOBS_SIM };

/* For the table of options, beside NOF_TESTBED_LINK_OPTIONS and NOF_BENCH_JSON; the last is for kinds with columns that can be
 * simulated. */
/* clang-format off */
#define NOF_JOBS_OPTIONS \
    {"hosts", NOF_JOBS_HOSTS, "N[,N]", 0, "hosts, a rank each, 2 to 32 (4,8,16)", 0}, \
    NOF_JOBS_RUN_OPTIONS
#define NOF_JOBS_RUN_OPTIONS \
    {"runs", NOF_JOBS_RUNS, "N", 0, "jobs of each kind, in turn; medians are printed (3)", 0}, \
    {"lab", NOF_JOBS_LAB, NULL, 0, "on network namespaces, beside other MPIs over TCP; needs root", 0}
#define NOF_JOBS_SIM_OPTION \
    {"sim", NOF_JOBS_SIM, NULL, 0, "in virtual time: the same figures in every run", 0}

/* The last columns: other MPIs. */
#define NOF_JOBS_OTHERS \
    {"mpich", NOF_COLL_MPICH, {NULL, NULL, NULL}, NULL}, {"openmpi", NOF_COLL_OPENMPI, {NULL, NULL, NULL}, NULL}, \
    {NULL, NOF_COLL_NOBODY, {NULL, NULL, NULL}, NULL}
/* clang-format on */

struct nof_jobs_column {
    const char *name; /* NAME_s in a row; NULL behind the last */
    enum nof_coll_who who;
    const char *set[NOF_JOBS_SETTINGS_MAX]; /* features, before each job of ours */
    const char *sim; /* its name among NOF_SIM_TIMED_WAYS; NULL: it cannot be simulated */
};

struct nof_jobs_figure {
    size_t n;
    double s[NOF_JOBS_RUNS_MAX];
    double drops;
    bool skipped;
};

struct nof_jobs_row {
    unsigned hosts;
    unsigned what[2]; /* the bench's own: which program; simulated: what[0] pages, what[1] times */
    char label[NOF_JOBS_LABEL_BYTES]; /* "is.A.16": names the row where a figure is skipped or starved */
    struct nof_jobs_figure figure[NOF_JOBS_COLUMNS_MAX];
};

struct nof_jobs_kind {
    const struct nof_jobs_column *columns;
    const char *about; /* above the table */
    const char *source; /* of the peers' program, compiled when it runs; NULL: what `command` says */
    const char *told; /* as in struct nof_peer */
    unsigned timeout_s; /* of a job */
    /* words: NOF_JOBS_WORDS_MAX, the program and its arguments, NULL behind them. Returns NULL, or why there is none. */
    const char *(*command)(void *ctx, const struct nof_jobs_row *row, const struct nof_jobs_column *column,
                           const char **words);
    /* In virtual time, where `sim` of columns is not enough: fills figure's first, and its drops. NULL: by that. Returns NULL, or
     * what went wrong, for as long as ctx is there. */
    const char *(*simulate)(void *ctx, const struct nof_jobs_row *row, const struct nof_jobs_column *column,
                            const struct nof_testbed_config *config, struct nof_jobs_figure *figure);
    /* Seconds, if the line says them and all is well with them; else negative. */
    double (*seconds)(void *ctx, const char *line);
    /* What a row has besides its figures: names, ratios, what the paper says. */
    void (*put)(void *ctx, const struct nof_jobs_row *row, json_t *object);
    /* What the paper says, or what else there is, at the end of a line of the table. */
    void (*print)(const json_t *object);
    const char *printed; /* above it; NULL: the paper */
};

struct nof_jobs {
    const struct nof_jobs_kind *kind;
    void *ctx;
    const char *self;
    bool json, sim;
    struct nof_testbed_config config; /* hosts: of the testbed that is up */
    unsigned hosts[NOF_JOBS_HOSTS_MAX], nhosts, runs;
    struct nof_jobs_row row[NOF_JOBS_ROWS_MAX];
    unsigned rows;
};

void nof_jobs_init(struct nof_jobs *jobs, const struct nof_jobs_kind *kind, void *ctx, const char *self);
/* Those above, of testbeds, and --json; or ARGP_ERR_UNKNOWN. */
error_t nof_jobs_option(int key, char *arg, struct argp_state *state, struct nof_jobs *jobs);
/* False: there are too many. */
bool nof_jobs_add(struct nof_jobs *jobs, unsigned hosts, unsigned what, unsigned which, const char *label);
/* Measures and prints: 0 if all was measured that can be on the network that was asked for. */
int nof_jobs_run(struct nof_jobs *jobs);

#endif
