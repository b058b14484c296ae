/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/coll_args.h"

#include "comm/entry.h"
#include "chan/request.h"
#include "coll/coll_section.h"

/* Communicator and filled schedule; *s_out is NULL unless MPI_SUCCESS. */
static int build_schedule(MPI_Comm comm, nof_coll_builder *build, const struct nof_coll_args *args,
                          bool blocking, struct nof_comm **comm_out, struct nof_sched **s_out)
{
    *s_out = NULL;
    int rc = nof_comm_check(comm, comm_out);
    if (rc != MPI_SUCCESS)
        return rc;
    struct nof_sched *s = nof_sched_new(*comm_out);
    if (s == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a collective operation");
    s->blocking = blocking;
    struct nof_coll_args own = *args;
    struct nof_coll_lent lent[2] = {{0}};
    nof_coll_lend(s, &own, lent);
    nof_sched_buffers(s, own.send.buf, own.recv.buf);
    rc = build(s, &own);
    nof_coll_lend_finish(s, lent);
    if (rc == MPI_SUCCESS)
        *s_out = s;
    else
        nof_sched_free(s);
    return rc;
}

int nof_coll_run(MPI_Comm comm, nof_coll_builder *build, const struct nof_coll_args *args, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c;
    struct nof_sched *s;
    int rc = build_schedule(comm, build, args, true, &c, &s);
    if (rc == MPI_SUCCESS)
        rc = nof_sched_run(s);
    return nof_lib_leave(c, rc, func);
}

/* A request that owns the schedule. */
static int make_request(MPI_Comm comm, nof_coll_builder *build, const struct nof_coll_args *args,
                        MPI_Request *handle_out, struct nof_comm **comm_out, struct nof_request **req_out)
{
    struct nof_sched *s;
    int rc = build_schedule(comm, build, args, false, comm_out, &s);
    if (rc != MPI_SUCCESS)
        return rc;
    struct nof_request *req = nof_request_new(NOF_REQUEST_COLL);
    if (req == NULL) {
        nof_sched_free(s);
        return nof_error(MPI_ERR_NO_MEM, "no memory for a request");
    }
    req->comm = s->comm;
    nof_comm_hold(req->comm);
    nof_sched_end_with(s, req);
    rc = nof_request_publish(req, handle_out);
    if (rc != MPI_SUCCESS)
        nof_request_free(req);
    else
        *req_out = req;
    return rc;
}

int nof_coll_start(MPI_Comm comm, nof_coll_builder *build, const struct nof_coll_args *args,
                   MPI_Request *request, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c;
    struct nof_request *req = NULL;
    int rc = make_request(comm, build, args, request, &c, &req);
    if (rc == MPI_SUCCESS)
        rc = nof_sched_start(req->sched);
    return nof_lib_leave(c, rc, func);
}

int nof_coll_keep(MPI_Comm comm, nof_coll_builder *build, const struct nof_coll_args *args,
                  MPI_Request *request, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c;
    struct nof_request *req = NULL;
    int rc = make_request(comm, build, args, request, &c, &req);
    if (rc == MPI_SUCCESS) {
        rc = nof_sched_keep(
            req->sched); /* also where it cannot be built: others of the communicator count it */
        if (req->sched->build_error != MPI_SUCCESS)
            rc = req->sched->build_error;
        if (rc == MPI_SUCCESS) {
            req->persistent = true;
            req->active = false;
        } else {
            nof_request_free(req);
            *request = MPI_REQUEST_NULL;
        }
    }
    return nof_lib_leave(c, rc, func);
}

int nof_coll_check_root(const struct nof_sched *s, int root)
{
    bool inter = s->comm->remote != NULL;
    if (inter && (root == MPI_ROOT || root == MPI_PROC_NULL))
        return MPI_SUCCESS;
    if (root < 0 || root >= s->size)
        return nof_error(MPI_ERR_ROOT, "root %d in a %s of %d", root, inter ? "remote group" : "communicator",
                         s->size);
    return MPI_SUCCESS;
}

static int check_type(const struct nof_coll_side *side, int i, struct nof_type **type_out)
{
    if (side->buf == MPI_IN_PLACE)
        return nof_error(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed for this buffer here");
    return nof_type_check(side->types == NULL ? side->type : side->types[i], true, type_out);
}

static int check_address(const struct nof_data *data)
{
    return nof_type_check_buffer(data->type, data->buf, (MPI_Count)data->count);
}

int nof_coll_check_data(const struct nof_coll_side *side, struct nof_data *data_out)
{
    struct nof_type *type;
    int rc = check_type(side, 0, &type);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_count(type, side->counts.one);
    if (rc != MPI_SUCCESS)
        return rc;
    *data_out = (struct nof_data){nof_lib_unconst(side->buf), (size_t)side->counts.one, type};
    return check_address(data_out);
}

static bool array_missing(const struct nof_counts *c)
{
    return (c->kind == NOF_COUNTS_INT && c->narrow == NULL) ||
           (c->kind == NOF_COUNTS_WIDE && c->wide == NULL);
}

int nof_coll_check_blocks(const struct nof_coll_side *side, int n, struct nof_blocks *blocks_out)
{
    if (n > 0 && side->buf != MPI_IN_PLACE && (array_missing(&side->counts) || array_missing(&side->displs)))
        return nof_error(MPI_ERR_ARG, "the counts or displacements are NULL");
    if (n > 0 && side->buf != MPI_IN_PLACE && side->each_type && side->types == NULL)
        return nof_error(MPI_ERR_ARG, "the datatypes are NULL");
    struct nof_blocks blocks = {.buf = nof_lib_unconst(side->buf),
                                .counts = side->counts,
                                .displs = side->displs,
                                .types = side->types};
    ptrdiff_t total = 0;
    int rc = side->each_type ? MPI_SUCCESS : check_type(side, 0, &blocks.type);
    for (int i = 0; rc == MPI_SUCCESS && i < n; i++) {
        struct nof_type *type = blocks.type;
        if (nof_block_is_of_no_type(&blocks, i))
            continue;
        if (side->types != NULL)
            rc = check_type(side, i, &type);
        if (rc == MPI_SUCCESS)
            rc = nof_type_check_count(type, nof_count_at(&side->counts, i));
        if (rc == MPI_SUCCESS && !nof_block_fits(&blocks, i, type))
            rc = nof_error(MPI_ERR_COUNT, "block %d lies further away than an address can reach", i);
        if (rc != MPI_SUCCESS)
            break;
        struct nof_data block = nof_block(&blocks, i);
        rc = check_address(&block);
        if (__builtin_add_overflow(total, nof_data_bytes(&block), &total))
            rc = nof_error(MPI_ERR_COUNT, "the blocks up to number %d are more than a memory can hold", i);
    }
    if (rc == MPI_SUCCESS)
        *blocks_out = blocks;
    return rc;
}

int nof_coll_check_alias(const struct nof_data *send, const struct nof_data *recv)
{
    if (send == NULL || recv == NULL || !send->type->contiguous || !recv->type->contiguous ||
        nof_data_bytes(send) == 0 || nof_data_bytes(recv) == 0)
        return MPI_SUCCESS;
    if (nof_lib_at(send->buf, send->type->tree->lb) != nof_lib_at(recv->buf, recv->type->tree->lb))
        return MPI_SUCCESS;
    return nof_error(MPI_ERR_BUFFER, "this rank's own data is sent from where it is received: "
                                     "use MPI_IN_PLACE");
}

int nof_coll_check_reduction(const struct nof_sched *s, const struct nof_coll_args *args, MPI_Count count,
                             bool needs_in, bool needs_out, struct nof_reduction *r_out)
{
    struct nof_type *type;
    struct nof_op *op;
    bool in_place = needs_in && args->send.buf == MPI_IN_PLACE && s->comm->remote == NULL;
    int rc = nof_type_check(args->send.type, true, &type);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_count(type, count);
    if (rc == MPI_SUCCESS)
        rc = nof_op_check(args->op, type, &op);
    if (rc != MPI_SUCCESS)
        return rc;
    struct nof_data in = {nof_lib_unconst(args->send.buf), (size_t)count, type};
    struct nof_data out = {nof_lib_unconst(args->recv.buf), (size_t)count, type};
    if ((needs_in && !in_place && in.buf == MPI_IN_PLACE) || (needs_out && out.buf == MPI_IN_PLACE))
        return nof_error(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed for this buffer here");
    if (needs_in && !in_place)
        rc = check_address(&in);
    if (rc == MPI_SUCCESS && needs_out)
        rc = check_address(&out);
    if (rc == MPI_SUCCESS && needs_in && needs_out && in.buf == out.buf && nof_data_bytes(&in) > 0)
        rc = nof_error(MPI_ERR_BUFFER, "send and receive buffer are the same: use MPI_IN_PLACE");
    if (rc == MPI_SUCCESS)
        *r_out = (struct nof_reduction){in.buf, out.buf, (size_t)count, type, op};
    return rc;
}
