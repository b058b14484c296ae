/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Endpoints to be failed at the end of a turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nofd/sys/doom.h"

static void the_first_reason_counts_and_the_nic_knows(void **state)
{
    bool any = false;
    struct nofd_doom doom = {.any = &any};

    (void)state;
    nofd_doom_set(&doom, NOF_EFAULT);
    nofd_doom_set(&doom, NOF_EPROTO);
    assert_int_equal(doom.reason, NOF_EFAULT);
    assert_true(any);
}

static void no_reason_is_a_fault_of_protocol(void **state)
{
    bool any = false;
    struct nofd_doom doom = {.any = &any};

    (void)state;
    nofd_doom_set(&doom, NOF_OK);
    assert_int_equal(doom.reason, NOF_EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_reason_counts_and_the_nic_knows),
        cmocka_unit_test(no_reason_is_a_fault_of_protocol),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
