/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operands of reductions that are hard to get right: NaNs of all kinds, zeros of both signs, infinities, denormals, the
 * largest and smallest of each type, and ordinary ones between them. A seed gives the same bytes everywhere. */
#ifndef TEST_OPERANDS_H
#define TEST_OPERANDS_H

#include <stddef.h>
#include <stdint.h>

/* `count` elements of an enum nof_reduce_type, from `at` on, wherever that lies; holes and padding are 0. */
void operands_fill(unsigned type, void *at, size_t count, uint64_t *seed);

#endif
