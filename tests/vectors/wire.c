/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The golden frames of wire.txt (written by wire_generate.py, which knows only docs/WIRE.md): those
 * that are good are taken and written again byte by byte, the others are dropped under exactly the
 * counter that the line names. Usage: wire <wire.txt> */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../firmware/transport/state.h"

#define FRAME_MAX 2048
#define CONN 0x1122334455660000u

static struct nof_frame tx[8];
static uint8_t tx_bytes[8][FRAME_MAX];
static unsigned tx_used;

static struct nof_frame *frame_alloc(void *port, uint32_t len_bytes)
{
    struct nof_frame *f = &tx[tx_used];

    (void)port;
    if (tx_used == 8 || len_bytes > FRAME_MAX)
        return NULL;
    f->data = tx_bytes[tx_used++];
    f->cap_bytes = FRAME_MAX;
    return f;
}

static void frame_free(void *port, struct nof_frame *frame)
{
    (void)port;
    (void)frame;
}

static unsigned port_send(void *port, struct nof_frame *const *frames, unsigned n)
{
    (void)port;
    (void)frames;
    return n;
}

static int on_frame(void *up, struct nof_path *path, const struct nof_wire_view *view, int lent)
{
    (void)path;
    (void)view;
    (void)lent;
    ++*(int *)up;
    return NOF_OK;
}

static void on_path(void *up, struct nof_path *path)
{
    (void)up;
    (void)path;
}

static void on_dead(void *up, struct nof_path *path, int reason)
{
    (void)up;
    (void)path;
    (void)reason;
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
static const char *const names[] = {
#define X(id, name, unit, help) name,
    NOF_COUNTERS(X)
#undef X
};

/* The path that the golden frames belong to, as if its handshake had gone before. */
static void establish(struct nof_transport *t, const uint8_t *data, uint32_t len)
{
    struct nof_packet_addr peer = {.mac = {2, 0, 0, 0, 0, 9}, .udp_port = 48620, .ip4 = 0x0a000009};
    struct nof_path *p = nof_path_alloc(t, 77, 901);
    const uint8_t *c = data + NOF_WIRE_OUTER_BYTES;

    p->local_conn = CONN;
    p->ours = true;
    nof_path_set_peer(p, &peer, 5);
    p->mtu_bytes = 1500;
    p->window_frames = 256;
    nof_cc_init(p);
    p->state = NOF_PATH_UP;
    if (len < NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES)
        return;
    if (data[12] == 0x81)
        c += 4;
    p->rcv_nxt = p->rcv_high = nof_get32(c + NOF_WIRE_PN);
    p->snd_cum = p->snd_nxt = nof_get32(c + NOF_WIRE_ACK);
}

/* Write the frame again from what was read; only frames as we send them ourselves. */
static int same_again(const uint8_t *data, uint32_t len)
{
    const uint8_t *c = data + NOF_WIRE_OUTER_BYTES;
    struct nof_packet_addr self = {.mac = {2, 0, 0, 0, 0, 1}, .udp_port = 48620, .ip4 = 0x0a000002};
    struct nof_packet_addr peer = {.mac = {2, 0, 0, 0, 0, 9}, .udp_port = 48620, .ip4 = 0x0a000009};
    uint8_t head[NOF_PACKET_HEAD_BYTES];
    uint8_t again[FRAME_MAX];
    uint16_t sum;

    if (data[12] == 0x81 || nof_get16(c + NOF_WIRE_LEN) + NOF_WIRE_OUTER_BYTES != len)
        return 1;
    struct nof_packet_fill fill = {
        .type = c[NOF_WIRE_TYPE],
        .flags = c[NOF_WIRE_FLAGS],
        .fields_bytes = c[NOF_WIRE_FIELDS],
        .pn = nof_get32(c + NOF_WIRE_PN),
        .ack = nof_get32(c + NOF_WIRE_ACK),
        .ack_delay_us = nof_get16(c + NOF_WIRE_ACK_DELAY),
        .src_ep = nof_get16(c + NOF_WIRE_SRC_EP),
        .dst_ep = nof_get16(c + NOF_WIRE_DST_EP),
    };
    sum = nof_packet_head(head, &peer, &self, (uint16_t)(data[34] << 8 | data[35]),
                          nof_get64(c + NOF_WIRE_CONN));
    memcpy(again, data, len);
    memset(again, 0xcc, NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES);
    nof_packet_finish(again, head, sum, &fill, len - NOF_WIRE_OUTER_BYTES - NOF_WIRE_COMMON_BYTES);
    return memcmp(again, data, len) == 0;
}

static int run(const char *name, const char *verdict, const uint8_t *data, uint32_t len)
{
    struct nof_nic_config nic = {.nic_id = 100,
                                 .mac = {2, 0, 0, 0, 0, 1},
                                 .udp_port = 48620,
                                 .ip4 = 0x0a000002,
                                 .mtu_bytes = 1500,
                                 .max_paths = 4,
                                 .window_frames = 256,
                                 .sent_frames = 16,
                                 .reorder_frames = 4};
    uint64_t counters[NOF_COUNTER_COUNT] = {0};
    uint64_t features[NOF_FEATURE_COUNT] = {[NOF_F_DEAD_AFTER] = 1000, [NOF_F_ACK_DELAY] = 50};
    int delivered = 0;
    struct nof_transport_config cfg = {.nic = &nic,
                                       .port_ops = &port_ops,
                                       .ops = &ops,
                                       .up = &delivered,
                                       .counters = counters,
                                       .features = features};
    size_t bytes = (nof_transport_mem_size(&cfg) + 63) & ~(size_t)63;
    void *mem = aligned_alloc(64, bytes);
    uint8_t *copy = malloc(len + (len == 0));
    struct nof_frame frame = {.data = copy, .len_bytes = len, .cap_bytes = len};
    struct nof_frame *list[] = {&frame};
    struct nof_transport *t;
    int bad = 0;

    tx_used = 0;
    if (mem == NULL || copy == NULL || nof_transport_init(mem, bytes, &cfg, 1, &t) != NOF_OK)
        return 1;
    memcpy(copy, data, len);
    establish(t, data, len);
    nof_transport_rx(t, 2, list, 1);
    nof_transport_flush(t);
    for (unsigned k = 0; k < NOF_COUNTER_COUNT; k++) {
        uint64_t want = strcmp(names[k], verdict) == 0;

        if (strncmp(names[k], "drop.", 5) == 0 && counters[k] != want) {
            printf("%s: %s is %u, not %u\n", name, names[k], (unsigned)counters[k], (unsigned)want);
            bad = 1;
        }
    }
    if (strcmp(verdict, "ok") == 0) {
        uint8_t type = data[(data[12] == 0x81 ? 4 : 0) + NOF_WIRE_OUTER_BYTES + NOF_WIRE_TYPE];

        if (delivered != (type >= NOF_WIRE_RELIABLE_FIRST)) {
            printf("%s: handed up %d times\n", name, delivered);
            bad = 1;
        }
        if (!same_again(data, len)) {
            printf("%s: written again, it differs\n", name);
            bad = 1;
        }
    }
    nof_transport_fini(t);
    free(copy);
    free(mem);
    return bad;
}

static uint32_t from_hex(const char *hex, uint8_t *data)
{
    uint32_t n = 0;

    for (; hex[0] != '-' && hex[0] != '\0' && hex[1] != '\0' && n < FRAME_MAX; hex += 2) {
        char two[3] = {hex[0], hex[1], '\0'};

        data[n++] = (uint8_t)strtoul(two, NULL, 16);
    }
    return n;
}

int main(int argc, char **argv)
{
    static char hex[2 * FRAME_MAX + 2];
    static uint8_t data[FRAME_MAX];
    char name[64];
    char verdict[64];
    unsigned lines = 0;
    unsigned bad = 0;
    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;

    if (f == NULL) {
        fprintf(stderr, "cannot open the golden frames: usage: %s wire.txt\n", argv[0]);
        return 2;
    }
    while (fscanf(f, "%63s %63s %4097s", name, verdict, hex) == 3) {
        uint32_t len = from_hex(hex, data);

        bad += (unsigned)run(name, verdict, data, len);
        lines++;
    }
    fclose(f);
    printf("%u golden frames, %u wrong\n", lines, bad);
    return bad > 0 || lines < 50;
}
