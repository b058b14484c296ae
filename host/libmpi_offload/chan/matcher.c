/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/matcher.h"

#include <stdlib.h>

#define FIRST_BUCKETS 64u

struct nof_match_queue {
    struct nof_match_queue *next; /* of the bucket, or of the spare list */
    uint32_t ctx;
    int32_t source;
    int32_t tag;
    uint32_t which; /* link of the entries that this queue uses */
    struct nof_match_entry *first;
    struct nof_match_entry *last;
};

static size_t hash(uint32_t ctx, int32_t source, int32_t tag)
{
    uint64_t h = (uint64_t)ctx << 32 | (uint32_t)tag;
    h ^= (uint64_t)(uint32_t)source * 0x9e3779b97f4a7c15u;
    h *= 0xff51afd7ed558ccdu; /* multipliers of the murmur3 finalizer: every bit reaches every bit */
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53u;
    return (size_t)(h ^ h >> 29);
}

static struct nof_match_queue *lookup(const struct nof_match_table *t, uint32_t ctx, int32_t source,
                                      int32_t tag)
{
    if (t->buckets == 0)
        return NULL;
    struct nof_match_queue *q = t->bucket[hash(ctx, source, tag) & (t->buckets - 1)];
    while (q != NULL && (q->ctx != ctx || q->source != source || q->tag != tag))
        q = q->next;
    return q;
}

static int grow(struct nof_match_table *t)
{
    size_t buckets = t->buckets == 0 ? FIRST_BUCKETS : t->buckets * 2;
    struct nof_match_queue **bucket = calloc(buckets, sizeof(*bucket));
    if (bucket == NULL)
        return t->buckets == 0 ? -1 : 0; /* a crowded table still works */
    for (size_t i = 0; i < t->buckets; i++) {
        while (t->bucket[i] != NULL) {
            struct nof_match_queue *q = t->bucket[i];
            t->bucket[i] = q->next;
            size_t to = hash(q->ctx, q->source, q->tag) & (buckets - 1);
            q->next = bucket[to];
            bucket[to] = q;
        }
    }
    free(t->bucket);
    t->bucket = bucket;
    t->buckets = buckets;
    return 0;
}

static struct nof_match_queue *queue_for(struct nof_matcher *m, struct nof_match_table *t, uint32_t ctx,
                                         int32_t source, int32_t tag, uint32_t which)
{
    struct nof_match_queue *q = lookup(t, ctx, source, tag);
    if (q != NULL)
        return q;
    if (t->queues >= t->buckets && grow(t) != 0)
        return NULL;
    q = m->spare;
    if (q != NULL)
        m->spare = q->next;
    else if ((q = malloc(sizeof(*q))) == NULL)
        return NULL;
    size_t at = hash(ctx, source, tag) & (t->buckets - 1);
    *q = (struct nof_match_queue){
        .next = t->bucket[at], .ctx = ctx, .source = source, .tag = tag, .which = which};
    t->bucket[at] = q;
    t->queues++;
    return q;
}

static void drop_queue(struct nof_matcher *m, struct nof_match_table *t, struct nof_match_queue *q)
{
    struct nof_match_queue **at = &t->bucket[hash(q->ctx, q->source, q->tag) & (t->buckets - 1)];
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    q->next = m->spare;
    m->spare = q;
    t->queues--;
}

static void link_at(struct nof_match_queue *q, struct nof_match_entry *e)
{
    struct nof_match_link *link = &e->link[q->which];
    *link = (struct nof_match_link){.next = NULL, .prev = q->last, .queue = q};
    if (q->last == NULL)
        q->first = e;
    else
        q->last->link[q->which].next = e;
    q->last = e;
}

static void unlink_at(struct nof_matcher *m, struct nof_match_table *t, struct nof_match_entry *e,
                      uint32_t which)
{
    struct nof_match_link *link = &e->link[which];
    struct nof_match_queue *q = link->queue;
    if (link->prev == NULL)
        q->first = link->next;
    else
        link->prev->link[which].next = link->next;
    if (link->next == NULL)
        q->last = link->prev;
    else
        link->next->link[which].prev = link->prev;
    if (q->first == NULL)
        drop_queue(m, t, q);
}

static void take_out(struct nof_matcher *m, struct nof_match_table *t, struct nof_match_entry *e)
{
    for (uint32_t i = 0; i < e->links; i++)
        unlink_at(m, t, e, i);
    if (e->prev == NULL)
        t->first = e->next;
    else
        e->prev->next = e->next;
    if (e->next == NULL)
        t->last = e->prev;
    else
        e->next->prev = e->prev;
    e->links = 0;
    t->count--;
    t->standing -= e->standing;
}

static int put_in(struct nof_matcher *m, struct nof_match_table *t, struct nof_match_entry *e, uint32_t links)
{
    static const struct {
        bool any_source;
        bool any_tag;
    } form[NOF_MATCH_LINKS] = {{false, false}, {true, false}, {false, true}, {true, true}};

    e->links = 0;
    e->seq = ++t->seq;
    e->next = NULL;
    e->prev = t->last;
    if (t->last == NULL)
        t->first = e;
    else
        t->last->next = e;
    t->last = e;
    t->count++;
    t->standing += e->standing;
    for (uint32_t i = 0; i < links; i++) {
        struct nof_match_queue *q = queue_for(m, t, e->ctx, form[i].any_source ? NOF_MATCH_ANY : e->source,
                                              form[i].any_tag ? NOF_MATCH_ANY : e->tag, i);
        if (q == NULL) {
            take_out(m, t, e);
            return -1;
        }
        link_at(q, e);
        e->links = i + 1;
    }
    return 0;
}

int nof_matcher_post(struct nof_matcher *m, struct nof_match_entry *receive)
{
    return put_in(m, &m->posted, receive, 1);
}

int nof_matcher_add(struct nof_matcher *m, struct nof_match_entry *envelope)
{
    return put_in(m, &m->waiting, envelope, NOF_MATCH_LINKS);
}

struct nof_match_entry *nof_matcher_take_posted(struct nof_matcher *m, uint32_t ctx, int32_t source,
                                                int32_t tag)
{
    if (m->posted.count == 0)
        return NULL;
    struct nof_match_entry *best = NULL;
    for (uint32_t i = 0; i < 4; i++) {
        const struct nof_match_queue *q = lookup(&m->posted, ctx, (i & 1u) != 0 ? NOF_MATCH_ANY : source,
                                                 (i & 2u) != 0 ? NOF_MATCH_ANY : tag);
        if (q != NULL && (best == NULL || q->first->seq < best->seq))
            best = q->first;
    }
    if (best != NULL)
        take_out(m, &m->posted, best);
    return best;
}

struct nof_match_entry *nof_matcher_find(const struct nof_matcher *m, uint32_t ctx, int32_t source,
                                         int32_t tag)
{
    if (m->waiting.count == 0)
        return NULL;
    const struct nof_match_queue *q = lookup(&m->waiting, ctx, source, tag);
    return q == NULL ? NULL : q->first;
}

struct nof_match_entry *nof_matcher_next(const struct nof_match_entry *envelope)
{
    return envelope->link[0].next;
}

void nof_matcher_unpost(struct nof_matcher *m, struct nof_match_entry *receive)
{
    take_out(m, &m->posted, receive);
}

void nof_matcher_remove(struct nof_matcher *m, struct nof_match_entry *envelope)
{
    take_out(m, &m->waiting, envelope);
}

static void free_queues(struct nof_match_queue *q)
{
    while (q != NULL) {
        struct nof_match_queue *next = q->next;
        free(q);
        q = next;
    }
}

static void free_table(struct nof_match_table *t)
{
    for (size_t i = 0; i < t->buckets; i++)
        free_queues(t->bucket[i]);
    free(t->bucket);
}

void nof_matcher_fini(struct nof_matcher *m)
{
    free_table(&m->posted);
    free_table(&m->waiting);
    free_queues(m->spare);
}
