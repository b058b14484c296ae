/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options and the counters that benches have in common. */
#ifndef NOF_BENCH_OPTION_H
#define NOF_BENCH_OPTION_H

#include <argp.h>
#include <stdbool.h>

#include <jansson.h>

/* For the table of options. */
#define NOF_BENCH_JSON \
    { \
        "json", 'j', NULL, 0, "print one JSON object and nothing else", 0 \
    }

/* The default of a bench's parser: --json, and no words behind the options. */
error_t nof_bench_option(int key, const char *arg, struct argp_state *state, bool *json);

/* The argument of option `name`, such as "--runs": a number from least to most; else the parser's error. */
unsigned nof_number_option(const char *arg, unsigned least, unsigned most, const char *name,
                           const struct argp_state *state);
/* Likewise, with a fraction. */
double nof_real_option(const char *arg, double least, double most, const char *name,
                       const struct argp_state *state);
/* Likewise of --ms: more than 0, as it was written, into out[size]. */
void nof_ms_option(const char *arg, char *out, size_t size, const struct argp_state *state);

/* The counters of all NICs in what `nof stats --json` and `nof run --stats` print, summed by name; the caller's. */
json_t *nof_bench_counters(const json_t *stats);

#endif
