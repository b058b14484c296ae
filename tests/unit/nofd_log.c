/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The daemon's messages: where they go, and how many of a kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "nofd/sys/log.h"

static char folder[] = "/tmp/nofd_log.XXXXXX";
static char path[64];
static char err[512];

static int start(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/log", folder);
    return 0;
}

static int end(void **state)
{
    char other[80];

    (void)state;
    snprintf(other, sizeof(other), "%s.1", path);
    unlink(path);
    unlink(other);
    return rmdir(folder);
}

static unsigned lines_of(const char *name, const char *words)
{
    char line[2048];
    unsigned n = 0;
    FILE *file = fopen(name, "r");

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        n += strstr(line, words) != NULL;
    fclose(file);
    return n;
}

static void levels_go_by_their_names(void **state)
{
    (void)state;
    assert_int_equal(nofd_log_parse("error"), NOFD_LOG_ERROR);
    assert_int_equal(nofd_log_parse("debug"), NOFD_LOG_DEBUG);
    assert_int_equal(nofd_log_parse("Debug"), -1);
    nofd_log_set_level(NOFD_LOG_NOTICE);
    assert_int_equal(nofd_log_level(), NOFD_LOG_NOTICE);
}

static void of_one_kind_there_are_only_so_many_lines(void **state)
{
    (void)state;
    assert_int_equal(nofd_log_open(path, err, sizeof(err)), 0);
    nofd_log_started();
    for (unsigned i = 0; i < 3 * NOFD_LOG_ERRORS_MAX; i++)
        nofd_error("a rank causes this, number %u", i);
    nofd_error("and this is another");
    assert_int_equal(lines_of(path, "a rank causes this"), NOFD_LOG_ERRORS_MAX);
    assert_int_equal(lines_of(path, "error: and this is another"), 1);
}

static void what_is_less_than_the_level_is_not_written(void **state)
{
    (void)state;
    nofd_log_set_level(NOFD_LOG_WARNING);
    nofd_notice("too little");
    nofd_warning("enough");
    assert_int_equal(lines_of(path, "too little"), 0);
    assert_int_equal(lines_of(path, "warning: enough"), 1);
}

static void a_file_that_was_moved_is_opened_anew(void **state)
{
    char other[80];

    (void)state;
    snprintf(other, sizeof(other), "%s.1", path);
    assert_int_equal(rename(path, other), 0);
    nofd_warning("to the old one");
    assert_true(nofd_log_reopen());
    nofd_warning("to the new one");
    assert_int_equal(lines_of(other, "to the old one"), 1);
    assert_int_equal(lines_of(path, "to the new one"), 1);
    assert_int_equal(lines_of(path, "to the old one"), 0);
}

static void a_line_is_one_line_however_long(void **state)
{
    static char text[5000];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    nofd_warning("%s", text);
    assert_int_equal(lines_of(path, "xxxx"), 1);
}

static void a_place_that_is_not_there_is_refused(void **state)
{
    (void)state;
    assert_int_equal(nofd_log_open("/nowhere/at/all", err, sizeof(err)), -1);
    assert_non_null(strstr(err, "--log-to"));
    assert_int_equal(nofd_log_open("syslog:/nowhere", err, sizeof(err)), -1);
    assert_false(nofd_log_reopen());
}

static void syslog_gets_a_datagram_with_its_priority(void **state)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char text[1200];
    ssize_t n;

    (void)state;
    snprintf(sun.sun_path, sizeof(sun.sun_path), "%s.1", path);
    unlink(sun.sun_path);
    assert_int_equal(bind(s, (struct sockaddr *)&sun, sizeof(sun)), 0);
    snprintf(text, sizeof(text), "syslog:%s", sun.sun_path);
    assert_int_equal(nofd_log_open(text, err, sizeof(err)), 0);
    nofd_log_started();
    nofd_warning("by datagram");
    n = recv(s, text, sizeof(text) - 1, MSG_DONTWAIT);
    assert_true(n > 0);
    text[n] = '\0';
    assert_memory_equal(text, "<28>", 4); /* daemon, warning */
    assert_true(nofd_log_reopen()); /* SIGHUP is no reason to end */
    assert_non_null(strstr(text, "warning: by datagram"));
    close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_go_by_their_names),
        cmocka_unit_test(of_one_kind_there_are_only_so_many_lines),
        cmocka_unit_test(what_is_less_than_the_level_is_not_written),
        cmocka_unit_test(a_file_that_was_moved_is_opened_anew),
        cmocka_unit_test(a_line_is_one_line_however_long),
        cmocka_unit_test(a_place_that_is_not_there_is_refused),
        cmocka_unit_test(syslog_gets_a_datagram_with_its_priority),
    };

    return cmocka_run_group_tests(tests, start, end);
}
