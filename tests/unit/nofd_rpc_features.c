/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Features by the control socket: what is set reaches those whose it is, and what cannot be is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nofd/control/daemon.h"
#include "nofd/control/rpc.h"
#include "nofd/sys/clock.h"
#include "nofd/sys/log.h"

#define NICS 3u

static struct nofd d;
static struct nofd_nic nics[NICS];
static struct nofd_nic *by_core[NICS] = {&nics[0], &nics[1], &nics[2]};
static struct nofd_core cores[2];
static uint64_t set_at[NICS][NOF_FEATURE_COUNT];
static unsigned sets;
static struct nofd_rpc_error error;

void nofd_lcore_run(struct nofd_lcore *lcore, void (*fn)(struct nofd_lcore *lcore, void *arg), void *arg)
{
    fn(lcore, arg);
}

int nof_nic_feature_set(struct nof_nic *nic, enum nof_feature feature, uint64_t value)
{
    unsigned i = (unsigned)((const char *)nic - (const char *)set_at);

    assert_true(i < NICS);
    set_at[i][feature] = value;
    sets++;
    return NOF_OK;
}

static int start(void **state)
{
    (void)state;
    memset(&d, 0, sizeof(d));
    memset(cores, 0, sizeof(cores));
    memset(set_at, 0, sizeof(set_at));
    sets = 0;
    d.nics = nics;
    d.nparts = d.nnics = NICS;
    d.options.cores_per_nic = 1;
    d.cores = cores;
    d.ncores = 2;
    for (unsigned i = 0; i < NICS; i++) {
        nics[i] = (struct nofd_nic){.index = i, .nic = (struct nof_nic *)(void *)((char *)set_at + i)};
        strcpy(nics[i].name, "nic");
    }
    cores[0].nics = &by_core[0];
    cores[0].nnics = 2;
    cores[1].nics = &by_core[2];
    cores[1].nnics = 1;
    for (unsigned i = 0; i < NOF_FEATURE_COUNT; i++)
        d.options.feature[i] = nof_feature_info[i].initial;
    nofd_log_set_level(NOFD_LOG_ERROR);
    error = (struct nofd_rpc_error){0};
    return 0;
}

/* The answer as text, or the error's. */
static const char *set(const char *params)
{
    static char text[512];
    json_t *object = json_loads(params, 0, NULL);
    json_t *result;

    assert_non_null(object);
    error = (struct nofd_rpc_error){0};
    result = nofd_rpc_set(&d, object, &error);
    json_decref(object);
    if (result == NULL) {
        assert_int_equal(error.code, NOFD_RPC_PARAMS);
        return error.text;
    }
    strcpy(text, json_string_value(json_object_get(result, "value")));
    json_decref(result);
    return text;
}

static void a_feature_of_the_core_goes_to_all_nics(void **state)
{
    (void)state;
    assert_string_equal(set("{\"name\":\"eager_max_bytes\",\"value\":\"4k\"}"), "4096");
    for (unsigned i = 0; i < NICS; i++)
        assert_int_equal(set_at[i][NOF_F_EAGER_MAX], 4096);
    assert_int_equal(sets, NICS);
    assert_int_equal(d.options.feature[NOF_F_EAGER_MAX], 4096);
}

static void or_to_the_one_that_is_named(void **state)
{
    (void)state;
    assert_string_equal(set("{\"name\":\"eager_max_bytes\",\"value\":512,\"nic\":2}"), "512");
    assert_int_equal(set_at[2][NOF_F_EAGER_MAX], 512);
    assert_int_equal(sets, 1);
    for (unsigned i = 0; i < NICS; i++) /* ranks that attach later read it there */
        assert_int_equal(nics[i].own_features, i == 2 ? UINT64_C(1) << NOF_F_EAGER_MAX : 0);
    assert_int_equal(nics[2].own_feature[NOF_F_EAGER_MAX], 512);
    assert_int_equal(d.options.feature[NOF_F_EAGER_MAX], nof_feature_info[NOF_F_EAGER_MAX].initial);
    assert_string_equal(set("{\"name\":\"eager_max_bytes\",\"value\":600}"), "600");
    assert_int_equal(nics[2].own_features, 0); /* all are alike again */
}

static void one_of_the_daemon_goes_to_all_cores(void **state)
{
    (void)state;
    assert_string_equal(set("{\"name\":\"idle\",\"value\":\"yield\"}"), "yield");
    assert_string_equal(set("{\"name\":\"spin_us\",\"value\":7}"), "7");
    assert_string_equal(set("{\"name\":\"nap_us\",\"value\":9}"), "9");
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(cores[i].idle.policy, NOFD_IDLE_YIELD);
        assert_int_equal(cores[i].idle.spin_ns, 7 * NOFD_US);
        assert_int_equal(cores[i].idle.nap_ns, 9 * NOFD_US);
    }
    assert_int_equal(sets, 0);
    assert_non_null(strstr(set("{\"name\":\"idle\",\"value\":\"busy\",\"nic\":1}"), "belongs to the daemon"));
    assert_int_equal(cores[0].idle.policy, NOFD_IDLE_YIELD);
}

static void the_library_reads_who_drives_collectives(void **state)
{
    struct nof_nic_words words[2] = {{0}};
    struct nofd_endpoint eps[2] = {{.nic_words = &words[0], .next = &eps[1]}, {.nic_words = &words[1]}};

    (void)state;
    d.endpoints = eps;
    assert_string_equal(set("{\"name\":\"collectives\",\"value\":\"nic\"}"), "nic");
    assert_true(words[0].runs_collectives == 1 && words[1].runs_collectives == 1);
    assert_string_equal(set("{\"name\":\"pacing\",\"value\":\"on\"}"), "on");
    assert_true(words[0].runs_collectives == 1 && words[1].runs_collectives == 1);
    assert_string_equal(set("{\"name\":\"collectives\",\"value\":\"host\"}"), "host");
    assert_true(words[0].runs_collectives == 0 && words[1].runs_collectives == 0);
    assert_string_equal(set("{\"name\":\"multicast\",\"value\":\"on\"}"), "on");
    assert_true(words[0].multicast == 1 && words[1].multicast == 1);
    assert_string_equal(set("{\"name\":\"multicast\",\"value\":\"off\"}"), "off");
    assert_true(words[0].multicast == 0 && words[1].multicast == 0);
}

static void the_library_reads_how_it_polls(void **state)
{
    struct nof_nic_words words[2] = {{0}};
    struct nofd_endpoint eps[2] = {{.nic_words = &words[0], .nic = &nics[0], .next = &eps[1]},
                                   {.nic_words = &words[1], .nic = &nics[1]}};

    (void)state;
    d.endpoints = eps;
    assert_string_equal(set("{\"name\":\"polling\",\"value\":\"dynamic\"}"), "dynamic");
    assert_string_equal(set("{\"name\":\"poll_ratio\",\"value\":1000}"), "1000");
    assert_string_equal(set("{\"name\":\"poll_update\",\"value\":7,\"nic\":1}"), "7");
    for (int i = 0; i < 2; i++)
        assert_true(words[i].polling == 1 && words[i].poll_ratio == 1000);
    assert_true(words[0].poll_update == 0 && words[1].poll_update == 7);
    assert_string_equal(set("{\"name\":\"polling\",\"value\":\"static\"}"), "static");
    assert_true(words[0].polling == 0 && words[1].polling == 0);
    assert_non_null(strstr(set("{\"name\":\"poll_ratio\",\"value\":1001}"), "1 to 1000"));
    assert_non_null(strstr(set("{\"name\":\"poll_ratio\",\"value\":0}"), "1 to 1000"));
    assert_non_null(strstr(set("{\"name\":\"polling\",\"value\":\"adaptive\"}"), "dynamic"));
    assert_true(words[0].poll_ratio == 1000);
}

static void the_log_says_more_at_once(void **state)
{
    (void)state;
    assert_string_equal(set("{\"name\":\"log_level\",\"value\":\"debug\"}"), "debug");
    assert_int_equal(d.options.feature[NOF_F_LOG_LEVEL], NOFD_LOG_DEBUG);
    assert_int_equal(nofd_log_level(), NOFD_LOG_DEBUG);
}

static void a_value_comes_in_any_type(void **state)
{
    (void)state;
    assert_string_equal(set("{\"name\":\"pacing\",\"value\":false}"), "off");
    assert_string_equal(set("{\"name\":\"pacing\",\"value\":true}"), "on");
    assert_string_equal(set("{\"name\":\"pacing\",\"value\":\"off\"}"), "off");
    assert_int_equal(set_at[1][NOF_F_PACING], 0);
}

static void what_cannot_be_set_is_told_and_changes_nothing(void **state)
{
    static const char *const bad[] = {
        "{\"name\":\"pacing\"}",
        "{\"value\":1}",
        "{\"name\":\"pacing\",\"value\":[1]}",
        "{\"name\":\"pacing\",\"value\":null}",
        "{\"name\":\"pacng\",\"value\":1}",
        "{\"name\":\"pacing\",\"value\":\"perhaps\"}",
        "{\"name\":\"eager_max_bytes\",\"value\":65537}",
        "{\"name\":\"eager_max_bytes\",\"value\":-1}",
        "{\"name\":\"pacing\",\"value\":1,\"nic\":3}",
        "{\"name\":\"pacing\",\"value\":1,\"nick\":0}",
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_true(strlen(set(bad[i])) > 0);
        assert_int_equal(error.code, NOFD_RPC_PARAMS);
    }
    assert_int_equal(sets, 0);
    for (unsigned i = 0; i < NOF_FEATURE_COUNT; i++)
        assert_int_equal(d.options.feature[i], nof_feature_info[i].initial);
}

static void all_are_listed_with_their_values(void **state)
{
    json_t *result, *rows;

    (void)state;
    (void)set("{\"name\":\"eager_max_bytes\",\"value\":512}");
    result = nofd_rpc_features(&d, NULL, &error);
    rows = json_object_get(result, "rows");
    assert_int_equal(json_array_size(rows), NOF_FEATURE_COUNT);
    for (size_t i = 0; i < NOF_FEATURE_COUNT; i++) {
        const json_t *row = json_array_get(rows, i);

        assert_string_equal(json_string_value(json_object_get(row, "name")), nof_feature_info[i].name);
        assert_int_equal(json_integer_value(json_object_get(row, "max")),
                         (json_int_t)nof_feature_info[i].max);
        if (i == NOF_F_EAGER_MAX) {
            assert_string_equal(json_string_value(json_object_get(row, "value")), "512");
            assert_string_equal(json_string_value(json_object_get(row, "default")), "16384");
        }
    }
    json_decref(result);
    rows = json_pack("{s:i}", "nic", 0);
    assert_null(nofd_rpc_features(&d, rows, &error));
    json_decref(rows);
}

#define EACH(test) cmocka_unit_test_setup(test, start)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_feature_of_the_core_goes_to_all_nics),
        EACH(or_to_the_one_that_is_named),
        EACH(one_of_the_daemon_goes_to_all_cores),
        EACH(the_library_reads_who_drives_collectives),
        EACH(the_library_reads_how_it_polls),
        EACH(the_log_says_more_at_once),
        EACH(a_value_comes_in_any_type),
        EACH(what_cannot_be_set_is_told_and_changes_nothing),
        EACH(all_are_listed_with_their_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
