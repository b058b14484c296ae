/* SPDX-License-Identifier: BSD-3-Clause */
/* Which collectives this rank will never begin, so that who waits for it in one can be told, and fails, rather than wait for ever: all
 * that it has not begun, once it is in MPI_Finalize; and of a communicator that it has freed, but for persistent ones and those of
 * compiled all-to-alls, which may begin while they are there. How often it has begun what is remembered of the communicators that
 * went last (NOF_LEFT_COMMS, and NOF_LEFT_PLACES of persistent collectives in all of them).
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_LEFT_H
#define NOF_MPI_LEFT_H

#include "chan/chan.h"

#define NOF_LEFT_COMMS 256u
#define NOF_LEFT_PLACES (1u << 20)

/* This rank is in MPI_Finalize: but for blocking collectives of MPI_COMM_WORLD, with which it waits for the others there, it begins
 * nothing any more. */
void nof_left_all(void);
/* Nobody holds the communicator with this context for collectives any more. It is still there. */
void nof_left_comm(uint32_t coll_ctx);
/* The run that the question is about will never begin here. False: it has, or may. */
bool nof_left_before(const struct nof_chan_failure *question);

#endif
