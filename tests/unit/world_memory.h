/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The large memory of worlds, NICs' and arenas. What a world gives back the next one takes: to have it filled or zeroed in
 * between, by the kernel, malloc() or a sanitizer, would be most of a short test. Pages that nobody may touch lie before
 * and behind. Threads: one. */
#ifndef NOF_TESTS_WORLD_MEMORY_H
#define NOF_TESTS_WORLD_MEMORY_H

#include <stddef.h>

/* Aligned to 64. Zeroed; else what the last world of this size left there, or garbage. Never NULL. */
void *world_memory_take(size_t bytes, int zeroed);
/* at may be NULL. */
void world_memory_give(void *at, size_t bytes);

#endif
