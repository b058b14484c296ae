/* SPDX-License-Identifier: BSD-3-Clause */
#include "recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096u

/* A request whose end or start says something. */
struct nof_record_request {
    struct nof_record_request *next;
    const void *handle;
    bool persistent;
    bool is_send;
    bool waits; /* a line of the trace waits for its end */
    uint64_t line;
    int to; /* rank in MPI_COMM_WORLD that a send goes to */
    struct nof_record_send send; /* its type is a copy of ours */
    struct nof_trace_call call;
};

/* A line of the trace: written when it and all before it are known. */
struct line {
    struct nof_trace_call call;
    enum { WAITS, KNOWN, LOST } is;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct nof_record_request *requests[BUCKETS], *messages[BUCKETS];
static size_t known_requests;
static struct line *lines; /* ring of `room`, a power of two */
static size_t room;
static uint64_t first_line, next_line;

static void write_lines(void)
{
    for (; first_line < next_line; first_line++) {
        const struct line *l = &lines[first_line & (room - 1)];

        if (l->is == WAITS)
            return;
        if (l->is == KNOWN)
            nof_trace_recv(&l->call);
        else
            nof_trace_tally()->unnamed++;
    }
}

static bool grow(void)
{
    size_t more = room == 0 ? 1024 : room * 2;
    struct line *all = malloc(more * sizeof(*all));

    if (all == NULL)
        return false;
    for (uint64_t i = first_line; i < next_line; i++)
        all[i & (more - 1)] = lines[i & (room - 1)];
    free(lines);
    lines = all;
    room = more;
    return true;
}

static bool add_line(const struct nof_trace_call *call, bool known, uint64_t *line_out)
{
    if (first_line == next_line && known) {
        nof_trace_recv(call);
        return true;
    }
    if (next_line - first_line == room && !grow()) {
        nof_trace_tally()->unnamed++;
        return false;
    }
    lines[next_line & (room - 1)] = (struct line){.call = *call, .is = known ? KNOWN : WAITS};
    *line_out = next_line++;
    return true;
}

static struct nof_record_request **bucket(struct nof_record_request **table, const void *handle)
{
    return &table[((uintptr_t)handle * 0x9e3779b97f4a7c15u) >> 52];
}

/* The newest of that handle: one that has ended may still be there for the thread that waited for it. */
static struct nof_record_request *find(struct nof_record_request **table, const void *handle)
{
    struct nof_record_request *r = *bucket(table, handle);

    while (r != NULL && r->handle != handle)
        r = r->next;
    return r;
}

static struct nof_record_request *insert(struct nof_record_request **table, const void *handle)
{
    struct nof_record_request *r = calloc(1, sizeof(*r)), **head = bucket(table, handle);

    if (r == NULL)
        return NULL;
    r->handle = handle;
    r->next = *head;
    *head = r;
    if (table == requests)
        __atomic_add_fetch(&known_requests, 1, __ATOMIC_RELAXED);
    return r;
}

static void take_out(struct nof_record_request **table, struct nof_record_request *r)
{
    struct nof_record_request **at = bucket(table, r->handle);

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    if (table == requests)
        __atomic_sub_fetch(&known_requests, 1, __ATOMIC_RELAXED);
}

bool nof_record_any_known(void)
{
    return __atomic_load_n(&known_requests, __ATOMIC_RELAXED) > 0;
}

struct nof_record_request *nof_record_known(MPI_Request request)
{
    pthread_mutex_lock(&lock);
    struct nof_record_request *r = request != MPI_REQUEST_NULL ? find(requests, request) : NULL;
    pthread_mutex_unlock(&lock);
    return r;
}

void nof_record_ended(struct nof_record_request *r, const MPI_Status *status, bool freed)
{
    int canceled = 0;

    if (status != NULL)
        REAL(Test_cancelled)(status, &canceled);
    pthread_mutex_lock(&lock);
    if (r->waits && r->line >= first_line) {
        struct line *l = &lines[r->line & (room - 1)];

        l->is = status != NULL && !canceled && status->MPI_SOURCE >= 0 ? KNOWN : LOST;
        if (l->is == KNOWN) {
            l->call.source = status->MPI_SOURCE;
            l->call.tag = status->MPI_TAG;
        }
        write_lines();
    }
    r->waits = false;
    freed |= !r->persistent;
    if (freed)
        take_out(requests, r);
    pthread_mutex_unlock(&lock);
    if (!freed)
        return;
    if (r->is_send)
        REAL(Type_free)(&r->send.type);
    free(r);
}

static void receive(const struct nof_trace_call *call, struct nof_record_request *r)
{
    bool known = call->source != MPI_ANY_SOURCE && call->tag != MPI_ANY_TAG;
    uint64_t line = 0;

    if (add_line(call, known, &line) && !known) {
        r->waits = true;
        r->line = line;
    }
}

void nof_record_received(const struct nof_trace_call *call)
{
    uint64_t line;

    if (call->source == MPI_PROC_NULL)
        return;
    pthread_mutex_lock(&lock);
    (void)add_line(call, true, &line);
    pthread_mutex_unlock(&lock);
}

void nof_record_posted(const struct nof_trace_call *call, MPI_Request request)
{
    bool known = call->source != MPI_ANY_SOURCE && call->tag != MPI_ANY_TAG;
    struct nof_record_request *r = NULL;

    if (call->source == MPI_PROC_NULL)
        return;
    pthread_mutex_lock(&lock);
    if (!known)
        r = insert(requests, request);
    if (known || r != NULL)
        receive(call, r);
    else
        nof_trace_tally()->unnamed++;
    pthread_mutex_unlock(&lock);
}

void nof_record_made(const struct nof_record_send *send, const struct nof_trace_call *call,
                     MPI_Request request)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    if ((send != NULL ? send->dest : call->source) == MPI_PROC_NULL)
        return;
    int to = send != NULL ? nof_record_world_rank(send->comm, send->dest) : 0;
    /* The program may free its own before it starts the request. */
    if (send != NULL && REAL(Type_dup)(send->type, &type) != MPI_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    struct nof_record_request *r = insert(requests, request);
    if (r != NULL) {
        r->persistent = true;
        r->is_send = send != NULL;
        r->to = to;
        if (send != NULL)
            r->send = *send;
        else
            r->call = *call;
        r->send.type = type;
    }
    pthread_mutex_unlock(&lock);
}

void nof_record_matched(MPI_Message message, const struct nof_trace_call *call)
{
    pthread_mutex_lock(&lock);
    struct nof_record_request *r = insert(messages, message);
    if (r != NULL)
        r->call = *call;
    pthread_mutex_unlock(&lock);
}

bool nof_record_take_matched(MPI_Message message, struct nof_trace_call *call_out)
{
    pthread_mutex_lock(&lock);
    struct nof_record_request *r = find(messages, message);
    if (r != NULL)
        take_out(messages, r);
    pthread_mutex_unlock(&lock);
    if (r != NULL)
        *call_out = r->call;
    free(r);
    return r != NULL;
}

/* The bytes as they travel; *made_out is to be freed. NULL: there is no memory for them. */
static const void *payload(const struct nof_record_send *s, uint64_t len_bytes, void **made_out)
{
    MPI_Count position = 0;

    if (nof_record_is_double(s->type))
        return s->buf;
    *made_out = malloc(len_bytes);
    if (*made_out == NULL ||
        REAL(Pack_c)(s->buf, s->count, s->type, *made_out, (MPI_Count)len_bytes, &position, s->comm) !=
            MPI_SUCCESS ||
        (uint64_t)position != len_bytes)
        return NULL;
    return *made_out;
}

static void send_to(int to, const struct nof_record_send *s)
{
    uint64_t len_bytes = nof_record_len_bytes(s->count, s->type);
    void *made = NULL;

    if (len_bytes > 0 && !nof_record_is_doubles(s->type)) {
        __atomic_add_fetch(&nof_trace_tally()->other_type, 1, __ATOMIC_RELAXED);
        return;
    }
    pthread_mutex_lock(&lock);
    if (nof_trace_wants_msg(len_bytes)) {
        const void *bytes = payload(s, len_bytes, &made);

        if (bytes != NULL)
            nof_trace_msg(to, bytes, (uint32_t)len_bytes);
        else
            nof_trace_tally()->behind_error[NOF_RECORDING_MSG]++;
    }
    pthread_mutex_unlock(&lock);
    free(made);
}

void nof_record_sent(const struct nof_record_send *s)
{
    if (s->dest != MPI_PROC_NULL)
        send_to(nof_record_world_rank(s->comm, s->dest), s);
}

void nof_record_started(MPI_Request request, uint64_t site)
{
    struct nof_record_request *r = nof_record_known(request);

    if (r == NULL || !r->persistent)
        return;
    if (r->is_send) {
        send_to(r->to, &r->send);
        return;
    }
    pthread_mutex_lock(&lock);
    r->call.site = site;
    receive(&r->call, r);
    pthread_mutex_unlock(&lock);
}

void nof_record_collective(const char *text, size_t len_bytes)
{
    pthread_mutex_lock(&lock);
    nof_trace_coll(text, len_bytes);
    pthread_mutex_unlock(&lock);
}

void nof_record_worldless_collective(void)
{
    __atomic_add_fetch(&nof_trace_tally()->worldless_collective, 1, __ATOMIC_RELAXED);
}

void nof_record_other_collective(void)
{
    __atomic_add_fetch(&nof_trace_tally()->other_collective, 1, __ATOMIC_RELAXED);
}

void nof_record_finish(void)
{
    if (!nof_trace_is_mine())
        return;
    pthread_mutex_lock(&lock);
    /* Of what is still open nobody will say what came. */
    for (uint64_t i = first_line; i < next_line; i++)
        if (lines[i & (room - 1)].is == WAITS)
            lines[i & (room - 1)].is = LOST;
    write_lines();
    nof_trace_flush();
    pthread_mutex_unlock(&lock);
}
