/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Early messages: what came before its receive and is brought near the place where it will be used,
 * because the endpoint's predictor expects it among the next `lookahead` receives.
 *
 *   an eager message     its blocks of network memory are taken in any case; its bytes go into a line
 *                        of the staging area instead, on arrival or when the prediction moves on
 *   a rendezvous         is granted before its receive: CTS leaves at once, the bytes are collected in
 *                        a line, or in blocks that were reserved for it, and wait there
 *
 * A receive that takes a staged message is complete at once (F_STAGED). A line that must make room is
 * written back to the blocks that its message has anyway, so replacement always succeeds. What
 * early messages may take is bounded: `stage_bytes` of the area, `early_bytes` granted, and of the
 * blocks only those that no endpoint's minimum needs, so a wrong prediction costs time and never
 * makes anybody wait for ever. docs/STAGING.md is normative. */
#ifndef NOF_EARLY_H
#define NOF_EARLY_H

#include "nic.h"

#define NOF_EARLY_MAX 8u /* rendezvous of one endpoint that are granted and have no receive yet */

/* A stored message of envelope `e`, which is in no matching table yet, begins. */
void nof_early_store(struct nof_nic *nic, const struct nof_env *e, uint32_t chain);
/* A message is in the matching tables now. */
void nof_early_arrived(struct nof_nic *nic, struct nof_env *e);
/* Receives may have been called: stage what is expected now. */
void nof_early_ahead(struct nof_nic *nic, struct nof_endpoint *ep);
/* A receive of the program takes e: count whether it was brought near. */
void nof_early_found(struct nof_nic *nic, const struct nof_env *e);

#endif
