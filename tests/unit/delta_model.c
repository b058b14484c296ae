/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The model that `nof bench delta` sets beside its figures, with the constants of its paper. */
#include "../../bench/delta_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct nof_delta_model paper = {
    .pages = 100, .delta_pages = 4, .page_us = 91.2, .wire_us = 32.768, .rounds = 4};

static bool is(double value, double expected)
{
    return fabs(value - expected) < 0.005;
}

static void the_paper_s_constants(void **state)
{
    (void)state;
    assert_true(is(nof_delta_ideal(&paper, NOF_DELTA_PAIR, 2), 2.24));
    assert_true(is(nof_delta_ideal(&paper, NOF_DELTA_CASCADE, 2), 2.24));
    assert_true(is(nof_delta_ideal(&paper, NOF_DELTA_CASCADE, 16), 11.78));
    assert_true(is(nof_delta_ideal(&paper, NOF_DELTA_RING, 2), 1.35));
    assert_true(is(nof_delta_ideal(&paper, NOF_DELTA_RING, 16), 1.35));
    assert_true(is(nof_delta_ideal(&paper, NOF_DELTA_REDUCE, 2), 2.24));
    /* By hand: leaf to root five computations, and seven messages, of one child and thrice of two. */
    assert_true(is(nof_delta_ideal(&paper, NOF_DELTA_REDUCE, 16),
                   100 * (5 * 91.2 + 7 * 32.768) / (4 * (5 * 91.2 + 7 * 32.768) + 96 * 91.2)));
}

/* Increments of a whole message are none; a ring of one round has nothing to overlap with but its own computing. */
static void limits(void **state)
{
    struct nof_delta_model m = paper;

    (void)state;
    m.delta_pages = 200;
    assert_true(is(nof_delta_ideal(&m, NOF_DELTA_CASCADE, 16), 1));
    assert_true(is(nof_delta_ideal(&m, NOF_DELTA_REDUCE, 31), 1));
    m.rounds = 1;
    assert_true(is(nof_delta_ideal(&m, NOF_DELTA_RING, 8), 1));
    m = paper;
    m.wire_us = 10 * m.page_us; /* the link is what all wait for, of two children twice */
    m.delta_pages = 1;
    assert_true(is(nof_delta_ideal(&m, NOF_DELTA_REDUCE, 3),
                   100 * (2 + 20) * 91.2 / ((2 + 20) * 91.2 + 99 * 20 * 91.2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_paper_s_constants),
        cmocka_unit_test(limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
