/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: every operation that may take time, with or without a handle of its own.
 *
 *   new() -> filled in by pt2pt.h or schedule.h -> handed to the channel -> done()/fail() -> free()
 *
 * A blocking call uses a request without a handle. `data`/`bytes` is what the channel moves: the
 * user's memory itself, contiguous or (streamed) walked by the NIC, or a packed copy of it. Channels report in job ranks;
 * the status speaks the communicator's ranks.
 *
 * Memory: pooled, objects are never given back to the system. Threads: under the library's lock;
 * the channel calls done() or fail() exactly once per start. */
#ifndef NOF_MPI_REQUEST_H
#define NOF_MPI_REQUEST_H

#include "base/lib.h"
#include "chan/claims.h"
#include "type/type.h"

enum nof_request_kind {
    NOF_REQUEST_SEND,
    NOF_REQUEST_RECV,
    NOF_REQUEST_PROBE,
    NOF_REQUEST_COLL,
    NOF_REQUEST_LOCAL, /* ended by the library itself */
    NOF_REQUEST_PSEND, /* partitioned */
    NOF_REQUEST_PRECV,
    NOF_REQUEST_GENERAL
};

enum nof_send_mode { NOF_SEND_STANDARD, NOF_SEND_SYNC, NOF_SEND_READY, NOF_SEND_BUFFERED };

struct nof_bsend;
struct nof_chan_group;
struct nof_comm;
struct nof_delta_out;
struct nof_message;
struct nof_part;
struct nof_request;
struct nof_sched;

/* A message that the program reads in place (p2p/staged.h). */
struct nof_staged {
    struct nof_staged *next;
    const void *data; /* what the program was told */
    void *buffer; /* malloc'ed; NULL once it is known to be of no use */
    size_t buffer_bytes;
    uint32_t offset; /* in the staging area */
    bool in_area;
};

/* A message of a multicast group (chan.h). */
struct nof_group_step {
    struct nof_chan_group *group; /* NULL: it is none */
    uint32_t number; /* in the group */
    int member; /* job rank of the one that sends, or for which the sender does */
};

/* What a kind does that hangs something on its requests, beside the code that makes them. */
struct nof_request_ops {
    /* Again (persistent). 0, or the code why it cannot. */
    int (*start)(struct nof_request *req);
    /* As nof_request_status(); NULL: as all others. */
    int (*status)(const struct nof_request *req, MPI_Status *status);
    /* While it is waited for: what the program has yet to do, if anything, in words for people; else "". NULL: nothing. */
    void (*missing)(const struct nof_request *req, char *text, size_t bytes);
    /* Before the request goes, once: give back what hangs on it. Returns what the program's own code answered. */
    int (*release)(struct nof_request *req);
};

struct nof_request {
    const struct nof_request_ops *ops; /* NULL: nothing hangs on it */
    enum nof_request_kind kind;
    enum nof_send_mode mode;
    bool persistent;
    bool active; /* started and not yet waited for; always true for what is not persistent */
    bool complete;
    bool orphan; /* the program freed it: goes away when complete */
    bool cancelled;
    bool probe_wait; /* PROBE: answer only when something matches */
    bool probe_take; /* PROBE: take the message out of matching */
    bool found; /* PROBE: answer */
    bool
        awaited; /* SEND, RECV: this process is in a call that looks for messages, and does not return before this one has ended */
    bool exact; /* RECV of a schedule: a shorter message is an error, too */
    uint8_t agreed; /* of a schedule: coll/agree.h */
    MPI_Request handle; /* MPI_REQUEST_NULL if it has none */
    struct nof_comm *comm;
    struct nof_type *type;
    void *buf;
    size_t count;
    int peer; /* rank among nof_comm_peers(comm), MPI_ANY_SOURCE or MPI_PROC_NULL */
    int tag; /* or MPI_ANY_TAG */
    uint32_t ctx;
    uint64_t callsite; /* where the program called MPI, for the NIC's predictor */

    void *data;
    size_t bytes;
    size_t meets; /* SEND of a schedule: as nof_sched_meets(); a matter of NICs */
    void *packed; /* malloc'ed, equals data when used */
    bool streamed; /* data is the base of the type's layout */

    int error; /* code */
    int status_source;
    int status_tag;
    size_t status_bytes;

    struct nof_message *message; /* PROBE: taken; RECV: to be received */
    void (*on_done)(struct nof_request *req); /* takes it over when ended */
    void *context; /* for on_done */
    struct nof_request *waits_for; /* RECV of a send and receive in one: the send, while it runs */
    bool ended; /* it has, but the one that it waits for has not */
    struct nof_sched *owner; /* the schedule that waits for this one */
    size_t owner_slot; /* its place there */
    uint32_t asked; /* 1 + the step of the owner's program for which the NIC wants it; 0: it does not */
    struct nof_greq *greq; /* GENERAL: the program's */
    struct nof_sched *sched; /* COLL: what is executed */
    struct nof_group_step multicast; /* SEND, RECV of a schedule */
    uint32_t delta; /* SEND, RECV as a delta message: 1 + its slot (nof/delta.h); 0: it is none */
    uint32_t delta_unit_log2; /* SEND */
    struct nof_delta_out *delta_out; /* SEND: likewise */
    bool delta_send; /* SEND of MPIX_Delta_send_begin, with a slot or without */
    bool delta_ended;
    int delta_error; /* of its end: a code, or 0 */
    struct nof_bsend *bsend; /* the attached buffer that it counts in */
    struct nof_part *part; /* PSEND, PRECV */
    bool partitioned; /* SEND, RECV: a message of such */
    size_t bsend_bytes; /* room in the attached buffer that is given back at the end */
    struct nof_staged *staged; /* RECV: the program reads it in place; told where by the channel */
    struct nof_claim_recv claim; /* RECV, PROBE: where it stands in matching */
    void *channel_op; /* the channel's */
    uint32_t *unawaited; /* SEND: it counts here, until it is awaited; NULL: it does not */
    struct nof_request *next; /* free list, or the channel's queue */
};

/* Whose claim it is. */
static inline struct nof_request *nof_request_of_claim(struct nof_claim_recv *claim)
{
    return (struct nof_request *)(void *)((char *)claim - offsetof(struct nof_request, claim));
}

struct nof_request *nof_request_new(enum nof_request_kind kind);
/* One that holds a reference of both; type may be NULL. NULL: no memory. */
struct nof_request *nof_request_on(enum nof_request_kind kind, struct nof_comm *comm, struct nof_type *type);
/* The library's own messages: arguments are known to be right; ctx is the collectives'. NULL: no memory. */
struct nof_request *nof_request_internal(enum nof_request_kind kind, struct nof_comm *comm, const void *buf,
                                         size_t count, struct nof_type *type, int peer, int tag);
void nof_request_free(struct nof_request *req);

/* One that no call of the program waits for, nor a collective: a peer's death is its owner's business. */
static inline bool nof_request_is_own(const struct nof_request *req)
{
    return req->on_done != NULL && req->owner == NULL;
}

/* Give it a handle for the program. 0 or a code. */
int nof_request_publish(struct nof_request *req, MPI_Request *handle_out);

/* Request behind a handle. MPI_REQUEST_NULL gives NULL and success. */
int nof_request_check(MPI_Request handle, struct nof_request **req_out);
/* nof_request_check() of a handle that is at `place`, which must not be NULL. */
int nof_request_check_at(const MPI_Request *place, struct nof_request **req_out);

/* Channel to library: the operation ended. source: job rank. len: bytes of the message as sent,
 * which for a receive may be more than `bytes` (truncation). */
void nof_request_done(struct nof_request *req, int source, int tag, size_t len);
void nof_request_fail(struct nof_request *req, int error);
/* Put the first `len` bytes of a message, which the channel holds, where a receive wants them. */
void nof_request_store(const struct nof_request *req, const void *payload, size_t len);
/* The same for what the library ends by itself (LOCAL), with error and status set before. */
void nof_request_end(struct nof_request *req);

/* Ready to be started again (persistent). */
void nof_request_reset(struct nof_request *req);

/* A call waits for it now, whatever else it waits for. One that does so from its beginning sets `awaited` before it starts it. */
void nof_request_await(struct nof_request *req);
/* Wait without a handle; returns its error code. The lock is given up meanwhile. */
int nof_request_wait(struct nof_request *req);
/* nof_wait's describe(), of a request. */
const struct nof_sched *nof_request_describe(const void *req);

/* Status of a completed request; MPI_ERROR is left alone. status may be MPI_STATUS_IGNORE. Returns what the query
 * function of a generalized request answered, MPI_SUCCESS for all others. */
int nof_request_status(const struct nof_request *req, MPI_Status *status);

/* The program learns that a request ended: status, and either ready for the next start (persistent)
 * or freed, with *handle set to null. Returns its error code. *comm_out (may be NULL) is set, with a
 * reference of its own, if there was an error. */
int nof_request_retire(struct nof_request *req, MPI_Request *handle, MPI_Status *status,
                       struct nof_comm **comm_out);

/* request_status.c: what lies in the internal words. */
void nof_status_set(MPI_Status *status, int source, int tag, size_t bytes, bool cancelled);
/* `bytes` of a message that is still coming: MPI_UNDEFINED of anything. */
#define NOF_STATUS_BYTES_UNKNOWN SIZE_MAX
void nof_status_empty(MPI_Status *status);
size_t nof_status_bytes(const MPI_Status *status);
bool nof_status_cancelled(const MPI_Status *status);

#endif
