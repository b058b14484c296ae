/* SPDX-License-Identifier: BSD-3-Clause */
#include "alone.h"

#include <stdlib.h>
#include <string.h>

const struct nof_packet_addr alone_self = {.mac = {2, 0, 0, 0, 0, 1}, .udp_port = 48620, .ip4 = 0x0a000002};
const struct nof_packet_addr alone_peer = {.mac = {2, 0, 0, 0, 0, 9}, .udp_port = 48620, .ip4 = 0x0a000009};

static struct nof_frame *frame_alloc(void *port, uint32_t len_bytes)
{
    struct alone *a = port;
    struct nof_frame *f = a->no_frames ? NULL : malloc(sizeof(*f) + len_bytes);

    if (f == NULL)
        return NULL;
    f->data = (uint8_t *)(f + 1);
    f->cap_bytes = len_bytes;
    f->len_bytes = 0;
    a->frames++;
    return f;
}

static void frame_free(void *port, struct nof_frame *frame)
{
    struct alone *a = port;

    a->frames--;
    free(frame);
}

static unsigned port_send(void *port, struct nof_frame *const *frames, unsigned n)
{
    struct alone *a = port;
    unsigned done = n;

    a->sends++;
    if (a->busy_every != 0 && a->sends % a->busy_every == 0)
        done = n / 2;
    if (a->stuck)
        done = 0;
    a->sent += done;
    if (done > 0 && frames[done - 1]->len_bytes <= sizeof(a->last)) {
        a->last_bytes = frames[done - 1]->len_bytes;
        memcpy(a->last, frames[done - 1]->data, a->last_bytes);
    }
    return done;
}

static void port_conn(void *port, uint32_t slot, uint64_t id)
{
    struct alone *a = port;

    if (slot >= NOF_PORT_CONN_DEAD + ALONE_PATHS)
        abort();
    a->conn[slot] = id;
}

/* Reads every byte that it is given. */
static int on_frame(void *up, struct nof_path *path, const struct nof_wire_view *view, bool lent)
{
    struct alone *a = up;
    volatile uint8_t sum = 0;

    (void)path;
    (void)lent;
    for (uint32_t i = 0; i < view->fields_bytes; i++)
        sum = (uint8_t)(sum + view->fields[i]);
    for (uint32_t i = 0; i < view->payload_bytes; i++)
        sum = (uint8_t)(sum + view->payload[i]);
    a->delivered++;
    return a->refused != 0 && view->type == a->refused ? NOF_EPROTO : NOF_OK;
}

static void on_up(void *up, struct nof_path *path)
{
    (void)up;
    (void)path;
}

static void on_ready(void *up, struct nof_path *path)
{
    struct alone *a = up;

    a->ready++;
    a->ready_path = path;
}

static void on_dead(void *up, struct nof_path *path, int reason)
{
    struct alone *a = up;

    a->deaths++;
    a->reason = reason;
    if (a->path == path)
        a->path = NULL;
}

static const uint8_t *job_key(void *up, uint64_t job_id)
{
    static const uint8_t key[] = "0123456789abcdef";

    (void)up;
    return job_id == ALONE_JOB ? key : NULL;
}

static const struct nof_port_ops port_ops = {
    .frame_alloc = frame_alloc, .frame_free = frame_free, .send = port_send, .conn = port_conn};
static const struct nof_transport_ops ops = {
    .on_frame = on_frame, .on_up = on_up, .on_ready = on_ready, .on_dead = on_dead, .job_key = job_key};

struct nof_path *alone_path(struct alone *a, uint64_t peer_nic)
{
    struct nof_transport *t = a->t;
    struct nof_path *p = nof_path_alloc(t, ALONE_JOB, peer_nic);

    if (p == NULL)
        return NULL;
    p->ours = true;
    nof_path_set_peer(p, &alone_peer, 5);
    p->mtu_bytes = 1500;
    p->window_frames = (uint16_t)t->window_frames;
    struct nof_cc_path cc = nof_path_cc(p);
    nof_cc_init(&p->cc, &cc);
    p->state = NOF_PATH_UP;
    return p;
}

void alone_open(struct alone *a, uint64_t now_ns)
{
    a->nic.nic_id = 100;
    memcpy(a->nic.mac, alone_self.mac, sizeof(a->nic.mac));
    a->nic.udp_port = alone_self.udp_port;
    a->nic.group_port = alone_self.udp_port;
    a->nic.ip4 = alone_self.ip4;
    a->nic.mtu_bytes = 1500;
    a->nic.max_paths = ALONE_PATHS;
    a->nic.sent_frames = 16;
    a->nic.reorder_frames = 4;
    a->features[NOF_F_DEAD_AFTER] = 1000;
    a->features[NOF_F_ACK_DELAY] = 50;
    struct nof_transport_config cfg = {.nic = &a->nic,
                                       .port_ops = &port_ops,
                                       .port = a,
                                       .ops = &ops,
                                       .up = a,
                                       .counters = a->counters,
                                       .features = a->features};
    size_t bytes = (nof_transport_mem_size(&cfg) + 63) & ~(size_t)63;

    a->mem = aligned_alloc(64, bytes);
    if (a->mem == NULL || nof_transport_init(a->mem, bytes, &cfg, now_ns, &a->t) != NOF_OK)
        abort();
    a->path = alone_path(a, 901);
    a->path->local_conn = ALONE_CONN;
}

static void says(struct alone *a, uint64_t now_ns, const struct nof_packet_fill *fill, const void *body,
                 uint32_t body_bytes, uint8_t traffic_class)
{
    uint8_t frame[ALONE_FRAME_MAX];
    uint8_t head[NOF_PACKET_HEAD_BYTES];
    uint16_t sum = nof_packet_head(head, &alone_peer, &alone_self, alone_peer.udp_port, ALONE_CONN);

    head[15] = traffic_class; /* the lower half of a word of the checksum */
    sum = (uint16_t)(sum + traffic_class);

    if (body_bytes > 0)
        memcpy(frame + NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES, body, body_bytes);
    nof_packet_finish(frame, head, sum, fill, body_bytes);
    alone_rx(a, now_ns, frame, NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES + body_bytes);
}

void alone_peer_says(struct alone *a, uint64_t now_ns, const struct nof_packet_fill *fill, const void *body,
                     uint32_t body_bytes)
{
    says(a, now_ns, fill, body, body_bytes, 0);
}

void alone_peer_says_marked(struct alone *a, uint64_t now_ns, const struct nof_packet_fill *fill,
                            const void *body, uint32_t body_bytes)
{
    says(a, now_ns, fill, body, body_bytes, 3);
}

void alone_rx(struct alone *a, uint64_t now_ns, const uint8_t *data, uint32_t len)
{
    uint8_t *copy = malloc(len + (len == 0)); /* of this length, so that a byte too far is seen */
    struct nof_frame frame = {.data = copy, .len_bytes = len, .cap_bytes = len};
    struct nof_frame *list[] = {&frame};

    if (copy == NULL)
        abort();
    memcpy(copy, data, len);
    nof_transport_rx(a->t, now_ns, list, 1);
    nof_transport_flush(a->t);
    free(copy);
}

long alone_close(struct alone *a)
{
    nof_transport_fini(a->t);
    free(a->mem);
    return a->frames;
}
