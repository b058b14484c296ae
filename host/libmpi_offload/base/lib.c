/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/lib.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nof_private/env.h"

#define SPIN_US 20u
/* Of a rank with a CPU of its own: twice what an answer from another host takes by UDP sockets where NIC cores have the ranks' CPUs, 45 us.
 * Who slept for it answered later himself, so that both slept for each message from then on (docs/decisions/0067). */
#define SPIN_SEATED_US 100u
#define READ_MS 200 /* a launcher that has not read a line in this time is not waiting for it */
#define RELAY_MS \
    20 /* for what its proxy on this host has read to reach a launcher that an abort makes deaf */
#define ABORT_MS 5000 /* a launcher that does not end the job in this time never will */
#define FLUSH_S 3 /* for streams that no thread of the program holds, and pipes that are read slowly */

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
    .colls = {.kind = NOF_HANDLE_COLL},
};

__thread const char *nof_lib_call = "a call of MPI"; /* one that does not enter() */
__thread uint64_t nof_lib_callsite;

static uint32_t spin_told(const char *text)
{
    char *end;
    errno = 0;
    unsigned long us = strtoul(text, &end, 10);
    if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' || us > UINT32_MAX)
        nof_lib_die(1, "NOF_SPIN_US=%.64s: must be a number of microseconds, from 0 to %u", text, UINT32_MAX);
    return (uint32_t)us;
}

void nof_lib_share_cpus(bool seated, bool crowded)
{
    const char *spin = nof_env("NOF_SPIN_US");
    nof_lib.seated = seated;
    nof_lib.crowded = crowded;
    nof_lib.spin_us = seated ? SPIN_SEATED_US : SPIN_US;
    if (spin != NULL)
        nof_lib.spin_us = spin_told(spin);
}

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

void nof_lib_share(void)
{
    if (nof_lib.locking)
        return;
    pthread_mutex_lock(&nof_lib.lock);
    nof_lib.shared = true;
    __atomic_store_n(&nof_lib.locking, true, __ATOMIC_RELEASE);
}

void nof_lib_linger(unsigned ms)
{
    uint64_t until_ns = nof_lib_now_ns() + ms * 1000000ull;
    if (nof_lib.abort_job == NULL)
        return;
    for (uint64_t now_ns = nof_lib_now_ns(); now_ns < until_ns; now_ns = nof_lib_now_ns()) {
        struct timespec left = {.tv_sec = (time_t)((until_ns - now_ns) / 1000000000u),
                                .tv_nsec = (long)((until_ns - now_ns) % 1000000000u)};
        nanosleep(&left, NULL);
    }
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

static void *flush_all(void *none)
{
    fflush(NULL);
    return none;
}

/* A thread of the program that reads from a stream has its lock until something comes: fflush(NULL) would wait for that. stdout, which
 * our caller may hold himself, goes by itself. */
static void flush_streams(void)
{
    pthread_t flusher;
    struct timespec until;
    if (ftrylockfile(stdout) == 0) {
        fflush(stdout);
        funlockfile(stdout);
    }
    if (pthread_create(&flusher, NULL, flush_all, NULL) != 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += FLUSH_S;
    (void)pthread_clockjoin_np(flusher, NULL, CLOCK_MONOTONIC, &until);
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
    if (exit_code == 0)
        exit_code = 1;
    /* A child of the rank: what its streams hold, and the job, are its parent's. */
    if (nof_lib.phase == NOF_LIB_FORKED)
        _exit(exit_code);
    flush_streams();
    let_be_read(STDERR_FILENO);
    /* In MPI_Init the exit code says enough to `nof run`; an abort could overtake the text. */
    if (nof_lib.abort_job != NULL && (nof_lib.phase == NOF_LIB_RUNNING || nof_lib.abort_early)) {
        nof_lib_linger(RELAY_MS);
        nof_lib.abort_job(exit_code, text);
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
