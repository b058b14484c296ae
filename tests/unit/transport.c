/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transport as its user sees it: delivery under faults, acknowledgements, recovery, bounds.
 * Handshake and death have files of their own (handshake.c, liveness.c), throughput too
 * (congestion.c). */
#include "toy_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "transport/state.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

static const struct toy_config lan = {
    .nodes = 2, .seed = 1, .rate_bps = 1000000000, .delay_ns = 20000, .mtu_bytes = 1500};

static uint64_t counter(const struct toy_net *net, unsigned node, enum nof_counter c)
{
    return net->node[node].counters[c];
}

static void frames_arrive_in_order_and_once_on_a_clean_link(void **state)
{
    struct toy_net *net = toy_open(&lan);

    (void)state;
    toy_send(net, 0, 1, 1000, 0);
    toy_send(net, 1, 0, 500, 200);
    toy_run(net, 10 * SECOND, 1);
    assert_true(toy_all_received(net));
    assert_int_equal(counter(net, 0, NOF_C_RETRANSMITS) + counter(net, 1, NOF_C_RETRANSMITS), 0);
    assert_int_equal(counter(net, 0, NOF_C_DROP_DUPLICATE), 0);
    toy_close(net);
}

/* Every fault at once, both directions, three NICs, pools that are too small. */
static void everything_arrives_whatever_the_network_does(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        struct toy_config cfg = lan;
        struct toy_net *net;

        cfg.nodes = 3;
        cfg.seed = seed;
        cfg.loss = 0.01 * (double)(seed % 21);
        cfg.duplicate = seed % 2 ? 0.05 : 0;
        cfg.reorder = seed % 3 ? 0.1 : 0;
        cfg.jitter_ns = 400000;
        cfg.corrupt = seed % 4 ? 0.02 : 0;
        cfg.buffer_bytes = seed % 5 ? 0 : 20000;
        cfg.rate_bps = seed % 6 ? 1000000000 : 0;
        cfg.tx_frames = seed % 2 ? 3 : 0;
        cfg.pool_frames = seed % 3 ? 0 : 40;
        cfg.window_frames = seed % 4 ? 256 : 32;
        cfg.sent_frames = seed % 5 ? 8192 : 48;
        cfg.reorder_frames = seed % 7 ? 1024 : 3;
        net = toy_open(&cfg);
        for (unsigned i = 0; i < 3; i++)
            for (unsigned k = 0; k < 3; k++)
                if (i != k)
                    toy_send(net, i, k, 300, (uint32_t)(16 + (seed * 97 + i * 400) % 1300));
        toy_run(net, net->now_ns + 20 * SECOND, 1);
        if (!toy_all_received(net))
            fail_msg("seed %u: stuck", (unsigned)seed);
        toy_close(net);
    }
}

/* All frames of all NICs in sent maps: still acknowledgements and handshakes must find one. */
static uint64_t seeds = 40; /* or as the command line says */

static void an_empty_frame_pool_stops_nobody_for_good(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct toy_config cfg = lan;
        struct toy_net *net;

        cfg.nodes = 4;
        cfg.seed = seed;
        cfg.loss = 0.15;
        cfg.pool_frames = 24 + (unsigned)(seed % 10);
        net = toy_open(&cfg);
        for (unsigned i = 0; i < 4; i++)
            for (unsigned k = 0; k < 4; k++)
                if (i != k)
                    toy_send(net, i, k, 100, 0);
        toy_run(net, net->now_ns + 20 * SECOND, 1);
        if (!toy_all_received(net))
            fail_msg("seed %u: stuck", (unsigned)seed);
        toy_close(net);
    }
}

static void the_same_seed_sends_the_same_bytes(void **state)
{
    uint64_t digest[2];
    struct toy_config cfg = lan;

    (void)state;
    cfg.loss = 0.05;
    cfg.duplicate = cfg.reorder = 0.05;
    cfg.jitter_ns = 100000;
    for (int i = 0; i < 2; i++) {
        struct toy_net *net = toy_open(&cfg);

        toy_send(net, 0, 1, 500, 0);
        toy_run(net, 10 * SECOND, 1);
        digest[i] = net->digest;
        toy_close(net);
    }
    assert_true(digest[0] == digest[1]);
}

static void a_lonely_frame_is_acknowledged_after_ack_delay_and_no_later(void **state)
{
    struct toy_net *net = toy_open(&lan);
    struct toy_stream *s = &net->node[0].stream[1];
    uint64_t acks;

    (void)state;
    toy_send(net, 0, 1, 1, 64);
    toy_run(net, net->now_ns + 20 * MS, 1);
    acks = counter(net, 1, NOF_C_ACKS_TX);
    toy_send(net, 0, 1, 1, 64);
    uint32_t pn = s->path->sent.next_pn - 1;
    toy_run(net, net->now_ns + 60000, 0);
    assert_false(nof_path_acked(s->path, pn));
    toy_run(net, net->now_ns + 60000, 0); /* 20 us there, 50 us delay, 20 us back */
    assert_true(nof_path_acked(s->path, pn));
    assert_int_equal(counter(net, 1, NOF_C_ACKS_TX), acks + 1);
    assert_int_equal(counter(net, 0, NOF_C_TIMEOUTS), 0);
    toy_close(net);
}

static void many_small_frames_cost_few_acknowledgements(void **state)
{
    struct toy_net *net = toy_open(&lan);

    (void)state;
    toy_send(net, 0, 1, 20000, 64);
    toy_run(net, 10 * SECOND, 1);
    assert_true(toy_all_received(net));
    assert_true(counter(net, 1, NOF_C_ACKS_TX) < 20000 / 8);
    toy_close(net);
}

static void data_the_other_way_carries_the_acknowledgement(void **state)
{
    struct toy_net *net = toy_open(&lan);
    uint64_t acks;

    (void)state;
    toy_send(net, 0, 1, 1, 64);
    toy_run(net, net->now_ns + 10 * MS, 1);
    toy_send(net, 1, 0, 1, 64);
    toy_run(net, net->now_ns + 10 * MS, 1);
    acks = counter(net, 0, NOF_C_ACKS_TX) + counter(net, 1, NOF_C_ACKS_TX);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t got = net->node[1].stream[0].received;

        toy_send(net, 0, 1, 1, 64);
        while (net->node[1].stream[0].received == got)
            toy_run(net, net->now_ns + 1000, 0);
        got = net->node[0].stream[1].received;
        toy_send(net, 1, 0, 1, 64);
        while (net->node[0].stream[1].received == got)
            toy_run(net, net->now_ns + 1000, 0);
    }
    assert_true(counter(net, 0, NOF_C_ACKS_TX) + counter(net, 1, NOF_C_ACKS_TX) - acks < 5);
    toy_close(net);
}

static void a_gap_is_repaired_without_a_timeout(void **state)
{
    struct toy_net *net = toy_open(&lan);

    (void)state;
    toy_send(net, 0, 1, 20, 0);
    toy_run(net, net->now_ns + 10 * MS, 1);
    net->deaf_from = 0;
    net->deaf_to = 1;
    toy_send(net, 0, 1, 1, 0);
    toy_run(net, net->now_ns + 25000, 0);
    net->deaf_from = net->deaf_to = -1;
    toy_send(net, 0, 1, 8, 0);
    toy_run(net, net->now_ns + 300000, 0);
    assert_true(toy_all_received(net));
    assert_int_equal(counter(net, 0, NOF_C_RETRANSMITS_FAST), 1);
    assert_int_equal(counter(net, 0, NOF_C_TIMEOUTS), 0);
    toy_close(net);
}

static void a_lost_tail_is_sent_again_within_milliseconds(void **state)
{
    struct toy_net *net = toy_open(&lan);

    (void)state;
    toy_send(net, 0, 1, 50, 0);
    toy_run(net, net->now_ns + 10 * MS, 1);
    net->deaf_from = 0;
    net->deaf_to = 1;
    toy_send(net, 0, 1, 4, 0);
    toy_run(net, net->now_ns + 100000, 0);
    net->deaf_from = net->deaf_to = -1;
    toy_run(net, net->now_ns + 2 * MS, 0);
    assert_true(toy_all_received(net));
    assert_int_equal(counter(net, 0, NOF_C_TIMEOUTS), 1);
    toy_close(net);
}

static void reordering_teaches_patience(void **state)
{
    struct toy_config cfg = lan;
    struct toy_net *net;

    (void)state;
    cfg.reorder = 0.2;
    cfg.jitter_ns = 150000;
    net = toy_open(&cfg);
    toy_send(net, 0, 1, 20000, 0);
    toy_run(net, 20 * SECOND, 1);
    assert_true(toy_all_received(net));
    assert_true(counter(net, 1, NOF_C_REORDERED) > 1000);
    assert_true(counter(net, 0, NOF_C_RETRANSMITS) < 400);
    toy_close(net);
}

/* Both ends moved to just before the wrap, as after four billion frames. */
static void packet_numbers_wrap(void **state)
{
    struct toy_config cfg = lan;
    struct toy_net *net;

    (void)state;
    cfg.loss = 0.05;
    net = toy_open(&cfg);
    toy_send(net, 0, 1, 1, 0);
    toy_run(net, net->now_ns + 100 * MS, 1);
    struct nof_path *a = net->node[0].stream[1].path;
    struct nof_path *b = net->node[1].stream[0].path;
    a->sent.next_pn = a->sent.cum_pn = 0xfffffff0u;
    b->reorder.next_pn = b->reorder.high_pn = 0xfffffff0u;
    a->sent.next_xn = a->sent.delivered_xn = a->cc.reduced_xn = 0xffffffe0u;
    a->cc.round_xn = a->sent.next_xn + 1;
    toy_send(net, 0, 1, 2000, 0);
    toy_run(net, net->now_ns + 10 * SECOND, 1);
    assert_true(toy_all_received(net));
    assert_true(a->sent.next_pn < 10000);
    toy_close(net);
}

static void frames_beyond_the_window_are_dropped(void **state)
{
    struct toy_net *net = toy_open(&lan);
    uint8_t frame[2000];
    uint32_t len;

    (void)state;
    toy_send(net, 0, 1, 1, 64);
    toy_run(net, net->now_ns + 10 * MS, 1);
    toy_send(net, 0, 1, 1, 64);
    len = toy_last_frame(net, frame, sizeof(frame));
    uint8_t *c = frame + NOF_WIRE_OUTER_BYTES;
    nof_put32(c + NOF_WIRE_PN, nof_get32(c + NOF_WIRE_PN) + 256);
    nof_put32(c, nof_crc32c(c + 4, len - NOF_WIRE_OUTER_BYTES - 4));
    toy_inject(net, 1, frame, len);
    assert_int_equal(counter(net, 1, NOF_C_DROP_WINDOW), 1);
    toy_run(net, net->now_ns + 10 * MS, 1);
    assert_true(toy_all_received(net));
    toy_close(net);
}

/* Acknowledgements of what was never sent, hostile bitmaps. */
static void an_absurd_acknowledgement_changes_nothing(void **state)
{
    struct toy_net *net = toy_open(&lan);
    uint8_t frame[512] = {0};
    struct nof_packet_fill fill = {.type = NOF_WIRE_ACKS, .fields_bytes = 8 + 128};
    struct nof_path *a;
    struct nof_path *b;

    (void)state;
    toy_send(net, 0, 1, 1, 64);
    toy_run(net, net->now_ns + 10 * MS, 1);
    net->deaf_from = 0;
    net->deaf_to = 1;
    toy_send(net, 0, 1, 3, 64);
    a = net->node[0].stream[1].path;
    b = net->node[1].stream[0].path;
    memset(frame + 74, 0xff, 136);
    nof_put32(frame + 74 + 4, 32);
    fill.ack = a->sent.cum_pn;
    nof_packet_finish(frame, b->head, b->ip_sum, &fill, 136);
    toy_inject(net, 0, frame, 74 + 136);
    assert_int_equal(a->sent.frames, 3);
    memset(frame + 74 + 8, 0, 128);
    fill.ack = a->sent.next_pn + 1;
    nof_packet_finish(frame, b->head, b->ip_sum, &fill, 136);
    toy_inject(net, 0, frame, 74 + 136);
    assert_int_equal(a->sent.frames, 3);
    nof_put32(frame + 74 + 4, 33);
    nof_packet_finish(frame, b->head, b->ip_sum, &fill, 136);
    toy_inject(net, 0, frame, 74 + 136);
    assert_int_equal(counter(net, 0, NOF_C_DROP_LENGTH), 1);
    net->deaf_from = net->deaf_to = -1;
    toy_run(net, net->now_ns + 100 * MS, 1);
    assert_true(toy_all_received(net));
    toy_close(net);
}

static void a_frame_of_unknown_type_is_counted(void **state)
{
    struct toy_net *net = toy_open(&lan);
    uint8_t frame[128] = {0};
    struct nof_packet_fill fill = {.type = 15};

    (void)state;
    toy_send(net, 0, 1, 1, 64);
    toy_run(net, net->now_ns + 10 * MS, 1);
    nof_packet_finish(frame, net->node[0].stream[1].path->head, net->node[0].stream[1].path->ip_sum, &fill,
                      0);
    toy_inject(net, 1, frame, 74);
    assert_int_equal(counter(net, 1, NOF_C_DROP_TYPE), 1);
    toy_close(net);
}

static void control_frames_pass_a_full_window(void **state)
{
    struct toy_net *net = toy_open(&lan);
    struct nof_path *a;

    (void)state;
    toy_send(net, 0, 1, 1, 64);
    toy_run(net, net->now_ns + 10 * MS, 1);
    net->deaf_from = 0;
    net->deaf_to = 1;
    toy_send(net, 0, 1, 1000, 0);
    a = net->node[0].stream[1].path;
    toy_run(net, net->now_ns + MS, 0);
    assert_int_equal(nof_path_window(a, false), 0);
    assert_true(nof_path_window(a, true) > 0);
    net->deaf_from = net->deaf_to = -1;
    toy_run(net, net->now_ns + 10 * SECOND, 1);
    assert_true(toy_all_received(net));
    toy_close(net);
}

static void a_silent_path_is_small_and_has_no_timer(void **state)
{
    struct toy_net *net = toy_open(&lan);

    (void)state;
    toy_send(net, 0, 1, 10, 64);
    toy_run(net, net->now_ns + 100 * MS, 1);
    print_message("a silent path costs %u bytes\n", (unsigned)nof_transport_path_bytes(net->node[0].t));
    assert_true(nof_transport_path_bytes(net->node[0].t) <= 400);
    assert_true(nof_transport_next_deadline(net->node[0].t) == NOF_NO_DEADLINE);
    assert_true(nof_transport_quiet(net->node[0].t));
    toy_close(net);
}

static void features_change_while_frames_fly(void **state)
{
    struct toy_config cfg = lan;
    struct toy_net *net;

    (void)state;
    cfg.loss = 0.02;
    net = toy_open(&cfg);
    toy_send(net, 0, 1, 3000, 0);
    for (unsigned i = 0; i < 20; i++) {
        toy_run(net, net->now_ns + MS, 0);
        net->node[0].features[NOF_F_CONGESTION] = i & 1;
        net->node[0].features[NOF_F_PACING] = i >> 1 & 1;
        net->node[1].features[NOF_F_ACK_DELAY] = i % 3 * 100;
    }
    toy_run(net, net->now_ns + 10 * SECOND, 1);
    assert_true(toy_all_received(net));
    toy_close(net);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seeds = strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_arrive_in_order_and_once_on_a_clean_link),
        cmocka_unit_test(everything_arrives_whatever_the_network_does),
        cmocka_unit_test(an_empty_frame_pool_stops_nobody_for_good),
        cmocka_unit_test(the_same_seed_sends_the_same_bytes),
        cmocka_unit_test(a_lonely_frame_is_acknowledged_after_ack_delay_and_no_later),
        cmocka_unit_test(many_small_frames_cost_few_acknowledgements),
        cmocka_unit_test(data_the_other_way_carries_the_acknowledgement),
        cmocka_unit_test(a_gap_is_repaired_without_a_timeout),
        cmocka_unit_test(a_lost_tail_is_sent_again_within_milliseconds),
        cmocka_unit_test(reordering_teaches_patience),
        cmocka_unit_test(packet_numbers_wrap),
        cmocka_unit_test(frames_beyond_the_window_are_dropped),
        cmocka_unit_test(an_absurd_acknowledgement_changes_nothing),
        cmocka_unit_test(a_frame_of_unknown_type_is_counted),
        cmocka_unit_test(control_frames_pass_a_full_window),
        cmocka_unit_test(a_silent_path_is_small_and_has_no_timer),
        cmocka_unit_test(features_change_while_frames_fly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
