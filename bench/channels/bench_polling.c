/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench polling`: what looking at channels costs and what dealing the looks gains, as papers/001 measures it, natively and with
 * that paper's costs put into the looks. The program is bench/programs/polling_mpi.c. */
#include "../tools/nof/commands.h"
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
#define SAMPLES_MAX 64
#define RUN_S 300
#define FIGURE1_ROUNDS 5 /* a start of up to 256 ranks each */
#define LOUD "/dev/stderr"
#define RATIO 50 /* what papers/001 recommends: what others are compared with */
/* Of papers/001: 3.1, 3.1, 4.1. */
#define PAPER_SHM_NS 60
#define PAPER_NIC_NS 300
#define PAPER_CONNECTION_NS 30
#define PAPER_MESSAGE_NS 1200

enum { OPT_ROUNDS = 256, OPT_MS, OPT_ONLY, OPT_RANKS, OPT_CONNECTIONS };
enum part { FIGURE1 = 1, STATIC = 2, DYNAMIC = 4, OVERLAP = 8 };
enum { NATIVE, PAPER, REGIMES };

static const char *const regime_names[REGIMES] = {"native", "paper"};
static const struct {
    const char *name;
    enum part part;
} parts[] = {{"figure1", FIGURE1}, {"static", STATIC}, {"dynamic", DYNAMIC}, {"overlap", OVERLAP}};
enum { NPARTS = sizeof(parts) / sizeof(parts[0]) };

/* Figures of one place in a table, of all rounds. */
struct sample {
    long at[2];
    size_t n;
    double first[ROUNDS_MAX], second[ROUNDS_MAX];
};
struct series {
    struct sample sample[SAMPLES_MAX];
    size_t n;
};

struct bench {
    bool json;
    unsigned wanted; /* enum part */
    int rounds;
    long most_ranks;
    long connections;
    char ms[16];
    char nof[NOF_BENCH_PATH_BYTES];
    char program[NOF_BENCH_PATH_BYTES];
    char file[NOF_BENCH_PATH_BYTES]; /* that ranks map */
    struct nof_bench_report report;
};

static struct sample *sample_of(struct series *s, long a, long b)
{
    size_t i = 0;

    while (i < s->n && (s->sample[i].at[0] != a || s->sample[i].at[1] != b))
        i++;
    if (i == SAMPLES_MAX)
        return NULL;
    if (i == s->n)
        s->sample[s->n++] = (struct sample){.at = {a, b}};
    return &s->sample[i];
}

/* "row A B FIRST [SECOND]", "row A FIRST SECOND", or "poll FIRST SECOND". */
static void take_line(void *ctx, const char *text)
{
    long a = 0, b = 0;
    double first = NAN, second = NAN;
    struct sample *to;

    if (sscanf(text, "poll %lf %lf", &first, &second) != 2 &&
        sscanf(text, "row %ld %ld %lf %lf", &a, &b, &first, &second) < 3)
        return;
    to = sample_of(ctx, a, b);
    if (to == NULL || to->n == ROUNDS_MAX)
        return;
    to->first[to->n] = first;
    to->second[to->n++] = second;
}

/* The program with these words on so many ranks. */
static bool run(struct bench *b, const char *channels, long hosts, long ranks, const char *const *words,
                struct series *into)
{
    char hosts_text[24], ranks_text[24], channels_text[64];
    const char *argv[40] = {"env", "-u",      "NOF_SOCKET", "-u", "NOF_CONTROL", channels_text, b->nof,
                            "run", "--hosts", hosts_text,   "-n", ranks_text,    b->program};
    size_t n = 13;

    snprintf(hosts_text, sizeof(hosts_text), "%ld", hosts);
    snprintf(ranks_text, sizeof(ranks_text), "%ld", ranks);
    snprintf(channels_text, sizeof(channels_text), "NOF_CHANNELS=%s", channels);
    while (*words != NULL)
        argv[n++] = *words++;
    return nof_bench_spawn(argv, LOUD, RUN_S, take_line, into) == 0;
}

static void costs_of(const struct bench *b, int regime, char text[48])
{
    if (regime == NATIVE)
        snprintf(text, 48, "native");
    else
        snprintf(text, 48, "%d,%ld,%d", PAPER_SHM_NS, PAPER_NIC_NS + PAPER_CONNECTION_NS * b->connections,
                 PAPER_MESSAGE_NS);
}

static const char failed[] = "the program failed; the message above says why";

/* Figure 1. A look takes as long as its code: whatever else runs can only add to it. */

static double fastest(const double *values, size_t n)
{
    double least = NAN;

    for (size_t i = 0; i < n; i++)
        least = fmin(least, values[i]);
    return least;
}

static json_t *figure1(struct bench *b)
{
    static const long places[][2] = {{2, 1}, {4, 1}, {16, 1}, {64, 1}, {256, 1}, {2, 4}, {2, 16}, {2, 64}};
    static const char *const words[] = {"native", "looks", NULL};
    json_t *list = json_array();

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        long locals = places[i][0], hosts = places[i][1];
        struct series s = {.n = 0};
        struct sample *f = sample_of(&s, 0, 0);
        bool good = true;

        if (locals * hosts > b->most_ranks)
            continue;
        for (int round = 0; good && round < FIGURE1_ROUNDS && round < b->rounds; round++) {
            nof_bench_progress("figure 1: %ld ranks on each of %ld hosts, round %d", locals, hosts,
                               round + 1);
            good = run(b, "auto", hosts, locals * hosts, words, &s);
        }
        if (!good)
            nof_bench_skip(&b->report, "figure1", failed);
        json_array_append_new(list, json_pack("{s:I, s:I, s:{s:o, s:o}}", "local_ranks", (json_int_t)locals,
                                              "hosts", (json_int_t)hosts, "poll_ns", "shm",
                                              nof_bench_number(fastest(f->first, f->n)), "nic",
                                              nof_bench_number(fastest(f->second, f->n))));
    }
    return list;
}

/* Figure 2. */

static double median_of(struct series *s, long a, long b)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->sample[i].at[0] == a && s->sample[i].at[1] == b)
            return nof_bench_median(s->sample[i].first, s->sample[i].n);
    return NAN;
}

/* Of rounds, each against itself: how much longer ratio `a` takes than ratio `b`; with `part`, in percent of `a`. */
static double longer(struct series *s, long bytes, long a, long b, bool part)
{
    const struct sample *first = sample_of(s, bytes, a), *second = sample_of(s, bytes, b);
    double each[ROUNDS_MAX];
    size_t n = 0;

    for (; first != NULL && second != NULL && n < first->n && n < second->n; n++)
        each[n] = (first->first[n] - second->first[n]) / (part ? first->first[n] / 100 : 1);
    return nof_bench_median(each, n);
}

/* What the ratio that is recommended saves of the latency at ratio 1, and what it costs beyond the host. A message waits for half a
 * turn: what never looking would save, and how much of that the ratio does, is told by turns, of which a latency is hundreds where
 * looks cost next to nothing. Before anybody sorts the rounds. */
static json_t *gain(const char *regime, long bytes, struct series *turns, struct series *local,
                    struct series *network)
{
    double saved = longer(turns, 0, 1, RATIO, false), most = longer(turns, 0, 1, 0, false);
    double local_percent = longer(local, bytes, 1, RATIO, true);
    double network_percent = -longer(network, bytes, 1, RATIO, true);

    return json_pack("{s:s, s:I, s:o, s:o, s:o, s:o}", "regime", regime, "bytes", (json_int_t)bytes,
                     "local_percent", nof_bench_number(local_percent), "most_percent",
                     nof_bench_number(100 * most / 2 / (1e3 * median_of(local, bytes, 1))),
                     "of_never_percent", nof_bench_number(100 * saved / most), "network_percent",
                     nof_bench_number(network_percent));
}

/* Local and network latencies, and turns; rows of each, and what is gained. */
struct figure2 {
    struct series local, network, turns;
    json_t *rows, *gains, *turn_rows;
};

static void rows_of(const char *regime, struct figure2 *f)
{
    for (size_t i = 0; i < f->local.n; i++)
        if (f->local.sample[i].at[1] == 1)
            json_array_append_new(f->gains,
                                  gain(regime, f->local.sample[i].at[0], &f->turns, &f->local, &f->network));
    for (size_t i = 0; i < f->local.n; i++) {
        long bytes = f->local.sample[i].at[0], ratio = f->local.sample[i].at[1];
        struct sample *network = sample_of(&f->network, bytes, ratio);

        json_array_append_new(
            f->rows,
            json_pack("{s:s, s:I, s:I, s:o, s:o, s:o}", "regime", regime, "bytes", (json_int_t)bytes, "ratio",
                      (json_int_t)ratio, "local_us", nof_bench_number(median_of(&f->local, bytes, ratio)),
                      "network_us", nof_bench_number(nof_bench_median(network->first, network->n)),
                      "network_beside_us", nof_bench_number(nof_bench_median(network->second, network->n))));
    }
    for (size_t i = 0; i < f->turns.n; i++) {
        struct sample *turn = &f->turns.sample[i];

        json_array_append_new(f->turn_rows,
                              json_pack("{s:s, s:I, s:o}", "regime", regime, "ratio", (json_int_t)turn->at[1],
                                        "turn_ns", nof_bench_number(nof_bench_median(turn->first, turn->n))));
    }
}

static void static_of(struct bench *b, int regime, struct figure2 *f)
{
    char costs[48], rounds[16];
    const char *const words[] = {costs, "pingpong", b->ms, rounds, "4", "2048", NULL};
    const char *const of_turns[] = {costs, "turns", rounds, NULL};

    costs_of(b, regime, costs);
    snprintf(rounds, sizeof(rounds), "%d", b->rounds);
    f->local.n = f->network.n = f->turns.n = 0;
    nof_bench_progress("static ratios, %s: turns, within a host, then between two", regime_names[regime]);
    if (!run(b, "auto", 1, 2, of_turns, &f->turns) || !run(b, "auto", 1, 2, words, &f->local) ||
        !run(b, "auto", 2, 2, words, &f->network))
        nof_bench_skip(&b->report, "static", failed);
    rows_of(regime_names[regime], f);
}

/* Figures 3 and 4. */

static void dynamic_of(struct bench *b, int regime, json_t *rows)
{
    struct series *s = calloc(1, sizeof(*s));
    char costs[48], rounds[16];
    const char *const words[] = {costs, "bursts", b->file, rounds, "100", "200", NULL};
    FILE *file = fopen(b->file, "w");
    char page[4096] = "";

    costs_of(b, regime, costs);
    snprintf(rounds, sizeof(rounds), "%d", b->rounds);
    nof_bench_progress("dynamic turns, %s: bursts from a rank of the host and from one beyond",
                       regime_names[regime]);
    bool good = s != NULL && file != NULL && fwrite(page, 1, sizeof(page), file) == sizeof(page);
    good = file != NULL && fclose(file) == 0 && good;
    if (!good || !run(b, "auto", 2, 3, words, s))
        nof_bench_skip(&b->report, "dynamic", failed);
    for (size_t i = 0; s != NULL && i < s->n; i++) {
        struct sample *f = &s->sample[i];

        json_array_append_new(rows,
                              json_pack("{s:s, s:I, s:I, s:o, s:o}", "regime", regime_names[regime], "burst",
                                        (json_int_t)f->at[0], "h", (json_int_t)f->at[1], "discovery_us",
                                        nof_bench_number(nof_bench_median(f->first, f->n)), "static_us",
                                        nof_bench_number(nof_bench_median(f->second, f->n))));
    }
    free(s);
}

/* Figure 6. */

static json_t *overlap(struct bench *b)
{
    static const char *const channels[][2] = {{"shm", "shm"}, {"single-copy", "single_copy"}, {"nic", "nic"}};
    json_t *list = json_array();
    char rounds[16];
    const char *const words[] = {"native", "overlap", rounds, NULL};

    snprintf(rounds, sizeof(rounds), "%d", b->rounds);
    for (size_t k = 0; k < sizeof(channels) / sizeof(channels[0]); k++) {
        struct series *s = calloc(1, sizeof(*s));

        nof_bench_progress("overlap, %s", channels[k][0]);
        if (s == NULL || !run(b, channels[k][0], 1, 2, words, s))
            nof_bench_skip(&b->report, "overlap", failed);
        for (size_t i = 0; s != NULL && i < s->n; i++) {
            struct sample *f = &s->sample[i];
            double total_us = nof_bench_median(f->first, f->n);

            json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:o}", "channel", channels[k][1], "bytes",
                                                  (json_int_t)f->at[0], "compute_us", (json_int_t)f->at[1],
                                                  "ratio", nof_bench_number(total_us / (double)f->at[1])));
        }
        free(s);
    }
    return list;
}

static json_t *measure(struct bench *b)
{
    json_t *result = json_pack("{s:i, s:I}", "rounds", b->rounds, "connections", (json_int_t)b->connections);
    json_t *dynamic = json_array();
    struct figure2 *f = calloc(1, sizeof(*f));

    if (f == NULL)
        abort();
    f->rows = json_array();
    f->gains = json_array();
    f->turn_rows = json_array();
    if ((b->wanted & FIGURE1) != 0)
        json_object_set_new(result, "figure1", figure1(b));
    for (int regime = 0; regime < REGIMES; regime++) {
        if ((b->wanted & STATIC) != 0)
            static_of(b, regime, f);
        if ((b->wanted & DYNAMIC) != 0)
            dynamic_of(b, regime, dynamic);
    }
    if ((b->wanted & STATIC) != 0) {
        json_object_set(result, "static", f->rows);
        json_object_set(result, "gain", f->gains);
        json_object_set(result, "turns", f->turn_rows);
    }
    if ((b->wanted & DYNAMIC) != 0)
        json_object_set(result, "dynamic", dynamic);
    if ((b->wanted & OVERLAP) != 0)
        json_object_set_new(result, "overlap", overlap(b));
    json_decref(f->rows);
    json_decref(f->gains);
    json_decref(f->turn_rows);
    json_decref(dynamic);
    free(f);
    return result;
}

/* Rows of one list: words and numbers, in columns. */
static void print_rows(const json_t *list, const char *title, const char *const *keys, const int *decimals)
{
    json_t *row;
    size_t i;

    if (json_array_size(list) == 0)
        return;
    printf("%s\n", title);
    for (size_t k = 0; keys[k] != NULL; k++)
        printf(" %16s", keys[k]);
    printf("\n");
    json_array_foreach(list, i, row)
    {
        for (size_t k = 0; keys[k] != NULL; k++) {
            const json_t *value = json_object_get(row, keys[k]);

            if (json_is_string(value))
                printf(" %16s", json_string_value(value));
            else
                printf(" %16s", nof_bench_cell(NULL, NULL, nof_bench_real(row, keys[k]), decimals[k]).text);
        }
        printf("\n");
    }
    printf("\n");
}

static void print_figure1(const json_t *list)
{
    json_t *row;
    size_t i;

    if (json_array_size(list) == 0)
        return;
    printf("a look, ns\n %16s %16s %16s %16s\n", "local_ranks", "hosts", "shm", "nic");
    json_array_foreach(list, i, row)
    {
        const json_t *ns = json_object_get(row, "poll_ns");

        printf(" %16.0f %16.0f %16s %16s\n", nof_bench_real(row, "local_ranks"), nof_bench_real(row, "hosts"),
               nof_bench_cell(NULL, NULL, nof_bench_real(ns, "shm"), 1).text,
               nof_bench_cell(NULL, NULL, nof_bench_real(ns, "nic"), 1).text);
    }
    printf("\n");
}

static void print_tables(const json_t *result)
{
    static const char *const of_static[] = {
        "regime", "bytes", "ratio", "local_us", "network_us", "network_beside_us", NULL};
    static const char *const of_turns[] = {"regime", "ratio", "turn_ns", NULL};
    static const char *const of_gain[] = {
        "regime", "bytes", "local_percent", "most_percent", "of_never_percent", "network_percent", NULL};
    static const char *const of_dynamic[] = {"regime", "burst", "h", "discovery_us", "static_us", NULL};
    static const char *const of_overlap[] = {"channel", "bytes", "compute_us", "ratio", NULL};

    print_figure1(json_object_get(result, "figure1"));
    print_rows(json_object_get(result, "static"),
               "looks at memory for one at the NIC (0: none), latency; beside: while memory may bring "
               "something, too",
               of_static, (const int[]){0, 0, 0, 3, 3, 3});
    print_rows(json_object_get(result, "turns"), "a turn that brings nothing", of_turns,
               (const int[]){0, 0, 1});
    print_rows(json_object_get(result, "gain"),
               "ratio 50 beside ratio 1: latency saved; what never looking may save; of shorter turns, how "
               "much; and beyond the host",
               of_gain, (const int[]){0, 0, 1, 1, 0, 1});
    print_rows(json_object_get(result, "dynamic"), "looking for a message that is there, 4 bytes", of_dynamic,
               (const int[]){0, 0, 0, 3, 3});
    print_rows(json_object_get(result, "overlap"), "total time over that of computing", of_overlap,
               (const int[]){0, 0, 0, 3});
}

static unsigned parts_of(const char *arg, struct argp_state *state)
{
    unsigned wanted = 0;

    while (*arg != '\0') {
        size_t len = strcspn(arg, ","), i = 0;

        while (i < NPARTS && (strlen(parts[i].name) != len || strncmp(parts[i].name, arg, len) != 0))
            i++;
        if (i == NPARTS)
            argp_error(state, "--only: %.*s is none of figure1, static, dynamic, overlap", (int)len, arg);
        wanted |= i < NPARTS ? (unsigned)parts[i].part : 0;
        arg += len + (arg[len] == ',');
    }
    if (wanted == 0)
        argp_error(state, "--only: which of figure1, static, dynamic, overlap?");
    return wanted;
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
    case OPT_RANKS:
        b->most_ranks = nof_number_option(arg, 2, 256, "--ranks", state);
        return 0;
    case OPT_CONNECTIONS:
        b->connections = nof_number_option(arg, 0, 1000, "--connections", state);
        return 0;
    case OPT_ONLY:
        b->wanted = parts_of(arg, state);
        return 0;
    default:
        return nof_bench_option(key, arg, state, &b->json);
    }
}

int nof_bench_polling(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"rounds", OPT_ROUNDS, "N", 0, "rounds of all ratios; medians are printed (15)", 0},
        {"ms", OPT_MS, "MS", 0, "time per measurement of latency (5)", 0},
        {"only", OPT_ONLY, "PARTS", 0, "figure1,static,dynamic,overlap: some of these (all)", 0},
        {"ranks", OPT_RANKS, "N", 0, "most ranks that figure1 starts (256)", 0},
        {"connections", OPT_CONNECTIONS, "N", 0,
         "of which the paper's look at its network takes 0.03 us each (1)", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    const struct argp argp = {options,
                              parse,
                              NULL,
                              "What looking for messages costs and gains, by ratio and by what came last. "
                              "Regime \"paper\": looks and messages by memory "
                              "take as long as on the machines of that paper.",
                              NULL,
                              NULL,
                              NULL};
    struct bench *b = calloc(1, sizeof(*b));
    bool complete;

    if (b == NULL)
        return 1;
    b->rounds = 15;
    b->most_ranks = 256;
    b->connections = 1;
    b->wanted = FIGURE1 | STATIC | DYNAMIC | OVERLAP;
    snprintf(b->ms, sizeof(b->ms), "5");
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, b);
    nof_bench_beside("nof", b->nof);
    nof_bench_beside("bench/polling_mpi", b->program);
    const char *dir = nof_bench_scratch_for(argv[0], b->program);
    if (dir == NULL) {
        free(b);
        return 1;
    }
    snprintf(b->file, sizeof(b->file), "%s/turns", dir);
    nof_bench_begin(&b->report, argv[0], b->json);
    json_t *result = measure(b);
    if (!b->json)
        print_tables(result);
    complete = nof_bench_end(&b->report, result);
    free(b);
    return complete ? 0 : 1;
}
