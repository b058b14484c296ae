/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which way a table says: the first row that fits of those for this machine, else of those for all, else the library's own. A line that
 * cannot be read is said with its number, what is wrong, and what to write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "chan/thresholds.h"

#define HERE "Some CPU @ 2.90GHz, 6.1.0-1"

static char error[512];

static void is(const char *text)
{
    assert_int_equal(nof_thresholds_read("t", text, HERE, error, sizeof(error)), 0);
}

/* 's' shm, 'c' single copy, 'a' auto; capital: a row says so. */
static char of(size_t bytes)
{
    bool tabled;
    enum nof_channels way = nof_thresholds_way(bytes, &tabled);
    assert_true(way != NOF_CHANNELS_NIC);
    char name = way == NOF_CHANNELS_SHM ? 's' : way == NOF_CHANNELS_SINGLE_COPY ? 'c' : 'a';
    return (char)(tabled ? name - 'a' + 'A' : name);
}

static void without_rows_6_kib_are_the_border(void **state)
{
    (void)state;
    is("");
    assert_int_equal(of(0), 's');
    assert_int_equal(of(6144), 's');
    assert_int_equal(of(6145), 'a');
    is("\n# nothing\n  \t\n");
    assert_int_equal(of(6145), 'a');
}

static void the_first_row_that_fits(void **state)
{
    (void)state;
    is("512 single-copy 1.0 2.0\n64K shm # why not\n512K shm\n1M single-copy\n");
    assert_int_equal(of(512), 'C');
    assert_int_equal(of(513), 'S');
    assert_int_equal(of(65536), 'S');
    assert_int_equal(of(512 * 1024), 'S');
    assert_int_equal(of(1 << 20), 'C');
    assert_int_equal(of((1 << 20) + 1), 'a'); /* beyond all */
    is("4K shm\n1M auto\n");
    assert_int_equal(of(4096), 'S');
    assert_int_equal(of(6145), 'A');
    is("any auto");
    assert_int_equal(of(6144), 'S');
    assert_int_equal(of(6145), 'A');
    is("any single-copy");
    assert_int_equal(of(1), 'C');
    assert_int_equal(of(SIZE_MAX), 'C');
}

static void rows_are_for_the_machine_that_they_name(void **state)
{
    (void)state;
    is("1K shm\nmachine Other CPU, 6.1.0-1\nany single-copy\nmachine  " HERE " \n4K single-copy\n8K shm\n");
    assert_int_equal(of(1024), 'C');
    assert_int_equal(of(5000), 'S');
    assert_int_equal(of(9000), 'a');
    is("1K single-copy\nmachine Other\nany shm\n");
    assert_int_equal(of(1024), 'C');
    assert_int_equal(of(100000), 'a');
    is("machine " HERE "\n100 single-copy\nmachine Other\n200 single-copy\nmachine " HERE
       "\n300 single-copy\n");
    assert_int_equal(of(150), 'C');
    assert_int_equal(of(301), 's');
}

static void is_bad(const char *text, const char *says)
{
    is("any single-copy\n");
    error[0] = '\0';
    assert_int_equal(nof_thresholds_read("the/table", text, HERE, error, sizeof(error)), -1);
    assert_non_null(strstr(error, says));
    assert_int_equal(of(100000), 'a'); /* and none is left */
    assert_int_equal(of(1), 's');
}

static void what_cannot_be_read_is_told(void **state)
{
    static char many[65 * 16 + 1], longest[600];

    (void)state;
    is_bad("512 shm\nmany shm\n", "the/table:2: 'many' bytes: write the most");
    is_bad("-1 shm\n", "the/table:1: '-1' bytes");
    is_bad("1K\n", "the/table:1: '' is no way of a message by memory: write shm, single-copy or auto");
    is_bad("1K nic\n", "'nic' is no way");
    is_bad("machine Other\n1K pigeon\n", "the/table:2: 'pigeon'"); /* also of another machine */
    is_bad("1K shm always\n", "the/table:1: 'always' is no figure");
    is_bad("machine \n1K shm\n", "the/table:1: 'machine' without a name");
    memset(longest, 'x', sizeof(longest) - 1);
    is_bad(longest, "longer than 511");
    is_bad("64K shm\n512 single-copy\n",
           "the/table:2: this row is never reached, as one before it is for up to 65536 bytes");
    is_bad("any shm\n1M single-copy\n", "the/table:2: this row is never reached");
    is_bad("1K shm\n1K single-copy\n", "the/table:2: this row is never reached");
    is("machine Other\n1M shm\n1K shm\nmachine " HERE "\n1K shm\n"); /* another machine's are only read */
    for (size_t i = 0; i < 65; i++)
        snprintf(&many[i * 16], 17, "%-11zu shm\n", i + 1);
    is_bad(many, "the/table:65: more than 64 rows");
}

static void the_environment_names_a_file(void **state)
{
    char name[] = "/tmp/nof-thresholds-XXXXXX";
    int fd = mkstemp(name);

    (void)state;
    is("");
    assert_true(fd >= 0);
    assert_int_equal(nof_thresholds_open(error, sizeof(error)), 0);
    assert_int_equal(of(1), 's');
    setenv("NOF_CHANNELS_TABLE", name, 1);
    assert_int_equal(write(fd, "2K single-copy\n", 15), 15);
    assert_int_equal(nof_thresholds_open(error, sizeof(error)), 0);
    assert_int_equal(of(2048), 'C');
    assert_int_equal(write(fd, "\0", 1), 1);
    assert_int_equal(nof_thresholds_open(error, sizeof(error)), -1);
    assert_non_null(strstr(error, name));
    assert_non_null(strstr(error, "no table"));
    close(fd);
    unlink(name);
    assert_int_equal(nof_thresholds_open(error, sizeof(error)), -1);
    assert_non_null(strstr(error, "No such file"));
    assert_non_null(strstr(error, "nof bench channels --tune"));
    assert_int_equal(mkfifo(name, 0600), 0); /* for which nobody writes */
    assert_int_equal(nof_thresholds_open(error, sizeof(error)), -1);
    assert_non_null(strstr(error, "no table"));
    unlink(name);
    setenv("NOF_CHANNELS_TABLE", "", 1);
    assert_int_equal(nof_thresholds_open(error, sizeof(error)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_rows_6_kib_are_the_border),
        cmocka_unit_test(the_first_row_that_fits),
        cmocka_unit_test(rows_are_for_the_machine_that_they_name),
        cmocka_unit_test(what_cannot_be_read_is_told),
        cmocka_unit_test(the_environment_names_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
