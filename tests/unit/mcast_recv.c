/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Members get every byte of a message once, whenever their hosts ask for it, and whatever is lost; lengths that differ and
 * buffers that cannot be written are told. */
#include "mcast_world.h"

static void test_every_member_gets_every_byte(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 1000, 16384, 100000, 1000000};
    for (int dma = 0; dma < 3; dma++) {
        struct world_config cfg = {.dma_inline = dma > 0, .dma_read_late = dma == 2, .seed = 5};
        struct world *w = new_world(&cfg);
        uint32_t number = 2;
        open_all(w);
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (unsigned from = 0; from < ranks; from++)
                bcast(w, from, number++, sizes[i]);
        /* Nothing is sent twice, unless a host copies more slowly than the wire brings. */
        assert_true(dma == 0 || counter(w, 0, NOF_C_MCAST_REPAIRS_UNICAST) == 0);
        assert_true(dma == 0 || counter(w, 0, NOF_C_MCAST_REPAIRS_MULTICAST) == 0);
        assert_int_equal(counter(w, 1, NOF_C_DROP_MCAST_TAG), 0);
        assert_true(nof_nic_quiet(world_nic(w, 0)));
        world_fini(w);
    }
}

static void test_a_late_receiver_is_waited_for(void **state)
{
    (void)state;
    for (unsigned late = 1; late < WORLD_NICS; late++) {
        struct world_config cfg = {.dma_inline = 1, .seed = 9};
        struct world *w = new_world(&cfg);
        open_all(w);
        send(w, 0, 2, 100000);
        for (unsigned i = 1; i < ranks; i++)
            if (i != late)
                receive(w, i, 0, 2, 100000);
        world_run_for(w, 100 * MS);
        assert_null(world_take(w, 0));
        /* Not more than its room holds has left. */
        assert_true(counter(w, 0, NOF_C_MCAST_TX_FRAMES) * 1376 <= 16384 + 1376 + 1376);
        receive(w, late, 0, 2, 100000);
        world_run_for(w, 100 * MS);
        assert_int_equal(world_expect(w, 0, NOF_COMP_GROUP_SEND, 2)->status, NOF_OK);
        for (unsigned i = 1; i < ranks; i++)
            check_got(w, i, 2, 100000);
        world_fini(w);
    }
}

static void test_another_length_is_told(void **state)
{
    (void)state;
    struct world_config cfg = {.dma_inline = 1, .seed = 9};
    struct world *w = new_world(&cfg);
    open_all(w);
    send(w, 0, 2, 100000);
    receive(w, 1, 0, 2, 100000);
    receive(w, 2, 0, 2, 50000);
    receive(w, 3, 0, 2, 200000);
    world_run_for(w, 100 * MS);
    assert_int_equal(world_expect(w, 0, NOF_COMP_GROUP_SEND, 2)->status, NOF_OK);
    check_got(w, 1, 2, 100000);
    assert_int_equal(world_expect(w, 2, NOF_COMP_GROUP_RECV, 2)->status, NOF_ETRUNC);
    assert_int_equal(world_rank(w, 2)->arena[GOT_AT + 50000], 0xee);
    assert_int_equal(world_expect(w, 3, NOF_COMP_GROUP_RECV, 2)->status, NOF_ETRUNC);
    assert_int_equal(world_rank(w, 3)->arena[GOT_AT + 100000], 0xee);
    world_fini(w);
}

static void test_a_buffer_that_cannot_be_read_or_written_fails(void **state)
{
    (void)state;
    struct world_config cfg = {.dma_inline = 1, .seed = 9};
    struct world *w = new_world(&cfg);
    open_all(w);
    struct nof_desc d = {.opcode = NOF_DESC_GROUP_SEND,
                         .cookie = 2,
                         .len = 100000,
                         .sched = {.name = NAME, .generation = 2, .base = {64}}};
    world_post(w, 0, &d);
    world_run_for(w, 50 * MS);
    assert_int_equal(world_expect(w, 0, NOF_COMP_GROUP_SEND, 2)->status, NOF_EFAULT);
    d.opcode = NOF_DESC_GROUP_RECV;
    d.sched.generation = 3;
    d.cookie = 3;
    d.peer = 0;
    send(w, 0, 3, 100000);
    world_post(w, 1, &d);
    receive(w, 2, 0, 3, 100000);
    receive(w, 3, 0, 3, 100000);
    world_run_for(w, 50 * MS);
    assert_int_equal(world_expect(w, 1, NOF_COMP_GROUP_RECV, 3)->status, NOF_EFAULT);
    check_got(w, 2, 3, 100000);
    world_fini(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_member_gets_every_byte),
        cmocka_unit_test(test_a_late_receiver_is_waited_for),
        cmocka_unit_test(test_another_length_is_told),
        cmocka_unit_test(test_a_buffer_that_cannot_be_read_or_written_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
