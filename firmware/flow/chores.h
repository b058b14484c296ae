/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chores: work for one endpoint that is longer than a turn may be. Whoever finds that the endpoint has no steps left in
 * this turn (nof_steps_left()) calls nof_chore(), and in the next poll the endpoint goes on. */
#ifndef NOF_CHORES_H
#define NOF_CHORES_H

#include "nic.h"

/* The endpoint has something to go on with. */
void nof_chore(struct nof_nic *nic, struct nof_endpoint *ep);
/* A new turn: every endpoint with chores goes on. */
void nof_chores_run(struct nof_nic *nic);

#endif
