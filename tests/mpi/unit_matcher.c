/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's matcher against a list that is searched from its beginning, in random operations with
 * few keys (so that everything meets everything), and its cost with 100 000 entries. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../check.h"
#include "chan/matcher.h"

enum { ENTRIES = 400, STEPS = 200000, MANY = 100000 };

struct item {
    struct nof_match_entry entry; /* first */
    int state; /* 0 free, 1 posted, 2 waiting */
    uint64_t order;
};

static struct item items[ENTRIES];
static struct nof_matcher matcher;
static uint64_t clock_now;

static unsigned draw(unsigned n)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 20) % n;
}

static bool matches(const struct nof_match_entry *receive, uint32_t ctx, int32_t source, int32_t tag)
{
    return receive->ctx == ctx && (receive->source == NOF_MATCH_ANY || receive->source == source) &&
           (receive->tag == NOF_MATCH_ANY || receive->tag == tag);
}

/* The oldest in `state` that matches; wildcards are the receive's, on whichever side it is. */
static struct item *oldest(int state, const struct nof_match_entry *key)
{
    struct item *best = NULL;
    for (int i = 0; i < ENTRIES; i++) {
        const struct nof_match_entry *e = &items[i].entry;
        if (items[i].state != state || (best != NULL && best->order < items[i].order))
            continue;
        if (state == 1 ? matches(e, key->ctx, key->source, key->tag)
                       : matches(key, e->ctx, e->source, e->tag))
            best = &items[i];
    }
    return best;
}

static void step(void)
{
    struct item *it = &items[draw(ENTRIES)];
    if (it->state != 0) {
        if (draw(8) != 0)
            return;
        if (it->state == 1)
            nof_matcher_unpost(&matcher, &it->entry);
        else
            nof_matcher_remove(&matcher, &it->entry);
        it->state = 0;
        return;
    }
    struct nof_match_entry key = {.ctx = draw(2), .source = (int32_t)draw(3), .tag = (int32_t)draw(4)};
    it->order = ++clock_now;
    if (draw(2) == 0) { /* an envelope comes */
        struct item *want = oldest(1, &key);
        struct nof_match_entry *got = nof_matcher_take_posted(&matcher, key.ctx, key.source, key.tag);
        check(got == (want == NULL ? NULL : &want->entry));
        if (want != NULL) {
            want->state = 0;
            return;
        }
        it->entry = key;
        it->state = 2;
        check(nof_matcher_add(&matcher, &it->entry) == 0);
    } else { /* a receive is posted */
        key.source = draw(3) == 0 ? NOF_MATCH_ANY : key.source;
        key.tag = draw(3) == 0 ? NOF_MATCH_ANY : key.tag;
        struct item *want = oldest(2, &key);
        struct nof_match_entry *got = nof_matcher_find(&matcher, key.ctx, key.source, key.tag);
        check(got == (want == NULL ? NULL : &want->entry));
        if (want != NULL) {
            nof_matcher_remove(&matcher, got);
            want->state = 0;
            return;
        }
        it->entry = key;
        it->state = 1;
        check(nof_matcher_post(&matcher, &it->entry) == 0);
    }
}

/* Of this process: what else runs does not count. */
static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* With a list, 100 000 look-ups behind 100 000 entries would be 10^10 steps: minutes. */
static void many(void)
{
    struct nof_match_entry *entries = calloc(MANY, sizeof(*entries));
    check(entries != NULL);
    double start = cpu_seconds();
    for (int i = 0; i < MANY; i++) {
        entries[i].tag = i;
        check(nof_matcher_add(&matcher, &entries[i]) == 0);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        struct nof_match_entry *e = nof_matcher_find(&matcher, 0, NOF_MATCH_ANY, i);
        check(e == &entries[i]);
        nof_matcher_remove(&matcher, e);
    }
    check(cpu_seconds() - start < 30);
    check(matcher.waiting.count == 0 && matcher.waiting.queues == 0);
    free(entries);
}

int main(void)
{
    for (int i = 0; i < STEPS; i++)
        step();
    for (int i = 0; i < ENTRIES; i++) {
        if (items[i].state == 1)
            nof_matcher_unpost(&matcher, &items[i].entry);
        else if (items[i].state == 2)
            nof_matcher_remove(&matcher, &items[i].entry);
    }
    check(matcher.posted.count == 0 && matcher.posted.queues == 0);
    many();
    return 0;
}
