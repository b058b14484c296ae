/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rendezvous at the receiver: when a sender is let begin, how far it may go, and that who finds no blocks has them in his
 * turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"

#include "msg/recv.h"
#include "msg/rendezvous.h"
#include "payload/reserve.h"

#define LEN 300000u

static struct pair p;

static int start(void **state)
{
    (void)state;
    p = pair_begin(0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_fini(p.w);
    return 0;
}

/* The receive that is under way, or NULL. */
static struct nof_recv *under_way(void)
{
    for (uint32_t i = 0; i < p.nic->recvs.high; i++)
        if (nof_recv_at(p.nic, i)->state == NOF_RECV_RNDV)
            return nof_recv_at(p.nic, i);
    return NULL;
}

static void transfer(uint64_t len, uint64_t cookie)
{
    world_recv(p.w, 1, 0, 5, p.in, len, cookie);
    world_send(p.w, 0, 1, 5, p.out, len, cookie);
}

static void done(uint64_t len, uint64_t cookie)
{
    const struct nof_comp *c = world_expect(p.w, 1, NOF_COMP_RECV, cookie);

    assert_int_equal(c->status, NOF_OK);
    assert_int_equal(c->len, len);
    assert_memory_equal(p.in, p.out, len);
    assert_int_equal(world_expect(p.w, 0, NOF_COMP_SEND, cookie)->status, NOF_OK);
}

static void all_back(void)
{
    assert_int_equal(p.nic->dma_free, p.nic->dma_total);
    assert_int_equal(p.nic->netmem.used, 0);
    assert_int_equal(p.nic->recvs_waiting, 0);
    assert_int_equal(p.nic->again, 0);
    assert_int_equal(p.ep->dma_used, 0);
}

/* Its bytes are as far ahead of what the host has as there are blocks for them. */
static void the_sender_goes_as_far_as_there_are_blocks(void **state)
{
    (void)state;
    world_rank(p.w, 1)->dma_stuck = 1; /* nothing is written */
    transfer(LEN, 1);
    for (unsigned i = 0; i < 200; i++) {
        const struct nof_recv *r = under_way();

        world_run_for(p.w, 20000);
        if (r == NULL)
            continue;
        assert_true(r->received <= r->allowed);
        assert_true(r->allowed <= r->written + (uint64_t)r->reserved_blocks * NOF_RESERVE_BYTES_PER_BLOCK);
        assert_true(r->used_blocks <= r->reserved_blocks);
    }
    assert_non_null(under_way());
    assert_true(under_way()->allowed < LEN);
    world_close(p.w, 1, NOF_OK);
    world_dma_give_up(p.w);
    world_run_for(p.w, 50 * MS);
    all_back();
}

static void what_is_written_lets_it_go_on_to_the_end(void **state)
{
    (void)state;
    transfer(LEN, 1);
    world_run_for(p.w, 100 * MS);
    done(LEN, 1);
    all_back();
}

static void a_host_that_copies_at_once_lets_all_come(void **state)
{
    end(state);
    p = pair_begin(1);
    world_recv(p.w, 1, 0, 5, p.in, LEN, 1);
    world_send(p.w, 0, 1, 5, p.out, LEN, 1);
    for (unsigned i = 0; i < 100 && under_way() == NULL; i++)
        world_run_for(p.w, 1000);
    assert_non_null(under_way());
    assert_int_equal(under_way()->allowed, LEN);
    assert_int_equal(under_way()->reserved_blocks, 0);
    world_run_for(p.w, 50 * MS);
    done(LEN, 1);
}

static void no_more_comes_than_is_wanted(void **state)
{
    const struct nof_comp *c;

    (void)state;
    memset(p.in, 0, LEN);
    world_recv(p.w, 1, 0, 5, p.in, 70000, 1);
    world_send(p.w, 0, 1, 5, p.out, LEN, 1);
    world_run_for(p.w, 50 * MS);
    c = world_expect(p.w, 1, NOF_COMP_RECV, 1);
    assert_int_equal(c->status, NOF_ETRUNC);
    assert_int_equal(c->len, LEN);
    assert_memory_equal(p.in, p.out, 70000);
    assert_int_equal(p.in[70000], 0);
    assert_int_equal(world_expect(p.w, 0, NOF_COMP_SEND, 1)->status, NOF_OK);
    assert_true(world_rank(p.w, 0)->counters[NOF_C_TX_BYTES] < 100000);
    all_back();
}

static void who_finds_no_blocks_waits_for_them_in_his_turn(void **state)
{
    struct nof_recv *taker = nof_recv_take(p.nic, p.ep, NOF_COMP_RECV);
    uint64_t order = 1;

    (void)state;
    assert_true(nof_reserve_take(p.nic, taker, UINT32_MAX, 1) > 0);
    while (nof_reserve_take(p.nic, taker, 1, 1) > 0)
        continue;
    for (uint64_t i = 1; i <= 5; i++) {
        world_recv(p.w, 1, 0, (int)i, p.in + i * 100000, 50000, i);
        world_send(p.w, 0, 1, (int)i, p.out, 50000, i);
    }
    world_run_for(p.w, 20 * MS);
    assert_int_equal(p.nic->recvs_waiting, 5);
    assert_null(world_take(p.w, 1));
    nof_reserve_give(p.nic, taker);
    nof_recv_free(p.nic, taker);
    assert_int_equal(p.nic->dma_released, 1);
    world_run_for(p.w, 100 * MS);
    for (const struct nof_comp *c; (c = world_take(p.w, 1)) != NULL; order++) {
        assert_int_equal(c->status, NOF_OK);
        assert_memory_equal(p.in + c->cookie * 100000, p.out, 50000);
    }
    assert_int_equal(order, 6);
    all_back();
}

static void a_sender_that_gives_up_ends_it(void **state)
{
    (void)state;
    end(state);
    p = pair_begin(1);
    world_recv(p.w, 1, 0, 5, p.in, LEN, 1);
    world_send(p.w, 0, 1, 5, (void *)16, LEN, 1); /* what cannot be read */
    world_run_for(p.w, 50 * MS);
    assert_int_equal(world_expect(p.w, 0, NOF_COMP_SEND, 1)->status, NOF_EFAULT);
    assert_int_equal(world_expect(p.w, 1, NOF_COMP_RECV, 1)->status, NOF_EFAULT);
    all_back();
}

static void a_receiver_that_gives_up_ends_the_send(void **state)
{
    (void)state;
    world_recv(p.w, 1, 0, 5, (void *)16, LEN, 1); /* what cannot be written */
    world_send(p.w, 0, 1, 5, p.out, LEN, 1);
    world_run_for(p.w, 50 * MS);
    assert_int_equal(world_expect(p.w, 1, NOF_COMP_RECV, 1)->status, NOF_EFAULT);
    assert_int_equal(world_expect(p.w, 0, NOF_COMP_SEND, 1)->status, NOF_EFAULT);
    all_back();
}

static void the_end_of_a_message_that_is_none_reaches_nobody(void **state)
{
    (void)state;
    world_recv(p.w, 1, 0, 5, p.in, LEN, 1);
    for (uint32_t i = 0; i < 8; i++)
        for (uint32_t gen = 0; gen < 4; gen++)
            nof_rndv_abort_rx(p.nic, p.peer, nof_handle(i, gen), NOF_EFAULT);
    nof_rndv_abort_rx(p.nic, p.peer, UINT64_MAX, NOF_EFAULT);
    assert_null(world_take(p.w, 1));
    world_send(p.w, 0, 1, 5, p.out, LEN, 1);
    world_run_for(p.w, 100 * MS);
    done(LEN, 1);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(the_sender_goes_as_far_as_there_are_blocks),
        EACH(what_is_written_lets_it_go_on_to_the_end),
        EACH(a_host_that_copies_at_once_lets_all_come),
        EACH(no_more_comes_than_is_wanted),
        EACH(who_finds_no_blocks_waits_for_them_in_his_turn),
        EACH(a_sender_that_gives_up_ends_it),
        EACH(a_receiver_that_gives_up_ends_the_send),
        EACH(the_end_of_a_message_that_is_none_reaches_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
