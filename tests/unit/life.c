/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An endpoint from its attach on: what it may be attached with, what it is told when it has broken the rules, and what
 * it goes on with by itself: completions that found no room, and FLUSH. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#include "life.h"

#define EPS 2u
#define MS 1000000ull

static struct world *w;
static struct nof_nic *nic;
static struct nof_endpoint *ep;

static struct nof_endpoint *begin(int dma_inline)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = dma_inline, .seed = 1};

    cfg.nic = (struct nof_nic_config){.max_endpoints = EPS};
    w = world_init(&cfg);
    nic = world_nic(w, 0);
    return &nic->eps[0];
}

static void both(void)
{
    world_open(w, 0, 0, 2);
    world_open(w, 1, 1, 2);
    world_run_for(w, 5 * MS);
    while (world_take(w, 0) != NULL)
        continue;
}

static int start(void **state)
{
    (void)state;
    ep = begin(1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_fini(w);
    return 0;
}

static uint8_t byte;

static struct nof_endpoint_params good(void)
{
    return (struct nof_endpoint_params){.job_id = 7, .rank = 3, .size = 4};
}

static void what_cannot_be_is_refused(void **state)
{
    struct nof_endpoint_params bad[8];
    struct nof_card card = {.nic_id = 77};
    uint32_t index = 99;

    (void)state;
    for (unsigned i = 0; i < 8; i++)
        bad[i] = good();
    bad[0].size = 0;
    bad[1].rank = 4;
    bad[2].size = (uint32_t)INT32_MAX + 1;
    bad[3].staging_bytes = 1; /* of nothing */
    bad[4].bounce_bytes = 1;
    bad[5].program_area_bytes = 1;
    bad[6].staging = &byte;
    bad[6].staging_bytes = (size_t)INT32_MAX + 1;
    bad[7].rank = bad[7].size = UINT32_MAX;
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(nof_life_open(nic, &bad[i], &index, &card), NOF_EINVAL);
    assert_int_equal(index, 99);
    assert_int_equal(card.nic_id, 77);
    assert_int_equal(nic->counters[NOF_C_ENDPOINTS], 0);
    for (uint32_t j = 0; j < nic->cfg.max_jobs; j++)
        assert_false(nic->jobs[j].used);
}

static void the_card_says_where_it_is(void **state)
{
    struct nof_endpoint_params params = good();
    struct nof_card card;
    uint32_t index;

    (void)state;
    assert_int_equal(nof_life_open(nic, &params, &index, &card), NOF_OK);
    assert_int_equal(card.endpoint, index);
    assert_int_equal(card.generation, nic->eps[index].generation);
    assert_int_equal(card.nic_id, nic->cfg.nic_id);
    assert_int_equal(card.host_id, nic->cfg.host_id);
    assert_int_equal(card.ip4, nic->cfg.ip4);
    assert_int_equal(card.udp_port, nic->cfg.udp_port);
    assert_memory_equal(card.mac, nic->cfg.mac, sizeof card.mac);
}

static void there_are_so_many_and_each_life_has_a_number(void **state)
{
    uint16_t generation;

    (void)state;
    world_open_job(w, 0, 0, 0, 4, 7);
    world_open_job(w, 0, 1, 1, 4, 7);
    assert_int_equal(world_try_open(w, 0, 2, 2, 4, 7), NOF_ENOMEM);
    assert_int_not_equal(world_rank(w, 0)->endpoint, world_rank(w, 1)->endpoint);
    generation = world_rank(w, 0)->card.generation;
    world_close(w, 0, NOF_OK);
    world_run_for(w, MS);
    world_open_job(w, 0, 0, 0, 4, 7);
    assert_int_equal(world_rank(w, 0)->card.generation, generation + 1);
    assert_int_equal(nic->counters[NOF_C_ENDPOINTS], 2);
}

static void without_counters_nobody_is_counted(void **state)
{
    struct nof_endpoint_params params = good();
    struct nof_card card;
    uint32_t index;

    (void)state;
    assert_int_equal(nof_life_open(nic, &params, &index, &card), NOF_OK);
    assert_ptr_equal(nic->eps[index].counters, nic->no_counters);
}

static void who_broke_the_rules_is_told_once_and_heard_no_more(void **state)
{
    (void)state;
    both();
    nof_life_fail(nic, ep, NOF_EPROTO);
    assert_int_equal(world_rank(w, 0)->failed, NOF_EPROTO);
    world_rank(w, 0)->failed = 0;
    nof_life_fail(nic, ep, NOF_EFAULT);
    assert_int_equal(world_rank(w, 0)->failed, 0);
    assert_int_equal(ep->state, NOF_EP_FAILED);
    assert_int_equal(nof_nic_host_room(nic, ep->index), 0);
    assert_int_equal(world_expect(w, 0, NOF_COMP_FAILED, 0)->status, NOF_EPROTO);
    world_send(w, 1, 0, 1, world_rank(w, 1)->arena, 8, 1);
    world_run_for(w, 5 * MS);
    assert_null(world_take(w, 0));
}

/* The last word does not overtake the others. */
static void with_completions_that_wait_there_is_no_last_word(void **state)
{
    (void)state;
    both();
    world_rank(w, 0)->ring_slots = 1;
    world_rank(w, 0)->ring_used = 1;
    world_send(w, 0, 1, 1, world_rank(w, 0)->arena, 8, 1);
    world_run_for(w, MS);
    assert_int_not_equal(ep->comp_head, NOF_NIL);
    world_rank(w, 0)->ring_used = 0; /* there is room by now */
    nof_life_fail(nic, ep, NOF_EPROTO);
    assert_int_equal(world_rank(w, 0)->failed, NOF_EPROTO);
    assert_null(world_take(w, 0));
    ep->state = NOF_EP_OPEN; /* so that what waits can be given */
}

static void completions_that_found_no_room_are_given_in_order(void **state)
{
    (void)state;
    both();
    world_rank(w, 0)->ring_slots = 3;
    world_rank(w, 0)->ring_used = 3;
    for (uint64_t i = 0; i < 5; i++) {
        struct nof_desc d = {
            .opcode = NOF_DESC_SEND, .flags = NOF_DESC_F_INLINE, .ctx = 1, .cookie = i, .peer = 1};

        nof_nic_host(nic, world_now(w), ep->index, &d, 1);
    }
    world_run_for(w, MS);
    assert_null(world_take(w, 0));
    assert_int_equal(nic->stalled_comps, 1);
    assert_int_equal(nof_nic_host_room(nic, ep->index), 0); /* nothing is taken meanwhile */
    world_rank(w, 0)->ring_used = 0;
    world_run_for(w, MS);
    for (uint64_t i = 0; i < 3; i++)
        (void)world_expect(w, 0, NOF_COMP_SEND, i);
    assert_null(world_take(w, 0));
    world_run_for(w, MS);
    for (uint64_t i = 3; i < 5; i++)
        (void)world_expect(w, 0, NOF_COMP_SEND, i);
    assert_int_equal(nic->stalled_comps, 0);
    assert_true(nof_nic_host_room(nic, ep->index) > 0);
}

static void post_flush(uint64_t cookie)
{
    struct nof_desc d = {.opcode = NOF_DESC_FLUSH, .cookie = cookie};

    world_post(w, 0, &d);
}

static void a_flush_without_sends_is_answered_at_once(void **state)
{
    (void)state;
    both();
    post_flush(7);
    post_flush(8);
    (void)world_expect(w, 0, NOF_COMP_FLUSH, 7);
    (void)world_expect(w, 0, NOF_COMP_FLUSH, 8);
    assert_int_equal(nic->flushing, 0);
}

static void a_flush_waits_for_what_was_sent_before_and_nothing_else(void **state)
{
    const struct nof_comp *c;

    (void)state;
    both();
    world_send(w, 0, 1, 1, world_rank(w, 0)->arena, 8, 1);
    world_cut(w, 1, true);
    post_flush(7);
    world_run_for(w, 20 * MS);
    while ((c = world_take(w, 0)) != NULL)
        assert_int_not_equal(c->opcode, NOF_COMP_FLUSH);
    assert_int_equal(nic->flushing, 1);
    world_send(w, 0, 1, 1, world_rank(w, 0)->arena, 50000, 2); /* nobody ever receives it */
    world_cut(w, 1, false);
    world_run_for(w, 100 * MS);
    (void)world_expect(w, 0, NOF_COMP_FLUSH, 7);
    assert_int_equal(nic->flushing, 0);
    assert_true(ep->sends_used > 0);
}

static void a_flush_does_not_wait_for_the_dead(void **state)
{
    const struct nof_comp *c;
    unsigned flushed = 0;

    (void)state;
    both();
    world_cut(w, 1, true);
    world_send(w, 0, 1, 1, world_rank(w, 0)->arena, 8, 1);
    post_flush(7);
    world_run_for(w, 5000 * MS);
    while ((c = world_take(w, 0)) != NULL)
        flushed += c->opcode == NOF_COMP_FLUSH;
    assert_int_equal(flushed, 1);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(what_cannot_be_is_refused),
        EACH(the_card_says_where_it_is),
        EACH(there_are_so_many_and_each_life_has_a_number),
        EACH(without_counters_nobody_is_counted),
        EACH(who_broke_the_rules_is_told_once_and_heard_no_more),
        EACH(with_completions_that_wait_there_is_no_last_word),
        EACH(completions_that_found_no_room_are_given_in_order),
        EACH(a_flush_without_sends_is_answered_at_once),
        EACH(a_flush_waits_for_what_was_sent_before_and_nothing_else),
        EACH(a_flush_does_not_wait_for_the_dead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
