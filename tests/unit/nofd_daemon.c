/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When the daemon ends, with which code, and what it leaves behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nofd/control/daemon.h"

static struct nofd d;

static int start(void **state)
{
    (void)state;
    memset(&d, 0, sizeof(d));
    nofd_daemon_init(&d);
    d.exit_code = 1;
    return nofd_loop_init(&d.loop);
}

static int end(void **state)
{
    (void)state;
    close(d.loop.epoll_fd);
    return 0;
}

static void no_door_is_open_at_first(void **state)
{
    (void)state;
    assert_int_equal(d.attach_door.listener.fd, -1);
    assert_int_equal(d.control_door.listener.fd, -1);
}

static void the_first_reason_to_end_is_its_exit_code(void **state)
{
    (void)state;
    assert_false(d.loop.stop);
    nofd_stop(&d, 3);
    nofd_stop(&d, 0);
    assert_true(d.loop.stop);
    assert_int_equal(d.exit_code, 3);
}

static void a_private_daemon_ends_with_its_last_rank_and_client(void **state)
{
    (void)state;
    d.options.private_job = true;
    nofd_maybe_done(&d);
    assert_false(d.loop.stop); /* nobody has come yet */
    d.was_attached = true;
    d.nattached = 1;
    d.nclients = 1;
    nofd_maybe_done(&d);
    assert_false(d.loop.stop);
    d.nattached = 0;
    nofd_maybe_done(&d);
    assert_false(d.loop.stop); /* somebody asks it for its counters */
    d.nclients = 0;
    nofd_maybe_done(&d);
    assert_true(d.loop.stop);
    assert_int_equal(d.exit_code, 0);
}

static void one_that_stays_does_not(void **state)
{
    (void)state;
    d.was_attached = true;
    nofd_maybe_done(&d);
    assert_false(d.loop.stop);
}

static void only_roots_daemon_that_stays_is_for_all(void **state)
{
    pid_t child;
    int status;

    (void)state;
    assert_int_equal(nofd_is_for_all(&d), geteuid() == 0);
    d.options.private_job = true;
    assert_false(nofd_is_for_all(&d));
    d.options.private_job = false;
    child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(0);
        _exit(nofd_is_for_all(&d) ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void bind_in(const char *folder, const char *name, struct nofd_listener *listener)
{
    char err[256], path[200];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (nofd_listen(listener, path, SOCK_STREAM, 0600, err, sizeof(err)) != 0)
        fail_msg("%s", err);
}

static void the_end_without_order_leaves_nothing_either(void **state)
{
    char folder[] = "/tmp/nofd-unit-XXXXXX";
    struct stat st;
    pid_t child;
    int status;

    (void)state;
    assert_non_null(mkdtemp(folder));
    bind_in(folder, "a", &d.attach_door.listener);
    bind_in(folder, "a.ctl", &d.control_door.listener);
    snprintf(d.options.directory, sizeof(d.options.directory), "%s", folder);
    child = fork();
    if (child == 0)
        quick_exit(7);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(stat(folder, &st), -1);
    close(d.attach_door.listener.fd);
    close(d.control_door.listener.fd);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(no_door_is_open_at_first),
        EACH(the_first_reason_to_end_is_its_exit_code),
        EACH(a_private_daemon_ends_with_its_last_rank_and_client),
        EACH(one_that_stays_does_not),
        EACH(only_roots_daemon_that_stays_is_for_all),
        EACH(the_end_without_order_leaves_nothing_either),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
