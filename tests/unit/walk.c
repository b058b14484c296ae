/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The walk over posted receives: who is waited for, whose peer is dead, what a CANCEL means; in pieces of a turn, however
 * many there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world.h"

#include "flow/peer.h"
#include "msg/walk.h"

#define MS 1000000ull
#define MANY 2000u

static struct world *w;
static struct nof_nic *nic;
static struct nof_endpoint *ep;

static int begin(uint32_t max_peers)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = 1, .seed = 1};

    cfg.nic = (struct nof_nic_config){.max_endpoints = 2, .max_peers = max_peers};
    w = world_init(&cfg);
    world_open_job(w, 0, 0, 0, 4, 7);
    nic = world_nic(w, 0);
    ep = &nic->eps[world_rank(w, 0)->endpoint];
    return 0;
}

static int start(void **state)
{
    (void)state;
    return begin(16);
}

static int start_narrow(void **state)
{
    (void)state;
    return begin(2);
}

static int end(void **state)
{
    (void)state;
    world_fini(w);
    return 0;
}

static void post(unsigned n, int source, uint64_t first)
{
    for (unsigned i = 0; i < n; i++)
        world_recv(w, 0, source, 1, world_rank(w, 0)->arena, 64, first + i);
}

static void cancel(uint64_t cookie)
{
    struct nof_desc d = {.opcode = NOF_DESC_CANCEL, .cookie = cookie};

    world_post(w, 0, &d);
}

static void introduce(void)
{
    world_open_job(w, 1, 1, 1, 4, 7);
    world_introduce(w, 0, 1, 1);
    world_introduce(w, 1, 0, 0);
    world_run_for(w, 5 * MS);
    while (world_take(w, 0) != NULL)
        continue;
}

/* The peer is asked after for their sake from then on, and nobody has to look for them. */
static void receives_posted_before_their_peer_came_wait_for_it(void **state)
{
    const struct nof_peer *peer;

    (void)state;
    post(10, 1, 0);
    post(5, NOF_ANY_SOURCE, 100);
    world_run_for(w, MS);
    assert_null(nof_peer_by_rank(nic, ep->index, 1));
    assert_int_equal(ep->peers_used, 1);
    assert_int_equal(ep->unmet, 0);
    introduce();
    assert_int_equal(ep->peers_used, 1);
    peer = nof_peer_by_rank(nic, ep->index, 1);
    assert_int_equal(peer->expects, 10);
    assert_int_equal(ep->walk_left, 0);
}

static void a_peer_that_nobody_waits_for_any_more_is_gone(void **state)
{
    (void)state;
    post(2, 3, 0);
    post(1, 2, 100);
    world_run_for(w, MS);
    assert_int_equal(ep->peers_used, 2);
    for (unsigned i = 0; i < 2; i++) {
        cancel(i);
        assert_int_equal(world_expect(w, 0, NOF_COMP_CANCEL, i)->status, NOF_OK);
    }
    assert_int_equal(ep->peers_used, 1);
    post(1, 3, 200);
    world_close(w, 0, NOF_OK);
    world_run_for(w, MS);
    assert_int_equal(nof_pool_free(&nic->peers), 16);
}

/* RECV completions before that of the peer's death, all of them for this reason and with cookies from `first` on. */
static unsigned dead(uint64_t first, unsigned n)
{
    unsigned ended = 0;
    const struct nof_comp *c;

    while ((c = world_take(w, 0)) != NULL && c->opcode != NOF_COMP_PEER_DEAD) {
        if (c->opcode != NOF_COMP_RECV)
            continue;
        assert_in_range(c->cookie, first, first + n - 1);
        assert_int_equal(c->status, NOF_EPEERDEAD);
        ended++;
    }
    return ended;
}

/* Nothing else is under way that would have the path looked at. */
static void receives_posted_before_their_peer_came_end_when_it_falls_silent(void **state)
{
    (void)state;
    post(10, 1, 0);
    world_run_for(w, MS);
    introduce();
    world_cut(w, 1, true);
    world_run_for(w, 3000 * MS);
    assert_int_equal(dead(0, 10), 10);
}

/* There are two peers at most, and four ranks. */
static void who_finds_no_room_is_found_by_a_walk(void **state)
{
    const struct nof_peer *peer;

    (void)state;
    post(1, 2, 0);
    post(1, 3, 100);
    post(10, 1, 200);
    world_run_for(w, MS);
    assert_int_equal(ep->unmet, 12);
    cancel(0);
    assert_int_equal(world_expect(w, 0, NOF_COMP_CANCEL, 0)->status, NOF_OK);
    cancel(209);
    assert_int_equal(world_expect(w, 0, NOF_COMP_CANCEL, 209)->status, NOF_OK);
    assert_int_equal(ep->unmet, 10);
    introduce();
    peer = nof_peer_by_rank(nic, ep->index, 1);
    assert_non_null(peer);
    assert_int_equal(peer->expects, 9);
    assert_int_equal(ep->unmet, 1);
    world_close(w, 1, NOF_EPEERDEAD);
    world_run_for(w, 5 * MS);
    assert_int_equal(dead(200, 9), 9);
    assert_int_equal(ep->posted_total, 1);
}

/* There are two peers at most. */
static void who_is_only_awaited_keeps_nobody_out(void **state)
{
    (void)state;
    post(3, 2, 0);
    post(1, 3, 100);
    world_run_for(w, MS);
    world_open_job(w, 1, 1, 1, 4, 7);
    world_introduce(w, 0, 1, 1);
    world_introduce(w, 1, 0, 0);
    world_run_for(w, 5 * MS);
    assert_non_null(nof_peer_by_rank(nic, ep->index, 1));
    assert_int_equal(ep->posted_total, 4);
}

static void those_of_a_dead_peer_end_and_the_others_stay(void **state)
{
    (void)state;
    introduce();
    post(10, 1, 0);
    post(5, NOF_ANY_SOURCE, 100);
    post(5, 2, 200); /* of whom nothing is known */
    world_close(w, 1, NOF_EPEERDEAD);
    world_run_for(w, 5 * MS);
    assert_int_equal(dead(0, 10), 10);
    assert_int_equal(ep->posted_total, 10);
}

static void thousands_are_looked_at_in_turns(void **state)
{
    unsigned turns = 0;

    (void)state;
    post(MANY, 1, 0);
    assert_int_equal(nof_walk_indexed(ep), 0); /* asking makes it so, in time */
    assert_int_equal(ep->unindexed, MANY);
    while (ep->unindexed > 0) {
        uint32_t before = ep->unindexed;

        nic->turn++;
        nof_walk_run(nic, ep);
        assert_true(before - ep->unindexed <= NOF_TURN_STEPS);
        assert_true(++turns < MANY);
    }
    assert_true(turns >= MANY / NOF_TURN_STEPS);
    assert_int_equal(nof_walk_indexed(ep), 1);
}

static void without_steps_it_goes_on_in_the_next_turn(void **state)
{
    (void)state;
    post(10, 1, 0);
    (void)nof_walk_indexed(ep);
    (void)nof_steps_left(nic, ep);
    nof_steps_spend(ep, NOF_TURN_STEPS);
    nof_walk_run(nic, ep);
    assert_int_equal(ep->unindexed, 10);
    assert_true(ep->in_chores);
    world_run_for(w, MS);
    assert_int_equal(ep->unindexed, 0);
}

static void a_cancel_waits_until_all_can_be_found(void **state)
{
    (void)state;
    post(MANY, NOF_ANY_SOURCE, 0);
    cancel(MANY - 1);
    cancel(MANY + 7); /* there is none */
    world_run_for(w, 5 * MS);
    assert_int_equal(world_expect(w, 0, NOF_COMP_CANCEL, MANY - 1)->status, NOF_OK);
    assert_int_equal(world_expect(w, 0, NOF_COMP_CANCEL, MANY + 7)->status, NOF_ENOMATCH);
    assert_null(world_take(w, 0));
    assert_int_equal(ep->posted_total, MANY - 1);
    assert_int_equal(world_rank(w, 0)->counters[NOF_C_CANCELLED], 1);
    cancel(3); /* from now on at once */
    assert_int_equal(world_expect(w, 0, NOF_COMP_CANCEL, 3)->status, NOF_OK);
    cancel(3);
    assert_int_equal(world_expect(w, 0, NOF_COMP_CANCEL, 3)->status, NOF_ENOMATCH);
    post(1, NOF_ANY_SOURCE, 5000);
    cancel(5000);
    assert_int_equal(world_expect(w, 0, NOF_COMP_CANCEL, 5000)->status, NOF_OK);
    assert_int_equal(ep->recvs_used, MANY - 2);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(receives_posted_before_their_peer_came_wait_for_it),
        EACH(a_peer_that_nobody_waits_for_any_more_is_gone),
        EACH(receives_posted_before_their_peer_came_end_when_it_falls_silent),
        cmocka_unit_test_setup_teardown(who_finds_no_room_is_found_by_a_walk, start_narrow, end),
        cmocka_unit_test_setup_teardown(who_is_only_awaited_keeps_nobody_out, start_narrow, end),
        EACH(those_of_a_dead_peer_end_and_the_others_stay),
        EACH(thousands_are_looked_at_in_turns),
        EACH(without_steps_it_goes_on_in_the_next_turn),
        EACH(a_cancel_waits_until_all_can_be_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
