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

#include "address.h"
#include "loop.h"
#include "share.h"

struct nofd;

struct nofd_door {
    struct nofd_watch watch;
    struct nofd_listener listener;
    struct nofd *daemon;
    /* fd is non-blocking and the callee's, to keep or to close. */
    void (*admit)(struct nofd *d, int fd, const struct ucred *cred);
    struct nofd_budget time;
    bool shut;
};

/* Root's daemon is for everybody: its address is made for all to connect. 0 or -errno with a sentence in err. */
int nofd_door_open(struct nofd *d, struct nofd_door *door, const char *address, int type,
                   void (*admit)(struct nofd *d, int fd, const struct ucred *cred), char *err,
                   size_t err_bytes);
/* Time passed. Returns whether more ticks are needed. */
bool nofd_door_tick(struct nofd_door *door);
void nofd_door_close(struct nofd_door *door);

#endif
