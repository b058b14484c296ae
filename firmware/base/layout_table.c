/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/layout_table.h"

#include <string.h>

#include "base/invariant.h"
#include "nof/status.h"

static struct nof_layout *layout_at(const struct nof_layouts *all, uint32_t i)
{
    void *at = nof_pool_obj(&all->pool, i);
    return at;
}

static struct nof_layout_step *step_at(const struct nof_layouts *all, const struct nof_layout *l, uint32_t op)
{
    void *at = nof_pool_obj(&all->chunks, l->chunk[op / NOF_LAYOUT_CHUNK_OPS]);
    struct nof_layout_chunk *chunk = at;
    return &chunk->step[op % NOF_LAYOUT_CHUNK_OPS];
}

static uint32_t *bucket_of(const struct nof_layouts *all, uint32_t ep, uint32_t name)
{
    uint32_t h = (name * 2654435761u) ^ (ep * 2246822519u);
    return &all->bucket[(h ^ h >> 15) & all->mask];
}

static bool checked_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    if (a != 0 && b > UINT64_MAX / a)
        return false;
    *out = a * b;
    return true;
}

static bool checked_add(uint64_t a, uint64_t b, uint64_t *out)
{
    if (b > UINT64_MAX - a)
        return false;
    *out = a + b;
    return true;
}

struct open_loop {
    uint32_t op;
    uint32_t end;
    uint64_t bytes; /* emitted by the body so far */
};

/* Close every loop that ends before op `at`: its bytes go to the one around it. */
static bool close_loops(const struct nof_layouts *all, struct nof_layout *l, struct open_loop *stack,
                        uint32_t *depth, uint32_t at)
{
    /* bound: NOF_LAYOUT_DEPTH_MAX, 8; paid by the LAYOUT */
    while (*depth > 0 && stack[*depth].end == at) {
        struct nof_layout_step *loop = step_at(all, l, stack[*depth].op);
        uint64_t total;
        loop->bytes = stack[*depth].bytes;
        (*depth)--;
        if (!checked_mul(loop->bytes, loop->count, &total) ||
            !checked_add(stack[*depth].bytes, total, &stack[*depth].bytes))
            return false;
    }
    return true;
}

/* Check nesting and sizes of the copied program; fills `bytes` of every step. */
static bool check_program(const struct nof_layouts *all, struct nof_layout *l)
{
    struct open_loop stack[NOF_LAYOUT_DEPTH_MAX];
    uint32_t depth = 0;
    stack[0] = (struct open_loop){.op = 0, .end = l->nops, .bytes = 0};
    /* bound: NOF_LAYOUT_OPS_MAX, 1024; paid by the LAYOUT */
    for (uint32_t i = 0; i < l->nops; i++) {
        struct nof_layout_step *s = step_at(all, l, i);
        if (!close_loops(all, l, stack, &depth, i))
            return false;
        if (s->count == 0 || s->block == 0)
            return false;
        if (s->opcode == NOF_LAYOUT_BLOCK) {
            uint64_t total;
            s->bytes = s->block;
            if (!checked_mul(s->block, s->count, &total) ||
                !checked_add(stack[depth].bytes, total, &stack[depth].bytes))
                return false;
        } else if (s->opcode == NOF_LAYOUT_LOOP) {
            if (depth + 1 == NOF_LAYOUT_DEPTH_MAX || s->block > stack[depth].end - i - 1)
                return false;
            stack[++depth] = (struct open_loop){.op = i, .end = i + 1 + (uint32_t)s->block, .bytes = 0};
        } else {
            return false;
        }
    }
    return close_loops(all, l, stack, &depth, l->nops) && depth == 0 && stack[0].bytes == l->size;
}

static void give_chunks(struct nof_layouts *all, struct nof_layout *l, uint32_t n)
{
    /* bound: chunks of a layout, 32; paid by the LAYOUT */
    for (uint32_t i = 0; i < n; i++)
        nof_pool_give(&all->chunks, l->chunk[i]);
}

static uint32_t chunks_of(uint32_t nops)
{
    return (nops + NOF_LAYOUT_CHUNK_OPS - 1) / NOF_LAYOUT_CHUNK_OPS;
}

void nof_layout_shares(struct nof_layouts *all, uint32_t endpoints)
{
    memset(all->used, 0, endpoints * sizeof *all->used);
    nof_share_init(&all->layouts_share, all->pool.cap, endpoints);
    nof_share_init(&all->chunks_share, all->chunks.cap, endpoints);
}

/* May this endpoint have one more layout of so many ops? */
static bool may_open(const struct nof_layouts *all, uint32_t ep, uint32_t nops)
{
    const struct nof_layout_use *use = &all->used[ep];
    return nof_share_may(&all->layouts_share, use->layouts, 1, nof_pool_free(&all->pool)) &&
           nof_share_may(&all->chunks_share, use->chunks, chunks_of(nops), nof_pool_free(&all->chunks));
}

static int copy_program(struct nof_layouts *all, struct nof_layout *l, const uint8_t *ops)
{
    uint32_t nchunks = chunks_of(l->nops);
    /* bound: chunks of a layout, 32; paid by the LAYOUT */
    for (uint32_t i = 0; i < nchunks; i++) {
        l->chunk[i] = nof_pool_take(&all->chunks);
        if (l->chunk[i] == NOF_NIL) {
            give_chunks(all, l, i);
            return NOF_ENOMEM;
        }
    }
    bool reserved = false;
    /* bound: NOF_LAYOUT_OPS_MAX, 1024; paid by the LAYOUT */
    for (uint32_t i = 0; i < l->nops; i++) {
        struct nof_layout_op op;
        memcpy(&op, ops + (size_t)i * sizeof op, sizeof op);
        reserved |= op.reserved != 0;
        *step_at(all, l, i) = (struct nof_layout_step){.count = op.count,
                                                       .block = op.block,
                                                       .offset = (uint64_t)op.offset,
                                                       .stride = (uint64_t)op.stride,
                                                       .opcode = op.opcode};
    }
    if (reserved || !check_program(all, l)) {
        give_chunks(all, l, nchunks);
        return NOF_EINVAL;
    }
    return NOF_OK;
}

static uint32_t find_name(const struct nof_layouts *all, uint32_t ep, uint32_t name)
{
    uint32_t i = *bucket_of(all, ep, name);
    /* bound: layouts of one bucket, of max_layouts; paid by the descriptor that names one */
    while (i != NOF_NIL && (layout_at(all, i)->ep != ep || layout_at(all, i)->name != name))
        i = layout_at(all, i)->hash_next;
    return i;
}

int nof_layout_open(struct nof_layouts *all, uint32_t ep, uint32_t name, uint32_t generation,
                    const uint8_t *bytes, size_t len_bytes)
{
    struct nof_layout_head head;
    if (len_bytes < sizeof head)
        return NOF_EINVAL;
    memcpy(&head, bytes, sizeof head);
    if (head.magic != NOF_LAYOUT_MAGIC || head.nops == 0 || head.nops > NOF_LAYOUT_OPS_MAX ||
        head.size == 0 || len_bytes != sizeof head + (size_t)head.nops * sizeof(struct nof_layout_op))
        return NOF_EINVAL;
    if (find_name(all, ep, name) != NOF_NIL)
        return NOF_EINVAL;
    uint32_t i = may_open(all, ep, head.nops) ? nof_pool_take(&all->pool) : NOF_NIL;
    if (i == NOF_NIL)
        return NOF_ENOMEM;
    struct nof_layout *l = layout_at(all, i);
    l->ep = ep;
    l->name = name;
    l->generation = generation;
    l->nops = head.nops;
    l->size = head.size;
    l->extent = (uint64_t)head.extent;
    l->refs = 0;
    l->closed = 0;
    int rc = copy_program(all, l, bytes + sizeof head);
    if (rc != NOF_OK) {
        nof_pool_give(&all->pool, i);
        return rc;
    }
    nof_share_taken(&all->layouts_share, &all->used[ep].layouts, 1);
    nof_share_taken(&all->chunks_share, &all->used[ep].chunks, chunks_of(l->nops));
    uint32_t *bucket = bucket_of(all, ep, name);
    l->hash_next = *bucket;
    *bucket = i;
    return NOF_OK;
}

uint32_t nof_layout_find(const struct nof_layouts *all, uint32_t ep, uint32_t name, uint32_t generation)
{
    uint32_t i = find_name(all, ep, name);
    return i != NOF_NIL && layout_at(all, i)->generation == generation ? i : NOF_NIL;
}

static void release(struct nof_layouts *all, uint32_t i)
{
    struct nof_layout *l = layout_at(all, i);
    nof_share_given(&all->layouts_share, &all->used[l->ep].layouts, 1);
    nof_share_given(&all->chunks_share, &all->used[l->ep].chunks, chunks_of(l->nops));
    give_chunks(all, l, chunks_of(l->nops));
    nof_pool_give(&all->pool, i);
}

void nof_layout_hold(struct nof_layouts *all, uint32_t index)
{
    layout_at(all, index)->refs++;
}

void nof_layout_drop(struct nof_layouts *all, uint32_t index)
{
    struct nof_layout *l = layout_at(all, index);
    nof_invariant(l->refs > 0);
    l->refs--;
    if (l->refs == 0 && l->closed)
        release(all, index);
}

static void close_index(struct nof_layouts *all, uint32_t i)
{
    struct nof_layout *l = layout_at(all, i);
    uint32_t *link = bucket_of(all, l->ep, l->name);
    /* bound: layouts of one bucket, of max_layouts; paid by the LAYOUT_FREE */
    while (*link != i)
        link = &layout_at(all, *link)->hash_next;
    *link = l->hash_next;
    l->closed = 1;
    if (l->refs == 0)
        release(all, i);
}

int nof_layout_close(struct nof_layouts *all, uint32_t ep, uint32_t name, uint32_t generation)
{
    uint32_t i = nof_layout_find(all, ep, name, generation);
    if (i == NOF_NIL)
        return NOF_ENOENT;
    close_index(all, i);
    return NOF_OK;
}

uint32_t nof_layout_close_bucket(struct nof_layouts *all, uint32_t bucket, uint32_t ep)
{
    uint32_t steps = 0;
    /* bound: layouts of one bucket, of max_layouts; paid by the endpoint's steps */
    for (uint32_t i = all->bucket[bucket]; i != NOF_NIL; steps++) {
        uint32_t next = layout_at(all, i)->hash_next;
        if (layout_at(all, i)->ep == ep)
            close_index(all, i);
        i = next;
    }
    return steps;
}

static const struct nof_layout_step *current(const struct nof_layout_cursor *c)
{
    return step_at(c->all, c->layout, c->level[c->depth].op);
}

static uint32_t span(const struct nof_layout_step *s)
{
    return s->opcode == NOF_LAYOUT_LOOP ? 1 + (uint32_t)s->block : 1;
}

static void enter_loop(struct nof_layout_cursor *c, const struct nof_layout_step *s, uint64_t iter)
{
    const struct nof_layout_level *outer = &c->level[c->depth];
    uint32_t first = outer->op + 1;
    c->level[c->depth + 1] = (struct nof_layout_level){.first = first,
                                                       .end = first + (uint32_t)s->block,
                                                       .op = first,
                                                       .left = s->count - 1 - iter,
                                                       .stride = s->stride,
                                                       .pos = outer->pos + s->offset + iter * s->stride};
    c->depth++;
}

void nof_layout_seek(struct nof_layout_cursor *c, const struct nof_layouts *all, uint32_t index,
                     uint64_t base, uint64_t offset)
{
    const struct nof_layout *l = layout_at(all, index);
    uint64_t run = offset / l->size;
    uint64_t rem = offset % l->size;
    c->all = all;
    c->layout = l;
    c->depth = 0;
    c->steps = 0;
    c->level[0] = (struct nof_layout_level){.first = 0,
                                            .end = l->nops,
                                            .op = 0,
                                            .left = UINT64_MAX,
                                            .stride = l->extent,
                                            .pos = base + run * l->extent};
    /* bound: ops at each level, NOF_LAYOUT_OPS_MAX in all; paid by the endpoint's steps */
    for (;;) {
        const struct nof_layout_step *s = current(c);
        uint64_t total = s->bytes * s->count;
        c->steps++;
        if (rem >= total) {
            rem -= total;
            c->level[c->depth].op += span(s);
            continue;
        }
        uint64_t iter = rem / s->bytes;
        rem %= s->bytes;
        if (s->opcode == NOF_LAYOUT_BLOCK) {
            c->block_iter = iter;
            c->in_block = rem;
            return;
        }
        enter_loop(c, s, iter);
    }
}

/* The current BLOCK is done: go to the next one in program order. */
static void next_block(struct nof_layout_cursor *c)
{
    struct nof_layout_level *l = &c->level[c->depth];
    l->op++;
    /* bound: NOF_LAYOUT_DEPTH_MAX, 8; paid by the endpoint's steps */
    while (l->op == l->end) {
        c->steps++;
        if (l->left > 0) {
            l->left -= c->depth > 0; /* the whole program repeats for ever */
            l->pos += l->stride;
            l->op = l->first;
            break;
        }
        uint32_t end = l->end;
        c->depth--;
        l = &c->level[c->depth];
        l->op = end;
    }
    /* bound: NOF_LAYOUT_DEPTH_MAX, 8; paid by the endpoint's steps */
    while (current(c)->opcode == NOF_LAYOUT_LOOP) {
        c->steps++;
        enter_loop(c, current(c), 0);
    }
    c->block_iter = 0;
    c->in_block = 0;
}

struct nof_segment nof_layout_next(struct nof_layout_cursor *c, uint64_t max)
{
    const struct nof_layout_step *s = current(c);
    c->steps++;
    struct nof_segment seg = {.addr = c->level[c->depth].pos + s->offset + c->block_iter * s->stride +
                                      c->in_block};
    uint64_t room = s->block - c->in_block;
    if (s->stride == s->block) /* blocks that touch are one piece */
        room += (s->count - 1 - c->block_iter) * s->block;
    seg.len_bytes = room < max ? room : max;
    uint64_t end = c->in_block + seg.len_bytes;
    if (s->stride == s->block) {
        c->block_iter += end / s->block;
        c->in_block = end % s->block;
    } else if (end == s->block) {
        c->block_iter++;
        c->in_block = 0;
    } else {
        c->in_block = end;
    }
    if (c->block_iter == s->count)
        next_block(c);
    return seg;
}

unsigned nof_buffer_segments(const struct nof_layouts *all, uint32_t layout, uint64_t addr, uint64_t offset,
                             uint64_t len, struct nof_segment *segs, uint64_t *covered_out,
                             uint32_t *steps_out)
{
    *steps_out = 1;
    if (layout == NOF_NIL) {
        segs[0] = (struct nof_segment){.addr = addr + offset, .len_bytes = len};
        *covered_out = len;
        return 1;
    }
    struct nof_layout_cursor c;
    unsigned n = 0;
    uint64_t covered = 0;
    nof_layout_seek(&c, all, layout, addr, offset);
    uint32_t last = c.steps + NOF_LAYOUT_STEPS;
    /* bound: NOF_LAYOUT_STEPS, 256; paid by the endpoint's steps */
    while (covered < len && c.steps < last) {
        struct nof_segment s = nof_layout_next(&c, len - covered);
        if (n > 0 && segs[n - 1].addr + segs[n - 1].len_bytes == s.addr) {
            segs[n - 1].len_bytes += s.len_bytes;
        } else if (n < NOF_DMA_SEGMENTS_MAX) {
            segs[n++] = s;
        } else {
            break;
        }
        covered += s.len_bytes;
    }
    *covered_out = covered;
    *steps_out = c.steps;
    return n;
}

unsigned nof_segments_trim(struct nof_segment *segs, unsigned nsegs, uint64_t total)
{
    /* bound: NOF_DMA_SEGMENTS_MAX, 64; paid by the flow's bytes */
    for (unsigned i = 0; i < nsegs; i++) {
        if (segs[i].len_bytes >= total) {
            segs[i].len_bytes = total;
            return i + 1;
        }
        total -= segs[i].len_bytes;
    }
    return nsegs;
}
