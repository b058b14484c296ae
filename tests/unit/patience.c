/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules that wait for a rank that does not come: told by nof_nic_colls(), ended by coll_patience_ms and never without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#define MS 1000000ull
#define RANKS 4u
#define ROUNDS 3u
#define CTX 9u
#define TAG 3

/* Round after round to the next and from the one before. */
static void open_ring(struct world *w, unsigned rank)
{
    struct {
        struct nof_program_head head;
        struct nof_program_step step[3 * ROUNDS];
    } p = {.head = {.magic = NOF_PROGRAM_MAGIC, .nsteps = 3 * ROUNDS}};
    for (unsigned k = 0; k < 3 * ROUNDS; k++) {
        p.step[k] =
            (struct nof_program_step){.opcode = NOF_STEP_FENCE, .after = {NOF_STEP_NONE, NOF_STEP_NONE}};
        if (k % 3 == 2)
            continue;
        p.step[k].opcode = k % 3 == 0 ? NOF_STEP_RECV : NOF_STEP_SEND;
        p.step[k].peer = (int32_t)((rank + (k % 3 == 0 ? RANKS - 1 : 1)) % RANKS);
        p.step[k].offset = k * 100;
        p.step[k].len = 50;
    }
    struct nof_desc d = {
        .opcode = NOF_DESC_SCHED_OPEN, .cookie = 1, .len = sizeof p, .sched = {.name = 1, .generation = 1}};
    memcpy(world_rank(w, rank)->program_area, &p, sizeof p);
    world_post(w, rank, &d);
    world_run(w);
    assert_int_equal(world_expect(w, rank, NOF_COMP_SCHED_OPEN, 1)->status, NOF_OK);
}

static void open_two(struct world *w, unsigned rank, struct nof_program_step one, struct nof_program_step two)
{
    struct {
        struct nof_program_head head;
        struct nof_program_step step[2];
    } p = {.head = {.magic = NOF_PROGRAM_MAGIC, .nsteps = 2}, .step = {one, two}};
    for (unsigned i = 0; i < 2; i++)
        p.step[i].after[0] = p.step[i].after[1] = NOF_STEP_NONE;
    struct nof_desc d = {
        .opcode = NOF_DESC_SCHED_OPEN, .cookie = 1, .len = sizeof p, .sched = {.name = 2, .generation = 1}};
    memcpy(world_rank(w, rank)->program_area, &p, sizeof p);
    world_post(w, rank, &d);
    world_run(w);
    assert_int_equal(world_expect(w, rank, NOF_COMP_SCHED_OPEN, 1)->status, NOF_OK);
}

/* A step that its host does, which may await rank 2, and a message to rank 1. */
static void open_host(struct world *w, unsigned rank, uint8_t flags)
{
    open_two(w, rank,
             (struct nof_program_step){.opcode = NOF_STEP_HOST, .flags = flags, .peer = flags != 0 ? 2 : 0},
             (struct nof_program_step){.opcode = NOF_STEP_SEND, .peer = 1});
}

static void start_name(struct world *w, unsigned rank, uint32_t name)
{
    struct nof_desc d = {
        .opcode = NOF_DESC_SCHED_START,
        .ctx = CTX,
        .cookie = 2,
        .tag = TAG,
        .sched = {.name = name, .generation = 1, .base = {(uint64_t)(uintptr_t)world_rank(w, rank)->arena}}};
    world_post(w, rank, &d);
}

static void start(struct world *w, unsigned rank)
{
    start_name(w, rank, 1);
}

static struct world *open_world(uint64_t patience_ms)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = 1, .seed = 1};
    struct world *w = world_init(&cfg);
    for (unsigned r = 0; r < RANKS; r++)
        world_open(w, r % 2, r, RANKS);
    world_run(w);
    for (unsigned r = 0; r < RANKS; r++)
        open_ring(w, r);
    for (unsigned n = 0; n < 2; n++)
        assert_int_equal(nof_nic_feature_set(world_nic(w, n), NOF_F_COLL_PATIENCE, patience_ms), NOF_OK);
    return w;
}

static const struct nof_comp *next(struct world *w, unsigned rank, int opcode)
{
    const struct nof_comp *comp;
    while ((comp = world_take(w, rank)) != NULL && comp->opcode != opcode)
        ;
    return comp;
}

/* All but rank 3. */
static void start_most(struct world *w)
{
    for (unsigned r = 0; r < 3; r++)
        start(w, r);
}

static void without_patience_nobody_gives_up(void **state)
{
    struct world *w = open_world(0);
    (void)state;
    start_most(w);
    world_run_for(w, 100000 * MS);
    for (unsigned r = 0; r < 3; r++)
        assert_null(next(w, r, NOF_COMP_SCHED));
    start(w, 3);
    world_run_for(w, 10 * MS);
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(next(w, r, NOF_COMP_SCHED)->status, NOF_OK);
    world_fini(w);
}

static void who_waits_too_long_fails_and_tells(void **state)
{
    struct world *w = open_world(200);
    (void)state;
    start_most(w);
    world_run_for(w, 190 * MS);
    for (unsigned r = 0; r < 3; r++)
        assert_null(next(w, r, NOF_COMP_SCHED));
    world_run_for(w, 100 * MS);
    for (unsigned r = 0; r < 3; r++) {
        const struct nof_comp *comp = next(w, r, NOF_COMP_SCHED);
        assert_non_null(comp);
        assert_int_equal(comp->status, NOF_ETIMEDOUT);
    }
    start(w, 3); /* it was told */
    world_run_for(w, 10 * MS);
    assert_int_equal(next(w, 3, NOF_COMP_SCHED)->status, NOF_ETIMEDOUT);
    world_fini(w);
}

static void who_gets_on_may_take_longer(void **state)
{
    struct world *w = open_world(0);
    struct nof_desc d = {.opcode = NOF_DESC_SEND, .ctx = CTX, .cookie = 7, .peer = 0, .tag = TAG, .len = 50};
    (void)state;
    d.addr = (uint64_t)(uintptr_t)world_rank(w, 3)->arena;
    assert_int_equal(nof_nic_feature_set(world_nic(w, 0), NOF_F_COLL_PATIENCE, 200), NOF_OK);
    start(w, 0);
    for (unsigned k = 0; k < ROUNDS; k++) {
        world_run_for(w, 150 * MS);
        assert_null(next(w, 0, NOF_COMP_SCHED));
        world_post(w, 3, &d);
    }
    world_run_for(w, 10 * MS);
    assert_int_equal(next(w, 0, NOF_COMP_SCHED)->status, NOF_OK);
    world_fini(w);
}

/* It had 100 of its 200 ms left when the NICs stood still, and has them afterwards: what came meanwhile nobody has seen. */
static void what_a_nic_was_absent_for_is_no_wait(void **state)
{
    struct world *w = open_world(200);
    struct nof_coll_info info[4];
    (void)state;
    start_most(w);
    for (unsigned i = 0; i < 3; i++) {
        world_run_for(w, 30 * MS);
        world_absent(w, 3000 * MS);
    }
    world_run_for(w, 10 * MS);
    for (unsigned r = 0; r < 3; r++)
        assert_null(next(w, r, NOF_COMP_SCHED));
    assert_int_equal(nof_nic_colls(world_nic(w, 0), world_now(w), 110 * MS, info, 4), 0);
    world_run_for(w, 190 * MS);
    assert_int_equal(next(w, 0, NOF_COMP_SCHED)->status, NOF_ETIMEDOUT);
    world_fini(w);
}

static void those_that_wait_are_told(void **state)
{
    struct world *w = open_world(0);
    struct nof_coll_info info[8];
    (void)state;
    start_most(w);
    world_run_for(w, 500 * MS);
    uint64_t now_ns = world_now(w);
    assert_int_equal(nof_nic_colls(world_nic(w, 0), now_ns, 1000 * MS, info, 8), 0);
    assert_int_equal(nof_nic_colls(world_nic(w, 0), now_ns, 400 * MS, info, 8), 2); /* ranks 0 and 2 */
    for (unsigned i = 0; i < 2; i++) {
        bool first = info[i].endpoint == world_rank(w, 0)->endpoint;
        assert_true(first || info[i].endpoint == world_rank(w, 2)->endpoint);
        assert_int_equal(info[i].ctx, CTX);
        assert_int_equal(info[i].tag, TAG);
        assert_int_equal(info[i].nranks, 1);
        assert_int_equal(info[i].rank[0], first ? 3 : 1);
        assert_in_range(info[i].waited_ns, 400 * MS, 500 * MS);
    }
    assert_int_equal(nof_nic_colls(world_nic(w, 0), now_ns, 400 * MS, info, 1), 1);
    start(w, 3);
    world_run_for(w, 10 * MS);
    assert_int_equal(nof_nic_colls(world_nic(w, 0), world_now(w), 0, info, 8), 0);
    world_fini(w);
}

/* The host waits for rank 2, beside it: whoever asks hears of that one, and so does the rank that has to do with neither. */
static void who_comes_past_the_nic_is_named(void **state)
{
    (void)state;
    for (unsigned again = 0; again < 2; again++) { /* 1: it says nothing of a peer */
        struct world *w = open_world(0);
        struct nof_coll_info info[4];
        open_host(w, 0, again ? 0 : NOF_STEP_F_AWAITS);
        start_name(w, 0, 2);
        world_run_for(w, 500 * MS);
        assert_int_equal(nof_nic_colls(world_nic(w, 0), world_now(w), 400 * MS, info, 4), 1);
        assert_int_equal(info[0].nranks, again ? 0 : 1);
        assert_int_equal(info[0].messages, again ? 0 : 1);
        assert_true(again || info[0].rank[0] == 2);
        assert_int_equal(nof_nic_feature_set(world_nic(w, 0), NOF_F_COLL_PATIENCE, 200), NOF_OK);
        world_run_for(w, 300 * MS);
        const struct nof_comp *comp = next(w, 0, NOF_COMP_SCHED);
        assert_non_null(comp);
        assert_int_equal(comp->status, NOF_ETIMEDOUT);
        assert_int_equal(comp->handle, again ? 2 : 0);
        assert_int_equal(comp->peer, again ? 0 : 2);
        start(w, 1); /* whom rank 0 had a message for */
        world_run_for(w, 10 * MS);
        comp = next(w, 1, NOF_COMP_SCHED);
        assert_int_equal(comp->status, NOF_ETIMEDOUT);
        assert_int_equal(comp->peer, again ? 0 : 2);
        world_fini(w);
    }
}

/* A receiver may be stuck in an earlier round, behind the same sender as this rank: he is named where nothing else is awaited. */
static void a_sender_is_named_before_a_receiver(void **state)
{
    static const uint8_t to = NOF_STEP_F_AWAITS | NOF_STEP_F_SENDS;
    static const struct {
        struct nof_program_step one, two;
        uint32_t step, named; /* by nof_nic_colls() */
        int32_t whose;
    } cases[] = {
        {{.opcode = NOF_STEP_HOST, .flags = to, .peer = 1},
         {.opcode = NOF_STEP_HOST, .flags = NOF_STEP_F_AWAITS, .peer = 2},
         1,
         1,
         2},
        {{.opcode = NOF_STEP_HOST, .flags = to, .peer = 1}, {.opcode = NOF_STEP_RECV, .peer = 3}, 1, 1, 3},
        {{.opcode = NOF_STEP_SEND, .peer = 1, .len = 100000}, {.opcode = NOF_STEP_RECV, .peer = 3}, 1, 1, 3},
        {{.opcode = NOF_STEP_HOST}, {.opcode = NOF_STEP_HOST, .flags = to, .peer = 2}, 1, 0, 2},
        {{.opcode = NOF_STEP_SEND, .peer = 1, .len = 100000}, {.opcode = NOF_STEP_HOST}, 0, 0, 1},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world *w = open_world(200);
        struct nof_coll_info info[4];
        open_two(w, 0, cases[i].one, cases[i].two);
        start_name(w, 0, 2);
        world_run_for(w, 100 * MS);
        assert_int_equal(nof_nic_colls(world_nic(w, 0), world_now(w), 50 * MS, info, 4), 1);
        assert_int_equal(info[0].nranks, cases[i].named);
        assert_true(cases[i].named == 0 || info[0].rank[0] == (uint32_t)cases[i].whose);
        world_run_for(w, 500 * MS);
        const struct nof_comp *comp = next(w, 0, NOF_COMP_SCHED);
        assert_non_null(comp);
        assert_int_equal(comp->status, NOF_ETIMEDOUT);
        assert_int_equal(comp->handle, cases[i].step);
        assert_int_equal(comp->peer, cases[i].whose);
        world_fini(w);
    }
}

/* A rank leaves while its schedule waits, and another comes to its endpoint: there is nothing to be patient with. */
static void who_has_left_is_not_waited_for(void **state)
{
    struct nof_coll_info info[4];
    (void)state;
    for (unsigned again = 0; again < 4;
         again++) { /* 1: with a program of its own; 2: it was its host that all waited for */
        struct world *w = open_world(200);
        if (again & 2)
            open_host(w, 0, 0);
        start_name(w, 0, again & 2 ? 2 : 1);
        world_run_for(w, 20 * MS);
        assert_int_equal(nof_nic_colls(world_nic(w, 0), world_now(w), MS, info, 4), 1);
        uint32_t endpoint = world_rank(w, 0)->endpoint;
        world_close(w, 0, NOF_EPEERDEAD);
        world_run_for(w, 20 * MS);
        assert_int_equal(nof_nic_colls(world_nic(w, 0), world_now(w), 0, info, 4), 0);
        while (world_take(w, 0) != NULL)
            ;
        assert_int_equal(world_try_open(w, 0, 0, 0, RANKS, 7), NOF_OK);
        assert_int_equal(world_rank(w, 0)->endpoint, endpoint);
        if (again & 1)
            open_ring(w, 0);
        world_run_for(w, 1000 * MS);
        assert_null(next(w, 0, NOF_COMP_SCHED));
        assert_false(world_rank(w, 0)->failed);
        world_close(w, 0, NOF_OK);
        world_run_for(w, 20 * MS);
        world_fini(w);
    }
}

#define LONG 100000u
#define US 1000ull

/* Rank 0 sends to rank 1, whose host receives; after `us` it is cancelled. */
static struct world *cancelled_within(bool dma_inline, uint64_t us)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = dma_inline, .seed = us};
    struct world *w = world_init(&cfg);
    struct {
        struct nof_program_head head;
        struct nof_program_step step;
    } p = {
        .head = {.magic = NOF_PROGRAM_MAGIC, .nsteps = 1},
        .step = {.opcode = NOF_STEP_SEND, .peer = 1, .len = LONG, .after = {NOF_STEP_NONE, NOF_STEP_NONE}}};
    struct nof_desc open = {
        .opcode = NOF_DESC_SCHED_OPEN, .cookie = 1, .len = sizeof p, .sched = {.name = 1, .generation = 1}};
    struct nof_desc recv = {.opcode = NOF_DESC_RECV, .ctx = CTX, .cookie = 7, .tag = TAG, .len = LONG};
    struct nof_desc cancel = {.opcode = NOF_DESC_SCHED_CANCEL, .sched = {.name = 1, .generation = 1}};
    for (unsigned r = 0; r < 2; r++)
        world_open(w, r, r, 2);
    memcpy(world_rank(w, 0)->program_area, &p, sizeof p);
    memset(world_rank(w, 0)->arena, 0x11, LONG);
    world_post(w, 0, &open);
    world_run(w);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SCHED_OPEN, 1)->status, NOF_OK);
    recv.addr = (uint64_t)(uintptr_t)world_rank(w, 1)->arena;
    world_post(w, 1, &recv);
    start(w, 0);
    world_run_for(w, us * US);
    world_post(w, 0, &cancel);
    return w;
}

static const struct nof_comp *end_within(struct world *w, uint64_t ns)
{
    const struct nof_comp *comp = NULL;
    for (uint64_t at = 0; comp == NULL && at < ns; at += US) {
        world_run_for(w, US);
        comp = next(w, 0, NOF_COMP_SCHED);
    }
    return comp;
}

/* Whoever hears of the failure may use the buffer again: the other side has no byte of what is in it then. */
static void what_has_failed_does_not_read(void **state)
{
    unsigned cut = 0;
    (void)state;
    for (uint64_t us = 2; us < 400; us += 1 + us / 8)
        for (unsigned dma_inline = 0; dma_inline < 2; dma_inline++) {
            struct world *w = cancelled_within(dma_inline, us);
            const struct nof_comp *comp = end_within(w, 100 * MS);
            assert_non_null(comp);
            cut += comp->status == NOF_ECANCELED;
            memset(world_rank(w, 0)->arena, 0xff, LONG);
            world_run_for(w, 200 * MS);
            comp = next(w, 1, NOF_COMP_RECV);
            for (uint32_t i = 0; comp != NULL && comp->status == NOF_OK && i < LONG; i++)
                assert_int_equal(world_rank(w, 1)->arena[i], 0x11);
            world_fini(w);
        }
    assert_true(cut > 10);
}

/* The receiver's NIC is cut off: nobody is kept waiting for it. */
static void sends_are_waited_for_in_vain_for_a_while(void **state)
{
    unsigned waited = 0;
    (void)state;
    for (uint64_t us = 2; us < 400; us += 1 + us / 8) {
        struct world *w = cancelled_within(true, us);
        world_cut(w, 1, true);
        const struct nof_comp *comp = end_within(w, 99 * MS);
        waited += comp == NULL;
        if (comp == NULL)
            comp = end_within(w, 3 * MS);
        assert_non_null(comp);
        world_fini(w);
    }
    assert_true(waited > 0);
}

/* Nor are the 100 ms over that sends of a run that has failed are waited for. */
static void sends_are_waited_for_while_a_nic_runs(void **state)
{
    unsigned waited = 0;
    (void)state;
    for (uint64_t us = 2; us < 400; us += 1 + us / 8) {
        struct world *w = cancelled_within(true, us);
        world_cut(w, 1, true);
        bool waits = end_within(w, 50 * MS) == NULL;
        if (waits) {
            world_absent(w, 300 * MS);
            assert_null(end_within(w, 40 * MS));
            world_cut(w, 1, false);
            assert_non_null(end_within(w, 500 * MS));
        }
        waited += waits;
        world_fini(w);
    }
    assert_true(waited > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_patience_nobody_gives_up),
        cmocka_unit_test(who_waits_too_long_fails_and_tells),
        cmocka_unit_test(who_gets_on_may_take_longer),
        cmocka_unit_test(what_a_nic_was_absent_for_is_no_wait),
        cmocka_unit_test(those_that_wait_are_told),
        cmocka_unit_test(who_comes_past_the_nic_is_named),
        cmocka_unit_test(a_sender_is_named_before_a_receiver),
        cmocka_unit_test(who_has_left_is_not_waited_for),
        cmocka_unit_test(what_has_failed_does_not_read),
        cmocka_unit_test(sends_are_waited_for_in_vain_for_a_while),
        cmocka_unit_test(sends_are_waited_for_while_a_nic_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
