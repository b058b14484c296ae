/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks of `nof bench neighbour`: an innocent pair that send each other small messages, and processes beside them,
 * each a job of its own, that do what they like with the host driver.
 *
 *   bench process      fork -> neighbour_innocent(0), neighbour_innocent(1), neighbour_beside() ...
 *                      board->have_card: the window begins     board->stop: it is over, all exit
 *
 * A rank that cannot go on prints a word on stderr and exits with 1. */
#ifndef NOF_BENCH_NEIGHBOUR_H
#define NOF_BENCH_NEIGHBOUR_H

#include <stdint.h>

#include "nof/layout.h"
#include "pmd_driver.h"

/* Shared by the bench and its ranks; what changes is atomic. */
struct neighbour_board {
    uint64_t job_id; /* of the pair */
    uint8_t job_key[NOF_JOB_KEY_BYTES];
    char socket[64];
    char control[72];
    uint32_t cpu; /* of the ranks */
    struct nof_card card[2];
    uint32_t have_card[2];
    uint32_t ready; /* ranks beside the pair that have begun */
    uint32_t stop;
    uint64_t rounds; /* of the pair: two messages each */
    uint64_t pause_ns[2]; /* of each of the pair, at the end */
};

#define NEIGHBOUR_DESCS 64u
#define NEIGHBOUR_ARENA (4u << 20)

/* A process beside the pair. */
struct neighbour {
    struct neighbour_board *board;
    struct nof_pmd *pmd; /* NULL: the attack attaches itself, or not at all */
    uint8_t *arena; /* NEIGHBOUR_ARENA bytes */
    struct nof_desc desc[NEIGHBOUR_DESCS]; /* to be submitted */
    unsigned ndescs;
    uint64_t random;
    uint64_t turns;
    unsigned level; /* of the attack */
    unsigned open; /* of its messages, cookies and the like: the attack's own */
    uint32_t staged[256]; /* offsets that are held */
    unsigned nstaged;
    int fd;
};

struct neighbour_attack {
    const char *name;
    unsigned level;
    int attaches; /* 0: begin() or turn() does, or nobody */
    /* Once; may be NULL. */
    void (*begin)(struct neighbour *n);
    /* Again and again: put descriptors into n->desc. */
    void (*turn)(struct neighbour *n);
    /* A completion; may be NULL. */
    void (*completed)(struct neighbour *n, const struct nof_comp *comp);
    const char *feature; /* of the daemon, "NAME=VALUE"; NULL: as it is */
};

/* The first one sends plain messages; what the others are compared with. Ends with a NULL name. */
extern const struct neighbour_attack neighbour_attacks[];

_Noreturn void neighbour_innocent(struct neighbour_board *board, uint32_t rank);
_Noreturn void neighbour_beside(struct neighbour_board *board, const struct neighbour_attack *attack,
                                unsigned number);

/* For attacks. */
struct nof_pmd *neighbour_attach(const struct neighbour *n, uint64_t job_id, uint32_t rank, uint32_t size);
struct nof_desc *neighbour_desc(struct neighbour *n, uint8_t opcode);
/* All of n->desc into the ring, and completions out, until it is taken. */
void neighbour_submit(struct neighbour *n);
uint64_t neighbour_random(struct neighbour *n);

#endif
