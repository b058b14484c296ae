/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The main thread's event loop: epoll, one struct nofd_watch embedded in whatever owns a
 * descriptor. Main thread only.
 *
 * A callback may remove any watch, its own included, and free the object around it: an event that
 * was fetched for a removed watch is not delivered. */
#ifndef NOFD_LOOP_H
#define NOFD_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define NOFD_LOOP_EVENTS 64

struct nofd_watch {
    int fd;
    /* events: EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR as epoll gives them. */
    void (*fn)(struct nofd_watch *watch, uint32_t events);
};

struct nofd_loop {
    int epoll_fd;
    bool stop;
    int nevents; /* fetched and not yet delivered: */
    struct epoll_event events[NOFD_LOOP_EVENTS];
};

/* 0 or -errno. */
int nofd_loop_init(struct nofd_loop *loop);

/* watch->fd and watch->fn are set by the caller. 0 or -errno. */
int nofd_loop_add(struct nofd_loop *loop, struct nofd_watch *watch, uint32_t events);
int nofd_loop_change(struct nofd_loop *loop, struct nofd_watch *watch, uint32_t events);
/* Does not close the descriptor. */
void nofd_loop_remove(struct nofd_loop *loop, struct nofd_watch *watch);

/* Until nofd_loop_stop(). 0 or -errno. */
int nofd_loop_run(struct nofd_loop *loop);
void nofd_loop_stop(struct nofd_loop *loop);

#endif
