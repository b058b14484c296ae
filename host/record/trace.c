/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES 65536u

struct file {
    int fd; /* -1: closed, nothing more comes into it */
    bool full; /* closed by the bound, not by an error */
    off_t whole_bytes; /* on disk, all of whole records */
    size_t fill_bytes;
    uint64_t fill_records;
    uint8_t buffer[BUFFER_BYTES];
};

static struct file files[NOF_RECORDING_FILES];
static struct nof_recording_tally private_tally;
static struct nof_recording_tally *tally = &private_tally;
static pid_t owner; /* 0: not open */
static uint64_t max_bytes, used_bytes, min_bytes;

struct nof_recording_tally *nof_trace_tally(void)
{
    return tally;
}

static void fail(enum nof_recording_file which, int why)
{
    struct file *f = &files[which];
    int cut = ftruncate(f->fd, f->whole_bytes);

    (void)cut; /* what could not be written is not there then either */
    close(f->fd);
    f->fd = -1;
    tally->behind_error[which] += f->fill_records;
    f->fill_bytes = 0;
    f->fill_records = 0;
    if (tally->error == 0)
        tally->error = why;
}

static bool write_all_quietly(int fd, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;

    while (len > 0) {
        ssize_t n = write(fd, at, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n == 0 ? ENOSPC : errno;
            return false;
        }
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* The program must not end by the signal of a file that is larger than it may be. */
static bool write_all(int fd, const void *bytes, size_t len)
{
    const struct timespec now = {0};
    sigset_t larger, before, waiting;
    int why;

    sigemptyset(&larger);
    sigaddset(&larger, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &larger, &before);
    sigpending(&waiting);
    bool done = write_all_quietly(fd, bytes, len);
    why = errno;
    if (!done && why == EFBIG && sigismember(&waiting, SIGXFSZ) == 0)
        (void)sigtimedwait(&larger, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return done;
}

static bool flush(enum nof_recording_file which)
{
    struct file *f = &files[which];

    if (f->fd < 0)
        return false;
    if (!write_all(f->fd, f->buffer, f->fill_bytes)) {
        fail(which, errno);
        return false;
    }
    f->whole_bytes += (off_t)f->fill_bytes;
    tally->written[which] += f->fill_records;
    tally->bytes[which] = (uint64_t)f->whole_bytes;
    f->fill_bytes = 0;
    f->fill_records = 0;
    return true;
}

void nof_trace_flush(void)
{
    for (unsigned i = 0; i < NOF_RECORDING_FILES; i++)
        (void)flush((enum nof_recording_file)i);
}

/* Is there room for a record of so many bytes? It is counted as left out if not. */
static bool admit(enum nof_recording_file which, uint64_t len)
{
    struct file *f = &files[which];

    if (f->fd >= 0 && !f->full && len > max_bytes - used_bytes)
        f->full = true; /* also for smaller ones behind it: a trace has no gaps */
    if (f->full)
        tally->behind_bound[which]++;
    else if (f->fd < 0)
        tally->behind_error[which]++;
    return f->fd >= 0 && !f->full;
}

static void put(enum nof_recording_file which, const void *head, size_t head_len, const void *body,
                size_t body_len)
{
    struct file *f = &files[which];
    size_t len = head_len + body_len;

    used_bytes += len;
    if (len > BUFFER_BYTES - f->fill_bytes && !flush(which)) {
        tally->behind_error[which]++;
        return;
    }
    if (len <= BUFFER_BYTES) {
        memcpy(f->buffer + f->fill_bytes, head, head_len);
        if (body_len > 0)
            memcpy(f->buffer + f->fill_bytes + head_len, body, body_len);
        f->fill_bytes += len;
        f->fill_records++;
        return;
    }
    f->fill_records = 1;
    if (!write_all(f->fd, head, head_len) || !write_all(f->fd, body, body_len)) {
        fail(which, errno);
        return;
    }
    f->whole_bytes += (off_t)len;
    (void)flush(which); /* counts it */
}

void nof_trace_recv(const struct nof_trace_call *call)
{
    char line[128];
    int n = snprintf(line, sizeof(line), "%" PRIx64 " %d %d %" PRIu32 " %" PRIu64 "\n", call->site,
                     call->source, call->tag, call->comm, call->len_bytes);

    if (admit(NOF_RECORDING_RECV, (uint64_t)n))
        put(NOF_RECORDING_RECV, line, (size_t)n, NULL, 0);
}

bool nof_trace_wants_msg(uint64_t len_bytes)
{
    if (len_bytes == 0 || len_bytes < min_bytes) {
        tally->small++;
        return false;
    }
    return admit(NOF_RECORDING_MSG, len_bytes > INT32_MAX ? UINT64_MAX : len_bytes + 8);
}

static void little_endian_32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

void nof_trace_msg(int32_t destination, const void *payload, uint32_t len_bytes)
{
    uint8_t head[8];

    little_endian_32(head, (uint32_t)destination);
    little_endian_32(head + 4, len_bytes);
    put(NOF_RECORDING_MSG, head, sizeof(head), payload, len_bytes);
}

void nof_trace_coll(const char *text, size_t len_bytes)
{
    if (admit(NOF_RECORDING_COLL, len_bytes))
        put(NOF_RECORDING_COLL, text, len_bytes, NULL, 0);
}

bool nof_trace_is_mine(void)
{
    return owner == getpid();
}

static uint64_t setting(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

static void map_tally(const char *folder, unsigned long rank)
{
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof(path), "%s/" NOF_RECORDING_TALLY, folder);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    size_t end = (rank + 1) * sizeof(*tally);
    off_t size = lseek(fd, 0, SEEK_END);
    struct nof_recording_tally *all = MAP_FAILED;

    if (size >= 0 && (size_t)size >= end)
        all = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (all != MAP_FAILED)
        tally = all + rank;
    close(fd);
}

bool nof_trace_open(void)
{
    static const char *const endings[NOF_RECORDING_FILES] = {"recv", "msg", "coll"};
    static int recorded = -1;
    const char *folder = getenv(NOF_RECORDING_ENV_FOLDER), *rank = getenv("PMI_RANK");
    char path[PATH_MAX];

    if (recorded >= 0)
        return recorded != 0;
    recorded = folder != NULL && rank != NULL;
    if (recorded == 0)
        return false;
    max_bytes = setting(NOF_RECORDING_ENV_MAX_BYTES);
    min_bytes = setting(NOF_RECORDING_ENV_MIN_BYTES);
    map_tally(folder, strtoul(rank, NULL, 10));
    tally->is_mpi = 1;
    owner = getpid();
    for (unsigned i = 0; i < NOF_RECORDING_FILES; i++) {
        snprintf(path, sizeof(path), "%s/rank%s.%s", folder, rank, endings[i]);
        files[i].fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (files[i].fd < 0 && tally->error == 0)
            tally->error = errno;
    }
    return true;
}
