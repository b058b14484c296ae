/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers that wrap: every tenth seed begins with all of them just before they do. */
#ifndef NOF_SIM_WRAP_H
#define NOF_SIM_WRAP_H

#include <stdint.h>

#include "nof/core.h"

/* How far before, for this seed; 0: it begins as in life. */
uint32_t nof_wrap_of_seed(uint64_t seed);

/* A core that was just made: packets, transmissions, envelopes and credit of flows, handles, epochs of grants,
 * generations of endpoints, turns. */
void nof_wrap_nic(struct nof_nic *nic, uint32_t before);

#endif
