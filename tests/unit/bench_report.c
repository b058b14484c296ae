/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What benches say of figures that they do not have, and of figures that prove nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../bench/lib/report.h"

#define SAID_BYTES 4096

static const char *starved_why(const struct nof_bench_report *report, const char *name)
{
    return json_string_value(json_object_get(report->starved, name));
}

/* nof_bench_end() of an object {"x": null}; what it wrote to stdout and stderr. */
static bool end(struct nof_bench_report *report, char out[SAID_BYTES], char err[SAID_BYTES])
{
    char *texts[2] = {out, err};
    FILE *files[2];
    int kept[2];
    bool all;

    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        files[i] = tmpfile();
        assert_non_null(files[i]);
        kept[i] = dup(i + 1);
        assert_true(dup2(fileno(files[i]), i + 1) >= 0);
    }
    all = nof_bench_end(report, json_pack("{s:n}", "x"));
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        size_t n;

        assert_true(dup2(kept[i], i + 1) >= 0);
        close(kept[i]);
        rewind(files[i]);
        n = fread(texts[i], 1, SAID_BYTES - 1, files[i]);
        texts[i][n] = '\0';
        fclose(files[i]);
    }
    return all;
}

static void a_starved_peer_is_marked(void **state)
{
    static const double steady[] = {100, 90, 115, 100, 105}, apart[] = {100, 80, 111, 100, 100};
    static const double nothing[] = {0, 0, 0};
    struct nof_bench_report report;
    char out[SAID_BYTES], err[SAID_BYTES];

    (void)state;
    nof_bench_begin(&report, "nof bench test", false);
    nof_bench_compared(&report, "steady", steady, 5, 0.99);
    nof_bench_compared(&report, "equal", steady, 5, 1);
    nof_bench_compared(&report, "one run", steady, 1, NAN);
    nof_bench_compared(&report, "no run", steady, 0, 2);
    assert_int_equal(json_object_size(report.starved), 0);
    nof_bench_compared(&report, "apart", apart, 5, NAN);
    nof_bench_compared(&report, "less", steady, 5, 1.01);
    nof_bench_compared(&report, "nothing", nothing, 3, NAN);
    assert_string_equal(starved_why(&report, "apart"), "its 5 runs are 31 % apart");
    assert_string_equal(starved_why(&report, "less"), "ours is 1.01 of it, and cannot be more than 1");
    assert_non_null(strstr(starved_why(&report, "nothing"), "moved nothing"));
    assert_string_equal(nof_bench_cell(&report, "apart", 12.345, 1).text, "12.3*");
    assert_string_equal(nof_bench_cell(&report, "steady", 12.345, 1).text, "12.3");
    assert_string_equal(nof_bench_cell(&report, NULL, 12.345, 1).text, "12.3");
    assert_true(end(&report, out, err));
    assert_non_null(strstr(out, "* starved, proves nothing: apart: its 5 runs are 31 % apart\n"));
    assert_string_equal(err, "");
}

static void a_figure_that_is_missing_is_no_zero(void **state)
{
    struct nof_bench_report report;
    json_t *row = json_pack("{s:f, s:n}", "there", 2.5, "null");
    json_t *number = nof_bench_number(NAN);

    (void)state;
    nof_bench_begin(&report, "nof bench test", false);
    assert_true(nof_bench_real(row, "there") == 2.5);
    assert_true(isnan(nof_bench_real(row, "null")) && isnan(nof_bench_real(row, "absent")));
    assert_true(isnan(nof_bench_median(NULL, 0)));
    assert_true(json_is_null(number));
    assert_string_equal(nof_bench_cell(&report, NULL, NAN, 3).text, "-");
    json_decref(row);
    json_decref(number);
    json_decref(report.skipped);
    json_decref(report.starved);
}

static void a_reason_is_said_once(void **state)
{
    struct nof_bench_report report;
    char out[SAID_BYTES], err[SAID_BYTES], name[16];

    (void)state;
    nof_bench_begin(&report, "nof bench test", false);
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof(name), "figure%d", i);
        nof_bench_skip(&report, name, i == 4 ? "no root" : "no peer");
    }
    nof_bench_skip(&report, "figure4", "another reason of a figure that has one");
    assert_false(end(&report, out, err));
    assert_string_equal(out, "");
    assert_string_equal(err, "nof bench test: figure0, figure1, figure2, ... not measured: no peer\n"
                             "nof bench test: figure4 not measured: no root\n");
}

static void the_object_has_both(void **state)
{
    static const double apart[] = {1, 2};
    struct nof_bench_report report;
    char out[SAID_BYTES], err[SAID_BYTES];
    json_t *said;

    (void)state;
    nof_bench_begin(&report, "nof bench test", true);
    nof_bench_skip(&report, "x", "no peer");
    nof_bench_compared(&report, "y", apart, 2, NAN);
    assert_false(end(&report, out, err));
    said = json_loads(out, 0, NULL);
    assert_non_null(said);
    assert_true(json_is_null(json_object_get(said, "x")));
    assert_string_equal(json_string_value(json_object_get(json_object_get(said, "skipped"), "x")), "no peer");
    assert_non_null(json_object_get(json_object_get(said, "starved"), "y"));
    json_decref(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_starved_peer_is_marked),
        cmocka_unit_test(a_figure_that_is_missing_is_no_zero),
        cmocka_unit_test(a_reason_is_said_once),
        cmocka_unit_test(the_object_has_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
