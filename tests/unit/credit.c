/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Credit accounting, looked at from inside while a host receives nothing, a little, and all: the pools always hold
 * what has been promised, and in the end everything is back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#include "nic.h"

#define RANKS 4u
#define MS 1000000ull

static uint32_t lent(uint32_t out, uint32_t initial)
{
    return out > initial ? out - initial : 0;
}

static void check(const struct nof_nic *nic, uint32_t msgs_all, uint32_t blocks_all)
{
    uint32_t msgs = nic->msgs_free, blocks = nic->blocks_free, stored = 0;
    for (uint32_t i = 0; i < nic->peers.high; i++) {
        const struct nof_peer *p = nof_peer_at(nic, i);
        if (!p->used)
            continue;
        uint32_t out = p->rx_msgs_announced - p->rx_msgs_freed;
        uint32_t out_blocks = p->rx_blocks_announced - p->rx_blocks_freed;
        assert_true(p->rx_seq - p->rx_msgs_freed <= out); /* nobody has used more than was announced */
        assert_true(p->rx_blocks_used - p->rx_blocks_freed <= out_blocks);
        stored += p->rx_blocks_used - p->rx_blocks_freed;
        assert_in_range(p->rx_msgs_held, out > nic->flow_msgs ? out : nic->flow_msgs,
                        nic->flow_msgs + NOF_FLOW_MSGS_MAX);
        msgs += lent(p->rx_msgs_held, nic->flow_msgs);
        blocks += lent(out_blocks, nic->flow_blocks);
    }
    assert_int_equal(msgs, msgs_all);
    assert_int_equal(blocks, blocks_all);
    assert_true(nic->netmem.used <= stored + (nic->dma_total - nic->dma_free));
}

static void drain(struct world *w, unsigned rank)
{
    const struct nof_comp *c;
    while ((c = world_take(w, rank)) != NULL) {
        if (!(c->flags & NOF_COMP_F_STAGED))
            continue;
        struct nof_desc d = {.opcode = NOF_DESC_RELEASE};
        d.release.count = 1;
        d.release.offset[0] = c->staged_offset;
        world_post(w, rank, &d);
    }
}

static void flood(int dma_inline, uint64_t seed)
{
    struct world_config cfg = {
        .nics = 2, .mtu = 1500, .dma_inline = dma_inline, .seed = seed, .loss_percent = 2};
    cfg.nic = (struct nof_nic_config){.max_endpoints = 4,
                                      .max_peers = 32,
                                      .max_envelopes = 256,
                                      .max_sends = 512,
                                      .netmem_bytes = 2u << 20};
    struct world *w = world_init(&cfg);
    uint32_t msgs[2], blocks[2];
    for (unsigned i = 0; i < 2; i++) {
        msgs[i] = world_nic(w, i)->msgs_free;
        blocks[i] = world_nic(w, i)->blocks_free;
    }
    for (unsigned i = 0; i < RANKS; i++)
        world_open(w, i % 2, i, RANKS);
    for (unsigned i = 0; i < 1200; i++) {
        static const uint64_t len[] = {8, 100, 1500, 6000, 16000};
        unsigned from = i % RANKS, to = (i / RANKS) % RANKS;
        world_send(w, from, (int)to, 1, world_rank(w, from)->arena, len[i % 5], i);
        if (i % 3 != 0 && i > 400)
            world_recv(w, to, NOF_ANY_SOURCE, 1, world_rank(w, to)->arena + (1u << 20), 16000, i);
        world_run_for(w, 20000);
        for (unsigned k = 0; k < RANKS; k++)
            drain(w, k);
        check(world_nic(w, 0), msgs[0], blocks[0]);
        check(world_nic(w, 1), msgs[1], blocks[1]);
    }
    for (unsigned i = 0; i < RANKS; i++) {
        world_close(w, i, NOF_OK);
        world_run_for(w, 20 * MS);
        check(world_nic(w, 0), msgs[0], blocks[0]);
        check(world_nic(w, 1), msgs[1], blocks[1]);
    }
    world_run_for(w, 3000 * MS);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(world_nic(w, i)->msgs_free, msgs[i]);
        assert_int_equal(world_nic(w, i)->blocks_free, blocks[i]);
        assert_int_equal(world_nic(w, i)->netmem.used, 0);
        assert_int_equal(world_nic(w, i)->peers.used, 0);
    }
    world_fini(w);
}

static void promises_never_exceed_the_pools(void **state)
{
    (void)state;
    flood(1, 1);
    flood(0, 2);
}

/* Rank 1's first messages are stored while there is much to lend; then all others borrow. What rank 0's host waits
 * for comes last, so everything before must reach it, spilled, though it receives nothing. */
static void a_flow_goes_on_when_others_have_borrowed_the_rest(void **state)
{
    (void)state;
    enum { OTHERS = 14, EARLY = 40, LATE = 200 };
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = 1, .seed = 3};
    cfg.nic = (struct nof_nic_config){.max_endpoints = OTHERS + 2, .max_peers = 256, .max_envelopes = 256};
    struct world *w = world_init(&cfg);
    for (unsigned i = 0; i < OTHERS + 2; i++)
        world_open(w, i != 0, i, OTHERS + 2);
    uint32_t all = world_nic(w, 0)->msgs_free, blocks = world_nic(w, 0)->blocks_free;
    for (unsigned i = 0; i < EARLY; i++)
        world_send(w, 1, 0, 1, world_rank(w, 1)->arena, 0, i);
    world_run_for(w, 5 * MS);
    assert_in_range(world_rank(w, 0)->counters[NOF_C_SPILLED], 1, EARLY - 1); /* the others are stored */
    for (unsigned i = 0; i < OTHERS; i++)
        world_send(w, 2 + i, 0, 1, world_rank(w, 2 + i)->arena, 0, 0);
    for (unsigned i = 0; i < LATE; i++)
        world_send(w, 1, 0, 1, world_rank(w, 1)->arena, 0, i);
    world_run_for(w, 50 * MS);
    check(world_nic(w, 0), all, blocks);
    assert_int_equal(world_rank(w, 0)->counters[NOF_C_MSGS_RX], EARLY + LATE + OTHERS);
    world_fini(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promises_never_exceed_the_pools),
        cmocka_unit_test(a_flow_goes_on_when_others_have_borrowed_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
