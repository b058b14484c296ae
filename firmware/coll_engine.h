/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine of collectives: programs (nof/program.h), validated and copied once, and which of their steps may begin. A
 * value: it knows neither messages nor the NIC; who drives it begins the steps that it names and tells it of their ends.
 *
 *   nof_coll_open(bytes from the program area)   -> index, held by (endpoint, name, generation)
 *   nof_coll_begin() -> nof_coll_next() -> STEP: it has begun; nof_coll_ended() when it is done, at any time; of a SEND
 *                                          nof_coll_turn_over() before, if it likes, when it hardly needs the link any more
 *                                       -> WAIT: until one has ended
 *                                       -> DONE
 *   nof_coll_close()
 *
 * A step begins when the fence before it and the steps that it names are done:
 *
 *   done(FENCE f) = done(s) for all s < f;   begins(s) => done(last FENCE before s) and done(after[0]) and done(after[1])
 *
 * but for an IN_TURN step, of which after[0] is done or its turn is over;
 *
 * and since a step names smaller ones of its round only, some step may always begin or has begun until all are done.
 * nof_coll_next() does at most `budget` units of work, of which a whole run takes at most 3 for each step and 1 for each
 * name in `after`.
 *
 * Memory: steps lie in chunks of NOF_COLL_CHUNK_STEPS out of one pool. A program runs once at a time. */
#ifndef NOF_COLL_ENGINE_H
#define NOF_COLL_ENGINE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/share.h"
#include "nof/program.h"

#define NOF_COLL_CHUNK_STEPS 32u
#define NOF_COLL_CHUNKS_MAX (NOF_PROGRAM_STEPS_MAX / NOF_COLL_CHUNK_STEPS)

enum nof_coll_step_state { NOF_COLL_BEFORE = 0, NOF_COLL_BEGUN, NOF_COLL_ENDED };

struct nof_coll_step { /* checked */
    uint64_t offset;
    uint64_t len;
    union {
        struct {
            uint32_t layout, layout_generation;
        };
        uint64_t from; /* REDUCE, COPY; SEND, ANNOUNCED without LAYOUT: bytes that meet */
    };
    union {
        int32_t peer;
        struct { /* REDUCE, COPY */
            uint8_t op;
            uint8_t from_base;
        };
    };
    uint32_t object; /* BEGUN: the driver's */
    uint16_t behind; /* edges of those that name it: 2 * step + which; NOF_STEP_NONE ends the list */
    uint16_t edge_next[2]; /* of its own two names, each in the list of the step that is named */
    uint16_t turn; /* SEND: the IN_TURN step that names it, which is in no list, or NOF_STEP_NONE */
    uint16_t queue_next; /* among those that may begin, the driver's (BEGUN), or those that have ended */
    uint8_t opcode;
    uint8_t flags;
    uint8_t elem;
    uint8_t base;
    uint8_t names : 2; /* how many steps it names */
    uint8_t met : 2; /* of those, how many are done; 0 once it has begun */
    uint8_t over : 1; /* its turn is, in this run */
    uint8_t state; /* enum nof_coll_step_state */
};
static_assert(sizeof(struct nof_coll_step) == 48, "as long as the host's");

struct nof_coll_chunk {
    struct nof_obj obj;
    struct nof_coll_step step[NOF_COLL_CHUNK_STEPS];
};

struct nof_coll_queue { /* of steps, first in, first out */
    uint16_t head, tail;
};

struct nof_coll_program {
    struct nof_obj obj;
    uint32_t ep;
    uint32_t name; /* chosen by the host */
    uint32_t generation;
    uint32_t hash_next;
    uint32_t nsteps;
    uint32_t sends, recvs, hosts; /* most of a round */
    uint32_t first_end; /* of its first round */
    uint32_t chunk[NOF_COLL_CHUNKS_MAX];

    /* Of this run, or of the last. */
    uint32_t round_begin, round_end; /* steps; the end is a FENCE, or nsteps */
    uint32_t scan; /* next step of the round to be looked at */
    uint32_t done; /* steps of the round */
    uint16_t edge; /* the next one to be followed of a step that has ended, or NOF_STEP_NONE */
    struct nof_coll_queue may, ended;
};

struct nof_coll_use { /* of one endpoint */
    uint32_t programs;
    uint32_t chunks;
};

struct nof_colls {
    struct nof_pool pool; /* struct nof_coll_program */
    struct nof_pool chunks;
    uint32_t *bucket;
    uint32_t mask;
    struct nof_coll_use *used; /* by endpoint */
    struct nof_share programs_share, chunks_share;
};

static inline struct nof_coll_program *nof_coll_at(const struct nof_colls *all, uint32_t i)
{
    void *at = nof_pool_obj(&all->pool, i);
    return at;
}

static inline uint32_t nof_coll_index(const struct nof_colls *all, const struct nof_coll_program *p)
{
    return (uint32_t)(((const unsigned char *)p - (const unsigned char *)all->pool.base) /
                      all->pool.stride_bytes);
}

/* It is a message: its peer is a job rank. */
static inline bool nof_coll_step_has_peer(const struct nof_coll_step *s)
{
    return s->opcode == NOF_STEP_SEND || s->opcode == NOF_STEP_RECV || (s->flags & NOF_STEP_F_AWAITS) != 0;
}
/* It is a message from the peer, whoever receives it. */
static inline bool nof_coll_step_awaits(const struct nof_coll_step *s)
{
    return s->opcode == NOF_STEP_RECV ||
           (s->flags & (NOF_STEP_F_AWAITS | NOF_STEP_F_SENDS)) == NOF_STEP_F_AWAITS;
}

/* i < p->nsteps */
struct nof_coll_step *nof_coll_step_at(const struct nof_colls *all, const struct nof_coll_program *p,
                                       uint32_t i);

/* `used` has room for this many endpoints; the pools are set up. */
void nof_coll_shares(struct nof_colls *all, uint32_t endpoints);
/* NOF_OK, NOF_EINVAL (not a valid program, or the name is in use), NOF_ENOMEM. ranks: peers are smaller. `bytes` is read
 * once; it may change while it is read. */
int nof_coll_open(struct nof_colls *all, uint32_t ep, uint32_t ranks, uint32_t name, uint32_t generation,
                  const uint8_t *bytes, size_t len_bytes);
/* NULL: no such program. */
struct nof_coll_program *nof_coll_find(const struct nof_colls *all, uint32_t ep, uint32_t name,
                                       uint32_t generation);
/* It does not run. */
void nof_coll_close(struct nof_colls *all, struct nof_coll_program *p);

/* From the beginning; no step is under way. What that costs behind a run that failed, in steps that are looked at: */
uint32_t nof_coll_begin_cost(const struct nof_coll_program *p);
void nof_coll_begin(const struct nof_colls *all, struct nof_coll_program *p);
enum nof_coll_next {
    NOF_COLL_STEP,
    NOF_COLL_WAIT,
    NOF_COLL_DONE,
    NOF_COLL_LATER /* the budget is used up */
};
/* STEP: *step_out, never a FENCE, has begun. *budget goes down by the work. */
enum nof_coll_next nof_coll_next(const struct nof_colls *all, struct nof_coll_program *p, uint32_t *budget,
                                 uint32_t *step_out);
/* Queues of steps; a step is in one at most. pop(): it is not empty. */
void nof_coll_push(const struct nof_colls *all, const struct nof_coll_program *p, struct nof_coll_queue *q,
                   uint32_t step);
uint32_t nof_coll_pop(const struct nof_colls *all, const struct nof_coll_program *p,
                      struct nof_coll_queue *q);
/* The turn of a SEND that has begun is over. True: that is news to the step behind it, which may begin now. */
bool nof_coll_turn_over(const struct nof_colls *all, struct nof_coll_program *p, uint32_t step);
/* A step that has begun is done. */
void nof_coll_ended(const struct nof_colls *all, struct nof_coll_program *p, uint32_t step);

#endif
