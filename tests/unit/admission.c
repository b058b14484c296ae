/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../vectors/alone.h"

#define US 1000ull
#define BEGIN 1000000ull
#define FULL (1500u - NOF_PACKET_IP_OVERHEAD_BYTES)
#define SENT_FRAMES 16u /* what alone_open() gives the NIC */

static void send_one(struct nof_path *p)
{
    uint8_t *body;
    struct nof_frame *f = nof_path_frame(p, FULL, &body);

    assert_non_null(f);
    memset(body, 0, FULL);
    (void)nof_path_send(p, f, NOF_WIRE_DATA, 0, 1, 2, 16, FULL, 0);
}

static unsigned send_all(struct nof_path *p, int urgent)
{
    unsigned n = 0;

    for (; nof_path_window(p, urgent) > 0; n++)
        send_one(p);
    return n;
}

static void hear_all(struct alone *a, uint64_t now_ns)
{
    const uint8_t f[8] = {0};
    struct nof_packet_fill fill = {.type = NOF_WIRE_ACKS, .fields_bytes = 8, .ack = a->path->sent.next_pn};

    alone_peer_says(a, now_ns, &fill, f, sizeof f);
}

static void a_path_that_is_not_up_sends_nothing(void **state)
{
    struct alone a = {.nic.window_frames = 32};

    (void)state;
    alone_open(&a, BEGIN);
    a.path->state = NOF_PATH_OPENING;
    assert_int_equal(nof_path_window(a.path, false), 0);
    assert_int_equal(nof_path_window(a.path, true), 0);
    assert_true(a.path->want_ready);
    a.path->state = NOF_PATH_UP;
    assert_int_equal(alone_close(&a), 0);
}

/* The window of the path keeps NOF_URGENT_FRAMES for control frames. */
static void the_window_ends_and_urgent_frames_go_beyond(void **state)
{
    struct alone a = {.nic.window_frames = 16};

    (void)state;
    alone_open(&a, BEGIN);
    assert_int_equal(send_all(a.path, 0), 16 - NOF_URGENT_FRAMES);
    assert_int_equal(send_all(a.path, 1), NOF_URGENT_FRAMES);
    nof_transport_flush(a.t);
    assert_int_equal(a.ready, 0);
    hear_all(&a, BEGIN + 100 * US);
    assert_int_equal(a.ready, 1);
    assert_int_equal(nof_path_window(a.path, false), 16 - NOF_URGENT_FRAMES);
    hear_all(&a, BEGIN + 100 * US);
    assert_int_equal(a.ready, 1); /* once for each time that it was refused */
    assert_int_equal(alone_close(&a), 0);
}

static void the_congestion_window_ends_and_says_that_it_was_used(void **state)
{
    struct alone a = {.nic.window_frames = 64, .features[NOF_F_CONGESTION] = 1};

    (void)state;
    alone_open(&a, BEGIN);
    a.path->cc.cwnd_bytes = 4 * 1514;
    assert_int_equal(send_all(a.path, 0), 4);
    assert_true(a.path->cc.limited);
    assert_int_equal(send_all(a.path, 1), NOF_URGENT_FRAMES);
    a.features[NOF_F_CONGESTION] = 0;
    assert_true(nof_path_window(a.path, false) > 0);
    assert_int_equal(alone_close(&a), 0);
}

/* A burst asks once; what it is told is used up by what it sends. */
static void what_was_found_holds_for_the_burst_alone(void **state)
{
    struct alone a = {.nic.window_frames = 16};
    unsigned n;

    (void)state;
    alone_open(&a, BEGIN);
    n = nof_path_window(a.path, false);
    assert_int_equal(n, 16 - NOF_URGENT_FRAMES);
    for (unsigned i = 1; i < n; i++) {
        send_one(a.path);
        assert_int_equal(nof_path_window(a.path, false), n - i);
    }
    a.path->window_frames = NOF_URGENT_FRAMES + 2; /* seen by the next call only */
    assert_int_equal(nof_path_window(a.path, false), 1);
    nof_transport_tick(a.t, BEGIN + US);
    assert_int_equal(nof_path_window(a.path, false), 0);
    assert_int_equal(alone_close(&a), 0);
}

static void who_lacks_something_of_the_nic_is_told_in_turn(void **state)
{
    struct alone a = {.nic.window_frames = 64};
    struct nof_path *b;

    (void)state;
    alone_open(&a, BEGIN);
    b = alone_path(&a, 902);
    assert_int_equal(send_all(a.path, 0), SENT_FRAMES); /* entries of the sent map */
    assert_true(a.path->starved && a.path->want_ready);
    assert_int_equal(nof_path_window(b, false), 0);
    assert_true(b->starved);
    assert_true(nof_path_window(b, true) > 0); /* some are kept for what is urgent */
    assert_false(nof_tx_awaited_now(a.t));
    nof_transport_flush(a.t);
    hear_all(&a, BEGIN + US);
    assert_int_equal(a.ready, 2);
    assert_ptr_equal(a.ready_path, b);
    assert_false(a.path->starved || b->starved);
    assert_int_equal(alone_close(&a), 0);
}

static void an_empty_pool_is_asked_again_soon(void **state)
{
    struct alone a = {.nic.window_frames = 64};
    uint8_t *body;

    (void)state;
    alone_open(&a, BEGIN);
    nof_transport_flush(a.t);
    assert_true(nof_path_window(a.path, false) > 0);
    a.no_frames = true;
    assert_null(nof_path_frame(a.path, 64, &body));
    nof_transport_flush(a.t);
    assert_int_equal(nof_path_window(a.path, false), 0);
    assert_true(nof_transport_next_deadline(a.t) == BEGIN + NOF_PORT_RETRY_NS);
    a.no_frames = false;
    (void)nof_transport_poll(a.t, BEGIN + NOF_PORT_RETRY_NS, 64);
    assert_int_equal(a.ready, 1);
    assert_true(nof_path_window(a.path, false) > 0);
    assert_int_equal(alone_close(&a), 0);
}

/* No path starves: who serves them all in turn asks for the NIC. */
static void who_asks_for_room_of_the_nic_learns_when(void **state)
{
    struct alone a = {.nic = {.window_frames = 256, .link_rate_bps = 1000000000},
                      .features[NOF_F_PACING] = 1};

    (void)state;
    alone_open(&a, BEGIN);
    assert_true(nof_transport_room(a.t));
    assert_false(nof_transport_waits(a.t));
    send_one(a.path);
    nof_pacer_book(&a.t->pacer, 15140, 10, BEGIN);
    assert_false(nof_transport_room(a.t));
    assert_true(nof_transport_waits(a.t));
    assert_false(nof_tx_awaited_now(a.t));
    nof_transport_flush(a.t);
    assert_true(nof_transport_next_deadline(a.t) == nof_pacer_deadline(&a.t->pacer, BEGIN));
    nof_transport_tick(a.t, nof_pacer_deadline(&a.t->pacer, BEGIN));
    assert_true(nof_tx_awaited_now(a.t));
    (void)nof_transport_poll(a.t, a.t->now_ns, 64);
    assert_false(nof_transport_waits(a.t)); /* nobody has asked since */
    assert_false(nof_tx_awaited_now(a.t));
    assert_int_equal(alone_close(&a), 0);
}

static void new_data_keeps_the_pace_of_the_link(void **state)
{
    struct alone a = {.nic = {.window_frames = 256, .link_rate_bps = 1000000000},
                      .features[NOF_F_PACING] = 1};
    uint64_t at;

    (void)state;
    alone_open(&a, BEGIN);
    assert_int_equal(send_all(a.path, 0), 4); /* a burst, and no credit beyond */
    assert_true(nof_path_window(a.path, true) > 0); /* what is urgent does not wait */
    nof_transport_flush(a.t);
    at = nof_transport_next_deadline(a.t);
    assert_true(at == BEGIN + 4 * 12304);
    (void)nof_transport_poll(a.t, at, 64);
    assert_int_equal(a.ready, 1);
    assert_int_equal(nof_path_window(a.path, false), 4);
    a.features[NOF_F_PACING] = 0;
    nof_transport_tick(a.t, at);
    assert_int_equal(send_all(a.path, 0), SENT_FRAMES - 4);
    assert_int_equal(alone_close(&a), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_that_is_not_up_sends_nothing),
        cmocka_unit_test(the_window_ends_and_urgent_frames_go_beyond),
        cmocka_unit_test(the_congestion_window_ends_and_says_that_it_was_used),
        cmocka_unit_test(what_was_found_holds_for_the_burst_alone),
        cmocka_unit_test(who_lacks_something_of_the_nic_is_told_in_turn),
        cmocka_unit_test(an_empty_pool_is_asked_again_soon),
        cmocka_unit_test(who_asks_for_room_of_the_nic_learns_when),
        cmocka_unit_test(new_data_keeps_the_pace_of_the_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
