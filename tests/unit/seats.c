/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Seats: each of several processes has a CPU to itself, or there is one too few, by the CPUs that each may use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "chan/shm/seats.h"

#define RANKS 8
static struct nof_seats_mask masks[RANKS];
static struct nof_seat ranks[RANKS];

/* Each of text is a process: 'a' may use CPUs 0 and 1, 'b' 2 and 3, 'c' the last two, '*' all of these, a digit that one, '-' none. */
static int left(const char *text)
{
    static const struct {
        char name;
        uint64_t first, last;
    } sets[] = {{'a', 3, 0}, {'b', 12, 0}, {'c', 0, 3ull << 62}, {'*', 15, 3ull << 62}, {'-', 0, 0}};
    uint32_t n = 0;
    memset(masks, 0, sizeof(masks));
    for (; text[n] != '\0'; n++) {
        ranks[n].may = &masks[n];
        if (text[n] >= '0' && text[n] <= '9')
            masks[n].word[0] = 1ull << (text[n] - '0');
        for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
            if (sets[i].name == text[n]) {
                masks[n].word[0] = sets[i].first;
                masks[n].word[NOF_SEATS_WORDS - 1] = sets[i].last;
            }
    }
    return nof_seats_left(ranks, n);
}

static void free_processes_share_what_they_may_use(void **state)
{
    (void)state;
    assert_int_equal(left("*"), 5);
    assert_int_equal(left("******"), 0);
    assert_int_equal(left("*******"), -1);
}

static void pinned_ones_are_counted_together(void **state)
{
    (void)state;
    assert_int_equal(left("01"), 0);
    assert_int_equal(left("00"), -1);
    assert_int_equal(left("aabb"), 0);
    assert_int_equal(left("aaab"), -1);
    assert_int_equal(left("abc"), 3);
}

/* In any order. */
static void who_may_use_more_leaves_its_place_to_who_may_not(void **state)
{
    (void)state;
    assert_int_equal(left("*a0"), 3);
    assert_int_equal(left("0a*"), 3);
    assert_int_equal(left("*aa*b*"), 0);
    assert_int_equal(left("*a0a"), -1);
}

static void who_may_use_none_has_none(void **state)
{
    (void)state;
    assert_int_equal(left("-"), -1);
    assert_int_equal(left("*-"), -1);
}

static void this_process_may_use_one(void **state)
{
    struct nof_seats_mask mine;
    struct nof_seat rank = {.may = &mine};
    (void)state;
    nof_seats_mine(&mine);
    assert_true(nof_seats_left(&rank, 1) >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_processes_share_what_they_may_use),
        cmocka_unit_test(pinned_ones_are_counted_together),
        cmocka_unit_test(who_may_use_more_leaves_its_place_to_who_may_not),
        cmocka_unit_test(who_may_use_none_has_none),
        cmocka_unit_test(this_process_may_use_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
