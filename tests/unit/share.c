/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shares of a pool: whatever the others take, everybody gets what was promised to him, and all can be given out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/share.h"

#define USERS 4u

static struct nof_share share;
static uint32_t used[USERS], left;

static void begin(uint32_t total, uint32_t users)
{
    nof_share_init(&share, total, users);
    left = total;
    for (unsigned i = 0; i < USERS; i++)
        used[i] = 0;
}

static bool take(unsigned who, uint32_t n)
{
    if (!nof_share_may(&share, used[who], n, left))
        return false;
    assert_true(left >= n); /* what one may have is there */
    nof_share_taken(&share, &used[who], n);
    left -= n;
    return true;
}

static void give(unsigned who, uint32_t n)
{
    nof_share_given(&share, &used[who], n);
    left += n;
}

static void half_is_promised_and_half_is_for_who_asks_first(void **state)
{
    (void)state;
    begin(80, USERS);
    assert_int_equal(share.least, 10);
    while (take(0, 1))
        continue;
    assert_int_equal(used[0], 10 + 40);
    for (unsigned i = 1; i < USERS; i++) {
        while (take(i, 1))
            continue;
        assert_int_equal(used[i], 10);
    }
    assert_int_equal(left, 0);
}

static void what_is_given_back_is_promised_again_first(void **state)
{
    (void)state;
    begin(80, USERS);
    assert_true(take(0, 50));
    assert_true(take(1, 10));
    give(1, 4);
    assert_false(take(0, 1));
    assert_false(take(2, 11));
    assert_true(take(1, 4));
    give(0, 40); /* the shared half */
    assert_true(take(2, 50));
}

static void so_many_at_once_or_none(void **state)
{
    (void)state;
    begin(80, USERS);
    assert_false(take(0, 51));
    assert_int_equal(used[0], 0);
    assert_true(take(0, 50));
    assert_true(take(1, 0));
    assert_false(take(1, 11));
    assert_true(take(1, 10));
    assert_false(nof_share_may(&share, 10, 1, share.owed - 1)); /* less than is promised */
}

static void a_pool_that_is_too_small_to_promise_is_for_who_asks_first(void **state)
{
    (void)state;
    begin(7, USERS);
    assert_int_equal(share.least, 0);
    assert_true(take(0, 7));
    assert_false(take(1, 1));
    give(0, 7);
    assert_true(take(1, 7));
}

static void one_user_has_all(void **state)
{
    (void)state;
    begin(9, 1);
    assert_true(take(0, 9));
    assert_false(take(0, 1));
}

/* Everybody's minimum stays within reach, however the users come and go. */
static void the_promise_holds_whatever_happens(void **state)
{
    uint32_t random = 1;

    (void)state;
    begin(101, USERS);
    for (unsigned n = 0; n < 20000; n++) {
        unsigned who;
        uint32_t sum = 0, owed = 0;

        random = random * 1664525u + 1013904223u;
        who = random >> 30;
        if ((random >> 29 & 1) != 0)
            (void)take(who, random >> 20 & 31);
        else if (used[who] > 0)
            give(who, 1 + (random >> 20 & 31) % used[who]);
        for (unsigned i = 0; i < USERS; i++) {
            sum += used[i];
            owed += used[i] < share.least ? share.least - used[i] : 0;
        }
        assert_int_equal(left + sum, 101);
        assert_int_equal(share.owed, owed);
        assert_true(left >= owed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_is_promised_and_half_is_for_who_asks_first),
        cmocka_unit_test(what_is_given_back_is_promised_again_first),
        cmocka_unit_test(so_many_at_once_or_none),
        cmocka_unit_test(a_pool_that_is_too_small_to_promise_is_for_who_asks_first),
        cmocka_unit_test(one_user_has_all),
        cmocka_unit_test(the_promise_holds_whatever_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
