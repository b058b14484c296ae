/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kinds of operations: what is done to an object of which only its ref is known. A new kind (enum nof_ref_kind) has one
 * line in this table and one in that of completion.c. */
#ifndef NOF_OP_KIND_H
#define NOF_OP_KIND_H

#include "nic.h"

/* The host has heard the last of it. */
void nof_op_release(struct nof_nic *nic, uint32_t ref);
/* It ends with this status; it is on a peer's list of operations. */
void nof_op_end(struct nof_nic *nic, uint32_t ref, int status);

#endif
