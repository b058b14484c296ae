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
 * A question is an object of the pool of receives in state CANCEL, on the peer's list of operations:
 * the peer's death ends it. It never leaves before the frames of the message that it is about.
 *
 * Few programs cancel: the table that finds a send by its cookie is made when an endpoint first does,
 * kept while it has sends, and costs nothing otherwise. */
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

/* Of a send with NOF_SEND_M_CANCEL: frames have left, or it waits for its match now; it completes. */
void nof_cancel_step(struct nof_nic *nic, struct nof_send *s);
void nof_cancel_send_ended(struct nof_nic *nic, const struct nof_send *s);
/* The receiver's host had no room for the question a moment ago. */
void nof_cancel_again(struct nof_nic *nic, struct nof_recv *r);

/* The table of cookies, for send.c: every live send. */
void nof_cancel_index(struct nof_nic *nic, struct nof_send *s);
void nof_cancel_unindex(struct nof_nic *nic, struct nof_send *s);

#endif
