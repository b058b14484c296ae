/* SPDX-License-Identifier: BSD-3-Clause */
/* A channel's boards of delta messages (nof/delta.h): the host's, the NIC's, and how each is told that the other's changed.
 * All but the boards themselves: any thread, without the lock, and a signal handler. */
#ifndef NOF_MPI_DELTA_BOARD_H
#define NOF_MPI_DELTA_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "nof/delta.h"

struct nof_delta_board {
    /* Its channel looks at none of them: a message keeps its place from its begin on, and goes at its end. */
    bool silent;
    struct nof_delta_host *(*host)(void); /* NULL: there is none any more */
    const struct nof_delta_nic *(*nic)(void);
    /* The slot's `ready` has changed. */
    void (*ring)(uint32_t slot);
    /* Sleep until an arrival has changed since host()->wake was `seen`, after host()->asleep was set and before the last look,
     * at most timeout_ns; false: the NIC is gone. */
    bool (*wait)(uint32_t seen, uint64_t timeout_ns);
    /* The NIC moves payload by the doing of this process, in polls. */
    bool (*assisted)(void);
};

#endif
