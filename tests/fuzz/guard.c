/* SPDX-License-Identifier: BSD-3-Clause */
#include "guard.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard_claim.h"
#include "guard_delta.h"
#include "guard_innocent.h"
#include "nic.h"
#include "transport/state.h"

#define US 1000ull
#define MS 1000000ull
#define TURN_CALLS 20000u /* of the core to port and hosts in one moment: far beyond what honest work needs */
#define SECRET_SUM 0xb5297a4d3f84d5b5ull
#define UNTOUCHED 0x55

/* What looks at secrets is not instrumented: libFuzzer would learn them and put them into inputs. */
#if defined(__clang__)
#define UNSEEN __attribute__((no_sanitize("coverage")))
#define UNCHECKED __attribute__((no_sanitize("coverage", "address", "undefined")))
#else
#define UNSEEN
#define UNCHECKED
#endif

void guard_fail(const char *what, ...)
{
    va_list ap;
    va_start(ap, what);
    fprintf(stderr, "guard: ");
    vfprintf(stderr, what, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    abort();
}

UNSEEN static uint64_t secret(void)
{
    volatile uint64_t a = 0x243f6a8885a308d3ull;
    return (a ^ SECRET_SUM) * 0x9e3779b97f4a7c15ull;
}

UNSEEN void guard_fill_secret(uint8_t *at, size_t bytes)
{
    uint64_t s = secret();
    size_t i = 0;
    for (; i + sizeof s <= bytes; i += sizeof s)
        memcpy(at + i, &s, sizeof s);
    memcpy(at + i, &s, bytes - i);
}

/* Where eight bytes are the word, whatever lies around them, one of the whole four at a multiple of four is one of these:
 * so few of other bytes are that looking closer costs nothing. What is looked at is all readable: guard_no_secret(). */
UNCHECKED static uint32_t might_hold_secret(const uint8_t *at, size_t words)
{
    uint64_t s = secret();
    const uint32_t a = (uint32_t)s, b = (uint32_t)(s >> 8), c = (uint32_t)(s >> 16), d = (uint32_t)(s >> 24);
    uint32_t found = 0;
    for (size_t i = 0; i < words; i++) {
        uint32_t v;
        __builtin_memcpy(&v, at + 4 * i, sizeof v);
        found |= (v == a) | (v == b) | (v == c) | (v == d);
    }
    return found;
}

UNSEEN static int holds_secret(const uint8_t *at, size_t bytes)
{
    uint64_t s = secret(), v;
    if (bytes < sizeof s || !might_hold_secret(at, bytes / 4))
        return 0;
    for (size_t i = 0; i + sizeof s <= bytes; i++) {
        memcpy(&v, at + i, sizeof v);
        if (v == s)
            return 1;
    }
    return 0;
}

void guard_no_secret(const uint8_t *at, size_t bytes, const char *where)
{
    if (holds_secret(at, bytes))
        guard_fail("a secret is in %s", where);
}

static void stale(void *ctx, uint8_t *at, size_t bytes)
{
    (void)ctx;
    guard_fill_secret(at, bytes);
}

static bool is_recv(const struct guard_op *op)
{
    return op->opcode == NOF_COMP_RECV || op->opcode == NOF_COMP_GROUP_RECV;
}

static struct guard_op *find(struct guard *g, unsigned rank, uint8_t opcode, uint64_t cookie, unsigned *count)
{
    struct guard_op *found = NULL;
    *count = 0;
    for (unsigned i = 0; i < GUARD_OPS; i++) {
        struct guard_op *op = &g->op[i];
        if (op->state == GUARD_FREE || op->rank != rank || op->opcode != opcode || op->desc.cookie != cookie)
            continue;
        if (found == NULL)
            found = op;
        (*count)++;
    }
    return found;
}

static bool small_is_free(const struct guard *g, unsigned rank, const uint8_t *at)
{
    for (unsigned i = 0; i < GUARD_OPS; i++)
        if (g->op[i].state != GUARD_FREE && g->op[i].rank == rank && g->op[i].base == at)
            return false;
    return !world_dma_touches(g->w, rank, 1, at, 1) && !world_dma_touches(g->w, rank, 0, at, 1);
}

static uint8_t *memory(const struct guard *g, unsigned rank, uint64_t extent)
{
    uint8_t *arena = world_rank(g->w, rank)->arena;
    uint8_t *large = arena + (size_t)GUARD_SMALLS * GUARD_SMALL;
    if (extent > GUARD_SMALL)
        return extent <= GUARD_LARGE && small_is_free(g, rank, large) ? large : NULL;
    for (unsigned i = 0; i < GUARD_SMALLS; i++)
        if (small_is_free(g, rank, arena + (size_t)i * GUARD_SMALL))
            return arena + (size_t)i * GUARD_SMALL;
    return NULL;
}

static struct guard_op *op_free(struct guard *g)
{
    for (unsigned i = 0; i < GUARD_OPS_A; i++) {
        struct guard_op *op = &g->op[g->next_op++ % GUARD_OPS_A];
        if (op->state == GUARD_FREE)
            return op;
    }
    return NULL;
}

struct guard_op *guard_take(struct guard *g, unsigned rank, uint8_t opcode, uint64_t len, uint32_t block,
                            uint32_t stride)
{
    struct guard_op *op = op_free(g);
    uint64_t extent = block == 0 ? len : (len + block - 1) / block * stride;
    if (op == NULL)
        return NULL;
    uint8_t *at = memory(g, rank, extent);
    if (at == NULL)
        return NULL;
    *op = (struct guard_op){.opcode = opcode,
                            .rank = (uint16_t)rank,
                            .block = block,
                            .stride = stride,
                            .base = at,
                            .len = len,
                            .extent = extent};
    op->desc = (struct nof_desc){.opcode = opcode,
                                 .ctx = 1,
                                 .cookie = 0x100u + g->serial++,
                                 .len = len,
                                 .addr = (uint64_t)(uintptr_t)at};
    if (!is_recv(op))
        world_touch(g->w, rank, at, extent); /* its host fills it */
    return op;
}

void guard_post(struct guard *g, struct guard_op *op)
{
    op->state = GUARD_LIVE;
    if (!g->rank[op->rank].honest && (op->desc.flags & NOF_DESC_F_LAYOUT))
        op->anywhere = 1; /* a hostile host may have given it another meaning */
    guard_delta_post(g, op);
    world_post(g->w, op->rank, &op->desc);
}

/* What a descriptor that may be anything can begin. */
static uint8_t ends_with(const struct nof_desc *d)
{
    switch (d->opcode) {
    case NOF_DESC_RECV:
    case NOF_DESC_MRECV:
    case NOF_DESC_PULL:
        return NOF_COMP_RECV;
    case NOF_DESC_SEND:
    case NOF_DESC_GROUP_SEND:
    case NOF_DESC_GROUP_RECV:
        return d->opcode;
    default:
        return 0;
    }
}

void guard_post_raw(struct guard *g, unsigned rank, const struct nof_desc *d)
{
    uint8_t opcode = ends_with(d);
    struct guard_op *op = opcode != 0 ? op_free(g) : NULL;
    if (opcode != 0 && op == NULL)
        return;
    if (op != NULL) {
        *op = (struct guard_op){.state = GUARD_LIVE,
                                .opcode = opcode,
                                .rank = (uint16_t)rank,
                                .anywhere = (d->flags & NOF_DESC_F_LAYOUT) != 0,
                                .len = d->len,
                                .extent = d->len,
                                .desc = *d};
        const uint64_t *addr = opcode >= NOF_COMP_GROUP_SEND ? &d->sched.base[0] : &d->addr;
        memcpy(&op->base, addr, sizeof op->base);
    }
    world_post(g->w, rank, d);
}

/* Does the piece lie in the buffer of this operation? */
static bool within(const struct guard_op *op, const struct nof_segment *seg)
{
    uint64_t off = seg->addr - (uint64_t)(uintptr_t)op->base;
    if (op->anywhere)
        return true;
    if (off > op->extent || seg->len_bytes > op->extent - off)
        return false;
    return op->block == 0 || op->block == op->stride || off % op->stride + seg->len_bytes <= op->block;
}

static bool owns(const struct guard_op *op, unsigned rank, int write, const struct nof_segment *seg)
{
    if ((op->state != GUARD_LIVE && op->state != GUARD_TAKEN) || op->rank != rank || !guard_claim_is_won(op))
        return false;
    bool sends = op->opcode == NOF_COMP_SEND || op->opcode == NOF_COMP_GROUP_SEND;
    return (write ? is_recv(op) : sends || op->read) && within(op, seg);
}

/* Mostly that of the piece before. */
static struct guard_op *owner(struct guard *g, unsigned rank, int write, const struct nof_segment *seg)
{
    uint8_t *last = &g->rank[rank].owner[write != 0];
    if (owns(&g->op[*last], rank, write, seg))
        return &g->op[*last];
    for (unsigned i = 0; i < GUARD_OPS; i++)
        if (owns(&g->op[i], rank, write, seg)) {
            *last = (uint8_t)i;
            return &g->op[i];
        }
    return NULL;
}

static void turn(struct guard *g)
{
    if (g->turn != world_now(g->w))
        g->calls = 0;
    g->turn = world_now(g->w);
    if (++g->calls > TURN_CALLS)
        guard_fail("the core makes %u calls in one moment", g->calls);
}

/* A byte of g->dma: its low three bits say what happens to one request in `upper bits + 1`. */
enum world_dma guard_fate(struct guard *g, int write)
{
    static const enum world_dma how[] = {WORLD_DMA_DO,    WORLD_DMA_BUSY,  WORLD_DMA_BROKEN, WORLD_DMA_FAILS,
                                         WORLD_DMA_NEVER, WORLD_DMA_FAILS, WORLD_DMA_DO,     WORLD_DMA_BUSY};
    uint8_t b = g->dma[write];
    return g->dmas++ % ((b >> 3) + 1u) == 0 ? how[b & 7] : WORLD_DMA_DO;
}

static enum world_dma on_dma(void *ctx, unsigned rank, int write, const struct nof_segment *seg,
                             unsigned nseg, const struct nof_buf *buf, unsigned nbuf)
{
    struct guard *g = ctx;
    turn(g);
    guard_delta_look(g);
    if (world_rank(g->w, rank)->closing)
        guard_fail("a DMA request of rank %u after its end", rank);
    if (g->rank[rank].job == GUARD_JOB_A)
        for (unsigned i = 0; write && i < nbuf; i++)
            guard_no_secret(buf[i].base, buf[i].len_bytes, "a DMA write of job A");
    for (unsigned i = 0; i < nseg; i++)
        if (owner(g, rank, write, &seg[i]) == NULL)
            guard_fail("rank %u: %llu bytes %s at arena + %lld, where nothing is %s", rank,
                       (unsigned long long)seg[i].len_bytes, write ? "written" : "read",
                       (long long)(seg[i].addr - (uint64_t)(uintptr_t)world_rank(g->w, rank)->arena),
                       write ? "posted" : "sent");
    enum world_dma how = g->rank[rank].job == GUARD_JOB_A ? guard_fate(g, write) : WORLD_DMA_DO;
    int done = how == WORLD_DMA_DO || how == WORLD_DMA_NEVER; /* what cannot be pending is done in any case */
    for (unsigned i = 0; write && done && i < nseg; i++) {
        struct guard_op *op = owner(g, rank, write, &seg[i]);
        guard_delta_written(g, op, &seg[i]);
        op->written += seg[i].len_bytes;
        if (op->written > op->len && !op->anywhere && g->rank[rank].honest)
            guard_fail("rank %u: a receive of %llu bytes is written twice", rank,
                       (unsigned long long)op->len);
    }
    return how;
}

static void hear(struct guard_heard *h, uint64_t handle, int32_t peer)
{
    h->handle[h->n % GUARD_HEARD] = handle;
    h->peer[h->n % GUARD_HEARD] = peer;
    h->n++;
}

static void on_staged(struct guard *g, unsigned rank, const struct nof_comp *c)
{
    struct guard_rank *r = &g->rank[rank];
    const struct world_rank *wr = world_rank(g->w, rank);
    if (c->staged_offset > wr->staging_bytes || c->staged_len > wr->staging_bytes - c->staged_offset)
        guard_fail("rank %u: %u staged bytes at %u of %zu", rank, c->staged_len, c->staged_offset,
                   wr->staging_bytes);
    for (unsigned i = 0; i < r->nheld; i++)
        if (c->staged_offset < r->held[i].offset + r->held[i].len &&
            r->held[i].offset < c->staged_offset + c->staged_len)
            guard_fail("rank %u: two completions are staged at %u", rank, c->staged_offset);
    if (r->job == GUARD_JOB_A)
        guard_no_secret(wr->staging + c->staged_offset, c->staged_len, "job A's staging area");
    if (r->nheld < GUARD_HELD) {
        r->held[r->nheld].offset = c->staged_offset;
        r->held[r->nheld++].len = c->staged_len;
    }
}

/* May a request in the buffer of this one be that of another? A hostile host can give a buffer twice. */
static bool shared(const struct guard *g, const struct guard_op *op)
{
    for (unsigned i = 0; i < GUARD_OPS; i++) {
        const struct guard_op *other = &g->op[i];
        uint64_t ahead = (uint64_t)((uintptr_t)other->base - (uintptr_t)op->base);
        uint64_t behind = (uint64_t)((uintptr_t)op->base - (uintptr_t)other->base);
        if (other->state == GUARD_LIVE && other->rank == op->rank && is_recv(other) == is_recv(op) &&
            (other->anywhere || ahead < op->extent || behind < other->extent))
            return true;
    }
    return false;
}

/* The operation is over: nothing of it may be under way. */
static void over(struct guard *g, struct guard_op *op)
{
    int write = is_recv(op);
    op->state = GUARD_FREE;
    if (!g->rank[op->rank].honest && shared(g, op))
        return;
    if (!op->anywhere && op->extent > 0 && world_dma_touches(g->w, op->rank, write, op->base, op->extent))
        guard_fail("rank %u: a %s ends while its buffer is still %s", op->rank, write ? "receive" : "send",
                   write ? "written" : "read");
}

static void check_recv(const struct guard *g, const struct guard_op *op, const struct nof_comp *c)
{
    uint64_t want = c->len < op->len ? c->len : op->len;
    if (!g->rank[op->rank].honest)
        return;
    bool group = op->opcode == NOF_COMP_GROUP_RECV; /* of equal lengths, or ETRUNC */
    if (c->status == NOF_OK && (group ? c->len != op->len : c->len > op->len))
        guard_fail("%llu bytes fit %llu", (unsigned long long)c->len, (unsigned long long)op->len);
    if (c->status == NOF_ETRUNC && c->len <= op->len && !group)
        guard_fail("%llu bytes do not fit %llu", (unsigned long long)c->len, (unsigned long long)op->len);
    if (c->status != NOF_OK && c->status != NOF_ETRUNC)
        return;
    if ((c->flags & NOF_COMP_F_STAGED) && c->staged_len != want)
        guard_fail("%u bytes are staged of %llu", c->staged_len, (unsigned long long)want);
    if ((c->flags & (NOF_COMP_F_STAGED | NOF_COMP_F_INLINE)) == 0 && op->written != want)
        guard_fail("%llu bytes were written of %llu", (unsigned long long)op->written,
                   (unsigned long long)want);
    if ((c->flags & NOF_COMP_F_INLINE) && want > NOF_INLINE_BYTES)
        guard_fail("%llu bytes are inline", (unsigned long long)want);
}

/* A completion that ends an operation of ours. */
static void on_end(struct guard *g, unsigned rank, const struct nof_comp *c)
{
    unsigned count;
    struct guard_op *op = find(g, rank, c->opcode, c->cookie, &count);
    if (op == NULL && g->rank[rank].honest)
        guard_fail("rank %u: opcode %u ends cookie %llx, which is not under way", rank, c->opcode,
                   (unsigned long long)c->cookie);
    if (op == NULL)
        return;
    if (count == 1) {
        if (guard_claim_end(g, op, c))
            return;
        if (is_recv(op)) {
            check_recv(g, op, c);
            guard_delta_end(g, op, c);
        }
        over(g, op);
        return;
    }
    if (++op->ends < count)
        return; /* which one it was cannot be told */
    while ((op = find(g, rank, c->opcode, c->cookie, &count)) != NULL)
        op->state = GUARD_FREE;
}

static void on_park(struct guard *g, unsigned rank, const struct nof_comp *c)
{
    unsigned count;
    struct guard_op *op = find(g, rank, NOF_COMP_SEND, c->cookie, &count);
    if (op == NULL || op->state != GUARD_LIVE) {
        if (g->rank[rank].honest)
            guard_fail("rank %u: a send is parked that is not under way", rank);
        return;
    }
    g->was_parked[c->cookie % GUARD_SERIALS] = 1;
    if (count == 1) {
        over(g, op);
        op->state = GUARD_PARKED;
    }
}

static void on_grant(struct guard *g, unsigned rank, const struct nof_comp *c)
{
    unsigned count;
    struct guard_op *op = find(g, rank, NOF_COMP_SEND, c->cookie, &count);
    if (op != NULL && op->state == GUARD_PARKED)
        op->granted = 1;
}

static void on_cancel(struct guard *g, unsigned rank, const struct nof_comp *c)
{
    unsigned count;
    for (uint8_t opcode = NOF_COMP_RECV; c->opcode == NOF_COMP_CANCEL && opcode <= NOF_COMP_MPROBE;
         opcode++) {
        struct guard_op *op = find(g, rank, opcode, c->cookie, &count);
        if (op == NULL || count > 1 || opcode == NOF_COMP_CANCEL || op->state != GUARD_TAKEN || !op->told)
            continue;
        guard_claim_cancelled(g, op, c);
        over(g, op);
        return;
    }
    if (c->status != NOF_OK)
        return;
    for (uint8_t opcode = NOF_COMP_RECV; c->opcode == NOF_COMP_CANCEL && opcode <= NOF_COMP_MPROBE;
         opcode++) {
        struct guard_op *op = find(g, rank, opcode, c->cookie, &count);
        if (op == NULL || count > 1 || opcode == NOF_COMP_CANCEL)
            continue;
        over(g, op);
        return;
    }
    struct guard_op *op = find(g, rank, NOF_COMP_SEND, c->cookie, &count);
    if (c->opcode == NOF_COMP_SEND_CANCEL && op != NULL && op->granted)
        return; /* a peer NIC says both: it ends by its completion */
    if (c->opcode == NOF_COMP_SEND_CANCEL && op == NULL && g->was_parked[c->cookie % GUARD_SERIALS])
        return; /* likewise, and it has ended; or it is cancelled twice: its NIC knows it no longer */
    if (c->opcode == NOF_COMP_SEND_CANCEL && op != NULL && count == 1)
        over(g, op);
    else if (g->rank[rank].honest)
        guard_fail("rank %u: cookie %llx is cancelled, which is not under way", rank,
                   (unsigned long long)c->cookie);
}

static void on_peer_dead(struct guard *g, unsigned rank, const struct nof_comp *c)
{
    uint64_t bit = c->peer >= 0 && c->peer < 64 ? 1ull << c->peer : 0;
    if (g->rank[rank].dead & bit)
        guard_fail("rank %u: the death of %d is told twice", rank, c->peer);
    g->rank[rank].dead |= bit;
    if (g->rank[rank].job == GUARD_JOB_B)
        guard_fail("job B: rank %u hears that %d is dead, status %d", rank, c->peer, c->status);
}

static void on_open(struct guard_rank *r, const struct nof_comp *c)
{
    struct guard_program *p = &r->program[c->cookie % GUARD_PROGRAMS];
    if (p->state == GUARD_ASKED)
        p->state = c->status == NOF_OK ? GUARD_OPEN : GUARD_NO_PROGRAM;
}

static void on_group(struct guard_rank *r, const struct nof_comp *c)
{
    uint8_t *state = &r->group[c->cookie % GUARD_GROUPS].state;
    bool opens = c->opcode == NOF_COMP_GROUP_OPEN && c->handle == 0;
    if (*state == GUARD_ASKED)
        *state = c->status != NOF_OK ? GUARD_NO_PROGRAM : opens ? GUARD_ASKED : GUARD_OPEN;
}

/* All receives of a schedule are over; where it was declined or went well its sends are, too. */
static void on_schedule(struct guard *g, unsigned rank, const struct nof_comp *c)
{
    unsigned count;
    struct guard_op *recv = find(g, rank, NOF_COMP_RECV, c->cookie, &count);
    struct guard_op *send = find(g, rank, NOF_COMP_SEND, c->cookie, &count);
    bool sends_over = c->status == NOF_OK || (c->flags & NOF_COMP_F_DECLINED);
    for (unsigned i = 0; i < GUARD_PROGRAMS; i++) {
        struct guard_program *p = &g->rank[rank].program[i];
        if (p->state == GUARD_RUNS && p->cookie == c->cookie)
            p->state = GUARD_OPEN;
    }
    if (!g->rank[rank].honest)
        return; /* whose completion it is cannot be told, nor what its programs are: they may touch anything to the end */
    if (recv == NULL || send == NULL)
        guard_fail("rank %u: a schedule ends that does not run", rank);
    over(g, recv);
    if (sends_over)
        over(g, send);
}

/* Did the operation of this completion wait for a message? */
static bool waits(struct guard *g, unsigned rank, const struct nof_comp *c)
{
    unsigned count;
    const struct guard_op *op = find(g, rank, c->opcode, c->cookie, &count);
    return op != NULL && op->desc.opcode != NOF_DESC_SEND &&
           (op->desc.opcode == NOF_DESC_RECV || (op->desc.flags & NOF_DESC_F_WAIT));
}

/* Called while the completion is given: nothing of what it ends may follow. */
static void on_comp(void *ctx, unsigned rank, const struct nof_comp *c)
{
    struct guard *g = ctx;
    struct guard_rank *r = &g->rank[rank];
    turn(g);
    if (world_rank(g->w, rank)->closing)
        guard_fail("rank %u: completion %u after its end", rank, c->opcode);
    if (r->job == GUARD_JOB_A)
        guard_no_secret((const uint8_t *)c, sizeof *c, "a completion of job A");
    if (c->flags & NOF_COMP_F_STAGED)
        on_staged(g, rank, c);
    switch (c->opcode) {
    case NOF_COMP_RECV:
    case NOF_COMP_PROBE:
    case NOF_COMP_MPROBE:
        r->nomatches += c->status == NOF_ENOMATCH && waits(g, rank, c);
        if (c->opcode == NOF_COMP_MPROBE && c->status == NOF_OK)
            hear(&r->probed, c->handle, c->peer);
        on_end(g, rank, c);
        break;
    case NOF_COMP_SEND:
    case NOF_COMP_GROUP_SEND:
    case NOF_COMP_GROUP_RECV:
        on_end(g, rank, c);
        break;
    case NOF_COMP_GROUP_OPEN:
    case NOF_COMP_GROUP:
        on_group(r, c);
        break;
    case NOF_COMP_PARKED:
        on_park(g, rank, c);
        break;
    case NOF_COMP_GRANT:
        on_grant(g, rank, c);
        break;
    case NOF_COMP_CANCEL:
    case NOF_COMP_SEND_CANCEL:
        on_cancel(g, rank, c);
        break;
    case NOF_COMP_SPILL:
        r->spills++;
        hear(&r->spilled, c->handle, c->peer);
        break;
    case NOF_COMP_LAYOUT:
        r->layouts_asked &= ~(1u << c->cookie % GUARD_LAYOUTS);
        if (c->status == NOF_OK)
            r->layouts |= 1u << c->cookie % GUARD_LAYOUTS;
        break;
    case NOF_COMP_SCHED_OPEN:
        on_open(r, c);
        break;
    case NOF_COMP_SCHED:
        on_schedule(g, rank, c);
        break;
    case NOF_COMP_SCHED_HOST:
        hear(&r->hosted, c->cookie << 16 | (c->handle & 0xffff), 0);
        break;
    case NOF_COMP_PEER_DEAD:
        on_peer_dead(g, rank, c);
        break;
    case NOF_COMP_FAILED:
        if (r->honest)
            guard_fail("rank %u: its endpoint fails, status %d", rank, c->status);
        break;
    default:
        break;
    }
}

/* Is it a frame that belongs to job B? By the path that its connection names at the receiver. */
static bool of_job_b(struct guard *g, unsigned to, const uint8_t *common)
{
    uint64_t conn = nof_get64(common + NOF_WIRE_CONN);
    const struct nof_transport *t = world_nic(g->w, to)->transport;
    uint32_t i = (uint32_t)(conn & 0xffff);
    return conn != 0 && i < t->max_paths && t->paths[i].local_conn == conn &&
           t->paths[i].job_id == GUARD_JOB_B;
}

static int on_frame(void *ctx, unsigned nic, const uint8_t *bytes, uint32_t len)
{
    struct guard *g = ctx;
    unsigned to = bytes[5];
    (void)nic;
    turn(g);
    int rogue = g->rogue != NULL && to == g->rogue_nic;
    if (rogue || to >= g->nics || !of_job_b(g, to, bytes + NOF_WIRE_OUTER_BYTES))
        guard_no_secret(bytes, len, rogue ? "a frame to the hostile NIC" : "a frame of job A");
    if (rogue)
        g->rogue(g->rogue_ctx, bytes, len);
    return rogue;
}

const struct world_watch guard_watch = {.frame = on_frame,
                                        .dma = on_dma,
                                        .comp = on_comp,
                                        .claim_comes = guard_claim_comes,
                                        .claim = guard_claim_done,
                                        .stale = stale};

static void release(struct guard *g, unsigned rank, uint32_t offset)
{
    struct guard_rank *r = &g->rank[rank];
    struct nof_desc d = {.opcode = NOF_DESC_RELEASE};
    for (unsigned i = 0; i < r->nheld; i++)
        if (r->held[i].offset == offset) {
            r->held[i] = r->held[--r->nheld];
            d.release.count = 1;
            d.release.offset[0] = offset;
            world_post(g->w, rank, &d);
            return;
        }
}

static void submit_again(struct guard *g, unsigned rank, const struct nof_comp *c)
{
    unsigned count;
    struct guard_op *op = find(g, rank, NOF_COMP_SEND, c->cookie, &count);
    hear(&g->rank[rank].granted, c->handle, c->peer);
    if (op == NULL || op->state != GUARD_PARKED || count > 1)
        return; /* a peer may grant what was never sent: nobody but the host knows */
    op->desc.flags =
        (uint8_t)((op->desc.flags & ~(NOF_DESC_F_INLINE | NOF_DESC_F_DELTA)) | NOF_DESC_F_GRANTED);
    op->desc.handle = c->handle;
    op->desc.callsite = c->granted_len;
    if (g->rank[rank].job == GUARD_JOB_B)
        guard_innocent_granted(g, op);
    else
        guard_post(g, op);
}

void guard_reap(struct guard *g, unsigned rank, int keep)
{
    const struct nof_comp *at;
    if (g->rank[rank].honest && world_rank(g->w, rank)->failed != 0)
        guard_fail("rank %u: its endpoint failed, status %d", rank, world_rank(g->w, rank)->failed);
    while ((at = world_take(g->w, rank)) != NULL) {
        struct nof_comp c = *at; /* the list may move */
        if (c.opcode == NOF_COMP_GRANT)
            submit_again(g, rank, &c);
        if (c.opcode == NOF_COMP_REVOKE)
            hear(&g->rank[rank].revoke, c.cookie, c.peer);
        if (g->rank[rank].job == GUARD_JOB_B)
            guard_innocent_taken(g, rank, &c);
        if ((c.flags & NOF_COMP_F_STAGED) && !keep)
            release(g, rank, c.staged_offset);
    }
    for (unsigned i = keep ? 0 : g->rank[rank].nheld; i > 0; i--)
        release(g, rank, g->rank[rank].held[i - 1].offset);
}

void guard_close(struct guard *g, unsigned rank, int reason)
{
    struct guard_rank *r = &g->rank[rank];
    struct guard_rank next = {.used = 1, .job = r->job, .honest = r->honest};
    while (world_take(g->w, rank) != NULL)
        ;
    for (unsigned i = 0; i < GUARD_OPS; i++)
        if (g->op[i].state != GUARD_FREE && g->op[i].rank == rank)
            g->op[i].state = GUARD_FREE;
    world_close(g->w, rank, reason);
    *r = next;
}

void guard_init(struct guard *g)
{
    memset(g, 0, sizeof *g);
}

void guard_new_nics(struct guard *g, struct world *w, unsigned nics)
{
    g->w = w;
    g->nics = nics;
    for (unsigned i = 0; i < nics; i++) {
        g->msgs_free[i] = world_nic(w, i)->msgs_free;
        g->blocks_free[i] = world_nic(w, i)->blocks_free;
    }
}

void guard_rank(struct guard *g, unsigned rank, int job, int honest)
{
    g->rank[rank] = (struct guard_rank){.used = 1, .job = job, .honest = honest};
}

void guard_hide_secrets(struct guard *g, struct world *w)
{
    for (unsigned i = 0; i < g->nics; i++) {
        struct nof_nic *nic = world_nic(w, i);
        struct nof_grants *ch = &nic->grants;
        const struct nof_local_frame *locals = nic->locals.base;
        guard_fill_secret(nic->netmem.data, (size_t)nic->netmem.nblocks * NOF_NETMEM_BLOCK);
        guard_fill_secret(ch->raw, (size_t)ch->raws.cap * NOF_DMA_BLOCK_BYTES);
        guard_fill_secret(ch->plain, NOF_PLAIN_BYTES);
        guard_fill_secret(ch->packed, (size_t)NOF_CHAIN_BUFS_MAX * NOF_NETMEM_BLOCK);
        for (uint32_t k = 0; k < nic->locals.cap; k++)
            guard_fill_secret(locals[k].body, NOF_LOCAL_BODY);
    }
}

void guard_end(struct guard *g)
{
    static const uint64_t len[] = {8, 700, 20000};
    guard_innocent_settle(g, "beside job A");
    for (unsigned i = 0; i < 3; i++) {
        guard_innocent(g, i, len[i]);
        guard_innocent_settle(g, "after all that job A did");
    }
    if (g->deltas) {
        guard_innocent_delta(g, g->messages, 9000, 10);
        guard_innocent_settle(g, "in units, after all that job A did");
    }
    uint64_t came = world_rank(g->w, g->innocent[0])->counters[NOF_C_MSGS_RX] +
                    world_rank(g->w, g->innocent[1])->counters[NOF_C_MSGS_RX];
    if (came != g->messages)
        guard_fail("%llu messages came to job B, which has sent %u", (unsigned long long)came, g->messages);
    for (unsigned i = 0; i < WORLD_RANKS; i++) {
        const struct world_rank *wr = world_rank(g->w, i);
        if (g->rank[i].job == GUARD_JOB_A && wr->staging != NULL)
            guard_no_secret(wr->staging, wr->staging_bytes, "job A's staging area");
        if (wr->open && !wr->closing)
            guard_close(g, i, NOF_OK);
    }
    world_dma_give_up(g->w);
    guard_all_back(g);
}
