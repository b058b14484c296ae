/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A socket that strangers connect to: who knocks is told by the kernel, and who makes it work too much waits outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "nofd/sys/clock.h"
#include "nofd/door/door.h"
#include "nofd/sys/log.h"

#define KNOCKS 3u

static struct nofd_loop loop;
static struct nofd_ticks ticks;
static struct nofd_door door;
static char address[64];
static int knockers[KNOCKS];
static unsigned admitted;
static int64_t debt_ns; /* that each one leaves */
static bool was_shut;
static struct rlimit files; /* to be restored when the door has been shut */

static void admit(void *owner, int fd, const struct ucred *cred)
{
    assert_ptr_equal(owner, &admitted);
    assert_int_equal(cred->pid, getpid());
    assert_int_equal(cred->uid, geteuid());
    close(fd);
    if (debt_ns != 0) { /* not by working: on a busy machine much would be earned meanwhile */
        door.time.left_ns = -debt_ns;
        door.time.at_ns = nofd_clock_ns();
    }
    if (++admitted == KNOCKS)
        nofd_loop_stop(&loop);
}

static bool look(struct nofd_tick *tick)
{
    (void)tick;
    was_shut |= door.shut;
    if (door.shut && files.rlim_cur != 0)
        (void)setrlimit(RLIMIT_NOFILE, &files);
    return false;
}

static struct nofd_tick looker = {.fn = look};

static int knock(void)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(sun.sun_path, address, strlen(address));
    sun.sun_path[0] = '\0';
    assert_int_equal(connect(fd, (struct sockaddr *)&sun,
                             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(address))),
                     0);
    return fd;
}

static int start(void **state)
{
    struct nofd_door_config cfg = {
        .address = address, .type = SOCK_STREAM, .admit = admit, .owner = &admitted};
    char err[NOFD_ERROR_BYTES];

    (void)state;
    nofd_log_set_level(NOFD_LOG_ERROR);
    admitted = 0;
    debt_ns = 0;
    was_shut = false;
    files.rlim_cur = 0;
    snprintf(address, sizeof(address), "@nofd-door-%d", (int)getpid());
    if (nofd_loop_init(&loop) != 0 || nofd_ticks_init(&ticks, &loop) != 0)
        return -1;
    looker.next = NULL;
    if (nofd_door_open(&door, &loop, &ticks, &cfg, err, sizeof(err)) != 0)
        return -1;
    nofd_ticks_add(&ticks, &looker); /* before the door's own */
    for (unsigned i = 0; i < KNOCKS; i++)
        knockers[i] = knock();
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KNOCKS; i++)
        close(knockers[i]);
    nofd_door_close(&door);
    assert_int_equal(door.listener.fd, -1);
    return 0;
}

static void all_who_knock_are_let_in(void **state)
{
    (void)state;
    assert_int_equal(nofd_loop_run(&loop), 0);
    assert_int_equal(admitted, KNOCKS);
    assert_false(door.shut);
}

static void who_makes_it_work_too_much_waits(void **state)
{
    (void)state;
    debt_ns = 20 * NOFD_MS; /* earned back in ten times that */
    assert_int_equal(nofd_loop_run(&loop), 0);
    assert_int_equal(admitted, KNOCKS);
    assert_true(was_shut);
}

/* Without descriptors nobody can be let in: it does not ask again and again, and goes on when there are some. */
static void without_descriptors_it_is_shut_until_there_are_some(void **state)
{
    struct rlimit few;
    int next = dup(0);

    (void)state;
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    few = files;
    few.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(nofd_loop_run(&loop), 0);
    assert_int_equal(admitted, KNOCKS);
    assert_true(was_shut);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(all_who_knock_are_let_in),
        EACH(who_makes_it_work_too_much_waits),
        EACH(without_descriptors_it_is_shut_until_there_are_some),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
