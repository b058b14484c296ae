/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cells: lent once, back when they are returned or their borrower is gone, and allocated as they are needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "chan/shm/cells.h"

static _Alignas(64) struct nof_cell_words words;
static uint8_t memory[NOF_CELLS * NOF_CELL_BYTES];
static struct nof_cells cells;
static uint32_t lent[4];
static unsigned stripes, stripes_most;

static bool grow(void *at, uint64_t bytes)
{
    assert_ptr_equal(at, memory + (size_t)stripes * bytes);
    assert_int_equal(bytes, NOF_CELLS_STRIPE * NOF_CELL_BYTES);
    if (stripes == stripes_most)
        return false;
    stripes++;
    return true;
}

static int begin(void **state)
{
    (void)state;
    memset(&words, 0, sizeof(words));
    memset(lent, 0, sizeof(lent));
    stripes = 0;
    stripes_most = NOF_CELLS / NOF_CELLS_STRIPE;
    nof_cells_init(&cells, &words, memory, grow);
    return 0;
}

static int take(uint32_t borrower, uint32_t *generation_out)
{
    int index = nof_cells_take(&cells, borrower, NOF_CELL_BYTES, generation_out);
    if (index >= 0)
        lent[borrower]++;
    return index;
}

static void each_is_lent_once_and_allocated_when_it_is_needed(void **state)
{
    bool seen[NOF_CELLS] = {false};
    uint32_t generation;
    (void)state;
    for (unsigned i = 0; i < NOF_CELLS; i++) {
        int index = take(i % 4, &generation);
        assert_in_range(index, 0, NOF_CELLS - 1);
        assert_false(seen[index]);
        seen[index] = true;
        assert_int_equal(stripes, i / NOF_CELLS_STRIPE + 1);
    }
    assert_int_equal(take(0, &generation), -1);
}

static void what_is_returned_is_free_again_whatever_the_order(void **state)
{
    uint32_t generation[NOF_CELLS];
    int index[NOF_CELLS];
    (void)state;
    for (unsigned i = 0; i < NOF_CELLS; i++)
        index[i] = take(i % 4, &generation[i]);
    for (unsigned round = 0; round < 100; round++) {
        unsigned which = round * 37 % NOF_CELLS;
        assert_int_equal(nof_cells_reclaim(&cells, lent), 0);
        nof_cell_return(&words, (uint32_t)index[which], generation[which]);
        assert_int_equal(nof_cells_reclaim(&cells, lent), 1);
        assert_int_equal(lent[which % 4], NOF_CELLS / 4 - 1);
        uint32_t before = generation[which];
        assert_int_equal(take(which % 4, &generation[which]), index[which]);
        assert_int_not_equal(generation[which], before);
        nof_cell_return(&words, (uint32_t)index[which], before); /* of another time */
        assert_int_equal(nof_cells_reclaim(&cells, lent), 0);
    }
}

static void those_of_the_dead_come_back(void **state)
{
    uint32_t generation;
    (void)state;
    for (unsigned i = 0; i < NOF_CELLS; i++)
        (void)take(i % 4, &generation);
    nof_cells_forget(&cells, 2);
    assert_int_equal(cells.free_count, NOF_CELLS / 4);
    for (unsigned i = 0; i < NOF_CELLS / 4; i++)
        assert_true(nof_cells_take(&cells, 1, NOF_CELL_BYTES, &generation) >= 0);
    assert_int_equal(nof_cells_take(&cells, 1, NOF_CELL_BYTES, &generation), -1);
    nof_cells_forget(&cells, 2);
    assert_int_equal(cells.free_count, 0);
}

static void one_is_taken_back_once_and_by_who_names_its_last_message(void **state)
{
    uint32_t generation, other, again;
    int index = take(1, &generation), beside = take(2, &other);
    (void)state;
    uint32_t left = cells.free_count;
    nof_cells_take_back(&cells, (uint32_t)index, generation + 1, lent);
    assert_int_equal(cells.free_count, left);
    nof_cells_take_back(&cells, (uint32_t)index, generation, lent);
    nof_cells_take_back(&cells, (uint32_t)index, generation, lent);
    assert_int_equal(cells.free_count, left + 1);
    assert_int_equal(lent[1], 0);
    assert_int_equal(lent[2], 1);
    assert_int_equal(cells.lent_count, 1);
    assert_int_equal(take(3, &again), index);
    nof_cells_take_back(&cells, (uint32_t)index, generation, lent); /* it is another's now */
    assert_int_equal(lent[3], 1);
    nof_cell_return(&words, (uint32_t)beside, other);
    assert_int_equal(nof_cells_reclaim(&cells, lent), left + 1);
}

static void without_memory_there_are_those_that_there_are(void **state)
{
    uint32_t generation;
    (void)state;
    stripes_most = 2;
    for (unsigned i = 0; i < 2 * NOF_CELLS_STRIPE; i++)
        assert_true(take(0, &generation) >= 0);
    assert_int_equal(take(0, &generation), -1);
    assert_int_equal(take(0, &generation), -1);
    assert_int_equal(stripes, 2);
}

static void an_index_that_there_is_not_names_no_memory(void **state)
{
    (void)state;
    assert_ptr_equal(nof_cell_read(memory, 0, 0, NOF_CELL_BYTES), memory);
    assert_ptr_equal(nof_cell_read(memory, NOF_CELLS - 1, 0, NOF_CELL_BYTES),
                     memory + (NOF_CELLS - 1) * (size_t)NOF_CELL_BYTES);
    assert_null(nof_cell_read(memory, NOF_CELLS, 0, NOF_CELL_BYTES));
    assert_null(nof_cell_read(memory, UINT32_MAX, 0, NOF_CELL_BYTES));
    assert_ptr_equal(nof_cell_read(memory, 1, 64, NOF_CELL_BYTES - 64), memory + NOF_CELL_BYTES + 64);
    assert_ptr_equal(nof_cell_read(memory, 0, NOF_CELL_BYTES, 0), memory + NOF_CELL_BYTES);
    assert_null(nof_cell_read(memory, 1, 64, NOF_CELL_BYTES - 63));
    assert_null(nof_cell_read(memory, 1, NOF_CELL_BYTES + 1, 0));
    assert_null(nof_cell_read(memory, 1, UINT32_MAX, 64));
    assert_null(nof_cell_read(memory, 1, 64, UINT64_MAX));
}

static void short_ones_lie_behind_one_another_and_come_back_with_the_last(void **state)
{
    uint32_t first, generation, last = 0, n = 1;
    (void)state;
    int index = nof_cells_take(&cells, 3, 100, &first), place;
    lent[3]++;
    for (uint32_t at = 128; (place = nof_cells_behind(&cells, (uint32_t)index, 3, 100, &generation)) >= 0;
         at += 128) {
        assert_int_equal(place, at);
        assert_int_not_equal(generation, last);
        last = generation;
        n++;
    }
    assert_int_equal(n, NOF_CELL_BYTES / 128);
    nof_cell_return(&words, (uint32_t)index, first);
    assert_int_equal(nof_cells_reclaim(&cells, lent), NOF_CELLS_STRIPE - 1);
    nof_cell_return(&words, (uint32_t)index, last);
    assert_int_equal(nof_cells_reclaim(&cells, lent), NOF_CELLS_STRIPE);
    assert_int_equal(lent[3], 0);
    assert_int_equal(nof_cells_behind(&cells, (uint32_t)index, 3, 1, &generation), -1); /* it is free */
}

static void nothing_lies_behind_what_is_of_others_or_has_no_room(void **state)
{
    uint32_t generation;
    (void)state;
    assert_int_equal(nof_cells_behind(&cells, 0, 0, 1, &generation), -1); /* never lent */
    assert_int_equal(nof_cells_behind(&cells, NOF_CELLS, 0, 1, &generation), -1);
    uint32_t index = (uint32_t)take(1, &generation), other;
    assert_int_equal(nof_cells_behind(&cells, index, 1, 1, &generation), -1);
    other = (uint32_t)nof_cells_take(&cells, 2, NOF_CELL_BYTES - 64, &generation);
    assert_int_equal(nof_cells_behind(&cells, other, 1, 1, &generation), -1);
    assert_int_equal(nof_cells_behind(&cells, other, 2, 65, &generation), -1);
    assert_int_equal(nof_cells_behind(&cells, other, 2, 64, &generation), NOF_CELL_BYTES - 64);
    nof_cells_forget(&cells, 2);
    assert_int_equal(nof_cells_behind(&cells, other, 2, 1, &generation), -1);
}

/* As many borrowers as there are get two each; those before, who return none, 16 each as long as there are others. */
static void who_returns_none_leaves_some_for_others(void **state)
{
    uint32_t held[NOF_CELLS] = {0}, generation, served = 0;
    (void)state;
    for (uint32_t peer = 0; peer < NOF_CELLS; peer++)
        while (nof_cells_may_lend(&cells, held[peer])) {
            assert_true(nof_cells_take(&cells, peer, NOF_CELL_BYTES, &generation) >= 0);
            held[peer]++;
        }
    for (uint32_t peer = 0; peer < NOF_CELLS; peer++) {
        assert_true(held[peer] <= NOF_CELLS_LENT_MAX);
        served += held[peer] >= NOF_CELLS_LENT_LEAST;
    }
    assert_int_equal(held[0], NOF_CELLS_LENT_MAX);
    assert_int_equal(held[2], NOF_CELLS_LENT_MAX);
    assert_int_equal(held[3], NOF_CELLS_LENT_LEAST);
    assert_int_equal(served, 3 + NOF_CELLS_KEPT / NOF_CELLS_LENT_LEAST);
    assert_int_equal(nof_cells_left(&cells), 0);
}

static void without_memory_each_has_next_to_none(void **state)
{
    uint32_t generation;
    (void)state;
    stripes_most = 1;
    for (uint32_t i = 0; i < NOF_CELLS_LENT_MAX && nof_cells_may_lend(&cells, i); i++)
        if (nof_cells_take(&cells, 0, NOF_CELL_BYTES, &generation) < 0)
            break;
    assert_int_equal(cells.free_count, 0);
    nof_cells_forget(&cells, 0);
    assert_int_equal(nof_cells_left(&cells), NOF_CELLS_STRIPE);
    assert_true(nof_cells_may_lend(&cells, NOF_CELLS_LENT_LEAST - 1));
    assert_false(nof_cells_may_lend(&cells, NOF_CELLS_LENT_LEAST));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_is_lent_once_and_allocated_when_it_is_needed, begin),
        cmocka_unit_test_setup(what_is_returned_is_free_again_whatever_the_order, begin),
        cmocka_unit_test_setup(those_of_the_dead_come_back, begin),
        cmocka_unit_test_setup(one_is_taken_back_once_and_by_who_names_its_last_message, begin),
        cmocka_unit_test_setup(without_memory_there_are_those_that_there_are, begin),
        cmocka_unit_test_setup(short_ones_lie_behind_one_another_and_come_back_with_the_last, begin),
        cmocka_unit_test_setup(nothing_lies_behind_what_is_of_others_or_has_no_room, begin),
        cmocka_unit_test_setup(who_returns_none_leaves_some_for_others, begin),
        cmocka_unit_test_setup(without_memory_each_has_next_to_none, begin),
        cmocka_unit_test_setup(an_index_that_there_is_not_names_no_memory, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
