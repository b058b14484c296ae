/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Peers: who is whom, by card and by frame; what a FLOW_OPEN must say; and the list of what waits for a peer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#include "flow/link.h"
#include "flow/peer.h"

#define PEERS 8u
#define MS 1000000ull

static struct world *w;
static struct nof_nic *nic;
static struct nof_endpoint *ep;
static struct nof_link *local;

static int start(void **state)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = 1, .seed = 1};

    (void)state;
    cfg.nic = (struct nof_nic_config){.max_endpoints = 2, .max_peers = PEERS, .max_paths = 2};
    w = world_init(&cfg);
    nic = world_nic(w, 0);
    world_open_job(w, 0, 0, 0, 100, 7);
    world_open_job(w, 1, 1, 1, 100, 7);
    ep = &nic->eps[world_rank(w, 0)->endpoint];
    local = &nic->links[nic->jobs[ep->job].local_link];
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_fini(w);
    return 0;
}

/* Of an endpoint on this NIC that nobody has opened. */
static struct nof_card card_of(uint16_t endpoint)
{
    struct nof_card card = world_rank(w, 0)->card;

    card.endpoint = endpoint;
    return card;
}

static int introduce(uint32_t rank, uint16_t endpoint)
{
    struct nof_card card = card_of(endpoint);

    return nof_peer_introduce(nic, ep, rank, &card);
}

static void a_peer_is_found_by_rank_and_by_flow(void **state)
{
    struct nof_peer *p;

    (void)state;
    assert_null(nof_peer_by_rank(nic, ep->index, 5));
    assert_int_equal(introduce(5, 1), NOF_OK);
    assert_int_equal(introduce(6, 3), NOF_OK);
    p = nof_peer_by_rank(nic, ep->index, 5);
    assert_non_null(p);
    assert_int_equal(p->rank, 5);
    assert_ptr_equal(nof_peer_by_flow(nic, local, 1, (uint16_t)ep->index), p);
    assert_ptr_equal(nof_peer_by_flow(nic, local, 1, (uint16_t)ep->index), p); /* by the guess */
    assert_int_equal(nof_peer_by_flow(nic, local, 3, (uint16_t)ep->index)->rank, 6);
    assert_null(nof_peer_by_flow(nic, local, 4, (uint16_t)ep->index));
    assert_null(nof_peer_by_flow(nic, local, 1, (uint16_t)(ep->index + 1)));
    for (uint32_t e = 1; e < 200; e++) /* of which some fall into one bucket with it */
        assert_null(nof_peer_by_rank(nic, ep->index + e, 5));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(nof_peer_of_desc(nic, ep, 6)->rank, 6);
        assert_int_equal(nof_peer_of_desc(nic, ep, 5)->rank, 5);
        assert_null(nof_peer_of_desc(nic, ep, 7));
    }
}

static void one_rank_has_one_card_and_one_endpoint_one_rank(void **state)
{
    struct nof_card other = card_of(1);

    (void)state;
    assert_int_equal(introduce(5, 1), NOF_OK);
    assert_int_equal(introduce(5, 1), NOF_OK);
    assert_int_equal(ep->peers_used, 1);
    assert_int_equal(introduce(5, 2), NOF_EINVAL);
    assert_int_equal(introduce(6, 1), NOF_EINVAL);
    other.generation++;
    assert_int_equal(nof_peer_introduce(nic, ep, 5, &other), NOF_EINVAL);
    other = card_of(1);
    other.nic_id++;
    assert_int_equal(nof_peer_introduce(nic, ep, 5, &other), NOF_EINVAL);
    assert_int_equal(ep->peers_used, 1);
}

/* Half of the pool is promised to two endpoints: a quarter of it to the other. */
static void one_endpoint_cannot_take_all(void **state)
{
    uint16_t n = 0;

    (void)state;
    while (introduce(10u + n, (uint16_t)(20 + n)) == NOF_OK)
        n++;
    assert_int_equal(n, PEERS - PEERS / 4);
    assert_int_equal(introduce(99, 99), NOF_ENOMEM);
    assert_int_equal(introduce(10, 20), NOF_OK); /* who is known stays so */
}

static struct nof_wire_view view;
static uint8_t fields[NOF_WIRE_FLOW_OPEN_BYTES];

/* As rank 5 at endpoint 1 of this NIC says it. */
static int flow_open(uint32_t rank, uint32_t src_gen, uint32_t dst_gen, uint32_t size, uint32_t dst_ep)
{
    nof_put32(fields + NOF_WIRE_FLOW_OPEN_RANK, rank);
    nof_put32(fields + NOF_WIRE_FLOW_OPEN_SRC_GEN, src_gen);
    nof_put32(fields + NOF_WIRE_FLOW_OPEN_DST_GEN, dst_gen);
    nof_put32(fields + NOF_WIRE_FLOW_OPEN_SIZE, size);
    view = (struct nof_wire_view){.type = NOF_WIRE_FLOW_OPEN,
                                  .src_ep = 1,
                                  .dst_ep = (uint16_t)dst_ep,
                                  .fields = fields,
                                  .fields_bytes = sizeof fields};
    return nof_peer_flow_open_rx(nic, local, &view);
}

/* What was answered: 0: nothing, else the status. */
static int refusal(void)
{
    struct nof_local_batch batch = nof_local_take(nic);
    struct nof_wire_view said;
    int status = NOF_OK;

    while (nof_local_next(nic, &batch, &said) != NULL)
        if (said.type == NOF_WIRE_FLOW_REFUSED)
            status = (int)(int32_t)nof_get32(said.fields + NOF_WIRE_FLOW_REFUSED_STATUS);
    nof_local_done(nic, &batch);
    return status;
}

static void a_flow_that_is_opened_makes_a_peer(void **state)
{
    struct nof_peer *p;

    (void)state;
    assert_int_equal(flow_open(5, 3, ep->generation, 100, ep->index), NOF_OK);
    assert_int_equal(refusal(), NOF_OK);
    p = nof_peer_by_rank(nic, ep->index, 5);
    assert_non_null(p);
    assert_int_equal(p->flags & (NOF_PEER_F_RX | NOF_PEER_F_KNOWN), NOF_PEER_F_RX);
    assert_int_equal(flow_open(5, 3, ep->generation, 100, ep->index), NOF_EPROTO); /* once */
}

static void what_does_not_fit_is_refused_and_makes_none(void **state)
{
    const uint32_t g = ep->generation, e = ep->index;
    const struct {
        uint32_t rank, src_gen, dst_gen, size, dst_ep;
        int status;
    } bad[] = {
        {5, 3, g + 1, 100, e, NOF_EPEERDEAD}, /* meant for who was there before */
        {5, 3, g, 100, e + 1, NOF_EPEERDEAD}, /* nobody there */
        {5, 3, g, 100, e + 2, NOF_EPEERDEAD}, {5, 3, g, 99, e, NOF_EINVAL}, /* another size of the job */
        {100, 3, g, 100, e, NOF_EINVAL}, /* no such rank */
        {5, 1u << 16, g, 100, e, NOF_EINVAL},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(flow_open(bad[i].rank, bad[i].src_gen, bad[i].dst_gen, bad[i].size, bad[i].dst_ep),
                         NOF_OK);
        assert_int_equal(refusal(), bad[i].status);
    }
    assert_int_equal(ep->peers_used, 0);
    view.fields_bytes--;
    assert_int_equal(nof_peer_flow_open_rx(nic, local, &view), NOF_EPROTO);
}

static void rank_and_flow_must_be_the_same_peer(void **state)
{
    struct nof_card card = card_of(1);

    (void)state;
    assert_int_equal(introduce(6, 2), NOF_OK);
    assert_int_equal(flow_open(6, card.generation, ep->generation, 100, ep->index), NOF_OK);
    assert_int_equal(refusal(), NOF_EINVAL); /* rank 6 is elsewhere */
    assert_int_equal(introduce(5, 1), NOF_OK);
    (void)refusal(); /* FLOW_OPENs of ours */
    assert_int_equal(flow_open(5, card.generation + 1u, ep->generation, 100, ep->index), NOF_OK);
    assert_int_equal(refusal(), NOF_EPEERDEAD); /* another life of it than its card's */
    assert_int_equal(flow_open(5, card.generation, ep->generation, 100, ep->index), NOF_OK);
    assert_int_equal(refusal(), NOF_OK);
}

static void a_dead_one_is_remembered(void **state)
{
    struct nof_peer *p;
    uint32_t free = nic->msgs_free;

    (void)state;
    assert_int_equal(introduce(5, 1), NOF_OK);
    p = nof_peer_by_rank(nic, ep->index, 5);
    p->rx_msgs_announced += 3;
    p->rx_msgs_held += 3; /* lent, and never used */
    nic->msgs_free -= 3;
    assert_ptr_equal(nof_peer_by_flow(nic, local, 1, (uint16_t)ep->index), p);
    nof_peer_silence(p, false);
    nof_peer_bury(nic, p, NOF_EPEERDEAD);
    assert_null(nof_peer_by_flow(nic, local, 1, (uint16_t)ep->index));
    assert_ptr_equal(nof_peer_by_rank(nic, ep->index, 5), p);
    assert_int_equal(introduce(5, 1), NOF_EPEERDEAD);
    assert_int_equal(nic->msgs_free, free);
    assert_int_equal(local->flows, 0);
    nof_peer_forget(nic, p);
    assert_null(nof_peer_by_rank(nic, ep->index, 5));
    ep->peers = p->ep_next;
    nof_peer_free(nic, p);
    assert_int_equal(ep->peers_used, 0);
    assert_int_equal(introduce(5, 1), NOF_OK);
}

/* What waits, the newest first. */
static void waits(const struct nof_peer *p, const uint32_t *refs, unsigned n)
{
    uint32_t ref = p->waiting, before = NOF_NIL;

    assert_int_equal(p->expects, n);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(ref, refs[i]);
        assert_int_equal(nof_peer_ties(nic, ref)->prev, before);
        before = ref;
        ref = nof_peer_ties(nic, ref)->next;
    }
    assert_int_equal(ref, NOF_NIL);
}

static void sends_and_receives_wait_in_one_list(void **state)
{
    const uint32_t a = NOF_REF(NOF_REF_SEND, 3), b = NOF_REF(NOF_REF_RECV, 3), c = NOF_REF(NOF_REF_SEND, 4);
    struct nof_peer *p;

    (void)state;
    assert_int_equal(introduce(5, 1), NOF_OK);
    p = nof_peer_by_rank(nic, ep->index, 5);
    nof_peer_list(nic, p, a, nof_peer_ties(nic, a));
    nof_peer_list(nic, p, b, nof_peer_ties(nic, b));
    nof_peer_list(nic, p, c, nof_peer_ties(nic, c));
    waits(p, (const uint32_t[]){c, b, a}, 3);
    nof_peer_unlist(nic, p, nof_peer_ties(nic, b)); /* from the middle */
    waits(p, (const uint32_t[]){c, a}, 2);
    nof_peer_unlist(nic, p, nof_peer_ties(nic, a));
    nof_peer_list(nic, p, b, nof_peer_ties(nic, b));
    waits(p, (const uint32_t[]){b, c}, 2);
    nof_peer_unlist(nic, p, nof_peer_ties(nic, b));
    nof_peer_unlist(nic, p, nof_peer_ties(nic, c));
    waits(p, NULL, 0);
}

/* Nobody asks after a peer for which nobody waits. */
static void a_path_is_watched_while_somebody_waits(void **state)
{
    struct nof_peer *p;

    (void)state;
    world_introduce(w, 0, 1, 1);
    world_introduce(w, 1, 0, 0);
    world_run_for(w, 5 * MS);
    p = nof_peer_by_rank(nic, ep->index, 1);
    assert_true((p->flags & (NOF_PEER_F_TX | NOF_PEER_F_RX)) == (NOF_PEER_F_TX | NOF_PEER_F_RX));
    world_cut(w, 1, true);
    world_run_for(w, 5000 * MS);
    assert_false(p->flags & NOF_PEER_F_DEAD);
    nof_peer_expect(nic, p, 1);
    nof_peer_expect(nic, p, 1);
    nof_peer_expect(nic, p, -1);
    assert_int_equal(p->expects, 1);
    world_run_for(w, 5000 * MS);
    assert_true(p->flags & NOF_PEER_F_DEAD);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_peer_is_found_by_rank_and_by_flow),
        EACH(one_rank_has_one_card_and_one_endpoint_one_rank),
        EACH(one_endpoint_cannot_take_all),
        EACH(a_flow_that_is_opened_makes_a_peer),
        EACH(what_does_not_fit_is_refused_and_makes_none),
        EACH(rank_and_flow_must_be_the_same_peer),
        EACH(a_dead_one_is_remembered),
        EACH(sends_and_receives_wait_in_one_list),
        EACH(a_path_is_watched_while_somebody_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
