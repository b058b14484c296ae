/* SPDX-License-Identifier: BSD-3-Clause */
/* Failed collectives: who fails tells all that his schedule has messages with, and they do the same, so that nobody
 * waits for him; where a NIC goes through the schedule it does so by itself (COLL_ABORT, nof/desc.h). What is heard of a
 * collective that this rank has not begun yet is remembered, for the last few.
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_COLL_ABORT_H
#define NOF_MPI_COLL_ABORT_H

#include "chan/chan.h"
#include "coll/schedule.h"

/* Whose failure an error is: of the peer of the message that ended with it, if that is dead, else of this rank. peer: job
 * rank, or MPI_UNDEFINED. */
struct nof_coll_blame nof_coll_blame(int code, int peer);

/* Tell them, once in a run; of ranks that do not call the same, who finds it tells all. */
void nof_coll_abort_tell(struct nof_sched *s);

/* The NIC tells, or has told, those that its program has messages with: tell the others. */
void nof_coll_abort_tell_beside(struct nof_sched *s);

/* The failure of this run, as it is told; local: of the local group's context. */
struct nof_chan_failure nof_coll_abort_of(const struct nof_sched *s, bool local);
/* Is this schedule meant? */
bool nof_coll_abort_is_of(const struct nof_sched *s, const struct nof_chan_failure *failure);
void nof_coll_abort_remember(const struct nof_chan_failure *failure, int code);
/* How often something was. */
uint32_t nof_coll_abort_remembered(void);
/* What was remembered of this run, which begins: the code, with s->blame; or MPI_SUCCESS. */
int nof_coll_abort_heard(struct nof_sched *s);

#endif
