/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wait loop: which sources have which turn, that a change of how they are polled counts while it turns, and that nobody sleeps
 * without a look at all of them. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/publish.h"
#include "base/wait.h"
#include "base/wait_board.h"

/* What the loop asks of the rest of the library. */
struct nof_lib nof_lib;
__thread const char *nof_lib_call;
struct nof_board_place *nof_board;
uint64_t nof_board_nap_ns = UINT64_MAX, nof_publish_due_ns = UINT64_MAX;
static uint64_t now_ns = 1;

uint64_t nof_lib_now_ns(void)
{
    return now_ns += 1000;
}

/* The system's, in our time. */
static uint64_t yield_takes_ns;

int sched_yield(void)
{
    now_ns += yield_takes_ns;
    return 0;
}

void nof_lib_lock(void)
{
}

void nof_lib_unlock(void)
{
}

void nof_lib_die(int exit_code, const char *fmt, ...)
{
    fprintf(stderr, "%s\n", fmt);
    exit(exit_code);
}

void nof_publish(uint64_t at_ns)
{
    (void)at_ns;
}

bool nof_board_begin(const char *call, uint64_t *since_ns, uint64_t at_ns)
{
    (void)call;
    (void)since_ns;
    (void)at_ns;
    return false;
}

void nof_board_end(void)
{
}

void nof_board_clear(void)
{
}

/* Two sources, which tell their looks, and bring what the test says. */
#define LOOKS 8192
static char looked[LOOKS]; /* 'm' memory, 'n' the NIC, 's' a sleep */
static unsigned looks;
static uint32_t near_came, far_came;
static int near_brings, far_brings; /* in each look, so many messages */
static bool near_waited_for = true, near_stands;
static bool near_brings_messages = true; /* not answers to ours */
static struct nof_polling_set how;

static void note(char what)
{
    assert_true(looks < LOOKS - 1);
    looked[looks++] = what;
    looked[looks] = '\0';
}

static int other_poll(void)
{
    return 0;
}

static int near_poll(void)
{
    note('m');
    near_came += near_brings_messages ? (uint32_t)near_brings : 0;
    return near_brings;
}

static bool near_is_awaited(bool standing)
{
    return near_waited_for || (standing && near_stands);
}

static int far_poll(void)
{
    note('n');
    far_came += (uint32_t)far_brings;
    return far_brings;
}

static uint64_t nap(void)
{
    return UINT64_MAX;
}

static void describe(const struct nof_sched *of)
{
    (void)of;
}

static uint32_t rung(void)
{
    return 0;
}

static void sleep_at_bell(uint32_t seen, uint64_t timeout_ns)
{
    (void)seen;
    (void)timeout_ns;
    note('s');
}

static void ring(void)
{
}

static void ask(struct nof_polling_set *set_out)
{
    *set_out = how;
}

/* The far one was there first, as the NIC is. */
static int open_sources(void **state)
{
    static const struct nof_wait_source far = {
        .poll = far_poll, .nap_ns = nap, .describe = describe, .came = &far_came, .polling = ask};
    static const struct nof_wait_source near = {.poll = near_poll,
                                                .nap_ns = nap,
                                                .describe = describe,
                                                .came = &near_came,
                                                .awaited = near_is_awaited};
    static const struct nof_wait_source sleeps_only = {.nap_ns = nap};
    static const struct nof_wait_bell bell = {.count = rung, .sleep = sleep_at_bell, .ring = ring};

    (void)state;
    nof_wait_at(&bell);
    nof_wait_add(&sleeps_only);
    nof_wait_add(&far);
    static const struct nof_wait_source other = {.poll = other_poll, .nap_ns = nap, .describe = describe};
    nof_wait_add(&other); /* brings what others brought: neither near nor far */
    nof_wait_add(&near);
    return 0;
}

static void begin(bool dynamic, uint32_t ratio, uint32_t update)
{
    how = (struct nof_polling_set){.dynamic = dynamic, .ratio = ratio, .update = update};
    nof_wait_polling_changed();
    nof_lib.crowded = false;
    nof_lib.spin_us = 20;
    near_brings = 0;
    far_brings = 0;
    looks = 0;
}

static void steps(struct nof_wait *wait, int n)
{
    while (n-- > 0)
        (void)nof_wait_step(wait);
}

static unsigned count(char what)
{
    unsigned n = 0;
    for (unsigned i = 0; i < looks; i++)
        n += looked[i] == what;
    return n;
}

/* Turns that bring something: the loop never gets beyond the first ones. */
static void of_so_many_turns_one_is_the_nics(void **state)
{
    struct nof_wait wait = NOF_WAIT_START;
    (void)state;
    begin(false, 4, 10);
    near_brings = 1;
    steps(&wait, 2);
    begin(false, 4, 10);
    near_brings = 1;
    while (looks < 2 || looked[looks - 2] != 'n')
        steps(&wait, 1);
    looks = 0;
    steps(&wait, 12);
    assert_string_equal(looked, "mmmnmmmmnmmmmnm");
}

static void turns_go_on_from_wait_to_wait(void **state)
{
    (void)state;
    begin(false, 5, 10);
    for (int i = 0; i < 100; i++) {
        struct nof_wait wait = NOF_WAIT_START;
        steps(&wait, 1);
    }
    assert_in_range(count('n'), 19, 21);
    assert_int_equal(count('m'), 100);
}

/* And it is asked again behind whatever came. */
static void who_waits_for_the_nic_alone_looks_at_it_in_each_turn(void **state)
{
    struct nof_wait wait = NOF_WAIT_START;
    (void)state;
    begin(false, 1000, 10);
    near_waited_for = false;
    steps(&wait, 100);
    assert_int_equal(count('n'), 100);
    assert_int_equal(count('m'), 100);
    far_brings = 1;
    near_waited_for = true;
    steps(&wait, 1);
    far_brings = 0;
    looks = 0;
    steps(&wait, 100);
    assert_in_range(count('n'), 0, 1);
    assert_int_equal(count('m'), 100);
}

/* Receives that stand for whatever comes do not count, unless it is that which is waited for. */
static void standing_receives_count_for_who_waits_for_them(void **state)
{
    (void)state;
    near_stands = true;
    near_waited_for = false;
    for (int standing = 0; standing < 2; standing++) {
        struct nof_wait wait = NOF_WAIT_START;
        wait.standing = standing != 0;
        begin(false, 1000, 10);
        steps(&wait, 100);
        assert_in_range(count('n'), standing ? 0 : 100, standing ? 1 : 100);
        assert_int_equal(count('m'), 100);
    }
    near_stands = false;
    near_waited_for = true;
}

/* In the second turn of a wait, rather than later; what the first one brings is not delayed. */
static void a_look_that_is_due_soon_comes_early(void **state)
{
    (void)state;
    begin(false, 10, 10);
    struct nof_wait wait = NOF_WAIT_START;
    near_brings = 1;
    while (looks < 2 || looked[looks - 2] != 'n')
        steps(&wait, 1);
    steps(&wait, 5); /* the fifth of ten behind the next one */
    near_brings = 0;
    looks = 0;
    steps(&wait, 3);
    assert_string_equal(looked, "mnmm");
}

static void who_asks_looks_at_all(void **state)
{
    (void)state;
    begin(false, 1000, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(nof_wait_poll(), 0);
    assert_string_equal(looked, "nmnmnmnmnmnmnmnmnmnm");
}

/* The pure turns go by the ratio; then each turn looks at both, up to the sleep. */
static void before_a_sleep_all_are_looked_at(void **state)
{
    (void)state;
    for (int crowded = 0; crowded < 2; crowded++) {
        struct nof_wait wait = NOF_WAIT_START;
        begin(false, 1000, 10);
        nof_lib.crowded = crowded != 0;
        while (count('s') == 0)
            steps(&wait, 1);
        unsigned m = count('m'), n = count('n');
        assert_in_range(m - n, crowded ? 7 : 127, crowded ? 8 : 128);
        assert_true(n >= 1);
        assert_int_equal(looked[looks - 1], 's');
        assert_int_equal(looked[looks - 2], 'm');
        assert_int_equal(looked[looks - 3], 'n');
    }
}

static void a_change_counts_while_it_turns(void **state)
{
    struct nof_wait wait = NOF_WAIT_START;
    (void)state;
    begin(false, 1000, 10);
    near_brings = 1;
    steps(&wait, 10);
    how.ratio = 1;
    for (unsigned i = 0; i <= NOF_WAIT_ASK_TURNS; i++)
        steps(&wait, 1);
    looks = 0;
    steps(&wait, 3);
    assert_string_equal(looked, "nmnmnm");
}

static void it_follows_what_comes(void **state)
{
    struct nof_wait wait = NOF_WAIT_START;
    uint64_t updates = nof_wait_counted[NOF_POLL_COUNT_UPDATES];
    (void)state;
    begin(true, 50, 10);
    steps(&wait, 1);
    near_brings = 1; /* memory alone: 1 of h + 1 turns is the NIC's */
    steps(&wait, 40);
    looks = 0;
    steps(&wait, 1100);
    assert_in_range(count('n'), 99, 101);
    near_brings = 0; /* the NIC alone: each */
    far_brings = 1;
    steps(&wait, 11 * 10 + 1);
    looks = 0;
    steps(&wait, 100);
    assert_int_equal(count('n'), 100);
    assert_true(nof_wait_counted[NOF_POLL_COUNT_UPDATES] > updates + 100);
}

static void looks_are_counted(void **state)
{
    struct nof_wait wait = NOF_WAIT_START;
    uint64_t near_before = nof_wait_counted[NOF_POLL_COUNT_NEAR],
             far_before = nof_wait_counted[NOF_POLL_COUNT_FAR];
    (void)state;
    begin(false, 7, 10);
    near_brings = 1;
    steps(&wait, 50);
    (void)nof_wait_poll();
    assert_int_equal(nof_wait_counted[NOF_POLL_COUNT_NEAR] - near_before, count('m'));
    assert_int_equal(nof_wait_counted[NOF_POLL_COUNT_FAR] - far_before, count('n'));
}

/* One wait, which ends in its n-th step by what source brings it. True: it was slept for. */
static bool slept(int n, int *brings)
{
    struct nof_wait wait = NOF_WAIT_START;
    begin(false, 1, 10);
    steps(&wait, n - 1);
    *brings = 1;
    steps(&wait, 1);
    return count('s') > 0;
}

/* A clock is a microsecond here, and a spin 20 of them. */
static void who_has_a_cpu_spins_for_memory_and_not_for_the_nic(void **state)
{
    (void)state;
    nof_lib.seated = false;
    assert_true(slept(500, &near_brings));
    nof_lib.seated = true;
    assert_false(slept(500, &near_brings));
    for (int i = 0; i < 32; i++)
        (void)slept(300, &far_brings);
    assert_true(slept(500, &far_brings));
    assert_true(slept(500, &near_brings));
    near_brings_messages = false;
    for (int i = 0; i < 8; i++)
        (void)slept(300, &near_brings);
    near_brings_messages = true;
    assert_false(slept(500, &near_brings));
    for (int i = 0; i < 32; i++) /* it brings it too late */
        (void)slept(1800, &near_brings);
    unsigned long long_spins = 0;
    for (int i = 0; i < 16; i++) {
        (void)slept(1800, &near_brings);
        long_spins += strchr(looked, 's') - looked > 600;
    }
    assert_in_range(long_spins, 0, 4);
    nof_lib.seated = false;
}

/* A spin that ended in a sleep takes four from a credit of 32, and nothing comes back with what is late: the ninth is not spun for. */
static void what_comes_too_late_earns_nothing(void **state)
{
    unsigned long_spins = 0;
    (void)state;
    nof_lib.seated = true;
    for (int i = 0; i < 64; i++)
        (void)slept(300, &near_brings);
    for (int i = 0; i < 10; i++) {
        (void)slept(1800, &near_brings);
        long_spins += strchr(looked, 's') - looked > 600;
    }
    assert_int_equal(long_spins, 8);
    nof_lib.seated = false;
}

/* Not for a time, which is theirs for whom it waits; with other threads of the program, which may spin, at once. */
static void who_has_no_cpu_gives_way_twice(void **state)
{
    (void)state;
    nof_lib.seated = false;
    for (int locking = 0; locking < 2; locking++) {
        struct nof_wait wait = NOF_WAIT_START;
        begin(false, 1, 10);
        nof_lib.crowded = true;
        nof_lib.locking = locking != 0;
        nof_lib.spin_us = 1000000;
        while (count('s') == 0)
            steps(&wait, 1);
        assert_int_equal(count('m'), 8 + (locking ? 0 : 2) + 1);
        begin(false, 1, 10);
        far_brings = 1;
        steps(&wait, 1);
        far_brings = 0;
        nof_lib.crowded = true;
        looks = 0;
        while (count('s') == 0)
            steps(&wait, 1);
        assert_int_equal(count('m'), 8 + (locking ? 0 : 2) + 1);
    }
    nof_lib.locking = false;
}

/* What a sleep is worth is the hundredth of a yield for 1 ms: one of 200 that wait is worth it, and one of 50 is not. */
static void threads_do_not_yield_where_that_costs_more_than_it_saves(void **state)
{
    (void)state;
    nof_lib.seated = true;
    for (int locking = 0; locking < 2; locking++) {
        nof_lib.locking = locking != 0;
        for (int each = 200; each >= 50; each -= 150) {
            unsigned sleeps = 0;
            for (int i = 0; i < 2000; i++) {
                yield_takes_ns = i % each == 0 ? 1000000 : 0;
                sleeps += slept(131, &near_brings);
            }
            if (each == 50 && locking)
                assert_in_range(sleeps, 1000, 2000);
            else
                assert_in_range(sleeps, 0, 2000 / each); /* that yield was all of its spin */
        }
    }
    now_ns += 32 * 20000000; /* and is tried again */
    yield_takes_ns = 0;
    assert_false(slept(131, &near_brings));
    nof_lib.locking = false;
    nof_lib.seated = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_so_many_turns_one_is_the_nics),
        cmocka_unit_test(turns_go_on_from_wait_to_wait),
        cmocka_unit_test(who_waits_for_the_nic_alone_looks_at_it_in_each_turn),
        cmocka_unit_test(standing_receives_count_for_who_waits_for_them),
        cmocka_unit_test(a_look_that_is_due_soon_comes_early),
        cmocka_unit_test(who_asks_looks_at_all),
        cmocka_unit_test(before_a_sleep_all_are_looked_at),
        cmocka_unit_test(a_change_counts_while_it_turns),
        cmocka_unit_test(it_follows_what_comes),
        cmocka_unit_test(looks_are_counted),
        cmocka_unit_test(who_has_no_cpu_gives_way_twice),
        cmocka_unit_test(who_has_a_cpu_spins_for_memory_and_not_for_the_nic),
        cmocka_unit_test(what_comes_too_late_earns_nothing),
        cmocka_unit_test(threads_do_not_yield_where_that_costs_more_than_it_saves),
    };
    return cmocka_run_group_tests(tests, open_sources, NULL);
}
