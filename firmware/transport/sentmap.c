/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/sentmap.h"

#include "nof/core.h"

#define THRESHOLD 3u
#define DOUBT_MIN_NS 300000u /* acknowledgements of a burst come within this */

void nof_sent_pool_init(struct nof_sent_pool *pool, uint32_t n)
{
    /* bound: unacknowledged frames; paid by set-up */
    for (uint32_t i = 0; i < n; i++)
        pool->entry[i].next = i + 1 < n ? i + 1 : NOF_NIL;
    pool->free = 0;
    pool->free_count = n;
}

void nof_sent_free_all(struct nof_sent_pool *pool, uint32_t first)
{
    struct nof_sent *entry = pool->entry;
    struct nof_sent *last = NULL;
    uint32_t n = 0;

    /* bound: window of the path, 1024; paid by the acknowledgement, or the path that ends */
    for (uint32_t index = first; index != NOF_NIL; index = last->next) {
        last = &entry[index];
        pool->port_ops->frame_free(pool->port, last->frame);
        n++;
    }
    if (last == NULL)
        return;
    last->next = pool->free;
    pool->free = first;
    pool->free_count += n;
}

void nof_sentmap_init(struct nof_sentmap *map, uint32_t first_pn, uint32_t first_xn)
{
    *map = (struct nof_sentmap){
        .loss_at_ns = NOF_NO_DEADLINE,
        .next_pn = first_pn,
        .cum_pn = first_pn,
        .next_xn = first_xn,
        .delivered_xn = first_xn,
        .head = NOF_NIL,
        .tail = NOF_NIL,
    };
}

uint32_t nof_sentmap_clear(struct nof_sentmap *map)
{
    uint32_t gone = map->head;

    map->head = map->tail = NOF_NIL;
    map->frames = map->lost = 0;
    map->flight_bytes = 0;
    return gone;
}

/* An acknowledgement of a frame that was sent again, or given up, has come. False: it tells
 * nothing of when that transmission arrived. */
static bool arrived_late(struct nof_sentmap *map, const struct nof_sent *e, const struct nof_rtt *rtt,
                         const struct nof_sent_ack *ack)
{
    uint64_t age_ns = ack->now_ns - e->sent_ns;
    int lost = e->flags & NOF_SENT_LOST;
    bool too_soon = e->retx > 0 && age_ns < rtt->min_ns - rtt->min_ns / 8;

    /* The answer to a timeout: was the frame lost, or was the peer's core only not scheduled? In the
     * latter case what was sent after it is acknowledged right behind (the idea of RFC 5682). */
    if (e->retx > 0 && ack->timed_out)
        map->doubt_ns = ack->now_ns + (rtt->srtt_ns > DOUBT_MIN_NS ? rtt->srtt_ns : DOUBT_MIN_NS);
    if (lost) {
        map->lost--;
        map->flight_bytes += e->len_bytes; /* taken off again with all that has come */
    }
    /* Declared lost and here all the same, or too soon for the retransmission: the original had
     * only been overtaken. */
    if ((lost || too_soon) && map->level < NOF_SENT_LEVEL_MAX)
        map->level++;
    return !too_soon && !(lost && e->retx > 0);
}

/* An acknowledgement of e has come. */
static inline void arrived(struct nof_sentmap *map, const struct nof_sent *e, const struct nof_rtt *rtt,
                           const struct nof_sent_ack *ack, struct nof_acked *acked)
{
    acked->rtt_pn = e->pn;
    acked->rtt_sent_ns = e->sent_ns;
    if (e->flags != 0 || e->retx != 0) {
        if (e->retx != 0)
            acked->rtt_sent_ns = 0; /* Karn */
        if (arrived_late(map, e, rtt, ack) && nof_serial_before(map->delivered_xn, e->xn + 1))
            map->delivered_xn = e->xn + 1;
    } else if (nof_serial_before(map->delivered_xn, e->xn + 1)) {
        map->delivered_xn = e->xn + 1;
    }
    map->frames--;
    acked->bytes += e->len_bytes;
}

static int bit(const uint8_t *words, uint32_t i)
{
    return words[i / 8] >> (i % 8) & 1; /* little-endian words: bit i is in byte i / 8 */
}

/* Walk to the highest bit that is set; unlink what has arrived. */
static void ack_selected(struct nof_sentmap *map, struct nof_sent_pool *pool, const struct nof_rtt *rtt,
                         const struct nof_sent_ack *ack, struct nof_acked *acked)
{
    uint32_t previous = NOF_NIL;
    uint32_t index = map->head;

    /* bound: window of the path, 1024; paid by the acknowledgement */
    while (index != NOF_NIL) {
        struct nof_sent *e = &pool->entry[index];
        uint32_t next = e->next;
        uint32_t i = e->pn - ack->cum_pn - 1; /* UINT32_MAX for the packet cum_pn itself */

        if (i != UINT32_MAX && i >= 32 * ack->nwords)
            break;
        if (i == UINT32_MAX || !bit(ack->words, i)) {
            previous = index;
            index = next;
            continue;
        }
        arrived(map, e, rtt, ack, acked);
        if (previous == NOF_NIL)
            map->head = next;
        else
            pool->entry[previous].next = next;
        if (next == NOF_NIL)
            map->tail = previous;
        e->next = acked->gone;
        acked->gone = index;
        index = next;
    }
}

void nof_sentmap_ack(struct nof_sentmap *map, struct nof_sent_pool *pool, const struct nof_rtt *rtt,
                     const struct nof_sent_ack *ack, struct nof_acked *acked_out)
{
    struct nof_acked acked = {.flight_before_bytes = map->flight_bytes, .gone = NOF_NIL};
    uint32_t index = map->head;
    struct nof_sent *entry = pool->entry;
    struct nof_sent *last = NULL;
    uint32_t cum_pn = ack->cum_pn;

    /* bound: window of the path, 1024; paid by the acknowledgement */
    while (index != NOF_NIL && nof_serial_before(entry[index].pn, cum_pn)) {
        last = &entry[index];
        arrived(map, last, rtt, ack, &acked);
        index = last->next;
    }
    if (last != NULL) {
        acked.gone = map->head;
        last->next = NOF_NIL;
        map->head = index;
    }
    if (index == NOF_NIL)
        map->tail = NOF_NIL;
    map->cum_pn = ack->cum_pn;
    if (ack->nwords > 0)
        ack_selected(map, pool, rtt, ack, &acked);
    map->flight_bytes -= acked.bytes;
    *acked_out = acked;
}

uint32_t nof_sentmap_detect(struct nof_sentmap *map, struct nof_sent_pool *pool, const struct nof_rtt *rtt,
                            uint64_t now_ns)
{
    uint32_t threshold = THRESHOLD << map->level;
    uint64_t wait_ns = rtt->srtt_ns + ((uint64_t)(rtt->srtt_ns / 8 + rtt->rttvar_ns) << map->level);
    uint32_t lost = 0;

    map->loss_at_ns = NOF_NO_DEADLINE;
    if (now_ns < map->doubt_ns) {
        if (map->head != NOF_NIL)
            map->loss_at_ns = map->doubt_ns;
        return 0;
    }
    /* bound: window of the path, 1024; paid by the time-out of the path */
    for (uint32_t index = map->head; index != NOF_NIL; index = pool->entry[index].next) {
        struct nof_sent *e = &pool->entry[index];
        uint32_t behind = map->delivered_xn - e->xn; /* 1: the newest that arrived */

        if (!nof_serial_before(e->xn, map->delivered_xn)) {
            if (e->retx == 0)
                break; /* so were all that follow: sent later, or sent again later still */
            continue;
        }
        if (e->flags & NOF_SENT_LOST)
            continue;
        if (behind > threshold || now_ns >= e->sent_ns + wait_ns) {
            e->flags |= NOF_SENT_LOST;
            map->flight_bytes -= e->len_bytes;
            map->lost++;
            lost++;
        } else if (e->sent_ns + wait_ns < map->loss_at_ns) {
            map->loss_at_ns = e->sent_ns + wait_ns;
        }
    }
    return lost;
}

uint32_t nof_sent_next_lost(const struct nof_sent_pool *pool, uint32_t index)
{
    /* bound: window of the path, 1024; paid by the path */
    while (index != NOF_NIL && !(pool->entry[index].flags & NOF_SENT_LOST))
        index = pool->entry[index].next;
    return index;
}

void nof_sentmap_again(struct nof_sentmap *map, struct nof_sent_pool *pool, uint32_t index, uint64_t now_ns)
{
    struct nof_sent *e = &pool->entry[index];

    if (e->flags & NOF_SENT_LOST) {
        map->flight_bytes += e->len_bytes;
        map->lost--;
    }
    e->flags = 0;
    e->sent_ns = now_ns;
    e->xn = map->next_xn++;
    if (e->retx < UINT8_MAX)
        e->retx++;
}

void nof_sentmap_round(struct nof_sentmap *map)
{
    if (++map->rounds % NOF_SENT_LEVEL_ROUNDS == 0 && map->level > 0)
        map->level--;
}
