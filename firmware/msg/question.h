/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Questions: what a SEND_CANCEL asks the receiver (cancel.h). One is an object of the pool of receives in state CANCEL,
 * on the peer's list of operations: the peer's death ends it. It never leaves before the frames of the message that it
 * is about. */
#ifndef NOF_QUESTION_H
#define NOF_QUESTION_H

#include "nic.h"

/* The question that a handle names, or NULL: it has been answered. */
struct nof_recv *nof_question_find(const struct nof_nic *nic, uint64_t handle, uint32_t peer);
/* It leaves, or once more: the receiver's host had no room for it a moment ago. */
void nof_question_ask(struct nof_nic *nic, struct nof_recv *r);
/* Of a send with NOF_SEND_M_CANCEL: frames have left, or it waits for its match now; it completes. */
void nof_question_step(struct nof_nic *nic, struct nof_send *s);
void nof_question_send_ended(struct nof_nic *nic, const struct nof_send *s);

#endif
