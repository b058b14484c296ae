/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What people type: numbers with units, names of features, and what is nearest to a wrong one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nofd/sys/options.h"
#include "nof_private/nearest.h"
#include "nof_private/units.h"

static void sizes_have_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},          {"512", 512},    {"512B", 512},     {"64KiB", 65536},     {"64k", 65536},
                {"64 KiB", 65536}, {"64kB", 64000}, {"1.5M", 1572864}, {"2GiB", 2147483648u}};
    static const char *const bad[] = {"", "KiB", "-1", "1X", "1 2", "1e400", "nan", "0x10KiBs"};
    uint64_t n;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(nofd_units_bytes(good[i].text, &n), 0);
        assert_int_equal(n, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(nofd_units_bytes(bad[i], &n), -1);
}

static void rates_and_times_have_units(void **state)
{
    uint64_t n;

    (void)state;
    assert_int_equal(nofd_units_rate("10Gbit/s", &n), 0);
    assert_int_equal(n, 10000000000u);
    assert_int_equal(nofd_units_rate("100M", &n), 0);
    assert_int_equal(n, 100000000u);
    assert_int_equal(nofd_units_rate("none", &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(nofd_units_rate("fast", &n), -1);
    assert_int_equal(nofd_units_time("50", 1000, &n), 0);
    assert_int_equal(n, 50000);
    assert_int_equal(nofd_units_time("1.5ms", 1000, &n), 0);
    assert_int_equal(n, 1500000);
    assert_int_equal(nofd_units_time("1h", 1000, &n), -1);
}

static void probabilities_are_between_0_and_1(void **state)
{
    double p;

    (void)state;
    assert_int_equal(nofd_units_share("2%", &p), 0);
    assert_true(p > 0.0199 && p < 0.0201);
    assert_int_equal(nofd_units_share("1", &p), 0);
    assert_int_equal(nofd_units_share("1.01", &p), -1);
    assert_int_equal(nofd_units_share("-0.1", &p), -1);
    assert_int_equal(nofd_units_share("nan", &p), -1);
    assert_int_equal(nofd_units_share("", &p), -1);
}

static void numbers_and_addresses_are_read_whole(void **state)
{
    uint64_t n;
    uint32_t ip4;

    (void)state;
    assert_int_equal(nofd_units_number("7", 1, 9, &n), 0);
    assert_int_equal(nofd_units_number("0", 1, 9, &n), -1);
    assert_int_equal(nofd_units_number("7x", 1, 9, &n), -1);
    assert_int_equal(nofd_units_number("-7", 0, UINT64_MAX, &n), -1);
    assert_int_equal(nofd_units_ip4("10.0.0.1", &ip4), 0);
    assert_int_equal(ip4, 0x0a000001);
    assert_int_equal(nofd_units_ip4("10.0.0", &ip4), -1);
}

static void the_nearest_name_is_found(void **state)
{
    static const char *const names[] = {"pacing", "congestion", "idle"};
    char text[64];

    (void)state;
    assert_string_equal(nof_nearest("idel", names, 3), "idle");
    assert_string_equal(nof_nearest("Idle", names, 3), "idle");
    assert_string_equal(nof_nearest("passing", names, 3), "pacing");
    assert_string_equal(nof_nearest("con", names, 3), "congestion");
    assert_null(nof_nearest("multicast", names, 3));
    assert_null(nof_nearest("x", names, 0));
    /* What need not have been meant for any is near only by a slip. */
    assert_string_equal(nof_nearest_slip("pacin", names, 3), "pacing");
    assert_string_equal(nof_nearest_slip("congesiton", names, 3), "congestion");
    assert_string_equal(nof_nearest_slip("idel", names, 3), "idle");
    assert_null(nof_nearest_slip("ice", names, 3));
    assert_string_equal(nof_nearest("ice", names, 3), "idle");
    assert_null(nof_nearest_slip("id", names, 3));
    assert_null(nof_nearest_slip("con", names, 3));
    assert_null(nof_nearest_slip("conges", names, 3));
    nof_nearest_ask("pacng", names, 3, text, sizeof(text));
    assert_string_equal(text, "; did you mean \"pacing\"?");
    nof_nearest_ask("multicast", names, 3, text, sizeof(text));
    assert_string_equal(text, "");
}

static void features_are_set_by_name_within_their_bounds(void **state)
{
    unsigned feature;
    uint64_t value;
    char err[NOFD_ERROR_BYTES];
    char text[32];

    (void)state;
    assert_int_equal(nofd_options_feature("pacing", "off", &feature, &value, err, sizeof(err)), 0);
    assert_int_equal(feature, NOF_F_PACING);
    assert_int_equal(value, 0);
    assert_int_equal(nofd_options_feature("pacing", "true", &feature, &value, err, sizeof(err)), 0);
    assert_int_equal(value, 1);
    assert_int_equal(nofd_options_feature("idle", "sleep", &feature, &value, err, sizeof(err)), 0);
    assert_int_equal(value, 3);
    nofd_options_feature_text(feature, value, text, sizeof(text));
    assert_string_equal(text, "sleep");
    assert_int_equal(nofd_options_feature("eager_max_bytes", "8KiB", &feature, &value, err, sizeof(err)), 0);
    assert_int_equal(value, 8192);
    assert_int_equal(nofd_options_feature("eager_max_bytes", "1MiB", &feature, &value, err, sizeof(err)), -1);
    assert_int_equal(nofd_options_feature("idle", "slee", &feature, &value, err, sizeof(err)), -1);
    assert_non_null(strstr(err, "auto|busy|yield|sleep"));
    assert_int_equal(nofd_options_feature("pasing", "on", &feature, &value, err, sizeof(err)), -1);
    assert_non_null(strstr(err, "\"pacing\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(rates_and_times_have_units),
        cmocka_unit_test(probabilities_are_between_0_and_1),
        cmocka_unit_test(numbers_and_addresses_are_read_whole),
        cmocka_unit_test(the_nearest_name_is_found),
        cmocka_unit_test(features_are_set_by_name_within_their_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
