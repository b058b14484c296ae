/* SPDX-License-Identifier: BSD-3-Clause */
/* Multicast groups: opened and closed in the background; their messages end requests as others do. */
#include <string.h>

#include "chan/nic/chan_nic.h"
#include "delta/delta_watch.h"
#include "base/error.h"
#include "base/wait.h"

static uint32_t last_name;

static void close_group(struct nof_chan_group *g)
{
    struct nof_chan_nic_op *op = g->opening;
    if (op != NULL)
        op->group = NULL;
    if (g->name != 0 && nof_chan_nic.pmd != NULL && !nof_chan_nic.nic_dead) {
        struct nof_desc desc = {.opcode = NOF_DESC_GROUP_CLOSE};
        desc.sched.name = g->name;
        nof_chan_nic_submit(&desc);
    }
    *g = (struct nof_chan_group){.open = false};
}

static void open_group(struct nof_chan_group *g, const struct nof_chan_group_args *args)
{
    const int *ranks = args->ranks;
    size_t bytes = (size_t)args->n * sizeof(uint32_t);
    *g = (struct nof_chan_group){.open = false};
    for (int i = 0; i < args->n; i++)
        if (ranks[i] != nof_lib.world_rank && nof_chan_nic_peer_open(ranks[i]) != MPI_SUCCESS)
            return;
    uint64_t area = nof_chan_nic.nic_dead ? 0 : nof_chan_nic_area_take(bytes);
    struct nof_chan_nic_op *op = area == 0 ? NULL : nof_chan_nic_op_new(NOF_OP_GROUP_OPEN, NULL);
    if (op == NULL) {
        nof_chan_nic_area_give(area);
        return;
    }
    size_t offset = nof_chan_nic_area_offset(area);
    char *at = (char *)nof_pmd_program_area(nof_chan_nic.pmd) + offset;
    for (int i = 0; i < args->n; i++) {
        uint32_t rank = (uint32_t)ranks[i];
        memcpy(at + (size_t)i * sizeof(rank), &rank, sizeof(rank));
    }
    g->name = ++last_name;
    g->opening = op;
    op->group = g;
    op->area = area;
    struct nof_desc desc = {
        .opcode = NOF_DESC_GROUP_OPEN, .ctx = args->ctx, .cookie = nof_chan_nic_cookie(op), .len = bytes};
    desc.sched.name = g->name;
    desc.sched.generation = args->first;
    desc.sched.base[0] = offset;
    desc.sched.base[1] = args->epoch;
    nof_chan_nic_submit(&desc);
}

static void opened(struct nof_chan_nic_op *op, const struct nof_comp *comp)
{
    struct nof_chan_group *g = op->group;
    bool answer = comp->opcode == NOF_COMP_GROUP_OPEN; /* that it is taken, or not; then it opens, or not */
    bool last = !answer || comp->status != NOF_OK || comp->handle != 0;
    if (answer) {
        nof_chan_nic_area_give(op->area);
        op->area = 0;
        nof_wait_signal(); /* who waits for the area, or for the answer */
    }
    if (g != NULL)
        g->taken = comp->status == NOF_OK;
    if (!last)
        return;
    nof_wait_signal();
    if (g != NULL) {
        g->opening = NULL;
        g->open = comp->status == NOF_OK;
    }
    nof_chan_nic_op_free(op);
}

void nof_chan_nic_group_lost(struct nof_chan_nic_op *op)
{
    if (op->group != NULL)
        op->group->opening = NULL;
}

void nof_chan_nic_group_transfer(struct nof_request *req)
{
    const struct nof_group_step *to = &req->multicast;
    bool sends = req->kind == NOF_REQUEST_SEND;
    struct nof_chan_nic_op *op =
        nof_chan_nic.nic_dead || !to->group->open ? NULL : nof_chan_nic_op_new(NOF_OP_GROUP, req);
    if (op == NULL) {
        nof_request_fail(req, nof_chan_nic.nic_dead
                                  ? nof_chan_nic.nic_dead_code
                                  : nof_error(MPI_ERR_OTHER, "the multicast group of this communicator was "
                                                             "closed when a collective failed"));
        return;
    }
    op->peer = to->member;
    struct nof_desc desc = {.opcode = sends ? NOF_DESC_GROUP_SEND : NOF_DESC_GROUP_RECV,
                            .cookie = nof_chan_nic_cookie(op),
                            .peer = sends ? 0 : to->member,
                            .len = req->bytes};
    desc.sched.name = to->group->name;
    desc.sched.generation = to->number;
    if (!sends)
        nof_delta_watch_write(req->data, req->bytes);
    desc.sched.base[0] = (uint64_t)(uintptr_t)req->data;
    nof_chan_nic_submit(&desc);
}

void nof_chan_nic_group_cancel(struct nof_request *req)
{
    if (req->channel_op != NULL)
        close_group(req->multicast.group);
}

static void done(struct nof_chan_nic_op *op, const struct nof_comp *comp)
{
    struct nof_request *req = op->req;
    int rank = comp->peer >= 0 && comp->peer < nof_lib.world_size ? comp->peer : op->peer;
    nof_chan_nic_op_free(op);
    bool owned = !req->orphan; /* else the group may be gone */
    if (comp->status == NOF_EAGAIN && owned) {
        nof_chan_nic_group_transfer(req);
        return;
    }
    if (req->kind == NOF_REQUEST_SEND && comp->handle != 0 && owned)
        req->multicast.group->deaf = true;
    if (comp->status == NOF_OK || comp->status == NOF_ECANCELED) {
        req->cancelled = comp->status == NOF_ECANCELED;
        nof_request_done(req, op->peer, req->tag, req->bytes);
    } else if (comp->status == NOF_ETRUNC) {
        nof_request_fail(
            req, nof_error(MPI_ERR_TRUNCATE,
                           "%llu bytes were broadcast where this rank expects %zu: the ranks' counts differ",
                           (unsigned long long)comp->len, req->bytes));
    } else {
        nof_request_fail(req, nof_chan_nic_status_code(comp->status, rank));
    }
}

void nof_chan_nic_group_complete(struct nof_chan_nic_op *op, const struct nof_comp *comp)
{
    bool opens = comp->opcode == NOF_COMP_GROUP_OPEN || comp->opcode == NOF_COMP_GROUP;
    bool ends = comp->opcode == NOF_COMP_GROUP_SEND || comp->opcode == NOF_COMP_GROUP_RECV;
    if (opens && op->phase == NOF_OP_GROUP_OPEN)
        opened(op, comp);
    else if (ends && op->phase == NOF_OP_GROUP)
        done(op, comp);
}

static bool wanted(void)
{
    return !nof_chan_nic.nic_dead && nof_pmd_multicast(nof_chan_nic.pmd);
}

const struct nof_chan_groups nof_chan_nic_groups = {
    .wanted = wanted, .open = open_group, .close = close_group};
