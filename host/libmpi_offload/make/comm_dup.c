/* SPDX-License-Identifier: BSD-3-Clause */
/* Duplicates. The communicator is made at once, with everything but its context ids; a schedule brings
 * those, and a blocking duplicate waits for it.
 *
 * The decider draws the ids: rank 0, and of an inter-communicator the one of the two whose job rank is
 * lower. It tells the other side's processes directly, whose rank 0 then tells the decider's. */
#include <stdlib.h>

#include "base/attr.h"
#include "coll/coll.h"
#include "make/comm_make.h"
#include "comm/entry.h"
#include "base/info.h"
#include "p2p/pt2pt.h"
#include "comm/topo.h"

struct ids {
    uint32_t ctx;
    uint32_t decider_local; /* inter-communicators: context of the local one on the decider's side */
    uint32_t other_local;
    uint32_t by_nic; /* as rank 0's hints say */
};

struct dup {
    struct nof_comm *copy;
    struct nof_request *outer; /* what the program waits for; NULL: a blocking call */
    struct ids ids;
    bool deciding_side;
    bool by_nic; /* this rank's hint */
};

/* All ranks but 0 hear it along a tree. */
static void build_intra(struct nof_sched *s, struct dup *dup)
{
    struct nof_type *byte = nof_type_byte();
    if (s->rank > 0) {
        nof_sched_recv(s, &dup->ids, sizeof(dup->ids), byte, nof_comm_tree_parent(s->rank));
        nof_sched_fence(s);
    }
    for (int i = 0; i < 31; i++) {
        int child = nof_comm_tree_child(s->rank, s->size, i);
        if (child >= 0)
            nof_sched_send(s, &dup->ids, sizeof(dup->ids), byte, child);
    }
}

static void build_inter(struct nof_sched *s, struct dup *dup)
{
    struct nof_type *byte = nof_type_byte();
    int remote_size = s->comm->remote->size;
    if (!dup->deciding_side || s->rank > 0)
        nof_sched_recv(s, &dup->ids, sizeof(dup->ids), byte, 0);
    nof_sched_fence(s);
    if (s->rank == 0)
        for (int i = dup->deciding_side ? 0 : 1; i < remote_size; i++)
            nof_sched_send(s, &dup->ids, sizeof(dup->ids), byte, i);
}

/* The ids are there, or it failed: then the copy is not usable, and nobody has been given it. */
static void finish(struct nof_request *inner)
{
    struct dup *dup = inner->context;
    struct nof_request *outer = dup->outer;
    int error = inner->error;
    if (error == MPI_SUCCESS)
        nof_comm_set_ctx(dup->copy, dup->ids.ctx,
                         dup->deciding_side ? dup->ids.decider_local : dup->ids.other_local,
                         dup->ids.by_nic != 0);
    else if (dup->copy->handle != MPI_COMM_NULL)
        nof_comm_drop(dup->copy);
    nof_comm_release(dup->copy);
    free(dup);
    nof_request_free(inner);
    if (error == MPI_SUCCESS)
        nof_request_done(outer, 0, 0, 0);
    else
        nof_request_fail(outer, error);
}

/* What a duplicate has in common with its original, but for attributes and hints. */
static int new_copy(struct nof_comm *c, struct nof_comm **copy_out)
{
    int rc;
    nof_group_hold(c->group);
    if (c->remote == NULL) {
        rc = nof_comm_new(c->group, 0, c, copy_out);
    } else {
        nof_group_hold(c->remote);
        struct nof_comm_sides sides = {.group = c->group, .remote = c->remote};
        rc = nof_comm_new_inter(&sides, c, copy_out);
    }
    if (rc == MPI_SUCCESS && c->topo != NULL) {
        nof_topo_hold(c->topo);
        (*copy_out)->topo = c->topo;
    }
    return rc;
}

static bool decides(const struct nof_comm *c)
{
    return c->remote == NULL || nof_group_world_rank(c->group, 0) < nof_group_world_rank(c->remote, 0);
}

/* Start the schedule that ends `outer`. */
static int run(struct nof_comm *c, struct dup *dup)
{
    struct nof_sched *s = nof_sched_new(c);
    struct nof_request *inner = s == NULL ? NULL : nof_request_new(NOF_REQUEST_COLL);
    if (inner == NULL) {
        if (s != NULL)
            nof_sched_free(s);
        return nof_error(MPI_ERR_NO_MEM, "no memory to duplicate a communicator");
    }
    dup->deciding_side = decides(c);
    if (dup->deciding_side && c->rank == 0)
        dup->ids = (struct ids){nof_comm_draw_ctx(), nof_comm_draw_ctx(), nof_comm_draw_ctx(), dup->by_nic};
    if (c->remote == NULL)
        build_intra(s, dup);
    else
        build_inter(s, dup);
    inner->comm = c;
    nof_comm_hold(c);
    inner->on_done = finish;
    inner->context = dup;
    nof_sched_end_with(s, inner);
    int rc = nof_sched_start(s);
    if (rc != MPI_SUCCESS)
        nof_request_free(inner);
    return rc;
}

/* Begin a duplicate; *outer_out ends when it may be used. */
static int begin(struct nof_comm *c, const struct nof_info *hints, struct nof_comm **copy_out,
                 struct nof_request **outer_out)
{
    struct dup *dup = calloc(1, sizeof(*dup));
    struct nof_request *outer = dup == NULL ? NULL : nof_request_new(NOF_REQUEST_COLL);
    if (outer == NULL) {
        free(dup);
        return nof_error(MPI_ERR_NO_MEM, "no memory to duplicate a communicator");
    }
    outer->comm = c;
    nof_comm_hold(c);
    dup->outer = outer;
    dup->by_nic = nof_comm_hints_by_nic(hints);
    int rc = new_copy(c, &dup->copy);
    if (rc == MPI_SUCCESS) {
        struct nof_comm *copy = *copy_out = dup->copy;
        nof_comm_hold(copy);
        rc = run(c, dup);
        if (rc == MPI_SUCCESS) {
            *outer_out = outer;
            return rc;
        }
        nof_comm_drop(copy);
        nof_comm_release(copy);
    }
    nof_request_free(outer);
    free(dup);
    return rc;
}

/* The hints, and the attributes; where one makes no sense or a callback of the program fails, so does the duplicate. */
static int complete(struct nof_comm *c, struct nof_comm *copy, const struct nof_info *hints)
{
    int rc = nof_comm_take_hints(copy, hints);
    if (rc == MPI_SUCCESS)
        rc = nof_attr_copy_comm(c, copy);
    if (rc != MPI_SUCCESS) {
        (void)nof_attr_delete_comm(copy);
        nof_comm_drop(copy);
    }
    return rc;
}

static int duplicate(struct nof_comm *c, const struct nof_info *hints, struct nof_comm **copy_out)
{
    struct nof_request *outer;
    int rc = begin(c, hints, copy_out, &outer);
    if (rc == MPI_SUCCESS) {
        rc = nof_request_wait(outer);
        nof_request_free(outer);
    }
    return rc;
}

int nof_comm_duplicate(struct nof_comm *c, struct nof_comm **copy_out)
{
    return duplicate(c, NULL, copy_out);
}

static int dup_and_wait(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c, *copy;
    struct nof_info *hints;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(newcomm, "the place for the communicator");
    if (rc == MPI_SUCCESS)
        rc = nof_info_check_optional(info, &hints);
    if (rc == MPI_SUCCESS)
        rc = duplicate(c, hints, &copy);
    if (rc == MPI_SUCCESS)
        rc = complete(c, copy, hints);
    if (newcomm != NULL)
        *newcomm = rc == MPI_SUCCESS ? copy->handle : MPI_COMM_NULL;
    return nof_lib_leave(c, rc, func);
}

static int dup_nonblocking(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request,
                           const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c, *copy;
    struct nof_request *outer;
    struct nof_info *hints;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS && (newcomm == NULL || request == NULL))
        rc = nof_error(MPI_ERR_ARG, "the place for the communicator or the request is NULL");
    if (rc == MPI_SUCCESS)
        rc = nof_info_check_optional(info, &hints);
    if (rc == MPI_SUCCESS)
        rc = begin(c, hints, &copy, &outer);
    if (rc == MPI_SUCCESS) {
        rc = complete(c, copy, hints);
        *newcomm = rc == MPI_SUCCESS ? copy->handle : MPI_COMM_NULL;
        if (rc == MPI_SUCCESS)
            rc = nof_request_publish(outer, request);
        outer->orphan = rc != MPI_SUCCESS; /* the others wait for this process's part in any case */
    }
    return nof_lib_leave(c, rc, func);
}

NOF_MPI(Comm_dup)
int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    return dup_and_wait(comm, MPI_INFO_NULL, newcomm, __func__);
}

NOF_MPI(Comm_dup_with_info)
int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    return dup_and_wait(comm, info, newcomm, __func__);
}

NOF_MPI(Comm_idup)
int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    return dup_nonblocking(comm, MPI_INFO_NULL, newcomm, request, __func__);
}

NOF_MPI(Comm_idup_with_info)
int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
    return dup_nonblocking(comm, info, newcomm, request, __func__);
}
