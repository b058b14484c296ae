/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The control socket: JSON-RPC 2.0, one JSON object a line, any number of requests on a connection,
 * answered in order. What a client may send and keep waiting is bounded. Main thread.
 *
 * Everybody who can connect may ask; what changes something is for root and the daemon's user. */
#ifndef NOFD_CONTROL_H
#define NOFD_CONTROL_H

#include <stddef.h>

#define NOFD_CONTROL_LINE_BYTES (64u << 10)

struct nofd;

/* 0 or -errno with a sentence in err. */
int nofd_control_open(struct nofd *d, char *err, size_t err_bytes);
void nofd_control_close(struct nofd *d);

#endif
