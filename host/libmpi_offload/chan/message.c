/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/message.h"

#include <stdlib.h>

#include "comm/comm.h"
#include "base/error.h"

struct nof_message *nof_message_new(struct nof_comm *comm, int source_world, int tag)
{
    struct nof_message *message = calloc(1, sizeof(*message));
    uint64_t handle = message == NULL ? 0 : nof_handle_add(&nof_lib.messages, message);
    if (handle == 0) {
        free(message);
        return NULL;
    }
    message->handle = nof_lib_handle(handle);
    message->comm = comm;
    nof_comm_hold(comm);
    message->source_world = source_world;
    message->source = nof_group_rank_of(nof_comm_peers(comm), source_world);
    message->tag = tag;
    return message;
}

void nof_message_free(struct nof_message *message)
{
    nof_handle_remove(&nof_lib.messages, nof_lib_bits(message->handle));
    nof_comm_release(message->comm);
    free(message);
}

int nof_message_check(MPI_Message handle, struct nof_message **message_out)
{
    *message_out = NULL;
    if (handle == MPI_MESSAGE_NO_PROC)
        return MPI_SUCCESS;
    *message_out = nof_handle_get(&nof_lib.messages, nof_lib_bits(handle));
    if (*message_out == NULL)
        return nof_error(MPI_ERR_REQUEST, "%s",
                         handle == MPI_MESSAGE_NULL ? "the message is MPI_MESSAGE_NULL"
                                                    : "the handle names no message (received already?)");
    return MPI_SUCCESS;
}
