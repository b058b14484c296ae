/* SPDX-License-Identifier: BSD-3-Clause */
#include "p2p/delta_p2p.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/wait.h"
#include "chan/chan.h"
#include "delta/delta_count.h"
#include "delta/delta_poll.h"
#include "delta/delta_size.h"
#include "delta/delta_watch.h"
#include "p2p/delta_settle.h"

enum { ENDINGS = 16384 };
#define UNHEARD_LOOKS 16u
#define CLOSE_DEAD_NS 2000000000u /* where a rank has died, messages may never end */

/* What became of a delta receive; of the last ENDINGS of them that nobody has asked for. */
struct ending {
    uint64_t order;
    const void *buf; /* as the program gave it */
    uintptr_t low, high; /* the bytes of its buffer */
    struct nof_comm *comm; /* a reference, if there was an error */
    int error;
    int source;
    int tag;
    size_t bytes;
    bool cancelled;
};

static struct ending *endings;
static size_t ending_count, ending_room;
static uint64_t next_order;
static unsigned failures; /* among them; changed under the lock, read without */

static void forget(struct ending *e)
{
    if (e->comm != NULL) {
        __atomic_store_n(&failures, failures - 1, __ATOMIC_RELAXED);
        nof_comm_release(e->comm);
    }
    *e = endings[--ending_count];
}

static void forget_range(uintptr_t low, uintptr_t high)
{
    for (size_t i = ending_count; i > 0; i--)
        if (endings[i - 1].low < high && low < endings[i - 1].high)
            forget(&endings[i - 1]);
}

static void forget_oldest(void)
{
    struct ending *oldest = &endings[0];
    for (size_t i = 1; i < ending_count; i++)
        if (endings[i].order < oldest->order)
            oldest = &endings[i];
    forget(oldest);
}

/* A place for one more; without memory, that of the oldest. NULL: there is none at all. */
static struct ending *new_ending(void)
{
    size_t room = ending_room == 0 ? 64 : 2 * ending_room;
    if (ending_count == ending_room && room <= ENDINGS) {
        struct ending *grown = realloc(endings, room * sizeof(*grown));
        endings = grown == NULL ? endings : grown;
        ending_room = grown == NULL ? ending_room : room;
    }
    if (ending_count == ending_room && ending_count > 0)
        forget_oldest();
    return ending_count < ending_room ? &endings[ending_count++] : NULL;
}

static void remember(const struct nof_request *req)
{
    struct ending *e = new_ending();
    uintptr_t low = (uintptr_t)nof_lib_at(req->buf, req->type->tree->lb);
    if (e == NULL)
        return;
    *e = (struct ending){.order = next_order++,
                         .buf = req->buf,
                         .low = low,
                         .high = low + req->bytes,
                         .comm = req->error == MPI_SUCCESS ? NULL : req->comm,
                         .error = req->error,
                         .source = req->status_source,
                         .tag = req->status_tag,
                         .bytes = req->status_bytes,
                         .cancelled = req->cancelled};
    if (e->comm != NULL) {
        nof_comm_hold(e->comm);
        __atomic_store_n(&failures, failures + 1, __ATOMIC_RELAXED);
    }
}

/* The receive has ended, in its call or long after. */
static int release(struct nof_request *req)
{
    bool whole =
        !req->cancelled && (req->error == MPI_SUCCESS || nof_error_class(req->error) == MPI_ERR_TRUNCATE);
    struct nof_delta_in *in = nof_delta_in_with(req);
    if (!req->type->contiguous)
        nof_delta_count(NOF_DELTA_COUNT_COPIED_BYTES, req->status_bytes);
    if (in != NULL && nof_delta_in_on_board(in) && !nof_delta_watch_recv_end(in, !whole, req->status_bytes) &&
        req->error == MPI_SUCCESS)
        req->error = nof_error(MPI_ERR_BUFFER,
                               "of the buffer of %zu bytes at %p some was unmapped or moved while "
                               "the message came: what came for it is lost",
                               req->bytes, req->buf);
    remember(req);
    return nof_delta_give_in(req);
}

static const struct nof_request_ops ops = {.release = release};

static bool is_wildcard(const struct nof_request *req)
{
    return req->peer == MPI_ANY_SOURCE || req->tag == MPI_ANY_TAG;
}

/* The status knows source and tag when the call returns, so wildcards wait for the match. What the NIC says nothing of is
 * matched, or comes, by polls of the program's later calls: soon if the message is here already, so that is looked at for a while. */
static bool may_return(const struct nof_request *req, struct nof_delta_in *in, bool hidden, uint32_t looks)
{
    enum nof_delta_state state = nof_delta_in_state(in);
    return state == NOF_DELTA_MATCHED ||
           (!is_wildcard(req) &&
            (state == NOF_DELTA_POSTED || (!hidden && nof_delta_in_unheard(in) &&
                                           (looks >= UNHEARD_LOOKS || !nof_delta_in_on_board(in)))));
}

static void await_match(struct nof_request *req, struct nof_delta_in *in, bool hidden)
{
    struct nof_delta_pause pause = {.soon = nof_delta_in_unheard(in)};
    struct nof_wait wait = NOF_WAIT_START;
    wait.describe = nof_request_describe;
    wait.what = req;
    for (uint32_t looks = 0;; looks++) {
        nof_delta_pause_look(&pause);
        int news = nof_wait_poll();
        if (req->complete ||
            (may_return(req, in, hidden, looks) && (!hidden || nof_delta_watch_has_ends(in))))
            break;
        if (news > 0)
            continue;
        if (nof_delta_pause_sleeps(&pause))
            nof_wait_tell(&wait);
        nof_lib_unlock();
        (void)nof_delta_pause(&pause); /* a NIC that is gone is noticed in polls, and ends the request */
        nof_lib_lock();
    }
    nof_wait_told(&wait);
}

static void tell_early(const struct nof_request *req, const struct nof_delta_in *in, MPI_Status *status)
{
    int source = req->peer, tag = req->tag;
    if (status == MPI_STATUS_IGNORE)
        return;
    if (source == MPI_ANY_SOURCE)
        source = nof_group_rank_of(nof_comm_peers(req->comm),
                                   __atomic_load_n(&in->arrival->peer, __ATOMIC_RELAXED));
    if (tag == MPI_ANY_TAG)
        tag = __atomic_load_n(&in->arrival->tag, __ATOMIC_RELAXED);
    nof_status_set(status, source, tag, NOF_STATUS_BYTES_UNKNOWN, false);
}

static int ended(struct nof_request *req, MPI_Status *status)
{
    int rc = nof_request_wait(req);
    nof_request_status(req, status);
    nof_request_free(req);
    return rc;
}

static const struct nof_sched *describe_slot(const void *slot)
{
    const struct nof_delta_in *in =
        nof_delta_in_at(__atomic_load_n((const uint32_t *)slot, __ATOMIC_RELAXED));
    return nof_delta_in_is_taken(in) ? nof_request_describe(in->req) : NULL;
}

/* A slot, and where pages are watched, a shadow for what comes. A program that leaves it to its pages asks for nothing before it
 * reads: what cannot be watched is received as a whole. */
static struct nof_delta_in *take(struct nof_request *req, void **shadow_out)
{
    bool fatal = req->comm->errhandler == NULL || req->comm->errhandler->handle == MPI_ERRORS_ARE_FATAL;
    const void *base = nof_lib_at(req->buf, req->type->tree->lb);
    const struct nof_delta_board *board = nof_chan_for(req)->delta;
    bool by_nic = board != NULL && !board->by_memory;
    bool told = (is_wildcard(req) && by_nic) || nof_delta_trigger() != NOF_DELTA_EXPLICIT;
    if (req->peer == MPI_PROC_NULL || !req->type->contiguous || req->bytes == 0 ||
        !nof_delta_take_in(req, base, told))
        return NULL;
    struct nof_delta_in *in = nof_delta_in_with(req);
    if (nof_delta_trigger() == NOF_DELTA_EXPLICIT)
        return in;
    *shadow_out = nof_delta_by_pages(req) && nof_delta_poll_begin(describe_slot)
                      ? nof_delta_watch_recv(in, fatal, (enum nof_delta_way)req->comm->delta_way)
                      : NULL;
    if (*shadow_out != NULL)
        return in;
    (void)nof_delta_give_in(req);
    return NULL;
}

static int start(struct nof_request *req, void *shadow)
{
    if (shadow == NULL)
        return nof_pt2pt_start(req);
    req->data = shadow;
    nof_chan_for(req)->recv(req);
    return MPI_SUCCESS;
}

/* A message whose every byte was seen there may have no call that ended it yet: two are not watched in one place. */
static void await_former(uintptr_t low, uintptr_t high)
{
    struct nof_wait wait = NOF_WAIT_START;
    while (nof_delta_in_overlaps(low, high))
        nof_wait_step(&wait);
}

/* A receive from any source that two matchers know has a slot of memory's, and what the NIC brings for it comes as a whole. It returns
 * when it is matched, no earlier: so the message is awaited, and then received from whom it is, early by either way. Not where another
 * thread of the program could receive it in between. */
static int name_source(const struct nof_pt2pt_args *args, struct nof_request *req, struct nof_comm **comm_out)
{
    struct nof_request *probe = NULL;
    if (req->peer != MPI_ANY_SOURCE || nof_chan_for(req) != &nof_chan_by_both ||
        nof_lib.thread_level == MPI_THREAD_MULTIPLE)
        return MPI_SUCCESS;
    int rc = nof_pt2pt_probe_new(args->peer, args->tag, args->comm, comm_out, &probe);
    if (rc != MPI_SUCCESS)
        return rc;
    probe->probe_wait = true;
    nof_chan_for(probe)->probe(probe);
    rc = nof_request_wait(probe);
    req->peer = probe->status_source;
    req->tag = probe->status_tag;
    nof_request_free(probe);
    return rc;
}

int nof_delta_recv(const struct nof_pt2pt_args *args, struct nof_comm **comm_out, MPI_Status *status)
{
    struct nof_request *req = NULL;
    void *shadow = NULL;
    int rc = nof_pt2pt_recv_new(args, comm_out, &req);
    if (rc == MPI_SUCCESS)
        rc = name_source(args, req, comm_out);
    if (rc != MPI_SUCCESS) {
        if (req != NULL)
            nof_request_free(req);
        return rc;
    }
    uintptr_t low = (uintptr_t)nof_lib_at(req->buf, req->type->tree->lb);
    req->bytes = req->type->size * req->count;
    if (nof_delta_trigger() != NOF_DELTA_EXPLICIT) {
        await_former(low, low + req->bytes);
        nof_delta_settle_buffer(req->buf, req->count, req->type);
    }
    forget_range(low, low + req->bytes);
    struct nof_delta_in *in = take(req, &shadow);
    req->ops = &ops;
    rc = start(req, shadow);
    if (rc != MPI_SUCCESS) {
        nof_request_free(req);
        return rc;
    }
    if (in != NULL && nof_chan_for(req)->delta->by_memory)
        nof_lib_share(); /* what comes there, others' waits are to bring, too */
    if (in != NULL) {
        await_match(req, in, shadow != NULL);
        nof_delta_count(NOF_DELTA_COUNT_RECEIVES_PLAIN,
                        nof_delta_in_on_board(in) && nof_delta_in_unheard(in));
    }
    if (in == NULL || req->complete || (shadow != NULL && !nof_delta_watch_hide(in)))
        return ended(req, status);
    tell_early(req, in, status);
    nof_delta_in_publish(in);
    req->orphan = true;
    return MPI_SUCCESS;
}

static struct ending *ending_of(const void *buf)
{
    struct ending *last = NULL;
    for (size_t i = 0; i < ending_count; i++)
        if (endings[i].buf == buf && (last == NULL || endings[i].order > last->order))
            last = &endings[i];
    return last;
}

bool nof_delta_recv_any_failed(void)
{
    return __atomic_load_n(&failures, __ATOMIC_RELAXED) != 0;
}

int nof_delta_recv_wait(const void *buf, MPI_Status *status, struct nof_comm **comm_out)
{
    struct nof_wait wait = NOF_WAIT_START;
    const struct nof_delta_in *in;
    wait.describe = nof_request_describe;
    while ((in = nof_delta_in_find(buf)) != NULL) {
        wait.what = in->req;
        nof_wait_step(&wait);
    }
    struct ending *e = ending_of(buf);
    if (e == NULL)
        return nof_error(
            MPI_ERR_ARG,
            "no delta receive into the buffer at %p is known: there was none, this was asked before, or more "
            "than %d have ended since",
            buf, ENDINGS);
    int rc = e->error;
    if (status != MPI_STATUS_IGNORE)
        nof_status_set(status, e->source, e->tag, e->bytes, e->cancelled);
    if (e->comm != NULL) {
        *comm_out = e->comm;
        nof_comm_hold(e->comm);
    }
    forget(e);
    return rc;
}

/* A message that was too long is there as far as the buffer goes: only its end is an error. */
int nof_delta_recv_failed(const void *address, size_t bytes, struct nof_comm **comm_out)
{
    uintptr_t low = (uintptr_t)address, high = low + bytes;
    for (size_t i = 0; failures > 0 && i < ending_count; i++) {
        const struct ending *e = &endings[i];
        if (e->comm == NULL || e->low >= high || low >= e->high ||
            nof_error_class(e->error) == MPI_ERR_TRUNCATE)
            continue;
        *comm_out = e->comm;
        nof_comm_hold(e->comm);
        return e->error;
    }
    return MPI_SUCCESS;
}

static void tell_left(const struct nof_request *req)
{
    char from[24] = "any rank";
    if (req->peer >= 0)
        snprintf(from, sizeof(from), "rank %d", req->peer);
    fprintf(stderr,
            "libmpi_offload: rank %d on %s: MPI_Finalize: no message came for a delta receive of %zu bytes "
            "from %s, "
            "tag %d\n",
            nof_lib.world_rank, nof_lib.host, req->bytes, from, req->tag);
}

void nof_delta_recv_close(bool tell)
{
    struct nof_wait wait = NOF_WAIT_START;
    uint64_t began_ns = nof_lib_now_ns();
    struct nof_request *asked = NULL;
    struct nof_delta_in *in;
    while ((in = nof_delta_in_any()) != NULL) {
        if (in->req != asked && nof_delta_in_state(in) != NOF_DELTA_MATCHED) {
            asked = in->req;
            if (tell)
                tell_left(asked);
            nof_chan_for(asked)->cancel(asked);
            continue;
        }
        if (nof_chan_dead_member(nof_comm_world()) != MPI_UNDEFINED &&
            nof_lib_now_ns() - began_ns > CLOSE_DEAD_NS)
            return;
        nof_wait_step(&wait);
    }
    while (ending_count > 0)
        forget(&endings[ending_count - 1]);
    free(endings);
    endings = NULL;
    ending_room = 0;
}
