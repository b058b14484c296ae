/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/lib.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "comm/comm.h"
#include "base/error.h"
#include "launch/launch.h"

#define READ_MS 200 /* a launcher that has not read a line in this time is not waiting for it */
#define RELAY_MS \
    20 /* for what its proxy on this host has read to reach a launcher that an abort makes deaf */
#define ABORT_MS 5000 /* a launcher that does not end the job in this time never will */

struct nof_lib nof_lib = {
    .world_size = 1,
    .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
    .comms = {.kind = NOF_HANDLE_COMM},
    .groups = {.kind = NOF_HANDLE_GROUP},
    .types = {.kind = NOF_HANDLE_TYPE},
    .ops = {.kind = NOF_HANDLE_OP},
    .requests = {.kind = NOF_HANDLE_REQUEST},
    .errhandlers = {.kind = NOF_HANDLE_ERRHANDLER},
    .messages = {.kind = NOF_HANDLE_MESSAGE},
    .infos = {.kind = NOF_HANDLE_INFO},
    .sessions = {.kind = NOF_HANDLE_SESSION},
    .wins = {.kind = NOF_HANDLE_WIN},
    .files = {.kind = NOF_HANDLE_FILE},
    .keyvals = {.kind = NOF_HANDLE_KEYVAL},
    .tool_sessions = {.kind = NOF_HANDLE_TOOL_SESSION},
    .tool_handles = {.kind = NOF_HANDLE_TOOL},
};

__thread const char *nof_lib_call = "a call of MPI"; /* one that does not enter() */

void nof_lib_lock(void)
{
    if (nof_lib.locking || nof_lib.phase != NOF_LIB_RUNNING)
        pthread_mutex_lock(&nof_lib.lock);
}

void nof_lib_unlock(void)
{
    if (nof_lib.locking || nof_lib.phase != NOF_LIB_RUNNING)
        pthread_mutex_unlock(&nof_lib.lock);
}

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
    if (nof_lib.locking)
        pthread_mutex_unlock(&nof_lib.lock);
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

void nof_lib_linger(unsigned ms)
{
    uint64_t until_ns = nof_lib_now_ns() + ms * 1000000ull;
    if (nof_launch == &nof_launch_singleton)
        return;
    for (uint64_t now_ns = nof_lib_now_ns(); now_ns < until_ns; now_ns = nof_lib_now_ns()) {
        struct timespec left = {.tv_sec = (time_t)((until_ns - now_ns) / 1000000000u),
                                .tv_nsec = (long)((until_ns - now_ns) % 1000000000u)};
        nanosleep(&left, NULL);
    }
}

int nof_lib_leave_anytime(int rc, const char *func)
{
    nof_lib_unlock();
    return rc == MPI_SUCCESS ? rc : nof_error_raise(NULL, rc, public_name(func));
}

/* Hydra, once it ends the job for an abort or a rank that is gone, no longer reads what ranks have said. */
static void let_be_read(int fd)
{
    struct stat st;
    int unread = 0;
    if (fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode))
        return;
    for (int ms = 0; ms < READ_MS && ioctl(fd, FIONREAD, &unread) == 0 && unread > 0; ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void nof_lib_die(int exit_code, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (nof_lib.phase == NOF_LIB_RUNNING)
        fprintf(stderr, "libmpi_offload: rank %d on %s: %s\n", nof_lib.world_rank, nof_lib.host, text);
    else
        fprintf(stderr, "libmpi_offload: %s\n", text);
    fflush(NULL);
    let_be_read(STDERR_FILENO);
    if (exit_code == 0)
        exit_code = 1;
    /* In MPI_Init the exit code says enough to most launchers; an abort could overtake the text. */
    if (nof_lib.phase == NOF_LIB_RUNNING || nof_launch->needs_abort) {
        nof_lib_linger(RELAY_MS);
        nof_launch->abort(exit_code, text);
        nof_lib_linger(ABORT_MS);
    }
    _exit(exit_code);
}

uint64_t nof_lib_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
