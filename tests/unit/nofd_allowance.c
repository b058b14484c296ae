/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What users may take of the daemon's main thread: who floods waits, and nobody else does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nofd/door/allowance.h"

#define MS 1000000ull
#define S 1000000000ull
#define AT_ONCE (100 * MS)
#define OWNER 500u
#define USER 1000u

static struct nofd_allowances shares;

static void start(bool private)
{
    nofd_allowances_init(&shares, private, OWNER, AT_ONCE, S);
}

/* Milliseconds of the main thread that a user gets who asks all the time, 1 ms a request. */
static unsigned flood(struct nofd_allowance *share, uint64_t from_ns, uint64_t to_ns)
{
    unsigned served = 0;

    for (uint64_t now = from_ns; now < to_ns; now += MS) {
        if (!nofd_allowance_may(&shares, share, now))
            continue;
        nofd_allowance_charge(&shares, share, MS);
        served++;
    }
    return served;
}

static void who_floods_gets_a_fraction_of_time(void **state)
{
    struct nofd_allowance *share;

    (void)state;
    start(false);
    share = nofd_allowance_enter(&shares, USER, S);
    assert_in_range(flood(share, S, 2 * S), 150,
                    250); /* what he may take at once, and what he earned meanwhile */
    assert_in_range(flood(share, 2 * S, 12 * S), 900, 1100); /* a tenth */
}

static void neither_owner_nor_others_wait_for_who_floods(void **state)
{
    struct nofd_allowance *share;
    struct nofd_allowance *other;

    (void)state;
    start(false);
    share = nofd_allowance_enter(&shares, USER, S);
    other = nofd_allowance_enter(&shares, USER + 1, S);
    (void)flood(share, S, 3 * S);
    assert_false(nofd_allowance_may(&shares, share, 3 * S));
    assert_true(nofd_allowance_may(&shares, other, 3 * S));
    assert_true(nofd_allowance_may(&shares, nofd_allowance_enter(&shares, OWNER, 3 * S), 3 * S));
    assert_true(nofd_allowance_may(&shares, nofd_allowance_enter(&shares, 0, 3 * S), 3 * S));
}

static void many_users_together_leave_the_owner_his_part(void **state)
{
    struct nofd_allowance *share[50];
    unsigned served = 0;

    (void)state;
    start(false);
    for (unsigned u = 0; u < 50; u++)
        share[u] = nofd_allowance_enter(&shares, USER + u, S);
    for (uint64_t now = S; now < 11 * S; now += MS) {
        for (unsigned u = 0; u < 50; u++) {
            if (!nofd_allowance_may(&shares, share[u], now))
                continue;
            nofd_allowance_charge(&shares, share[u], MS);
            served++;
        }
    }
    assert_in_range(served, 1500, 3000); /* of 10 s: a fifth, and what they may take at once */
    assert_true(nofd_allowance_may(&shares, nofd_allowance_enter(&shares, OWNER, 11 * S), 11 * S));
}

static void debts_outlive_the_connection(void **state)
{
    struct nofd_allowance *share;

    (void)state;
    start(false);
    share = nofd_allowance_enter(&shares, USER, S);
    nofd_allowance_charge(&shares, share, S);
    nofd_allowance_leave(share);
    /* Others come and go in the meantime. */
    for (unsigned u = 1; u < 2 * NOFD_ALLOWANCES_MAX; u++)
        nofd_allowance_leave(nofd_allowance_enter(&shares, USER + u, S));
    assert_ptr_equal(nofd_allowance_enter(&shares, USER, S), share);
    assert_false(nofd_allowance_may(&shares, share, S));
    assert_true(nofd_allowance_may(&shares, share, 12 * S));
}

static void more_users_than_can_be_counted_are_refused_but_the_owner(void **state)
{
    (void)state;
    start(false);
    for (unsigned u = 0; u < NOFD_ALLOWANCES_MAX; u++)
        assert_non_null(nofd_allowance_enter(&shares, USER + u, S));
    assert_null(nofd_allowance_enter(&shares, USER + NOFD_ALLOWANCES_MAX, S));
    assert_non_null(nofd_allowance_enter(&shares, OWNER, S));
}

/* Many users have asked for something and have left: the one who owes least is forgotten for the next. */
static void debts_of_many_lock_nobody_out(void **state)
{
    struct nofd_allowance *share[NOFD_ALLOWANCES_MAX];

    (void)state;
    start(false);
    for (unsigned u = 0; u < NOFD_ALLOWANCES_MAX; u++) {
        share[u] = nofd_allowance_enter(&shares, USER + u, S);
        nofd_allowance_charge(&shares, share[u], u == 100 ? MS : 2 * MS);
    }
    for (unsigned u = 0; u < NOFD_ALLOWANCES_MAX; u++)
        nofd_allowance_leave(share[u]);
    assert_ptr_equal(nofd_allowance_enter(&shares, USER + NOFD_ALLOWANCES_MAX, S), share[100]);
    assert_ptr_equal(nofd_allowance_enter(&shares, USER + 5, S), share[5]);
}

static void the_owner_of_a_private_daemon_never_waits(void **state)
{
    struct nofd_allowance *share;

    (void)state;
    start(true);
    share = nofd_allowance_enter(&shares, OWNER, S);
    assert_int_equal(flood(share, S, 3 * S), 2000);
    assert_true(flood(nofd_allowance_enter(&shares, USER, 3 * S), 3 * S, 5 * S) < 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_floods_gets_a_fraction_of_time),
        cmocka_unit_test(neither_owner_nor_others_wait_for_who_floods),
        cmocka_unit_test(many_users_together_leave_the_owner_his_part),
        cmocka_unit_test(debts_outlive_the_connection),
        cmocka_unit_test(more_users_than_can_be_counted_are_refused_but_the_owner),
        cmocka_unit_test(debts_of_many_lock_nobody_out),
        cmocka_unit_test(the_owner_of_a_private_daemon_never_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
