/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Envelopes that arrive (MSG and RTS), and the pieces of eager messages: checked against the flow's
 * credit and sequence, matched, delivered or kept. */
#ifndef NOF_EAGER_H
#define NOF_EAGER_H

#include "nic.h"
#include "msg/stored.h"

/* Frames of a flow that is open: NOF_OK, or NOF_EPROTO. */
int nof_eager_envelope_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view,
                          bool lent);
int nof_eager_more_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view,
                      bool lent);
/* A MSG or MSG_MORE whose chunk does not decode: its message ends with an error, what follows of it is dropped. */
int nof_eager_broken_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view);

#endif
