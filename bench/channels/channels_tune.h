/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench channels --tune`: both ways of a message through memory at each length, and the table that the library reads
 * (host/libmpi_offload/chan/thresholds.h). Threads: one. */
#ifndef NOF_BENCH_CHANNELS_TUNE_H
#define NOF_BENCH_CHANNELS_TUNE_H

#include "lib/report.h"

/* What a way must be better at (papers/001, section 4.2). */
enum nof_channels_by { NOF_CHANNELS_BY_SPEED, NOF_CHANNELS_BY_CPU, NOF_CHANNELS_BY_OVERLAP };

struct nof_channels_tune {
    int rounds; /* 1.. */
    long most_bytes;
    const char *ms; /* per measurement */
    enum nof_channels_by by;
    const char *output; /* where the table goes; NULL: stdout, unless json */
    bool json;
};

/* "speed", "cpu" or "overlap"; -1: none of them. */
int nof_channels_by_named(const char *name);
/* Measures, writes the table, and ends the report. True if all was measured and written. */
bool nof_channels_tune(struct nof_bench_report *report, const struct nof_channels_tune *how);

#endif
