/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Socket addresses: a dead daemon's is taken over, anybody else's is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "nofd/sys/address.h"

static char folder[] = "/tmp/nofd_address.XXXXXX";
static char path[64];
static char err[NOFD_ERROR_BYTES];

static int start(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/s", folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return rmdir(folder); /* and nothing was left in it */
}

static int listen_at(struct nofd_listener *listener, const char *address)
{
    return nofd_listen(listener, address, SOCK_STREAM, 0600, err, sizeof(err));
}

static void a_live_daemon_is_left_alone(void **state)
{
    struct nofd_listener first, second;
    struct stat st;

    (void)state;
    assert_int_equal(listen_at(&first, path), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(listen_at(&second, path), -EADDRINUSE);
    assert_non_null(strstr(err, "already serves"));
    assert_int_equal(second.fd, -1);
    nofd_unlisten(&second);
    assert_int_equal(stat(path, &st), 0);
    nofd_unlisten(&first);
    assert_int_equal(stat(path, &st), -1);
}

static void a_dead_one_is_replaced(void **state)
{
    struct nofd_listener dead, next;

    (void)state;
    assert_int_equal(listen_at(&dead, path), 0);
    close(dead.fd);
    assert_int_equal(listen_at(&next, path), 0);
    nofd_unlisten(&next);
}

static void only_what_is_ours_is_removed(void **state)
{
    struct nofd_listener old, next;
    struct stat st;

    (void)state;
    assert_int_equal(listen_at(&old, path), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(listen_at(&next, path), 0);
    nofd_unlisten(&old);
    assert_int_equal(stat(path, &st), 0);
    nofd_unlisten(&next);
}

static void what_is_no_socket_is_left_alone(void **state)
{
    struct nofd_listener listener;
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    (void)state;
    close(fd);
    assert_int_equal(listen_at(&listener, path), -EADDRINUSE);
    assert_non_null(strstr(err, "no socket"));
    assert_int_equal(unlink(path), 0);
}

static void an_abstract_address_leaves_nothing(void **state)
{
    struct nofd_listener first, second;
    char name[64];

    (void)state;
    snprintf(name, sizeof(name), "@nofd-unit-%d", (int)getpid());
    assert_int_equal(listen_at(&first, name), 0);
    assert_int_equal(listen_at(&second, name), -EADDRINUSE);
    nofd_unlisten(&first);
    assert_int_equal(listen_at(&second, name), 0);
    nofd_unlisten(&second);
}

static void addresses_have_their_bounds(void **state)
{
    struct nofd_listener listener;
    char text[NOFD_ADDRESS_BYTES + 1];

    (void)state;
    assert_int_equal(listen_at(&listener, ""), -EINVAL);
    assert_int_equal(listen_at(&listener, "@"), -EINVAL);
    memset(text, 'a', sizeof(text));
    text[0] = '@';
    text[NOFD_ADDRESS_BYTES] = '\0';
    assert_int_equal(listen_at(&listener, text), -EINVAL);
    text[NOFD_ADDRESS_BYTES - 1] = '\0';
    assert_int_equal(listen_at(&listener, text), 0);
    nofd_unlisten(&listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_live_daemon_is_left_alone),
        cmocka_unit_test(a_dead_one_is_replaced),
        cmocka_unit_test(only_what_is_ours_is_removed),
        cmocka_unit_test(what_is_no_socket_is_left_alone),
        cmocka_unit_test(an_abstract_address_leaves_nothing),
        cmocka_unit_test(addresses_have_their_bounds),
    };

    return cmocka_run_group_tests(tests, start, end);
}
