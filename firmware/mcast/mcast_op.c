/* SPDX-License-Identifier: BSD-3-Clause */
#include "mcast/mcast_op.h"

#include <string.h>

#include "flow/link.h"
#include "msg/recv.h"

uint64_t nof_mcast_token(const struct nof_nic *nic, const struct nof_mcast_group *g,
                         const struct nof_mcast_op *op, uint32_t slot, bool read)
{
    uint32_t which = (uint32_t)(op - g->op) << 6 | (read ? 1u << 5 : 0) | slot;
    return NOF_TOKEN_MCAST | nof_handle(nof_mcast_index(nic, g) << 7 | which, g->obj.gen);
}

void nof_mcast_op_begin(struct nof_mcast_group *g, struct nof_mcast_op *op, uint8_t state, uint32_t number,
                        uint16_t sender)
{
    memset(op, 0, sizeof(*op)); /* too large for a value on the stack */
    op->state = state;
    op->number = number;
    op->sender = sender;
    op->recv = NOF_NIL;
    nof_mcast_begin(&op->msg, g->n, sender, g->me);
}

struct nof_mcast_op *nof_mcast_op_of(struct nof_nic *nic, struct nof_mcast_group *g, uint32_t number,
                                     uint16_t sender)
{
    struct nof_mcast_op *op = &g->op[number % NOF_MCAST_OPS];
    if (op->state != NOF_MCAST_FREE)
        return op->number == number && op->sender == sender && op->state != NOF_MCAST_ENDING ? op : NULL;
    if (number - g->next >= NOF_MCAST_OPS || g->closing)
        return NULL;
    nof_mcast_op_begin(g, op, NOF_MCAST_EARLY, number, sender);
    op->again_ns = nof_mcast_again_ns(nic, op);
    return op;
}

static void say(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op)
{
    uint32_t dead = nof_mcast_dead_member(nic, g, op), apart = 0;
    bool sends = op->sender == g->me;
    /* bound: words for 256 members, 4; paid by the message */
    for (uint32_t i = 0; i < NOF_MCAST_MEMBERS_MAX / 64; i++)
        apart += (uint32_t)__builtin_popcountll(g->apart[i]);
    struct nof_comp comp = {.opcode = op->probe ? NOF_COMP_GROUP
                                      : sends   ? NOF_COMP_GROUP_SEND
                                                : NOF_COMP_GROUP_RECV,
                            .status = (int16_t)op->status,
                            .peer = -1,
                            .len = op->len,
                            .handle = apart};
    struct nof_recv *r = nof_recv_at(nic, op->recv);
    comp.cookie = r->cookie;
    if (op->status == NOF_EPEERDEAD && dead < g->n)
        comp.peer = (int32_t)nof_peer_at(nic, g->peer[dead])->rank;
    op->recv = NOF_NIL;
    nof_recv_say(nic, r, &comp);
}

void nof_mcast_op_pass(struct nof_nic *nic, struct nof_mcast_group *g, uint32_t number)
{
    if ((int32_t)(number - g->next) <= 0)
        return;
    g->next = number;
    /* bound: NOF_MCAST_OPS, 2; paid by the message */
    for (uint32_t i = 0; i < NOF_MCAST_OPS; i++)
        if (g->op[i].state == NOF_MCAST_EARLY && (int32_t)(g->op[i].number - number) < 0)
            nof_mcast_op_end(nic, g, &g->op[i], NOF_OK);
}

void nof_mcast_op_drop(struct nof_nic *nic, const struct nof_mcast_group *g, struct nof_mcast_op *op)
{
    if (op->state == NOF_MCAST_FREE || op->chunk == 0)
        return;
    /* bound: NOF_MCAST_WINDOW, 128; paid by the message */
    for (; op->base < op->read; op->base++)
        nof_mcast_frame_free(nic, g, op->frame[op->base % NOF_MCAST_WINDOW]);
}

void nof_mcast_op_end(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op, int status)
{
    if (op->state == NOF_MCAST_FREE)
        return;
    if (op->state != NOF_MCAST_ENDING && (op->status == NOF_OK || op->status == NOF_ETRUNC) &&
        status != NOF_OK)
        op->status = status;
    nof_mcast_op_drop(nic, g, op);
    op->state = NOF_MCAST_ENDING;
    if (op->dma > 0)
        return;
    op->state = NOF_MCAST_FREE;
    if (op->recv != NOF_NIL)
        say(nic, g, op);
    if (op->probe && op->status == NOF_OK)
        g->open = true;
    nof_mcast_op_pass(nic, g, op->number + 1);
    nof_mcast_due(nic, nic->now_ns);
}

/* Who left in order is missed where it has not done its part: what it said before it left has come before that. */
static bool is_missed(const struct nof_mcast_group *g, const struct nof_mcast_op *op, uint32_t member)
{
    uint32_t child = nof_mcast_child(g->n, op->sender, g->me, member);
    return member == op->sender ? !op->msg.own.done : child < NOF_MCAST_FAN && !op->msg.child[child].done;
}

uint32_t nof_mcast_dead_member(const struct nof_nic *nic, const struct nof_mcast_group *g,
                               const struct nof_mcast_op *op)
{
    /* bound: members of a group, 256, once in 20 ms; paid by the group's endpoint */
    for (uint32_t i = 0; i < g->n; i++) {
        if (i == g->me)
            continue;
        uint8_t flags = nof_peer_at(nic, g->peer[i])->flags;
        if ((flags & NOF_PEER_F_DEAD) && (!(flags & NOF_PEER_F_ORDERLY) || is_missed(g, op, i)))
            return i;
    }
    return g->n;
}

struct nof_link *nof_mcast_link(const struct nof_nic *nic, const struct nof_mcast_group *g, uint32_t member)
{
    const struct nof_peer *peer = nof_peer_at(nic, g->peer[member]);
    if (member == g->me || (peer->flags & NOF_PEER_F_DEAD))
        return NULL;
    struct nof_link *link = &nic->links[peer->link];
    return link->used && link->up && !link->gone && link->path != NULL ? link : NULL;
}

uint64_t nof_mcast_again_ns(const struct nof_nic *nic, const struct nof_mcast_op *op)
{
    uint64_t slow_ns = op->sent > 0 ? NOF_MCAST_AGAIN_FRAMES * nof_group_frame_ns(nic->transport) : 0;
    uint64_t least_ns = slow_ns > NOF_MCAST_AGAIN_NS ? slow_ns : NOF_MCAST_AGAIN_NS;
    uint64_t ns = least_ns << (op->again < 5 ? op->again : 5);
    bool last = op->msg.high > 0 || ns > NOF_MCAST_TICK_NS; /* who receives frames is asked by the sender */
    return nic->now_ns + (last ? NOF_MCAST_TICK_NS : ns);
}
