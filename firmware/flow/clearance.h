/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clearance: how much rendezvous payload the senders of other NICs may have under way to this one, all together (features
 * grant_bytes, grant_us). A CTS says how far its sender may go; it is held back while what was cleared and has not come is
 * the budget or more, so that many senders do not meet in the buffer of the switch before us.
 *
 *   ask() -> how far the receive may go now; if that is no further, it waits or asks again when more has come
 *   came() as bytes come, leave() when it ends        ready() -> next() -> give(), until NULL
 *
 * Budget. The larger of grant_bytes and what the link carries in grant_us; grant_bytes 0: no budget. Nobody waits who is
 * alone: while all that is under way or waits comes from one other NIC, its own congestion control is enough, and a stream
 * runs a window ahead that it does not feel. Messages of at most 2 KiB and what loops back inside the NIC do not count.
 * With B the budget, a receive runs ahead by max(16 KiB, B / 2), alone by max(128 KiB, 4 B), and asks for more
 * when half of the former is left; what was cleared and has not come is never more than B and one such window, but for
 * what has lapsed.
 *
 * Delta sends are cleared while they compute. Who is alone with one may run as far ahead as with any other, but no more than a window
 * of it counts: else all others would wait for what its program has not made.
 *
 * Order. Two classes in turn, by bytes: steps of schedules, and all others. In each, endpoints by deficit round robin. Steps
 * of an endpoint go in the order of their program, which is that of its phases: an all-to-all whose rounds are shifts runs
 * as phases between pairs, without a barrier. Others of an endpoint: one flow after the other, and those of a flow as they
 * came: a peer with thousands of messages has the turn of one.
 *
 * Lapse. What was cleared counts for 2 ms and twice the time that the link needs for a budget and a window; where more is under way to
 * one receive than that, which was alone then, for 2 ms and twice the time of all that such a one may have. It does so whether it is
 * coming or not: a sender that is silent, or slow on purpose, holds nobody up for longer. Its bytes may still come: so may those of
 * several receives of one NIC that was alone, each of which has what such a one may have. After grant_bytes is set to less, what was
 * cleared before lapses at its own time, and what is behind it no sooner. Where others wait, its receiver's endpoint then gives way to as
 * many bytes as the link could have carried in that time, once for what lapses together: whoever waits for silent senders has its share
 * of the link's time, and no more. Of endpoints that owe this at most 64 give way in one turn.
 *
 * No deadlock: if a receive waits and the budget is used up, somebody's clearance counts, and ends to count by coming, by
 * the end of its receive, or by lapse. Then the first in order is cleared, however long its message is. What is before it
 * has one window in its turn; steps of several programs of an endpoint are ordered by their number in each, so that a late
 * one stands behind early ones of programs that began after its own.
 *
 * Who has met others counts as alone again only when nothing is under way or waits any more. */
#ifndef NOF_CLEARANCE_H
#define NOF_CLEARANCE_H

#include "nic.h"

/* A feature was set, or the NIC begins. */
void nof_clearance_set(struct nof_nic *nic);
/* r, a rendezvous whose sender is known, could go on to `end` bytes, 0 < end. Returns how far it may go: at least r->allowed.
 * The caller tells the sender. */
uint64_t nof_clearance_ask(struct nof_nic *nic, struct nof_recv *r, uint64_t end);
/* Is it time for it to ask for more? r->received counts what has come. */
static inline bool nof_clearance_low(const struct nof_nic *nic, const struct nof_recv *r)
{
    return r->allowed < r->wanted && !r->clear_waits &&
           r->allowed - r->received <= nic->clearance.window_bytes / 2;
}
/* It ends. */
void nof_clearance_leave(struct nof_nic *nic, struct nof_recv *r);
/* Takes back what has lapsed. The receive whose turn it is, which waits no longer, or NULL; give() it what it could have,
 * as ask(). */
struct nof_recv *nof_clearance_next(struct nof_nic *nic);
uint64_t nof_clearance_give(struct nof_nic *nic, struct nof_recv *r, uint64_t end);

/* May somebody be cleared? */
static inline bool nof_clearance_room(const struct nof_nic *nic)
{
    const struct nof_clearance *c = &nic->clearance;
    return c->out_bytes < c->budget_bytes;
}
/* Would next() find one? */
static inline bool nof_clearance_ready(const struct nof_nic *nic)
{
    return nic->clearance.waiting > 0 && nof_clearance_room(nic);
}
/* Does the way of this link to its receiver hold so many bytes that others send there at the same time? It holds a budget, and as any
 * buffer should, what a link carries in a round trip. */
bool nof_clearance_holds(const struct nof_nic *nic, const struct nof_link *link, uint64_t bytes);

/* When something may lapse that others wait for. */
uint64_t nof_clearance_deadline(const struct nof_nic *nic);

/* What r was cleared does not count any more. */
void nof_clearance_uncount(struct nof_nic *nic, struct nof_recv *r);
/* n bytes of it have come, which r->received has. Of a delta send more may be cleared than counts. */
static inline void nof_clearance_came(struct nof_nic *nic, struct nof_recv *r, uint32_t n)
{
    if (r->unit_log2 != 0) {
        uint64_t ahead = r->allowed - r->received;
        n = r->clear_bytes > ahead ? (uint32_t)(r->clear_bytes - ahead) : 0;
    }
    if (r->clear_bytes > n) {
        r->clear_bytes -= n;
        nic->clearance.out_bytes -= n;
    } else if (r->clear_bytes > 0) {
        nof_clearance_uncount(nic, r);
    }
}

#endif
