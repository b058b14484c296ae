/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench partitioned`: what of a partitioned message is on the wire before its last partition is ready, how many frames
 * small partitions take, and what a Pready costs where 8 threads call it at once; beside MPICH. */
#include "../tools/nof/commands.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/capture.h"
#include "lib/option.h"
#include "lib/our_job.h"
#include "lib/peer_mpi.h"
#include "lib/report.h"
#include "lib/scratch.h"
#include "lib/testbed.h"
#include "lib/testbed_option.h"

#define PROGRAM "bench/partitioned_mpi"
#define ROUNDS 5u /* as the program's */
#define CUES (3u + 4u * ROUNDS)
#define JOB_S 120u

enum { OPT_FABRIC = 256 };

struct bench {
    const char *self;
    bool json, fabric;
    struct nof_testbed_config config;
    struct nof_testbed bed;
    const char *no_lab; /* why there is none */
    double pready_ns;
};

/* What one job has shown. */
struct figures {
    double early_fraction, frames, one_message_frames, pready_ns;
};

static void take_line(void *ctx, const char *text)
{
    struct bench *b = ctx;

    (void)sscanf(text, "pready %lf", &b->pready_ns);
}

static double frames_between(const struct nof_capture *c, unsigned first)
{
    double runs[ROUNDS];

    for (unsigned i = 0; i < ROUNDS; i++)
        runs[i] = c->at[first + 2 * i + 1].frames - c->at[first + 2 * i].frames;
    return nof_bench_median(runs, ROUNDS);
}

static bool take_figures(const struct bench *b, const struct nof_capture *c, struct figures *out)
{
    if (c->cues != CUES || c->at[2].bytes <= c->at[0].bytes)
        return false;
    out->early_fraction = (c->at[1].bytes - c->at[0].bytes) / (c->at[2].bytes - c->at[0].bytes);
    out->frames = frames_between(c, 3);
    out->one_message_frames = frames_between(c, 3 + 2 * ROUNDS);
    out->pready_ns = b->pready_ns;
    return true;
}

/* NULL, or why not. */
static const char *run_ours(struct bench *b, struct figures *out)
{
    struct nof_capture capture;
    char program[NOF_BENCH_PATH_BYTES];
    const char *const argv[] = {program, capture.path, NULL};
    const char *why = nof_capture_begin(&capture, &b->bed, b->bed.config.lab ? &b->bed.lab : NULL);
    int rc;

    if (why != NULL)
        return why;
    nof_bench_beside(PROGRAM, program);
    b->pready_ns = NAN;
    rc = nof_our_job_run(&b->bed, NULL, argv, JOB_S, take_line, b);
    nof_capture_end(&capture);
    return rc == 0 && take_figures(b, &capture, out) ? NULL : "the program failed";
}

static const char *run_mpich(struct bench *b, struct figures *out)
{
    struct nof_capture capture;
    struct nof_peer peer;
    const char *const argv[] = {capture.path, NULL};
    const char *why = b->no_lab;
    bool done;

    if (why == NULL)
        why = nof_peer_compile(&peer, NOF_PEER_MPICH, &b->bed, "programs/partitioned_mpi.c");
    if (why == NULL)
        why = nof_capture_begin(&capture, &b->bed, &b->bed.peers);
    if (why != NULL)
        return why;
    b->pready_ns = NAN;
    done = nof_peer_run(&peer, &b->bed, argv, JOB_S, take_line, b);
    nof_capture_end(&capture);
    return done && take_figures(b, &capture, out) ? NULL : "the MPICH program failed";
}

/* A lab where there can be one, else a fabric. */
static const char *up(struct bench *b)
{
    b->no_lab = b->fabric ? "MPICH cannot use the fabric: leave --fabric out" : nof_lab_missing();
    b->config.lab = b->no_lab == NULL;
    if (b->config.lab)
        b->no_lab = nof_testbed_up(&b->bed, &b->config);
    if (b->no_lab == NULL)
        return NULL;
    b->config.lab = false;
    return nof_testbed_up(&b->bed, &b->config);
}

static json_t *result_of(const struct bench *b, const struct figures *ours, const struct figures *mpich)
{
    json_t *result = json_object();

    json_object_set_new(result, "early_bytes_fraction", nof_bench_number(ours->early_fraction));
    json_object_set_new(result, "frames", nof_bench_number(ours->frames));
    json_object_set_new(result, "one_message_frames", nof_bench_number(ours->one_message_frames));
    json_object_set_new(result, "pready_ns", nof_bench_number(ours->pready_ns));
    json_object_set_new(result, "mpich_early_bytes_fraction", nof_bench_number(mpich->early_fraction));
    json_object_set_new(result, "mpich_frames", nof_bench_number(mpich->frames));
    json_object_set_new(result, "mpich_one_message_frames", nof_bench_number(mpich->one_message_frames));
    json_object_set_new(result, "mpich_pready_ns", nof_bench_number(mpich->pready_ns));
    json_object_set_new(result, "network", json_string(b->config.lab ? "lab" : "fabric"));
    return result;
}

static void print_row(const struct nof_bench_report *report, const char *what, const json_t *result,
                      const char *name, int decimals)
{
    char peer[64];

    snprintf(peer, sizeof(peer), "mpich_%s", name);
    printf("%-58s %10s %10s\n", what,
           nof_bench_cell(report, NULL, nof_bench_real(result, name), decimals).text,
           nof_bench_cell(report, peer, nof_bench_real(result, peer), decimals).text);
}

static void print_table(const struct nof_bench_report *report, const json_t *result)
{
    printf("%-58s %10s %10s\n", "", "nof", "MPICH");
    print_row(report, "on the wire before the last of 64 partitions is ready", result, "early_bytes_fraction",
              3);
    print_row(report, "frames of 4096 partitions of 64 bytes", result, "frames", 0);
    print_row(report, "frames of one message of as many bytes", result, "one_message_frames", 0);
    print_row(report, "ns of a Pready, by 8 threads at once", result, "pready_ns", 0);
}

static void skip_mpich(struct nof_bench_report *report, const char *why)
{
    static const char *const names[] = {"mpich_early_bytes_fraction", "mpich_frames",
                                        "mpich_one_message_frames", "mpich_pready_ns"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        nof_bench_skip(report, names[i], why);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;

    if (key != OPT_FABRIC)
        return nof_testbed_option(key, arg, state, &b->config, &b->json);
    b->fabric = true;
    return 0;
}

static int measure(struct bench *b)
{
    struct figures none = {NAN, NAN, NAN, NAN}, ours = none, mpich = none;
    struct nof_bench_report report;
    json_t *result = NULL;
    const char *why = up(b), *no_mpich;

    nof_bench_begin(&report, b->self, b->json);
    if (why == NULL) {
        nof_bench_progress("nof");
        why = run_ours(b, &ours);
    }
    if (why == NULL) {
        nof_bench_progress("MPICH");
        no_mpich = run_mpich(b, &mpich);
        if (no_mpich != NULL)
            skip_mpich(&report, no_mpich);
    }
    nof_testbed_down(&b->bed);
    if (why != NULL) {
        fprintf(stderr, "%s: %s\n", b->self, why);
        return 1;
    }
    result = result_of(b, &ours, &mpich);
    if (!b->json)
        print_table(&report, result);
    return nof_bench_end(&report, result) ? 0 : 1;
}

int nof_bench_partitioned(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        NOF_TESTBED_LINK_OPTIONS,
        {"fabric", OPT_FABRIC, NULL, 0,
         "count on simulated NICs, also where there could be network namespaces", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    static const char about[] =
        "Partitioned messages: what is on the wire before all is ready, in how many frames.";
    const struct argp argp = {options, parse, NULL, about, NULL, NULL, NULL};
    struct bench *b = calloc(1, sizeof(*b));
    char program[NOF_BENCH_PATH_BYTES];
    int rc;

    if (b == NULL)
        return 1;
    b->self = argv[0];
    b->config = (struct nof_testbed_config)NOF_TESTBED_DEFAULT;
    b->config.hosts = 2;
    b->config.rate_bps = 1000000000;
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, b);
    nof_bench_beside(PROGRAM, program);
    rc = nof_bench_scratch_for(argv[0], program) == NULL ? 1 : measure(b);
    free(b);
    return rc;
}
