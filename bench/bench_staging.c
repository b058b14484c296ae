/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench staging`: time inside MPI_Recv of messages that came before their receive, under each prediction
 * and with MPIX_Recv_staged, beside none: plain, and compressed with early messages decoded on arrival or at
 * their match. One program on the embedded default (staging_mpi.c), all settings in turn, the best of each; a star marks those
 * whose runs are far apart. */
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

#define RUNS_MAX 32
#define PATTERNS_MAX 16
#define RUN_S 300
#define LOUD "/dev/stderr"
/* The NIC core polls: what a receive costs is measured, not what waking the core does. */
#define AWAKE "idle=yield"

enum { OPT_ROUNDS = 256, OPT_RUNS };

struct setting {
    const char *key;
    const char *call; /* recv or staged */
    const char *prediction;
    const char *compression;
    const char *decode;
};

static const struct setting settings[] = {
    {"off_us", "recv", "prediction=off", "compression=off", "decode=arrival"},
    {"single_cycle_us", "recv", "prediction=single-cycle", "compression=off", "decode=arrival"},
    {"tag_us", "recv", "prediction=tag", "compression=off", "decode=arrival"},
    {"tag_cycle_us", "recv", "prediction=tag-cycle", "compression=off", "decode=arrival"},
    {"tag_bettercycle_us", "recv", "prediction=tag-bettercycle", "compression=off", "decode=arrival"},
    {"auto_us", "recv", "prediction=auto", "compression=off", "decode=arrival"},
    {"auto_staged_us", "staged", "prediction=auto", "compression=off", "decode=arrival"},
    {"compressed_arrival_us", "recv", "prediction=off", "compression=on", "decode=arrival"},
    {"compressed_match_us", "recv", "prediction=off", "compression=on", "decode=needed"},
    {"compressed_auto_us", "recv", "prediction=auto", "compression=on", "decode=needed"},
    {"compressed_auto_staged_us", "staged", "prediction=auto", "compression=on", "decode=needed"},
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

struct figure {
    char pattern[16];
    double us[SETTINGS][RUNS_MAX];
    size_t n[SETTINGS];
};

struct bench {
    bool json;
    int runs;
    char rounds[16];
    char nof[NOF_BENCH_PATH_BYTES];
    char program[NOF_BENCH_PATH_BYTES];
    char stats[NOF_BENCH_PATH_BYTES];
    size_t setting; /* whose lines come in */
    struct figure figure[PATTERNS_MAX];
    size_t figures;
    json_t *counters[SETTINGS]; /* of the last run */
};

static struct figure *figure_of(struct bench *b, const char *pattern)
{
    for (size_t i = 0; i < b->figures; i++)
        if (strcmp(b->figure[i].pattern, pattern) == 0)
            return &b->figure[i];
    if (b->figures == PATTERNS_MAX)
        return NULL;
    snprintf(b->figure[b->figures].pattern, sizeof(b->figure[0].pattern), "%s", pattern);
    return &b->figure[b->figures++];
}

static void take_line(void *ctx, const char *text)
{
    struct bench *b = ctx;
    struct figure *f;
    char pattern[16];
    double us;

    if (sscanf(text, "row %15s %lf", pattern, &us) != 2)
        return;
    f = figure_of(b, pattern);
    if (f != NULL && f->n[b->setting] < RUNS_MAX)
        f->us[b->setting][f->n[b->setting]++] = us;
}

/* Counters of all NICs of a run, summed. */
static json_t *read_counters(const struct bench *b)
{
    json_t *stats = json_load_file(b->stats, 0, NULL);
    json_t *sum = nof_bench_counters(stats);

    json_decref(stats);
    return sum;
}

static bool run_setting(struct bench *b, size_t i)
{
    const struct setting *s = &settings[i];
    const char *const argv[] = {
        "env",         "-u",        "NOF_SOCKET",   "-u",        "NOF_CONTROL", b->nof,      "run",
        "--hosts",     "2",         "-n",           "2",         "--mtu",       "9000",      "--feature",
        s->prediction, "--feature", s->compression, "--feature", s->decode,     "--feature", AWAKE,
        "--stats",     b->stats,    b->program,     s->call,     b->rounds,     NULL};

    b->setting = i;
    if (nof_bench_spawn(argv, LOUD, RUN_S, take_line, b) != 0)
        return false;
    json_decref(b->counters[i]);
    b->counters[i] = read_counters(b);
    return true;
}

static bool measure(struct bench *b)
{
    for (int run = 0; run < b->runs; run++)
        for (size_t i = 0; i < SETTINGS; i++) {
            nof_bench_progress("run %zu of %zu: %s, %s, %s", (size_t)run * SETTINGS + i + 1,
                               (size_t)b->runs * SETTINGS, settings[i].call, settings[i].prediction,
                               settings[i].compression);
            if (!run_setting(b, i))
                return false;
        }
    return true;
}

static double least(const double *us, size_t n)
{
    double best = n > 0 ? us[0] : NAN;

    for (size_t i = 1; i < n; i++)
        best = us[i] < best ? us[i] : best;
    return best;
}

static void name_of(char name[48], const char *pattern, size_t setting)
{
    snprintf(name, 48, "%s.%s", pattern, settings[setting].key);
}

static json_t *rows(const struct bench *b, struct nof_bench_report *report)
{
    json_t *list = json_array();

    for (size_t k = 0; k < b->figures; k++) {
        json_t *row = json_pack("{s:s}", "pattern", b->figure[k].pattern);

        for (size_t i = 0; i < SETTINGS; i++) {
            const struct figure *f = &b->figure[k];
            char name[48];

            json_object_set_new(row, settings[i].key, json_real(least(f->us[i], f->n[i])));
            name_of(name, f->pattern, i);
            nof_bench_compared(report, name, f->us[i], f->n[i], NAN);
        }
        json_array_append_new(list, row);
    }
    return list;
}

/* What the NICs did under each setting: was the grant there before the receive? */
static json_t *counters(const struct bench *b)
{
    static const char *const wanted[][2] = {
        {"early_messages", "match.unexpected"},     {"staged_hits", "stage.hits"},
        {"staged_missed", "stage.missed"},          {"evicted", "stage.evicted"},
        {"rendezvous", "msg.rendezvous_tx"},        {"granted_before_receive", "stage.granted"},
        {"copies_avoided", "stage.copies_avoided"}, {"predicted_hits", "predict.hits"},
        {"predicted_calls", "predict.calls"}};
    json_t *list = json_array();

    for (size_t i = 0; i < SETTINGS; i++) {
        json_t *row = json_pack("{s:s}", "setting", settings[i].key);

        for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++)
            json_object_set_new(
                row, wanted[k][0],
                json_integer(json_integer_value(json_object_get(b->counters[i], wanted[k][1]))));
        json_array_append_new(list, row);
    }
    return list;
}

/* Seven characters at most, up to a tenth of a second. */
static int decimals(double us)
{
    return us < 1000 ? 2 : us < 10000 ? 1 : 0;
}

/* The figure, a star, and a space in front but of the first: 120 in all. */
static int cell_columns(size_t i)
{
    return i == 0 ? 8 : 9;
}

static void print_table(const struct nof_bench_report *report, const json_t *result)
{
    json_t *row;
    size_t i;

    printf("%-22s", "us per receive, of");
    json_array_foreach(json_object_get(result, "rows"), i, row)
        printf("%*s", cell_columns(i), json_string_value(json_object_get(row, "pattern")));
    putchar('\n');
    for (size_t k = 0; k < SETTINGS; k++) {
        printf("%-22.*s", (int)strlen(settings[k].key) - 3, settings[k].key); /* without _us */
        json_array_foreach(json_object_get(result, "rows"), i, row)
        {
            double us = nof_bench_real(row, settings[k].key);
            char name[48];

            name_of(name, json_string_value(json_object_get(row, "pattern")), k);
            printf("%*s", cell_columns(i), nof_bench_cell(report, name, us, decimals(us)).text);
        }
        putchar('\n');
    }
    printf("\n%-22s %10s %10s %10s %10s %10s\n", "setting", "hits", "missed", "rendezvous", "granted",
           "evicted");
    json_array_foreach(json_object_get(result, "nics"), i, row)
        printf("%-22.*s %10.0f %10.0f %10.0f %10.0f %10.0f\n", (int)strlen(settings[i].key) - 3,
               settings[i].key, nof_bench_real(row, "staged_hits"), nof_bench_real(row, "staged_missed"),
               nof_bench_real(row, "rendezvous"), nof_bench_real(row, "granted_before_receive"),
               nof_bench_real(row, "evicted"));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;

    switch (key) {
    case OPT_ROUNDS:
        snprintf(b->rounds, sizeof(b->rounds), "%u", nof_number_option(arg, 1, 1000, "--rounds", state));
        return 0;
    case OPT_RUNS:
        b->runs = (int)nof_number_option(arg, 1, RUNS_MAX, "--runs", state);
        return 0;
    default:
        return nof_bench_option(key, arg, state, &b->json);
    }
}

int nof_bench_staging(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"runs", OPT_RUNS, "N", 0, "runs of each setting, in turn; the best is printed (3)", 0},
        {"rounds", OPT_ROUNDS, "N", 0, "rounds of each pattern in a run (60)", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    const struct argp argp = {options, parse, NULL, "Time inside the receive of messages that came early.",
                              NULL,    NULL,  NULL};
    const char *dir;
    struct bench *b = calloc(1, sizeof(*b));
    struct nof_bench_report report;
    bool complete = false;

    if (b == NULL)
        return 1;
    b->runs = 3;
    snprintf(b->rounds, sizeof(b->rounds), "60");
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, b);
    nof_bench_beside("nof", b->nof);
    nof_bench_beside("bench/staging_mpi", b->program);
    dir = nof_bench_scratch_for(argv[0], b->program);
    if (dir == NULL) {
        free(b);
        return 1;
    }
    snprintf(b->stats, sizeof(b->stats), "%s/stats.json", dir);
    nof_bench_begin(&report, argv[0], b->json);
    if (measure(b)) {
        json_t *result =
            json_pack("{s:i, s:o, s:o}", "runs", b->runs, "rows", rows(b, &report), "nics", counters(b));

        if (!b->json)
            print_table(&report, result);
        complete = nof_bench_end(&report, result);
    } else {
        fprintf(stderr, "%s: a run failed; the message above says why\n", argv[0]);
    }
    for (size_t i = 0; i < SETTINGS; i++)
        json_decref(b->counters[i]);
    free(b);
    return complete ? 0 : 1;
}
