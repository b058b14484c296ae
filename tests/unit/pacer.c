/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the header promises, with times reckoned in 1/1000 ns beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/pacer.h"

#define FULL 1514u
#define CALLS 2000u

static const uint64_t rates_bps[] = {1000000,    100000000,   250000000,    500000000,
                                     1000000000, 25000000000, 100000000000, 400000000000};
#define RATES (sizeof rates_bps / sizeof rates_bps[0])

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Picoseconds that the link needs. */
static uint64_t carry_ps(uint64_t rate_bps, uint64_t bytes, uint64_t frames)
{
    return (bytes + frames * NOF_ETH_EXTRA_BYTES) * 8000000 / (rate_bps / 1000000);
}

static uint64_t depth_of(uint64_t rate_bps)
{
    uint64_t two_ns = 2 * carry_ps(rate_bps, FULL, 1) / 1000;

    return two_ns > NOF_PACER_DEPTH_NS ? two_ns : NOF_PACER_DEPTH_NS;
}

static uint64_t burst_of(uint64_t rate_bps)
{
    uint64_t frame_ns = carry_ps(rate_bps, FULL, 1) / 1000;
    uint64_t burst_ns = 3 * frame_ns > NOF_PACER_BURST_NS ? 3 * frame_ns : NOF_PACER_BURST_NS;

    if (burst_ns > depth_of(rate_bps) / 2)
        burst_ns = depth_of(rate_bps) / 2;
    return burst_ns < 2 * frame_ns ? 0 : burst_ns;
}

static uint64_t idle_of(uint64_t rate_bps)
{
    uint64_t two_ns = 2 * carry_ps(rate_bps, FULL, 1) / 1000;

    return two_ns > burst_of(rate_bps) ? two_ns : burst_of(rate_bps);
}

struct sent {
    uint64_t at_ns, before_ps, after_ps; /* sums of w(f) */
    uint64_t bookings;
    int fresh; /* it was new data that was allowed */
} sent[CALLS];

/* None of those that end with new data carries more than its length and most_ns. */
static void check_intervals(uint64_t most_ns)
{
    for (unsigned to = 0; to < CALLS; to++)
        for (unsigned from = 0; from <= to && sent[to].fresh; from++) {
            uint64_t slack_ps = (to - from + 1) * 1000 + (sent[to].after_ps - sent[from].before_ps) / 10000;

            assert_true(sent[to].after_ps - sent[from].before_ps <=
                        (sent[to].at_ns - sent[from].at_ns + most_ns) * 1000 + slack_ps);
        }
}

/* Every interval that ends with new data, over idle times, small frames and such as nobody asked for. */
static void no_interval_carries_more_than_the_formula(void **state)
{
    (void)state;
    for (unsigned r = 0; r < RATES; r++) {
        const uint64_t rate = rates_bps[r], frame_ns = carry_ps(rate, FULL, 1) / 1000 + 1;
        const uint64_t most_ns = depth_of(rate) + frame_ns;
        struct nof_pacer p;
        uint64_t seed = 88172645463325252u + r, now = 5000, sum = 0;
        unsigned n = 0;

        nof_pacer_init(&p, rate, FULL, now);
        while (n < CALLS) {
            uint32_t may = nof_pacer_ask(&p, now);
            int urgent = draw(&seed) % 16 == 0;
            uint32_t frames = urgent ? 1 : may;
            uint32_t bytes = frames * (draw(&seed) % 4 != 0 ? FULL : 64);

            if (frames > 0) {
                nof_pacer_book(&p, bytes, frames, now);
                sent[n] = (struct sent){now, sum, sum + carry_ps(rate, bytes, frames), n, !urgent};
                sum = sent[n++].after_ps;
            }
            now += draw(&seed) % 64 == 0 ? 3 * depth_of(rate) : draw(&seed) % (2 * frame_ns);
        }
        check_intervals(most_ns);
    }
}

/* A core that is in time: what passes while nobody has anything to send, or until the deadline, does not become a queue in the
 * port, which what must not wait would stand behind. */
static void who_looks_in_time_has_no_more_than_the_idle_credit_in_the_port(void **state)
{
    (void)state;
    for (unsigned r = 0; r < RATES; r++) {
        const uint64_t rate = rates_bps[r], frame_ns = carry_ps(rate, FULL, 1) / 1000 + 1;
        struct nof_pacer p;
        uint64_t seed = 88172645463325252u + r, now = 5000, sum = 0, left = 0;
        unsigned n = 0;

        nof_pacer_init(&p, rate, FULL, now);
        while (n < CALLS) {
            uint32_t may, frames;

            if (left == 0) { /* a message, after a while or at once */
                now += draw(&seed) % 2 * (draw(&seed) % (2 * depth_of(rate)));
                left = draw(&seed) % 64 + 1;
            }
            may = nof_pacer_ask(&p, now);
            frames = may < left ? may : (uint32_t)left;
            if (frames == 0) {
                now = nof_pacer_deadline(&p, now);
                continue;
            }
            nof_pacer_book(&p, (uint64_t)frames * FULL, frames, now);
            left -= frames;
            sent[n] = (struct sent){now, sum, sum + carry_ps(rate, (uint64_t)frames * FULL, frames), n, 1};
            sum = sent[n++].after_ps;
        }
        check_intervals(idle_of(rate) + frame_ns);
    }
}

static void who_always_sends_keeps_the_link_busy(void **state)
{
    (void)state;
    for (unsigned r = 0; r < RATES; r++) {
        const uint64_t rate = rates_bps[r], depth = depth_of(rate), burst = burst_of(rate);
        const uint64_t start = 1000000000;
        struct nof_pacer p;
        uint64_t seed = 362436069 + r, now = start, sum_ps = 0, booked = 0;

        nof_pacer_init(&p, rate, FULL, now);
        for (unsigned i = 0; i < CALLS; i++) {
            uint32_t may;
            uint64_t wait;

            while ((may = nof_pacer_ask(&p, now)) > 0) {
                nof_pacer_book(&p, (uint64_t)may * FULL, may, now);
                sum_ps += carry_ps(rate, (uint64_t)may * FULL, may);
                booked++;
            }
            assert_true(sum_ps + (booked + burst) * 1000 + sum_ps / 10000 >= (now - start) * 1000);
            wait = draw(&seed) % (depth - burst);
            now += wait > 0 ? wait : 1;
        }
    }
}

/* What a core that spins asks: frames that left singly would be a call of the kernel each. */
static void a_busy_link_is_fed_in_bursts(void **state)
{
    static const struct {
        uint64_t rate_bps;
        uint32_t frames; /* at least, each time that some may leave */
    } cases[] = {
        {100000000, 1}, {250000000, 3}, /* a quarter of 1 Gbit/s: one core of four */
        {500000000, 4}, {1000000000, 4}, {10000000000, 17},
    };

    (void)state;
    for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const uint64_t start = 1000000, end = start + 40000000;
        uint64_t sum_ps = 0, burst = burst_of(cases[c].rate_bps);
        struct nof_pacer p;

        nof_pacer_init(&p, cases[c].rate_bps, FULL, start);
        for (uint64_t now = start; now < end; now += 100) {
            uint32_t may = nof_pacer_ask(&p, now);

            if (may == 0)
                continue;
            assert_true(may >= cases[c].frames);
            nof_pacer_book(&p, (uint64_t)may * FULL, may, now);
            sum_ps += carry_ps(cases[c].rate_bps, (uint64_t)may * FULL, may);
        }
        assert_true(sum_ps / 1000 + burst + 1000 >= end - start);
    }
}

static void who_waits_has_the_credit_of_the_depth_and_who_comes_that_of_an_idle_link(void **state)
{
    const uint32_t depth_frames = NOF_PACER_DEPTH_NS / 12304 + 1;
    struct nof_pacer p;
    uint64_t late_ns;

    (void)state;
    nof_pacer_init(&p, 1000000000, FULL, 1000000);
    assert_int_equal(p.frame_ns, 12304);
    assert_int_equal(nof_pacer_ask(&p, 1000000), 4);
    assert_int_equal(nof_pacer_ask(&p, 1000000 + 10 * NOF_PACER_DEPTH_NS), 4); /* a burst and the next one */
    nof_pacer_book(&p, 100 * FULL, 100, 1000000 + 10 * NOF_PACER_DEPTH_NS);
    assert_int_equal(nof_pacer_ask(&p, 1000000 + 10 * NOF_PACER_DEPTH_NS), 0);
    late_ns = p.free_ns + 2 * NOF_PACER_DEPTH_NS;
    assert_int_equal(nof_pacer_ask(&p, late_ns), depth_frames);
    assert_int_equal(nof_pacer_ask(&p, late_ns), depth_frames); /* another, in the same turn of the core */
    assert_int_equal(nof_pacer_ask(&p, late_ns + 1), depth_frames); /* who was late will be so again */
    nof_pacer_init(&p, 1000000, FULL, 0); /* 12 ms a frame: two of them are more than NOF_PACER_DEPTH_NS */
    assert_int_equal(p.depth_ns, 2ull * 12304000);
    assert_int_equal(p.idle_ns, 2ull * 12304000);
}

/* Of four frames that were allowed, two are being read. */
static void what_is_on_its_way_has_the_credit_of_who_waits(void **state)
{
    struct nof_pacer p;
    uint64_t now = 1000000;

    (void)state;
    nof_pacer_init(&p, 1000000000, FULL, now);
    for (unsigned awaited = 0; awaited < 2; awaited++) {
        now += 10 * NOF_PACER_DEPTH_NS;
        assert_int_equal(nof_pacer_ask(&p, now), 4);
        nof_pacer_book(&p, 2 * FULL, 2, now);
        if (awaited)
            nof_pacer_await(&p);
        now += 100000;
        assert_int_equal(nof_pacer_ask(&p, now), awaited ? 10 : 4);
        assert_int_equal(p.late_ns, 0);
    }
    assert_int_equal(nof_pacer_ask(&p, now + 10 * NOF_PACER_DEPTH_NS),
                     4); /* nothing is on its way any more */
}

/* A core that was late sends what it has in one turn until it has looked in time for a while. */
static void lateness_is_remembered_and_forgotten(void **state)
{
    struct nof_pacer p;
    uint64_t now = 1000000;

    (void)state;
    nof_pacer_init(&p, 1000000000, FULL, now);
    nof_pacer_book(&p, 100 * FULL, 100, now);
    assert_int_equal(nof_pacer_ask(&p, now), 0);
    now = nof_pacer_deadline(&p, now) + 100000;
    assert_true(nof_pacer_ask(&p, now) > 8);
    assert_int_equal(p.late_ns, 100000);
    now += 10 * NOF_PACER_DEPTH_NS;
    assert_in_range(nof_pacer_ask(&p, now), 10, 12); /* a burst, and 98 us */
    for (unsigned i = 0; i < 100; i++) {
        nof_pacer_book(&p, 100 * FULL, 100, now);
        assert_int_equal(nof_pacer_ask(&p, now), 0);
        now = nof_pacer_deadline(&p, now);
        assert_true(nof_pacer_ask(&p, now) > 0);
    }
    now += 10 * NOF_PACER_DEPTH_NS;
    assert_int_equal(nof_pacer_ask(&p, now), 4);
}

static void after_nothing_is_allowed_the_deadline_allows_a_burst(void **state)
{
    struct nof_pacer p;

    (void)state;
    nof_pacer_init(&p, 1000000000, FULL, 1000000);
    assert_int_equal(nof_pacer_deadline(&p, 1000000), 1000000);
    nof_pacer_book(&p, 100 * FULL, 100, 1000000);
    assert_int_equal(nof_pacer_ask(&p, 1000000), 0);
    assert_int_equal(nof_pacer_deadline(&p, 1000000), p.free_ns + 3ull * p.frame_ns);
    assert_int_equal(nof_pacer_ask(&p, nof_pacer_deadline(&p, 1000000)), 4);
    assert_int_equal(nof_pacer_ask(&p, nof_pacer_deadline(&p, 1000000) - 1), 0);
    nof_pacer_init(&p, 100000000, FULL, 1000000); /* fewer where their time is more than half of the depth */
    nof_pacer_book(&p, 10 * FULL, 10, 1000000);
    assert_int_equal(nof_pacer_deadline(&p, 1000000), p.free_ns + NOF_PACER_DEPTH_NS / 2);
    assert_int_equal(nof_pacer_ask(&p, nof_pacer_deadline(&p, 1000000)), 2);
}

static void an_unknown_rate_paces_nothing(void **state)
{
    struct nof_pacer p;

    (void)state;
    nof_pacer_init(&p, 0, FULL, 77);
    nof_pacer_book(&p, 1u << 30, 1u << 20, 78);
    assert_true(nof_pacer_ask(&p, 79) == UINT32_MAX);
    assert_int_equal(p.frame_ns, 0);
    assert_int_equal(nof_pacer_deadline(&p, 79), 79);
}

static void a_frame_takes_at_least_a_nanosecond(void **state)
{
    struct nof_pacer p;

    (void)state;
    nof_pacer_init(&p, 8000000000u << 20, 64, 0);
    assert_int_equal(p.frame_ns, 1);
    p.waits = true;
    assert_int_equal(nof_pacer_ask(&p, NOF_PACER_DEPTH_NS), NOF_PACER_DEPTH_NS + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_interval_carries_more_than_the_formula),
        cmocka_unit_test(who_always_sends_keeps_the_link_busy),
        cmocka_unit_test(a_busy_link_is_fed_in_bursts),
        cmocka_unit_test(who_looks_in_time_has_no_more_than_the_idle_credit_in_the_port),
        cmocka_unit_test(who_waits_has_the_credit_of_the_depth_and_who_comes_that_of_an_idle_link),
        cmocka_unit_test(what_is_on_its_way_has_the_credit_of_who_waits),
        cmocka_unit_test(lateness_is_remembered_and_forgotten),
        cmocka_unit_test(after_nothing_is_allowed_the_deadline_allows_a_burst),
        cmocka_unit_test(an_unknown_rate_paces_nothing),
        cmocka_unit_test(a_frame_takes_at_least_a_nanosecond),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
