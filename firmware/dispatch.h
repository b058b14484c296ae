/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames that have come, in order, over a path or a loop-back link: each type goes to the module that it is for. A new
 * type of frame goes in here. */
#ifndef NOF_DISPATCH_H
#define NOF_DISPATCH_H

#include "nic.h"

/* NOF_OK, or NOF_EPROTO: the other side broke the rules, and its path has to end. lent: the bytes are valid until the
 * end of the burst, not of this call alone. */
int nof_dispatch_frame(struct nof_nic *nic, struct nof_link *link, const struct nof_wire_view *view,
                       bool lent);
/* The loop-back frames that are on their way. */
void nof_dispatch_local(struct nof_nic *nic);

#endif
