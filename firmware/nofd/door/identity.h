/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who is at the other end of an attach connection, by something that no other process can take over: a pidfd.
 *
 *   SO_PEERPIDFD (Linux 6.5): the kernel gives the pidfd of the process that connected.
 *   Before: pidfd_open() by the number that the socket tells, which may be another process's by now; then a nonce,
 *   which the rank sends back, and the kernel says from which number; then the pidfd is looked at. If its process
 *   lives, the number has been its own since before the nonce was drawn, so it has sent the answer.
 *
 * Threads: main. */
#ifndef NOFD_IDENTITY_H
#define NOFD_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "nof/bar.h"

struct nofd_identity {
    int pidfd; /* ours to close; -1: none */
    bool proven; /* the process that connected; else perhaps */
    uint8_t nonce[NOF_NONCE_BYTES];
};

/* Of a connection just accepted from `cred`. */
void nofd_identity_open(struct nofd_identity *id, int socket, const struct ucred *cred);
/* Asks the rank. 0 or -errno. */
int nofd_identity_ask(struct nofd_identity *id, int socket);
/* Its answer. NOF_OK: proven; NOF_EAGAIN: nothing came; NOF_EPERM: another process answered; NOF_EPEERDEAD: hung up,
 * or ended; NOF_EPROTO: no such answer. */
int nofd_identity_answer(struct nofd_identity *id, int socket, const struct ucred *cred);

#endif
