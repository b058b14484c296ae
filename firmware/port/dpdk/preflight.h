/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What can be known before a driver is asked: DPDK's drivers fail with a number, so the sentence that
 * says what to type is found here. */
#ifndef NOF_PORT_PREFLIGHT_H
#define NOF_PORT_PREFLIGHT_H

#include <stddef.h>

#include "port/dpdk/port_private.h"

/* Writes the formatted text to err and returns `status`. */
int nof_port_fail(int status, char *err, size_t err_bytes, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* For net_af_xdp and net_af_packet: opens port->netif_fd, claims the interface, fills what the kernel
 * knows into port->info, and completes port->devargs. Returns 0 or a negative nof_status with err. */
int nof_port_preflight_kernel(struct nof_dpdk_port *port, const struct nof_dpdk_port_config *cfg, char *err,
                              size_t err_bytes);

#endif
