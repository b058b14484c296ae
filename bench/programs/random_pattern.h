/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random patterns of messages, the same wherever they are drawn. Paper: compiled communication, section 5.1, table 3. */
#ifndef NOF_BENCH_PROGRAMS_RANDOM_PATTERN_H
#define NOF_BENCH_PROGRAMS_RANDOM_PATTERN_H

#include <stdint.h>

#define PATTERN_SMALL_BYTES 100

static inline uint64_t pattern_mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The pairs in random order, then sizes by their place in it: of 240, 160 have `bytes`, 20 a quarter, 60 are small. matrix: of i
 * to j at i * size + j; order: room for size * (size - 1). */
static inline void pattern_draw(uint64_t seed, int size, int bytes, int *order, int *matrix)
{
    int pairs = size * (size - 1), n = 0;
    for (int i = 0; i < size * size; i++)
        if (i / size != i % size)
            order[n++] = i;
    for (int i = pairs - 1; i > 0; i--) {
        int k = (int)(pattern_mixed(seed << 32 | (unsigned)i) % (unsigned)(i + 1)), was = order[i];
        order[i] = order[k];
        order[k] = was;
    }
    for (int i = 0; i < pairs; i++)
        matrix[order[i]] = i < pairs * 160 / 240   ? bytes
                           : i < pairs * 180 / 240 ? bytes / 4
                                                   : PATTERN_SMALL_BYTES;
}

#endif
