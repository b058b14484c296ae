/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes: a chain on its way into a rank's buffer, a request at a time; it ends once, and its blocks are free then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"

#include "msg/recv.h"
#include "payload/reserve.h"
#include "payload/write.h"

static struct pair p;
static struct nof_recv *r;
static struct nof_written ended;

static void begin(int dma_inline)
{
    p = pair_begin(dma_inline);
    r = nof_recv_take(p.nic, p.ep, NOF_COMP_RECV);
    r->state = NOF_RECV_RNDV;
    r->addr = (uint64_t)(uintptr_t)p.in;
    r->capacity = WORLD_ARENA;
    assert_int_equal(nof_reserve_take(p.nic, r, 200, 200), 200);
    memset(p.in, 0, 300000);
    memset(&ended, 0, sizeof ended);
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
    nof_reserve_give(p.nic, r);
    nof_recv_free(p.nic, r);
    world_fini(p.w);
    return 0;
}

/* n bytes of p.out in blocks of the reserve, behind `skip` others. */
static uint32_t chain_of(uint32_t skip, uint32_t n)
{
    uint32_t chain = nof_reserve_chain(p.nic, r, (skip + n + NOF_NETMEM_BLOCK - 1) / NOF_NETMEM_BLOCK);
    uint32_t block = chain, at = skip;

    for (uint32_t i = 0; i < n; i++, at++) {
        if (at == NOF_NETMEM_BLOCK) {
            block = p.nic->netmem.next[block];
            at = 0;
        }
        nof_netmem_at(&p.nic->netmem, block)[at] = p.out[i];
    }
    return chain;
}

static uint32_t write_of(uint32_t skip, uint32_t n, uint64_t offset)
{
    return nof_write_begin(p.nic, r, chain_of(skip, n), skip, n, offset, NOF_NIL);
}

static void it_ended(uint32_t bytes, int status)
{
    assert_ptr_equal(ended.recv, r);
    assert_int_equal(ended.bytes, bytes);
    assert_int_equal(ended.status, status);
    assert_int_equal(r->writes, 0);
    assert_int_equal(r->used_blocks, 0);
    assert_int_equal(p.nic->writes.used, 0);
    assert_int_equal(p.nic->netmem.used, 0);
    memset(&ended, 0, sizeof ended);
}

static void bytes_go_where_they_belong_at_once(void **state)
{
    (void)state;
    assert_true(nof_write_go(p.nic, write_of(7, 5000, 100), &ended));
    it_ended(5000, NOF_OK);
    assert_memory_equal(p.in + 100, p.out, 5000);
    assert_int_equal(p.in[99] | p.in[5100], 0);
    assert_int_equal(world_rank(p.w, 1)->counters[NOF_C_DMA_WRITE_BYTES], 5000);
}

static void a_request_is_64_kib_at_most(void **state)
{
    (void)state;
    assert_true(nof_write_go(p.nic, write_of(0, 150000, 0), &ended));
    it_ended(150000, NOF_OK);
    assert_memory_equal(p.in, p.out, 150000);
    assert_int_equal(world_rank(p.w, 1)->counters[NOF_C_DMA_WRITES], 3);
}

static void one_that_is_pending_goes_on_when_it_is_done(void **state)
{
    uint32_t i;

    end(state);
    begin(0);
    world_rank(p.w, 1)->dma_stuck = 1; /* the test says when */
    i = write_of(0, 100000, 0);
    assert_false(nof_write_go(p.nic, i, &ended));
    assert_int_equal(p.ep->dma_pending, 1);
    assert_int_equal(r->used_blocks, 98); /* until it has ended */
    assert_false(nof_write_done(p.nic, i, NOF_OK, &ended)); /* the next request */
    assert_int_equal(p.ep->dma_pending, 1);
    assert_true(nof_write_done(p.nic, i, NOF_OK, &ended));
    assert_int_equal(p.ep->dma_pending, 0);
    it_ended(100000, NOF_OK);
    assert_int_equal(world_rank(p.w, 1)->counters[NOF_C_DMA_WRITE_BYTES], 100000);
    world_dma_give_up(p.w); /* what the stand-in still holds names a write of another life */
    world_run_for(p.w, MS);
    p.ep->dma_pending = 0;
}

static void a_fault_ends_it_and_is_counted(void **state)
{
    (void)state;
    r->addr = 4096; /* nobody's memory */
    assert_true(nof_write_go(p.nic, write_of(0, 5000, 0), &ended));
    it_ended(5000, NOF_EFAULT);
    assert_int_equal(world_rank(p.w, 1)->counters[NOF_C_DMA_FAULTS], 1);
    end(state);
    begin(0);
    world_fault(p.w,
                &(struct world_fault){.ops = 1u << WORLD_WRITE, .at = 1, .count = 1, .how = WORLD_BROKEN});
    assert_true(nof_write_go(p.nic, write_of(0, 5000, 0), &ended));
    it_ended(5000, NOF_EFAULT);
}

static void a_host_that_takes_none_is_asked_again(void **state)
{
    uint32_t i = write_of(0, 5000, 0);

    (void)state;
    p.nic->retry_ns = 0;
    world_fault(p.w, &(struct world_fault){.ops = 1u << WORLD_WRITE, .at = 1, .count = 1});
    assert_false(nof_write_go(p.nic, i, &ended));
    assert_int_equal(nof_queue_pop(&p.nic->writes, &p.nic->write_retry), i);
    assert_int_not_equal(p.nic->retry_ns, 0);
    assert_int_equal(p.ep->dma_pending, 0);
    assert_true(nof_write_go(p.nic, i, &ended));
    it_ended(5000, NOF_OK);
    assert_memory_equal(p.in, p.out, 5000);
}

static void an_endpoint_that_has_had_its_turn_goes_on_in_the_next(void **state)
{
    uint32_t i = write_of(0, 5000, 0);

    (void)state;
    (void)nof_steps_left(p.nic, p.ep);
    nof_steps_spend(p.ep, NOF_TURN_STEPS);
    assert_false(nof_write_go(p.nic, i, &ended));
    assert_int_equal(nof_queue_pop(&p.nic->writes, &p.nic->write_later), i);
    p.nic->turn++;
    assert_true(nof_write_go(p.nic, i, &ended));
    it_ended(5000, NOF_OK);
}

static void of_a_receive_that_ends_nothing_more_is_written(void **state)
{
    uint32_t i = write_of(0, 5000, 0);

    (void)state;
    r->state = NOF_RECV_ENDING;
    assert_true(nof_write_go(p.nic, i, &ended));
    assert_int_equal(p.in[1], 0);
    it_ended(5000, NOF_OK);
    r->state = NOF_RECV_RNDV;
    i = write_of(0, 5000, 0);
    p.ep->state = NOF_EP_CLOSING;
    assert_true(nof_write_go(p.nic, i, &ended));
    assert_int_equal(p.in[1], 0);
    it_ended(5000, NOF_ECANCELED);
    p.ep->state = NOF_EP_OPEN;
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(bytes_go_where_they_belong_at_once),
        EACH(a_request_is_64_kib_at_most),
        EACH(one_that_is_pending_goes_on_when_it_is_done),
        EACH(a_fault_ends_it_and_is_counted),
        EACH(a_host_that_takes_none_is_asked_again),
        EACH(an_endpoint_that_has_had_its_turn_goes_on_in_the_next),
        EACH(of_a_receive_that_ends_nothing_more_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
