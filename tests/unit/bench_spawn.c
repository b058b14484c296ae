/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs that benches start: a peer that has told its figures need not find its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../bench/lib/spawn.h"

#define PATIENCE_S 60

static void count_rows(void *ctx, const char *text)
{
    *(unsigned *)ctx += strncmp(text, "row ", 4) == 0;
}

static int peer(const char *script, unsigned *rows_out)
{
    const char *const argv[] = {"sh", "-c", script, NULL};

    *rows_out = 0;
    return nof_bench_spawn_peer(argv, NULL, PATIENCE_S, count_rows, rows_out);
}

static void a_peer_that_never_ends_has_told_its_figures(void **state)
{
    unsigned rows;

    (void)state;
    assert_int_equal(peer("echo row 1; echo row 2; echo " NOF_BENCH_DONE "; exec sleep 3600", &rows), 0);
    assert_int_equal(rows, 2);
}

static void another_program_has_told_them_by_a_text_of_its_own(void **state)
{
    const char *const argv[] = {"sh", "-c", "echo row 1; echo ' Version = 1'; exec sleep 3600", NULL};
    unsigned rows = 0;

    (void)state;
    assert_int_equal(nof_bench_spawn_peer(argv, " Version ", PATIENCE_S, count_rows, &rows), 0);
    assert_int_equal(rows, 1);
}

static void a_peer_that_breaks_off_has_failed(void **state)
{
    unsigned rows;

    (void)state;
    assert_int_not_equal(peer("echo row 1", &rows), 0);
    assert_int_not_equal(peer("exit 3", &rows), 0);
    assert_int_equal(peer("echo row 1; echo " NOF_BENCH_DONE, &rows), 0);
    assert_int_equal(rows, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_that_never_ends_has_told_its_figures),
        cmocka_unit_test(another_program_has_told_them_by_a_text_of_its_own),
        cmocka_unit_test(a_peer_that_breaks_off_has_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
