/* SPDX-License-Identifier: BSD-3-Clause */
#include "toy_net.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/crc32c.h"

#define FRAME_MAX 9300u
#define STEPS_MAX 400000000u

struct toy_frame {
    struct nof_frame frame; /* first: the port sees this */
    uint32_t sent_crc; /* of the whole frame, when it was sent; 0: it was not */
    uint8_t bytes[];
};

enum toy_event_kind { TOY_AT_SWITCH, TOY_AT_NODE };

struct toy_event {
    uint64_t at_ns;
    uint64_t order;
    enum toy_event_kind kind;
    unsigned src, dst;
    uint32_t len;
    uint8_t *data;
};

static uint8_t last_frame[FRAME_MAX];
static uint32_t last_frame_len;

uint64_t toy_random(struct toy_net *net)
{
    uint64_t z = (net->random += 0x9e3779b97f4a7c15u);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static bool chance(struct toy_net *net, double p)
{
    return p > 0 && (double)(toy_random(net) >> 11) * 0x1p-53 < p;
}

static bool event_before(const struct toy_event *a, const struct toy_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void event_push(struct toy_net *net, struct toy_event e)
{
    unsigned i = net->nevents++;

    if (net->nevents > net->events_cap) {
        net->events_cap = net->events_cap * 2 + 64;
        net->events = realloc(net->events, net->events_cap * sizeof(e));
        assert_non_null(net->events);
    }
    e.order = net->order++;
    for (; i > 0 && event_before(&e, &net->events[(i - 1) / 2]); i = (i - 1) / 2)
        net->events[i] = net->events[(i - 1) / 2];
    net->events[i] = e;
}

static struct toy_event event_pop(struct toy_net *net)
{
    struct toy_event top = net->events[0];
    struct toy_event last = net->events[--net->nevents];
    unsigned i = 0;

    for (unsigned c = 1; c < net->nevents; c = 2 * i + 1) {
        if (c + 1 < net->nevents && event_before(&net->events[c + 1], &net->events[c]))
            c++;
        if (!event_before(&net->events[c], &last))
            break;
        net->events[i] = net->events[c];
        i = c;
    }
    net->events[i] = last;
    return top;
}

static uint64_t wire_ns(const struct toy_net *net, uint32_t len)
{
    return net->cfg.rate_bps == 0 ? 0 : (len + TOY_WIRE_EXTRA_BYTES) * 8000000000ull / net->cfg.rate_bps;
}

/* Port. `port` is the node; the net is found through its streams. */

static struct nof_frame *port_alloc(void *port, uint32_t len_bytes)
{
    struct toy_node *node = port;
    struct toy_frame *f;

    if (len_bytes > FRAME_MAX)
        return NULL;
    if (node->stream[0].net->cfg.pool_frames != 0 && node->pool_used >= node->stream[0].net->cfg.pool_frames)
        return NULL;
    f = malloc(sizeof(*f) + len_bytes);
    assert_non_null(f);
    memset(f->bytes, 0xaa, len_bytes);
    f->frame.data = f->bytes;
    f->frame.len_bytes = 0;
    f->frame.cap_bytes = len_bytes;
    f->sent_crc = 0;
    node->pool_used++;
    return &f->frame;
}

static void port_free(void *port, struct nof_frame *frame)
{
    struct toy_node *node = port;

    assert_true(node->pool_used > 0);
    node->pool_used--;
    memset(frame->data, 0xdd, frame->cap_bytes);
    free(frame);
}

static unsigned dst_of(const struct nof_frame *f)
{
    return f->data[5];
}

/* A driver, or a peer that shares the memory, may read it still. */
static void check_unchanged(struct nof_frame *frame)
{
    struct toy_frame *f = (struct toy_frame *)(void *)frame;
    uint32_t crc = nof_crc32c(frame->data, frame->len_bytes);

    if (f->sent_crc != 0)
        assert_int_equal(f->sent_crc, crc);
    f->sent_crc = crc;
}

/* Where routers may cut, the fragments of one frame are told from those of all others by this alone. */
static void check_id(struct toy_node *node, const struct nof_frame *f)
{
    uint32_t id = (uint32_t)f->data[18] << 8 | f->data[19];
    uint32_t crc = nof_crc32c(f->data, f->len_bytes);

    if ((f->data[20] & 0x40) != 0)
        return;
    if (node->cut[id % TOY_CUT].crc != 0 && node->cut[id % TOY_CUT].id == id)
        assert_int_equal(node->cut[id % TOY_CUT].crc, crc);
    node->cut[id % TOY_CUT].id = id;
    node->cut[id % TOY_CUT].crc = crc;
}

static void check_sent(struct toy_net *net, struct toy_node *node, const struct nof_frame *f)
{
    const uint8_t *c = f->data + NOF_WIRE_OUTER_BYTES;
    uint32_t pn = nof_get32(c + NOF_WIRE_PN);
    uint32_t crc = nof_get32(c + NOF_WIRE_CRC);
    uint64_t conn = nof_get64(c + NOF_WIRE_CONN);

    net->digest = (net->digest ^ crc ^ net->now_ns) * 0x100000001b3u;
    if (c[NOF_WIRE_TYPE] < NOF_WIRE_RELIABLE_FIRST)
        return;
    if (node->seen[pn % TOY_SEEN].pn == pn && node->seen[pn % TOY_SEEN].conn == conn)
        assert_int_equal(node->seen[pn % TOY_SEEN].crc, crc);
    assert_int_equal(crc, nof_crc32c(c + 4, nof_get16(c + NOF_WIRE_LEN) - 4u));
    node->seen[pn % TOY_SEEN].pn = pn;
    node->seen[pn % TOY_SEEN].conn = conn;
    node->seen[pn % TOY_SEEN].crc = crc;
}

static unsigned port_send(void *port, struct nof_frame *const *frames, unsigned n)
{
    struct toy_node *node = port;
    struct toy_net *net = node->stream[0].net;
    unsigned max = net->cfg.tx_frames;
    unsigned i;

    for (i = 0; i < n; i++) {
        struct nof_frame *f = frames[i];
        uint64_t ser = wire_ns(net, f->len_bytes);
        struct toy_event e = {
            .kind = TOY_AT_SWITCH, .src = node->stream[0].node, .dst = dst_of(f), .len = f->len_bytes};

        if (max != 0 && node->tx_free_ns > net->now_ns + max * wire_ns(net, 1514) + max)
            break;
        if (node->tx_free_ns < net->now_ns)
            node->tx_free_ns = net->now_ns;
        node->tx_free_ns += ser;
        e.at_ns = node->tx_free_ns + net->cfg.delay_ns / 2;
        e.data = malloc(f->len_bytes);
        assert_non_null(e.data);
        memcpy(e.data, f->data, f->len_bytes);
        check_sent(net, node, f);
        check_unchanged(f);
        check_id(node, f);
        memcpy(last_frame, f->data, f->len_bytes);
        last_frame_len = f->len_bytes;
        event_push(net, e);
    }
    return i;
}

static const struct nof_port_ops port_ops = {
    .frame_alloc = port_alloc, .frame_free = port_free, .send = port_send};

uint32_t toy_last_frame(const struct toy_net *net, uint8_t *data_out, uint32_t cap_bytes)
{
    (void)net;
    assert_true(last_frame_len <= cap_bytes);
    memcpy(data_out, last_frame, last_frame_len);
    return last_frame_len;
}

/* Traffic. */

/* The bytes of body `seq`, those of its fields among them: from somewhere in one sequence of period 256. */
static const uint8_t *pattern(uint64_t seq)
{
    static uint8_t bytes[256 + FRAME_MAX];

    if (bytes[1] == 0)
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)(i * 7);
    return bytes + (seq * 41 & 255);
}

static void pump(struct toy_stream *s)
{
    while (s->sent < s->to_send) {
        uint32_t body;
        uint8_t *bytes;
        struct nof_frame *f;

        if (nof_path_window(s->path, false) == 0)
            return;
        body = s->body_bytes != 0 ? s->body_bytes : nof_path_body_max(s->path);
        f = nof_path_frame(s->path, body, &bytes);
        if (f == NULL)
            return;
        nof_put64(bytes, s->sent);
        nof_put32(bytes + 8, body);
        nof_put32(bytes + 12, 0);
        assert_in_range(body, 16, FRAME_MAX);
        memcpy(bytes + 16, pattern(s->sent) + 16, body - 16);
        (void)nof_path_send(s->path, f, NOF_WIRE_DATA, 0, 3, 4, 16, body, 0);
        s->sent++;
    }
}

static struct toy_stream *stream_of(struct toy_node *node, struct nof_path *path)
{
    return &node->stream[nof_path_peer_nic(path) & 0xff];
}

static int on_frame(void *up, struct nof_path *path, const struct nof_wire_view *view, bool lent)
{
    struct toy_stream *s = stream_of(up, path);
    uint64_t seq = nof_get64(view->fields);

    (void)lent;
    if (s->refuse)
        return NOF_EPROTO;
    assert_int_equal(view->type, NOF_WIRE_DATA);
    assert_int_equal(view->fields_bytes, 16);
    assert_int_equal(view->flags, 0);
    assert_int_equal(view->src_ep, 3);
    assert_int_equal(view->dst_ep, 4);
    assert_int_equal(seq, s->received);
    assert_int_equal(nof_get32(view->fields + 8), view->payload_bytes + 16);
    assert_in_range(view->payload_bytes, 0, FRAME_MAX - 16);
    assert_int_equal(memcmp(view->payload, pattern(seq) + 16, view->payload_bytes), 0);
    s->received++;
    s->received_bytes += view->payload_bytes;
    return NOF_OK;
}

static void on_up(void *up, struct nof_path *path)
{
    struct toy_stream *s = stream_of(up, path);

    s->path = path;
    s->ups++;
    pump(s);
}

static void on_ready(void *up, struct nof_path *path)
{
    struct toy_stream *s = stream_of(up, path);

    assert_ptr_equal(s->path, path);
    pump(s);
}

static void on_dead(void *up, struct nof_path *path, int reason)
{
    struct toy_stream *s = stream_of(up, path);

    s->deaths++;
    s->reason = reason;
    if (s->path == path)
        s->path = NULL;
}

static const uint8_t *job_key(void *up, uint64_t job_id)
{
    struct toy_node *node = up;

    return node->knows_job && job_id == TOY_JOB ? node->key : NULL;
}

static const struct nof_transport_ops ops = {
    .on_frame = on_frame, .on_up = on_up, .on_ready = on_ready, .on_dead = on_dead, .job_key = job_key};

static void node_start(struct toy_net *net, unsigned i)
{
    struct toy_node *node = &net->node[i];
    struct nof_transport_config cfg = {
        .nic = &node->nic,
        .port_ops = &port_ops,
        .port = node,
        .ops = &ops,
        .up = node,
        .counters = node->counters,
        .features = node->features,
        .flow_msgs = 7,
        .flow_bytes = 70000,
    };

    node->nic.nic_id = (node->transports_started++ + 1) << 8 | i | 1ull << 60;
    for (unsigned k = 0; k < 16; k++)
        node->nic.seed[k] = (uint8_t)toy_random(net);
    size_t bytes = nof_transport_mem_size(&cfg);
    node->mem = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    assert_non_null(node->mem);
    assert_int_equal(nof_transport_init(node->mem, bytes, &cfg, net->now_ns, &node->t), NOF_OK);
}

struct toy_net *toy_open(const struct toy_config *cfg)
{
    static const uint64_t initial[NOF_FEATURE_COUNT] = {
#define X(id, name, kind, def, min, max, choices, help) def,
        NOF_FEATURES(X)
#undef X
    };
    struct toy_net *net = calloc(1, sizeof(*net));

    assert_non_null(net);
    net->cfg = *cfg;
    net->random = cfg->seed;
    net->now_ns = 1000000;
    net->deaf_from = net->deaf_to = -1;
    for (unsigned i = 0; i < cfg->nodes; i++) {
        struct toy_node *node = &net->node[i];

        node->nic = (struct nof_nic_config){
            .mac = {2, 0, 0, 0, 0, (uint8_t)i},
            .udp_port = (uint16_t)(48620 + (cfg->one_address ? i : 0)),
            .ip4 = 0x0a000001u + (cfg->one_address ? 0 : i),
            .mtu_bytes = cfg->mtu_bytes != 0 ? cfg->mtu_bytes : 1500,
            .link_rate_bps = cfg->rate_hidden ? 0 : cfg->rate_bps,
            .max_paths = cfg->max_paths != 0 ? cfg->max_paths : 64,
            .window_frames = cfg->window_frames != 0 ? cfg->window_frames : 256,
            .sent_frames = cfg->sent_frames != 0 ? cfg->sent_frames : 8192,
            .reorder_frames = cfg->reorder_frames != 0 ? cfg->reorder_frames : 1024,
        };
        memcpy(node->features, initial, sizeof(initial));
        memcpy(node->key, TOY_KEY, 16);
        node->knows_job = 1;
        for (unsigned k = 0; k < TOY_NODES_MAX; k++)
            node->stream[k] = (struct toy_stream){.net = net, .node = i};
        node_start(net, i);
    }
    return net;
}

void toy_close(struct toy_net *net)
{
    for (unsigned i = 0; i < net->cfg.nodes; i++) {
        nof_transport_fini(net->node[i].t);
        free(net->node[i].mem);
        assert_int_equal(net->node[i].pool_used, 0);
    }
    for (unsigned i = 0; i < net->nevents; i++)
        free(net->events[i].data);
    free(net->events);
    free(net);
}

void toy_restart(struct toy_net *net, unsigned node)
{
    nof_transport_fini(net->node[node].t);
    free(net->node[node].mem);
    for (unsigned k = 0; k < TOY_NODES_MAX; k++)
        net->node[node].stream[k] = (struct toy_stream){.net = net, .node = node};
    node_start(net, node);
}

struct nof_card toy_card(const struct toy_net *net, unsigned node)
{
    const struct nof_nic_config *nic = &net->node[node].nic;
    struct nof_card card = {.nic_id = nic->nic_id, .udp_port = nic->udp_port, .ip4 = nic->ip4};

    memcpy(card.mac, nic->mac, 6);
    return card;
}

void toy_send(struct toy_net *net, unsigned src, unsigned dst, uint64_t frames, uint32_t body_bytes)
{
    struct toy_stream *s = &net->node[src].stream[dst];
    struct nof_card card = toy_card(net, dst);

    s->to_send += frames;
    s->body_bytes = body_bytes;
    nof_transport_tick(net->node[src].t, net->now_ns);
    if (s->path == NULL)
        assert_int_equal(nof_path_open(net->node[src].t, net->now_ns, TOY_JOB, &card, &s->path), NOF_OK);
    pump(s);
    nof_transport_flush(net->node[src].t);
}

bool toy_all_received(const struct toy_net *net)
{
    for (unsigned i = 0; i < net->cfg.nodes; i++)
        for (unsigned k = 0; k < net->cfg.nodes; k++)
            if (net->node[i].stream[k].to_send != net->node[k].stream[i].received)
                return false;
    return true;
}

static bool too_long(struct toy_net *net, const struct toy_event *e)
{
    if (net->cfg.net_mtu_bytes == 0 || e->len <= net->cfg.net_mtu_bytes + 14)
        return false;
    if (!net->cfg.cuts || (e->data[20] & 0x40) != 0)
        return true;
    net->cut++;
    return false;
}

static void at_switch(struct toy_net *net, struct toy_event e)
{
    struct toy_node *dst = e.dst < net->cfg.nodes ? &net->node[e.dst] : NULL;
    uint64_t extra = 0;

    if (dst == NULL || dst->island != net->node[e.src].island ||
        ((int)e.src == net->deaf_from && (int)e.dst == net->deaf_to) || too_long(net, &e) ||
        chance(net, net->cfg.loss)) {
        free(e.data);
        return;
    }
    uint64_t ser = wire_ns(net, e.len);
    uint64_t wait = dst->out_free_ns > net->now_ns ? dst->out_free_ns - net->now_ns : 0;
    if (net->cfg.buffer_bytes != 0 &&
        wait * net->cfg.rate_bps / 8000000000u + e.len > net->cfg.buffer_bytes) {
        net->dropped_full++;
        free(e.data);
        return;
    }
    dst->out_free_ns = net->now_ns + wait + ser;
    if (chance(net, net->cfg.corrupt))
        e.data[toy_random(net) % e.len] ^= (uint8_t)(1u << (toy_random(net) % 8));
    if (chance(net, net->cfg.reorder))
        extra = toy_random(net) % (net->cfg.jitter_ns + 1);
    e.kind = TOY_AT_NODE;
    e.at_ns = dst->out_free_ns + net->cfg.delay_ns / 2 + extra;
    if (chance(net, net->cfg.duplicate)) {
        struct toy_event copy = e;

        copy.data = malloc(e.len);
        assert_non_null(copy.data);
        memcpy(copy.data, e.data, e.len);
        copy.at_ns += toy_random(net) % (net->cfg.jitter_ns + 1);
        event_push(net, copy);
    }
    event_push(net, e);
}

void toy_inject(struct toy_net *net, unsigned dst, const uint8_t *data, uint32_t len_bytes)
{
    struct toy_node *node = &net->node[dst];
    uint8_t *copy = malloc(len_bytes + (len_bytes == 0));
    struct nof_frame frame = {.data = copy, .len_bytes = len_bytes, .cap_bytes = len_bytes};
    struct nof_frame *list[] = {&frame};

    /* An exact-size heap copy: a sanitizer sees every byte read too far. */
    assert_non_null(copy);
    memcpy(copy, data, len_bytes);
    nof_transport_rx(node->t, net->now_ns, list, 1);
    nof_transport_flush(node->t);
    free(copy);
}

static void poll_due(struct toy_net *net)
{
    for (unsigned i = 0; i < net->cfg.nodes; i++) {
        struct toy_node *node = &net->node[i];

        if (node->frozen || nof_transport_next_deadline(node->t) > net->now_ns)
            continue;
        (void)nof_transport_poll(node->t, net->now_ns, 64);
        nof_transport_flush(node->t);
    }
}

static uint64_t next_time(const struct toy_net *net)
{
    uint64_t at = net->nevents > 0 ? net->events[0].at_ns : UINT64_MAX;

    for (unsigned i = 0; i < net->cfg.nodes; i++) {
        uint64_t d = net->node[i].frozen ? UINT64_MAX : nof_transport_next_deadline(net->node[i].t);

        if (d < at)
            at = d;
    }
    return at;
}

static bool all_quiet(const struct toy_net *net)
{
    for (unsigned i = 0; i < net->cfg.nodes; i++)
        if (!nof_transport_quiet(net->node[i].t))
            return false;
    return net->nevents == 0;
}

void toy_run(struct toy_net *net, uint64_t until_ns, int stop_when_done)
{
    unsigned still = 0;

    for (;;) {
        uint64_t at = next_time(net);

        if (stop_when_done && toy_all_received(net) && all_quiet(net))
            return;
        if (at > until_ns) {
            net->now_ns = until_ns;
            return;
        }
        /* Time must pass: a deadline that is due again and again is a busy loop. */
        still = at > net->now_ns ? 0 : still + 1;
        assert_true(still < 100000);
        assert_true(++net->steps < STEPS_MAX);
        if (at > net->now_ns)
            net->now_ns = at;
        while (net->nevents > 0 && net->events[0].at_ns <= net->now_ns) {
            struct toy_event e = event_pop(net);

            if (e.kind == TOY_AT_SWITCH) {
                at_switch(net, e);
                continue;
            }
            if (!net->node[e.dst].frozen)
                toy_inject(net, e.dst, e.data, e.len);
            free(e.data);
        }
        poll_due(net);
    }
}
