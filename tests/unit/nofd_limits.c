/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which limit is named when something cannot be had: the one that is in the way, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/resource.h>

#include "nofd/sys/limits.h"

static struct rlimit before;

static int start(void **state)
{
    (void)state;
    return getrlimit(RLIMIT_AS, &before);
}

static int end(void **state)
{
    (void)state;
    return setrlimit(RLIMIT_AS, &before);
}

static void limit_address_space(rlim_t bytes)
{
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = before.rlim_max};

    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void no_descriptor_is_the_limit_of_files(void **state)
{
    (void)state;
    assert_string_equal(nofd_limits_hint(EMFILE), " (EMFILE: raise ulimit -n)");
    assert_string_equal(nofd_limits_hint(EFBIG), " (raise ulimit -f)");
    limit_address_space((rlim_t)1 << 46);
    assert_string_equal(nofd_limits_hint(EMFILE), " (EMFILE: raise ulimit -n)");
}

static void a_limited_address_space_is_named_whatever_the_number(void **state)
{
    static const int why[] = {ENOMEM, EINVAL, 0};

    (void)state;
    limit_address_space((rlim_t)1 << 46);
    for (unsigned i = 0; i < 3; i++)
        assert_string_equal(nofd_limits_hint(why[i]),
                            " (address space is limited, RLIMIT_AS: raise ulimit -v)");
}

static void without_a_limit_nothing_is_blamed(void **state)
{
    (void)state;
    if (before.rlim_max != RLIM_INFINITY)
        skip();
    limit_address_space(RLIM_INFINITY);
    assert_string_equal(nofd_limits_hint(ENOMEM), "");
    assert_string_equal(nofd_limits_hint(ENFILE), "");
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(no_descriptor_is_the_limit_of_files),
        EACH(a_limited_address_space_is_named_whatever_the_number),
        EACH(without_a_limit_nothing_is_blamed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
