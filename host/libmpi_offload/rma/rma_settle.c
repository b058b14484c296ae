/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands whose place is hidden by a delta receive, here at the target: they wait until it has come. Handlers never wait, and who
 * sends the message may wait for something else that this process has to do. */
#include "chan/chan.h"
#include "delta/delta_watch.h"
#include "rma/rma_work.h"

#define LOOK_NS 100000u /* pages come without a word; the message's end rings */

static struct nof_rma_work *first, *last; /* who waits */

static bool place(const struct nof_rma_work *work, const void **at_out, size_t *bytes_out)
{
    int64_t low, high;
    if (!nof_delta_watch_any() || work->type == NULL)
        return false;
    nof_rma_span(work->type, work->command.count, &low, &high);
    *at_out = (const void *)(uintptr_t)(work->command.addr + (uint64_t)low); // NOLINT: it is in range
    *bytes_out = (size_t)(high - low);
    return low < high;
}

bool nof_rma_settled(const struct nof_rma_work *work)
{
    const void *at;
    size_t bytes;
    return !place(work, &at, &bytes) || nof_delta_watch_settle(at, bytes);
}

void nof_rma_write_here(const struct nof_rma_work *work)
{
    const void *at;
    size_t bytes;
    if (place(work, &at, &bytes))
        nof_delta_watch_write(at, bytes);
}

static void append(struct nof_rma_work *work)
{
    work->waits_next = NULL;
    if (first == NULL)
        first = work;
    else
        last->waits_next = work;
    last = work;
}

/* Each once: what waits anew meanwhile is behind them. */
static int look(void)
{
    struct nof_rma_work *work = first, *next;
    int n = 0;
    first = last = NULL;
    for (; work != NULL; work = next) {
        next = work->waits_next;
        if (!nof_rma_settled(work)) {
            append(work);
            continue;
        }
        work->waits = false;
        work->step.then(&work->step, MPI_SUCCESS);
        n++;
    }
    return n;
}

static uint64_t nap_ns(void)
{
    return first == NULL ? UINT64_MAX : LOOK_NS;
}

static void describe(const struct nof_sched *of)
{
    (void)of;
}

static const struct nof_wait_source source = {.poll = look, .nap_ns = nap_ns, .describe = describe};

void nof_rma_wait_settled(struct nof_rma_work *work)
{
    static bool polled;
    if (!polled)
        nof_wait_add(&source);
    polled = true;
    work->waits = true;
    append(work);
}

void nof_rma_drop_waiting(const struct nof_win *win)
{
    struct nof_rma_work *work = first, *next;
    first = last = NULL;
    for (; work != NULL; work = next) {
        next = work->waits_next;
        if (work->win != win) {
            append(work);
            continue;
        }
        nof_rma_turn_leave(&win->rma->peers[work->origin], work); /* others end yet, and look at the list */
        nof_rma_work_free(work);
    }
}
