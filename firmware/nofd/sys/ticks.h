/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ticks of the main thread: everybody who is in the list is called every 50 ms, from the moment that somebody needs it
 * until nobody needs more.
 *
 *   nofd_ticks_init -> nofd_ticks_add, once each -> nofd_ticks_need(), any number
 *
 * Main thread. */
#ifndef NOFD_TICKS_H
#define NOFD_TICKS_H

#include <stdbool.h>

#include "nofd/sys/loop.h"

/* Embedded in whatever wants to be called. */
struct nofd_tick {
    /* Time passed. Returns whether more ticks are needed. */
    bool (*fn)(struct nofd_tick *tick);
    struct nofd_tick *next;
};

struct nofd_ticks {
    struct nofd_watch watch; /* timerfd */
    struct nofd_tick *first;
    bool running;
    bool needed; /* since the last tick began */
};

/* 0 or -errno. */
int nofd_ticks_init(struct nofd_ticks *ticks, struct nofd_loop *loop);
/* tick->fn is set by the caller; it is in the list until the daemon ends. */
void nofd_ticks_add(struct nofd_ticks *ticks, struct nofd_tick *tick);
void nofd_ticks_need(struct nofd_ticks *ticks);

#endif
