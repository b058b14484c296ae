/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Phases that go by shifts: in shift i each node j sends to j + i modulo nodes, and nothing conflicts. */
#include "phases_build.h"

#include <stdlib.h>
#include <string.h>

#include "nof/status.h"

static uint32_t shift_of(const struct nof_phases_build *b, const struct nof_phases_sum *m)
{
    uint32_t source = m->node[NOF_PHASES_SENDING];
    uint32_t destination = m->node[NOF_PHASES_RECEIVING];

    return destination >= source ? destination - source : destination + b->nodes - source;
}

static int deal_shifts(const struct nof_phases_build *b, struct nof_phases_lists *lists, uint32_t *list_of)
{
    for (uint32_t i = 0; i < b->count; i++)
        list_of[i] = shift_of(b, &b->message[i]);
    return nof_phases_deal(lists, list_of, b->count, b->nodes);
}

static bool all_small(const struct nof_phases_build *b, const struct nof_phases_lists *shifts, uint32_t shift)
{
    for (uint32_t k = shifts->first[shift]; k < shifts->first[shift + 1]; k++)
        if (b->message[shifts->at[k]].bytes >= b->threshold_bytes)
            return false;
    return true;
}

/* The shifts that are of small messages alone, or those that are not. */
static int place_shifts(struct nof_phases_build *b, const struct nof_phases_lists *shifts, bool small)
{
    int rc = NOF_OK;
    bool opened = false;

    for (uint32_t s = 1; s < b->nodes; s++) {
        if (shifts->first[s] == shifts->first[s + 1] || all_small(b, shifts, s) != small)
            continue;
        if (!opened || !small)
            rc = nof_phases_open(b, b->count - b->out->piece_count, small);
        if (rc != NOF_OK)
            return rc;
        opened = true;
        for (uint32_t k = shifts->first[s]; k < shifts->first[s + 1]; k++)
            nof_phases_place_whole(b, shifts->at[k]);
    }
    return NOF_OK;
}

int nof_phases_shift(struct nof_phases_build *b)
{
    struct nof_phases_lists shifts = {NULL, NULL};
    uint32_t *list_of = malloc(((size_t)b->count + 1) * sizeof(*list_of));
    int rc = list_of != NULL ? deal_shifts(b, &shifts, list_of) : NOF_ENOMEM;

    if (rc == NOF_OK)
        rc = place_shifts(b, &shifts, false);
    if (rc == NOF_OK)
        rc = place_shifts(b, &shifts, true);
    nof_phases_lists_free(&shifts);
    free(list_of);
    return rc;
}

/* The paper's figure 4. */
struct alltoall {
    struct nof_phases_build *b;
    struct nof_phases_lists shifts;
    struct nof_phases_lists sources; /* those that are placed are taken off when they are met */
    uint32_t *source_end; /* of each source's list */
    uint32_t *busy[NOF_PHASES_SIDES]; /* of each node: number of the last phase that it is in, from 1 */
    bool *placed; /* of each message */
    uint64_t *candidate; /* one bit a message; all 0 between phases */
};

static bool place_if_idle(struct alltoall *a, uint32_t message)
{
    const struct nof_phases_sum *m = &a->b->message[message];
    uint32_t now = (uint32_t)a->b->out->phase_count;
    uint32_t *sends = &a->busy[NOF_PHASES_SENDING][m->node[NOF_PHASES_SENDING]];
    uint32_t *receives = &a->busy[NOF_PHASES_RECEIVING][m->node[NOF_PHASES_RECEIVING]];

    if (*sends == now || *receives == now)
        return false;
    *sends = now;
    *receives = now;
    a->placed[message] = true;
    nof_phases_place_whole(a->b, message);
    return true;
}

/* What an idle node could send to an idle node. */
static void find_candidates(struct alltoall *a, uint32_t source)
{
    uint32_t now = (uint32_t)a->b->out->phase_count;
    uint32_t keep = a->sources.first[source];

    for (uint32_t k = keep; k < a->source_end[source]; k++) {
        uint32_t i = a->sources.at[k];

        if (a->placed[i])
            continue;
        a->sources.at[keep++] = i;
        if (a->busy[NOF_PHASES_RECEIVING][a->b->message[i].node[NOF_PHASES_RECEIVING]] != now)
            a->candidate[i / 64] |= 1ull << i % 64;
    }
    a->source_end[source] = keep;
}

/* All that is left, in order of size, as far as it conflicts with nothing in the phase. */
static void fill(struct alltoall *a)
{
    uint32_t now = (uint32_t)a->b->out->phase_count;

    for (uint32_t s = 0; s < a->b->nodes; s++)
        if (a->busy[NOF_PHASES_SENDING][s] != now)
            find_candidates(a, s);
    for (uint32_t w = 0; w < (a->b->count + 63) / 64; w++)
        for (; a->candidate[w] != 0; a->candidate[w] &= a->candidate[w] - 1)
            place_if_idle(a, w * 64 + (uint32_t)__builtin_ctzll(a->candidate[w]));
}

static int place_left(struct alltoall *a, uint32_t from)
{
    struct nof_phases_build *b = a->b;
    int rc = nof_phases_open(b, b->count - b->out->piece_count, true);

    for (uint32_t i = from; rc == NOF_OK && i < b->count; i++)
        if (!a->placed[i])
            nof_phases_place_whole(b, i);
    return rc;
}

static int place_by_shifts(struct alltoall *a)
{
    struct nof_phases_build *b = a->b;

    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t shift = shift_of(b, &b->message[i]);

        if (a->placed[i])
            continue;
        if (b->message[i].bytes < b->threshold_bytes)
            return place_left(a, i);
        if (nof_phases_open(b, b->count - b->out->piece_count, false) != NOF_OK)
            return NOF_ENOMEM;
        for (uint32_t k = a->shifts.first[shift]; k < a->shifts.first[shift + 1]; k++)
            if (!a->placed[a->shifts.at[k]])
                place_if_idle(a, a->shifts.at[k]);
        fill(a);
    }
    return NOF_OK;
}

static int deal_alltoall(struct alltoall *a, uint32_t *list_of)
{
    struct nof_phases_build *b = a->b;
    int rc = deal_shifts(b, &a->shifts, list_of);

    for (uint32_t i = 0; i < b->count; i++)
        list_of[i] = b->message[i].node[NOF_PHASES_SENDING];
    if (rc == NOF_OK)
        rc = nof_phases_deal(&a->sources, list_of, b->count, b->nodes);
    if (rc == NOF_OK)
        memcpy(a->source_end, a->sources.first + 1, b->nodes * sizeof(uint32_t));
    return rc;
}

int nof_phases_alltoall(struct nof_phases_build *b)
{
    struct alltoall a = {.b = b};
    uint32_t *list_of = malloc(((size_t)b->count + 1) * sizeof(*list_of));
    int rc = NOF_ENOMEM;

    a.source_end = calloc(b->nodes, sizeof(uint32_t));
    a.busy[NOF_PHASES_SENDING] = calloc(b->nodes, sizeof(uint32_t));
    a.busy[NOF_PHASES_RECEIVING] = calloc(b->nodes, sizeof(uint32_t));
    a.placed = calloc((size_t)b->count + 1, sizeof(bool));
    a.candidate = calloc((size_t)b->count / 64 + 1, sizeof(uint64_t));
    if (list_of != NULL && a.source_end != NULL && a.busy[NOF_PHASES_SENDING] != NULL &&
        a.busy[NOF_PHASES_RECEIVING] != NULL && a.placed != NULL && a.candidate != NULL) {
        nof_phases_sort(b->message, b->count);
        rc = deal_alltoall(&a, list_of);
    }
    if (rc == NOF_OK)
        rc = place_by_shifts(&a);
    nof_phases_lists_free(&a.shifts);
    nof_phases_lists_free(&a.sources);
    free(a.source_end);
    free(a.busy[NOF_PHASES_SENDING]);
    free(a.busy[NOF_PHASES_RECEIVING]);
    free(a.placed);
    free(a.candidate);
    free(list_of);
    return rc;
}
