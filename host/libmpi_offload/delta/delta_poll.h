/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress while somebody waits for a page in a fault, where nothing of the library may be touched: a thread of its own polls.
 *
 *   begin -> in a handler: (summon -> the wait -> dismiss)* -> end
 *
 * What is waited for mostly comes by the NIC's doing alone, and then nobody is summoned: pays() says whether it did not, lately. */
#ifndef NOF_MPI_DELTA_POLL_H
#define NOF_MPI_DELTA_POLL_H

#include <stdbool.h>
#include <stdint.h>

struct nof_sched;

/* Under the library's lock, again before each such receive. describe(): as nof_wait's, of the slot that is waited for
 * (const uint32_t *). False: there can be no thread. */
bool nof_delta_poll_begin(const struct nof_sched *(*describe)(const void *slot));
/* MPI_Finalize. The lock is given up meanwhile. */
void nof_delta_poll_end(void);
/* After fork(): there is no such thread. */
void nof_delta_poll_in_child(void);

/* By a signal handler that is about to sleep until the message of this slot has a page, and when it has it. */
void nof_delta_poll_summon(uint32_t slot);
void nof_delta_poll_dismiss(void);
/* Polls have brought something while a page was waited for: the next wait summons at once. */
bool nof_delta_poll_pays(void);

#endif
