/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a bench says: how far it is, what it measured, what it could not measure and why, and which figures of those that
 * are compared prove nothing.
 *
 *   nof_bench_begin()
 *     nof_bench_progress()    any time
 *     nof_bench_skip(), nof_bench_compared()
 *   the bench's table, if it measured something (nof_bench_real(), nof_bench_cell())
 *   nof_bench_end()           the JSON object, or what stands below the table; then each reason once on stderr
 *
 * Threads: one. */
#ifndef NOF_BENCH_REPORT_H
#define NOF_BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct nof_bench_report {
    const char *self; /* "nof bench wire" */
    bool json;
    json_t *skipped; /* name of a figure: why it was not measured */
    json_t *starved; /* name of a figure: why it proves nothing */
};

struct nof_bench_text {
    char text[24];
};

void nof_bench_begin(struct nof_bench_report *report, const char *self, bool json);

/* One line on stderr: on a terminal over the one before, elsewhere every few seconds. */
void nof_bench_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The first reason of a name counts. */
void nof_bench_skip(struct nof_bench_report *report, const char *name, const char *why);

/* n runs of a figure `name` that is compared, ours or another's. Runs further apart than 30 % of their median, or ours a
 * fraction of it above 1 where that cannot be (else NAN), say that the machine had no time for it: it was starved. n may
 * be 0. */
void nof_bench_compared(struct nof_bench_report *report, const char *name, const double *runs, size_t n,
                        double fraction);

/* Of a row of JSON; NAN where there is no number. */
double nof_bench_real(const json_t *row, const char *key);
json_t *nof_bench_number(double value); /* null for NAN */
/* For a table: "-" for NAN; a figure of that name that was starved has a star. name NULL: none. */
struct nof_bench_text nof_bench_cell(const struct nof_bench_report *report, const char *name, double value,
                                     int decimals);

/* Sorts values in place. n 0: NAN. */
double nof_bench_median(double *values, size_t n);

/* The end: takes the reference of `result`. True if nothing was skipped. */
bool nof_bench_end(struct nof_bench_report *report, json_t *result);

#endif
