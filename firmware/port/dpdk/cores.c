/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A port with several cores, which are threads (docs/decisions/0046):
 *
 *   device's queue --- its core ---+--- port names this core ---> here
 *                                  +--- another one ------------> `in` of that one
 *   a core --- to our own address ------------------------------> `in` of the core that the port names
 *          +-- the device has a queue for it -------------------> device
 *          +-- it has none ------> its own `out` ---> a core that has one, of each in turn -----> device
 *
 * Nothing is shared but rings (port/handover.h) and frames that wait in them. A pool is its core's alone: what others let
 * go comes back by `returned`, and what one sends for another it copies, for drivers free what they have sent. Full:
 * `in` drops the frame and counts it, since one core that is slow must not hold up the others; `out` takes no more.
 *
 * Budget per frame beside that of queue.c: a look at its port; of one that changes cores a push, a pop, and the way back. */
#include "port/dpdk/port_private.h"

#include <string.h>

#include <rte_malloc.h>

#include "base/bytes.h"
#include "nof/status.h"

#define SLOTS_MOST 1024u
#define SLOTS_OF_ALL 4096u /* a pool has so many more frames, which may all wait in others' rings */

#define ETH_BYTES 14u
#define VLAN_BYTES 4u
#define IP_UDP_BYTES 28u
#define IP_VERSION_IHL 0x45u
#define PROTO_UDP 17u

uint32_t nof_dpdk_cores_slots(unsigned ncores)
{
    uint32_t slots = SLOTS_MOST;

    while (slots * ncores > SLOTS_OF_ALL)
        slots /= 2;
    return ncores > 1 ? slots : 0;
}

static void count(struct nof_dpdk_queue *q, enum nof_dpdk_counter counter)
{
    __atomic_store_n(&q->counters[counter], q->counters[counter] + 1, __ATOMIC_RELAXED);
}

/* Who lets go last gives it back. */
static void let_go(const struct nof_dpdk_queue *q, struct rte_mbuf *m)
{
    struct nof_dpdk_priv *priv = rte_mbuf_to_priv(m);

    if (__atomic_sub_fetch(&m->refcnt, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    rte_mbuf_refcnt_set(m, 1);
    if (priv->owner == q)
        rte_mbuf_raw_free(m);
    else
        nof_handback_push(&priv->owner->returned, m, &priv->next);
}

static void collect(struct nof_dpdk_queue *q)
{
    struct rte_mbuf *m = nof_handback_take(&q->returned);

    while (m != NULL) {
        struct rte_mbuf *next = ((struct nof_dpdk_priv *)rte_mbuf_to_priv(m))->next;

        rte_mbuf_raw_free(m);
        m = next;
    }
}

static struct nof_frame *frame_alloc(void *port, uint32_t len_bytes)
{
    struct nof_frame *frame = nof_dpdk_frame_take(port, len_bytes);

    if (frame != NULL)
        return frame;
    collect(port);
    return nof_dpdk_frame_alloc(port, len_bytes);
}

static void frame_free(void *port, struct nof_frame *frame)
{
    let_go(port, nof_dpdk_mbuf(frame));
}

/* The core that the frame is for; the one that asks, of what is for none. */
static unsigned core_of(const struct nof_dpdk_queue *q, const struct nof_frame *frame)
{
    const uint8_t *ip = frame->data + ETH_BYTES;
    uint32_t left = frame->len_bytes - ETH_BYTES;
    unsigned core;

    if (frame->len_bytes < ETH_BYTES + VLAN_BYTES + IP_UDP_BYTES)
        return q->index;
    if (nof_get_be16(ip - 2) == RTE_ETHER_TYPE_VLAN) {
        ip += VLAN_BYTES;
        left -= VLAN_BYTES;
    }
    if (left < IP_UDP_BYTES || nof_get_be16(ip - 2) != RTE_ETHER_TYPE_IPV4 || ip[0] != IP_VERSION_IHL ||
        ip[9] != PROTO_UDP)
        return q->index;
    core = (uint16_t)(nof_get_be16(ip + 22) - q->port->udp_port);
    return core < q->port->info.ncores ? core : q->index;
}

static void tell(const struct nof_dpdk_port *port, uint64_t cores)
{
    while (cores != 0) {
        const struct nof_dpdk_queue *to = &port->queues[__builtin_ctzll(cores)];

        cores &= cores - 1;
        if (to->wake != NULL)
            to->wake(to->wake_arg);
    }
}

/* With the caller's reference. Returns the core as a bit, if it is to be told. */
static uint64_t give(struct nof_dpdk_queue *q, unsigned core, struct nof_frame *frame)
{
    if (nof_handover_push(q->port->queues[core].in, &(struct nof_handover_item){.what = frame})) {
        count(q, NOF_DPDK_HANDED);
        return UINT64_C(1) << core;
    }
    count(q, NOF_DPDK_DROP_QUEUE);
    let_go(q, nof_dpdk_mbuf(frame));
    return 0;
}

/* Of frames from the device; returns how many are this core's, which are the first then. */
static unsigned hand_over(struct nof_dpdk_queue *q, struct nof_frame **frames, unsigned n)
{
    unsigned kept = 0;
    uint64_t told = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned core = core_of(q, frames[i]);

        if (core == q->index)
            frames[kept++] = frames[i];
        else
            told |= give(q, core, frames[i]);
    }
    tell(q->port, told);
    q->carried += n - kept;
    return kept;
}

static unsigned take_over(struct nof_dpdk_queue *q, struct nof_frame **frames, unsigned max)
{
    struct nof_handover_item item;
    unsigned n = 0;

    while (n < max && nof_handover_pop(q->in, &item))
        frames[n++] = item.what;
    return n;
}

/* Half of a burst is the others', so that neither of the two waits for long. */
static unsigned rx(struct nof_dpdk_queue *q, struct nof_frame **frames, unsigned max)
{
    unsigned n;

    collect(q);
    if (!q->served)
        return take_over(q, frames, max);
    n = take_over(q, frames, (max + 1) / 2);
    return n + hand_over(q, frames + n, nof_dpdk_device_rx(q, frames + n, max - n));
}

static void rx_done(struct nof_dpdk_queue *q, struct nof_frame *const *frames, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        let_go(q, nof_dpdk_mbuf(frames[i]));
}

static bool send_by_other(struct nof_dpdk_queue *q, struct nof_frame *frame)
{
    rte_mbuf_refcnt_update(nof_dpdk_mbuf(frame), 1);
    if (nof_handover_push(q->out, &(struct nof_handover_item){.what = frame})) {
        count(q, NOF_DPDK_SENT_BY_OTHER);
        return true;
    }
    let_go(q, nof_dpdk_mbuf(frame));
    return false;
}

static void say_busy(struct nof_dpdk_queue *q, bool busy)
{
    if (q->busy != busy)
        __atomic_store_n(&q->busy, busy, __ATOMIC_RELAXED);
}

bool nof_dpdk_queue_quiet(struct nof_dpdk_queue *q, bool quiet)
{
    const struct nof_dpdk_port *port = q->port;

    say_busy(q, !quiet);
    for (unsigned i = 0; i < port->info.ncores && quiet; i++)
        quiet = !__atomic_load_n(&port->queues[i].busy, __ATOMIC_RELAXED);
    return quiet;
}

static unsigned send_frames(void *port, struct nof_frame *const *frames, unsigned n)
{
    struct nof_dpdk_queue *q = port;
    const uint8_t *mac = q->port->info.mac;
    uint64_t told = 0;
    unsigned i;

    if (q->gone)
        return n; /* lost */
    say_busy(q, true);
    for (i = 0; i < n; i++) {
        if (memcmp(frames[i]->data, mac, sizeof(q->port->info.mac)) == 0) {
            rte_mbuf_refcnt_update(nof_dpdk_mbuf(frames[i]), 1);
            told |= give(q, core_of(q, frames[i]), frames[i]);
        } else if (q->sender == NULL) {
            if (!nof_dpdk_device_send(q, frames[i]))
                break;
        } else {
            if (!send_by_other(q, frames[i]))
                break;
            told |= UINT64_C(1) << q->sender->index;
        }
    }
    tell(q->port, told);
    return i;
}

const struct nof_port_ops nof_dpdk_cores_port_ops = {
    .frame_alloc = frame_alloc,
    .frame_free = frame_free,
    .send = send_frames,
    .group = nof_dpdk_queue_group,
    .conn = nof_dpdk_queue_conn,
};

/* The next in turn of those whose frames wait, so that one that sends in bulk does not hold up the others'
 * acknowledgements. NULL: none waits. */
static struct nof_handover *next_out(struct nof_dpdk_queue *q)
{
    const struct nof_dpdk_port *port = q->port;

    for (unsigned i = 0; i < q->nsenders; i++) {
        struct nof_handover *out = port->queues[q->turn_of].out;

        q->turn_of += port->info.nqueues;
        if (q->turn_of >= port->info.ncores)
            q->turn_of = q->index + port->info.nqueues;
        if (nof_handover_waits(out))
            return out;
    }
    return NULL;
}

/* A copy, for the driver frees it by this thread. False: nothing waits, or there is no frame. */
static bool send_for_other(struct nof_dpdk_queue *q)
{
    struct nof_handover *out = next_out(q);
    struct nof_frame *ours = out != NULL ? frame_alloc(q, 0) : NULL;
    const struct nof_frame *theirs;
    struct nof_handover_item item;

    if (ours == NULL || !nof_handover_pop(out, &item))
        return false;
    theirs = item.what;
    ours->len_bytes = theirs->len_bytes;
    memcpy(ours->data, theirs->data, theirs->len_bytes);
    (void)nof_dpdk_device_send(q, ours);
    let_go(q, nof_dpdk_mbuf(item.what));
    let_go(q, nof_dpdk_mbuf(ours));
    return true;
}

static unsigned flush(struct nof_dpdk_queue *q, uint64_t now_ns)
{
    unsigned carried;

    for (unsigned left = SLOTS_MOST; left > 0 && nof_dpdk_device_room(q) && send_for_other(q); left--)
        q->carried++;
    if (q->served)
        nof_dpdk_device_flush(q, now_ns);
    carried = q->carried;
    q->carried = 0;
    return carried;
}

static int can_sleep(struct nof_dpdk_queue *q)
{
    const struct nof_dpdk_port *port = q->port;

    if (nof_handover_waits(q->in))
        return 0;
    for (unsigned i = q->index + port->info.nqueues; q->nsenders > 0 && i < port->info.ncores;
         i += port->info.nqueues)
        if (nof_handover_waits(port->queues[i].out))
            return 0;
    return q->served ? nof_dpdk_device_sleep(q) : 1;
}

const struct nof_dpdk_turn nof_dpdk_turn_cores = {
    .rx = rx,
    .rx_done = rx_done,
    .flush = flush,
    .sleep = can_sleep,
};

void nof_dpdk_queue_on_arrival(struct nof_dpdk_queue *q, void (*wake)(void *arg), void *arg)
{
    q->wake = wake;
    q->wake_arg = arg;
}

static struct nof_handover *new_ring(const struct nof_dpdk_port *port)
{
    uint32_t slots = nof_dpdk_cores_slots(port->info.ncores);
    struct nof_handover *ring =
        rte_malloc_socket("nof_handover", nof_handover_bytes(slots), RTE_CACHE_LINE_SIZE, port->info.socket);

    if (ring != NULL)
        nof_handover_init(ring, slots);
    return ring;
}

int nof_dpdk_cores_open(struct nof_dpdk_port *port)
{
    unsigned nqueues = port->info.nqueues;

    for (unsigned i = 0; i < port->info.ncores; i++) {
        struct nof_dpdk_queue *q = &port->queues[i];

        q->turn = &nof_dpdk_turn_cores;
        q->in = new_ring(port);
        if (q->in == NULL)
            return NOF_ENOMEM;
        if (q->served)
            continue;
        q->out = new_ring(port);
        if (q->out == NULL)
            return NOF_ENOMEM;
        q->sender = &port->queues[i % nqueues];
        if (q->sender->nsenders++ == 0)
            q->sender->turn_of = i;
    }
    return NOF_OK;
}

static void empty(const struct nof_dpdk_queue *q, struct nof_handover *ring)
{
    struct nof_handover_item item;

    while (ring != NULL && nof_handover_pop(ring, &item))
        let_go(q, nof_dpdk_mbuf(item.what));
    rte_free(ring);
}

void nof_dpdk_cores_close(struct nof_dpdk_port *port)
{
    for (unsigned i = 0; i < port->info.ncores; i++) {
        empty(&port->queues[i], port->queues[i].in);
        empty(&port->queues[i], port->queues[i].out);
    }
    for (unsigned i = 0; i < port->info.ncores; i++)
        collect(&port->queues[i]);
}

uint64_t nof_dpdk_queue_counter(const struct nof_dpdk_queue *q, enum nof_dpdk_counter counter)
{
    return __atomic_load_n(&q->counters[counter], __ATOMIC_RELAXED);
}

const char *nof_dpdk_counter_name(enum nof_dpdk_counter counter)
{
    static const char *const names[NOF_DPDK_COUNTERS] = {
        [NOF_DPDK_HANDED] = "cores.handed",
        [NOF_DPDK_DROP_QUEUE] = "cores.drop_queue",
        [NOF_DPDK_SENT_BY_OTHER] = "cores.sent_by_other",
    };

    return counter < NOF_DPDK_COUNTERS ? names[counter] : NULL;
}
