/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Endpoints: one rank's queues on this NIC, from the attach until close.h takes over, and what they go on with by
 * themselves.
 *
 *   OPEN -> CLOSING (close.h: peers are told; DMA may be pending) -> FREE
 *   OPEN -> FAILED (the host broke the rules) -> nof_nic_endpoint_close() -> CLOSING */
#ifndef NOF_LIFE_H
#define NOF_LIFE_H

#include "nic.h"

int nof_life_open(struct nof_nic *nic, const struct nof_endpoint_params *params, uint32_t *index_out,
                  struct nof_card *card_out);
/* The host broke the rules: no further word to it, nofd has to close the endpoint. */
void nof_life_fail(struct nof_nic *nic, struct nof_endpoint *ep, int status);
/* Completions that wait, again. */
void nof_life_completions_run(struct nof_nic *nic);
/* A new turn: every endpoint with chores goes on. */
void nof_life_chores_run(struct nof_nic *nic);
/* FLUSH. */
void nof_life_flush(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r);
void nof_life_flush_run(struct nof_nic *nic);

#endif
