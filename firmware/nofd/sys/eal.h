/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DPDK's environment, without privileges: no hugepages but for PCI devices and where enough are free, no shared
 * configuration, no telemetry, and no file that outlives the start. NIC cores are no lcores of it (core/core_loop.h).
 * Main thread. */
#ifndef NOFD_EAL_H
#define NOFD_EAL_H

#include <stddef.h>

#include "nofd/sys/options.h"

/* In SCHED_FIFO or SCHED_RR its own threads are of no such class, and the calling thread is no lcore. 0 or -1 with a text in err. */
int nofd_eal_start(const struct nofd_options *options, char *err, size_t err_bytes);
void nofd_eal_stop(void);

#endif
