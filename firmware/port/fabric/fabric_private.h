/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fabric, inside: fabric.c owns ports, frames and the immediate path; fabric_link.c owns time and
 * faults; fabric_shared.c is what is different when each port has a thread of its own. */
#ifndef NOF_FABRIC_PRIVATE_H
#define NOF_FABRIC_PRIVATE_H

#include <string.h>

#include "port/fabric/fabric.h"
#include "port/handover.h"

/* A frame and its bytes: the bytes follow the slot, from a cache line on. */
struct fabric_slot {
    _Alignas(64) struct nof_frame frame; /* first: a frame is its slot */
    uint32_t refs;
    uint32_t reserved;
    struct nof_fabric_port *owner;
    void *next; /* slot in the owner's free list */
};

struct nof_fabric_port {
    struct nof_fabric *fabric;
    struct fabric_slot *free;
    struct fabric_slot **queue; /* frames that wait for the core */
    uint32_t head; /* free-running: next to fetch */
    uint32_t tail; /* free-running: next to fill */
    uint32_t frame_bytes;
    uint32_t nfree;
    uint64_t last_mac; /* destination of the latest frame, and whose it is: a guess for the next */
    struct nof_fabric_port *last_port;

    uint32_t group;
    uint32_t njoined;
    struct fabric_joined {
        uint64_t mac;
        uint32_t times;
    } joined[NOF_FABRIC_GROUPS_MAX];
    bool up;
    uint64_t tx_free_ns; /* when the link has sent what it was given */
    uint64_t out_free_ns; /* when the switch has sent what it holds for this port */
    struct nof_fabric_link link;
    struct nof_fabric_stats stats;
    void *pool;
    uint8_t *fresh; /* slots never used yet, nfresh of them */
    uint32_t nfresh;

    /* Of a shared fabric. What others read for each frame is on a line that nobody writes. */
    _Alignas(64) uint32_t index;
    struct nof_handover *in; /* in place of `queue` */
    void (*wake)(void *arg); /* its core, after something was put into `in`; NULL: nobody sleeps */
    void *wake_arg;
    _Alignas(64) void *returned; /* slots; crosses: freed by others, for `free` once that is empty */
    _Alignas(64) uint64_t now_ns; /* of this port's latest call */
    bool untold; /* of some of `mine` the switch must hear that they are left */
    uint32_t nmine; /* groups that its core has joined, or left untold (times 0); `joined` is the switch's */
    struct fabric_joined mine[NOF_FABRIC_GROUPS_MAX];
};

enum fabric_hop { FABRIC_HOP_SWITCH, FABRIC_HOP_TRUNK, FABRIC_HOP_PORT };
/* What ports of a shared fabric tell the switch beside frames. */
enum fabric_told { FABRIC_TOLD_FRAME, FABRIC_TOLD_JOIN, FABRIC_TOLD_LEAVE };

struct fabric_event {
    uint64_t when_ns;
    uint64_t order; /* ties: first come, first served */
    struct fabric_slot *slot; /* holds one reference */
    uint16_t src;
    uint16_t dst; /* HOP_PORT: the port; HOP_TRUNK: the switch */
    uint32_t hop;
};

struct nof_fabric {
    bool plain; /* no rate, delay, fault, partition or down port anywhere, nor shared */
    bool open; /* crosses: the same of a shared one */
    bool shared;
    uint32_t cores; /* ports of a NIC, which reach each other past the switch */
    uint32_t nports;
    uint32_t queue_mask;
    uint32_t mac_mask;
    uint32_t tx_queue_bytes;
    uint64_t *mac_key; /* open addressing; 0 is free (no port has address 0) */
    uint16_t *mac_port;
    uint32_t nswitches;
    uint64_t trunk_rate_bps, trunk_delay_ns;
    struct nof_fabric_port *port; /* nports + 1: the last owns the copies for corruption */
    struct nof_handover
        *to_switch; /* shared: what the ports send through it; read by who runs it, the first port's core */

    /* The switch's own, which it writes for each frame; what is above all ports read. */
    _Alignas(64) uint64_t now_ns;
    uint64_t trunk_free_ns[NOF_FABRIC_SWITCHES_MAX]
                          [NOF_FABRIC_SWITCHES_MAX]; /* when it has sent what it holds, from, to */
    struct fabric_event *heap; /* binary, by (when, order) */
    uint32_t nevents;
    uint32_t max_events;
    uint64_t order;
    uint64_t random;
};

#define FABRIC_NO_PORT UINT32_MAX

/* Any one-to-one number of the six bytes; in two loads. */
static inline uint64_t fabric_mac_load(const uint8_t *p)
{
    uint32_t first;
    uint16_t last;
    memcpy(&first, p, sizeof(first));
    memcpy(&last, p + 4, sizeof(last));
    return (uint64_t)last << 32 | first;
}

/* Port that has this address, or FABRIC_NO_PORT. */
static inline uint32_t fabric_mac_find(const struct nof_fabric *f, uint64_t mac)
{
    uint32_t i = (uint32_t)((mac * 0x9e3779b97f4a7c15ull) >> 40) & f->mac_mask;
    while (f->mac_key[i] != mac) {
        if (f->mac_key[i] == 0)
            return FABRIC_NO_PORT;
        i = (i + 1) & f->mac_mask;
    }
    return f->mac_port[i];
}

/* Where one thread has all ports. */
static inline void fabric_unref_alone(struct fabric_slot *s)
{
    if (--s->refs == 0) {
        struct nof_fabric_port *owner = s->owner;
        s->next = owner->free;
        owner->free = s;
        owner->nfree++;
    }
}

/* Puts the frame into the port's queue; takes over the caller's reference. */
static inline void fabric_deliver_alone(struct nof_fabric_port *p, struct fabric_slot *s)
{
    uint32_t mask = p->fabric->queue_mask;
    if (p->tail - p->head > mask) {
        p->stats.drop_queue++;
        fabric_unref_alone(s);
        return;
    }
    p->queue[p->tail++ & mask] = s;
}

/* fabric_shared.c: the same where each port has its own, and `free` of frames that have come back */
void fabric_unref_shared(struct fabric_slot *s);
void fabric_deliver_shared(struct nof_fabric_port *p, struct fabric_slot *s);
struct fabric_slot *fabric_take_returned(struct nof_fabric_port *p);
/* What the ports have told the switch since. */
void fabric_hear(struct nof_fabric *f);
/* Port's thread: what the ring to the switch had no room for. */
void fabric_tell_left(struct nof_fabric_port *p);

/* In either kind. */
static inline void fabric_ref(const struct nof_fabric *f, struct fabric_slot *s)
{
    if (f->shared)
        (void)__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
    else
        s->refs++;
}

/* drop_queue: of a shared fabric senders count it, and the switch. */
static inline void fabric_count_drop(const struct nof_fabric *f, struct nof_fabric_port *p)
{
    if (f->shared)
        (void)__atomic_fetch_add(&p->stats.drop_queue, 1, __ATOMIC_RELAXED);
    else
        p->stats.drop_queue++;
}

static inline void fabric_unref(const struct nof_fabric *f, struct fabric_slot *s)
{
    if (f->shared)
        fabric_unref_shared(s);
    else
        fabric_unref_alone(s);
}

static inline void fabric_deliver(struct nof_fabric_port *p, struct fabric_slot *s)
{
    if (p->fabric->shared)
        fabric_deliver_shared(p, s);
    else
        fabric_deliver_alone(p, s);
}

/* fabric.c: the entry of a list of n groups for a group address; n: none */
uint32_t fabric_joined_find(const struct fabric_joined *joined, uint32_t n, uint64_t mac);
/* NOF_OK: this is the first, or was the last, of its kind if *changed_out; NOF_ENOMEM */
int fabric_joined_count(struct fabric_joined *joined, uint32_t *n, uint64_t mac, bool join,
                        bool *changed_out);
struct nof_frame *fabric_frame_alloc(void *port, uint32_t len_bytes);

/* fabric_link.c */
/* The frame goes into the port's link at now_ns: when that is free again, and when the frame is in the switch. False: the
 * link's queue is full. */
bool fabric_link_take(struct nof_fabric_port *p, uint32_t len_bytes, uint64_t now_ns, uint64_t *free_ns_out,
                      uint64_t *when_ns_out);
/* False, and the frame is the caller's still, when too much is under way. */
bool fabric_event_push(struct nof_fabric *f, struct fabric_event event);
unsigned fabric_send_slow(struct nof_fabric_port *p, struct nof_frame *const *frames, unsigned n);
void fabric_run(struct nof_fabric *f);
struct fabric_slot *fabric_copy(struct nof_fabric *f, const struct fabric_slot *s);

#endif
