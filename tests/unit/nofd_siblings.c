/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cores of a daemon that stand although they have something to do: told from those that run, and from those that sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nofd/core/siblings.h"
#include "nofd/sys/clock.h"

#define LOOK NOFD_SIBLINGS_LOOK_NS

static struct nofd_lcore first, second;
static struct nofd_siblings siblings;
static uint64_t now_ns;

static int start(void **state)
{
    (void)state;
    first = second = (struct nofd_lcore){0};
    now_ns = 100 * NOFD_S;
    if (nofd_siblings_init(&siblings, 2) != 0)
        return -1;
    nofd_siblings_add(&siblings, &first);
    nofd_siblings_add(&siblings, &second);
    return 0;
}

static int end(void **state)
{
    (void)state;
    nofd_siblings_fini(&siblings);
    return 0;
}

static bool late_after(uint64_t passed_ns)
{
    now_ns += passed_ns;
    return nofd_siblings_late(&siblings, now_ns);
}

static void one_that_runs_is_not_late(void **state)
{
    (void)state;
    first.asleep = second.asleep = NOFD_ASLEEP;
    (void)late_after(0);
    first.asleep = 0;
    for (unsigned i = 0; i < 20; i++) {
        nofd_lcore_turn_begins(&first);
        assert_false(late_after(LOOK));
    }
}

static void nor_is_one_that_sleeps(void **state)
{
    (void)state;
    first.asleep = second.asleep = NOFD_ASLEEP;
    for (unsigned i = 0; i < 20; i++)
        assert_false(late_after(LOOK));
}

/* If the look before saw it due already. */
static void one_that_was_woken_and_stands_is_late(void **state)
{
    (void)state;
    first.asleep = second.asleep = NOFD_ASLEEP;
    assert_false(late_after(LOOK));
    second.asleep = NOFD_WOKEN;
    assert_false(late_after(3 * LOOK));
    assert_true(late_after(5 * LOOK));
    nofd_lcore_turn_begins(&second);
    second.asleep = 0;
    assert_false(late_after(LOOK));
    assert_true(late_after(LOOK));
}

static void the_first_look_knows_nothing_yet(void **state)
{
    (void)state;
    assert_false(late_after(0));
    assert_true(late_after(LOOK));
}

static void looks_that_come_sooner_leave_the_time_to_the_next(void **state)
{
    (void)state;
    (void)late_after(LOOK);
    assert_false(late_after(LOOK / 2));
    assert_true(late_after(LOOK / 2));
}

/* Its last turn was before the last look, and it had nothing to do. */
static void one_that_has_gone_to_sleep_is_not_late(void **state)
{
    (void)state;
    second.asleep = NOFD_ASLEEP;
    (void)late_after(LOOK);
    first.asleep = NOFD_ASLEEP;
    assert_false(late_after(500 * LOOK));
}

static void who_is_alone_has_none(void **state)
{
    struct nofd_siblings none;

    (void)state;
    assert_int_equal(nofd_siblings_init(&none, 0), 0);
    assert_false(nofd_siblings_late(&none, LOOK));
    assert_false(nofd_siblings_late(&none, 9 * LOOK));
    nofd_siblings_fini(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_that_runs_is_not_late, start, end),
        cmocka_unit_test_setup_teardown(nor_is_one_that_sleeps, start, end),
        cmocka_unit_test_setup_teardown(one_that_was_woken_and_stands_is_late, start, end),
        cmocka_unit_test_setup_teardown(the_first_look_knows_nothing_yet, start, end),
        cmocka_unit_test_setup_teardown(looks_that_come_sooner_leave_the_time_to_the_next, start, end),
        cmocka_unit_test_setup_teardown(one_that_has_gone_to_sleep_is_not_late, start, end),
        cmocka_unit_test(who_is_alone_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
