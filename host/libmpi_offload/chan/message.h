/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that MPI_Mprobe took out of matching: to be received. Threads: under the library's lock. */
#ifndef NOF_MPI_MESSAGE_H
#define NOF_MPI_MESSAGE_H

#include "base/lib.h"

struct nof_comm;

struct nof_message {
    MPI_Message handle;
    struct nof_comm *comm; /* a reference */
    int source; /* rank in comm */
    int source_world;
    int tag;
    uint64_t nic_handle; /* chan_nic: handle for MRECV; 0: `envelope` */
    void *envelope; /* the channel's own */
    bool by_memory; /* the channel is that of memory */
};

/* Holds a reference of comm. NULL: no memory. */
struct nof_message *nof_message_new(struct nof_comm *comm, int source_world, int tag);
void nof_message_free(struct nof_message *message);

/* Message handle, with the error the standard names. MPI_MESSAGE_NO_PROC gives NULL. */
int nof_message_check(MPI_Message handle, struct nof_message **message_out);

#endif
