/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A schedule while it is made: what the algorithms of phases.h have in common.
 *
 *   open() a phase -> place() its pieces -> open() the next
 *
 * An algorithm is a function that places all messages of the build. It answers 0 or NOF_ENOMEM. */
#ifndef NOF_PHASES_BUILD_H
#define NOF_PHASES_BUILD_H

#include "phases.h"

#define NOF_PHASES_NONE UINT32_MAX /* no message, no phase */

/* The two ends of a link. */
enum nof_phases_side { NOF_PHASES_SENDING, NOF_PHASES_RECEIVING, NOF_PHASES_SIDES };

struct nof_phases_sum {
    uint64_t bytes; /* > 0 */
    uint32_t order; /* in the pattern, of the first that it is made of */
    uint16_t node[NOF_PHASES_SIDES]; /* source, destination: not the same */
};

struct nof_phases_build {
    struct nof_phases *out;
    uint64_t threshold_bytes;
    uint32_t nodes;
    uint32_t count;
    struct nof_phases_sum *message; /* after adding up; those of a source lie together until sorted */
    uint64_t *link_bytes[NOF_PHASES_SIDES]; /* of each node: of all messages; */
    uint64_t *small_bytes[NOF_PHASES_SIDES]; /* in the phase of small ones */
    size_t phase_capacity;
    size_t piece_capacity;
};

/* Numbers of messages in lists: those of list l are at[first[l]] to at[first[l + 1] - 1], ascending. */
struct nof_phases_lists {
    uint32_t *first;
    uint32_t *at;
};

/* list_of[i]: 0..list_count - 1, of message i. 0 or NOF_ENOMEM; lists_free() also after an error. */
int nof_phases_deal(struct nof_phases_lists *lists, const uint32_t *list_of, uint32_t count,
                    uint32_t list_count);
void nof_phases_lists_free(struct nof_phases_lists *lists);

/* The largest first, those of a size in the pattern's order. */
void nof_phases_sort(struct nof_phases_sum *message, uint32_t count);

/* A phase with room for so many pieces: 0 or NOF_ENOMEM. */
int nof_phases_open(struct nof_phases_build *b, size_t pieces_max, bool small);
/* Into the last opened. */
void nof_phases_place(struct nof_phases_build *b, const struct nof_phases_sum *message, uint64_t offset_bytes,
                      uint64_t bytes);
static inline void nof_phases_place_whole(struct nof_phases_build *b, uint32_t message)
{
    nof_phases_place(b, &b->message[message], 0, b->message[message].bytes);
}

int nof_phases_greedy(struct nof_phases_build *b);
int nof_phases_alltoall(struct nof_phases_build *b);
int nof_phases_shift(struct nof_phases_build *b);
int nof_phases_optimal(struct nof_phases_build *b);

#endif
