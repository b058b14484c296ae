/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The window by itself; then what it, loss recovery and pacing must reach on the toy network: ratios of
 * the link, not times of this machine. */
#include "toy_net.h"

#include "transport/congestion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000ull

#define US 1000u
#define MSS 1514u
#define FRAME_NS 12304u /* at 1 Gbit/s */

/* One path whose frames all take rtt_ns, a window of them in each round. */
struct one {
    struct nof_cc cc;
    struct nof_cc_path path;
};

static struct one fresh(uint32_t frame_ns)
{
    struct one a = {.path = {.mss_bytes = MSS,
                             .window_frames = 256,
                             .frame_ns = frame_ns,
                             .min_rtt_ns = 100 * US,
                             .xn = 0u - 3,
                             .delivered_xn = 0u - 3}};

    nof_cc_init(&a.cc, &a.path);
    return a;
}

struct ack {
    uint64_t rtt_ns;
    uint32_t bytes, flight_before_bytes;
};

static bool hear(struct one *a, struct ack ack)
{
    return nof_cc_on_ack(&a->cc, &a->path, ack.bytes, ack.flight_before_bytes, ack.rtt_ns);
}

/* All that is in flight is acknowledged, one frame at a time: one round. */
static void round_trip(struct one *a, uint32_t rtt_ns)
{
    uint32_t frames = a->cc.cwnd_bytes / MSS;
    unsigned ended = 0;

    a->path.xn += frames;
    for (uint32_t i = 0; i < frames; i++) {
        struct ack ack = {.rtt_ns = rtt_ns, .bytes = MSS, .flight_before_bytes = (frames - i) * MSS};

        a->path.delivered_xn++;
        ended += hear(a, ack);
    }
    assert_in_range(ended, 0, 1);
}

static void leave_slow_start(struct one *a)
{
    a->cc.slow_start = false;
    a->cc.cwnd_bytes = 100 * MSS;
}

/* 50 us and (4 + 40 mss / window) frames: at a window of 100 frames, of 10, and of 2. */
static const struct {
    uint32_t frames, target_ns;
} targets[] = {{100, 50 * US + 4 * FRAME_NS}, {10, 50 * US + 7 * FRAME_NS}, {2, 50 * US + 20 * FRAME_NS}};

static void the_window_grows_below_its_target_and_shrinks_above(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        struct ack ack = {.bytes = MSS, .flight_before_bytes = 200 * MSS};
        struct one a = fresh(FRAME_NS);

        leave_slow_start(&a);
        a.cc.cwnd_bytes = targets[i].frames * MSS;
        a.path.delivered_xn = a.cc.round_xn;
        ack.rtt_ns = 100 * US + targets[i].target_ns;
        assert_true(hear(&a, ack));
        assert_int_equal(a.cc.cwnd_bytes, (targets[i].frames + 1) * MSS);

        a.cc.cwnd_bytes = targets[i].frames * MSS;
        a.path.delivered_xn = a.cc.round_xn;
        ack.rtt_ns = 100 * US + 5 * targets[i].target_ns / 4;
        assert_true(hear(&a, ack));
        assert_in_range(a.cc.cwnd_bytes, 2 * MSS, targets[i].frames * MSS - (targets[i].frames > 2));
    }
}

static void a_round_shrinks_by_the_excess_and_by_half_at_most(void **state)
{
    struct one a = fresh(FRAME_NS);
    const uint64_t target_ns = 50 * US + 4 * FRAME_NS;

    (void)state;
    leave_slow_start(&a);
    a.path.xn += 100;
    a.path.delivered_xn = a.cc.round_xn;
    (void)hear(&a, (struct ack){.rtt_ns = 300 * US, .bytes = MSS});
    assert_int_equal(a.cc.cwnd_bytes, 100 * MSS * (100 * US + target_ns) / (300 * US));
    leave_slow_start(&a);
    a.path.delivered_xn = a.cc.round_xn;
    (void)hear(&a, (struct ack){.rtt_ns = 3000 * US, .bytes = MSS});
    assert_int_equal(a.cc.cwnd_bytes, 50 * MSS);
}

static void the_least_sample_of_a_round_counts(void **state)
{
    struct one a = fresh(FRAME_NS);
    struct ack ack = {.rtt_ns = 3000 * US, .bytes = MSS, .flight_before_bytes = 100 * MSS};

    (void)state;
    leave_slow_start(&a);
    for (unsigned i = 0; i < 5; i++)
        assert_false(hear(&a, ack)); /* nothing of this round has come */
    a.path.xn += 10;
    a.path.delivered_xn = a.cc.round_xn;
    ack.rtt_ns = 150 * US;
    assert_true(hear(&a, ack));
    assert_int_equal(a.cc.cwnd_bytes, 101 * MSS);
    /* Of a pause of our own core nothing is learnt. */
    ack.rtt_ns = 3000 * US;
    (void)hear(&a, ack);
    nof_cc_forget_round(&a.cc);
    a.path.delivered_xn = a.cc.round_xn;
    ack.rtt_ns = 0;
    assert_true(hear(&a, ack));
    assert_int_equal(a.cc.cwnd_bytes, 101 * MSS);
}

static void slow_start_doubles_until_three_samples_are_late(void **state)
{
    struct one a = fresh(FRAME_NS);

    (void)state;
    assert_int_equal(a.cc.cwnd_bytes, 10 * MSS);
    round_trip(&a, 100 * US);
    round_trip(&a, 100 * US);
    assert_in_range(a.cc.cwnd_bytes, 30 * MSS, 41 * MSS);
    a.cc.over_samples = 0;
    for (unsigned i = 1; i <= 3; i++) {
        (void)hear(&a, (struct ack){.rtt_ns = 1000 * US});
        assert_int_equal(a.cc.slow_start, i < 3);
    }
}

static void a_window_that_is_not_used_does_not_grow(void **state)
{
    struct one a = fresh(FRAME_NS);

    (void)state;
    leave_slow_start(&a);
    for (unsigned i = 0; i < 20; i++) {
        a.path.delivered_xn = a.cc.round_xn;
        (void)hear(&a, (struct ack){.rtt_ns = 100 * US, .bytes = MSS, .flight_before_bytes = MSS});
    }
    assert_int_equal(a.cc.cwnd_bytes, 100 * MSS);
}

static void a_round_trip_of_losses_costs_once(void **state)
{
    struct one a = fresh(FRAME_NS);

    (void)state;
    leave_slow_start(&a);
    nof_cc_on_loss(&a.cc, &a.path, 1); /* no queue: corruption */
    assert_int_equal(a.cc.cwnd_bytes, 100 * MSS - 100 * MSS / 32);
    nof_cc_on_loss(&a.cc, &a.path, 90);
    assert_int_equal(a.cc.cwnd_bytes, 100 * MSS - 100 * MSS / 32);
    a.path.delivered_xn = a.path.xn + 1; /* of after the decrease */
    leave_slow_start(&a);
    nof_cc_on_loss(&a.cc, &a.path, 26); /* more than a quarter at once */
    assert_int_equal(a.cc.cwnd_bytes, 75 * MSS);
    a.path.xn = a.path.delivered_xn = a.cc.reduced_xn;
    leave_slow_start(&a);
    a.cc.last_queue_ns = 50 * US; /* half of the target of about 100 us */
    nof_cc_on_loss(&a.cc, &a.path, 1);
    assert_int_equal(a.cc.cwnd_bytes, 75 * MSS);
}

static void a_mark_costs_an_eighth_once_in_a_round_trip(void **state)
{
    struct one a = fresh(FRAME_NS);

    (void)state;
    a.cc.slow_start = true;
    a.cc.cwnd_bytes = 80 * MSS;
    nof_cc_on_mark(&a.cc, &a.path);
    assert_int_equal(a.cc.cwnd_bytes, 70 * MSS);
    assert_false(a.cc.slow_start);
    nof_cc_on_mark(&a.cc, &a.path);
    nof_cc_on_loss(&a.cc, &a.path, 90);
    assert_int_equal(a.cc.cwnd_bytes, 70 * MSS);
    a.path.delivered_xn = a.path.xn + 1;
    a.cc.cwnd_bytes = 8 * MSS;
    nof_cc_on_mark(&a.cc, &a.path);
    assert_int_equal(a.cc.cwnd_bytes, 7 * MSS);
    a.path.xn = a.path.delivered_xn = a.cc.reduced_xn;
    a.cc.cwnd_bytes = 2 * MSS;
    nof_cc_on_mark(&a.cc, &a.path);
    assert_int_equal(a.cc.cwnd_bytes, 2 * MSS); /* never less */
}

static void the_window_keeps_its_bounds(void **state)
{
    struct one a = fresh(FRAME_NS);
    struct one u = fresh(0);

    (void)state;
    assert_int_equal(u.cc.cwnd_bytes, 32 * MSS);
    for (unsigned i = 0; i < 40; i++)
        round_trip(&a, 100 * US);
    assert_int_equal(a.cc.cwnd_bytes, 256 * MSS);
    for (unsigned i = 0; i < 40; i++) {
        round_trip(&a, 1000 * 1000 * US);
        round_trip(&u, 1000 * 1000 * US);
    }
    assert_int_equal(a.cc.cwnd_bytes, 2 * MSS);
    assert_int_equal(u.cc.cwnd_bytes, 16 * MSS);
    for (unsigned i = 0; i < 40; i++) {
        u.path.xn++;
        u.path.delivered_xn = u.path.xn + 1;
        u.cc.last_queue_ns = UINT32_MAX;
        nof_cc_on_loss(&u.cc, &u.path, 16);
    }
    assert_int_equal(u.cc.cwnd_bytes, 4 * MSS);
}

static void three_timeouts_begin_anew(void **state)
{
    struct one a = fresh(FRAME_NS);

    (void)state;
    leave_slow_start(&a);
    for (unsigned i = 1; i <= 5; i++) {
        nof_cc_on_timeout(&a.cc, &a.path, i);
        assert_int_equal(a.cc.cwnd_bytes, i < 3 ? 100 * MSS : 2 * MSS);
        assert_int_equal(a.cc.slow_start, i >= 3);
    }
}

/* With a standing queue the window runs empty for one round in 128, the first time after 16. */
static void a_standing_queue_is_drained_now_and_then(void **state)
{
    struct one a = fresh(FRAME_NS);
    unsigned drained = 0;

    (void)state;
    leave_slow_start(&a);
    for (unsigned i = 1; i <= 300; i++) {
        a.path.xn += 10;
        a.path.delivered_xn = a.cc.round_xn;
        (void)hear(&a, (struct ack){.rtt_ns = 140 * US, .bytes = MSS});
        if (a.cc.draining) {
            assert_int_equal(i % 128, 16);
            assert_int_equal(nof_cc_window(&a.cc, MSS), NOF_CC_DRAIN_FRAMES * MSS);
            drained++;
        } else {
            assert_int_equal(nof_cc_window(&a.cc, MSS), a.cc.cwnd_bytes);
        }
        if (i == 200) /* seen to be empty once: no standing queue */
            (void)hear(&a, (struct ack){.rtt_ns = 100 * US, .bytes = MSS});
    }
    assert_int_equal(drained, 2);
}

/* 1 Gbit/s, 200 us round trip, 64 KiB of buffer in each port of the switch. */
static const struct toy_config gigabit = {.nodes = 2,
                                          .seed = 1,
                                          .rate_bps = 1000000000,
                                          .delay_ns = 100000,
                                          .mtu_bytes = 1500,
                                          .buffer_bytes = 65536};

static uint64_t seeds = 3; /* or as the command line says */

struct outcome {
    double share; /* payload by what the link could carry */
    double jain;
    uint64_t full; /* frames dropped by the switch */
    uint64_t timeouts;
};

static struct outcome run(const struct toy_config *cfg, unsigned senders, uint64_t ms)
{
    struct toy_net *net = toy_open(cfg);
    struct outcome o = {0};
    double sum = 0;
    double squares = 0;

    for (unsigned i = 1; i <= senders; i++)
        toy_send(net, i, 0, 1u << 30, 0);
    toy_run(net, net->now_ns + ms * MS, 0);
    for (unsigned i = 1; i <= senders; i++) {
        double bytes = (double)net->node[0].stream[i].received_bytes;

        sum += bytes;
        squares += bytes * bytes;
        o.timeouts += net->node[i].counters[NOF_C_TIMEOUTS];
    }
    o.share = sum * 8e9 / ((double)(ms * MS) * (double)cfg->rate_bps);
    o.jain = sum * sum / (senders * squares);
    o.full = net->dropped_full;
    print_message(
        "%2u senders, loss %.3f: %.3f of the link, Jain %.3f, %u dropped by the switch, %u timeouts\n",
        senders, cfg->loss, o.share, o.jain, (unsigned)o.full, (unsigned)o.timeouts);
    toy_close(net);
    return o;
}

static void a_clean_link_is_filled_and_its_buffer_is_not(void **state)
{
    struct outcome o = run(&gigabit, 1, 200);

    (void)state;
    assert_true(o.share > 0.90);
    assert_int_equal(o.full, 0);
}

static void random_loss_costs_little(void **state)
{
    struct toy_config cfg = gigabit;

    (void)state;
    cfg.loss = 0.001;
    assert_true(run(&cfg, 1, 300).share > 0.90);
    cfg.loss = 0.01;
    assert_true(run(&cfg, 1, 300).share > 0.85);
    cfg.loss = 0.2;
    assert_true(run(&cfg, 1, 300).share > 0.5);
}

static void reordering_costs_little(void **state)
{
    struct toy_config cfg = gigabit;

    (void)state;
    cfg.reorder = 0.1;
    cfg.jitter_ns = 300000;
    assert_true(run(&cfg, 1, 200).share > 0.85);
}

static void incast_shares_the_link_fairly(void **state)
{
    struct toy_config cfg = gigabit;

    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct outcome o;

        cfg.seed = seed;
        cfg.loss = 0.0002 * (double)seed;
        cfg.nodes = 9;
        o = run(&cfg, 8, 300);
        assert_true(o.share > 0.88);
        assert_true(o.jain > 0.92);
    }
    cfg.loss = 0;
    cfg.nodes = 3;
    assert_true(run(&cfg, 2, 300).jain > 0.97);
}

static void a_link_of_unknown_rate_is_filled_too(void **state)
{
    struct toy_config cfg = gigabit;

    (void)state;
    cfg.rate_hidden = 1;
    assert_true(run(&cfg, 1, 300).share > 0.85);
    cfg.nodes = 9;
    assert_true(run(&cfg, 8, 300).share > 0.80);
}

/* A queue that nobody drops from must not grow without bound. */
static void an_endless_buffer_does_not_fill(void **state)
{
    struct toy_config cfg = gigabit;
    struct toy_net *net;

    (void)state;
    cfg.buffer_bytes = 0;
    cfg.nodes = 9;
    net = toy_open(&cfg);
    for (unsigned i = 1; i <= 8; i++)
        toy_send(net, i, 0, 1u << 30, 0);
    toy_run(net, net->now_ns + 200 * MS, 0);
    assert_true(net->node[0].out_free_ns - net->now_ns < 600000);
    toy_close(net);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seeds = strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_window_grows_below_its_target_and_shrinks_above),
        cmocka_unit_test(a_round_shrinks_by_the_excess_and_by_half_at_most),
        cmocka_unit_test(the_least_sample_of_a_round_counts),
        cmocka_unit_test(slow_start_doubles_until_three_samples_are_late),
        cmocka_unit_test(a_window_that_is_not_used_does_not_grow),
        cmocka_unit_test(a_round_trip_of_losses_costs_once),
        cmocka_unit_test(a_mark_costs_an_eighth_once_in_a_round_trip),
        cmocka_unit_test(the_window_keeps_its_bounds),
        cmocka_unit_test(three_timeouts_begin_anew),
        cmocka_unit_test(a_standing_queue_is_drained_now_and_then),
        cmocka_unit_test(a_clean_link_is_filled_and_its_buffer_is_not),
        cmocka_unit_test(random_loss_costs_little),
        cmocka_unit_test(reordering_costs_little),
        cmocka_unit_test(incast_shares_the_link_fairly),
        cmocka_unit_test(a_link_of_unknown_rate_is_filled_too),
        cmocka_unit_test(an_endless_buffer_does_not_fill),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
