/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Staging area: slots never overlap, and only what was given can be given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../firmware/stage_cache.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_slots_overlap),
        cmocka_unit_test(a_hostile_release_is_refused),
        cmocka_unit_test(no_area_has_no_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
