/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the NIC shows the predictor: calls in call order, wildcards with what they matched, none of the library's
 * own; and that prediction can be switched at any time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recv_predictor.h"
#include "world.h"

#define RECEIVER 0
#define SENDERS 3 /* ranks 1 to 3, on the other NIC */

static struct world *two_nics(uint64_t predictor, uint32_t calls)
{
    struct world_config cfg = {.nics = 2, .dma_inline = 1, .seed = 9, .nic = {.predict_calls = calls}};
    struct world *w = world_init(&cfg);
    assert_int_equal(nof_nic_feature_set(world_nic(w, 0), NOF_F_PREDICTION, predictor), NOF_OK);
    world_open(w, 0, RECEIVER, 1 + SENDERS);
    for (unsigned r = 1; r <= SENDERS; r++)
        world_open(w, 1, r, 1 + SENDERS);
    world_run(w);
    return w;
}

static uint64_t count(struct world *w, enum nof_counter c)
{
    return world_rank(w, RECEIVER)->counters[c];
}

static void post(struct world *w, int source, int tag, uint64_t site, uint64_t cookie)
{
    struct nof_desc d = {
        .opcode = NOF_DESC_RECV, .ctx = 1, .cookie = cookie, .peer = source, .tag = tag, .len = 8};
    d.callsite = site;
    world_post(w, RECEIVER, &d);
}

static void send(struct world *w, int from, int tag)
{
    struct nof_desc d = {.opcode = NOF_DESC_SEND, .flags = NOF_DESC_F_INLINE, .ctx = 1, .tag = tag, .len = 8};
    world_post(w, (unsigned)from, &d);
}

static void finish(struct world *w)
{
    world_run(w);
    for (unsigned r = 0; r <= SENDERS; r++)
        while (world_take(w, r) != NULL)
            continue;
}

/* One round of a loop: from any source tag 1, then from each sender its tag, in this order; the messages come the
 * other way round, or before the calls. */
static void round_of_four(struct world *w, int early)
{
    if (early) {
        send(w, 3, 1);
        for (int r = 1; r <= SENDERS; r++)
            send(w, r, 10 + r);
        world_run(w);
    }
    post(w, NOF_ANY_SOURCE, 1, 0x100, 1);
    for (int r = 1; r <= SENDERS; r++)
        post(w, r, 10 + r, 0x200 + (uint64_t)r, 2);
    world_run(w);
    for (int r = SENDERS; !early && r >= 1; r--) {
        send(w, r, 10 + r);
        world_run(w);
    }
    if (!early)
        send(w, 3, 1);
    finish(w);
}

static void wildcards_are_shown_in_call_order(void **state)
{
    (void)state;
    for (uint64_t kind = 1; kind < NOF_PREDICTOR_KINDS; kind++) {
        struct world *w = two_nics(kind, 64);
        uint64_t seed = 77;
        for (unsigned i = 0; i < 50; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            round_of_four(w, (int)(seed >> 40 & 1));
        }
        assert_int_equal(count(w, NOF_C_PREDICT_CALLS), 200);
        assert_true(count(w, NOF_C_PREDICT_HITS) >= 190);
        assert_int_equal(count(w, NOF_C_PREDICT_MISSES), 0);
        assert_true(count(w, NOF_C_PREDICT_OFFERS) >= 170);
        assert_int_equal(count(w, NOF_C_PREDICT_OFFER_HITS), count(w, NOF_C_PREDICT_OFFERS));
        world_fini(w);
    }
}

static void the_librarys_own_receives_are_not_shown(void **state)
{
    (void)state;
    struct world *w = two_nics(NOF_PREDICTOR_AUTO, 0);
    for (unsigned i = 0; i < 20; i++) {
        post(w, 1, 5, 0, 1);
        send(w, 1, 5);
        finish(w);
    }
    assert_int_equal(count(w, NOF_C_PREDICT_CALLS), 0);
    world_fini(w);
}

/* A wildcard that nobody answers holds up 15 calls, not more; one that is cancelled holds up none. All are learnt. */
static void a_wildcard_that_waits_for_ever_does_not_stop_it(void **state)
{
    (void)state;
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        struct world *w = two_nics(NOF_PREDICTOR_SINGLE_CYCLE, 0);
        post(w, NOF_ANY_SOURCE, 99, 0x300, 42);
        if (cancelled) {
            struct nof_desc d = {.opcode = NOF_DESC_CANCEL, .cookie = 42};
            world_post(w, RECEIVER, &d);
        }
        for (unsigned i = 0; i < 100; i++) {
            post(w, 1 + (int)(i % 3), 4, 0x400, 1);
            send(w, 1 + (int)(i % 3), 4);
            finish(w);
        }
        assert_int_equal(count(w, NOF_C_PREDICT_CALLS), 101);
        assert_int_equal(count(w, NOF_C_PREDICT_HITS), 93);
        send(w, 2, 99); /* too late to be learnt, not to be received */
        world_run(w);
        if (!cancelled)
            world_expect(w, RECEIVER, NOF_COMP_RECV, 42);
        world_fini(w);
    }
}

static void prediction_is_switched_while_receives_wait(void **state)
{
    (void)state;
    struct world *w = two_nics(NOF_PREDICTOR_OFF, 16);
    uint64_t calls = 0;
    for (unsigned i = 0; i < 400; i++) {
        uint64_t kind = i / 7 % NOF_PREDICTOR_KINDS;
        post(w, NOF_ANY_SOURCE, 1, 0x100, 1);
        calls += kind != NOF_PREDICTOR_OFF;
        kind = (i + 1) / 7 % NOF_PREDICTOR_KINDS;
        assert_int_equal(nof_nic_feature_set(world_nic(w, 0), NOF_F_PREDICTION, kind), NOF_OK);
        send(w, 1 + (int)(i % 3), 1);
        finish(w);
    }
    assert_int_equal(count(w, NOF_C_PREDICT_CALLS), calls);
    assert_int_equal(nof_nic_feature_set(world_nic(w, 0), NOF_F_PREDICTION, NOF_PREDICTOR_KINDS), NOF_EINVAL);
    world_fini(w);
}

static void hints_need_no_answer_and_no_prediction(void **state)
{
    (void)state;
    for (uint64_t kind = 0; kind < NOF_PREDICTOR_KINDS; kind++) {
        struct world *w = two_nics(kind, 0);
        struct nof_desc d = {.opcode = NOF_DESC_HINT};
        for (unsigned i = 0; i < 50; i++) {
            d.callsite = i * 0x1000000001u;
            world_post(w, RECEIVER, &d);
        }
        world_run(w);
        assert_null(world_take(w, RECEIVER));
        assert_int_equal(world_rank(w, RECEIVER)->failed, 0);
        world_fini(w);
    }
}

/* It looks at a window now and then, and wakes up for good when calls repeat again. */
static void an_endpoint_without_order_lets_it_sleep(void **state)
{
    (void)state;
    struct world *w = two_nics(NOF_PREDICTOR_AUTO, 64);
    uint64_t seed = 5;
    for (unsigned i = 0; i < 6000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int tag = (int)(seed >> 33 & 63);
        post(w, 1, tag, 0x100, 1);
        send(w, 1, tag);
        if (i % 64 == 63)
            finish(w);
    }
    finish(w);
    assert_int_equal(count(w, NOF_C_PREDICT_CALLS), 6000);
    assert_true(count(w, NOF_C_PREDICT_HITS) + count(w, NOF_C_PREDICT_MISSES) < 700);
    assert_true(count(w, NOF_C_PREDICT_OFFERS) < 20);
    uint64_t hits = count(w, NOF_C_PREDICT_HITS);
    for (unsigned i = 0; i < 10000; i++) {
        post(w, 1, (int)(i % 8), 0x100, 1);
        send(w, 1, (int)(i % 8));
        if (i % 64 == 63)
            finish(w);
    }
    finish(w);
    assert_true(count(w, NOF_C_PREDICT_HITS) - hits > 1000);
    world_fini(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wildcards_are_shown_in_call_order),
        cmocka_unit_test(the_librarys_own_receives_are_not_shown),
        cmocka_unit_test(a_wildcard_that_waits_for_ever_does_not_stop_it),
        cmocka_unit_test(prediction_is_switched_while_receives_wait),
        cmocka_unit_test(hints_need_no_answer_and_no_prediction),
        cmocka_unit_test(an_endpoint_without_order_lets_it_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
