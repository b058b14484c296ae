/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../vectors/alone.h"

#define MS 1000000ull
#define BEGIN (10 * MS)
#define PATHS ALONE_PATHS

static void open_path(struct alone *a)
{
    *a = (struct alone){.nic.window_frames = 32};
    alone_open(a, BEGIN);
    nof_transport_flush(a->t);
}

static void poll(struct alone *a, uint64_t now_ns)
{
    (void)nof_transport_poll(a->t, now_ns, 64);
    nof_transport_flush(a->t);
}

static void every_path_has_a_number_of_its_own_and_an_end(void **state)
{
    struct nof_path *p[PATHS];
    struct alone a;

    (void)state;
    open_path(&a);
    p[0] = a.path;
    for (unsigned i = 1; i < PATHS; i++) {
        p[i] = nof_path_alloc(a.t, ALONE_JOB, 900 + i);
        assert_non_null(p[i]);
        assert_int_equal(p[i]->local_conn & UINT16_MAX, nof_path_index(p[i]));
        assert_true(p[i]->nonce != 0 && p[i]->nonce != p[i - 1]->nonce);
        assert_true(p[i]->local_conn >> 16 != p[i - 1]->local_conn >> 16);
        assert_true(p[i]->sent.next_pn != p[i - 1]->sent.next_pn);
        assert_true(nof_sentmap_empty(&p[i]->sent));
    }
    assert_null(nof_path_alloc(a.t, ALONE_JOB, 999));
    nof_path_bury(p[2], NOF_EPEERDEAD, false);
    assert_null(nof_path_alloc(a.t, ALONE_JOB, 999)); /* not before on_dead() */
    nof_paths_deliver_dead(a.t);
    assert_ptr_equal(nof_path_alloc(a.t, ALONE_JOB, 999), p[2]);
    assert_int_equal(alone_close(&a), 0);
}

/* A NIC of 64 cores has 64 tables of 16384 places. What lies there of before, as if it were paths, is neither found nor changed. */
static void places_that_nobody_needs_yet_are_not_touched(void **state)
{
    static const struct nof_packet_fill probe = {.type = NOF_WIRE_PROBE};
    static struct nof_path before[PATHS];
    uint8_t frame[NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES], head[NOF_PACKET_HEAD_BYTES];
    uint16_t sum;
    struct nof_path *first;
    struct alone a;

    (void)state;
    open_path(&a);
    first = a.path;
    for (uint32_t i = 1; i < PATHS; i++) {
        first[i] = *first;
        first[i].local_conn = ALONE_CONN | i;
    }
    memcpy(before, first, sizeof(before));
    nof_transport_stalled(a.t, BEGIN + 2 * MS, MS);
    nof_transport_link(a.t, BEGIN + 2 * MS, false);
    nof_transport_link(a.t, BEGIN + 3 * MS, true);
    sum = nof_packet_head(head, &alone_peer, &alone_self, alone_peer.udp_port, ALONE_CONN | 1);
    nof_packet_finish(frame, head, sum, &probe, 0);
    alone_rx(&a, BEGIN + 4 * MS, frame, sizeof(frame));
    assert_int_equal(a.sent, 0);
    assert_int_equal(a.counters[NOF_C_DROP_CONN], 1);
    nof_transport_fini(a.t);
    assert_memory_equal(&first[1], &before[1], (PATHS - 1) * sizeof(*first));
    assert_int_equal(alone_close(&a), 0);
}

/* 901, and two of one NIC and job. */
static void paths_are_found_by_job_and_nic(void **state)
{
    struct nof_path *one, *two, *p;
    struct alone a;

    (void)state;
    open_path(&a);
    one = nof_path_alloc(a.t, ALONE_JOB, 902);
    two = nof_path_alloc(a.t, ALONE_JOB, 902);
    assert_ptr_equal(nof_path_find(a.t, ALONE_JOB, 901, NULL), a.path);
    assert_null(nof_path_find(a.t, ALONE_JOB, 901, a.path));
    assert_null(nof_path_find(a.t, ALONE_JOB + 1, 901, NULL));
    p = nof_path_find(a.t, ALONE_JOB, 902, NULL);
    assert_true(p == one || p == two);
    assert_ptr_equal(nof_path_find(a.t, ALONE_JOB, 902, p), p == one ? two : one);
    nof_path_bury(one, NOF_EPEERDEAD, false);
    assert_ptr_equal(nof_path_find(a.t, ALONE_JOB, 902, NULL), two);
    assert_null(nof_path_find(a.t, ALONE_JOB, 902, two));
    assert_int_equal(alone_close(&a), 0);
}

static void the_peers_address_stands_in_the_head(void **state)
{
    const struct nof_packet_addr to = {.mac = {2, 3, 4, 5, 6, 7}, .udp_port = 50000, .ip4 = 0xc0a80102};
    struct nof_packet_addr back;
    struct alone a;

    (void)state;
    open_path(&a);
    nof_path_set_peer(a.path, &to, 0);
    nof_path_address(a.path, &back);
    assert_memory_equal(back.mac, to.mac, sizeof to.mac);
    assert_int_equal(back.udp_port, to.udp_port);
    assert_int_equal(back.ip4, to.ip4);
    assert_int_equal(a.path->head[34] << 8 | a.path->head[35],
                     alone_self.udp_port); /* a HELLO's tells our port */
    nof_path_set_peer(a.path, &to, 0x123456789abcull);
    assert_true((a.path->head[34] << 8 | a.path->head[35]) >= 49152);
    assert_int_equal(alone_close(&a), 0);
}

static void the_dead_are_told_once_and_their_peer_too(void **state)
{
    const uint8_t *c;
    struct alone a;

    (void)state;
    open_path(&a);
    c = a.last + NOF_WIRE_OUTER_BYTES;
    a.counters[NOF_C_PATHS_OPEN] = 1;
    nof_path_reset(a.path, NOF_EPROTO);
    nof_path_reset(a.path, NOF_EPERM);
    nof_transport_flush(a.t);
    assert_int_equal(a.sent, 1);
    assert_int_equal(c[NOF_WIRE_TYPE], NOF_WIRE_CLOSE);
    assert_int_equal(c[NOF_WIRE_FLAGS], NOF_WIRE_CLOSE_F_DEAD);
    assert_int_equal(a.deaths, 0); /* not out of a call of the layer above */
    assert_true(nof_transport_next_deadline(a.t) == BEGIN);
    poll(&a, BEGIN);
    poll(&a, BEGIN);
    assert_int_equal(a.deaths, 1);
    assert_int_equal(a.reason, NOF_EPROTO);
    assert_int_equal(a.counters[NOF_C_PATHS_OPEN], 0);
    assert_int_equal(a.counters[NOF_C_PATHS_DEAD], 1);
    assert_int_equal(alone_close(&a), 0);
}

static void an_orderly_end_is_nobodys_death(void **state)
{
    struct alone a;

    (void)state;
    open_path(&a);
    nof_path_close(a.path);
    poll(&a, BEGIN);
    assert_int_equal(a.last[NOF_WIRE_OUTER_BYTES + NOF_WIRE_FLAGS], 0);
    assert_int_equal(a.reason, NOF_EPEERDEAD);
    assert_int_equal(a.counters[NOF_C_PATHS_DEAD], 0);
    assert_int_equal(alone_close(&a), 0);
}

/* Who goes on sending to a dead path hears CLOSE again: once in a millisecond, and only if the frame is whole. */
static void a_frame_for_a_dead_path_is_answered_now_and_then(void **state)
{
    struct nof_packet_fill fill = {.type = NOF_WIRE_PROBE};
    struct alone a;

    (void)state;
    open_path(&a);
    nof_path_reset(a.path, NOF_EPROTO);
    poll(&a, BEGIN);
    assert_int_equal(a.sent, 1);
    alone_peer_says(&a, BEGIN + MS - 1, &fill, NULL, 0);
    assert_int_equal(a.sent, 1);
    alone_peer_says(&a, BEGIN + MS, &fill, NULL, 0);
    assert_int_equal(a.sent, 2);
    assert_int_equal(a.last[NOF_WIRE_OUTER_BYTES + NOF_WIRE_TYPE], NOF_WIRE_CLOSE);
    fill.type = NOF_WIRE_CLOSE;
    alone_peer_says(&a, BEGIN + 3 * MS, &fill, NULL, 0); /* no answer to an answer */
    assert_int_equal(a.sent, 2);
    assert_int_equal(a.counters[NOF_C_DROP_CONN], 3);
    assert_int_equal(alone_close(&a), 0);
}

static void a_damaged_frame_for_a_dead_path_is_not_answered(void **state)
{
    struct nof_packet_fill fill = {.type = NOF_WIRE_PROBE};
    uint8_t frame[NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES];
    uint8_t head[NOF_PACKET_HEAD_BYTES];
    struct alone a;

    (void)state;
    open_path(&a);
    nof_path_reset(a.path, NOF_EPROTO);
    poll(&a, BEGIN);
    nof_packet_finish(frame, head, nof_packet_head(head, &alone_peer, &alone_self, 48620, ALONE_CONN), &fill,
                      0);
    frame[NOF_WIRE_OUTER_BYTES + NOF_WIRE_PN] ^= 1;
    alone_rx(&a, BEGIN + 2 * MS, frame, sizeof frame);
    assert_int_equal(a.sent, 1);
    frame[NOF_WIRE_OUTER_BYTES + NOF_WIRE_PN] ^= 1;
    alone_rx(&a, BEGIN + 2 * MS, frame, sizeof frame);
    assert_int_equal(a.sent, 2);
    assert_int_equal(alone_close(&a), 0);
}

static char logged[256];

static void log_line(void *host, int level, const char *text)
{
    (void)host;
    assert_int_equal(level, 2);
    strncpy(logged, text, sizeof logged - 1);
}

static void the_log_names_the_peer_and_cuts_what_is_too_long(void **state)
{
    const struct nof_host_ops host_ops = {.log = log_line};
    char text[201] = {0};
    struct alone a;

    (void)state;
    open_path(&a);
    a.t->cfg.host_ops = &host_ops;
    a.path->peer_nic = 0x0123456789abcdefull;
    nof_path_log(a.path, 2, "gone");
    assert_string_equal(logged, "gone, peer 10.0.0.9 (NIC 0123456789abcdef)");
    const struct nof_packet_addr far = {.mac = {2}, .udp_port = 1, .ip4 = 0xfffefd64};
    nof_path_set_peer(a.path, &far, 1);
    memset(text, 'x', 200);
    nof_path_log(a.path, 2, text);
    assert_true(strlen(logged) <= 111);
    assert_string_equal(strchr(logged, ','), ", peer 255.254.253.100 (NIC 0123456789abcdef)");
    assert_int_equal(alone_close(&a), 0);
}

static void an_acknowledged_packet_is_known_by_what_is_kept(void **state)
{
    const uint8_t f[8 + 4] = {[4] = 1, [8] = 1};
    struct nof_packet_fill fill = {.type = NOF_WIRE_ACKS, .fields_bytes = sizeof f};
    uint32_t pn[2];
    struct alone a;

    (void)state;
    open_path(&a);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *body;
        struct nof_frame *frame = nof_path_frame(a.path, 16, &body);

        memset(body, 0, 16);
        pn[i] = nof_path_send(a.path, frame, NOF_WIRE_DATA, 0, 1, 2, 16, 16, 0);
    }
    nof_transport_flush(a.t);
    fill.ack = pn[0];
    alone_peer_says(&a, BEGIN, &fill, f, sizeof f); /* the second, not the first */
    assert_false(nof_path_acked(a.path, pn[0]));
    assert_false(nof_path_acked(a.path, pn[1])); /* it asks for all up to it */
    fill.ack = pn[1] + 1;
    fill.fields_bytes = 8;
    const uint8_t none[8] = {0};
    alone_peer_says(&a, BEGIN, &fill, none, sizeof none);
    assert_true(nof_path_acked(a.path, pn[1]));
    assert_false(nof_path_acked(a.path, pn[1] + 1));
    assert_int_equal(alone_close(&a), 0);
}

/* In its place from its first handshake on, among the dead as long as late frames are answered, then nowhere. */
static void the_port_knows_every_id_that_may_come(void **state)
{
    uint64_t id[NOF_PORT_CONN_DEAD + 2];
    struct nof_path *p = NULL;
    struct alone a;

    (void)state;
    open_path(&a);
    for (unsigned i = 0; i < NOF_PORT_CONN_DEAD + 2; i++) {
        p = nof_path_alloc(a.t, ALONE_JOB, 902);
        assert_non_null(p);
        id[i] = p->local_conn;
        assert_int_equal(p->state, NOF_PATH_OPENING);
        assert_int_equal(a.conn[NOF_PORT_CONN_DEAD + nof_path_index(p)], id[i]);
        p->ours = 1;
        p->state = NOF_PATH_UP;
        nof_transport_count(a.t, NOF_C_PATHS_OPEN, 1);
        nof_path_bury(p, NOF_EPEERDEAD, false);
        assert_int_equal(a.conn[NOF_PORT_CONN_DEAD + nof_path_index(p)], 0);
        assert_int_equal(a.conn[i % NOF_PORT_CONN_DEAD], id[i]);
        nof_paths_deliver_dead(a.t);
    }
    assert_int_equal(a.conn[0], id[NOF_PORT_CONN_DEAD]); /* in the place of the oldest */
    /* One that never came up leaves nothing: no frame of it is answered. */
    p = nof_path_alloc(a.t, ALONE_JOB, 902);
    assert_non_null(p);
    a.t->passive_opening++;
    nof_path_bury(p, NOF_EPEERDEAD, false);
    assert_int_equal(a.conn[NOF_PORT_CONN_DEAD + nof_path_index(p)], 0);
    assert_int_equal(a.conn[2], id[2]);
    assert_int_equal(alone_close(&a), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_has_a_number_of_its_own_and_an_end),
        cmocka_unit_test(places_that_nobody_needs_yet_are_not_touched),
        cmocka_unit_test(paths_are_found_by_job_and_nic),
        cmocka_unit_test(the_port_knows_every_id_that_may_come),
        cmocka_unit_test(the_peers_address_stands_in_the_head),
        cmocka_unit_test(the_dead_are_told_once_and_their_peer_too),
        cmocka_unit_test(an_orderly_end_is_nobodys_death),
        cmocka_unit_test(a_frame_for_a_dead_path_is_answered_now_and_then),
        cmocka_unit_test(a_damaged_frame_for_a_dead_path_is_not_answered),
        cmocka_unit_test(the_log_names_the_peer_and_cuts_what_is_too_long),
        cmocka_unit_test(an_acknowledged_packet_is_known_by_what_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
