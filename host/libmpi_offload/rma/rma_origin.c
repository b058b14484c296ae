/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations as their origin issues them. Small puts and accumulates are one command with the payload
 * behind it and are over here at once; for the rest an object waits for payload and reply. */
#include <stdlib.h>
#include <string.h>

#include "p2p/delta_settle.h"
#include "p2p/pt2pt.h"
#include "rma/rma.h"
#include "base/wait.h"

/* What is under way for one operation. */
struct op_state {
    struct nof_rma_step step;
    struct nof_win *win;
    int target;
    unsigned transfers;
    int error;
    struct nof_request *request; /* the program's, NULL: none */
    void *desc; /* malloc'ed, until it is sent */
    struct nof_rma_peer *peer;
};

/* An operation whose arguments were checked. */
struct checked {
    const struct nof_rma_operation *o;
    struct nof_type *origin; /* NULL: there is no payload */
    struct nof_type *result; /* where the reply goes; NULL: there is none */
    struct nof_type *target;
    struct nof_type *basic;
    unsigned op; /* as nof_op.kind */
};

/* Nothing is read or written where there is no target. */
static int check_buffer(const struct nof_rma_operation *o, const struct nof_rma_buffer *b,
                        struct nof_type **type_out)
{
    const void *buf = o->target == MPI_PROC_NULL ? b : b->buf;
    return nof_type_check_data(b->datatype, buf, b->count, type_out);
}

static int check_op(struct checked *x)
{
    struct nof_op *op;
    int rc = nof_op_check(x->o->op, NULL, &op);
    if (rc != MPI_SUCCESS)
        return rc;
    x->op = op->kind;
    if (op->kind == NOF_OP_REPLACE || (op->kind == NOF_OP_NO_OP && x->o->kind == NOF_RMA_GET_ACC))
        return MPI_SUCCESS;
    if (op->kind == NOF_OP_USER || op->kind == NOF_OP_NO_OP)
        return nof_error(MPI_ERR_OP, "%s is not allowed in an accumulate", op->name);
    if (x->target->size == 0 || x->o->target_count == 0)
        return MPI_SUCCESS;
    x->basic = nof_rma_basic(x->target);
    if (x->basic == NULL || !nof_reduce_defined(op->kind, x->basic->basic))
        return nof_error(MPI_ERR_OP, "%s is not defined on the elements of the target datatype", op->name);
    return MPI_SUCCESS;
}

/* MPI 4.1, 12.3.4: integers, logicals and bytes. */
static int check_cas(const struct checked *x)
{
    enum nof_reduce_type basic = x->target->basic;
    bool logical = basic >= NOF_REDUCE_BOOL8 && basic <= NOF_REDUCE_LOGICAL128;
    if (x->o->compare == NULL && x->o->target != MPI_PROC_NULL)
        return nof_error(MPI_ERR_BUFFER, "the value to compare with is NULL");
    if (basic != NOF_REDUCE_BYTE && !logical && !nof_reduce_defined(NOF_REDUCE_BXOR, basic))
        return nof_error(MPI_ERR_TYPE, "%s cannot be compared and swapped", x->target->name);
    return MPI_SUCCESS;
}

static int check_range(const struct nof_win *win, const struct checked *x)
{
    int64_t low, high, at, from = 0, to = 0;
    if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return MPI_SUCCESS;
    const struct nof_win_part *part = &win->parts[x->o->target];
    nof_rma_span(x->target, (uint64_t)x->o->target_count, &low, &high);
    if (low == high)
        return MPI_SUCCESS;
    if (__builtin_mul_overflow(x->o->disp, (int64_t)part->disp_unit, &at) ||
        __builtin_add_overflow(at, low, &from) || __builtin_add_overflow(at, high, &to) || from < 0 ||
        to > (int64_t)part->size)
        return nof_error(MPI_ERR_RMA_RANGE,
                         "bytes %lld to %lld (displacement %lld) of a window of %llu bytes at rank %d",
                         (long long)from, (long long)to, (long long)x->o->disp,
                         (unsigned long long)part->size, x->o->target);
    return MPI_SUCCESS;
}

static int check_epoch(const struct nof_win *win, int target, bool request)
{
    const struct nof_rma *rma = win->rma;
    const struct nof_rma_peer *peer = &rma->peers[target];
    bool passive = rma->lock_all || peer->locked;
    if (passive || (!request && (rma->fence_open || peer->started)))
        return MPI_SUCCESS;
    return nof_error(MPI_ERR_RMA_SYNC, "no %saccess epoch for rank %d is open: lock, fence or start first",
                     request ? "passive target " : "", target);
}

/* Types of both sides, the operation, rank, epoch and range. */
static int check(const struct nof_win *win, const struct nof_rma_operation *o, bool request,
                 struct checked *x)
{
    *x = (struct checked){.o = o, .op = NOF_OP_NO_OP};
    int rc = MPI_SUCCESS;
    bool sends = o->kind != NOF_RMA_GET && !(o->kind == NOF_RMA_GET_ACC && o->op == MPI_NO_OP);
    if (sends)
        rc = check_buffer(o, &o->origin, &x->origin);
    if (rc == MPI_SUCCESS && (o->kind == NOF_RMA_GET || o->kind == NOF_RMA_GET_ACC || o->kind == NOF_RMA_CAS))
        rc = check_buffer(o, o->kind == NOF_RMA_GET ? &o->origin : &o->result, &x->result);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check(o->target_datatype, true, &x->target);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_count(x->target, o->target_count);
    if (rc == MPI_SUCCESS && o->target != MPI_PROC_NULL &&
        (o->target < 0 || o->target >= nof_comm_size(win->comm)))
        rc = nof_error(MPI_ERR_RANK, "target rank %d in a window of %d", o->target, nof_comm_size(win->comm));
    if (rc == MPI_SUCCESS && (o->kind == NOF_RMA_ACC || o->kind == NOF_RMA_GET_ACC))
        rc = check_op(x);
    if (rc == MPI_SUCCESS && o->predefined && !x->target->predefined)
        rc = nof_error(MPI_ERR_TYPE, "the datatype must be a predefined one");
    if (rc == MPI_SUCCESS && o->kind == NOF_RMA_CAS)
        rc = check_cas(x);
    if (rc == MPI_SUCCESS && o->target != MPI_PROC_NULL && o->disp < 0 &&
        win->flavor != MPI_WIN_FLAVOR_DYNAMIC)
        rc = nof_error(MPI_ERR_DISP, "the displacement is %td", (ptrdiff_t)o->disp);
    if (rc != MPI_SUCCESS || o->target == MPI_PROC_NULL)
        return rc;
    rc = check_epoch(win, o->target, request);
    return rc == MPI_SUCCESS ? check_range(win, x) : rc;
}

static void op_ended(struct nof_rma_step *step, int error)
{
    struct op_state *s = (struct op_state *)(void *)step;
    if (s->error == MPI_SUCCESS)
        s->error = error;
    if (--s->transfers > 0)
        return;
    s->peer->local--;
    if (s->error != MPI_SUCCESS && s->request == NULL)
        s->win->rma->error_class = nof_error_class(s->error);
    if (s->request != NULL && s->error != MPI_SUCCESS)
        nof_request_fail(s->request, s->error);
    else if (s->request != NULL)
        nof_request_done(s->request, 0, 0, 0);
    nof_wait_signal();
    free(s->desc);
    free(s);
}

static int begin(struct op_state *s, const struct nof_rma_transfer *t)
{
    s->transfers++;
    int rc = nof_rma_transfer(s->win, t, &s->step);
    if (rc != MPI_SUCCESS)
        op_ended(&s->step, rc);
    return rc;
}

static struct op_state *new_state(struct nof_win *win, const struct checked *x, struct nof_request *request)
{
    struct op_state *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->step.then = op_ended;
    s->win = win;
    s->target = x->o->target;
    s->request = request;
    s->peer = &win->rma->peers[s->target];
    s->transfers = 1; /* held until all have begun */
    s->peer->local++;
    return s;
}

static struct nof_rma_command command_of(const struct nof_win *win, const struct checked *x, int32_t tag)
{
    const struct nof_rma_operation *o = x->o;
    uint64_t addr = (uint64_t)o->disp;
    if (win->flavor != MPI_WIN_FLAVOR_DYNAMIC)
        addr = win->parts[o->target].base + (uint64_t)o->disp * win->parts[o->target].disp_unit;
    return (struct nof_rma_command){
        .kind = (uint8_t)o->kind,
        .op = (uint8_t)x->op,
        .tag = tag,
        .addr = addr,
        .count = (uint64_t)o->target_count,
        .payload_bytes = x->origin == NULL ? 0 : x->origin->size * (size_t)o->origin.count,
        .type = nof_rma_predefined_number(x->target),
        .basic = x->basic == NULL ? 0 : (uint32_t)nof_lib_bits(x->basic->handle),
    };
}

/* Description and payload in the command itself. */
static int send_whole(struct nof_win *win, const struct checked *x, struct nof_rma_command *command,
                      const void *desc, size_t desc_bytes)
{
    const struct nof_rma_operation *o = x->o;
    size_t padded = (desc_bytes + 15) / 16 * 16, bytes = command->payload_bytes;
    size_t cas = o->kind == NOF_RMA_CAS ? bytes : 0; /* the value to compare with comes first */
    char body[NOF_RMA_COMMAND_MAX] __attribute__((aligned(16)));
    memset(body, 0, padded);
    if (desc_bytes > 0)
        memcpy(body, desc, desc_bytes);
    if (cas > 0)
        nof_type_pack(x->origin, o->compare, 1, 0, cas, body + padded);
    if (bytes > 0)
        nof_type_pack(x->origin, o->origin.buf, (size_t)o->origin.count, 0, bytes, body + padded + cas);
    command->desc_bytes = padded;
    command->payload_bytes = bytes + cas;
    return nof_rma_send(win, o->target, command, body, padded + cas + bytes);
}

/* Description and payload as messages of their own, behind the command. */
static int send_apart(struct nof_win *win, const struct checked *x, struct nof_rma_command *command,
                      struct op_state *s, size_t desc_bytes)
{
    command->flags = NOF_RMA_APART;
    command->desc_bytes = desc_bytes;
    int rc = nof_rma_send(win, x->o->target, command, NULL, 0);
    struct nof_rma_transfer desc = {NOF_REQUEST_SEND, NOF_RMA_PAYLOAD, x->o->target,   command->tag,
                                    s->desc,          desc_bytes,      nof_type_byte()};
    if (rc == MPI_SUCCESS && desc_bytes > 0)
        rc = begin(s, &desc);
    struct nof_rma_transfer payload = {NOF_REQUEST_SEND, NOF_RMA_PAYLOAD,  x->o->target,
                                       command->tag,     x->o->origin.buf, (size_t)x->o->origin.count,
                                       x->origin};
    if (rc == MPI_SUCCESS && command->payload_bytes > 0)
        rc = begin(s, &payload);
    return rc;
}

static int issue(struct nof_win *win, const struct checked *x, struct nof_request *request)
{
    const struct nof_rma_operation *o = x->o;
    struct nof_rma_peer *peer = &win->rma->peers[o->target];
    peer->tag = peer->tag == INT32_MAX ? 0 : peer->tag + 1;
    struct nof_rma_command command = command_of(win, x, peer->tag);
    size_t desc_bytes = 0;
    void *desc = command.type != 0 ? NULL : nof_rma_describe(x->target, &desc_bytes);
    struct op_state *s = new_state(win, x, request);
    if (s == NULL || (command.type == 0 && desc == NULL)) {
        free(desc);
        if (s != NULL) {
            s->request = NULL;
            op_ended(&s->step, MPI_SUCCESS);
        }
        return nof_error(MPI_ERR_NO_MEM, "no memory for an operation of one-sided communication");
    }
    s->desc = desc;
    int rc = MPI_SUCCESS;
    if (x->result != NULL) {
        const struct nof_rma_buffer *into = o->kind == NOF_RMA_GET ? &o->origin : &o->result;
        struct nof_rma_transfer reply = {NOF_REQUEST_RECV, NOF_RMA_REPLY,       o->target, peer->tag,
                                         into->buf,        (size_t)into->count, x->result};
        rc = begin(s, &reply);
    }
    size_t whole = sizeof(command) + desc_bytes + 16 + 2 * command.payload_bytes;
    if (rc == MPI_SUCCESS)
        rc = whole <= NOF_RMA_COMMAND_MAX ? send_whole(win, x, &command, desc, desc_bytes)
                                          : send_apart(win, x, &command, s, desc_bytes);
    peer->dirty = peer->dirty || x->result == NULL;
    op_ended(&s->step, rc); /* a failure ends the request, if there is one */
    return request == NULL ? rc : MPI_SUCCESS;
}

static int with_request(struct nof_win *win, const struct checked *x, MPI_Request *request)
{
    struct nof_request *req = nof_request_new(NOF_REQUEST_COLL);
    if (req == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a request");
    req->comm = win->comm;
    nof_comm_hold(req->comm);
    int rc = nof_request_publish(req, request);
    if (rc == MPI_SUCCESS && x->o->target == MPI_PROC_NULL)
        nof_request_done(req, 0, 0, 0);
    else if (rc == MPI_SUCCESS)
        rc = issue(win, x, req);
    if (rc != MPI_SUCCESS) {
        nof_request_free(req);
        if (request != NULL)
            *request = MPI_REQUEST_NULL;
    }
    return rc;
}

/* Before anything is issued: what delta receives hide of the origin's memory has come. */
static void settle(const struct checked *x)
{
    const struct nof_rma_operation *o = x->o;
    const struct nof_rma_buffer *into = o->kind == NOF_RMA_GET ? &o->origin : &o->result;
    if (x->origin != NULL)
        nof_delta_settle_buffer(o->origin.buf, (size_t)o->origin.count, x->origin);
    if (x->origin != NULL && o->kind == NOF_RMA_CAS)
        nof_delta_settle_buffer(o->compare, 1, x->origin);
    if (x->result != NULL)
        nof_delta_settle_buffer(into->buf, (size_t)into->count, x->result);
}

int nof_rma_issue(struct nof_win *win, const struct nof_rma_operation *operation, MPI_Request *request)
{
    enum { POLL_EVERY = 32 }; /* a target that also issues must not be kept from answering */
    struct checked x;
    int rc = check(win, operation, request != NULL, &x);
    if (rc == MPI_SUCCESS && operation->target != MPI_PROC_NULL)
        settle(&x);
    if (rc == MPI_SUCCESS && request != NULL)
        rc = with_request(win, &x, request);
    else if (rc == MPI_SUCCESS && operation->target != MPI_PROC_NULL)
        rc = issue(win, &x, NULL);
    if (++win->rma->commands % POLL_EVERY == 0)
        (void)nof_wait_poll();
    return rc;
}
