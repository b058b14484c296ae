/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench dsm`: what the barriers of a distributed shared memory in software take on a switched network of slow links and
 * short buffers, with compiled communication and without. Paper: compiled communication, section 5.3 and table 6. */
#include "../tools/nof/commands.h"
#include "jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/option.h"
#include "lib/report.h"
#include "lib/testbed_option.h"

#define PROGRAM "bench/dsm_mpi"
#define PAGES_MAX 8u
#define PAGES_MOST 64u /* of a rank */
#define JOB_S 300

enum { OPT_PAGES = 256, OPT_ITERATIONS };

struct bench {
    struct nof_jobs jobs;
    unsigned pages[PAGES_MAX], npages, iterations;
    char program[NOF_BENCH_PATH_BYTES], count[2][16];
};

#define PAPER_ITERATIONS 100

/* Table 6: of as many iterations. */
static const struct {
    unsigned pages, hosts;
    double level1_s, dynamic_s;
} paper[] = {
    {1, 4, 0.93, 0.90},  {1, 8, 2.02, 4.29}, {1, 16, 4.57, 6.75}, {4, 4, 3.07, 4.13},  {4, 8, 6.76, 12.1},
    {4, 16, 15.8, 27.5}, {8, 4, 9.46, 8.35}, {8, 8, 15.7, 18.6},  {8, 16, 35.5, 48.4},
};

static const char *command(void *ctx, const struct nof_jobs_row *row, const struct nof_jobs_column *column,
                           const char **words)
{
    struct bench *b = ctx;

    snprintf(b->count[0], sizeof(b->count[0]), "%u", row->what[0]);
    snprintf(b->count[1], sizeof(b->count[1]), "%u", row->what[1]);
    words[0] = b->program;
    words[1] = strcmp(column->name, "level1") == 0 ? "level1" : "dynamic";
    words[2] = b->count[0];
    words[3] = b->count[1];
    words[4] = NULL;
    return NULL;
}

static double seconds(void *ctx, const char *line)
{
    double s;

    (void)ctx;
    return sscanf(line, "run %lf", &s) == 1 ? s : -1;
}

static void put(void *ctx, const struct nof_jobs_row *row, json_t *object)
{
    const struct bench *b = ctx;
    double level1_s = NAN, dynamic_s = NAN, part = (double)b->iterations / PAPER_ITERATIONS;

    for (size_t i = 0; i < sizeof(paper) / sizeof(paper[0]); i++)
        if (paper[i].pages == row->what[0] && paper[i].hosts == row->hosts) {
            level1_s = part * paper[i].level1_s;
            dynamic_s = part * paper[i].dynamic_s;
        }
    json_object_set_new(object, "pages", json_integer(row->what[0]));
    json_object_set_new(object, "hosts", json_integer(row->hosts));
    json_object_set_new(
        object, "ratio",
        nof_bench_number(nof_bench_real(object, "dynamic_s") / nof_bench_real(object, "level1_s")));
    json_object_set_new(object, "paper_level1_s", nof_bench_number(level1_s));
    json_object_set_new(object, "paper_dynamic_s", nof_bench_number(dynamic_s));
    json_object_set_new(object, "paper_ratio", nof_bench_number(dynamic_s / level1_s));
}

static void print(const json_t *object)
{
    printf(" %s / %s", nof_bench_cell(NULL, NULL, nof_bench_real(object, "paper_level1_s"), 2).text,
           nof_bench_cell(NULL, NULL, nof_bench_real(object, "paper_dynamic_s"), 2).text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;

    switch (key) {
    case OPT_PAGES:
        b->npages = nof_numbers_option(arg, 1, PAGES_MOST, b->pages, PAGES_MAX, "--pages", state);
        return 0;
    case OPT_ITERATIONS:
        b->iterations = nof_number_option(arg, 1, 100000, "--iterations", state);
        return 0;
    default:
        return nof_jobs_option(key, arg, state, &b->jobs);
    }
}

static void read_arguments(struct bench *b, int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"pages", OPT_PAGES, "N[,N]", 0, "that each host writes between barriers, 1 to 64 (1,4,8)", 0},
        NOF_JOBS_OPTIONS,
        NOF_JOBS_SIM_OPTION,
        NOF_TESTBED_LINK_OPTIONS,
        {"iterations", OPT_ITERATIONS, "N", 0, "barriers of a job (100)", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    const struct argp argp = {
        options,
        parse,
        NULL,
        "Barriers of a shared memory of pages of 4 KiB, one rank a host: what was written "
        "goes to the page's home, and from there to all. level1: compiled communication, "
        "counts gathered and dealt into phases each time. dynamic: lengths told and then all "
        "pages sent at once, without a budget of the receivers; so do mpich and openmpi, over "
        "TCP. ratio: dynamic / level1.",
        NULL,
        NULL,
        NULL};

    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, b);
}

int nof_bench_dsm(int argc, char **argv)
{
    static const struct nof_jobs_column columns[] = {
        {"level1", NOF_COLL_OURS, {"collectives=nic", "grant_bytes=28672", NULL}, "dsm:level1"},
        {"dynamic", NOF_COLL_OURS, {"grant_bytes=0", NULL, NULL}, "dsm:dynamic"},
        NOF_JOBS_OTHERS,
    };
    static const struct nof_jobs_kind kind = {
        .columns = columns,
        .about = "pages.hosts",
        .source = "programs/dsm_mpi.c",
        .timeout_s = JOB_S,
        .command = command,
        .seconds = seconds,
        .put = put,
        .print = print,
    };
    struct bench *b = calloc(1, sizeof(*b));
    int rc = 1;

    if (b == NULL)
        return 1;
    nof_jobs_init(&b->jobs, &kind, b, argv[0]);
    b->npages = 3;
    memcpy(b->pages, (const unsigned[]){1, 4, 8}, 3 * sizeof(b->pages[0]));
    b->iterations = 100;
    read_arguments(b, argc, argv);
    for (unsigned h = 0; h < b->jobs.nhosts; h++)
        for (unsigned p = 0; p < b->npages; p++) {
            char label[NOF_JOBS_LABEL_BYTES];

            snprintf(label, sizeof(label), "%u.%u", b->pages[p], b->jobs.hosts[h]);
            (void)nof_jobs_add(&b->jobs, b->jobs.hosts[h], b->pages[p], b->iterations, label);
        }
    nof_bench_beside(PROGRAM, b->program);
    if (access(b->program, X_OK) == 0)
        rc = nof_jobs_run(&b->jobs);
    else
        fprintf(stderr, "%s: %s is not there: run this from the build tree, with the MPI library built\n",
                argv[0], b->program);
    free(b);
    return rc;
}
