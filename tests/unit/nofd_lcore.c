/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The thread of a NIC core: errands are done there and waited for, and a wake costs a system call only while it sleeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "nofd/sys/lcore.h"

static struct nofd_lcore lcore;
static int main_fd;

static bool readable(int fd)
{
    struct pollfd look = {.fd = fd, .events = POLLIN};

    return poll(&look, 1, 0) == 1;
}

static int start(void **state)
{
    (void)state;
    main_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return main_fd < 0 ? -1 : nofd_lcore_init(&lcore, 3, main_fd);
}

static int end(void **state)
{
    (void)state;
    nofd_lcore_fini(&lcore);
    close(main_fd);
    assert_int_equal(lcore.epoll_fd, -1);
    return 0;
}

static void *serve(void *arg)
{
    while (!nofd_lcore_stopped(&lcore))
        nofd_lcore_serve(&lcore);
    return arg;
}

struct visit {
    pthread_t by;
    unsigned n;
};

static void visit(struct nofd_lcore *at, void *arg)
{
    struct visit *v = arg;

    v->by = pthread_self();
    v->n += at->index;
}

static void errands_are_done_there_one_after_the_other(void **state)
{
    struct visit v = {0};
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
    for (unsigned i = 0; i < 100; i++) {
        nofd_lcore_run(&lcore, visit, &v);
        assert_int_equal(v.n, 3 * (i + 1));
    }
    assert_true(pthread_equal(v.by, thread));
    nofd_lcore_stop(&lcore);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int __real_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until);
int __wrap_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until);

static unsigned late_waits; /* that end at once, as one does that was stopped beyond its time */

int __wrap_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
    if (late_waits == 0)
        return __real_sem_clockwait(sem, clock, until);
    late_waits--;
    errno = ETIMEDOUT;
    return -1;
}

/* The thread that waits and the one that answers were stopped together. */
static void a_daemon_that_was_stopped_waits_for_the_answer(void **state)
{
    struct visit v = {0};
    pthread_t thread;

    (void)state;
    late_waits = 1;
    assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
    nofd_lcore_run(&lcore, visit, &v);
    assert_int_equal(late_waits, 0);
    assert_int_equal(v.n, 3);
    nofd_lcore_stop(&lcore);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* There is no way back. */
static void a_core_that_never_answers_ends_the_daemon(void **state)
{
    struct visit v = {0};
    int status;
    pid_t pid;

    (void)state;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        late_waits = UINT_MAX;
        nofd_lcore_run(&lcore, visit, &v); /* which nobody serves */
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

static int ends_a_sleep(void)
{
    struct epoll_event event;

    return epoll_wait(lcore.epoll_fd, &event, 1, 0);
}

static void a_socket_that_was_full_ends_a_sleep_when_it_has_room(void **state)
{
    char bytes[4096] = {0};
    int fd[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
    while (write(fd[0], bytes, sizeof(bytes)) > 0)
        ;
    assert_int_equal(nofd_lcore_watch_room(&lcore, fd[0]), 0);
    assert_int_equal(ends_a_sleep(), 0);
    while (read(fd[1], bytes, sizeof(bytes)) > 0)
        ;
    assert_int_equal(ends_a_sleep(), 1);
    nofd_lcore_unwatch(&lcore, fd[0]);
    assert_int_equal(nofd_lcore_watch(&lcore, fd[0], false), 0); /* room does not matter */
    assert_int_equal(ends_a_sleep(), 0);
    assert_int_equal(write(fd[1], bytes, 1), 1);
    assert_int_equal(ends_a_sleep(), 1);
    close(fd[0]);
    close(fd[1]);
}

static void who_is_awake_is_not_woken(void **state)
{
    (void)state;
    nofd_lcore_wake(&lcore);
    assert_false(readable(lcore.wake_fd));
    lcore.asleep = NOFD_ASLEEP;
    nofd_lcore_wake(&lcore);
    assert_true(readable(lcore.wake_fd));
    assert_true(nofd_lcore_due(&lcore));
    assert_true(readable(lcore.epoll_fd));
}

static void a_stop_ends_a_sleep(void **state)
{
    (void)state;
    assert_false(nofd_lcore_wanted(&lcore));
    lcore.asleep = 1;
    nofd_lcore_stop(&lcore);
    assert_true(nofd_lcore_wanted(&lcore));
    assert_true(nofd_lcore_stopped(&lcore));
    assert_true(readable(lcore.epoll_fd));
}

static void what_is_watched_ends_a_sleep_until_it_is_not(void **state)
{
    int fd = eventfd(1, EFD_CLOEXEC);

    (void)state;
    assert_int_equal(nofd_lcore_watch(&lcore, fd, false), 0);
    assert_true(readable(lcore.epoll_fd));
    nofd_lcore_unwatch(&lcore, fd);
    assert_false(readable(lcore.epoll_fd));
    assert_true(nofd_lcore_watch(&lcore, -1, true) < 0);
    close(fd);
}

static void an_edge_is_told_once_per_write(void **state)
{
    struct epoll_event event;
    int fd = eventfd(1, EFD_CLOEXEC);

    (void)state;
    assert_int_equal(nofd_lcore_watch(&lcore, fd, true), 0);
    assert_int_equal(epoll_wait(lcore.epoll_fd, &event, 1, 0), 1);
    assert_int_equal(epoll_wait(lcore.epoll_fd, &event, 1, 0), 0);
    assert_int_equal(eventfd_write(fd, 1), 0);
    assert_int_equal(epoll_wait(lcore.epoll_fd, &event, 1, 0), 1);
    close(fd);
}

static void main_is_told_however_often(void **state)
{
    (void)state;
    assert_int_equal(eventfd_write(main_fd, UINT64_MAX - 1), 0); /* full */
    nofd_lcore_tell_main(&lcore);
    assert_true(readable(main_fd));
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(errands_are_done_there_one_after_the_other),
        EACH(a_daemon_that_was_stopped_waits_for_the_answer),
        EACH(a_core_that_never_answers_ends_the_daemon),
        EACH(who_is_awake_is_not_woken),
        EACH(a_socket_that_was_full_ends_a_sleep_when_it_has_room),
        EACH(a_stop_ends_a_sleep),
        EACH(what_is_watched_ends_a_sleep_until_it_is_not),
        EACH(an_edge_is_told_once_per_write),
        EACH(main_is_told_however_often),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
