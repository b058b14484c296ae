/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors that a library has within a program, which may close them all and open files of its own under their numbers. A number says
 * nothing then: what it led to does. What has no inode of its own (an eventfd shares one with all others) is marked, with the number of a
 * signal that is never sent: it is the open file's, and a file that another opens has none.
 * Threads, signal handlers: any. */
#ifndef NOF_PRIVATE_DESCRIPTOR_H
#define NOF_PRIVATE_DESCRIPTOR_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>

/* SIGURG: what it says otherwise, of a socket, nobody asks of what is marked. */
#define NOF_DESCRIPTOR_MARK SIGURG

struct nof_descriptor {
    int fd; /* -1: closed */
    dev_t dev;
    ino_t ino;
    bool marked;
};

/* False: none is open with that number. */
static inline bool nof_descriptor_take(struct nof_descriptor *d, int fd)
{
    struct stat st = {0};
    bool there = fstat(fd, &st) == 0;

    *d = (struct nof_descriptor){.fd = fd, .dev = st.st_dev, .ino = st.st_ino};
    d->marked = there && (st.st_mode & S_IFMT) == 0 && fcntl(fd, F_SETSIG, NOF_DESCRIPTOR_MARK) == 0;
    return there;
}

/* Does the number still lead to what was taken? */
static inline bool nof_descriptor_is(const struct nof_descriptor *d)
{
    struct stat st;

    if (d->marked)
        return fcntl(d->fd, F_GETSIG) == NOF_DESCRIPTOR_MARK;
    return d->fd >= 0 && fstat(d->fd, &st) == 0 && st.st_dev == d->dev && st.st_ino == d->ino;
}

#endif
