/* SPDX-License-Identifier: BSD-3-Clause */
#include "moves.h"

#include <string.h>

#include "nof/layout.h"
#include "nof/program.h"
#include "nof/reductions.h"
#include "guard_claim.h"
#include "moves_delta.h"

#define LAYOUT_AREA 256u /* bytes of the program area for each */
#define SIZE 4 /* ranks of job A */
#define PROGRAM_WHAT 232u /* values of MOVE_WHAT from here on are about programs */
#define CLAIM_WHAT 200u /* and from here on about claims */
#define DELTA_WHAT 208u /* and from here on about delta messages */
#define GROUP_WHAT 216u /* and from here on about multicast groups */
#define PROGRAM_AREA (GUARD_LAYOUTS * LAYOUT_AREA) /* behind the layouts */
#define STEPS_MAX 16u
#define GROUP_AREA (GUARD_AREA - 64u) /* behind the programs: members of a group */

uint64_t move_len(uint8_t code)
{
    static const uint32_t len[] = {0,     1,     8,     31,    32,    33,    64,    100,
                                   512,   700,   960,   1024,  1400,  1500,  2000,  2048,
                                   3000,  4000,  4096,  5000,  8000,  8192,  8193,  9000,
                                   16384, 16385, 20000, 40000, 65536, 65537, 70000, GUARD_LARGE};
    return len[code % 32] + (code >= 128 && code % 32 < 28 ? (code >> 5) - 3u : 0);
}

static int32_t peer_of(const uint8_t *rec)
{
    return rec[MOVE_PEER] % (SIZE + 1) - 1;
}

static int32_t tag_of(const uint8_t *rec)
{
    return rec[MOVE_TAG] % 5 - 1;
}

static void submit(struct guard *g, unsigned rank, struct guard_op *op, struct nof_desc *d,
                   const uint8_t *rec, int wild)
{
    uint8_t raw[NOF_DESC_BYTES];
    if (!wild || rec[MOVE_WILD] % 4 == 0) {
        if (op != NULL)
            guard_post(g, op);
        else
            world_post(g->w, rank, d);
        return;
    }
    memcpy(raw, op != NULL ? &op->desc : d, sizeof raw);
    raw[rec[MOVE_AT] % sizeof raw] ^= rec[MOVE_VALUE];
    raw[rec[MOVE_AT2] % sizeof raw] ^= rec[MOVE_VALUE2];
    memcpy(d, raw, sizeof raw);
    guard_post_raw(g, rank, d);
}

/* A hostile host may have changed the name under which it opened one. */
static bool has_layout(const struct guard_rank *r, uint32_t name)
{
    return (r->layouts >> name & 1) != 0 && r->layout[name].block != 0;
}

/* A receive of any kind, into a plain buffer or through a layout. */
static struct guard_op *receive(struct guard *g, unsigned rank, const uint8_t *rec)
{
    const struct guard_rank *r = &g->rank[rank];
    uint32_t name = rec[MOVE_LAYOUT] % GUARD_LAYOUTS;
    int laid = rec[MOVE_LAYOUT] >= 128 && has_layout(r, name);
    uint64_t len = move_len(rec[MOVE_LEN]);
    uint32_t block = laid ? r->layout[name].block : 0;
    uint32_t stride = laid ? r->layout[name].stride : 0;
    if (laid && len * stride / block > GUARD_LARGE / 2)
        len = 1000;
    struct guard_op *op = guard_take(g, rank, NOF_COMP_RECV, len, block, stride);
    if (op == NULL)
        return NULL;
    op->desc.callsite = rec[MOVE_SITE] % 8;
    if (laid) {
        op->desc.flags = NOF_DESC_F_LAYOUT;
        op->desc.layout = name;
        op->desc.layout_generation = r->layout[name].generation;
    }
    return op;
}

static struct guard_op *recv(struct guard *g, unsigned rank, const uint8_t *rec)
{
    struct guard_op *op = receive(g, rank, rec);
    if (op == NULL)
        return NULL;
    op->desc.opcode = NOF_DESC_RECV;
    op->desc.peer = peer_of(rec);
    op->desc.tag = tag_of(rec);
    return op;
}

static struct guard_op *by_handle(struct guard *g, unsigned rank, const uint8_t *rec, uint8_t opcode,
                                  const struct guard_heard *h)
{
    unsigned i = rec[MOVE_HANDLE] % GUARD_HEARD;
    if (i >= h->n)
        return NULL;
    struct guard_op *op = receive(g, rank, rec);
    if (op == NULL)
        return NULL;
    op->desc.opcode = opcode;
    op->desc.handle = h->handle[i];
    op->desc.peer = h->peer[i];
    op->desc.tag = tag_of(rec) < 0 ? 0 : tag_of(rec);
    return op;
}

static struct guard_op *probe(struct guard *g, unsigned rank, const uint8_t *rec, uint8_t opcode)
{
    struct guard_op *op = guard_take(g, rank, opcode, 0, 0, 0);
    if (op == NULL)
        return NULL;
    op->desc.flags = rec[MOVE_FLAGS] & 1 ? NOF_DESC_F_WAIT : 0;
    op->desc.peer = peer_of(rec);
    op->desc.tag = tag_of(rec);
    op->desc.addr = 0;
    return op;
}

/* Numbers that compress, more or less. */
static void fill(uint8_t *at, uint64_t bytes, uint8_t seed)
{
    uint64_t v = seed * 0x0101010101010101ull;
    uint64_t i = 0;
    for (; i + sizeof v <= bytes; i += sizeof v) {
        memcpy(at + i, &v, sizeof v);
        v = seed & 1 ? v + seed : v * 0x9e3779b97f4a7c15ull + 1;
    }
    if (i < bytes)
        memcpy(at + i, &v, bytes - i);
}

static struct guard_op *send(struct guard *g, unsigned rank, const uint8_t *rec)
{
    const struct guard_rank *r = &g->rank[rank];
    uint8_t flags = rec[MOVE_FLAGS];
    uint32_t name = rec[MOVE_LAYOUT] % GUARD_LAYOUTS;
    int copied = (flags & 12) == 12;
    int laid = !copied && rec[MOVE_LAYOUT] >= 128 && has_layout(r, name);
    uint64_t len = move_len(rec[MOVE_LEN]);
    uint32_t block = laid ? r->layout[name].block : 0;
    if (laid && len * r->layout[name].stride / block > GUARD_LARGE / 2)
        len = 1000;
    struct guard_op *op =
        guard_take(g, rank, NOF_COMP_SEND, copied ? 0 : len, block, laid ? r->layout[name].stride : 0);
    if (op == NULL)
        return NULL;
    struct nof_desc *d = &op->desc;
    fill(op->base, op->extent, rec[MOVE_ELEM]);
    d->flags = flags & 1 ? NOF_DESC_F_SYNC : 0;
    d->elem = rec[MOVE_ELEM] % NOF_ELEM_COUNT;
    d->peer = peer_of(rec) < 0 ? 1 : peer_of(rec);
    d->tag = tag_of(rec) < 0 ? 0 : tag_of(rec);
    if (flags & 2)
        d->cookie |= 1ull << 63; /* is never parked */
    if (laid) {
        d->flags |= NOF_DESC_F_LAYOUT;
        d->layout = name;
        d->layout_generation = r->layout[name].generation;
    }
    if (copied && len <= NOF_INLINE_BYTES) {
        d->flags |= NOF_DESC_F_INLINE;
        memset(d->inline_data, rec[MOVE_ELEM], sizeof d->inline_data);
        d->len = len;
        if (flags & 1)
            d->cookie |= 1ull << 63; /* parked, it would have to be submitted again from a buffer */
    } else if (copied) {
        d->flags |= NOF_DESC_F_BOUNCE;
        d->addr = (uint64_t)rec[MOVE_SITE] * 8;
        d->len = len < GUARD_AREA - d->addr ? len : GUARD_AREA - d->addr;
    }
    return op;
}

/* Blocks at equal distances, as one op or as loops around one. */
static void layout(struct guard *g, unsigned rank, const uint8_t *rec, int wild)
{
    struct {
        struct nof_layout_head head;
        struct nof_layout_op op[5];
    } p;
    struct guard_rank *r = &g->rank[rank];
    uint32_t name = rec[MOVE_LAYOUT] % GUARD_LAYOUTS;
    uint32_t block = 1 + rec[MOVE_LEN] % 64u, stride = block + rec[MOVE_TAG] % 32u;
    uint32_t count = 1 + rec[MOVE_SITE] % 8u, depth = rec[MOVE_TARGET] % 5u;
    if ((r->layouts | r->layouts_asked) >> name & 1)
        return;
    memset(&p, 0, sizeof p);
    uint64_t each = 1;
    for (uint32_t i = depth + 1; i > 0; i--) { /* from the innermost out */
        struct nof_layout_op *o = &p.op[i - 1];
        o->opcode = i == depth + 1 ? NOF_LAYOUT_BLOCK : NOF_LAYOUT_LOOP;
        o->count = count;
        o->block = i == depth + 1 ? block : depth + 1 - i;
        o->stride = (int64_t)(each * stride);
        each *= count;
    }
    p.head = (struct nof_layout_head){.magic = NOF_LAYOUT_MAGIC,
                                      .nops = depth + 1,
                                      .size = each * block,
                                      .extent = (int64_t)(each * stride)};
    struct nof_desc d = {.opcode = NOF_DESC_LAYOUT,
                         .cookie = name,
                         .layout = name,
                         .layout_generation = ++r->layout[name].generation,
                         .addr = (uint64_t)name * LAYOUT_AREA,
                         .len = sizeof p.head + (depth + 1) * sizeof p.op[0]};
    r->layouts_asked |= 1u << name;
    r->layout[name].block = block;
    r->layout[name].stride = stride;
    uint8_t *at = world_rank(g->w, rank)->program_area + d.addr;
    world_write_program(g->w, rank, d.addr, &p, d.len);
    if (wild && rec[MOVE_WILD] % 4 == 3) { /* then nobody knows what it says */
        at[rec[MOVE_AT] % d.len] ^= rec[MOVE_VALUE];
        r->layout[name].block = r->layout[name].stride = 1;
        world_post(g->w, rank, &d);
        return;
    }
    submit(g, rank, NULL, &d, rec, wild);
}

static void layout_free(struct guard *g, unsigned rank, const uint8_t *rec, int wild)
{
    struct guard_rank *r = &g->rank[rank];
    uint32_t name = rec[MOVE_LAYOUT] % GUARD_LAYOUTS;
    struct nof_desc d = {
        .opcode = NOF_DESC_LAYOUT_FREE, .layout = name, .layout_generation = r->layout[name].generation};
    if (!(r->layouts >> name & 1) && !wild)
        return;
    r->layouts &= ~(1u << name);
    submit(g, rank, NULL, &d, rec, wild);
}

/* The n-th operation of the rank that is under way and ends with one of these. */
static struct guard_op *target(struct guard *g, unsigned rank, uint8_t n, int sends)
{
    for (unsigned i = 0; i < GUARD_OPS; i++) {
        struct guard_op *op = &g->op[(i + n) % GUARD_OPS];
        if (op->state != GUARD_FREE && op->rank == rank && sends == (op->opcode == NOF_COMP_SEND))
            return op;
    }
    return NULL;
}

static void cancel(struct guard *g, unsigned rank, const uint8_t *rec, int sends, int wild)
{
    struct guard_op *op = target(g, rank, rec[MOVE_TARGET], sends);
    struct nof_desc d = {.opcode = sends ? NOF_DESC_SEND_CANCEL : NOF_DESC_CANCEL};
    if (op == NULL)
        return;
    d.cookie = op->desc.cookie;
    if (!sends && g->rank[rank].honest && (op->desc.flags & NOF_DESC_F_CLAIM)) {
        if (guard_claim_take(g, op, false) || op->state == GUARD_TAKEN)
            return;
    }
    if (sends) {
        d.ctx = op->desc.ctx;
        d.peer = op->desc.peer;
        d.tag = op->desc.tag;
    }
    submit(g, rank, NULL, &d, rec, wild);
}

static void revoked(struct guard *g, unsigned rank, const uint8_t *rec, int wild)
{
    struct guard_rank *r = &g->rank[rank];
    unsigned i = rec[MOVE_HANDLE] % GUARD_HEARD;
    if (r->revoked == r->revoke.n && !wild)
        return;
    unsigned k = r->revoked++ % GUARD_HEARD;
    struct nof_desc d = {
        .opcode = NOF_DESC_REVOKED, .cookie = r->revoke.handle[k], .peer = r->revoke.peer[k], .ctx = 1};
    if (i < r->spilled.n && (rec[MOVE_FLAGS] & 1)) {
        d.flags = NOF_DESC_F_GONE;
        d.handle = r->spilled.handle[i];
    }
    submit(g, rank, NULL, &d, rec, wild);
}

static void granted(struct guard *g, unsigned rank, const uint8_t *rec, int wild)
{
    const struct guard_rank *r = &g->rank[rank];
    unsigned i = rec[MOVE_HANDLE] % GUARD_HEARD;
    struct guard_op *op = wild && i < r->granted.n ? send(g, rank, rec) : NULL;
    if (op == NULL)
        return;
    op->desc.flags |= NOF_DESC_F_GRANTED;
    op->desc.handle = r->granted.handle[i];
    submit(g, rank, op, &op->desc, rec, wild);
}

static void small(struct guard *g, unsigned rank, const uint8_t *rec, uint8_t opcode, int wild)
{
    const struct guard_rank *r = &g->rank[rank];
    struct nof_desc d = {.opcode = opcode};
    if (opcode == NOF_DESC_HINT)
        d.callsite = rec[MOVE_SITE] % 8;
    if (opcode == NOF_DESC_FLUSH)
        d.cookie = 0xf1;
    if (opcode == NOF_DESC_SPILL_END) {
        d.spills_seen = r->spills;
        d.nomatches_seen = r->nomatches;
    }
    submit(g, rank, NULL, &d, rec, wild);
}

/* As host A would for itself and for host B: a card of any rank that there is. */
static void introduce(struct guard *g, unsigned rank, const uint8_t *rec, int wild)
{
    struct nof_desc d = {.opcode = NOF_DESC_PEER, .peer = peer_of(rec)};
    if (!wild)
        return;
    memcpy(d.inline_data, &world_rank(g->w, rec[MOVE_TARGET] % WORLD_RANKS)->card, sizeof(struct nof_card));
    submit(g, rank, NULL, &d, rec, wild);
}

/* A reduction or copy: from the sends' bytes to those of the receives. */
static void work(struct nof_program_step *s, uint8_t say, uint64_t bytes)
{
    static const struct {
        uint8_t op, type;
    } some[] = {{NOF_REDUCE_SUM, NOF_REDUCE_F64},
                {NOF_REDUCE_BXOR, NOF_REDUCE_U8},
                {NOF_REDUCE_MINLOC, NOF_REDUCE_F32_I32},
                {NOF_REDUCE_PROD, NOF_REDUCE_C128}};
    s->base = 1;
    s->len = bytes;
    if (s->opcode == NOF_STEP_COPY)
        return;
    s->op = some[say >> 6].op;
    s->elem = some[say >> 6].type;
    s->len -= s->len % nof_reduce_bytes(s->elem);
}

/* Sends, receives, fences, steps of the host, reductions and copies, each with bytes of its own. */
static void program_open(struct guard *g, unsigned rank, const uint8_t *rec, uint32_t name, int wild)
{
    struct {
        struct nof_program_head head;
        struct nof_program_step step[STEPS_MAX];
    } p;
    struct guard_program *mine = &g->rank[rank].program[name];
    uint32_t fence = 0;
    memset(&p, 0, sizeof p);
    p.head = (struct nof_program_head){.magic = NOF_PROGRAM_MAGIC, .nsteps = 1 + rec[MOVE_SITE] % STEPS_MAX};
    mine->nsteps = p.head.nsteps;
    mine->each = move_len(rec[MOVE_LEN]) / p.head.nsteps;
    for (uint32_t i = 0; i < p.head.nsteps; i++) {
        struct nof_program_step *s = &p.step[i];
        uint8_t say = (uint8_t)(rec[MOVE_TARGET] + rec[MOVE_ELEM] * (i + 1u));
        s->after[0] = s->after[1] = NOF_STEP_NONE;
        s->opcode = say % 16 == 15  ? NOF_STEP_HOST
                    : say % 8 == 7  ? NOF_STEP_FENCE
                    : say % 16 == 6 ? NOF_STEP_REDUCE
                    : say % 32 == 5 ? NOF_STEP_COPY
                                    : 1 + say % 2;
        if (s->opcode == NOF_STEP_FENCE) {
            fence = i + 1;
            continue;
        }
        if (i > fence && (say & 32))
            s->after[say >> 7] = (uint16_t)(fence + say % (i - fence));
        if (s->opcode == NOF_STEP_HOST && (say & 64)) {
            s->flags = say & 1 ? NOF_STEP_F_AWAITS | NOF_STEP_F_SENDS : NOF_STEP_F_AWAITS;
            s->peer = (int32_t)((say >> 4) % SIZE);
        }
        if (s->opcode == NOF_STEP_HOST)
            continue;
        s->offset = (int64_t)(i * mine->each);
        if (s->opcode == NOF_STEP_REDUCE || s->opcode == NOF_STEP_COPY) {
            s->from = s->offset;
            work(s, say, mine->each);
            continue;
        }
        s->flags = say & 64 ? NOF_STEP_F_EXACT : 0;
        s->base = s->opcode == NOF_STEP_RECV;
        s->peer = (int32_t)((say >> 2) % SIZE);
        s->len = mine->each;
    }
    struct nof_desc d = {
        .opcode = NOF_DESC_SCHED_OPEN,
        .cookie = name,
        .len = sizeof p.head + p.head.nsteps * sizeof p.step[0],
        .sched = {.name = name, .generation = ++mine->generation, .base = {PROGRAM_AREA + name * sizeof p}}};
    uint8_t *at = world_rank(g->w, rank)->program_area + d.sched.base[0];
    world_write_program(g->w, rank, d.sched.base[0], &p, (size_t)d.len);
    if (wild && rec[MOVE_WILD] % 4 == 3)
        at[rec[MOVE_AT] % d.len] ^= rec[MOVE_VALUE];
    mine->state = GUARD_ASKED;
    submit(g, rank, NULL, &d, rec, wild && rec[MOVE_WILD] % 4 != 3);
}

static bool take_buffers(struct guard *g, unsigned rank, struct guard_program *mine, uint64_t bytes, int wild)
{
    struct guard_op *send = guard_take(g, rank, NOF_COMP_SEND, bytes, 0, 0);
    if (send == NULL)
        return false;
    send->state = GUARD_LIVE; /* so that its memory is taken */
    struct guard_op *recv = guard_take(g, rank, NOF_COMP_RECV, bytes, 0, 0);
    if (recv == NULL) {
        send->state = GUARD_FREE;
        return false;
    }
    recv->state = GUARD_LIVE;
    recv->read = 1;
    recv->anywhere = send->anywhere = wild != 0;
    mine->cookie = send->desc.cookie = recv->desc.cookie;
    mine->send = send;
    mine->recv = recv;
    return true;
}

static void program_start(struct guard *g, unsigned rank, const uint8_t *rec, uint32_t name, int wild)
{
    struct guard_program *mine = &g->rank[rank].program[name];
    uint64_t bytes = mine->each * mine->nsteps;
    if ((mine->send == NULL || !wild) && !take_buffers(g, rank, mine, bytes, wild))
        return;
    if (bytes <= mine->send->extent)
        fill(mine->send->base, bytes, rec[MOVE_ELEM]);
    struct nof_desc d = {.opcode = NOF_DESC_SCHED_START,
                         .agreed = rec[MOVE_ELEM] >> 6,
                         .ctx = 1,
                         .cookie = mine->cookie,
                         .tag = tag_of(rec) < 0 ? 0 : tag_of(rec),
                         .sched = {.name = name, .generation = mine->generation}};
    d.sched.base[0] = (uint64_t)(uintptr_t)mine->send->base;
    d.sched.base[1] = (uint64_t)(uintptr_t)mine->recv->base;
    mine->state = GUARD_RUNS;
    submit(g, rank, NULL, &d, rec, wild);
}

/* A step that the host was asked to do is done, if the schedule still runs. */
static void program_continue(struct guard *g, unsigned rank, const uint8_t *rec, int wild)
{
    struct guard_rank *r = &g->rank[rank];
    uint64_t *handle = &r->hosted.handle[rec[MOVE_HANDLE] % GUARD_HEARD];
    for (uint32_t name = 0; name < GUARD_PROGRAMS; name++) {
        const struct guard_program *p = &r->program[name];
        struct nof_desc d = {
            .opcode = NOF_DESC_SCHED_CONTINUE,
            .sched = {.name = name, .generation = p->generation, .base = {*handle & 0xffff}}};
        if (p->state != GUARD_RUNS || p->cookie != *handle >> 16)
            continue;
        if (rec[MOVE_FLAGS] % 4 == 3)
            d.sched.base[1] = (uint64_t)(int64_t)NOF_ETRUNC;
        *handle = 0;
        submit(g, rank, NULL, &d, rec, wild);
        return;
    }
}

static void program(struct guard *g, unsigned rank, const uint8_t *rec, int wild)
{
    uint32_t name = rec[MOVE_LAYOUT] % GUARD_PROGRAMS;
    struct guard_program *p = &g->rank[rank].program[name];
    struct nof_desc d = {.sched = {.name = name, .generation = p->generation}};
    switch (p->state) {
    case GUARD_NO_PROGRAM:
        program_open(g, rank, rec, name, wild);
        break;
    case GUARD_OPEN:
        if (rec[MOVE_FLAGS] < 200) {
            program_start(g, rank, rec, name, wild);
            break;
        }
        d.opcode = NOF_DESC_SCHED_FREE;
        p->state = GUARD_NO_PROGRAM;
        submit(g, rank, NULL, &d, rec, wild);
        break;
    case GUARD_RUNS:
        d.opcode = NOF_DESC_SCHED_CANCEL;
        if (rec[MOVE_FLAGS] < 16) { /* told of it by another way, while the NIC goes on */
            d = (struct nof_desc){.opcode = NOF_DESC_COLL_ABORT,
                                  .ctx = 1,
                                  .peer = rec[MOVE_HANDLE] % SIZE,
                                  .tag = tag_of(rec) < 0 ? 0 : tag_of(rec),
                                  .len = rec[MOVE_AT] % 2,
                                  .sched = {.name = world_rank(g->w, rank)->job_rank}};
            d.sched.base[0] = (uint64_t)(int64_t)(rec[MOVE_FLAGS] & 1 ? NOF_EAGAIN : NOF_EFAULT);
            d.agreed = rec[MOVE_ELEM] % 3;
        } else if (rec[MOVE_FLAGS] < 40) {
            d.sched.base[0] = (uint64_t)(int64_t)NOF_EPEERDEAD;
            d.sched.base[1] = rec[MOVE_AT] % SIZE;
        }
        if (rec[MOVE_FLAGS] < 64)
            submit(g, rank, NULL, &d, rec, wild);
        else
            program_continue(g, rank, rec, wild);
        break;
    default: /* it waits for its answer */
        break;
    }
}

/* Of two ranks mostly; with `wild` of anybody. */
static void group_open(struct guard *g, unsigned rank, const uint8_t *rec, uint32_t name, int wild)
{
    struct guard_group *group = &g->rank[rank].group[name];
    uint8_t *at = world_rank(g->w, rank)->program_area + GROUP_AREA;
    uint32_t n = rec[MOVE_SITE] < 200 ? 2 : 2 + rec[MOVE_SITE] % 3u;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t member = (rec[MOVE_FLAGS] % 2u + i * (1 + rec[MOVE_FLAGS] / 128u)) % SIZE;
        world_write_program(g->w, rank, GROUP_AREA + (size_t)4 * i, &member, sizeof member);
    }
    if (wild && rec[MOVE_WILD] % 4 == 3)
        at[rec[MOVE_AT] % (4 * n)] ^= rec[MOVE_VALUE];
    struct nof_desc d = {.opcode = NOF_DESC_GROUP_OPEN,
                         .ctx = MOVES_GROUP_CTX + name,
                         .cookie = name,
                         .len = (uint64_t)4 * n,
                         .sched = {.name = name, .generation = 1, .base = {GROUP_AREA}}};
    group->state = GUARD_ASKED;
    group->number = 2;
    submit(g, rank, NULL, &d, rec, wild && rec[MOVE_WILD] % 4 != 3);
}

static void group_transfer(struct guard *g, unsigned rank, const uint8_t *rec, struct guard_group *group,
                           int wild)
{
    bool sends = rec[MOVE_FLAGS] & 2;
    struct guard_op *op =
        guard_take(g, rank, sends ? NOF_COMP_GROUP_SEND : NOF_COMP_GROUP_RECV, move_len(rec[MOVE_LEN]), 0, 0);
    if (op == NULL)
        return;
    if (sends)
        fill(op->base, op->extent, rec[MOVE_ELEM]);
    op->desc.addr = 0;
    op->desc.sched.name = (uint32_t)(group - g->rank[rank].group);
    op->desc.sched.generation = group->number++;
    op->desc.sched.base[0] = (uint64_t)(uintptr_t)op->base;
    op->desc.peer = rec[MOVE_PEER] % SIZE;
    submit(g, rank, op, &op->desc, rec, wild);
}

static void group(struct guard *g, unsigned rank, const uint8_t *rec, int wild)
{
    uint32_t name = rec[MOVE_LAYOUT] % GUARD_GROUPS;
    struct guard_group *mine = &g->rank[rank].group[name];
    if (mine->state == GUARD_NO_PROGRAM) {
        group_open(g, rank, rec, name, wild);
    } else if (rec[MOVE_FLAGS] >= 240) {
        struct nof_desc d = {.opcode = NOF_DESC_GROUP_CLOSE, .sched = {.name = name}};
        mine->state = GUARD_NO_PROGRAM;
        submit(g, rank, NULL, &d, rec, wild);
    } else if (mine->state == GUARD_OPEN || wild) {
        group_transfer(g, rank, rec, mine, wild);
    }
}

static struct guard_op *delta_recv(struct guard *g, unsigned rank, const uint8_t *rec)
{
    struct guard_op *op = recv(g, rank, rec);
    if (op == NULL)
        return NULL;
    op->desc.flags |= NOF_DESC_F_DELTA;
    op->desc.handle = nof_delta_handle(move_slot(rec[MOVE_SITE]), rec[MOVE_TARGET] == 255);
    return op;
}

static struct guard_op *delta_send(struct guard *g, unsigned rank, const uint8_t *rec, int wild)
{
    uint8_t say[RECORD_BYTES];
    uint32_t slot = move_slot(rec[MOVE_SITE]);
    memcpy(say, rec, sizeof say);
    if (!wild)
        say[MOVE_FLAGS] &= 0xf3; /* from its buffer */
    struct guard_op *op = send(g, rank, say);
    if (op == NULL)
        return NULL;
    op->desc.flags |= NOF_DESC_F_DELTA;
    op->desc.handle = nof_delta_handle(slot, move_unit_log2(rec[MOVE_TARGET], op->desc.len));
    if (slot < NOF_DELTA_SLOTS && !(rec[MOVE_HANDLE] & 1))
        memset(&world_rank(g->w, rank)->delta_host->ready[slot], 0, sizeof(struct nof_delta_ready));
    return op;
}

/* Delta messages: descriptors, and the host's board, where anything may stand at any time. */
static void delta(struct guard *g, unsigned rank, const uint8_t *rec, int wild)
{
    struct guard_op *op = NULL;
    g->deltas = true;
    world_rank(g->w, rank)->delta_used = 1;
    switch (rec[MOVE_WHAT] - DELTA_WHAT) {
    case 0:
    case 1:
        op = delta_recv(g, rank, rec);
        break;
    case 2:
    case 3:
        op = delta_send(g, rank, rec, wild);
        break;
    default:
        move_board(world_rank(g->w, rank)->delta_host, rec);
        break;
    }
    if (op != NULL)
        submit(g, rank, op, &op->desc, rec, wild);
}

/* The host takes the next one that it can, from the record's on. */
static void take(struct guard *g, unsigned rank, const uint8_t *rec)
{
    for (unsigned i = 0; i < GUARD_OPS_A; i++) {
        struct guard_op *op = &g->op[(i + rec[MOVE_TARGET]) % GUARD_OPS_A];
        if (op->rank == rank && guard_claim_take(g, op, rec[MOVE_FLAGS] % 4 != 0))
            return;
    }
}

/* A hostile host writes what it likes into its words. */
static void scribble(struct guard *g, unsigned rank, const uint8_t *rec)
{
    uint64_t *word = &world_rank(g->w, rank)->claims.word[rec[MOVE_SITE] % GUARD_CLAIMS];
    if (rec[MOVE_FLAGS] & 1)
        *word = (*word & ~3ull) | rec[MOVE_TARGET] % 4u;
    else
        *word ^= (uint64_t)rec[MOVE_TARGET] << rec[MOVE_HANDLE] % 57u;
}

/* Receives that the host may serve as well. */
static void claims(struct guard *g, unsigned rank, const uint8_t *rec, int wild)
{
    struct guard_op *op = NULL;
    switch (rec[MOVE_WHAT] - CLAIM_WHAT) {
    case 0:
    case 1:
    case 2:
        op = recv(g, rank, rec);
        break;
    case 3:
        op = probe(g, rank, rec, NOF_COMP_MPROBE);
        break;
    case 4:
    case 5:
        take(g, rank, rec);
        break;
    case 6:
        g->steals = 1 + rec[MOVE_SITE] % 4u;
        break;
    default:
        if (wild)
            scribble(g, rank, rec);
        break;
    }
    if (op == NULL || !guard_claim_open(g, op))
        return;
    if (op->opcode == NOF_COMP_MPROBE)
        op->desc.flags |= NOF_DESC_F_WAIT;
    submit(g, rank, op, &op->desc, rec, wild);
}

void move(struct guard *g, unsigned rank, const uint8_t rec[RECORD_BYTES], int wild)
{
    struct guard_op *op = NULL;
    uint8_t what = rec[MOVE_WHAT];
    guard_claim_cancel(g, rank); /* ahead of what it does next */
    if (what >= CLAIM_WHAT) {
        (what >= PROGRAM_WHAT ? program
         : what >= GROUP_WHAT ? group
         : what >= DELTA_WHAT ? delta
                              : claims)(g, rank, rec, wild);
        return;
    }
    switch (what % 24) {
    case 0:
    case 1:
    case 2:
    case 3:
        op = recv(g, rank, rec);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        op = send(g, rank, rec);
        break;
    case 8:
        op = probe(g, rank, rec, NOF_COMP_PROBE);
        break;
    case 9:
    case 10:
        op = probe(g, rank, rec, NOF_COMP_MPROBE);
        break;
    case 11:
        op = by_handle(g, rank, rec, NOF_DESC_MRECV, &g->rank[rank].probed);
        break;
    case 12:
    case 13:
        op = by_handle(g, rank, rec, NOF_DESC_PULL, &g->rank[rank].spilled);
        break;
    case 14:
    case 15:
        cancel(g, rank, rec, what % 24 == 15, wild);
        break;
    case 16:
        small(g, rank, rec, NOF_DESC_FLUSH, wild);
        break;
    case 17:
        layout(g, rank, rec, wild);
        break;
    case 18:
        layout_free(g, rank, rec, wild);
        break;
    case 19:
        small(g, rank, rec, NOF_DESC_HINT, wild);
        break;
    case 20:
        small(g, rank, rec, NOF_DESC_SPILL_END, wild);
        break;
    case 21:
        revoked(g, rank, rec, wild);
        break;
    case 22:
        granted(g, rank, rec, wild);
        break;
    default:
        introduce(g, rank, rec, wild);
        break;
    }
    if (op != NULL)
        submit(g, rank, op, &op->desc, rec, wild);
}
