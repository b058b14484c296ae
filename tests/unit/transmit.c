/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../vectors/alone.h"

#define US 1000ull
#define MS 1000000ull
#define BEGIN 1000000ull
#define HEADERS (NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES)
#define BODY 64u
#define LEN (HEADERS + BODY)
#define FIELDS NOF_WIRE_DATA_BYTES
#define FIRST_PN 200u

static void open_path(struct alone *a)
{
    *a = (struct alone){.nic.window_frames = 64};
    alone_open(a, BEGIN);
    nof_reorder_init(&a->path->reorder, 100);
    nof_sentmap_init(&a->path->sent, FIRST_PN, 0);
    nof_transport_flush(a->t);
}

static struct nof_frame *frame_of(struct nof_path *p, uint32_t body_bytes, uint8_t **body_out)
{
    struct nof_frame *f = nof_path_frame(p, body_bytes, body_out);

    assert_non_null(f);
    for (uint32_t i = 0; i < body_bytes; i++)
        (*body_out)[i] = (uint8_t)(i * 7);
    return f;
}

static uint32_t send_one(struct nof_path *p)
{
    uint8_t *body;
    struct nof_frame *f = frame_of(p, BODY, &body);

    return nof_path_send(p, f, NOF_WIRE_DATA, 0, 1, 2, FIELDS, BODY, 0);
}

static void hear_all(struct alone *a, uint64_t now_ns)
{
    const uint8_t f[NOF_WIRE_ACKS_BITMAP] = {0};
    struct nof_packet_fill fill = {
        .type = NOF_WIRE_ACKS, .fields_bytes = sizeof f, .ack = a->path->sent.next_pn};

    alone_peer_says(a, now_ns, &fill, f, sizeof f);
}

/* The last frame that the port took, as the peer reads it. */
static struct nof_packet heard(const struct alone *a)
{
    struct nof_packet_self peer;
    struct nof_packet packet;

    nof_packet_self(&peer, &alone_peer);
    assert_int_equal(nof_packet_parse(a->last, a->last_bytes, &peer, &packet), 0);
    assert_true(nof_packet_crc_ok(&packet));
    return packet;
}

static void a_frame_is_of_the_size_asked_for(void **state)
{
    struct nof_frame *f;
    struct alone a;
    uint8_t *body;
    long held;

    (void)state;
    open_path(&a);
    held = a.frames;
    f = nof_path_frame(a.path, BODY, &body);
    assert_int_equal(f->cap_bytes, LEN);
    assert_int_equal(f->len_bytes, LEN);
    assert_ptr_equal(body, f->data + HEADERS);
    assert_int_equal(a.frames, held + 1);
    nof_path_frame_drop(a.path, f);
    assert_int_equal(a.frames, held);
    assert_int_equal(alone_close(&a), 0);
}

static void who_finds_no_frame_is_told_later(void **state)
{
    struct alone a;
    uint8_t *body = NULL;

    (void)state;
    open_path(&a);
    nof_transport_tick(a.t, BEGIN + US);
    a.no_frames = true;
    assert_null(nof_path_frame(a.path, BODY, &body));
    assert_null(body);
    assert_true(a.t->alloc_retry_ns == BEGIN + US + NOF_PORT_RETRY_NS);
    assert_true(a.path->starved && a.path->want_ready);
    assert_int_equal(alone_close(&a), 0);
}

static void frames_are_numbered_and_say_what_the_caller_says(void **state)
{
    const uint8_t *c;
    struct alone a;
    uint8_t *body;

    (void)state;
    open_path(&a);
    assert_int_equal(send_one(a.path), FIRST_PN);
    struct nof_frame *f = frame_of(a.path, BODY, &body);
    assert_int_equal(nof_path_send(a.path, f, NOF_WIRE_MSG, 0x0d, 0x1234, 0x5678, 32, BODY - 10, 0),
                     FIRST_PN + 1);
    nof_transport_flush(a.t);
    assert_int_equal(a.sent, 2);
    assert_int_equal(a.last_bytes, LEN - 10); /* less than the frame has room for */
    struct nof_packet packet = heard(&a);
    c = packet.common;
    assert_int_equal(packet.len_bytes, NOF_WIRE_COMMON_BYTES + BODY - 10);
    assert_int_equal(packet.fields_bytes, 32);
    assert_int_equal(c[NOF_WIRE_TYPE], NOF_WIRE_MSG);
    assert_int_equal(c[NOF_WIRE_FLAGS], 0x0d);
    assert_int_equal(nof_get32(c + NOF_WIRE_PN), FIRST_PN + 1);
    assert_int_equal(nof_get64(c + NOF_WIRE_CONN), 5);
    assert_int_equal(nof_get16(c + NOF_WIRE_SRC_EP), 0x1234);
    assert_int_equal(nof_get16(c + NOF_WIRE_DST_EP), 0x5678);
    for (uint32_t i = 0; i < BODY - 10; i++)
        assert_int_equal(c[NOF_WIRE_COMMON_BYTES + i], (uint8_t)(i * 7));
    assert_int_equal(a.path->sent.frames, 2);
    assert_int_equal(a.path->sent.flight_bytes, 2 * LEN - 10);
    assert_int_equal(alone_close(&a), 0);
}

static void a_frame_pays_the_acknowledgement_that_is_owed(void **state)
{
    const uint8_t *c;
    struct alone a;

    (void)state;
    open_path(&a);
    c = a.last + NOF_WIRE_OUTER_BYTES;
    a.path->reorder.next_pn = a.path->reorder.high_pn = 117;
    a.path->reorder.newest_ns = BEGIN;
    a.path->ack_pending = 3;
    a.path->ack_now = true;
    nof_transport_tick(a.t, BEGIN + 7 * US);
    (void)send_one(a.path);
    assert_int_equal(a.path->ack_pending, 0);
    assert_false(a.path->ack_now);
    nof_transport_flush(a.t);
    assert_int_equal(a.counters[NOF_C_ACKS_TX], 0);
    assert_int_equal(nof_get32(c + NOF_WIRE_ACK), 117);
    assert_int_equal(nof_get16(c + NOF_WIRE_ACK_DELAY), 7);
    a.path->reorder.high_pn = 119; /* 117 is missing: the bitmap says so */
    a.path->ack_now = true;
    (void)send_one(a.path);
    assert_true(a.path->ack_now);
    assert_int_equal(nof_get32(a.t->tx.frame[0]->data + NOF_WIRE_OUTER_BYTES + NOF_WIRE_ACK), 117);
    a.path->reorder.high_pn = 117;
    assert_int_equal(alone_close(&a), 0);
}

/* Does the n-th frame, of one size, ask for an acknowledgement? */
static uint8_t asks(struct alone *a)
{
    (void)send_one(a->path);
    nof_transport_flush(a->t);
    return a->last[NOF_WIRE_OUTER_BYTES + NOF_WIRE_FLAGS] & NOF_WIRE_F_ACK_NOW;
}

static void a_frame_of_each_quarter_of_the_window_asks_and_all_beyond_it(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a);
    a.path->cc.cwnd_bytes = 22 * LEN;
    for (unsigned i = 1; i < 22; i++)
        assert_int_equal(asks(&a) != 0, i % 6 == 0); /* a quarter of the window is 5.5 frames */
    assert_true(asks(&a)); /* the window is used up */
    assert_true(asks(&a));
    assert_true(asks(&a));
    assert_int_equal(alone_close(&a), 0);
}

/* The peer acknowledges such frames by itself soon enough. */
static void few_in_flight_ask_for_nothing(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a);
    for (unsigned i = 0; i < 10; i++) {
        hear_all(&a, BEGIN);
        a.path->cc.cwnd_bytes = 12 * LEN;
        assert_false(asks(&a));
        assert_false(asks(&a));
    }
    assert_true(asks(&a)); /* the first with three in flight */
    assert_false(asks(&a));
    assert_int_equal(alone_close(&a), 0);
}

static void the_timeout_runs_from_the_first_that_is_unacknowledged(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a);
    nof_transport_tick(a.t, BEGIN + MS);
    (void)send_one(a.path);
    nof_transport_flush(a.t);
    assert_true(nof_transport_next_deadline(a.t) == BEGIN + MS + NOF_RTO_INITIAL_NS);
    nof_transport_tick(a.t, BEGIN + 2 * MS);
    (void)send_one(a.path);
    nof_transport_flush(a.t);
    assert_true(nof_transport_next_deadline(a.t) == BEGIN + MS + NOF_RTO_INITIAL_NS);
    assert_int_equal(alone_close(&a), 0);
}

/* What one path was told it may send is less by what others send meanwhile. */
static void room_is_looked_for_anew_when_another_has_sent(void **state)
{
    struct nof_path *b;
    struct alone a;
    unsigned n;

    (void)state;
    open_path(&a);
    b = alone_path(&a, 902);
    n = nof_path_window(a.path, false);
    assert_int_equal(n, a.nic.sent_frames);
    (void)send_one(b);
    assert_int_equal(nof_path_window(a.path, false), n - 1);
    (void)send_one(a.path);
    assert_int_equal(nof_path_window(a.path, false), n - 2);
    assert_true(nof_path_window(a.path, true) > n);
    a.path->window_frames = NOF_URGENT_FRAMES + 5; /* of which it has sent 1 */
    nof_transport_tick(a.t, BEGIN + US);
    assert_int_equal(nof_path_window(a.path, false), 4);
    (void)send_one(b);
    assert_int_equal(nof_path_window(a.path, false), 4); /* its own window is what bounds it */
    assert_int_equal(alone_close(&a), 0);
}

static void who_sends_more_than_there_was_room_for_finds_none(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a);
    a.path->window_frames = NOF_URGENT_FRAMES + 1;
    assert_int_equal(nof_path_window(a.path, false), 1);
    (void)send_one(a.path);
    assert_true(nof_path_window(a.path, true) > 0);
    (void)send_one(a.path);
    assert_int_equal(nof_path_window(a.path, false), 0);
    assert_int_equal(alone_close(&a), 0);
}

/* In the middle of a stream nothing may be missing: then rather no stream. */
static void without_an_entry_the_path_ends(void **state)
{
    struct alone a;
    long held;

    (void)state;
    open_path(&a);
    held = a.frames;
    while (nof_path_window(a.path, true) > 0)
        (void)send_one(a.path);
    nof_transport_flush(a.t);
    while (nof_sent_get(&a.t->sent) != NOF_NIL)
        ;
    uint32_t next_pn = a.path->sent.next_pn;
    assert_int_equal(send_one(a.path), next_pn);
    assert_int_equal(a.path->state, NOF_PATH_DEAD);
    (void)nof_transport_poll(a.t, BEGIN, 64);
    assert_int_equal(a.deaths, 1);
    assert_int_equal(a.reason, NOF_ENOMEM);
    assert_int_equal(heard(&a).common[NOF_WIRE_TYPE], NOF_WIRE_CLOSE);
    assert_int_equal(a.frames, held);
    assert_int_equal(alone_close(&a), 0);
}

static void a_path_that_is_not_up_keeps_no_frame(void **state)
{
    struct alone a;
    long held;

    (void)state;
    open_path(&a);
    held = a.frames;
    nof_path_reset(a.path, NOF_EPROTO);
    nof_transport_flush(a.t);
    (void)send_one(a.path);
    assert_int_equal(a.frames, held);
    assert_int_equal(a.t->sent.free_count, a.nic.sent_frames + NOF_SENT_SLACK);
    assert_int_equal(a.t->tx.count, 0);
    assert_int_equal(alone_close(&a), 0);
}

static void what_finds_no_room_in_the_queue_is_sent_later(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a);
    a.stuck = true;
    for (unsigned i = 0; i < NOF_TXQ_FRAMES; i++)
        assert_true(nof_tx_unreliable(a.path, NOF_WIRE_PROBE, 0, NULL, 0, 0));
    assert_int_equal(send_one(a.path), FIRST_PN);
    assert_int_equal(a.path->sent.lost, 1);
    assert_int_equal(a.path->sent.flight_bytes, 0);
    nof_transport_flush(a.t);
    a.stuck = false;
    (void)nof_transport_poll(a.t, BEGIN + NOF_PORT_RETRY_NS, 64);
    assert_int_equal(a.sent, NOF_TXQ_FRAMES + 1);
    assert_int_equal(nof_get32(heard(&a).common + NOF_WIRE_PN), FIRST_PN);
    assert_int_equal(a.path->sent.lost, 0);
    assert_int_equal(alone_close(&a), 0);
}

/* The sum stands where the CRC will be. It counts for a payload of nof_path_sum_bytes() alone, and if it was said. */
static void a_sum_of_the_payload_is_taken_over(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a);
    for (unsigned i = 0; i < 4; i++) {
        uint32_t payload = nof_path_sum_bytes(a.path) - (i & 1);
        int summed = i < 2;
        uint8_t *body;
        struct nof_frame *f = frame_of(a.path, FIELDS + payload, &body);

        nof_put32(nof_path_sum_at(body), i == 0 ? nof_crc32c(body + FIELDS, payload) : 0x5a5a5a5a);
        (void)nof_path_send(a.path, f, NOF_WIRE_DATA, 0, 1, 2, FIELDS, FIELDS + payload, summed);
        nof_transport_flush(a.t);
        assert_int_equal(heard(&a).len_bytes, NOF_WIRE_COMMON_BYTES + FIELDS + payload);
    }
    struct nof_frame *f;
    uint8_t *body;
    uint32_t payload = nof_path_sum_bytes(a.path);
    f = frame_of(a.path, FIELDS + payload, &body);
    nof_put32(nof_path_sum_at(body), nof_crc32c(body + FIELDS, payload) ^ 1);
    (void)nof_path_send(a.path, f, NOF_WIRE_DATA, 0, 1, 2, FIELDS, FIELDS + payload, 1);
    nof_transport_flush(a.t);
    struct nof_packet packet = {.common = a.last + NOF_WIRE_OUTER_BYTES,
                                .len_bytes = a.last_bytes - NOF_WIRE_OUTER_BYTES};
    assert_false(nof_packet_crc_ok(&packet)); /* it is believed, not made anew */
    assert_int_equal(alone_close(&a), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_of_the_size_asked_for),
        cmocka_unit_test(who_finds_no_frame_is_told_later),
        cmocka_unit_test(frames_are_numbered_and_say_what_the_caller_says),
        cmocka_unit_test(a_frame_pays_the_acknowledgement_that_is_owed),
        cmocka_unit_test(a_frame_of_each_quarter_of_the_window_asks_and_all_beyond_it),
        cmocka_unit_test(few_in_flight_ask_for_nothing),
        cmocka_unit_test(the_timeout_runs_from_the_first_that_is_unacknowledged),
        cmocka_unit_test(room_is_looked_for_anew_when_another_has_sent),
        cmocka_unit_test(who_sends_more_than_there_was_room_for_finds_none),
        cmocka_unit_test(without_an_entry_the_path_ends),
        cmocka_unit_test(a_path_that_is_not_up_keeps_no_frame),
        cmocka_unit_test(what_finds_no_room_in_the_queue_is_sent_later),
        cmocka_unit_test(a_sum_of_the_payload_is_taken_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
