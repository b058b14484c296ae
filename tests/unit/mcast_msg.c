/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One message as a member sees it: frames in any order count once, the tree of acknowledgements has every member once and
 * nobody with more than eight below him, and what it tells is the least of all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mcast/mcast_msg.h"

static void test_the_tree_has_every_member_once(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= NOF_MCAST_MEMBERS_MAX; n += n < 20 ? 1 : 17)
        for (uint32_t sender = 0; sender < n; sender += 1 + n / 7) {
            uint32_t children[NOF_MCAST_MEMBERS_MAX] = {0};
            for (uint32_t me = 0; me < n; me++) {
                struct nof_mcast_msg m;
                uint32_t hops = 0;
                if (me == sender)
                    continue;
                uint32_t parent = nof_mcast_parent(n, sender, me);
                uint32_t slot = nof_mcast_child(n, sender, parent, me);
                nof_mcast_begin(&m, n, sender, parent);
                assert_true(slot < m.nchildren && m.nchildren <= NOF_MCAST_FAN);
                assert_int_equal(children[parent] & 1u << slot, 0);
                children[parent] |= 1u << slot;
                for (uint32_t at = me; at != sender; hops++)
                    at = nof_mcast_parent(n, sender, at);
                assert_true(hops <= 3);
                assert_int_equal(nof_mcast_child(n, sender, me, sender), NOF_MCAST_FAN);
            }
        }
}

static void test_frames_in_any_order_count_once(void **state)
{
    (void)state;
    for (uint32_t step = 1; step < NOF_MCAST_WINDOW; step += 2) {
        struct nof_mcast_msg m;
        uint32_t at = 0;
        nof_mcast_begin(&m, 4, 0, 1);
        m.nframes = NOF_MCAST_WINDOW;
        for (uint32_t i = 0; i < NOF_MCAST_WINDOW; i++, at = (at + step) % NOF_MCAST_WINDOW) {
            assert_int_equal(nof_mcast_take(&m, at), NOF_MCAST_NEW);
            assert_int_equal(nof_mcast_take(&m, at), NOF_MCAST_AGAIN);
            assert_true(nof_mcast_has(&m, at));
            assert_int_equal(nof_mcast_gap(&m), m.own.cum < m.high);
        }
        assert_int_equal(m.own.cum, NOF_MCAST_WINDOW);
        assert_int_equal(nof_mcast_take(&m, 2 * NOF_MCAST_WINDOW), NOF_MCAST_BEYOND);
        assert_int_equal(nof_mcast_take(&m, 2 * NOF_MCAST_WINDOW - 1), NOF_MCAST_NEW);
        assert_int_equal(m.own.cum, NOF_MCAST_WINDOW);
    }
}

static void test_the_least_is_told(void **state)
{
    (void)state;
    struct nof_mcast_msg m;
    nof_mcast_begin(&m, 20, 0, 1); /* with members 9 to 16 below it */
    assert_int_equal(m.nchildren, 8);
    m.nframes = 100;
    for (uint32_t f = 0; f < 100; f++)
        nof_mcast_take(&m, f);
    m.own.ready = m.own.done = true;
    for (uint32_t c = 0; c < 8; c++) {
        struct nof_mcast_part sum = nof_mcast_sum(&m), said = {.cum = 20 + c, .ready = true};
        assert_int_equal(sum.cum, 0);
        assert_false(sum.ready || sum.done);
        nof_mcast_heard(&m, c, &said);
    }
    assert_int_equal(nof_mcast_sum(&m).cum, 20);
    assert_true(nof_mcast_sum(&m).ready);
    nof_mcast_heard(&m, 0, &(struct nof_mcast_part){.cum = 5}); /* it was overtaken */
    assert_int_equal(nof_mcast_sum(&m).cum, 20);
    for (uint32_t c = 0; c < 8; c++) {
        assert_false(nof_mcast_sum(&m).done);
        nof_mcast_heard(&m, c, &(struct nof_mcast_part){.ready = true, .done = true});
    }
    assert_true(nof_mcast_sum(&m).done);
    assert_int_equal(nof_mcast_sum(&m).cum, 100);
}

static void test_it_is_told_once_for_sixteen_frames(void **state)
{
    (void)state;
    struct nof_mcast_msg m;
    unsigned told = 0;
    nof_mcast_begin(&m, 4, 0, 1);
    m.nframes = 1000;
    for (uint32_t f = 0; f < 1000; f++) {
        nof_mcast_take(&m, f);
        struct nof_mcast_part sum = nof_mcast_sum(&m);
        told += nof_mcast_news(&m, &sum);
        assert_false(nof_mcast_news(&m, &sum));
    }
    assert_int_equal(told, 1000 / NOF_MCAST_ACK_EVERY + 1);
    /* The sender, who hears nothing more, sends the last frame again. */
    nof_mcast_begin(&m, 4, 0, 1);
    m.nframes = 1000;
    for (uint32_t f = 0; f < 10; f++)
        nof_mcast_take(&m, f);
    struct nof_mcast_part sum = nof_mcast_sum(&m);
    assert_false(nof_mcast_news(&m, &sum));
    nof_mcast_take(&m, 5);
    assert_false(nof_mcast_news(&m, &sum));
    nof_mcast_take(&m, 9);
    assert_true(nof_mcast_news(&m, &sum));
    assert_false(nof_mcast_news(&m, &sum));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_tree_has_every_member_once),
        cmocka_unit_test(test_frames_in_any_order_count_once),
        cmocka_unit_test(test_the_least_is_told),
        cmocka_unit_test(test_it_is_told_once_for_sixteen_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
