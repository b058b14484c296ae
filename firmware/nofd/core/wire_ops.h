/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One NIC's port: the fabric, a DPDK device or a UDP socket behind one table. What the firmware core needs of it
 * is in nof/port.h; this is what the loop around the core needs.
 *
 *   nofd_wire_open_fabric() / _dpdk() / _udp()           main thread, before the core runs
 *     rx -> nof_nic_rx -> rx_done      every turn
 *     flush                            after the core's poll, every turn
 *     deadline, sleep, epoll, wake     without work
 *   nofd_wire_close()                                     main thread, after nof_nic_fini
 *
 * Threads: the NIC core that owns the NIC, between open and close. */
#ifndef NOFD_WIRE_OPS_H
#define NOFD_WIRE_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof/port.h"

#include "port/dpdk/dpdk_port.h"
#include "port/fabric/fabric.h"
#include "port/udp/udp_port.h"

#define NOFD_RX_BURST 64u

struct nofd_wire;

struct nofd_wire_ops {
    unsigned (*rx)(struct nofd_wire *wire, uint64_t now_ns, struct nof_frame **frames, unsigned max);
    void (*rx_done)(struct nofd_wire *wire, struct nof_frame *const *frames, unsigned n);
    /* Returns how much it has done for others who share the device. */
    unsigned (*flush)(struct nofd_wire *wire, uint64_t now_ns);
    /* When frames must be fetched next: 0 at once, UINT64_MAX when nothing is known to come. */
    uint64_t (*deadline)(struct nofd_wire *wire);
    /* Before epoll_wait. false: frames came meanwhile, do not sleep. */
    bool (*sleep)(struct nofd_wire *wire);
    void (*wake)(struct nofd_wire *wire);
    /* Whether wait_fd is known to wake; until then frames are looked for from time to time. NULL: it is. */
    bool (*wakes)(const struct nofd_wire *wire);
    /* Before a sleep: tells others who share the device whether nothing is under way here; returns whether that is so of all of
     * them. NULL: there are none. */
    bool (*quiet)(struct nofd_wire *wire, bool quiet);
    bool (*link)(struct nofd_wire *wire, uint64_t now_ns);
    /* The device has gone, for good: from here on the wire neither gives nor carries frames. NULL: it cannot go. */
    bool (*gone)(struct nofd_wire *wire);
    /* Main thread, when it has gone: lets the device go. As nof_dpdk_port_release(). */
    int (*release)(struct nofd_wire *wire, char *err, size_t err_bytes);
    /* Main thread, before the core runs: what nobody here would take may be dropped before it. As nof_dpdk_queue_guard();
     * NULL: this port has nothing that could. */
    int (*guard)(struct nofd_wire *wire, uint64_t nic_id, uint32_t max_paths, int *errno_out);
    /* Unplug or plug in by command. false: this port cannot. */
    bool (*set_link)(struct nofd_wire *wire, bool up);
    /* Before use: call wake(arg), from any thread, when frames come that wait_fd does not tell of. NULL: there are none. */
    void (*on_arrival)(struct nofd_wire *wire, void (*wake)(void *arg), void *arg);
    void (*close)(struct nofd_wire *wire);
};

struct nofd_wire {
    const struct nofd_wire_ops *ops;
    /* For nof_nic_init(). */
    const struct nof_port_ops *port_ops;
    void *port;

    struct nof_fabric *fabric; /* fabric: the switch, not ours to close, and our place in it */
    unsigned index;
    struct nof_dpdk_port *device; /* DPDK */
    struct nof_udp_port *udp; /* UDP */
    unsigned core,
        ncores; /* whose part of the NIC's port this is, and of how many; of fabric and UDP set by who opens it */
    bool unplugged; /* DPDK, UDP: by command */

    int wait_fd; /* readable when frames come; -1: none */
    bool full; /* UDP, since sleep(): frames wait for room, which wait_fd tells of as well */
    bool naps; /* nothing tells us of frames: look from time to time */
    uint8_t mac[6];
    uint32_t ip4; /* host byte order */
    uint16_t udp_port; /* 0: the daemon's */
    uint32_t mtu_bytes;
    uint64_t rate_bps; /* 0: unlimited or unknown */
    char kind[32]; /* "fabric", "net_af_xdp" */
    char device_name[64]; /* "port 3", "eth0" */
    bool simulated_host; /* each NIC is a host of its own */
};

/* ip4: host byte order. */
void nofd_wire_open_fabric(struct nofd_wire *wire, struct nof_fabric *fabric, unsigned index,
                           const uint8_t mac[6], uint32_t ip4, uint32_t mtu_bytes, uint64_t rate_bps);
/* A wire for each of cfg's cores. As nof_dpdk_port_open(): negative nof_status with a text in err. */
int nofd_wire_open_dpdk(struct nofd_wire *wires, const struct nof_dpdk_port_config *cfg, char *err,
                        size_t err_bytes);
/* As nof_udp_port_open(). */
int nofd_wire_open_udp(struct nofd_wire *wire, const struct nof_udp_port_config *cfg, char *err,
                       size_t err_bytes);
void nofd_wire_close(struct nofd_wire *wire);

#endif
