/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hostile frames against a transport with one established path and one that is opening. Input:
 * records of kind (1 byte), length (2 bytes, little-endian) and that many bytes.
 *   kind 0: a whole frame, as it is
 *   kind 1: a datagram (common header on); outer headers, lengths, connection id and CRC are put
 *           right, so that what lies behind those checks is reached; MDATA goes to a group
 *   kind 2: time passes, by the bytes' value in microseconds
 *   kind 3: frames are sent on the path */
#include <stdlib.h>
#include <string.h>

#include "../vectors/alone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void open_another(struct nof_transport *t)
{
    struct nof_card card = {.nic_id = 902, .udp_port = 48620, .ip4 = 0x0a00000a};
    struct nof_path *opening;

    (void)nof_path_open(t, 1000, ALONE_JOB, &card, &opening);
}

static void receive_datagram(struct alone *a, uint64_t now_ns, const uint8_t *data, uint32_t len)
{
    uint8_t frame[NOF_WIRE_OUTER_BYTES + ALONE_FRAME_MAX] = {0};
    uint8_t head[NOF_PACKET_HEAD_BYTES];
    struct nof_packet_addr to = alone_self;
    uint16_t sum;

    if (len < NOF_WIRE_COMMON_BYTES)
        return;
    if (data[NOF_WIRE_TYPE] == NOF_WIRE_MDATA) {
        to.ip4 = 0xefc00001u;
        nof_packet_group_mac(to.ip4, to.mac);
    }
    sum = nof_packet_head(head, &alone_peer, &to, 48620,
                          data[NOF_WIRE_TYPE] == NOF_WIRE_HELLO ? 0 : ALONE_CONN);
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
    alone_rx(a, now_ns, frame, NOF_WIRE_OUTER_BYTES + len);
}

static void send_some(struct alone *a, unsigned n)
{
    struct nof_path *p = a->path;
    uint8_t *body;
    struct nof_frame *f;

    while (n-- > 0 && nof_path_window(p, false) > 0 && (f = nof_path_frame(p, 64, &body)) != NULL) {
        memset(body, 0x5a, 64);
        (void)nof_path_send(p, f, NOF_WIRE_DATA, 0, 1, 2, 16, 64, 0);
    }
    nof_transport_flush(a->t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct alone a = {.features = {[NOF_F_CONGESTION] = 1, [NOF_F_PACING] = 1},
                      .nic.window_frames = 32,
                      .busy_every = 7,
                      .refused = NOF_WIRE_EP_DOWN};
    uint64_t now_ns = 1000;

    alone_open(&a, now_ns);
    a.path->sent.next_pn = a.path->sent.cum_pn = 0xfffffffcu;
    a.path->reorder.next_pn = a.path->reorder.high_pn = 0xfffffffeu;
    open_another(a.t);
    while (size >= 3) {
        uint32_t len = nof_get16(data + 1);
        uint8_t kind = data[0] & 3;

        data += 3;
        size -= 3;
        len = len > size ? (uint32_t)size : len;
        len = len > ALONE_FRAME_MAX ? ALONE_FRAME_MAX : len;
        if (kind == 0)
            alone_rx(&a, now_ns, data, len);
        else if (kind == 1)
            receive_datagram(&a, now_ns, data, len);
        else if (kind == 3 && a.path != NULL)
            send_some(&a, len & 31);
        for (uint32_t i = 0; kind == 2 && i < len; i++)
            now_ns += (uint64_t)data[i] * 1000;
        (void)nof_transport_poll(a.t, now_ns, 64);
        nof_transport_flush(a.t);
        data += len;
        size -= len;
    }
    if (alone_close(&a) != 0)
        abort(); /* a frame of the port was lost */
    return 0;
}
