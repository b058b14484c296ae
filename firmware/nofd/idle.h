/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a NIC core does without work: spin, yield, sleep (nof/features.h: idle, spin_us, nap_us).
 *
 *   turn with work      -> nofd_idle_worked()
 *   turn without work   -> nofd_idle_wait(): returns at once while spinning, else sleeps
 *
 * In the middle of a stream a sleep costs both sides more than the spin that it saves: a core that has worked may spin
 * for longer than spin_us, for a quarter of the time that it worked, NOFD_IDLE_CREDIT_NS at most.
 *
 * Asleep is published before the last look at the queues and taken back after; the other side of
 * every queue (hosts: nic_asleep in the BAR; DMA helpers and the main thread: `asleep` here) passes
 * a full fence after it put something in, then looks at the word, then writes the descriptor.
 *
 * Threads: the NIC core; nofd_idle_wake() by anybody. */
#ifndef NOFD_IDLE_H
#define NOFD_IDLE_H

#include <stdbool.h>
#include <stdint.h>

struct nofd_core;

#define NOFD_IDLE_CREDIT_NS 200000u

enum nofd_idle_policy { NOFD_IDLE_AUTO = 0, NOFD_IDLE_BUSY, NOFD_IDLE_YIELD, NOFD_IDLE_SLEEP };

struct nofd_idle {
    int epoll_fd;
    int wake_fd; /* eventfd */
    uint32_t asleep; /* crosses threads */
    enum nofd_idle_policy policy;
    uint64_t spin_ns;
    uint64_t nap_ns;
    bool scarce; /* more pollers than CPUs: give way while spinning */
    bool naps; /* a port cannot wake us */
    uint64_t since_ns; /* without work since; 0: working */
    uint64_t worked_ns; /* when the last turn began, if it had work; else 0 */
    uint64_t credit_ns; /* earned by work: to spin beyond spin_ns */
    uint64_t sleep_until_ns; /* no spinning before: a yield lost the CPU */
    uint64_t shun_ns; /* how long that was the last time */
    uint64_t yielded_ns; /* the turn before gave way; 0: it did not */
    uint64_t backoff_ns; /* nap length when no path has work */
};

/* 0 or -errno. */
int nofd_idle_init(struct nofd_idle *idle);
void nofd_idle_fini(struct nofd_idle *idle);
/* Have `fd` end a sleep. edge: a counter that nobody reads (eventfd). 0 or -errno. */
int nofd_idle_watch(struct nofd_idle *idle, int fd, bool edge);
void nofd_idle_unwatch(struct nofd_idle *idle, int fd);

/* The turn that began at now_ns had work. */
void nofd_idle_worked(struct nofd_idle *idle, uint64_t now_ns);

/* Sleeps as the policy says, at most until the core's next deadline. */
void nofd_idle_wait(struct nofd_core *core);

/* Any thread, after putting something where the core looks. */
void nofd_idle_wake(struct nofd_idle *idle);

#endif
