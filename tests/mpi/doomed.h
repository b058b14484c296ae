/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests share in which a rank dies, beside mpitest.h: words between ranks, and to their daemon, that are no messages of
 * MPI, which would acquaint strangers. */
#ifndef NOF_DOOMED_H
#define NOF_DOOMED_H

#include "mpitest.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A name without a file; returns the bytes of the address. */
static inline socklen_t t_name(struct sockaddr_un *to, const char *name)
{
    memset(to, 0, sizeof(*to));
    to->sun_family = AF_UNIX;
    int len = snprintf(to->sun_path + 1, sizeof(to->sun_path) - 1, "%s", name);
    return (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1 + (socklen_t)len;
}

/* Where this rank hears; the name is also the launcher's, which is everybody's parent. */
static inline int t_ear(void)
{
    struct sockaddr_un to;
    char name[64];
    snprintf(name, sizeof(name), "nof-doomed-%d-%d", (int)getppid(), t_rank);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&to, t_name(&to, name)) == 0);
    return fd;
}

static inline void t_hear(int ear, int words)
{
    char byte;
    for (; words > 0; words--)
        CHECK(recv(ear, &byte, 1, 0) == 1);
}

/* Which may not be listening yet. */
static inline void t_say(int ear, int rank)
{
    struct sockaddr_un to;
    char name[64], byte = 0;
    snprintf(name, sizeof(name), "nof-doomed-%d-%d", (int)getppid(), rank);
    socklen_t to_bytes = t_name(&to, name);
    while (sendto(ear, &byte, 1, 0, (struct sockaddr *)&to, to_bytes) != 1)
        usleep(1000);
}

/* The rank that is to die waits here until the others are about to wait for it: none of them is in a call before that still. */
static inline void t_all_are_ready(int ear, int dead)
{
    if (t_rank == dead)
        t_hear(ear, t_size - 1);
    else
        t_say(ear, dead);
}

/* Until that rank has ended, whose ear is gone then. Nobody calls MPI meanwhile. */
static inline void t_await_end(int rank)
{
    struct sockaddr_un to;
    char name[64];
    snprintf(name, sizeof(name), "nof-doomed-%d-%d", (int)getppid(), rank);
    socklen_t to_bytes = t_name(&to, name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    while (connect(fd, (struct sockaddr *)&to, to_bytes) == 0)
        usleep(1000);
    CHECK(errno == ECONNREFUSED && close(fd) == 0);
}

/* Asks this rank's daemon, by its control socket. */
static inline void t_control(const char *method, const char *params)
{
    struct sockaddr_un to;
    char name[128], line[256], answer[256];
    const char *daemon = getenv("NOF_SOCKET");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && daemon != NULL && daemon[0] == '@');
    snprintf(name, sizeof(name), "%s.ctl", daemon + 1);
    CHECK(connect(fd, (struct sockaddr *)&to, t_name(&to, name)) == 0);
    int len = snprintf(line, sizeof(line),
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s}}\n", method, params);
    CHECK(write(fd, line, (size_t)len) == len);
    ssize_t got = read(fd, answer, sizeof(answer) - 1);
    CHECK(got > 0);
    answer[got] = '\0';
    if (strstr(answer, "\"result\"") == NULL)
        fprintf(stderr, "%s\n", answer);
    CHECK(strstr(answer, "\"result\"") != NULL);
    close(fd);
}

/* Sets feature coll_patience_ms: while nobody is in a collective, on a machine on which any of them may take as long. By that rank. */
static inline void t_set_patience(int ear, int rank, int ms)
{
    char params[64];
    t_all_are_ready(ear, rank);
    if (t_rank != rank) {
        t_hear(ear, 1);
        return;
    }
    snprintf(params, sizeof(params), "\"name\":\"coll_patience_ms\",\"value\":\"%d\"", ms);
    t_control("set", params);
    for (int other = 0; other < t_size; other++)
        if (other != rank)
            t_say(ear, other);
}

#endif
