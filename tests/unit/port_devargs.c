/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nof/status.h"

#include "port/dpdk/devargs.h"

static void name_arguments_and_interface_are_told_apart(void **state)
{
    struct nof_devargs d;

    (void)state;
    assert_int_equal(nof_devargs_parse("net_af_xdp,iface=eth0,start_queue=1", &d), NOF_OK);
    assert_int_equal(d.kind, NOF_DEVARGS_AF_XDP);
    assert_string_equal(d.name, "net_af_xdp");
    assert_string_equal(d.args, "iface=eth0,start_queue=1");
    assert_string_equal(d.ifname, "eth0");
    assert_true(nof_devargs_has(&d, "start_queue"));
    assert_false(nof_devargs_has(&d, "queue"));
    assert_false(nof_devargs_has(&d, "start"));
}

static void the_kind_follows_from_the_name(void **state)
{
    static const struct {
        const char *text;
        enum nof_devargs_kind kind;
    } rows[] = {
        {"net_af_xdp3,iface=a", NOF_DEVARGS_AF_XDP},
        {"net_af_packet,iface=a", NOF_DEVARGS_AF_PACKET},
        {"net_ring0", NOF_DEVARGS_VDEV},
        {"net_memif,role=server", NOF_DEVARGS_VDEV},
        {"virtio_user0,path=/x", NOF_DEVARGS_VDEV},
        {"0000:03:00.0", NOF_DEVARGS_BUS},
        {"03:00.1,arg=1", NOF_DEVARGS_BUS},
    };
    struct nof_devargs d;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(nof_devargs_parse(rows[i].text, &d), NOF_OK);
        assert_int_equal(d.kind, rows[i].kind);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    char text[2 * NOF_DEVARGS_BYTES];
    struct nof_devargs d;

    (void)state;
    assert_int_equal(nof_devargs_parse("", &d), NOF_EINVAL);
    assert_int_equal(nof_devargs_parse(",iface=eth0", &d), NOF_EINVAL);
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(nof_devargs_parse(text, &d), NOF_EINVAL);
    memcpy(text, "net_x,", 6);
    assert_int_equal(nof_devargs_parse(text, &d), NOF_EINVAL);
    memcpy(text, "net_x,iface=", 12);
    text[100] = '\0';
    assert_int_equal(nof_devargs_parse(text, &d), NOF_EINVAL);
}

static void an_argument_that_does_not_fit_is_not_added(void **state)
{
    char value[NOF_DEVARGS_BYTES];
    struct nof_devargs d;

    (void)state;
    assert_int_equal(nof_devargs_parse("net_ring", &d), NOF_OK);
    assert_int_equal(nof_devargs_add(&d, "a", "1"), NOF_OK);
    assert_int_equal(nof_devargs_add(&d, "b", "2"), NOF_OK);
    memset(value, 'v', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    assert_int_equal(nof_devargs_add(&d, "c", value), NOF_EINVAL);
    assert_string_equal(d.args, "a=1,b=2");
}

static void the_rate_is_ours_and_leaves_the_arguments(void **state)
{
    static const struct {
        const char *text, *args;
        uint64_t rate_bps;
    } rows[] = {
        {"net_x,iface=a", "iface=a", 0},
        {"net_x,rate=1g", "", 1000000000},
        {"net_x,rate=250mbit,iface=a", "iface=a", 250000000},
        {"net_x,iface=a,rate=64k", "iface=a", 64000},
        {"net_x,a=1,rate=9600,b=2", "a=1,b=2", 9600},
    };
    static const char *const wrong[] = {
        "net_x,rate=fast", "net_x,rate=",    "net_x,rate=0",
        "net_x,rate=-1",   "net_x,rate=1gb", "net_x,rate=99999999999999999999g"};
    struct nof_devargs d;
    uint64_t rate_bps;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(nof_devargs_parse(rows[i].text, &d), NOF_OK);
        assert_int_equal(nof_devargs_take_rate(&d, &rate_bps), NOF_OK);
        assert_true(rate_bps == rows[i].rate_bps);
        assert_string_equal(d.args, rows[i].args);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(nof_devargs_parse(wrong[i], &d), NOF_OK);
        assert_int_equal(nof_devargs_take_rate(&d, &rate_bps), NOF_EINVAL);
    }
}

static void numbers_are_read(void **state)
{
    struct nof_devargs d;

    (void)state;
    assert_int_equal(
        nof_devargs_parse("net_af_xdp,iface=eth0,start_queue=12,queue_count=x,a=4294967296,b=7x", &d),
        NOF_OK);
    assert_int_equal(nof_devargs_number(&d, "start_queue", 1), 12);
    assert_int_equal(nof_devargs_number(&d, "queue", 3), 3);
    assert_int_equal(nof_devargs_number(&d, "queue_count", 4), 4);
    assert_int_equal(nof_devargs_number(&d, "a", 5), 5);
    assert_int_equal(nof_devargs_number(&d, "b", 6), 6);
}

static void an_argument_is_removed_with_one_comma(void **state)
{
    struct nof_devargs d;

    (void)state;
    assert_int_equal(nof_devargs_parse("net_af_xdp,a=1,b=2,c=3", &d), NOF_OK);
    nof_devargs_remove(&d, "d");
    assert_string_equal(d.args, "a=1,b=2,c=3");
    nof_devargs_remove(&d, "b");
    assert_string_equal(d.args, "a=1,c=3");
    nof_devargs_remove(&d, "c");
    assert_string_equal(d.args, "a=1");
    nof_devargs_remove(&d, "a");
    assert_string_equal(d.args, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name_arguments_and_interface_are_told_apart),
        cmocka_unit_test(the_kind_follows_from_the_name),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(an_argument_that_does_not_fit_is_not_added),
        cmocka_unit_test(numbers_are_read),
        cmocka_unit_test(an_argument_is_removed_with_one_comma),
        cmocka_unit_test(the_rate_is_ours_and_leaves_the_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
