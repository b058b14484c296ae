/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_S 5
#define LINE_COLUMNS 78
#define SPREAD_ALLOWED 0.3
#define NAMES_TOLD 3u

static bool line_open; /* on a terminal */

void nof_bench_begin(struct nof_bench_report *report, const char *self, bool json)
{
    *report = (struct nof_bench_report){
        .self = self, .json = json, .skipped = json_object(), .starved = json_object()};
}

void nof_bench_progress(const char *format, ...)
{
    static time_t told_s;
    char line[LINE_COLUMNS + 1];
    struct timespec now;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    line_open = isatty(STDERR_FILENO);
    if (line_open) {
        fprintf(stderr, "\r%-*s", LINE_COLUMNS, line);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (told_s == 0)
        told_s = now.tv_sec;
    if (now.tv_sec - told_s < PROGRESS_S)
        return;
    told_s = now.tv_sec;
    fprintf(stderr, "%s\n", line);
}

static void end_progress(void)
{
    if (line_open)
        fprintf(stderr, "\r%-*s\r", LINE_COLUMNS, "");
    line_open = false;
}

void nof_bench_skip(struct nof_bench_report *report, const char *name, const char *why)
{
    if (json_object_get(report->skipped, name) == NULL)
        json_object_set_new(report->skipped, name, json_string(why));
}

static int by_size(const void *a, const void *b)
{
    double x;
    double y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

double nof_bench_median(double *values, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(values, n, sizeof(*values), by_size);
    return n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Of the runs, as a part of their median; NAN of none. */
static double spread(const double *runs, size_t n)
{
    double *sorted = calloc(n + 1, sizeof(*sorted));
    double apart = NAN;

    if (sorted != NULL && n > 0) {
        memcpy(sorted, runs, n * sizeof(*sorted));
        apart = nof_bench_median(sorted, n);
        apart = apart > 0 ? (sorted[n - 1] - sorted[0]) / apart : INFINITY;
    }
    free(sorted);
    return apart;
}

void nof_bench_compared(struct nof_bench_report *report, const char *name, const double *runs, size_t n,
                        double fraction)
{
    double apart = spread(runs, n);
    char why[96];

    if (n == 0 || json_object_get(report->starved, name) != NULL)
        return;
    if (fraction > 1)
        snprintf(why, sizeof(why), "ours is %.2f of it, and cannot be more than 1", fraction);
    else if (isinf(apart))
        snprintf(why, sizeof(why), "at least half of its %zu runs moved nothing", n);
    else if (apart > SPREAD_ALLOWED)
        snprintf(why, sizeof(why), "its %zu runs are %.0f %% apart", n, 100 * apart);
    else
        return;
    json_object_set_new(report->starved, name, json_string(why));
}

double nof_bench_real(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

json_t *nof_bench_number(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

struct nof_bench_text nof_bench_cell(const struct nof_bench_report *report, const char *name, double value,
                                     int decimals)
{
    bool starved = name != NULL && json_object_get(report->starved, name) != NULL;
    struct nof_bench_text cell = {"-"};

    if (!isnan(value))
        snprintf(cell.text, sizeof(cell.text), "%.*f%s", decimals, value, starved ? "*" : "");
    return cell;
}

/* What was not measured for this reason: the first names, if no name before gave the same. */
static void tell_reason(const struct nof_bench_report *report, const char *first, const char *why)
{
    const char *name;
    json_t *other;
    unsigned told = 0;

    json_object_foreach(report->skipped, name, other)
    {
        if (strcmp(json_string_value(other), why) != 0)
            continue;
        if (told == 0 && strcmp(name, first) != 0)
            return;
        if (told == 0)
            fprintf(stderr, "%s: ", report->self);
        if (told <= NAMES_TOLD)
            fprintf(stderr, "%s%s", told == 0 ? "" : ", ", told == NAMES_TOLD ? "..." : name);
        told++;
    }
    fprintf(stderr, " not measured: %s\n", why);
}

bool nof_bench_end(struct nof_bench_report *report, json_t *result)
{
    bool all = json_object_size(report->skipped) == 0;
    const char *name;
    json_t *why;

    end_progress();
    if (!all)
        json_object_set(result, "skipped", report->skipped);
    if (json_object_size(report->starved) > 0)
        json_object_set(result, "starved", report->starved);
    if (report->json) {
        json_dumpf(result, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(7));
        putchar('\n');
    } else {
        json_object_foreach(report->starved, name, why)
            printf("* starved, proves nothing: %s: %s\n", name, json_string_value(why));
    }
    fflush(stdout);
    json_object_foreach(report->skipped, name, why) tell_reason(report, name, json_string_value(why));
    json_decref(report->skipped);
    json_decref(report->starved);
    json_decref(result);
    return all;
}
