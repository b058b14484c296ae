/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The heap of deadlines beside a plain table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "transport/state.h"

#define PATHS 37u

static struct nof_transport t;
static struct nof_path paths[PATHS];
static struct nof_timer heap[PATHS];

static void clear(void)
{
    memset(&t, 0, sizeof t);
    memset(paths, 0, sizeof paths);
    t.paths = paths;
    t.heap = heap;
    t.max_paths = PATHS;
    for (unsigned i = 0; i < PATHS; i++)
        paths[i].t = &t;
}

static void deadlines_come_in_order_however_they_are_moved(void **state)
{
    uint64_t due[PATHS]; /* model */
    uint64_t random = 88172645463325252u;

    (void)state;
    clear();
    for (unsigned i = 0; i < PATHS; i++)
        due[i] = NOF_NO_DEADLINE;
    for (unsigned step = 0; step < 20000; step++) {
        struct nof_path *p;
        uint64_t first = NOF_NO_DEADLINE;
        uint32_t count = 0;
        unsigned i;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        i = (unsigned)(random % PATHS);
        due[i] = random >> 8 & 3 ? t.now_ns + (random >> 16 & 255) : NOF_NO_DEADLINE;
        nof_timer_set(&paths[i], due[i]);
        t.now_ns += random >> 32 & 7;
        for (i = 0; i < PATHS; i++) {
            first = due[i] < first ? due[i] : first;
            count += due[i] != NOF_NO_DEADLINE;
        }
        assert_int_equal(t.heap_count, count);
        if (count > 0)
            assert_true(t.heap[0].at_ns == first);
        while ((p = nof_timer_pop(&t)) != NULL) {
            i = nof_path_index(p);
            assert_true(due[i] <= t.now_ns);
            for (unsigned k = 0; k < PATHS; k++)
                assert_true(due[k] >= due[i]);
            due[i] = NOF_NO_DEADLINE;
        }
        for (i = 0; i < PATHS; i++)
            assert_true(due[i] == NOF_NO_DEADLINE || due[i] > t.now_ns);
    }
}

static void a_path_without_a_timer_may_be_told_so_again(void **state)
{
    (void)state;
    clear();
    nof_timer_set(&paths[3], NOF_NO_DEADLINE);
    assert_int_equal(t.heap_count, 0);
    nof_timer_set(&paths[3], 10);
    nof_timer_set(&paths[4], 10);
    nof_timer_set(&paths[3], NOF_NO_DEADLINE);
    nof_timer_set(&paths[3], NOF_NO_DEADLINE);
    assert_int_equal(t.heap_count, 1);
    t.now_ns = 9;
    assert_null(nof_timer_pop(&t));
    t.now_ns = 10;
    assert_ptr_equal(nof_timer_pop(&t), &paths[4]);
    assert_null(nof_timer_pop(&t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadlines_come_in_order_however_they_are_moved),
        cmocka_unit_test(a_path_without_a_timer_may_be_told_so_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
