/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaching buffers: of the process, of communicators and of sessions. */
#include <limits.h>
#include <string.h>

#include "p2p/bsend.h"
#include "comm/comm.h"
#include "comm/entry.h"
#include "chan/request.h"
#include "comm/session.h"

static int attach(struct nof_bsend *b, void *address, MPI_Count size)
{
    if (size < 0)
        return nof_error(MPI_ERR_ARG, "the size is %lld", (long long)size);
    if (b->attached)
        return nof_error(MPI_ERR_BUFFER, "a buffer is attached already: detach it first");
    b->address = address;
    b->size = address == MPI_BUFFER_AUTOMATIC ? 0 : (size_t)size;
    b->used = 0;
    b->attached = true;
    return MPI_SUCCESS;
}

/* A size for the functions with int sizes. */
static int narrow(MPI_Count bytes)
{
    return bytes > INT_MAX ? MPI_UNDEFINED : (int)bytes;
}

static int detach(struct nof_bsend *b, void *buffer_addr, MPI_Count *size)
{
    if (!b->attached)
        return nof_error(MPI_ERR_BUFFER, "no buffer is attached");
    if (buffer_addr == NULL || size == NULL)
        return nof_error(MPI_ERR_ARG, "the place for the buffer or its size is NULL");
    nof_bsend_wait(b);
    memcpy(buffer_addr, &b->address, sizeof(b->address));
    *size = (MPI_Count)b->size;
    b->attached = false;
    b->address = NULL;
    b->size = 0;
    return MPI_SUCCESS;
}

static int iflush(struct nof_bsend *b, struct nof_comm *comm, MPI_Request *request)
{
    struct nof_request *req = nof_request_new(NOF_REQUEST_LOCAL);
    if (req == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a request");
    req->comm = comm;
    nof_comm_hold(comm);
    int rc = nof_request_publish(req, request);
    if (rc != MPI_SUCCESS) {
        nof_request_free(req);
    } else if (b->used == 0) {
        nof_request_end(req);
    } else {
        req->next = b->flushes;
        b->flushes = req;
    }
    return rc;
}

NOF_MPI(Buffer_attach)
int PMPI_Buffer_attach(void *buffer, int size)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, attach(&nof_bsend_process, buffer, size), __func__);
}

NOF_MPI(Buffer_attach_c)
int PMPI_Buffer_attach_c(void *buffer, MPI_Count size)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, attach(&nof_bsend_process, buffer, size), __func__);
}

NOF_MPI(Buffer_detach)
int PMPI_Buffer_detach(void *buffer_addr, int *size)
{
    nof_lib_enter(__func__);
    MPI_Count bytes = 0;
    int rc = detach(&nof_bsend_process, buffer_addr, size == NULL ? NULL : &bytes);
    if (rc == MPI_SUCCESS)
        *size = narrow(bytes);
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Buffer_detach_c)
int PMPI_Buffer_detach_c(void *buffer_addr, MPI_Count *size)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, detach(&nof_bsend_process, buffer_addr, size), __func__);
}

NOF_MPI(Buffer_flush)
int PMPI_Buffer_flush(void)
{
    nof_lib_enter(__func__);
    nof_bsend_wait(&nof_bsend_process);
    return nof_lib_leave(NULL, MPI_SUCCESS, __func__);
}

NOF_MPI(Buffer_iflush)
int PMPI_Buffer_iflush(MPI_Request *request)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, iflush(&nof_bsend_process, nof_comm_self(), request), __func__);
}

static int comm_attach(MPI_Comm comm, void *buffer, MPI_Count size, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = attach(&c->bsend, buffer, size);
    return nof_lib_leave(c, rc, func);
}

NOF_MPI(Comm_attach_buffer)
int PMPI_Comm_attach_buffer(MPI_Comm comm, void *buffer, int size)
{
    return comm_attach(comm, buffer, size, __func__);
}

NOF_MPI(Comm_attach_buffer_c)
int PMPI_Comm_attach_buffer_c(MPI_Comm comm, void *buffer, MPI_Count size)
{
    return comm_attach(comm, buffer, size, __func__);
}

static int comm_detach(MPI_Comm comm, void *buffer_addr, MPI_Count *size, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = detach(&c->bsend, buffer_addr, size);
    return nof_lib_leave(c, rc, func);
}

NOF_MPI(Comm_detach_buffer)
int PMPI_Comm_detach_buffer(MPI_Comm comm, void *buffer_addr, int *size)
{
    MPI_Count bytes = 0;
    int rc = comm_detach(comm, buffer_addr, size == NULL ? NULL : &bytes, __func__);
    if (rc == MPI_SUCCESS)
        *size = narrow(bytes);
    return rc;
}

NOF_MPI(Comm_detach_buffer_c)
int PMPI_Comm_detach_buffer_c(MPI_Comm comm, void *buffer_addr, MPI_Count *size)
{
    return comm_detach(comm, buffer_addr, size, __func__);
}

NOF_MPI(Comm_flush_buffer)
int PMPI_Comm_flush_buffer(MPI_Comm comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        nof_bsend_wait(&c->bsend);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_iflush_buffer)
int PMPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = iflush(&c->bsend, c, request);
    return nof_lib_leave(c, rc, __func__);
}

static int session_attach(MPI_Session session, void *buffer, MPI_Count size, const char *func)
{
    nof_lib_enter(func);
    struct nof_session *s;
    int rc = nof_session_check(session, &s);
    if (rc == MPI_SUCCESS)
        rc = attach(&s->bsend, buffer, size);
    return nof_session_leave(s, rc, func);
}

NOF_MPI(Session_attach_buffer)
int PMPI_Session_attach_buffer(MPI_Session session, void *buffer, int size)
{
    return session_attach(session, buffer, size, __func__);
}

NOF_MPI(Session_attach_buffer_c)
int PMPI_Session_attach_buffer_c(MPI_Session session, void *buffer, MPI_Count size)
{
    return session_attach(session, buffer, size, __func__);
}

static int session_detach(MPI_Session session, void *buffer_addr, MPI_Count *size, const char *func)
{
    nof_lib_enter(func);
    struct nof_session *s;
    int rc = nof_session_check(session, &s);
    if (rc == MPI_SUCCESS)
        rc = detach(&s->bsend, buffer_addr, size);
    return nof_session_leave(s, rc, func);
}

NOF_MPI(Session_detach_buffer)
int PMPI_Session_detach_buffer(MPI_Session session, void *buffer_addr, int *size)
{
    MPI_Count bytes = 0;
    int rc = session_detach(session, buffer_addr, size == NULL ? NULL : &bytes, __func__);
    if (rc == MPI_SUCCESS)
        *size = narrow(bytes);
    return rc;
}

NOF_MPI(Session_detach_buffer_c)
int PMPI_Session_detach_buffer_c(MPI_Session session, void *buffer_addr, MPI_Count *size)
{
    return session_detach(session, buffer_addr, size, __func__);
}

NOF_MPI(Session_flush_buffer)
int PMPI_Session_flush_buffer(MPI_Session session)
{
    nof_lib_enter(__func__);
    struct nof_session *s;
    int rc = nof_session_check(session, &s);
    if (rc == MPI_SUCCESS)
        nof_bsend_wait(&s->bsend);
    return nof_session_leave(s, rc, __func__);
}

NOF_MPI(Session_iflush_buffer)
int PMPI_Session_iflush_buffer(MPI_Session session, MPI_Request *request)
{
    nof_lib_enter(__func__);
    struct nof_session *s;
    int rc = nof_session_check(session, &s);
    if (rc == MPI_SUCCESS)
        rc = iflush(&s->bsend, nof_comm_self(), request);
    return nof_session_leave(s, rc, __func__);
}
