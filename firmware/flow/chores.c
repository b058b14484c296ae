/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/chores.h"

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

#define WALKED_PER_STEP 4u

bool nof_chore_pay(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t n)
{
    uint32_t left = nof_steps_left(nic, ep);
    nof_steps_spend(ep, 1 + n / WALKED_PER_STEP);
    if (nof_steps_left(nic, ep) == 0)
        nof_chore(nic, ep);
    return left > 0;
}

void nof_chore_walk(struct nof_nic *nic, struct nof_endpoint *ep)
{
    if (ep->unmet == 0)
        return;
    ep->walk_left = nic->recvs.high;
    nof_chore(nic, ep);
}

struct nof_chores_turn nof_chores_take(struct nof_nic *nic)
{
    struct nof_chores_turn turn = {.next = nic->chores, .last = nic->chores};
    if (turn.last != NOF_NIL)
        turn.next = nic->eps[turn.last].chore_next;
    nic->chores = NOF_NIL;
    return turn;
}

struct nof_endpoint *nof_chores_next(struct nof_nic *nic, struct nof_chores_turn *turn)
{
    if (turn->next == NOF_NIL)
        return NULL;
    struct nof_endpoint *ep = &nic->eps[turn->next];
    turn->next = ep->index == turn->last ? NOF_NIL : ep->chore_next;
    ep->in_chores = 0;
    return ep;
}
