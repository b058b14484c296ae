/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching in the host's heap: for what the NIC spilled, and for a world of one without a NIC.
 *
 *   post() / take_posted()      receives that wait, and the envelope that comes for the oldest
 *   add() / find() / remove()   envelopes that wait, and the receive or probe that looks for one
 *
 * Entries belong to the caller and are linked in place. Order is MPI's: of those that match, the
 * one that came first. Every entry lies in one queue per key it can be asked for by (a receive: its
 * own, wildcards included; an envelope: with and without its source and tag), and queues are found
 * by hash: a match costs four look-ups, whatever the number of entries.
 *
 * Memory: one small object per distinct key, kept for reuse. Threads: under the library's lock. */
#ifndef NOF_MPI_MATCHER_H
#define NOF_MPI_MATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOF_MATCH_ANY (-1) /* source or tag */
#define NOF_MATCH_LINKS 4

struct nof_match_entry;
struct nof_match_queue;

struct nof_match_link {
    struct nof_match_entry *next;
    struct nof_match_entry *prev;
    struct nof_match_queue *queue;
};

struct nof_match_entry {
    uint64_t seq;
    uint32_t ctx;
    int32_t source; /* job rank */
    int32_t tag;
    uint32_t links; /* 1 for a receive, 4 for an envelope, 0 when in no list */
    bool
        standing; /* of a receive, said by its owner: it is for whatever comes, whether or not anybody waits */
    struct nof_match_link link[NOF_MATCH_LINKS];
    struct nof_match_entry *next; /* all of the table, oldest first */
    struct nof_match_entry *prev;
};

struct nof_match_table {
    struct nof_match_queue **bucket;
    size_t buckets; /* power of two, or 0 */
    size_t queues;
    size_t count; /* entries */
    size_t standing; /* of them */
    uint64_t seq;
    struct nof_match_entry *first;
    struct nof_match_entry *last;
};

struct nof_matcher {
    struct nof_match_table posted;
    struct nof_match_table waiting;
    struct nof_match_queue *spare;
};

/* Frees what it has made; its entries are their owners'. */
void nof_matcher_fini(struct nof_matcher *m);

/* ctx, source and tag of the entry are set by the caller. 0, or -1 when memory is short. */
int nof_matcher_post(struct nof_matcher *m, struct nof_match_entry *receive);
int nof_matcher_add(struct nof_matcher *m, struct nof_match_entry *envelope);

/* The oldest receive that this envelope matches, taken out; NULL if there is none. */
struct nof_match_entry *nof_matcher_take_posted(struct nof_matcher *m, uint32_t ctx, int32_t source,
                                                int32_t tag);

/* The oldest envelope that a receive or probe with these (wildcards allowed) matches; it stays. */
struct nof_match_entry *nof_matcher_find(const struct nof_matcher *m, uint32_t ctx, int32_t source,
                                         int32_t tag);

/* The next one with the same source and tag, behind one that find() gave for these two. */
struct nof_match_entry *nof_matcher_next(const struct nof_match_entry *envelope);

/* Take an entry out before its turn. */
void nof_matcher_unpost(struct nof_matcher *m, struct nof_match_entry *receive);
void nof_matcher_remove(struct nof_matcher *m, struct nof_match_entry *envelope);

#endif
