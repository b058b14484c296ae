/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Completions that are about no object: answers to descriptors, and what nobody has asked for. One that the ring does
 * not take waits in an object of the pool of receives. */
#ifndef NOF_ANSWER_H
#define NOF_ANSWER_H

#include "nic.h"

/* NOF_OK, or NOF_EAGAIN: the ring is full and there was no object to keep it in (never for the answer to a
 * descriptor). */
int nof_answer(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_comp *comp);
/* Same opcode and cookie as the descriptor. */
void nof_answer_desc(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc, int status);

#endif
