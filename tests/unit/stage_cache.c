/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Staging area: slots never overlap, and only what was given can be given back; lines are replaced by
 * predicted distance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stage_cache.h"

#define SLOTS 512

struct slot {
    uint32_t offset, len;
};

static uint64_t rng = 88172645463325252ull;

static uint32_t below(uint32_t n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (uint32_t)(rng % n);
}

static void no_two_slots_overlap(void **state)
{
    (void)state;
    static struct nof_stage st;
    static struct slot slots[SLOTS];
    static const size_t sizes[] = {256, 4096, 100000, 1u << 20};
    for (unsigned z = 0; z < 4; z++) {
        size_t area = sizes[z];
        unsigned n = 0, full = 0;
        nof_stage_init(&st, NULL, area);
        for (unsigned i = 0; i < 5000; i++) {
            if (n == SLOTS || (n > 0 && below(2) == 0)) {
                unsigned k = below(n);
                assert_int_equal(nof_stage_release(&st, slots[k].offset), 1);
                assert_int_equal(nof_stage_release(&st, slots[k].offset), 0);
                slots[k] = slots[--n];
                continue;
            }
            struct slot s = {.len = 1 + below(8192)};
            s.offset = nof_stage_alloc(&st, s.len);
            full += s.offset == NOF_STAGE_NONE;
            if (s.offset == NOF_STAGE_NONE)
                continue;
            assert_true(s.offset + s.len <= area);
            for (unsigned k = 0; k < n; k++)
                assert_true(s.offset + s.len <= slots[k].offset ||
                            slots[k].offset + slots[k].len <= s.offset);
            slots[n++] = s;
        }
        assert_true(z > 1 || full > 0);
        while (n > 0)
            assert_int_equal(nof_stage_release(&st, slots[--n].offset), 1);
        assert_int_equal(st.free, st.granules);
        assert_int_not_equal(nof_stage_alloc(&st, (uint32_t)(area / 256 * 256)), NOF_STAGE_NONE);
    }
}

static void a_hostile_release_is_refused(void **state)
{
    (void)state;
    static struct nof_stage st;
    nof_stage_init(&st, NULL, 65536);
    uint32_t at = nof_stage_alloc(&st, 1000);
    assert_int_not_equal(at, NOF_STAGE_NONE);
    assert_int_equal(nof_stage_release(&st, at + 1), 0);
    assert_int_equal(nof_stage_release(&st, at + 256), 0); /* inside the slot */
    assert_int_equal(nof_stage_release(&st, 65536), 0);
    assert_int_equal(nof_stage_release(&st, UINT32_MAX), 0);
    assert_int_equal(nof_stage_release(&st, at), 1);
}

static void no_area_has_no_slots(void **state)
{
    (void)state;
    static struct nof_stage st;
    nof_stage_init(&st, NULL, 0);
    assert_int_equal(nof_stage_alloc(&st, 1), NOF_STAGE_NONE);
    assert_int_equal(nof_stage_release(&st, 0), 0);
}

static struct nof_stage st;
static uint8_t area[65536];

static uint32_t open_line(int32_t tag, uint32_t bytes, uint64_t due)
{
    struct nof_message_id id = {.source = 1, .tag = tag, .ctx = 7};
    return nof_stage_open(&st, &id, (uint32_t)tag, bytes, due, sizeof area);
}

static void lines_keep_to_their_limits(void **state)
{
    (void)state;
    struct nof_message_id id = {.tag = 1};
    nof_stage_init(&st, area, sizeof area);
    assert_int_equal(nof_stage_open(&st, &id, 0, 1000, 5, 1023), NOF_STAGE_NONE); /* takes 1024 */
    assert_int_not_equal(nof_stage_open(&st, &id, 0, 1000, 5, 1024), NOF_STAGE_NONE);
    assert_int_equal(nof_stage_open(&st, &id, 0, 1, 5, 1024), NOF_STAGE_NONE);
    assert_int_equal(nof_stage_open(&st, &id, 0, sizeof area, 5, UINT32_MAX), NOF_STAGE_NONE);
    for (uint32_t i = 1; i < NOF_STAGE_LINES; i++)
        assert_int_not_equal(open_line(2, 1, 5), NOF_STAGE_NONE);
    assert_int_equal(open_line(2, 1, 5), NOF_STAGE_NONE);
    assert_int_equal(st.lines, NOF_STAGE_LINES);
    for (uint32_t i = 0; i < NOF_STAGE_LINES; i++)
        nof_stage_close(&st, i);
    assert_int_equal(st.free, st.granules);
    assert_int_equal(st.line_bytes, 0);
}

static void the_line_that_is_wanted_last_is_replaced(void **state)
{
    (void)state;
    nof_stage_init(&st, area, sizeof area);
    uint32_t soon = open_line(1, 100, 12), late = open_line(2, 100, 18), past = open_line(3, 100, 10);
    assert_int_equal(nof_stage_victim(&st, NOF_STAGE_UNBOUND_FIRST, 10, 15),
                     past); /* overdue: predicted wrongly */
    nof_stage_close(&st, past);
    assert_int_equal(nof_stage_victim(&st, NOF_STAGE_UNBOUND_FIRST, 10, 15), late);
    assert_int_equal(nof_stage_victim(&st, NOF_STAGE_UNBOUND_FIRST, 10, 18), NOF_STAGE_NONE);
    assert_int_equal(nof_stage_victim(&st, NOF_STAGE_UNBOUND_FIRST, 10, NOF_STAGE_NEVER), NOF_STAGE_NONE);
    nof_stage_close(&st, late);
    assert_int_equal(nof_stage_victim(&st, NOF_STAGE_UNBOUND_FIRST, 10, 11), soon);
}

static void the_policy_says_which_lines_go_first(void **state)
{
    (void)state;
    nof_stage_init(&st, area, sizeof area);
    uint32_t bound = open_line(1, 100, 11), later = open_line(2, 100, 30), other = open_line(3, 100, 11);
    nof_stage_remap(&st, bound, 5);
    nof_stage_remap(&st, other, 6);
    assert_int_equal(st.line[bound].process, 5);
    assert_int_equal(st.line[bound].network, NOF_STAGE_NONE); /* the tags exclude each other */
    assert_int_equal(nof_stage_victim(&st, NOF_STAGE_BOUND_FIRST, 10, 11), bound);
    assert_int_equal(nof_stage_victim(&st, NOF_STAGE_UNBOUND_FIRST, 10, 11), later);
    nof_stage_touch(&st, bound, 0, 1);
    assert_int_equal(nof_stage_victim(&st, NOF_STAGE_BOUND_FIRST, 10, 11), other); /* least recently used */
    nof_stage_close(&st, later);
    assert_int_equal(nof_stage_victim(&st, NOF_STAGE_UNBOUND_FIRST, 10, 11), other);
}

static void a_line_that_is_given_is_the_hosts(void **state)
{
    (void)state;
    nof_stage_init(&st, area, sizeof area);
    uint32_t line = open_line(1, 700, 3);
    assert_ptr_equal(nof_stage_touch(&st, line, 10, 690), area + st.line[line].offset + 10);
    assert_int_equal(nof_stage_is_line(&st, st.line[line].offset), 1); /* not the host's to release */
    uint32_t offset = nof_stage_give(&st, line);
    assert_int_equal(nof_stage_is_line(&st, offset), 0);
    assert_int_equal(st.lines, 0);
    assert_int_equal(nof_stage_victim(&st, NOF_STAGE_BOUND_FIRST, 10, 1), NOF_STAGE_NONE);
    assert_int_equal(nof_stage_release(&st, offset), 1);
    assert_int_equal(nof_stage_release(&st, offset), 0);
    assert_int_equal(st.free, st.granules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_slots_overlap),
        cmocka_unit_test(a_hostile_release_is_refused),
        cmocka_unit_test(no_area_has_no_slots),
        cmocka_unit_test(lines_keep_to_their_limits),
        cmocka_unit_test(the_line_that_is_wanted_last_is_replaced),
        cmocka_unit_test(the_policy_says_which_lines_go_first),
        cmocka_unit_test(a_line_that_is_given_is_the_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
