/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/sys/loop.h"

#include <errno.h>
#include <stddef.h>

int nofd_loop_init(struct nofd_loop *loop)
{
    loop->stop = false;
    loop->nevents = 0;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return loop->epoll_fd < 0 ? -errno : 0;
}

static int control(struct nofd_loop *loop, int op, struct nofd_watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};

    return epoll_ctl(loop->epoll_fd, op, watch->fd, &event) < 0 ? -errno : 0;
}

int nofd_loop_add(struct nofd_loop *loop, struct nofd_watch *watch, uint32_t events)
{
    return control(loop, EPOLL_CTL_ADD, watch, events);
}

int nofd_loop_change(struct nofd_loop *loop, struct nofd_watch *watch, uint32_t events)
{
    return control(loop, EPOLL_CTL_MOD, watch, events);
}

void nofd_loop_remove(struct nofd_loop *loop, struct nofd_watch *watch)
{
    (void)control(loop, EPOLL_CTL_DEL, watch, 0);
    for (int i = 0; i < loop->nevents; i++)
        if (loop->events[i].data.ptr == watch)
            loop->events[i].data.ptr = NULL;
}

int nofd_loop_run(struct nofd_loop *loop)
{
    while (!loop->stop) {
        int n = epoll_wait(loop->epoll_fd, loop->events, NOFD_LOOP_EVENTS, -1);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        loop->nevents = n;
        for (int i = 0; i < n && !loop->stop; i++) {
            struct nofd_watch *watch = loop->events[i].data.ptr;

            if (watch != NULL)
                watch->fn(watch, loop->events[i].events);
        }
        loop->nevents = 0;
    }
    return 0;
}

void nofd_loop_stop(struct nofd_loop *loop)
{
    loop->stop = true;
}
