/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hot lanes: who sends is polled, who does not gives way, seldom; bits that are told are taken once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "chan/shm/hot.h"

static struct nof_hot hot;
static uint32_t leaves;

static int begin(void **state)
{
    (void)state;
    memset(&hot, 0, sizeof(hot));
    return 0;
}

static void fill(void)
{
    for (uint32_t i = 0; i < NOF_HOT_LANES; i++) {
        assert_int_equal(nof_hot_place(&hot, 100 + i, 1, &leaves), i);
        assert_int_equal(leaves, NOF_HOT_NONE);
    }
}

static void the_first_are_hot_at_once(void **state)
{
    (void)state;
    fill();
    assert_int_equal(nof_hot_place(&hot, 7, 1, &leaves), NOF_HOT_NONE);
    assert_int_equal(hot.count, NOF_HOT_LANES);
}

static void who_is_idle_longest_gives_way_and_nobody_who_sends(void **state)
{
    (void)state;
    fill();
    for (uint32_t i = 0; i < NOF_HOT_LANES; i++)
        if (i != 5)
            nof_hot_brought(&hot, i, NOF_HOT_PATIENCE);
    assert_int_equal(nof_hot_place(&hot, 7, 1, &leaves), 5);
    assert_int_equal(leaves, 105);
    assert_int_equal(hot.lane[5], 7);
}

/* Those that bring something now and then stay; who leaves makes room, and whoever has its place is told. */
static void who_brings_nothing_for_some_sleeps_is_not_looked_at(void **state)
{
    (void)state;
    fill();
    for (uint32_t sleep = 0; sleep < 3 * NOF_HOT_SLEEPS; sleep++) {
        if (sleep % NOF_HOT_SLEEPS == 0)
            nof_hot_brought(&hot, 1, 1);
        for (uint32_t i = 0; i < NOF_HOT_LANES; i++)
            assert_int_equal(nof_hot_idle(&hot, i), i != 1 && sleep >= NOF_HOT_SLEEPS);
    }
    assert_int_equal(nof_hot_leave(&hot, NOF_HOT_LANES - 1), NOF_HOT_NONE);
    for (uint32_t left = NOF_HOT_LANES - 2; left > 0; left--)
        assert_int_equal(nof_hot_leave(&hot, 0), 100 + left);
    assert_int_equal(hot.count, 1);
    assert_int_equal(hot.lane[0], 101);
    nof_hot_brought(&hot, 0, 1);
    assert_false(nof_hot_idle(&hot, 0));
    assert_int_equal(nof_hot_place(&hot, 7, 1, &leaves), 1);
    assert_int_equal(leaves, NOF_HOT_NONE);
    assert_false(nof_hot_idle(&hot, 1));
}

/* An exchange costs a system call: many that send by turns do not drive each other out. */
static void exchanges_are_apart(void **state)
{
    uint32_t exchanges = 0, messages = 100 * NOF_HOT_PATIENCE;
    (void)state;
    fill();
    for (uint32_t i = 0; i < messages; i++)
        exchanges += nof_hot_place(&hot, i % 64, 1, &leaves) != NOF_HOT_NONE;
    assert_in_range(exchanges, 1, messages / NOF_HOT_PATIENCE);
}

static void bits_are_taken_once(void **state)
{
    struct nof_hot_map map = {0};
    (void)state;
    nof_hot_tell(&map, 0);
    nof_hot_tell(&map, 63);
    nof_hot_tell(&map, 63);
    nof_hot_tell(&map, NOF_SEGMENT_SLOTS_MAX - 1);
    assert_true(nof_hot_told(&map));
    assert_int_equal(nof_hot_take_words(&map), 1ull << (NOF_SEGMENT_SLOTS_MAX / 64 - 1) | 1);
    assert_false(nof_hot_told(&map));
    assert_int_equal(nof_hot_take(&map, 0), 1ull << 63 | 1);
    assert_int_equal(nof_hot_take(&map, 0), 0);
    assert_int_equal(nof_hot_take(&map, NOF_SEGMENT_SLOTS_MAX / 64 - 1), 1ull << 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_first_are_hot_at_once, begin),
        cmocka_unit_test_setup(who_is_idle_longest_gives_way_and_nobody_who_sends, begin),
        cmocka_unit_test_setup(who_brings_nothing_for_some_sleeps_is_not_looked_at, begin),
        cmocka_unit_test_setup(exchanges_are_apart, begin),
        cmocka_unit_test(bits_are_taken_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
