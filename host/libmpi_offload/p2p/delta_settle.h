/* SPDX-License-Identifier: BSD-3-Clause */
/* Before the library or the NIC touches a buffer of the program: what delta receives hide of it has come.
 *
 * Under the library's lock, which is given up while it waits. In a poll, where nothing may be waited for, it does nothing: whoever has
 * messages begun there waits before (schedule.c). */
#ifndef NOF_MPI_DELTA_SETTLE_H
#define NOF_MPI_DELTA_SETTLE_H

#include "delta/delta_watch.h"
#include "type/type.h"

void nof_delta_settle(const void *address, size_t bytes);
void nof_delta_settle_span(const void *buf, size_t count, const struct nof_type *type); /* of the next one */

/* All that `count` elements span at buf. type NULL: nothing. */
static inline void nof_delta_settle_buffer(const void *buf, size_t count, const struct nof_type *type)
{
    if (nof_delta_watch_any())
        nof_delta_settle_span(buf, count, type);
}

#endif
