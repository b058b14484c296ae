/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watchdog of a private daemon: there the NIC core and the copier copy themselves, and a page that blocks (a
 * userfaultfd, a file system that does not answer) holds them up. No signal that a thread survives ends such a copy
 * (docs/decisions/0009-a-private-daemon-may-block.md).
 *
 *   core, copier:  nofd_busy_begin() -> process_vm_* -> nofd_busy_end()
 *   watchdog:      one copy of the copier lasts longer than the limit -> its endpoint fails
 *                  one copy of the core does, or the probe at attach  -> a sentence that names the rank, and the end
 *
 * It counts its own looks, not the clock: a daemon that was stopped or starved owes nothing.
 *
 * Threads: start and stop on the main thread; begin and end on the thread that copies. */
#ifndef NOFD_WATCHDOG_H
#define NOFD_WATCHDOG_H

#include <stdint.h>
#include <sys/types.h>

struct nofd;
struct nofd_watchdog;

/* What a thread copies now. Both words cross. */
struct nofd_busy {
    uint64_t whom; /* pid and rank; 0: nothing */
    uint32_t copies; /* begun so far */
};

static inline void nofd_busy_begin(struct nofd_busy *busy, pid_t pid, uint32_t rank)
{
    __atomic_store_n(&busy->copies, busy->copies + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&busy->whom, (uint64_t)(uint32_t)pid << 32 | rank, __ATOMIC_RELEASE);
}

static inline void nofd_busy_end(struct nofd_busy *busy)
{
    __atomic_store_n(&busy->whom, 0, __ATOMIC_RELAXED);
}

/* Watches the daemon's cores and their copiers. NULL: no thread; then only calls of the main thread notice. */
struct nofd_watchdog *nofd_watchdog_start(struct nofd *d);
/* After the cores have ended. */
void nofd_watchdog_stop(struct nofd_watchdog *dog);

#endif
