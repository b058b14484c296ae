/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hostile frames against a transport with one established path and one that is opening. Input:
 * records of kind (1 byte), length (2 bytes, little-endian) and that many bytes.
 *   kind 0: a whole frame, as it is
 *   kind 1: a datagram (common header on); outer headers, lengths, connection id and CRC are put
 *           right, so that what lies behind those checks is reached
 *   kind 2: time passes, by the bytes' value in microseconds
 *   kind 3: frames are sent on the path */
#include <stdlib.h>
#include <string.h>

#include "../../firmware/transport/state.h"

#define FRAME_MAX 2048u
#define CONN 0x1122334455660000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long frames_out;

static struct nof_frame *frame_alloc(void *port, uint32_t len_bytes)
{
    struct nof_frame *f = malloc(sizeof(*f) + len_bytes);

    (void)port;
    if (f == NULL)
        return NULL;
    f->data = (uint8_t *)(f + 1);
    f->cap_bytes = len_bytes;
    f->len_bytes = 0;
    frames_out++;
    return f;
}

static void frame_free(void *port, struct nof_frame *frame)
{
    (void)port;
    frames_out--;
    free(frame);
}

static unsigned port_send(void *port, struct nof_frame *const *frames, unsigned n)
{
    unsigned *calls = port;

    (void)frames;
    return ++*calls % 7 == 0 ? n / 2 : n;
}

static int on_frame(void *up, struct nof_path *path, const struct nof_wire_view *view, int lent)
{
    volatile uint8_t sum = 0;

    (void)up;
    (void)path;
    (void)lent;
    for (uint32_t i = 0; i < view->fields_bytes; i++)
        sum = (uint8_t)(sum + view->fields[i]);
    for (uint32_t i = 0; i < view->payload_bytes; i++)
        sum = (uint8_t)(sum + view->payload[i]);
    return view->type == NOF_WIRE_EP_DOWN ? NOF_EPROTO : NOF_OK;
}

static void on_path(void *up, struct nof_path *path)
{
    (void)up;
    (void)path;
}

static void on_dead(void *up, struct nof_path *path, int reason)
{
    struct nof_path **current = up;

    (void)reason;
    if (*current == path)
        *current = NULL;
}

static const uint8_t *job_key(void *up, uint64_t job_id)
{
    static const uint8_t key[] = "0123456789abcdef";

    (void)up;
    return job_id == 77 ? key : NULL;
}

static const struct nof_port_ops port_ops = {
    .frame_alloc = frame_alloc, .frame_free = frame_free, .send = port_send};
static const struct nof_transport_ops ops = {
    .on_frame = on_frame, .on_up = on_path, .on_ready = on_path, .on_dead = on_dead, .job_key = job_key};
static const struct nof_packet_addr self = {.mac = {2, 0, 0, 0, 0, 1}, .udp_port = 48620, .ip4 = 0x0a000002};
static const struct nof_packet_addr peer = {.mac = {2, 0, 0, 0, 0, 9}, .udp_port = 48620, .ip4 = 0x0a000009};

static struct nof_path *establish(struct nof_transport *t)
{
    struct nof_path *p = nof_path_alloc(t, 77, 901);
    struct nof_card card = {.nic_id = 902, .udp_port = 48620, .ip4 = 0x0a00000a};
    struct nof_path *opening;

    p->local_conn = CONN;
    p->ours = true;
    nof_path_set_peer(p, &peer, 5);
    p->mtu_bytes = 1500;
    p->window_frames = 32;
    p->snd_nxt = p->snd_cum = 0xfffffffcu;
    p->rcv_nxt = p->rcv_high = 0xfffffffeu;
    p->state = NOF_PATH_UP;
    nof_cc_init(p);
    (void)nof_path_open(t, 1000, 77, &card, &opening);
    return p;
}

static void receive(struct nof_transport *t, uint64_t now_ns, const uint8_t *data, uint32_t len)
{
    uint8_t *copy = malloc(len + (len == 0));
    struct nof_frame frame = {.data = copy, .len_bytes = len, .cap_bytes = len};
    struct nof_frame *list[] = {&frame};

    if (copy == NULL)
        return;
    memcpy(copy, data, len);
    nof_transport_rx(t, now_ns, list, 1);
    nof_transport_flush(t);
    free(copy);
}

static void receive_datagram(struct nof_transport *t, uint64_t now_ns, const uint8_t *data, uint32_t len)
{
    uint8_t frame[NOF_WIRE_OUTER_BYTES + FRAME_MAX] = {0};
    uint8_t head[NOF_PACKET_HEAD_BYTES];
    uint16_t sum;

    if (len < NOF_WIRE_COMMON_BYTES)
        return;
    sum = nof_packet_head(head, &peer, &self, 48620, data[NOF_WIRE_TYPE] == NOF_WIRE_HELLO ? 0 : CONN);
    memcpy(frame + NOF_WIRE_OUTER_BYTES, data, len);
    struct nof_packet_fill fill = {
        .type = data[NOF_WIRE_TYPE],
        .flags = data[NOF_WIRE_FLAGS],
        .fields_bytes = data[NOF_WIRE_FIELDS],
        .pn = nof_get32(data + NOF_WIRE_PN),
        .ack = nof_get32(data + NOF_WIRE_ACK),
        .ack_delay_us = nof_get16(data + NOF_WIRE_ACK_DELAY),
    };
    nof_packet_finish(frame, head, sum, &fill, len - NOF_WIRE_COMMON_BYTES);
    receive(t, now_ns, frame, NOF_WIRE_OUTER_BYTES + len);
}

static void send_some(struct nof_transport *t, struct nof_path *p, unsigned n)
{
    uint8_t *body;
    struct nof_frame *f;

    while (n-- > 0 && nof_path_window(p, 0) > 0 && (f = nof_path_frame(p, 64, &body)) != NULL) {
        memset(body, 0x5a, 64);
        (void)nof_path_send(p, f, NOF_WIRE_DATA, 0, 1, 2, 16, 64, 0);
    }
    nof_transport_flush(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nof_nic_config nic = {.nic_id = 100,
                                 .mac = {2, 0, 0, 0, 0, 1},
                                 .udp_port = 48620,
                                 .ip4 = 0x0a000002,
                                 .mtu_bytes = 1500,
                                 .max_paths = 4,
                                 .window_frames = 32,
                                 .sent_frames = 16,
                                 .reorder_frames = 4};
    uint64_t counters[NOF_COUNTER_COUNT] = {0};
    uint64_t features[NOF_FEATURE_COUNT] = {
        [NOF_F_DEAD_AFTER] = 1000, [NOF_F_ACK_DELAY] = 50, [NOF_F_CONGESTION] = 1, [NOF_F_PACING] = 1};
    struct nof_path *path = NULL;
    unsigned calls = 0;
    struct nof_transport_config cfg = {.nic = &nic,
                                       .port_ops = &port_ops,
                                       .port = &calls,
                                       .ops = &ops,
                                       .up = &path,
                                       .counters = counters,
                                       .features = features};
    size_t bytes = (nof_transport_mem_size(&cfg) + 63) & ~(size_t)63;
    void *mem = aligned_alloc(64, bytes);
    uint64_t now_ns = 1000;
    struct nof_transport *t;

    if (mem == NULL || nof_transport_init(mem, bytes, &cfg, now_ns, &t) != NOF_OK)
        abort();
    path = establish(t);
    while (size >= 3) {
        uint32_t len = nof_get16(data + 1);
        uint8_t kind = data[0] & 3;

        data += 3;
        size -= 3;
        len = len > size ? (uint32_t)size : len;
        len = len > FRAME_MAX ? FRAME_MAX : len;
        if (kind == 0)
            receive(t, now_ns, data, len);
        else if (kind == 1)
            receive_datagram(t, now_ns, data, len);
        else if (kind == 3 && path != NULL)
            send_some(t, path, len & 31);
        for (uint32_t i = 0; kind == 2 && i < len; i++)
            now_ns += (uint64_t)data[i] * 1000;
        (void)nof_transport_poll(t, now_ns, 64);
        nof_transport_flush(t);
        data += len;
        size -= len;
    }
    nof_transport_fini(t);
    if (frames_out != 0)
        abort(); /* a frame of the port was lost */
    free(mem);
    return 0;
}
