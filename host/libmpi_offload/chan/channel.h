/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves messages. One of a family, chosen at MPI_Init: the NIC (chan_nic.c) where the process
 * has an endpoint, the process itself (chan_self.c) in a world of one without.
 *
 * A request handed over by send(), recv() or probe() belongs to the channel until it calls
 * nof_request_done() or nof_request_fail(), which may happen inside the call.
 *
 * Threads: under the library's lock, but sleep(), which is called without it, by one thread. */
#ifndef NOF_MPI_CHANNEL_H
#define NOF_MPI_CHANNEL_H

#include "chan/message.h"
#include "base/request.h"

struct nof_channel {
    const char *name;
    /* Send req->data[0..bytes) to req->peer. */
    void (*send)(struct nof_request *req);
    /* Receive into req->data; req->message set: that message, no matching. */
    void (*recv)(struct nof_request *req);
    /* Try to cancel; the request ends as cancelled or as if nothing was said. */
    void (*cancel)(struct nof_request *req);
    /* It is not yet known which, and will be without the doing of another process. */
    bool (*cancelling)(const struct nof_request *req);
    /* Answer req->found, source, tag and size; with probe_take also req->message. */
    void (*probe)(struct nof_request *req);
    /* A type is committed: whatever helps to stream messages of it. Others may run meanwhile. */
    void (*commit)(struct nof_type *type);
    /* Whether a message of so many bytes can be streamed out of or into memory of this type. */
    bool (*streams)(const struct nof_type *type, size_t bytes);
    /* Move what can move; how many things happened. */
    int (*poll)(void);
    /* Wake-ups so far: read before poll(), given to sleep() if poll() found nothing. */
    uint32_t (*wake_count)(void);
    void (*sleep)(uint32_t seen);
    /* End a sleep(), from any thread. */
    void (*wake)(void);
    /* Wait until all that was sent has arrived at the peers' NICs. */
    void (*flush)(void);
    /* All ranks are in MPI_Finalize: take back what of the program's sends nobody has matched, nor will. */
    void (*withdraw)(void);
    /* Some process of this communicator, on either side, is known to be dead: its job rank, else
     * MPI_UNDEFINED. */
    int (*dead_member)(struct nof_comm *comm);
    void (*close)(void);
};

extern const struct nof_channel *nof_channel;
extern const struct nof_channel nof_channel_self;
extern const struct nof_channel nof_channel_nic;

#endif
