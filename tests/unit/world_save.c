/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A world and back: what is lent and given back, and images of a quiet world. */
#include "world_state.h"

#include <stdlib.h>
#include <string.h>

#include "nic.h"

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
    w->pending = 0;
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
    for (unsigned i = 0; i < WORLD_NICS; i++)
        free(w->saved->mem[i]);
    for (unsigned i = 0; i < WORLD_RANKS; i++)
        free(w->saved->bytes[i]);
    free(w->saved);
}

static size_t rank_bytes(const struct world *w, const struct world_rank *r)
{
    return w->cfg.arena_bytes + r->staging_bytes + 2 * w->cfg.area_bytes +
           (w->cfg.delta ? sizeof *r->delta_host + sizeof *r->delta_nic : 0);
}

/* boards: those of delta messages, too, which are most of it. */
static void copy_rank(const struct world *w, const struct world_rank *r, uint8_t *saved, int back, int boards)
{
    void *at[] = {r->arena, r->staging, r->bounce, r->program_area, r->delta_host, r->delta_nic};
    const size_t n[] = {w->cfg.arena_bytes, r->staging_bytes,      w->cfg.area_bytes,
                        w->cfg.area_bytes,  sizeof *r->delta_host, sizeof *r->delta_nic};
    for (unsigned i = 0; i < (boards ? 6u : 4u); saved += n[i++])
        if (back)
            memcpy(at[i], saved, n[i]);
        else
            memcpy(saved, at[i], n[i]);
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
    for (unsigned i = 0; i < w->cfg.nics; i++) {
        s->mem[i] = malloc(w->mem_bytes[i]);
        memcpy(s->mem[i], w->mem[i], w->mem_bytes[i]);
    }
    for (unsigned i = 0; i < WORLD_RANKS; i++) {
        struct world_rank *r = &w->rank[i];
        s->rank[i] = *r;
        if (r->arena == NULL)
            continue;
        s->bytes[i] = malloc(rank_bytes(w, r));
        copy_rank(w, r, s->bytes[i], 0, w->cfg.delta);
    }
}

/* Payload that the NIC keeps is most of its memory, and most of it was not touched: only what was goes back. */
static void restore_nic(struct nof_nic *nic, const uint8_t *image, size_t bytes)
{
    const struct nof_local_frame *local = nic->locals.base;
    struct {
        uint8_t *at;
        size_t all, used;
    } bulk[] = {{local[0].body, (size_t)nic->locals.cap * NOF_LOCAL_BODY, 0},
                {nic->grants.raw, (size_t)nic->grants.raws.cap * NOF_DMA_BLOCK_BYTES,
                 (size_t)nic->grants.raws.high * NOF_DMA_BLOCK_BYTES},
                {nic->grants.plain, NOF_PLAIN_BYTES, 0},
                {nic->grants.packed, (size_t)NOF_CHAIN_BUFS_MAX * NOF_NETMEM_BLOCK, 0},
                {nic->netmem.data, (size_t)nic->netmem.nblocks * NOF_NETMEM_BLOCK,
                 (size_t)nic->netmem.high * NOF_NETMEM_BLOCK}};
    uint8_t *base = (uint8_t *)nic;
    const struct nof_nic *before = (const void *)image;
    if (nic->counters[NOF_C_CODEC_GRANTED] != before->counters[NOF_C_CODEC_GRANTED]) {
        bulk[2].used = bulk[2].all;
        bulk[3].used = bulk[3].all;
    }
    for (uint32_t i = 0; i < nic->locals.cap; i++) {
        const struct nof_local_frame *was =
            (const void *)(image + ((const uint8_t *)&local[i] - (const uint8_t *)base));
        if (local[i].obj.gen != was->obj.gen)
            memcpy(local[i].body, image + (local[i].body - base), NOF_LOCAL_BODY);
    }
    uint8_t *at = base;
    for (unsigned i = 0; i < sizeof bulk / sizeof bulk[0]; i++) {
        if (bulk[i].at < at)
            abort(); /* they lie in this order */
        memcpy(at, image + (at - base), (size_t)(bulk[i].at - at) + bulk[i].used);
        at = bulk[i].at + bulk[i].all;
    }
    memcpy(at, image + (at - base), bytes - (size_t)(at - base));
}

void world_restore(struct world *w)
{
    const struct saved *s = w->saved;
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
    for (unsigned i = 0; i < w->cfg.nics; i++)
        restore_nic(w->nic[i], s->mem[i], w->mem_bytes[i]);
    for (unsigned i = 0; i < WORLD_RANKS; i++) {
        struct world_rank *r = &w->rank[i];
        struct world_rank now = *r;
        *r = s->rank[i];
        r->comps = now.comps; /* they may have moved */
        r->comps_cap = now.comps_cap;
        r->backlog = now.backlog;
        r->backlog_cap = now.backlog_cap;
        if (r->arena != NULL)
            copy_rank(w, r, s->bytes[i], 1, now.delta_used);
    }
}
