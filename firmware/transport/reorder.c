/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/reorder.h"

#include <string.h>

void nof_reorder_pool_init(struct nof_reorder_pool *pool, uint32_t n)
{
    /* bound: frames out of order; paid by set-up */
    for (uint32_t i = 0; i < n; i++)
        pool->slot[i].next = i + 1 < n ? i + 1 : NOF_NIL;
    pool->free = n > 0 ? 0 : NOF_NIL;
}

void nof_reorder_init(struct nof_reorder *r, uint32_t first_pn)
{
    *r = (struct nof_reorder){.next_pn = first_pn, .high_pn = first_pn, .head = NOF_NIL, .tail = NOF_NIL};
}

void nof_reorder_release(struct nof_reorder_pool *pool, uint32_t slot)
{
    pool->slot[slot].next = pool->free;
    pool->free = slot;
}

void nof_reorder_clear(struct nof_reorder *r, struct nof_reorder_pool *pool)
{
    /* bound: frames of one path out of order, its window; paid by the path that ends */
    while (r->head != NOF_NIL) {
        uint32_t index = r->head;

        r->head = pool->slot[index].next;
        nof_reorder_release(pool, index);
    }
    r->tail = NOF_NIL;
}

void nof_reorder_bits(const struct nof_reorder *r, const struct nof_reorder_pool *pool, uint8_t *words,
                      uint32_t nwords)
{
    const struct nof_reorder_slot *slots = pool->slot;

    memset(words, 0, 4 * nwords);
    /* bound: frames of one path out of order, its window; paid by the acknowledgement */
    for (uint32_t index = r->head; index != NOF_NIL; index = slots[index].next) {
        uint32_t i = slots[index].pn - r->next_pn - 1;

        words[i / 8] |= (uint8_t)(1u << (i % 8)); /* little-endian words: bit i is in byte i / 8 */
    }
}

uint32_t nof_reorder_take(struct nof_reorder *r, struct nof_reorder_pool *pool)
{
    uint32_t index = r->head;

    if (index == NOF_NIL || pool->slot[index].pn != r->next_pn)
        return NOF_NIL;
    r->head = pool->slot[index].next;
    if (r->head == NOF_NIL)
        r->tail = NOF_NIL;
    r->next_pn++;
    return index;
}

static enum nof_reorder_outcome keep(struct nof_reorder *r, struct nof_reorder_pool *pool, uint32_t pn,
                                     const uint8_t *bytes, uint32_t len_bytes, uint64_t now_ns)
{
    struct nof_reorder_slot *slots = pool->slot;
    uint32_t index = pool->free;
    uint32_t *link = &r->head;

    /* Mostly they come in order behind the gap. */
    if (r->tail != NOF_NIL && nof_serial_before(slots[r->tail].pn, pn))
        link = &slots[r->tail].next;
    /* bound: frames of one path out of order, its window; paid by the frame */
    while (*link != NOF_NIL && nof_serial_before(slots[*link].pn, pn))
        link = &slots[*link].next;
    if (*link != NOF_NIL && slots[*link].pn == pn)
        return NOF_REORDER_DUPLICATE;
    if (index == NOF_NIL || len_bytes > pool->slot_bytes)
        return NOF_REORDER_FULL;
    struct nof_reorder_slot *slot = &slots[index];
    pool->free = slot->next;
    memcpy(pool->data + (size_t)index * pool->slot_bytes, bytes, len_bytes);
    slot->pn = pn;
    slot->len_bytes = len_bytes;
    slot->next = *link;
    *link = index;
    if (slot->next == NOF_NIL)
        r->tail = index;
    if (!nof_serial_before(pn, r->high_pn)) {
        r->high_pn = pn + 1;
        r->newest_ns = now_ns;
    }
    return NOF_REORDER_KEPT;
}

enum nof_reorder_outcome nof_reorder_rx(struct nof_reorder *r, struct nof_reorder_pool *pool, uint32_t pn,
                                        const uint8_t *bytes, uint32_t len_bytes, uint32_t window,
                                        uint64_t now_ns)
{
    uint32_t ahead = pn - r->next_pn;

    if (ahead == 0) { /* it closes a gap, or makes it smaller: else it was nof_reorder_next()'s */
        r->next_pn++;
        return NOF_REORDER_NOW;
    }
    if ((int32_t)ahead < 0)
        return NOF_REORDER_DUPLICATE;
    if (ahead >= window)
        return NOF_REORDER_BEYOND;
    return keep(r, pool, pn, bytes, len_bytes, now_ns);
}
