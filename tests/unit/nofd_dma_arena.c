/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies between the bounce arena and ourselves: of whole lists, with sums, and never beside the arena. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "nof/status.h"

#include "nofd/dma/dma_arena.h"

#define ARENA_BYTES 4096u

static uint8_t arena[ARENA_BYTES], before[ARENA_BYTES], ours[256];

static int start(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ARENA_BYTES; i++)
        before[i] = arena[i] = (uint8_t)(i * 7 + i / 256);
    memset(ours, 0, sizeof(ours));
    return 0;
}

static struct nof_segment at(uint64_t offset, uint64_t len)
{
    return (struct nof_segment){.addr = offset | NOF_BAR_ARENA, .len_bytes = len};
}

static void addresses_say_what_lies_there(void **state)
{
    struct nof_segment of_bar = at(0, 1), of_program = {.addr = (uintptr_t)arena, .len_bytes = 1};

    (void)state;
    assert_true(nofd_dma_in_arena(&of_bar, 1));
    assert_false(nofd_dma_in_arena(&of_program, 1));
    assert_false(nofd_dma_in_arena(&of_bar, 0));
}

static void a_read_fills_buffers_and_their_sums(void **state)
{
    struct nof_segment from[] = {at(100, 5), at(9, 0), at(4000, 95)};
    uint8_t sum[4];
    struct nof_buf to[] = {{.base = ours, .len_bytes = 60, .sum = sum},
                           {.base = ours + 100, .len_bytes = 40, .sum = NULL}};

    (void)state;
    assert_int_equal(nofd_dma_arena(arena, ARENA_BYTES, false, from, 3, to, 2), NOF_DMA_DONE);
    assert_memory_equal(ours, arena + 100, 5);
    assert_memory_equal(ours + 5, arena + 4000, 55);
    assert_memory_equal(ours + 100, arena + 4055, 40);
    assert_int_equal(ours[60] | ours[99] | ours[140], 0);
    assert_int_equal(nof_get32(sum), nof_crc32c(ours, 60));
    assert_memory_equal(arena, before, ARENA_BYTES);
}

static void a_write_changes_what_it_names(void **state)
{
    struct nof_segment to[] = {at(ARENA_BYTES - 3, 3), at(0, 7)};
    struct nof_buf from[] = {{.base = ours, .len_bytes = 6}, {.base = ours + 10, .len_bytes = 4}};

    (void)state;
    memset(ours, 0xee, sizeof(ours));
    assert_int_equal(nofd_dma_arena(arena, ARENA_BYTES, true, to, 2, from, 2), NOF_DMA_DONE);
    assert_memory_equal(arena + 7, before + 7, ARENA_BYTES - 10);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(arena[i < 7 ? i : ARENA_BYTES - 10 + i], 0xee);
}

static void nothing_beside_it_is_touched(void **state)
{
    struct nof_buf local = {.base = ours, .len_bytes = 10};
    struct nof_segment bad[][2] = {
        {at(ARENA_BYTES, 10)},
        {at(ARENA_BYTES - 9, 10)},
        {at(0, 5), at(ARENA_BYTES - 4, 5)},
        {at(NOF_BAR_ARENA - 1, 10)},
        {at(1, UINT64_MAX)},
        {at(0, 5), {.addr = (uintptr_t)before, .len_bytes = 5}}, /* the program's memory is none of it */
    };
    unsigned n[] = {1, 1, 2, 1, 1, 2};

    (void)state;
    for (unsigned i = 0; i < sizeof(n) / sizeof(n[0]); i++)
        for (int write = 0; write < 2; write++)
            assert_int_equal(nofd_dma_arena(arena, ARENA_BYTES, write, bad[i], n[i], &local, 1), NOF_EFAULT);
    assert_memory_equal(arena, before, ARENA_BYTES);
    for (unsigned i = 0; i < sizeof(ours); i++)
        assert_int_equal(ours[i], 0);
}

static void totals_are_equal(void **state)
{
    struct nof_segment all = at(100, 60);
    struct nof_buf to[] = {{.base = ours, .len_bytes = 60}, {.base = ours + 60, .len_bytes = 0}};

    (void)state;
    assert_int_equal(nofd_dma_arena(arena, ARENA_BYTES, false, &all, 1, to, 2), NOF_DMA_DONE);
    assert_memory_equal(ours, arena + 100, 60);
    to[1].len_bytes = 1;
    assert_int_equal(nofd_dma_arena(arena, ARENA_BYTES, false, &all, 1, to, 2), NOF_EFAULT);
    to[0].len_bytes = 58;
    assert_int_equal(nofd_dma_arena(arena, ARENA_BYTES, false, &all, 1, to, 2), NOF_EFAULT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(addresses_say_what_lies_there, start),
        cmocka_unit_test_setup(a_read_fills_buffers_and_their_sums, start),
        cmocka_unit_test_setup(a_write_changes_what_it_names, start),
        cmocka_unit_test_setup(nothing_beside_it_is_touched, start),
        cmocka_unit_test_setup(totals_are_equal, start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
