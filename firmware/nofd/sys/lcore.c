/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/sys/lcore.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "nof_private/fence.h"

#include "nofd/sys/log.h"

#define ANSWER_LOOKS 10 /* of a second each: counted, so that a daemon that was stopped owes one at most */

static void signal_fd(int fd)
{
    uint64_t one = 1;
    ssize_t n = write(fd, &one, sizeof(one));

    (void)n; /* full: it is told already */
}

int nofd_lcore_init(struct nofd_lcore *lcore, unsigned index, int main_fd)
{
    int rc;

    *lcore = (struct nofd_lcore){.index = index, .main_fd = main_fd};
    lcore->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    lcore->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rc = lcore->epoll_fd < 0 || lcore->wake_fd < 0 ? -errno : nofd_lcore_watch(lcore, lcore->wake_fd, true);
    if (rc != 0)
        nofd_lcore_fini(lcore);
    return rc;
}

void nofd_lcore_fini(struct nofd_lcore *lcore)
{
    if (lcore->epoll_fd >= 0)
        close(lcore->epoll_fd);
    if (lcore->wake_fd >= 0)
        close(lcore->wake_fd);
    lcore->epoll_fd = -1;
    lcore->wake_fd = -1;
}

static int watch(struct nofd_lcore *lcore, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events};

    return epoll_ctl(lcore->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0 ? -errno : 0;
}

int nofd_lcore_watch(struct nofd_lcore *lcore, int fd, bool edge)
{
    /* Edge-triggered, an eventfd wakes once per write and needs no read. */
    return watch(lcore, fd, edge ? EPOLLIN | EPOLLET : EPOLLIN);
}

int nofd_lcore_watch_room(struct nofd_lcore *lcore, int fd)
{
    return watch(lcore, fd, EPOLLIN | EPOLLOUT);
}

void nofd_lcore_unwatch(struct nofd_lcore *lcore, int fd)
{
    (void)epoll_ctl(lcore->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

void nofd_lcore_wake(struct nofd_lcore *lcore)
{
    uint32_t asleep = NOFD_ASLEEP;

    nof_fence_full();
    if (__atomic_load_n(&lcore->asleep, __ATOMIC_RELAXED) == 0)
        return;
    (void)__atomic_compare_exchange_n(&lcore->asleep, &asleep, NOFD_WOKEN, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
    signal_fd(lcore->wake_fd); /* also if another has said so already, who may not have come to this line */
}

void nofd_lcore_tell_main(const struct nofd_lcore *lcore)
{
    signal_fd(lcore->main_fd);
}

/* For a second. */
static bool answers(struct nofd_errand *errand)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    while (sem_clockwait(&errand->done, CLOCK_MONOTONIC, &until) != 0)
        if (errno != EINTR)
            return false;
    return true;
}

void nofd_lcore_run(struct nofd_lcore *lcore, void (*fn)(struct nofd_lcore *lcore, void *arg), void *arg)
{
    struct nofd_errand errand = {.fn = fn, .arg = arg};

    sem_init(&errand.done, 0, 0);
    __atomic_store_n(&lcore->errand, &errand, __ATOMIC_RELEASE);
    nofd_lcore_wake(lcore);
    for (unsigned looks = 1; !answers(&errand); looks++) {
        if (looks < ANSWER_LOOKS)
            continue;
        nofd_error(
            "NIC core %u has not answered for %d s: it is stopped, or a rank's memory blocks its copy; the "
            "daemon ends",
            lcore->index, ANSWER_LOOKS);
        quick_exit(1);
    }
    (void)__atomic_load_n(&errand.answered, __ATOMIC_ACQUIRE);
    sem_destroy(&errand.done);
}

void nofd_lcore_do_errand(struct nofd_lcore *lcore, struct nofd_errand *errand)
{
    __atomic_store_n(&lcore->errand, NULL, __ATOMIC_RELAXED);
    errand->fn(lcore, errand->arg);
    __atomic_store_n(&errand->answered, 1, __ATOMIC_RELEASE);
    sem_post(&errand->done);
}

void nofd_lcore_stop(struct nofd_lcore *lcore)
{
    __atomic_store_n(&lcore->stop, 1, __ATOMIC_RELEASE);
    nofd_lcore_wake(lcore);
}
