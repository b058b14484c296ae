/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A world and back: what is lent and given back, and images of a quiet world. */
#include "world_memory.h"
#include "world_state.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/reduce.h"
#include "nic.h"

#define CHECK_EVERY 512u /* restores */

void world_buffer_give(struct world *w, struct wire_frame *f)
{
    forbid(f->bytes, FRAME_CAP);
    f->next = w->free;
    w->free = f;
}

void world_event_give(struct world *w, struct event *e)
{
    if (e->frame != NULL)
        world_buffer_give(w, e->frame);
    e->frame = NULL;
    e->next = w->spare;
    w->spare = e;
}

void world_forget_events(struct world *w)
{
    struct event **list[] = {&w->wire, &w->dma};
    for (unsigned i = 0; i < 2; i++)
        while (*list[i] != NULL) {
            struct event *e = *list[i];
            *list[i] = e->next;
            world_event_give(w, e);
        }
}

bool world_dma_touches(const struct world *w, unsigned rank, int write, const void *at, uint64_t bytes)
{
    const struct world_rank *r = &w->rank[rank];
    uint64_t from = (uint64_t)(uintptr_t)at;
    for (const struct event *e = r->dma_pending > 0 ? w->dma : NULL; e != NULL; e = e->next) {
        if (e->nic != r->nic || e->endpoint != r->endpoint || e->write != write)
            continue;
        for (unsigned i = 0; i < e->nseg; i++)
            if (e->seg[i].addr - from < bytes || from - e->seg[i].addr < e->seg[i].len_bytes)
                return true;
    }
    return false;
}

void world_dma_give_up(struct world *w)
{
    for (struct event *e = w->dma; e != NULL; e = e->next) {
        e->status = e->at == UINT64_MAX ? NOF_EFAULT : e->status;
        e->at = w->now;
    }
}

void world_free_saved(struct world *w)
{
    world_memory_give(w->saved->all, w->saved->all_bytes);
    free(w->saved);
}

static size_t rank_bytes(const struct world *w, const struct world_rank *r)
{
    return w->cfg.arena_bytes + r->staging_bytes + w->cfg.area_bytes + w->cfg.program_bytes +
           (w->cfg.delta ? sizeof *r->delta_host + sizeof *r->delta_nic : 0);
}

/* That nothing was forgotten. */
static void check_same(const char *what, const void *now, const void *image, size_t bytes)
{
    const uint8_t *a = now, *b = image;
    size_t i = 0;
    if (memcmp(a, b, bytes) == 0)
        return;
    while (a[i] == b[i])
        i++;
    fprintf(stderr, "%s: byte %zu of %zu is not as it was\n", what, i, bytes);
    abort();
}

void world_touch(struct world *w, unsigned rank, const void *at, uint64_t bytes)
{
    uint64_t from = (uint64_t)((const uint8_t *)at - w->rank[rank].arena);
    if (from >= w->cfg.arena_bytes || bytes == 0)
        return;
    uint64_t end = bytes < w->cfg.arena_bytes - from ? from + bytes : w->cfg.arena_bytes;
    for (uint64_t page = from / WORLD_PAGE; page * WORLD_PAGE < end; page++)
        w->rank[rank].touched[page / 64] |= 1ull << page % 64;
}

void world_write_program(struct world *w, unsigned rank, size_t at, const void *bytes, size_t n)
{
    struct world_rank *r = &w->rank[rank];
    memcpy(r->program_area + at, bytes, n);
    if (r->program_used < at + n)
        r->program_used = at + n;
}

/* Arena, then the rest. */
static void save_rank(const struct world *w, const struct world_rank *r, uint8_t *saved)
{
    const void *at[] = {r->arena, r->staging, r->bounce, r->program_area, r->delta_host, r->delta_nic};
    const size_t n[] = {w->cfg.arena_bytes,   r->staging_bytes,      w->cfg.area_bytes,
                        w->cfg.program_bytes, sizeof *r->delta_host, sizeof *r->delta_nic};
    for (unsigned i = 0; i < (w->cfg.delta ? 6u : 4u); saved += n[i++])
        memcpy(saved, at[i], n[i]);
}

static void restore_arena(const struct world *w, struct world_rank *r, const uint8_t *saved)
{
    for (size_t word = 0; word < WORLD_ARENA / WORLD_PAGE / 64; word++) {
        for (uint64_t bits = r->touched[word]; bits != 0; bits &= bits - 1) {
            size_t at = (word * 64 + (size_t)__builtin_ctzll(bits)) * WORLD_PAGE;
            size_t left = w->cfg.arena_bytes - at;
            memcpy(r->arena + at, saved + at, left < WORLD_PAGE ? left : WORLD_PAGE);
        }
        r->touched[word] = 0;
    }
}

/* As it was when it was saved, but for what has happened to `now`. */
static void restore_rank(const struct world *w, struct world_rank *r, const uint8_t *saved,
                         const struct world_rank *now, bool checks)
{
    const size_t boards = now->delta_used ? SIZE_MAX : 0; /* which are most of it */
    const struct {
        const char *what;
        void *at;
        size_t bytes, used;
    } part[] = {{"a staging area", r->staging, r->staging_bytes, SIZE_MAX},
                {"a bounce arena", r->bounce, w->cfg.area_bytes, 0},
                {"a program area", r->program_area, w->cfg.program_bytes, now->program_used},
                {"a board", r->delta_host, sizeof *r->delta_host, boards},
                {"a board", r->delta_nic, sizeof *r->delta_nic, boards}};
    restore_arena(w, r, saved);
    if (checks)
        check_same("an arena", r->arena, saved, w->cfg.arena_bytes);
    saved += w->cfg.arena_bytes;
    for (unsigned i = 0; i < (w->cfg.delta ? 5u : 3u); saved += part[i++].bytes) {
        memcpy(part[i].at, saved, part[i].used < part[i].bytes ? part[i].used : part[i].bytes);
        if (checks)
            check_same(part[i].what, part[i].at, saved, part[i].bytes);
    }
}

/* One piece of memory: pages cost more than what is copied into them. */
static void take_image(const struct world *w, struct saved *s)
{
    const size_t align = _Alignof(max_align_t);
    for (unsigned i = 0; i < w->cfg.nics; i++)
        s->all_bytes += (w->mem_bytes[i] + align - 1) / align * align;
    for (unsigned i = 0; i < WORLD_RANKS; i++)
        if (w->rank[i].arena != NULL)
            s->all_bytes += rank_bytes(w, &w->rank[i]);
    s->all = world_memory_take(s->all_bytes, 0);
    uint8_t *at = s->all;
    for (unsigned i = 0; i < w->cfg.nics; i++) {
        s->mem[i] = at;
        at += (w->mem_bytes[i] + align - 1) / align * align;
    }
    for (unsigned i = 0; i < WORLD_RANKS; i++)
        if (w->rank[i].arena != NULL) {
            s->bytes[i] = at;
            at += rank_bytes(w, &w->rank[i]);
        }
}

void world_save(struct world *w)
{
    struct saved *s = calloc(1, sizeof *s);
    if (w->wire != NULL || w->dma != NULL || w->saved != NULL)
        abort();
    w->saved = s;
    s->now = w->now;
    s->rng = w->rng;
    s->frames = w->frames;
    for (struct wire_frame *f = w->every; f != NULL; f = f->every) {
        f->held = 1;
        f->as_saved = f->frame;
    }
    for (struct wire_frame *f = w->free; f != NULL; f = f->next)
        f->held = 0;
    take_image(w, s);
    for (unsigned i = 0; i < w->cfg.nics; i++)
        memcpy(s->mem[i], w->mem[i], w->mem_bytes[i]);
    for (unsigned i = 0; i < WORLD_RANKS; i++) {
        struct world_rank *r = &w->rank[i];
        r->program_used = 0;
        s->rank[i] = *r;
        if (r->arena == NULL)
            continue;
        save_rank(w, r, s->bytes[i]);
        memset(r->touched, 0, sizeof r->touched);
    }
}

/* Most of a NIC's memory is pools and payload, and most of that was not touched: only what was goes back. */
struct bulk {
    uint8_t *at;
    size_t all, used; /* bytes; from `used` on they are as they were */
};
#define BULKS 24u

struct bulks {
    struct bulk list[BULKS];
    unsigned n;
};

static void add_bulk(struct bulks *b, void *at, size_t all, size_t used)
{
    if (b->n == BULKS || (b->n > 0 && (uint8_t *)at < b->list[b->n - 1].at))
        abort(); /* they are named in the order in which they lie */
    b->list[b->n++] = (struct bulk){.at = at, .all = all, .used = used};
}

/* What lies beside the objects of a pool, `each` bytes for each, which only those that were given back have touched. */
static void restore_beside(const struct nof_pool *pool, uint8_t *bytes, size_t each, const uint8_t *base,
                           const uint8_t *image)
{
    for (uint32_t i = 0; i < pool->high; i++) {
        const uint8_t *obj = (const void *)nof_pool_obj(pool, i);
        const struct nof_obj *was = (const void *)(image + (obj - base));
        if (was->gen != nof_pool_obj(pool, i)->gen)
            memcpy(bytes + i * each, image + (bytes - base) + i * each, each);
    }
}

static void find_bulks(const struct nof_nic *nic, const struct nof_nic *before, struct bulks *b)
{
    const struct nof_pool *pools[] = {
        &nic->sends,      &nic->recvs,    &nic->envs,         &nic->peers,        &nic->ctls,
        &nic->reads,      &nic->writes,   &nic->locals,       &nic->layouts.pool, &nic->layouts.chunks,
        &nic->colls.pool, &nic->combines, &nic->mcast.groups, &nic->colls.chunks};
    const struct nof_grants *grants = &nic->grants;
    bool coded = nic->counters[NOF_C_CODEC_GRANTED] != before->counters[NOF_C_CODEC_GRANTED];
    const struct nof_local_frame *local = nic->locals.base;
    const size_t room = (size_t)NOF_MCAST_OPS * NOF_MCAST_ROOM_BYTES;
    const size_t plain = NOF_PLAIN_BYTES, packed = (size_t)NOF_CHAIN_BUFS_MAX * NOF_NETMEM_BLOCK;
    for (unsigned i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        const struct nof_pool *p = pools[i];
        add_bulk(b, p->base, (size_t)p->cap * p->stride_bytes, (size_t)p->high * p->stride_bytes);
        if (p == &nic->combines)
            add_bulk(b, nic->combine_mem, (size_t)p->cap * 2 * NOF_REDUCE_PIECE_BYTES, 0);
        if (p == &nic->mcast.groups)
            add_bulk(b, nic->mcast.room, p->cap * room, 0);
    }
    add_bulk(b, local[0].body, (size_t)nic->locals.cap * NOF_LOCAL_BODY, 0);
    add_bulk(b, grants->raw, (size_t)grants->raws.cap * NOF_DMA_BLOCK_BYTES,
             (size_t)grants->raws.high * NOF_DMA_BLOCK_BYTES);
    add_bulk(b, grants->plain, plain, coded ? plain : 0);
    add_bulk(b, grants->packed, packed, coded ? packed : 0);
    add_bulk(b, nic->netmem.data, (size_t)nic->netmem.nblocks * NOF_NETMEM_BLOCK,
             (size_t)nic->netmem.high * NOF_NETMEM_BLOCK);
}

static void restore_nic(struct nof_nic *nic, const uint8_t *image, size_t bytes)
{
    struct bulks bulks = {.n = 0};
    uint8_t *base = (uint8_t *)nic;
    const struct nof_local_frame *local = nic->locals.base;
    find_bulks(nic, (const void *)image, &bulks);
    restore_beside(&nic->combines, nic->combine_mem, (size_t)2 * NOF_REDUCE_PIECE_BYTES, base, image);
    restore_beside(&nic->mcast.groups, nic->mcast.room, (size_t)NOF_MCAST_OPS * NOF_MCAST_ROOM_BYTES, base,
                   image);
    restore_beside(&nic->locals, local[0].body, NOF_LOCAL_BODY, base, image);
    uint8_t *at = base;
    for (unsigned i = 0; i < bulks.n; i++) {
        const struct bulk *b = &bulks.list[i];
        if (b->at < at)
            abort(); /* they overlap */
        memcpy(at, image + (at - base), (size_t)(b->at - at) + b->used);
        at = b->at + b->all;
    }
    memcpy(at, image + (at - base), bytes - (size_t)(at - base));
}

void world_restore(struct world *w)
{
    const struct saved *s = w->saved;
    const bool checks = w->restores++ % CHECK_EVERY == 0;
    world_forget_events(w);
    w->free = NULL;
    for (struct wire_frame *f = w->every; f != NULL; f = f->every) {
        if (f->held) {
            allow(f->bytes, FRAME_CAP);
            f->frame = f->as_saved;
        } else {
            world_buffer_give(w, f);
        }
    }
    w->now = s->now;
    w->rng = s->rng;
    w->frames = s->frames;
    w->steps = 0;
    memset(w->cut, 0, sizeof w->cut);
    memset(w->deaf, 0, sizeof w->deaf);
    memset(&w->fault, 0, sizeof w->fault);
    for (unsigned i = 0; i < w->cfg.nics; i++) {
        restore_nic(w->nic[i], s->mem[i], w->mem_bytes[i]);
        if (checks)
            check_same("a NIC", w->nic[i], s->mem[i], w->mem_bytes[i]);
    }
    for (unsigned i = 0; i < WORLD_RANKS; i++) {
        struct world_rank *r = &w->rank[i];
        struct world_rank now = *r;
        *r = s->rank[i];
        r->comps = now.comps; /* they may have moved */
        r->comps_cap = now.comps_cap;
        r->backlog = now.backlog;
        r->backlog_cap = now.backlog_cap;
        memcpy(r->touched, now.touched, sizeof r->touched);
        if (r->arena != NULL)
            restore_rank(w, r, s->bytes[i], &now, checks);
    }
}
