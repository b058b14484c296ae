/* SPDX-License-Identifier: BSD-3-Clause */
/* Which algorithm a collective uses: by the number of ranks and the bytes, from a table. A table is rows
 *
 *   COLLECTIVE  RANKS  BYTES  ALGORITHM
 *
 * of which the first fits that is for at least RANKS ranks, at most BYTES bytes (512, 64K, 1M, any), and an algorithm that
 * can do what is asked. `#` begins a comment. NOF_COLL_TABLE names a file with such rows; where none of them fits, the rows of
 * select.c count. NOF_ALLTOALL goes before both. RANKS are the NICs where an algorithm goes between these. BYTES are those of
 * one block of an all-to-all, allgather, gather and scatter (of an allgatherv their mean, of an alltoallv the largest that a
 * rank receives, of a scatterv the largest), else of the whole vector, or of the piece of it that goes between NICs. "multicast" is
 * chosen by a file alone, and where the ranks have agreed that their group is open (coll.h).
 *
 * All ranks have to choose alike: the choice is part of what they agree on (agree.h). Why a table and not more:
 * docs/decisions/0031-selection.md. Threads: under the library's lock. */
#ifndef NOF_MPI_SELECT_H
#define NOF_MPI_SELECT_H

#include <stddef.h>
#include <stdint.h>

#include "coll/schedule.h"
#include "nof_private/coll_counts.h"

enum nof_algorithm {
#define X(id, collective, name, help) NOF_##id,
    NOF_ALGORITHMS(X)
#undef X
        NOF_ALGORITHM_COUNT
};

/* A set of algorithms of one collective. */
#define NOF_CAN(algorithm) (UINT64_C(1) << (algorithm))
_Static_assert(NOF_ALGORITHM_COUNT <= 64, "a bit for each");

/* Who chose. */
enum nof_selected_by {
#define X(id, name, help) NOF_SELECTED_BY_##id,
    NOF_SELECTED_BY(X)
#undef X
        NOF_SELECTED_BY_COUNT
};

/* NOF_COLL_TABLE, NOF_ALLTOALL and NOF_REDUCTION_ORDER. 0, or -1 and a sentence in error[size]. */
int nof_select_open(char *error, size_t size);
/* The rows of a text that is called `name`, as those of a file. */
int nof_select_read(const char *name, const char *text, char *error, size_t size);

/* One of `can`, which is not empty. ranks: of s. It becomes part of what the ranks of s agree on. */
enum nof_algorithm nof_select(struct nof_sched *s, size_t bytes, uint64_t can);
/* The same for a part of s: of so many ranks, which all ranks of s know to choose alike. */
enum nof_algorithm nof_select_part(struct nof_sched *s, int ranks, size_t bytes, uint64_t can);
/* The same where other ranks may choose another of `can`: their messages are alike. */
enum nof_algorithm nof_select_alone(const struct nof_sched *s, size_t bytes, uint64_t can);
/* Which it would be, of so many ranks. It is not counted, and agreed on by nobody. */
enum nof_algorithm nof_select_would(int ranks, size_t bytes, uint64_t can);
/* Some row of the file chooses it for so many ranks, if not for all sizes. */
bool nof_select_ever(int ranks, enum nof_algorithm algorithm);
/* NOF_ALLTOALL asks for it. */
bool nof_select_asked(enum nof_algorithm algorithm);

/* NOF_REDUCTION_ORDER=ranks: operands are combined in an order that hangs on the number of ranks alone, not on which of them
 * share a NIC (`placement`, the default). */
bool nof_select_by_ranks(void);

/* How often so far. */
extern uint64_t nof_select_counted[NOF_ALGORITHM_COUNT] __attribute__((visibility("hidden")));
extern uint64_t nof_select_counted_by[NOF_SELECTED_BY_COUNT] __attribute__((visibility("hidden")));

#endif
