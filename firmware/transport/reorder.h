/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receive window of one path: frames come out in order and exactly once. What comes beyond a gap is copied into a slot
 * of the NIC's pool.
 *
 *   nof_reorder_next()   the plain case, inline: deliver the frame
 *   nof_reorder_rx()     otherwise: says what to do with it; after NOF_REORDER_NOW
 *   nof_reorder_take()   each slot that is in order now: deliver it, then nof_reorder_release()
 *
 * With n the number of calls that said "deliver" (next(), NOF_REORDER_NOW and take()) since packet number `first`:
 *   next_pn = first + n, the frames delivered are exactly first .. next_pn - 1, in this order;
 *   next_pn <= high_pn <= next_pn + window, all modulo 2^32;
 *   next_pn == high_pn if and only if no slot is held.
 * The frame that fills the gap never needs a slot, so there is progress with no slot left, too.
 *
 * A value: `struct nof_reorder` is the path's, 24 bytes; the pool is the NIC's, shared by its paths. Slots are
 * linked by index, in the order of packet numbers. */
#ifndef NOF_REORDER_H
#define NOF_REORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nil.h"
#include "transport/serial.h"

struct nof_reorder_slot { /* its bytes are nof_reorder_bytes() */
    uint32_t pn;
    uint32_t next;
    uint32_t len_bytes;
};

struct nof_reorder_pool {
    struct nof_reorder_slot *slot;
    uint8_t *data; /* slot_bytes each */
    uint32_t slot_bytes;
    uint32_t free; /* list; NOF_NIL: no slot left */
};

struct nof_reorder {
    uint64_t newest_ns; /* arrival of packet high_pn - 1; 0: none has come */
    uint32_t next_pn; /* all before have been delivered */
    uint32_t high_pn; /* highest received, plus 1 */
    uint32_t head, tail; /* slots that are held; NOF_NIL: none */
};

enum nof_reorder_outcome {
    NOF_REORDER_NOW, /* deliver it, then what nof_reorder_take() gives */
    NOF_REORDER_KEPT,
    NOF_REORDER_DUPLICATE, /* it came before */
    NOF_REORDER_BEYOND, /* beyond the window */
    NOF_REORDER_FULL, /* no slot, or longer than a slot; it will be sent again */
};

/* n slots, 0 for none: slot and data are set and have room for them. */
void nof_reorder_pool_init(struct nof_reorder_pool *pool, uint32_t n);
void nof_reorder_init(struct nof_reorder *r, uint32_t first_pn);
/* Gives all slots back. The numbers stay. */
void nof_reorder_clear(struct nof_reorder *r, struct nof_reorder_pool *pool);

/* A frame has come, and nof_reorder_next() refused it. bytes: from the common header on. window: how far beyond
 * next_pn - 1 a packet may lie, at most 2^31 - 1. */
enum nof_reorder_outcome nof_reorder_rx(struct nof_reorder *r, struct nof_reorder_pool *pool, uint32_t pn,
                                        const uint8_t *bytes, uint32_t len_bytes, uint32_t window,
                                        uint64_t now_ns);
/* The slot of packet next_pn, which is the caller's until nof_reorder_release(); NOF_NIL: it is not here. */
uint32_t nof_reorder_take(struct nof_reorder *r, struct nof_reorder_pool *pool);
void nof_reorder_release(struct nof_reorder_pool *pool, uint32_t slot);

/* Which packets have come after the one that is missing: bit i of the 32 * nwords (little-endian words) is packet
 * next_pn + 1 + i. nwords: at least nof_reorder_words(). */
void nof_reorder_bits(const struct nof_reorder *r, const struct nof_reorder_pool *pool, uint8_t *words,
                      uint32_t nwords);

/* The plain case: the next packet, and nothing has come beyond it. False: it is not that, and nothing has changed. */
static inline bool nof_reorder_next(struct nof_reorder *r, uint32_t pn, uint64_t now_ns)
{
    if (pn != r->next_pn || pn != r->high_pn)
        return false;
    r->next_pn = r->high_pn = pn + 1;
    r->newest_ns = now_ns;
    return true;
}

/* Has something come beyond a packet that is missing? */
static inline bool nof_reorder_gap(const struct nof_reorder *r)
{
    return r->high_pn != r->next_pn;
}

/* Words of a bitmap of what has come beyond the gap. */
static inline uint32_t nof_reorder_words(const struct nof_reorder *r)
{
    uint32_t span = r->high_pn - r->next_pn; /* 0, or the gap and what follows */

    return span > 1 ? (span - 1 + 31) / 32 : 0;
}

static inline const uint8_t *nof_reorder_bytes(const struct nof_reorder_pool *pool, uint32_t slot)
{
    return pool->data + (size_t)slot * pool->slot_bytes;
}

#endif
