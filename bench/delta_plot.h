/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rows of `nof bench delta` as a picture: speedup by number of tasks, a line for each pattern and trigger. */
#ifndef NOF_BENCH_DELTA_PLOT_H
#define NOF_BENCH_DELTA_PLOT_H

#include <stdbool.h>

#include <jansson.h>

/* An SVG. False: it cannot be written, which errno tells. */
bool nof_delta_plot(const json_t *rows, const char *path);

#endif
