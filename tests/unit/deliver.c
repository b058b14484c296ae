/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Payload on its way to the rank: pieces of a burst are one request, stored messages go the shortest way, and what the
 * host does not take now is not lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"

#include "msg/deliver.h"
#include "msg/recv.h"

static struct pair p;
static struct nof_recv *r;

/* A receive of `len` bytes whose pieces come by rendezvous. */
static void begin(int dma_inline, uint64_t len)
{
    struct nof_match_key key = {.ctx = 1, .source = 0, .tag = 5};

    p = pair_begin(dma_inline);
    key.ep = p.ep->index;
    r = nof_recv_take(p.nic, p.ep, NOF_COMP_RECV);
    nof_recv_call(r, &key, 9, (uint64_t)(uintptr_t)p.in, len, NOF_NIL);
    nof_recv_matched(p.nic, r, p.peer, &key, len, 0);
    nof_recv_list(p.nic, r);
    r->state = NOF_RECV_RNDV;
    r->allowed = len;
    memset(p.in, 0, 200000);
}

static int end(void **state)
{
    (void)state;
    world_fini(p.w);
    return 0;
}

static void piece(uint32_t at, uint32_t n, int lent)
{
    nof_recv_came(r, n);
    if (r->received == r->wanted)
        nof_recv_arrived(r);
    nof_deliver_piece(p.nic, r, at, p.out + at, n, lent);
}

static uint64_t counted(enum nof_counter c)
{
    return world_rank(p.w, 1)->counters[c];
}

static void is_done(uint64_t len)
{
    const struct nof_comp *c = world_expect(p.w, 1, NOF_COMP_RECV, 9);

    assert_int_equal(c->status, NOF_OK);
    assert_int_equal(c->len, len);
    assert_memory_equal(p.in, p.out, len);
    assert_int_equal(p.in[len], 0);
    assert_int_equal(p.nic->netmem.used, 0);
    assert_int_equal(p.nic->dma_free, p.nic->dma_total);
}

static void lent_pieces_of_a_burst_are_one_request(void **state)
{
    (void)state;
    begin(1, 14000);
    for (uint32_t i = 0; i < 10; i++)
        piece(1400 * i, 1400, 1);
    assert_int_equal(counted(NOF_C_DMA_WRITES), 0);
    nof_deliver_flush(p.nic);
    assert_int_equal(counted(NOF_C_DMA_WRITES), 1);
    is_done(14000);
    nof_deliver_flush(p.nic); /* nothing is gathered */
    assert_int_equal(counted(NOF_C_DMA_WRITES), 1);
}

static void what_is_not_lent_is_written_at_once(void **state)
{
    (void)state;
    begin(1, 2800);
    piece(0, 1400, 0);
    assert_int_equal(counted(NOF_C_DMA_WRITES), 1);
    assert_memory_equal(p.in, p.out, 1400);
    piece(1400, 1400, 0);
    is_done(2800);
}

static void a_request_has_an_end(void **state)
{
    (void)state;
    begin(1, 100000);
    for (uint32_t i = 0; i < 100; i++)
        piece(1000 * i, 1000, 1);
    nof_deliver_flush(p.nic);
    assert_int_equal(counted(NOF_C_DMA_WRITES), 2); /* of 64 pieces */
    is_done(100000);
}

static void what_the_host_does_not_take_now_is_kept_and_tried_again(void **state)
{
    (void)state;
    begin(1, 14000);
    for (uint32_t i = 0; i < 10; i++)
        piece(1400 * i, 1400, 1);
    world_fault(p.w, &(struct world_fault){.ops = 1u << WORLD_WRITE, .at = 1, .count = 2});
    nof_deliver_flush(p.nic);
    assert_true(p.nic->netmem.used > 0); /* the frames go back before it is written */
    memset(p.out + 20000, 0, 1);
    world_run_for(p.w, 5 * MS);
    is_done(14000);
}

static void a_buffer_that_cannot_be_written_ends_it_at_both_ends(void **state)
{
    (void)state;
    begin(1, 14000);
    r->addr = 16;
    for (uint32_t i = 0; i < 5; i++)
        piece(1400 * i, 1400, 1);
    nof_deliver_flush(p.nic);
    world_run_for(p.w, MS);
    assert_int_equal(world_expect(p.w, 1, NOF_COMP_RECV, 9)->status, NOF_EFAULT);
    assert_int_equal(counted(NOF_C_DMA_FAULTS), 1);
}

/* Through the wire: what waited in the store goes the shortest way that is open to it. */
static void a_stored_message_goes_inline_staged_or_into_its_buffer(void **state)
{
    static const struct {
        uint64_t len;
        uint16_t flags;
    } ways[] = {{20, NOF_COMP_F_INLINE}, {900, NOF_COMP_F_STAGED}, {12000, 0}};

    (void)state;
    p = pair_begin(0);
    for (unsigned i = 0; i < 3; i++) {
        const struct nof_comp *c;

        memset(p.in, 0, 20000);
        world_send(p.w, 0, 1, 5, p.out, ways[i].len, i);
        world_run_for(p.w, 5 * MS);
        assert_int_equal(p.ep->stored, 1);
        world_recv(p.w, 1, 0, 5, p.in, 20000, i);
        world_run_for(p.w, 5 * MS);
        c = world_expect(p.w, 1, NOF_COMP_RECV, i);
        assert_int_equal(c->status, NOF_OK);
        assert_int_equal(c->flags & (NOF_COMP_F_INLINE | NOF_COMP_F_STAGED), ways[i].flags);
        assert_memory_equal(world_payload(p.w, 1, c, p.in), p.out, ways[i].len);
        assert_int_equal(p.nic->netmem.used, 0);
    }
}

/* A copy under way holds what follows, so that small frames fill whole requests. */
static void what_follows_a_copy_under_way_is_one_request_behind_it(void **state)
{
    uint64_t writes;

    (void)state;
    p = pair_begin(0);
    memset(p.in, 0, 200000);
    world_recv(p.w, 1, 0, 5, p.in, 150000, 9);
    world_send(p.w, 0, 1, 5, p.out, 150000, 1);
    world_run_for(p.w, 100 * MS);
    is_done(150000);
    writes = counted(NOF_C_DMA_WRITES);
    assert_in_range(writes, 3, 20); /* of 108 frames */
}

#define EACH(test) cmocka_unit_test_teardown(test, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(lent_pieces_of_a_burst_are_one_request),
        EACH(what_is_not_lent_is_written_at_once),
        EACH(a_request_has_an_end),
        EACH(what_the_host_does_not_take_now_is_kept_and_tried_again),
        EACH(a_buffer_that_cannot_be_written_ends_it_at_both_ends),
        EACH(a_stored_message_goes_inline_staged_or_into_its_buffer),
        EACH(what_follows_a_copy_under_way_is_one_request_behind_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
