/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank's library counts, of all its parts. MPI_T has these as library.NAME; a rank that leaves MPI writes them on its board
 * (board.h), in this order, and `nof run --stats` adds them up over the ranks. In the same order it writes them into its BAR as
 * it goes (docs/HOST_ABI.md), and the daemon adds them up for `nof stats`.
 *
 * One more part: its list into NOF_LIBRARY_COUNTS, its number into NOF_LIBRARY_COUNT_MAX, and where it is counted into `parts` of
 * host/libmpi_offload/tool/tool_vars.c, all in the same order.
 * nofd knows them by their order and number alone: whoever changes either, or what one means, raises NOF_ABI_VERSION. */
#ifndef NOF_PRIVATE_LIBRARY_COUNTS_H
#define NOF_PRIVATE_LIBRARY_COUNTS_H

#include <assert.h>

#include "nof_private/board.h"
#include "nof_private/chan_counts.h"
#include "nof_private/coll_counts.h"
#include "nof_private/delta_counts.h"
#include "nof_private/poll_counts.h"

#define NOF_LIBRARY_COUNTS_NAMED(id, name, help) NOF_LIBRARY_COUNT(name, help)

/* With NOF_LIBRARY_COUNT(name, help) defined. */
#define NOF_LIBRARY_COUNTS \
    NOF_COLL_COUNTS \
    NOF_DELTA_COUNTS(NOF_LIBRARY_COUNTS_NAMED) \
    NOF_CHAN_COUNTS(NOF_LIBRARY_COUNTS_NAMED) \
    NOF_POLL_COUNTS(NOF_LIBRARY_COUNTS_NAMED)

enum {
    NOF_LIBRARY_COUNT_MAX =
        (int)NOF_COLL_COUNT_MAX + (int)NOF_DELTA_COUNT_MAX + (int)NOF_CHAN_COUNT_MAX + (int)NOF_POLL_COUNT_MAX
};
static_assert(NOF_LIBRARY_COUNT_MAX <= NOF_BOARD_COUNTS, "room on the board");

#endif
