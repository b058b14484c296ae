/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One message of the program of an image. What one process can judge alone it judges here (guards, statuses that
 * contradict each other); the rest is oracle.c's. */
#include <stdlib.h>
#include <string.h>

#include "image_run.h"
#include "mpi_offload.h"

#define GUARD_BYTES 16u
#define GUARD 0x5a
#define SCRIBBLE 0xdd
#define BLOCK NOF_PROGRAM_BLOCK_BYTES

static uint64_t now_ns(void)
{
    return nof_image->ops->now_ns(nof_image->process);
}

static uint32_t number_of_sent(const struct nof_sent *s)
{
    return (uint32_t)(s - nof_run.program->sent);
}

static uint32_t number_of_received(const struct nof_received *r)
{
    return (uint32_t)(r - nof_run.program->received);
}

/* Where byte `i` of a message lies. */
static size_t place(const struct nof_transfer *t, uint32_t i)
{
    return t->strided ? (size_t)(i / BLOCK) * 2 * BLOCK + i % BLOCK : i;
}

static struct nof_transfer *transfer_new(uint32_t bytes, bool strided)
{
    struct nof_transfer *t = calloc(1, sizeof(*t));
    if (t == NULL)
        abort();
    t->request = MPI_REQUEST_NULL;
    t->bytes = bytes;
    t->strided = strided;
    t->mem_bytes = (strided ? 2 * (size_t)bytes : bytes) + GUARD_BYTES;
    t->mem = malloc(t->mem_bytes);
    if (t->mem == NULL)
        abort();
    memset(t->mem, GUARD, t->mem_bytes);
    return t;
}

static void transfer_free(struct nof_transfer *t)
{
    if (t->staged != NULL)
        nof_run_check(MPIX_Release(t->staged), "staged message", number_of_received(t->received));
    free(t->mem);
    free(t);
}

static MPI_Datatype type_of(const struct nof_transfer *t, int *count_out)
{
    MPI_Datatype type;
    if (!t->strided) {
        *count_out = (int)t->bytes;
        return MPI_BYTE;
    }
    *count_out = 1;
    nof_run_check(MPI_Type_vector((int)(t->bytes / BLOCK), (int)BLOCK, (int)(2 * BLOCK), MPI_BYTE, &type),
                  "type", 0);
    nof_run_check(MPI_Type_commit(&type), "type", 0);
    return type;
}

static void type_done(MPI_Datatype type)
{
    if (type != MPI_BYTE)
        nof_run_check(MPI_Type_free(&type), "type", 0);
}

static bool is_guard(const uint8_t *at, size_t bytes)
{
    return bytes == 0 || (at[0] == GUARD && memcmp(at, at + 1, bytes - 1) == 0);
}

/* Of the first `len` bytes; everything behind them, and between them, must be as it was. */
static uint64_t sum_up(const struct nof_transfer *t, uint32_t len)
{
    uint64_t sum = NOF_SUM_START;
    size_t at = 0;
    for (uint32_t i = 0; t->staged != NULL && i < len; i++)
        sum = nof_sum_byte(sum, t->staged[i]);
    for (uint32_t i = 0; t->staged == NULL && i < len; i++) {
        size_t here = place(t, i);
        if (at < here && !is_guard(t->mem + at, here - at))
            return 0;
        sum = nof_sum_byte(sum, t->mem[here]);
        at = here + 1;
    }
    return is_guard(t->mem + at, t->mem_bytes - at) ? sum : 0;
}

void nof_transfer_live(struct nof_transfer *t)
{
    if (nof_run.nlive == nof_run.live_room) {
        nof_run.live_room = nof_run.live_room == 0 ? 64 : 2 * nof_run.live_room;
        nof_run.live = realloc(nof_run.live, nof_run.live_room * sizeof(struct nof_transfer *));
        if (nof_run.live == NULL)
            abort();
    }
    nof_run.live[nof_run.nlive++] = t;
}

static void live_remove(const struct nof_transfer *t)
{
    for (unsigned i = 0; i < nof_run.nlive; i++) {
        if (nof_run.live[i] == t) {
            nof_run.live[i] = nof_run.live[--nof_run.nlive];
            return;
        }
    }
}

void nof_transfer_look_back(void)
{
    while (nof_run.watched != NULL) {
        struct nof_transfer *t = nof_run.watched;
        nof_run.watched = t->next;
        uint32_t len = t->received->got_len < t->bytes ? t->received->got_len : t->bytes;
        if (sum_up(t, len) != t->received->sum)
            nof_run_fail("receive %u: its buffer was written after it ended",
                         number_of_received(t->received));
        transfer_free(t);
    }
}

static void send_ended(struct nof_transfer *t, const MPI_Status *status, int rc)
{
    struct nof_sent *s = t->sent;
    int cancelled = 0;
    nof_run_check(rc, "send", number_of_sent(s));
    if (status != NULL)
        nof_run_check(MPI_Test_cancelled(status, &cancelled), "send", number_of_sent(s));
    s->done_ns = now_ns();
    s->done = true;
    s->cancelled = cancelled != 0;
    s->transfer = NULL;
    memset(t->mem, SCRIBBLE, t->mem_bytes); /* nobody may read it any more */
    transfer_free(t);
}

static void receive_ended(struct nof_transfer *t, const MPI_Status *status, int rc)
{
    struct nof_received *r = t->received;
    int cancelled = 0, error_class = MPI_SUCCESS;
    MPI_Count len = -1;
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &error_class);
    r->truncated = error_class == MPI_ERR_TRUNCATE;
    if (!r->truncated)
        nof_run_check(rc, "receive", number_of_received(r));
    nof_run_check(MPI_Test_cancelled(status, &cancelled), "receive", number_of_received(r));
    nof_run_check(MPI_Get_count_c(status, MPI_BYTE, &len), "receive", number_of_received(r));
    r->done = true;
    r->transfer = NULL;
    r->cancelled = cancelled != 0;
    if (r->cancelled) {
        if (sum_up(t, 0) != NOF_SUM_START)
            nof_run_fail("receive %u was cancelled and has been written to", number_of_received(r));
        transfer_free(t);
        return;
    }
    r->got_source = nof_program_rank(nof_run.program, r->comm, status->MPI_SOURCE);
    r->got_tag = status->MPI_TAG;
    r->got_len = (uint32_t)len;
    r->sum = sum_up(t, r->got_len < t->bytes ? r->got_len : t->bytes);
    if (r->sum == 0)
        nof_run_fail("receive %u: bytes outside of its message were written", number_of_received(r));
    t->next = nof_run.watched;
    nof_run.watched = t;
}

void nof_transfer_ended(struct nof_transfer *t, MPI_Request *request, const MPI_Status *status, int rc)
{
    live_remove(t);
    if (*request != MPI_REQUEST_NULL)
        nof_run_check(MPI_Request_free(request), "persistent request", 0);
    if (t->together != NULL) {
        nof_together_ended(t->together, rc);
        free(t);
    } else if (t->sent != NULL) {
        send_ended(t, status, rc);
    } else {
        receive_ended(t, status, rc);
    }
}

/* What a call needs to know of a message. */
struct call {
    struct nof_transfer *t;
    MPI_Comm comm;
    MPI_Datatype type;
    int count;
    int peer, tag;
};

static struct call send_call(uint32_t item)
{
    struct nof_sent *s = &nof_run.program->sent[item];
    struct call c = {.t = transfer_new(s->len, s->strided), .comm = nof_run.comm[s->comm], .tag = s->tag};
    c.peer = nof_program_rank(nof_run.program, s->comm, s->dst);
    c.type = type_of(c.t, &c.count);
    for (uint32_t i = 0; i < s->len; i++)
        c.t->mem[place(c.t, i)] = nof_payload_byte(item, i);
    c.t->sent = s;
    s->transfer = c.t;
    s->order = nof_run.sends++;
    s->started = true;
    return c;
}

static void send_parts(const struct call *c)
{
    const struct nof_sent *s = c->t->sent;
    unsigned n = s->parts, first = (unsigned)nof_image->ops->draw(nof_image->process, n);
    nof_run_check(MPI_Psend_init(c->t->mem, (int)n, (MPI_Count)(s->len / n), MPI_BYTE, c->peer, c->tag,
                                 c->comm, MPI_INFO_NULL, &c->t->request),
                  "partitioned send", number_of_sent(s));
    nof_run_check(MPI_Start(&c->t->request), "partitioned send", number_of_sent(s));
    for (unsigned i = 0; i < n; i++)
        nof_run_check(MPI_Pready((int)((first + i) % n), c->t->request), "partition", number_of_sent(s));
}

static void send_persistent(const struct call *c)
{
    uint32_t item = number_of_sent(c->t->sent);
    nof_run_check((c->t->sent->sync ? MPI_Ssend_init : MPI_Send_init)(c->t->mem, c->count, c->type, c->peer,
                                                                      c->tag, c->comm, &c->t->request),
                  "persistent send", item);
    nof_run_check(MPI_Start(&c->t->request), "persistent send", item);
}

static bool no_room(int rc)
{
    int error_class = MPI_SUCCESS;
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &error_class);
    return error_class == MPI_ERR_BUFFER;
}

static bool send_delta(const struct call *c)
{
    const struct nof_sent *s = c->t->sent;
    uint32_t item = number_of_sent(s);
    return s->way == NOF_WAY_PLAIN && !s->sync && nof_image_delta_chosen(item) &&
           nof_image_delta_send(c->t, item, c->count, c->type, c->peer, c->tag, c->comm);
}

static void send_live(const struct call *c)
{
    const struct nof_sent *s = c->t->sent;
    int rc = MPI_ERR_BUFFER;
    if (send_delta(c))
        return;
    if (s->way == NOF_WAY_PARTS) {
        send_parts(c);
        return;
    }
    if (s->way == NOF_WAY_PERSISTENT) {
        send_persistent(c);
        return;
    }
    if (s->way == NOF_WAY_BUFFERED)
        rc = MPI_Ibsend(c->t->mem, c->count, c->type, c->peer, c->tag, c->comm, &c->t->request);
    if (no_room(rc))
        rc = (s->sync ? MPI_Issend : MPI_Isend)(c->t->mem, c->count, c->type, c->peer, c->tag, c->comm,
                                                &c->t->request);
    nof_run_check(rc, "send", number_of_sent(s));
}

static void send_blocking(const struct call *c)
{
    const struct nof_sent *s = c->t->sent;
    int rc = MPI_ERR_BUFFER;
    if (send_delta(c)) {
        send_ended(c->t, NULL, MPIX_Delta_wait(&c->t->request, MPI_STATUS_IGNORE));
        return;
    }
    if (s->way == NOF_WAY_BUFFERED)
        rc = MPI_Bsend(c->t->mem, c->count, c->type, c->peer, c->tag, c->comm);
    if (no_room(rc))
        rc = (s->sync ? MPI_Ssend : MPI_Send)(c->t->mem, c->count, c->type, c->peer, c->tag, c->comm);
    send_ended(c->t, NULL, rc);
}

void nof_transfer_send(uint32_t item, bool blocking)
{
    struct call c = send_call(item);
    struct nof_sent *s = c.t->sent;
    if (blocking) {
        send_blocking(&c);
    } else {
        send_live(&c);
        if (s->way == NOF_WAY_LET_GO) {
            /* When it ends is not told: its memory stays as it is until the process ends. */
            nof_run_check(MPI_Request_free(&c.t->request), "request", item);
            s->done = true;
            s->done_ns = UINT64_MAX;
            s->transfer = NULL;
        } else {
            nof_transfer_live(c.t);
        }
    }
    type_done(c.type);
}

static struct call receive_call(uint32_t item)
{
    struct nof_received *r = &nof_run.program->received[item];
    struct call c = {.t = transfer_new(r->capacity, r->strided), .comm = nof_run.comm[r->comm]};
    c.peer =
        r->source == NOF_PROGRAM_ANY ? MPI_ANY_SOURCE : nof_program_rank(nof_run.program, r->comm, r->source);
    c.tag = r->tag == NOF_PROGRAM_ANY ? MPI_ANY_TAG : r->tag;
    c.type = type_of(c.t, &c.count);
    c.t->received = r;
    r->transfer = c.t;
    return c;
}

static void receive_posted(struct nof_received *r)
{
    r->posted_ns = now_ns();
    r->order = nof_run.receives++;
    r->posted = true;
}

static void receive_blocking(const struct call *c)
{
    MPI_Status status;
    const void *staged = NULL;
    uint32_t item = number_of_received(c->t->received);
    int rc;
    if (c->t->received->way == NOF_WAY_STAGED) {
        rc = MPIX_Recv_staged(&staged, c->count, c->type, c->peer, c->tag, c->comm, &status);
        c->t->staged = staged;
    } else if (nof_image_delta_chosen(item)) {
        rc = nof_image_delta_receive(c->t, item, c->count, c->type, c->peer, c->tag, c->comm, &status);
    } else {
        rc = MPI_Recv(c->t->mem, c->count, c->type, c->peer, c->tag, c->comm, &status);
    }
    receive_ended(c->t, &status, rc);
}

static void receive_live(const struct call *c)
{
    const struct nof_received *r = c->t->received;
    uint32_t item = number_of_received(r);
    if (r->way == NOF_WAY_PARTS)
        nof_run_check(MPI_Precv_init(c->t->mem, (int)r->parts, (MPI_Count)(r->capacity / r->parts), MPI_BYTE,
                                     c->peer, c->tag, c->comm, MPI_INFO_NULL, &c->t->request),
                      "partitioned receive", item);
    else if (r->way == NOF_WAY_PERSISTENT)
        nof_run_check(MPI_Recv_init(c->t->mem, c->count, c->type, c->peer, c->tag, c->comm, &c->t->request),
                      "persistent receive", item);
    if (c->t->request != MPI_REQUEST_NULL)
        nof_run_check(MPI_Start(&c->t->request), "persistent receive", item);
    else
        nof_run_check(MPI_Irecv(c->t->mem, c->count, c->type, c->peer, c->tag, c->comm, &c->t->request),
                      "receive", item);
    nof_transfer_live(c->t);
}

void nof_transfer_receive(uint32_t item, bool blocking)
{
    struct call c = receive_call(item);
    receive_posted(c.t->received);
    if (blocking)
        receive_blocking(&c);
    else
        receive_live(&c);
    type_done(c.type);
}

void nof_transfer_exchange(uint32_t sent, uint32_t received)
{
    MPI_Status status;
    struct call s = send_call(sent), r = receive_call(received);
    receive_posted(r.t->received);
    int rc = MPI_Sendrecv(s.t->mem, s.count, s.type, s.peer, s.tag, r.t->mem, r.count, r.type, r.peer, r.tag,
                          s.comm, &status);
    send_ended(s.t, NULL, MPI_SUCCESS);
    receive_ended(r.t, &status, rc);
    type_done(s.type);
    type_done(r.type);
}

/* What the probe said, and what came. */
static void compare(const struct nof_received *r, const MPI_Status *seen, const char *probe)
{
    MPI_Count len = 0;
    uint32_t item = number_of_received(r);
    nof_run_check(MPI_Get_count_c(seen, MPI_BYTE, &len), "probe", item);
    if (r->got_len != (uint32_t)len || r->got_tag != seen->MPI_TAG ||
        r->got_source != nof_program_rank(nof_run.program, r->comm, seen->MPI_SOURCE))
        nof_run_fail("receive %u got another message than %s", item, probe);
}

static void probe_matched(struct call *c, enum nof_probe_style style, uint32_t item)
{
    MPI_Message message;
    MPI_Status seen, status;
    int found = 1;
    uint64_t began_ns = now_ns();
    if (style != NOF_PROBE_MATCHED_POLLING) {
        nof_run_check(MPI_Mprobe(c->peer, c->tag, c->comm, &message, &seen), "matched probe", item);
    } else {
        do
            nof_run_check(MPI_Improbe(c->peer, c->tag, c->comm, &found, &message, &seen), "matched probe",
                          item);
        while (!found);
    }
    receive_posted(c->t->received);
    c->t->received->posted_ns = began_ns;
    if (style == NOF_PROBE_MATCHED_LATER) {
        nof_run_check(MPI_Imrecv(c->t->mem, c->count, c->type, &message, &c->t->request), "matched receive",
                      item);
        nof_transfer_live(c->t);
        return;
    }
    int rc = MPI_Mrecv(c->t->mem, c->count, c->type, &message, &status);
    receive_ended(c->t, &status, rc);
    compare(&nof_run.program->received[item], &seen, "its matched probe");
}

static void probe_seen(struct call *c, bool polling, uint32_t item)
{
    MPI_Status seen, status;
    int found = 1;
    if (!polling) {
        nof_run_check(MPI_Probe(c->peer, c->tag, c->comm, &seen), "probe", item);
    } else {
        do
            nof_run_check(MPI_Iprobe(c->peer, c->tag, c->comm, &found, &seen), "probe", item);
        while (!found);
    }
    receive_posted(c->t->received);
    int rc = MPI_Recv(c->t->mem, c->count, c->type, seen.MPI_SOURCE, seen.MPI_TAG, c->comm, &status);
    receive_ended(c->t, &status, rc);
    compare(&nof_run.program->received[item], &seen, "was probed");
}

void nof_transfer_probe(const struct nof_step *step)
{
    struct call c = receive_call(step->item);
    if (step->style == NOF_PROBE_BLOCKING || step->style == NOF_PROBE_POLLING)
        probe_seen(&c, step->style == NOF_PROBE_POLLING, step->item);
    else
        probe_matched(&c, step->style, step->item);
    type_done(c.type);
}

void nof_transfer_cancel_receive(const struct nof_step *step)
{
    const struct nof_received *r = &nof_run.program->received[step->item];
    struct nof_transfer *t = r->transfer;
    MPI_Status status;
    if (t == NULL)
        return; /* has ended already */
    nof_run_check(MPI_Cancel(&t->request), "cancel of receive", step->item);
    int rc = MPI_Wait(&t->request, &status);
    nof_transfer_ended(t, &t->request, &status, rc);
    if (r->ghost && !r->cancelled)
        nof_run_fail("receive %u was cancelled, nobody sends to it, and it got a message", step->item);
    if (r->cancelled && step->spare != NOF_PROGRAM_NONE)
        nof_transfer_receive(step->spare, false);
}

void nof_transfer_cancel_send(const struct nof_step *step)
{
    const struct nof_sent *s = &nof_run.program->sent[step->item];
    struct nof_transfer *t = s->transfer;
    MPI_Status status;
    if (t == NULL)
        return; /* has ended already, or nobody asks for its end */
    nof_run_check(MPI_Cancel(&t->request), "cancel of send", step->item);
    int rc = MPI_Wait(&t->request, &status);
    nof_transfer_ended(t, &t->request, &status, rc);
    if (s->cancelled)
        nof_transfer_send(step->spare, false);
}
