/* SPDX-License-Identifier: BSD-3-Clause */
#include "payload/recv_wait.h"

#define AGAIN_PREV offsetof(struct nof_recv, again_prev)

void nof_recv_wait_for_blocks(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    uint32_t i = nof_recv_index(nic, r);
    r->waiting = 1;
    nic->recvs_waiting++;
    r->blocks_next = i;
    r->blocks_prev = i;
    if (ep->recv_wait == NOF_NIL) {
        ep->recv_wait = i;
        return;
    }
    struct nof_recv *first = nof_recv_at(nic, ep->recv_wait);
    r->blocks_next = ep->recv_wait;
    r->blocks_prev = first->blocks_prev;
    nof_recv_at(nic, first->blocks_prev)->blocks_next = i;
    first->blocks_prev = i;
}

static void leave_blocks(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    uint32_t i = nof_recv_index(nic, r);
    r->waiting = 0;
    nic->recvs_waiting--;
    if (ep->state == NOF_EP_CLOSING)
        return; /* the queue is no more */
    nof_recv_at(nic, r->blocks_prev)->blocks_next = r->blocks_next;
    nof_recv_at(nic, r->blocks_next)->blocks_prev = r->blocks_prev;
    if (ep->recv_wait == i)
        ep->recv_wait = r->blocks_next == i ? NOF_NIL : r->blocks_next;
}

void nof_recv_wait_a_while(struct nof_nic *nic, struct nof_recv *r)
{
    r->again = 1;
    nof_ring_push(&nic->recvs, &nic->eps[r->ep].again, nof_recv_index(nic, r), AGAIN_PREV);
    nic->again++;
    nof_retry(nic);
}

static void leave_again(struct nof_nic *nic, struct nof_recv *r)
{
    r->again = 0;
    nof_ring_remove(&nic->recvs, &nic->eps[r->ep].again, nof_recv_index(nic, r), AGAIN_PREV);
    nic->again--;
}

struct nof_recv *nof_recv_wait_over(struct nof_nic *nic, const struct nof_endpoint *ep)
{
    struct nof_recv *r = nof_recv_at(nic, nof_queue_head(&nic->recvs, ep->again));
    leave_again(nic, r);
    return r;
}

void nof_recv_wait_leave(struct nof_nic *nic, struct nof_recv *r)
{
    if (r->again)
        leave_again(nic, r);
    if (r->waiting)
        leave_blocks(nic, r);
}
