/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that checks what a program compiled with --delta claims, in one process.
 *
 * A send keeps a copy of every byte when it is announced, and compares at its end and wait. A lazy receive fills the buffer
 * with garbage, and bytes come when they are waited for: what is used before differs from what the same program computes
 * without the plug-in. A broken claim is printed and ends the program with 1. */
#ifndef DELTA_MOCK_H
#define DELTA_MOCK_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

int MPIX_Delta_send_begin(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                          MPI_Request *request);
int MPIX_Delta_send_data(MPI_Request request, const void *address, MPI_Count bytes);
int MPIX_Delta_send_end(MPI_Request *request);
int MPIX_Delta_send_end_count(MPI_Request *request, MPI_Count count);
int MPIX_Delta_wait(MPI_Request *request, MPI_Status *status);
int MPIX_Delta_recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                    MPI_Status *status);
int MPIX_Delta_wait_data(const void *address, MPI_Count bytes);
int MPI_Delta_send_begin(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                         MPI_Request *request);
int MPI_Delta_wait(MPI_Request *request, MPI_Status *status);

/* Receives fill the buffer at once (0), or when bytes are waited for (1). */
void mock_lazy(int lazy);
/* Element i of what a receive gets: the same for each. */
double mock_sent(int tag, int i);

struct mock_counts {
    long announced_calls;
    long announced_bytes; /* before the end */
    long sent_bytes;
    long waits;
    long waited_bytes; /* that had not come before */
    long received_bytes;
    unsigned long long sum; /* of all bytes that were sent, in order */
};
/* Since the last call. Receives that have not come wholly are a broken claim. */
struct mock_counts mock_take(void);

#ifdef __cplusplus
}
#endif

#endif
