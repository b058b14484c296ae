/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether compression pays: by equation 3 of the paper, found out at a bounded cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compress/adaptive.h"

#define FAST 100000000ull /* bits/s: the codec is much faster */
#define BLOCK 65536u
#define CHUNK 2048u

struct grant {
    struct nof_adaptive a;
    struct nof_adaptive_cost cost;
    uint64_t bytes, encoded;
    unsigned probes;
};

/* One clock tick a nanosecond. */
static struct grant fresh(void)
{
    struct grant c = {0};
    nof_adaptive_clock(&c.cost, 1000, 5000);
    nof_adaptive_clock(&c.cost, 3001000, 3005000);
    return c;
}

/* So many bytes, which shrink to share/1024; a byte costs the codec cycles/1024. */
static void send(struct grant *c, uint64_t rate_bps, uint64_t bytes, uint32_t share, uint32_t cycles)
{
    for (uint64_t at = 0; at < bytes; at += BLOCK) {
        int probe;
        int on = nof_adaptive_decide(&c->a, &c->cost, rate_bps, BLOCK, &probe);
        c->bytes += BLOCK;
        c->probes += (unsigned)probe;
        assert_int_equal(on, c->a.on);
        for (uint32_t i = 0; i < BLOCK / CHUNK && nof_adaptive_goes_on(&c->a); i++) {
            nof_adaptive_measured(&c->a, &c->cost, CHUNK, CHUNK * share / 1024, CHUNK * cycles / 1024);
            c->encoded += CHUNK;
        }
    }
}

static void what_shrinks_on_a_slow_link_stays_on(void **state)
{
    (void)state;
    struct grant c = fresh();
    send(&c, FAST, 10u << 20, 760, 600);
    assert_true(c.bytes - c.encoded < BLOCK); /* the rest of the block in which the trial ended */
    assert_int_equal(c.probes, 1);
}

static void what_does_not_shrink_costs_little_and_ever_less(void **state)
{
    (void)state;
    struct grant c = fresh();
    send(&c, FAST, 64u << 20, 1024, 600);
    assert_true(c.probes >= 3 && c.encoded <= NOF_ADAPTIVE_TRIAL + c.probes * NOF_ADAPTIVE_PROBE);
    assert_true(c.encoded * 200 < c.bytes);
    uint64_t before = c.encoded;
    send(&c, FAST, 1024u << 20, 1024, 600);
    assert_true((c.encoded - before) * 1000 < 1024u << 20);
}

static void what_begins_to_shrink_is_found(void **state)
{
    (void)state;
    struct grant c = fresh();
    send(&c, FAST, 4u << 20, 1024, 600);
    uint64_t before = c.encoded;
    send(&c, FAST, 64u << 20, 700, 600);
    assert_true(c.encoded - before > 50u << 20);
    before = c.encoded;
    send(&c, FAST, 8u << 20, 1024, 600);
    assert_true(c.encoded - before < 1u << 20);
}

/* At ratio 1.35 a byte may cost 0.26 of its time on the wire: at 1 Gbit/s 2 ns. */
static void the_break_even_is_that_of_equation_3(void **state)
{
    (void)state;
    struct grant c = fresh();
    send(&c, 1000000000, 16u << 20, 760, 1900);
    assert_true(c.bytes - c.encoded < BLOCK);
    c = fresh();
    send(&c, 1000000000, 16u << 20, 760, 2400);
    assert_true(c.encoded < 1u << 20);
    c = fresh();
    send(&c, 100000000000, 16u << 20, 100, 1000);
    assert_true(c.encoded < 1u << 20);
    assert_false(nof_adaptive_may_pay(0));
}

/* A second in which the core was not scheduled, seen as the cost of one chunk: the first, or a later one. */
static void a_stall_in_a_chunk_decides_nothing(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 2; before++) {
        struct grant c = fresh();
        int probe;
        send(&c, FAST, before << 20, 760, 600);
        (void)nof_adaptive_decide(&c.a, &c.cost, FAST, CHUNK, &probe);
        nof_adaptive_measured(&c.a, &c.cost, CHUNK, CHUNK * 760 / 1024, 1000000000);
        send(&c, FAST, 10u << 20, 760, 600);
        /* The first may cost one pause. */
        assert_true(c.bytes - c.encoded < (before == 0 ? 2u << 20 : 2 * BLOCK));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_shrinks_on_a_slow_link_stays_on),
        cmocka_unit_test(what_does_not_shrink_costs_little_and_ever_less),
        cmocka_unit_test(what_begins_to_shrink_is_found),
        cmocka_unit_test(the_break_even_is_that_of_equation_3),
        cmocka_unit_test(a_stall_in_a_chunk_decides_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
