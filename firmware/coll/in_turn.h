/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When sends of a program that are IN_TURN (nof/program.h) may begin: with A the bytes of those that have begun and have one behind
 * them, and that are still to be sent,
 *
 *   the next one begins => A <= max(16 KiB, what the link carries in 80 us), or the one before it is done
 *
 * With less, links stand idle until the answer to an announcement is here: the least is a window of flow/clearance.h, which another
 * sender may have in front of it. With more, senders divide their links among rounds of which none ends.
 *
 *   begun() at each SEND -> left() while it is sent, and with 0 when it is done
 *
 * A step of more than 4 GiB counts as 4 GiB. */
#ifndef NOF_IN_TURN_H
#define NOF_IN_TURN_H

#include "nic.h"

/* The NIC begins. */
void nof_in_turn_set(struct nof_nic *nic);
/* A SEND of the run of p begins; who began it looks for the next step behind it. */
void nof_in_turn_begun(const struct nof_nic *nic, struct nof_coll_program *p, uint32_t step, uint64_t bytes);
/* No more than `bytes` of it are still to be sent. True: another step may begin. */
bool nof_in_turn_left(const struct nof_nic *nic, struct nof_coll_program *p, uint32_t step, uint64_t bytes);

#endif
