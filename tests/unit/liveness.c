/* SPDX-License-Identifier: BSD-3-Clause */
#include "toy_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "transport/state.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

static const struct toy_config lan = {
    .nodes = 2, .seed = 1, .rate_bps = 1000000000, .delay_ns = 20000, .mtu_bytes = 1500};

static uint64_t counter(const struct toy_net *net, unsigned node, enum nof_counter c)
{
    return net->node[node].counters[c];
}

static struct toy_net *open_path(const struct toy_config *cfg)
{
    struct toy_net *net = toy_open(cfg);

    toy_send(net, 0, 1, 3, 64);
    toy_run(net, net->now_ns + 20 * MS, 1);
    assert_true(toy_all_received(net));
    return net;
}

static void expect(struct toy_net *net, unsigned node, unsigned peer, int delta)
{
    nof_transport_tick(net->node[node].t, net->now_ns);
    nof_path_expect(net->node[node].stream[peer].path, delta);
    nof_transport_flush(net->node[node].t);
}

static void a_dead_peer_is_known_after_dead_after_and_five_probes(void **state)
{
    struct toy_net *net = open_path(&lan);
    uint64_t begin;

    (void)state;
    expect(net, 0, 1, 1);
    net->node[1].frozen = 1;
    begin = net->now_ns;
    toy_run(net, begin + 790 * MS, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 0);
    assert_true(counter(net, 0, NOF_C_PROBES_TX) >= 5);
    toy_run(net, begin + 850 * MS, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 1);
    assert_int_equal(net->node[0].stream[1].reason, NOF_EPEERDEAD);
    assert_int_equal(counter(net, 0, NOF_C_PATHS_DEAD), 1);
    assert_int_equal(counter(net, 0, NOF_C_PATHS_OPEN), 0);
    toy_close(net);
}

static void run_late(struct toy_net *net, uint64_t until_ns)
{
    while (net->now_ns < until_ns) {
        toy_run(net, net->now_ns + 10 * MS, 0);
        nof_transport_late(net->node[0].t, net->now_ns);
    }
}

/* Four times dead_after more at most. */
static void a_machine_that_is_late_waits_longer_and_not_for_ever(void **state)
{
    struct toy_net *net = open_path(&lan);
    uint64_t begin;

    (void)state;
    expect(net, 0, 1, 1);
    net->node[1].frozen = 1;
    begin = net->now_ns;
    run_late(net, begin + 3800 * MS);
    assert_int_equal(net->node[0].stream[1].deaths, 0);
    run_late(net, begin + 4400 * MS);
    assert_int_equal(net->node[0].stream[1].deaths, 1);
    toy_close(net);
}

static void being_late_excuses_once(void **state)
{
    struct toy_net *net = open_path(&lan);
    uint64_t begin;

    (void)state;
    run_late(net, net->now_ns + 3000 * MS); /* nobody waits */
    expect(net, 0, 1, 1);
    net->node[1].frozen = 1;
    begin = net->now_ns;
    toy_run(net, begin + 850 * MS, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 1);
    toy_close(net);
}

static void being_late_holds_up_no_retransmission(void **state)
{
    struct toy_net *net = open_path(&lan);

    (void)state;
    net->cfg.loss = 1;
    toy_send(net, 0, 1, 1, 64);
    run_late(net, net->now_ns + 20 * MS);
    net->cfg.loss = 0;
    run_late(net, net->now_ns + 200 * MS);
    assert_true(toy_all_received(net));
    toy_close(net);
}

static void unacknowledged_frames_count_as_waiting(void **state)
{
    struct toy_net *net = open_path(&lan);

    (void)state;
    net->node[1].frozen = 1;
    toy_send(net, 0, 1, 1, 64);
    toy_run(net, net->now_ns + 1100 * MS, 0);
    assert_int_equal(net->node[0].stream[1].reason, NOF_EPEERDEAD);
    toy_close(net);
}

static void a_live_peer_is_waited_for_without_end(void **state)
{
    struct toy_config cfg = lan;
    struct toy_net *net;

    (void)state;
    cfg.loss = 0.2;
    net = open_path(&cfg);
    expect(net, 0, 1, 1);
    toy_run(net, net->now_ns + 300 * SECOND, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 0);
    /* Healthy silence is cheap: a few probes per second even with a fifth of them lost. */
    assert_true(counter(net, 0, NOF_C_PROBES_TX) < 300 * 8);
    expect(net, 0, 1, -1);
    uint64_t probes = counter(net, 0, NOF_C_PROBES_TX);
    toy_run(net, net->now_ns + 10 * SECOND, 0);
    assert_int_equal(counter(net, 0, NOF_C_PROBES_TX), probes);
    toy_close(net);
}

static void silence_before_the_wait_does_not_count(void **state)
{
    struct toy_net *net = open_path(&lan);

    (void)state;
    toy_run(net, net->now_ns + 100 * SECOND, 0);
    net->node[1].frozen = 1;
    expect(net, 0, 1, 1);
    toy_run(net, net->now_ns + 750 * MS, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 0);
    toy_close(net);
}

static void our_own_pause_is_nobodys_silence(void **state)
{
    struct toy_net *net = open_path(&lan);

    (void)state;
    expect(net, 0, 1, 1);
    for (unsigned i = 0; i < 5; i++) {
        net->node[0].frozen = 1;
        toy_run(net, net->now_ns + 3 * SECOND, 0);
        net->node[0].frozen = 0;
        nof_transport_stalled(net->node[0].t, net->now_ns, 3 * SECOND);
        toy_run(net, net->now_ns + 5 * MS, 0);
        assert_int_equal(net->node[0].stream[1].deaths, 0);
    }
    toy_close(net);
}

/* Even untold: after a pause five probes are spread over time before anybody is dead. */
static void a_pause_that_nobody_reports_does_not_kill_at_once(void **state)
{
    struct toy_net *net = open_path(&lan);

    (void)state;
    expect(net, 0, 1, 1);
    net->node[0].frozen = 1;
    toy_run(net, net->now_ns + 3 * SECOND, 0);
    net->node[0].frozen = 0;
    toy_run(net, net->now_ns + 200 * MS, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 0);
    toy_close(net);
}

static void a_short_partition_heals_unseen(void **state)
{
    struct toy_net *net = open_path(&lan);
    uint64_t healed;

    (void)state;
    toy_send(net, 0, 1, 2000, 0);
    toy_send(net, 1, 0, 2000, 0);
    toy_run(net, net->now_ns + 5 * MS, 0);
    net->node[1].island = 1;
    toy_run(net, net->now_ns + 700 * MS, 0);
    net->node[1].island = 0;
    healed = net->now_ns;
    toy_run(net, net->now_ns + 10 * SECOND, 1);
    assert_true(toy_all_received(net));
    assert_int_equal(net->node[0].stream[1].deaths + net->node[1].stream[0].deaths, 0);
    assert_true(net->now_ns < healed + 300 * MS);
    toy_close(net);
}

/* Only one side was waiting; the other learns it as soon as it speaks. */
static void after_a_long_partition_both_sides_agree(void **state)
{
    struct toy_net *net = open_path(&lan);

    (void)state;
    net->node[1].island = 1;
    toy_send(net, 0, 1, 1, 64);
    toy_run(net, net->now_ns + 1500 * MS, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 1);
    assert_int_equal(net->node[1].stream[0].deaths, 0);
    net->node[1].island = 0;
    toy_run(net, net->now_ns + 100 * MS, 0);
    assert_int_equal(net->node[1].stream[0].deaths, 0); /* nothing was said */
    toy_send(net, 1, 0, 1, 64);
    toy_run(net, net->now_ns + 5 * MS, 0);
    assert_int_equal(net->node[1].stream[0].deaths, 1);
    assert_int_equal(net->node[1].stream[0].reason, NOF_EPEERDEAD);
    assert_true(counter(net, 0, NOF_C_DROP_CONN) >= 1);
    toy_close(net);
}

static void one_deaf_direction_kills_both_sides(void **state)
{
    struct toy_net *net = open_path(&lan);

    (void)state;
    net->deaf_from = 1;
    net->deaf_to = 0;
    expect(net, 0, 1, 1);
    expect(net, 1, 0, 1);
    toy_run(net, net->now_ns + 1200 * MS, 0);
    assert_int_equal(net->node[0].stream[1].reason, NOF_EPEERDEAD);
    assert_int_equal(net->node[1].stream[0].reason, NOF_EPEERDEAD);
    toy_close(net);
}

/* As where the network became narrower on the way, and nobody said so. */
static void a_peer_that_answers_but_has_no_frames_is_waited_for_so_long(void **state)
{
    struct toy_net *net = open_path(&lan);
    uint64_t begin = net->now_ns;

    (void)state;
    net->cfg.net_mtu_bytes = 1300;
    toy_send(net, 0, 1, 3, 1400);
    toy_run(net, begin + 12 * SECOND, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 0);
    net->cfg.net_mtu_bytes = 0;
    toy_run(net, begin + 13 * SECOND, 1);
    assert_true(toy_all_received(net));

    begin = net->now_ns;
    net->cfg.net_mtu_bytes = 1300;
    toy_send(net, 0, 1, 3, 1400);
    toy_run(net, begin + 12 * SECOND, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 0);
    toy_run(net, begin + 14 * SECOND, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 1);
    assert_int_equal(net->node[0].stream[1].reason, NOF_ELINKDOWN);
    assert_int_equal(net->node[1].stream[0].deaths, 1);
    toy_close(net);
}

static void closes_for_the_dead_are_few(void **state)
{
    struct toy_net *net = open_path(&lan);
    uint8_t frame[2000];
    uint32_t len;
    uint64_t sent;

    (void)state;
    toy_send(net, 1, 0, 1, 64);
    len = toy_last_frame(net, frame, sizeof(frame));
    toy_run(net, net->now_ns + MS, 0);
    nof_transport_tick(net->node[0].t, net->now_ns);
    nof_path_reset(net->node[0].stream[1].path, NOF_EPEERDEAD);
    toy_run(net, net->now_ns + 10 * MS, 0);
    sent = counter(net, 0, NOF_C_TX_FRAMES);
    for (unsigned i = 0; i < 1000; i++)
        toy_inject(net, 0, frame, len);
    assert_int_equal(counter(net, 0, NOF_C_TX_FRAMES), sent + 1);
    toy_close(net);
}

static void a_reset_reaches_the_other_side_at_once(void **state)
{
    struct toy_net *net = open_path(&lan);

    (void)state;
    nof_transport_tick(net->node[0].t, net->now_ns);
    nof_path_reset(net->node[0].stream[1].path, NOF_EPROTO);
    nof_transport_flush(net->node[0].t);
    toy_run(net, net->now_ns + MS, 0);
    assert_int_equal(net->node[0].stream[1].reason, NOF_EPROTO);
    assert_int_equal(net->node[1].stream[0].reason, NOF_EPEERDEAD);
    assert_int_equal(net->node[1].stream[0].deaths, 1);
    assert_int_equal(counter(net, 0, NOF_C_PATHS_DEAD), 1);
    toy_close(net);
}

static void a_close_in_order_counts_no_dead_path(void **state)
{
    struct toy_net *net = open_path(&lan);

    (void)state;
    nof_transport_tick(net->node[0].t, net->now_ns);
    nof_path_close(net->node[0].stream[1].path);
    nof_transport_flush(net->node[0].t);
    toy_run(net, net->now_ns + MS, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(net->node[i].stream[1 - i].deaths, 1);
        assert_int_equal(net->node[i].stream[1 - i].reason, NOF_EPEERDEAD);
        assert_int_equal(counter(net, i, NOF_C_PATHS_OPEN), 0);
        assert_int_equal(counter(net, i, NOF_C_PATHS_DEAD), 0);
    }
    toy_close(net);
}

static void a_broken_protocol_resets_the_path_at_both_sides(void **state)
{
    struct toy_net *net = open_path(&lan);

    (void)state;
    net->node[1].stream[0].refuse = 1;
    toy_send(net, 0, 1, 50, 64);
    toy_run(net, net->now_ns + 5 * MS, 0);
    assert_int_equal(net->node[1].stream[0].reason, NOF_EPROTO);
    assert_int_equal(net->node[0].stream[1].reason, NOF_EPEERDEAD);
    assert_int_equal(counter(net, 1, NOF_C_DROP_PROTO), 1);
    for (unsigned i = 0; i < 2; i++) /* an error, unlike an orderly close, is a death at both sides */
        assert_int_equal(counter(net, i, NOF_C_PATHS_DEAD), 1);
    toy_close(net);
}

static void a_short_flap_of_the_link_heals_and_a_long_one_kills(void **state)
{
    struct toy_net *net = open_path(&lan);

    (void)state;
    expect(net, 0, 1, 1);
    nof_transport_link(net->node[0].t, net->now_ns, false);
    net->node[0].island = 1;
    toy_run(net, net->now_ns + 520 * MS, 0);
    nof_transport_link(net->node[0].t, net->now_ns, true);
    net->node[0].island = 0;
    toy_send(net, 0, 1, 10, 0);
    toy_run(net, net->now_ns + 500 * MS, 0);
    assert_true(toy_all_received(net));
    assert_int_equal(net->node[0].stream[1].deaths, 0);

    nof_transport_link(net->node[0].t, net->now_ns, false);
    net->node[0].island = 1;
    toy_send(net, 0, 1, 10, 0);
    toy_run(net, net->now_ns + 560 * MS, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 1);
    assert_int_equal(net->node[0].stream[1].reason, NOF_ELINKDOWN);
    toy_close(net);
}

/* Whether the link came up meanwhile nobody could see; when it is looked at it still has what it had left. */
static void our_own_pause_is_no_time_without_a_link(void **state)
{
    struct toy_net *net = open_path(&lan);

    (void)state;
    expect(net, 0, 1, 1);
    nof_transport_link(net->node[0].t, net->now_ns, false);
    net->node[0].island = 1;
    toy_run(net, net->now_ns + 300 * MS, 0);
    net->node[0].frozen = net->node[1].frozen = 1;
    toy_run(net, net->now_ns + 3 * SECOND, 0);
    net->node[0].frozen = net->node[1].frozen = 0;
    for (unsigned i = 0; i < 2; i++)
        nof_transport_stalled(net->node[i].t, net->now_ns, 3 * SECOND);
    toy_run(net, net->now_ns + 200 * MS, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 0);
    nof_transport_link(net->node[0].t, net->now_ns, true);
    net->node[0].island = 0;
    toy_send(net, 0, 1, 10, 0);
    toy_run(net, net->now_ns + 500 * MS, 0);
    assert_true(toy_all_received(net));
    assert_int_equal(net->node[0].stream[1].deaths, 0);
    toy_close(net);
}

static void cores_of_one_nic_need_no_link(void **state)
{
    struct toy_config one_nic = lan;
    struct toy_net *net;

    (void)state;
    one_nic.one_address = true;
    net = open_path(&one_nic);
    nof_transport_link(net->node[0].t, net->now_ns, false);
    toy_run(net, net->now_ns + 2000 * MS, 0);
    toy_send(net, 0, 1, 10, 0);
    toy_run(net, net->now_ns + 500 * MS, 0);
    assert_true(toy_all_received(net));
    assert_int_equal(net->node[0].stream[1].deaths, 0);
    net->node[0].island = 1; /* but silence is death, as of any peer */
    toy_send(net, 0, 1, 10, 0);
    toy_run(net, net->now_ns + 2000 * MS, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 1);
    assert_int_equal(net->node[0].stream[1].reason, NOF_EPEERDEAD);
    toy_close(net);
}

static void a_restarted_peer_is_another_nic(void **state)
{
    struct toy_net *net = open_path(&lan);

    (void)state;
    toy_restart(net, 1);
    net->node[0].stream[1].to_send = net->node[0].stream[1].sent = 0;
    toy_send(net, 0, 1, 5, 64);
    toy_run(net, net->now_ns + 1200 * MS, 0);
    assert_int_equal(net->node[0].stream[1].deaths, 1);
    assert_true(counter(net, 1, NOF_C_DROP_CONN) > 0);
    net->node[0].stream[1].to_send = net->node[0].stream[1].sent = 0;
    toy_send(net, 0, 1, 5, 64);
    toy_run(net, net->now_ns + 100 * MS, 1);
    assert_true(toy_all_received(net));
    toy_close(net);
}

static void a_peer_that_begins_anew_replaces_the_old_path(void **state)
{
    struct toy_net *net = open_path(&lan);

    (void)state;
    net->node[1].island = 1;
    toy_send(net, 0, 1, 1, 64);
    toy_run(net, net->now_ns + 1500 * MS, 0);
    net->node[1].island = 0;
    net->node[0].stream[1].to_send = net->node[0].stream[1].sent = 0;
    net->node[1].stream[0].received = 0;
    toy_send(net, 0, 1, 5, 64);
    toy_run(net, net->now_ns + 100 * MS, 1);
    assert_true(toy_all_received(net));
    assert_int_equal(net->node[1].stream[0].ups, 2);
    assert_int_equal(net->node[1].stream[0].deaths, 1);
    assert_int_equal(counter(net, 1, NOF_C_PATHS_OPEN), 1);
    toy_close(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_peer_is_known_after_dead_after_and_five_probes),
        cmocka_unit_test(a_machine_that_is_late_waits_longer_and_not_for_ever),
        cmocka_unit_test(being_late_excuses_once),
        cmocka_unit_test(being_late_holds_up_no_retransmission),
        cmocka_unit_test(unacknowledged_frames_count_as_waiting),
        cmocka_unit_test(a_live_peer_is_waited_for_without_end),
        cmocka_unit_test(silence_before_the_wait_does_not_count),
        cmocka_unit_test(our_own_pause_is_nobodys_silence),
        cmocka_unit_test(a_pause_that_nobody_reports_does_not_kill_at_once),
        cmocka_unit_test(a_short_partition_heals_unseen),
        cmocka_unit_test(after_a_long_partition_both_sides_agree),
        cmocka_unit_test(one_deaf_direction_kills_both_sides),
        cmocka_unit_test(a_peer_that_answers_but_has_no_frames_is_waited_for_so_long),
        cmocka_unit_test(closes_for_the_dead_are_few),
        cmocka_unit_test(a_reset_reaches_the_other_side_at_once),
        cmocka_unit_test(a_close_in_order_counts_no_dead_path),
        cmocka_unit_test(a_broken_protocol_resets_the_path_at_both_sides),
        cmocka_unit_test(our_own_pause_is_no_time_without_a_link),
        cmocka_unit_test(cores_of_one_nic_need_no_link),
        cmocka_unit_test(a_short_flap_of_the_link_heals_and_a_long_one_kills),
        cmocka_unit_test(a_restarted_peer_is_another_nic),
        cmocka_unit_test(a_peer_that_begins_anew_replaces_the_old_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
