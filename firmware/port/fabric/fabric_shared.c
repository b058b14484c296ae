/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fabric whose ports have a thread each, and whose NICs may have several ports ("cores"):
 *
 *   frame_alloc, send, frame_free, rx_burst, rx_done, group, port_deadline     the port's thread
 *   rx_burst of the first port runs the switch: so do set_link, set_up, advance, next_event    its thread
 *
 *   sender --- no link has a rate, a delay or a fault, or both are ports of one NIC ---> in
 *   sender --- else: its own link's time ---> to_switch ---> events, as of one thread ---> in
 *
 * Nothing is shared but rings (port/handover.h) and frames, whose references are counted by whoever holds one; what is
 * freed by others goes back to its owner through a list that this takes as a whole. Full rings: `in` drops the frame and
 * counts it (drop_queue), since one core that is slow must not hold up the others; to_switch takes no more, which the
 * sender tries again. */
#include "port/fabric/fabric_private.h"

#include "nof/core.h"
#include "nof/status.h"

static struct fabric_slot *slot_of(struct nof_frame *frame)
{
    return (struct fabric_slot *)(void *)frame;
}

void fabric_unref_shared(struct fabric_slot *s)
{
    struct nof_fabric_port *owner = s->owner;

    if (__atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    nof_handback_push(&owner->returned, s, &s->next);
}

struct fabric_slot *fabric_take_returned(struct nof_fabric_port *p)
{
    struct fabric_slot *first = nof_handback_take(&p->returned);

    for (const struct fabric_slot *s = first; s != NULL; s = s->next)
        p->nfree++;
    return first;
}

static void wake(const struct nof_fabric_port *p)
{
    if (p->wake != NULL)
        p->wake(p->wake_arg);
}

static bool put(struct nof_fabric_port *p, struct fabric_slot *s)
{
    if (nof_handover_push(p->in, &(struct nof_handover_item){.what = s}))
        return true;
    fabric_count_drop(p->fabric, p);
    fabric_unref_shared(s);
    return false;
}

void fabric_deliver_shared(struct nof_fabric_port *p, struct fabric_slot *s)
{
    if (put(p, s))
        wake(p);
}

static void frame_free(void *port, struct nof_frame *frame)
{
    (void)port;
    fabric_unref_shared(slot_of(frame));
}

static uint64_t tag_of(enum fabric_told told, const struct nof_fabric_port *p)
{
    return (uint64_t)told << 32 | p->index;
}

/* By our link to the switch. False: one of the two takes no more. */
static bool send_to_switch(struct nof_fabric_port *p, struct fabric_slot *s)
{
    struct nof_handover_item item = {.what = s, .tag = tag_of(FABRIC_TOLD_FRAME, p)};
    uint64_t free_ns;

    if (!fabric_link_take(p, s->frame.len_bytes, p->now_ns, &free_ns, &item.when_ns))
        return false;
    fabric_ref(p->fabric, s);
    if (!nof_handover_push(p->fabric->to_switch, &item)) {
        fabric_unref_shared(s);
        return false;
    }
    p->tx_free_ns = free_ns;
    return true;
}

/* Past the switch, or through it while that does nothing but pass on; NULL: neither. */
static struct nof_fabric_port *straight_to(struct nof_fabric_port *p, const struct fabric_slot *s)
{
    struct nof_fabric *f = p->fabric;
    uint64_t mac = fabric_mac_load(s->frame.data);

    if (mac != p->last_mac) {
        uint32_t dst = fabric_mac_find(f, mac);

        if (dst == FABRIC_NO_PORT)
            return NULL;
        p->last_mac = mac;
        p->last_port = &f->port[dst];
    }
    if (__atomic_load_n(&f->open, __ATOMIC_RELAXED) || p->last_port->index / f->cores == p->index / f->cores)
        return p->last_port;
    return NULL;
}

static unsigned send(void *port, struct nof_frame *const *frames, unsigned n)
{
    struct nof_fabric_port *p = port;
    const struct nof_fabric_port *told = NULL; /* will be, once all are there that go there in turn */
    unsigned i;

    for (i = 0; i < n; i++) {
        struct fabric_slot *s = slot_of(frames[i]);
        struct nof_fabric_port *to = straight_to(p, s);
        const struct nof_fabric_port *tell = to != NULL ? to : &p->fabric->port[0];

        if (told != NULL && told != tell)
            wake(told);
        told = tell;
        if (to == NULL && !send_to_switch(p, s))
            break;
        p->stats.tx_frames++;
        p->stats.tx_bytes += s->frame.len_bytes;
        if (to != NULL) {
            fabric_ref(p->fabric, s);
            (void)put(to, s);
        }
    }
    p->stats.tx_busy += n - i;
    if (told != NULL)
        wake(told);
    return i;
}

static bool tell(const struct nof_fabric_port *p, enum fabric_told told, uint64_t mac)
{
    if (!nof_handover_push(p->fabric->to_switch,
                           &(struct nof_handover_item){.when_ns = mac, .tag = tag_of(told, p)}))
        return false;
    wake(&p->fabric->port[0]);
    return true;
}

void fabric_tell_left(struct nof_fabric_port *p)
{
    for (uint32_t i = p->nmine; i-- > 0;) { /* from the end: the last one takes the place of one that goes */
        if (p->mine[i].times != 0)
            continue;
        if (!tell(p, FABRIC_TOLD_LEAVE, p->mine[i].mac))
            return;
        p->mine[i] = p->mine[--p->nmine];
    }
    p->untold = false;
}

static int group(void *port, uint32_t ip4, const uint8_t mac[6], bool join)
{
    struct nof_fabric_port *p = port;
    uint64_t key = fabric_mac_load(mac);
    bool changed;
    int status;

    (void)ip4;
    if (p->untold)
        fabric_tell_left(p);
    status = fabric_joined_count(p->mine, &p->nmine, key, join, &changed);
    if (status != NOF_OK || !changed || tell(p, join ? FABRIC_TOLD_JOIN : FABRIC_TOLD_LEAVE, key))
        return status;
    /* The ring has no room. The switch may have the group, and is told later that we have not: until then it costs
     * frames that nobody here wants, and a place in both lists. */
    if (join)
        (void)fabric_joined_count(p->mine, &p->nmine, key, false, &changed);
    p->mine[p->nmine++] = (struct fabric_joined){.mac = key};
    p->untold = true;
    return join ? NOF_ENOMEM : NOF_OK;
}

const struct nof_port_ops nof_fabric_shared_port_ops = {
    .frame_alloc = fabric_frame_alloc,
    .frame_free = frame_free,
    .send = send,
    .group = group,
};

static void hear_frame(struct nof_fabric *f, uint32_t src, const struct nof_handover_item *item)
{
    struct fabric_event event = {
        .when_ns = item->when_ns, .slot = item->what, .src = (uint16_t)src, .hop = FABRIC_HOP_SWITCH};

    if (fabric_event_push(f, event))
        return;
    fabric_count_drop(f, &f->port[src]);
    fabric_unref_shared(item->what);
}

/* A join that was not told may be left, and a leave that was not told joined again: a port is there once, whatever it says. */
static void hear_group(struct nof_fabric_port *p, uint64_t mac, bool join)
{
    bool changed;

    if ((fabric_joined_find(p->joined, p->njoined, mac) < p->njoined) != join)
        (void)fabric_joined_count(p->joined, &p->njoined, mac, join, &changed);
}

void fabric_hear(struct nof_fabric *f)
{
    struct nof_handover_item item;

    for (uint32_t left = f->to_switch->mask + 1; left > 0 && nof_handover_pop(f->to_switch, &item); left--) {
        uint32_t src = (uint32_t)item.tag;
        enum fabric_told told = (enum fabric_told)(item.tag >> 32);

        if (told == FABRIC_TOLD_FRAME)
            hear_frame(f, src, &item);
        else
            hear_group(&f->port[src], item.when_ns, told == FABRIC_TOLD_JOIN);
    }
}
