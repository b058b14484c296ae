/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Groups are opened in the background: who does not hear is found out, what a host says wrongly is refused, what does not
 * fit is declined, and nothing is left behind. */
#include "mcast_world.h"

static void test_a_deaf_member_is_found_out(void **state)
{
    (void)state;
    struct world_config cfg = {.dma_inline = 1, .seed = 9};
    struct world *w = new_world(&cfg);
    world_deaf(w, 2, true);
    for (unsigned i = 0; i < ranks; i++)
        open_group(w, i, 1);
    world_run_for(w, 200 * MS);
    assert_int_equal(opened(w, 0), NOF_ENOMATCH);
    assert_int_equal(counter(w, 0, NOF_C_MCAST_DEAF), 1);
    for (unsigned i = 0; i < ranks; i++) {
        struct nof_desc d = {.opcode = NOF_DESC_GROUP_CLOSE, .sched = {.name = NAME}};
        world_post(w, i, &d);
    }
    world_run_for(w, 50 * MS);
    assert_int_equal(opened(w, 2), NOF_ECANCELED);
    for (unsigned i = 0; i < ranks; i++) {
        assert_int_equal(world_joined(w, i), 0);
        assert_int_equal(counter(w, i, NOF_C_MCAST_GROUPS), 0);
    }
    world_fini(w);
}

static void test_what_a_host_says_wrongly_is_refused(void **state)
{
    (void)state;
    struct world_config cfg = {.dma_inline = 1, .seed = 9};
    struct world *w = new_world(&cfg);
    uint32_t bad[4] = {0, 1, 2, 9};
    struct nof_desc d = {
        .opcode = NOF_DESC_GROUP_OPEN, .ctx = CTX, .len = 16, .sched = {.name = NAME, .generation = 1}};
    memcpy(world_rank(w, 0)->program_area, bad, sizeof bad);
    world_post(w, 0, &d);
    world_run_for(w, MS);
    assert_int_equal(world_expect(w, 0, NOF_COMP_GROUP_OPEN, 0)->status, NOF_ENOENT);
    bad[3] = 0;
    memcpy(world_rank(w, 0)->program_area, bad, sizeof bad);
    world_post(w, 0, &d);
    world_run_for(w, MS);
    assert_int_equal(world_expect(w, 0, NOF_COMP_GROUP_OPEN, 0)->status, NOF_EINVAL);
    static const uint64_t lens[] = {0, 4, 7, 1028, UINT64_MAX - 3};
    for (unsigned i = 0; i < sizeof lens / sizeof *lens; i++) {
        d.len = lens[i];
        world_post(w, 0, &d);
        world_run_for(w, MS);
        assert_int_equal(world_expect(w, 0, NOF_COMP_GROUP_OPEN, 0)->status, NOF_EINVAL);
    }
    open_all(w);
    d = (struct nof_desc){
        .opcode = NOF_DESC_GROUP_RECV, .peer = 9, .len = 8, .sched = {.name = NAME, .generation = 2}};
    world_post(w, 0, &d);
    d.peer = 1;
    d.sched.generation = 1;
    world_post(w, 0, &d);
    d.sched.name = 77;
    world_post(w, 0, &d);
    world_run_for(w, MS);
    assert_int_equal(world_expect(w, 0, NOF_COMP_GROUP_RECV, 0)->status, NOF_EINVAL);
    assert_int_equal(world_expect(w, 0, NOF_COMP_GROUP_RECV, 0)->status, NOF_EINVAL);
    assert_int_equal(world_expect(w, 0, NOF_COMP_GROUP_RECV, 0)->status, NOF_ENOENT);
    bcast(w, 1, 2, 20000);
    world_fini(w);
}

static void test_full_means_declined(void **state)
{
    (void)state;
    struct world_config cfg = {.dma_inline = 1, .seed = 9, .nic = {.max_groups = 4}};
    struct world *w = new_world(&cfg);
    for (unsigned k = 0; k < 3; k++) {
        uint32_t list[2] = {0, 1};
        memcpy(world_rank(w, 0)->program_area, list, sizeof list);
        struct nof_desc d = {.opcode = NOF_DESC_GROUP_OPEN,
                             .ctx = CTX + k,
                             .cookie = k,
                             .len = 8,
                             .sched = {.name = k, .generation = 1}};
        world_post(w, 0, &d);
    }
    world_run_for(w, MS);
    for (unsigned k = 0; k < 3; k++)
        assert_int_equal(world_expect(w, 0, NOF_COMP_GROUP_OPEN, k)->status, k < 2 ? NOF_OK : NOF_ENOMEM);
    assert_int_equal(world_joined(w, 0), 2);
    world_close(w, 0, NOF_OK);
    world_run_for(w, MS);
    assert_int_equal(world_joined(w, 0), 0);
    world_fini(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_deaf_member_is_found_out),
        cmocka_unit_test(test_what_a_host_says_wrongly_is_refused),
        cmocka_unit_test(test_full_means_declined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
