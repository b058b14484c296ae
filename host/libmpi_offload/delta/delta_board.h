/* SPDX-License-Identifier: BSD-3-Clause */
/* A channel's boards of delta messages (nof/delta.h): what of sends is ready, what of receives has come, and how each side is told.
 * Slots below NOF_DELTA_SLOTS are the NIC's; of those above, memory has its own (chan/shm/shm_part.h).
 * ready(): under the library's lock. The others: any thread, without it, and a signal handler. */
#ifndef NOF_MPI_DELTA_BOARD_H
#define NOF_MPI_DELTA_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "nof/delta.h"

struct nof_delta_board {
    /* Receivers read senders' boards, and say in memory of their own process what has come. */
    bool by_memory;
    struct nof_delta_host *(*host)(void); /* NULL: there is none any more */
    const struct nof_delta_nic *(*nic)(void);
    /* Where a send of this slot says what is ready; NULL: nobody looks, and it goes at its end. */
    struct nof_delta_ready *(*ready)(uint32_t slot);
    /* That has changed. */
    void (*ring)(uint32_t slot);
    /* Sleep until an arrival has changed since host()->wake was `seen`, after host()->asleep was set and before the last look,
     * at most timeout_ns; false: the NIC is gone. */
    bool (*wait)(uint32_t seen, uint64_t timeout_ns);
    /* The NIC moves payload by the doing of this process, in polls. */
    bool (*assisted)(void);
};

#endif
