/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../vectors/alone.h"

#define BEGIN 1000000ull

static void send_some(struct alone *a, unsigned n)
{
    while (n-- > 0) {
        uint8_t *body;
        struct nof_frame *f = nof_path_frame(a->path, 64, &body);

        memset(body, 0, 64);
        (void)nof_path_send(a->path, f, NOF_WIRE_DATA, 0, 1, 2, 16, 64, 0);
    }
}

/* All frames that are gone leave nothing behind, neither entries nor frames of the port. */
static void assert_all_back(struct alone *a)
{
    assert_int_equal(a->t->sent.free_count, a->nic.sent_frames + NOF_SENT_SLACK);
    assert_int_equal(a->frames, a->t->spare_count);
    assert_int_equal(alone_close(a), 0);
}

static void a_busy_port_is_asked_again_and_gets_the_rest(void **state)
{
    struct alone a = {.nic.window_frames = 64, .busy_every = 1};

    (void)state;
    alone_open(&a, BEGIN);
    send_some(&a, 8);
    nof_transport_flush(a.t);
    assert_int_equal(a.sent, 4);
    assert_int_equal(a.counters[NOF_C_TX_BUSY], 1);
    assert_int_equal(a.counters[NOF_C_TX_FRAMES], 4);
    assert_true(nof_transport_next_deadline(a.t) == BEGIN + NOF_PORT_RETRY_NS);
    nof_tx_queue_push(a.t);
    assert_int_equal(a.sends, 1); /* not before */
    a.busy_every = 0;
    nof_transport_tick(a.t, BEGIN + NOF_PORT_RETRY_NS);
    nof_tx_queue_push(a.t);
    assert_int_equal(a.sent, 8);
    assert_int_equal(a.t->tx.count, 0);
    assert_int_equal(alone_close(&a), 0);
}

static void what_waits_is_known_and_what_has_left_is_not(void **state)
{
    struct alone a = {.nic.window_frames = 64, .busy_every = 1};
    uint32_t index[3];

    (void)state;
    alone_open(&a, BEGIN);
    send_some(&a, 3);
    index[0] = a.path->sent.head;
    index[1] = a.t->sent.entry[index[0]].next;
    index[2] = a.t->sent.entry[index[1]].next;
    assert_true(a.t->tx.since_ns == BEGIN);
    assert_true(nof_tx_queue_holds(a.t, index[0]));
    nof_tx_queue_push(a.t);
    assert_int_equal(a.sent, 1);
    assert_false(nof_tx_queue_holds(a.t, index[0])); /* although sent at the same time */
    assert_true(nof_tx_queue_holds(a.t, index[1]) && nof_tx_queue_holds(a.t, index[2]));
    a.t->sent.entry[index[2]].sent_ns = BEGIN - 1;
    assert_false(nof_tx_queue_holds(a.t, index[2])); /* not looked for: before the queue last was empty */
    (void)alone_close(&a);
}

/* The peer has them all, from transmissions before these. */
static void what_is_acknowledged_while_it_waits_is_freed_when_it_has_left(void **state)
{
    const uint8_t f[8] = {0};
    struct alone a = {.nic.window_frames = 64};

    (void)state;
    alone_open(&a, BEGIN);
    send_some(&a, 2);
    nof_transport_flush(a.t);
    nof_transport_tick(a.t, BEGIN + 1);
    a.busy_every = 1;
    send_some(&a, 8);
    nof_tx_queue_push(a.t);
    assert_int_equal(a.t->tx.count, 4);
    a.stuck = true;
    struct nof_packet_fill fill = {.type = NOF_WIRE_ACKS, .fields_bytes = 8, .ack = a.path->sent.next_pn};
    alone_peer_says(&a, BEGIN + 2, &fill, f, sizeof f);
    assert_true(nof_sentmap_empty(&a.path->sent));
    assert_int_equal(a.t->tx.to_free, 4);
    assert_int_equal(a.frames, 4 + a.t->spare_count);
    a.stuck = false;
    a.busy_every = 0;
    (void)nof_transport_poll(a.t, BEGIN + 2 * NOF_PORT_RETRY_NS, 64);
    assert_int_equal(a.t->tx.to_free, 0);
    assert_all_back(&a);
}

/* The path ends while its frames wait: they are freed when the port has them, and not before. */
static void the_frames_of_a_path_that_ends_wait_for_the_port(void **state)
{
    struct alone a = {.nic.window_frames = 64, .stuck = true};

    (void)state;
    alone_open(&a, BEGIN);
    nof_transport_flush(a.t);
    send_some(&a, 6);
    nof_path_reset(a.path, NOF_EPROTO); /* and a CLOSE */
    assert_int_equal(a.frames, 7 + a.t->spare_count);
    assert_int_equal(a.t->tx.to_free, 7);
    a.stuck = false;
    a.busy_every = 1;
    nof_transport_flush(a.t);
    assert_int_equal(a.sent, 3);
    assert_int_equal(a.t->tx.to_free, 4);
    assert_int_equal(a.frames, 4 + a.t->spare_count);
    a.busy_every = 0;
    (void)nof_transport_poll(a.t, BEGIN + NOF_PORT_RETRY_NS, 64);
    assert_int_equal(a.t->tx.to_free, 0);
    assert_all_back(&a);
}

static void nothing_is_left_at_the_end(void **state)
{
    struct alone a = {.nic.window_frames = 64, .stuck = true};

    (void)state;
    alone_open(&a, BEGIN);
    send_some(&a, 3);
    assert_true(nof_tx_unreliable(a.path, NOF_WIRE_PROBE, 0, NULL, 0, 0));
    nof_path_reset(a.path, NOF_EPROTO);
    assert_int_equal(a.t->tx.count, 5);
    nof_tx_queue_drop(a.t);
    assert_int_equal(a.t->tx.count, 0);
    assert_all_back(&a);
}

static void a_full_queue_refuses(void **state)
{
    struct alone a = {.nic.window_frames = 256, .stuck = true};
    struct nof_frame frame = {.len_bytes = 100};

    (void)state;
    alone_open(&a, BEGIN);
    for (unsigned i = 0; i < NOF_TXQ_FRAMES; i++)
        assert_true(nof_tx_queue_add(a.t, &frame, 0));
    assert_false(nof_tx_queue_add(a.t, &frame, 0));
    assert_int_equal(a.t->tx.count, NOF_TXQ_FRAMES);
    a.t->tx.count = 0;
    (void)alone_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_busy_port_is_asked_again_and_gets_the_rest),
        cmocka_unit_test(what_waits_is_known_and_what_has_left_is_not),
        cmocka_unit_test(what_is_acknowledged_while_it_waits_is_freed_when_it_has_left),
        cmocka_unit_test(the_frames_of_a_path_that_ends_wait_for_the_port),
        cmocka_unit_test(nothing_is_left_at_the_end),
        cmocka_unit_test(a_full_queue_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
