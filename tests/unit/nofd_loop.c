/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The main thread's event loop: who is removed is not called any more, whatever the kernel has told already. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "nofd/sys/loop.h"

#define N 8

struct watcher {
    struct nofd_watch watch; /* first member */
    unsigned calls;
    uint32_t events;
};

static struct nofd_loop loop;
static struct watcher watchers[N];

static void start(void (*fn)(struct nofd_watch *watch, uint32_t events), uint64_t ready)
{
    assert_int_equal(nofd_loop_init(&loop), 0);
    for (unsigned i = 0; i < N; i++) {
        watchers[i] = (struct watcher){.watch = {.fd = eventfd((unsigned)ready, EFD_CLOEXEC), .fn = fn}};
        assert_int_equal(nofd_loop_add(&loop, &watchers[i].watch, EPOLLIN), 0);
    }
}

static unsigned calls(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < N; i++)
        n += watchers[i].calls;
    return n;
}

static void remove_all(struct nofd_watch *watch, uint32_t events)
{
    (void)events;
    ((struct watcher *)watch)->calls++;
    for (unsigned i = 0; i < N; i++) {
        nofd_loop_remove(&loop, &watchers[i].watch);
        close(watchers[i].watch.fd);
    }
    nofd_loop_stop(&loop);
}

static void who_is_removed_is_not_called_any_more(void **state)
{
    (void)state;
    start(remove_all, 1);
    assert_int_equal(nofd_loop_run(&loop), 0);
    assert_int_equal(calls(), 1);
}

static void stop_at_once(struct nofd_watch *watch, uint32_t events)
{
    struct watcher *w = (struct watcher *)watch;

    w->calls++;
    w->events = events;
    nofd_loop_stop(&loop);
}

static void nobody_is_called_after_stop(void **state)
{
    (void)state;
    start(stop_at_once, 1);
    assert_int_equal(nofd_loop_run(&loop), 0);
    assert_int_equal(calls(), 1);
}

static void a_watch_waits_for_what_it_was_changed_to(void **state)
{
    (void)state;
    start(stop_at_once, 0); /* nothing to read, and room to write */
    assert_int_equal(nofd_loop_change(&loop, &watchers[3].watch, EPOLLOUT), 0);
    assert_int_equal(nofd_loop_run(&loop), 0);
    assert_int_equal(calls(), 1);
    assert_int_equal(watchers[3].events, EPOLLOUT);
}

static void what_cannot_be_watched_is_refused(void **state)
{
    struct nofd_watch none = {.fd = -1, .fn = stop_at_once};

    (void)state;
    assert_int_equal(nofd_loop_init(&loop), 0);
    assert_true(nofd_loop_add(&loop, &none, EPOLLIN) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_removed_is_not_called_any_more),
        cmocka_unit_test(nobody_is_called_after_stop),
        cmocka_unit_test(a_watch_waits_for_what_it_was_changed_to),
        cmocka_unit_test(what_cannot_be_watched_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
