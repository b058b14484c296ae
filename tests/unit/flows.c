/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of flows: everything that waits for a dead peer ends once, with its reason, then the peer is said to be dead,
 * and many operations take their turns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#include "flow/peer.h"
#include "flows.h"

#define MS 1000000ull
#define MANY 100u

static struct world *w;
static struct nof_nic *nic;
static struct nof_endpoint *ep;
static struct nof_peer *peer; /* rank 1, at rank 0 */

static int start(void **state)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = 1, .seed = 1};

    (void)state;
    cfg.nic = (struct nof_nic_config){.max_peers = 16, .max_endpoints = 2};
    w = world_init(&cfg);
    world_open(w, 0, 0, 4);
    world_open(w, 1, 1, 4);
    world_run_for(w, 5 * MS);
    nic = world_nic(w, 0);
    ep = &nic->eps[world_rank(w, 0)->endpoint];
    peer = nof_peer_by_rank(nic, ep->index, 1);
    return peer != NULL && (peer->flags & NOF_PEER_F_RX) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    world_fini(w);
    return 0;
}

/* Sends that nobody receives, too long to go without being asked for. */
static void send_unwanted(unsigned n)
{
    for (uint64_t i = 0; i < n; i++)
        world_send(w, 0, 1, 5, world_rank(w, 0)->arena, 20000, 100 + i);
    world_run_for(w, 10 * MS);
    assert_null(world_take(w, 0));
}

static uint8_t fields[64];

/* A frame of this type as rank 1's NIC would send it to rank 0's, with a number at each of two places. */
static struct nof_wire_view frame(uint8_t type, uint32_t bytes, uint32_t at, uint32_t value)
{
    nof_put32(fields + at, value);
    return (struct nof_wire_view){
        .type = type, .src_ep = peer->remote_ep, .dst_ep = peer->ep, .fields = fields, .fields_bytes = bytes};
}

static int refuse(int32_t status)
{
    struct nof_wire_view view = frame(NOF_WIRE_FLOW_REFUSED, NOF_WIRE_FLOW_REFUSED_BYTES,
                                      NOF_WIRE_FLOW_REFUSED_STATUS, (uint32_t)status);

    return nof_flows_refused_rx(nic, &nic->links[peer->link], &view);
}

static int down(uint32_t rank, int32_t status)
{
    struct nof_wire_view view;

    nof_put32(fields + NOF_WIRE_EP_DOWN_RANK, rank);
    view = frame(NOF_WIRE_EP_DOWN, NOF_WIRE_EP_DOWN_BYTES, NOF_WIRE_EP_DOWN_STATUS, (uint32_t)status);
    return nof_flows_ep_down_rx(nic, &nic->links[peer->link], &view);
}

/* n sends end with `status`, in any order, each once; then PEER_DEAD with `why`, and no more. */
static void all_ended(unsigned n, int status, int why)
{
    static uint8_t seen[MANY];
    const struct nof_comp *c;

    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < n; i++) {
        c = world_take(w, 0);
        assert_non_null(c);
        assert_int_equal(c->opcode, NOF_COMP_SEND);
        assert_int_equal(c->status, status);
        assert_in_range(c->cookie, 100, 100 + n - 1);
        assert_int_equal(seen[c->cookie - 100]++, 0);
    }
    c = world_take(w, 0);
    assert_non_null(c);
    assert_int_equal(c->opcode, NOF_COMP_PEER_DEAD);
    assert_int_equal(c->peer, 1);
    assert_int_equal(c->status, why);
    assert_null(world_take(w, 0));
    assert_int_equal(ep->dying, NOF_NIL);
    assert_int_equal(ep->sends_used, 0);
}

static void a_refused_flow_is_dead_with_its_reason(void **state)
{
    (void)state;
    send_unwanted(3);
    assert_int_equal(refuse(NOF_EPERM), NOF_OK);
    world_run_for(w, MS);
    all_ended(3, NOF_EPERM, NOF_EPERM);
    assert_true(peer->flags & NOF_PEER_F_DEAD);
}

static void a_reason_that_is_none_is_that_it_is_dead(void **state)
{
    static const int32_t none[] = {NOF_OK, 5, INT16_MIN - 1};

    for (unsigned i = 0; i < 3; i++) {
        send_unwanted(1);
        assert_int_equal(refuse(none[i]), NOF_OK);
        world_run_for(w, MS);
        all_ended(1, NOF_EPEERDEAD, NOF_EPEERDEAD);
        if (i < 2) {
            end(state);
            assert_int_equal(start(state), 0);
        }
    }
}

/* What waits has not been done, so it failed; but nothing is broken. */
static void an_endpoint_that_leaves_in_order_ends_what_waits_and_is_no_failure(void **state)
{
    (void)state;
    send_unwanted(2);
    assert_int_equal(down(1, NOF_OK), NOF_OK);
    world_run_for(w, MS);
    all_ended(2, NOF_EPEERDEAD, NOF_OK);
}

static void only_the_rank_that_left_is_dead(void **state)
{
    (void)state;
    assert_int_equal(down(2, NOF_EPEERDEAD), NOF_OK); /* of that endpoint, in another life */
    world_run_for(w, MS);
    assert_false(peer->flags & NOF_PEER_F_DEAD);
    assert_null(world_take(w, 0));
}

static void said_twice_it_is_dead_once(void **state)
{
    struct nof_link *link = &nic->links[peer->link];
    struct nof_wire_view view;

    (void)state;
    view = frame(NOF_WIRE_FLOW_REFUSED, NOF_WIRE_FLOW_REFUSED_BYTES, NOF_WIRE_FLOW_REFUSED_STATUS,
                 (uint32_t)NOF_EPERM);
    assert_int_equal(nof_flows_refused_rx(nic, link, &view), NOF_OK);
    assert_int_equal(nof_flows_refused_rx(nic, link, &view), NOF_OK);
    world_run_for(w, MS);
    all_ended(0, 0, NOF_EPERM);
}

static void frames_of_another_length_break_the_protocol(void **state)
{
    struct nof_link *link = &nic->links[peer->link];
    struct nof_wire_view view;

    (void)state;
    for (int off = -1; off <= 1; off += 2) {
        view = frame(NOF_WIRE_FLOW_REFUSED, NOF_WIRE_FLOW_REFUSED_BYTES + (uint32_t)off, 0, 0);
        assert_int_equal(nof_flows_refused_rx(nic, link, &view), NOF_EPROTO);
        view = frame(NOF_WIRE_EP_DOWN, NOF_WIRE_EP_DOWN_BYTES + (uint32_t)off, 0, 1);
        assert_int_equal(nof_flows_ep_down_rx(nic, link, &view), NOF_EPROTO);
    }
    assert_false(peer->flags & NOF_PEER_F_DEAD);
}

static void at_once_nothing_goes_to_a_dead_peer_and_its_end_is_done_in_pieces(void **state)
{
    struct nof_link *link = &nic->links[peer->link];

    (void)state;
    send_unwanted(MANY);
    assert_int_equal(refuse(NOF_EPERM), NOF_OK);
    assert_int_equal(peer->link, NOF_NIL);
    assert_null(nof_peer_find_flow(nic, link, peer->remote_ep, peer->ep));
    assert_true(ep->sends_used > MANY / 2);
    assert_int_equal(ep->steps, 0);
    assert_true(ep->in_chores);
    nof_flows_run(nic, ep); /* no steps are left in this turn */
    assert_true(ep->sends_used > MANY / 2);
    world_run_for(w, MS);
    all_ended(MANY, NOF_EPERM, NOF_EPERM);
}

static void a_path_that_ends_takes_all_its_peers_along(void **state)
{
    (void)state;
    world_open(w, 1, 2, 4); /* a second one behind it, and one beside us */
    world_open(w, 0, 3, 4);
    world_run_for(w, 5 * MS);
    send_unwanted(2);
    world_cut(w, 1, true);
    world_run_for(w, 3000 * MS);
    for (uint32_t rank = 1; rank < 4; rank++) {
        const struct nof_peer *p = nof_peer_by_rank(nic, ep->index, rank);

        assert_non_null(p);
        assert_int_equal((p->flags & NOF_PEER_F_DEAD) != 0, rank != 3);
    }
    for (unsigned n = 0, dead = 0; n < 4; n++) {
        const struct nof_comp *c = world_take(w, 0);

        assert_non_null(c);
        assert_int_equal(c->status, NOF_EPEERDEAD);
        dead += c->opcode == NOF_COMP_PEER_DEAD;
        assert_true(n < 3 || dead == 2);
    }
    assert_null(world_take(w, 0));
}

static void one_operation_at_a_time_ends_until_there_is_none(void **state)
{
    unsigned n = 0;

    (void)state;
    send_unwanted(4);
    while (nof_flows_end_one(nic, peer, NOF_ECANCELED)) {
        n++;
        assert_int_equal(world_take(w, 0)->status, NOF_ECANCELED);
        assert_null(world_take(w, 0));
    }
    assert_int_equal(n, 4);
    assert_false(peer->flags & NOF_PEER_F_DEAD);
}

static void a_flow_that_closes_is_in_no_table_and_nothing_is_said(void **state)
{
    struct nof_link *link = &nic->links[peer->link];

    (void)state;
    nof_flows_close(nic, peer);
    assert_null(nof_peer_by_rank(nic, ep->index, 1));
    assert_null(nof_peer_find_flow(nic, link, peer->remote_ep, peer->ep));
    assert_null(world_take(w, 0));
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_refused_flow_is_dead_with_its_reason),
        EACH(a_reason_that_is_none_is_that_it_is_dead),
        EACH(an_endpoint_that_leaves_in_order_ends_what_waits_and_is_no_failure),
        EACH(only_the_rank_that_left_is_dead),
        EACH(said_twice_it_is_dead_once),
        EACH(frames_of_another_length_break_the_protocol),
        EACH(at_once_nothing_goes_to_a_dead_peer_and_its_end_is_done_in_pieces),
        EACH(a_path_that_ends_takes_all_its_peers_along),
        EACH(one_operation_at_a_time_ends_until_there_is_none),
        EACH(a_flow_that_closes_is_in_no_table_and_nothing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
