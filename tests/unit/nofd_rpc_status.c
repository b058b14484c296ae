/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a person asks: counters are added up and filtered by NIC, and the cores are not asked again and again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <time.h>

#include "nofd/control/daemon.h"
#include "nofd/control/rpc.h"
#include "nofd/door/job_owner.h"
#include "nofd/sys/clock.h"

#define NICS 2u

static struct nofd d;
static struct nofd_nic nics[NICS];
static struct nofd_core cores[2];
static struct nofd_job job = {.id = 1ull << 63, .size = 4, .ranks = 2, .uid = 1000};
static struct nofd_endpoint ep[3];
static uint64_t library_counts[3][NOF_LIBRARY_COUNT_MAX];
static uint64_t core_counters[NICS][NOF_COUNTER_COUNT], ep_counters[3][NOF_COUNTER_COUNT];
static const struct nofd_dma_ops copies = {.name = "stand-in"};
static unsigned errands, grants, waits;
static uint64_t clock_ns;
static struct nofd_rpc_error error;

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
    (void)id;
    ts->tv_sec = (time_t)(clock_ns / NOFD_S);
    ts->tv_nsec = (long)(clock_ns % NOFD_S);
    return 0;
}

void nofd_lcore_run(struct nofd_lcore *lcore, void (*fn)(struct nofd_lcore *lcore, void *arg), void *arg)
{
    errands++;
    fn(lcore, arg);
}

static unsigned index_of(const struct nof_nic *nic)
{
    return (unsigned)((const char *)nic - (const char *)nics);
}

const uint64_t *nof_nic_counters(const struct nof_nic *nic)
{
    return core_counters[index_of(nic)];
}

unsigned nof_nic_grants(const struct nof_nic *nic, struct nof_grant_info *out, unsigned max)
{
    unsigned n = index_of(nic) == 1 ? grants : 0;

    for (unsigned i = 0; i < n && i < max; i++)
        out[i] = (struct nof_grant_info){.peer_rank = i, .sends = i % 2 == 0};
    return n;
}

/* Endpoint 2 and one that has just gone wait, on NIC 1. */
unsigned nof_nic_colls(const struct nof_nic *nic, uint64_t now_ns, uint64_t least_ns,
                       struct nof_coll_info *out, unsigned max)
{
    unsigned n = index_of(nic) == 1 ? waits : 0;

    assert_int_equal(now_ns, clock_ns);
    assert_int_equal(least_ns, NOFD_S);
    for (unsigned i = 0; i < n && i < max; i++)
        out[i] = (struct nof_coll_info){.endpoint = 2 + i,
                                        .ctx = 9,
                                        .tag = 3,
                                        .waited_ns = 1500 * NOFD_MS,
                                        .messages = 4,
                                        .nranks = 2,
                                        .rank = {7, 5}};
    return n;
}

void nof_nic_endpoint_queues(const struct nof_nic *nic, uint32_t endpoint, uint32_t *posted_out,
                             uint32_t *unexpected_out)
{
    (void)nic;
    *posted_out = 100 + endpoint;
    *unexpected_out = 200 + endpoint;
}

unsigned nofd_dma_pools_helpers(const struct nofd_dma_pools *pools)
{
    return pools == &cores[0].dma.pools ? 2 : 3;
}

uint64_t nofd_nic_cycles_per_s(void)
{
    return 123;
}

json_t *nofd_rpc_fabric_link(const struct nofd *daemon, const struct nofd_nic *nic)
{
    assert_ptr_equal(daemon, &d);
    return json_pack("{s:i}", "of", (int)nic->index);
}

const struct nof_dpdk_port_info *nof_dpdk_port_info(const struct nof_dpdk_port *port)
{
    static const struct nof_dpdk_port_info info = {.xdp_hook = "generic",
                                                   .xdp_words = "in words",
                                                   .udp_checksum = NOF_DPDK_HELP_USED,
                                                   .timestamps = NOF_DPDK_HELP_THERE};

    assert_ptr_equal(port, nics);
    return &info;
}

const char *nof_dpdk_spread_name(enum nof_dpdk_spread spread)
{
    return spread == NOF_DPDK_SPREAD_HASH ? "hash" : "?";
}

const char *nof_dpdk_spread_words(enum nof_dpdk_spread spread)
{
    return spread == NOF_DPDK_SPREAD_HASH ? "by a hash" : "?";
}

const char *nof_dpdk_counter_name(enum nof_dpdk_counter counter)
{
    static const char *const names[] = {"cores.handed", "cores.drop_queue", "cores.sent_by_other"};

    return names[counter];
}

uint64_t nof_dpdk_queue_counter(const struct nof_dpdk_queue *q, enum nof_dpdk_counter counter)
{
    return *(const unsigned char *)q + (uint64_t)counter;
}

unsigned nof_dpdk_port_xdp_counters(const struct nof_dpdk_port *port,
                                    uint64_t frames_out[NOF_DPDK_XDP_COUNTERS])
{
    (void)port;
    frames_out[0] = 5;
    return 1;
}

const char *nof_dpdk_port_xdp_name(unsigned counter)
{
    assert_int_equal(counter, 0);
    return "xdp.taken";
}

static int start(void **state)
{
    struct nofd_seen *seen = d.seen; /* of the test before, and old by now */

    (void)state;
    memset(&d, 0, sizeof(d));
    d.seen = seen;
    clock_ns += 100 * NOFD_S;
    errands = 0;
    grants = 3;
    waits = 0;
    d.started_ns = clock_ns - 10 * NOFD_S;
    d.nics = nics;
    d.nparts = d.nnics = NICS;
    d.options.cores_per_nic = 1;
    d.cores = cores;
    d.ncores = d.nrunning = 2;
    d.jobs = &job;
    for (unsigned i = 0; i < NICS; i++) {
        nics[i] = (struct nofd_nic){.index = i, .lcore = &cores[i].lcore, .nic = (void *)((char *)nics + i)};
        core_counters[i][NOF_C_RX_FRAMES] = 10 + i;
        nics[i].counters[NOF_C_RX_FRAMES] = 1000;
    }
    nics[1].wire.device = (void *)nics;
    for (unsigned i = 0; i < 3; i++) {
        ep[i] = (struct nofd_endpoint){
            .nic = &nics[i / 2], .job = &job, .counters = ep_counters[i], .next = i < 2 ? &ep[i + 1] : NULL};
        ep[i].bar.library_counts = library_counts[i];
        memset(library_counts[i], 0, sizeof(library_counts[i]));
        ep[i].memory = (struct nofd_dma_memory){.ops = &copies, .rank = i, .pid = 70 + (int)i};
        ep[i].card.endpoint = (uint16_t)i;
        nofd_endpoint_set_state(&ep[i], i == 1 ? NOFD_EP_FAILED : NOFD_EP_LIVE);
        ep_counters[i][NOF_C_MSGS_RX] = 50 + i;
    }
    d.endpoints = ep;
    return 0;
}

static json_t *call(nofd_rpc_fn *fn, const char *params)
{
    json_t *object = json_loads(params, 0, NULL);
    json_t *result;

    error = (struct nofd_rpc_error){0};
    result = fn(&d, object, &error);
    json_decref(object);
    return result;
}

static json_int_t number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static void counters_of_core_and_daemon_are_one(void **state)
{
    json_t *result = call(nofd_rpc_stats, "{}");
    const json_t *rows = json_object_get(result, "rows");

    (void)state;
    assert_int_equal(json_array_size(rows), NICS);
    for (size_t i = 0; i < NICS; i++) {
        const json_t *counters = json_object_get(json_array_get(rows, i), "counters");

        assert_int_equal(number(counters, nof_counter_info[NOF_C_RX_FRAMES].name), 1010 + (json_int_t)i);
        assert_int_equal(json_object_size(counters), NOF_COUNTER_COUNT + i); /* the second is a port of XDP */
    }
    assert_int_equal(json_array_size(json_object_get(result, "endpoints")), 3);
    json_decref(result);
}

static void of_one_nic_if_asked_for(void **state)
{
    json_t *result = call(nofd_rpc_stats, "{\"nic\":1}");
    const json_t *row = json_array_get(json_object_get(result, "endpoints"), 0);

    (void)state;
    assert_int_equal(json_array_size(json_object_get(result, "rows")), 1);
    assert_int_equal(json_array_size(json_object_get(result, "endpoints")), 1);
    assert_int_equal(number(row, "rank"), 2);
    assert_int_equal(number(json_object_get(row, "counters"), nof_counter_info[NOF_C_MSGS_RX].name), 52);
    json_decref(result);
    assert_null(call(nofd_rpc_stats, "{\"nic\":2}"));
    assert_null(call(nofd_rpc_stats, "{\"nick\":1}"));
}

/* Of the first and the last, which is polling_updates. */
static void check_library(const char *params, json_int_t ranks, json_int_t first, json_int_t last)
{
    json_t *result = call(nofd_rpc_stats, params);
    const json_t *library = json_object_get(result, "library");
    const json_t *counters = json_object_get(library, "counters");

    assert_int_equal(json_object_size(counters), NOF_LIBRARY_COUNT_MAX);
    assert_int_equal(number(library, "ranks"), ranks);
    assert_int_equal(number(counters, "collectives_nic"), first);
    assert_int_equal(number(counters, "polling_updates"), last);
    json_decref(result);
}

static void counts_of_libraries_are_those_of_ranks_here_and_gone(void **state)
{
    const unsigned last = NOF_LIBRARY_COUNT_MAX - 1;

    (void)state;
    nics[0].gone.ranks = 5;
    nics[0].gone.counted[0] = 100;
    nics[1].gone.ranks = 1;
    nics[1].gone.counted[last] = 30;
    for (unsigned i = 0; i < 3; i++) /* of which the first two are on NIC 0 */
        library_counts[i][0] = library_counts[i][last] = 1 + i;
    check_library("{}", 9, 106, 36);
    check_library("{\"nic\":0}", 7, 103, 3);
    check_library("{\"nic\":1}", 2, 3, 33);
    library_counts[0][last] = UINT64_MAX;
    check_library("{\"nic\":0}", 7, 103, 1);
    library_counts[1][last] = 0;
    check_library("{\"nic\":0}", 7, 103, INT64_MAX);
}

static void of_a_nic_with_cores_there_are_sums_and_each_ones(void **state)
{
    json_t *result, *row, *cores_of;

    (void)state;
    d.nnics = 1;
    d.options.cores_per_nic = NICS;
    nics[1].wire.device = NULL;
    for (unsigned i = 0; i < NICS; i++) {
        nics[i].index = 0;
        nics[i].core = nics[i].wire.core = i;
        nics[i].wire.ncores = NICS;
        nics[i].wire.rate_bps = 500;
        nics[i].nlive = 1 + i;
        strcpy(nics[i].wire.kind, "sim");
    }
    result = call(nofd_rpc_stats, "{}");
    assert_int_equal(json_array_size(json_object_get(result, "rows")), 1);
    row = json_array_get(json_object_get(result, "rows"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "name")), "nic0 (sim)");
    assert_int_equal(number(json_object_get(row, "counters"), nof_counter_info[NOF_C_RX_FRAMES].name),
                     1010 + 1011);
    cores_of = json_object_get(row, "cores");
    assert_int_equal(json_array_size(cores_of), NICS);
    row = json_object_get(json_array_get(cores_of, 1), "counters");
    assert_int_equal(number(row, nof_counter_info[NOF_C_RX_FRAMES].name), 1011);
    json_decref(result);
    nics[0].wire.fabric = (void *)nics;
    result = call(nofd_rpc_status, "{}");
    row = json_array_get(json_object_get(result, "nics"), 0);
    assert_int_equal(json_array_size(json_object_get(result, "nics")), 1);
    assert_int_equal(number(json_object_get(row, "fabric"), "of"), 0);
    assert_int_equal(number(row, "endpoints"), 3);
    assert_int_equal(number(row, "link_rate_bps"), 1000);
    assert_int_equal(number(json_array_get(json_object_get(row, "cores"), 1), "endpoints"), 2);
    row = json_array_get(json_object_get(result, "endpoints"), 2);
    assert_int_equal(number(row, "nic"), 0);
    assert_int_equal(number(row, "nic_core"), 1);
    json_decref(result);
}

static void endpoints_say_who_and_how(void **state)
{
    json_t *result = call(nofd_rpc_endpoints, "{}");
    const json_t *rows = json_object_get(result, "rows");

    (void)state;
    assert_int_equal(json_array_size(rows), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *row = json_array_get(rows, i);

        assert_string_equal(json_string_value(json_object_get(row, "job")), "9223372036854775808");
        assert_string_equal(json_string_value(json_object_get(row, "state")), i == 1 ? "failed" : "live");
        assert_int_equal(number(row, "pid"), 70 + (json_int_t)i);
        assert_int_equal(number(row, "posted"),
                         i == 1 ? 0 : 100 + (json_int_t)i); /* it has no queues any more */
    }
    json_decref(result);
}

static void the_cores_are_not_asked_again_at_once(void **state)
{
    json_t *first = call(nofd_rpc_status, "{}"), *second;

    (void)state;
    assert_int_equal(errands, 4); /* helpers of each core, predictors of each NIC */
    assert_int_equal(number(first, "dma_helpers"), 5);
    assert_int_equal(json_array_size(json_object_get(first, "grants")), 3);
    grants = 1;
    clock_ns += 100 * NOFD_MS - 1;
    second = call(nofd_rpc_status, "{}");
    assert_int_equal(errands, 4);
    assert_int_equal(json_array_size(json_object_get(second, "grants")), 3);
    json_decref(second);
    clock_ns += 1;
    second = call(nofd_rpc_status, "{}");
    assert_int_equal(errands, 8);
    assert_int_equal(number(second, "dma_helpers"), 5);
    assert_int_equal(json_array_size(json_object_get(second, "grants")), 1);
    assert_int_equal(json_array_size(json_object_get(first, "grants")), 3); /* what was said stays */
    json_decref(first);
    json_decref(second);
}

static void a_device_says_what_helps(void **state)
{
    json_t *result = call(nofd_rpc_status, "{}");
    const json_t *nics_told = json_object_get(result, "nics"), *row = json_array_get(nics_told, 1);

    (void)state;
    assert_null(
        json_object_get(json_array_get(nics_told, 0), "xdp")); /* it has no device, nor a simulated link */
    assert_null(json_object_get(json_array_get(nics_told, 0), "fabric"));
    assert_null(json_object_get(json_array_get(nics_told, 0), "hardware"));
    assert_string_equal(json_string_value(json_object_get(json_object_get(row, "xdp"), "hook")), "generic");
    assert_string_equal(json_string_value(json_object_get(json_object_get(row, "xdp"), "words")), "in words");
    assert_true(json_is_false(json_object_get(json_object_get(row, "xdp"), "zero_copy")));
    row = json_object_get(row, "hardware");
    assert_string_equal(json_string_value(json_object_get(row, "udp_checksum")), "used");
    assert_string_equal(json_string_value(json_object_get(row, "scatter_gather")), "none");
    assert_string_equal(json_string_value(json_object_get(row, "timestamps")), "there");
    json_decref(result);
}

static void collectives_that_wait_are_told(void **state)
{
    json_t *result, *row, *ranks;

    (void)state;
    waits = 2;
    result = call(nofd_rpc_status, "{}");
    assert_int_equal(json_array_size(json_object_get(result, "collectives")), 1);
    row = json_array_get(json_object_get(result, "collectives"), 0);
    assert_int_equal(number(row, "nic"), 1);
    assert_int_equal(number(row, "rank"), 2);
    assert_int_equal(number(row, "waited_ms"), 1500);
    assert_int_equal(number(row, "messages"), 4);
    ranks = json_object_get(row, "waits_for");
    assert_int_equal(json_array_size(ranks), 2);
    assert_int_equal(json_integer_value(json_array_get(ranks, 0)), 7);
    json_decref(result);
}

static void more_predictors_than_fit_are_as_many_as_fit(void **state)
{
    json_t *result;

    (void)state;
    grants = 100000;
    result = call(nofd_rpc_status, "{}");
    assert_int_equal(json_array_size(json_object_get(result, "grants")), 512);
    json_decref(result);
}

static void jobs_and_uptime_are_told(void **state)
{
    json_t *result = call(nofd_rpc_status, "{}");
    const json_t *row = json_array_get(json_object_get(result, "jobs"), 0);

    (void)state;
    assert_true(json_real_value(json_object_get(result, "uptime_s")) == 10.0);
    assert_int_equal(number(row, "size"), 4);
    assert_int_equal(number(row, "endpoints"), 2);
    assert_int_equal(json_array_size(json_object_get(result, "nics")), NICS);
    json_decref(result);
    assert_null(call(nofd_rpc_status, "{\"nic\":1}"));
}

#define EACH(test) cmocka_unit_test_setup(test, start)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(counters_of_core_and_daemon_are_one),
        EACH(of_one_nic_if_asked_for),
        EACH(counts_of_libraries_are_those_of_ranks_here_and_gone),
        EACH(of_a_nic_with_cores_there_are_sums_and_each_ones),
        EACH(endpoints_say_who_and_how),
        EACH(the_cores_are_not_asked_again_at_once),
        EACH(a_device_says_what_helps),
        EACH(collectives_that_wait_are_told),
        EACH(more_predictors_than_fit_are_as_many_as_fit),
        EACH(jobs_and_uptime_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
