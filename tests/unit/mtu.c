/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../vectors/alone.h"

#define MS 1000000ull

static void open_narrow(struct alone *a, uint64_t now_ns, uint16_t mtu_bytes, uint16_t peer_mtu_bytes)
{
    *a = (struct alone){.nic.window_frames = 32};
    alone_open(a, now_ns);
    a->path->mtu_bytes = mtu_bytes;
    a->path->peer_mtu_bytes = peer_mtu_bytes;
    nof_mtu_settled(a->path);
}

/* What the path would do when something is acknowledged. Returns the size of the IP datagram that it sent, or 0. */
static uint32_t try_at(struct alone *a, uint64_t now_ns)
{
    unsigned sent = a->sent;

    nof_transport_tick(a->t, now_ns);
    if (a->path->raise_at_ms != 0)
        nof_mtu_raise(a->path);
    nof_transport_flush(a->t);
    if (a->sent == sent)
        return 0;
    assert_int_equal(a->last[NOF_WIRE_OUTER_BYTES + NOF_WIRE_TYPE], NOF_WIRE_PROBE);
    return a->last_bytes - 14;
}

static void says_passed(struct alone *a, uint32_t ip_bytes, uint32_t fields_bytes)
{
    uint8_t f[8] = {0};
    struct nof_packet_fill fill = {.type = NOF_WIRE_PROBE_ACK, .fields_bytes = (uint8_t)fields_bytes};

    nof_put32(f, ip_bytes);
    alone_peer_says(a, a->t->now_ns, &fill, f, fields_bytes);
}

static void handshakes_step_down_the_levels(void **state)
{
    (void)state;
    assert_int_equal(nof_mtu_level_below(UINT16_MAX), 9000);
    assert_int_equal(nof_mtu_level_below(9000), 1500);
    assert_int_equal(nof_mtu_level_below(1499), 1280);
    assert_int_equal(nof_mtu_level_below(1280), 576);
    assert_int_equal(nof_mtu_level_below(576), 576);
}

/* Also where the milliseconds of the clock wrap meanwhile. */
static void a_narrow_path_tries_all_sizes_and_no_more_often(void **state)
{
    const uint64_t begin_ms[] = {5, UINT32_MAX - 500ull};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct alone a;
        uint64_t t = begin_ms[i];

        open_narrow(&a, t * MS, 576, 1500);
        assert_int_equal(try_at(&a, (t + 998) * MS), 0);
        assert_int_equal(try_at(&a, (t + 1001) * MS), 1280); /* the last of 1500, 1450, 1400 and 1280 */
        assert_int_equal(a.sent, 4);
        assert_int_equal(try_at(&a, (t + 1001) * MS), 0);
        assert_int_equal(try_at(&a, (t + 10998) * MS), 0);
        assert_int_equal(try_at(&a, (t + 11003) * MS), 1280); /* none did pass: once more */
        says_passed(&a, 1400, NOF_WIRE_PROBE_ACK_BYTES);
        says_passed(&a, 1280, NOF_WIRE_PROBE_ACK_BYTES);
        assert_int_equal(a.path->mtu_bytes, 1400);
        assert_int_equal(try_at(&a, (t + 12005) * MS), 1450);
        says_passed(&a, 1500, NOF_WIRE_PROBE_ACK_BYTES);
        assert_int_equal(a.path->mtu_bytes, 1500);
        assert_int_equal(a.path->raise_at_ms, 0); /* as far as it goes */
        assert_int_equal(a.counters[NOF_C_PROBES_TX], 10);
        assert_int_equal(alone_close(&a), 0);
    }
}

static void no_more_is_tried_than_both_can_take(void **state)
{
    struct alone a;

    (void)state;
    open_narrow(&a, MS, 576, 1000);
    assert_int_equal(try_at(&a, 1100 * MS), 1000); /* no level, but the peer's own */
    assert_int_equal(a.sent, 1);
    says_passed(&a, 1000, NOF_WIRE_PROBE_ACK_BYTES);
    assert_int_equal(a.path->raise_at_ms, 0);
    (void)alone_close(&a);
    open_narrow(&a, MS, 1500, 9000); /* our own NIC takes 1500 */
    assert_int_equal(a.path->raise_at_ms, 0);
    (void)alone_close(&a);
}

static void what_cannot_have_passed_is_not_believed(void **state)
{
    struct alone a;

    (void)state;
    open_narrow(&a, MS, 1280, 1500);
    says_passed(&a, 1501, NOF_WIRE_PROBE_ACK_BYTES);
    says_passed(&a, UINT32_MAX, NOF_WIRE_PROBE_ACK_BYTES);
    says_passed(&a, 576, NOF_WIRE_PROBE_ACK_BYTES); /* an old one: never shrinks */
    says_passed(&a, 1400, 0);
    says_passed(&a, 1400, 8);
    assert_int_equal(a.path->mtu_bytes, 1280);
    says_passed(&a, 1400, NOF_WIRE_PROBE_ACK_BYTES);
    assert_int_equal(a.path->mtu_bytes, 1400);
    assert_int_equal(alone_close(&a), 0);
}

static void a_padded_probe_is_told_its_size(void **state)
{
    static const uint8_t padding[1000];
    const struct nof_packet_fill probe = {.type = NOF_WIRE_PROBE};
    const uint8_t *c;
    struct alone a;

    (void)state;
    open_narrow(&a, MS, 1500, 1500);
    c = a.last + NOF_WIRE_OUTER_BYTES;
    alone_peer_says(&a, MS, &probe, padding, sizeof padding);
    assert_int_equal(c[NOF_WIRE_TYPE], NOF_WIRE_PROBE_ACK);
    assert_int_equal(c[NOF_WIRE_FIELDS], NOF_WIRE_PROBE_ACK_BYTES);
    assert_int_equal(nof_get32(c + NOF_WIRE_COMMON_BYTES), sizeof padding + NOF_PACKET_IP_OVERHEAD_BYTES);
    alone_peer_says(&a, MS, &probe, NULL, 0); /* "are you there" */
    assert_int_equal(a.sent, 2);
    assert_int_equal(c[NOF_WIRE_TYPE], NOF_WIRE_PROBE_ACK);
    assert_int_equal(c[NOF_WIRE_FIELDS], 0);
    assert_int_equal(alone_close(&a), 0);
}

#define SMALL (NOF_PACKET_IP_OVERHEAD_BYTES + 4u)

/* A frame of so many bytes does not arrive; the peer answers so many of the sizes that are asked, 0: not even the small one. */
static void doubt(struct alone *a, uint32_t frame_bytes, uint32_t passes_bytes)
{
    const uint32_t sizes[] = {1500, 1450, 1400, 1280};

    nof_mtu_doubt(a->path, frame_bytes);
    nof_transport_flush(a->t);
    if (passes_bytes == 0)
        return;
    for (unsigned i = 0; i < 4; i++)
        if (sizes[i] <= passes_bytes)
            says_passed(a, sizes[i], NOF_WIRE_PROBE_ACK_BYTES);
    says_passed(a, SMALL, NOF_WIRE_PROBE_ACK_BYTES);
}

static bool may_be_cut(const struct alone *a)
{
    return a->last[20] == 0;
}

static void a_size_that_twice_is_not_answered_is_given_up(void **state)
{
    struct alone a;

    (void)state;
    open_narrow(&a, MS, 1500, 1500);
    doubt(&a, 1514, 1400);
    assert_int_equal(a.last_bytes, SMALL + 14);
    assert_int_equal(a.sent, 7);
    assert_int_equal(a.path->mtu_bytes, 1500); /* by chance, perhaps */
    doubt(&a, 1514, 1500);
    doubt(&a, 1514, 1400);
    assert_int_equal(a.path->mtu_bytes, 1500); /* which the one between has proved */
    doubt(&a, 1514, 1400);
    assert_int_equal(a.path->mtu_bytes, 1400);
    assert_int_equal(a.counters[NOF_C_PATHS_NARROWED], 1);
    assert_false(may_be_cut(&a));
    assert_int_equal(try_at(&a, 9000 * MS), 0);
    assert_int_equal(try_at(&a, 10002 * MS), 1450); /* perhaps it is wide again */
    assert_int_equal(alone_close(&a), 0);
}

static void a_peer_that_is_silent_proves_nothing(void **state)
{
    struct alone a;

    (void)state;
    open_narrow(&a, MS, 1500, 1500);
    for (unsigned i = 0; i < 4; i++)
        says_passed(&a, SMALL, NOF_WIRE_PROBE_ACK_BYTES); /* nothing was asked */
    for (unsigned i = 0; i < 20; i++)
        doubt(&a, 1514, 0);
    says_passed(&a, 1500, NOF_WIRE_PROBE_ACK_BYTES); /* an answer of before is one */
    doubt(&a, 1514, SMALL);
    assert_int_equal(a.path->doubts, 0);
    assert_int_equal(a.path->mtu_bytes, 1500);
    assert_int_equal(alone_close(&a), 0);
}

/* RFC 791: 576 bytes go everywhere, if need be in fragments. */
static void where_no_size_passes_all_may_be_cut(void **state)
{
    static const struct nof_packet_fill probe = {.type = NOF_WIRE_PROBE};
    struct alone a;

    (void)state;
    open_narrow(&a, MS, 1500, 1500);
    doubt(&a, 1514, SMALL);
    doubt(&a, 1514, SMALL);
    assert_int_equal(a.path->mtu_bytes, 576);
    alone_peer_says(&a, MS, &probe, NULL, 0);
    assert_true(may_be_cut(&a));
    says_passed(&a, 1280, NOF_WIRE_PROBE_ACK_BYTES);
    alone_peer_says(&a, MS, &probe, NULL, 0);
    assert_false(may_be_cut(&a));
    assert_int_equal(alone_close(&a), 0);
}

/* Each repetition of a frame would be followed by all sizes, past the window. */
static void an_open_doubt_asks_once_in_ten_ms(void **state)
{
    const uint64_t begin_ms[] = {5, UINT16_MAX - 3u};

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct alone a;
        unsigned sent;

        open_narrow(&a, begin_ms[k] * MS, 1500, 1500);
        doubt(&a, 1514, 0);
        sent = a.sent;
        assert_true(sent > 0);
        for (unsigned i = 0; i < 10; i++) {
            nof_transport_tick(a.t, (begin_ms[k] + i) * MS);
            doubt(&a, 1514, 0);
        }
        assert_int_equal(a.sent, sent);
        nof_transport_tick(a.t, (begin_ms[k] + 10) * MS);
        doubt(&a, 1514, 0);
        assert_int_equal(a.sent, 2 * sent);
        says_passed(&a, SMALL, NOF_WIRE_PROBE_ACK_BYTES); /* no doubt is open */
        doubt(&a, 1514, 0);
        assert_int_equal(a.sent, 3 * sent);
        assert_int_equal(alone_close(&a), 0);
    }
}

/* Acknowledgements need them, or nobody gets on. */
static void the_last_frames_are_not_for_sizes(void **state)
{
    static const struct nof_packet_fill probe = {.type = NOF_WIRE_PROBE};
    struct alone a;

    (void)state;
    open_narrow(&a, MS, 1280, 1500);
    nof_tx_stock(a.t);
    a.no_frames = true;
    doubt(&a, 1294, 0);
    assert_int_equal(try_at(&a, 1100 * MS), 0);
    assert_int_equal(a.sent, 0);
    assert_false(a.path->asking);
    assert_int_equal(a.t->spare_count, NOF_SPARE_FRAMES);
    alone_peer_says(&a, 1100 * MS, &probe, NULL, 0);
    assert_int_equal(a.sent, 1);
    assert_int_equal(alone_close(&a), 0);
}

/* Also on a path all of whose other frames may be cut: what comes in fragments says nothing of its size. */
static void a_size_is_asked_for_whole(void **state)
{
    struct alone a;

    (void)state;
    open_narrow(&a, MS, 576, 1500);
    assert_int_equal(try_at(&a, 1100 * MS), 1280);
    assert_false(may_be_cut(&a));
    assert_int_equal(alone_close(&a), 0);
}

/* Two doubts of two incidents are not twice in a row. */
static void what_gets_on_is_not_doubted(void **state)
{
    struct alone a;

    (void)state;
    open_narrow(&a, MS, 1500, 1500);
    for (unsigned i = 0; i < 5; i++) {
        uint8_t *body;
        struct nof_frame *frame = nof_path_frame(a.path, 64, &body);
        struct nof_packet_fill here = {.type = NOF_WIRE_PROBE_ACK};

        assert_non_null(frame);
        memset(body, 0, 64);
        here.ack = nof_path_send(a.path, frame, NOF_WIRE_DATA, 0, 3, 4, 16, 64, 0) + 1;
        nof_transport_flush(a.t);
        doubt(&a, 1514, SMALL);
        assert_int_equal(a.path->doubts, 1);
        alone_peer_says(&a, a.t->now_ns + 10 * MS, &here, NULL, 0);
        assert_int_equal(a.path->doubts, 0);
    }
    assert_int_equal(a.path->mtu_bytes, 1500);
    assert_int_equal(alone_close(&a), 0);
}

static void what_no_size_would_help_asks_nothing(void **state)
{
    struct alone a;

    (void)state;
    open_narrow(&a, MS, 1280, 1500);
    doubt(&a, 1295, 0); /* of before it became narrow */
    assert_int_equal(a.sent, 0);
    doubt(&a, 560, 0); /* a way may be narrower than that */
    assert_int_equal(a.sent, 4);
    assert_int_equal(alone_close(&a), 0);
    open_narrow(&a, MS, 576, 1500);
    doubt(&a, 590, 0);
    assert_int_equal(a.sent, 0);
    assert_int_equal(alone_close(&a), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handshakes_step_down_the_levels),
        cmocka_unit_test(a_narrow_path_tries_all_sizes_and_no_more_often),
        cmocka_unit_test(no_more_is_tried_than_both_can_take),
        cmocka_unit_test(what_cannot_have_passed_is_not_believed),
        cmocka_unit_test(a_padded_probe_is_told_its_size),
        cmocka_unit_test(a_size_that_twice_is_not_answered_is_given_up),
        cmocka_unit_test(a_peer_that_is_silent_proves_nothing),
        cmocka_unit_test(where_no_size_passes_all_may_be_cut),
        cmocka_unit_test(an_open_doubt_asks_once_in_ten_ms),
        cmocka_unit_test(the_last_frames_are_not_for_sizes),
        cmocka_unit_test(a_size_is_asked_for_whole),
        cmocka_unit_test(what_gets_on_is_not_doubted),
        cmocka_unit_test(what_no_size_would_help_asks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
