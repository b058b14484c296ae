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
#define MSS 1514u
#define FULL (1500u - NOF_PACKET_IP_OVERHEAD_BYTES)
#define FIRST_PN 200u
#define STUCK_TIMEOUTS 128u

static void send_full(struct alone *a, uint64_t now_ns, unsigned n)
{
    nof_transport_tick(a->t, now_ns);
    while (n-- > 0) {
        uint8_t *body;
        struct nof_frame *f = nof_path_frame(a->path, FULL, &body);

        memset(body, 0, FULL);
        (void)nof_path_send(a->path, f, NOF_WIRE_DATA, 0, 1, 2, 16, FULL, 0);
    }
    nof_transport_flush(a->t);
}

/* A path with n frames, from FIRST_PN on, that the port has and the peer has not acknowledged. */
static void open_path(struct alone *a, unsigned n)
{
    *a = (struct alone){.nic.window_frames = 64};
    alone_open(a, BEGIN);
    nof_sentmap_init(&a->path->sent, FIRST_PN, 0);
    nof_transport_flush(a->t);
    send_full(a, BEGIN, n);
    assert_int_equal(a->t->tx.count, 0);
}

static uint32_t entry_of(const struct alone *a, uint32_t pn)
{
    uint32_t index = a->path->sent.head;

    while (a->t->sent.entry[index].pn != pn)
        index = a->t->sent.entry[index].next;
    return index;
}

static void lose(struct alone *a, uint32_t pn)
{
    nof_sentmap_stuck(&a->path->sent, &a->t->sent, entry_of(a, pn));
}

/* What the queue towards the port holds, in its order. */
static uint32_t queued_pn(const struct alone *a, uint32_t i)
{
    assert_true(i < a->t->tx.count);
    return nof_get32(a->t->tx.frame[i]->data + NOF_WIRE_OUTER_BYTES + NOF_WIRE_PN);
}

static void retransmit(struct alone *a, unsigned budget)
{
    a->t->budget = budget;
    nof_recovery_retransmit(a->path);
}

static void timeout(struct alone *a, uint64_t now_ns)
{
    nof_transport_tick(a->t, now_ns);
    nof_recovery_timeout(a->path);
    nof_transport_flush(a->t);
}

/* Packets from FIRST_PN + 1 on by `bits`; FIRST_PN is missing. */
static void hear_acks(struct alone *a, uint64_t now_ns, uint32_t bits)
{
    uint8_t f[NOF_WIRE_ACKS_BITMAP + 4] = {[NOF_WIRE_ACKS_COUNT] = 1};
    struct nof_packet_fill fill = {.type = NOF_WIRE_ACKS, .fields_bytes = sizeof f, .ack = FIRST_PN};

    nof_put32(f + NOF_WIRE_ACKS_BITMAP, bits);
    alone_peer_says(a, now_ns, &fill, f, sizeof f);
}

/* The probes of a doubt serve its frame, and a busy port may have one place. */
static void a_frame_in_doubt_goes_before_the_probes(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a, 1);
    for (unsigned i = 1; i < 4; i++)
        timeout(&a, BEGIN + i * 100 * NOF_MS);
    assert_int_equal(a.counters[NOF_C_PROBES_TX], 0);
    a.stuck = true;
    timeout(&a, BEGIN + 400 * NOF_MS);
    assert_true(a.counters[NOF_C_PROBES_TX] > 0);
    assert_int_equal(a.t->tx.count, 1 + a.counters[NOF_C_PROBES_TX]);
    assert_int_equal(queued_pn(&a, 0), FIRST_PN);
    assert_int_equal(a.t->tx.frame[0]->data[NOF_WIRE_OUTER_BYTES + NOF_WIRE_TYPE], NOF_WIRE_DATA);
    a.stuck = false;
    nof_transport_tick(a.t, BEGIN + 401 * NOF_MS);
    nof_transport_flush(a.t);
    assert_int_equal(alone_close(&a), 0);
}

static void only_what_is_lost_goes_again_in_its_order(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a, 6);
    assert_false(nof_recovery_may_retransmit(a.path));
    retransmit(&a, 64);
    assert_int_equal(a.t->tx.count, 0);
    lose(&a, FIRST_PN + 4);
    lose(&a, FIRST_PN + 1);
    lose(&a, FIRST_PN + 2);
    assert_true(nof_recovery_may_retransmit(a.path));
    nof_transport_tick(a.t, BEGIN + US);
    retransmit(&a, 64);
    assert_int_equal(a.t->tx.count, 3);
    assert_int_equal(queued_pn(&a, 0), FIRST_PN + 1);
    assert_int_equal(queued_pn(&a, 1), FIRST_PN + 2);
    assert_int_equal(queued_pn(&a, 2), FIRST_PN + 4);
    assert_int_equal(a.path->sent.lost, 0);
    assert_int_equal(a.path->sent.flight_bytes, 6 * MSS);
    assert_int_equal(a.path->sent.frames, 6);
    const struct nof_sent *e = &a.t->sent.entry[entry_of(&a, FIRST_PN + 4)];
    assert_int_equal(e->retx, 1);
    assert_int_equal(e->xn, 8);
    assert_true(e->sent_ns == BEGIN + US);
    assert_int_equal(a.counters[NOF_C_RETRANSMITS], 3);
    assert_int_equal(a.counters[NOF_C_RETRANSMITS_FAST], 3);
    assert_int_equal(a.counters[NOF_C_TIMEOUTS], 0);
    assert_int_equal(alone_close(&a), 0);
}

static void no_more_goes_again_in_a_call_than_its_budget(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a, 4);
    for (uint32_t i = 0; i < 4; i++)
        lose(&a, FIRST_PN + i);
    retransmit(&a, 0);
    assert_int_equal(a.t->tx.count, 0);
    retransmit(&a, 3);
    assert_int_equal(a.t->tx.count, 3);
    assert_int_equal(a.t->budget, 0);
    nof_tx_queue_push(a.t);
    retransmit(&a, 3);
    assert_int_equal(queued_pn(&a, 0), FIRST_PN + 3);
    assert_int_equal(a.t->tx.count, 1);
    assert_int_equal(a.t->budget, 2); /* for other paths */
    assert_int_equal(alone_close(&a), 0);
}

static void lost_frames_wait_for_the_congestion_window(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a, 6);
    a.features[NOF_F_CONGESTION] = 1;
    a.path->cc.cwnd_bytes = 3 * MSS;
    for (uint32_t i = 0; i < 3; i++)
        lose(&a, FIRST_PN + i);
    assert_int_equal(a.path->sent.flight_bytes, 3 * MSS);
    assert_false(nof_recovery_may_retransmit(a.path));
    a.path->cc.cwnd_bytes += 1;
    assert_true(nof_recovery_may_retransmit(a.path));
    retransmit(&a, 64);
    assert_int_equal(a.t->tx.count, 1); /* one fills it */
    assert_false(nof_recovery_may_retransmit(a.path));
    a.features[NOF_F_CONGESTION] = 0;
    assert_true(nof_recovery_may_retransmit(a.path));
    assert_int_equal(alone_close(&a), 0);
}

static void with_nothing_in_flight_one_may_go_whatever_the_window(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a, 2);
    a.features[NOF_F_CONGESTION] = 1;
    a.path->cc.cwnd_bytes = 0;
    lose(&a, FIRST_PN);
    assert_false(nof_recovery_may_retransmit(a.path));
    lose(&a, FIRST_PN + 1);
    assert_true(nof_recovery_may_retransmit(a.path));
    retransmit(&a, 64);
    assert_int_equal(a.t->tx.count, 1);
    assert_int_equal(alone_close(&a), 0);
}

/* One frame must not stand in the queue twice: whoever comes first would free it. */
static void what_the_port_has_not_taken_is_not_queued_again(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a, 0);
    a.stuck = true;
    send_full(&a, BEGIN, 3);
    assert_int_equal(a.t->tx.count, 3);
    lose(&a, FIRST_PN);
    lose(&a, FIRST_PN + 1);
    retransmit(&a, 64);
    assert_int_equal(a.t->tx.count, 3);
    assert_int_equal(a.t->budget, 64);
    assert_int_equal(a.path->sent.lost, 2);
    nof_transport_tick(a.t, BEGIN + US);
    nof_recovery_timeout(a.path);
    assert_int_equal(a.t->tx.count, 3);
    assert_int_equal(a.counters[NOF_C_TIMEOUTS], 1);
    assert_int_equal(a.counters[NOF_C_RETRANSMITS], 0);
    a.stuck = false;
    nof_transport_tick(a.t, BEGIN + NOF_PORT_RETRY_NS);
    nof_tx_queue_push(a.t);
    retransmit(&a, 64);
    assert_int_equal(a.t->tx.count, 2);
    assert_int_equal(a.counters[NOF_C_RETRANSMITS], 2);
    assert_int_equal(alone_close(&a), 0);
}

static void what_finds_no_room_in_the_queue_stays_lost(void **state)
{
    struct nof_frame full[NOF_TXQ_FRAMES];
    struct alone a;

    (void)state;
    open_path(&a, 1);
    memset(full, 0, sizeof full);
    a.stuck = true;
    for (unsigned i = 0; i < NOF_TXQ_FRAMES; i++)
        assert_true(nof_tx_queue_add(a.t, &full[i], NOF_NIL));
    lose(&a, FIRST_PN);
    retransmit(&a, 64);
    assert_int_equal(a.path->sent.lost, 1);
    assert_int_equal(a.path->sent.next_xn, 1);
    assert_int_equal(a.t->budget, 64);
    assert_int_equal(a.counters[NOF_C_RETRANSMITS] + a.counters[NOF_C_RETRANSMITS_FAST], 0);
    a.t->tx.count = 0;
    retransmit(&a, 64);
    assert_int_equal(a.path->sent.lost, 0);
    assert_int_equal(alone_close(&a), 0);
}

/* Room that a burst was told of before is less by what is sent again. */
static void what_goes_again_takes_its_room(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a, 3);
    a.features[NOF_F_CONGESTION] = 1;
    a.path->cc.cwnd_bytes = 4 * MSS;
    lose(&a, FIRST_PN);
    assert_int_equal(nof_path_window(a.path, false), 2);
    retransmit(&a, 64);
    assert_int_equal(nof_path_window(a.path, false), 1);
    assert_int_equal(alone_close(&a), 0);
}

/* Two later ones may have overtaken it, three have not. */
static void a_frame_that_is_found_lost_goes_again_and_costs_little(void **state)
{
    uint32_t cwnd_bytes;
    struct alone a;

    (void)state;
    open_path(&a, 5);
    cwnd_bytes = a.path->cc.cwnd_bytes;
    hear_acks(&a, BEGIN + 100 * US, 0x3);
    assert_int_equal(a.sent, 5);
    assert_int_equal(a.path->cc.cwnd_bytes, cwnd_bytes);
    hear_acks(&a, BEGIN + 100 * US, 0x7);
    assert_int_equal(a.sent, 6);
    assert_int_equal(nof_get32(a.last + NOF_WIRE_OUTER_BYTES + NOF_WIRE_PN), FIRST_PN);
    assert_int_equal(a.counters[NOF_C_RETRANSMITS_FAST], 1);
    assert_int_equal(a.path->cc.cwnd_bytes, cwnd_bytes - cwnd_bytes / 32);
    hear_acks(&a, BEGIN + 101 * US, 0xf); /* nothing more is lost */
    assert_int_equal(a.path->cc.cwnd_bytes, cwnd_bytes - cwnd_bytes / 32);
    assert_int_equal(alone_close(&a), 0);
}

static void many_lost_at_once_cost_a_quarter_of_the_window(void **state)
{
    uint32_t cwnd_bytes;
    struct alone a;

    (void)state;
    open_path(&a, 12);
    cwnd_bytes = a.path->cc.cwnd_bytes; /* 32 frames: more than 8 are many */
    hear_acks(&a, BEGIN + 100 * US, 1u << 10);
    assert_int_equal(a.counters[NOF_C_RETRANSMITS_FAST], 9);
    assert_int_equal(a.path->cc.cwnd_bytes, cwnd_bytes - cwnd_bytes / 4);
    assert_int_equal(alone_close(&a), 0);
}

static void what_few_have_overtaken_is_lost_when_its_time_is_over(void **state)
{
    uint64_t at;
    struct alone a;

    (void)state;
    open_path(&a, 2);
    hear_acks(&a, BEGIN + 800 * US, 1);
    at = BEGIN + (800 + 100 + 400) * US; /* srtt + srtt / 8 + rttvar */
    assert_true(nof_transport_next_deadline(a.t) == at);
    (void)nof_transport_poll(a.t, at - 1, 64);
    assert_int_equal(a.counters[NOF_C_RETRANSMITS], 0);
    nof_transport_flush(a.t);
    (void)nof_transport_poll(a.t, at, 64);
    assert_int_equal(a.counters[NOF_C_RETRANSMITS_FAST], 1);
    assert_int_equal(a.counters[NOF_C_TIMEOUTS], 0);
    assert_int_equal(alone_close(&a), 0);
}

static void a_timeout_sends_the_oldest_again_and_waits_anew(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a, 3);
    timeout(&a, BEGIN + 20 * MS);
    assert_int_equal(a.sent, 4);
    assert_int_equal(nof_get32(a.last + NOF_WIRE_OUTER_BYTES + NOF_WIRE_PN), FIRST_PN);
    assert_int_equal(a.counters[NOF_C_TIMEOUTS], 1);
    assert_int_equal(a.counters[NOF_C_RETRANSMITS], 1);
    assert_int_equal(a.counters[NOF_C_RETRANSMITS_FAST], 0);
    assert_int_equal(a.path->backoff, 1);
    assert_true(a.path->pto_base_ns == BEGIN + 20 * MS);
    assert_int_equal(a.path->sent.flight_bytes, 3 * MSS); /* it was not found lost */
    timeout(&a, BEGIN + 60 * MS);
    assert_int_equal(nof_get32(a.last + NOF_WIRE_OUTER_BYTES + NOF_WIRE_PN), FIRST_PN);
    assert_int_equal(a.t->sent.entry[a.path->sent.head].retx, 2);
    assert_int_equal(alone_close(&a), 0);
}

static void many_timeouts_in_a_row_end_a_path(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a, 1);
    for (unsigned i = 1; i < STUCK_TIMEOUTS; i++) {
        timeout(&a, BEGIN + i * MS);
        assert_int_equal(a.path->backoff, i);
    }
    assert_int_equal(a.path->state, NOF_PATH_UP);
    timeout(&a, BEGIN + STUCK_TIMEOUTS * MS);
    assert_int_equal(a.path->state, NOF_PATH_DEAD);
    assert_int_equal(a.path->reason, NOF_ELINKDOWN);
    assert_int_equal(a.counters[NOF_C_TIMEOUTS], STUCK_TIMEOUTS);
    assert_int_equal(alone_close(&a), 0);
}

static void the_third_timeout_in_a_row_begins_the_window_anew(void **state)
{
    uint32_t cwnd_bytes;
    struct alone a;

    (void)state;
    open_path(&a, 1);
    cwnd_bytes = a.path->cc.cwnd_bytes;
    timeout(&a, BEGIN + 1 * MS);
    timeout(&a, BEGIN + 2 * MS);
    assert_int_equal(a.path->cc.cwnd_bytes, cwnd_bytes);
    timeout(&a, BEGIN + 3 * MS);
    assert_int_equal(a.path->cc.cwnd_bytes, 4 * MSS);
    assert_int_equal(alone_close(&a), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_in_doubt_goes_before_the_probes),
        cmocka_unit_test(only_what_is_lost_goes_again_in_its_order),
        cmocka_unit_test(no_more_goes_again_in_a_call_than_its_budget),
        cmocka_unit_test(lost_frames_wait_for_the_congestion_window),
        cmocka_unit_test(with_nothing_in_flight_one_may_go_whatever_the_window),
        cmocka_unit_test(what_the_port_has_not_taken_is_not_queued_again),
        cmocka_unit_test(what_finds_no_room_in_the_queue_stays_lost),
        cmocka_unit_test(what_goes_again_takes_its_room),
        cmocka_unit_test(a_frame_that_is_found_lost_goes_again_and_costs_little),
        cmocka_unit_test(many_lost_at_once_cost_a_quarter_of_the_window),
        cmocka_unit_test(what_few_have_overtaken_is_lost_when_its_time_is_over),
        cmocka_unit_test(a_timeout_sends_the_oldest_again_and_waits_anew),
        cmocka_unit_test(many_timeouts_in_a_row_end_a_path),
        cmocka_unit_test(the_third_timeout_in_a_row_begins_the_window_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
