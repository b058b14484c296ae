/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "port/dpdk/arp.h"

static const struct nof_arp_self self = {.mac = {2, 0, 0, 0, 0, 1}, .ip4 = 0x0a000001u};

/* Who has 10.0.0.1? Tell 10.0.0.2 (02:00:00:00:00:02). */
static const uint8_t request[42] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  0, 0, 0, 0, 2, 0x08, 0x06, /* Ethernet */
    0,    1,    8,    0,    6,    4,    0,  1, /* Ethernet, IPv4, request */
    2,    0,    0,    0,    0,    2,    10, 0, 0, 2, /* sender */
    0,    0,    0,    0,    0,    0,    10, 0, 0, 1, /* target */
};

static void a_request_for_us_is_answered_to_the_asker(void **state)
{
    static const uint8_t expected[42] = {
        2, 0, 0, 0, 0, 2, 2, 0,  0, 0, 0, 1, 0x08, 0x06, 0, 1, 8, 0,  6, 4, 0,
        2, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 2, 0,    0,    0, 0, 2, 10, 0, 0, 2,
    };
    static const uint8_t padding[18];
    uint8_t out[NOF_ARP_FRAME_BYTES];

    (void)state;
    assert_int_equal(nof_arp_answer(&self, request, sizeof(request), out), 60);
    assert_memory_equal(out, expected, sizeof(expected));
    assert_memory_equal(out + 42, padding, sizeof(padding));
}

static void a_tagged_request_is_answered_with_its_tag(void **state)
{
    static const uint8_t tag[4] = {0x81, 0, 0, 5};
    uint8_t frame[46], out[NOF_ARP_FRAME_BYTES];

    (void)state;
    memcpy(frame, request, 12);
    memcpy(frame + 12, tag, 4);
    memcpy(frame + 16, request + 12, 30);
    assert_true(nof_arp_is(frame, sizeof(frame)));
    assert_int_equal(nof_arp_answer(&self, frame, sizeof(frame), out), 60);
    assert_memory_equal(out + 12, tag, 4);
    assert_int_equal(out[16] << 8 | out[17], 0x0806);
    assert_int_equal(out[18 + 7], 2);
}

static void expect_silence(const uint8_t *frame, uint32_t len)
{
    uint8_t out[NOF_ARP_FRAME_BYTES];

    assert_int_equal(nof_arp_answer(&self, frame, len, out), 0);
}

static void everything_else_is_left_unanswered(void **state)
{
    uint8_t frame[42];

    (void)state;
    for (uint32_t len = 0; len < sizeof(request); len++)
        expect_silence(request, len);
    memcpy(frame, request, sizeof(frame));
    frame[41] = 9; /* somebody else's address */
    expect_silence(frame, sizeof(frame));
    memcpy(frame, request, sizeof(frame));
    frame[21] = 2; /* a reply */
    expect_silence(frame, sizeof(frame));
    memcpy(frame, request, sizeof(frame));
    frame[18] = 8; /* hardware address length */
    expect_silence(frame, sizeof(frame));
    memcpy(frame, request, sizeof(frame));
    memcpy(frame + 22, self.mac, 6); /* our own announcement came back */
    expect_silence(frame, sizeof(frame));
    memcpy(frame, request, sizeof(frame));
    frame[13] = 0; /* IPv4, not ARP */
    assert_false(nof_arp_is(frame, sizeof(frame)));
    expect_silence(frame, sizeof(frame));
}

static void an_announcement_is_a_broadcast_request_for_ourselves(void **state)
{
    uint8_t out[NOF_ARP_FRAME_BYTES];

    (void)state;
    assert_int_equal(nof_arp_announce(&self, out), 60);
    for (int i = 0; i < 6; i++)
        assert_int_equal(out[i], 0xff);
    assert_memory_equal(out + 6, self.mac, 6);
    assert_int_equal(out[21], 1);
    assert_memory_equal(out + 28, out + 38, 4); /* sender address = target address */
    assert_memory_equal(out + 22, self.mac, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_for_us_is_answered_to_the_asker),
        cmocka_unit_test(a_tagged_request_is_answered_with_its_tag),
        cmocka_unit_test(everything_else_is_left_unanswered),
        cmocka_unit_test(an_announcement_is_a_broadcast_request_for_ourselves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
