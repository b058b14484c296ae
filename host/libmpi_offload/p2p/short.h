/* SPDX-License-Identifier: BSD-3-Clause */
/* The short path of MPI_Send and MPI_Recv: of what can go at once no request is made.
 *
 *   true     the call is over, with MPI_SUCCESS
 *   false    nothing was done: the long way finds what is wrong, or waits
 *
 * For a running library, a predefined type without holes, a rank of the communicator and no wildcard of one; a channel with send_now()
 * and recv_now() (chan/chan.h). Takes the library's lock where there is one.
 *
 * Inline, up to the channel: what stands here is a third of what a small message costs (`nof bench channels`, short_path). */
#ifndef NOF_MPI_SHORT_H
#define NOF_MPI_SHORT_H

#include <mpi.h>
#include <stdbool.h>

#include "chan/chan.h"
#include "comm/comm.h"
#include "delta/delta_watch.h"
#include "p2p/pt2pt.h"
#include "type/type.h"

/* More elements go by no short path, and no product overflows. */
#define NOF_SHORT_COUNT_MOST 65536u

struct nof_short {
    size_t bytes;
    uint32_t ctx;
    int world_rank;
};

/* With the lock, if there is one. True: the bytes lie together, their memory is not watched, and the peer is a rank of the
 * communicator that the channel with a short path reaches. */
static inline bool nof_short_may(const struct nof_pt2pt_args *args, struct nof_short *out)
{
    const struct nof_comm *comm = nof_comm_find(args->comm);
    if (comm == NULL || nof_lib.phase != NOF_LIB_RUNNING || nof_delta_watch_any())
        return false;
    const struct nof_group *peers = nof_comm_peers(comm);
    size_t each = nof_type_plain_bytes(args->datatype);
    if ((unsigned)args->peer >= (unsigned)peers->size || each == 0 ||
        (uint64_t)args->count > NOF_SHORT_COUNT_MOST || (args->buf == NULL && args->count != 0))
        return false;
    out->bytes = each * (size_t)args->count;
    out->ctx = comm->ctx;
    out->world_rank = nof_group_world_rank(peers, args->peer);
    return __builtin_expect(comm->chan == nof_chan_short, 1) ||
           (comm->mixed_short && nof_chan_reached[out->world_rank] >= 0);
}

/* The arguments lie in memory from here on, for the long way: to keep them in registers over a call costs more. */
static inline void nof_short_keep(const struct nof_pt2pt_args *args)
{
    __asm__ volatile("" : : "r"(args) : "memory");
}

static inline bool nof_short_send_now(const struct nof_pt2pt_args *args)
{
    struct nof_short to;
    if (args->tag < 0 || !nof_short_may(args, &to))
        return false;
    return nof_chan_short->send_now(to.ctx, to.world_rank, args->tag, args->buf, to.bytes);
}

static inline bool nof_short_recv_now(const struct nof_pt2pt_args *args, MPI_Status *status)
{
    struct nof_short from;
    struct nof_chan_came came;
    if ((args->tag < 0 && args->tag != MPI_ANY_TAG) || nof_pt2pt_next_site != 0 ||
        !nof_short_may(args, &from))
        return false;
    if (!nof_chan_short->recv_now(from.ctx, from.world_rank, args->tag, nof_lib_unconst(args->buf),
                                  from.bytes, &came))
        return false;
    if (status != MPI_STATUS_IGNORE)
        nof_status_set(status, args->peer, came.tag, came.bytes, false);
    return true;
}

/* Of short.c: the same, where several threads may be in the library. */
bool nof_short_send_locked(const struct nof_pt2pt_args *args);
bool nof_short_recv_locked(const struct nof_pt2pt_args *args, MPI_Status *status);

/* args->callsite does not count. */
static inline bool nof_short_send(const struct nof_pt2pt_args *args)
{
    if (nof_chan_short == NULL ||
        (nof_lib.locking && nof_lib.phase != NOF_LIB_RUNNING)) /* a lock of whom fork() left behind */
        return false;
    nof_short_keep(args);
    return nof_lib.locking ? nof_short_send_locked(args) : nof_short_send_now(args);
}

static inline bool nof_short_recv(const struct nof_pt2pt_args *args, MPI_Status *status)
{
    if (nof_chan_short == NULL ||
        (nof_lib.locking && nof_lib.phase != NOF_LIB_RUNNING)) /* a lock of whom fork() left behind */
        return false;
    nof_short_keep(args);
    return nof_lib.locking ? nof_short_recv_locked(args, status) : nof_short_recv_now(args, status);
}

#endif
