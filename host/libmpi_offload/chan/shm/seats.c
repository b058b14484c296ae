/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/shm/seats.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void nof_seats_mine(struct nof_seats_mask *out)
{
    memset(out, 0, sizeof(*out));
    if (sched_getaffinity(0, sizeof(*out), (cpu_set_t *)(void *)out) != 0)
        memset(out, 0xff, sizeof(*out));
}

static uint32_t count_cpus(const struct nof_seats_mask *mask)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < NOF_SEATS_WORDS; i++)
        n += (uint32_t)__builtin_popcountll(mask->word[i]);
    return n;
}

static int by_cpus(const void *a, const void *b)
{
    uint32_t x = ((const struct nof_seat *)a)->cpus, y = ((const struct nof_seat *)b)->cpus;
    return (x > y) - (x < y);
}

static bool take_one(struct nof_seats_mask *taken, const struct nof_seats_mask *may)
{
    for (uint32_t i = 0; i < NOF_SEATS_WORDS; i++) {
        uint64_t free = may->word[i] & ~taken->word[i];
        taken->word[i] |= free & -free;
        if (free != 0)
            return true;
    }
    return false;
}

int nof_seats_left(struct nof_seat *ranks, uint32_t count)
{
    struct nof_seats_mask taken = {0}, any = {0};
    for (uint32_t i = 0; i < count; i++) {
        ranks[i].cpus = count_cpus(ranks[i].may);
        for (uint32_t k = 0; k < NOF_SEATS_WORDS; k++)
            any.word[k] |= ranks[i].may->word[k];
    }
    qsort(ranks, count, sizeof(*ranks), by_cpus);
    for (uint32_t i = 0; i < count; i++)
        if (!take_one(&taken, ranks[i].may))
            return -1;
    return (int)(count_cpus(&any) - count);
}
