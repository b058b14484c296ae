/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Time and faults of the fabric: what a frame goes through when a link has a rate, a delay or a
 * fault.
 *
 *   send() -> wait for the sender's link -> its delay -> switch: partition, loss, buffer, wait for
 *   the receiver's link, its delay, reordering -> the receiver's queue
 *
 * From switch to switch a frame waits for the link between them and takes its delay.
 *
 * Waiting needs no queue of its own: a link is free again at a known time, and what lies before
 * that time is the backlog. Frames under way are events in one heap. */
#include "port/fabric/fabric_private.h"

#include "nof/core.h"

/* SplitMix64: one word of state, any seed is good. */
static uint64_t random_next(struct nof_fabric *f)
{
    uint64_t z = f->random += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static bool random_hit(struct nof_fabric *f, uint32_t ppm)
{
    return ppm != 0 && random_next(f) % NOF_FABRIC_PPM < ppm;
}

static bool event_before(const struct fabric_event *a, const struct fabric_event *b)
{
    return a->when_ns != b->when_ns ? a->when_ns < b->when_ns : a->order < b->order;
}

bool fabric_event_push(struct nof_fabric *f, struct fabric_event event)
{
    if (f->nevents == f->max_events)
        return false;
    event.order = f->order++;
    uint32_t i = f->nevents++;
    while (i > 0) {
        uint32_t up = (i - 1) / 2;
        if (!event_before(&event, &f->heap[up]))
            break;
        f->heap[i] = f->heap[up];
        i = up;
    }
    f->heap[i] = event;
    return true;
}

static struct fabric_event event_pop(struct nof_fabric *f)
{
    struct fabric_event first = f->heap[0];
    struct fabric_event last = f->heap[--f->nevents];
    uint32_t i = 0;
    for (;;) {
        uint32_t down = 2 * i + 1;
        if (down >= f->nevents)
            break;
        if (down + 1 < f->nevents && event_before(&f->heap[down + 1], &f->heap[down]))
            down++;
        if (!event_before(&f->heap[down], &last))
            break;
        f->heap[i] = f->heap[down];
        i = down;
    }
    f->heap[i] = last;
    return first;
}

/* The largest frame takes 1.3e14 bit-nanoseconds: no overflow. */
static uint64_t wire_ns(uint64_t bytes, uint64_t rate_bps)
{
    return bytes * 8 * 1000000000ull / rate_bps;
}

static uint64_t backlog_bytes(uint64_t free_ns, uint64_t now_ns, uint64_t rate_bps)
{
    if (free_ns <= now_ns)
        return 0;
    /* In two steps: hours of backlog at 100 Gbit/s still fit. */
    uint64_t ns = free_ns - now_ns;
    return ns / 1000 * (rate_bps / 1000) / 8000 + ns % 1000 * (rate_bps / 1000) / 8000000;
}

struct fabric_slot *fabric_copy(struct nof_fabric *f, const struct fabric_slot *s)
{
    struct nof_fabric_port *spare = &f->port[f->nports];
    struct nof_frame *copy = nof_fabric_port_ops.frame_alloc(spare, s->frame.len_bytes);
    if (copy == NULL)
        return NULL;
    memcpy(copy->data, s->frame.data, s->frame.len_bytes);
    return (struct fabric_slot *)(void *)copy;
}

/* Takes over the caller's reference; answers a damaged copy, or NULL when there is no room for one
 * (then the frame is lost, which is a fault as good as any). */
static struct fabric_slot *corrupt(struct nof_fabric *f, struct fabric_slot *s)
{
    struct fabric_slot *copy = fabric_copy(f, s);
    fabric_unref(f, s);
    if (copy == NULL)
        return NULL;
    uint32_t len = copy->frame.len_bytes;
    if (len == 0)
        return copy;
    if (random_next(f) % 8 == 0) {
        copy->frame.len_bytes = (uint32_t)(random_next(f) % len);
        return copy;
    }
    /* Bits of four bytes side by side: a burst within 32 bits, which CRC32C always finds. */
    uint32_t at = (uint32_t)(random_next(f) % len);
    uint64_t bits = random_next(f);
    copy->frame.data[at] ^= (uint8_t)(bits | 1);
    for (uint32_t i = 1; i < 4 && at + i < len; i++)
        copy->frame.data[at + i] ^= (uint8_t)((bits >> 8 * i) & (bits >> (32 + 8 * i)));
    return copy;
}

/* The frame reaches port `dst` at `when_ns`. Takes over the caller's reference. */
static void arrive(struct nof_fabric *f, uint16_t src, uint16_t dst, struct fabric_slot *s, uint64_t when_ns)
{
    struct nof_fabric_port *p = &f->port[dst];
    if (when_ns <= f->now_ns) {
        fabric_deliver(p, s);
        return;
    }
    struct fabric_event event = {
        .when_ns = when_ns, .slot = s, .src = src, .dst = dst, .hop = FABRIC_HOP_PORT};
    if (!fabric_event_push(f, event)) {
        fabric_count_drop(f, p);
        fabric_unref(f, s);
    }
}

/* One copy of the frame leaves the switch for port `dst`. Takes over the caller's reference. */
static void transmit(struct nof_fabric *f, uint16_t src, uint16_t dst, struct fabric_slot *s, uint64_t at_ns)
{
    struct nof_fabric_port *p = &f->port[dst];
    const struct nof_fabric_link *l = &p->link;
    uint64_t when_ns = at_ns;
    if (l->rate_bps != 0) {
        uint32_t len = s->frame.len_bytes;
        if (l->buffer_bytes != 0 &&
            backlog_bytes(p->out_free_ns, at_ns, l->rate_bps) + len > l->buffer_bytes) {
            p->stats.drop_buffer++;
            fabric_unref(f, s);
            return;
        }
        uint64_t start_ns = p->out_free_ns > at_ns ? p->out_free_ns : at_ns;
        p->out_free_ns = start_ns + wire_ns(len, l->rate_bps);
        when_ns = p->out_free_ns;
    }
    when_ns += l->delay_ns;
    if (random_hit(f, l->reorder_ppm)) {
        p->stats.reordered++;
        when_ns += 1 + random_next(f) % l->reorder_ns;
    }
    arrive(f, src, dst, s, when_ns);
}

/* The frame is in the switch and wants to port `dst`. Takes over the caller's reference. */
static void forward(struct nof_fabric *f, uint16_t src, uint16_t dst, struct fabric_slot *s, uint64_t at_ns)
{
    struct nof_fabric_port *p = &f->port[dst];
    const struct nof_fabric_link *l = &p->link;
    uint64_t *drop = NULL;
    if (!p->up)
        drop = &p->stats.drop_down;
    else if (p->group != f->port[src].group)
        drop = &p->stats.drop_partition;
    else if (random_hit(f, l->loss_ppm))
        drop = &p->stats.lost;
    if (drop != NULL) {
        (*drop)++;
        fabric_unref(f, s);
        return;
    }
    if (random_hit(f, l->duplicate_ppm)) {
        p->stats.duplicated++;
        fabric_ref(f, s);
        transmit(f, src, dst, s, at_ns);
    }
    if (random_hit(f, l->corrupt_ppm)) {
        p->stats.corrupted++;
        s = corrupt(f, s);
        if (s == NULL)
            return;
    }
    transmit(f, src, dst, s, at_ns);
}

/* Does the switch pass a frame for this group address on to the port? */
static bool wants_group(const struct nof_fabric_port *p, uint64_t mac)
{
    return p->link.multicast == NOF_FABRIC_FLOOD ||
           (p->link.multicast == NOF_FABRIC_SNOOP &&
            fabric_joined_find(p->joined, p->njoined, mac) < p->njoined);
}

static uint32_t switch_of(const struct nof_fabric *f, uint32_t port)
{
    return port * f->nswitches / f->nports;
}

/* The frame goes on to another switch. Takes over the caller's reference. */
static void cross(struct nof_fabric *f, uint16_t src, uint32_t from, uint32_t to, struct fabric_slot *s,
                  uint64_t at_ns)
{
    uint64_t *free_ns = &f->trunk_free_ns[from][to], when_ns = at_ns;
    if (f->trunk_rate_bps != 0)
        when_ns = *free_ns =
            (*free_ns > at_ns ? *free_ns : at_ns) + wire_ns(s->frame.len_bytes, f->trunk_rate_bps);
    struct fabric_event event = {.when_ns = when_ns + f->trunk_delay_ns,
                                 .slot = s,
                                 .src = src,
                                 .dst = (uint16_t)to,
                                 .hop = FABRIC_HOP_TRUNK};
    if (!fabric_event_push(f, event)) {
        fabric_count_drop(f, &f->port[src]);
        fabric_unref(f, s);
    }
}

/* To all ports of a switch that want it. */
static void spread(struct nof_fabric *f, uint16_t src, uint32_t at, struct fabric_slot *s, uint64_t at_ns)
{
    uint64_t mac = fabric_mac_load(s->frame.data);
    for (uint32_t i = 0; i < f->nports; i++) {
        if (i == src || switch_of(f, i) != at)
            continue;
        if (!wants_group(&f->port[i], mac)) {
            f->port[i].stats.drop_group++;
            continue;
        }
        fabric_ref(f, s);
        forward(f, src, (uint16_t)i, s, at_ns);
    }
}

static bool anybody_wants(const struct nof_fabric *f, uint32_t at, uint64_t mac)
{
    for (uint32_t i = 0; i < f->nports; i++)
        if (switch_of(f, i) == at && wants_group(&f->port[i], mac))
            return true;
    return false;
}

/* The frame is in this switch. Takes over the caller's reference. */
static void in_switch(struct nof_fabric *f, uint16_t src, uint32_t at, struct fabric_slot *s, uint64_t at_ns)
{
    uint32_t home = switch_of(f, src);
    if ((s->frame.data[0] & 1) != 0) {
        spread(f, src, at, s, at_ns);
        for (uint32_t to = 0; at == home && to < f->nswitches; to++) {
            if (to == home || !anybody_wants(f, to, fabric_mac_load(s->frame.data)))
                continue;
            fabric_ref(f, s);
            cross(f, src, home, to, s, at_ns);
        }
        fabric_unref(f, s);
        return;
    }
    uint32_t dst = fabric_mac_find(f, fabric_mac_load(s->frame.data));
    if (dst == FABRIC_NO_PORT) {
        f->port[src].stats.drop_unknown++;
        fabric_unref(f, s);
    } else if (switch_of(f, dst) != at) {
        cross(f, src, at, switch_of(f, dst), s, at_ns);
    } else {
        forward(f, src, (uint16_t)dst, s, at_ns);
    }
}

/* The frame has come through its sender's link. Takes over the caller's reference. */
static void at_switch(struct nof_fabric *f, uint16_t src, struct fabric_slot *s, uint64_t at_ns)
{
    if (f->port[src].up) {
        in_switch(f, src, switch_of(f, src), s, at_ns);
        return;
    }
    f->port[src].stats.drop_down++;
    fabric_unref(f, s);
}

/* Control may change a link that its port sends by, in a shared fabric. */
static uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

bool fabric_link_take(struct nof_fabric_port *p, uint32_t len_bytes, uint64_t now_ns, uint64_t *free_ns_out,
                      uint64_t *when_ns_out)
{
    uint64_t rate_bps = load(&p->link.rate_bps);
    uint64_t when_ns = now_ns;
    if (rate_bps != 0) {
        uint64_t waiting = backlog_bytes(p->tx_free_ns, now_ns, rate_bps);
        if (waiting + len_bytes > p->fabric->tx_queue_bytes && waiting > 0)
            return false;
        uint64_t start_ns = p->tx_free_ns > now_ns ? p->tx_free_ns : now_ns;
        when_ns = start_ns + wire_ns(len_bytes, rate_bps);
    }
    *free_ns_out = when_ns;
    *when_ns_out = when_ns + load(&p->link.delay_ns);
    return true;
}

/* False: the link's queue is full. */
static bool send_one(struct nof_fabric *f, struct nof_fabric_port *p, struct fabric_slot *s)
{
    uint64_t free_ns, when_ns;
    if (!fabric_link_take(p, s->frame.len_bytes, f->now_ns, &free_ns, &when_ns))
        return false;
    if (when_ns > f->now_ns) {
        struct fabric_event event = {
            .when_ns = when_ns, .slot = s, .src = (uint16_t)p->index, .hop = FABRIC_HOP_SWITCH};
        if (!fabric_event_push(f, event))
            return false;
        fabric_ref(f, s);
    } else {
        fabric_ref(f, s);
        at_switch(f, (uint16_t)p->index, s, f->now_ns);
    }
    p->tx_free_ns = free_ns;
    return true;
}

unsigned fabric_send_slow(struct nof_fabric_port *p, struct nof_frame *const *frames, unsigned n)
{
    struct nof_fabric *f = p->fabric;
    for (unsigned i = 0; i < n; i++) {
        struct fabric_slot *s = (struct fabric_slot *)(void *)frames[i];
        if (!send_one(f, p, s)) {
            p->stats.tx_busy += n - i;
            return i;
        }
        p->stats.tx_frames++;
        p->stats.tx_bytes += s->frame.len_bytes;
    }
    return n;
}

void fabric_run(struct nof_fabric *f)
{
    if (f->shared)
        fabric_hear(f);
    while (f->nevents > 0 && f->heap[0].when_ns <= f->now_ns) {
        struct fabric_event e = event_pop(f);
        if (e.hop == FABRIC_HOP_SWITCH) {
            at_switch(f, e.src, e.slot, e.when_ns);
            continue;
        }
        if (e.hop == FABRIC_HOP_TRUNK) {
            in_switch(f, e.src, e.dst, e.slot, e.when_ns);
            continue;
        }
        struct nof_fabric_port *p = &f->port[e.dst];
        if (p->up) {
            fabric_deliver(p, e.slot);
        } else {
            p->stats.drop_down++;
            fabric_unref(f, e.slot);
        }
    }
}
