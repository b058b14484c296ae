/* SPDX-License-Identifier: BSD-3-Clause */
#include "phases_build.h"

#include <stdlib.h>

#include "nof/status.h"

/* The paper fills one phase after another, each from all messages that are left, in order of size. A message stays out
 * of a phase for those before it alone: so each, in turn, goes into the first phase in which neither its source sends
 * nor its destination receives. */
struct first_fit {
    uint64_t *taken[NOF_PHASES_SIDES]; /* of each node: one bit a phase */
    size_t words; /* of a node */
};

static uint32_t first_fit(struct first_fit *f, const struct nof_phases_sum *m, uint32_t phases_max)
{
    uint64_t *sends = f->taken[NOF_PHASES_SENDING] + m->node[NOF_PHASES_SENDING] * f->words;
    uint64_t *receives = f->taken[NOF_PHASES_RECEIVING] + m->node[NOF_PHASES_RECEIVING] * f->words;
    uint32_t phase;
    size_t w = 0;

    /* Each end has its other messages in the way, less than `nodes` of them: there is a word with room. */
    while ((sends[w] | receives[w]) == UINT64_MAX)
        w++;
    phase = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(~(sends[w] | receives[w]));
    if (phase >= phases_max)
        return NOF_PHASES_NONE;
    sends[w] |= 1ull << phase % 64;
    receives[w] |= 1ull << phase % 64;
    return phase;
}

/* Numbers of phases into phase_of; the messages that are left over get the number behind the last. */
static uint32_t number_phases(struct first_fit *f, const struct nof_phases_build *b, uint32_t *phase_of)
{
    uint32_t phases = 0;

    for (uint32_t i = 0; i < b->count; i++) {
        bool small = b->message[i].bytes < b->threshold_bytes;
        uint32_t phase = first_fit(f, &b->message[i], small ? phases : NOF_PHASES_NONE);

        if (phase == NOF_PHASES_NONE)
            phase = phases;
        else if (phase == phases)
            phases++;
        phase_of[i] = phase;
    }
    return phases;
}

static int place_numbered(struct nof_phases_build *b, const uint32_t *phase_of, uint32_t phases)
{
    struct nof_phases_lists lists;
    int rc = nof_phases_deal(&lists, phase_of, b->count, phases + 1);

    for (uint32_t p = 0; rc == NOF_OK && p <= phases; p++) {
        uint32_t pieces = lists.first[p + 1] - lists.first[p];

        if (pieces > 0)
            rc = nof_phases_open(b, pieces, p == phases);
        for (uint32_t k = lists.first[p]; rc == NOF_OK && k < lists.first[p + 1]; k++)
            nof_phases_place_whole(b, lists.at[k]);
    }
    nof_phases_lists_free(&lists);
    return rc;
}

int nof_phases_greedy(struct nof_phases_build *b)
{
    struct first_fit f = {.words = ((size_t)b->nodes * 2 + 63) / 64};
    uint32_t *phase_of = malloc(((size_t)b->count + 1) * sizeof(*phase_of));
    int rc = NOF_ENOMEM;

    for (unsigned side = 0; side < NOF_PHASES_SIDES; side++)
        f.taken[side] = calloc(b->nodes * f.words, sizeof(uint64_t));
    if (phase_of != NULL && f.taken[NOF_PHASES_SENDING] != NULL && f.taken[NOF_PHASES_RECEIVING] != NULL) {
        nof_phases_sort(b->message, b->count);
        rc = place_numbered(b, phase_of, number_phases(&f, b, phase_of));
    }
    for (unsigned side = 0; side < NOF_PHASES_SIDES; side++)
        free(f.taken[side]);
    free(phase_of);
    return rc;
}
