/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves messages: a family, of which nof_chan_for() says who moves what. MPI_Init opens one that reaches everybody: the
 * NIC (chan_nic.c) where the process has an endpoint, the process itself (chan_self.c) in a world of one without. Beside
 * the NIC there may be memory that the ranks of a host share (chan_shm.c).
 *
 * A request handed over by send(), recv() or probe() belongs to the channel until it calls
 * nof_request_done() or nof_request_fail(), which may happen inside the call.
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_CHANNEL_H
#define NOF_MPI_CHANNEL_H

#include "chan/message.h"
#include "chan/request.h"
#include "base/wait.h"
#include "comm/comm.h"
#include "delta/delta_board.h"
#include "nof/program.h"
#include "nof_private/chan_counts.h"

struct nof_chan_programs;
struct nof_chan_groups;

/* One run of one collective has failed: which, why, whose failure it was. */
struct nof_chan_failure {
    uint32_t ctx;
    int32_t tag;
    uint32_t number; /* of the run, among those with this ctx and tag */
    int status; /* enum nof_status */
    int rank; /* in the job */
    uint8_t agreed; /* status NOF_EAGAIN: `rank` asks whether the run agrees on this (nof/desc.h) */
    bool unread; /* likewise: a message of `rank` in that run has come, and no receive has taken it */
};

/* What recv_now() has received. */
struct nof_chan_came {
    int tag;
    size_t bytes;
};

#define NOF_CHAN_PLACES_MIN 3 /* of fewer ranks none share a NIC beside others that are apart */

struct nof_chan {
    const char *name;
    const struct nof_chan_programs *programs; /* NULL: it runs none */
    const struct nof_chan_groups *groups; /* NULL: it has no multicast */
    void (*delta_ended)(
        void); /* of a channel with delta messages: one has ended that was parked (nof/delta.h) */
    const struct nof_delta_board
        *delta; /* NULL: it has no delta messages. Requests that name a slot are one each */
    /* Send req->data[0..bytes) to req->peer; with a group, to its members. */
    void (*send)(struct nof_request *req);
    /* Receive into req->data; req->message set: that message, no matching. */
    void (*recv)(struct nof_request *req);
    /* The short path of a blocking call: at once, without a request, of bytes that lie together, in a communicator's context, to or
     * from one job rank. False: it does not go so now, and nothing was done. NULL: never. */
    bool (*send_now)(uint32_t ctx, int world_rank, int tag, const void *data, size_t bytes);
    bool (*recv_now)(uint32_t ctx, int world_rank, int tag, void *data, size_t bytes,
                     struct nof_chan_came *came_out);
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
    struct nof_wait_source source;
    /* All that was sent before the first call is with the NIC: what waits for room in the ring is only after later polls. *mark
     * is 0 in that call, and the channel's then. NULL: it is at once. */
    bool (*passed)(uint64_t *mark);
    /* Wait until all that was sent has arrived at the peers' NICs. */
    void (*flush)(void);
    /* All ranks are in MPI_Finalize: take back what of the program's sends nobody has matched, nor will. */
    void (*withdraw)(void);
    /* Some process of this communicator, on either side, is known to be dead: its job rank, else
     * MPI_UNDEFINED. */
    int (*dead_member)(struct nof_comm *comm);
    /* The number of the NIC that a job rank is on, the same at all ranks, in a job of at least NOF_CHAN_PLACES_MIN. 0, or the
     * code why it is not known. NULL: there is none. */
    int (*nic_of)(int world_rank, uint32_t *nic_out);
    /* Tell job rank `to` of it. NULL: there is nobody. */
    void (*tell_failure)(int to, const struct nof_chan_failure *failure);
    /* How long a collective may wait for a message, in ms; 0: for ever. NULL: for ever. */
    uint32_t (*coll_patience_ms)(void);
    /* For how long, in all, the NIC did not run; it wraps. And whether it runs: false is asked again soon. NULL as the one before. */
    uint32_t (*away_ms)(void);
    bool (*heard)(void);
    void (*close)(void);
};

/* A program (nof/program.h) that the NIC runs, in its owner's memory, which is zero at first.
 *
 *   open -> start -> heard(ASKED)* -> heard(ENDED or DECLINED) -> start ... -> close
 *
 * start() may follow open() at once: what the NIC does not take it declines. */
enum nof_chan_news {
    NOF_CHAN_ASKED, /* value: the step that its owner does, then proceed() */
    NOF_CHAN_DECLINED, /* nothing has happened */
    NOF_CHAN_ENDED, /* value: MPI_SUCCESS or the code; MPI_ERR_TRUNCATE, MPI_ERR_COUNT: it went on to its end. Of others
                     * the ranks that its steps name have been told; whose failure it was stands in the program */
    NOF_CHAN_DISAGREED, /* value: the code; as ENDED, because this rank has found that its ranks do not call the same */
};
struct nof_chan_program {
    void (*heard)(struct nof_chan_program *p, enum nof_chan_news news, int value); /* inside a poll */
    void *owner;
    const struct nof_program_head *head; /* what was opened; its owner's, until it closes it */
    uint8_t agreed; /* by the ranks, of the next start: nof/desc.h */
    bool open; /* not known to be refused */
    int refused; /* why it is not open: the NIC's answer */
    bool running; /* from start() to ENDED or DECLINED */
    int status; /* ENDED: enum nof_status, and */
    int whose; /* the job rank whose failure it was */
    uint64_t handle; /* the channel's, as the next one */
    void *opening;
};
struct nof_chan_programs {
    /* Collectives are the NIC's to run, as things are set now. */
    bool (*wanted)(void);
    /* The bytes are copied. NOF_EAGAIN: no room now; NOF_ENOENT: one of its peers cannot be reached. */
    int (*open)(struct nof_chan_program *p, const struct nof_program_head *head, size_t bytes);
    /* False: no memory. */
    bool (*start)(struct nof_chan_program *p, uint32_t ctx, int32_t tag, uint32_t number,
                  const uint64_t base[NOF_PROGRAM_BASES]);
    /* Memory that the NIC reaches without anybody's help, and the address that it has in a START. NULL: there is none now for so
     * much. Ends with take_back(). */
    void *(*lend)(size_t bytes, uint64_t *address_out);
    void (*take_back)(uint64_t address);
    /* A step that was asked for is done: NOF_OK, or NOF_ETRUNC. */
    void (*proceed)(struct nof_chan_program *p, uint32_t step, int status);
    /* ENDED follows, behind what has met its message; sends that are under way may still read. Its peers are told of
     * the failure of job rank `rank`, if it still runs. */
    void (*cancel)(struct nof_chan_program *p, int status, int rank);
    /* Of one that does not run. */
    void (*close)(struct nof_chan_program *p);
};

/* A multicast group, in its owner's memory. It opens in the background; requests that name it (nof_group_step) are sent and
 * received while it is open. Cancelling one of them closes it. */
struct nof_chan_group {
    bool open;
    bool taken; /* this rank's NIC takes part: it is open, or opens if the others' do, too */
    bool deaf; /* some member had to be served by unicast */
    uint32_t name; /* the channel's, as the next one */
    void *opening;
};
struct nof_chan_group_args {
    uint32_t ctx;
    const int
        *ranks; /* n job ranks, one on each NIC, the same at all of them, and at ranks beside one of them */
    int n;
    uint32_t first; /* number of its first message, which is not the owner's */
    uint32_t epoch; /* tells groups of one context and first rank apart */
};
struct nof_chan_groups {
    /* Feature "multicast", as it is set now. */
    bool (*wanted)(void);
    /* What fails leaves it shut. */
    void (*open)(struct nof_chan_group *g, const struct nof_chan_group_args *args);
    /* Of one in any state. */
    void (*close)(struct nof_chan_group *g);
};

extern const struct nof_chan nof_chan_by_self;
extern const struct nof_chan nof_chan_by_nic;
extern const struct nof_chan nof_chan_by_shm;
extern const struct nof_chan nof_chan_by_both;

/* Of chan.c. */

/* The one that reaches everybody; ask nof_chan_of(). */
extern const struct nof_chan *nof_chan_to_all __attribute__((visibility("hidden")));
/* The one with send_now() and recv_now(), which reaches job rank r where nof_chan_reached[r] is not negative; NULL: none has. Of a
 * communicator for which none was chosen yet it is not. */
extern const struct nof_chan *nof_chan_short __attribute__((visibility("hidden")));
extern const int32_t *nof_chan_reached __attribute__((visibility("hidden")));

/* Chooses, once, what nof_chan_of() answers: the channel of memory if all members, on both sides, can be reached by it,
 * as all of them know; and whether the communicator is mixed. One that was made to go by the NIC does so, and is not mixed. */
const struct nof_chan *nof_chan_choose(const struct nof_comm *comm);

/* The channel of what the library itself says in a communicator, but for collectives: the same to and from all peers, for the life of
 * the job. */
static inline const struct nof_chan *nof_chan_of(const struct nof_comm *comm)
{
    return comm->chan != NULL ? comm->chan : nof_chan_choose(comm);
}

/* Of a mixed one the channel of the program's messages: to or from whom memory reaches, whom the NIC, and both for MPI_ANY_SOURCE. */
const struct nof_chan *nof_chan_of_mixed(const struct nof_comm *comm, int peer);
/* Of any the channel of a collective's messages: of a mixed one likewise. Those that are `started`, and have a request, are the NIC's
 * where it was to run collectives when one of the two ranks began: it goes on with them while they compute. */
const struct nof_chan *nof_chan_of_coll(const struct nof_comm *comm, int peer, bool started);

/* That of a request: of the program's, or of a collective. Partitioned messages have a context of their own, and the NIC moves their
 * increments, wherever they go; a multicast one is the NIC's. */
static inline const struct nof_chan *nof_chan_for(const struct nof_request *req)
{
    if (req->partitioned)
        return nof_chan_to_all;
    const struct nof_comm *comm = req->comm;
    const struct nof_chan *channel = nof_chan_of(comm);
    if (!comm->mixed || req->multicast.group != NULL)
        return channel;
    if (req->ctx == nof_comm_coll_ctx(comm))
        return nof_chan_of_coll(comm, req->peer, nof_comm_coll_is_started(req->tag));
    return req->ctx == comm->ctx ? nof_chan_of_mixed(comm, req->peer) : channel;
}

/* What this process counts of its channels, under the library's lock. */
extern uint64_t nof_chan_counted[NOF_CHAN_COUNT_MAX] __attribute__((visibility("hidden")));
static inline void nof_chan_count(enum nof_chan_count what, uint64_t n)
{
    nof_chan_counted[what] += n;
}

/* It is open: messages take it from now on. */
void nof_chan_use(const struct nof_chan *channel);
/* So is this one, to those whom it reaches: job rank r where reaches[r] is not negative, equal at any two ranks that share a
 * communicator; started[r]: also with collectives that have a request, likewise equal at both. Both are the channel's, until it closes.
 * way: of what is sent in communicators that have none; with SINGLE_COPY none takes the short path. Of communicators with that hint
 * only mixed ones have it. */
void nof_chan_use_beside(const struct nof_chan *channel, const int32_t *reaches, const bool *started,
                         enum nof_channels way);
/* Before there is a mixed communicator: what takes receives and probes that either may serve. */
void nof_chan_use_both(const struct nof_chan *channel);
/* How messages go that this rank sends in it, to ranks of its host. */
enum nof_channels nof_chan_way(const struct nof_comm *comm);

/* "" before MPI_Init. */
const char *nof_chan_name(void);

/* What concerns all that are open; as the functions of the table. */
void nof_chan_commit(struct nof_type *type);
void nof_chan_delta_ended(void);
void nof_chan_flush(void);
void nof_chan_withdraw(void);
int nof_chan_dead_member(struct nof_comm *comm);
/* The error of what cannot be done ("no collective is possible") because of that member; if it is ourselves, why nobody is
 * reached any more. */
int nof_chan_dead_member_code(int member, const char *what);
void nof_chan_close(void);
/* To who asks, behind all that went these ways: no message of this rank will come in that run (NOF_AGREED_NO_MORE, nof/desc.h).
 * Lost where memory is short. */
void nof_chan_say_no_more(const struct nof_chan_failure *question, bool by_nic, bool by_memory);

/* What goes up from a channel, beside the ends of its requests. */
struct nof_chan_hooks {
    void (*on_death)(int world_rank, int code); /* the job rank of the dead; the code for what waits for it */
    void (*on_layout_gone)(uint32_t name, uint32_t generation); /* no program will name it again */
    void (*on_failure)(const struct nof_chan_failure *failure, int code); /* another rank told of it */
    /* One channel to the other: a rank has died, or left in order (NOF_OK); nothing comes any more, from anybody. */
    void (*on_gone)(int world_rank, int status, int code);
    void (*on_lost)(int code);
};
void nof_chan_on_death(void (*heard)(int world_rank, int code));
void nof_chan_on_layout_gone(void (*heard)(uint32_t name, uint32_t generation));
void nof_chan_on_failure(void (*heard)(const struct nof_chan_failure *failure, int code));
void nof_chan_on_gone(void (*heard)(int world_rank, int status, int code));
void nof_chan_on_lost(void (*heard)(int code));
/* A channel tells. */
void nof_chan_gone(int world_rank, int status, int code);
void nof_chan_lost(int code);
bool nof_chan_is_lost(void);
void nof_chan_death(int world_rank, int code);
void nof_chan_layout_gone(uint32_t name, uint32_t generation);
void nof_chan_failure(const struct nof_chan_failure *failure, int code);

/* Probes that wait for a message of memory, linked by `next`. Few: one per thread. */
extern struct nof_request *nof_chan_probes __attribute__((visibility("hidden")));

/* A receive or probe leaves matching by the NIC's doing: out of what waits for memory, too, if it does. */
void nof_chan_left(struct nof_request *req);

#endif
