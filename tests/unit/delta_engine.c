/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bits of units against arrays of bytes: what leaves is what is ready, once; what has arrived has come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "payload/delta_engine.h"

#define BYTES_MOST (1u << 20)

static uint64_t rng;
static struct nof_delta_ready ready;
static struct nof_delta_taken taken, came;
static struct nof_delta_arrival arrival;
static uint8_t sent[BYTES_MOST], here[BYTES_MOST];

static uint64_t draw(uint64_t below)
{
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return below == 0 ? 0 : (rng >> 33) % below;
}

static void clear(uint32_t unit_log2)
{
    memset(&ready, 0, sizeof ready);
    memset(&taken, 0, sizeof taken);
    memset(&came, 0, sizeof came);
    memset(&arrival, 0, sizeof arrival);
    memset(sent, 0, sizeof sent);
    memset(here, 0, sizeof here);
    arrival.unit_log2 = unit_log2;
}

static void make_ready(uint64_t unit)
{
    ready.unit[unit / 64] |= 1ull << unit % 64;
}

static void bits_are_bytes(uint64_t bytes, uint32_t log2)
{
    for (uint64_t u = 0; u << log2 < bytes; u++) {
        uint64_t end = (u + 1) << log2 < bytes ? (u + 1) << log2 : bytes;
        bool all = true;

        for (uint64_t i = u << log2; i < end; i++)
            all &= here[i] != 0;
        assert_int_equal(nof_delta_has(arrival.unit, u), all);
    }
}

/* A run, in pieces as frames take them. */
static void carry(const struct nof_delta_run *run, uint64_t *at, uint64_t bytes)
{
    for (uint64_t o = run->offset; o < run->end;) {
        uint64_t n = 1 + draw(3000);

        if (n > run->end - o)
            n = run->end - o;
        assert_true(nof_delta_comes(&came, arrival.unit_log2, *at, o, n));
        nof_delta_arrives(&arrival, o, n, bytes);
        for (uint64_t i = o; i < o + n; i++) {
            assert_int_equal(sent[i]++, 0);
            here[i] = 1;
        }
        o += n;
        *at = o;
    }
}

static void message(uint64_t bytes, uint32_t log2)
{
    uint64_t units = (bytes + (1ull << log2) - 1) >> log2;
    struct nof_delta_run run;
    uint64_t at = 0, all = 0;

    clear(log2);
    for (unsigned round = 0; round < 8; round++) {
        for (uint64_t k = draw(units + 1); k > 0; k--)
            make_ready(draw(units));
        while (nof_delta_next(&ready, &taken, log2, bytes, at, &run)) {
            for (uint64_t u = run.offset >> log2; u << log2 < run.end; u++)
                assert_true(ready.unit[u / 64] >> u % 64 & 1);
            carry(&run, &at, bytes);
        }
        bits_are_bytes(bytes, log2);
    }
    while (nof_delta_next(NULL, &taken, log2, bytes, at, &run))
        carry(&run, &at, bytes);
    for (uint64_t i = 0; i < bytes; i++)
        all += sent[i];
    assert_int_equal(all, bytes);
    assert_int_equal(arrival.bytes, bytes);
    bits_are_bytes(bytes, log2);
    assert_int_equal(nof_delta_extent(&taken, log2, bytes), bytes);
}

static void each_byte_leaves_once_and_arrives_when_it_has_come(void **state)
{
    (void)state;
    rng = 1;
    for (unsigned i = 0; i < 60; i++) {
        uint64_t bytes = 1 + draw(i % 3 == 0 ? 300 : BYTES_MOST);

        message(bytes, nof_delta_unit_log2(bytes, (uint32_t)(1 + draw(14))));
    }
    message(BYTES_MOST, 8); /* all NOF_DELTA_UNITS of them */
    message(BYTES_MOST, 20);
}

static void what_came_does_not_come_again(void **state)
{
    (void)state;
    clear(8);
    assert_true(nof_delta_comes(&came, 8, 0, 0, 300)); /* units 0 and part of 1 */
    assert_true(nof_delta_comes(&came, 8, 300, 300, 212));
    assert_false(nof_delta_comes(&came, 8, 512, 0, 1));
    assert_false(nof_delta_comes(&came, 8, 512, 256, 256));
    assert_false(nof_delta_comes(&came, 8, 512, 1024 + 8, 8)); /* begins within a unit */
    assert_true(nof_delta_comes(&came, 8, 512, 1024, 256));
    assert_false(nof_delta_comes(&came, 8, 1280, 512, 1024)); /* runs into it */
    assert_true(nof_delta_comes(&came, 8, 1280, 1280, 0));
}

static void ready_beyond_the_message_is_nothing(void **state)
{
    struct nof_delta_run run;

    (void)state;
    clear(6);
    memset(ready.unit, 0xff, sizeof ready.unit);
    assert_true(nof_delta_next(&ready, &taken, 6, 100, 0, &run));
    assert_int_equal(run.offset, 0);
    assert_int_equal(run.end, 100);
    assert_false(nof_delta_next(&ready, &taken, 6, 100, 100, &run));
    assert_false(nof_delta_next(&ready, &taken, 6, 0, 0, &run));
    assert_int_equal(nof_delta_extent(&taken, 6, 100), 100);
}

static void units_are_as_small_as_they_can_be(void **state)
{
    (void)state;
    assert_int_equal(nof_delta_unit_log2(0, 0), 1);
    assert_int_equal(nof_delta_unit_log2(4096 * 64, 6), 6);
    assert_int_equal(nof_delta_unit_log2(4096 * 64 + 1, 6), 7);
    assert_int_equal(nof_delta_unit_log2(1ull << 40, 12), 28);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_leaves_once_and_arrives_when_it_has_come),
        cmocka_unit_test(what_came_does_not_come_again),
        cmocka_unit_test(ready_beyond_the_message_is_nothing),
        cmocka_unit_test(units_are_as_small_as_they_can_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
