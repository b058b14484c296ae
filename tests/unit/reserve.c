/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks that receives reserve: no endpoint takes what the others can count on, and all come back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world.h"

#include "payload/reserve.h"

#define EPS 4u

static struct world *w;
static struct nof_nic *nic;
static struct nof_recv *r[EPS];
static uint32_t all, minimum;

static int start(void **state)
{
    struct world_config cfg = {.nics = 1, .mtu = 1500, .seed = 1};

    (void)state;
    cfg.nic = (struct nof_nic_config){.max_endpoints = EPS, .netmem_bytes = 1u << 20};
    w = world_init(&cfg);
    nic = world_nic(w, 0);
    all = nic->dma_total;
    minimum = nic->dma_min;
    for (unsigned i = 0; i < EPS; i++) {
        r[i] = nof_recv_at(nic, nof_pool_take(&nic->recvs));
        r[i]->ep = (uint16_t)i;
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_fini(w);
    return 0;
}

static void the_sum_is_right(void)
{
    uint32_t used = 0;

    for (unsigned i = 0; i < EPS; i++) {
        assert_int_equal(nic->eps[i].dma_used, r[i]->reserved_blocks);
        used += nic->eps[i].dma_used;
    }
    assert_int_equal(nic->dma_free, all - used);
}

static void one_endpoint_leaves_each_other_its_minimum(void **state)
{
    uint32_t got = nof_reserve_take(nic, r[0], UINT32_MAX, 1);

    (void)state;
    assert_int_equal(got, all - EPS * minimum);
    the_sum_is_right();
    assert_int_equal(nof_reserve_take(nic, r[0], 1, 1), 0); /* beyond that it has its own minimum used up */
    for (unsigned i = 1; i < EPS; i++)
        assert_int_equal(nof_reserve_take(nic, r[i], UINT32_MAX, 1), minimum);
    the_sum_is_right();
    assert_int_equal(nof_reserve_take(nic, r[1], 1, 1), 0);
}

static void as_many_as_wanted_or_at_least_so_many_or_none(void **state)
{
    (void)state;
    assert_int_equal(nof_reserve_take(nic, r[0], 5, 1), 5);
    assert_int_equal(r[0]->reserved_blocks, 5);
    assert_int_equal(nof_reserve_take(nic, r[0], 3, 3), 3);
    assert_int_equal(r[0]->reserved_blocks, 8);
    (void)nof_reserve_take(nic, r[0], UINT32_MAX, 1);
    assert_int_equal(nof_reserve_take(nic, r[1], minimum + 1, minimum + 1), 0);
    assert_int_equal(r[1]->reserved_blocks, 0);
    assert_int_equal(nof_reserve_take(nic, r[1], minimum + 1, minimum), minimum);
    the_sum_is_right();
}

static void those_that_run_ahead_leave_all_minima(void **state)
{
    struct nof_recv *more[64];
    uint32_t got = 0, spare = all - EPS * minimum;

    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        uint32_t n;

        more[i] = nof_recv_at(nic, nof_pool_take(&nic->recvs));
        more[i]->ep = 0;
        n = nof_reserve_ahead(nic, more[i], UINT32_MAX, 4);
        assert_true(n == 0 || n == 4 || n <= (spare / 4 - got) / 4);
        assert_int_equal(more[i]->unended, n > 0 ? NOF_RECV_AHEAD : NOF_RECV_ORDINARY);
        got += n;
        assert_int_equal(nic->eps[0].ahead_blocks, got);
    }
    assert_in_range(got, spare / 4 - 4, spare / 4);
    assert_int_equal(nof_reserve_ahead(nic, r[1], 3, 3), 3);
    nof_reserve_give(nic, r[1]);
    assert_int_equal(nof_reserve_take(nic, r[2], UINT32_MAX, 1), spare - got); /* then nothing is nobody's */
    assert_int_equal(nof_reserve_ahead(nic, r[1], 3, 3), 0);
    assert_int_equal(nof_reserve_take(nic, r[0], UINT32_MAX, 1), minimum);
    assert_int_equal(nof_reserve_take(nic, r[1], UINT32_MAX, 1), minimum);
    for (unsigned i = 0; i < EPS; i++)
        nof_reserve_give(nic, r[i]);
    for (unsigned i = 0; i < 64; i++)
        nof_reserve_give(nic, more[i]);
    assert_int_equal(nic->eps[0].ahead_blocks, 0);
    the_sum_is_right();
}

static void what_comes_back_is_told_if_somebody_waits(void **state)
{
    (void)state;
    assert_int_equal(nof_reserve_take(nic, r[0], 5, 1), 5);
    nof_reserve_give(nic, r[0]);
    assert_int_equal(nic->dma_released, 0);
    assert_int_equal(nic->dma_free, all);
    nic->recvs_waiting = 1;
    nof_reserve_give(nic, r[0]); /* nothing */
    assert_int_equal(nic->dma_released, 0);
    assert_int_equal(nof_reserve_take(nic, r[0], 5, 1), 5);
    nof_reserve_give(nic, r[0]);
    assert_int_equal(nic->dma_released, 1);
    nic->recvs_waiting = nic->dma_released = 0;
    the_sum_is_right();
}

static void what_is_borrowed_is_nobodys_minimum(void **state)
{
    uint32_t spare = all - EPS * minimum;

    (void)state;
    assert_int_equal(nof_reserve_borrow(nic, r[0], spare + 1), 0);
    assert_int_equal(nic->dma_free, all);
    assert_int_equal(nof_reserve_borrow(nic, r[0], spare), 1);
    assert_int_equal(nic->eps[0].dma_used, 0); /* until its receive has come */
    assert_int_equal(nof_reserve_take(nic, r[0 + 1], UINT32_MAX, 1), minimum);
    nof_reserve_claim(nic, r[0]);
    the_sum_is_right();
    nof_reserve_give(nic, r[0]);
    nof_reserve_give(nic, r[1]);
    assert_int_equal(nic->dma_free, all);
}

static void chains_are_taken_out_of_it_and_no_more(void **state)
{
    uint32_t chain, other;

    (void)state;
    assert_int_equal(nof_reserve_take(nic, r[0], 4, 1), 4);
    chain = nof_reserve_chain(nic, r[0], 3);
    assert_int_not_equal(chain, NOF_NIL);
    assert_int_equal(nof_reserve_chain(nic, r[0], 2), NOF_NIL);
    other = nof_reserve_chain(nic, r[0], 1);
    assert_int_not_equal(other, NOF_NIL);
    assert_int_equal(r[0]->used_blocks, 4);
    nof_reserve_free(nic, r[0], chain);
    assert_int_equal(r[0]->used_blocks, 1);
    nof_reserve_free(nic, r[0], other);
    assert_int_equal(r[0]->used_blocks, 0);
    assert_int_equal(nic->netmem.used, 0);
    nof_reserve_give(nic, r[0]);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(one_endpoint_leaves_each_other_its_minimum), EACH(as_many_as_wanted_or_at_least_so_many_or_none),
        EACH(what_comes_back_is_told_if_somebody_waits),  EACH(what_is_borrowed_is_nobodys_minimum),
        EACH(those_that_run_ahead_leave_all_minima),      EACH(chains_are_taken_out_of_it_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
