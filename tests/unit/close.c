/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Closing an endpoint: from the first moment it is deaf and dumb, what it held is cleared away in pieces, and its place
 * is free when nothing uses its memory any more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#include "close.h"
#include "nof/layout.h"

#define MS 1000000ull
#define MANY 2000u

static struct world *w;
static struct nof_nic *nic;
static struct nof_endpoint *ep; /* rank 0's */

static struct nof_nic *begin(int dma_inline)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = dma_inline, .seed = 1};

    cfg.nic = (struct nof_nic_config){.max_endpoints = 3, .max_peers = 64};
    w = world_init(&cfg);
    world_open(w, 0, 0, 4);
    world_open(w, 1, 1, 4);
    world_run_for(w, 5 * MS);
    nic = world_nic(w, 0);
    ep = &nic->eps[world_rank(w, 0)->endpoint];
    return nic;
}

static int end(void **state)
{
    (void)state;
    world_fini(w);
    return 0;
}

static uint8_t *arena(unsigned rank)
{
    return world_rank(w, rank)->arena;
}

/* Of everything that an endpoint can hold. */
static void hold_a_bit_of_all(unsigned n)
{
    struct nof_desc d;

    for (uint64_t i = 0; i < n; i++) {
        world_recv(w, 0, 1, 1, arena(0), 100, i);
        world_recv(w, 0, NOF_ANY_SOURCE, 1, arena(0), 100, i);
        world_send(w, 0, 1, 2, arena(0), 20000, i); /* nobody receives them */
        world_send(w, 1, 0, 3, arena(1), i % 2 == 0 ? 8 : 3000, i); /* nor these */
        world_send(w, 1, 0, 3, arena(1), 20000, i);
    }
    d = (struct nof_desc){
        .opcode = NOF_DESC_PROBE, .flags = NOF_DESC_F_WAIT, .ctx = 1, .cookie = 4, .peer = 1, .tag = 9};
    world_post(w, 0, &d);
    d = (struct nof_desc){.opcode = NOF_DESC_FLUSH, .cookie = 5};
    world_post(w, 0, &d);
    world_run_for(w, 20 * MS);
    assert_true(ep->recvs_used > 0 && ep->sends_used > 0 && ep->stored > 0);
}

static void nothing_is_left(void)
{
    assert_int_equal(ep->state, NOF_EP_FREE);
    assert_int_equal(nic->closing, 0);
    assert_int_equal(nic->flushing, 0);
    assert_int_equal(nic->sends.used, 0);
    assert_int_equal(nic->recvs.used, 0);
    assert_int_equal(nic->envs.used, 0);
    assert_int_equal(nic->peers.used, 0);
    assert_int_equal(nic->reads.used, 0);
    assert_int_equal(nic->writes.used, 0);
    assert_int_equal(nic->netmem.used, 0);
    assert_int_equal(nic->posted_total, 0);
    assert_int_equal(nic->layouts.pool.used, 0);
    assert_int_equal(nic->dma_free, nic->dma_total);
    assert_true(nof_nic_quiet(nic));
}

static void whatever_it_held_is_given_back(void **state)
{
    (void)state;
    for (int dma_inline = 0; dma_inline <= 1; dma_inline++) {
        if (dma_inline > 0)
            end(state);
        (void)begin(dma_inline);
        hold_a_bit_of_all(20);
        world_rank(w, 0)->ring_slots = world_rank(w, 0)->ring_used =
            1; /* and completions that find no room */
        world_recv(w, 1, 0, 2, arena(1), 20000, 1);
        world_run_for(w, 5 * MS);
        assert_int_not_equal(ep->comp_head, NOF_NIL);
        world_close(w, 0, NOF_OK);
        world_run_for(w, 100 * MS);
        nothing_is_left();
    }
}

static void layouts_and_taken_messages_are_given_back(void **state)
{
    const struct nof_comp *c;
    struct nof_desc d;

    (void)state;
    (void)begin(1);
    world_send(w, 1, 0, 3, arena(1), 3000, 1);
    world_run_for(w, MS);
    d = (struct nof_desc){.opcode = NOF_DESC_MPROBE, .ctx = 1, .cookie = 4, .peer = 1, .tag = 3};
    world_post(w, 0, &d);
    while ((c = world_take(w, 0)) != NULL && c->opcode != NOF_COMP_MPROBE)
        continue;
    assert_non_null(c);
    assert_int_equal(c->status, NOF_OK);
    assert_int_equal(ep->mprobed, 1);
    world_close(w, 0, NOF_OK);
    world_run_for(w, 100 * MS);
    nothing_is_left();
}

static void from_the_first_moment_it_hears_and_says_nothing(void **state)
{
    uint64_t counted, sent;

    (void)state;
    (void)begin(1);
    hold_a_bit_of_all(3);
    while (world_take(w, 0) != NULL)
        continue;
    counted = world_rank(w, 0)->counters[NOF_C_MSGS_RX];
    sent = world_rank(w, 0)->counters[NOF_C_TX_FRAMES];
    world_close(w, 0, NOF_OK);
    assert_int_equal(nof_nic_host_room(nic, ep->index), 0);
    world_send(w, 1, 0, 1, arena(1), 8, 99); /* for which it had a receive */
    world_run_for(w, 100 * MS);
    assert_null(world_take(w, 0));
    assert_int_equal(world_rank(w, 0)->counters[NOF_C_MSGS_RX], counted);
    assert_int_equal(world_rank(w, 0)->counters[NOF_C_TX_FRAMES], sent); /* its BAR may be gone */
}

static void the_last_of_its_job_on_a_nic_takes_the_job_along(void **state)
{
    uint32_t used = 0;

    (void)state;
    (void)begin(1);
    world_open_job(w, 0, 2, 0, 1, 9);
    world_close(w, 2, NOF_OK);
    world_run_for(w, 10 * MS);
    for (uint32_t j = 0; j < nic->cfg.max_jobs; j++)
        used += nic->jobs[j].used;
    assert_int_equal(used, 1);
}

static void its_peers_are_told_why(void **state)
{
    static const int reasons[] = {NOF_OK, NOF_EPEERDEAD, NOF_EFAULT};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        const struct nof_comp *c;

        if (i > 0)
            end(state);
        (void)begin(1);
        world_close(w, 0, reasons[i]);
        world_run_for(w, 10 * MS);
        while ((c = world_take(w, 1)) != NULL && c->opcode != NOF_COMP_PEER_DEAD)
            continue;
        assert_non_null(c);
        assert_int_equal(c->peer, 0);
        assert_int_equal(c->status, reasons[i]);
        assert_int_equal(nic->counters[NOF_C_ENDPOINTS_DEAD], reasons[i] != NOF_OK);
    }
}

/* Each piece is as long as the steps of a turn reach; nobody else waits for longer. */
static void thousands_are_cleared_away_in_turns(void **state)
{
    unsigned turns = 0;

    (void)state;
    (void)begin(1);
    for (uint64_t i = 0; i < MANY; i++)
        world_recv(w, 0, 1, 1, arena(0), 100, i);
    assert_int_equal(ep->recvs_used, MANY);
    world_close(w, 0, NOF_OK);
    while (ep->recvs_used > 0) {
        uint32_t before = ep->recvs_used;

        assert_int_equal(ep->state, NOF_EP_CLOSING);
        nof_nic_poll(nic, world_now(w), 64);
        assert_true(before - ep->recvs_used <= NOF_TURN_STEPS);
        assert_true(++turns < MANY);
    }
    assert_true(turns > 4);
    world_run_for(w, 100 * MS);
    nothing_is_left();
}

static void while_a_copy_is_under_way_its_place_is_not_given_to_another(void **state)
{
    uint32_t index;

    (void)state;
    (void)begin(0);
    world_rank(w, 0)->dma_stuck = 1;
    world_send(w, 0, 1, 1, arena(0), 3000, 1);
    world_run_for(w, MS);
    assert_int_equal(ep->dma_pending, 1);
    index = ep->index;
    world_close(w, 0, NOF_OK);
    world_run_for(w, 50 * MS);
    assert_int_equal(ep->state, NOF_EP_CLOSING);
    world_open(w, 0, 2, 4);
    assert_int_not_equal(world_rank(w, 2)->endpoint, index);
    world_dma_give_up(w);
    world_run_for(w, 50 * MS);
    assert_int_equal(ep->state, NOF_EP_FREE);
    world_open(w, 0, 3, 4);
    assert_int_equal(world_rank(w, 3)->endpoint, index);
}

static void it_closes_once(void **state)
{
    (void)state;
    (void)begin(1);
    hold_a_bit_of_all(3);
    world_close(w, 0, NOF_OK);
    nof_ep_close(nic, ep, NOF_EFAULT);
    assert_int_equal(ep->reason, NOF_OK);
    world_run_for(w, 100 * MS);
    nof_ep_close(nic, ep, NOF_EFAULT); /* there is none there */
    assert_int_equal(nic->counters[NOF_C_ENDPOINTS_DEAD], 0);
    nothing_is_left();
}

#define EACH(test) cmocka_unit_test_teardown(test, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(whatever_it_held_is_given_back),
        EACH(layouts_and_taken_messages_are_given_back),
        EACH(from_the_first_moment_it_hears_and_says_nothing),
        EACH(the_last_of_its_job_on_a_nic_takes_the_job_along),
        EACH(its_peers_are_told_why),
        EACH(thousands_are_cleared_away_in_turns),
        EACH(while_a_copy_is_under_way_its_place_is_not_given_to_another),
        EACH(it_closes_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
