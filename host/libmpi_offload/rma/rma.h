/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided communication by active messages: docs/decisions/0011-one-sided.md has the picture.
 *
 *   rma_type.c      a datatype as words, and back
 *   rma_stream.c    commands out; transfers
 *   rma_target.c    what a command does here
 *   rma_turn.c      which operations of an origin wait for which
 *   rma_settle.c    commands that wait for what a delta receive hides
 *   rma_listen.c    commands in; a window's begin and end
 *   rma_lock.c      who may access this process's part
 *   rma_origin.c    operations from here
 *   rma_sync.c      waiting: flush, fence, epochs
 *
 * This header is for these files and their entry points; the rest of the library sees win.h.
 *
 * Threads: under the library's lock. Handlers never wait. */
#ifndef NOF_MPI_RMA_H
#define NOF_MPI_RMA_H

#include "type/op.h"
#include "chan/request.h"
#include "rma/win.h"

enum nof_rma_kind {
    NOF_RMA_PUT = 1,
    NOF_RMA_GET,
    NOF_RMA_ACC, /* accumulate */
    NOF_RMA_GET_ACC, /* also fetch and op */
    NOF_RMA_CAS,
    NOF_RMA_LOCK,
    NOF_RMA_LOCKED, /* granted */
    NOF_RMA_UNLOCK, /* answered by FLUSHED */
    NOF_RMA_FLUSH,
    NOF_RMA_FLUSHED,
    NOF_RMA_POST,
    NOF_RMA_COMPLETE,
    NOF_RMA_ERROR
};

/* A command is this, the description of the target datatype (rounded up to 16 bytes), the payload. With
 * the flag, description and payload come as one message each, in the payload context. */
#define NOF_RMA_COMMAND_MAX 8192u
#define NOF_RMA_APART 1u

struct nof_rma_command {
    uint8_t kind;
    uint8_t op; /* as nof_op.kind */
    uint8_t flags;
    uint8_t exclusive; /* LOCK */
    int32_t tag; /* of the messages that belong to it */
    uint64_t addr; /* in the target's memory */
    uint64_t count; /* of the target datatype */
    uint64_t payload_bytes;
    uint32_t type; /* handle of a predefined target datatype; 0: described */
    uint32_t basic; /* handle of what it is made of, for arithmetic; 0: unknown */
    uint64_t desc_bytes;
    int32_t error_class; /* ERROR */
    uint32_t reserved[3];
};
_Static_assert(sizeof(struct nof_rma_command) == 64, "what lies behind it is aligned to 16");

/* The window communicator's contexts. */
enum { NOF_RMA_COMMANDS = NOF_COMM_PROGRAM, NOF_RMA_PAYLOAD = NOF_COMM_MAKE, NOF_RMA_REPLY = NOF_COMM_PART };

/* A transfer under way; lies first in what it belongs to. then() may free it. */
struct nof_rma_step {
    void (*then)(struct nof_rma_step *step, int error);
};

struct nof_rma_work;

struct nof_rma_peer {
    /* as origin */
    int32_t tag;
    uint32_t local; /* transfers that are not over here */
    uint32_t asked; /* FLUSH and UNLOCK sent, and how many of them were answered: modulo 2^32 */
    uint32_t answered;
    bool dirty; /* something went there that no reply vouches for */
    bool granted;
    bool locked; /* a lock epoch is open */
    bool nocheck; /* ... and the target does not know */
    bool started; /* an access epoch of start() */
    bool posted; /* an exposure epoch of post() */
    uint32_t posts; /* arrived and not used up */
    uint32_t completes;
    /* as target */
    uint32_t pending; /* operations that are not done */
    struct nof_rma_work *first; /* operations under way, in order (rma_turn.c) */
    struct nof_rma_work *last;
    uint64_t aside_bytes; /* of puts that are received before their turn */
    bool running; /* they are gone through ... */
    bool again; /* ... and shall be once more */
    struct nof_rma_work *control_first; /* commands that wait for `pending` to be 0 */
    struct nof_rma_work *control_last;
};

struct nof_rma_region {
    uint64_t base;
    uint64_t size;
};

enum { NOF_RMA_RECEIVES = 4 };

struct nof_rma {
    struct nof_win *next; /* all windows with a stream */
    struct nof_request *receives[NOF_RMA_RECEIVES]; /* in the order in which they were posted */
    void *buffers[NOF_RMA_RECEIVES];
    unsigned head;
    bool closing;
    int error_class; /* reported by a target, raised by the next synchronization; 0: none */
    bool fence_open;
    bool lock_all;
    bool start_open; /* also with no target at all */
    bool post_open;
    uint32_t commands; /* issued, to poll now and then */
    /* The lock of this process's part. */
    uint32_t holders;
    bool exclusive;
    struct nof_rma_work *waiting_first;
    struct nof_rma_work *waiting_last;
    /* Dynamic windows: what is attached. */
    struct nof_rma_region *regions;
    size_t region_count;
    struct nof_rma_peer peers[]; /* by rank */
};

/* Of rma_type.c. */

/* The description of a datatype in malloc'ed words; *bytes_out of them. NULL: no memory. */
void *nof_rma_describe(const struct nof_type *type, size_t *bytes_out);
/* The type of such a description: one of its own, to be released. NULL: broken, or no memory. */
struct nof_type *nof_rma_described(const void *words, size_t bytes);
/* The predefined type that all elements of `type` are; NULL if they differ or have no arithmetic. */
struct nof_type *nof_rma_basic(const struct nof_type *type);
/* Types whose handle says the same in every process: the number of the handle, 0 for all others; and the
 * type of a number, NULL: none. */
uint32_t nof_rma_predefined_number(const struct nof_type *type);
struct nof_type *nof_rma_predefined(uint32_t number);
/* The bytes that count elements at address 0 touch: [*low_out, *high_out); what 64 bits cannot say is from INT64_MIN
 * to INT64_MAX, which is in no range. */
void nof_rma_span(const struct nof_type *type, uint64_t count, int64_t *low_out, int64_t *high_out);

/* Of rma_stream.c. */

/* Send a command, with body[0..body_bytes) behind it. 0, or no memory. */
int nof_rma_send(struct nof_win *win, int peer, const struct nof_rma_command *command, const void *body,
                 size_t body_bytes);
/* A command that is nothing but its kind. */
int nof_rma_signal(struct nof_win *win, int peer, enum nof_rma_kind kind);
/* Start a transfer; step->then() is called from progress when it is over, never from here. */
struct nof_rma_transfer {
    enum nof_request_kind kind; /* SEND or RECV */
    uint32_t use; /* NOF_RMA_PAYLOAD or NOF_RMA_REPLY */
    int peer;
    int tag;
    const void *buf;
    size_t count;
    struct nof_type *type;
};
int nof_rma_transfer(struct nof_win *win, const struct nof_rma_transfer *t, struct nof_rma_step *step);
/* Send malloc'ed bytes as a reply and free them when they are gone. */
int nof_rma_reply(struct nof_win *win, int peer, int tag, void *bytes, size_t len);
/* Of rma_listen.c. */
int nof_rma_open(struct nof_win *win);
void nof_rma_close(struct nof_win *win);

/* Of rma_target.c. */
void nof_rma_carry_out(struct nof_win *win, int origin, const struct nof_rma_command *command,
                       const void *body);

/* Of rma_lock.c. */
void nof_rma_lock_asked(struct nof_win *win, int origin, bool exclusive);
void nof_rma_lock_given_back(struct nof_win *win);

/* Of rma_origin.c. */

/* Half of an operation: memory of the origin. */
struct nof_rma_buffer {
    const void *buf;
    MPI_Count count;
    MPI_Datatype datatype;
};
struct nof_rma_operation {
    enum nof_rma_kind kind;
    struct nof_rma_buffer origin;
    struct nof_rma_buffer result; /* GET_ACC, CAS */
    const void *compare; /* CAS */
    int target;
    MPI_Aint disp;
    MPI_Count target_count;
    MPI_Datatype target_datatype;
    MPI_Op op; /* ACC, GET_ACC */
    bool predefined; /* the datatype must be */
};
/* Check and issue. request NULL, or where the handle goes of a request that ends with it. */
int nof_rma_issue(struct nof_win *win, const struct nof_rma_operation *operation, MPI_Request *request);

/* rma_sync.c: each returns the code of the operation, or of an error that a target reported. */
int nof_rma_flush(struct nof_win *win, int target);
int nof_rma_flush_all(struct nof_win *win);
int nof_rma_flush_local(struct nof_win *win, int target);
/* Wait until condition(win, rank) holds, or somebody of the window is dead. */
int nof_rma_wait(struct nof_win *win, bool (*condition)(const struct nof_win *win, int rank), int rank);
/* Wait until all that rank was asked before this call is answered; what other threads ask meanwhile is
 * not waited for. */
int nof_rma_wait_answers(struct nof_win *win, int rank);
/* The error that a target reported, once. */
int nof_rma_reported(struct nof_win *win);
/* An epoch of any kind is open. */
bool nof_rma_in_epoch(const struct nof_win *win);

#endif
