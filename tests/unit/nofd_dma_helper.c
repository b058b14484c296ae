/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The core's side of the helpers: what is ordered, what is believed, and that every copy ends once although a helper
 * stands still, dies or lies. The helpers are rings that the test serves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "fake_process.h"
#include "nofd/sys/clock.h"

#define TIMEOUT_NS (500 * NOFD_MS)
#define STUCK_NS (50 * NOFD_MS)
#define VALUE 0x1122334455667788ull

static struct nofd_lcore lcore;
static struct nofd_dma_pools pools;
static struct nofd_dma engine = {.lcore = &lcore};
static struct nofd_dma_pool pool;
static struct nofd_dma_helper *helper[3];
static struct nofd_dma_rank rank[2];
static struct nofd_dma_memory memory[2];
static struct nofd_doom doom[2];
static bool doomed;
static uint8_t ours[16][NOF_DMA_BLOCK_BYTES];

static unsigned turn(void)
{
    return pools.source.ops->turn(&pools.source, lcore.now_ns);
}

static struct nofd_dma_process *process(unsigned i)
{
    return &helper[i]->process;
}

static void add_helper(unsigned i)
{
    char err[64];

    helper[i] = calloc(1, sizeof(*helper[i]));
    assert_non_null(helper[i]);
    assert_int_equal(nofd_dma_process_start(&helper[i]->process, NULL, NULL, NULL, err, sizeof(err)), 0);
    helper[i]->free_blocks = (1u << NOFD_DMA_SLOTS) - 1;
    helper[i]->pool = &pool;
    helper[i]->number = i;
    nofd_dma_helper_join(&pool, helper[i]);
}

static void join_rank(unsigned i)
{
    doom[i] = (struct nofd_doom){.any = &doomed};
    memory[i] = (struct nofd_dma_memory){.ops = &nofd_dma_helpers,
                                         .dma = &engine,
                                         .nic_name = "nic0",
                                         .doom = &doom[i],
                                         .rank = i,
                                         .helped = &rank[i]};
    rank[i] = (struct nofd_dma_rank){.pool = &pool,
                                     .pid = 500 + (int)i,
                                     .index = i,
                                     .generation = 1 + i,
                                     .memory = &memory[i],
                                     .probe_addr = 0x1000,
                                     .probe_value = VALUE,
                                     .probe_read = ~VALUE};
    nofd_dma_rank_join(&rank[i]);
}

static int start(void **state)
{
    (void)state;
    fake_reset();
    doomed = false;
    lcore = (struct nofd_lcore){.now_ns = NOFD_S};
    nofd_dma_pools_init(&pools, &lcore);
    pool = (struct nofd_dma_pool){
        .pools = &pools, .lcore = &lcore, .timeout_ns = TIMEOUT_NS, .normal_helpers = 1};
    pools.pool[pools.n++] = &pool;
    add_helper(0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        if (helper[i] == NULL)
            continue;
        nofd_dma_process_free(&helper[i]->process);
        free(helper[i]);
        helper[i] = NULL;
    }
    return 0;
}

static int copy(unsigned who, bool write, void *local, size_t bytes, uint64_t token)
{
    struct nof_segment remote = {.addr = 0x2000, .len_bytes = bytes};
    struct nof_buf buf = {.base = local, .len_bytes = bytes};
    int rc = memory[who].ops->copy(&memory[who], write, &remote, 1, &buf, 1, token);

    if (rc == NOF_DMA_PENDING)
        memory[who].pending++;
    return rc;
}

/* A helper holds the rank's process from now on, and its probe has ended. */
static void known(unsigned who)
{
    join_rank(who);
    for (unsigned i = 0; i < 4 && rank[who].probe_done == 0; i++) {
        struct nofd_dma_order *order;

        (void)turn();
        while ((order = fake_claim(process(0))) != NULL) {
            uint64_t value = VALUE;

            if (order->what == NOFD_DMA_READ)
                memcpy(nofd_dma_block(process(0), order->block), &value, sizeof(value));
            fake_finish(process(0), order, NOF_OK);
        }
    }
    assert_int_equal(rank[who].probe_done, 1);
    assert_int_equal(rank[who].probe_status, NOF_OK);
}

static void the_probe_asks_for_the_process_then_for_the_value(void **state)
{
    struct nofd_dma_order *order;
    uint64_t value = VALUE;
    unsigned told;

    (void)state;
    join_rank(0);
    (void)turn();
    order = fake_claim(process(0));
    assert_int_equal(order->what, NOFD_DMA_KNOW);
    assert_int_equal(order->pid, 500);
    assert_int_equal(order->generation, 1);
    (void)turn();
    fake_finish(process(0), order, NOF_OK);
    (void)turn();
    order = fake_claim(process(0));
    assert_int_equal(order->what, NOFD_DMA_READ);
    assert_int_equal(order->remote[0].addr, 0x1000);
    assert_int_equal(order->len_bytes, 8);
    assert_null(fake_claim(process(0)));
    memcpy(nofd_dma_block(process(0), order->block), &value, sizeof(value));
    told = fake.main_told;
    fake_finish(process(0), order, NOF_OK);
    (void)turn();
    assert_int_equal(rank[0].probe_done, 1);
    assert_int_equal(rank[0].probe_status, NOF_OK);
    assert_int_equal(fake.main_told, told + 1);
    assert_int_equal(fake.nended, 0); /* none of the core's requests */
}

static void another_value_is_another_memory(void **state)
{
    (void)state;
    join_rank(0);
    (void)turn();
    assert_int_equal(fake_serve(process(0)), 1);
    (void)turn();
    assert_int_equal(fake_serve(process(0)), 1); /* the window holds zeros */
    (void)turn();
    assert_int_equal(rank[0].probe_status, NOF_EFAULT);
}

/* The number that the helper opened may be another's by then. */
static void a_process_that_died_meanwhile_is_not_known(void **state)
{
    (void)state;
    join_rank(0);
    (void)turn();
    fake.lives = false;
    assert_int_equal(fake_serve(process(0)), 1);
    (void)turn();
    assert_int_equal(rank[0].probe_status, NOF_EPEERDEAD);
    assert_int_equal(copy(false, true, ours[0], 8, true), NOF_EPEERDEAD);
    assert_null(fake_claim(process(0)));
}

static void payload_passes_through_the_window(void **state)
{
    struct nofd_dma_order *order;
    struct nof_segment remote = {.addr = 0x2000, .len_bytes = 10};
    uint8_t sum[4] = {0};
    struct nof_buf local[2] = {{.base = ours[0], .len_bytes = 4},
                               {.base = ours[1], .len_bytes = 6, .sum = sum}};
    uint32_t want = nof_crc32c("456789", 6);

    (void)state;
    known(0);
    memcpy(ours[0], "0123", 4);
    memcpy(ours[1], "456789", 6);
    assert_int_equal(memory[0].ops->copy(&memory[0], true, &remote, 1, local, 2, 5), NOF_DMA_PENDING);
    order = fake_claim(process(0));
    assert_int_equal(order->what, NOFD_DMA_WRITE);
    assert_memory_equal(nofd_dma_block(process(0), order->block), "0123456789", 10);
    fake_finish(process(0), order, NOF_OK);
    assert_int_equal(memory[0].ops->copy(&memory[0], false, &remote, 1, local, 2, 6), NOF_DMA_PENDING);
    memory[0].pending = 2;
    memset(ours, 0, sizeof(ours));
    order = fake_claim(process(0));
    memcpy(nofd_dma_block(process(0), order->block), "0123456789", 10);
    fake_finish(process(0), order, NOF_OK);
    assert_true(pools.source.ops->ready(&pools.source));
    assert_int_equal(turn(), 2);
    assert_false(pools.source.ops->ready(&pools.source));
    assert_memory_equal(ours[0], "0123", 4);
    assert_memory_equal(ours[1], "456789", 6);
    assert_int_equal(nof_get32(sum), want);
    assert_int_equal(fake.ended[0].token, 5);
    assert_int_equal(fake.ended[1].token, 6);
    assert_int_equal(memory[0].pending, 0);
}

static void no_more_orders_than_slots_and_each_with_a_block_of_its_own(void **state)
{
    uint32_t blocks = 0;

    (void)state;
    known(0);
    for (unsigned i = 0; i < NOFD_DMA_SLOTS; i++)
        assert_int_equal(copy(false, true, ours[i], 8, i), NOF_DMA_PENDING);
    assert_int_equal(copy(false, true, ours[0], 8, 99), NOF_EAGAIN);
    for (unsigned i = 0; i < NOFD_DMA_SLOTS; i++)
        blocks |= 1u << helper[0]->slots[i].block;
    assert_int_equal(blocks, (1u << NOFD_DMA_SLOTS) - 1);
    assert_int_equal(fake_serve(process(0)), NOFD_DMA_SLOTS);
    (void)turn();
    assert_int_equal(fake.nended, NOFD_DMA_SLOTS);
    assert_int_equal(copy(false, true, ours[0], 8, 99), NOF_DMA_PENDING);
}

static void what_is_read_in_one_turn_has_an_end(void **state)
{
    (void)state;
    known(0);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(copy(false, false, ours[i], NOF_DMA_BLOCK_BYTES, i), NOF_DMA_PENDING);
    assert_int_equal(fake_serve(process(0)), 10);
    assert_int_equal(turn(), 4);
    assert_int_equal(turn(), 4);
    assert_int_equal(turn(), 2);
    assert_int_equal(turn(), 0);
}

static void only_what_a_helper_may_say_is_believed(void **state)
{
    static const int says[] = {NOF_OK, NOF_EPERM, NOF_EPEERDEAD, NOF_EFAULT, NOF_EAGAIN, 12345};
    static const int means[] = {NOF_OK, NOF_EPERM, NOF_EPEERDEAD, NOF_EFAULT, NOF_EFAULT, NOF_EFAULT};

    (void)state;
    known(0);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(copy(false, true, ours[0], 8, i), NOF_DMA_PENDING);
        fake_finish(process(0), fake_claim(process(0)), says[i]);
        (void)turn();
        assert_int_equal(fake.ended[i].status, means[i]);
    }
    assert_int_equal(copy(false, true, ours[0], 8, 6), NOF_DMA_PENDING);
    process(0)->ring->taken++; /* passed, and not done */
    (void)turn();
    assert_int_equal(fake.ended[6].status, NOF_EFAULT);
}

static void one_that_says_it_did_more_than_it_was_given_is_killed(void **state)
{
    (void)state;
    known(0);
    assert_int_equal(copy(false, true, ours[0], 8, true), NOF_DMA_PENDING);
    process(0)->ring->taken += 2;
    assert_int_equal(turn(), 0);
    assert_int_equal(turn(), 0);
    assert_int_equal(fake.killed, 1);
    assert_int_equal(fake.nended, 0); /* until it is dead */
    helper[0]->life = NOFD_HELPER_DEAD;
    (void)turn();
    assert_int_equal(copy(false, true, ours[0], 8, 2), NOF_EAGAIN);
}

/* The first of `who` has been claimed and does not end. */
static void block(unsigned who)
{
    assert_int_equal(copy(who, true, ours[0], 8, 100), NOF_DMA_PENDING);
    assert_non_null(fake_claim(process(0)));
}

static void who_does_not_block_it_goes_to_another_helper(void **state)
{
    (void)state;
    known(0);
    known(1);
    block(0);
    assert_int_equal(copy(false, true, ours[1], 8, 101), NOF_DMA_PENDING);
    assert_int_equal(copy(true, true, ours[2], 8, 102), NOF_DMA_PENDING);
    lcore.now_ns += STUCK_NS - 1;
    (void)turn();
    assert_false(helper[0]->stuck);
    lcore.now_ns += 1;
    (void)turn();
    assert_true(helper[0]->stuck);
    assert_int_equal(pool.wants_helper, 1); /* none is left for the other */
    add_helper(1);
    (void)turn();
    assert_int_equal(fake_serve(process(1)), 1); /* KNOW */
    (void)turn();
    (void)turn();
    assert_int_equal(fake_serve(process(1)), 1);
    (void)turn();
    assert_int_equal(fake.nended, 1);
    assert_int_equal(fake.ended[0].token, 102);
    assert_false(doomed);
}

static void who_blocks_it_for_too_long_is_doomed_and_it_is_killed(void **state)
{
    (void)state;
    known(0);
    known(1);
    block(0);
    lcore.now_ns += TIMEOUT_NS;
    (void)turn();
    assert_false(doomed);
    lcore.now_ns += 1;
    (void)turn();
    assert_int_equal(doom[0].reason, NOF_EFAULT);
    assert_int_equal(doom[1].reason, 0);
    assert_int_equal(fake.killed, 1);
    (void)turn();
    assert_int_equal(fake.killed, 1);
    helper[0]->life = NOFD_HELPER_DEAD;
    (void)turn();
    assert_int_equal(fake.nended, 1);
    assert_int_equal(fake.ended[0].token, 100);
    assert_int_equal(fake.ended[0].status, NOF_EFAULT);
}

/* Somebody kills nofd-dma, or it crashes. The copy is whole or not, and the bytes are still ours. */
static void what_a_dead_helper_had_begun_is_done_again(void **state)
{
    struct nofd_dma_order *order;

    (void)state;
    known(0);
    memcpy(ours[0], "abcdefgh", 8);
    assert_int_equal(copy(false, true, ours[0], 8, 100), NOF_DMA_PENDING);
    assert_int_equal(copy(false, false, ours[1], 8, 101), NOF_DMA_PENDING);
    assert_non_null(fake_claim(process(0)));
    memset(nofd_dma_block(process(0), helper[0]->slots[helper[0]->retired % NOFD_DMA_SLOTS].block), 'x', 8);
    helper[0]->life = NOFD_HELPER_DEAD;
    (void)turn();
    assert_int_equal(fake.nended, 0);
    add_helper(1);
    (void)turn();
    assert_int_equal(fake_serve(process(1)), 1); /* KNOW */
    for (unsigned i = 0; i < 3; i++)
        (void)turn();
    order = fake_claim(process(1));
    assert_int_equal(order->what, NOFD_DMA_WRITE); /* in their order */
    assert_int_equal(order->remote[0].addr, 0x2000);
    assert_memory_equal(nofd_dma_block(process(1), order->block), "abcdefgh", 8);
    fake_finish(process(1), order, NOF_OK);
    order = fake_claim(process(1));
    assert_int_equal(order->what, NOFD_DMA_READ);
    memcpy(nofd_dma_block(process(1), order->block), "ABCDEFGH", 8);
    fake_finish(process(1), order, NOF_OK);
    (void)turn();
    assert_int_equal(fake.nended, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(fake.ended[i].token, 100 + i);
        assert_int_equal(fake.ended[i].status, NOF_OK);
    }
    assert_memory_equal(ours[1], "ABCDEFGH", 8);
    assert_ptr_equal(pool.dead, helper[0]);
    assert_int_equal(nofd_dma_pools_helpers(&pools), 1);
}

/* Perhaps it is this copy that they die of. */
static void what_they_die_of_is_not_done_for_ever(void **state)
{
    (void)state;
    known(0);
    assert_int_equal(copy(false, true, ours[0], 8, 100), NOF_DMA_PENDING);
    assert_non_null(fake_claim(process(0)));
    lcore.now_ns += TIMEOUT_NS + 1;
    helper[0]->life = NOFD_HELPER_DEAD;
    (void)turn();
    assert_int_equal(fake.nended, 1);
    assert_int_equal(fake.ended[0].status, NOF_EFAULT);
}

static void without_a_helper_it_is_tried_again_but_not_for_ever(void **state)
{
    (void)state;
    known(0);
    helper[0]->life = NOFD_HELPER_DEAD;
    (void)turn();
    assert_int_equal(copy(false, true, ours[0], 8, true), NOF_EAGAIN);
    assert_int_equal(pool.wants_helper, 1);
    for (uint64_t ns = 0; ns < TIMEOUT_NS; ns += 50 * NOFD_MS) {
        lcore.now_ns += 50 * NOFD_MS;
        assert_int_equal(copy(false, true, ours[0], 8, true), NOF_EAGAIN);
    }
    lcore.now_ns += 50 * NOFD_MS;
    assert_int_equal(copy(false, true, ours[0], 8, true), NOF_EFAULT);
    lcore.now_ns += NOFD_S; /* somebody else, later */
    assert_int_equal(copy(false, true, ours[0], 8, true), NOF_EAGAIN);
}

static void time_in_which_nobody_ran_counts_for_nothing(void **state)
{
    (void)state;
    known(0);
    block(0);
    lcore.now_ns += 2 * TIMEOUT_NS;
    pools.source.ops->stalled(&pools.source, lcore.now_ns, 2 * TIMEOUT_NS);
    (void)turn();
    assert_false(helper[0]->stuck);
    lcore.now_ns += STUCK_NS;
    (void)turn();
    assert_true(helper[0]->stuck);
}

static void what_is_under_way_for_one_that_has_gone_ends_without_a_word(void **state)
{
    (void)state;
    known(0);
    memset(ours[0], 1, 8);
    assert_int_equal(copy(false, false, ours[0], 8, true), NOF_DMA_PENDING);
    nofd_dma_rank_forget(&rank[0]);
    assert_int_equal(fake_serve(process(0)), 1);
    assert_int_equal(turn(), 1);
    assert_int_equal(fake.nended, 0);
    assert_int_equal(ours[0][0], 1); /* its buffers may be somebody else's */
    assert_int_equal(pool.nranks, 0);
}

static void a_helper_is_woken_once_a_turn_if_it_sleeps(void **state)
{
    struct nofd_dma_ring *ring = process(0)->ring;

    (void)state;
    known(0);
    pools.bells.ops->turn(&pools.bells, lcore.now_ns);
    ring->bell = 0;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(copy(false, true, ours[0], 8, i), NOF_DMA_PENDING);
    pools.bells.ops->turn(&pools.bells, lcore.now_ns);
    assert_int_equal(ring->bell, 0); /* awake */
    assert_int_equal(copy(false, true, ours[0], 8, 3), NOF_DMA_PENDING);
    for (unsigned i = 0; i < 2; i++) {
        ring->asleep = 1;
        pools.bells.ops->turn(&pools.bells, lcore.now_ns);
    }
    assert_int_equal(ring->bell, 1);
}

static void the_core_is_woken_only_while_it_sleeps(void **state)
{
    (void)state;
    known(0);
    assert_int_equal(pools.source.ops->deadline(&pools.source, 5), UINT64_MAX);
    assert_int_equal(copy(false, true, ours[0], 8, 3), NOF_DMA_PENDING);
    assert_int_equal(pools.source.ops->deadline(&pools.source, 5), 5 + STUCK_NS / 2);
    pools.source.ops->asleep(&pools.source, true);
    assert_int_equal(process(0)->ring->core_asleep, 1);
    pools.source.ops->asleep(&pools.source, false);
    assert_int_equal(process(0)->ring->core_asleep, 0);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(the_probe_asks_for_the_process_then_for_the_value),
        EACH(another_value_is_another_memory),
        EACH(a_process_that_died_meanwhile_is_not_known),
        EACH(payload_passes_through_the_window),
        EACH(no_more_orders_than_slots_and_each_with_a_block_of_its_own),
        EACH(what_is_read_in_one_turn_has_an_end),
        EACH(only_what_a_helper_may_say_is_believed),
        EACH(one_that_says_it_did_more_than_it_was_given_is_killed),
        EACH(who_does_not_block_it_goes_to_another_helper),
        EACH(who_blocks_it_for_too_long_is_doomed_and_it_is_killed),
        EACH(what_a_dead_helper_had_begun_is_done_again),
        EACH(what_they_die_of_is_not_done_for_ever),
        EACH(without_a_helper_it_is_tried_again_but_not_for_ever),
        EACH(time_in_which_nobody_ran_counts_for_nothing),
        EACH(what_is_under_way_for_one_that_has_gone_ends_without_a_word),
        EACH(a_helper_is_woken_once_a_turn_if_it_sleeps),
        EACH(the_core_is_woken_only_while_it_sleeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
