/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A collective that failed at one rank fails at all that still need something: no host does anything for it, whoever drives;
 * no other collective does, nor one that ended; and who has not begun yet finds it out at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#define MS 1000000ull
#define CTX 9u
#define RANKS 6u

struct program {
    struct nof_program_head head;
    struct nof_program_step step[64];
};

static void add(struct program *p, uint8_t opcode, unsigned peer, uint64_t at, uint64_t len)
{
    p->head.magic = NOF_PROGRAM_MAGIC;
    struct nof_program_step *s = &p->step[p->head.nsteps++];
    *s = (struct nof_program_step){.opcode = opcode, .after = {NOF_STEP_NONE, NOF_STEP_NONE}};
    if (opcode == NOF_STEP_FENCE || opcode == NOF_STEP_HOST)
        return;
    s->peer = (int32_t)peer;
    s->offset = (int64_t)at;
    s->len = len;
}

enum shape { RING, TREE, ALLTOALL, SHAPES };

/* What is sent lies in the first half of the arena, what comes in the second. */
#define IN (WORLD_ARENA / 2)

static struct program shaped(enum shape shape, unsigned rank, uint64_t len)
{
    struct program p = {.head.nsteps = 0};
    for (unsigned k = 1; shape == RING && k < RANKS; k++) {
        add(&p, NOF_STEP_RECV, (rank + RANKS - 1) % RANKS, IN + k * len, len);
        add(&p, NOF_STEP_SEND, (rank + 1) % RANKS, 0, len);
        add(&p, NOF_STEP_FENCE, 0, 0, 0);
    }
    if (shape == TREE) { /* up to rank 0, and down again */
        for (unsigned child = 2 * rank + 1; child <= 2 * rank + 2 && child < RANKS; child++)
            add(&p, NOF_STEP_RECV, child, IN + child * len, len);
        add(&p, NOF_STEP_FENCE, 0, 0, 0);
        if (rank > 0) {
            add(&p, NOF_STEP_SEND, (rank - 1) / 2, 0, len);
            add(&p, NOF_STEP_RECV, (rank - 1) / 2, IN, len);
            add(&p, NOF_STEP_FENCE, 0, 0, 0);
        }
        for (unsigned child = 2 * rank + 1; child <= 2 * rank + 2 && child < RANKS; child++)
            add(&p, NOF_STEP_SEND, child, 0, len);
    }
    for (unsigned k = 1; shape == ALLTOALL && k < RANKS; k++) {
        add(&p, NOF_STEP_RECV, (rank + RANKS - k) % RANKS, IN + k * len, len);
        add(&p, NOF_STEP_SEND, (rank + k) % RANKS, 0, len);
        if (k % 2 == 0)
            add(&p, NOF_STEP_FENCE, 0, 0, 0);
    }
    return p;
}

static void open_program(struct world *w, unsigned rank, const struct program *p)
{
    struct nof_desc d = {.opcode = NOF_DESC_SCHED_OPEN,
                         .cookie = 1000,
                         .len = sizeof p->head + p->head.nsteps * sizeof p->step[0],
                         .sched = {.name = 1, .generation = 1}};
    memcpy(world_rank(w, rank)->program_area, p, (size_t)d.len);
    world_post(w, rank, &d);
    world_run(w);
    assert_int_equal(world_expect(w, rank, NOF_COMP_SCHED_OPEN, 1000)->status, NOF_OK);
}

static void start(struct world *w, unsigned rank, int tag, uint64_t number)
{
    struct nof_desc d = {
        .opcode = NOF_DESC_SCHED_START,
        .ctx = CTX,
        .cookie = 5,
        .tag = tag,
        .len = number,
        .sched = {.name = 1, .generation = 1, .base = {(uint64_t)(uintptr_t)world_rank(w, rank)->arena}}};
    world_post(w, rank, &d);
}

static void tell(struct world *w, unsigned rank, int to, int tag, uint64_t number, unsigned whose)
{
    struct nof_desc d = {.opcode = NOF_DESC_COLL_ABORT,
                         .ctx = CTX,
                         .peer = to,
                         .tag = tag,
                         .len = number,
                         .sched = {.name = whose, .base = {(uint64_t)(int64_t)NOF_EPEERDEAD}}};
    world_post(w, rank, &d);
}

static struct world *open_world(const struct world_config *cfg, enum shape shape, uint64_t len)
{
    struct world *w = world_init(cfg);
    for (unsigned r = 0; r < RANKS; r++)
        world_open(w, r % cfg->nics, r, RANKS);
    world_run(w);
    for (unsigned r = 0; r < RANKS; r++) {
        struct program p = shaped(shape, r, len);
        open_program(w, r, &p);
    }
    return w;
}

/* The next completion that tells of a schedule, of the opcode; NULL: none. */
static const struct nof_comp *next(struct world *w, unsigned rank, int opcode)
{
    const struct nof_comp *comp;
    while ((comp = world_take(w, rank)) != NULL && comp->opcode != opcode)
        ;
    return comp;
}

static const struct world_config worlds[] = {
    {.nics = 3, .mtu = 1500, .dma_inline = 1, .seed = 1},
    {.nics = 2, .mtu = 1500, .seed = 2},
    {.nics = 1, .mtu = 1500, .seed = 3},
    {.nics = 3, .mtu = 1500, .loss_percent = 5, .seed = 4},
};
#define NWORLDS (sizeof worlds / sizeof worlds[0])

/* Killed at any time, in every shape, whatever the size of the blocks. */
static void all_who_need_something_are_told(void **state)
{
    static const uint64_t lens[] = {30, 3000, 200000};
    unsigned failed = 0;
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++)
        for (unsigned i = 0; i < SHAPES * 3; i++)
            for (uint64_t after = 0; after < 3 * MS; after += 180000 + after / 2) {
                struct world *w = open_world(&worlds[c], (enum shape)(i % SHAPES), lens[i / SHAPES]);
                const unsigned dead = (unsigned)(after / 7 % RANKS);
                for (unsigned r = 0; r < RANKS; r++)
                    start(w, r, 3, 0);
                world_run_for(w, after);
                world_close(w, dead, NOF_EPEERDEAD);
                world_run_for(w, 200 * MS);
                for (unsigned r = 0; r < RANKS; r++) {
                    const struct nof_comp *comp = r == dead ? NULL : next(w, r, NOF_COMP_SCHED);
                    if (r == dead)
                        continue;
                    assert_non_null(comp);
                    if (comp->status == NOF_OK)
                        continue;
                    assert_int_equal(comp->status, NOF_EPEERDEAD);
                    assert_int_equal(comp->peer, dead);
                    failed++;
                }
                for (unsigned n = 0; n < worlds[c].nics; n++)
                    assert_int_equal(nof_nic_counters(world_nic(w, n))[NOF_C_DROP_PROTO], 0);
                world_fini(w);
            }
    assert_true(failed > 200);
}

/* All wait for rank 0 and send each other what nobody asks for: nothing stays behind, so a FLUSH ends, and the program
 * can run again. */
static void nothing_stays_behind(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++)
        for (uint64_t len = 30; len < 1000000; len *= 80) {
            struct world *w = open_world(&worlds[c], RING, 3000);
            for (unsigned r = 1; r < RANKS; r++) {
                struct program p = {.head.nsteps = 0};
                struct nof_desc free_it = {.opcode = NOF_DESC_SCHED_FREE,
                                           .sched = {.name = 1, .generation = 1}};
                world_post(w, r, &free_it);
                for (unsigned to = 1; to < RANKS; to++)
                    if (to != r)
                        add(&p, NOF_STEP_SEND, to, 0, len);
                add(&p, NOF_STEP_RECV, 0, IN, 100);
                open_program(w, r, &p);
            }
            for (unsigned r = 1; r < RANKS; r++)
                start(w, r, 3, 0);
            world_run_for(w, 20 * MS);
            world_close(w, 0, NOF_EPEERDEAD);
            world_run_for(w, 100 * MS);
            for (unsigned r = 1; r < RANKS; r++) {
                struct nof_desc flush = {.opcode = NOF_DESC_FLUSH, .cookie = 77};
                assert_int_equal(next(w, r, NOF_COMP_SCHED)->status, NOF_EPEERDEAD);
                world_post(w, r, &flush);
                start(w, r, 4, 0);
            }
            world_run_for(w, 100 * MS);
            for (unsigned r = 1; r < RANKS; r++) {
                const struct nof_comp *comp;
                bool flushed = false;
                int status = NOF_OK;
                while ((comp = world_take(w, r)) != NULL) {
                    flushed = flushed || comp->opcode == NOF_COMP_FLUSH;
                    status = comp->opcode == NOF_COMP_SCHED ? comp->status : status;
                }
                assert_true(flushed);
                assert_int_equal(status, NOF_EPEERDEAD); /* not NOF_EAGAIN: its rank 0 is still dead */
            }
            world_fini(w);
        }
}

/* One has not begun when the others are told: its START fails at once, whoever it is. */
static void a_start_that_comes_late_fails(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++)
        for (unsigned shape = 0; shape < SHAPES; shape++)
            for (unsigned late = 1; late < RANKS; late++) {
                struct world *w = open_world(&worlds[c], (enum shape)shape, 3000);
                for (unsigned r = 1; r < RANKS; r++)
                    if (r != late)
                        start(w, r, 3, 0);
                world_run_for(w, 5 * MS);
                world_close(w, 0, NOF_EPEERDEAD);
                world_run_for(w, 20 * MS);
                start(w, late, 3, 0);
                world_run_for(w, 50 * MS);
                for (unsigned r = 1; r < RANKS; r++) {
                    const struct nof_comp *comp = next(w, r, NOF_COMP_SCHED);
                    assert_non_null(comp);
                    assert_int_equal(comp->status, NOF_EPEERDEAD);
                    assert_int_equal(comp->peer, 0);
                }
                world_fini(w);
            }
}

/* Hosts that go through it themselves tell and are told as well, once for each. */
static void hosts_tell_and_are_told(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++) {
        struct world *w = open_world(&worlds[c], RING, 3000);
        start(w, 2, 3, 7); /* waits for rank 1 */
        world_run_for(w, 5 * MS);
        for (unsigned times = 0; times < 3; times++)
            tell(w, 1, 2, 3, 7, 4);
        world_run_for(w, 5 * MS);
        const struct nof_comp *comp = next(w, 2, NOF_COMP_SCHED);
        assert_non_null(comp);
        assert_int_equal(comp->status, NOF_EPEERDEAD);
        assert_int_equal(comp->peer, 4);
        for (unsigned r = 1; r < 4; r += 2) { /* its neighbours */
            comp = next(w, r, NOF_COMP_COLL_ABORT);
            assert_non_null(comp);
            assert_int_equal(comp->status, NOF_EPEERDEAD);
            assert_int_equal(comp->ctx, CTX);
            assert_int_equal(comp->tag, 3);
            assert_int_equal(comp->len, 7);
            assert_int_equal(comp->peer, 4);
            assert_null(next(w, r, NOF_COMP_COLL_ABORT));
        }
        world_fini(w);
    }
}

/* Neither another tag, nor another run of a persistent one, nor another rank's. */
static void nobody_else_is_hit(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++) {
        struct world *w = open_world(&worlds[c], RING, 3000);
        tell(w, 0, 1, 3, 6, 4);
        for (unsigned r = 0; r < RANKS; r++)
            start(w, r, 3, 7);
        tell(w, 0, 1, 4, 7, 4);
        tell(w, 3, 2, 3, 8, 4);
        world_run_for(w, 50 * MS);
        for (unsigned r = 0; r < RANKS; r++)
            assert_int_equal(next(w, r, NOF_COMP_SCHED)->status, NOF_OK);
        tell(w, 0, 1, 3, 7, 4); /* it has ended */
        start(w, 1, 3, 8); /* and the next one was said to have failed before it began, to rank 2 */
        start(w, 2, 3, 8);
        world_run_for(w, 50 * MS);
        for (unsigned r = 1; r < 3; r++)
            assert_int_equal(next(w, r, NOF_COMP_SCHED)->status, NOF_EPEERDEAD);
        world_fini(w);
    }
}

/* More than are kept, and to a host that does not look: it loses no room of its own, and works when it looks again. */
static void a_host_that_does_not_look_is_not_drowned(void **state)
{
    (void)state;
    struct world_config cfg = worlds[0];
    cfg.nic.max_posted = 64;
    struct world *w = open_world(&cfg, RING, 3000);
    world_rank(w, 1)->ring_slots = 4;
    for (int tag = 0; tag < 5000; tag++) {
        tell(w, 0, 1, tag, 0, 4);
        if (tag % 50 == 0)
            world_run_for(w, MS);
    }
    world_run_for(w, 50 * MS);
    world_rank(w, 1)->ring_slots = 0;
    world_run_for(w, 50 * MS);
    while (world_take(w, 1) != NULL)
        ;
    for (unsigned r = 0; r < RANKS; r++)
        start(w, r, 9000, 0);
    world_run(w);
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(next(w, r, NOF_COMP_SCHED)->status, NOF_OK);
    world_fini(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_who_need_something_are_told),
        cmocka_unit_test(nothing_stays_behind),
        cmocka_unit_test(a_start_that_comes_late_fails),
        cmocka_unit_test(hosts_tell_and_are_told),
        cmocka_unit_test(nobody_else_is_hit),
        cmocka_unit_test(a_host_that_does_not_look_is_not_drowned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
