/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rows of `nof bench delta` as text for people: what docs/schemas/bench-delta.json says of "rows" or "sweep", and of
 * "kernels". */
#ifndef NOF_BENCH_DELTA_PRINT_H
#define NOF_BENCH_DELTA_PRINT_H

#include <jansson.h>
#include <stdbool.h>

void nof_delta_print_rows(const json_t *rows, bool sweep);
void nof_delta_print_kernels(const json_t *rows);

#endif
