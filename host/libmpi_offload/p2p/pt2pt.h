/* SPDX-License-Identifier: BSD-3-Clause */
/* Point to point: from the arguments of an MPI call to a request in the channel. */
#ifndef NOF_MPI_PT2PT_H
#define NOF_MPI_PT2PT_H

#include "comm/comm.h"
#include "chan/request.h"

/* The arguments that all sends and receives have, as the program gave them. */
struct nof_pt2pt_args {
    const void *buf;
    MPI_Count count;
    MPI_Datatype datatype;
    int peer;
    int tag;
    MPI_Comm comm;
    uint64_t callsite;
};

/* What MPIX_Pre_receive() named the next receive of this thread; 0: nothing. Never an address. */
#define NOF_PT2PT_NAMED_SITE (1ull << 63)
extern __thread uint64_t nof_pt2pt_next_site __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Check the arguments and make a request of them, not yet started. *comm_out is set as soon as the
 * communicator is known to be valid, so that its error handler is the one that is asked. */
int nof_pt2pt_send_new(const struct nof_pt2pt_args *args, enum nof_send_mode mode, struct nof_comm **comm_out,
                       struct nof_request **req_out);
int nof_pt2pt_recv_new(const struct nof_pt2pt_args *args, struct nof_comm **comm_out,
                       struct nof_request **req_out);
/* The same for a matched message, whose communicator may have no handle any more: args->comm does not count. */
int nof_pt2pt_recv_on(struct nof_comm *comm, const struct nof_pt2pt_args *args, struct nof_request **req_out);
int nof_pt2pt_probe_new(int source, int tag, MPI_Comm comm, struct nof_comm **comm_out,
                        struct nof_request **req_out);

/* Where a message lies that needs no copy. */
struct nof_pt2pt_place {
    void *data; /* NULL: no bytes */
    size_t bytes;
    bool streamed; /* data is the base of the type's layout */
};
struct nof_chan;
/* False: its bytes lie apart, and the channel does not walk the type; only `bytes` is set. */
bool nof_pt2pt_place(const struct nof_chan *channel, const struct nof_type *type, const void *buf,
                     size_t count, struct nof_pt2pt_place *place_out);

/* Start a send or a receive. Errors that belong to the operation end the request; the code that is
 * returned says that it could not even be started (no memory, buffered send without room). */
int nof_pt2pt_start(struct nof_request *req);

#endif
