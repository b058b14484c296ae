/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A lane: what goes in comes out, whole and in order, by one thread and by two; credit; sides that lie. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "chan/shm/lane.h"

static _Alignas(64) struct nof_lane lane;
static struct nof_lane_out out;
static struct nof_lane_in in;

static int begin(void **state)
{
    (void)state;
    memset(&lane, 0, sizeof(lane));
    nof_lane_out_init(&out, &lane);
    nof_lane_in_init(&in, &lane);
    return 0;
}

static bool put(uint32_t value)
{
    struct nof_lane_slot *slot = nof_lane_claim(&out);
    if (slot == NULL)
        return false;
    slot->tag = (int32_t)value;
    memset(slot->payload, (int)(value & 0xff), sizeof(slot->payload));
    nof_lane_publish(&out);
    return true;
}

static bool take(uint32_t *value_out)
{
    const struct nof_lane_slot *slot = nof_lane_peek(&in);
    if (slot == NULL)
        return false;
    struct nof_lane_slot copy = *slot;
    (void)nof_lane_pop(&in);
    *value_out = (uint32_t)copy.tag;
    for (size_t i = 0; i < sizeof(copy.payload); i++)
        assert_int_equal(copy.payload[i], copy.tag & 0xff);
    return true;
}

static void messages_come_in_order_and_none_before_it_is_published(void **state)
{
    uint32_t value;
    (void)state;
    assert_false(take(&value));
    for (uint32_t i = 0; i < 1000; i++) {
        struct nof_lane_slot *slot = nof_lane_claim(&out);
        assert_non_null(slot);
        slot->kind = 1;
        assert_false(take(&value));
        assert_ptr_equal(nof_lane_claim(&out), slot); /* the same one until it is published */
        assert_true(put(i));
        assert_true(take(&value));
        assert_int_equal(value, i);
        assert_false(take(&value));
    }
}

static void a_full_lane_has_room_when_what_was_taken_is_credited(void **state)
{
    uint32_t value;
    (void)state;
    for (uint32_t i = 0; i < NOF_LANE_SLOTS; i++)
        assert_true(put(i));
    assert_false(put(0));
    for (uint32_t i = 0; i < NOF_LANE_CREDIT - 1; i++)
        assert_true(take(&value));
    assert_false(put(0)); /* not yet */
    assert_true(take(&value));
    for (uint32_t i = 0; i < NOF_LANE_CREDIT; i++)
        assert_true(put(NOF_LANE_SLOTS + i));
    assert_false(put(0));
    for (uint32_t i = NOF_LANE_CREDIT; i < NOF_LANE_SLOTS + NOF_LANE_CREDIT; i++) {
        assert_true(take(&value));
        assert_int_equal(value, i);
    }
    assert_true(put(0)); /* whatever is not credited yet, there is room when all is taken */
}

static void numbers_wrap(void **state)
{
    uint32_t value, first = UINT32_MAX - 100;
    (void)state;
    out.number = in.number = first;
    lane.head.taken = first - 1;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(put(i));
        assert_true(take(&value));
        assert_int_equal(value, i);
    }
}

static void credit_that_makes_no_sense_is_none(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NOF_LANE_SLOTS; i++)
        assert_true(put(i));
    lane.head.taken = 64; /* of 63 */
    assert_false(put(0));
    lane.head.taken = UINT32_MAX - 5;
    assert_false(put(0));
    lane.head.taken = 63;
    assert_true(put(0));
}

static void room_that_was_known_stays(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 60; i++)
        assert_true(put(i));
    lane.head.taken = UINT32_MAX - 5;
    assert_int_equal(nof_lane_look(&out), 3);
    lane.head.taken = 10;
    assert_int_equal(nof_lane_look(&out), 13);
    lane.head.taken = 0;
    assert_int_equal(nof_lane_look(&out), 13);
}

/* A slot that was written over holds the number of another message: nothing comes any more, and nothing else happens. */
static void a_number_that_is_not_the_next_is_no_message(void **state)
{
    uint32_t value;
    (void)state;
    assert_true(put(1));
    lane.slot[0].number = 1 + NOF_LANE_SLOTS;
    assert_false(take(&value));
    lane.slot[0].number = 1;
    assert_true(take(&value));
}

enum { MANY = 200000 };

static void *produce(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < MANY; i++)
        while (!put(i))
            sched_yield();
    return NULL;
}

static void two_threads_lose_and_double_nothing(void **state)
{
    pthread_t producer;
    uint32_t value;
    (void)state;
    assert_int_equal(pthread_create(&producer, NULL, produce, NULL), 0);
    for (uint32_t i = 0; i < MANY; i++) {
        while (!take(&value))
            sched_yield();
        assert_int_equal(value, i);
    }
    pthread_join(producer, NULL);
    assert_false(take(&value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(messages_come_in_order_and_none_before_it_is_published, begin),
        cmocka_unit_test_setup(a_full_lane_has_room_when_what_was_taken_is_credited, begin),
        cmocka_unit_test_setup(numbers_wrap, begin),
        cmocka_unit_test_setup(credit_that_makes_no_sense_is_none, begin),
        cmocka_unit_test_setup(room_that_was_known_stays, begin),
        cmocka_unit_test_setup(a_number_that_is_not_the_next_is_no_message, begin),
        cmocka_unit_test_setup(two_threads_lose_and_double_nothing, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
