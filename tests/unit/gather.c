/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces of a receive, gathered: without gaps, in full blocks, within its reserve, and gone when it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#include "payload/gather.h"
#include "payload/reserve.h"

#define BLOCK NOF_NETMEM_BLOCK

static struct world *w;
static struct nof_nic *nic;
static struct nof_recv *r;
static uint8_t bytes[16 * BLOCK];

static int start(void **state)
{
    struct world_config cfg = {.nics = 1, .mtu = 1500, .seed = 1, .nic = {.max_endpoints = 1}};

    (void)state;
    w = world_init(&cfg);
    nic = world_nic(w, 0);
    r = nof_recv_at(nic, nof_pool_take(&nic->recvs));
    r->state = NOF_RECV_RNDV;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
    nof_gather_begin(r);
    nic->gather.recv = nof_recv_index(nic, r);
    return nof_reserve_take(nic, r, 8, 8) == 8 ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    nof_gather_forget(nic, r);
    nof_reserve_give(nic, r);
    world_fini(w);
    return 0;
}

/* These bytes lie in this chain, without gaps. */
static void chain_is(uint32_t chain, const uint8_t *want, uint32_t n)
{
    for (; n > 0; chain = nic->netmem.next[chain]) {
        uint32_t piece = n < BLOCK ? n : BLOCK;

        assert_memory_equal(nof_netmem_at(&nic->netmem, chain), want, piece);
        want += piece;
        n -= piece;
    }
}

static void small_pieces_fill_whole_blocks(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 30; i++)
        assert_true(nof_gather_copy(nic, r, bytes + 100 * i, 100));
    chain_is(nic->gather.chain, bytes, 3000);
    assert_int_equal(r->used_blocks, 3);
    assert_true(nof_gather_copy(nic, r, bytes + 3000, 3 * BLOCK - 3000));
    assert_int_equal(r->used_blocks, 3);
    assert_true(nof_gather_copy(nic, r, bytes + 3 * BLOCK, 1));
    assert_int_equal(r->used_blocks, 4);
    chain_is(nic->gather.chain, bytes, 3 * BLOCK + 1);
}

static void beyond_its_reserve_nothing_is_taken(void **state)
{
    (void)state;
    assert_true(nof_gather_copy(nic, r, bytes, 8 * BLOCK));
    assert_false(nof_gather_copy(nic, r, bytes, 1));
    assert_int_equal(r->used_blocks, 8);
}

static void what_is_held_comes_before_what_follows(void **state)
{
    struct nof_gather *g = &nic->gather;

    (void)state;
    assert_true(nof_gather_copy(nic, r, bytes, 1500));
    g->bytes = 1500;
    nof_gather_hold(r, g);
    nof_gather_clear(g);
    assert_int_equal(r->hold_bytes, 1500);
    g->recv = nof_recv_index(nic, r); /* the next burst: it begins behind those */
    g->offset = 1500;
    assert_true(nof_gather_copy(nic, r, bytes + 1500, 700));
    assert_int_equal(r->hold_bytes, 0);
    assert_int_equal(g->offset, 0);
    assert_int_equal(g->bytes, 1500); /* and the caller counts its own */
    chain_is(g->chain, bytes, 2200);
    assert_int_equal(r->used_blocks, 3);
}

static void what_is_collected_lies_without_gaps(void **state)
{
    uint32_t chain, n = 0;

    (void)state;
    nof_gather_clear(&nic->gather);
    for (uint32_t piece = 1; n + piece < 7 * BLOCK; piece += 97) {
        nof_gather_collect(nic, r, bytes + n, piece);
        n += piece;
    }
    assert_int_equal(r->hold_bytes, n);
    assert_int_equal(r->used_blocks, (n + BLOCK - 1) / BLOCK);
    assert_int_equal(nof_gather_unhold(r, &chain), n);
    chain_is(chain, bytes, n);
    assert_int_equal(nof_gather_unhold(r, &chain), 0); /* the caller's now */
    nof_reserve_free(nic, r, r->hold_chain);
}

static void who_ends_gives_all_back(void **state)
{
    (void)state;
    assert_true(nof_gather_copy(nic, r, bytes, 1500));
    nic->gather.bytes = 1500;
    nof_gather_hold(r, &nic->gather);
    nof_gather_clear(&nic->gather);
    nof_gather_forget(nic, r);
    assert_int_equal(r->used_blocks, 0);
    assert_int_equal(r->hold_bytes, 0);
    nic->gather.recv = nof_recv_index(nic, r);
    assert_true(nof_gather_copy(nic, r, bytes, 1500));
    nof_gather_forget(nic, r);
    assert_int_equal(r->used_blocks, 0);
    assert_int_equal(nic->gather.recv, NOF_NIL);
    assert_int_equal(nic->netmem.used, 0);
}

static void what_is_gathered_of_another_stays(void **state)
{
    (void)state;
    assert_true(nof_gather_copy(nic, r, bytes, 1500));
    nic->gather.recv = nof_recv_index(nic, r) + 1;
    nof_gather_forget(nic, r);
    assert_int_not_equal(nic->gather.chain, NOF_NIL);
    nic->gather.recv = nof_recv_index(nic, r);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(small_pieces_fill_whole_blocks),
        EACH(beyond_its_reserve_nothing_is_taken),
        EACH(what_is_held_comes_before_what_follows),
        EACH(what_is_collected_lies_without_gaps),
        EACH(who_ends_gives_all_back),
        EACH(what_is_gathered_of_another_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
