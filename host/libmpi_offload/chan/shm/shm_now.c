/* SPDX-License-Identifier: BSD-3-Clause */
/* The short path: what lies in a slot goes into it, and out of it, past requests, operations and the matcher. Only where the
 * matcher would have nothing to say: nobody else's receive waits, and no message.
 *
 * Budget of both calls together, with all that is above them: 300 instructions, no locked one, no fence, no allocation, no system call
 * (`nof bench channels`, short_path). */
#include <string.h>

#include "chan/shm/chan_shm.h"

/* The lane is looked at so often before the call becomes one that waits: about as long as a peer takes to answer. */
#define LOOKS 64u
/* Who never waits looks at all else once in so many receives. What it finds in the lane goes to the matcher, and the next calls the
 * long way. */
#define ALONE_MOST 1024u

/* Most messages of programs are a number. */
static inline void copy(void *to, const void *from, size_t bytes)
{
    if (bytes == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else if (bytes > 0)
        memcpy(to, from, bytes);
}

bool nof_shm_send_now(const struct nof_comm *comm, int peer, int tag, const void *data, size_t bytes)
{
    struct nof_shm_peer *to = nof_shm_peer_at(comm, peer);
    if (bytes > NOF_LANE_PAYLOAD || to->first != NULL || to->gone || nof_shm.dead)
        return false;
    struct nof_lane_slot *slot = nof_lane_claim(&to->out);
    if (slot == NULL)
        return false;
    nof_shm_head(slot, NOF_SHM_SHORT, comm->ctx, tag, 0);
    slot->len = (uint8_t)bytes;
    copy(slot->payload, data, bytes);
    nof_shm_put(to);
    nof_chan_count(NOF_CHAN_COUNT_MEMORY_SENDS, 1);
    nof_chan_count(NOF_CHAN_COUNT_MEMORY_BYTES, bytes);
    return true;
}

/* Only of a lane that is hot: from another one the drain must be told of, and make it so. */
static inline bool is_alone(const struct nof_shm_peer *from)
{
    return (nof_shm.matcher.posted.count | nof_shm.matcher.waiting.count) == 0 && nof_shm.probes == NULL &&
           from->place != NOF_HOT_NONE && !from->stuck && !from->gone && !nof_shm.dead;
}

static inline const struct nof_lane_slot *look(const struct nof_lane_in *in)
{
    const struct nof_lane_slot *slot = nof_lane_peek(in);
    /* Another thread may be about to bring what the message depends on, and wants the lock for it. */
    for (unsigned i = 0; slot == NULL && i < LOOKS && !nof_lib.locking; i++) {
        nof_wait_pause();
        slot = nof_lane_peek(in);
    }
    return slot;
}

bool nof_shm_recv_now(const struct nof_comm *comm, int peer, int tag, void *data, size_t bytes,
                      struct nof_chan_came *came_out)
{
    static unsigned alone;
    struct nof_shm_peer *from = nof_shm_peer_at(comm, peer);
    if (++alone > ALONE_MOST) {
        alone = 0;
        (void)nof_wait_poll();
    }
    if (!is_alone(from))
        return false;
    const struct nof_lane_slot *slot = look(&from->in);
    if (slot == NULL)
        return false;
    struct nof_lane_slot came = *slot;
    __asm__ volatile("" ::: "memory"); /* what is checked is the copy */
    if (came.kind != NOF_SHM_SHORT || came.flags != 0 || came.ctx != comm->ctx || came.tag < 0 ||
        (tag != came.tag && tag != MPI_ANY_TAG) || came.len > NOF_LANE_PAYLOAD || came.len > bytes)
        return false;
    copy(data, came.payload, came.len);
    if (nof_lane_pop(&from->in)) {
        nof_barrier_light();
        nof_shm_ring(nof_shm_slot_of(from));
    }
    nof_hot_brought(&nof_shm.hot, from->place, 1);
    came_out->tag = came.tag;
    came_out->bytes = came.len;
    return true;
}
