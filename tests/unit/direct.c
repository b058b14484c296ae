/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The short way of short messages: who may take it, that nobody is overtaken by it, and that it does all or nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#include "flow/peer.h"
#include "msg/direct.h"

#define MS 1000000ull

static struct world *w;
static struct nof_nic *nic;
static struct nof_endpoint *ep;
static struct nof_peer *peer; /* rank 1, at rank 0 */
static struct nof_link *link;

static void begin(int dma_inline)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = dma_inline, .seed = 1};

    cfg.nic = (struct nof_nic_config){.max_endpoints = 2, .max_peers = 16, .max_envelopes = 512};
    w = world_init(&cfg);
    world_open(w, 0, 0, 2);
    world_open(w, 1, 1, 2);
    world_run_for(w, 5 * MS);
    nic = world_nic(w, 0);
    ep = &nic->eps[world_rank(w, 0)->endpoint];
    peer = nof_peer_by_rank(nic, ep->index, 1);
    link = &nic->links[peer->link];
    for (unsigned i = 0; i < 2; i++)
        while (world_take(w, i) != NULL)
            continue;
}

static int start(void **state)
{
    (void)state;
    begin(1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_fini(w);
    return 0;
}

static struct nof_desc a_send(uint64_t len)
{
    return (struct nof_desc){.opcode = NOF_DESC_SEND,
                             .ctx = 1,
                             .cookie = 5,
                             .peer = 1,
                             .tag = 3,
                             .len = len,
                             .addr = (uint64_t)(uintptr_t)world_rank(w, 0)->arena};
}

static bool goes(const struct nof_desc *d)
{
    uint32_t seq = peer->tx_seq, blocks = peer->tx_blocks_used;
    long frames = world_frames(w);
    int rc = nof_direct_send(nic, ep, peer, d);

    if (rc == NOF_OK) {
        world_run_for(w, MS); /* and is acknowledged: the window is open for the next */
        assert_int_equal(world_expect(w, 0, NOF_COMP_SEND, d->cookie)->status, NOF_OK);
        assert_int_equal(peer->tx_seq, seq + 1);
        return true;
    }
    assert_int_equal(rc, NOF_EAGAIN);
    assert_null(world_take(w, 0)); /* nothing has happened */
    assert_int_equal(peer->tx_seq, seq);
    assert_int_equal(peer->tx_blocks_used, blocks);
    assert_int_equal(world_frames(w), frames);
    return false;
}

static void a_short_message_goes_and_is_done(void **state)
{
    struct nof_desc d = a_send(100);

    (void)state;
    memset(world_rank(w, 0)->arena, 7, 100);
    assert_true(goes(&d));
    d.flags = NOF_DESC_F_INLINE;
    d.len = 8;
    memset(d.inline_data, 8, 8);
    assert_true(goes(&d));
    d = a_send(20);
    d.flags = NOF_DESC_F_BOUNCE;
    d.addr = 64;
    memset(world_rank(w, 0)->bounce + 64, 9, 20);
    assert_true(goes(&d));
    d = a_send(0);
    assert_true(goes(&d));
    for (uint64_t i = 0; i < 4; i++)
        world_recv(w, 1, 0, 3, world_rank(w, 1)->arena, 200, i);
    world_run_for(w, 5 * MS);
    for (uint64_t i = 0; i < 4; i++) {
        static const struct {
            uint64_t len;
            uint8_t byte;
        } want[] = {{100, 7}, {8, 8}, {20, 9}, {0, 0}};
        const struct nof_comp *c = world_expect(w, 1, NOF_COMP_RECV, i);

        assert_int_equal(c->len, want[i].len);
        if (c->len > 0)
            assert_int_equal(world_payload(w, 1, c, world_rank(w, 1)->arena)[c->len - 1], want[i].byte);
    }
}

static void what_does_not_fit_a_frame_or_must_be_asked_for_does_not(void **state)
{
    struct nof_desc d = a_send(1500); /* one frame is shorter */

    (void)state;
    assert_false(goes(&d));
    d = a_send(100);
    d.flags = NOF_DESC_F_SYNC;
    assert_false(goes(&d));
    d.flags = NOF_DESC_F_LAYOUT;
    assert_false(goes(&d));
    d.flags = NOF_DESC_F_ANNOUNCED;
    assert_false(goes(&d));
    assert_int_equal(nof_nic_feature_set(nic, NOF_F_EAGER_MAX, 99), NOF_OK);
    d = a_send(100);
    assert_false(goes(&d));
    d = a_send(99);
    assert_true(goes(&d));
    assert_int_equal(nof_nic_feature_set(nic, NOF_F_COMPRESSION_MIN, 64), NOF_OK);
    assert_int_equal(nof_nic_feature_set(nic, NOF_F_COMPRESSION, 1), NOF_OK);
    d.elem = NOF_ELEM_F64;
    assert_false(goes(&d)); /* it may travel in fewer bytes */
}

static void nobody_is_overtaken(void **state)
{
    struct nof_desc d = a_send(8);

    (void)state;
    peer->sendq = 0;
    assert_false(goes(&d));
    peer->sendq = NOF_NIL;
    peer->dataq = 0;
    assert_false(goes(&d));
    peer->dataq = NOF_NIL;
    peer->readq = 0;
    assert_false(goes(&d));
    peer->readq = NOF_NIL;
    link->ctl = 0;
    assert_false(goes(&d));
    link->ctl = NOF_NIL;
    link->blocked = 0;
    assert_false(goes(&d));
    link->blocked = NOF_NIL;
    nic->ring[NOF_SCHED_WIRE] = ep->index;
    assert_false(goes(&d));
    nic->ring[NOF_SCHED_WIRE] = NOF_NIL;
    nic->ring[NOF_SCHED_LOOP] = ep->index; /* waits for another resource */
    assert_true(goes(&d));
    nic->ring[NOF_SCHED_LOOP] = NOF_NIL;
    peer->sched = NOF_SCHED_BUSY;
    assert_false(goes(&d));
    peer->sched = NOF_SCHED_IDLE;
    assert_true(goes(&d));
}

static void credit_and_window_hold_it_back(void **state)
{
    struct nof_desc d = a_send(8);
    uint32_t msgs = peer->tx_msgs_allowed, blocks = peer->tx_blocks_allowed;

    (void)state;
    peer->tx_msgs_allowed = peer->tx_seq;
    assert_false(goes(&d));
    peer->tx_msgs_allowed = msgs;
    peer->tx_blocks_allowed = peer->tx_blocks_used;
    d.len = 900;
    assert_false(goes(&d));
    peer->tx_blocks_allowed = blocks;
    link->up = 0;
    assert_false(goes(&d));
    link->up = 1;
    peer->flags |= NOF_PEER_F_DEAD;
    assert_false(goes(&d));
    peer->flags ^= NOF_PEER_F_DEAD;
    assert_true(goes(&d));
}

static void what_cannot_be_read_at_once_does_not(void **state)
{
    struct nof_desc d = a_send(100);

    (void)state;
    d.addr = 16; /* no such buffer: the general way tells */
    assert_false(goes(&d));
    world_fault(w, &(struct world_fault){.ops = 1u << WORLD_ALLOC, .at = 1, .count = 1});
    d = a_send(100);
    assert_false(goes(&d));
    assert_true(goes(&d));
    end(state);
    begin(0); /* copies of this host end later */
    d = a_send(100);
    assert_false(goes(&d));
    d.flags = NOF_DESC_F_INLINE;
    d.len = 8;
    assert_true(goes(&d));
}

static struct nof_desc a_recv(int peer_rank, uint64_t cookie)
{
    return (struct nof_desc){.opcode = NOF_DESC_RECV,
                             .ctx = 1,
                             .cookie = cookie,
                             .peer = peer_rank,
                             .tag = 3,
                             .len = 100,
                             .addr = (uint64_t)(uintptr_t)world_rank(w, 0)->arena};
}

static void plain_receives_at_the_front_are_posted(void **state)
{
    struct nof_desc d[4] = {a_recv(1, 1), a_recv(NOF_ANY_SOURCE, 2), a_recv(1, 3), a_recv(1, 4)};

    (void)state;
    d[2].flags = NOF_DESC_F_LAYOUT;
    assert_int_equal(nof_direct_recv(nic, ep, d, 4), 2);
    assert_int_equal(ep->posted_total, 2);
    assert_int_equal(peer->expects, 1);
    d[2] = a_recv(2, 3); /* no such rank */
    assert_int_equal(nof_direct_recv(nic, ep, &d[2], 2), 0);
    d[2] = a_recv(1, 3);
    d[2].tag = NOF_ANY_TAG - 1;
    assert_int_equal(nof_direct_recv(nic, ep, &d[2], 2), 0);
    d[2] = a_recv(1, 3);
    d[2].len = (uint64_t)INT64_MAX + 1;
    assert_int_equal(nof_direct_recv(nic, ep, &d[2], 2), 0);
    d[2] = a_recv(1, 3);
    d[2].opcode = NOF_DESC_PROBE;
    assert_int_equal(nof_direct_recv(nic, ep, &d[2], 2), 0);
    assert_int_equal(ep->posted_total, 2);
}

static void not_past_a_message_that_waits_nor_of_the_dead(void **state)
{
    struct nof_desc d = a_recv(1, 1);

    (void)state;
    ep->stored = 1;
    assert_int_equal(nof_direct_recv(nic, ep, &d, 1), 0);
    ep->stored = 0;
    ep->spilling = 1;
    assert_int_equal(nof_direct_recv(nic, ep, &d, 1), 0);
    ep->spilling = 0;
    peer->flags |= NOF_PEER_F_DEAD;
    assert_int_equal(nof_direct_recv(nic, ep, &d, 1), 0);
    peer->flags ^= NOF_PEER_F_DEAD;
    assert_int_equal(nof_direct_recv(nic, ep, &d, 1), 1);
}

/* Through the wire: what arrives is delivered inline, staged, or the general way. */
static void what_comes_is_delivered_at_once_where_it_fits(void **state)
{
    const struct {
        uint64_t len, room;
        uint16_t flags;
        int status;
    } ways[] = {{NOF_INLINE_BYTES, 100, NOF_COMP_F_INLINE, NOF_OK},
                {NOF_INLINE_BYTES + 1, 100, NOF_COMP_F_STAGED, NOF_OK},
                {100, 99, 0, NOF_ETRUNC}};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        const struct nof_comp *c;

        world_recv(w, 1, 0, 3, world_rank(w, 1)->arena, ways[i].room, i);
        world_send(w, 0, 1, 3, world_rank(w, 0)->arena, ways[i].len, i);
        world_run_for(w, 5 * MS);
        c = world_expect(w, 1, NOF_COMP_RECV, i);
        assert_int_equal(c->status, ways[i].status);
        if (ways[i].flags != 0)
            assert_true(c->flags & ways[i].flags);
        (void)world_payload(w, 1, c, world_rank(w, 1)->arena);
        (void)world_expect(w, 0, NOF_COMP_SEND, i);
    }
    assert_int_equal(world_nic(w, 1)->counters[NOF_C_EXPECTED], 3);
    assert_int_equal(world_nic(w, 1)->netmem.used, 0);
}

/* However short it is, but for an empty one, of which there is nothing to clear. */
static void what_is_announced_is_cleared_by_its_receiver(void **state)
{
    static const uint64_t lengths[] = {0, 100, 3000};

    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        struct nof_desc d = a_send(lengths[i]);
        d.flags = NOF_DESC_F_ANNOUNCED;
        d.cookie = i;
        memset(world_rank(w, 0)->arena, 7, (size_t)lengths[i]);
        world_recv(w, 1, 0, 3, world_rank(w, 1)->arena, 4000, i);
        world_post(w, 0, &d);
        world_run_for(w, 5 * MS);
        const struct nof_comp *c = world_expect(w, 1, NOF_COMP_RECV, i);

        assert_int_equal(c->len, lengths[i]);
        if (c->len > 0)
            assert_int_equal(world_payload(w, 1, c, world_rank(w, 1)->arena)[c->len - 1], 7);
        assert_int_equal(world_expect(w, 0, NOF_COMP_SEND, i)->status, NOF_OK);
    }
    assert_int_equal(nic->counters[NOF_C_EAGER_TX], 1);
    assert_int_equal(nic->counters[NOF_C_RENDEZVOUS_TX], 2);
}

/* It holds what may be cleared at a time, and what the link carries in a round trip. */
static void what_meets_no_more_than_the_way_holds_is_not(void **state)
{
    (void)state;
    nic->cfg.link_rate_bps = 10000000000;
    assert_int_equal(nof_nic_feature_set(nic, NOF_F_GRANT_US, 50), NOF_OK);
    uint64_t trip_ns = nof_path_least_rtt_ns(link->path), holds = 62500 + 1250 * (trip_ns / 1000);

    assert_true(trip_ns >= 1000);
    for (uint64_t i = 0; i < 3; i++) {
        struct nof_desc d = a_send(3000);
        d.flags = NOF_DESC_F_ANNOUNCED;
        d.handle = i == 2 ? 0 : holds + i;
        d.cookie = i;
        world_recv(w, 1, 0, 3, world_rank(w, 1)->arena, 4000, i);
        world_post(w, 0, &d);
        world_run_for(w, 5 * MS);
        assert_int_equal(world_expect(w, 1, NOF_COMP_RECV, i)->len, 3000);
        assert_int_equal(world_expect(w, 0, NOF_COMP_SEND, i)->status, NOF_OK);
        assert_int_equal(nic->counters[NOF_C_EAGER_TX], 1);
        assert_int_equal(nic->counters[NOF_C_RENDEZVOUS_TX], i);
    }
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_short_message_goes_and_is_done),
        EACH(what_does_not_fit_a_frame_or_must_be_asked_for_does_not),
        EACH(nobody_is_overtaken),
        EACH(credit_and_window_hold_it_back),
        EACH(what_cannot_be_read_at_once_does_not),
        EACH(plain_receives_at_the_front_are_posted),
        EACH(not_past_a_message_that_waits_nor_of_the_dead),
        EACH(what_comes_is_delivered_at_once_where_it_fits),
        EACH(what_is_announced_is_cleared_by_its_receiver),
        EACH(what_meets_no_more_than_the_way_holds_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
