/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points. A call marks the paths it touches as dirty; at its end each of them is looked at
 * once: retransmissions and on_ready() within rx() and poll(), acknowledgements and timers in
 * flush(). */
#include "transport/state.h"

/* Fraction of dead_after beyond which the retransmission timeout does not back off: a partition that heals
 * is noticed that soon. */
#define TIMEOUT_MAX_SHARE 8u

static size_t carve(size_t *used, size_t bytes)
{
    size_t at = (*used + 63) & ~(size_t)63;

    *used = at + bytes;
    return at;
}

static uint32_t bucket_count(uint32_t paths)
{
    uint32_t n = 1;

    /* bound: doublings up to max_paths; paid by set-up */
    while (n < paths)
        n *= 2;
    return n;
}

/* Lay everything out behind struct nof_transport; with mem == NULL only count. */
static size_t lay_out(const struct nof_transport_config *cfg, uint8_t *mem)
{
    const struct nof_nic_config *nic = cfg->nic;
    uint32_t nbuckets = bucket_count(nic->max_paths);
    uint32_t slot_bytes = (nic->mtu_bytes - 28 + 7) & ~7u;
    size_t used = 0;
    size_t self = carve(&used, sizeof(struct nof_transport));
    size_t paths = carve(&used, nic->max_paths * sizeof(struct nof_path));
    size_t buckets = carve(&used, nbuckets * sizeof(uint32_t));
    size_t dirty = carve(&used, nic->max_paths * sizeof(uint32_t));
    size_t heap = carve(&used, nic->max_paths * sizeof(struct nof_timer));
    size_t sent = carve(&used, (nic->sent_frames + NOF_SENT_SLACK) * sizeof(struct nof_sent));
    size_t slots = carve(&used, nic->reorder_frames * sizeof(struct nof_reorder_slot));
    size_t data = carve(&used, (size_t)nic->reorder_frames * slot_bytes);

    if (mem == NULL)
        return used;
    struct nof_transport *t = (struct nof_transport *)(void *)(mem + self);
    memset(t, 0, sizeof(*t));
    t->paths = (struct nof_path *)(void *)(mem + paths);
    t->max_paths = nic->max_paths;
    t->window_frames = nic->window_frames;
    t->buckets = (uint32_t *)(void *)(mem + buckets);
    t->bucket_mask = nbuckets - 1;
    t->dirty = (uint32_t *)(void *)(mem + dirty);
    t->heap = (struct nof_timer *)(void *)(mem + heap);
    t->sent.entry = (struct nof_sent *)(void *)(mem + sent);
    t->slots.slot = (struct nof_reorder_slot *)(void *)(mem + slots);
    t->slots.data = mem + data;
    t->slots.slot_bytes = slot_bytes;
    return used;
}

size_t nof_transport_mem_size(const struct nof_transport_config *cfg)
{
    return lay_out(cfg, NULL);
}

size_t nof_transport_path_bytes(const struct nof_transport *t)
{
    return sizeof(struct nof_path) + sizeof(struct nof_timer) + sizeof(uint32_t) +
           (t->bucket_mask + 1ul) * sizeof(uint32_t) / t->max_paths;
}

int nof_transport_init(void *mem, size_t mem_bytes, const struct nof_transport_config *cfg, uint64_t now_ns,
                       struct nof_transport **transport_out)
{
    struct nof_transport *t = mem;

    if (mem == NULL || mem_bytes < nof_transport_mem_size(cfg))
        return NOF_EINVAL;
    (void)lay_out(cfg, mem);
    t->cfg = *cfg;
    t->now_ns = now_ns;
    t->counters = cfg->counters;
    t->features = cfg->features;
    memcpy(t->self.mac, cfg->nic->mac, sizeof(t->self.mac));
    t->self.ip4 = cfg->nic->ip4;
    t->self.udp_port = cfg->nic->udp_port;
    nof_packet_self(&t->rx_self, &t->self);
    nof_crc32c_join_init(&t->join, cfg->nic->mtu_bytes - NOF_PACKET_IP_OVERHEAD_BYTES - NOF_WIRE_DATA_BYTES);
    t->sent.port_ops = cfg->port_ops;
    t->sent.port = cfg->port;
    t->starved_head = t->starved_tail = NOF_NIL;
    t->ip_id = (uint16_t)(t->self.udp_port * 0x9e37u); /* cores of one address begin far from each other */
    nof_paths_init(t);
    nof_sent_pool_init(&t->sent, cfg->nic->sent_frames + NOF_SENT_SLACK);
    nof_reorder_pool_init(&t->slots, cfg->nic->reorder_frames);
    nof_transport_rate(t, now_ns);
    *transport_out = t;
    return NOF_OK;
}

void nof_transport_rate(struct nof_transport *t, uint64_t now_ns)
{
    nof_pacer_init(&t->pacer, t->cfg.nic->link_rate_bps, t->cfg.nic->mtu_bytes + 14u, now_ns);
}

void nof_transport_fini(struct nof_transport *t)
{
    nof_tx_queue_drop(t);
    /* bound: spare frames; paid by the end of the NIC */
    while (t->spare_count > 0)
        t->cfg.port_ops->frame_free(t->cfg.port, t->spare[--t->spare_count]);
    /* bound: paths; paid by the end of the NIC */
    for (uint32_t i = 0; i < t->high_path; i++) {
        struct nof_path *p = nof_path_at(t, i);

        if (p->state == NOF_PATH_UP || p->state == NOF_PATH_OPENING)
            nof_tx_queue_release(t, nof_sentmap_clear(&p->sent));
        p->state = NOF_PATH_FREE;
    }
}

void nof_transport_tick(struct nof_transport *t, uint64_t now_ns)
{
    nof_tick(t, now_ns);
}

/* The delay of an acknowledgement that rides on a reliable frame. */
static uint64_t carried_delay(const struct nof_path *p, const uint8_t *c)
{
    uint16_t delay_us = nof_get16(c + NOF_WIRE_ACK_DELAY);

    /* A frame sent again tells of the past: its delay is not that of this acknowledgement. */
    if (nof_serial_before(nof_get32(c + NOF_WIRE_PN), p->reorder.high_pn) || delay_us == UINT16_MAX)
        return NOF_ACK_DELAY_UNKNOWN;
    return delay_us * (uint64_t)NOF_US;
}

static void rx_gack(struct nof_path *p, const struct nof_packet *packet)
{
    struct nof_transport *t = p->t;
    struct nof_wire_view view = {.type = NOF_WIRE_GACK,
                                 .flags = packet->common[NOF_WIRE_FLAGS],
                                 .fields = packet->common + NOF_WIRE_COMMON_BYTES,
                                 .fields_bytes = packet->fields_bytes,
                                 .user = p->user};

    if (packet->fields_bytes != NOF_WIRE_GACK_BYTES)
        nof_transport_count(t, NOF_C_DROP_LENGTH, 1);
    else
        (void)t->cfg.ops->on_frame(t->cfg.up, p, &view, true);
}

/* A frame of an established path, all checked. */
static void rx_path(struct nof_path *p, const struct nof_packet *packet)
{
    struct nof_transport *t = p->t;
    const uint8_t *c = packet->common;
    uint8_t type = c[NOF_WIRE_TYPE];

    if (type >= NOF_WIRE_RELIABLE_FIRST && type <= NOF_WIRE_RELIABLE_LAST) {
        uint32_t ack = nof_get32(c + NOF_WIRE_ACK);

        if (nof_packet_marked(packet))
            nof_ack_mark(p);
        if (ack != p->sent.cum_pn)
            nof_ack_rx(p, ack, NULL, 0, carried_delay(p, c));
        if (!nof_reorder_next(&p->reorder, nof_get32(c + NOF_WIRE_PN), t->now_ns)) {
            nof_receive_reordered(p, packet);
            return;
        }
        nof_ack_owe(p, c[NOF_WIRE_FLAGS] & NOF_WIRE_F_ACK_NOW);
        (void)nof_receive_deliver(p, c, packet->len_bytes, true);
        return;
    }
    switch (type) {
    case NOF_WIRE_ACKS:
        if (!nof_ack_rx_acks(p, packet))
            nof_transport_count(t, NOF_C_DROP_LENGTH, 1);
        break;
    case NOF_WIRE_PROBE:
        nof_mtu_probe_rx(p, packet);
        break;
    case NOF_WIRE_PROBE_ACK:
        nof_ack_rx(p, nof_get32(c + NOF_WIRE_ACK), NULL, 0, NOF_ACK_DELAY_UNKNOWN);
        nof_mtu_probe_ack_rx(p, packet);
        break;
    case NOF_WIRE_GACK:
        rx_gack(p, packet);
        break;
    case NOF_WIRE_CLOSE:
        p->closed_by_peer = 1;
        p->orderly = (c[NOF_WIRE_FLAGS] & NOF_WIRE_CLOSE_F_DEAD) == 0;
        nof_path_log(p, p->orderly ? 2 : 1,
                     p->orderly ? "peer closed the path" : "the peer has given the path up");
        nof_path_bury(p, NOF_EPEERDEAD, false);
        break;
    default:
        nof_transport_count(t, NOF_C_DROP_TYPE, 1);
        break;
    }
}

/* What is not addressed to this NIC alone. 0: it was a group's; else why it is dropped. */
static int rx_group(struct nof_transport *t, const struct nof_frame *frame)
{
    struct nof_packet packet;
    int why = nof_packet_parse_group(frame->data, frame->len_bytes, t->cfg.nic->group_port, &packet);

    if (why == 0 && packet.common[NOF_WIRE_TYPE] != NOF_WIRE_MDATA)
        why = NOF_C_DROP_TYPE;
    if (why == 0 && !nof_packet_crc_ok(&packet))
        why = NOF_C_DROP_CRC;
    if (why == 0) {
        struct nof_wire_view view = {
            .type = NOF_WIRE_MDATA, .payload = packet.common, .payload_bytes = packet.len_bytes};

        (void)t->cfg.ops->on_frame(t->cfg.up, NULL, &view, true);
    }
    return why;
}

static void rx_frame(struct nof_transport *t, const struct nof_frame *frame)
{
    struct nof_packet packet;
    struct nof_path *p;
    uint64_t conn;
    uint32_t index;
    int why = nof_packet_parse(frame->data, frame->len_bytes, &t->rx_self, &packet);

    if (why != 0) {
        if (why == NOF_C_DROP_FOREIGN)
            why = rx_group(t, frame);
        if (why != 0)
            nof_transport_count(t, (enum nof_counter)why, 1);
        return;
    }
    conn = nof_get64(packet.common + NOF_WIRE_CONN);
    if (packet.common[NOF_WIRE_TYPE] == NOF_WIRE_HELLO && conn == 0) {
        if (nof_packet_crc_ok(&packet))
            nof_handshake_rx(t, &packet);
        else
            nof_transport_count(t, NOF_C_DROP_CRC, 1);
        return;
    }
    index = (uint32_t)conn & UINT16_MAX;
    p = index < t->high_path ? nof_path_at(t, index) : NULL;
    if (p == NULL || p->local_conn != conn || p->state != NOF_PATH_UP) {
        nof_path_unknown(t, &packet);
        return;
    }
    if (!nof_packet_crc_ok(&packet)) {
        nof_transport_count(t, NOF_C_DROP_CRC, 1);
        return;
    }
    nof_live_heard(p);
    nof_path_touch(p);
    rx_path(p, &packet);
}

/* What rx and poll owe the paths they touched. */
static void work(struct nof_transport *t)
{
    /* Before data takes what acknowledgements have just freed. */
    if (t->spare_count < NOF_SPARE_FRAMES)
        nof_tx_stock(t);
    /* bound: paths that sent or received in this call; paid by those paths */
    for (uint32_t i = 0; i < t->dirty_count; i++) {
        struct nof_path *p = nof_path_at(t, t->dirty[i]);

        if (p->state != NOF_PATH_UP)
            continue;
        if (p->sent.lost > 0)
            nof_recovery_retransmit(p);
        nof_tx_ready(p);
    }
    nof_tx_starved(t);
}

void nof_transport_rx(struct nof_transport *t, uint64_t now_ns, struct nof_frame *const *frames, unsigned n)
{
    nof_tick(t, now_ns);
    t->budget = NOF_TXQ_FRAMES;
    nof_transport_count(t, NOF_C_RX_FRAMES, n);
    /* bound: frames of one burst; paid by who sent them */
    for (unsigned i = 0; i < n; i++) {
        nof_transport_count(t, NOF_C_RX_BYTES, frames[i]->len_bytes);
        rx_frame(t, frames[i]);
    }
    work(t);
}

static uint64_t timeout_at(const struct nof_path *p)
{
    const struct nof_transport *t = p->t;

    return p->pto_base_ns + nof_rtt_timeout_ns(&p->rtt, nof_ack_delay_ns(t), &t->pacer, p->backoff,
                                               nof_dead_after_ns(t) / TIMEOUT_MAX_SHARE);
}

static void run_timers(struct nof_path *p)
{
    struct nof_transport *t = p->t;

    if (p->state == NOF_PATH_OPENING) {
        nof_handshake_timer(p);
        return;
    }
    if (p->state != NOF_PATH_UP)
        return;
    if (t->now_ns >= p->sent.loss_at_ns)
        nof_recovery_detect(p);
    if (!nof_sentmap_empty(&p->sent) && !nof_path_unplugged(p) && t->now_ns >= timeout_at(p))
        nof_recovery_timeout(p);
    if (p->state == NOF_PATH_UP)
        nof_live_timer(p);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* When our own link has been down for too long. What nof_nic_link() promises. */
static uint64_t link_deadline(const struct nof_transport *t)
{
    return t->link_down_ns == 0 ? NOF_NO_DEADLINE : t->link_down_ns + nof_dead_after_ns(t) / 3 * 2;
}

static void link_timer(struct nof_transport *t)
{
    if (t->now_ns < link_deadline(t))
        return;
    /* bound: paths; paid by the change of the link */
    for (uint32_t i = 0; i < t->high_path; i++)
        if (!nof_path_at(t, i)->inside)
            nof_path_bury(nof_path_at(t, i), NOF_ELINKDOWN, false);
    t->link_down_ns = t->now_ns;
}

unsigned nof_transport_poll(struct nof_transport *t, uint64_t now_ns, unsigned budget_frames)
{
    struct nof_path *p;

    nof_tick(t, now_ns);
    t->budget = budget_frames;
    t->sent_in_poll = 0;
    t->room_wanted = false;
    nof_tx_queue_push(t);
    link_timer(t);
    /* bound: paths whose time has come; paid by those paths */
    while ((p = nof_timer_pop(t)) != NULL) {
        nof_path_touch(p);
        run_timers(p);
    }
    work(t);
    nof_paths_deliver_dead(t);
    nof_tx_queue_push(t);
    return t->sent_in_poll;
}

static uint64_t path_deadline(const struct nof_path *p)
{
    const struct nof_transport *t = p->t;
    uint64_t at = NOF_NO_DEADLINE;

    if (p->state == NOF_PATH_OPENING)
        return nof_handshake_deadline(p);
    if (p->state != NOF_PATH_UP)
        return NOF_NO_DEADLINE;
    if (p->ack_pending > 0)
        at = p->ack_due_ns;
    if (!nof_sentmap_empty(&p->sent)) {
        if (!nof_path_unplugged(p))
            at = earlier(at, timeout_at(p));
        at = earlier(at, p->sent.loss_at_ns);
        if (nof_recovery_may_retransmit(p))
            at = earlier(at, t->now_ns + NOF_PORT_RETRY_NS);
    }
    return earlier(at, nof_live_deadline(p));
}

void nof_transport_flush(struct nof_transport *t)
{
    /* bound: paths that sent or received in this call; paid by those paths */
    for (uint32_t i = 0; i < t->dirty_count; i++) {
        struct nof_path *p = nof_path_at(t, t->dirty[i]);

        p->dirty = 0;
        if (p->state == NOF_PATH_UP) {
            if (p->ack_now || p->ack_pending > 0)
                nof_ack_flush(p);
            nof_live_settle(p);
        }
        nof_timer_set(p, path_deadline(p));
    }
    t->dirty_count = 0;
    t->room_path = NULL;
    nof_tx_queue_push(t);
    if (t->spare_count < NOF_SPARE_FRAMES)
        nof_tx_stock(t);
    t->starved_ready = nof_tx_awaited_now(t);
}

uint64_t nof_transport_next_deadline(const struct nof_transport *t)
{
    uint64_t at = t->heap_count > 0 ? t->heap[0].at_ns : NOF_NO_DEADLINE;

    if (t->dirty_count > 0 || t->dead_head != NOF_NIL)
        return t->now_ns;
    if (t->tx.count > 0)
        at = earlier(at, t->tx_retry_ns);
    at = earlier(at, link_deadline(t));
    if (t->starved_head == NOF_NIL && !t->room_wanted)
        return at;
    if (t->starved_ready)
        return t->now_ns;
    if (t->alloc_retry_ns > t->now_ns)
        at = earlier(at, t->alloc_retry_ns);
    if (nof_pacer_frames(&t->pacer, t->now_ns) == 0)
        at = earlier(at, nof_pacer_deadline(&t->pacer, t->now_ns));
    return at;
}

/* Time that passed without our being able to hear: nobody's silence. */
static void forgive(struct nof_transport *t, uint64_t ns)
{
    /* bound: paths; paid by the core that was not scheduled */
    for (uint32_t i = 0; i < t->high_path; i++) {
        struct nof_path *p = nof_path_at(t, i);

        if (p->state != NOF_PATH_UP && p->state != NOF_PATH_OPENING)
            continue;
        p->live_ns = earlier(p->live_ns + ns, t->now_ns);
        if (p->state == NOF_PATH_UP)
            p->pto_base_ns = earlier(p->pto_base_ns + ns, t->now_ns);
        nof_cc_forget_round(&p->cc);
        nof_path_touch(p);
    }
}

void nof_transport_link(struct nof_transport *t, uint64_t now_ns, bool up)
{
    t->now_ns = now_ns;
    if (!up) {
        if (t->link_down_ns == 0)
            t->link_down_ns = now_ns;
    } else if (t->link_down_ns != 0) {
        forgive(t, now_ns - t->link_down_ns);
        t->link_down_ns = 0;
        /* bound: paths; paid by the link that is down */
        for (uint32_t i = 0; i < t->high_path; i++) {
            struct nof_path *p = nof_path_at(t, i);

            p->backoff = p->state == NOF_PATH_UP ? 0 : p->backoff;
        }
    }
    nof_transport_flush(t);
}

void nof_transport_stalled(struct nof_transport *t, uint64_t now_ns, uint64_t stalled_ns)
{
    t->now_ns = now_ns;
    if (t->link_down_ns != 0) /* it may be up since: nobody has looked */
        t->link_down_ns = earlier(t->link_down_ns + stalled_ns, now_ns);
    forgive(t, stalled_ns);
    nof_transport_flush(t);
}

void nof_transport_late(struct nof_transport *t, uint64_t now_ns)
{
    t->late_ns = now_ns;
}

bool nof_transport_quiet(const struct nof_transport *t)
{
    if (t->dead_head != NOF_NIL || t->tx.count > 0)
        return false;
    /* Whoever owes or awaits something has a timer. */
    /* bound: paths with a timer; paid by the core that was not scheduled */
    for (uint32_t i = 0; i < t->heap_count; i++) {
        const struct nof_path *p = nof_path_at(t, t->heap[i].path);

        if (p->state == NOF_PATH_OPENING || !nof_sentmap_empty(&p->sent) || p->ack_pending > 0)
            return 0;
    }
    return true;
}
