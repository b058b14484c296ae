/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pools of equal objects in the NIC's arena, named by index. Every object begins with a struct
 * nof_obj; `gen` changes whenever an object is given back, so that (index, gen) is a handle that a
 * stale or hostile sender cannot make point to somebody else's object.
 *
 * Free objects are reused last in, first out; objects that were never used are not even touched,
 * so a large bound costs address space and nothing else.
 *
 * Queues are singly linked rings through nof_obj.next, named by their tail (NOF_NIL: empty).
 * An object is in at most one of: free list, queue. */
#ifndef NOF_POOL_H
#define NOF_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/nil.h"

#define NOF_GEN_MAX 0x1fffffffu /* 29 bits: three bits of a handle say what it names */

struct nof_obj {
    uint32_t next;
    uint32_t gen;
};

struct nof_pool {
    void *base;
    uint32_t stride_bytes;
    uint32_t cap;
    uint32_t high; /* objects below this were used at least once */
    uint32_t head; /* free list */
    uint32_t used;
};

static inline struct nof_obj *nof_pool_obj(const struct nof_pool *p, uint32_t i)
{
    void *at = (unsigned char *)p->base + (size_t)i * p->stride_bytes;
    return at;
}

static inline void nof_pool_init(struct nof_pool *p, void *base, size_t stride_bytes, uint32_t cap)
{
    *p = (struct nof_pool){.base = base, .stride_bytes = (uint32_t)stride_bytes, .cap = cap, .head = NOF_NIL};
}

static inline uint32_t nof_pool_free(const struct nof_pool *p)
{
    return p->cap - p->used;
}

/* An index, or NOF_NIL. Only `gen` of the object has a meaning. */
static inline uint32_t nof_pool_take(struct nof_pool *p)
{
    uint32_t i = p->head;
    if (i != NOF_NIL) {
        p->head = nof_pool_obj(p, i)->next;
    } else if (p->high < p->cap) {
        i = p->high++;
        memset(nof_pool_obj(p, i), 0, p->stride_bytes);
        nof_pool_obj(p, i)->gen = 1;
    } else {
        return NOF_NIL;
    }
    p->used++;
    return i;
}

/* o: nof_pool_obj(p, i). */
static inline void nof_pool_put(struct nof_pool *p, struct nof_obj *o, uint32_t i)
{
    o->gen = o->gen == NOF_GEN_MAX ? 1 : o->gen + 1;
    o->next = p->head;
    p->head = i;
    p->used--;
}

static inline void nof_pool_give(struct nof_pool *p, uint32_t i)
{
    nof_pool_put(p, nof_pool_obj(p, i), i);
}

static inline uint32_t nof_queue_head(const struct nof_pool *p, uint32_t tail)
{
    return tail == NOF_NIL ? NOF_NIL : nof_pool_obj(p, tail)->next;
}

static inline void nof_queue_push(const struct nof_pool *p, uint32_t *tail, uint32_t i)
{
    struct nof_obj *o = nof_pool_obj(p, i);
    if (*tail == NOF_NIL) {
        o->next = i;
    } else {
        o->next = nof_pool_obj(p, *tail)->next;
        nof_pool_obj(p, *tail)->next = i;
    }
    *tail = i;
}

static inline uint32_t nof_queue_pop(const struct nof_pool *p, uint32_t *tail)
{
    uint32_t i = nof_queue_head(p, *tail);
    if (i == NOF_NIL)
        return NOF_NIL;
    if (i == *tail)
        *tail = NOF_NIL;
    else
        nof_pool_obj(p, *tail)->next = nof_pool_obj(p, i)->next;
    return i;
}

/* All of `from` behind what is in `tail`. */
static inline void nof_queue_join(const struct nof_pool *p, uint32_t *tail, uint32_t *from)
{
    if (*tail != NOF_NIL && *from != NOF_NIL) {
        uint32_t first = nof_pool_obj(p, *tail)->next;
        nof_pool_obj(p, *tail)->next = nof_pool_obj(p, *from)->next;
        nof_pool_obj(p, *from)->next = first;
    }
    if (*from != NOF_NIL)
        *tail = *from;
    *from = NOF_NIL;
}

/* Rings: queues out of whose middle objects are taken. They are linked backwards, too, through a number in the object,
 * `prev_at` bytes from its beginning: thousands that leave in any order do not look for each other. */
static inline uint32_t *nof_ring_prev(const struct nof_pool *p, uint32_t i, size_t prev_at)
{
    void *at = (unsigned char *)nof_pool_obj(p, i) + prev_at;
    return at;
}

static inline void nof_ring_push(const struct nof_pool *p, uint32_t *tail, uint32_t i, size_t prev_at)
{
    uint32_t prev = *tail == NOF_NIL ? i : *tail;
    nof_queue_push(p, tail, i);
    *nof_ring_prev(p, i, prev_at) = prev;
    *nof_ring_prev(p, nof_pool_obj(p, i)->next, prev_at) = i;
}

/* Before the others. */
static inline void nof_ring_push_first(const struct nof_pool *p, uint32_t *tail, uint32_t i, size_t prev_at)
{
    uint32_t last = *tail;
    nof_ring_push(p, tail, i, prev_at);
    if (last != NOF_NIL)
        *tail = last;
}

/* Behind `at`, which is in it. */
static inline void nof_ring_push_behind(const struct nof_pool *p, uint32_t *tail, uint32_t at, uint32_t i,
                                        size_t prev_at)
{
    if (at == *tail) {
        nof_ring_push(p, tail, i, prev_at);
        return;
    }
    uint32_t next = nof_pool_obj(p, at)->next;
    nof_pool_obj(p, i)->next = next;
    nof_pool_obj(p, at)->next = i;
    *nof_ring_prev(p, i, prev_at) = at;
    *nof_ring_prev(p, next, prev_at) = i;
}

static inline void nof_ring_remove(const struct nof_pool *p, uint32_t *tail, uint32_t i, size_t prev_at)
{
    uint32_t prev = *nof_ring_prev(p, i, prev_at);
    uint32_t next = nof_pool_obj(p, i)->next;
    nof_pool_obj(p, prev)->next = next;
    *nof_ring_prev(p, next, prev_at) = prev;
    if (*tail == i)
        *tail = prev == i ? NOF_NIL : prev;
}

/* An index, or NOF_NIL. */
static inline uint32_t nof_ring_pop(const struct nof_pool *p, uint32_t *tail, size_t prev_at)
{
    uint32_t i = nof_queue_head(p, *tail);
    if (i != NOF_NIL)
        nof_ring_remove(p, tail, i, prev_at);
    return i;
}

#endif
