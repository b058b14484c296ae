/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames of one path that are not acknowledged yet, in the order of packet numbers. What is acknowledged selectively
 * leaves the list at once (the receiver never takes it back), so the list holds exactly what may have to be sent again.
 *
 *   nof_sent_get() -> nof_sentmap_add()     a frame leaves
 *   nof_sentmap_ack()                       an acknowledgement has come; then
 *   nof_sentmap_detect()                    what must be lost by now, and at map->loss_at_ns again
 *   nof_sent_next_lost() -> nof_sentmap_again()   one of these is sent again
 *   nof_sentmap_clear()                     the path ends
 *
 * Loss is found as in RFC 8985 (RACK), in the order of transmissions: with xn the number of a frame's last transmission
 * (a retransmission is one like any other), d = delivered_xn and L = level, it is lost when
 *
 *   xn < d  and  ( d - xn > 3 * 2^L  or  now >= sent + srtt + (srtt / 8 + rttvar) * 2^L )
 *
 * L is 0..5, one more for each frame that proves to have only been overtaken, one less after 64 rounds. While
 * now < doubt_ns a timeout may prove premature, and nothing is lost (the idea of RFC 5682).
 * At all times
 *
 *   flight_bytes = sum of len_bytes of those that are not NOF_SENT_LOST;   lost = number of those that are
 *
 * Ownership: an entry and its frame are the map's from nof_sentmap_add() until nof_sentmap_ack() or nof_sentmap_clear()
 * hands them to the caller, who gives them back by nof_sent_free() once the port's queue does not hold the frame.
 *
 * A value: `struct nof_sentmap` is the path's, 56 bytes; the pool of entries is the NIC's. All arithmetic of numbers is
 * modulo 2^32. */
#ifndef NOF_SENTMAP_H
#define NOF_SENTMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nil.h"
#include "nof/port.h"

#include "transport/rtt.h"
#include "transport/serial.h"

#define NOF_SENT_LEVEL_MAX 5u
#define NOF_SENT_LEVEL_ROUNDS 64u

enum nof_sent_flag {
    NOF_SENT_LOST = 1, /* to be sent again; not counted in flight */
    NOF_SENT_ZOMBIE = 2, /* acknowledged or given up while in the queue towards the port */
};

struct nof_sent {
    struct nof_frame *frame;
    uint64_t sent_ns; /* last transmission */
    uint32_t pn;
    uint32_t xn; /* order of its last transmission among all of the path */
    uint32_t next; /* by packet number */
    uint16_t len_bytes;
    uint8_t flags; /* enum nof_sent_flag */
    uint8_t retx; /* times sent again, saturating */
};

struct nof_sent_pool {
    struct nof_sent *entry;
    const struct nof_port_ops *port_ops; /* whose frames they are */
    void *port;
    uint32_t free; /* list */
    uint32_t free_count;
};

struct nof_sentmap {
    uint64_t loss_at_ns; /* when to call nof_sentmap_detect() again; NOF_NO_DEADLINE: none */
    uint64_t doubt_ns;
    uint32_t next_pn; /* of the next packet */
    uint32_t cum_pn; /* all before are acknowledged */
    uint32_t next_xn; /* of the next transmission */
    uint32_t delivered_xn; /* newest transmission known to have arrived, plus 1 */
    uint32_t head, tail; /* NOF_NIL: nothing is unacknowledged */
    uint32_t flight_bytes;
    uint16_t lost;
    uint16_t frames;
    uint8_t level; /* adaptive reordering tolerance */
    uint8_t rounds; /* of congestion control, wraps */
};

struct nof_sent_ack { /* what an acknowledgement says, and when */
    uint64_t now_ns;
    const uint8_t
        *words; /* nwords little-endian words: bit i is packet cum_pn + 1 + i; none beyond next_pn */
    uint32_t nwords;
    uint32_t cum_pn; /* all before have come: map->cum_pn .. map->next_pn */
    bool timed_out; /* it is the first since a retransmission timeout */
};

struct nof_acked {
    uint64_t rtt_sent_ns; /* transmission of rtt_pn; 0: ambiguous, or nothing acknowledged */
    uint32_t rtt_pn; /* the newest of them */
    uint32_t bytes; /* acknowledged now; 0: nothing */
    uint32_t flight_before_bytes;
    uint32_t gone; /* chain by `next` of their entries; NOF_NIL: none */
};

/* n entries, at least 1, that pool->entry has room for. */
void nof_sent_pool_init(struct nof_sent_pool *pool, uint32_t n);

/* NOF_NIL: no entry left. */
static inline uint32_t nof_sent_get(struct nof_sent_pool *pool)
{
    uint32_t index = pool->free;

    if (index != NOF_NIL) {
        pool->free = pool->entry[index].next;
        pool->free_count--;
    }
    return index;
}

/* The entry back to the pool, its frame to the port. */
static inline void nof_sent_free(struct nof_sent_pool *pool, uint32_t index)
{
    struct nof_sent *e = &pool->entry[index];

    pool->port_ops->frame_free(pool->port, e->frame);
    e->next = pool->free;
    pool->free = index;
    pool->free_count++;
}

/* The same for a chain by `next`; NOF_NIL: of none. */
void nof_sent_free_all(struct nof_sent_pool *pool, uint32_t first);

void nof_sentmap_init(struct nof_sentmap *map, uint32_t first_pn, uint32_t first_xn);

static inline bool nof_sentmap_empty(const struct nof_sentmap *map)
{
    return map->head == NOF_NIL;
}

/* Packet next_pn leaves for the first time, in the entry `index` of nof_sent_get(). */
static inline void nof_sentmap_add(struct nof_sentmap *map, struct nof_sent_pool *pool, uint32_t index,
                                   struct nof_frame *frame, uint64_t now_ns)
{
    struct nof_sent *e = &pool->entry[index];

    e->frame = frame;
    e->sent_ns = now_ns;
    e->pn = map->next_pn++;
    e->xn = map->next_xn++;
    e->next = NOF_NIL;
    e->len_bytes = (uint16_t)frame->len_bytes;
    e->flags = 0;
    e->retx = 0;
    map->flight_bytes += frame->len_bytes;
    map->frames++;
    if (map->head == NOF_NIL)
        map->head = index;
    else
        pool->entry[map->tail].next = index;
    map->tail = index;
}

/* It did not leave after all: as if it had been lost. */
static inline void nof_sentmap_stuck(struct nof_sentmap *map, struct nof_sent_pool *pool, uint32_t index)
{
    pool->entry[index].flags = NOF_SENT_LOST;
    map->lost++;
    map->flight_bytes -= pool->entry[index].len_bytes;
}

/* rtt: of the path, before this acknowledgement's sample. */
void nof_sentmap_ack(struct nof_sentmap *map, struct nof_sent_pool *pool, const struct nof_rtt *rtt,
                     const struct nof_sent_ack *ack, struct nof_acked *acked_out);
/* Mark what must be lost by now; sets loss_at_ns for what may be later. Returns how many. */
uint32_t nof_sentmap_detect(struct nof_sentmap *map, struct nof_sent_pool *pool, const struct nof_rtt *rtt,
                            uint64_t now_ns);
/* The first lost one from `index` on; NOF_NIL: none. */
uint32_t nof_sent_next_lost(const struct nof_sent_pool *pool, uint32_t index);
/* It is sent again now, lost or not. */
void nof_sentmap_again(struct nof_sentmap *map, struct nof_sent_pool *pool, uint32_t index, uint64_t now_ns);
/* A round of congestion control has ended: patience wears off. */
void nof_sentmap_round(struct nof_sentmap *map);
/* Forgets all. Returns the chain of their entries, as nof_acked.gone. */
uint32_t nof_sentmap_clear(struct nof_sentmap *map);

#endif
