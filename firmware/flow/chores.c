/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/chores.h"

#include "close.h"
#include "flows.h"
#include "msg/walk.h"

void nof_chore(struct nof_nic *nic, struct nof_endpoint *ep)
{
    if (ep->in_chores)
        return;
    ep->in_chores = 1;
    if (nic->chores == NOF_NIL) {
        ep->chore_next = ep->index;
    } else {
        ep->chore_next = nic->eps[nic->chores].chore_next;
        nic->eps[nic->chores].chore_next = ep->index;
    }
    nic->chores = ep->index;
}

/* What a FLUSH has to go on with is seen to by every call of the core (nof_ep_flush_run()). */
void nof_chores_run(struct nof_nic *nic)
{
    uint32_t last = nic->chores;
    if (last == NOF_NIL)
        return;
    uint32_t next = nic->eps[last].chore_next;
    uint32_t i;
    nic->chores = NOF_NIL;
    /* bound: endpoints with chores; paid by each endpoint, with its steps of the turn */
    do {
        struct nof_endpoint *ep = &nic->eps[i = next];
        next = ep->chore_next;
        ep->in_chores = 0;
        if (ep->state == NOF_EP_CLOSING)
            nof_close_run(nic, ep);
        else
            nof_flows_run(nic, ep);
        if (ep->state != NOF_EP_CLOSING)
            nof_walk_run(nic, ep);
    } while (i != last);
}
