/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The oracles of fuzz-core and fuzz-host. A guard watches a world (tests/unit/world.h) from inside every call of the
 * core to its port and its hosts, and ends the process with a sentence when one of these is broken:
 *
 *   memory   a DMA write touches only the buffer of a receive that is posted and not completed, and for each no byte
 *            twice; a read only the buffer of a send that is not completed
 *   ends     an operation ends once; nothing of it is under way or begins afterwards; a closed endpoint hears nothing
 *   secrets  job B's bytes, and what a recycled buffer held before, never reach a frame to somebody else, a completion,
 *            the staging area or a buffer of another job
 *   staging  what a completion names lies in the area, and no other completion's bytes lie there
 *   claims   a receive that the NIC has not won from its host gets nothing
 *   boards   of delta receives say what was written, each unit once, and nothing after the completion
 *   innocent traffic of job B arrives whole and in time whatever job A does
 *   empty    when all is closed every pool, table, credit and frame is back
 *   bounded  calls that one turn of the core makes
 *
 *   guard_init(), world_init(.watch = &guard_watch, .ctx = g), ...   once
 *   guard_begin() -> guard_take() -> guard_post() ... -> guard_end() for each run */
#ifndef NOF_TESTS_FUZZ_GUARD_H
#define NOF_TESTS_FUZZ_GUARD_H

#include "../unit/world.h"

#define GUARD_HELD 64u /* staging slots that a rank has not released */
#define GUARD_HEARD 8u /* handles of each kind that a rank remembers */
#define GUARD_SMALL 4096u
#define GUARD_SMALLS 12u
#define GUARD_LARGE 73728u /* one message of more than a DMA block */
#define GUARD_ARENA (GUARD_SMALLS * GUARD_SMALL + GUARD_LARGE)
#define GUARD_AREA 4096u /* bounce, program area */
#define GUARD_JOB_A 7u
#define GUARD_JOB_B 8u
#define GUARD_PAIRS 2u
#define GUARD_OPS_A 92u /* job A's; behind them a send and a receive of each pair of job B */
#define GUARD_OPS (GUARD_OPS_A + 2 * GUARD_PAIRS)
#define GUARD_LAYOUTS 8u
#define GUARD_PROGRAMS 2u /* of a rank */
#define GUARD_GROUPS 2u
#define GUARD_SERIALS 1024u /* more than operations of one input */

enum guard_state {
    GUARD_FREE = 0,
    GUARD_LIVE,
    GUARD_PARKED, /* a send that its host keeps */
    GUARD_TAKEN, /* a receive that its host has served itself: until its CANCEL is answered */
};

enum guard_program_state { GUARD_NO_PROGRAM = 0, GUARD_ASKED, GUARD_OPEN, GUARD_RUNS };

struct guard_program {
    uint8_t state; /* enum guard_program_state */
    uint32_t generation;
    uint32_t nsteps;
    uint64_t each; /* bytes of a step; step i's lie at i * each of both buffers */
    uint64_t cookie; /* of its START */
    struct guard_op *send,
        *recv; /* stand for its steps, under that cookie; those of a hostile host for good */
};

struct guard_group { /* of multicast */
    uint8_t state; /* as of a program; it never RUNS */
    uint32_t number; /* of the next message */
};

struct guard_op {
    uint8_t state; /* enum guard_state */
    uint8_t opcode; /* of the completion that ends it */
    uint8_t anywhere; /* it names a layout that only the host knows */
    uint8_t read; /* a receive whose memory is read, too: steps of a program work on it */
    uint8_t granted; /* a parked send: a GRANT has come */
    uint8_t slot; /* 1 + slot of a delta receive whose board is looked at */
    uint8_t won, lost; /* of a claim (guard_claim.h): what the NIC has been answered */
    uint8_t message, told,
        unmatched; /* TAKEN: by a message; its CANCEL was submitted; it was answered NOMATCH before */
    uint16_t rank;
    uint16_t ends; /* completions that may have been this one's: its cookie is not its own */
    uint32_t block, stride; /* 0: contiguous */
    uint8_t *base;
    uint64_t len; /* bytes of message or room */
    uint64_t extent; /* of memory */
    uint64_t written;
    struct nof_desc desc;
};

struct guard_heard {
    uint64_t handle[GUARD_HEARD];
    int32_t peer[GUARD_HEARD];
    unsigned n;
};

struct guard_rank {
    int used;
    int job;
    int honest; /* its endpoint must not fail, and its receives get what they want */
    int blind; /* its host takes no completions */
    struct {
        uint32_t offset, len;
    } held[GUARD_HELD];
    unsigned nheld;
    uint8_t owner[2]; /* operations of the last piece that was read, and written */
    struct guard_heard probed, spilled, granted, revoke;
    struct guard_heard hosted; /* steps of programs that the host is to do: the START's cookie << 16 | step */
    struct guard_program program[GUARD_PROGRAMS];
    struct guard_group group[GUARD_GROUPS]; /* names and cookies 0 to GUARD_GROUPS - 1 */
    unsigned revoked; /* of those that were heard, how many were answered */
    uint64_t spills, nomatches;
    uint64_t slots_over; /* bits of slots whose delta receive has ended, and nobody has one since */
    uint64_t dead; /* job ranks, as bits */
    uint32_t layouts; /* names 0 to GUARD_LAYOUTS - 1 that are open, as bits */
    uint32_t layouts_asked; /* whose LAYOUT has no answer yet */
    struct {
        uint32_t block, stride, generation;
    } layout[GUARD_LAYOUTS];
};

struct guard {
    struct world *w;
    struct guard_op op[GUARD_OPS];
    unsigned next_op;
    uint32_t serial;
    uint32_t generation; /* of the last claim */
    unsigned steals; /* so many of the next claims are taken by the host at the last moment */
    uint8_t was_parked[GUARD_SERIALS]; /* sends, by cookie */
    struct guard_rank rank[WORLD_RANKS];
    unsigned calls; /* of the core, in this turn */
    uint64_t turn; /* the moment */
    uint32_t msgs_free[WORLD_NICS], blocks_free[WORLD_NICS]; /* when it was new */
    unsigned nics;
    uint64_t watched[(GUARD_OPS + 63) /
                     64]; /* operations whose boards are looked at, as bits, and some that were */
    bool deltas; /* job A has had to do with delta messages */
    /* Two ranks of job B on two NICs, and the messages between them. */
    unsigned innocent[2];
    struct {
        int used;
        unsigned from;
        uint32_t id;
        uint64_t len;
        int arrived, sent;
        int delta; /* it is one, and: */
        uint32_t unit_log2, units_ready;
        uint64_t bytes_seen; /* on the receiver's board */
        int ended;
        int wanted; /* it is parked, and a GRANT has come */
    } pair[GUARD_PAIRS];
    uint32_t messages;
    /* How DMA of job A goes: a byte each for reads and writes; see guard.c. */
    uint8_t dma[2];
    uint32_t dmas;
    /* The NIC that is no NIC: frames for it go here; may be NULL. */
    unsigned rogue_nic;
    void (*rogue)(void *ctx, const uint8_t *bytes, uint32_t len);
    void *rogue_ctx;
};

extern const struct world_watch guard_watch;

/* For who watches job A in its place: bytes that may not hold a secret, and what becomes of a DMA request. */
void guard_no_secret(const uint8_t *at, size_t bytes, const char *where);
enum world_dma guard_fate(struct guard *g, int write);

/* Once, before the world is made; nics are new. */
void guard_init(struct guard *g);
void guard_new_nics(struct guard *g, struct world *w, unsigned nics);
/* A rank of the world. */
void guard_rank(struct guard *g, unsigned rank, int job, int honest);
/* Bytes that nobody but job B may see, anywhere that they could be left over. */
void guard_hide_secrets(struct guard *g, struct world *w);

/* An operation with a buffer of its own for `len` bytes (block > 0: blocks of so many bytes, stride apart); NULL: there
 * is no room. The descriptor has its opcode, cookie, len and addr. */
struct guard_op *guard_take(struct guard *g, unsigned rank, uint8_t opcode, uint64_t len, uint32_t block,
                            uint32_t stride);
/* The descriptor goes to the core. */
void guard_post(struct guard *g, struct guard_op *op);
/* A descriptor that may be anything. */
void guard_post_raw(struct guard *g, unsigned rank, const struct nof_desc *d);
/* Rank takes its completions, gives staging slots back (keep: it does not) and submits again what was granted. */
void guard_reap(struct guard *g, unsigned rank, int keep);
/* The rank is gone; it may be opened again. */
void guard_close(struct guard *g, unsigned rank, int reason);

/* A message of job B begins; len at most GUARD_LARGE. */
void guard_innocent(struct guard *g, unsigned from, uint64_t len);
/* A delta message of job B, with units of at least 2^least_log2 bytes, which become ready while time passes. */
void guard_innocent_delta(struct guard *g, unsigned from, uint64_t len, uint32_t least_log2);
/* Time passes, and the ranks of job B look at their completions. */
void guard_run(struct guard *g, uint64_t ns);
/* Messages of job B come through; then all is closed, and nothing is left. */
void guard_end(struct guard *g);

/* Pools, credits and frames are as on the first day, a while after all was closed. */
void guard_all_back(struct guard *g);

_Noreturn void guard_fail(const char *what, ...) __attribute__((format(printf, 1, 2)));

#endif
