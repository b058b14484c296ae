/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Phases: a pattern of messages between nodes, dealt into phases in which no node sends or receives twice.
 *
 *   pattern -> nof_phases_schedule() -> phases, read only -> nof_phases_free()
 *
 * A node is one link, in both directions at once: what ranks behind the same NIC send each other is in no phase. The
 * messages of a pair of nodes add up to one, which stands where the first of them stood. As nothing shares a link, a
 * phase takes as long as its largest message; phases follow one another, so their maxima add up, to no less than what
 * the fullest link carries.
 *
 *   greedy    messages by size, the largest first, those of a size in the pattern's order; each goes into the first
 *             phase that has room for it
 *   alltoall  the same, but a phase begins with all that is left of the largest message's shift; at most nodes - 1
 *   shift     phase i holds what each node j sends to j + i modulo nodes, whatever its size
 *   optimal   splits messages over phases, so that the maxima add up to just what the fullest link carries
 *
 * Small messages, those shorter than the threshold, need no phases: what is left once all others have their place goes
 * together into one last phase, which is marked, and in which a node may send and receive many. With optimal all of
 * them go there, and the bound is met by the rest.
 *
 * Pure: the same pattern gives the same phases everywhere, so each rank may compute them by itself. No state between
 * calls; any thread. Source: docs/SOURCES.md, compiled communication, section 4.2; why so: docs/decisions/0025-phases.md. */
#ifndef NOF_PHASES_H
#define NOF_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOF_PHASES_NODES_MAX 4096u
#define NOF_PHASES_MESSAGES_MAX 0x40000000u /* that are given: 64 for each pair of that many nodes */

/* X(ID, name) */
#define NOF_PHASES_ALGORITHMS(X) \
    X(GREEDY, greedy) \
    X(ALLTOALL, alltoall) \
    X(SHIFT, shift) \
    X(OPTIMAL, optimal)

enum nof_phases_algorithm {
#define X(id, name) NOF_PHASES_##id,
    NOF_PHASES_ALGORITHMS(X)
#undef X
        NOF_PHASES_ALGORITHM_COUNT
};

struct nof_phases_message {
    uint32_t source;
    uint32_t destination; /* the source itself: a copy, in no phase */
    uint64_t bytes; /* 0: no message */
};

struct nof_phases_pattern {
    uint32_t nodes; /* 1..NOF_PHASES_NODES_MAX */
    const struct nof_phases_message *message; /* the caller's, for the length of the call */
    size_t message_count; /* 0..NOF_PHASES_MESSAGES_MAX */
};

/* A message, or the part of one that begins at offset_bytes. The parts of a message are in the order of its bytes. */
struct nof_phases_piece {
    uint32_t source;
    uint32_t destination;
    uint64_t offset_bytes;
    uint64_t bytes;
};

struct nof_phase {
    size_t first_piece;
    size_t piece_count;
    uint64_t largest_bytes; /* its largest piece */
    uint64_t link_bytes; /* what its fullest link carries; another number only where it is small */
    bool small; /* the last one, of small messages: a node may send and receive many */
};

struct nof_phases {
    uint32_t nodes;
    size_t message_count; /* between two nodes, after adding up */
    size_t local_count; /* messages of a node to itself, as they were given */
    uint64_t local_bytes;
    struct nof_phase *phase;
    size_t phase_count;
    struct nof_phases_piece *piece; /* of all phases, in their order */
    size_t piece_count;
    uint64_t maxima_bytes; /* link_bytes of all phases */
    uint64_t fullest_link_bytes; /* the most that a node sends or receives: maxima_bytes is never less */
};

/* NULL if there is no such algorithm. Static storage. */
const char *nof_phases_algorithm_name(enum nof_phases_algorithm algorithm);

/* With M messages after adding up. Time: greedy O(M log M + M * nodes / 32) at most; alltoall O(M * nodes), dense patterns
 * much less; shift O(M + nodes); optimal at most M + 2 * nodes phases, each with a matching of at most O(M * nodes).
 * Memory: some 50 bytes a message and a piece; greedy nodes^2 / 2 bytes besides.
 * 0; NOF_EINVAL: a node out of range, no such algorithm, or more than INT64_MAX bytes in all; NOF_ENOMEM. */
int nof_phases_schedule(enum nof_phases_algorithm algorithm, const struct nof_phases_pattern *pattern,
                        uint64_t threshold_bytes, struct nof_phases **phases_out);
/* NULL is allowed. */
void nof_phases_free(struct nof_phases *phases);

#endif
