/* SPDX-License-Identifier: BSD-3-Clause */
/* The short path: what lies in a slot goes into it, and out of it, past requests, operations and the matcher. Only where the
 * matcher would have nothing to say: nobody else's receive waits, and no message.
 *
 * Budget of both calls together, with all that is above them: 300 instructions, no locked one, no fence, no allocation, no system call
 * (`nof bench channels`, short_path). So what is rare is called last, or calls these again: neither keeps anything over a call. */
#include <string.h>

#include "chan/shm/chan_shm.h"

/* The lane is looked at so often before the call becomes one that waits: about as long as a peer takes to answer. */
#define LOOKS 64u
/* Who never waits looks at all else once in so many messages of a lane, a power of two. What it finds goes to the matcher, and the next
 * calls the long way. */
#define LOOK_AROUND 1024u

#define RARE __attribute__((noinline, cold))

/* At most NOF_LANE_PAYLOAD, without a call; most messages of programs are a number. */
static inline void copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
    if (__builtin_expect(bytes == 8, 1)) {
        memcpy(to, from, 8);
    } else if (bytes >= 16) {
        memcpy(to, from, 16);
        if (bytes > 32)
            memcpy(to + 16, from + 16, 16);
        memcpy(to + bytes - 16, from + bytes - 16, 16);
    } else if (bytes > 8) {
        memcpy(to, from, 8);
        memcpy(to + bytes - 8, from + bytes - 8, 8);
    } else if (bytes >= 4) {
        memcpy(to, from, 4);
        memcpy(to + bytes - 4, from + bytes - 4, 4);
    } else if (bytes > 0) {
        to[0] = from[0];
        to[bytes / 2] = from[bytes / 2];
        to[bytes - 1] = from[bytes - 1];
    }
}

static inline struct nof_shm_peer *peer_of(int world_rank)
{
    return &nof_shm.peers[nof_shm.slot_of[world_rank]];
}

RARE static bool send_if_room(uint32_t ctx, int world_rank, int tag, const void *data, size_t bytes)
{
    return nof_lane_look(&peer_of(world_rank)->out) != 0 &&
           nof_shm_send_now(ctx, world_rank, tag, data, bytes);
}

RARE static bool sent(const struct nof_shm_peer *to)
{
    if (!nof_lane_is_hot(&to->out))
        nof_shm_tell(to);
    nof_shm_ring(to);
    return true;
}

bool nof_shm_send_now(uint32_t ctx, int world_rank, int tag, const void *data, size_t bytes)
{
    struct nof_shm_peer *to = peer_of(world_rank);
    if (bytes > NOF_LANE_PAYLOAD || to->first != NULL || to->gone || nof_shm.dead)
        return false;
    if (to->out.room == 0)
        return send_if_room(ctx, world_rank, tag, data, bytes);
    struct nof_lane_slot *slot = to->out.next;
    nof_shm_head(slot, NOF_SHM_SHORT, ctx, tag, 0);
    slot->len = (uint8_t)bytes;
    copy(slot->payload, data, bytes);
    nof_lane_publish(&to->out);
    nof_chan_count(NOF_CHAN_COUNT_MEMORY_SENDS, 1);
    nof_chan_count(NOF_CHAN_COUNT_MEMORY_BYTES, bytes);
    nof_barrier_light();
    return (nof_lane_is_hot(&to->out) && !nof_shm_sleeps(to)) || sent(to);
}

/* Only of a lane that is hot: from another one the drain must be told of, and make it so. */
static inline bool is_alone(const struct nof_shm_peer *from)
{
    return (nof_chan_claims.memory.posted.count | nof_chan_claims.memory.waiting.count) == 0 &&
           nof_chan_probes == NULL && from->place != NOF_HOT_NONE && !from->stuck && !from->gone &&
           !nof_shm.dead;
}

/* The next message of this lane, which has come: nobody else may want it. Each word of the slot is read once: its owner may write
 * meanwhile. */
static inline bool take(struct nof_shm_peer *from, uint32_t ctx, int tag, void *data, size_t bytes,
                        struct nof_chan_came *came_out)
{
    const struct nof_lane_slot *slot = from->in.next;
    uint32_t what = __atomic_load_n(&slot->what, __ATOMIC_RELAXED);
    int32_t came_tag = __atomic_load_n(&slot->tag, __ATOMIC_RELAXED);
    uint32_t len = NOF_LANE_LEN(what);
    if (NOF_LANE_KIND_FLAGS(what) != NOF_SHM_SHORT || __atomic_load_n(&slot->ctx, __ATOMIC_RELAXED) != ctx ||
        came_tag < 0 || len > NOF_LANE_PAYLOAD || len > bytes)
        return false;
    if (__builtin_expect(tag != came_tag, 0) && tag != MPI_ANY_TAG)
        return false;
    came_out->tag = came_tag;
    came_out->bytes = len;
    copy(data, slot->payload, len);
    nof_hot_brought(&nof_shm.hot, from->place, 1);
    nof_shm.came++;
    if (nof_lane_pop(&from->in)) {
        nof_barrier_light();
        nof_shm_ring(from);
    }
    return true;
}

RARE static bool recv_soon(struct nof_shm_peer *from, uint32_t ctx, int tag, void *data, size_t bytes,
                           struct nof_chan_came *came_out)
{
    bool here = false;
    for (unsigned i = 0; !here && i < LOOKS; i++) {
        /* Another thread may be about to bring what the message depends on, and wants the lock for it. */
        if (nof_lib.locking)
            nof_lib_unlock();
        nof_wait_pause();
        if (nof_lib.locking)
            nof_lib_lock();
        here = nof_lane_has(&from->in);
    }
    return here && is_alone(from) && take(from, ctx, tag, data, bytes, came_out);
}

static inline bool recv_next(struct nof_shm_peer *from, uint32_t ctx, int tag, void *data, size_t bytes,
                             struct nof_chan_came *came_out)
{
    if (!is_alone(from))
        return false;
    return nof_lane_has(&from->in) ? take(from, ctx, tag, data, bytes, came_out)
                                   : recv_soon(from, ctx, tag, data, bytes, came_out);
}

RARE static bool recv_beside_others(struct nof_shm_peer *from, uint32_t ctx, int tag, void *data,
                                    size_t bytes, struct nof_chan_came *came_out)
{
    (void)nof_wait_poll();
    return recv_next(from, ctx, tag, data, bytes, came_out);
}

bool nof_shm_recv_now(uint32_t ctx, int world_rank, int tag, void *data, size_t bytes,
                      struct nof_chan_came *came_out)
{
    struct nof_shm_peer *from = peer_of(world_rank);
    return from->in.number % LOOK_AROUND == 0 ? recv_beside_others(from, ctx, tag, data, bytes, came_out)
                                              : recv_next(from, ctx, tag, data, bytes, came_out);
}
