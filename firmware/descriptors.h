/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors: each is the core's own copy of what the host wrote. It is checked field by field
 * here, and only here; what it asks for is done by the modules. Nothing that a host can write
 * harms more than its own endpoint. */
#ifndef NOF_DESCRIPTORS_H
#define NOF_DESCRIPTORS_H

#include "nic.h"

/* Room for n descriptors was promised by nof_nic_host_room(). What comes after one that failed the
 * endpoint is not looked at. */
void nof_descriptors_take(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *descs,
                          unsigned n);

#endif
