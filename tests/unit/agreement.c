/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks of a collective that do not call the same (nof/desc.h, "Agreement"): whatever way their messages go, however late one
 * comes, and also where no message ever would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#define MS 1000000ull
#define RANKS 4u
#define CTX 9u
#define TAG 3
#define NUMBER 7u
#define OUR 5u
#define THEIR 6u

static const struct world_config worlds[] = {
    {.nics = 2, .mtu = 1500, .dma_inline = 1, .seed = 1},
    {.nics = 2, .mtu = 1500, .seed = 2},
    {.nics = 1, .mtu = 1500, .seed = 3},
    {.nics = 2, .mtu = 1500, .loss_percent = 5, .seed = 4},
};
#define NWORLDS (sizeof worlds / sizeof worlds[0])

static struct world *open_world(unsigned which)
{
    struct world *w = world_init(&worlds[which]);
    for (unsigned r = 0; r < RANKS; r++)
        world_open(w, r % worlds[which].nics, r, RANKS);
    world_run(w);
    return w;
}

static void post(struct world *w, unsigned rank, uint8_t opcode, unsigned peer, uint64_t len, uint8_t agreed)
{
    struct nof_desc d = {.opcode = opcode,
                         .agreed = agreed,
                         .ctx = CTX,
                         .cookie = opcode,
                         .peer = (int32_t)peer,
                         .tag = TAG,
                         .len = len};
    d.addr = (uint64_t)(uintptr_t)world_rank(w, rank)->arena;
    world_post(w, rank, &d);
}

static void message(unsigned which, bool expected, uint64_t len, uint8_t sent, uint8_t wanted)
{
    bool agrees = sent == wanted || sent == 0 || wanted == 0;
    struct world *w = open_world(which);
    memset(world_rank(w, 0)->arena, 1, len);
    memset(world_rank(w, 1)->arena, 2, len);
    if (expected)
        post(w, 1, NOF_DESC_RECV, 0, len, wanted);
    world_run(w);
    post(w, 0, NOF_DESC_SEND, 1, len, sent);
    world_run(w);
    if (!expected)
        post(w, 1, NOF_DESC_RECV, 0, len, wanted);
    world_run(w);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SEND, NOF_DESC_SEND)->status, NOF_OK);
    const struct nof_comp *comp = world_expect(w, 1, NOF_COMP_RECV, NOF_DESC_RECV);
    assert_int_equal(comp->status, agrees ? NOF_OK : NOF_EDISAGREE);
    assert_int_equal(comp->peer, 0);
    assert_int_equal(comp->len, len);
    if (agrees && len > 0)
        assert_int_equal(world_payload(w, 1, comp, world_rank(w, 1)->arena)[len - 1], 1);
    /* Nothing of it is written, and what comes next is not harmed. */
    if (!agrees && len > 0)
        assert_int_equal(world_rank(w, 1)->arena[len - 1], 2);
    post(w, 1, NOF_DESC_RECV, 0, len, OUR);
    post(w, 0, NOF_DESC_SEND, 1, len, OUR);
    world_run(w);
    assert_int_equal(world_expect(w, 1, NOF_COMP_RECV, NOF_DESC_RECV)->status, NOF_OK);
    world_fini(w);
}

static void messages_say_it_whatever_way_they_go(void **state)
{
    static const uint64_t lens[] = {0, 8, 100, 3000, 20000, 60000};
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++)
        for (unsigned i = 0; i < sizeof lens / sizeof lens[0]; i++)
            for (unsigned expected = 0; expected < 2; expected++) {
                message(c, expected, lens[i], THEIR, OUR);
                message(c, expected, lens[i], OUR, OUR);
                message(c, expected, lens[i], 0, OUR);
                message(c, expected, lens[i], THEIR, 0);
            }
}

/* Everybody to the next, and from the one before. */
static void open_ring(struct world *w, unsigned rank)
{
    struct {
        struct nof_program_head head;
        struct nof_program_step step[2];
    } p = {.head = {.magic = NOF_PROGRAM_MAGIC, .nsteps = 2}};
    for (unsigned k = 0; k < 2; k++)
        p.step[k] = (struct nof_program_step){.opcode = k == 0 ? NOF_STEP_RECV : NOF_STEP_SEND,
                                              .peer = (int32_t)((rank + (k == 0 ? RANKS - 1 : 1)) % RANKS),
                                              .offset = k * 1000,
                                              .len = 500,
                                              .after = {k == 0 ? NOF_STEP_NONE : 0, NOF_STEP_NONE}};
    if (rank == 0)
        p.step[1].after[0] = NOF_STEP_NONE; /* it begins */
    struct nof_desc d = {
        .opcode = NOF_DESC_SCHED_OPEN, .cookie = 1, .len = sizeof p, .sched = {.name = 1, .generation = 1}};
    memcpy(world_rank(w, rank)->program_area, &p, sizeof p);
    world_post(w, rank, &d);
    world_run(w);
    assert_int_equal(world_expect(w, rank, NOF_COMP_SCHED_OPEN, 1)->status, NOF_OK);
}

static void start(struct world *w, unsigned rank, uint8_t agreed)
{
    struct nof_desc d = {
        .opcode = NOF_DESC_SCHED_START,
        .agreed = agreed,
        .ctx = CTX,
        .cookie = 2,
        .tag = TAG,
        .len = NUMBER,
        .sched = {.name = 1, .generation = 1, .base = {(uint64_t)(uintptr_t)world_rank(w, rank)->arena}}};
    world_post(w, rank, &d);
}

static const struct nof_comp *next(struct world *w, unsigned rank, int opcode)
{
    const struct nof_comp *comp;
    while ((comp = world_take(w, rank)) != NULL && comp->opcode != opcode)
        ;
    return comp;
}

static void schedules_say_it_and_all_are_told(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++)
        for (unsigned who = 0; who < RANKS; who++) {
            struct world *w = open_world(c);
            for (unsigned r = 0; r < RANKS; r++)
                open_ring(w, r);
            for (unsigned r = 0; r < RANKS; r++)
                start(w, r, r == who ? THEIR : OUR);
            world_run_for(w, 100 * MS);
            unsigned failed = 0;
            for (unsigned r = 0; r < RANKS; r++) {
                const struct nof_comp *comp = next(w, r, NOF_COMP_SCHED);
                assert_non_null(comp);
                assert_true(comp->status == NOF_OK || comp->status == NOF_EDISAGREE);
                failed += comp->status == NOF_EDISAGREE;
            }
            assert_true(failed > 0);
            world_fini(w);
        }
}

/* Rank 3 gets a message of rank 1, from which its program wants none: before it begins, or afterwards. */
static void a_message_that_nobody_wants_says_it_too(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++)
        for (unsigned late = 0; late < 2; late++)
            for (unsigned other = 0; other < 2; other++) {
                struct world *w = open_world(c);
                open_ring(w, 3);
                if (late)
                    start(w, 3, OUR);
                world_run_for(w, 5 * MS);
                post(w, 1, NOF_DESC_SEND, 3, 8, other ? THEIR : OUR);
                world_run_for(w, 5 * MS);
                if (!late)
                    start(w, 3, OUR);
                world_run_for(w, 5 * MS);
                const struct nof_comp *comp = next(w, 3, NOF_COMP_SCHED);
                assert_int_equal(comp != NULL, other);
                if (comp != NULL) {
                    assert_int_equal(comp->status, NOF_EDISAGREE);
                    assert_int_equal(comp->peer, 3); /* it found it itself, at none of its steps */
                    assert_int_equal(comp->handle, 2);
                }
                world_fini(w);
            }
}

static void ask(struct world *w, unsigned from, unsigned to, uint8_t agreed)
{
    struct nof_desc d = {.opcode = NOF_DESC_COLL_ABORT,
                         .agreed = agreed,
                         .ctx = CTX,
                         .peer = (int32_t)to,
                         .tag = TAG,
                         .len = NUMBER,
                         .sched = {.name = from, .base = {(uint64_t)(int64_t)NOF_EAGAIN}}};
    world_post(w, from, &d);
}

static void who_is_asked_compares(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++) {
        struct world *w = open_world(c);
        open_ring(w, 2);
        start(w, 2, OUR); /* waits for rank 1 */
        world_run_for(w, 5 * MS);
        ask(w, 3, 2, OUR);
        world_run_for(w, 20 * MS);
        assert_null(next(w, 2, NOF_COMP_SCHED));
        ask(w, 3, 0, THEIR); /* which runs nothing: its host is asked */
        ask(w, 3, 2, THEIR);
        world_run_for(w, 20 * MS);
        const struct nof_comp *comp = next(w, 2, NOF_COMP_SCHED);
        assert_non_null(comp);
        assert_int_equal(comp->status, NOF_EDISAGREE);
        comp = next(w, 0, NOF_COMP_COLL_ABORT);
        assert_non_null(comp);
        assert_int_equal(comp->status, NOF_EAGAIN);
        assert_int_equal(comp->peer, 3);
        assert_int_equal(comp->handle, THEIR);
        assert_int_equal(comp->ctx, CTX);
        assert_int_equal(comp->tag, TAG);
        assert_int_equal(comp->len, NUMBER);
        comp = next(w, 3, NOF_COMP_COLL_ABORT); /* the neighbour of the run that failed */
        assert_non_null(comp);
        assert_int_equal(comp->status, NOF_EDISAGREE);
        world_fini(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_say_it_whatever_way_they_go),
        cmocka_unit_test(schedules_say_it_and_all_are_told),
        cmocka_unit_test(a_message_that_nobody_wants_says_it_too),
        cmocka_unit_test(who_is_asked_compares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
