/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run of a program; the types alone, for nic.h. drive.h says what they mean. */
#ifndef NOF_DRIVE_STATE_H
#define NOF_DRIVE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "coll_engine.h"
#include "nof/program.h"

#define NOF_COMBINES_PER_EP 2u /* pieces of REDUCE and COPY steps that may be under way at once */

enum nof_combine_part { NOF_COMBINE_READ = 0, NOF_COMBINE_COMPUTE, NOF_COMBINE_WRITE, NOF_COMBINE_DONE };

struct nof_combine { /* such a piece; combine.h says how it goes on */
    struct nof_obj obj;
    uint16_t ep;
    uint8_t part; /* enum nof_combine_part: what comes next, or is pending */
    uint8_t op; /* enum nof_reduce_op */
    uint8_t type; /* enum nof_reduce_type; NONE: a copy */
    uint32_t bytes;
    uint32_t program, step;
    uint64_t from, to; /* addresses of the rank */
};

enum nof_drive_state {
    NOF_DRIVE_IDLE = 0,
    NOF_DRIVE_RUNNING,
    NOF_DRIVE_FAILING, /* its receives are being taken back, its sends end */
    NOF_DRIVE_TOLD, /* failed, and the host knows; sends took too long, and are still under way */
};

struct nof_coll_run { /* one run of one collective, anywhere in the job */
    uint32_t ctx;
    int32_t tag;
    uint32_t number; /* counts what has the same context and tag */
};

struct nof_coll_abort {
    struct nof_coll_run run;
    uint32_t rank; /* whose failure it was */
    int32_t status; /* NOF_EAGAIN: it has not failed, `rank` asks whether others call the same, */
    uint8_t agreed; /* which is this (desc.h) */
};

#define NOF_ABORTS_HEARD 16u
struct nof_abort_ring { /* of one endpoint */
    struct nof_coll_abort abort[NOF_ABORTS_HEARD];
    uint32_t count; /* the next one is number count % NOF_ABORTS_HEARD; less than that: all there were */
};

struct nof_aborts { /* coll/abort.h */
    uint32_t *running; /* buckets of drives, by endpoint and run */
    uint32_t mask;
    uint32_t floods;
    bool later; /* some wait for a window */
    uint32_t *told; /* of each peer: the number of the last flood that reached it */
    struct nof_abort_ring *heard; /* of each endpoint */
};

struct nof_drive { /* as many as programs, of the same index */
    uint8_t state;
    bool queued; /* in endpoint.drives */
    bool other_length; /* a message had not the length that was expected: EXACT sends are empty */
    bool closed; /* the host has freed it: it goes when it is IDLE and in no queue */
    uint32_t recv; /* the START, until its completion */
    uint64_t ahead_bytes; /* of sends that have begun and have one IN_TURN behind them: still to be sent */
    uint32_t turn; /* the last of those; p->nsteps or more: none */
    uint32_t handed; /* receives that the host does: those behind them are its, too, or they would overtake */
    uint32_t sends, recvs; /* of its messages, under way at this NIC */
    struct nof_coll_queue
        works; /* REDUCE and COPY steps that have begun and have bytes that are not on their way; */
    uint64_t work_at; /* of the first: how many are, */
    uint32_t pieces; /* in so many pieces, of all */
    bool waits; /* in endpoint.works, through: */
    uint32_t works_next;
    uint32_t look; /* FAILING: the step that is looked at next */
    int32_t status; /* of the first step that failed; */
    uint32_t step; /* that one, */
    uint64_t len; /* and the length of its message */
    struct nof_coll_run run;
    uint32_t run_next; /* in its bucket of nof_aborts.running */
    uint8_t agreed; /* of its START */
    uint64_t moved_ns; /* when a step of it last ended, or it began; or somebody saw more bytes than */
    uint64_t moved_bytes; /* of messages that have come in part */
    uint32_t whose; /* job rank whose failure it is */
    uint64_t sends_until_ns; /* FAILING: how long the host waits for them; 0: it does not yet */
    uint32_t flood; /* FAILING: its number, or 0: the others are not told */
    uint64_t cookie;
    uint64_t base[NOF_PROGRAM_BASES];
};

/* Of the operation of a step: which step of its program. */
static inline uint32_t nof_drive_step(uint64_t cookie)
{
    return (uint32_t)cookie & 0xffffu;
}

#endif
