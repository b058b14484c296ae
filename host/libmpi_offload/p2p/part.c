/* SPDX-License-Identifier: BSD-3-Clause */
#include "p2p/part.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "base/error.h"
#include "chan/chan.h"
#include "delta/delta_count.h"
#include "p2p/delta_p2p.h"
#include "p2p/delta_settle.h"
#include "p2p/pt2pt.h"

enum { SETUP_TAG = 0, FIRST_TAG = 1, UNIT_LOG2_MOST = 6, UNITS_A_WORD = 64 };

/* What the receiver has to know; small enough for a descriptor. */
struct setup {
    uint32_t partitions; /* 0: rounds are empty, there are no messages */
    int32_t tag; /* the program's */
    int32_t message_tag; /* of each round's message */
    uint32_t reserved;
};

/* A setup for which no receive was made yet. */
struct unexpected {
    struct setup setup;
    struct nof_comm *comm; /* a reference */
    int peer;
    struct unexpected *next;
};

struct nof_part {
    struct nof_request *req; /* NULL: freed by the program before its setup came */
    struct nof_comm *comm; /* a reference */
    int peer;
    int tag;
    int partitions;
    size_t partition_bytes;
    bool matched; /* the setup is there, or was sent */
    int error; /* no setup will ever come: why */
    struct setup setup;
    struct nof_request
        *message; /* of this round: with the channel; of a PSEND without a slot, not before the last Pready */
    struct nof_request
        *spent; /* PSEND: the message of a round that failed: threads may still write to its slot */
    bool is_packed; /* the round's bytes lie apart, and the channel does not walk them: they are in */
    void *packed; /* kept for later rounds */
    /* By partition. PSEND: ready (any thread), unless the board says so; PRECV: said to have arrived, and unpacked. */
    bool *flag;
    int unready; /* PSEND: partitions, or words of the board that are not full; any thread */
    uint32_t unit_log2; /* PSEND with units: */
    size_t units;
    uint32_t each_units; /* of a partition; 0: some share a unit, or would lie in two words of the board */
    bool is_on_board; /* the round's message has a slot, and such units */
    uint32_t *shared; /* by unit: by how many partitions */
    uint32_t *left; /* of them not yet ready, any thread */
    struct nof_part *next;
};

static struct nof_part *waiting; /* PRECV without a setup, oldest first */
static struct unexpected *unexpected; /* oldest first */
static int next_tag = FIRST_TAG;

static int no_memory(void)
{
    return nof_error(MPI_ERR_NO_MEM, "no memory for a partitioned operation");
}

static struct nof_request *message(enum nof_request_kind kind, struct nof_comm *comm, int peer, int tag,
                                   void (*on_done)(struct nof_request *))
{
    struct nof_request *req = nof_request_internal(kind, comm, NULL, 0, nof_type_byte(), peer, tag);
    if (req != NULL) {
        req->ctx = comm->ctx | NOF_COMM_PART;
        req->partitioned = true;
        req->on_done = on_done;
    }
    return req;
}

/* Start an internal message, or free it. */
static int start_message(struct nof_request *req)
{
    int rc = nof_pt2pt_start(req);
    if (rc != MPI_SUCCESS)
        nof_request_free(req);
    return rc;
}

static void free_spent(struct nof_part *p)
{
    if (p->spent != NULL)
        nof_request_free(p->spent);
    p->spent = NULL;
}

static void part_free(struct nof_part *p)
{
    if (p->req != NULL && p->req->kind == NOF_REQUEST_PRECV && !p->matched && p->error == MPI_SUCCESS &&
        p->peer != MPI_PROC_NULL) {
        p->req = NULL; /* its setup must not become another's */
        return;
    }
    free_spent(p);
    nof_comm_release(p->comm);
    free(p->packed);
    free(p->flag);
    free(p->shared);
    free(p->left);
    free(p);
}

static void end_round(struct nof_part *p, int error, size_t bytes)
{
    struct nof_request *req = p->req;
    p->message = NULL;
    req->error = error;
    req->status_source = p->peer;
    req->status_tag = p->tag;
    req->status_bytes = bytes;
    nof_request_end(req);
}

static size_t bytes_of(const struct nof_part *p)
{
    return (size_t)p->partitions * p->partition_bytes;
}

static void sent(struct nof_request *child)
{
    struct nof_part *p = child->context;
    int error = child->error;
    if (error == MPI_SUCCESS)
        nof_request_free(child);
    else
        p->spent = child;
    end_round(p, error, bytes_of(p));
}

static void unpack(struct nof_part *p, size_t partition, size_t arrived)
{
    size_t from = partition * p->partition_bytes, len = p->partition_bytes;
    if (p->flag[partition] || from >= arrived)
        return;
    if (len > arrived - from)
        len = arrived - from;
    nof_type_unpack(p->req->type, p->req->buf, p->req->count, from, len, (char *)p->packed + from);
}

static void received(struct nof_request *child)
{
    struct nof_part *p = child->context;
    int error = child->error;
    size_t bytes = child->status_bytes;
    for (size_t i = 0; p->is_packed && i < (size_t)p->partitions; i++)
        unpack(p, i, bytes);
    nof_request_free(child);
    end_round(p, error, bytes);
}

/* The whole message of a round, in the program's memory or in ours; NULL: no memory. */
static struct nof_request *new_round(struct nof_part *p, enum nof_request_kind kind,
                                     void (*on_done)(struct nof_request *))
{
    struct nof_request *req = p->req, *child = message(kind, p->comm, p->peer, p->setup.message_tag, on_done);
    struct nof_pt2pt_place place;
    if (child == NULL)
        return NULL;
    bool there = nof_pt2pt_place(nof_chan_to_all, req->type, req->buf, req->count, &place);
    if (!there && p->packed == NULL && (p->packed = malloc(place.bytes)) == NULL) {
        nof_request_free(child);
        return NULL;
    }
    p->is_packed = !there;
    child->context = p;
    child->callsite = req->callsite;
    child->bytes = place.bytes;
    child->data = there ? place.data : p->packed;
    child->streamed = place.streamed;
    child->buf = there ? req->buf : p->packed;
    child->count = there ? req->count : place.bytes;
    if (there) {
        child->type = req->type;
        nof_type_hold(req->type);
    }
    return child;
}

static const struct nof_request_ops in_ops = {.release = nof_delta_give_in};

static void receive_round(struct nof_part *p)
{
    if (p->setup.partitions == 0) {
        end_round(p, MPI_SUCCESS, 0);
        return;
    }
    struct nof_request *child = new_round(p, NOF_REQUEST_RECV, received);
    if (child == NULL) {
        nof_request_fail(p->req, no_memory());
        return;
    }
    for (int i = 0; i < p->partitions; i++)
        p->flag[i] = false;
    child->ops = &in_ops;
    if (child->bytes > 0)
        (void)nof_delta_take_in(child, child->data, true);
    p->message = child;
    nof_chan_to_all->recv(child);
}

static const struct nof_request_ops out_ops = {.release = nof_delta_give_out};

/* Units that no partition shares with its neighbours, if there are enough; else the last of those that share one sets it. */
static bool room_for_units(struct nof_part *p, const struct nof_delta_out *out)
{
    size_t bytes = bytes_of(p), each = p->partition_bytes, unit = (size_t)1 << out->unit_log2;
    if (p->left != NULL)
        return true;
    p->unit_log2 = out->unit_log2;
    p->units = (bytes + unit - 1) >> out->unit_log2;
    p->each_units = each % unit == 0 && UNITS_A_WORD % (each / unit) == 0 ? (uint32_t)(each / unit) : 0;
    p->shared = calloc(p->units, sizeof(*p->shared));
    p->left = p->shared == NULL ? NULL : calloc(p->units, sizeof(*p->left));
    for (size_t u = 0; p->left != NULL && u < p->units; u++) {
        size_t from = u * unit, to = bytes - from < unit ? bytes : from + unit;
        p->shared[u] = (uint32_t)((to - 1) / each - from / each + 1);
    }
    return p->left != NULL;
}

/* The round's message begins before anything is ready. Without a slot it waits for the last partition. */
static int send_round(struct nof_part *p)
{
    free_spent(p);
    struct nof_request *child = new_round(p, NOF_REQUEST_SEND, sent);
    if (child == NULL)
        return no_memory();
    uint32_t least = p->partition_bytes == 0 ? 0 : (uint32_t)__builtin_ctzll(p->partition_bytes);
    child->ops = &out_ops;
    if (child->bytes > 0)
        (void)nof_delta_take_out(child, least < UNIT_LOG2_MOST ? least : UNIT_LOG2_MOST, false, true);
    struct nof_delta_out *out = nof_delta_out_with(child);
    if (out != NULL && !room_for_units(p, out)) {
        nof_request_free(child);
        return no_memory();
    }
    for (int i = 0; i < p->partitions; i++)
        p->flag[i] = false;
    p->unready = p->partitions;
    p->is_on_board = out != NULL && p->each_units > 0;
    p->message = child;
    if (out == NULL)
        return MPI_SUCCESS;
    if (p->is_on_board)
        p->unready = (int)((p->units + UNITS_A_WORD - 1) / UNITS_A_WORD);
    else
        memcpy(p->left, p->shared, p->units * sizeof(*p->left));
    out->owner = p;
    nof_delta_out_publish(out, p->req->handle);
    nof_chan_to_all->send(child);
    return MPI_SUCCESS;
}

static int part_start(struct nof_request *req)
{
    struct nof_part *p = req->part;
    if (p->peer == MPI_PROC_NULL) {
        req->status_source = MPI_PROC_NULL;
        req->status_tag = MPI_ANY_TAG;
        req->complete = true;
        return MPI_SUCCESS;
    }
    if (p->error != MPI_SUCCESS) {
        nof_request_fail(req, p->error);
        return MPI_SUCCESS;
    }
    nof_delta_settle_buffer(req->buf, req->count, req->type);
    if (req->kind == NOF_REQUEST_PSEND && p->partitions > 0)
        return send_round(p);
    if (req->kind == NOF_REQUEST_PSEND)
        end_round(p, MPI_SUCCESS, 0);
    else if (p->matched)
        receive_round(p);
    return MPI_SUCCESS;
}

int nof_part_check(const struct nof_request *req, int partition)
{
    int partitions = req->part->partitions;
    return partition < 0 || partition >= partitions
               ? nof_error(MPI_ERR_ARG, "partition %d of %d", partition, partitions)
               : MPI_SUCCESS;
}

static bool mark_unit(struct nof_part *p, size_t unit)
{
    return p->shared[unit] == 1 || __atomic_sub_fetch(&p->left[unit], 1, __ATOMIC_ACQ_REL) == 0;
}

/* Whose last byte this partition has: those units, and all between. */
static void mark(struct nof_part *p, struct nof_delta_out *out, size_t partition)
{
    size_t from = partition * p->partition_bytes, to = from + p->partition_bytes;
    size_t first = from >> p->unit_log2, last = (to - 1) >> p->unit_log2, behind = last + 1;
    if (!mark_unit(p, first))
        first++;
    if (last > from >> p->unit_log2 && !mark_unit(p, last))
        behind--;
    if (first < behind)
        nof_delta_out_units(out, first, behind - first);
}

static void pack_one(const struct nof_part *p, size_t partition)
{
    size_t each = p->partition_bytes, from = partition * each;
    if (p->is_packed)
        nof_type_pack(p->req->type, p->req->buf, p->req->count, from, each, (char *)p->packed + from);
}

/* All partitions are ready; the message, and p, may be over at once. */
static void end_message(struct nof_delta_out *out)
{
    struct nof_part *p = out->owner;
    __atomic_store_n(&p->unready, 0, __ATOMIC_RELAXED);
    nof_delta_count(NOF_DELTA_COUNT_INCREMENTS, (uint64_t)p->partitions - 1); /* the end is one */
    nof_delta_count(NOF_DELTA_COUNT_EARLY_BYTES, out->bytes - p->partition_bytes);
    nof_delta_end_out(out, out->bytes);
}

/* Units of a partition in their word, and those that the word has. */
static uint64_t mask_of(const struct nof_part *p, size_t partition)
{
    size_t unit = partition * p->each_units;
    return (UINT64_MAX >> (UNITS_A_WORD - p->each_units)) << unit % UNITS_A_WORD;
}

static uint64_t full_word(const struct nof_part *p, size_t word)
{
    size_t units = p->units - word * UNITS_A_WORD;
    return units < UNITS_A_WORD ? ((uint64_t)1 << units) - 1 : UINT64_MAX;
}

static uint64_t *word_of(const struct nof_part *p, const struct nof_delta_out *out, size_t partition)
{
    return &out->ready->unit[partition * p->each_units / UNITS_A_WORD];
}

/* The board itself says which partitions are ready: a Pready writes to one word of it, which most others do not share, and who fills
 * a word counts it. False: it was ready. */
static bool ready_on_board(struct nof_part *p, struct nof_delta_out *out, size_t partition)
{
    uint64_t *word = word_of(p, out, partition), mine = mask_of(p, partition);
    uint64_t full = full_word(p, partition * p->each_units / UNITS_A_WORD);
    uint64_t ready = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    int unready = __atomic_load_n(&p->unready, __ATOMIC_ACQUIRE);
    if ((ready & mine) != 0 || unready <= 0)
        return false;
    pack_one(p, partition);
    if ((ready | mine) == full && unready == 1) {
        if (!__atomic_compare_exchange_n(&p->unready, &unready, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return false; /* another thread was first */
        end_message(out);
        return true;
    }
    ready = __atomic_fetch_or(word, mine, __ATOMIC_ACQ_REL);
    if ((ready & mine) != 0)
        return false;
    unready = (ready | mine) == full ? __atomic_sub_fetch(&p->unready, 1, __ATOMIC_ACQ_REL) : unready;
    if (unready < 0)
        return false; /* another thread has found this one to be the last, and said the end */
    if (unready == 0)
        end_message(out);
    else
        nof_delta_out_ring(out);
    return true;
}

static bool ready_in_units(struct nof_part *p, struct nof_delta_out *out, size_t partition)
{
    if (__atomic_exchange_n(&p->flag[partition], true, __ATOMIC_RELAXED))
        return false;
    pack_one(p, partition);
    bool is_last = __atomic_load_n(&p->unready, __ATOMIC_ACQUIRE) == 1;
    if (!is_last)
        mark(p, out, partition);
    if (is_last || __atomic_sub_fetch(&p->unready, 1, __ATOMIC_ACQ_REL) == 0)
        end_message(out);
    else
        nof_delta_out_ring(out);
    return true;
}

/* The round may be over, and p with it, once another thread finds none unready, or this one has said the end. The last one
 * says the end alone: then it goes with the last bytes. */
bool nof_part_ready_at_once(MPI_Request handle, int partition)
{
    struct nof_delta_out *out = nof_delta_out_of(handle);
    struct nof_part *p = out == NULL ? NULL : out->owner;
    if (p == NULL || partition < 0 || partition >= p->partitions)
        return false;
    return p->is_on_board ? ready_on_board(p, out, (size_t)partition)
                          : ready_in_units(p, out, (size_t)partition);
}

/* Of any round, also of one that is over. */
static bool is_ready(const struct nof_part *p, size_t partition)
{
    const struct nof_delta_out *out = p->message == NULL ? NULL : nof_delta_out_with(p->message);
    if (!p->is_on_board)
        return __atomic_load_n(&p->flag[partition], __ATOMIC_RELAXED);
    if (out == NULL || __atomic_load_n(&p->unready, __ATOMIC_RELAXED) <= 0)
        return __atomic_load_n(&p->unready, __ATOMIC_RELAXED) <= 0;
    return (__atomic_load_n(word_of(p, out, partition), __ATOMIC_RELAXED) & mask_of(p, partition)) != 0;
}

int nof_part_ready(struct nof_request *req, int partition)
{
    struct nof_part *p = req->part;
    int rc = nof_part_check(req, partition);
    if (rc != MPI_SUCCESS || p->peer == MPI_PROC_NULL)
        return rc;
    if (nof_part_ready_at_once(req->handle, partition))
        return MPI_SUCCESS;
    if (is_ready(p, (size_t)partition))
        return nof_error(MPI_ERR_ARG, "partition %d is ready already", partition);
    p->flag[partition] = true;
    if (p->message == NULL || --p->unready > 0)
        return MPI_SUCCESS;
    if (p->is_packed)
        nof_type_pack(req->type, req->buf, req->count, 0, bytes_of(p), p->packed);
    nof_chan_to_all->send(p->message);
    return MPI_SUCCESS;
}

bool nof_part_arrived(const struct nof_request *req, int partition)
{
    struct nof_part *p = req->part;
    if (!req->active || req->complete || p->peer == MPI_PROC_NULL)
        return true;
    if (p->flag != NULL && p->flag[partition])
        return true;
    struct nof_delta_in *in = p->message == NULL ? NULL : nof_delta_in_with(p->message);
    size_t from = (size_t)partition * p->partition_bytes, to = from + p->partition_bytes;
    if (in == NULL || from == to || nof_delta_in_has(in, from, to) != NOF_DELTA_IN_THERE)
        return false; /* then it is when all is */
    /* Who has seen all partitions completes the request at once: so the last one is there when the request has ended. */
    if (nof_delta_in_units(in, 0, bytes_of(p)))
        return false;
    if (p->is_packed)
        unpack(p, (size_t)partition, to);
    p->flag[partition] = true;
    return true;
}

static bool room_for_flags(struct nof_part *p)
{
    p->flag = calloc((size_t)p->partitions + 1, sizeof(*p->flag));
    return p->flag != NULL;
}

static void give_setup(struct nof_part *p, const struct setup *setup)
{
    p->setup = *setup;
    p->matched = true;
    if (p->req == NULL) {
        part_free(p);
    } else if (!room_for_flags(p)) {
        p->error = no_memory();
        if (p->req->active)
            nof_request_fail(p->req, p->error);
    } else if (p->req->active) {
        receive_round(p);
    }
}

static bool same(const struct nof_part *p, const struct nof_comm *comm, int peer)
{
    return p->comm->ctx == comm->ctx && p->peer == peer;
}

/* The oldest that waits for this peer, and for this tag; taken out of the list. */
static struct nof_part *take_waiting(const struct nof_comm *comm, int peer, const struct setup *setup)
{
    for (struct nof_part **at = &waiting; *at != NULL; at = &(*at)->next) {
        struct nof_part *p = *at;
        if (same(p, comm, peer) && (setup == NULL || p->tag == setup->tag)) {
            *at = p->next;
            return p;
        }
    }
    return NULL;
}

static int listen(struct nof_comm *comm, int peer);

static bool keep_unexpected(struct nof_comm *comm, int peer, const struct setup *setup)
{
    struct unexpected *u = malloc(sizeof(*u)), **at = &unexpected;
    if (u == NULL)
        return false;
    *u = (struct unexpected){.setup = *setup, .comm = comm, .peer = peer};
    nof_comm_hold(comm);
    while (*at != NULL)
        at = &(*at)->next;
    *at = u;
    return true;
}

static void fail_waiting(const struct nof_comm *comm, int peer, int error)
{
    struct nof_part *p;
    while ((p = take_waiting(comm, peer, NULL)) != NULL) {
        p->error = error;
        if (p->req == NULL)
            part_free(p);
        else if (p->req->active)
            nof_request_fail(p->req, error);
    }
}

static bool anyone_waits(const struct nof_comm *comm, int peer)
{
    for (const struct nof_part *p = waiting; p != NULL; p = p->next) {
        if (same(p, comm, peer))
            return true;
    }
    return false;
}

static void setup_came(struct nof_request *child)
{
    struct nof_comm *comm = child->comm;
    struct setup *setup = child->buf;
    int peer = child->peer, error = child->error;
    nof_comm_hold(comm);
    nof_request_free(child);
    if (error == MPI_SUCCESS) {
        struct nof_part *p = take_waiting(comm, peer, setup);
        if (p != NULL)
            give_setup(p, setup);
        else if (!keep_unexpected(comm, peer, setup))
            error = no_memory();
    }
    free(setup);
    if (error == MPI_SUCCESS && anyone_waits(comm, peer))
        error = listen(comm, peer);
    if (error != MPI_SUCCESS)
        fail_waiting(comm, peer, error);
    nof_comm_release(comm);
}

/* Wait for the peer's next setup. */
static int listen(struct nof_comm *comm, int peer)
{
    struct setup *setup = calloc(1, sizeof(*setup));
    struct nof_request *child =
        setup == NULL ? NULL : message(NOF_REQUEST_RECV, comm, peer, SETUP_TAG, setup_came);
    if (child == NULL) {
        free(setup);
        return no_memory();
    }
    child->buf = setup;
    child->count = sizeof(*setup);
    int rc = start_message(child);
    if (rc != MPI_SUCCESS)
        free(setup);
    return rc;
}

static int await_setup(struct nof_part *p)
{
    for (struct unexpected **at = &unexpected; *at != NULL; at = &(*at)->next) {
        struct unexpected *u = *at;
        if (!same(p, u->comm, u->peer) || u->setup.tag != p->tag)
            continue;
        *at = u->next;
        give_setup(p, &u->setup);
        nof_comm_release(u->comm);
        free(u);
        return MPI_SUCCESS;
    }
    bool listening = anyone_waits(p->comm, p->peer);
    struct nof_part **end = &waiting;
    while (*end != NULL)
        end = &(*end)->next;
    p->next = NULL;
    *end = p;
    int rc = listening ? MPI_SUCCESS : listen(p->comm, p->peer);
    if (rc != MPI_SUCCESS && !p->matched && p->error == MPI_SUCCESS)
        *end = NULL;
    return rc;
}

static void setup_sent(struct nof_request *child)
{
    free(child->buf);
    nof_request_free(child); /* a peer that is dead fails the partitions too */
}

static int send_setup(struct nof_part *p)
{
    p->setup = (struct setup){.partitions = (uint32_t)p->partitions, .tag = p->tag, .message_tag = next_tag};
    next_tag = next_tag == INT_MAX ? FIRST_TAG : next_tag + 1;
    struct setup *copy = malloc(sizeof(*copy));
    struct nof_request *child =
        copy == NULL ? NULL : message(NOF_REQUEST_SEND, p->comm, p->peer, SETUP_TAG, setup_sent);
    if (child == NULL || !room_for_flags(p)) {
        if (child != NULL)
            nof_request_free(child);
        free(copy);
        return no_memory();
    }
    *copy = p->setup;
    p->matched = true;
    child->buf = copy;
    child->count = sizeof(*copy);
    int rc = start_message(child);
    if (rc != MPI_SUCCESS)
        free(copy);
    return rc;
}

static int part_release(struct nof_request *req)
{
    part_free(req->part);
    return MPI_SUCCESS;
}

static int part_status(const struct nof_request *req, MPI_Status *status)
{
    bool receive = req->kind == NOF_REQUEST_PRECV;
    if (status != MPI_STATUS_IGNORE)
        nof_status_set(status, receive ? req->status_source : MPI_ANY_SOURCE,
                       receive ? req->status_tag : MPI_ANY_TAG, receive ? req->status_bytes : 0,
                       req->cancelled);
    return MPI_SUCCESS;
}

bool nof_part_unready(const struct nof_request *req, char *text, size_t bytes)
{
    const struct nof_part *p = req->part;
    bool knows = req->kind == NOF_REQUEST_PSEND && (p->is_on_board || p->flag != NULL);
    int unready = 0;
    for (int i = 0; knows && i < p->partitions; i++)
        unready += !is_ready(p, (size_t)i);
    if (unready > 0)
        snprintf(text, bytes, "of which %d of %d partitions are not ready", unready, p->partitions);
    return unready > 0;
}

static void missing(const struct nof_request *req, char *text, size_t bytes)
{
    (void)nof_part_unready(req, text, bytes);
}

static const struct nof_request_ops ops = {
    .missing = missing, .start = part_start, .status = part_status, .release = part_release};

static int make(const struct nof_part_args *args, bool send, struct nof_request *req)
{
    struct nof_part *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return no_memory();
    req->bytes = req->type->size * req->count;
    req->persistent = true;
    req->active = false;
    *p = (struct nof_part){.req = req,
                           .comm = req->comm,
                           .peer = req->peer,
                           .tag = req->tag,
                           .partitions = args->partitions,
                           .partition_bytes = req->type->size * (size_t)args->count};
    nof_comm_hold(p->comm);
    int rc = MPI_SUCCESS;
    if (p->peer != MPI_PROC_NULL)
        rc = send ? send_setup(p) : await_setup(p);
    if (rc != MPI_SUCCESS) {
        p->req = NULL;
        part_free(p);
        return rc;
    }
    req->kind = send ? NOF_REQUEST_PSEND : NOF_REQUEST_PRECV;
    req->part = p;
    req->ops = &ops;
    return MPI_SUCCESS;
}

int nof_part_new(const struct nof_part_args *args, bool send, struct nof_comm **comm_out,
                 struct nof_request **req_out)
{
    MPI_Count all;
    if (args->partitions < 0)
        return nof_error(MPI_ERR_ARG, "the number of partitions is %d", args->partitions);
    if (__builtin_mul_overflow(args->count, (MPI_Count)args->partitions, &all))
        return nof_error(MPI_ERR_COUNT, "%lld elements in each of %d partitions", (long long)args->count,
                         args->partitions);
    struct nof_pt2pt_args whole = {args->buf, all,        args->datatype, args->peer,
                                   args->tag, args->comm, args->callsite};
    struct nof_request *req = NULL;
    int rc = nof_pt2pt_send_new(&whole, NOF_SEND_STANDARD, comm_out, &req);
    if (rc == MPI_SUCCESS)
        rc = make(args, send, req);
    if (rc == MPI_SUCCESS)
        *req_out = req;
    else if (req != NULL)
        nof_request_free(req);
    return rc;
}
