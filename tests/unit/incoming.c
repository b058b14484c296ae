/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The eager message that is coming in on a flow: how much is owed, where it goes, and that the peer is waited for exactly
 * as long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world.h"

#include "flow/incoming.h"

static struct world *w;
static struct nof_nic *nic;
static struct nof_peer *peer;

static int start(void **state)
{
    struct world_config cfg = {.nics = 1, .mtu = 1500, .seed = 1};

    (void)state;
    w = world_init(&cfg);
    nic = world_nic(w, 0);
    peer = nof_peer_at(nic, nof_pool_take(&nic->peers));
    peer->link = NOF_NIL;
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_fini(w);
    return 0;
}

static void a_message_that_is_all_there_owes_nothing(void **state)
{
    (void)state;
    peer->rx_target = 5;
    nof_incoming_begin(nic, peer, 1000, 0);
    assert_int_equal(peer->rx_left, 0);
    assert_int_equal(peer->rx_target, NOF_NIL);
    assert_int_equal(peer->expects, 0);
}

static void pieces_are_counted_and_the_last_ends_it(void **state)
{
    (void)state;
    nof_incoming_begin(nic, peer, 100, 65000);
    nof_incoming_goes_to(peer, 42);
    assert_int_equal(peer->expects, 1);
    assert_int_equal(peer->rx_pos, 100);
    assert_int_equal(nof_incoming_piece(nic, peer, 64000), 42);
    assert_int_equal(peer->rx_left, 1000);
    assert_int_equal(peer->rx_pos, 64100);
    assert_int_equal(peer->expects, 1);
    assert_int_equal(nof_incoming_piece(nic, peer, 1000), 42); /* the last still belongs there */
    assert_int_equal(peer->rx_left, 0);
    assert_int_equal(peer->rx_target, NOF_NIL);
    assert_int_equal(peer->expects, 0);
}

static void who_leaves_is_not_given_the_rest_and_nobody_else_is_moved(void **state)
{
    (void)state;
    nof_incoming_begin(nic, peer, 0, 10);
    nof_incoming_goes_to(peer, 42);
    nof_incoming_leaves(peer, 43);
    assert_int_equal(peer->rx_target, 42);
    nof_incoming_leaves(peer, 42);
    assert_int_equal(nof_incoming_piece(nic, peer, 4), NOF_NIL); /* thrown away, and counted all the same */
    assert_int_equal(peer->rx_left, 6);
    assert_int_equal(peer->expects, 1);
}

static void no_more_of_it_comes_after_its_end(void **state)
{
    (void)state;
    nof_incoming_begin(nic, peer, 0, 10);
    nof_incoming_goes_to(peer, 42);
    nof_incoming_end(nic, peer);
    assert_int_equal(peer->rx_left, 0);
    assert_int_equal(peer->rx_target, NOF_NIL);
    assert_int_equal(peer->expects, 0);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_message_that_is_all_there_owes_nothing),
        EACH(pieces_are_counted_and_the_last_ends_it),
        EACH(who_leaves_is_not_given_the_rest_and_nobody_else_is_moved),
        EACH(no_more_of_it_comes_after_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
