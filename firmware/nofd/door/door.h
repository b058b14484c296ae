/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A socket that strangers connect to. Who knocks is told by the kernel (SO_PEERCRED); what knocking may cost the main
 * thread is bounded, and a daemon that has run out of descriptors waits instead of asking again and again: the door is
 * shut until the next tick. Main thread. */
#ifndef NOFD_DOOR_H
#define NOFD_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "nofd/sys/address.h"
#include "nofd/sys/loop.h"
#include "nofd/door/allowance.h"
#include "nofd/sys/ticks.h"

struct nofd_door {
    struct nofd_watch watch;
    struct nofd_tick tick;
    struct nofd_loop *loop;
    struct nofd_ticks *ticks;
    struct nofd_listener listener;
    /* fd is non-blocking and the callee's, to keep or to close. */
    void (*admit)(void *owner, int fd, const struct ucred *cred);
    void *owner;
    struct nofd_budget time;
    bool shut;
};

struct nofd_door_config {
    const char *address;
    int type; /* SOCK_SEQPACKET or SOCK_STREAM */
    bool for_all; /* its address is made for all users to connect */
    void (*admit)(void *owner, int fd, const struct ucred *cred);
    void *owner;
};

/* 0 or -errno with a sentence in err. */
int nofd_door_open(struct nofd_door *door, struct nofd_loop *loop, struct nofd_ticks *ticks,
                   const struct nofd_door_config *cfg, char *err, size_t err_bytes);
void nofd_door_close(struct nofd_door *door);

#endif
