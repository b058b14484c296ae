/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UNIX socket addresses: a path, or "@name" in the abstract namespace. Main thread only. */
#ifndef NOFD_ADDRESS_H
#define NOFD_ADDRESS_H

#include <stddef.h>
#include <sys/types.h>

#define NOFD_ADDRESS_BYTES 108 /* sun_path, with the NUL */
#define NOFD_ERROR_BYTES 512

struct nofd_listener {
    int fd; /* -1: not open */
    char address[NOFD_ADDRESS_BYTES];
    dev_t dev; /* of the path, to remove only what is ours */
    ino_t ino;
};

/* Listen on `address` with the given socket type (SOCK_SEQPACKET or SOCK_STREAM). A path whose
 * daemon is dead is replaced; a live one is left alone: -EADDRINUSE. mode: permissions of a path.
 * Returns 0 or -errno with a full sentence in err. */
int nofd_listen(struct nofd_listener *listener, const char *address, int type, mode_t mode, char *err,
                size_t err_bytes);
/* Closes, and removes the path if it is still ours. */
void nofd_unlisten(struct nofd_listener *listener);

#endif
