/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receive calls. What a call recorded is named by its status where that is there, else by its arguments, else when
 * it ends (wrap_done.c). */
#include "recorder.h"

#include <stddef.h>

static struct nof_trace_call call_of(uint64_t site, MPI_Count count, MPI_Datatype type, int source, int tag,
                                     MPI_Comm comm)
{
    return (struct nof_trace_call){.site = site,
                                   .len_bytes = nof_record_len_bytes(count, type),
                                   .source = source,
                                   .tag = tag,
                                   .comm = nof_record_comm_number(comm)};
}

static void received(struct nof_trace_call call, const MPI_Status *status)
{
    call.source = status->MPI_SOURCE;
    call.tag = status->MPI_TAG;
    nof_record_received(&call);
}

#define RECV(name, count_type) \
    EXPORT int MPI_##name(void *buf, count_type count, MPI_Datatype type, int source, int tag, \
                          MPI_Comm comm, MPI_Status *status) \
    { \
        MPI_Status own, *seen = status == MPI_STATUS_IGNORE && nof_record_on() ? &own : status; \
        int rc = REAL(name)(buf, count, type, source, tag, comm, seen); \
        if (rc == MPI_SUCCESS && nof_record_on()) \
            received(call_of(SITE(), count, type, source, tag, comm), seen); \
        return rc; \
    }

#define IRECV(name, count_type) \
    EXPORT int MPI_##name(void *buf, count_type count, MPI_Datatype type, int source, int tag, \
                          MPI_Comm comm, MPI_Request *request) \
    { \
        int rc = REAL(name)(buf, count, type, source, tag, comm, request); \
        if (rc == MPI_SUCCESS && nof_record_on()) { \
            struct nof_trace_call call = call_of(SITE(), count, type, source, tag, comm); \
            nof_record_posted(&call, *request); \
        } \
        return rc; \
    }

#define RECV_INIT(name, count_type) \
    EXPORT int MPI_##name(void *buf, count_type count, MPI_Datatype type, int source, int tag, \
                          MPI_Comm comm, MPI_Request *request) \
    { \
        int rc = REAL(name)(buf, count, type, source, tag, comm, request); \
        if (rc == MPI_SUCCESS && nof_record_on()) { \
            struct nof_trace_call call = call_of(SITE(), count, type, source, tag, comm); \
            nof_record_made(NULL, &call, *request); \
        } \
        return rc; \
    }

/* `last` is the status, or the request: what was matched is known either way. */
#define MATCHED(name, count_type, last_type, last) \
    EXPORT int MPI_##name(void *buf, count_type count, MPI_Datatype type, MPI_Message *message, \
                          last_type *last) \
    { \
        struct nof_trace_call call; \
        bool known = nof_record_on() && nof_record_take_matched(*message, &call); \
        int rc = REAL(name)(buf, count, type, message, last); \
        if (rc == MPI_SUCCESS && known) { \
            call.site = SITE(); \
            call.len_bytes = nof_record_len_bytes(count, type); \
            nof_record_received(&call); \
        } \
        return rc; \
    }

#define MRECV(name, count_type) MATCHED(name, count_type, MPI_Status, status)
#define IMRECV(name, count_type) MATCHED(name, count_type, MPI_Request, request)

#define SENDRECV(name, count_type) \
    EXPORT int MPI_##name(const void *sendbuf, count_type sendcount, MPI_Datatype sendtype, int dest, \
                          int sendtag, void *recvbuf, count_type recvcount, MPI_Datatype recvtype, \
                          int source, int recvtag, MPI_Comm comm, MPI_Status *status) \
    { \
        MPI_Status own, *seen = status == MPI_STATUS_IGNORE && nof_record_on() ? &own : status; \
        int rc = REAL(name)(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, \
                            source, recvtag, comm, seen); \
        if (rc == MPI_SUCCESS && nof_record_on()) { \
            nof_record_sent(&(struct nof_record_send){sendbuf, sendcount, sendtype, dest, comm}); \
            received(call_of(SITE(), recvcount, recvtype, source, recvtag, comm), seen); \
        } \
        return rc; \
    }

#define ISENDRECV(name, count_type) \
    EXPORT int MPI_##name(const void *sendbuf, count_type sendcount, MPI_Datatype sendtype, int dest, \
                          int sendtag, void *recvbuf, count_type recvcount, MPI_Datatype recvtype, \
                          int source, int recvtag, MPI_Comm comm, MPI_Request *request) \
    { \
        int rc = REAL(name)(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, \
                            source, recvtag, comm, request); \
        if (rc == MPI_SUCCESS && nof_record_on()) { \
            struct nof_trace_call call = call_of(SITE(), recvcount, recvtype, source, recvtag, comm); \
            nof_record_sent(&(struct nof_record_send){sendbuf, sendcount, sendtype, dest, comm}); \
            nof_record_posted(&call, *request); \
        } \
        return rc; \
    }

/* What goes is read first: the same buffer gets what comes. */
static void replaced(const void *buf, MPI_Count count, MPI_Datatype type, int dest, MPI_Comm comm)
{
    if (comm != MPI_COMM_NULL && type != MPI_DATATYPE_NULL && count >= 0)
        nof_record_sent(&(struct nof_record_send){buf, count, type, dest, comm});
}

#define SENDRECV_REPLACE(name, count_type) \
    EXPORT int MPI_##name(void *buf, count_type count, MPI_Datatype type, int dest, int sendtag, int source, \
                          int recvtag, MPI_Comm comm, MPI_Status *status) \
    { \
        MPI_Status own, *seen = status == MPI_STATUS_IGNORE && nof_record_on() ? &own : status; \
        if (nof_record_on()) \
            replaced(buf, count, type, dest, comm); \
        int rc = REAL(name)(buf, count, type, dest, sendtag, source, recvtag, comm, seen); \
        if (rc == MPI_SUCCESS && nof_record_on()) \
            received(call_of(SITE(), count, type, source, recvtag, comm), seen); \
        return rc; \
    }

#define ISENDRECV_REPLACE(name, count_type) \
    EXPORT int MPI_##name(void *buf, count_type count, MPI_Datatype type, int dest, int sendtag, int source, \
                          int recvtag, MPI_Comm comm, MPI_Request *request) \
    { \
        if (nof_record_on()) \
            replaced(buf, count, type, dest, comm); \
        int rc = REAL(name)(buf, count, type, dest, sendtag, source, recvtag, comm, request); \
        if (rc == MPI_SUCCESS && nof_record_on()) { \
            struct nof_trace_call call = call_of(SITE(), count, type, source, recvtag, comm); \
            nof_record_posted(&call, *request); \
        } \
        return rc; \
    }

RECV(Recv, int)
RECV(Recv_c, MPI_Count)
IRECV(Irecv, int)
IRECV(Irecv_c, MPI_Count)
RECV_INIT(Recv_init, int)
RECV_INIT(Recv_init_c, MPI_Count)
MRECV(Mrecv, int)
MRECV(Mrecv_c, MPI_Count)
IMRECV(Imrecv, int)
IMRECV(Imrecv_c, MPI_Count)
SENDRECV(Sendrecv, int)
SENDRECV(Sendrecv_c, MPI_Count)
ISENDRECV(Isendrecv, int)
ISENDRECV(Isendrecv_c, MPI_Count)
SENDRECV_REPLACE(Sendrecv_replace, int)
SENDRECV_REPLACE(Sendrecv_replace_c, MPI_Count)
ISENDRECV_REPLACE(Isendrecv_replace, int)
ISENDRECV_REPLACE(Isendrecv_replace_c, MPI_Count)

static void matched(MPI_Message message, MPI_Comm comm, const MPI_Status *status)
{
    struct nof_trace_call call = {
        .source = status->MPI_SOURCE, .tag = status->MPI_TAG, .comm = nof_record_comm_number(comm)};

    if (message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC)
        nof_record_matched(message, &call);
}

EXPORT int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    MPI_Status own, *seen = status == MPI_STATUS_IGNORE && nof_record_on() ? &own : status;
    int rc = REAL(Mprobe)(source, tag, comm, message, seen);

    if (rc == MPI_SUCCESS && nof_record_on())
        matched(*message, comm, seen);
    return rc;
}

EXPORT int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                       MPI_Status *status)
{
    MPI_Status own, *seen = status == MPI_STATUS_IGNORE && nof_record_on() ? &own : status;
    int rc = REAL(Improbe)(source, tag, comm, flag, message, seen);

    if (rc == MPI_SUCCESS && *flag && nof_record_on())
        matched(*message, comm, seen);
    return rc;
}
