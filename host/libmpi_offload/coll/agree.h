/* SPDX-License-Identifier: BSD-3-Clause */
/* What all ranks of a collective must call alike, as the hash that goes with its messages (nof/desc.h, "Agreement"): a rank
 * that gets a message of another collective, or of this one with another root, operation or length, ends with
 * MPI_ERR_ARG and all others are told, where they would else wait for each other.
 *
 * Ranks may also wait for each other without any message, as with two roots of a reduction. Who has waited for a second asks
 * 16 of those that it has messages with, and others at growing distance; who is asked compares with what it runs, or ran lately. So
 * it also hears of a failure of which the news was lost, because it was one of too many.
 *
 * A different value of one argument gives a different hash unless it is 251 or a multiple apart. The length of a broadcast is no
 * part of it, but the algorithm is: its messages prove a length wrong (nof_sched_exact), and have better errors. */
#ifndef NOF_MPI_COLL_AGREE_H
#define NOF_MPI_COLL_AGREE_H

#include "chan/chan.h"
#include "coll/coll.h"

enum nof_coll_call {
    NOF_CALL_OWN = 1, /* the library's */
    NOF_CALL_BARRIER,
    NOF_CALL_BCAST,
    NOF_CALL_GATHER,
    NOF_CALL_GATHERV,
    NOF_CALL_SCATTER,
    NOF_CALL_SCATTERV,
    NOF_CALL_ALLGATHER,
    NOF_CALL_ALLTOALL,
    NOF_CALL_REDUCE,
    NOF_CALL_ALLREDUCE,
    NOF_CALL_REDUCE_SCATTER,
    NOF_CALL_SCAN,
    NOF_CALL_EXSCAN,
    NOF_CALL_NEIGHBOR,
    NOF_CALL_PHASED,
    NOF_CALL_SCATTER_GROUP
};

/* root: 0 where there is none; bytes: packed, 0 where the ranks' may differ. Of an inter-communicator the call alone counts:
 * what is said of the rest differs between its sides. */
void nof_coll_agree(struct nof_sched *s, enum nof_coll_call call, int root, uint64_t bytes);
void nof_coll_agree_reduction(struct nof_sched *s, enum nof_coll_call call, int root,
                              const struct nof_reduction *r);
/* Of each to each: what this rank sends to everybody and gets from everybody, bytes. */
#define NOF_EACH_OTHER UINT64_MAX /* blocks may be of different lengths */
uint64_t nof_coll_agree_each(const struct nof_blocks *blocks);
void nof_coll_agree_exchange(struct nof_sched *s, enum nof_coll_call call, uint64_t sends, uint64_t receives);
/* After those: of the algorithm, too, where a table chooses (select.h). */
void nof_coll_agree_way(struct nof_sched *s, unsigned way);

/* Ask the next few, 16 at most, of the ranks that s has messages with: of the communicator's if it sends by multicast, and then
 * ask_member is not 0 until all of them have been. */
void nof_coll_agree_ask(struct nof_sched *s);
/* s has ended: what it agreed on, and how it failed, is remembered, for the last few. */
void nof_coll_agree_ended(const struct nof_sched *s);
/* Another rank asks about a run that is not here. It is told if that has ended and was another, or has failed; if it ended well,
 * that no message will come any more, and what of its own nobody has received is an error. */
void nof_coll_agree_answer(const struct nof_chan_failure *question);

#endif
