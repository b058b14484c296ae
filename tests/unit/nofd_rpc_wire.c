/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The network by the control socket, on a real fabric: unplugged, impaired, and what is not said stays as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nofd/control/daemon.h"
#include "nofd/control/rpc.h"
#include "nofd/sys/log.h"

#define NICS 2u

static const uint8_t macs[NICS][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
static struct nofd d;
static struct nofd_nic nics[NICS + 1]; /* the last is a port */
static struct nofd_nic *by_core[NICS + 1] = {&nics[0], &nics[1], &nics[2]};
static struct nofd_core core;
static struct nofd_rpc_error error;
static int stopped;
static char said[64];

void nofd_lcore_run(struct nofd_lcore *lcore, void (*fn)(struct nofd_lcore *lcore, void *arg), void *arg)
{
    fn(lcore, arg);
}

void nofd_stop(struct nofd *of, int exit_code)
{
    assert_ptr_equal(of, &d);
    stopped = 1 + exit_code;
}

void nofd_log(enum nofd_log_level level, const char *format, ...)
{
    va_list ap;

    assert_int_equal(level, NOFD_LOG_NOTICE);
    va_start(ap, format);
    vsnprintf(said, sizeof(said), format, ap);
    va_end(ap);
}

static int start(void **state)
{
    struct nof_fabric_config cfg = {.nports = NICS, .mac = macs, .pool_frames = 16};

    (void)state;
    memset(&d, 0, sizeof(d));
    memset(nics, 0, sizeof(nics));
    cfg.link.rate_bps = 1000000;
    cfg.link.delay_ns = 77;
    if (nof_fabric_create(&cfg, &d.fabric) != NOF_OK)
        return -1;
    for (unsigned i = 0; i <= NICS; i++) {
        nics[i].index = i;
        nics[i].lcore = &core.lcore;
        nics[i].link_look_ns = 99;
        if (i < NICS)
            nofd_wire_open_fabric(&nics[i].wire, d.fabric, i, macs[i], 1, 1500, 0);
    }
    d.nics = nics;
    d.nparts = d.nnics = NICS + 1;
    d.options.cores_per_nic = 1;
    d.cores = &core;
    d.ncores = 1;
    core.nics = by_core;
    core.nnics = NICS + 1;
    stopped = 0;
    said[0] = '\0';
    return 0;
}

static int end(void **state)
{
    (void)state;
    nof_fabric_destroy(d.fabric);
    return 0;
}

/* True: done. */
static bool call(nofd_rpc_fn *fn, const char *params)
{
    json_t *object = json_loads(params, 0, NULL);
    json_t *result;

    assert_non_null(object);
    error = (struct nofd_rpc_error){0};
    result = fn(&d, object, &error);
    json_decref(object);
    json_decref(result);
    assert_int_equal(result == NULL, error.code != 0);
    return result != NULL;
}

static void a_nic_is_unplugged_and_its_core_looks_at_once(void **state)
{
    (void)state;
    assert_true(call(nofd_rpc_link, "{\"nic\":1,\"up\":false}"));
    assert_false(nof_fabric_is_up(d.fabric, 1));
    assert_true(nof_fabric_is_up(d.fabric, 0));
    assert_int_equal(nics[1].link_look_ns, 0);
    assert_int_equal(nics[0].link_look_ns, 99);
    assert_true(call(nofd_rpc_link, "{\"nic\":1,\"up\":true}"));
    assert_true(nof_fabric_is_up(d.fabric, 1));
    assert_false(call(nofd_rpc_link, "{\"nic\":1}"));
    assert_false(call(nofd_rpc_link, "{\"up\":false}"));
    assert_false(call(nofd_rpc_link, "{\"nic\":1,\"up\":0}"));
    assert_false(call(nofd_rpc_link, "{\"nic\":3,\"up\":false}"));
    assert_true(nof_fabric_is_up(d.fabric, 1));
}

static void of_a_nic_with_cores_all_parts_change(void **state)
{
    (void)state;
    d.nnics = 1;
    d.nparts = d.options.cores_per_nic = NICS;
    nics[1].index = 0;
    assert_true(call(nofd_rpc_link, "{\"nic\":0,\"up\":false}"));
    assert_true(
        call(nofd_rpc_impair, "{\"nic\":0,\"link\":\"10Mbit\",\"buffer\":100000,\"delay\":\"50us\"}"));
    for (unsigned i = 0; i < NICS; i++) {
        assert_false(nof_fabric_is_up(d.fabric, i));
        assert_int_equal(nics[i].link_look_ns, 0);
        assert_int_equal(nof_fabric_link(d.fabric, i).rate_bps, 10000000 / NICS);
        assert_int_equal(nof_fabric_link(d.fabric, i).buffer_bytes, 100000 / NICS);
        assert_int_equal(nof_fabric_link(d.fabric, i).delay_ns, 50000);
    }
}

/* A part is never 0, which is no bound, nor less than a link can have, nor less than a frame. */
static void small_parts_of_a_link_still_are_bounds(void **state)
{
    (void)state;
    d.nnics = 1;
    d.nparts = d.options.cores_per_nic = NICS;
    nics[1].index = 0;
    assert_false(call(nofd_rpc_impair, "{\"link\":\"1\"}"));
    assert_non_null(strstr(error.text, "a rate is at least 1000 bit/s"));
    assert_false(call(nofd_rpc_impair, "{\"link\":\"999\"}"));
    assert_int_equal(nof_fabric_link(d.fabric, 0).rate_bps, 1000000);
    assert_true(call(nofd_rpc_impair, "{\"link\":\"1500\",\"buffer\":1}"));
    for (unsigned i = 0; i < NICS; i++) {
        assert_int_equal(nof_fabric_link(d.fabric, i).rate_bps, 1000);
        assert_int_equal(nof_fabric_link(d.fabric, i).buffer_bytes, 1);
    }
    assert_true(call(nofd_rpc_impair, "{\"link\":\"none\",\"buffer\":2000}"));
    for (unsigned i = 0; i < NICS; i++) {
        assert_int_equal(nof_fabric_link(d.fabric, i).rate_bps, 0);
        assert_int_equal(nof_fabric_link(d.fabric, i).buffer_bytes, 1500 + 64);
    }
    assert_true(call(nofd_rpc_impair, "{\"buffer\":0}"));
    assert_int_equal(nof_fabric_link(d.fabric, 0).buffer_bytes, 0);
}

static void what_is_said_changes_and_nothing_else(void **state)
{
    (void)state;
    assert_true(call(nofd_rpc_impair, "{\"loss\":\"2%\",\"nic\":0}"));
    assert_int_equal(nof_fabric_link(d.fabric, 0).loss_ppm, 20000);
    assert_int_equal(nof_fabric_link(d.fabric, 0).rate_bps, 1000000);
    assert_int_equal(nof_fabric_link(d.fabric, 0).delay_ns, 77);
    assert_int_equal(nof_fabric_link(d.fabric, 1).loss_ppm, 0);
    assert_true(
        call(nofd_rpc_impair,
             "{\"link\":\"10Mbit\",\"delay\":\"50us\",\"buffer\":\"64KiB\",\"duplicate\":0.5,\"reorder\":1,"
             "\"corrupt\":\"0.1\"}"));
    for (unsigned i = 0; i < NICS; i++) {
        struct nof_fabric_link link = nof_fabric_link(d.fabric, i);

        assert_int_equal(link.rate_bps, 10000000);
        assert_int_equal(link.delay_ns, 50000);
        assert_int_equal(link.buffer_bytes, 65536);
        assert_int_equal(link.duplicate_ppm, 500000);
        assert_int_equal(link.reorder_ppm, 1000000);
        assert_int_equal(link.corrupt_ppm, 100000);
        assert_int_equal(link.loss_ppm, i == 0 ? 20000 : 0);
    }
    assert_true(call(nofd_rpc_impair, "{\"link\":\"none\"}"));
    assert_int_equal(nof_fabric_link(d.fabric, 0).rate_bps, 0);
}

/* Over all cores of a NIC, by the names and units that they are set by. */
static void what_was_said_is_told(void **state)
{
    json_t *link;

    (void)state;
    d.nnics = 1;
    d.nparts = d.options.cores_per_nic = NICS;
    nics[1].index = 0;
    assert_true(call(nofd_rpc_impair,
                     "{\"link\":\"10Mbit\",\"delay\":\"50us\",\"buffer\":100000,\"loss\":\"2%\","
                     "\"duplicate\":0.5,\"reorder\":1,\"corrupt\":\"0.1\",\"multicast\":\"snoop\"}"));
    link = nofd_rpc_fabric_link(&d, &nics[0]);
    assert_int_equal(json_integer_value(json_object_get(link, "rate_bps")), 10000000);
    assert_int_equal(json_integer_value(json_object_get(link, "delay_ns")), 50000);
    assert_int_equal(json_integer_value(json_object_get(link, "buffer_bytes")), 100000);
    assert_true(json_real_value(json_object_get(link, "loss")) == 0.02);
    assert_true(json_real_value(json_object_get(link, "duplicate")) == 0.5);
    assert_true(json_real_value(json_object_get(link, "reorder")) == 1);
    assert_true(json_real_value(json_object_get(link, "corrupt")) == 0.1);
    assert_string_equal(json_string_value(json_object_get(link, "multicast")), "snoop");
    json_decref(link);
}

static void what_cannot_be_is_told_and_changes_nothing(void **state)
{
    static const char *const bad[] = {
        "{\"loss\":2}",           "{\"loss\":\"-1%\"}",    "{\"loss\":[1]}",    "{\"link\":\"fast\"}",
        "{\"delay\":\"soon\"}",   "{\"buffer\":\"5GiB\"}", "{\"link\":\"10\"}", "{\"delay\":\"11s\"}",
        "{\"nic\":2,\"loss\":0}", "{\"nic\":9}",           "{\"los\":\"1%\"}",
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (call(nofd_rpc_impair, bad[i]))
            fail_msg("%s was done", bad[i]);
        assert_int_equal(error.code, NOFD_RPC_PARAMS);
        assert_true(strlen(error.text) > 0);
    }
    for (unsigned i = 0; i < NICS; i++) {
        assert_int_equal(nof_fabric_link(d.fabric, i).loss_ppm, 0);
        assert_int_equal(nof_fabric_link(d.fabric, i).rate_bps, 1000000);
        assert_int_equal(nof_fabric_link(d.fabric, i).delay_ns, 77);
    }
}

static void without_a_fabric_nothing_is_impaired(void **state)
{
    struct nof_fabric *fabric = d.fabric;

    (void)state;
    d.fabric = NULL;
    assert_false(call(nofd_rpc_impair, "{\"loss\":0}"));
    d.fabric = fabric;
}

static void down_ends_the_daemon_in_order(void **state)
{
    (void)state;
    assert_false(call(nofd_rpc_down, "{\"now\":true}"));
    assert_int_equal(stopped, 0);
    assert_string_equal(said, "");
    assert_true(call(nofd_rpc_down, "{}"));
    assert_int_equal(stopped, 1);
    assert_string_equal(said, "nof down: the daemon ends");
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_nic_is_unplugged_and_its_core_looks_at_once),
        EACH(of_a_nic_with_cores_all_parts_change),
        EACH(small_parts_of_a_link_still_are_bounds),
        EACH(what_is_said_changes_and_nothing_else),
        EACH(what_was_said_is_told),
        EACH(what_cannot_be_is_told_and_changes_nothing),
        EACH(without_a_fabric_nothing_is_impaired),
        EACH(down_ends_the_daemon_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
