/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device that goes while we drive it: unplugged, or asked for by the kernel (somebody writes to its driver's `unbind`, which
 * waits until we let go). Drivers and VFIO tell DPDK's interrupt thread; of an interface the kernel answers that it is
 * not there. What is noted stays. */
#ifndef NOF_PORT_REMOVAL_H
#define NOF_PORT_REMOVAL_H

#include "port/dpdk/port_private.h"

/* Main thread, the device is open. */
void nof_port_removal_watch(struct nof_dpdk_port *port);
void nof_port_removal_unwatch(struct nof_dpdk_port *port);
/* Returns when DPDK's interrupt thread has left what it was in. Who closes a device that VFIO wants back while its own handler still
 * tells of that closes nothing: DPDK cannot take the handler off, says so to nobody, and the kernel waits for good. */
void nof_port_removal_settle(void);

#endif
