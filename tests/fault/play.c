/* SPDX-License-Identifier: BSD-3-Clause */
#include "play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nof/delta.h"
#include "nof/layout.h"

#include "nic.h"
#include "../unit/leftovers.h"

#define US 1000ull
#define MS 1000000ull
#define UNTOUCHED 0x55
#define VECTOR_AREA 512u /* bytes of the program area for each layout */

#define require(p, condition, ...) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s: ", (p)->name); \
            fprintf(stderr, __VA_ARGS__); \
            fprintf(stderr, "\n"); \
            fail_msg("%s: " #condition, (p)->name); \
        } \
    } while (0)

/* The message that operation `op` sends, of at least len bytes; the same in all plays of this process. */
static const uint8_t *message(uint32_t op, uint64_t len)
{
    static uint8_t *bytes[PLAY_OPS];
    static uint64_t made[PLAY_OPS];
    if (bytes[op] == NULL || made[op] < len) {
        bytes[op] = realloc(bytes[op], (size_t)len + 1);
        assert_non_null(bytes[op]);
        for (uint64_t i = made[op]; i < len; i++)
            bytes[op][i] = (uint8_t)(i * 13 + (i >> 8) * 5 + op * 71 + 1);
        made[op] = len;
    }
    return bytes[op];
}

static uint64_t place(const struct play_vector *v, uint64_t i)
{
    if (v == NULL)
        return i;
    uint64_t size = (uint64_t)v->block * v->count;
    uint64_t in = i % size;
    return i / size * v->extent + in / v->block * v->stride + in % v->block;
}

/* Bytes of memory that the first len bytes span, and a margin behind them. */
static size_t extent(const struct play_vector *v, uint64_t len)
{
    return (size_t)(len == 0 ? 0 : place(v, len - 1) + 1) + 16;
}

static uint8_t *take_memory(struct play *p, unsigned rank, size_t bytes)
{
    uint8_t *at = world_rank(p->w, rank)->arena + p->used[rank];
    p->used[rank] += bytes + 48;
    require(p, p->used[rank] <= PLAY_ARENA, "the arena of rank %u is too small", rank);
    memset(at, UNTOUCHED, bytes);
    return at;
}

static uint32_t add(struct play *p, unsigned rank, uint8_t opcode, uint64_t len, const struct play_vector *v)
{
    require(p, p->nops < PLAY_OPS, "too many operations");
    struct play_op *op = &p->op[p->nops];
    *op = (struct play_op){
        .rank = rank, .opcode = opcode, .pair = PLAY_NONE, .len = len, .vector = v, .status = 1};
    op->desc = (struct nof_desc){.opcode = opcode, .ctx = 3, .cookie = p->nops, .len = len};
    if (v != NULL) {
        op->desc.flags = NOF_DESC_F_LAYOUT;
        op->desc.layout = v->name;
        op->desc.layout_generation = v->name + 1;
    }
    return p->nops++;
}

static void post(struct play *p, uint32_t i)
{
    world_post(p->w, p->op[i].rank, &p->op[i].desc);
}

static uint32_t prepare_send(struct play *p, unsigned rank, unsigned to, int tag, uint64_t len,
                             unsigned flags, const struct play_vector *v)
{
    uint32_t i = add(p, rank, NOF_COMP_SEND, len, v);
    struct play_op *op = &p->op[i];
    op->desc.flags = (uint8_t)(op->desc.flags | flags);
    op->desc.elem = NOF_ELEM_I32; /* for scenarios with compression */
    op->desc.peer = (int32_t)to;
    op->desc.tag = tag;
    if (flags & NOF_DESC_F_INLINE) {
        op->buf = op->desc.inline_data;
    } else if (flags & NOF_DESC_F_BOUNCE) {
        op->buf = world_rank(p->w, rank)->bounce + p->bounced[rank];
        op->desc.addr = p->bounced[rank];
        p->bounced[rank] += len;
    } else {
        op->buf = take_memory(p, rank, extent(v, len));
        op->desc.addr = (uint64_t)(uintptr_t)op->buf;
    }
    const uint8_t *bytes = message(i, len);
    if (v == NULL)
        memcpy(op->buf, bytes, len);
    for (uint64_t k = 0; v != NULL && k < len; k++)
        op->buf[place(v, k)] = bytes[k];
    return i;
}

static uint32_t send_op(struct play *p, unsigned rank, unsigned to, int tag, uint64_t len, unsigned flags,
                        const struct play_vector *v)
{
    uint32_t i = prepare_send(p, rank, to, tag, len, flags, v);
    post(p, i);
    return i;
}

uint32_t play_send(struct play *p, unsigned rank, unsigned to, int tag, uint64_t len, unsigned flags)
{
    return send_op(p, rank, to, tag, len, flags, NULL);
}

uint32_t play_send_vector(struct play *p, unsigned rank, unsigned to, int tag, uint64_t len,
                          const struct play_vector *v)
{
    return send_op(p, rank, to, tag, len, 0, v);
}

static uint32_t prepare_recv(struct play *p, unsigned rank, int from, int tag, uint64_t len, uint32_t pair,
                             const struct play_vector *v)
{
    uint32_t i = add(p, rank, NOF_COMP_RECV, len, v);
    struct play_op *op = &p->op[i];
    op->pair = pair;
    op->desc.peer = from;
    op->desc.tag = tag;
    op->buf = take_memory(p, rank, extent(v, len));
    op->desc.addr = (uint64_t)(uintptr_t)op->buf;
    return i;
}

uint32_t play_recv_vector(struct play *p, unsigned rank, int from, int tag, uint64_t len, uint32_t pair,
                          const struct play_vector *v)
{
    uint32_t i = prepare_recv(p, rank, from, tag, len, pair, v);
    post(p, i);
    return i;
}

uint32_t play_recv(struct play *p, unsigned rank, int from, int tag, uint64_t len, uint32_t pair)
{
    return play_recv_vector(p, rank, from, tag, len, pair, NULL);
}

uint32_t play_send_delta(struct play *p, unsigned rank, unsigned to, int tag, uint64_t len,
                         uint32_t unit_log2)
{
    uint32_t i = prepare_send(p, rank, to, tag, len, NOF_DESC_F_DELTA, NULL);
    struct play_op *op = &p->op[i];
    op->slot = i % NOF_DELTA_SLOTS;
    op->desc.handle = nof_delta_handle(op->slot, unit_log2);
    memset(&world_rank(p->w, rank)->delta_host->ready[op->slot], 0, sizeof(struct nof_delta_ready));
    post(p, i);
    return i;
}

static void ring(struct play *p, const struct play_op *op)
{
    world_rank(p->w, op->rank)->delta_host->rung |= 1ull << op->slot;
}

void play_ready(struct play *p, uint32_t send, uint32_t unit, uint32_t units)
{
    const struct play_op *op = &p->op[send];
    uint64_t *word = world_rank(p->w, op->rank)->delta_host->ready[op->slot].unit;
    for (uint32_t u = unit; u < unit + units; u++)
        word[u / 64] |= 1ull << u % 64;
    ring(p, op);
}

void play_send_end(struct play *p, uint32_t send, uint64_t len)
{
    struct play_op *op = &p->op[send];
    op->len = len;
    world_rank(p->w, op->rank)->delta_host->ready[op->slot].end = 1 + len;
    ring(p, op);
}

uint32_t play_recv_delta(struct play *p, unsigned rank, int from, int tag, uint64_t len, uint32_t pair)
{
    uint32_t i = prepare_recv(p, rank, from, tag, len, pair, NULL);
    struct play_op *op = &p->op[i];
    op->slot = i % NOF_DELTA_SLOTS;
    op->desc.flags |= NOF_DESC_F_DELTA;
    op->desc.handle = nof_delta_handle(op->slot, 0);
    post(p, i);
    return i;
}

uint32_t play_recv_idle(struct play *p, unsigned rank, int from, int tag)
{
    uint32_t i = play_recv(p, rank, from, tag, 64, PLAY_NONE);
    p->op[i].done = 1; /* settle() does not wait for it */
    return i;
}

uint32_t play_mrecv(struct play *p, uint32_t mprobe, uint32_t pair)
{
    unsigned rank = p->op[mprobe].rank;
    uint32_t i = add(p, rank, NOF_COMP_RECV, p->op[pair].len, NULL);
    struct play_op *op = &p->op[i];
    op->pair = pair;
    op->desc.opcode = NOF_DESC_MRECV;
    op->desc.handle = p->op[mprobe].comp.handle;
    op->buf = take_memory(p, rank, extent(NULL, op->len));
    op->desc.addr = (uint64_t)(uintptr_t)op->buf;
    post(p, i);
    return i;
}

uint32_t play_probe(struct play *p, unsigned rank, uint8_t opcode, int from, int tag, uint32_t pair,
                    unsigned flags)
{
    uint32_t i = add(p, rank, opcode, 0, NULL);
    struct play_op *op = &p->op[i];
    op->pair = pair;
    op->want = pair == PLAY_NONE ? NOF_ENOMATCH : NOF_OK;
    op->desc.flags = (uint8_t)flags;
    op->desc.peer = from;
    op->desc.tag = tag;
    post(p, i);
    return i;
}

uint32_t play_flush(struct play *p, unsigned rank)
{
    uint32_t i = add(p, rank, NOF_COMP_FLUSH, 0, NULL);
    post(p, i);
    return i;
}

uint32_t play_layout(struct play *p, unsigned rank, const struct play_vector *v)
{
    struct {
        struct nof_layout_head head;
        struct nof_layout_op op;
    } program = {
        .head = {.magic = NOF_LAYOUT_MAGIC,
                 .nops = 1,
                 .size = (uint64_t)v->block * v->count,
                 .extent = v->extent},
        .op = {.opcode = NOF_LAYOUT_BLOCK, .count = v->count, .block = v->block, .stride = v->stride}};
    uint32_t i = add(p, rank, NOF_COMP_LAYOUT, sizeof program, NULL);
    struct play_op *op = &p->op[i];
    op->desc.layout = v->name;
    op->desc.layout_generation = v->name + 1;
    op->desc.addr = (uint64_t)v->name * VECTOR_AREA;
    memcpy(world_rank(p->w, rank)->program_area + op->desc.addr, &program, sizeof program);
    post(p, i);
    return i;
}

void play_layout_free(struct play *p, unsigned rank, const struct play_vector *v)
{
    struct nof_desc d = {.opcode = NOF_DESC_LAYOUT_FREE, .layout = v->name, .layout_generation = v->name + 1};
    world_post(p->w, rank, &d);
}

static void give_back(struct play *p, unsigned rank, uint32_t offset)
{
    struct nof_desc d = {.opcode = NOF_DESC_RELEASE};
    d.release.count = 1;
    d.release.offset[0] = offset;
    world_post(p->w, rank, &d);
}

static void finish(struct play *p, uint32_t i, int status)
{
    struct play_op *op = &p->op[i];
    require(p, !op->done, "operation %u of rank %u ends twice: status %d, then %d", i, op->rank, op->status,
            status);
    op->done = 1;
    op->status = status;
    if (status == op->want)
        return;
    int peer_gone = (p->closed[0] || p->closed[1] || p->closed[2]) && status == NOF_EPEERDEAD;
    p->harmed += !peer_gone;
    require(p, peer_gone || (p->harm && status == NOF_EFAULT),
            "operation %u (opcode %u, rank %u) ends with status %d (%s)", i, op->opcode, op->rank, status,
            nof_strstatus(status));
}

/* `data`: payload in one piece; NULL: it is in the buffer. */
static void check_bytes(struct play *p, uint32_t i, const uint8_t *data)
{
    const struct play_op *op = &p->op[i];
    const struct play_op *sent = &p->op[op->pair];
    uint64_t n = sent->len < op->len ? sent->len : op->len;
    const uint8_t *want = message(op->pair, sent->len);
    bool whole = data != NULL || op->vector == NULL;
    bool equal = whole && memcmp(data != NULL ? data : op->buf, want, n) == 0;
    for (uint64_t k = 0; !equal && k < n; k++) {
        uint8_t got = data != NULL ? data[k] : op->buf[place(op->vector, k)];
        require(p, got == want[k], "operation %u: byte %llu of %llu is %#x, not %#x", i,
                (unsigned long long)k, (unsigned long long)n, got, want[k]);
    }
    if (data != NULL)
        return;
    uint64_t k = whole ? n : 0;
    for (size_t at = (size_t)k; at < extent(op->vector, op->len);
         at++) { /* nothing between or behind the bytes */
        if (k < n && at == place(op->vector, k))
            k++;
        else
            require(p, op->buf[at] == UNTOUCHED, "operation %u: byte %zu of the memory was written", i, at);
    }
}

/* What is said to be there is there; of a receive that has ended well, all. */
static void check_board(struct play *p, uint32_t i)
{
    const struct play_op *op = &p->op[i], *sent = &p->op[op->pair];
    const struct nof_delta_arrival *a = &world_rank(p->w, op->rank)->delta_nic->arrival[op->slot];
    const uint8_t *want = message(op->pair, sent->len);
    uint64_t n = sent->len < op->len ? sent->len : op->len;
    if (a->state != NOF_DELTA_MATCHED && a->state != NOF_DELTA_DONE)
        return;
    require(p, !op->done || a->state == NOF_DELTA_DONE, "operation %u: its board is in state %u", i,
            a->state);
    require(p,
            a->bytes <= n && a->peer == (int32_t)sent->rank && a->tag == sent->desc.tag && a->unit_log2 > 0,
            "operation %u: %llu bytes of %llu from %d are there", i, (unsigned long long)a->bytes,
            (unsigned long long)n, a->peer);
    for (uint64_t u = 0; u << a->unit_log2 < n; u++) {
        uint64_t at = u << a->unit_log2;
        uint64_t bytes = n - at < 1ull << a->unit_log2 ? n - at : 1ull << a->unit_log2;
        bool there = a->unit[u / 64] >> u % 64 & 1;
        require(p, !there || memcmp(op->buf + at, want + at, bytes) == 0,
                "operation %u: unit %llu is not there", i, (unsigned long long)u);
        require(p, there || !op->done || op->status != NOF_OK,
                "operation %u: unit %llu is not said to be there", i, (unsigned long long)u);
    }
}

static void check_boards(struct play *p)
{
    for (uint32_t i = 0; i < p->nops; i++)
        if (p->op[i].opcode == NOF_COMP_RECV && (p->op[i].desc.flags & NOF_DESC_F_DELTA))
            check_board(p, i);
}

static int received(struct play *p, uint32_t i)
{
    struct play_op *op = &p->op[i];
    uint64_t len = p->op[op->pair].len;
    op->want = len > op->len ? NOF_ETRUNC : NOF_OK;
    return op->want;
}

static void on_recv(struct play *p, uint32_t i, const struct nof_comp *c)
{
    struct play_op *op = &p->op[i];
    const uint8_t *data = NULL;
    if (op->pair == PLAY_NONE) { /* idle: its peer is gone */
        require(p, c->status == NOF_EPEERDEAD, "an idle receive ends with status %d", c->status);
        return;
    }
    received(p, i);
    if (c->flags & NOF_COMP_F_INLINE)
        data = c->inline_data;
    else if (c->flags & NOF_COMP_F_STAGED)
        data = world_rank(p->w, op->rank)->staging + c->staged_offset;
    if (c->status == op->want && op->unmatched < 2) { /* 2: payload came with the SPILL */
        require(p, c->len == p->op[op->pair].len, "operation %u: length %llu", i, (unsigned long long)c->len);
        check_bytes(p, i, data);
    }
    if (c->flags & NOF_COMP_F_STAGED)
        give_back(p, op->rank, c->staged_offset);
    finish(p, i, c->status);
}

static bool fits(const struct nof_desc *d, const struct nof_comp *c)
{
    return (d->peer == NOF_ANY_SOURCE || d->peer == c->peer) && (d->tag == NOF_ANY_TAG || d->tag == c->tag);
}

/* The library has matched a spilled message to a receive. */
static void deliver_spilled(struct play *p, uint32_t i, struct play_spill *s)
{
    struct play_op *op = &p->op[i];
    const struct nof_comp *c = &s->comp;
    s->taken = 1;
    received(p, i);
    op->unmatched = 1;
    if (c->status != NOF_OK) {
        finish(p, i, c->status);
        return;
    }
    if (c->flags & NOF_COMP_F_INLINE)
        check_bytes(p, i, c->inline_data);
    if (c->flags & NOF_COMP_F_STAGED) {
        check_bytes(p, i, world_rank(p->w, op->rank)->staging + c->staged_offset);
        give_back(p, op->rank, c->staged_offset);
    }
    if ((c->flags & (NOF_COMP_F_REMOTE | NOF_COMP_F_SYNC)) == 0) {
        finish(p, i, op->want);
        return;
    }
    struct nof_desc d = op->desc;
    d.opcode = NOF_DESC_PULL;
    d.peer = c->peer;
    d.tag = c->tag;
    d.handle = c->handle;
    d.callsite = c->len;
    if (!(c->flags & NOF_COMP_F_REMOTE)) {
        op->unmatched = 2;
        d.len = 0;
    }
    world_post(p->w, op->rank, &d);
}

static void on_spill(struct play *p, unsigned rank, const struct nof_comp *c)
{
    struct play_spill *s = &p->spill[rank][p->nspill[rank]++];
    require(p, p->nspill[rank] <= PLAY_OPS, "more spills than messages");
    *s = (struct play_spill){.comp = *c};
    for (uint32_t i = 0; i < p->nops; i++) {
        const struct play_op *op = &p->op[i];
        if (op->rank == rank && op->opcode == NOF_COMP_RECV && !op->done && op->unmatched == 3 &&
            fits(&op->desc, c)) {
            deliver_spilled(p, i, s);
            return;
        }
    }
}

static void on_nomatch(struct play *p, uint32_t i)
{
    struct play_op *op = &p->op[i];
    p->nomatches[op->rank]++;
    op->unmatched = 3; /* in the library's list of posted receives */
    for (unsigned k = 0; k < p->nspill[op->rank]; k++) {
        struct play_spill *s = &p->spill[op->rank][k];
        if (s->taken || !fits(&op->desc, &s->comp))
            continue;
        deliver_spilled(p, i, s);
        return;
    }
}

static void on_grant(struct play *p, const struct nof_comp *c)
{
    struct play_op *op = &p->op[c->cookie];
    require(p, op->parked == 1, "a grant for an operation that is not parked");
    op->parked = 2;
    struct nof_desc d = op->desc;
    d.flags |= NOF_DESC_F_GRANTED;
    d.handle = c->handle;
    d.callsite = c->granted_len;
    world_post(p->w, op->rank, &d);
}

static void on_completion(struct play *p, unsigned rank, const struct nof_comp *c)
{
    if (c->opcode == NOF_COMP_SPILL) {
        on_spill(p, rank, c);
        return;
    }
    if (c->opcode == NOF_COMP_SPILL_END) {
        p->spill_end[rank] = c->status;
        return;
    }
    if (c->opcode == NOF_COMP_CANCEL || c->opcode == NOF_COMP_SEND_CANCEL) {
        p->cancelled = c->status;
        return;
    }
    if (c->opcode == NOF_COMP_PEER_DEAD) {
        require(p, c->peer >= 0 && p->closed[c->peer], "rank %u hears that %d is dead", rank, c->peer);
        return;
    }
    require(p, c->cookie < p->nops && p->op[c->cookie].rank == rank, "completion of nothing: opcode %u",
            c->opcode);
    uint32_t i = (uint32_t)c->cookie;
    struct play_op *op = &p->op[i];
    op->comp = *c;
    if (c->opcode == NOF_COMP_PARKED) {
        require(p, op->opcode == NOF_COMP_SEND && op->parked == 0, "parked twice");
        op->parked = 1;
    } else if (c->opcode == NOF_COMP_GRANT) {
        on_grant(p, c);
    } else if (c->opcode == NOF_COMP_RECV && c->status == NOF_ENOMATCH) {
        on_nomatch(p, i);
    } else if (c->opcode == NOF_COMP_RECV) {
        on_recv(p, i, c);
    } else {
        require(p, c->opcode == op->opcode, "operation %u: opcode %u", i, c->opcode);
        if (op->pair != PLAY_NONE && c->status == NOF_OK)
            require(p, c->len == p->op[op->pair].len, "probe %u: length %llu", i, (unsigned long long)c->len);
        finish(p, i, c->status);
    }
}

static void reap(struct play *p)
{
    for (unsigned rank = 0; rank < PLAY_RANKS; rank++) {
        const struct nof_comp *c;
        while ((c = world_take(p->w, rank)) != NULL) {
            struct nof_comp comp = *c; /* the list may move */
            on_completion(p, rank, &comp);
        }
    }
    check_boards(p);
}

void play_begin(struct play *p, const struct play_setup *setup, const struct world_fault *fault)
{
    struct world_config cfg = {.nics = setup->nics,
                               .mtu = setup->mtu == 0 ? 1500 : setup->mtu,
                               .dma_inline = setup->dma_inline,
                               .dma_read_late = setup->dma_read_late,
                               .seed = 9,
                               .arena_bytes = PLAY_ARENA,
                               .staging_bytes = setup->staging_bytes,
                               .delta = setup->delta,
                               .nic = setup->nic};
    p->w = world_init(&cfg);
    p->nics = setup->nics;
    p->cancelled = 1;
    for (unsigned i = 0; i < setup->nics; i++) {
        p->msgs_free[i] = world_nic(p->w, i)->msgs_free;
        p->blocks_free[i] = world_nic(p->w, i)->blocks_free;
    }
    for (unsigned i = 0; setup->compression && i < setup->nics; i++)
        nof_nic_feature_set(world_nic(p->w, i), NOF_F_COMPRESSION, NOF_COMPRESSION_ON);
    world_fault(p->w, fault);
    for (unsigned rank = 0; rank < PLAY_RANKS; rank++) {
        p->spill_end[rank] = 1;
        world_open(p->w, rank == 1 ? setup->nics - 1 : 0, rank, PLAY_RANKS);
    }
}

void play_run(struct play *p, uint64_t ns)
{
    for (uint64_t done = 0; done < ns; done += 50 * US) {
        world_run_for(p->w, 50 * US);
        reap(p);
    }
}

static uint32_t unfinished(const struct play *p, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < p->nops; i++)
        if (!p->op[i].done && !p->closed[p->op[i].rank] && i != a && i != b)
            return i;
    return PLAY_NONE;
}

void play_settle(struct play *p)
{
    play_settle_but(p, PLAY_NONE, PLAY_NONE);
}

void play_settle_but(struct play *p, uint32_t a, uint32_t b)
{
    for (unsigned i = 0; i < 500; i++) {
        world_run_for(p->w, i < 200 ? 50 * US : 10 * MS);
        reap(p);
        if (unfinished(p, a, b) == PLAY_NONE)
            return;
    }
    uint32_t i = unfinished(p, a, b);
    require(p, i == PLAY_NONE, "operation %u (opcode %u, rank %u, %llu bytes) never ends", i, p->op[i].opcode,
            p->op[i].rank, (unsigned long long)p->op[i].len);
}

static int cancel(struct play *p, uint32_t op, const struct nof_desc *d)
{
    p->cancelled = 1;
    world_post(p->w, p->op[op].rank, d);
    for (unsigned i = 0; i < 500 && p->cancelled == 1; i++) {
        world_run_for(p->w, 50 * US);
        reap(p);
    }
    require(p, p->cancelled == NOF_OK || p->cancelled == NOF_ENOMATCH, "cancel: %d", p->cancelled);
    return p->cancelled;
}

int play_cancel(struct play *p, uint32_t recv)
{
    return cancel(p, recv, &(struct nof_desc){.opcode = NOF_DESC_CANCEL, .cookie = recv});
}

int play_cancel_send(struct play *p, uint32_t send)
{
    struct play_op *op = &p->op[send];
    struct nof_desc d = {.opcode = NOF_DESC_SEND_CANCEL,
                         .ctx = op->desc.ctx,
                         .cookie = send,
                         .peer = op->desc.peer,
                         .tag = op->desc.tag};
    int status = cancel(p, send, &d);
    require(p, status != NOF_OK || !op->done, "send %u is cancelled after its end", send);
    if (status == NOF_OK)
        op->done = 1;
    return status;
}

void play_spill_end(struct play *p, unsigned rank)
{
    struct nof_desc d = {.opcode = NOF_DESC_SPILL_END};
    d.spills_seen = p->nspill[rank];
    d.nomatches_seen = p->nomatches[rank];
    for (unsigned k = 0; k < p->nspill[rank]; k++)
        require(p, p->spill[rank][k].taken, "spilled message %u was never received", k);
    p->spill_end[rank] = 1;
    world_post(p->w, rank, &d);
    for (unsigned i = 0; i < 500 && p->spill_end[rank] == 1; i++) {
        world_run_for(p->w, 50 * US);
        reap(p);
    }
    require(p, p->spill_end[rank] == NOF_OK, "SPILL_END: %d", p->spill_end[rank]);
}

void play_close(struct play *p, unsigned rank)
{
    world_close(p->w, rank, NOF_OK);
    p->closed[rank] = 1;
}

void play_end(struct play *p)
{
    unsigned kept = p->nics * LEFTOVERS_SPARE_FRAMES;
    if (p->harm)
        require(p, p->harmed <= 2, "%u operations were harmed by one failure", p->harmed);
    for (unsigned rank = 0; rank < PLAY_RANKS; rank++)
        if (!p->closed[rank])
            play_close(p, rank);
    for (unsigned i = 0; i < 40; i++) {
        world_run_for(p->w, 100 * MS);
        int quiet = world_frames(p->w) <= (long)kept;
        for (unsigned k = 0; k < p->nics; k++)
            quiet &= nof_nic_quiet(world_nic(p->w, k)) &&
                     nof_nic_counters(world_nic(p->w, k))[NOF_C_PATHS_OPEN] == 0;
        if (quiet)
            break;
    }
    for (unsigned i = 0; i < p->nics; i++) {
        const char *left = leftovers(world_nic(p->w, i), p->msgs_free[i], p->blocks_free[i]);
        require(p, left == NULL, "NIC %u: %s", i, left);
    }
    require(p, world_frames(p->w) <= (long)kept, "%ld frames are not back", world_frames(p->w));
    world_fini(p->w); /* frees those, and looks that none is missing */
}
