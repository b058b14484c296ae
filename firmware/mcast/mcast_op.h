/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of groups: what the files of this folder say to each other. mcast_op.c knows none of them, mcast_group.c all. */
#ifndef NOF_MCAST_OP_H
#define NOF_MCAST_OP_H

#include "mcast/mcast.h"

#define NOF_MCAST_TICK_NS 20000000u /* the longest time without a look at an active message */
#define NOF_MCAST_AGAIN_NS 1000000u /* the shortest between two times that the same is said */
#define NOF_MCAST_AGAIN_FRAMES 64u /* and the link's time for so many, while frames are under way */
#define NOF_MCAST_PROBE_NS 20000000u
#define NOF_MCAST_PROBES 3u

static inline struct nof_mcast_group *nof_mcast_group_at(const struct nof_nic *nic, uint32_t i)
{
    void *at = nof_pool_obj(&nic->mcast.groups, i);
    return at;
}

static inline uint32_t nof_mcast_index(const struct nof_nic *nic, const struct nof_mcast_group *g)
{
    return (uint32_t)(g - (const struct nof_mcast_group *)nic->mcast.groups.base);
}

/* The message's room at this member. */
static inline uint8_t *nof_mcast_room(const struct nof_nic *nic, const struct nof_mcast_group *g,
                                      const struct nof_mcast_op *op)
{
    size_t i = (size_t)nof_mcast_index(nic, g) * NOF_MCAST_OPS + (size_t)(op - g->op);
    return nic->mcast.room + i * NOF_MCAST_ROOM_BYTES;
}

/* slot: of the room; or a read of the sender. */
uint64_t nof_mcast_token(const struct nof_nic *nic, const struct nof_mcast_group *g,
                         const struct nof_mcast_op *op, uint32_t slot, bool read);
/* Work for the endpoint of a group. */
static inline void nof_mcast_spend(struct nof_nic *nic, const struct nof_mcast_group *g, uint32_t steps)
{
    (void)nof_steps_left(nic, &nic->eps[g->ep]);
    nof_steps_spend(&nic->eps[g->ep], steps);
}
/* A frame that a sender has filled, or was to fill, goes back. */
static inline void nof_mcast_frame_free(struct nof_nic *nic, const struct nof_mcast_group *g,
                                        struct nof_frame *frame)
{
    nic->eps[g->ep].group_frames--;
    nof_group_frame_free(nic->transport, frame);
}
/* Look at the groups at this time, or before. */
static inline void nof_mcast_due(struct nof_nic *nic, uint64_t at_ns)
{
    if (at_ns < nic->mcast.due_ns)
        nic->mcast.due_ns = at_ns;
}

/* Begin message `number` of a sender in this state. */
void nof_mcast_op_begin(struct nof_mcast_group *g, struct nof_mcast_op *op, uint8_t state, uint32_t number,
                        uint16_t sender);
/* The message of this number and sender; one that nobody here has asked for yet is EARLY. NULL: it is over, or too far
 * ahead. */
struct nof_mcast_op *nof_mcast_op_of(struct nof_nic *nic, struct nof_mcast_group *g, uint32_t number,
                                     uint16_t sender);
/* It ends, now or when none of its requests is under way; the host is told. */
void nof_mcast_op_end(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op, int status);
/* Frames of a sender go back, but for those that are being read. */
void nof_mcast_op_drop(struct nof_nic *nic, const struct nof_mcast_group *g, struct nof_mcast_op *op);
/* Those before message `number` are over. */
void nof_mcast_op_pass(struct nof_nic *nic, struct nof_mcast_group *g, uint32_t number);
/* A member is dead, or has left before the message was over for it: its index; or n. */
uint32_t nof_mcast_dead_member(const struct nof_nic *nic, const struct nof_mcast_group *g,
                               const struct nof_mcast_op *op);
/* The link to a member, or NULL: it is not up. */
struct nof_link *nof_mcast_link(const struct nof_nic *nic, const struct nof_mcast_group *g, uint32_t member);
/* When the same is said again: later than now by 1 to 20 ms, twice as long each time. */
uint64_t nof_mcast_again_ns(const struct nof_nic *nic, const struct nof_mcast_op *op);

/* mcast_send.c */
void nof_mcast_send_run(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op);
/* A read has ended. */
void nof_mcast_send_read(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op, int status);
struct nof_mcast_nack {
    uint32_t member, cum, high;
    const uint8_t *have;
};
void nof_mcast_send_nack(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op,
                         const struct nof_mcast_nack *nack);

/* mcast_recv.c */
void nof_mcast_recv_run(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op);
void nof_mcast_recv_frame(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op,
                          const struct nof_group_view *v);
void nof_mcast_recv_written(struct nof_mcast_op *op, uint32_t slot, int status);

#endif
