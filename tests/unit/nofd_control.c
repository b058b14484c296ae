/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The control socket: one answer a request, in order, and no more of the main thread than a user may have. The door is a
 * stand-in that lets in whom the test says, and so is the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "nofd/control/control.h"
#include "nofd/control/daemon.h"
#include "nofd/control/rpc.h"
#include "nofd/sys/clock.h"

#define OWNER 1000u
#define STATUS "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}\n"
#define DOWN "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"down\"}\n"

static struct nofd d;
static struct nofd_door_config door;
static uint64_t clock_ns;
static unsigned asked;
static size_t answer_bytes; /* of status; 0: short */
static char err[NOFD_ERROR_BYTES];

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
uid_t __wrap_geteuid(void);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
    (void)id;
    ts->tv_sec = (time_t)(clock_ns / NOFD_S);
    ts->tv_nsec = (long)(clock_ns % NOFD_S);
    return 0;
}

uid_t __wrap_geteuid(void)
{
    return OWNER;
}

int nofd_door_open(struct nofd_door *of, struct nofd_loop *loop, struct nofd_ticks *ticks,
                   const struct nofd_door_config *cfg, char *why, size_t why_bytes)
{
    (void)why;
    (void)why_bytes;
    assert_ptr_equal(of, &d.control_door);
    assert_ptr_equal(loop, &d.loop);
    assert_ptr_equal(ticks, &d.ticks);
    door = *cfg;
    return 0;
}

void nofd_door_close(struct nofd_door *of)
{
    assert_ptr_equal(of, &d.control_door);
}

void nofd_maybe_done(struct nofd *of)
{
    (void)of;
}

bool nofd_is_for_all(const struct nofd *of)
{
    return !of->options.private_job;
}

json_t *nofd_rpc_status(struct nofd *of, const json_t *params, struct nofd_rpc_error *error)
{
    json_t *text;
    char *x;

    (void)of;
    (void)params;
    (void)error;
    asked++;
    if (answer_bytes == 0)
        return json_integer(asked);
    x = malloc(answer_bytes);
    memset(x, 'x', answer_bytes);
    text = json_stringn(x, answer_bytes);
    free(x);
    return text;
}

json_t *nofd_rpc_down(struct nofd *of, const json_t *params, struct nofd_rpc_error *error)
{
    return nofd_rpc_status(of, params, error);
}

#define UNUSED(name) \
    json_t *name(struct nofd *of, const json_t *params, struct nofd_rpc_error *error) \
    { \
        return nofd_rpc_status(of, params, error); \
    }
UNUSED(nofd_rpc_stats)
UNUSED(nofd_rpc_endpoints)
UNUSED(nofd_rpc_features)
UNUSED(nofd_rpc_set)
UNUSED(nofd_rpc_link)
UNUSED(nofd_rpc_impair)

static void open_control(bool private_job)
{
    d.options.private_job = private_job;
    d.options.idle_timeout_ns = 5 * NOFD_S;
    nofd_allowances_init(&d.shares, private_job, OWNER, 100 * NOFD_MS, clock_ns);
    d.ticks.first = NULL;
    assert_int_equal(nofd_control_open(&d, err, sizeof(err)), 0);
}

static int start(void **state)
{
    (void)state;
    memset(&d, 0, sizeof(d));
    clock_ns = 100 * NOFD_S;
    asked = 0;
    answer_bytes = 0;
    if (nofd_loop_init(&d.loop) != 0 || nofd_ticks_init(&d.ticks, &d.loop) != 0)
        return -1;
    nofd_loop_remove(&d.loop, &d.ticks.watch); /* ticks come when the test says */
    open_control(false);
    return 0;
}

static int end(void **state)
{
    (void)state;
    nofd_control_close(&d);
    close(d.ticks.watch.fd);
    close(d.loop.epoll_fd);
    return d.nclients == 0 && d.shares.other_clients == 0 && d.shares.other_backlog_bytes == 0 ? 0 : -1;
}

/* Somebody connects: his end. */
static int connect_as(uid_t uid)
{
    struct ucred cred = {.pid = 1, .uid = uid, .gid = uid};
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    door.admit(door.owner, pair[0], &cred);
    return pair[1];
}

/* One thing that happened is seen to. */
static bool step(void)
{
    struct epoll_event event;
    struct nofd_watch *watch;

    if (epoll_wait(d.loop.epoll_fd, &event, 1, 0) != 1)
        return false;
    watch = event.data.ptr;
    watch->fn(watch, event.events);
    return true;
}

static void steps(void)
{
    while (step())
        continue;
}

static void tick(void)
{
    for (struct nofd_tick *at = d.ticks.first; at != NULL; at = at->next)
        (void)at->fn(at);
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static const char *hear(int fd)
{
    static char text[8192];
    ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

static bool hung_up(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void requests_are_answered_one_a_turn_in_their_order(void **state)
{
    int fd = connect_as(OWNER);

    (void)state;
    say(fd, STATUS STATUS "\n" STATUS);
    assert_true(step());
    assert_int_equal(asked, 1);
    steps();
    assert_int_equal(asked, 3); /* an empty line asks nothing */
    assert_string_equal(hear(fd), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n"
                                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":2}\n"
                                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":3}\n");
    close(fd);
    steps();
    assert_int_equal(d.nclients, 0);
}

static void a_request_may_come_in_pieces_and_its_last_without_a_newline(void **state)
{
    int fd = connect_as(OWNER);

    (void)state;
    say(fd, "{\"jsonrpc\":\"2.0\",");
    steps();
    say(fd, "\"id\":7,\"method\":\"status\"}");
    steps();
    assert_int_equal(asked, 0);
    shutdown(fd, SHUT_WR);
    steps();
    assert_string_equal(hear(fd), "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1}\n");
    assert_true(hung_up(fd));
    close(fd);
}

static void a_line_that_is_too_long_is_told_and_ends_it(void **state)
{
    static char line[NOFD_CONTROL_LINE_BYTES];
    int fd = connect_as(OWNER);

    (void)state;
    memset(line, 'x', sizeof(line));
    for (size_t at = 0; at < sizeof(line);) {
        ssize_t n = send(fd, line + at, sizeof(line) - at, MSG_NOSIGNAL);

        at += n > 0 ? (size_t)n : 0;
        steps();
    }
    assert_string_equal(hear(fd), NOFD_RPC_TOO_LONG "\n");
    assert_true(hung_up(fd));
    assert_int_equal(d.nclients, 0);
    close(fd);
}

static void what_changes_something_is_for_the_owner_and_root(void **state)
{
    static const struct {
        uid_t uid;
        bool may;
    } users[] = {{OWNER, true}, {0, true}, {2000, false}};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        int fd = connect_as(users[i].uid);

        say(fd, DOWN STATUS);
        steps();
        assert_int_equal(asked, users[i].may ? 2 : 1);
        assert_int_equal(strstr(hear(fd), "-32000") == NULL, users[i].may);
        asked = 0;
        close(fd);
        steps();
    }
}

static void a_private_daemon_turns_strangers_away(void **state)
{
    int fd;

    (void)state;
    open_control(true);
    fd = connect_as(2000);
    assert_non_null(strstr(hear(fd), "private to another user"));
    assert_true(hung_up(fd));
    assert_int_equal(d.nclients, 0);
    close(fd);
    fd = connect_as(0);
    assert_int_equal(d.nclients, 1);
    close(fd);
}

static void a_user_has_so_many_connections(void **state)
{
    int fd[65];

    (void)state;
    for (unsigned i = 0; i < 8; i++)
        fd[i] = connect_as(2000);
    fd[8] = connect_as(2000);
    assert_non_null(strstr(hear(fd[8]), "as many connections"));
    assert_true(hung_up(fd[8]));
    assert_int_equal(d.nclients, 8);
    for (unsigned i = 0; i <= 8; i++)
        close(fd[i]);
    steps();
    for (unsigned i = 0; i < 65; i++)
        fd[i] = connect_as(OWNER);
    assert_int_equal(d.nclients, 64);
    assert_true(*hear(fd[64]) != '\0');
    for (unsigned i = 0; i < 65; i++)
        close(fd[i]);
    steps();
}

static void of_many_users_the_one_with_most_makes_room(void **state)
{
    int fd[64], late;
    unsigned n = 0;

    (void)state;
    for (uid_t uid = 2000; uid < 2008; uid++)
        for (unsigned i = 0; i < 8; i++)
            fd[n++] = connect_as(uid);
    late = connect_as(3000);
    assert_string_equal(hear(late), "");
    say(late, STATUS);
    steps();
    assert_int_equal(asked, 1);
    assert_int_equal(d.shares.other_clients, 64);
    for (unsigned i = 0, gone = 0; i < n; i++) {
        gone += hung_up(fd[i]);
        assert_true(gone <= 1);
        close(fd[i]);
    }
    close(late);
    steps();
}

static void nothing_is_read_while_an_answer_waits_to_be_taken(void **state)
{
    int fd = connect_as(OWNER);
    unsigned rounds = 0;

    (void)state;
    answer_bytes = 4u << 20;
    say(fd, STATUS STATUS);
    steps();
    assert_int_equal(asked, 1);
    answer_bytes = 0;
    while (asked < 2 && rounds++ < 100000) {
        (void)hear(fd);
        steps();
    }
    assert_int_equal(asked, 2);
    close(fd);
    steps();
}

static void what_others_do_not_take_has_an_end(void **state)
{
    int fd[20];
    unsigned refused = 0;

    (void)state;
    answer_bytes = 10u << 20;
    for (unsigned i = 0; i < 10; i++) {
        fd[i] = connect_as(2000 + i);
        say(fd[i], STATUS);
        steps();
        assert_true(d.shares.other_backlog_bytes < 64u << 20);
        refused += strstr(hear(fd[i]), "longer than 16 MiB") != NULL;
    }
    assert_int_equal(asked, 10);
    assert_int_equal(refused, 4);
    for (unsigned i = 0; i < 10; i++)
        close(fd[i]);
    steps();
    answer_bytes = 17u << 20; /* and one alone, too */
    fd[0] = connect_as(OWNER);
    say(fd[0], STATUS);
    steps();
    assert_string_equal(hear(fd[0]), NOFD_RPC_ANSWER_TOO_LONG "\n");
    close(fd[0]);
    steps();
}

static void who_asks_nothing_is_dropped_in_the_end(void **state)
{
    int idle = connect_as(OWNER), busy = connect_as(OWNER);

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        clock_ns += 4 * NOFD_S;
        say(busy, STATUS);
        steps();
        tick();
        assert_int_equal(hung_up(idle), i > 0);
        assert_true(*hear(busy) != '\0');
    }
    close(idle);
    close(busy);
    steps();
}

static void in_a_private_daemon_he_may_stay(void **state)
{
    int fd;

    (void)state;
    open_control(true);
    fd = connect_as(OWNER);
    clock_ns += 1000 * NOFD_S;
    tick();
    assert_int_equal(d.nclients, 1);
    close(fd);
}

static void who_has_no_time_left_waits_and_goes_on(void **state)
{
    int fd = connect_as(2000);

    (void)state;
    nofd_allowance_charge(&d.shares, nofd_allowance_enter(&d.shares, 2000, clock_ns), 10 * NOFD_S);
    say(fd, STATUS);
    steps();
    tick();
    steps();
    assert_int_equal(asked, 0);
    clock_ns += 1000 * NOFD_S; /* earned again; waiting was not idling */
    tick();
    steps();
    assert_int_equal(asked, 1);
    close(fd);
    steps();
}

static void the_last_answers_are_sent_at_the_end(void **state)
{
    int fd = connect_as(OWNER);

    (void)state;
    say(fd, STATUS);
    assert_true(step());
    nofd_control_close(&d);
    assert_true(*hear(fd) != '\0');
    assert_true(hung_up(fd));
    close(fd);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(requests_are_answered_one_a_turn_in_their_order),
        EACH(a_request_may_come_in_pieces_and_its_last_without_a_newline),
        EACH(a_line_that_is_too_long_is_told_and_ends_it),
        EACH(what_changes_something_is_for_the_owner_and_root),
        EACH(a_private_daemon_turns_strangers_away),
        EACH(a_user_has_so_many_connections),
        EACH(of_many_users_the_one_with_most_makes_room),
        EACH(nothing_is_read_while_an_answer_waits_to_be_taken),
        EACH(what_others_do_not_take_has_an_end),
        EACH(who_asks_nothing_is_dropped_in_the_end),
        EACH(in_a_private_daemon_he_may_stay),
        EACH(who_has_no_time_left_waits_and_goes_on),
        EACH(the_last_answers_are_sent_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
