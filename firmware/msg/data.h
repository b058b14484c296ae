/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DATA of a rendezvous, at the receiver: checked against what was granted, and delivered. */
#ifndef NOF_DATA_H
#define NOF_DATA_H

#include "nic.h"

/* NOF_OK or NOF_EPROTO. lent: the payload stays where it is until the end of the burst. */
int nof_data_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view, bool lent);
/* DATA whose chunk does not decode: the message ends with an error at both ends. */
int nof_data_broken_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view);

#endif
