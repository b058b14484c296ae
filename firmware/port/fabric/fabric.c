/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports, frames and the immediate path of the fabric.
 *
 * Hot path (embedded default: no rate, no delay): alloc, send, rx_burst, rx_done. Budget for all
 * four together: 75 instructions a frame, two cache lines of the frame's slot and queue entry; no
 * lock, no allocation, no system call, no division. */
#include "port/fabric/fabric_private.h"

#include <stdlib.h>

#include "nof/core.h"
#include "nof/status.h"

#define DELAY_MAX_NS 10000000000ull
/* Fetched at once from another thread. What is fetched together is acknowledged together: as much as a window holds, and its
 * sender stands meanwhile, and its receiver afterwards, with a sleep each time (docs/decisions/0046). */
#define SHARED_BURST 16u

static size_t fabric_slot_bytes(uint32_t frame_bytes)
{
    return (sizeof(struct fabric_slot) + frame_bytes + 63u) & ~(size_t)63;
}

/* Slots that others gave back, in a shared fabric; else one that was never used: slots are touched when they are first
 * needed, and a large pool costs memory only if it is used. */
static struct fabric_slot *fresh_slot(struct nof_fabric_port *p)
{
    if (p->fabric->shared && (p->free = fabric_take_returned(p)) != NULL)
        return p->free;
    if (p->nfresh == 0)
        return NULL;
    struct fabric_slot *s = (struct fabric_slot *)(void *)p->fresh;
    memset(s, 0, sizeof(*s));
    s->owner = p;
    p->fresh += fabric_slot_bytes(p->frame_bytes);
    p->nfresh--;
    p->free = s;
    return s;
}

struct nof_frame *fabric_frame_alloc(void *port, uint32_t len_bytes)
{
    struct nof_fabric_port *p = port;
    struct fabric_slot *s = p->free != NULL ? p->free : fresh_slot(p);
    if (s == NULL || len_bytes > p->frame_bytes) {
        p->stats.pool_empty++;
        return NULL;
    }
    p->free = s->next;
    p->nfree--;
    s->refs = 1;
    s->frame.data = (uint8_t *)(s + 1);
    s->frame.len_bytes = len_bytes;
    s->frame.cap_bytes = p->frame_bytes;
    return &s->frame;
}

static void port_frame_free(void *port, struct nof_frame *frame)
{
    (void)port;
    fabric_unref_alone((struct fabric_slot *)(void *)frame);
}

static unsigned port_send(void *port, struct nof_frame *const *frames, unsigned n)
{
    struct nof_fabric_port *p = port;
    struct nof_fabric *f = p->fabric;
    if (!f->plain)
        return fabric_send_slow(p, frames, n);
    uint64_t bytes = 0;
    unsigned taken = 0;
    for (unsigned i = 0; i < n; i++) {
        struct fabric_slot *s = (struct fabric_slot *)(void *)frames[i];
        uint64_t mac = fabric_mac_load(s->frame.data);
        if (mac != p->last_mac) {
            uint32_t dst = fabric_mac_find(f, mac);
            if (dst == FABRIC_NO_PORT) {
                (void)fabric_send_slow(p, &frames[i], 1);
                continue;
            }
            p->last_mac = mac;
            p->last_port = &f->port[dst];
        }
        bytes += s->frame.len_bytes;
        taken++;
        s->refs++;
        fabric_deliver_alone(p->last_port, s);
    }
    p->stats.tx_frames += taken;
    p->stats.tx_bytes += bytes;
    return n;
}

uint32_t fabric_joined_find(const struct fabric_joined *joined, uint32_t n, uint64_t mac)
{
    uint32_t i = 0;
    while (i < n && joined[i].mac != mac)
        i++;
    return i;
}

int fabric_joined_count(struct fabric_joined *joined, uint32_t *n, uint64_t mac, bool join, bool *changed_out)
{
    uint32_t i = fabric_joined_find(joined, *n, mac);
    *changed_out = false;
    if (join) {
        if (i == NOF_FABRIC_GROUPS_MAX)
            return NOF_ENOMEM;
        if (i == *n)
            joined[(*n)++] = (struct fabric_joined){.mac = mac};
        *changed_out = ++joined[i].times == 1;
    } else if (i < *n && joined[i].times > 0 && --joined[i].times == 0) {
        joined[i] = joined[--*n];
        *changed_out = true;
    }
    return NOF_OK;
}

static int port_group(void *port, uint32_t ip4, const uint8_t mac[6], bool join)
{
    struct nof_fabric_port *p = port;
    bool changed;
    (void)ip4;
    return fabric_joined_count(p->joined, &p->njoined, fabric_mac_load(mac), join, &changed);
}

const struct nof_port_ops nof_fabric_port_ops = {
    .frame_alloc = fabric_frame_alloc,
    .frame_free = port_frame_free,
    .send = port_send,
    .group = port_group,
};

const struct nof_port_ops *nof_fabric_ops(const struct nof_fabric *f)
{
    return f->shared ? &nof_fabric_shared_port_ops : &nof_fabric_port_ops;
}

void nof_fabric_on_arrival(struct nof_fabric_port *p, void (*wake)(void *arg), void *arg)
{
    p->wake = wake;
    p->wake_arg = arg;
}

unsigned nof_fabric_rx_ready(const struct nof_fabric_port *p)
{
    if (!p->fabric->shared)
        return p->tail - p->head;
    return nof_handover_waits(p->in) || (p->index == 0 && nof_handover_waits(p->fabric->to_switch));
}

static unsigned fetch_shared(struct nof_fabric_port *p, uint64_t now_ns, struct nof_frame **frames,
                             unsigned n)
{
    struct nof_handover_item item;
    unsigned got = 0;
    p->now_ns = now_ns;
    n = n < SHARED_BURST ? n : SHARED_BURST;
    if (p->untold)
        fabric_tell_left(p);
    while (got < n && nof_handover_pop(p->in, &item))
        frames[got++] = &((struct fabric_slot *)item.what)->frame;
    return got;
}

static unsigned fetch(struct nof_fabric_port *p, struct nof_frame **frames, unsigned n)
{
    uint32_t ready = p->tail - p->head;
    if (n > ready)
        n = ready;
    for (unsigned i = 0; i < n; i++)
        frames[i] = &p->queue[p->head++ & p->fabric->queue_mask]->frame;
    return n;
}

unsigned nof_fabric_rx_burst(struct nof_fabric_port *p, uint64_t now_ns, struct nof_frame **frames,
                             unsigned n)
{
    struct nof_fabric *f = p->fabric;
    if (!f->shared || p->index == 0)
        nof_fabric_advance(f, now_ns);
    n = f->shared ? fetch_shared(p, now_ns, frames, n) : fetch(p, frames, n);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < n; i++)
        bytes += frames[i]->len_bytes;
    p->stats.rx_frames += n;
    p->stats.rx_bytes += bytes;
    return n;
}

void nof_fabric_rx_done(struct nof_fabric_port *p, struct nof_frame *const *frames, unsigned n)
{
    if (p->fabric->shared) {
        for (unsigned i = 0; i < n; i++)
            fabric_unref_shared((struct fabric_slot *)(void *)frames[i]);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        fabric_unref_alone((struct fabric_slot *)(void *)frames[i]);
}

void nof_fabric_advance(struct nof_fabric *f, uint64_t now_ns)
{
    f->now_ns = now_ns;
    if (f->nevents > 0 || f->shared)
        fabric_run(f);
}

uint64_t nof_fabric_next_deadline(const struct nof_fabric *f)
{
    for (uint32_t i = 0; i < f->nports; i++) {
        if (nof_fabric_rx_ready(&f->port[i]) != 0)
            return 0;
    }
    return nof_fabric_next_event(f);
}

uint64_t nof_fabric_port_deadline(const struct nof_fabric_port *p)
{
    if (!p->fabric->shared)
        return nof_fabric_next_deadline(p->fabric);
    if (nof_handover_waits(p->in))
        return 0;
    return p->index == 0 ? nof_fabric_next_event(p->fabric) : NOF_NO_DEADLINE;
}

uint64_t nof_fabric_next_event(const struct nof_fabric *f)
{
    if (f->shared && nof_handover_waits(f->to_switch))
        return 0;
    return f->nevents > 0 ? f->heap[0].when_ns : NOF_NO_DEADLINE;
}

struct nof_fabric_port *nof_fabric_port(struct nof_fabric *f, unsigned index)
{
    return &f->port[index];
}

static bool link_valid(const struct nof_fabric_link *l)
{
    return (l->rate_bps == 0 || l->rate_bps >= NOF_FABRIC_RATE_LEAST) && l->delay_ns <= DELAY_MAX_NS &&
           l->loss_ppm <= NOF_FABRIC_PPM && l->duplicate_ppm <= NOF_FABRIC_PPM &&
           l->reorder_ppm <= NOF_FABRIC_PPM && l->corrupt_ppm <= NOF_FABRIC_PPM &&
           l->multicast <= NOF_FABRIC_DROP;
}

static bool port_plain(const struct nof_fabric_port *p, uint32_t group)
{
    const struct nof_fabric_link *l = &p->link;
    return p->up && p->group == group && l->rate_bps == 0 && l->delay_ns == 0 && l->loss_ppm == 0 &&
           l->duplicate_ppm == 0 && l->reorder_ppm == 0 && l->corrupt_ppm == 0;
}

static void recompute_plain(struct nof_fabric *f)
{
    bool plain = f->nswitches == 1;
    for (uint32_t i = 0; i < f->nports; i++)
        plain = plain && port_plain(&f->port[i], f->port[0].group);
    f->plain = plain && !f->shared;
    __atomic_store_n(&f->open, plain, __ATOMIC_RELAXED);
}

static int pool_create(struct nof_fabric_port *p, uint32_t frames, uint32_t frame_bytes)
{
    uint8_t *pool = aligned_alloc(64, fabric_slot_bytes(frame_bytes) * frames);
    if (pool == NULL)
        return NOF_ENOMEM;
    p->pool = pool;
    p->frame_bytes = frame_bytes;
    p->fresh = pool;
    p->nfresh = frames;
    p->nfree = frames;
    return NOF_OK;
}

static int macs_create(struct nof_fabric *f, const uint8_t (*mac)[6])
{
    uint32_t slots = 8;
    while (slots < 4 * f->nports)
        slots *= 2;
    f->mac_mask = slots - 1;
    f->mac_key = calloc(slots, sizeof(*f->mac_key));
    f->mac_port = calloc(slots, sizeof(*f->mac_port));
    if (f->mac_key == NULL || f->mac_port == NULL)
        return NOF_ENOMEM;
    for (uint32_t i = 0; i < f->nports; i++) {
        uint64_t key = fabric_mac_load(mac[i]);
        if (key == 0 || (mac[i][0] & 1) != 0 || fabric_mac_find(f, key) != FABRIC_NO_PORT)
            return NOF_EINVAL;
        uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 40) & f->mac_mask;
        while (f->mac_key[at] != 0)
            at = (at + 1) & f->mac_mask;
        f->mac_key[at] = key;
        f->mac_port[at] = (uint16_t)i;
    }
    return NOF_OK;
}

static struct nof_handover *ring_create(uint32_t slots)
{
    struct nof_handover *ring = aligned_alloc(64, nof_handover_bytes(slots));
    if (ring != NULL)
        nof_handover_init(ring, slots);
    return ring;
}

static void *lines_create(size_t bytes)
{
    void *lines = aligned_alloc(64, bytes);
    if (lines != NULL)
        memset(lines, 0, bytes);
    return lines;
}

static int ports_create(struct nof_fabric *f, const struct nof_fabric_config *cfg)
{
    f->port = lines_create((f->nports + 1) * sizeof(*f->port));
    if (f->port == NULL)
        return NOF_ENOMEM;
    for (uint32_t i = 0; i <= f->nports; i++) {
        struct nof_fabric_port *p = &f->port[i];
        p->fabric = f;
        p->index = i;
        p->up = true;
        p->link = cfg->link;
        if (f->shared)
            p->in = ring_create(cfg->queue_frames);
        else
            p->queue = calloc(cfg->queue_frames, sizeof(struct fabric_slot *));
        if (p->queue == NULL && p->in == NULL)
            return NOF_ENOMEM;
        int status = pool_create(p, i < f->nports ? cfg->pool_frames : 64, cfg->frame_bytes);
        if (status != NOF_OK)
            return status;
    }
    return NOF_OK;
}

static bool config_fill(struct nof_fabric_config *c)
{
    c->frame_bytes = c->frame_bytes != 0 ? c->frame_bytes : 9232;
    c->pool_frames = c->pool_frames != 0 ? c->pool_frames : 1024;
    c->queue_frames = c->queue_frames != 0 ? c->queue_frames : 1024;
    c->tx_queue_bytes = c->tx_queue_bytes != 0 ? c->tx_queue_bytes : 131072;
    c->switches = c->switches != 0 ? c->switches : 1;
    c->cores = c->cores != 0 ? c->cores : 1;
    c->link.reorder_ns = c->link.reorder_ns != 0 ? c->link.reorder_ns : 100000;
    return c->nports >= 1 && c->nports <= NOF_FABRIC_PORTS_MAX && c->mac != NULL && c->frame_bytes >= 64 &&
           c->frame_bytes <= 16384 && c->pool_frames <= 1u << 20 && c->queue_frames <= 1u << 20 &&
           (c->queue_frames & (c->queue_frames - 1)) == 0 && link_valid(&c->link) &&
           c->nports % c->cores == 0 && (c->cores == 1 || c->shared) && c->switches <= c->nports &&
           c->switches <= NOF_FABRIC_SWITCHES_MAX &&
           (c->trunk_rate_bps == 0 || c->trunk_rate_bps >= NOF_FABRIC_RATE_LEAST) &&
           c->trunk_delay_ns <= DELAY_MAX_NS;
}

int nof_fabric_create(const struct nof_fabric_config *cfg, struct nof_fabric **fabric_out)
{
    struct nof_fabric_config c = *cfg;
    if (!config_fill(&c))
        return NOF_EINVAL;
    struct nof_fabric *f = lines_create(sizeof(*f));
    if (f == NULL)
        return NOF_ENOMEM;
    f->nports = c.nports;
    f->nswitches = c.switches;
    f->shared = c.shared;
    f->cores = c.cores;
    f->trunk_rate_bps = c.trunk_rate_bps;
    f->trunk_delay_ns = c.trunk_delay_ns;
    f->queue_mask = c.queue_frames - 1;
    f->tx_queue_bytes = c.tx_queue_bytes;
    f->random = c.seed;
    f->max_events = c.nports * c.queue_frames;
    f->heap = calloc(f->max_events, sizeof(*f->heap));
    int status = f->heap != NULL ? macs_create(f, c.mac) : NOF_ENOMEM;
    if (status == NOF_OK && c.shared && (f->to_switch = ring_create(c.queue_frames)) == NULL)
        status = NOF_ENOMEM;
    if (status == NOF_OK)
        status = ports_create(f, &c);
    if (status != NOF_OK) {
        nof_fabric_destroy(f);
        return status;
    }
    recompute_plain(f);
    *fabric_out = f;
    return NOF_OK;
}

void nof_fabric_destroy(struct nof_fabric *f)
{
    if (f == NULL)
        return;
    for (uint32_t i = 0; f->port != NULL && i <= f->nports; i++) {
        free(f->port[i].queue);
        free(f->port[i].in);
        free(f->port[i].pool);
    }
    free(f->port);
    free(f->heap);
    free(f->to_switch);
    free(f->mac_key);
    free(f->mac_port);
    free(f);
}

int nof_fabric_set_link(struct nof_fabric *f, unsigned index, const struct nof_fabric_link *link)
{
    if (index >= f->nports || !link_valid(link))
        return NOF_EINVAL;
    struct nof_fabric_link *mine = &f->port[index].link;
    __atomic_store_n(&mine->rate_bps, link->rate_bps, __ATOMIC_RELAXED);
    __atomic_store_n(&mine->delay_ns, link->delay_ns, __ATOMIC_RELAXED);
    mine->buffer_bytes = link->buffer_bytes;
    mine->loss_ppm = link->loss_ppm;
    mine->duplicate_ppm = link->duplicate_ppm;
    mine->reorder_ppm = link->reorder_ppm;
    mine->corrupt_ppm = link->corrupt_ppm;
    mine->multicast = link->multicast;
    mine->reorder_ns = link->reorder_ns != 0 ? link->reorder_ns : 100000;
    recompute_plain(f);
    return NOF_OK;
}

struct nof_fabric_link nof_fabric_link(const struct nof_fabric *f, unsigned index)
{
    return f->port[index].link;
}

void nof_fabric_set_up(struct nof_fabric *f, unsigned index, bool up)
{
    struct nof_fabric_port *p = &f->port[index];
    __atomic_store_n(&p->up, up, __ATOMIC_RELAXED);
    while (!up && p->head != p->tail) { /* of a shared one they have arrived */
        p->stats.drop_down++;
        fabric_unref_alone(p->queue[p->head++ & f->queue_mask]);
    }
    recompute_plain(f);
}

bool nof_fabric_is_up(const struct nof_fabric *f, unsigned index)
{
    return __atomic_load_n(&f->port[index].up, __ATOMIC_RELAXED);
}

void nof_fabric_set_group(struct nof_fabric *f, unsigned index, unsigned group)
{
    f->port[index].group = group;
    recompute_plain(f);
}

const struct nof_fabric_stats *nof_fabric_stats(const struct nof_fabric *f, unsigned index)
{
    return &f->port[index].stats;
}

unsigned nof_fabric_pool_free(const struct nof_fabric *f, unsigned index)
{
    const struct nof_fabric_port *p = &f->port[index];
    unsigned n = p->nfree;
    for (const struct fabric_slot *s = p->returned; s != NULL; s = s->next)
        n++;
    return n;
}
