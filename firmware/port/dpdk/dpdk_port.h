/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A port on any DPDK ethdev: PCI, net_af_xdp, net_af_packet, net_ring, net_memif, net_null, ...
 *
 *      nof_dpdk_port ----------- one ethdev, one link, one address
 *        |- queue 0  rx + tx + its own mbuf pool     <- NIC core 0, and nobody else; it sends for 2 as well
 *        |- queue 1  ...                             <- NIC core 1
 *        |-          its own mbuf pool               <- NIC core 2, if the device has two queues
 *
 * Each core has its place here, a queue, and the device's own queue of that number, if it has as many. The UDP destination
 * port of a frame names the core (docs/decisions/0046), whatever queue the device chooses for it: cores hand each other what
 * came to the wrong one, and what is from one of them to another. A core without a queue of the device sends through one
 * that has.
 *
 * Call order: rte_eal_init() is the caller's, then
 *
 *   nof_dpdk_port_open()                        main thread
 *     nof_dpdk_port_queue(port, i)              the `void *port` for nof_nic_init() with
 *                                               nof_dpdk_port_ops; one nof_nic per queue
 *     loop: n = nof_dpdk_queue_rx(q, frames, max)
 *           nof_nic_rx(nic, now, frames, n)
 *           nof_dpdk_queue_rx_done(q, frames, n)       gives the lent frames back
 *           nof_dpdk_queue_link(q, now)
 *           nof_dpdk_queue_flush(q)                    after the core's poll, every turn
 *           to sleep: nof_dpdk_queue_sleep(q), epoll, nof_dpdk_queue_wake(q)
 *           nof_dpdk_queue_gone(q)                     now and then; if so, nof_dpdk_port_release(port)
 *   nof_nic_fini() of every queue
 *   nof_dpdk_port_close(), once for every core  main thread, no core runs any more
 *
 * Zero copy: a nof_frame lies in the private area of its mbuf and `data` points into the mbuf, so
 * what the core writes is what the driver sends. send() takes a reference per transmission: the
 * same frame may be sent again while the driver still holds it.
 *
 * Threads: a queue belongs to one thread at a time. EAL lcores and threads that called
 * rte_thread_register() get the mempool's per-core cache; others work, slower. */
#ifndef NOF_DPDK_PORT_H
#define NOF_DPDK_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof/port.h"

#define NOF_DPDK_QUEUES_MAX 64u
#define NOF_DPDK_BURST_MAX 64u /* frames per rx call */
#define NOF_DPDK_ERROR_BYTES 512u

struct nof_dpdk_port;
struct nof_dpdk_queue;

struct nof_dpdk_port_config {
    /* "net_af_xdp,iface=eth0[,KEY=VALUE..]", "net_af_packet,iface=eth0", "net_memif,role=server,..",
     * "0000:03:00.0", or the name of an ethdev that exists already (net_ring, tests). A virtual
     * device may carry its number ("net_af_xdp1,iface=.."); without one a free number is taken.
     * "rate=1g" is ours, for links whose rate the device does not know: see info.rate_bps. */
    const char *devargs;
    /* IP MTU wanted, 576..9216; 0: the interface's own (1500 where there is none). Asking for more
     * than the interface has is an error: the port never changes a kernel interface's MTU. */
    uint32_t mtu_bytes;
    unsigned ncores; /* NIC cores, 1..NOF_DPDK_QUEUES_MAX; 0: 1 */
    /* Frames that one core may hold at once (sent and unacknowledged, kept out of order); the pool
     * is this plus what the driver's rings hold. 0: 8192. */
    uint32_t core_frames;
    uint32_t ip4; /* host byte order; 0: the kernel interface's first address */
    /* Object file to use as steering program on net_af_xdp; NULL: this project's own, which is built
     * in. xdp_prog= in devargs comes before both. */
    const char *steer_path;
    uint16_t
        udp_port; /* of core 0, the next ones of the others; 0: 48620. The steering program takes no other */
};

enum nof_dpdk_kernel {
    NOF_DPDK_KERNEL_NONE, /* no kernel beside us on this port: we answer ARP ourselves */
    NOF_DPDK_KERNEL_KEEPS, /* the kernel has the interface too (af_xdp, af_packet): it answers */
};

/* Of a device's help with the work that the core can do itself. */
enum nof_dpdk_help {
    NOF_DPDK_HELP_NONE, /* it has none */
    NOF_DPDK_HELP_THERE, /* it has, and it gains nothing (docs/decisions/0048) */
    NOF_DPDK_HELP_USED,
};

/* Which core gets a frame first; another one hands it to the core that its port names. */
enum nof_dpdk_spread {
    NOF_DPDK_SPREAD_ALONE, /* there is one */
    NOF_DPDK_SPREAD_RULES, /* that one: the device looks at the UDP port */
    NOF_DPDK_SPREAD_HASH, /* by a hash over addresses and ports, in the device */
    NOF_DPDK_SPREAD_KERNEL, /* as the kernel, or the driver, spreads frames over queues */
    NOF_DPDK_SPREAD_FIRST, /* core 0, which has the only queue */
};

/* "rules"; and how frames come, in words. Static storage. */
const char *nof_dpdk_spread_name(enum nof_dpdk_spread spread);
const char *nof_dpdk_spread_words(enum nof_dpdk_spread spread);

struct nof_dpdk_port_info {
    char driver[32]; /* "net_af_xdp" */
    char device[64]; /* ethdev name, "net_af_xdp0" */
    char ifname[32]; /* kernel interface, "" if there is none */
    uint8_t mac[6];
    uint32_t ip4; /* host byte order, 0 unknown */
    uint32_t mtu_bytes;
    uint32_t iface_mtu_bytes; /* the kernel interface's own, which may be more; 0 none */
    uint64_t
        rate_bps; /* of the link, 0 unknown or made up by a virtual device; of a PCI device since it was last up */
    unsigned ncores;
    unsigned nqueues; /* of the device, in use: of the first cores, one each */
    enum nof_dpdk_spread spread;
    enum nof_dpdk_kernel kernel;
    int socket; /* NUMA node, -1 any */
    bool xdp_pinned; /* counters readable under /sys/fs/bpf/nof/<ifname>/stats */
    /* net_af_xdp: where the program hangs ("generic", "native"; "" on other ports), whether the device shares its frames
     * with us, and both in words, with the reasons. */
    char xdp_hook[16];
    bool xdp_zero_copy;
    char xdp_words[224];
    enum nof_dpdk_help
        udp_checksum; /* of frames that we send; a kernel at the other end joins those alone that have one */
    enum nof_dpdk_help scatter_gather; /* a frame in several pieces */
    enum nof_dpdk_help timestamps; /* of frames that come */
};

/* Bytes of packet memory that one core of such a port takes, at cfg's MTU or else the interface's: what EAL's -m
 * must have room for, beside some 16 MiB for itself. 0: cfg names no port. Needs no EAL. */
size_t nof_dpdk_queue_mem_bytes(const struct nof_dpdk_port_config *cfg);

/* Open, configure and start. Returns 0, or a negative nof_status with one or more lines in err
 * (what happened, what it means, what to type): NOF_EINVAL for arguments, NOF_EAGAIN when another
 * process owns the port, NOF_ENOMEM, NOF_EPERM without the privileges, NOF_ENOTSUP when the device
 * or its driver refuses. */
int nof_dpdk_port_open(const struct nof_dpdk_port_config *cfg, struct nof_dpdk_port **port_out, char *err,
                       size_t err_bytes);

/* To be called once for each core; the last call stops and removes the device, takes the steering program off the interface
 * and its pins away. Every core's frames must have been freed (nof_nic_fini). NULL is allowed. */
void nof_dpdk_port_close(struct nof_dpdk_port *port);

const struct nof_dpdk_port_info *nof_dpdk_port_info(const struct nof_dpdk_port *port);

/* Link state, cached; core 0 asks the driver, at most every 10 ms, and the others hear of it. Returns 1 up, 0 down. */
int nof_dpdk_queue_link(struct nof_dpdk_queue *q, uint64_t now_ns);
/* info.rate_bps, which changes with the link. Any thread. */
uint64_t nof_dpdk_port_rate(const struct nof_dpdk_port *port);
/* From now on what the device receives is thrown away, or no longer; what cores of this port send each other is not. Core. */
void nof_dpdk_queue_unplug(struct nof_dpdk_queue *q, bool unplugged);

/* queue < info.ncores. Valid until close. */
struct nof_dpdk_queue *nof_dpdk_port_queue(struct nof_dpdk_port *port, unsigned queue);

/* Where a steering program stands in front of the queue, it drops from now on what nobody here would take: see
 * nof_port_ops.conn. Call it before the core that has this nic_id and at most so many paths opens one. NOF_OK; NOF_ENOTSUP:
 * no steering program of this build stands there (*errno_out 0), or the kernel gave no table, and why: then core 0 drops as ever,
 * and no other gets a frame, for the program takes what is for a core with a table, or for core 0. */
int nof_dpdk_queue_guard(struct nof_dpdk_queue *q, uint64_t nic_id, uint32_t max_paths, int *errno_out);

/* The wire ops of the core; their `void *port` is a struct nof_dpdk_queue *. The first are those of a port with one core. */
extern const struct nof_port_ops nof_dpdk_port_ops, nof_dpdk_cores_port_ops;

/* Up to max (<= NOF_DPDK_BURST_MAX) frames, lent until rx_done(). ARP is answered inside where the
 * kernel does not see the port; such frames are not returned. */
unsigned nof_dpdk_queue_rx(struct nof_dpdk_queue *q, struct nof_frame **frames, unsigned max);
void nof_dpdk_queue_rx_done(struct nof_dpdk_queue *q, struct nof_frame *const *frames, unsigned n);

/* Hand what send() gathered to the driver, and let it take back what it has sent. Call it once per
 * turn of the core's loop and before sleeping. `now_ns` also times ARP announcements. Returns how many frames of other cores this
 * one has handed over or sent since the last call, which are work as its own. */
unsigned nof_dpdk_queue_flush(struct nof_dpdk_queue *q, uint64_t now_ns);

/* A descriptor for epoll (EPOLLIN) that wakes when frames arrive, or -1. */
int nof_dpdk_queue_wait_fd(const struct nof_dpdk_queue *q);
/* Whether nothing tells of frames that the device has received: then nap. */
bool nof_dpdk_queue_naps(const struct nof_dpdk_queue *q);
/* Of a port with several cores, before use: wake(arg) is called, by any of their threads, after frames were handed to this one. */
void nof_dpdk_queue_on_arrival(struct nof_dpdk_queue *q, void (*wake)(void *arg), void *arg);
/* Tells the other cores of the port whether nothing is under way at this one, until it sends again; returns whether that is so of
 * all of them: frames of any may be the next that the device gives this one. Before a sleep or a nap. */
bool nof_dpdk_queue_quiet(struct nof_dpdk_queue *q, bool quiet);
/* Before epoll_wait: arms the receive interrupt. Returns 1 if it is safe to sleep on wait_fd, 0 if
 * frames have come meanwhile (do not sleep: rx() gives them). After it: wake(). Both cheap where nothing is needed. */
int nof_dpdk_queue_sleep(struct nof_dpdk_queue *q);
void nof_dpdk_queue_wake(struct nof_dpdk_queue *q);
/* Whether wait_fd is known to wake. A device's receive interrupt is not before it has come once: some drivers arm one that
 * never does (e1000e by MSI-X). Look for frames from time to time until then. */
bool nof_dpdk_queue_wakes(const struct nof_dpdk_queue *q);

/* Whether the device has been unplugged, or the kernel wants it back (removal.h): from then on, for good, nothing of this queue
 * is to be called but the ops of the core, whose frames are taken and go nowhere. */
bool nof_dpdk_queue_gone(struct nof_dpdk_queue *q);
/* Lets such a device go, main thread; the frames' memory stays until close. NOF_EAGAIN: a core has not asked yet. NOF_EUNPLUGGED: it
 * cannot be removed now, err says why; call it again later. */
int nof_dpdk_port_release(struct nof_dpdk_port *port, char *err, size_t err_bytes);

struct nof_dpdk_queue_stats {
    uint64_t rx_frames, rx_bytes;
    uint64_t tx_frames, tx_bytes;
    uint64_t tx_full; /* sends that the driver refused: its queue was full */
    uint64_t no_frames; /* frame_alloc() with an empty pool */
    uint64_t arp_replies;
    uint32_t frames_free; /* in the pool now */
    uint32_t frames_total;
};
void nof_dpdk_queue_stats(const struct nof_dpdk_queue *q, struct nof_dpdk_queue_stats *stats_out);

/* What a core of several has had to do with the others, frames. Any thread. */
enum nof_dpdk_counter {
    NOF_DPDK_HANDED, /* came here for another core, or were for one, and handed over */
    NOF_DPDK_DROP_QUEUE, /* the same, dropped: that core has too many waiting */
    NOF_DPDK_SENT_BY_OTHER, /* sent through another core's queue */
    NOF_DPDK_COUNTERS,
};
uint64_t nof_dpdk_queue_counter(const struct nof_dpdk_queue *q, enum nof_dpdk_counter counter);
const char *nof_dpdk_counter_name(enum nof_dpdk_counter counter); /* "cores.handed", ... */

/* Counters of the steering program, frames only; names "xdp.taken" ... by nof_dpdk_port_xdp_name().
 * Returns how many there are (0: no steering program on this port), at most NOF_DPDK_XDP_COUNTERS.
 * A system call each: for the control socket, not for the core's loop. */
#define NOF_DPDK_XDP_COUNTERS 16u
unsigned nof_dpdk_port_xdp_counters(const struct nof_dpdk_port *port,
                                    uint64_t frames_out[NOF_DPDK_XDP_COUNTERS]);
const char *nof_dpdk_port_xdp_name(unsigned counter);

#endif
