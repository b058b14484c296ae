/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Binary heap of one deadline per path. Set once per path and call (at the flush), so its
 * logarithm is paid per burst and not per frame. */
#include "transport/state.h"

static void place(struct nof_transport *t, uint32_t pos, struct nof_timer timer)
{
    t->heap[pos] = timer;
    nof_path_at(t, timer.path)->heap_pos = pos + 1;
}

static void sift_up(struct nof_transport *t, uint32_t pos, struct nof_timer timer)
{
    /* bound: depth of a heap of paths; paid by the path */
    while (pos > 0) {
        uint32_t parent = (pos - 1) / 2;

        if (t->heap[parent].at_ns <= timer.at_ns)
            break;
        place(t, pos, t->heap[parent]);
        pos = parent;
    }
    place(t, pos, timer);
}

static void sift_down(struct nof_transport *t, uint32_t pos, struct nof_timer timer)
{
    /* bound: depth of a heap of paths; paid by the path */
    for (;;) {
        uint32_t child = 2 * pos + 1;

        if (child >= t->heap_count)
            break;
        if (child + 1 < t->heap_count && t->heap[child + 1].at_ns < t->heap[child].at_ns)
            child++;
        if (t->heap[child].at_ns >= timer.at_ns)
            break;
        place(t, pos, t->heap[child]);
        pos = child;
    }
    place(t, pos, timer);
}

static void take_out(struct nof_transport *t, uint32_t pos)
{
    struct nof_timer last = t->heap[--t->heap_count];

    if (pos == t->heap_count)
        return;
    if (pos > 0 && t->heap[(pos - 1) / 2].at_ns > last.at_ns)
        sift_up(t, pos, last);
    else
        sift_down(t, pos, last);
}

void nof_timer_set(struct nof_path *p, uint64_t at_ns)
{
    struct nof_transport *t = p->t;
    struct nof_timer timer = {.at_ns = at_ns, .path = nof_path_index(p)};
    uint32_t pos = p->heap_pos;

    if (at_ns == NOF_NO_DEADLINE) {
        p->heap_pos = 0;
        if (pos > 0)
            take_out(t, pos - 1);
        return;
    }
    if (pos == 0) {
        sift_up(t, t->heap_count++, timer);
        return;
    }
    uint64_t before = t->heap[pos - 1].at_ns;
    if (at_ns < before)
        sift_up(t, pos - 1, timer);
    else if (at_ns > before)
        sift_down(t, pos - 1, timer);
}

struct nof_path *nof_timer_pop(struct nof_transport *t)
{
    if (t->heap_count == 0 || t->heap[0].at_ns > t->now_ns)
        return NULL;

    struct nof_path *p = nof_path_at(t, t->heap[0].path);
    nof_timer_set(p, NOF_NO_DEADLINE);
    return p;
}
