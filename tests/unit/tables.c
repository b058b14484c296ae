/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables that code, command line and docs share: counters, features, status texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nof/counters.h"
#include "nof/features.h"
#include "nof/status.h"

/* Lower case, digits, '_' and '.': what a person types and a JSON key needs. */
static void check_name(const char *name)
{
    assert_non_null(name);
    assert_true(strlen(name) > 0 && strlen(name) < 40);
    assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_."), strlen(name));
}

static void counter_names_are_unique(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NOF_COUNTER_COUNT; i++) {
        check_name(nof_counter_info[i].name);
        assert_non_null(strchr(nof_counter_info[i].name, '.'));
        assert_true(strlen(nof_counter_info[i].unit) > 0 && strlen(nof_counter_info[i].help) > 0);
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(nof_counter_info[i].name, nof_counter_info[k].name);
    }
}

static unsigned choices(const char *text)
{
    unsigned n = 1;
    for (; *text != '\0'; text++)
        n += *text == '|';
    return n;
}

static void features_are_within_their_bounds(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NOF_FEATURE_COUNT; i++) {
        const struct nof_feature_info *f = &nof_feature_info[i];
        check_name(f->name);
        assert_true(strlen(f->help) > 0 && strlen(f->choices) > 0);
        assert_true(f->min <= f->initial && f->initial <= f->max);
        if (f->kind != NOF_FEATURE_NUMBER)
            assert_int_equal(choices(f->choices), f->max - f->min + 1);
        if (f->kind == NOF_FEATURE_BOOL)
            assert_int_equal(f->max, 1);
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(f->name, nof_feature_info[k].name);
    }
}

static void every_status_has_its_own_text(void **state)
{
    (void)state;
    static const int all[] = {NOF_OK,        NOF_EAGAIN,    NOF_ENOMATCH,  NOF_ETRUNC,    NOF_ECANCELED,
                              NOF_EFAULT,    NOF_ENOMEM,    NOF_ENOENT,    NOF_EINVAL,    NOF_ENOTSUP,
                              NOF_EVERSION,  NOF_EPERM,     NOF_EPROTO,    NOF_ENICDEAD,  NOF_ELINKDOWN,
                              NOF_EPEERDEAD, NOF_EDISAGREE, NOF_ETIMEDOUT, NOF_EUNPLUGGED};
    const char *unknown = nof_strstatus(-1000);
    assert_non_null(unknown);
    assert_ptr_equal(nof_strstatus(1), unknown);
    unsigned known = 0;
    for (int s = -100; s <= 0; s++)
        known += nof_strstatus(s) != unknown;
    assert_int_equal(known, sizeof all / sizeof all[0]);
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_string_not_equal(nof_strstatus(all[i]), unknown);
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(nof_strstatus(all[i]), nof_strstatus(all[k]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counter_names_are_unique),
        cmocka_unit_test(features_are_within_their_bounds),
        cmocka_unit_test(every_status_has_its_own_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
