/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each way in which a frame can be wrong has its own counter, and no byte outside it is read. */
#include "toy_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transport/packet.h"
#include "nof/counters.h"

#define BODY 24u
#define LEN (NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES + BODY)

static const struct nof_packet_addr addr = {.mac = {2, 0, 0, 0, 0, 1}, .udp_port = 48620, .ip4 = 0x0a000002};
static const struct nof_packet_addr peer = {.mac = {2, 0, 0, 0, 0, 9}, .udp_port = 700, .ip4 = 0x0a000009};

static void good_frame(uint8_t data[LEN])
{
    uint8_t head[NOF_PACKET_HEAD_BYTES];
    uint16_t sum = nof_packet_head(head, &peer, &addr, 50000, 0x1122334455667788u);
    struct nof_packet_fill fill = {
        .type = NOF_WIRE_DATA, .flags = 1, .fields_bytes = 16, .pn = 5, .ack = 6, .src_ep = 7, .dst_ep = 8};

    for (unsigned i = 0; i < BODY; i++)
        data[NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES + i] = (uint8_t)i;
    nof_packet_finish(data, head, sum, &fill, BODY);
}

/* From a heap block of exactly this size, so that a sanitizer sees a read too far. */
static int parse(const uint8_t *data, uint32_t len, struct nof_packet *packet)
{
    uint8_t *copy = malloc(len + (len == 0));
    struct nof_packet_self self;
    int why;

    nof_packet_self(&self, &addr);
    assert_non_null(copy);
    memcpy(copy, data, len);
    why = nof_packet_parse(copy, len, &self, packet);
    if (why == 0 && !nof_packet_crc_ok(packet))
        why = NOF_C_DROP_CRC;
    free(copy);
    return why;
}

static void what_is_written_is_read_back(void **state)
{
    uint8_t f[LEN];
    struct nof_packet p;
    struct nof_packet_self self;
    struct nof_packet_addr from;

    (void)state;
    nof_packet_self(&self, &addr);
    good_frame(f);
    assert_int_equal(nof_packet_parse(f, LEN, &self, &p), 0);
    nof_packet_from(&p, &from);
    assert_true(nof_packet_crc_ok(&p));
    assert_ptr_equal(p.common, f + NOF_WIRE_OUTER_BYTES);
    assert_int_equal(p.len_bytes, NOF_WIRE_COMMON_BYTES + BODY);
    assert_int_equal(p.fields_bytes, 16);
    assert_int_equal(from.ip4, peer.ip4);
    assert_int_equal(from.udp_port, 50000);
    assert_memory_equal(from.mac, peer.mac, 6);
}

/* All but that as it was, and good. */
static void a_frame_that_may_be_cut_differs_in_one_bit_a_number_and_the_sum(void **state)
{
    struct nof_packet_self self;
    struct nof_packet packet;
    uint8_t data[LEN], head[NOF_PACKET_HEAD_BYTES];
    uint16_t sum;

    (void)state;
    nof_packet_self(&self, &addr);
    for (uint32_t i = 0; i < 70000; i++) { /* all sums there are */
        struct nof_packet_addr from = {.ip4 = i * 65521u};
        struct nof_packet_fill fill = {.type = NOF_WIRE_PROBE};
        uint8_t other[LEN];

        sum = nof_packet_head(head, &from, &addr, 50000, 1);
        nof_packet_finish(data, head, sum, &fill, LEN - NOF_WIRE_OUTER_BYTES - NOF_WIRE_COMMON_BYTES);
        memcpy(other, data, LEN);
        assert_int_equal(data[20], 0x40);
        assert_false(nof_packet_is_cut(data));
        nof_packet_cut(data, (uint16_t)(i * 40503u));
        assert_true(nof_packet_is_cut(data));
        assert_int_equal(nof_packet_parse(data, LEN, &self, &packet), 0);
        assert_int_equal(nof_get_be16(data + 18), i * 40503u & 0xffffu);
        data[24] = other[24] = data[25] = other[25] = 0;
        data[18] = data[19] = 0;
        other[20] = 0;
        assert_memory_equal(data, other, LEN);
    }
}

static void a_vlan_tag_and_ethernet_padding_are_allowed(void **state)
{
    uint8_t f[LEN];
    uint8_t tagged[LEN + 4 + 10] = {0};
    struct nof_packet p;

    (void)state;
    good_frame(f);
    memcpy(tagged, f, 12);
    memcpy(tagged + 12, "\x81\x00\x20\x07", 4);
    memcpy(tagged + 16, f + 12, LEN - 12);
    assert_int_equal(parse(tagged, LEN + 4, &p), 0);
    assert_int_equal(parse(tagged, LEN + 4 + 10, &p), 0);
    memcpy(tagged + 16, "\x81\x00\x20\x07", 4); /* a second tag is not */
    assert_int_equal(parse(tagged, LEN + 4, &p), NOF_C_DROP_FOREIGN);
}

static void each_wrong_field_has_its_counter(void **state)
{
    static const struct {
        unsigned at;
        uint8_t flip;
        int why;
    } cases[] = {
        {0, 4, NOF_C_DROP_FOREIGN}, /* MAC */
        {12, 1, NOF_C_DROP_FOREIGN}, /* EtherType */
        {14, 0x10, NOF_C_DROP_FOREIGN}, /* IP version */
        {14, 0x01, NOF_C_DROP_FOREIGN}, /* IP options */
        {20, 0x20, NOF_C_DROP_FOREIGN}, /* more fragments */
        {21, 0x01, NOF_C_DROP_FOREIGN}, /* fragment offset */
        {23, 0x01, NOF_C_DROP_FOREIGN}, /* protocol */
        {33, 0x01, NOF_C_DROP_FOREIGN}, /* destination address */
        {22, 0x01, NOF_C_DROP_LENGTH}, /* IP header checksum: TTL */
        {37, 0x01, NOF_C_DROP_FOREIGN}, /* UDP port */
        {39, 0x01, NOF_C_DROP_LENGTH}, /* UDP length */
        {42, 0x01, NOF_C_DROP_CRC},     {46, 0x01, NOF_C_DROP_VERSION},
        {47, 0x01, NOF_C_DROP_CRC}, /* type */
        {48, 0x01, NOF_C_DROP_LENGTH},  {49, 0x80, NOF_C_DROP_LENGTH},
        {50, 0x01, NOF_C_DROP_CRC}, /* connection id */
        {58, 0x01, NOF_C_DROP_CRC}, /* packet number */
        {71, 0x80, NOF_C_DROP_LENGTH}, /* longer fixed fields than the frame */
        {72, 0x01, NOF_C_DROP_CRC},     {LEN - 1, 0x80, NOF_C_DROP_CRC},
    };
    uint8_t f[LEN];
    struct nof_packet p;

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        good_frame(f);
        f[cases[i].at] ^= cases[i].flip;
        assert_int_equal(parse(f, LEN, &p), cases[i].why);
    }
}

static void every_truncation_is_refused(void **state)
{
    uint8_t f[LEN];
    struct nof_packet p;

    (void)state;
    good_frame(f);
    for (uint32_t n = 0; n < LEN; n++)
        assert_int_not_equal(parse(f, n, &p), 0);
}

static void every_single_bit_error_is_caught(void **state)
{
    uint8_t f[LEN];
    struct nof_packet p;

    (void)state;
    for (unsigned b = 0; b < LEN * 8; b++) {
        good_frame(f);
        f[b / 8] ^= (uint8_t)(1u << b % 8);
        /* What no checksum covers and nobody uses: source MAC, UDP source port and checksum. */
        if ((b / 8 >= 6 && b / 8 < 12) || (b / 8 >= 34 && b / 8 < 36) || (b / 8 >= 40 && b / 8 < 42))
            assert_int_equal(parse(f, LEN, &p), 0);
        else
            assert_int_not_equal(parse(f, LEN, &p), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(a_frame_that_may_be_cut_differs_in_one_bit_a_number_and_the_sum),
        cmocka_unit_test(a_vlan_tag_and_ethernet_padding_are_allowed),
        cmocka_unit_test(each_wrong_field_has_its_counter),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_single_bit_error_is_caught),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
