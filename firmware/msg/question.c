/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/question.h"

#include "flow/link.h"
#include "msg/recv.h"

struct nof_recv *nof_question_find(const struct nof_nic *nic, uint64_t handle, uint32_t peer)
{
    uint32_t i = (uint32_t)handle;
    if (i >= nic->recvs.high)
        return NULL;
    struct nof_recv *r = nof_recv_at(nic, i);
    return r->state == NOF_RECV_CANCEL && r->obj.gen == handle >> 32 && r->peer == peer ? r : NULL;
}

void nof_question_ask(struct nof_nic *nic, struct nof_recv *r)
{
    const struct nof_peer *peer = nof_peer_at(nic, r->peer);
    uint8_t fields[NOF_WIRE_CANCEL_BYTES];
    if (peer->flags & NOF_PEER_F_DEAD)
        return; /* r is about to end */
    r->asked = 1;
    nof_put64(fields + NOF_WIRE_CANCEL_ASKER, nof_handle(nof_recv_index(nic, r), r->obj.gen));
    nof_put64(fields + NOF_WIRE_CANCEL_SENDER, r->remote);
    nof_put32(fields + NOF_WIRE_CANCEL_CTX, r->key.ctx);
    nof_put32(fields + NOF_WIRE_CANCEL_TAG, (uint32_t)r->key.tag);
    nof_link_ctl(nic, &nic->links[peer->link], NOF_WIRE_CANCEL, r->parked ? NOF_WIRE_RTS_F_PARKED : 0,
                 peer->ep, peer->remote_ep, fields, sizeof fields);
}

void nof_question_step(struct nof_nic *nic, struct nof_send *s)
{
    uint32_t self = nof_send_index(nic, s);
    struct nof_recv *r = nof_question_find(nic, s->question, s->peer);
    if (s->state != NOF_SEND_MATCH_WAIT || r == NULL || r->asked)
        return;
    uint32_t tail = nof_peer_at(nic, s->peer)->readq;
    /* bound: reads under way of one flow, NOF_READS_PER_FLOW; paid by the SEND_CANCEL */
    for (uint32_t i = nof_queue_head(&nic->reads, tail); i != NOF_NIL;
         i = i == tail ? NOF_NIL : nof_read_at(nic, i)->obj.next)
        if (nof_read_at(nic, i)->send == self)
            return; /* control frames would overtake it */
    nof_question_ask(nic, r);
}

void nof_question_send_ended(struct nof_nic *nic, const struct nof_send *s)
{
    struct nof_recv *r = nof_question_find(nic, s->question, s->peer);
    if (r != NULL)
        nof_recv_end(nic, r, NOF_ENOMATCH);
}
