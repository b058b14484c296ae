/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The thread of a NIC core, as those see it that run on it, wake it, or have it do something: when its turn began, what
 * ends its sleep, and the errands that the main thread sends.
 *
 *   main thread  nofd_lcore_init -> nofd_lcore_run()..., any number -> nofd_lcore_stop -> nofd_lcore_fini
 *   its own      while not stopped: nofd_lcore_serve(), a turn, and without work a sleep (idle.h)
 *
 * Control never touches what a NIC core owns: it passes a function that the core runs between two turns, and waits for
 * it. The hot loop pays one load for that.
 *
 * Asleep is published before the last look at all queues and taken back after; who puts something in passes a full
 * fence, then looks at the word, then writes the descriptor. */
#ifndef NOFD_LCORE_H
#define NOFD_LCORE_H

#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nofd_lcore;

enum { NOFD_ASLEEP = 1, NOFD_WOKEN = 2 };

struct nofd_errand {
    void (*fn)(struct nofd_lcore *lcore, void *arg);
    void *arg;
    sem_t done;
    int answered; /* orders the same, for ThreadSanitizers that do not know sem_clockwait() */
};

struct nofd_lcore {
    unsigned index; /* of the NIC core */
    uint64_t now_ns; /* when this turn began */
    uint64_t pause_ns; /* how long the one before took, in time of our own; measured while watch_pauses */
    bool watch_pauses;
    int epoll_fd; /* what it sleeps on */

    /* Cross threads. */
    int wake_fd; /* eventfd */
    int main_fd; /* eventfd of the main thread, which is not ours */
    uint32_t asleep; /* NOFD_ASLEEP, NOFD_WOKEN and not yet awake, or 0 */
    uint32_t turns; /* begun, modulo 2^32 */
    struct nofd_errand *errand;
    int stop;
};

/* main_fd: eventfd to write when the main thread must look. 0 or -errno. */
int nofd_lcore_init(struct nofd_lcore *lcore, unsigned index, int main_fd);
void nofd_lcore_fini(struct nofd_lcore *lcore);

/* Have `fd` end a sleep. edge: a counter that nobody reads (eventfd). 0 or -errno. */
int nofd_lcore_watch(struct nofd_lcore *lcore, int fd, bool edge);
/* The same for a socket that is to be written to as well, when it has room. */
int nofd_lcore_watch_room(struct nofd_lcore *lcore, int fd);
void nofd_lcore_unwatch(struct nofd_lcore *lcore, int fd);

/* Main thread: run fn(lcore, arg) there and wait for it. A thread that does not answer within 10 s is lost, and may
 * still run fn on the caller's frame: there is no way back, and the daemon ends by quick_exit(). */
void nofd_lcore_run(struct nofd_lcore *lcore, void (*fn)(struct nofd_lcore *lcore, void *arg), void *arg);
void nofd_lcore_stop(struct nofd_lcore *lcore);

/* Any thread, after putting something where the core looks. */
void nofd_lcore_wake(struct nofd_lcore *lcore);

/* Its own thread: have the main thread look. */
void nofd_lcore_tell_main(const struct nofd_lcore *lcore);

/* Its own thread: does the errand that waits. */
void nofd_lcore_do_errand(struct nofd_lcore *lcore, struct nofd_errand *errand);

static inline void nofd_lcore_serve(struct nofd_lcore *lcore)
{
    struct nofd_errand *errand = __atomic_load_n(&lcore->errand, __ATOMIC_ACQUIRE);

    if (errand != NULL)
        nofd_lcore_do_errand(lcore, errand);
}

static inline bool nofd_lcore_stopped(const struct nofd_lcore *lcore)
{
    return __atomic_load_n(&lcore->stop, __ATOMIC_ACQUIRE) != 0;
}

static inline void nofd_lcore_turn_begins(struct nofd_lcore *lcore)
{
    __atomic_store_n(&lcore->turns, lcore->turns + 1, __ATOMIC_RELAXED);
}

/* Any thread: to tell a core that runs from one that stands. */
static inline uint32_t nofd_lcore_turns(const struct nofd_lcore *lcore)
{
    return __atomic_load_n(&lcore->turns, __ATOMIC_RELAXED);
}

/* Any thread: it is awake, or ought to be. */
static inline bool nofd_lcore_due(const struct nofd_lcore *lcore)
{
    return __atomic_load_n(&lcore->asleep, __ATOMIC_RELAXED) != NOFD_ASLEEP;
}

/* An errand waits, or the end: do not sleep. */
static inline bool nofd_lcore_wanted(const struct nofd_lcore *lcore)
{
    return __atomic_load_n(&lcore->errand, __ATOMIC_RELAXED) != NULL ||
           __atomic_load_n(&lcore->stop, __ATOMIC_RELAXED) != 0;
}

#endif
