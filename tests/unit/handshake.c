/* SPDX-License-Identifier: BSD-3-Clause */
#include "toy_net.h"

#include <setjmp.h>
#include <stdarg.h>
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

static void a_path_opens_from_either_side_and_tells_the_credits(void **state)
{
    struct toy_net *net = toy_open(&lan);

    (void)state;
    toy_send(net, 0, 1, 0, 0);
    toy_run(net, net->now_ns + 100 * MS, 1);
    for (unsigned i = 0; i < 2; i++) {
        struct toy_stream *s = &net->node[i].stream[1 - i];

        assert_int_equal(s->ups, 1);
        assert_true(nof_path_is_up(s->path));
        assert_int_equal(nof_path_flow_msgs(s->path), 7);
        assert_int_equal(nof_path_flow_bytes(s->path), 70000);
        assert_int_equal(nof_path_body_max(s->path), 1440);
        assert_int_equal(nof_path_job(s->path), TOY_JOB);
        assert_int_equal(counter(net, i, NOF_C_PATHS_OPENED), 1);
        assert_int_equal(counter(net, i, NOF_C_PATHS_OPEN), 1);
    }
    assert_true(net->now_ns < MS + 200000);
    toy_close(net);
}

static void both_sides_at_once_get_one_path(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct toy_config cfg = lan;
        struct toy_net *net;

        cfg.seed = seed;
        cfg.loss = seed % 3 ? 0.4 : 0;
        cfg.duplicate = cfg.reorder = seed % 2 ? 0.3 : 0;
        cfg.jitter_ns = 3 * MS;
        net = toy_open(&cfg);
        toy_send(net, 0, 1, 5, 64);
        toy_send(net, 1, 0, 5, 64);
        toy_run(net, net->now_ns + 5 * SECOND, 1);
        assert_true(toy_all_received(net));
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(net->node[i].stream[1 - i].ups, 1);
            assert_int_equal(net->node[i].stream[1 - i].deaths, 0);
            assert_int_equal(counter(net, i, NOF_C_PATHS_OPEN), 1);
        }
        toy_close(net);
    }
}

static void another_key_is_refused_and_counted(void **state)
{
    struct toy_net *net = toy_open(&lan);

    (void)state;
    net->node[1].key[3] ^= 1;
    toy_send(net, 0, 1, 1, 64);
    toy_send(net, 1, 0, 1, 64);
    toy_run(net, net->now_ns + 2 * SECOND, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(net->node[i].stream[1 - i].ups, 0);
        assert_int_equal(net->node[i].stream[1 - i].deaths, 1);
        assert_int_equal(net->node[i].stream[1 - i].reason, NOF_EPERM);
        assert_true(counter(net, i, NOF_C_DROP_JOB) > 0);
        assert_int_equal(counter(net, i, NOF_C_PATHS_DEAD), 0);
    }
    toy_close(net);
}

static void an_unknown_job_is_counted_and_gets_no_answer(void **state)
{
    struct toy_net *net = toy_open(&lan);

    (void)state;
    net->node[1].knows_job = 0;
    toy_send(net, 0, 1, 1, 64);
    toy_run(net, net->now_ns + 2 * SECOND, 0);
    assert_int_equal(net->node[0].stream[1].reason, NOF_EPEERDEAD);
    assert_true(counter(net, 1, NOF_C_DROP_JOB) >= 5);
    assert_int_equal(counter(net, 1, NOF_C_TX_FRAMES), 0);
    toy_close(net);
}

static void nobody_answers_and_the_opener_is_told_after_dead_after(void **state)
{
    struct toy_net *net = toy_open(&lan);
    uint64_t begin = net->now_ns;

    (void)state;
    net->node[1].island = 1;
    toy_send(net, 0, 1, 1, 64);
    toy_run(net, begin + 799 * MS, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 0);
    toy_run(net, begin + 900 * MS, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 1);
    assert_int_equal(net->node[0].stream[1].reason, NOF_EPEERDEAD);
    toy_close(net);
}

static uint32_t body_through(uint32_t net_mtu, uint32_t mtu_a, uint32_t mtu_b)
{
    struct toy_config cfg = lan;
    struct toy_net *net;
    uint32_t body;

    cfg.mtu_bytes = mtu_a;
    cfg.net_mtu_bytes = net_mtu;
    net = toy_open(&cfg);
    net->node[1].nic.mtu_bytes = mtu_b;
    toy_send(net, 0, 1, 20, 0);
    toy_run(net, net->now_ns + 2 * SECOND, 1);
    assert_true(toy_all_received(net));
    assert_int_equal(net->node[0].stream[1].deaths, 0);
    body = nof_path_body_max(net->node[0].stream[1].path);
    toy_close(net);
    return body;
}

static void the_mtu_falls_to_what_the_network_carries(void **state)
{
    (void)state;
    assert_int_equal(body_through(0, 9000, 9000), 9000 - 60);
    assert_int_equal(body_through(1500, 9000, 9000), 1500 - 60);
    assert_int_equal(body_through(1400, 9000, 9000), 1280 - 60);
    assert_int_equal(body_through(1000, 1500, 1500), 576 - 60);
    assert_int_equal(body_through(1000, 9000, 9000), 576 - 60);
    assert_int_equal(body_through(0, 4000, 4000), 4000 - 60);
}

/* HELLOs were lost, not too large: a path that is used finds out. */
static void a_narrow_path_widens_with_its_network(void **state)
{
    struct toy_config cfg = lan;
    struct toy_net *net;

    (void)state;
    cfg.mtu_bytes = 9000;
    cfg.net_mtu_bytes = 600;
    net = toy_open(&cfg);
    toy_send(net, 0, 1, 1, 64);
    toy_run(net, net->now_ns + SECOND, 0);
    assert_int_equal(nof_path_body_max(net->node[0].stream[1].path), 576 - 60);
    net->cfg.net_mtu_bytes = 1500;
    for (unsigned i = 0; i < 60; i++) {
        toy_send(net, 0, 1, 20, 0);
        toy_run(net, net->now_ns + SECOND, 0);
        assert_true(toy_all_received(net));
    }
    assert_int_equal(nof_path_body_max(net->node[0].stream[1].path), 1500 - 60);
    /* What was tried in vain since then cost a probe now and then, and nothing else. */
    assert_in_range(net->node[0].counters[NOF_C_PROBES_TX], 5, 40);
    assert_int_equal(net->node[0].counters[NOF_C_RETRANSMITS], 0);
    toy_close(net);
}

/* Nobody says so: the frames that vanish do. */
static void a_path_follows_a_network_that_becomes_narrow(void **state)
{
    static const struct {
        uint32_t net, path;
        double loss;
    } rows[] = {{1500, 1500, 0},    {1450, 1450, 0}, {1399, 1280, 0},
                {1300, 1280, 0.05}, {900, 576, 0},   {500, 576, 0}};

    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct toy_config cfg = lan;
        struct toy_net *net;

        cfg.mtu_bytes = 9000;
        cfg.cuts = true;
        net = toy_open(&cfg);
        toy_send(net, 0, 1, 200, 0);
        toy_run(net, net->now_ns + 2 * MS, 0); /* under way */
        assert_false(toy_all_received(net));
        net->cfg.net_mtu_bytes = rows[i].net;
        net->cfg.loss = rows[i].loss;
        toy_run(net, net->now_ns + 2 * SECOND, 1);
        assert_true(toy_all_received(net));
        assert_int_equal(nof_path_body_max(net->node[0].stream[1].path), rows[i].path - 60);
        assert_true(net->cut > 0); /* what had its number */
        /* What may be cut passes whatever its size, and proves nothing of it. */
        for (unsigned k = 0; k < 30; k++) {
            toy_send(net, 0, 1, 20, 0);
            toy_run(net, net->now_ns + SECOND, 0);
            assert_true(toy_all_received(net));
            assert_int_equal(nof_path_body_max(net->node[0].stream[1].path), rows[i].path - 60);
        }
        assert_int_equal(net->node[0].counters[NOF_C_PATHS_NARROWED], 1);
        assert_int_equal(net->node[0].stream[1].deaths, 0);
        toy_close(net);
    }
}

/* All under way has 540 bytes, and the network carries 500. */
static void small_frames_follow_a_network_below_the_least_mtu(void **state)
{
    struct toy_config cfg = lan;
    struct toy_net *net;

    (void)state;
    cfg.cuts = true;
    net = toy_open(&cfg);
    toy_send(net, 0, 1, 1, 480);
    toy_run(net, net->now_ns + 20 * MS, 1);
    net->cfg.net_mtu_bytes = 500;
    toy_send(net, 0, 1, 20, 480);
    toy_run(net, net->now_ns + 2 * SECOND, 1);
    assert_true(toy_all_received(net));
    assert_int_equal(nof_path_body_max(net->node[0].stream[1].path), 576 - 60);
    toy_close(net);
}

/* Losses, however many, and a peer that is not there for a while, are not taken for a narrow network. */
static void a_path_does_not_become_narrow_by_losses(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct toy_config cfg = lan;
        struct toy_net *net;
        const double loss = seed % 2 == 0 ? 0.1 : 0.2;

        cfg.seed = seed;
        cfg.loss = loss;
        net = toy_open(&cfg);
        toy_send(net, 0, 1, 20000, 0);
        toy_run(net, net->now_ns + 100 * MS, 0);
        net->cfg.loss = 1;
        toy_run(net, net->now_ns + 300 * MS, 0);
        net->cfg.loss = loss;
        toy_run(net, net->now_ns + 600 * SECOND, 1);
        assert_true(toy_all_received(net));
        assert_int_equal(net->node[0].stream[1].deaths, 0);
        assert_int_equal(net->node[0].counters[NOF_C_PATHS_NARROWED], 0);
        toy_close(net);
    }
}

static void the_smaller_end_decides_the_mtu(void **state)
{
    (void)state;
    assert_int_equal(body_through(0, 9000, 1500), 1500 - 60);
    assert_int_equal(body_through(0, 1500, 9000), 1500 - 60);
}

/* Somebody who has recorded a HELLO of the peer sends it again, later. */
static void a_recorded_hello_harms_no_path(void **state)
{
    struct toy_net *net = toy_open(&lan);
    uint8_t hello[2000];
    uint32_t len;

    (void)state;
    toy_send(net, 0, 1, 1, 64); /* its first HELLO leaves within this call */
    len = toy_last_frame(net, hello, sizeof(hello));
    toy_run(net, net->now_ns + 10 * MS, 1);
    nof_path_reset(net->node[0].stream[1].path, NOF_EPEERDEAD);
    toy_run(net, net->now_ns + 10 * MS, 0);
    toy_send(net, 0, 1, 2, 64);
    net->node[1].stream[0].received = 0;
    net->node[0].stream[1].sent = 0;
    net->node[0].stream[1].to_send = 2;
    toy_run(net, net->now_ns + 10 * MS, 1);
    assert_int_equal(net->node[1].stream[0].ups, 2);
    for (unsigned i = 0; i < 100; i++)
        toy_inject(net, 1, hello, len);
    toy_send(net, 0, 1, 5, 64);
    toy_run(net, net->now_ns + 3 * SECOND, 0);
    assert_true(toy_all_received(net));
    assert_int_equal(net->node[1].stream[0].ups, 2);
    assert_int_equal(net->node[1].stream[0].deaths, 1);
    assert_int_equal(counter(net, 1, NOF_C_PATHS_OPEN), 1);
    toy_close(net);
}

/* A copy of the HELLO, damaged where no checksum looks, comes after the answer has left. */
static void a_damaged_source_does_not_survive_the_proof(void **state)
{
    static const unsigned at[] = {11, 35}; /* source MAC, source port */

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct toy_net *net = toy_open(&lan);
        uint8_t hello[2000];
        uint32_t len;

        toy_send(net, 0, 1, 5, 64);
        len = toy_last_frame(net, hello, sizeof(hello));
        hello[at[i]] ^= 4;
        while (counter(net, 1, NOF_C_TX_FRAMES) == 0)
            toy_run(net, net->now_ns + 1000, 0);
        assert_int_equal(net->node[0].stream[1].ups, 0);
        toy_inject(net, 1, hello, len);
        toy_run(net, net->now_ns + SECOND, 1);
        assert_true(toy_all_received(net));
        assert_int_equal(net->node[0].stream[1].deaths, 0);
        toy_close(net);
    }
}

/* The opener is up and sends no HELLO by itself any more: the only one that it sent as such has come, but from nowhere. */
static void a_proof_from_a_damaged_source_is_asked_for_again(void **state)
{
    static const unsigned at[] = {11, 35}; /* source MAC, source port */

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct toy_net *net = toy_open(&lan);
        uint8_t hello[2000];
        uint32_t len;

        toy_send(net, 0, 1, 0, 64);
        while (counter(net, 1, NOF_C_TX_FRAMES) == 0)
            toy_run(net, net->now_ns + 1000, 0);
        net->deaf_from = 0;
        net->deaf_to = 1;
        while (net->node[0].stream[1].ups == 0)
            toy_run(net, net->now_ns + 1000, 0);
        len = toy_last_frame(net, hello, sizeof(hello));
        assert_int_equal(len, NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES + NOF_WIRE_HELLO_BYTES);
        hello[at[i]] ^= 4;
        toy_inject(net, 1, hello, len);
        toy_run(net, net->now_ns + 2 * MS, 0); /* what it answers when it is asked is lost */
        net->deaf_from = net->deaf_to = -1;
        toy_send(net, 0, 1, 5, 64);
        toy_run(net, net->now_ns + SECOND / 2, 1);
        assert_true(toy_all_received(net));
        assert_int_equal(net->node[0].stream[1].deaths, 0);
        toy_close(net);
    }
}

static void one_wrong_bit_in_a_hello_is_enough(void **state)
{
    struct toy_net *net = toy_open(&lan);
    uint8_t hello[2000];
    uint32_t len;

    (void)state;
    toy_send(net, 0, 1, 1, 64);
    len = toy_last_frame(net, hello, sizeof(hello));
    uint8_t *c = hello + NOF_WIRE_OUTER_BYTES;
    for (unsigned b = 0; b < 8 * NOF_WIRE_HELLO_BYTES; b++) {
        uint64_t before = counter(net, 1, NOF_C_DROP_JOB);

        c[NOF_WIRE_COMMON_BYTES + b / 8] ^= (uint8_t)(1u << b % 8);
        nof_put32(c, nof_crc32c(c + 4, len - NOF_WIRE_OUTER_BYTES - 4));
        toy_inject(net, 1, hello, len);
        assert_int_equal(counter(net, 1, NOF_C_DROP_JOB), before + 1);
        c[NOF_WIRE_COMMON_BYTES + b / 8] ^= (uint8_t)(1u << b % 8);
    }
    assert_int_equal(counter(net, 1, NOF_C_TX_FRAMES), 0);
    toy_close(net);
}

static void connection_ids_do_not_repeat_or_follow_a_rule(void **state)
{
    struct toy_net *net = toy_open(&lan);
    uint64_t seen[200];
    unsigned ones = 0;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        toy_send(net, 0, 1, 0, 0);
        seen[i] = net->node[0].stream[1].path->local_conn >> 16;
        for (unsigned k = 0; k < i; k++)
            assert_true(seen[k] != seen[i]);
        for (unsigned b = 0; b < 48; b++)
            ones += (unsigned)(seen[i] >> b & 1);
        nof_path_reset(net->node[0].stream[1].path, NOF_EPEERDEAD);
        toy_run(net, net->now_ns + MS, 0);
    }
    assert_in_range(ones, 200 * 48 * 45 / 100, 200 * 48 * 55 / 100);
    toy_close(net);
}

static void the_table_of_paths_is_bounded(void **state)
{
    struct toy_config cfg = lan;
    struct toy_net *net;
    struct nof_path *p;

    (void)state;
    cfg.max_paths = 8;
    net = toy_open(&cfg);
    for (unsigned i = 0; i < 9; i++) {
        struct nof_card card = toy_card(net, 1);

        card.nic_id = 0x1000 + (uint64_t)i * 256 + 5;
        assert_int_equal(nof_path_open(net->node[0].t, net->now_ns, TOY_JOB, &card, &p),
                         i < 8 ? NOF_OK : NOF_ENOMEM);
        nof_transport_flush(net->node[0].t);
    }
    struct nof_card self = toy_card(net, 0);
    assert_int_equal(nof_path_open(net->node[0].t, net->now_ns, TOY_JOB, &self, &p), NOF_EINVAL);
    toy_run(net, net->now_ns + 2 * SECOND, 0);
    struct nof_card card = toy_card(net, 1);
    assert_int_equal(nof_path_open(net->node[0].t, net->now_ns, TOY_JOB, &card, &p), NOF_OK);
    toy_close(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_opens_from_either_side_and_tells_the_credits),
        cmocka_unit_test(both_sides_at_once_get_one_path),
        cmocka_unit_test(another_key_is_refused_and_counted),
        cmocka_unit_test(an_unknown_job_is_counted_and_gets_no_answer),
        cmocka_unit_test(nobody_answers_and_the_opener_is_told_after_dead_after),
        cmocka_unit_test(the_mtu_falls_to_what_the_network_carries),
        cmocka_unit_test(a_narrow_path_widens_with_its_network),
        cmocka_unit_test(a_path_follows_a_network_that_becomes_narrow),
        cmocka_unit_test(small_frames_follow_a_network_below_the_least_mtu),
        cmocka_unit_test(a_path_does_not_become_narrow_by_losses),
        cmocka_unit_test(the_smaller_end_decides_the_mtu),
        cmocka_unit_test(a_recorded_hello_harms_no_path),
        cmocka_unit_test(a_damaged_source_does_not_survive_the_proof),
        cmocka_unit_test(a_proof_from_a_damaged_source_is_asked_for_again),
        cmocka_unit_test(one_wrong_bit_in_a_hello_is_enough),
        cmocka_unit_test(connection_ids_do_not_repeat_or_follow_a_rule),
        cmocka_unit_test(the_table_of_paths_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
