/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/sys/ticks.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "nofd/sys/clock.h"

#define PERIOD_NS (50 * NOFD_MS)

static void run(struct nofd_ticks *ticks, bool on)
{
    struct itimerspec spec = {0};

    if (on) {
        spec.it_value.tv_nsec = PERIOD_NS;
        spec.it_interval.tv_nsec = PERIOD_NS;
    }
    ticks->running = on;
    (void)timerfd_settime(ticks->watch.fd, 0, &spec, NULL);
}

static void on_timer(struct nofd_watch *watch, uint32_t events)
{
    struct nofd_ticks *ticks = (struct nofd_ticks *)watch; /* first member */
    struct nofd_tick *next;
    uint64_t count;

    (void)events;
    if (read(watch->fd, &count, sizeof(count)) != (ssize_t)sizeof(count))
        return;
    ticks->needed = false;
    for (struct nofd_tick *tick = ticks->first; tick != NULL; tick = next) {
        next = tick->next;
        if (tick->fn(tick))
            ticks->needed = true;
    }
    if (!ticks->needed)
        run(ticks, false);
}

int nofd_ticks_init(struct nofd_ticks *ticks, struct nofd_loop *loop)
{
    *ticks = (struct nofd_ticks){.watch.fn = on_timer};
    ticks->watch.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (ticks->watch.fd < 0)
        return -errno;
    return nofd_loop_add(loop, &ticks->watch, EPOLLIN);
}

void nofd_ticks_add(struct nofd_ticks *ticks, struct nofd_tick *tick)
{
    tick->next = ticks->first;
    ticks->first = tick;
}

void nofd_ticks_need(struct nofd_ticks *ticks)
{
    ticks->needed = true;
    if (!ticks->running)
        run(ticks, true);
}
