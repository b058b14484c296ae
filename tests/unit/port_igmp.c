/* SPDX-License-Identifier: BSD-3-Clause
 *
 * IGMPv3: a group that is joined is reported, twice, and again when it is asked for; one that is left is taken back; checksums
 * hold; nothing but a query is taken for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "port/dpdk/igmp.h"

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 7};

static uint32_t sum_of(const uint8_t *p, uint32_t bytes)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < bytes; i += 2)
        sum += (uint32_t)p[i] << 8 | p[i + 1];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

/* The next report names these groups with these kinds of records. */
static void expect(struct nof_igmp *igmp, uint64_t now_ns, unsigned n, const uint32_t *group,
                   const uint8_t *kind)
{
    uint8_t out[NOF_IGMP_FRAME_BYTES];
    assert_true(nof_igmp_due(igmp, now_ns));
    uint32_t len = nof_igmp_report(igmp, now_ns, out);
    assert_int_equal(len, 14 + 24 + 8 + 8 * n);
    assert_memory_equal(out, ((uint8_t[]){1, 0, 0x5e, 0, 0, 0x16, 2, 0, 0, 0, 0, 7, 8, 0, 0x46}), 15);
    assert_int_equal(sum_of(out + 14, 24), 0xffff);
    assert_int_equal(sum_of(out + 38, len - 38), 0xffff);
    assert_int_equal(out[22], 1);
    assert_int_equal(out[38], 0x22);
    assert_int_equal(out[45], n);
    for (unsigned i = 0; i < n; i++) {
        const uint8_t *r = out + 46 + 8 * i;
        assert_int_equal(r[0], kind[i]);
        assert_int_equal((uint32_t)r[4] << 24 | (uint32_t)r[5] << 16 | (uint32_t)r[6] << 8 | r[7], group[i]);
    }
}

static void test_joining_and_leaving_are_reported_twice(void **state)
{
    (void)state;
    struct nof_igmp igmp;
    const uint32_t a = 0xefc00001, b = 0xefc00002, c = 0xefc00003;
    nof_igmp_init(&igmp, mac, 0x0a000007);
    assert_false(nof_igmp_due(&igmp, 0));
    assert_int_equal(nof_igmp_change(&igmp, a, true), 1);
    assert_int_equal(nof_igmp_change(&igmp, b, true), 1);
    assert_int_equal(nof_igmp_change(&igmp, a, true), 0);
    expect(&igmp, 5, 2, (uint32_t[]){a, b}, (uint8_t[]){2, 2});
    assert_false(nof_igmp_due(&igmp, 6));
    expect(&igmp, 5 + NOF_IGMP_REPEAT_NS, 2, (uint32_t[]){a, b}, (uint8_t[]){2, 2});
    assert_false(nof_igmp_due(&igmp, UINT64_MAX));
    assert_int_equal(nof_igmp_change(&igmp, c, false), 0);
    assert_int_equal(nof_igmp_change(&igmp, a, false), 0);
    assert_false(nof_igmp_due(&igmp, UINT64_MAX));
    assert_int_equal(nof_igmp_change(&igmp, a, false), 1);
    for (unsigned i = 1; i <= NOF_IGMP_REPORTS; i++)
        expect(&igmp, 10ull * i * NOF_IGMP_REPEAT_NS, 2, (uint32_t[]){b, a}, (uint8_t[]){2, 3});
    assert_false(nof_igmp_due(&igmp, UINT64_MAX));
}

static void test_a_query_is_answered_and_nothing_else(void **state)
{
    (void)state;
    struct nof_igmp igmp;
    uint8_t query[60] = {1, 0, 0x5e, 0, 0, 1, 2, 0, 0, 0, 0, 9, 8, 0, 0x46, 0, 0, 36, 0, 0, 0, 0, 1, 2};
    query[38] = 0x11;
    nof_igmp_init(&igmp, mac, 0x0a000007);
    assert_true(nof_igmp_hear(&igmp, query, sizeof query));
    assert_false(nof_igmp_due(&igmp, 1)); /* there is nothing to report */
    assert_int_equal(nof_igmp_change(&igmp, 0xefc00001, true), 1);
    while (nof_igmp_due(&igmp, UINT64_MAX)) {
        uint8_t out[NOF_IGMP_FRAME_BYTES];
        nof_igmp_report(&igmp, 0, out);
    }
    for (uint32_t len = 0; len < 46; len++)
        assert_false(nof_igmp_hear(&igmp, query, len));
    query[38] = 0x22;
    assert_false(nof_igmp_hear(&igmp, query, sizeof query));
    query[38] = 0x11;
    query[23] = 17;
    assert_false(nof_igmp_hear(&igmp, query, sizeof query));
    query[23] = 2;
    assert_false(nof_igmp_due(&igmp, UINT64_MAX));
    assert_true(nof_igmp_hear(&igmp, query, sizeof query));
    assert_false(nof_igmp_due(&igmp, NOF_IGMP_REPEAT_NS - 1)); /* however often it is asked */
    expect(&igmp, NOF_IGMP_REPEAT_NS, 1, (uint32_t[]){0xefc00001}, (uint8_t[]){2});
    assert_false(nof_igmp_due(&igmp, UINT64_MAX));
}

static void test_too_many_groups_are_refused(void **state)
{
    (void)state;
    struct nof_igmp igmp;
    uint8_t out[NOF_IGMP_FRAME_BYTES];
    nof_igmp_init(&igmp, mac, 0x0a000007);
    for (uint32_t i = 0; i < NOF_IGMP_GROUPS_MAX; i++)
        assert_int_equal(nof_igmp_change(&igmp, 0xefc00000 + i, true), 1);
    assert_int_equal(nof_igmp_change(&igmp, 0xefffffff, true), -1);
    assert_int_equal(nof_igmp_report(&igmp, 0, out), sizeof out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joining_and_leaving_are_reported_twice),
        cmocka_unit_test(test_a_query_is_answered_and_nothing_else),
        cmocka_unit_test(test_too_many_groups_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
