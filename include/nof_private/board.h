/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The board of a job: a place per rank, in memory that `nof run` makes (NOF_BOARD_FD in the environment) and its ranks
 * map. A rank writes there, before it goes to sleep in a call that has taken NOF_BOARD_AFTER_NS already, what it waits
 * for, and takes it away when it wakes: so a call that returns soon costs nothing. When it leaves MPI it writes what it counted.
 *
 * A place is written by its rank alone: `seq` is odd while it writes. Who reads believes nothing of it. */
#ifndef NOF_PRIVATE_BOARD_H
#define NOF_PRIVATE_BOARD_H

#include <assert.h>
#include <stdint.h>

#define NOF_BOARD_ENV "NOF_BOARD_FD"
#define NOF_BOARD_AFTER_NS 100000000u
/* At what is under way, for one line: a rank that waits for thousands of messages sleeps often. */
#define NOF_BOARD_LOOKS 256u
#define NOF_BOARD_AGAIN_NS 1000000000u /* a rank that goes on sleeping looks up, and writes anew */
#define NOF_BOARD_PEERS 8
#define NOF_BOARD_ANY (-1) /* peer, tag */
#define NOF_BOARD_COUNTS 224

enum nof_board_phase { NOF_BOARD_BEFORE_INIT, NOF_BOARD_RUNNING, NOF_BOARD_FINALIZED };

enum nof_board_kind {
    NOF_BOARD_NOTHING, /* it sleeps in no call */
    NOF_BOARD_CALL, /* of nothing more is known than who may be meant */
    NOF_BOARD_RECV, /* from peer[0] */
    NOF_BOARD_SEND, /* to peer[0] */
    NOF_BOARD_PROBE, /* for peer[0] */
    NOF_BOARD_COLL, /* messages of peer[] */
};

struct nof_board_place {
    uint32_t seq;
    uint32_t phase;
    uint32_t kind;
    int32_t tag;
    uint64_t since_ns; /* CLOCK_MONOTONIC: it waits */
    uint64_t bytes; /* of the message, or the room for it */
    char call[40]; /* MPI_Recv */
    char comm[48]; /* its name; "": of none */
    uint32_t posted; /* receives of the program */
    uint32_t sends; /* that have not ended */
    uint32_t unexpected; /* messages that the library holds; the NIC may hold more */
    uint32_t peers; /* in peer[] */
    int32_t peer[NOF_BOARD_PEERS]; /* ranks of MPI_COMM_WORLD */
    char missing[64]; /* what the program itself has yet to do; "": nothing is known */
    uint32_t unlooked; /* not 0: more than NOF_BOARD_LOOKS are under way: at least posted, at least sends */
    uint8_t reserved[20];
    uint64_t counted[NOF_BOARD_COUNTS]; /* once the phase is FINALIZED (library_counts.h) */
};
static_assert(sizeof(struct nof_board_place) == 2048, "a place on the board");

#endif
