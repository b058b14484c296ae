/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fabric: an output-queued switch with N ports, as a port of the firmware core. The same code in
 * real time (nofd's embedded default) and under a virtual clock (the simulator).
 *
 *   NIC core 0 -- link --+        +-- link -- NIC core 1
 *                        | switch |           one pool of frames per port; a frame passes by
 *   NIC core 2 -- link --+        +-- ...     reference, the receiver is lent the sender's buffer
 *
 *   nof_fabric_create()
 *     nof_fabric_ops(f) with nof_fabric_port(f, i) as `port`: what a core sends with
 *     nof_fabric_rx_burst() -> nof_nic_rx() -> nof_fabric_rx_done(), again and again
 *     setters, at any time
 *   nof_fabric_destroy() once no core holds a frame any more
 *
 * A link has one rate and one delay for both directions, so a frame from a to b takes the delays of
 * both links. Buffer, loss, duplication, reordering and corruption happen on the way out of the
 * switch, by the values of the destination's link: once per frame. Without rate, delay and faults a
 * frame is in the receiver's queue before send() returns.
 *
 * The ports may be dealt to several switches, each of which has a link of its own, without a bound, to each other one: a frame from switch
 * to switch waits for that, and one for a group address crosses it once.
 *
 * Unicast goes by a static table of MAC addresses; group addresses go to all other ports, or, as their links say, to
 * those that have joined (NOF_FABRIC_GROUPS_MAX groups a port), or to none; an unknown address is dropped. A port may send to itself.
 *
 * A NIC may have several cores, with a port each, next to each other: its link is theirs in parts, and frames between them go
 * past the switch, whatever state the links are in.
 *
 * Time comes in with `now_ns` (monotonic, any origin), the next deadline goes out. Same seed and
 * same calls: same frames. Memory is allocated by create() only. Threads: one at a time per fabric; of one that is `shared`
 * one at a time per port (its table of ops, rx_burst, rx_done, rx_ready, port_deadline, is_up), and for all else that of the
 * first port, which runs the switch. Statistics may be read by anybody. */
#ifndef NOF_FABRIC_H
#define NOF_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nof/port.h"

struct nof_fabric;
struct nof_fabric_port;

#define NOF_FABRIC_PORTS_MAX 1024u
#define NOF_FABRIC_PPM 1000000u
#define NOF_FABRIC_RATE_LEAST 1000u /* bit/s */
#define NOF_FABRIC_GROUPS_MAX 64u
#define NOF_FABRIC_SWITCHES_MAX 8u

/* What the switch does with a frame for a group address, towards a port. */
enum nof_fabric_multicast {
    NOF_FABRIC_FLOOD = 0, /* every port gets it */
    NOF_FABRIC_SNOOP, /* those that have joined the group */
    NOF_FABRIC_DROP, /* none */
};

/* "flood", "snoop", "drop". */
static inline const char *nof_fabric_multicast_name(uint32_t multicast)
{
    static const char *const names[] = {"flood", "snoop", "drop"};
    return names[multicast <= NOF_FABRIC_DROP ? multicast : NOF_FABRIC_FLOOD];
}

/* Of such a name. 0, or -1: none of these. */
static inline int nof_fabric_multicast_parse(const char *text, uint32_t *multicast_out)
{
    for (uint32_t i = 0; i <= NOF_FABRIC_DROP; i++)
        if (strcmp(text, nof_fabric_multicast_name(i)) == 0) {
            *multicast_out = i;
            return 0;
        }
    return -1;
}

struct nof_fabric_link {
    uint64_t rate_bps; /* 0: unlimited; else at least NOF_FABRIC_RATE_LEAST */
    uint64_t delay_ns; /* propagation, one way, of this link alone; at most 10 s */
    uint32_t buffer_bytes; /* of the switch towards this port, drop tail; 0: no such bound */
    uint32_t loss_ppm; /* probabilities in parts per million, 0..NOF_FABRIC_PPM */
    uint32_t duplicate_ppm;
    uint32_t reorder_ppm;
    uint32_t corrupt_ppm;
    uint32_t multicast; /* enum nof_fabric_multicast */
    uint32_t reorder_ns; /* a reordered frame comes 1..reorder_ns later [100 us] */
};

/* 0 takes the default in brackets. */
struct nof_fabric_config {
    unsigned nports; /* 1..NOF_FABRIC_PORTS_MAX */
    unsigned cores; /* ports of a NIC, which nports is a multiple of; more than one only if shared [1] */
    bool shared; /* several threads */
    const uint8_t (*mac)[6]; /* nports of them, all different, none a group address */
    uint64_t seed; /* of the faults */
    uint32_t frame_bytes; /* room of a frame from the destination address on, 64..16384 [9232] */
    uint32_t pool_frames; /* frames that one port's core can hold [1024] */
    uint32_t queue_frames; /* frames that wait for one port's core, power of two [1024] */
    uint32_t tx_queue_bytes; /* what waits for a slow link at its sender [131072] */
    struct nof_fabric_link link; /* of every port at first */
    unsigned
        switches; /* 1..NOF_FABRIC_SWITCHES_MAX, at most nports, that have equal shares of the ports, in their order [1] */
    uint64_t trunk_rate_bps; /* of a link between two switches, each way; bounds as rate_bps */
    uint64_t trunk_delay_ns; /* of that; at most 10 s */
};

/* All only grow. Shared: the port's thread counts tx, rx and pool_empty; anybody drop_queue, atomically; the switch all else. */
struct nof_fabric_stats {
    uint64_t tx_frames; /* taken from the core of this port */
    uint64_t tx_bytes;
    uint64_t tx_busy; /* frames not taken: the link's queue was full */
    uint64_t rx_frames; /* given to the core of this port */
    uint64_t rx_bytes;
    uint64_t pool_empty; /* frame_alloc() had none */
    uint64_t drop_down; /* this port was down, as sender or receiver */
    uint64_t drop_unknown; /* sent to an address that nobody has */
    /* Of frames towards this port (drop_queue: or from it, for which the switch had no room): */
    uint64_t drop_partition;
    uint64_t drop_group; /* of groups that it has not joined, or because multicast is not passed on */
    uint64_t drop_buffer; /* switch buffer full */
    uint64_t drop_queue; /* not fetched in time, or too much was under way */
    uint64_t lost;
    uint64_t duplicated;
    uint64_t reordered;
    uint64_t corrupted;
};

extern const struct nof_port_ops nof_fabric_port_ops; /* of a fabric that is not shared */
extern const struct nof_port_ops nof_fabric_shared_port_ops;

/* NOF_EINVAL: out of bounds; NOF_ENOMEM: no memory. */
int nof_fabric_create(const struct nof_fabric_config *cfg, struct nof_fabric **fabric_out);
void nof_fabric_destroy(struct nof_fabric *f);

struct nof_fabric_port *nof_fabric_port(struct nof_fabric *f, unsigned index);
/* Those of its kind. */
const struct nof_port_ops *nof_fabric_ops(const struct nof_fabric *f);
/* Shared, before it is used: call wake(arg), from any thread, after frames were put where this port finds them. */
void nof_fabric_on_arrival(struct nof_fabric_port *p, void (*wake)(void *arg), void *arg);

/* Run what is due at `now_ns`. rx_burst() does so too; call it before cores send when time has
 * passed since the last call: send() takes the time of the latest call. (Shared: of this
 * port's latest rx_burst().) */
void nof_fabric_advance(struct nof_fabric *f, uint64_t now_ns);

/* When something will arrive next; 0 if a frame waits to be fetched; NOF_NO_DEADLINE: nothing is
 * under way. */
uint64_t nof_fabric_next_deadline(const struct nof_fabric *f);
/* The same for the thread of one port. */
uint64_t nof_fabric_port_deadline(const struct nof_fabric_port *p);
/* The same without the frames that wait already: when advance() must be called next. */
uint64_t nof_fabric_next_event(const struct nof_fabric *f);

/* Frames that wait for the core of this port; shared: whether anything does. */
unsigned nof_fabric_rx_ready(const struct nof_fabric_port *p);

/* Up to n frames, lent until nof_fabric_rx_done(). */
unsigned nof_fabric_rx_burst(struct nof_fabric_port *p, uint64_t now_ns, struct nof_frame **frames,
                             unsigned n);
void nof_fabric_rx_done(struct nof_fabric_port *p, struct nof_frame *const *frames, unsigned n);

/* NOF_EINVAL: out of bounds. Frames under way keep their time. */
int nof_fabric_set_link(struct nof_fabric *f, unsigned index, const struct nof_fabric_link *link);
struct nof_fabric_link nof_fabric_link(const struct nof_fabric *f, unsigned index);
/* Down: unplugged. What is on its way to or from the port is lost. Tell the core by nof_nic_link(). */
void nof_fabric_set_up(struct nof_fabric *f, unsigned index, bool up);
bool nof_fabric_is_up(const struct nof_fabric *f, unsigned index);
/* Partition: only ports of one group reach each other. All are in group 0 at first. */
void nof_fabric_set_group(struct nof_fabric *f, unsigned index, unsigned group);

const struct nof_fabric_stats *nof_fabric_stats(const struct nof_fabric *f, unsigned index);
/* Frames of this port's pool that nobody holds; equal to pool_frames when all came back. */
unsigned nof_fabric_pool_free(const struct nof_fabric *f, unsigned index);

#endif
