/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watchdog of a private daemon: there the NIC core and the copier copy themselves, and a page that blocks (a
 * userfaultfd, a file system that does not answer) holds them up. No signal that a thread survives ends such a copy
 * (docs/decisions/0009-a-private-daemon-may-block.md).
 *
 *   watchdog:      one copy of the copier lasts longer than the limit -> its endpoint fails
 *                  one copy of the core does, or the probe at attach  -> a sentence that names the rank, and the end
 *
 * Threads: start and stop on the main thread. */
#ifndef NOFD_WATCHDOG_H
#define NOFD_WATCHDOG_H

struct nofd;
struct nofd_watchdog;

/* Watches the daemon's cores and their copiers. NULL: no thread; then only calls of the main thread notice. */
struct nofd_watchdog *nofd_watchdog_start(struct nofd *d);
/* After the cores have ended. */
void nofd_watchdog_stop(struct nofd_watchdog *dog);

#endif
