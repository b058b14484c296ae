/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is lost is sent again, by unicast to few, by multicast to many; who ceases to hear is served by unicast. */
#include "mcast_world.h"

static void test_what_is_lost_comes_again(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct world_config cfg = {.dma_inline = seed % 2, .loss_percent = seed % 10, .seed = seed};
        struct world *w = new_world(&cfg);
        open_all(w);
        for (uint32_t number = 2; number < 8; number++)
            bcast(w, number % ranks, number, 200000);
        world_fini(w);
    }
}

static void test_a_member_that_ceases_to_hear_is_served_by_unicast(void **state)
{
    (void)state;
    struct world_config cfg = {.dma_inline = 1, .seed = 9};
    struct world *w = new_world(&cfg);
    open_all(w);
    world_deaf(w, 2, true);
    bcast(w, 0, 2, 500000);
    assert_int_equal(counter(w, 0, NOF_C_MCAST_EJECTED), 1);
    bcast(w, 0, 3, 500000);
    assert_int_equal(counter(w, 0, NOF_C_MCAST_EJECTED), 1);
    world_fini(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_lost_comes_again),
        cmocka_unit_test(test_a_member_that_ceases_to_hear_is_served_by_unicast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
