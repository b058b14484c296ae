/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ticks of the main thread: they come while somebody needs them, and no longer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nofd/sys/ticks.h"

struct ticker {
    struct nofd_tick tick; /* first member */
    unsigned calls;
    unsigned wanted; /* calls after which it needs no more */
};

static struct nofd_loop loop;
static struct nofd_ticks ticks;
static struct ticker a, b, stopper;

static bool count(struct nofd_tick *tick)
{
    struct ticker *t = (struct ticker *)tick;

    return ++t->calls < t->wanted;
}

/* Ends the test when the ticks are about to end, or too many have come. */
static bool stop(struct nofd_tick *tick)
{
    (void)tick;
    if (++stopper.calls == stopper.wanted)
        nofd_loop_stop(&loop);
    return false;
}

static void start(unsigned ticks_of_test)
{
    a = (struct ticker){.tick.fn = count};
    b = (struct ticker){.tick.fn = count};
    stopper = (struct ticker){.tick.fn = stop, .wanted = ticks_of_test};
    assert_int_equal(nofd_loop_init(&loop), 0);
    assert_int_equal(nofd_ticks_init(&ticks, &loop), 0);
    nofd_ticks_add(&ticks, &stopper.tick);
    nofd_ticks_add(&ticks, &a.tick);
    nofd_ticks_add(&ticks, &b.tick);
}

static void all_are_called_until_the_last_needs_no_more(void **state)
{
    (void)state;
    start(3);
    a.wanted = 1;
    b.wanted = 3;
    nofd_ticks_need(&ticks);
    assert_int_equal(nofd_loop_run(&loop), 0);
    assert_int_equal(a.calls, 3);
    assert_int_equal(b.calls, 3);
    assert_false(ticks.running);
}

static bool need_anew(struct nofd_tick *tick)
{
    struct ticker *t = (struct ticker *)tick;

    if (++t->calls == 1)
        nofd_ticks_need(&ticks);
    return false;
}

static void a_need_that_comes_up_in_a_tick_is_not_lost(void **state)
{
    (void)state;
    start(2);
    a.tick.fn = need_anew;
    nofd_ticks_need(&ticks);
    assert_int_equal(nofd_loop_run(&loop), 0);
    assert_int_equal(a.calls, 2);
    assert_false(ticks.running);
}

static void nobody_is_called_unless_needed(void **state)
{
    struct epoll_event event;
    int n;

    (void)state;
    start(1);
    do /* a stop of this process ends it, too */
        n = epoll_wait(loop.epoll_fd, &event, 1, 120);
    while (n < 0 && errno == EINTR);
    assert_int_equal(n, 0);
    assert_false(ticks.running);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_called_until_the_last_needs_no_more),
        cmocka_unit_test(a_need_that_comes_up_in_a_tick_is_not_lost),
        cmocka_unit_test(nobody_is_called_unless_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
