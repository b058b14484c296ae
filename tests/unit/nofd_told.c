/* SPDX-License-Identifier: BSD-3-Clause */
/* What libraries say that they counted is added up word by word; a rank that says nonsense wraps a sum and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nofd/core/told.h"

static void each_word_is_added_up_and_wraps_alone(void **state)
{
    enum { LAST = NOF_LIBRARY_COUNT_MAX - 1 };
    struct nofd_told sum = {0};
    uint64_t one[NOF_LIBRARY_COUNT_MAX] = {[0] = 3, [LAST] = UINT64_MAX};
    uint64_t other[NOF_LIBRARY_COUNT_MAX] = {[0] = 4, [1] = 5, [LAST] = 2};

    (void)state;
    nofd_told_add(&sum, 1, one);
    nofd_told_add(&sum, 6, other);
    assert_int_equal(sum.ranks, 7);
    assert_int_equal(sum.counted[0], 7);
    assert_int_equal(sum.counted[1], 5);
    for (int i = 2; i < LAST; i++)
        assert_int_equal(sum.counted[i], 0);
    assert_int_equal(sum.counted[LAST], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_word_is_added_up_and_wraps_alone)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
