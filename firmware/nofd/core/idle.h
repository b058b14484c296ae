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
 * Who has a core look by writing into a queue wakes it as lcore.h says (hosts: nic_asleep in the BAR).
 *
 * Threads: the NIC core. */
#ifndef NOFD_IDLE_H
#define NOFD_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "nofd/sys/lcore.h"
#include "nofd/sys/source.h"

#define NOFD_IDLE_CREDIT_NS 200000u

enum nofd_idle_policy { NOFD_IDLE_AUTO = 0, NOFD_IDLE_BUSY, NOFD_IDLE_YIELD, NOFD_IDLE_SLEEP };

struct nofd_idle {
    enum nofd_idle_policy policy;
    uint64_t spin_ns;
    uint64_t nap_ns;
    bool scarce; /* more pollers than CPUs: give way from the first turn of a spin on */
    bool naps; /* a port cannot wake us */
    uint64_t *sleeps; /* a counter, where they are counted */
    uint64_t since_ns; /* without work since; 0: working */
    uint64_t worked_ns; /* when the last turn began, if it had work; else 0 */
    uint64_t credit_ns; /* earned by work: to spin beyond spin_ns */
    uint64_t sleep_until_ns; /* no spinning before: a yield lost the CPU */
    uint64_t shun_ns; /* how long that was the last time */
    uint64_t yielded_ns; /* the turn before gave way; 0: it did not */
    uint64_t backoff_ns; /* nap length when no path has work */
};

/* The turn that began at now_ns had work. */
void nofd_idle_worked(struct nofd_idle *idle, uint64_t now_ns);

/* Sleeps as the policy says, at most until the earliest deadline of the sources. lcore->now_ns is then when it woke, or
 * when it should have. */
void nofd_idle_wait(struct nofd_idle *idle, struct nofd_lcore *lcore, const struct nofd_sources *sources);

#endif
