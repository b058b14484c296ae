/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_engine.h"

#include <string.h>

#include "base/invariant.h"
#include "nof/desc.h"
#include "nof/reductions.h"
#include "nof/status.h"

struct nof_coll_step *nof_coll_step_at(const struct nof_colls *all, const struct nof_coll_program *p,
                                       uint32_t i)
{
    void *at = nof_pool_obj(&all->chunks, p->chunk[i / NOF_COLL_CHUNK_STEPS]);
    struct nof_coll_chunk *chunk = at;
    return &chunk->step[i % NOF_COLL_CHUNK_STEPS];
}

static uint32_t *bucket_of(const struct nof_colls *all, uint32_t ep, uint32_t name)
{
    uint32_t h = (name * 2654435761u) ^ (ep * 2246822519u);
    return &all->bucket[(h ^ h >> 15) & all->mask];
}

static uint32_t chunks_of(uint32_t nsteps)
{
    return (nsteps + NOF_COLL_CHUNK_STEPS - 1) / NOF_COLL_CHUNK_STEPS;
}

void nof_coll_shares(struct nof_colls *all, uint32_t endpoints)
{
    memset(all->used, 0, endpoints * sizeof *all->used);
    nof_share_init(&all->programs_share, all->pool.cap, endpoints);
    nof_share_init(&all->chunks_share, all->chunks.cap, endpoints);
}

struct nof_coll_program *nof_coll_find(const struct nof_colls *all, uint32_t ep, uint32_t name,
                                       uint32_t generation)
{
    uint32_t i = *bucket_of(all, ep, name);
    /* bound: programs of one bucket, of max_schedules; paid by the descriptor that names one */
    while (i != NOF_NIL) {
        struct nof_coll_program *p = nof_coll_at(all, i);
        if (p->ep == ep && p->name == name)
            return p->generation == generation ? p : NULL;
        i = p->hash_next;
    }
    return NULL;
}

static bool name_taken(const struct nof_colls *all, uint32_t ep, uint32_t name)
{
    uint32_t i = *bucket_of(all, ep, name);
    /* bound: programs of one bucket, of max_schedules; paid by the SCHED_OPEN */
    while (i != NOF_NIL && (nof_coll_at(all, i)->ep != ep || nof_coll_at(all, i)->name != name))
        i = nof_coll_at(all, i)->hash_next;
    return i != NOF_NIL;
}

/* A message, which may have a layout. */
static bool transfer_valid(const struct nof_program_step *s, uint32_t ranks)
{
    bool layout = (s->flags & NOF_STEP_F_LAYOUT) != 0, sends = s->opcode == NOF_STEP_SEND;
    int flags =
        NOF_STEP_F_EXACT | NOF_STEP_F_LAYOUT | (sends ? NOF_STEP_F_IN_TURN | NOF_STEP_F_ANNOUNCED : 0);
    return (s->flags & ~flags) == 0 && s->base < NOF_PROGRAM_BASES && s->peer >= 0 &&
           (uint32_t)s->peer < ranks && s->len <= INT64_MAX && s->elem < (sends ? NOF_ELEM_COUNT : 1) &&
           (layout || (s->layout | s->layout_generation) == 0);
}

/* It works on the rank's memory. */
static bool work_valid(const struct nof_program_step *s)
{
    bool reduces = s->opcode == NOF_STEP_REDUCE;
    return (s->flags | s->peer) == 0 && (s->layout | s->layout_generation) == 0 && s->len <= INT64_MAX &&
           s->base < NOF_PROGRAM_BASES && s->from_base < NOF_PROGRAM_BASES &&
           (reduces ? nof_reduce_defined(s->op, s->elem) && s->len % nof_reduce_bytes(s->elem) == 0
                    : (s->op | s->elem) == 0);
}

static bool is_bare(const struct nof_program_step *s)
{
    return (s->flags | s->elem | s->base | s->peer | s->offset | (int64_t)s->len) == 0 &&
           (s->layout | s->layout_generation) == 0;
}

static bool host_valid(const struct nof_program_step *s, uint32_t ranks)
{
    struct nof_program_step bare = *s;
    if ((s->flags & ~NOF_STEP_F_SENDS) != NOF_STEP_F_AWAITS)
        return is_bare(s);
    bare.flags = 0;
    bare.peer = 0;
    return is_bare(&bare) && s->peer >= 0 && (uint32_t)s->peer < ranks;
}

/* It says how many bytes meet its own: of one with a layout that is not told. */
static bool meets(const struct nof_program_step *s)
{
    return s->opcode == NOF_STEP_SEND &&
           (s->flags & (NOF_STEP_F_ANNOUNCED | NOF_STEP_F_LAYOUT)) == NOF_STEP_F_ANNOUNCED;
}

static bool step_valid(const struct nof_program_step *s, uint32_t ranks)
{
    bool works = s->opcode == NOF_STEP_REDUCE || s->opcode == NOF_STEP_COPY;
    if ((s->reserved[0] | s->reserved[1]) != 0 || (!works && (s->op | s->from_base) != 0) ||
        (!works && !meets(s) && s->from != 0))
        return false;
    switch (s->opcode) {
    case NOF_STEP_SEND:
    case NOF_STEP_RECV:
        return transfer_valid(s, ranks);
    case NOF_STEP_FENCE:
        return is_bare(s) && s->after[0] == NOF_STEP_NONE && s->after[1] == NOF_STEP_NONE;
    case NOF_STEP_HOST:
        return host_valid(s, ranks);
    case NOF_STEP_REDUCE:
    case NOF_STEP_COPY:
        return work_valid(s);
    default:
        return false;
    }
}

struct round {
    uint32_t begin;
    uint32_t sends, recvs, hosts;
};

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void close_round(struct nof_coll_program *p, struct round *round, uint32_t next)
{
    p->sends = larger(p->sends, round->sends);
    p->recvs = larger(p->recvs, round->recvs);
    p->hosts = larger(p->hosts, round->hosts);
    *round = (struct round){.begin = next};
}

/* Step i names up to two before it, of its round. */
static bool link_names(const struct nof_colls *all, const struct nof_coll_program *p,
                       const struct nof_program_step *s, uint32_t i, uint32_t round_begin)
{
    struct nof_coll_step *step = nof_coll_step_at(all, p, i);
    for (uint32_t k = 0; k < 2; k++) {
        if (s->after[k] == NOF_STEP_NONE)
            continue;
        if (s->after[k] < round_begin || s->after[k] >= i)
            return false;
        struct nof_coll_step *before = nof_coll_step_at(all, p, s->after[k]);
        step->names++;
        if (k == 0 && (s->flags & NOF_STEP_F_IN_TURN)) {
            if (before->opcode != NOF_STEP_SEND || before->turn != NOF_STEP_NONE)
                return false;
            before->turn = (uint16_t)i;
            continue;
        }
        step->edge_next[k] = before->behind;
        before->behind = (uint16_t)(2 * i + k);
    }
    return !(s->flags & NOF_STEP_F_IN_TURN) || s->after[0] != NOF_STEP_NONE;
}

static bool copy_steps(const struct nof_colls *all, struct nof_coll_program *p, const uint8_t *bytes,
                       uint32_t ranks)
{
    struct round round = {.begin = 0};
    /* bound: NOF_PROGRAM_STEPS_MAX, 1024; paid by the SCHED_OPEN */
    for (uint32_t i = 0; i < p->nsteps; i++) {
        struct nof_program_step s;
        memcpy(&s, bytes + (size_t)i * sizeof s, sizeof s);
        if (!step_valid(&s, ranks))
            return false;
        struct nof_coll_step *step = nof_coll_step_at(all, p, i);
        *step = (struct nof_coll_step){.offset = (uint64_t)s.offset,
                                       .len = s.len,
                                       .peer = s.peer,
                                       .layout = s.layout,
                                       .layout_generation = s.layout_generation,
                                       .behind = NOF_STEP_NONE,
                                       .turn = NOF_STEP_NONE,
                                       .opcode = s.opcode,
                                       .flags = s.flags,
                                       .elem = s.elem,
                                       .base = s.base};
        if (meets(&s))
            step->from = (uint64_t)s.from;
        if (s.opcode == NOF_STEP_REDUCE || s.opcode == NOF_STEP_COPY) {
            step->from = (uint64_t)s.from;
            step->op = s.op;
            step->from_base = s.from_base;
        }
        if (!link_names(all, p, &s, i, round.begin))
            return false;
        round.sends += s.opcode == NOF_STEP_SEND;
        round.recvs += s.opcode == NOF_STEP_RECV;
        round.hosts += s.opcode == NOF_STEP_HOST;
        if (s.opcode == NOF_STEP_FENCE)
            close_round(p, &round, i + 1);
    }
    close_round(p, &round, p->nsteps);
    return true;
}

/* A FENCE knows the one behind it, in `len`: finding it takes no walk. */
static void link_fences(const struct nof_colls *all, struct nof_coll_program *p)
{
    uint32_t end = p->nsteps;
    /* bound: NOF_PROGRAM_STEPS_MAX, 1024; paid by the SCHED_OPEN */
    for (uint32_t i = p->nsteps; i-- > 0;) {
        struct nof_coll_step *s = nof_coll_step_at(all, p, i);
        if (s->opcode != NOF_STEP_FENCE)
            continue;
        s->len = end;
        end = i;
    }
    p->first_end = end;
}

static void give_chunks(struct nof_colls *all, const struct nof_coll_program *p, uint32_t n)
{
    /* bound: chunks of a program, 32; paid by the program's descriptor */
    for (uint32_t i = 0; i < n; i++)
        nof_pool_give(&all->chunks, p->chunk[i]);
}

static bool take_chunks(struct nof_colls *all, struct nof_coll_program *p)
{
    uint32_t n = chunks_of(p->nsteps);
    /* bound: chunks of a program, 32; paid by the SCHED_OPEN */
    for (uint32_t i = 0; i < n; i++) {
        p->chunk[i] = nof_pool_take(&all->chunks);
        if (p->chunk[i] == NOF_NIL) {
            give_chunks(all, p, i);
            return false;
        }
    }
    return true;
}

/* May this endpoint have one more program of so many steps? */
static bool may_open(const struct nof_colls *all, uint32_t ep, uint32_t nsteps)
{
    const struct nof_coll_use *use = &all->used[ep];
    return nof_share_may(&all->programs_share, use->programs, 1, nof_pool_free(&all->pool)) &&
           nof_share_may(&all->chunks_share, use->chunks, chunks_of(nsteps), nof_pool_free(&all->chunks));
}

int nof_coll_open(struct nof_colls *all, uint32_t ep, uint32_t ranks, uint32_t name, uint32_t generation,
                  const uint8_t *bytes, size_t len_bytes)
{
    struct nof_program_head head;
    if (len_bytes < sizeof head || name_taken(all, ep, name))
        return NOF_EINVAL;
    memcpy(&head, bytes, sizeof head);
    if (head.magic != NOF_PROGRAM_MAGIC || head.nsteps == 0 || head.nsteps > NOF_PROGRAM_STEPS_MAX ||
        head.reserved != 0 ||
        len_bytes != sizeof head + (size_t)head.nsteps * sizeof(struct nof_program_step))
        return NOF_EINVAL;
    uint32_t i = may_open(all, ep, head.nsteps) ? nof_pool_take(&all->pool) : NOF_NIL;
    if (i == NOF_NIL)
        return NOF_ENOMEM;
    struct nof_coll_program *p = nof_coll_at(all, i);
    memset((unsigned char *)p + sizeof p->obj, 0, sizeof *p - sizeof p->obj);
    p->ep = ep;
    p->name = name;
    p->generation = generation;
    p->nsteps = head.nsteps;
    int rc = take_chunks(all, p) ? NOF_OK : NOF_ENOMEM;
    if (rc == NOF_OK && !copy_steps(all, p, bytes + sizeof head, ranks)) {
        give_chunks(all, p, chunks_of(p->nsteps));
        rc = NOF_EINVAL;
    }
    if (rc != NOF_OK) {
        nof_pool_give(&all->pool, i);
        return rc;
    }
    link_fences(all, p);
    uint32_t *bucket = bucket_of(all, ep, name);
    p->hash_next = *bucket;
    *bucket = i;
    nof_share_taken(&all->programs_share, &all->used[ep].programs, 1);
    nof_share_taken(&all->chunks_share, &all->used[ep].chunks, chunks_of(p->nsteps));
    return NOF_OK;
}

void nof_coll_close(struct nof_colls *all, struct nof_coll_program *p)
{
    uint32_t i = nof_coll_index(all, p);
    uint32_t *at = bucket_of(all, p->ep, p->name);
    /* bound: programs of one bucket, of max_schedules; paid by the SCHED_FREE */
    while (*at != i)
        at = &nof_coll_at(all, *at)->hash_next;
    *at = p->hash_next;
    give_chunks(all, p, chunks_of(p->nsteps));
    nof_share_given(&all->chunks_share, &all->used[p->ep].chunks, chunks_of(p->nsteps));
    nof_share_given(&all->programs_share, &all->used[p->ep].programs, 1);
    nof_pool_give(&all->pool, i);
}

void nof_coll_push(const struct nof_colls *all, const struct nof_coll_program *p, struct nof_coll_queue *q,
                   uint32_t step)
{
    nof_coll_step_at(all, p, step)->queue_next = NOF_STEP_NONE;
    if (q->head == NOF_STEP_NONE)
        q->head = (uint16_t)step;
    else
        nof_coll_step_at(all, p, q->tail)->queue_next = (uint16_t)step;
    q->tail = (uint16_t)step;
}

uint32_t nof_coll_pop(const struct nof_colls *all, const struct nof_coll_program *p, struct nof_coll_queue *q)
{
    uint32_t step = q->head;
    q->head = nof_coll_step_at(all, p, step)->queue_next;
    return step;
}

static void begin_round(struct nof_coll_program *p, uint32_t begin, uint32_t end)
{
    p->round_begin = begin;
    p->round_end = end;
    p->scan = begin;
    p->done = 0;
}

uint32_t nof_coll_begin_cost(const struct nof_coll_program *p)
{
    return p->done < p->round_end - p->round_begin ? p->round_end - p->round_begin : 0;
}

void nof_coll_begin(const struct nof_colls *all, struct nof_coll_program *p)
{
    bool failed = nof_coll_begin_cost(p) > 0;
    /* bound: steps of a round, NOF_PROGRAM_STEPS_MAX, 1024; paid by the SCHED_START behind a run that failed */
    for (uint32_t i = p->round_begin; failed && i < p->round_end; i++) {
        nof_coll_step_at(all, p, i)->met = 0;
        nof_coll_step_at(all, p, i)->state = NOF_COLL_BEFORE;
    }
    p->may = (struct nof_coll_queue){.head = NOF_STEP_NONE};
    p->ended = (struct nof_coll_queue){.head = NOF_STEP_NONE};
    p->edge = NOF_STEP_NONE;
    begin_round(p, 0, p->first_end);
}

/* What step i names is done. Those that the scan has still to come to begin there. */
static void meet(const struct nof_colls *all, struct nof_coll_program *p, uint32_t i)
{
    struct nof_coll_step *s = nof_coll_step_at(all, p, i);
    s->met++;
    if (s->met == s->names && i < p->scan)
        nof_coll_push(all, p, &p->may, i);
}

bool nof_coll_turn_over(const struct nof_colls *all, struct nof_coll_program *p, uint32_t step)
{
    struct nof_coll_step *s = nof_coll_step_at(all, p, step);
    nof_invariant(s->state != NOF_COLL_BEFORE);
    if (s->over || s->turn == NOF_STEP_NONE)
        return false;
    s->over = 1;
    meet(all, p, s->turn);
    return true;
}

void nof_coll_ended(const struct nof_colls *all, struct nof_coll_program *p, uint32_t step)
{
    nof_invariant(nof_coll_step_at(all, p, step)->state == NOF_COLL_BEGUN);
    (void)nof_coll_turn_over(all, p, step);
    nof_coll_step_at(all, p, step)->state = NOF_COLL_ENDED;
    nof_coll_push(all, p, &p->ended, step);
}

/* The end of a step reaches one that names it. */
static void follow_edge(const struct nof_colls *all, struct nof_coll_program *p)
{
    uint32_t edge = p->edge;
    p->edge = nof_coll_step_at(all, p, edge / 2u)->edge_next[edge % 2u];
    meet(all, p, edge / 2u);
}

/* The next step of the round, if it may begin; else the last end of a step that it names lets it. */
static bool scan_one(const struct nof_colls *all, struct nof_coll_program *p, uint32_t *step_out)
{
    uint32_t i = p->scan++;
    *step_out = i;
    const struct nof_coll_step *s = nof_coll_step_at(all, p, i);
    return s->met == s->names;
}

enum nof_coll_next nof_coll_next(const struct nof_colls *all, struct nof_coll_program *p, uint32_t *budget,
                                 uint32_t *step_out)
{
    /* bound: the caller's budget; paid by the endpoint's steps */
    for (; *budget > 0; --*budget) {
        bool found = false;
        if (p->edge != NOF_STEP_NONE) {
            follow_edge(all, p);
        } else if (p->ended.head != NOF_STEP_NONE) {
            p->done++;
            p->edge = nof_coll_step_at(all, p, nof_coll_pop(all, p, &p->ended))->behind;
        } else if (p->may.head != NOF_STEP_NONE) {
            *step_out = nof_coll_pop(all, p, &p->may);
            found = true;
        } else if (p->scan < p->round_end) {
            found = scan_one(all, p, step_out);
        } else if (p->done < p->round_end - p->round_begin) {
            return NOF_COLL_WAIT;
        } else if (p->round_end == p->nsteps) {
            return NOF_COLL_DONE;
        } else {
            begin_round(p, p->round_end + 1, (uint32_t)nof_coll_step_at(all, p, p->round_end)->len);
        }
        if (found) {
            struct nof_coll_step *s = nof_coll_step_at(all, p, *step_out);
            s->state = NOF_COLL_BEGUN;
            s->met = 0;
            s->over = 0;
            --*budget;
            return NOF_COLL_STEP;
        }
    }
    return NOF_COLL_LATER;
}
