/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chores: work for one endpoint that is longer than a turn may be. Whoever finds that the endpoint has no steps left in
 * this turn (nof_steps_left()) calls nof_chore(), and in the next poll the endpoint goes on. */
#ifndef NOF_CHORES_H
#define NOF_CHORES_H

#include "nic.h"

/* The endpoint has something to go on with. */
void nof_chore(struct nof_nic *nic, struct nof_endpoint *ep);
/* For a walk over n small things that a descriptor names, now. False: this turn has no steps left for one; the next has. */
bool nof_chore_pay(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t n);
/* A peer of the endpoint has come or died: those of its posted receives that are on no peer's list are looked at (walk.h). */
void nof_chore_walk(struct nof_nic *nic, struct nof_endpoint *ep);
/* A new turn: take() the endpoints with chores, then each goes on, next() by next(), until NULL. What they find to do
 * after that is for the turn behind. */
struct nof_chores_turn {
    uint32_t next, last;
};
struct nof_chores_turn nof_chores_take(struct nof_nic *nic);
struct nof_endpoint *nof_chores_next(struct nof_nic *nic, struct nof_chores_turn *turn);

#endif
