/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fuzz-program knows of the programs of job A: which are open, which run, what they may touch now, and what the host
 * is to do. Its hosts keep to the rules, so their endpoints never fail; what must hold besides guard.h:
 *
 *   programs  what program_check() says to be none is never opened, and what it is may only be refused for want of room
 *   ends      a START has one end; one that is declined has done nothing
 *   memory    a piece that is read or written lies in a step of a program that runs, and that may have begun: the steps of
 *             the host before its last fence, and those that it names, are done. After the end nothing is written
 *   whole     a run that went well has written what its receives, reductions and copies say, and asked the host for
 *             each of its steps once
 *   told      `nof status` names no run that is not there
 *   empty     with no run left nothing is promised, and when all are freed none is left */
#ifndef NOF_TESTS_FUZZ_PROGRAM_RUNS_H
#define NOF_TESTS_FUZZ_PROGRAM_RUNS_H

#include "nof/program.h"
#include "guard.h"

#define RUNS_RANKS 3u /* of job A; world ranks 0 to 2 */
#define RUNS_JOB 4u /* job ranks: the last is one that nobody is introduced to */
#define RUNS_AREA 51200u /* bytes of the program area; a program of 1024 steps and a bit */
#define RUNS_SLOTS 6u /* programs of a rank */
#define RUNS_TODO 16u
#define RUNS_OWN 8u /* plain messages of a rank */
#define RUNS_LAYOUTS 3u
#define RUNS_STEPS_MAX NOF_PROGRAM_STEPS_MAX

enum runs_state { RUNS_FREE = 0, RUNS_ASKED, RUNS_OPEN, RUNS_RUNS };

struct runs_slot {
    uint8_t state; /* enum runs_state */
    uint8_t valid; /* by program_check() */
    uint8_t twice; /* its name is another's */
    uint8_t alone; /* nothing else of the rank has touched memory since its START */
    uint8_t lingers; /* it failed: its sends may still read, from `old` */
    uint8_t freed; /* and its host does not want it any more */
    uint8_t cancelled;
    uint32_t name, generation, nsteps;
    uint32_t limit; /* no step behind this one may have begun */
    uint32_t unasked; /* steps of the host that it has not been asked for */
    uint64_t cookie, read, written;
    uint64_t base[NOF_PROGRAM_BASES], old[NOF_PROGRAM_BASES];
    uint64_t asked[RUNS_STEPS_MAX / 64],
        answered[RUNS_STEPS_MAX / 64]; /* steps that the host was asked for; and has done */
};

struct runs_own { /* a plain message */
    uint8_t used;
    uint8_t recv;
    uint64_t cookie;
    uint64_t at, len;
};

struct runs_rank {
    struct runs_slot slot[RUNS_SLOTS];
    struct runs_own own[RUNS_OWN];
    struct {
        uint8_t slot;
        uint64_t cookie;
        uint32_t step;
    } todo[RUNS_TODO];
    unsigned ntodo;
    uint8_t last[2][2]; /* where the last piece that was read, written was found: slot, step / 256 */
    uint8_t blind; /* its host takes no completions */
    uint64_t spills, nomatches;
};

struct runs {
    struct guard guard; /* first: it is what watches job B */
    struct runs_rank rank[RUNS_RANKS];
    uint32_t names; /* given so far */
    uint64_t cookies;
    uint64_t moment;
    unsigned calls;
};

/* To be watched by in place of guard_watch, with the runs as ctx. */
extern const struct world_watch runs_watch;

/* Layouts of all ranks: names 0 and 1 are open, 2 never was. */
void runs_layouts(struct runs *r);
/* May the host write into the program area now? Not while the NIC has still to read it. */
bool runs_may_write(const struct runs *r, unsigned rank);
/* The program at `offset` of rank's program area, in a slot that is free; as: name and generation of that slot of it, if it
 * is open, else its own. */
void runs_open(struct runs *r, unsigned rank, unsigned slot, uint64_t offset, uint64_t len, unsigned as);
void runs_start(struct runs *r, unsigned rank, unsigned slot, const struct nof_desc *say);
/* It runs: how, and whose failure, as in a SCHED_CANCEL. */
void runs_cancel(struct runs *r, unsigned rank, unsigned slot, int status, unsigned whose);
void runs_free(struct runs *r, unsigned rank, unsigned slot);
/* The n-th thing that the host is asked for is done. */
void runs_continue(struct runs *r, unsigned rank, unsigned n, int status);
/* A plain message of the rank. */
void runs_own(struct runs *r, unsigned rank, bool recv, const struct nof_desc *say);
/* What the NICs tell of runs that wait (nof status) is so. */
void runs_look(const struct runs *r);
/* It takes its completions. */
void runs_reap(struct runs *r, unsigned rank);
/* The rank is closed: nothing of it is under way. */
void runs_closed(struct runs *r, unsigned rank);
/* All runs end, all programs are freed; nothing is left. */
void runs_end(struct runs *r);

#endif
