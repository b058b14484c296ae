/* SPDX-License-Identifier: BSD-3-Clause */
#include "mcast/mcast_op.h"

#include "flow/chores.h"
#include "flow/job.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "msg/recv.h"

static struct nof_mcast_group *find(const struct nof_nic *nic, const struct nof_endpoint *ep, uint32_t name)
{
    /* bound: groups of the NIC, max_groups; paid by the descriptor */
    for (uint32_t i = 0; i < nic->mcast.groups.high; i++) {
        struct nof_mcast_group *g = nof_mcast_group_at(nic, i);
        if (g->used && !g->closing && g->ep == ep->index && g->name == name)
            return g;
    }
    return NULL;
}

/* Whom the host lists; exactly one is on this NIC. */
static int read_members(struct nof_nic *nic, const struct nof_endpoint *ep, struct nof_mcast_group *g,
                        const uint8_t *ranks)
{
    uint32_t here = 0;
    /* bound: NOF_MCAST_MEMBERS_MAX, 256; paid by the GROUP_OPEN */
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t rank = nof_get32(ranks + 4 * (size_t)i);
        struct nof_peer *peer = rank == ep->rank ? NULL : nof_peer_by_rank(nic, ep->index, rank);
        if (rank != ep->rank && peer == NULL)
            return NOF_ENOENT;
        if (peer != NULL && (peer->flags & NOF_PEER_F_DEAD))
            return NOF_EPEERDEAD;
        g->peer[i] = peer != NULL ? nof_peer_index(nic, peer) : NOF_NIL;
        if (peer != NULL && nic->links[peer->link].path != NULL)
            continue;
        g->me = (uint16_t)i;
        g->member = peer == NULL;
        here++;
    }
    return here == 1 ? NOF_OK : NOF_EINVAL;
}

/* The first message, of no bytes: who has it hears. */
static void begin_probe(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_recv *r)
{
    struct nof_mcast_op *op = &g->op[g->next % NOF_MCAST_OPS];
    nof_mcast_op_begin(g, op, g->me == 0 ? NOF_MCAST_SEND : NOF_MCAST_RECV, g->next, 0);
    op->probe = true;
    op->recv = nof_recv_index(nic, r);
    op->again_ns = nof_mcast_again_ns(nic, op);
    nof_mcast_due(nic, nic->now_ns);
}

static void give_back(struct nof_nic *nic, struct nof_mcast_group *g)
{
    struct nof_endpoint *ep = &nic->eps[g->ep];
    if (g->joined)
        (void)nic->port_ops->group(nic->port, g->dest.ip4, g->dest.mac, false);
    g->used = false;
    ep->groups--;
    nic->mcast.live--;
    nic->counters[NOF_C_MCAST_GROUPS]--;
    nof_pool_give(&nic->mcast.groups, nof_mcast_index(nic, g));
}

static int admit(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    uint64_t at = desc->sched.base[0];
    if (desc->len % 4 != 0 || desc->len < 8 || desc->len > 4 * NOF_MCAST_MEMBERS_MAX ||
        at > ep->program_area_bytes || desc->len > ep->program_area_bytes - at ||
        find(nic, ep, desc->sched.name) != NULL)
        return NOF_EINVAL;
    if (nic->port_ops->group == NULL || nic->features[NOF_F_MULTICAST] == 0)
        return NOF_ENOTSUP;
    if (!nof_chore_pay(nic, ep, (uint32_t)desc->len / 4))
        return NOF_EAGAIN;
    return ep->groups < nic->mcast.most ? NOF_OK : NOF_ENOMEM;
}

int nof_mcast_open(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    uint8_t ranks[4 * NOF_MCAST_MEMBERS_MAX];
    int rc = admit(nic, ep, desc);
    if (rc != NOF_OK)
        return rc;
    memcpy(ranks, ep->program_area + desc->sched.base[0], (size_t)desc->len);
    uint32_t i = nof_pool_take(&nic->mcast.groups);
    if (i == NOF_NIL)
        return NOF_ENOMEM;
    struct nof_mcast_group *g = nof_mcast_group_at(nic, i);
    memset((unsigned char *)g + sizeof g->obj, 0, sizeof *g - sizeof g->obj);
    g->ep = (uint16_t)ep->index;
    g->name = desc->sched.name;
    g->next = desc->sched.generation;
    g->n = (uint16_t)(desc->len / 4);
    rc = read_members(nic, ep, g, ranks);
    nof_group_dest_init(nic->transport, &g->dest, nic->jobs[ep->job].key, desc->ctx, ranks, g->n,
                        (uint32_t)desc->sched.base[1]);
    if (rc == NOF_OK && g->member) {
        rc = nic->port_ops->group(nic->port, g->dest.ip4, g->dest.mac, true);
        g->joined = rc == NOF_OK;
    }
    struct nof_recv *r = rc == NOF_OK && g->member ? nof_recv_take(nic, ep, NOF_COMP_GROUP) : NULL;
    if (rc == NOF_OK && g->member && r == NULL)
        rc = NOF_ENOMEM;
    g->used = true;
    ep->groups++;
    nic->mcast.live++;
    nic->counters[NOF_C_MCAST_GROUPS]++;
    if (rc != NOF_OK) {
        give_back(nic, g);
        return rc;
    }
    if (r == NULL) { /* it only sends, for a member that is asked */
        g->open = true;
        g->next++;
        return NOF_MCAST_OPENED;
    }
    nof_recv_scheduled(r);
    nof_recv_cookie(r, desc->cookie);
    begin_probe(nic, g, r);
    return NOF_OK;
}

static bool is_busy(const struct nof_mcast_group *g)
{
    return (g->op[0].state | g->op[1].state) != NOF_MCAST_FREE;
}

static void close_group(struct nof_nic *nic, struct nof_mcast_group *g, bool silent)
{
    g->closing = true;
    /* bound: NOF_MCAST_OPS, 2; paid by the group */
    for (uint32_t i = 0; i < NOF_MCAST_OPS; i++) {
        if (silent)
            g->op[i].recv = NOF_NIL; /* its object is freed with those of the endpoint */
        nof_mcast_op_end(nic, g, &g->op[i], NOF_ECANCELED);
    }
    if (!is_busy(g))
        give_back(nic, g);
}

void nof_mcast_close(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    struct nof_mcast_group *g = find(nic, ep, desc->sched.name);
    if (g != NULL)
        close_group(nic, g, false);
}

void nof_mcast_ep_close(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: groups of the NIC, max_groups; paid by the endpoint that closes */
    for (uint32_t i = 0; ep->groups > 0 && i < nic->mcast.groups.high; i++) {
        struct nof_mcast_group *g = nof_mcast_group_at(nic, i);
        if (g->used && g->ep == ep->index)
            close_group(nic, g, true);
    }
}

/* Which member is that rank; n: none but ourselves. */
static uint32_t member_of(const struct nof_nic *nic, const struct nof_mcast_group *g, int32_t rank)
{
    uint32_t i = 0;
    /* bound: members of a group, 256; paid by the descriptor */
    while (i < g->n && (i == g->me || nof_peer_at(nic, g->peer[i])->rank != (uint32_t)rank))
        i++;
    return i;
}

int nof_mcast_submit(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    struct nof_mcast_group *g = find(nic, ep, desc->sched.name);
    bool sends = desc->opcode == NOF_DESC_GROUP_SEND;
    uint32_t number = desc->sched.generation;
    if (g == NULL)
        return NOF_ENOENT;
    uint32_t sender = sends ? g->me : member_of(nic, g, desc->peer);
    struct nof_mcast_op *op = &g->op[number % NOF_MCAST_OPS];
    if (!g->open || sender >= g->n || (!sends && !g->member) || (int32_t)(number - g->next) < 0 ||
        desc->len > INT64_MAX)
        return NOF_EINVAL;
    if (!nof_chore_pay(nic, ep, g->n))
        return NOF_EAGAIN;
    nof_mcast_op_pass(nic, g, number);
    bool early = op->state == NOF_MCAST_EARLY && op->number == number && op->sender == sender;
    if (op->state != NOF_MCAST_FREE && op->state != NOF_MCAST_EARLY)
        return NOF_EINVAL;
    struct nof_recv *r = nof_recv_take(nic, ep, desc->opcode);
    if (r == NULL)
        return NOF_ENOMEM;
    nof_recv_scheduled(r);
    nof_recv_cookie(r, desc->cookie);
    if (!early) /* also where a member said that the sender is another: what it holds is of nobody */
        nof_mcast_op_begin(g, op, NOF_MCAST_FREE, number, (uint16_t)sender);
    op->state = sends ? NOF_MCAST_SEND : NOF_MCAST_RECV;
    op->recv = nof_recv_index(nic, r);
    op->addr = desc->sched.base[0];
    op->capacity = desc->len;
    if (sends)
        op->len = desc->len;
    op->again = 0;
    op->again_ns = nof_mcast_again_ns(nic, op);
    nof_mcast_due(nic, nic->now_ns);
    return NOF_OK;
}

void nof_mcast_datagram(struct nof_nic *nic, const uint8_t *common, uint32_t len_bytes)
{
    uint64_t id = nof_get64(common + NOF_WIRE_CONN);
    bool known = false, good = false;
    /* bound: groups of the NIC, max_groups; paid by who sent the frame, its share of the link */
    for (uint32_t i = 0; i < nic->mcast.groups.high; i++) {
        struct nof_mcast_group *g = nof_mcast_group_at(nic, i);
        struct nof_group_view v;
        if (!g->used || g->closing || g->dest.id != id)
            continue;
        known = true;
        if (!nof_group_open(&g->dest, common, len_bytes, &v) || v.sender >= g->n)
            continue;
        good = true;
        if (!g->member || v.sender == g->me)
            continue;
        struct nof_mcast_op *op = nof_mcast_op_of(nic, g, v.number, v.sender);
        if (op != NULL)
            nof_mcast_recv_frame(nic, g, op, &v);
        else
            nic->counters[NOF_C_DROP_DUPLICATE] += (int32_t)(v.number - g->next) < 0;
    }
    if (!known)
        nic->counters[NOF_C_DROP_FOREIGN]++;
    else if (!good)
        nic->counters[NOF_C_DROP_MCAST_TAG]++;
}

int nof_mcast_repair_rx(struct nof_nic *nic, const struct nof_wire_view *view)
{
    if (view->fields_bytes != 0 || view->payload_bytes < NOF_GROUP_HEAD_BYTES ||
        nof_get16(view->payload + NOF_WIRE_LEN) != view->payload_bytes)
        return NOF_EPROTO;
    nof_mcast_datagram(nic, view->payload, view->payload_bytes);
    return NOF_OK;
}

/* Is `member` of the group at the other end of this link? */
static bool speaks_for(const struct nof_nic *nic, const struct nof_mcast_group *g, uint32_t member,
                       const struct nof_link *link)
{
    return member < g->n && member != g->me && nof_mcast_link(nic, g, member) == link;
}

static void heard(struct nof_nic *nic, struct nof_mcast_group *g, const struct nof_wire_view *view)
{
    const uint8_t *f = view->fields;
    uint32_t number = nof_get32(f + NOF_WIRE_GACK_NUMBER), member = nof_get16(f + NOF_WIRE_GACK_MEMBER);
    uint16_t sender = nof_get16(f + NOF_WIRE_GACK_SENDER);
    bool done = view->type == NOF_WIRE_GDONE, nack = !done && (view->flags & NOF_WIRE_GACK_F_NACK);
    if (sender >= g->n || (!g->member && sender != g->me))
        return;
    struct nof_mcast_op *op = nof_mcast_op_of(nic, g, number, sender);
    if (op == NULL)
        return;
    nof_mcast_due(nic, nic->now_ns);
    if (nack) {
        struct nof_mcast_nack n = {.member = member,
                                   .cum = nof_get32(f + NOF_WIRE_GACK_CUM),
                                   .high = nof_get32(f + NOF_WIRE_GACK_HIGH),
                                   .have = f + NOF_WIRE_GACK_HAVE};
        if (op->state == NOF_MCAST_SEND)
            nof_mcast_send_nack(nic, g, op, &n);
        return;
    }
    uint32_t child = nof_mcast_child(g->n, sender, g->me, member);
    struct nof_mcast_part said = {.ready = done || (view->flags & NOF_WIRE_GACK_F_READY) != 0,
                                  .cum = done ? 0 : nof_get32(f + NOF_WIRE_GACK_CUM),
                                  .done = done};
    if (child < NOF_MCAST_FAN)
        nof_mcast_heard(&op->msg, child, &said);
    if (op->state == NOF_MCAST_SEND && (done || said.cum > 0))
        nof_count(nic, &nic->eps[g->ep], NOF_C_MCAST_ACKS_RX, 1);
}

static void all_heard(struct nof_nic *nic, const struct nof_link *link, const struct nof_wire_view *view)
{
    uint64_t id = nof_get64(view->fields + NOF_WIRE_GACK_GROUP);
    uint32_t member = nof_get16(view->fields + NOF_WIRE_GACK_MEMBER);
    /* bound: groups of the NIC, max_groups; paid by who sent the frame, its share of the link */
    for (uint32_t i = 0; i < nic->mcast.groups.high; i++) {
        struct nof_mcast_group *g = nof_mcast_group_at(nic, i);
        if (g->used && !g->closing && g->dest.id == id && speaks_for(nic, g, member, link))
            heard(nic, g, view);
    }
}

int nof_mcast_gack_rx(struct nof_nic *nic, struct nof_link *link, const struct nof_wire_view *view)
{
    all_heard(nic, link, view);
    return NOF_OK;
}

int nof_mcast_done_rx(struct nof_nic *nic, struct nof_link *link, const struct nof_wire_view *view)
{
    if (view->fields_bytes != NOF_WIRE_GDONE_BYTES)
        return NOF_EPROTO;
    all_heard(nic, link, view);
    return NOF_OK;
}

void nof_mcast_dma_done(struct nof_nic *nic, uint32_t index, int status)
{
    struct nof_mcast_group *g = nof_mcast_group_at(nic, nof_mcast_token_group(index));
    struct nof_mcast_op *op = &g->op[index >> 6 & 1];
    uint32_t slot = index & 31;
    if (op->dma == 0)
        return;
    op->dma--;
    nic->eps[g->ep].dma_pending--;
    if (index >> 5 & 1)
        nof_mcast_send_read(nic, g, op, status);
    else
        nof_mcast_recv_written(op, slot, status);
    if (op->state == NOF_MCAST_ENDING)
        nof_mcast_op_end(nic, g, op, op->status);
    if (g->closing && !is_busy(g))
        give_back(nic, g);
    nof_mcast_due(nic, nic->now_ns);
}

static void run_op(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op)
{
    if (op->state == NOF_MCAST_SEND)
        nof_mcast_send_run(nic, g, op);
    else if (op->state == NOF_MCAST_RECV)
        nof_mcast_recv_run(nic, g, op);
    else if (op->state == NOF_MCAST_EARLY && op->sender != g->me)
        nof_mcast_recv_run(nic, g, op);
}

void nof_mcast_run(struct nof_nic *nic)
{
    if (nic->mcast.live == 0 || nic->now_ns < nic->mcast.due_ns)
        return;
    nic->mcast.due_ns = NOF_NO_DEADLINE;
    /* bound: groups of the NIC, max_groups; paid by their endpoints' steps */
    for (uint32_t i = 0; i < nic->mcast.groups.high; i++) {
        struct nof_mcast_group *g = nof_mcast_group_at(nic, i);
        /* bound: NOF_MCAST_OPS, 2; paid by the group */
        for (uint32_t k = 0; g->used && !g->closing && k < NOF_MCAST_OPS; k++)
            run_op(nic, g, &g->op[k]);
    }
}

void nof_mcast_fini(struct nof_nic *nic)
{
    /* bound: groups of the NIC, max_groups; paid by the end of the NIC */
    for (uint32_t i = 0; i < nic->mcast.groups.high; i++) {
        struct nof_mcast_group *g = nof_mcast_group_at(nic, i);
        /* bound: NOF_MCAST_OPS, 2; paid by the end of the NIC */
        for (uint32_t k = 0; g->used && k < NOF_MCAST_OPS; k++) {
            g->op[k].read += g->op[k].reading;
            if (g->op[k].sender == g->me)
                nof_mcast_op_drop(nic, g, &g->op[k]);
        }
    }
}
