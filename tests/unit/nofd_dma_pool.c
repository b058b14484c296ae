/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The main thread's side of the helpers: one pool a user, no more processes than it may have, and all of them gone in
 * the end. Processes are stand-ins, and so is the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "fake_process.h"
#include "nofd/sys/clock.h"

#define START_EVERY_NS (100 * NOFD_MS)
#define LINGER_NS (2 * NOFD_S)

static struct nofd_loop loop;
static struct nofd_ticks ticks;
static struct nofd_lcore lcore;
static struct nofd_dma_pools pools;
static struct nofd_dma_crew crew;
static struct nofd_dma_rank *rank[NOFD_DMA_RANKS + 1];
static uint64_t clock_ns;
static unsigned ticks_needed;

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
    (void)id;
    ts->tv_sec = (time_t)(clock_ns / NOFD_S);
    ts->tv_nsec = (long)(clock_ns % NOFD_S);
    return 0;
}

void nofd_ticks_add(struct nofd_ticks *of, struct nofd_tick *tick)
{
    (void)of;
    (void)tick;
}

void nofd_ticks_need(struct nofd_ticks *of)
{
    assert_ptr_equal(of, &ticks);
    ticks_needed++;
}

static int start(void **state)
{
    (void)state;
    fake_reset();
    clock_ns = 100 * NOFD_S;
    ticks_needed = 0;
    memset(rank, 0, sizeof(rank));
    lcore = (struct nofd_lcore){.now_ns = clock_ns};
    nofd_dma_pools_init(&pools, &lcore);
    nofd_dma_crew_init(&crew, &loop, &ticks, NOFD_S);
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= NOFD_DMA_RANKS; i++)
        if (rank[i] != NULL)
            nofd_dma_rank_close(rank[i]);
    nofd_dma_crew_end(&crew);
    return fake.freed == fake.started ? 0 : -1;
}

static struct nofd_dma_rank *open_rank(uid_t uid)
{
    struct ucred who = {.pid = getpid(), .uid = uid, .gid = uid};

    return nofd_dma_rank_open(&crew, &pools, &who, 0, 0x1000, 1);
}

static void after(uint64_t ns)
{
    clock_ns += ns;
    nofd_dma_crew_look(&crew);
}

/* The process of a helper has ended, and the core has buried it. */
static void process_ends(unsigned i)
{
    struct nofd_watch *watch = &fake.process[i]->watch;

    watch->fn(watch, 1);
    (void)pools.source.ops->turn(&pools.source, clock_ns);
}

static void ranks_of_one_user_share_a_pool(void **state)
{
    (void)state;
    rank[0] = open_rank(1000);
    rank[1] = open_rank(1000);
    rank[2] = open_rank(1001);
    assert_non_null(rank[0]);
    assert_ptr_equal(rank[0]->pool, rank[1]->pool);
    assert_ptr_not_equal(rank[0]->pool, rank[2]->pool);
    assert_int_not_equal(rank[0]->index, rank[1]->index);
    assert_int_not_equal(rank[0]->generation, rank[1]->generation);
    assert_int_equal(fake.started, 2);
    assert_int_equal(pools.n, 2);
    assert_true(rank[0]->probe_wanted);
}

static void another_set_of_capabilities_is_another_user(void **state)
{
    (void)state;
    rank[0] = open_rank(0);
    fake.caps = 4;
    rank[1] = open_rank(0);
    assert_ptr_not_equal(rank[0]->pool, rank[1]->pool);
}

static void who_cannot_be_helped_copies_himself(void **state)
{
    (void)state;
    fake.possible = false;
    assert_null(open_rank(1000));
    fake.possible = true;
    fake.caps_say = -ESRCH;
    assert_null(open_rank(1000));
    fake.caps_say = 0;
    fake.lives = false;
    assert_null(open_rank(1000));
    assert_int_equal(fake.started, 0);
}

static void a_helper_that_cannot_be_started_is_no_pool(void **state)
{
    (void)state;
    fake.start_says = -ENOENT;
    assert_null(open_rank(1000));
    assert_int_equal(pools.n, 0);
    fake.start_says = 0;
    rank[0] = open_rank(1000); /* tried anew */
    assert_non_null(rank[0]);
}

static void a_helper_that_is_wanted_is_started_but_not_too_often(void **state)
{
    struct nofd_dma_pool *pool;

    (void)state;
    rank[0] = open_rank(1000);
    pool = rank[0]->pool;
    pool->wants_helper = 1;
    after(START_EVERY_NS - 1);
    assert_int_equal(fake.started, 1);
    assert_int_equal(ticks_needed, 1); /* looked at again */
    after(1);
    assert_int_equal(fake.started, 2);
    assert_int_equal(pool->wants_helper, 0);
    assert_int_equal(pool->nhelpers, 2);
    assert_int_not_equal(pool->helpers[0]->number, pool->helpers[1]->number);
    after(START_EVERY_NS);
    assert_int_equal(fake.started, 2); /* not without being asked */
}

static void a_user_has_so_many_processes_at_most(void **state)
{
    (void)state;
    rank[0] = open_rank(1000);
    for (unsigned i = 0; i < 3 * NOFD_DMA_HELPERS_MAX; i++) {
        rank[0]->pool->wants_helper = 1;
        after(START_EVERY_NS);
    }
    assert_int_equal(fake.started, NOFD_DMA_HELPERS_MAX);
    process_ends(0); /* one that has ended makes room */
    rank[0]->pool->wants_helper = 1;
    after(START_EVERY_NS);
    assert_int_equal(fake.freed, 1);
    assert_int_equal(fake.started, NOFD_DMA_HELPERS_MAX + 1);
}

static void what_is_short_for_a_moment_is_tried_again(void **state)
{
    (void)state;
    rank[0] = open_rank(1000);
    process_ends(0);
    rank[0]->pool->wants_helper = 1;
    fake.start_says = -EMFILE;
    after(START_EVERY_NS);
    assert_int_equal(rank[0]->pool->wants_helper, 1);
    assert_int_equal(rank[0]->pool->useless, 0);
    fake.start_says = 0;
    after(START_EVERY_NS);
    assert_int_equal(rank[0]->pool->nhelpers, 1);
}

/* Bytes of the log that the death of a helper brings. */
static long told_of_death(bool by_us)
{
    FILE *log = tmpfile();
    int before = dup(STDERR_FILENO);
    long bytes;

    assert_non_null(log);
    assert_true(before >= 0 && dup2(fileno(log), STDERR_FILENO) == STDERR_FILENO);
    rank[0]->pool->helpers[0]->killed = by_us;
    process_ends(0);
    nofd_dma_crew_look(&crew);
    (void)dup2(before, STDERR_FILENO);
    close(before);
    bytes = lseek(fileno(log), 0, SEEK_END);
    fclose(log);
    return bytes;
}

/* Its ranks hear of buffers that are not accessible, and there is nothing wrong with those. */
static void that_somebody_has_killed_one_is_told(void **state)
{
    (void)state;
    rank[0] = open_rank(1000);
    assert_true(told_of_death(false) > 0);
}

static void one_that_we_have_killed_is_not_told_of_again(void **state)
{
    (void)state;
    rank[0] = open_rank(1000);
    assert_int_equal(told_of_death(true), 0);
}

static void one_that_shows_that_none_can_run_ends_the_trying(void **state)
{
    (void)state;
    rank[0] = open_rank(1000);
    fake.reap_says = "the kernel does not let it";
    process_ends(0);
    assert_int_equal(rank[0]->pool->useless, 1);
    assert_null(open_rank(1000));
    rank[0]->pool->wants_helper = 1;
    fake.start_says = -ENOENT;
    after(START_EVERY_NS);
    assert_int_equal(rank[0]->pool->wants_helper, 0);
}

static void a_pool_that_nobody_uses_lingers_and_goes(void **state)
{
    (void)state;
    rank[0] = open_rank(1000);
    nofd_dma_rank_close(rank[0]);
    rank[0] = NULL;
    after(LINGER_NS);
    assert_int_equal(pools.n, 1);
    rank[0] = open_rank(1000); /* his next program has a helper at once */
    assert_int_equal(fake.started, 1);
    nofd_dma_rank_close(rank[0]);
    rank[0] = NULL;
    after(LINGER_NS + 1);
    assert_int_equal(pools.n, 0);
    assert_int_equal(fake.killed, 1);
    assert_int_equal(fake.freed, 0); /* its memory is in use until it has ended */
    fake.process[0]->watch.fn(&fake.process[0]->watch, 1);
    assert_int_equal(fake.freed, 1);
}

static void of_many_users_the_one_that_is_gone_for_longest_makes_room(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NOFD_DMA_POOLS_MAX; i++) {
        rank[i] = open_rank(2000 + i);
        assert_non_null(rank[i]);
    }
    assert_null(open_rank(1000));
    for (unsigned i = 4; i < 6; i++) {
        clock_ns += NOFD_MS;
        nofd_dma_rank_close(rank[i]);
        rank[i] = NULL;
    }
    rank[4] = open_rank(1000);
    assert_non_null(rank[4]);
    assert_int_equal(pools.n, NOFD_DMA_POOLS_MAX);
    rank[5] = open_rank(2005); /* the other is there still */
    assert_int_equal(fake.started, NOFD_DMA_POOLS_MAX + 1);
    assert_null(open_rank(2004));
}

static void a_pool_has_so_many_ranks(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NOFD_DMA_RANKS; i++) {
        rank[i] = open_rank(1000);
        assert_non_null(rank[i]);
    }
    assert_null(open_rank(1000));
    nofd_dma_rank_close(rank[17]);
    rank[17] = open_rank(1000);
    assert_int_equal(rank[17]->index, 17);
    assert_int_equal(rank[17]->generation, NOFD_DMA_RANKS + 1); /* and not taken for the one before */
}

static void in_the_end_all_are_killed_and_freed(void **state)
{
    (void)state;
    rank[0] = open_rank(1000);
    rank[1] = open_rank(1001);
    for (unsigned i = 0; i < 2; i++) {
        nofd_dma_rank_close(rank[i]);
        rank[i] = NULL;
    }
    nofd_dma_crew_end(&crew);
    assert_int_equal(fake.killed, 2);
    assert_int_equal(fake.freed, 2);
    assert_null(crew.pools);
    assert_null(crew.helpers);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(ranks_of_one_user_share_a_pool),
        EACH(another_set_of_capabilities_is_another_user),
        EACH(who_cannot_be_helped_copies_himself),
        EACH(a_helper_that_cannot_be_started_is_no_pool),
        EACH(a_helper_that_is_wanted_is_started_but_not_too_often),
        EACH(a_user_has_so_many_processes_at_most),
        EACH(what_is_short_for_a_moment_is_tried_again),
        EACH(that_somebody_has_killed_one_is_told),
        EACH(one_that_we_have_killed_is_not_told_of_again),
        EACH(one_that_shows_that_none_can_run_ends_the_trying),
        EACH(a_pool_that_nobody_uses_lingers_and_goes),
        EACH(of_many_users_the_one_that_is_gone_for_longest_makes_room),
        EACH(a_pool_has_so_many_ranks),
        EACH(in_the_end_all_are_killed_and_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
