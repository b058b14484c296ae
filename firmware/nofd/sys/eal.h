/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DPDK's environment, without privileges: no hugepages but for PCI devices and where enough are free, no shared
 * configuration, no telemetry, every lcore allowed on the whole affinity mask of the process, and no file that outlives
 * the start.
 * Main thread. */
#ifndef NOFD_EAL_H
#define NOFD_EAL_H

#include <stddef.h>

#include "nofd/sys/options.h"

/* Lcore 0 is the calling thread, lcores 1..cores are the NIC cores. 0 or -1 with a text in err. */
int nofd_eal_start(const struct nofd_options *options, char *err, size_t err_bytes);
void nofd_eal_stop(void);

#endif
