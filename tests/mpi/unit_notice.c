/* SPDX-License-Identifier: BSD-3-Clause */
/* The receive for notices of death is posted again whatever ended it, except by its own cancel or the NIC's
 * death, and an error of the posting itself does not go round and round. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "chan/nic/chan_nic.h"
#include "comm/comm.h"
#include "chan/request.h"

struct nof_lib nof_lib = {.world_rank = 0, .world_size = 4};
static struct nof_chan_nic_peer peers[4];
/* Closing: what is heard is not told on. */
struct nof_chan_nic nof_chan_nic = {.peers = peers, .closing = true};

static struct nof_request the_receive;
static int posted, freed, last_death, refuse_posting;

struct nof_comm *nof_comm_world(void)
{
    return NULL;
}
uint32_t nof_comm_notice_ctx(void)
{
    return 1;
}
struct nof_type *nof_type_byte(void)
{
    return NULL;
}
struct nof_request *nof_request_internal(enum nof_request_kind kind, struct nof_comm *comm, const void *buf,
                                         size_t count, struct nof_type *type, int peer, int tag)
{
    (void)comm, (void)buf, (void)count, (void)type, (void)peer, (void)tag;
    check(kind == NOF_REQUEST_RECV);
    memset(&the_receive, 0, sizeof(the_receive));
    return &the_receive;
}
void nof_request_free(struct nof_request *req)
{
    check(req == &the_receive);
    freed++;
}
void nof_request_reset(struct nof_request *req)
{
    req->error = MPI_SUCCESS;
    req->cancelled = false;
}
void nof_chan_nic_recv(struct nof_request *req)
{
    posted++;
    if (refuse_posting) {
        req->error = MPI_ERR_NO_MEM;
        req->on_done(req);
    }
}
void nof_chan_nic_send(struct nof_request *req)
{
    check(req == NULL); /* nothing is sent here */
}
void nof_chan_gone(int world_rank, int status, int code)
{
    (void)world_rank;
    (void)status;
    (void)code;
}
void nof_chan_left(struct nof_request *req)
{
    (void)req;
}

void nof_chan_lost(int code)
{
    (void)code;
}
void nof_chan_death(int world_rank, int code)
{
    check(code == MPIX_ERR_PROC_FAILED);
    last_death = world_rank;
}
int nof_chan_nic_status_code(int status, int world_rank)
{
    (void)status, (void)world_rank;
    return MPIX_ERR_PROC_FAILED;
}
void nof_chan_nic_send_fail_waiting(struct nof_chan_nic_peer *peer, int code)
{
    (void)code;
    check(peer->dead);
}

/* Not reached: no operation is under way. */

void nof_chan_nic_recv_fail(struct nof_chan_nic_op *op, int code)
{
    (void)code;
    check(op == NULL);
}
void nof_chan_nic_send_lost(struct nof_chan_nic_op *op, int code)
{
    (void)code;
    check(op == NULL);
}
void nof_chan_nic_local_remove(struct nof_chan_nic_op *op)
{
    check(op == NULL);
}
void nof_chan_nic_op_free(struct nof_chan_nic_op *op)
{
    check(op == NULL);
}
void nof_chan_nic_group_lost(struct nof_chan_nic_op *op)
{
    (void)op;
    abort();
}
void nof_chan_nic_sched_lost(struct nof_chan_nic_op *op, int code)
{
    (void)code;
    check(op == NULL);
}
void nof_request_fail(struct nof_request *req, int error)
{
    (void)error;
    check(req == NULL);
}
int nof_group_rank_of(struct nof_group *group, int world_rank)
{
    (void)group;
    return world_rank;
}
int nof_error(int error_class, const char *fmt, ...)
{
    (void)fmt;
    return error_class;
}

static void start(void)
{
    posted = freed = 0;
    last_death = -1;
    nof_chan_nic_notice_start();
    check(posted == 1 && freed == 0);
}

static void ends(int error, size_t bytes)
{
    the_receive.error = error;
    the_receive.status_bytes = bytes;
    the_receive.on_done(&the_receive);
}

int main(void)
{
    const int32_t rank_2_died[2] = {2, -1};
    start();
    ends(MPI_ERR_TRUNCATE, sizeof(rank_2_died));
    ends(MPI_ERR_NO_MEM, 0);
    ends(MPI_ERR_OTHER, 0);
    check(posted == 4 && freed == 0 && last_death == -1);
    memcpy(the_receive.data, rank_2_died, sizeof(rank_2_died));
    ends(MPI_SUCCESS, sizeof(rank_2_died));
    check(posted == 5 && last_death == 2 && peers[2].dead);

    refuse_posting = 1;
    ends(MPI_ERR_OTHER, 0);
    check(posted == 6 && freed == 1);
    refuse_posting = 0;

    start();
    the_receive.cancelled = true;
    ends(MPI_SUCCESS, 0);
    check(posted == 1 && freed == 1);

    start();
    nof_chan_nic.nic_dead = true;
    ends(MPI_ERR_OTHER, 0);
    check(posted == 1 && freed == 1);
    return 0;
}
