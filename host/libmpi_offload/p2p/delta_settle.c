/* SPDX-License-Identifier: BSD-3-Clause */
#include "p2p/delta_settle.h"

#include "base/wait.h"
#include "delta/delta_in.h"
#include "delta/delta_watch.h"

static void await(const void *address, size_t bytes)
{
    struct nof_wait wait = NOF_WAIT_START;
    struct nof_delta_pause pause = {.polls = 0};
    for (;;) {
        nof_delta_pause_look(&pause);
        int news = nof_wait_poll();
        if (nof_delta_watch_settle(address, bytes))
            break;
        if (news > 0)
            continue;
        if (nof_delta_pause_sleeps(&pause))
            nof_wait_tell(&wait);
        nof_lib_unlock();
        (void)nof_delta_pause(&pause); /* a NIC that is gone is noticed in polls, and ends the receive */
        nof_lib_lock();
    }
    nof_wait_told(&wait);
}

void nof_delta_settle(const void *address, size_t bytes)
{
    if (bytes > 0 && nof_delta_watch_any() && !nof_wait_polling() && !nof_delta_watch_settle(address, bytes))
        await(address, bytes);
}

void nof_delta_settle_span(const void *buf, size_t count, const struct nof_type *type)
{
    if (count == 0 || type == NULL)
        return;
    ptrdiff_t reach = (ptrdiff_t)(count - 1) * nof_type_extent(type);
    ptrdiff_t low = type->tree->lb + (reach < 0 ? reach : 0), high = type->tree->ub + (reach > 0 ? reach : 0);
    if (low < high)
        nof_delta_settle(nof_lib_at(buf, low), (size_t)(high - low));
}
