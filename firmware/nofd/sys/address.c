/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/sys/address.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 128
#define LOCK_TRIES 100 /* times 10 ms: somebody may hold a lock on /tmp for ever */
#define LOCK_NAP_NS 10000000L

static int make_address(const char *address, struct sockaddr_un *sun, socklen_t *len_out)
{
    size_t len = strlen(address);

    memset(sun, 0, sizeof(*sun));
    sun->sun_family = AF_UNIX;
    if (len == 0 || len >= sizeof(sun->sun_path) || (address[0] == '@' && len == 1))
        return -EINVAL;
    memcpy(sun->sun_path, address, len);
    if (address[0] == '@')
        sun->sun_path[0] = '\0';
    *len_out = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (address[0] == '@' ? 0 : 1));
    return 0;
}

/* Pid of the process that listens there, 0 if it cannot be told, -1 if nobody does. */
static pid_t listener_pid(const struct sockaddr_un *sun, socklen_t len, int type)
{
    struct ucred cred = {0};
    socklen_t cred_len = sizeof(cred);
    pid_t pid = -1;
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)sun, len) == 0) {
        pid = 0;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) == 0)
            pid = cred.pid;
    } else if (errno == EAGAIN || errno == EACCES || errno == EPROTOTYPE) {
        pid = 0; /* alive: its backlog is full, we may not talk to it, or it is something else */
    }
    close(fd);
    return pid;
}

/* Two daemons that start at once must not both take a dead one's path for free. A lock on the
 * directory itself leaves no file behind. Returns a descriptor, or -1: then go on without. */
static int lock_directory(const char *path)
{
    char copy[NOFD_ADDRESS_BYTES];
    int fd;

    snprintf(copy, sizeof(copy), "%s", path);
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    for (int i = 0; i < LOCK_TRIES; i++) {
        struct timespec nap = {.tv_nsec = LOCK_NAP_NS};

        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            break;
        nanosleep(&nap, NULL);
    }
    return fd;
}

/* bind(), replacing the socket of a dead daemon. */
static int bind_or_replace(int fd, const char *address, int type, mode_t mode, char *err, size_t err_bytes)
{
    struct sockaddr_un sun;
    socklen_t len;
    struct stat st;
    pid_t pid;

    if (make_address(address, &sun, &len) != 0) {
        snprintf(err, err_bytes,
                 "socket address \"%s\" is empty or longer than %d characters; choose a shorter one", address,
                 NOFD_ADDRESS_BYTES - 1);
        return -EINVAL;
    }
    if (bind(fd, (struct sockaddr *)&sun, len) == 0)
        goto bound;
    if (errno != EADDRINUSE) {
        int saved = errno;

        snprintf(err, err_bytes, "cannot create the socket %s: %s; choose another place with --socket",
                 address, strerror(saved));
        return -saved;
    }
    pid = listener_pid(&sun, len, type);
    if (pid >= 0 || address[0] == '@') {
        snprintf(err, err_bytes,
                 "another daemon (pid %d) already serves %s; stop it (nof down) or start this one beside it "
                 "with another --socket",
                 pid > 0 ? (int)pid : 0, address);
        return -EADDRINUSE;
    }
    if (lstat(address, &st) != 0 || !S_ISSOCK(st.st_mode)) {
        snprintf(err, err_bytes,
                 "%s exists and is no socket; it was left alone: remove it or choose another --socket",
                 address);
        return -EADDRINUSE;
    }
    if (unlink(address) != 0 || bind(fd, (struct sockaddr *)&sun, len) != 0) {
        int saved = errno;

        snprintf(err, err_bytes, "cannot replace the socket %s of a dead daemon: %s", address,
                 strerror(saved));
        return -saved;
    }
bound:
    if (address[0] != '@')
        (void)chmod(address, mode);
    return 0;
}

int nofd_listen(struct nofd_listener *listener, const char *address, int type, mode_t mode, char *err,
                size_t err_bytes)
{
    struct stat st;
    int lock = -1;
    int rc;

    listener->fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0) {
        rc = -errno;
        snprintf(err, err_bytes, "cannot create a socket: %s", strerror(errno));
        return rc;
    }
    if (address[0] != '@')
        lock = lock_directory(address);
    rc = bind_or_replace(listener->fd, address, type, mode, err, err_bytes);
    if (rc == 0 && listen(listener->fd, BACKLOG) != 0) {
        rc = -errno;
        snprintf(err, err_bytes, "cannot listen on %s: %s", address, strerror(errno));
    }
    if (lock >= 0)
        close(lock);
    if (rc != 0) {
        close(listener->fd);
        listener->fd = -1;
        return rc;
    }
    snprintf(listener->address, sizeof(listener->address), "%s", address);
    if (address[0] != '@' && lstat(address, &st) == 0) {
        listener->dev = st.st_dev;
        listener->ino = st.st_ino;
    }
    return 0;
}

void nofd_unlisten(struct nofd_listener *listener)
{
    struct stat st;

    if (listener->fd < 0)
        return;
    if (listener->address[0] != '@' && lstat(listener->address, &st) == 0 && st.st_dev == listener->dev &&
        st.st_ino == listener->ino)
        (void)unlink(listener->address);
    close(listener->fd);
    listener->fd = -1;
}
