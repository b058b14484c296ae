/* SPDX-License-Identifier: BSD-3-Clause */
#include "phases_build.h"

#include <stdlib.h>
#include <string.h>

#include "nof/status.h"

int nof_phases_deal(struct nof_phases_lists *lists, const uint32_t *list_of, uint32_t count,
                    uint32_t list_count)
{
    uint32_t *next;

    lists->first = calloc((size_t)list_count + 2, sizeof(*lists->first));
    lists->at = malloc(((size_t)count + 1) * sizeof(*lists->at));
    if (lists->first == NULL || lists->at == NULL)
        return NOF_ENOMEM;
    /* next[l] is where list l goes on; it ends as the begin of the list behind it. */
    next = lists->first + 1;
    for (uint32_t i = 0; i < count; i++)
        next[list_of[i] + 1]++;
    for (uint32_t l = 0; l < list_count; l++)
        next[l + 1] += next[l];
    for (uint32_t i = 0; i < count; i++)
        lists->at[next[list_of[i]]++] = i;
    return NOF_OK;
}

void nof_phases_lists_free(struct nof_phases_lists *lists)
{
    free(lists->first);
    free(lists->at);
}

static int by_size(const void *a, const void *b)
{
    const struct nof_phases_sum *x = a;
    const struct nof_phases_sum *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void nof_phases_sort(struct nof_phases_sum *message, uint32_t count)
{
    qsort(message, count, sizeof(*message), by_size);
}

/* Room for `more` behind the first `used` of an array that the caller holds. */
static void *grown(void *array, size_t used, size_t more, size_t *capacity, size_t item_bytes)
{
    size_t wanted = used + more > 2 * *capacity ? used + more : 2 * *capacity;
    void *larger;

    if (used + more <= *capacity)
        return array;
    larger = realloc(array, wanted * item_bytes);
    if (larger != NULL)
        *capacity = wanted;
    return larger;
}

int nof_phases_open(struct nof_phases_build *b, size_t pieces_max, bool small)
{
    struct nof_phases *out = b->out;
    struct nof_phase *phase = grown(out->phase, out->phase_count, 1, &b->phase_capacity, sizeof(*phase));
    struct nof_phases_piece *piece;

    if (phase == NULL)
        return NOF_ENOMEM;
    out->phase = phase;
    piece = grown(out->piece, out->piece_count, pieces_max, &b->piece_capacity, sizeof(*piece));
    if (piece == NULL)
        return NOF_ENOMEM;
    out->piece = piece;
    phase[out->phase_count++] = (struct nof_phase){.first_piece = out->piece_count, .small = small};
    return NOF_OK;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void nof_phases_place(struct nof_phases_build *b, const struct nof_phases_sum *message, uint64_t offset_bytes,
                      uint64_t bytes)
{
    struct nof_phases *out = b->out;
    struct nof_phase *phase = &out->phase[out->phase_count - 1];

    out->piece[out->piece_count++] = (struct nof_phases_piece){
        .source = message->node[NOF_PHASES_SENDING],
        .destination = message->node[NOF_PHASES_RECEIVING],
        .offset_bytes = offset_bytes,
        .bytes = bytes,
    };
    phase->piece_count++;
    phase->largest_bytes = larger(phase->largest_bytes, bytes);
    phase->link_bytes = larger(phase->link_bytes, bytes);
    for (unsigned side = 0; phase->small && side < NOF_PHASES_SIDES; side++) {
        uint64_t *link_bytes = &b->small_bytes[side][message->node[side]];

        *link_bytes += bytes;
        phase->link_bytes = larger(phase->link_bytes, *link_bytes);
    }
}
