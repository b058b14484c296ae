/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/rtt.h"

#define US 1000u
#define MS 1000000u

static const struct nof_pacer no_rate; /* of the link: unknown */

static void the_first_sample_is_believed(void **state)
{
    struct nof_rtt rtt;

    (void)state;
    nof_rtt_init(&rtt);
    assert_int_equal(nof_rtt_update(&rtt, 100 * US, 0, MS), 100 * US);
    assert_int_equal(rtt.srtt_ns, 100 * US);
    assert_int_equal(rtt.rttvar_ns, 50 * US);
    assert_int_equal(rtt.min_ns, 100 * US);
}

/* RFC 6298, 2.3: the spread first, with the old srtt; 1/4 and 1/8. */
static void later_samples_weigh_an_eighth_and_a_quarter(void **state)
{
    struct nof_rtt rtt;

    (void)state;
    nof_rtt_init(&rtt);
    (void)nof_rtt_update(&rtt, 800, 0, MS);
    (void)nof_rtt_update(&rtt, 1600, 0, MS);
    assert_int_equal(rtt.rttvar_ns, 400 - 100 + 200);
    assert_int_equal(rtt.srtt_ns, 800 - 100 + 200);
    (void)nof_rtt_update(&rtt, 100, 0, MS);
    assert_int_equal(rtt.rttvar_ns, 500 - 125 + 200);
    assert_int_equal(rtt.srtt_ns, 900 - 112 + 12);
    assert_int_equal(rtt.min_ns, 100);
}

static void the_peers_delay_is_taken_off_unless_it_is_absurd(void **state)
{
    struct nof_rtt rtt;

    (void)state;
    nof_rtt_init(&rtt);
    assert_int_equal(nof_rtt_update(&rtt, 150 * US, 50 * US, MS), 100 * US);
    assert_int_equal(rtt.srtt_ns, 100 * US);
    assert_int_equal(nof_rtt_update(&rtt, 150 * US, 150 * US - 1, MS), 1);
    assert_int_equal(rtt.min_ns, 1);
    nof_rtt_init(&rtt);
    assert_int_equal(nof_rtt_update(&rtt, 150 * US, 150 * US, MS), 150 * US);
    assert_int_equal(rtt.srtt_ns, 150 * US);
    assert_int_equal(nof_rtt_update(&rtt, 150 * US, UINT64_MAX - 1, MS), 150 * US);
    assert_int_equal(rtt.min_ns, 150 * US);
}

static void samples_without_a_measure_stay_within_bounds(void **state)
{
    struct nof_rtt rtt;

    (void)state;
    nof_rtt_init(&rtt);
    assert_int_equal(nof_rtt_update(&rtt, 0, 0, MS), 0);
    assert_int_equal(rtt.srtt_ns, 1); /* 0 is "no sample" */
    nof_rtt_init(&rtt);
    assert_true(nof_rtt_update(&rtt, 1ull << 40, 0, MS) == 1ull << 40);
    assert_true(rtt.srtt_ns == NOF_RTT_MAX_NS && rtt.min_ns == NOF_RTT_MAX_NS);
    (void)nof_rtt_update(&rtt, 1, 0, MS);
    assert_true(rtt.srtt_ns == NOF_RTT_MAX_NS - NOF_RTT_MAX_NS / 8);
}

/* A route that has become longer: its new minimum counts after one to two windows, also where the clock's
 * milliseconds wrap meanwhile. */
static void the_minimum_is_forgotten_after_two_windows(void **state)
{
    const uint64_t begin_ms[] = {7, UINT32_MAX - 3000ull};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct nof_rtt rtt;
        uint64_t t = begin_ms[i];

        nof_rtt_init(&rtt);
        (void)nof_rtt_update(&rtt, 10 * US, 0, t * MS);
        (void)nof_rtt_update(&rtt, 30 * US, 0, (t + NOF_RTT_MIN_WINDOW_MS - 1) * MS);
        assert_int_equal(rtt.min_ns, 10 * US);
        (void)nof_rtt_update(&rtt, 30 * US, 0, (t + NOF_RTT_MIN_WINDOW_MS) * MS);
        assert_int_equal(rtt.min_ns, 10 * US); /* of the window that ends here */
        (void)nof_rtt_update(&rtt, 20 * US, 0, (t + 2 * NOF_RTT_MIN_WINDOW_MS - 1) * MS);
        assert_int_equal(rtt.min_ns, 10 * US);
        (void)nof_rtt_update(&rtt, 40 * US, 0, (t + 2 * NOF_RTT_MIN_WINDOW_MS) * MS);
        assert_int_equal(rtt.min_ns, 20 * US);
        (void)nof_rtt_update(&rtt, 5 * US, 0, (t + 2 * NOF_RTT_MIN_WINDOW_MS + 1) * MS);
        assert_int_equal(rtt.min_ns, 5 * US); /* a lower one counts at once */
    }
}

static void the_timeout_is_two_round_trips_or_the_spread(void **state)
{
    struct nof_rtt rtt;
    const uint64_t most = 1000ull * MS;

    (void)state;
    nof_rtt_init(&rtt);
    assert_int_equal(nof_rtt_timeout_ns(&rtt, 50 * US, &no_rate, 0, most),
                     NOF_RTO_INITIAL_NS); /* no sample */
    (void)nof_rtt_update(&rtt, 4 * MS, 0, MS);
    assert_int_equal(nof_rtt_timeout_ns(&rtt, 50 * US, &no_rate, 0, most),
                     4 * MS + 8 * MS + 50 * US); /* 4 rttvar */
    for (unsigned i = 0; i < 100; i++)
        (void)nof_rtt_update(&rtt, 4 * MS, 0, MS);
    assert_true(4ull * rtt.rttvar_ns < rtt.srtt_ns);
    assert_int_equal(nof_rtt_timeout_ns(&rtt, 50 * US, &no_rate, 0, most), 2 * rtt.srtt_ns + 50 * US);
}

static void the_timeout_doubles_between_its_bounds(void **state)
{
    struct nof_rtt rtt;

    (void)state;
    nof_rtt_init(&rtt);
    (void)nof_rtt_update(&rtt, 10 * US, 0, MS);
    assert_int_equal(nof_rtt_timeout_ns(&rtt, 50 * US, &no_rate, 0, 100 * MS), NOF_RTO_MIN_NS);
    assert_int_equal(nof_rtt_timeout_ns(&rtt, 50 * US, &no_rate, 3, 100 * MS), 8 * NOF_RTO_MIN_NS);
    assert_int_equal(nof_rtt_timeout_ns(&rtt, 50 * US, &no_rate, 16, 100 * MS), 100 * MS);
    (void)nof_rtt_update(&rtt, NOF_RTT_MAX_NS, 0, MS);
    assert_true(nof_rtt_timeout_ns(&rtt, UINT32_MAX, &no_rate, 16, UINT64_MAX) > 4ull * rtt.rttvar_ns << 16);
}

/* Where a frame takes 1.2 ms, round trips of small ones say nothing of what full ones will wait for. */
static void the_timeout_of_a_slow_link_is_what_may_stand_before(void **state)
{
    static const struct {
        uint64_t rate_bps;
        uint32_t frame_bytes;
        uint64_t least_us;
    } cases[] = {
        {10000000, 1514, (28672 + 6 * 1538) * 8 / 10},
        {10000000, 9014, (28672 + 6 * 9038) * 8 / 10},
        {100000000, 1514, (28672 + 6 * 1538) * 8 / 100},
        {1000000000, 1514, 1000},
        {1000000000, 9014, 1000}, /* six jumbo frames, not 24 */
    };
    const uint64_t most = 10000ull * MS;

    (void)state;
    for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const uint64_t least = cases[c].least_us;
        struct nof_pacer link;
        struct nof_rtt rtt;

        nof_pacer_init(&link, cases[c].rate_bps, cases[c].frame_bytes, MS);
        nof_rtt_init(&rtt);
        if (least > NOF_RTO_INITIAL_NS / US)
            assert_int_equal(nof_rtt_timeout_ns(&rtt, 50 * US, &link, 0, most) / US, least); /* no sample */
        (void)nof_rtt_update(&rtt, 30 * US, 0, MS);
        assert_int_equal(nof_rtt_timeout_ns(&rtt, 50 * US, &link, 0, most) / US, least);
        assert_in_range(nof_rtt_timeout_ns(&rtt, 50 * US, &link, 1, most) / US, 2 * least, 2 * least + 1);
        assert_int_equal(nof_rtt_timeout_ns(&rtt, 50 * US, &link, 1, 2 * least * US - 1), 2 * least * US - 1);
        (void)nof_rtt_update(&rtt, 400 * MS, 0, MS);
        assert_true(nof_rtt_timeout_ns(&rtt, 50 * US, &link, 0, most) / US > least);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_sample_is_believed),
        cmocka_unit_test(later_samples_weigh_an_eighth_and_a_quarter),
        cmocka_unit_test(the_peers_delay_is_taken_off_unless_it_is_absurd),
        cmocka_unit_test(samples_without_a_measure_stay_within_bounds),
        cmocka_unit_test(the_minimum_is_forgotten_after_two_windows),
        cmocka_unit_test(the_timeout_is_two_round_trips_or_the_spread),
        cmocka_unit_test(the_timeout_doubles_between_its_bounds),
        cmocka_unit_test(the_timeout_of_a_slow_link_is_what_may_stand_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
