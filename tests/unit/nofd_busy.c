/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies that do not end: told once, by looks and not by the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nofd/dma/busy.h"

#define PID 4711
#define RANK 3u

static struct nofd_busy busy;
static struct nofd_look look;
static pid_t pid;
static uint32_t rank;

static int start(void **state)
{
    (void)state;
    busy = (struct nofd_busy){0};
    look = (struct nofd_look){0};
    pid = 0;
    rank = 0;
    return 0;
}

static unsigned overdue(unsigned looks)
{
    unsigned n = 0;

    for (unsigned i = 0; i < looks; i++)
        n += nofd_look_overdue(&look, &busy, &pid, &rank);
    return n;
}

static void a_copy_that_stays_is_told_once(void **state)
{
    (void)state;
    nofd_busy_begin(&busy, PID, RANK);
    assert_int_equal(overdue(NOFD_LOOKS), 0);
    assert_int_equal(overdue(1), 1);
    assert_int_equal(pid, PID);
    assert_int_equal(rank, RANK);
    assert_int_equal(overdue(10 * NOFD_LOOKS), 0);
}

static void copies_that_come_and_go_are_not(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10 * NOFD_LOOKS; i++) {
        nofd_busy_begin(&busy, PID, RANK);
        assert_int_equal(overdue(1), 0);
        nofd_busy_end(&busy);
    }
    assert_int_equal(overdue(10 * NOFD_LOOKS), 0);
}

/* Seen only while it copies, each time another copy. */
static void the_next_copy_begins_anew(void **state)
{
    (void)state;
    nofd_busy_begin(&busy, PID, RANK);
    assert_int_equal(overdue(NOFD_LOOKS), 0);
    nofd_busy_end(&busy);
    nofd_busy_begin(&busy, PID + 1, RANK);
    assert_int_equal(overdue(NOFD_LOOKS), 0);
    assert_int_equal(overdue(1), 1);
    assert_int_equal(pid, PID + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_copy_that_stays_is_told_once, start),
        cmocka_unit_test_setup(copies_that_come_and_go_are_not, start),
        cmocka_unit_test_setup(the_next_copy_begins_anew, start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
