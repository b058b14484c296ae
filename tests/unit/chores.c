/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who goes on in the next turn: each endpoint once, in the order of asking, and what is asked for during a turn is for
 * the turn behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world.h"

#include "flow/chores.h"

#define EPS 6u

static struct world *w;
static struct nof_nic *nic;

static int start(void **state)
{
    struct world_config cfg = {.nics = 1, .mtu = 1500, .seed = 1, .nic = {.max_endpoints = EPS}};

    (void)state;
    w = world_init(&cfg);
    nic = world_nic(w, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    nic->chores = NOF_NIL;
    world_fini(w);
    return 0;
}

static void ask(uint32_t i)
{
    nof_chore(nic, &nic->eps[i]);
}

static void next_is(struct nof_chores_turn *turn, uint32_t want)
{
    const struct nof_endpoint *ep = nof_chores_next(nic, turn);

    if (want == NOF_NIL) {
        assert_null(ep);
        return;
    }
    assert_non_null(ep);
    assert_int_equal(ep->index, want);
}

static void without_chores_a_turn_is_empty(void **state)
{
    struct nof_chores_turn turn = nof_chores_take(nic);

    (void)state;
    next_is(&turn, NOF_NIL);
    next_is(&turn, NOF_NIL);
}

static void each_has_one_turn_in_the_order_of_asking(void **state)
{
    static const uint32_t order[] = {4, 0, 5, 2};
    struct nof_chores_turn turn;

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        ask(order[i]);
    ask(0); /* has asked already */
    ask(4);
    assert_int_not_equal(nic->chores, NOF_NIL);
    turn = nof_chores_take(nic);
    assert_int_equal(nic->chores, NOF_NIL);
    for (unsigned i = 0; i < 4; i++)
        next_is(&turn, order[i]);
    next_is(&turn, NOF_NIL);
}

static void who_asks_in_its_turn_has_another_behind(void **state)
{
    struct nof_chores_turn turn, behind;

    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        ask(i);
    turn = nof_chores_take(nic);
    next_is(&turn, 0);
    ask(0); /* has had its turn */
    ask(4); /* had none */
    next_is(&turn, 1);
    next_is(&turn, 2);
    ask(2);
    next_is(&turn, NOF_NIL);
    behind = nof_chores_take(nic);
    next_is(&behind, 0);
    next_is(&behind, 4);
    next_is(&behind, 2);
    next_is(&behind, NOF_NIL);
}

static void all_can_wait_at_once_and_again(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        struct nof_chores_turn turn;

        for (uint32_t i = 0; i < EPS; i++)
            ask(EPS - 1 - i);
        turn = nof_chores_take(nic);
        for (uint32_t i = 0; i < EPS; i++)
            next_is(&turn, EPS - 1 - i);
        next_is(&turn, NOF_NIL);
    }
}

static void a_walk_is_for_who_has_unmet_receives_and_as_long_as_the_pool_was_used(void **state)
{
    struct nof_endpoint *ep = &nic->eps[1];
    struct nof_chores_turn turn;

    (void)state;
    nof_chore_walk(nic, ep);
    turn = nof_chores_take(nic);
    next_is(&turn, NOF_NIL);
    assert_int_equal(ep->walk_left, 0);
    nic->recvs.high = 77;
    ep->posted_total = 2;
    nof_chore_walk(nic, ep);
    assert_int_equal(ep->walk_left, 0);
    ep->unmet = 1;
    nof_chore_walk(nic, ep);
    assert_int_equal(ep->walk_left, 77);
    ep->walk_left = 5; /* on its way, and another peer dies: from here, and once around */
    nof_chore_walk(nic, ep);
    assert_int_equal(ep->walk_left, 77);
    turn = nof_chores_take(nic);
    next_is(&turn, 1);
    next_is(&turn, NOF_NIL);
    nic->recvs.high = 0;
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(without_chores_a_turn_is_empty),
        EACH(each_has_one_turn_in_the_order_of_asking),
        EACH(who_asks_in_its_turn_has_another_behind),
        EACH(all_can_wait_at_once_and_again),
        EACH(a_walk_is_for_who_has_unmet_receives_and_as_long_as_the_pool_was_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
