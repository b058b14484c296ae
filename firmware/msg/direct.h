/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The short way of short messages: what needs no waiting is done in one step, without the objects and
 * queues of the general way. Each of these does all or nothing: NOF_EAGAIN, or 0 of a count, means that
 * nothing has happened and the general way must be taken; it decides every case that is not plain. */
#ifndef NOF_DIRECT_H
#define NOF_DIRECT_H

#include "nic.h"

/* A SEND descriptor, already checked: an eager message of one frame, on a flow and a link where nobody
 * waits, whose payload can be had at once. */
int nof_direct_send(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_peer *peer,
                    const struct nof_desc *desc);
/* Of n descriptors, not yet checked, those at the front that are plain RECVs: good, for a buffer, while
 * nothing is stored and they may be posted. Returns how many it has posted. */
unsigned nof_direct_recv(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *descs,
                         unsigned n);

#endif
