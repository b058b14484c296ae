/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends of which a NIC parks some, and which need a word of their sender's library when they are received: a rank that waits without
 * looking at what comes keeps the other one waiting. Once in a program; needs mpitest.h. */
#ifndef TESTS_MPI_PARKED_H
#define TESTS_MPI_PARKED_H

#include "mpitest.h"

enum { PARKED = 40, LARGE = 65536 };

static unsigned char large[PARKED][LARGE];

static inline void send_large(int to, MPI_Request *reqs)
{
    for (int i = 0; i < PARKED; i++) {
        memset(large[i], i + 1, LARGE);
        OK(MPI_Isend(large[i], LARGE, MPI_BYTE, to, 100 + i, MPI_COMM_WORLD, &reqs[i]));
    }
}

/* From the last on: each needs a word of the rank that sent it. */
static inline void receive_large(int from)
{
    static unsigned char got[LARGE];
    for (int i = PARKED; i-- > 0;) {
        OK(MPI_Recv(got, LARGE, MPI_BYTE, from, 100 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(got[0] == i + 1 && got[LARGE - 1] == i + 1);
    }
}

#endif
