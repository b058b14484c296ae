/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The golden frames of wire.txt (written by wire_generate.py, which knows only docs/WIRE.md): those
 * that are good are taken and written again byte by byte, the others are dropped under exactly the
 * counter that the line names. Usage: wire <wire.txt> */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alone.h"

static const char *const names[] = {
#define X(id, name, unit, help) name,
    NOF_COUNTERS(X)
#undef X
};

/* The path stands where the golden frames begin. */
static void continue_with(struct nof_path *p, const uint8_t *data, uint32_t len)
{
    const uint8_t *c = data + NOF_WIRE_OUTER_BYTES;

    if (len < NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES)
        return;
    if (data[12] == 0x81)
        c += 4;
    p->reorder.next_pn = p->reorder.high_pn = nof_get32(c + NOF_WIRE_PN);
    p->sent.cum_pn = p->sent.next_pn = nof_get32(c + NOF_WIRE_ACK);
}

/* Write the frame again from what was read; only frames as we send them ourselves. */
static bool same_again(const uint8_t *data, uint32_t len)
{
    const uint8_t *c = data + NOF_WIRE_OUTER_BYTES;
    uint8_t head[NOF_PACKET_HEAD_BYTES];
    uint8_t again[ALONE_FRAME_MAX];
    uint16_t sum;

    if (data[12] == 0x81 || nof_get16(c + NOF_WIRE_LEN) + NOF_WIRE_OUTER_BYTES != len)
        return true;
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
    struct nof_packet_addr to = alone_self;
    if (data[0] & 1) {
        memcpy(to.mac, data, sizeof(to.mac));
        to.ip4 = (uint32_t)data[30] << 24 | (uint32_t)data[31] << 16 | (uint32_t)data[32] << 8 | data[33];
    }
    sum = nof_packet_head(head, &alone_peer, &to, (uint16_t)(data[34] << 8 | data[35]),
                          nof_get64(c + NOF_WIRE_CONN));
    memcpy(again, data, len);
    memset(again, 0xcc, NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES);
    nof_packet_finish(again, head, sum, &fill, len - NOF_WIRE_OUTER_BYTES - NOF_WIRE_COMMON_BYTES);
    return memcmp(again, data, len) == 0;
}

static int run(const char *name, const char *verdict, const uint8_t *data, uint32_t len)
{
    struct alone a = {.nic.window_frames = 256};
    int bad = 0;

    alone_open(&a, 1);
    continue_with(a.path, data, len);
    alone_rx(&a, 2, data, len);
    for (unsigned k = 0; k < NOF_COUNTER_COUNT; k++) {
        uint64_t want = strcmp(names[k], verdict) == 0;

        if (strncmp(names[k], "drop.", 5) == 0 && a.counters[k] != want) {
            printf("%s: %s is %u, not %u\n", name, names[k], (unsigned)a.counters[k], (unsigned)want);
            bad = 1;
        }
    }
    if (strcmp(verdict, "ok") == 0) {
        uint8_t type = data[(data[12] == 0x81 ? 4 : 0) + NOF_WIRE_OUTER_BYTES + NOF_WIRE_TYPE];

        bool rises = type >= NOF_WIRE_RELIABLE_FIRST || type == NOF_WIRE_GACK || type == NOF_WIRE_MDATA;
        if (a.delivered != rises) {
            printf("%s: handed up %d times\n", name, (int)a.delivered);
            bad = 1;
        }
        if (!same_again(data, len)) {
            printf("%s: written again, it differs\n", name);
            bad = 1;
        }
    }
    if (alone_close(&a) != 0) {
        printf("%s: a frame of the port was lost\n", name);
        bad = 1;
    }
    return bad;
}

static uint32_t from_hex(const char *hex, uint8_t *data)
{
    uint32_t n = 0;

    for (; hex[0] != '-' && hex[0] != '\0' && hex[1] != '\0' && n < ALONE_FRAME_MAX; hex += 2) {
        char two[3] = {hex[0], hex[1], '\0'};

        data[n++] = (uint8_t)strtoul(two, NULL, 16);
    }
    return n;
}

int main(int argc, char **argv)
{
    static char hex[2 * ALONE_FRAME_MAX + 2];
    static uint8_t data[ALONE_FRAME_MAX];
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
