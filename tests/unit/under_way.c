/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a schedule has under way at its host: sums that fit, in whatever order requests end, and when another round in turn may
 * begin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "chan/request.h"
#include "coll/steps/under_way.h"

#define MANY 1000u

static struct nof_request request[MANY];
static struct nof_type type;

static struct nof_request *of_bytes(unsigned i, size_t element_bytes, size_t count)
{
    type.size = element_bytes;
    request[i] = (struct nof_request){.type = &type, .count = count};
    return &request[i];
}

static void add(struct nof_under_way *u, unsigned i, size_t bytes)
{
    assert_true(nof_under_way_room(u));
    nof_under_way_add(u, of_bytes(i, 1, bytes));
}

static void a_round_in_turn_begins_while_few_bytes_are_under_way(void **state)
{
    struct nof_under_way u = {0};

    (void)state;
    assert_true(nof_under_way_little(&u));
    add(&u, 0, NOF_UNDER_WAY_BYTES - 1);
    assert_true(nof_under_way_little(&u));
    add(&u, 1, 1);
    assert_false(nof_under_way_little(&u));
    nof_under_way_leave(&u, &request[1]);
    assert_true(nof_under_way_little(&u));
    add(&u, 1, 1u << 30);
    assert_false(nof_under_way_little(&u));
    nof_under_way_leave(&u, &request[1]);
    nof_under_way_leave(&u, &request[0]);
    assert_int_equal(u.bytes, 0);
    nof_under_way_free(&u);
}

static void and_while_there_are_few_requests(void **state)
{
    struct nof_under_way u = {0};

    (void)state;
    for (unsigned i = 0; i < NOF_UNDER_WAY_REQUESTS; i++) {
        assert_true(nof_under_way_little(&u));
        add(&u, i, 0);
    }
    assert_false(nof_under_way_little(&u));
    nof_under_way_leave(&u, &request[7]);
    assert_true(nof_under_way_little(&u));
    nof_under_way_free(&u);
}

static void elements_count_with_their_size(void **state)
{
    struct nof_under_way u = {0};

    (void)state;
    assert_true(nof_under_way_room(&u));
    nof_under_way_add(&u, of_bytes(0, 8, NOF_UNDER_WAY_BYTES / 8));
    assert_int_equal(u.bytes, NOF_UNDER_WAY_BYTES);
    assert_false(nof_under_way_little(&u));
    nof_under_way_free(&u);
}

/* They end in any order: each is found at its place, and what is left is what has not ended. */
static void requests_end_in_any_order(void **state)
{
    struct nof_under_way u = {0};
    size_t left_bytes = 0, left = MANY;

    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        add(&u, i, i);
        left_bytes += i;
    }
    for (unsigned k = 0; k < MANY; k++) {
        unsigned i = k * 7 % MANY; /* each once: 7 has no factor of MANY */
        assert_ptr_equal(u.request[request[i].owner_slot], &request[i]);
        nof_under_way_leave(&u, &request[i]);
        left_bytes -= i;
        assert_int_equal(u.count, --left);
        assert_int_equal(u.bytes, left_bytes);
        for (size_t at = 0; k % 100 == 0 && at < u.count; at++)
            assert_int_equal(u.request[at]->owner_slot, at);
    }
    nof_under_way_free(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_in_turn_begins_while_few_bytes_are_under_way),
        cmocka_unit_test(and_while_there_are_few_requests),
        cmocka_unit_test(elements_count_with_their_size),
        cmocka_unit_test(requests_end_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
