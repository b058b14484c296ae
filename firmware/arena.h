/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The NIC's memory: bounds of a configuration, and where everything lies in the one block that the
 * caller gives. Sizing and carving are the same walk, so they cannot disagree. */
#ifndef NOF_ARENA_H
#define NOF_ARENA_H

#include "nic.h"

/* Fill in defaults; NOF_EINVAL if something is out of bounds. */
int nof_arena_check(const struct nof_nic_config *in, struct nof_nic_config *out);
/* Bytes for a checked configuration, without the transport's; with mem: also set up *nic_out. */
size_t nof_arena_carve(const struct nof_nic_config *cfg, void *mem, struct nof_nic **nic_out);
/* Initial credit of every flow, for the transport's HELLO. */
void nof_arena_credit(const struct nof_nic_config *cfg, uint32_t *flow_msgs_out, uint32_t *flow_blocks_out);

#endif
