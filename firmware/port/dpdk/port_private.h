/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the DPDK port: what dpdk_port.c sets up and queue.c runs on. */
#ifndef NOF_PORT_PRIVATE_H
#define NOF_PORT_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "port/dpdk/arp.h"
#include "port/dpdk/igmp.h"
#include "port/dpdk/devargs.h"
#include "port/dpdk/dpdk_port.h"
#include "port/dpdk/netif.h"
#include "port/handover.h"

struct rte_flow;
struct nof_steer;
struct nof_steer_table;

#define LINK_CHECK_NS 10000000u
#define NOF_DPDK_EARLY \
    32u /* frames in a look before a sleep; vector drivers give none to who asks for fewer */
#define MULTICAST_MAX (NOF_IGMP_GROUPS_MAX + 1u) /* and that of queries */

/* Private area of every mbuf. */
struct nof_dpdk_priv {
    union {
        struct nof_frame frame;
        void *next; /* mbuf, while it is on its way back to: */
    };
    struct nof_dpdk_queue *owner; /* of a port with several cores */
};

/* What a core's loop calls: queue.c has the ways of a core that is alone with its queue, cores.c those of several. */
struct nof_dpdk_turn {
    unsigned (*rx)(struct nof_dpdk_queue *q, struct nof_frame **frames, unsigned max);
    void (*rx_done)(struct nof_dpdk_queue *q, struct nof_frame *const *frames, unsigned n);
    unsigned (*flush)(struct nof_dpdk_queue *q, uint64_t now_ns);
    int (*sleep)(struct nof_dpdk_queue *q);
};

struct nof_dpdk_queue {
    /* Hot: read or written per burst. */
    uint16_t port_id;
    uint16_t queue_id;
    uint16_t npending;
    uint16_t nearly;
    bool answers_arp;
    bool sums; /* the device computes UDP checksums */
    bool gone; /* so is the device: nothing is asked of it any more. Written by the queue's core */
    bool unplugged; /* by command */
    bool served; /* the device has a queue for this core */
    uint8_t index; /* of the core */
    const struct nof_dpdk_turn *turn;
    struct rte_mempool *pool;
    uint64_t rx_frames, rx_bytes;
    uint64_t tx_frames, tx_bytes;
    uint64_t tx_full;
    uint64_t no_frames;
    struct rte_mbuf *pending[NOF_DPDK_BURST_MAX]; /* sent by the core, not yet with the driver */

    /* Cold. */
    struct nof_dpdk_port *port;
    struct rte_flow *rule; /* of the device, for this core's UDP port */
    struct nof_steer_table *known; /* what the steering program lets in; NULL: all that is well formed */
    struct nof_igmp igmp; /* of a port without a kernel */
    struct nof_arp_self arp;
    uint64_t arp_replies;
    uint64_t announce_next_ns;
    unsigned announce_left;
    int hush_fd;
    int wait_fd;
    bool wait_is_interrupt; /* must be armed before it wakes */
    bool wait_has_come; /* at least once */
    struct rte_mbuf *early[NOF_DPDK_EARLY]; /* received, and not yet handed on: nearly of them */
    uint64_t counters[NOF_DPDK_COUNTERS];
    unsigned nsenders; /* cores without a queue of the device, which send through this one */
    unsigned turn_of; /* the one whose frame is the next */
    unsigned carried; /* frames for or of other cores, since the last flush */

    /* Of several cores: what all of them read; then what others write. */
    struct nof_handover *in __rte_cache_aligned; /* frames for this core, from the others */
    struct nof_dpdk_queue *sender; /* through whom we send; NULL: the device has a queue for us */
    struct nof_handover *out; /* frames for it */
    void (*wake)(void *arg); /* this core, when something was put into its rings; NULL: it does not sleep */
    void *wake_arg;
    bool busy; /* something of this core is under way; crosses */
    void *returned __rte_cache_aligned; /* mbufs of `pool`; crosses */
} __rte_cache_aligned;

struct nof_dpdk_port {
    struct nof_dpdk_port_info info;
    uint16_t port_id;
    uint16_t udp_port; /* of core 0 */
    unsigned users; /* cores whose close() is due */
    bool owned; /* we, or EAL for us, plugged the device in, so we remove it */
    bool started;
    bool allmulti;
    bool rate_is_given; /* by the user */
    bool virtual_device; /* a kernel interface without a bus behind it */
    bool watched; /* for removal */
    struct rte_device *leaving; /* closed, and not removed yet */
    bool removed; /* noted by DPDK's interrupt thread, or by queue 0's core */
    int ifindex; /* of the kernel interface */
    int link_up; /* written by core 0 */
    uint64_t link_next_ns;
    unsigned link_asked; /* interface_link.h; core 0 */
    int netif_fd; /* -1: no kernel interface */
    int claim_fd;
    int member_fd;
    struct nof_steer *steer;
    int steer_errno; /* why the kernel does not show us the program that hangs there */
    unsigned nmulticast;
    struct {
        uint8_t mac[6];
        uint32_t times; /* groups joined that have it */
    } multicast[MULTICAST_MAX];
    struct nof_devargs devargs;
    struct nof_dpdk_queue queues[]; /* info.ncores */
};

/* groups.c: as nof_port_ops.group, of a port with one core. */
int nof_dpdk_queue_group(void *queue, uint32_t ip4, const uint8_t mac[6], bool join);

/* known.c: as nof_port_ops.conn; a group that was joined or left; the end. */
void nof_dpdk_queue_conn(void *queue, uint32_t slot, uint64_t id);
void nof_dpdk_queue_knows_group(struct nof_dpdk_queue *q, uint32_t ip4, bool join);
void nof_dpdk_queue_forget(struct nof_dpdk_queue *q);

/* queue.c: turns of a core that is alone, and their parts that ask the device */
extern const struct nof_dpdk_turn nof_dpdk_turn_alone;
struct nof_frame *nof_dpdk_frame_alloc(void *queue, uint32_t len_bytes);
/* The same, of which nobody counts that there is none. */
struct nof_frame *nof_dpdk_frame_take(struct nof_dpdk_queue *q, uint32_t len_bytes);
unsigned nof_dpdk_device_rx(struct nof_dpdk_queue *q, struct nof_frame **frames, unsigned max);
/* False: the device takes no more, try again. */
bool nof_dpdk_device_room(struct nof_dpdk_queue *q);
/* The same; takes a reference. */
bool nof_dpdk_device_send(struct nof_dpdk_queue *q, struct nof_frame *frame);
void nof_dpdk_device_flush(struct nof_dpdk_queue *q, uint64_t now_ns);
int nof_dpdk_device_sleep(struct nof_dpdk_queue *q);

/* cores.c */
extern const struct nof_dpdk_turn nof_dpdk_turn_cores;
/* Frames that may wait for one of so many cores. */
uint32_t nof_dpdk_cores_slots(unsigned ncores);
/* Rings of all cores; NOF_ENOMEM. Once nqueues is known. */
int nof_dpdk_cores_open(struct nof_dpdk_port *port);
/* No core runs any more: what waits in rings goes back to the pools. */
void nof_dpdk_cores_close(struct nof_dpdk_port *port);

/* rules.c: the device gives each core's port to its queue. False: it cannot. */
bool nof_dpdk_rules_open(struct nof_dpdk_port *port);
void nof_dpdk_rules_close(struct nof_dpdk_port *port);

static inline struct nof_frame *nof_dpdk_frame(struct rte_mbuf *m)
{
    return &((struct nof_dpdk_priv *)rte_mbuf_to_priv(m))->frame;
}

static inline struct rte_mbuf *nof_dpdk_mbuf(struct nof_frame *frame)
{
    return (struct rte_mbuf *)(void *)((char *)frame - sizeof(struct rte_mbuf));
}

#endif
