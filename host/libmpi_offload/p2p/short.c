/* SPDX-License-Identifier: BSD-3-Clause */
#include "p2p/short.h"

#include "chan/chan.h"
#include "delta/delta_watch.h"
#include "p2p/pt2pt.h"
#include "type/type.h"

/* More bytes go by no short path, and no product overflows. */
#define COUNT_MOST 65536

/* The bytes, if they lie together and their memory is not watched; false: the long way. */
static inline bool plain(const void *buf, MPI_Count count, MPI_Datatype datatype, size_t *bytes_out)
{
    if (!nof_chan_short)
        return false;
    size_t each = nof_type_plain_bytes(datatype);
    *bytes_out = each * (size_t)count;
    return each != 0 && count >= 0 && count <= COUNT_MOST && (buf != NULL || count == 0) &&
           nof_lib.phase == NOF_LIB_RUNNING && !nof_delta_watch_any();
}

/* With the lock. NULL: none, or the peer is not one of its ranks. */
static inline const struct nof_comm *peers_comm(MPI_Comm handle, int peer)
{
    const struct nof_comm *comm = nof_comm_find(handle);
    return comm != NULL && peer >= 0 && peer < nof_comm_peers(comm)->size ? comm : NULL;
}

/* As nof_lib_lock(), which asks the same behind a call. */
static inline void enter(void)
{
    if (nof_lib.locking)
        nof_lib_lock();
}

static inline void leave(void)
{
    if (nof_lib.locking)
        nof_lib_unlock();
}

bool nof_short_send(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm handle)
{
    size_t bytes;
    if (!plain(buf, count, datatype, &bytes) || tag < 0)
        return false;
    enter();
    const struct nof_comm *comm = peers_comm(handle, dest);
    const struct nof_chan *channel = comm == NULL ? NULL : nof_chan_of(comm, dest);
    bool over =
        channel != NULL && channel->send_now != NULL && channel->send_now(comm, dest, tag, buf, bytes);
    leave();
    return over;
}

bool nof_short_recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm handle,
                    MPI_Status *status)
{
    struct nof_chan_came came;
    size_t bytes;
    if (!plain(buf, count, datatype, &bytes) || (tag < 0 && tag != MPI_ANY_TAG) || nof_pt2pt_next_site != 0)
        return false;
    enter();
    const struct nof_comm *comm = peers_comm(handle, source);
    const struct nof_chan *channel = comm == NULL ? NULL : nof_chan_of(comm, source);
    bool over = channel != NULL && channel->recv_now != NULL &&
                channel->recv_now(comm, source, tag, buf, bytes, &came);
    leave();
    if (over && status != MPI_STATUS_IGNORE)
        nof_status_set(status, source, came.tag, came.bytes, false);
    return over;
}
