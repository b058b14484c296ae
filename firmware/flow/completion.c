/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/completion.h"

/* Objects that can keep a completion until the host takes it: where their pool is, and where it lies in them. Of peers
 * it is made anew. */
struct place {
    size_t pool_at; /* in struct nof_nic */
    size_t comp_at;
};
#define NO_PLACE SIZE_MAX

static const struct place places[] = {
    [NOF_REF_SEND] = {offsetof(struct nof_nic, sends), offsetof(struct nof_send, comp)},
    [NOF_REF_RECV] = {offsetof(struct nof_nic, recvs), offsetof(struct nof_recv, comp)},
    [NOF_REF_ENV] = {offsetof(struct nof_nic, envs), offsetof(struct nof_env, comp)},
    [NOF_REF_PEER] = {offsetof(struct nof_nic, peers), NO_PLACE},
};

static struct nof_obj *obj_of(const struct nof_nic *nic, uint32_t ref)
{
    const void *pool = (const unsigned char *)nic + places[NOF_REF_KIND(ref)].pool_at;
    return nof_pool_obj(pool, NOF_REF_INDEX(ref));
}

static struct nof_comp *comp_of(const struct nof_nic *nic, uint32_t ref)
{
    void *at = (unsigned char *)obj_of(nic, ref) + places[NOF_REF_KIND(ref)].comp_at;
    return at;
}

static void wait_for_room(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t ref)
{
    obj_of(nic, ref)->next = NOF_NIL;
    if (ep->comp_head == NOF_NIL) {
        ep->comp_head = ref;
        nic->stalled_comps++;
        nof_count(nic, ep, NOF_C_COMP_STALLS, 1);
    } else {
        obj_of(nic, ep->comp_tail)->next = ref;
    }
    ep->comp_tail = ref;
    nof_retry(nic);
}

void nof_completion_keep(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_comp *comp,
                         uint32_t ref)
{
    *comp_of(nic, ref) = *comp;
    wait_for_room(nic, ep, ref);
}

static struct nof_comp peer_dead_comp(const struct nof_peer *peer)
{
    return (struct nof_comp){.opcode = NOF_COMP_PEER_DEAD,
                             .peer = (int32_t)peer->rank,
                             .status = (int16_t)(peer->flags & NOF_PEER_F_ORDERLY ? NOF_OK : peer->status)};
}

void nof_completion_peer_dead(struct nof_nic *nic, struct nof_peer *peer)
{
    struct nof_endpoint *ep = &nic->eps[peer->ep];
    struct nof_comp comp = peer_dead_comp(peer);
    if (ep->state == NOF_EP_OPEN && (ep->comp_head != NOF_NIL || !nof_completion_give(nic, ep, &comp)))
        wait_for_room(nic, ep, NOF_REF(NOF_REF_PEER, nof_peer_index(nic, peer)));
}

uint32_t nof_completion_forget(struct nof_nic *nic, struct nof_endpoint *ep)
{
    uint32_t ref = ep->comp_head;
    ep->comp_head = obj_of(nic, ref)->next;
    if (ep->comp_head == NOF_NIL)
        nic->stalled_comps--;
    return ref;
}

uint32_t nof_completion_again(struct nof_nic *nic, struct nof_endpoint *ep)
{
    uint32_t ref = ep->comp_head;
    struct nof_comp comp;
    if (ref == NOF_NIL)
        return NOF_NIL;
    if (NOF_REF_KIND(ref) == NOF_REF_PEER)
        comp = peer_dead_comp(nof_peer_at(nic, NOF_REF_INDEX(ref)));
    else
        comp = *comp_of(nic, ref);
    if (ep->state == NOF_EP_OPEN && !nof_completion_give(nic, ep, &comp))
        return NOF_NIL;
    return nof_completion_forget(nic, ep);
}
