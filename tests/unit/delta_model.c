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
    /* By hand: what all compute at once, and the messages to the root, one after the other: 1, 1 + 2, 1 + 2 + 2 and 1 + 2 + 2 + 2
     * of them; of increments, those that wait for each other. */
    assert_true(is(nof_delta_ideal(&paper, NOF_DELTA_REDUCE, 2),
                   (9120 + 3276.8) / (4 * (91.2 + 32.768) + 96 * 91.2)));
    assert_true(is(nof_delta_ideal(&paper, NOF_DELTA_REDUCE, 4),
                   (9120 + 3 * 3276.8) / (4 * (91.2 + 2 * 32.768) + 96 * 91.2)));
    assert_true(is(nof_delta_ideal(&paper, NOF_DELTA_REDUCE, 8),
                   (9120 + 5 * 3276.8) / (4 * (91.2 + 4 * 32.768) + 96 * 91.2)));
    assert_true(is(nof_delta_ideal(&paper, NOF_DELTA_REDUCE, 16),
                   (9120 + 7 * 3276.8) / (4 * (91.2 + 6 * 32.768) + 96 * 91.2)));
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
    assert_true(is(nof_delta_ideal(&m, NOF_DELTA_REDUCE, 3), 100.0 * (1 + 20) / ((1 + 20) + 99 * 20)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_paper_s_constants),
        cmocka_unit_test(limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
