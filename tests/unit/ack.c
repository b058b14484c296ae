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

static void open_path(struct alone *a)
{
    *a = (struct alone){.nic.window_frames = 64};
    alone_open(a, BEGIN);
    nof_reorder_init(&a->path->reorder, 100);
    nof_sentmap_init(&a->path->sent, 200, 0);
    nof_transport_flush(a->t);
}

static void hear_data(struct alone *a, uint64_t now_ns, uint32_t pn, uint8_t flags)
{
    const uint8_t body[20] = {0};
    struct nof_packet_fill fill = {.type = NOF_WIRE_DATA,
                                   .flags = flags,
                                   .fields_bytes = 16,
                                   .pn = pn,
                                   .ack = a->path->sent.cum_pn,
                                   .ack_delay_us = UINT16_MAX};

    alone_peer_says(a, now_ns, &fill, body, sizeof body);
}

/* ACKS with `nwords` words, of which the first is `bits`. */
static void hear_acks(struct alone *a, uint64_t now_ns, uint32_t ack, uint32_t bits, uint32_t nwords)
{
    uint8_t f[NOF_WIRE_ACKS_BITMAP + 4 * NOF_WIRE_ACKS_WORDS_MAX] = {0};
    struct nof_packet_fill fill = {
        .type = NOF_WIRE_ACKS, .fields_bytes = (uint8_t)(NOF_WIRE_ACKS_BITMAP + 4 * nwords), .ack = ack};

    nof_put32(f + NOF_WIRE_ACKS_COUNT, nwords);
    nof_put32(f + NOF_WIRE_ACKS_BITMAP, bits);
    alone_peer_says(a, now_ns, &fill, f, fill.fields_bytes);
}

static void send_data(struct alone *a, uint64_t now_ns, unsigned n)
{
    nof_transport_tick(a->t, now_ns);
    while (n-- > 0) {
        uint8_t *body;
        struct nof_frame *f = nof_path_frame(a->path, 64, &body);

        memset(body, 0, 64);
        (void)nof_path_send(a->path, f, NOF_WIRE_DATA, 0, 1, 2, 16, 64, 0);
    }
    nof_transport_flush(a->t);
}

static void poll(struct alone *a, uint64_t now_ns)
{
    (void)nof_transport_poll(a->t, now_ns, 64);
    nof_transport_flush(a->t);
}

static uint64_t acks(const struct alone *a)
{
    return a->counters[NOF_C_ACKS_TX];
}

/* The last frame is an ACKS of this content. */
static void assert_acks(const struct alone *a, uint32_t ack, uint32_t delay_us, uint32_t nwords,
                        uint32_t bits)
{
    const uint8_t *c = a->last + NOF_WIRE_OUTER_BYTES;
    const uint8_t *f = c + NOF_WIRE_COMMON_BYTES;

    assert_int_equal(c[NOF_WIRE_TYPE], NOF_WIRE_ACKS);
    assert_int_equal(nof_get32(c + NOF_WIRE_ACK), ack);
    assert_int_equal(c[NOF_WIRE_FIELDS], NOF_WIRE_ACKS_BITMAP + 4 * nwords);
    assert_int_equal(nof_get32(f + NOF_WIRE_ACKS_DELAY), delay_us);
    assert_int_equal(nof_get32(f + NOF_WIRE_ACKS_COUNT), nwords);
    if (nwords > 0)
        assert_int_equal(nof_get32(f + NOF_WIRE_ACKS_BITMAP), bits);
}

static void a_frame_is_acknowledged_after_ack_delay(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a);
    hear_data(&a, BEGIN, 100, 0);
    assert_int_equal(acks(&a), 0);
    assert_true(nof_transport_next_deadline(a.t) == BEGIN + 50 * US);
    poll(&a, BEGIN + 50 * US - 1);
    assert_int_equal(acks(&a), 0);
    poll(&a, BEGIN + 50 * US);
    assert_int_equal(acks(&a), 1);
    assert_acks(&a, 101, 50, 0, 0);
    assert_true(nof_transport_next_deadline(a.t) == NOF_NO_DEADLINE);
    assert_int_equal(alone_close(&a), 0);
}

static void sixteen_frames_or_who_asks_are_acknowledged_at_once(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a);
    for (uint32_t i = 0; i < NOF_ACK_EVERY - 1; i++)
        hear_data(&a, BEGIN + i * US, 100 + i, 0);
    assert_int_equal(acks(&a), 0);
    hear_data(&a, BEGIN + 20 * US, 100 + NOF_ACK_EVERY - 1, 0);
    assert_int_equal(acks(&a), 1);
    assert_acks(&a, 100 + NOF_ACK_EVERY, 0, 0, 0);
    hear_data(&a, BEGIN + 21 * US, 100 + NOF_ACK_EVERY, NOF_WIRE_F_ACK_NOW);
    assert_int_equal(acks(&a), 2);
    hear_data(&a, BEGIN + 22 * US, 100, 0); /* a duplicate: the acknowledgement was lost */
    assert_int_equal(acks(&a), 3);
    assert_int_equal(alone_close(&a), 0);
}

static void a_gap_is_told_at_once_with_what_came_beyond(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a);
    hear_data(&a, BEGIN, 101, 0);
    assert_acks(&a, 100, 0, 1, 1);
    hear_data(&a, BEGIN, 133, 0);
    assert_acks(&a, 100, 0, 2, 1);
    assert_int_equal(
        nof_get32(a.last + NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES + NOF_WIRE_ACKS_BITMAP + 4), 1);
    hear_data(&a, BEGIN, 100, 0);
    assert_acks(&a, 102, 0, 1, 1u << 30);
    assert_int_equal(a.delivered, 2);
    assert_int_equal(alone_close(&a), 0);
}

static void data_carries_the_acknowledgement_and_its_delay(void **state)
{
    const uint8_t *c;
    struct alone a;

    (void)state;
    open_path(&a);
    c = a.last + NOF_WIRE_OUTER_BYTES;
    hear_data(&a, BEGIN, 100, 0);
    send_data(&a, BEGIN + 30 * US, 1);
    assert_int_equal(nof_get32(c + NOF_WIRE_ACK), 101);
    assert_int_equal(nof_get16(c + NOF_WIRE_ACK_DELAY), 30);
    poll(&a, BEGIN + 60 * US);
    assert_int_equal(acks(&a), 0);
    send_data(&a, BEGIN + 70 * US, 1); /* nothing owed: nothing to say of a delay */
    assert_int_equal(nof_get16(c + NOF_WIRE_ACK_DELAY), UINT16_MAX);
    hear_data(&a, BEGIN + 80 * US, 102, 0); /* a gap wants its bitmap all the same */
    assert_int_equal(acks(&a), 1);
    assert_int_equal(alone_close(&a), 0);
}

static void an_acknowledgement_that_found_no_frame_comes_later(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a);
    while (a.t->spare_count > 0)
        nof_path_frame_drop(a.path, a.t->spare[--a.t->spare_count]);
    a.no_frames = true;
    hear_data(&a, BEGIN, 101, 0);
    assert_int_equal(acks(&a), 0);
    assert_true(nof_transport_next_deadline(a.t) == BEGIN + NOF_PORT_RETRY_NS);
    a.no_frames = false;
    poll(&a, BEGIN + NOF_PORT_RETRY_NS);
    assert_int_equal(acks(&a), 1);
    assert_acks(&a, 100, 5, 1, 1);
    assert_int_equal(alone_close(&a), 0);
}

static void what_cannot_be_acknowledged_is_not(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a);
    send_data(&a, BEGIN, 4); /* 200 .. 203 */
    hear_acks(&a, BEGIN, 205, 0, 0); /* never sent */
    hear_acks(&a, BEGIN, 199, 0, 0); /* older than what we know */
    hear_acks(&a, BEGIN, 200, 1u << 3, 1); /* 204: never sent */
    hear_acks(&a, BEGIN, 200, 0, NOF_WIRE_ACKS_WORDS_MAX);
    assert_int_equal(a.path->sent.frames, 4);
    assert_int_equal(a.path->sent.cum_pn, 200);
    hear_acks(&a, BEGIN, 200, 1u << 2, 1); /* 203 */
    assert_int_equal(a.path->sent.frames, 3);
    hear_acks(&a, BEGIN, 204, 0, 0);
    assert_true(nof_sentmap_empty(&a.path->sent));
    assert_int_equal(a.counters[NOF_C_DROP_LENGTH], 0);
    struct nof_packet_fill fill = {.type = NOF_WIRE_ACKS, .fields_bytes = 4, .ack = 204};
    alone_peer_says(&a, BEGIN, &fill, "\0\0\0", 4);
    uint8_t f[NOF_WIRE_ACKS_BITMAP] = {[NOF_WIRE_ACKS_COUNT] = 1};
    fill.fields_bytes = NOF_WIRE_ACKS_BITMAP;
    alone_peer_says(&a, BEGIN, &fill, f, sizeof f); /* says one word and has none */
    assert_int_equal(a.counters[NOF_C_DROP_LENGTH], 2);
    assert_int_equal(alone_close(&a), 0);
}

static void only_the_newest_frame_measures_the_round_trip(void **state)
{
    struct nof_packet_fill fill = {
        .type = NOF_WIRE_DATA, .fields_bytes = 16, .pn = 100, .ack = 202, .ack_delay_us = 40};
    const uint8_t body[16] = {0};
    struct alone a;

    (void)state;
    open_path(&a);
    send_data(&a, BEGIN, 1);
    send_data(&a, BEGIN + 100 * US, 1);
    alone_peer_says(&a, BEGIN + 200 * US, &fill, body, sizeof body);
    assert_int_equal(a.path->rtt.srtt_ns, 60 * US); /* of the second, less the peer's 40 us */
    send_data(&a, BEGIN + 300 * US, 2);
    fill.pn = 101;
    fill.ack = 203;
    fill.ack_delay_us = UINT16_MAX; /* unknown */
    alone_peer_says(&a, BEGIN + 900 * US, &fill, body, sizeof body);
    assert_int_equal(a.path->rtt.srtt_ns, 60 * US);
    assert_int_equal(alone_close(&a), 0);
}

static void hear_marked(struct alone *a, uint64_t now_ns, uint32_t pn)
{
    const uint8_t body[20] = {0};
    struct nof_packet_fill fill = {.type = NOF_WIRE_DATA,
                                   .fields_bytes = 16,
                                   .pn = pn,
                                   .ack = a->path->sent.cum_pn,
                                   .ack_delay_us = UINT16_MAX};

    alone_peer_says_marked(a, now_ns, &fill, body, sizeof body);
}

static void a_mark_is_told_at_once_and_once(void **state)
{
    const uint8_t *c;
    struct alone a;

    (void)state;
    open_path(&a);
    c = a.last + NOF_WIRE_OUTER_BYTES;
    hear_marked(&a, BEGIN, 100);
    poll(&a, BEGIN);
    assert_int_equal(acks(&a), 1);
    assert_acks(&a, 101, 0, 0, 0);
    assert_int_equal(c[NOF_WIRE_FLAGS], NOF_WIRE_ACKS_F_MARKED);
    hear_data(&a, BEGIN + US, 101, NOF_WIRE_F_ACK_NOW);
    poll(&a, BEGIN + US);
    assert_int_equal(acks(&a), 2);
    assert_int_equal(c[NOF_WIRE_FLAGS], 0);
    nof_ack_mark(a.path); /* of a frame whose delivery has something sent at once: */
    send_data(&a, BEGIN + 2 * US, 1); /* that takes no ACKS' place */
    poll(&a, BEGIN + 2 * US);
    assert_int_equal(acks(&a), 3);
    assert_int_equal(alone_close(&a), 0);
}

static void a_mark_that_is_told_makes_the_window_smaller(void **state)
{
    uint8_t f[NOF_WIRE_ACKS_BITMAP] = {0};
    struct nof_packet_fill fill = {
        .type = NOF_WIRE_ACKS, .flags = NOF_WIRE_ACKS_F_MARKED, .fields_bytes = sizeof f, .ack = 200};
    struct alone a;
    uint32_t before;

    (void)state;
    open_path(&a);
    send_data(&a, BEGIN, 4);
    before = a.path->cc.cwnd_bytes = 40 * nof_path_mss(a.path);
    alone_peer_says(&a, BEGIN + US, &fill, f, sizeof f);
    assert_int_equal(a.path->cc.cwnd_bytes, before - before / 8);
    alone_peer_says(&a, BEGIN + US, &fill, f, sizeof f);
    assert_int_equal(a.path->cc.cwnd_bytes, before - before / 8);
    assert_int_equal(alone_close(&a), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_acknowledged_after_ack_delay),
        cmocka_unit_test(sixteen_frames_or_who_asks_are_acknowledged_at_once),
        cmocka_unit_test(a_gap_is_told_at_once_with_what_came_beyond),
        cmocka_unit_test(data_carries_the_acknowledgement_and_its_delay),
        cmocka_unit_test(an_acknowledgement_that_found_no_frame_comes_later),
        cmocka_unit_test(what_cannot_be_acknowledged_is_not),
        cmocka_unit_test(only_the_newest_frame_measures_the_round_trip),
        cmocka_unit_test(a_mark_is_told_at_once_and_once),
        cmocka_unit_test(a_mark_that_is_told_makes_the_window_smaller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
