/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A message of a group ends everywhere, or fails everywhere: members die, hosts leave, groups close while it is under way. */
#include "mcast_world.h"

/* How its message has ended; OK: well, or not yet. */
static int ended(struct world *w, unsigned rank)
{
    int status = NOF_OK;
    const struct nof_comp *c;
    while ((c = world_take(w, rank)) != NULL)
        if (c->opcode == NOF_COMP_GROUP_SEND || c->opcode == NOF_COMP_GROUP_RECV)
            status = c->status;
    return status;
}

static void test_a_dead_member_fails_the_message(void **state)
{
    (void)state;
    for (unsigned dead = 0; dead < 2; dead++) {
        struct world_config cfg = {.dma_inline = 1, .seed = 9};
        struct world *w = new_world(&cfg);
        open_all(w);
        if (dead != 0)
            send(w, 0, 2, 100000);
        for (unsigned i = 1; i < ranks; i++)
            if (i != dead)
                receive(w, i, 0, 2, 100000);
        world_run_for(w, 5 * MS);
        world_close(w, dead, NOF_EPEERDEAD);
        world_run_for(w, 100 * MS);
        for (unsigned i = 0; i < ranks; i++)
            if (i != dead)
                assert_int_equal(ended(w, i), NOF_EPEERDEAD);
        world_fini(w);
    }
}

/* Who leaves in order without its part ends it for those that wait for it; who leaves behind its part, for nobody. */
static void test_who_leaves_too_early_is_not_waited_for(void **state)
{
    (void)state;
    for (unsigned left = 0; left < 2; left++) {
        struct world_config cfg = {.dma_inline = 1, .seed = 9};
        struct world *w = new_world(&cfg);
        open_all(w);
        if (left != 0)
            send(w, 0, 2, 100000);
        for (unsigned i = left + 1; i < ranks; i++)
            receive(w, i, 0, 2, 100000);
        world_run_for(w, 5 * MS);
        world_close(w, left, NOF_OK);
        world_run_for(w, 100 * MS);
        for (unsigned i = 1 - left; i < (left == 0 ? ranks : 1); i++)
            assert_int_equal(ended(w, i), NOF_EPEERDEAD);
        world_fini(w);
    }
}

static void test_who_leaves_behind_its_part_is_not_missed(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed < 6; seed++) {
        struct world_config cfg = {.dma_inline = 1, .loss_percent = 10, .seed = seed};
        struct world *w = new_world(&cfg);
        unsigned over = 0;
        bool closed[WORLD_NICS] = {false};
        open_all(w);
        for (unsigned i = 1; i < ranks; i++)
            receive(w, i, 0, 2, 300000);
        send(w, 0, 2, 300000);
        for (unsigned k = 0; k < 200000 && over < ranks; k++) {
            world_run_for(w, 20000);
            for (unsigned i = 0; i < ranks; i++) {
                const struct nof_comp *c = closed[i] ? NULL : world_take(w, i);
                if (c == NULL || (c->opcode != NOF_COMP_GROUP_SEND && c->opcode != NOF_COMP_GROUP_RECV))
                    continue;
                assert_int_equal(c->status, NOF_OK);
                closed[i] = true;
                over++;
                world_close(w, i, NOF_OK);
            }
        }
        assert_int_equal(over, ranks);
        world_fini(w);
    }
}

static void close_group(struct world *w, unsigned rank)
{
    struct nof_desc d = {.opcode = NOF_DESC_GROUP_CLOSE, .sched = {.name = NAME}};
    world_post(w, rank, &d);
}

/* At any time: frames go back, the buffer is the host's again, and the other members hear of nothing but silence. */
static void test_a_group_closes_at_any_time(void **state)
{
    (void)state;
    for (unsigned after_us = 0; after_us < 400; after_us += 20) {
        for (unsigned who = 0; who < 2; who++) {
            struct world_config cfg = {.dma_inline = after_us / 20 % 2, .seed = 1 + after_us};
            struct world *w = new_world(&cfg);
            open_all(w);
            for (unsigned i = 1; i < ranks; i++)
                receive(w, i, 0, 2, 300000);
            send(w, 0, 2, 300000);
            world_run_for(w, 1000ull * after_us);
            close_group(w, who);
            world_run_for(w, 20 * MS);
            const struct nof_comp *c = world_take(w, who);
            assert_non_null(c);
            assert_true(c->status == NOF_ECANCELED || c->status == NOF_OK);
            for (unsigned i = 0; i < ranks; i++)
                if (i != who)
                    close_group(w, i);
            world_run_for(w, 20 * MS);
            for (unsigned i = 0; i < ranks; i++) {
                assert_int_equal(counter(w, i, NOF_C_MCAST_GROUPS), 0);
                assert_true(i == who || world_take(w, i) != NULL);
                assert_true(nof_nic_quiet(world_nic(w, i)));
            }
            world_fini(w);
        }
    }
}

/* Who has ended may be far ahead of who has not: no message takes the place of another. */
static void test_messages_of_all_members_do_not_mix(void **state)
{
    (void)state;
    struct world_config cfg = {.dma_inline = 1, .loss_percent = 2, .seed = 3};
    struct world *w = new_world(&cfg);
    open_all(w);
    for (uint32_t number = 2; number < 42; number++) {
        unsigned from = number * 7 / 3 % ranks;
        for (unsigned k = 0; k < ranks; k++) {
            unsigned rank = (number + k) % ranks;
            world_run_for(w, (number * 37 + k * 11) % 5 * 100000);
            if (rank == from)
                send(w, rank, number, 10000 + 3000 * number);
            else
                receive(w, rank, from, number, 10000 + 3000 * number);
        }
        world_run_for(w, 2000 * MS);
        assert_int_equal(world_expect(w, from, NOF_COMP_GROUP_SEND, number)->status, NOF_OK);
        for (unsigned i = 0; i < ranks; i++)
            if (i != from)
                check_got(w, i, number, 10000 + 3000 * number);
    }
    world_fini(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_dead_member_fails_the_message),
        cmocka_unit_test(test_who_leaves_too_early_is_not_waited_for),
        cmocka_unit_test(test_who_leaves_behind_its_part_is_not_missed),
        cmocka_unit_test(test_a_group_closes_at_any_time),
        cmocka_unit_test(test_messages_of_all_members_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
