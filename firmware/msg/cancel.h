/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cancel of sends. A send that is still queued is taken out at once. One whose envelope is on the
 * wire is asked for: the receiver's NIC, or the library behind it if the envelope was spilled, is the
 * one place that knows whether it has been matched, and its answer decides for both sides.
 *
 *   SEND_CANCEL -> queued: gone                                                    -> OK
 *               -> granted, matched, copied, unknown                               -> ENOMATCH
 *               -> announced: CANCEL -> store: unmatched -> gone -> CANCELLED OK   -> OK
 *                                    -> spilling: REVOKE -> REVOKED -> CANCELLED   -> either
 *                                    -> else: CANCELLED ENOMATCH                   -> ENOMATCH
 *
 * What is on its way to the receiver is a question (question.h). */
#ifndef NOF_CANCEL_H
#define NOF_CANCEL_H

#include "nic.h"

/* The SEND_CANCEL and REVOKED descriptors, already checked. REVOKED: NOF_OK, or NOF_EINVAL if nothing
 * was asked. */
void nof_cancel_submit(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc);
int nof_cancel_revoked(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc);

/* Frames that have come: NOF_OK or NOF_EPROTO. */
int nof_cancel_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view);
int nof_cancel_answer_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view);

#endif
