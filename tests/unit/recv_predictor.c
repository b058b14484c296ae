/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receive predictor: the paper's example, what it says before a call, and what it keeps to itself. (That
 * the four kinds count the hits of the paper's rules is replay.py's.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nof/features.h"
#include "recv_predictor.h"

#define FIRST_KIND NOF_PREDICTOR_SINGLE_CYCLE

static const struct nof_predictor_config usual;

static struct nof_recv_predictor *make(const struct nof_predictor_config *cfg, int kind)
{
    size_t bytes = nof_recv_predictor_mem_size(cfg);
    assert_true(bytes > 0);
    void *mem = aligned_alloc(64, bytes);
    assert_non_null(mem);
    memset(mem, 0xa5, bytes);
    return nof_recv_predictor_init(mem, cfg, (enum nof_predictor_kind)kind);
}

static unsigned call(struct nof_recv_predictor *p, int source, unsigned site)
{
    struct nof_message_id id = {.source = source, .tag = 7, .ctx = 1};
    return nof_recv_predictor_observe(p, &id, site);
}

static uint64_t rnd(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s >> 11;
}

/* Figure 3: no cycle begins with 1, 3 or 5; the first is that of 4, when it comes again. */
static void the_initialization_phase_skips_what_does_not_repeat(void **state)
{
    (void)state;
    static const int ids[] = {1, 3, 5, 4, 6, 7, 8, 9, 10, 4, 6, 7, 8};
    struct nof_recv_predictor *p = make(&usual, NOF_PREDICTOR_SINGLE_CYCLE);
    for (unsigned i = 0; i < 13; i++)
        assert_int_equal(call(p, ids[i], 1), i < 10 ? 0 : NOF_PREDICT_HIT);
    assert_int_equal(call(p, 1, 1), NOF_PREDICT_MISS);
    free(p);
}

static void a_first_cycle_is_at_least_six_long(void **state)
{
    (void)state;
    struct nof_recv_predictor *p = make(&usual, NOF_PREDICTOR_SINGLE_CYCLE);
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(call(p, i % 2, 1), 0);
    assert_int_equal(call(p, 1, 1), NOF_PREDICT_HIT);
    free(p);
}

/* Body of a program's loop: two calls of one site, then one of each of the others. */
static const struct {
    int source;
    unsigned site;
} body[] = {{1, 0x10}, {2, 0x10}, {3, 0x20}, {4, 0x30}, {1, 0x40}, {5, 0x50}, {2, 0x60}};
#define BODY 7u

static void predict_says_the_next_calls_in_order(void **state)
{
    (void)state;
    for (int kind = FIRST_KIND; kind < NOF_PREDICTOR_KINDS; kind++) {
        struct nof_recv_predictor *p = make(&usual, kind);
        struct nof_message_id next[20];
        unsigned known = 0;
        for (unsigned i = 0; i < 40 * BODY; i++) {
            unsigned verdict = call(p, body[i % BODY].source, body[i % BODY].site);
            uint32_t n = nof_recv_predictor_predict(p, 20, next);
            assert_true(n <= 20);
            known += n == 20;
            if ((kind == NOF_PREDICTOR_SINGLE_CYCLE || kind == NOF_PREDICTOR_AUTO) && i > 5 * BODY) {
                assert_int_equal(n, 20);
                assert_int_equal(verdict & NOF_PREDICT_OFFER_HIT, NOF_PREDICT_OFFER_HIT);
                for (unsigned k = 0; k < n; k++)
                    assert_int_equal(next[k].source, body[(i + 1 + k) % BODY].source);
            }
        }
        assert_true(known > 0 || kind == NOF_PREDICTOR_TAG || kind == NOF_PREDICTOR_TAG_CYCLE ||
                    kind == NOF_PREDICTOR_TAG_BETTERCYCLE);
        assert_int_equal(nof_recv_predictor_predict(p, 0, NULL), 0);
        free(p);
    }
}

/* One place receives from 1, 2, 3 in turn until it turns to 4, 5, and back: section 6.4. */
static void bettercycle_knows_a_cycle_that_broke(void **state)
{
    (void)state;
    unsigned hits[2] = {0, 0};
    for (unsigned k = 0; k < 2; k++) {
        struct nof_recv_predictor *p =
            make(&usual, k == 0 ? NOF_PREDICTOR_TAG_CYCLE : NOF_PREDICTOR_TAG_BETTERCYCLE);
        for (unsigned i = 0; i < 600; i++) {
            int three = i / 30 % 2 == 0;
            hits[k] += call(p, three ? 1 + (int)(i % 3) : 4 + (int)(i % 2), 1) & NOF_PREDICT_HIT;
        }
        free(p);
    }
    assert_true(hits[1] >= hits[0] + 18); /* each of 18 turns costs one lap of three or two more */
    assert_true(hits[1] > 570);
}

static void a_hint_names_the_place_of_the_next_call(void **state)
{
    (void)state;
    uint64_t seed = 5;
    struct nof_message_id next;
    struct nof_recv_predictor *p = make(&usual, NOF_PREDICTOR_TAG);
    for (unsigned i = 0; i < 200; i++)
        call(p, (int)(i % 2), 1 + i % 2);
    for (unsigned i = 0; i < 200; i++) {
        unsigned which = (unsigned)(rnd(&seed) % 2);
        nof_recv_predictor_hint(p, 1 + which);
        assert_int_equal(nof_recv_predictor_predict(p, 1, &next), 1);
        assert_int_equal(next.source, which);
        call(p, (int)which, 1 + which);
    }
    nof_recv_predictor_hint(p, 77); /* a place that never called */
    assert_int_equal(nof_recv_predictor_predict(p, 1, &next), 0);
    free(p);
}

static void a_random_order_keeps_it_silent(void **state)
{
    (void)state;
    static const unsigned sources[] = {2, 4, 30};
    for (int kind = FIRST_KIND; kind < NOF_PREDICTOR_KINDS; kind++) {
        for (unsigned s = 0; s < 3; s++) {
            uint64_t seed = 11 + s;
            unsigned offers = 0;
            struct nof_recv_predictor *p = make(&usual, kind);
            for (unsigned i = 0; i < 20000; i++)
                offers += (call(p, (int)(rnd(&seed) % sources[s]), 1) & NOF_PREDICT_OFFERED) != 0;
            assert_true(offers < 20000 / 50);
            free(p);
        }
    }
}

/* More ids, more sites and longer cycles than there is memory for: fewer hits, never more than asked for. */
static void little_memory_is_enough(void **state)
{
    (void)state;
    static const struct nof_predictor_config tiny = {.ids = 4, .sites = 4, .history = 16, .cycles = 4};
    for (int kind = FIRST_KIND; kind < NOF_PREDICTOR_KINDS; kind++) {
        uint64_t seed = 3;
        struct nof_recv_predictor *p = make(&tiny, kind);
        struct nof_message_id next[100];
        for (unsigned i = 0; i < 50000; i++) {
            unsigned period = 2 + i / 1000 % 40;
            unsigned at = i % 97 == 0 ? (unsigned)(rnd(&seed) % 50) : i % period;
            call(p, (int)at, 100 + at % 9);
            assert_true(nof_recv_predictor_predict(p, 100, next) <= 100);
            if (i % 5000 == 0)
                nof_recv_predictor_choose(p, (enum nof_predictor_kind)(FIRST_KIND + (int)(rnd(&seed) % 5)));
        }
        nof_recv_predictor_choose(p, NOF_PREDICTOR_SINGLE_CYCLE);
        unsigned hits = 0;
        for (unsigned i = 0; i < 100; i++)
            hits += call(p, (int)(i % 4), 1) & NOF_PREDICT_HIT;
        assert_true(hits > 85);
        free(p);
    }
}

static void bounds_are_checked(void **state)
{
    (void)state;
    static const struct nof_predictor_config bad[] = {
        {.ids = 3}, {.sites = 65536}, {.history = 8}, {.cycles = 5}};
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(nof_recv_predictor_mem_size(&bad[i]), 0);
    for (uint32_t calls = 16; calls <= 32768; calls *= 2) {
        struct nof_predictor_config c = nof_predictor_sized(calls);
        assert_true(nof_recv_predictor_mem_size(&c) > 0);
    }
    assert_true(nof_recv_predictor_mem_size(&usual) <= 26 * 1024);
    assert_null(nof_predictor_name(NOF_PREDICTOR_KINDS));
}

static void the_feature_names_every_kind_in_order(void **state)
{
    char names[256] = "";

    (void)state;
    for (unsigned kind = 0; kind < NOF_PREDICTOR_KINDS; kind++) {
        if (kind > 0)
            strcat(names, "|");
        strcat(names, nof_predictor_name((enum nof_predictor_kind)kind));
    }
    assert_string_equal(names, nof_feature_info[NOF_F_PREDICTION].choices);
    assert_int_equal(nof_feature_info[NOF_F_PREDICTION].max, NOF_PREDICTOR_KINDS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_feature_names_every_kind_in_order),
        cmocka_unit_test(the_initialization_phase_skips_what_does_not_repeat),
        cmocka_unit_test(a_first_cycle_is_at_least_six_long),
        cmocka_unit_test(predict_says_the_next_calls_in_order),
        cmocka_unit_test(bettercycle_knows_a_cycle_that_broke),
        cmocka_unit_test(a_hint_names_the_place_of_the_next_call),
        cmocka_unit_test(a_random_order_keeps_it_silent),
        cmocka_unit_test(little_memory_is_enough),
        cmocka_unit_test(bounds_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
