/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ethdev under a port while it is being opened: plug it in, configure it, give each queue its pool.
 * All return 0 or a negative nof_status with a text in o->err. Main thread. */
#ifndef NOF_PORT_DEVICE_H
#define NOF_PORT_DEVICE_H

#include "port/dpdk/port_private.h"

#define NOF_PORT_UDP_DEFAULT 48620u

struct nof_port_opening {
    struct nof_dpdk_port *port;
    const struct nof_dpdk_port_config *cfg;
    int steer_object_fd;
    int packet_fds[NOF_DPDK_QUEUES_MAX];
    unsigned npacket_fds;
    bool interrupts;
    char *err;
    size_t err_bytes;
};

static inline uint16_t nof_port_udp(const struct nof_dpdk_port_config *cfg)
{
    return cfg->udp_port ? cfg->udp_port : (uint16_t)NOF_PORT_UDP_DEFAULT;
}

/* Sets port->port_id, and port->owned unless it is a virtual device that existed before. */
int nof_port_plug(struct nof_port_opening *o);
int nof_port_configure(struct nof_port_opening *o, const struct rte_eth_dev_info *dev);
int nof_port_set_up_queues(struct nof_port_opening *o);

/* Bytes that a buffer needs for a frame of this IP MTU, af_packet's ring header included: a multiple of 1 KiB. */
uint32_t nof_port_frame_bytes(uint32_t mtu_bytes);

/* The largest IP MTU that such a port carries. AF_XDP: what one chunk of the pool holds, some 3300 bytes. */
uint32_t nof_port_mtu_max(enum nof_devargs_kind kind);

#endif
