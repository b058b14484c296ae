/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors that a library has within a program, which may close them all and open files of its own under their numbers. A number says
 * nothing then: what it led to does.
 * Threads, signal handlers: any. */
#ifndef NOF_PRIVATE_DESCRIPTOR_H
#define NOF_PRIVATE_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/stat.h>

struct nof_descriptor {
    int fd; /* -1: closed */
    dev_t dev;
    ino_t ino;
};

/* False: none is open with that number. */
static inline bool nof_descriptor_take(struct nof_descriptor *d, int fd)
{
    struct stat st = {0};
    bool there = fstat(fd, &st) == 0;

    *d = (struct nof_descriptor){.fd = fd, .dev = st.st_dev, .ino = st.st_ino};
    return there;
}

/* Does the number still lead to what was taken? */
static inline bool nof_descriptor_is(const struct nof_descriptor *d)
{
    struct stat st;

    return d->fd >= 0 && fstat(d->fd, &st) == 0 && st.st_dev == d->dev && st.st_ino == d->ino;
}

#endif
