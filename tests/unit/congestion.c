/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What congestion control, loss recovery and pacing must reach, on the toy network: ratios of the
 * link, not times of this machine. */
#include "toy_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000ull

/* 1 Gbit/s, 200 us round trip, 64 KiB of buffer in each port of the switch. */
static const struct toy_config gigabit = {.nodes = 2,
                                          .seed = 1,
                                          .rate_bps = 1000000000,
                                          .delay_ns = 100000,
                                          .mtu_bytes = 1500,
                                          .buffer_bytes = 65536};

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
    for (uint64_t seed = 1; seed <= 3; seed++) {
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_link_is_filled_and_its_buffer_is_not),
        cmocka_unit_test(random_loss_costs_little),
        cmocka_unit_test(reordering_costs_little),
        cmocka_unit_test(incast_shares_the_link_fairly),
        cmocka_unit_test(a_link_of_unknown_rate_is_filled_too),
        cmocka_unit_test(an_endless_buffer_does_not_fill),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
