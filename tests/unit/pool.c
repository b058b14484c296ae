/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pools, queues and rings of objects in them: none is given twice, a handle of one that was given back fits no more, and
 * order is kept whoever leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"

#define CAP 8u
#define PREV offsetof(struct item, prev)

struct item {
    struct nof_obj obj;
    uint32_t prev;
    uint32_t mark;
};

static struct item items[CAP];
static struct nof_pool pool;

static int start(void **state)
{
    (void)state;
    memset(items, 0xee, sizeof items);
    nof_pool_init(&pool, items, sizeof items[0], CAP);
    return 0;
}

static void every_object_is_given_once_until_none_is_left(void **state)
{
    uint32_t seen = 0;

    (void)state;
    for (uint32_t n = 0; n < CAP; n++) {
        uint32_t i;

        assert_int_equal(nof_pool_free(&pool), CAP - n);
        i = nof_pool_take(&pool);
        assert_true(i < CAP);
        assert_int_equal(seen >> i & 1, 0);
        seen |= 1u << i;
    }
    assert_int_equal(nof_pool_take(&pool), NOF_NIL);
    assert_int_equal(nof_pool_take(&pool), NOF_NIL);
    assert_int_equal(pool.used, CAP);
    nof_pool_give(&pool, 3);
    assert_int_equal(nof_pool_take(&pool), 3);
    assert_int_equal(nof_pool_take(&pool), NOF_NIL);
}

/* A large bound costs address space and nothing else. */
static void what_was_never_needed_is_not_touched(void **state)
{
    static const struct item untouched = {{0xeeeeeeee, 0xeeeeeeee}, 0xeeeeeeee, 0xeeeeeeee};

    (void)state;
    for (unsigned n = 0; n < 100; n++) {
        uint32_t a = nof_pool_take(&pool), b = nof_pool_take(&pool);

        nof_pool_give(&pool, a);
        nof_pool_give(&pool, b);
    }
    assert_int_equal(pool.high, 2);
    for (uint32_t i = 2; i < CAP; i++)
        assert_memory_equal(&items[i], &untouched, sizeof untouched);
    assert_int_equal(items[0].mark, 0); /* the first time it is clean */
}

static void a_handle_fits_one_life(void **state)
{
    uint32_t i = nof_pool_take(&pool), gen = items[i].obj.gen;

    (void)state;
    assert_int_not_equal(gen, 0);
    nof_pool_give(&pool, i);
    assert_int_not_equal(items[i].obj.gen, gen); /* at once */
    assert_int_equal(nof_pool_take(&pool), i);
    assert_int_not_equal(items[i].obj.gen, gen);
    items[i].obj.gen = NOF_GEN_MAX;
    nof_pool_give(&pool, i);
    assert_int_equal(items[i].obj.gen, 1); /* never 0, and within its bits */
}

static uint32_t take(uint32_t n)
{
    uint32_t i = NOF_NIL;

    while (n-- > 0)
        i = nof_pool_take(&pool);
    return i;
}

static void queue_holds(uint32_t tail, const char *order)
{
    uint32_t i = tail;

    if (*order == '\0') {
        assert_int_equal(tail, NOF_NIL);
        return;
    }
    for (; *order != '\0'; order++) {
        i = items[i].obj.next;
        assert_int_equal(i, (uint32_t)(*order - '0'));
    }
    assert_int_equal(i, tail);
}

static void a_queue_is_first_in_first_out(void **state)
{
    uint32_t tail = NOF_NIL;

    (void)state;
    (void)take(CAP);
    assert_int_equal(nof_queue_head(&pool, tail), NOF_NIL);
    assert_int_equal(nof_queue_pop(&pool, &tail), NOF_NIL);
    for (uint32_t i = 0; i < 3; i++)
        nof_queue_push(&pool, &tail, i);
    queue_holds(tail, "012");
    assert_int_equal(nof_queue_head(&pool, tail), 0);
    assert_int_equal(nof_queue_pop(&pool, &tail), 0);
    nof_queue_push(&pool, &tail, 0);
    queue_holds(tail, "120");
    for (uint32_t n = 0; n < 3; n++)
        (void)nof_queue_pop(&pool, &tail);
    queue_holds(tail, "");
}

static void queues_are_joined_in_order(void **state)
{
    uint32_t a = NOF_NIL, b = NOF_NIL;

    (void)state;
    (void)take(CAP);
    nof_queue_join(&pool, &a, &b);
    queue_holds(a, "");
    for (uint32_t i = 0; i < 4; i++)
        nof_queue_push(&pool, i < 2 ? &a : &b, i);
    nof_queue_join(&pool, &a, &b);
    queue_holds(a, "0123");
    queue_holds(b, "");
    nof_queue_join(&pool, &a, &b);
    queue_holds(a, "0123");
    nof_queue_join(&pool, &b, &a);
    queue_holds(b, "0123");
    queue_holds(a, "");
}

static void ring_holds(uint32_t tail, const char *order)
{
    uint32_t i = tail;

    queue_holds(tail, order);
    for (size_t n = strlen(order); n-- > 0;) { /* and backwards */
        assert_int_equal(i, (uint32_t)(order[n] - '0'));
        i = items[i].prev;
    }
}

static void anybody_may_leave_a_ring(void **state)
{
    uint32_t tail = NOF_NIL;

    (void)state;
    (void)take(CAP);
    for (uint32_t i = 0; i < 5; i++)
        nof_ring_push(&pool, &tail, i, PREV);
    ring_holds(tail, "01234");
    nof_ring_remove(&pool, &tail, 2, PREV);
    ring_holds(tail, "0134");
    nof_ring_remove(&pool, &tail, 4, PREV); /* the tail */
    ring_holds(tail, "013");
    nof_ring_remove(&pool, &tail, 0, PREV); /* the head */
    ring_holds(tail, "13");
    nof_ring_push(&pool, &tail, 0, PREV);
    ring_holds(tail, "130");
    assert_int_equal(nof_ring_pop(&pool, &tail, PREV), 1);
    assert_int_equal(nof_ring_pop(&pool, &tail, PREV), 3);
    nof_ring_remove(&pool, &tail, 0, PREV); /* the last */
    assert_int_equal(tail, NOF_NIL);
    assert_int_equal(nof_ring_pop(&pool, &tail, PREV), NOF_NIL);
}

#define EACH(test) cmocka_unit_test_setup(test, start)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(every_object_is_given_once_until_none_is_left),
        EACH(what_was_never_needed_is_not_touched),
        EACH(a_handle_fits_one_life),
        EACH(a_queue_is_first_in_first_out),
        EACH(queues_are_joined_in_order),
        EACH(anybody_may_leave_a_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
