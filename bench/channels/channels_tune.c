/* SPDX-License-Identifier: BSD-3-Clause */
#include "channels_tune.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/spawn.h"
#include "nof_private/machine.h"

#define ROUNDS_MAX 32
#define SIZES 16 /* each power of two from 128 B to 4 MiB; what is shorter goes in a slot, or nearly */
#define LEAST_BYTES 128l
#define RUN_S 300
#define LOUD "/dev/stderr"

enum { SHM, SINGLE_COPY, AUTO, NIC, WAYS }; /* a table may say all but the last */
static const char *const names[WAYS] = {"shm", "single-copy", "auto", "nic"};
static const char *const keys[WAYS] = {"shm", "single_copy", "auto", "nic"};
static const char *const criteria[] = {"speed", "cpu", "overlap"};

enum { LATENCY_US, MBPS, CPU_US, HIDDEN_PERCENT, FIGURES };
static const char *const figure_keys[FIGURES] = {"latency_us", "mbps", "cpu_us", "hidden_percent"};

struct figure {
    size_t n[FIGURES];
    double of[FIGURES][ROUNDS_MAX];
};

struct tune {
    const struct nof_channels_tune *how;
    char nof[NOF_BENCH_PATH_BYTES], pt2pt[NOF_BENCH_PATH_BYTES], polling[NOF_BENCH_PATH_BYTES];
    struct figure figure[WAYS][SIZES];
};

static long bytes_of(size_t i)
{
    return LEAST_BYTES << i;
}

static size_t sizes_of(const struct nof_channels_tune *how)
{
    size_t n = 0;

    while (n < SIZES && bytes_of(n) <= how->most_bytes)
        n++;
    return n;
}

static void add(struct figure *figures, long bytes, int which, double value)
{
    for (size_t i = 0; i < SIZES && isfinite(value); i++) /* nothing hidden of nothing is no figure */
        if (bytes_of(i) == bytes && figures[i].n[which] < ROUNDS_MAX)
            figures[i].of[which][figures[i].n[which]++] = value;
}

static void take_line(void *ctx, const char *text)
{
    long bytes;
    double a, b, v[5];

    if (sscanf(text, "cpu %ld %lf %lf %lf %lf %lf", &bytes, &v[0], &v[1], &v[2], &v[3], &v[4]) == 6) {
        add(ctx, bytes, CPU_US, (v[1] + v[2] + v[3] + v[4]) / v[0]);
    } else if (sscanf(text, "hidden %ld %lf", &bytes, &a) == 2) {
        add(ctx, bytes, HIDDEN_PERCENT, a);
    } else if (sscanf(text, "row %ld %lf %lf", &bytes, &a, &b) == 3) {
        add(ctx, bytes, LATENCY_US, a);
        add(ctx, bytes, MBPS, b);
    }
}

static bool run(struct tune *t, int way, const char *program, const char *const *words)
{
    char channels[32], text[SIZES][24];
    const char *argv[24 + SIZES] = {
        "env", "-u",      "NOF_SOCKET", "-u", "NOF_CONTROL", "-u",   "NOF_CHANNELS_TABLE", channels, t->nof,
        "run", "--hosts", "1",          "-n", "2",           program};
    size_t n = 15;

    snprintf(channels, sizeof(channels), "NOF_CHANNELS=%s", names[way]);
    while (*words != NULL)
        argv[n++] = *words++;
    for (size_t i = 0; i < sizes_of(t->how); i++) {
        snprintf(text[i], sizeof(text[i]), "%ld", bytes_of(i));
        argv[n++] = text[i];
    }
    return nof_bench_spawn(argv, LOUD, RUN_S, take_line, t->figure[way]) == 0;
}

static bool measure(struct tune *t)
{
    const char *const pt2pt[] = {t->how->ms, NULL};
    const char *const hidden[] = {"native", "hidden", NULL};

    for (int round = 0; round < t->how->rounds; round++) {
        for (int way = 0; way < WAYS; way++) {
            nof_bench_progress("round %d of %d, %s", round + 1, t->how->rounds, names[way]);
            if (!run(t, way, t->pt2pt, pt2pt) || !run(t, way, t->polling, hidden))
                return false;
        }
    }
    return true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of all rounds. A machine that had no time for both ranks makes times long and streams slow: the best. It makes what was hidden
 * more or less, as it comes: the median. NAN: none. */
static double of_rounds(const struct tune *t, int way, size_t i, int which)
{
    const struct figure *f = &t->figure[way][i];
    double sorted[sizeof(f->of[0]) / sizeof(f->of[0][0])];

    if (f->n[which] == 0)
        return NAN;
    memcpy(sorted, f->of[which], f->n[which] * sizeof(sorted[0]));
    qsort(sorted, f->n[which], sizeof(sorted[0]), by_value);
    return sorted[which == HIDDEN_PERCENT ? f->n[which] / 2 : which == MBPS ? f->n[which] - 1 : 0];
}

/* The less the better. */
static double cost(struct tune *t, int way, size_t i)
{
    switch (t->how->by) {
    case NOF_CHANNELS_BY_CPU:
        return of_rounds(t, way, i, CPU_US);
    case NOF_CHANNELS_BY_OVERLAP:
        return 1 + 1 - of_rounds(t, way, i, HIDDEN_PERCENT) / 100;
    case NOF_CHANNELS_BY_SPEED:
    default: /* one that is waited for, and one of many */
        return of_rounds(t, way, i, LATENCY_US) + (double)bytes_of(i) * 8 / of_rounds(t, way, i, MBPS);
    }
}

/* All that may be chosen have a cost: a CPU time may be too short for its clock, a figure may not have been told. */
static bool compares(struct tune *t, size_t i)
{
    for (int w = SHM; w <= AUTO; w++)
        if (!isfinite(cost(t, w, i)) || cost(t, w, i) <= 0)
            return false;
    return true;
}

/* What is lost if messages of this length go this way, as a part of what they cost the best one; 0 where that is not known. */
static double loss(struct tune *t, int way, size_t i)
{
    double best = INFINITY;

    if (!compares(t, i))
        return 0;
    for (int w = SHM; w <= AUTO; w++)
        best = cost(t, w, i) < best ? cost(t, w, i) : best;
    return log(cost(t, way, i) / best);
}

/* One border, as a copy costs ever more and a system call the same, and one way above it: those by which all lengths together lose
 * least. A length that was measured badly does not move it far. False: none was measured. */
static bool choose(struct tune *t, int way[SIZES])
{
    size_t n = sizes_of(t->how), known = 0;
    double least = INFINITY;

    for (size_t i = 0; i < n; i++)
        known += compares(t, i);
    for (int above = SINGLE_COPY; above <= AUTO; above++) {
        for (size_t at = 0; at <= n; at++) {
            double lost = 0;

            for (size_t i = 0; i < n; i++)
                lost += loss(t, i < at ? SHM : above, i);
            if (lost >= least)
                continue;
            least = lost;
            for (size_t i = 0; i < n; i++)
                way[i] = i < at ? SHM : above;
        }
    }
    return known > 0;
}

static json_t *table_of(struct tune *t, const int way[SIZES])
{
    json_t *table = json_array();

    for (size_t i = 0; i < sizes_of(t->how); i++) {
        json_t *row = json_pack("{s:I, s:s}", "bytes", (json_int_t)bytes_of(i), "way", names[way[i]]);

        for (int w = 0; w < WAYS; w++) {
            json_t *figures = json_object();

            for (int which = 0; which < FIGURES; which++)
                json_object_set_new(figures, figure_keys[which], nof_bench_number(of_rounds(t, w, i, which)));
            json_object_set_new(row, keys[w], figures);
        }
        json_array_append_new(table, row);
    }
    return table;
}

static const char *size_text(long bytes, bool last, char text[24])
{
    if (last)
        snprintf(text, 24, "any");
    else if (bytes % (1 << 20) == 0)
        snprintf(text, 24, "%ldM", bytes >> 20);
    else
        snprintf(text, 24, bytes % 1024 == 0 ? "%ldK" : "%ld", bytes % 1024 == 0 ? bytes / 1024 : bytes);
    return text;
}

static void print_table(struct tune *t, const int way[SIZES], const char *machine, FILE *out)
{
    size_t n = sizes_of(t->how);

    fprintf(out,
            "# Written by nof bench channels --tune; read with NOF_CHANNELS_TABLE=FILE.\n"
            "# By %s. Best of %d rounds between two ranks: latency and CPU time of both in us, Mbit/s, "
            "and how much of\n"
            "# a transfer goes on while both compute, in percent. BYTES: at most; the first row that fits "
            "counts.\n"
            "%s %s\n# BYTES WAY        ",
            criteria[t->how->by], t->how->rounds, "machine", machine);
    for (int w = 0; w < WAYS; w++)
        fprintf(out, " | %11s: us  Mbit/s  CPU us hidden", names[w]);
    fprintf(out, "\n");
    for (size_t i = 0; i < n; i++) {
        char text[24];

        fprintf(out, "%-7s %-11s", size_text(bytes_of(i), i + 1 == n, text), names[way[i]]);
        for (int w = 0; w < WAYS; w++)
            fprintf(out, " | %15.2f %7.0f %7.2f %6.0f", of_rounds(t, w, i, LATENCY_US),
                    of_rounds(t, w, i, MBPS), of_rounds(t, w, i, CPU_US), of_rounds(t, w, i, HIDDEN_PERCENT));
        fprintf(out, "\n");
    }
}

static bool write_output(struct tune *t, const int way[SIZES], const char *machine, const char *self)
{
    const char *name = t->how->output;
    FILE *out = name == NULL ? stdout : fopen(name, "we");
    bool good = out != NULL;

    if (name == NULL && t->how->json) /* the object has the table */
        return true;
    if (good) {
        print_table(t, way, machine, out);
        good = ferror(out) == 0;
    }
    if (out != NULL && name != NULL && fclose(out) != 0)
        good = false;
    if (!good)
        fprintf(stderr, "%s: %s cannot be written: %s\n", self, name == NULL ? "the table" : name,
                strerror(errno));
    return good;
}

int nof_channels_by_named(const char *name)
{
    for (int i = 0; i < (int)(sizeof(criteria) / sizeof(criteria[0])); i++)
        if (strcmp(name, criteria[i]) == 0)
            return i;
    return -1;
}

bool nof_channels_tune(struct nof_bench_report *report, const struct nof_channels_tune *how)
{
    struct tune *t = calloc(1, sizeof(*t));
    char machine[NOF_MACHINE_NAME_BYTES];
    int way[SIZES] = {0};
    json_t *result;
    bool written, complete;

    if (t == NULL)
        return false;
    t->how = how;
    nof_bench_beside("nof", t->nof);
    nof_bench_beside("bench/pt2pt_mpi", t->pt2pt);
    nof_bench_beside("bench/polling_mpi", t->polling);
    nof_machine_name(machine);
    if (!measure(t))
        nof_bench_skip(report, "table", "the program failed; the message above says why");
    else if (!choose(t, way))
        nof_bench_skip(report, "table",
                       "no length has a figure above 0 of each way; try a longer --ms or another --by");
    result = json_pack("{s:s, s:s, s:i, s:o}", "machine", machine, "by", criteria[how->by], "rounds",
                       how->rounds, "table", table_of(t, way));
    written = json_object_size(report->skipped) > 0 || write_output(t, way, machine, report->self);
    complete = nof_bench_end(report, result);
    free(t);
    return complete && written;
}
