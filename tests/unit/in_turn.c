/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends of a schedule in turn: how much of them is announced ahead, and the next as bytes leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#define MS 1000000ull
#define CTX 9u
#define TAG 3
#define SENDS 4u

static const uint64_t at[SENDS] = {0, 16384, 32768, 49152}, len[SENDS] = {9000, 5000, 5000, 5000};

static void post(struct world *w, unsigned rank, uint8_t opcode, uint64_t offset, uint64_t bytes)
{
    struct nof_desc d = {.opcode = opcode, .ctx = CTX, .cookie = 50, .tag = TAG, .len = bytes};
    d.addr = (uint64_t)(uintptr_t)world_rank(w, rank)->arena + offset;
    world_post(w, rank, &d);
}

static void command(struct world *w, uint8_t opcode)
{
    struct nof_desc d = {
        .opcode = opcode,
        .ctx = CTX,
        .cookie = 5,
        .tag = TAG,
        .sched = {.name = 1, .generation = 1, .base = {(uint64_t)(uintptr_t)world_rank(w, 0)->arena}}};
    if (opcode == NOF_DESC_SCHED_CANCEL)
        d.sched.base[0] = 0;
    world_post(w, 0, &d);
}

static struct world *open_world(bool in_turn)
{
    static const struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = 1, .seed = 1};
    struct world *w = world_init(&cfg);
    struct {
        struct nof_program_head head;
        struct nof_program_step step[SENDS];
    } p = {.head = {.magic = NOF_PROGRAM_MAGIC, .nsteps = SENDS}};
    for (unsigned r = 0; r < 2; r++)
        world_open(w, r, r, 2);
    world_run(w);
    assert_int_equal(nof_nic_feature_set(world_nic(w, 0), NOF_F_EAGER_MAX, 0), NOF_OK);
    for (unsigned i = 0; i < SENDS; i++) {
        p.step[i] = (struct nof_program_step){.opcode = NOF_STEP_SEND,
                                              .flags = i > 0 && in_turn ? NOF_STEP_F_IN_TURN : 0,
                                              .peer = 1,
                                              .offset = (int64_t)at[i],
                                              .len = len[i],
                                              .after = {NOF_STEP_NONE, NOF_STEP_NONE}};
        if (i > 0)
            p.step[i].after[0] = (uint16_t)(i - 1);
        memset(world_rank(w, 0)->arena + at[i], (int)i + 1, len[i]);
    }
    struct nof_desc d = {
        .opcode = NOF_DESC_SCHED_OPEN, .cookie = 1, .len = sizeof p, .sched = {.name = 1, .generation = 1}};
    memcpy(world_rank(w, 0)->program_area, &p, sizeof p);
    world_post(w, 0, &d);
    world_run(w);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SCHED_OPEN, 1)->status, NOF_OK);
    return w;
}

static uint64_t announced(struct world *w)
{
    world_run_for(w, 5 * MS);
    return world_rank(w, 0)->counters[NOF_C_RENDEZVOUS_TX];
}

static void receive(struct world *w, uint64_t offset, uint64_t bytes, int status)
{
    post(w, 1, NOF_DESC_RECV, offset, bytes);
    world_run_for(w, 5 * MS);
    assert_int_equal(world_expect(w, 1, NOF_COMP_RECV, 50)->status, status);
}

/* Nobody receives them at first: 16 KiB are announced, and one more when less is left. */
static void run(struct world *w, bool in_turn)
{
    uint64_t before = announced(w);
    command(w, NOF_DESC_SCHED_START);
    assert_int_equal(announced(w) - before, in_turn ? 3 : 1);
    for (unsigned i = 0; i < SENDS; i++) {
        receive(w, at[i], len[i], NOF_OK);
        for (uint64_t k = 0; k < len[i]; k++)
            assert_int_equal(world_rank(w, 1)->arena[at[i] + k], i + 1);
        assert_int_equal(announced(w) - before, in_turn || i >= 2 ? SENDS : i + 2);
    }
    assert_int_equal(world_expect(w, 0, NOF_COMP_SCHED, 5)->status, NOF_OK);
}

static void give_up(struct world *w)
{
    uint64_t before = announced(w);
    command(w, NOF_DESC_SCHED_START);
    world_run_for(w, MS);
    command(w, NOF_DESC_SCHED_CANCEL);
    world_run(w);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SCHED, 5)->status, NOF_ECANCELED);
    for (uint64_t n = announced(w); before < n; before++)
        receive(w, 0, 9000, NOF_ENOENT);
}

static void the_next_is_announced_while_little_is_left(void **state)
{
    (void)state;
    for (unsigned in_turn = 0; in_turn < 2; in_turn++) {
        struct world *w = open_world(in_turn);
        run(w, in_turn);
        give_up(w); /* what that leaves is no trouble for the next */
        run(w, in_turn);
        run(w, in_turn);
        world_fini(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_is_announced_while_little_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
