/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The control socket: JSON-RPC 2.0, one JSON object a line, any number of requests on a connection,
 * answered in order. Main thread.
 *
 *   READS --a whole line: one request is answered--> WRITES --answer sent--> READS
 *     +------ its user has no time left (allowance.h) --> PAUSED --tick--------> READS
 *
 * One request a turn: what else a client has sent stays in the kernel until its next turn, and nothing is read while
 * an answer waits to be taken. A client that asks nothing, or does not take its answer, is dropped after
 * --idle-timeout, unless the daemon is private.
 *
 * Everybody who can connect may ask; what changes something is for root and the daemon's user. Connections of one
 * user, and of all users but the daemon's, are bounded: one too many is told so and closed. */
#ifndef NOFD_CONTROL_H
#define NOFD_CONTROL_H

#include <stddef.h>

#define NOFD_CONTROL_LINE_BYTES (64u << 10)

struct nofd;

/* 0 or -errno with a sentence in err. */
int nofd_control_open(struct nofd *d, char *err, size_t err_bytes);
void nofd_control_close(struct nofd *d);

#endif
