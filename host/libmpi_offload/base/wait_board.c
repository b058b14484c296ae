/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/wait_board.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chan/nic/chan_nic.h"
#include "comm/comm.h"
#include "base/request.h"
#include "coll/schedule.h"

struct nof_board_place *nof_board;
uint64_t nof_board_nap_ns = UINT64_MAX;

void nof_board_open(void)
{
    const char *text = getenv(NOF_BOARD_ENV);
    struct stat st;
    if (text == NULL || nof_channel != &nof_channel_nic)
        return;
    int fd = atoi(text);
    size_t all = (size_t)nof_lib.world_size * sizeof(*nof_board);
    /* Another launcher below ours may have handed our environment on without the descriptor. */
    if (fd < 3 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size != (off_t)all)
        return;
    struct nof_board_place *places = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (places == MAP_FAILED)
        return;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    nof_board = &places[nof_lib.world_rank];
    nof_board_nap_ns = NOF_BOARD_AFTER_NS;
    __atomic_store_n(&nof_board->phase, NOF_BOARD_RUNNING, __ATOMIC_RELEASE);
}

void nof_board_close(void)
{
    if (nof_board != NULL)
        __atomic_store_n(&nof_board->phase, NOF_BOARD_FINALIZED, __ATOMIC_RELEASE);
    nof_board = NULL;
    nof_board_nap_ns = UINT64_MAX;
}

static void begin_write(void)
{
    __atomic_store_n(&nof_board->seq, nof_board->seq + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void end_write(void)
{
    __atomic_store_n(&nof_board->seq, nof_board->seq + 1, __ATOMIC_RELEASE);
}

static void name_comm(const struct nof_comm *comm)
{
    snprintf(nof_board->comm, sizeof(nof_board->comm), "%.47s",
             comm == NULL            ? ""
             : comm->name[0] != '\0' ? comm->name
                                     : "a communicator without a name");
}

static void add_peer(int32_t peer)
{
    for (uint32_t i = 0; i < nof_board->peers && i < NOF_BOARD_PEERS; i++)
        if (nof_board->peer[i] == peer)
            return;
    if (nof_board->peers < NOF_BOARD_PEERS)
        nof_board->peer[nof_board->peers++] = peer;
}

static void describe_request(const struct nof_request *req)
{
    static const uint32_t kinds[] = {[NOF_REQUEST_SEND] = NOF_BOARD_SEND,
                                     [NOF_REQUEST_RECV] = NOF_BOARD_RECV,
                                     [NOF_REQUEST_PROBE] = NOF_BOARD_PROBE};
    name_comm(req->comm);
    if (req->kind > NOF_REQUEST_PROBE)
        return;
    /* The receive of a send and receive in one is complete when both are. */
    const struct nof_request *of = req->ended && req->waits_for != NULL ? req->waits_for : req;
    nof_board->kind = kinds[of->kind];
    nof_board->tag = of->tag == MPI_ANY_TAG ? NOF_BOARD_ANY : of->tag;
    nof_board->bytes = of->bytes;
    add_peer(of->peer == MPI_ANY_SOURCE ? NOF_BOARD_ANY : nof_comm_peer_world(of->comm, of->peer));
}

/* What the channel has of the program's; and whom a collective, or a call that names no single request, waits for. */
static void look_through(const struct nof_sched *sched)
{
    for (const struct nof_chan_op *op = nof_chan.active; op != NULL; op = op->next_active) {
        const struct nof_request *req = op->req;
        if (op->phase == NOF_OP_SEND)
            nof_board->sends++;
        if (req == NULL || req->kind != NOF_REQUEST_RECV)
            continue;
        bool ours = req->owner == NULL && req->on_done == NULL;
        if (ours)
            nof_board->posted++;
        if (sched != NULL ? req->owner == sched : ours && nof_board->kind == NOF_BOARD_CALL)
            add_peer(op->peer);
    }
    nof_board->unexpected = (uint32_t)nof_chan.matcher.waiting.count;
}

bool nof_board_tell(struct nof_wait *wait, uint64_t now_ns)
{
    if (wait->since_ns == 0)
        wait->since_ns = now_ns;
    nof_board_nap_ns = NOF_BOARD_AFTER_NS;
    if (now_ns - wait->since_ns < NOF_BOARD_AFTER_NS || nof_board->kind != NOF_BOARD_NOTHING)
        return false; /* or another thread is on it */
    nof_board_nap_ns = NOF_BOARD_AGAIN_NS;
    const struct nof_sched *sched = wait->sched;
    if (sched == NULL && wait->request != NULL)
        sched = wait->request->sched;
    begin_write();
    nof_board->kind = sched != NULL ? NOF_BOARD_COLL : NOF_BOARD_CALL;
    nof_board->tag = NOF_BOARD_ANY;
    nof_board->since_ns = wait->since_ns;
    nof_board->bytes = 0;
    nof_board->posted = 0;
    nof_board->sends = 0;
    nof_board->peers = 0;
    snprintf(nof_board->call, sizeof(nof_board->call), "%.39s", wait->call + (wait->call[0] == 'P'));
    name_comm(sched != NULL ? sched->comm : NULL);
    if (sched == NULL && wait->request != NULL)
        describe_request(wait->request);
    look_through(sched);
    end_write();
    return true;
}

void nof_board_clear(void)
{
    if (nof_board == NULL)
        return;
    begin_write();
    nof_board->kind = NOF_BOARD_NOTHING;
    end_write();
}
