/* SPDX-License-Identifier: BSD-3-Clause */
/* Partitioned communication (MPI 4.1, chapter 4): one message made of parts that the program declares ready
 * one by one.
 *
 *   Psend_init   draws a tag, and tells the receiver (a *setup* message)
 *   Precv_init   waits in a list; a setup from the same peer with the same tag takes the oldest
 *   Start        sender: a delta message (nof/delta.h); receiver: a delta receive, as soon as the setup is there
 *   Pready       sender: the units of that partition are ready
 *   Parrived     receiver: the units of that range have come
 *
 * All of it travels in a context of the communicator that is used for nothing else; tag 0 there is the
 * setups', so they come in the order of the calls. Where all slots of delta messages are taken, or there is no NIC, a round
 * is one message that leaves at the last Pready.
 *
 * Threads: under the library's lock, but for nof_part_ready_at_once(). */
#ifndef NOF_MPI_PART_H
#define NOF_MPI_PART_H

#include "chan/request.h"

struct nof_part;

/* The sender's or the receiver's own partitions: a code if there is no such. */
int nof_part_check(const struct nof_request *req, int partition);

/* Declare partition ready, without the lock, by any thread. False, and nothing happened: the handle is none of a round that
 * has a slot, or there is no such partition, or it is ready already. */
bool nof_part_ready_at_once(MPI_Request handle, int partition);
/* The same under the lock, of any round; a code if there is no such partition or it is ready already. */
int nof_part_ready(struct nof_request *req, int partition);
/* Partitions of an active sender are not ready, of which text (of bytes) then tells; of other requests false. */
bool nof_part_unready(const struct nof_request *req, char *text, size_t bytes);
/* All bytes of this partition of the receiver are there. */
bool nof_part_arrived(const struct nof_request *req, int partition);

/* Make a request of either kind. */
struct nof_part_args {
    const void *buf;
    int partitions;
    MPI_Count count; /* elements in each */
    MPI_Datatype datatype;
    int peer;
    int tag;
    MPI_Comm comm;
    uint64_t callsite;
};
int nof_part_new(const struct nof_part_args *args, bool send, struct nof_comm **comm_out,
                 struct nof_request **req_out);

#endif
