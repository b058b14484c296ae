/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/entry.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "comm/comm.h"

/* __func__ of an entry point is PMPI_X; people know it as MPI_X. */
static const char *public_name(const char *func)
{
    return func[0] == 'P' ? func + 1 : func;
}

static _Noreturn void not_running(const char *func)
{
    switch (nof_lib.phase) {
    case NOF_LIB_BEFORE_INIT:
        nof_lib_die(1, "%s was called before MPI_Init", public_name(func));
    case NOF_LIB_FINALIZED:
        nof_lib_die(1, "%s was called after MPI_Finalize", public_name(func));
    case NOF_LIB_FORKED:
        /* The child shares the job's descriptors: it must not speak for the rank. */
        fprintf(stderr,
                "libmpi_offload: %s was called in a child made by fork(): MPI belongs to "
                "its parent alone\n",
                public_name(func));
        _exit(1);
    case NOF_LIB_RUNNING:
        break;
    }
    abort();
}

void nof_lib_enter(const char *func)
{
    if (nof_lib.phase != NOF_LIB_RUNNING)
        not_running(func);
    if (nof_lib.locking)
        pthread_mutex_lock(&nof_lib.lock);
    nof_lib_call = func;
}

int nof_lib_leave(struct nof_comm *comm, int rc, const char *func)
{
    /* Without the lock another thread may free the communicator whose handler is asked. */
    bool held = rc != MPI_SUCCESS && comm != NULL;
    if (held)
        nof_comm_hold(comm);
    if (nof_lib.locking) {
        bool yields = nof_lib.yields;
        nof_lib.yields = false;
        pthread_mutex_unlock(&nof_lib.lock);
        if (yields)
            sched_yield();
    }
    if (rc == MPI_SUCCESS)
        return rc;
    rc = nof_error_raise(comm, rc, public_name(func));
    if (held) {
        nof_lib_lock();
        nof_comm_release(comm);
        nof_lib_unlock();
    }
    return rc;
}

int nof_lib_leave_held(struct nof_comm *comm, int rc, const char *func)
{
    rc = nof_lib_leave(comm, rc, func);
    if (comm != NULL) {
        nof_lib_lock();
        nof_comm_release(comm);
        nof_lib_unlock();
    }
    return rc;
}

int nof_lib_leave_anytime(int rc, const char *func)
{
    nof_lib_unlock();
    return rc == MPI_SUCCESS ? rc : nof_error_raise(NULL, rc, public_name(func));
}

int nof_lib_leave_at(const struct nof_error_object *object, int rc, const char *func)
{
    /* The object's own reference may go away with the lock. */
    nof_errhandler_hold(object->errhandler);
    nof_lib_unlock();
    if (rc != MPI_SUCCESS)
        (void)nof_error_raise_at(object, rc, public_name(func));
    nof_lib_lock();
    nof_errhandler_release(object->errhandler);
    nof_lib_unlock();
    return rc;
}
