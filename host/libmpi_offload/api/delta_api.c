/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/wait.h"
#include "comm/comm.h"
#include "comm/entry.h"
#include "delta/delta_in.h"
#include "delta/delta_out.h"
#include "delta/delta_watch.h"
#include "mpi_offload.h"
#include "p2p/delta_p2p.h"

/* Under three names, of which a profiling library may replace two. */
#define EXPORT(name) \
    __attribute__((visibility("default"))) __typeof__(MPIX_##name) PMPIX_##name; \
    __attribute__((visibility("default"), weak, \
                   alias("PMPIX_" #name))) extern __typeof__(MPIX_##name) MPIX_##name; \
    __attribute__((visibility("default"), weak, \
                   alias("PMPIX_" #name))) extern __typeof__(MPI_##name) MPI_##name;

EXPORT(Delta_send_begin)
int PMPIX_Delta_send_begin(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                           MPI_Comm comm, MPI_Request *request)
{
    nof_lib_enter(__func__);
    struct nof_pt2pt_args args = {buf, count, datatype, dest, tag, comm, NOF_CALLSITE};
    struct nof_comm *c = NULL;
    int rc = nof_delta_begin(&args, request, &c);
    return nof_lib_leave(c, rc, __func__);
}

/* The delta send behind the handle, which is held by the caller's promise not to complete it meanwhile; its communicator,
 * which is held by us. */
static int find(const MPI_Request *request, struct nof_request **req_out, struct nof_comm **held_out)
{
    *held_out = NULL;
    int rc = nof_error_if_null(request, "the place of the request");
    if (rc == MPI_SUCCESS)
        rc = nof_delta_check(*request, req_out);
    if (rc == MPI_SUCCESS) {
        *held_out = (*req_out)->comm;
        nof_comm_hold(*held_out);
    }
    return rc;
}

static int refuse(MPI_Request request, const void *address, MPI_Count bytes, enum nof_delta_out_result result,
                  const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c;
    struct nof_request *req;
    int rc = find(&request, &req, &c);
    if (rc == MPI_SUCCESS) {
        if (bytes < 0)
            rc = nof_error(MPI_ERR_ARG, "%lld bytes are said to be ready", (long long)bytes);
        else if (nof_delta_out_with(req) == NULL && nof_delta_has_ended(req))
            rc = nof_delta_refusal(NOF_DELTA_OUT_ENDED, req, address, bytes);
        else
            rc = nof_delta_refusal(result, req, address, bytes);
    }
    return nof_lib_leave_held(c, rc, func);
}

EXPORT(Delta_send_data)
int PMPIX_Delta_send_data(MPI_Request request, const void *address, MPI_Count bytes)
{
    enum nof_delta_out_result result = NOF_DELTA_OUT_OK;
    struct nof_delta_out *out =
        nof_lib.phase == NOF_LIB_RUNNING && bytes >= 0 ? nof_delta_out_of(request) : NULL;
    if (out != NULL && !out->watched)
        result = nof_delta_out_add(out, address, (size_t)bytes);
    if (out != NULL && result == NOF_DELTA_OUT_OK)
        return MPI_SUCCESS;
    return refuse(request, address, bytes, result, __func__);
}

static int end(MPI_Request *request, MPI_Count count, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c;
    struct nof_request *req;
    int rc = find(request, &req, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_delta_end(req, count);
    return nof_lib_leave_held(c, rc, func);
}

EXPORT(Delta_send_end)
int PMPIX_Delta_send_end(MPI_Request *request)
{
    return end(request, -1, __func__);
}

static int negative(MPI_Count count, const char *func)
{
    nof_lib_enter(func);
    int rc = nof_error(MPI_ERR_COUNT, "the message has %lld elements at its end", (long long)count);
    return nof_lib_leave(NULL, rc, func);
}

EXPORT(Delta_send_end_count)
int PMPIX_Delta_send_end_count(MPI_Request *request, MPI_Count count)
{
    return count < 0 ? negative(count, __func__) : end(request, count, __func__);
}

EXPORT(Delta_wait)
int PMPIX_Delta_wait(MPI_Request *request, MPI_Status *status)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_request *req;
    int rc = find(request, &req, &c);
    if (rc == MPI_SUCCESS) {
        if (!nof_delta_has_ended(req))
            rc = nof_delta_end(req, -1);
        (void)nof_request_wait(req);
        int end = nof_request_retire(req, request, status, NULL);
        rc = end == MPI_SUCCESS ? rc : end;
    }
    return nof_lib_leave_held(c, rc, __func__);
}

EXPORT(Delta_recv)
int PMPIX_Delta_recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                     MPI_Status *status)
{
    nof_lib_enter(__func__);
    struct nof_pt2pt_args args = {buf, count, datatype, source, tag, comm, NOF_CALLSITE};
    struct nof_comm *c = NULL;
    int rc = nof_delta_recv(&args, &c, status);
    return nof_lib_leave(c, rc, __func__);
}

/* Below MPI_THREAD_MULTIPLE threads may wait here at once, of which only one may do what a call of MPI does. */
static bool may_poll(void)
{
    return __atomic_load_n(&nof_lib.locking, __ATOMIC_ACQUIRE) ||
           pthread_equal(pthread_self(), nof_lib.main_thread);
}

static void await(const void *address, size_t bytes)
{
    struct nof_delta_pause pause = {.polls = 0};
    struct nof_wait wait = NOF_WAIT_START;
    bool polls = may_poll();
    wait.call = "MPIX_Delta_wait_data";
    for (;;) {
        nof_delta_pause_look(&pause);
        enum nof_delta_in_result found = nof_delta_in_look(address, bytes);
        if (found == NOF_DELTA_IN_THERE || (found == NOF_DELTA_IN_FAILED && !polls))
            break;
        if (polls) {
            nof_lib_lock();
            if (nof_wait_poll() == 0 && nof_delta_pause_sleeps(&pause))
                nof_wait_tell(&wait);
            nof_lib_unlock();
        }
        if (!nof_delta_pause(&pause) && !polls)
            break;
    }
    if (wait.told) {
        nof_lib_lock();
        nof_wait_told(&wait);
        nof_lib_unlock();
    }
}

EXPORT(Delta_wait_data)
int PMPIX_Delta_wait_data(const void *address, MPI_Count bytes)
{
    bool right = nof_lib.phase == NOF_LIB_RUNNING && bytes >= 0;
    if (right && nof_delta_in_look(address, (size_t)bytes) != NOF_DELTA_IN_THERE)
        await(address, (size_t)bytes);
    if (right && nof_delta_watch_any())
        nof_delta_watch_wait(address, (size_t)bytes);
    if (right && (!nof_delta_recv_any_failed() || !may_poll()))
        return MPI_SUCCESS;
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    int rc = bytes < 0 ? nof_error(MPI_ERR_ARG, "%lld bytes are waited for", (long long)bytes)
                       : nof_delta_recv_failed(address, (size_t)bytes, &c);
    return nof_lib_leave_held(c, rc, __func__);
}

EXPORT(Delta_recv_wait)
int PMPIX_Delta_recv_wait(void *buf, MPI_Status *status)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    int rc = nof_delta_recv_wait(buf, status, &c);
    return nof_lib_leave_held(c, rc, __func__);
}
