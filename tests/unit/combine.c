/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions and copies of the NIC: the bits that a host gives, in pieces that hold up nobody else, and what becomes of them
 * when memory, a peer, the schedule or the endpoint is gone. */
#include "coll/combine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coll/reduce.h"
#include "nof_private/reduce_kernels.h"
#include "vectors/operands.h"
#include "world.h"

#define MS 1000000ull
#define CTX 9u
#define TAG 3
#define QUARTER ((int64_t)(WORLD_ARENA / 4))
#define LONG_BYTES (1u << 20)

struct program {
    struct nof_program_head head;
    struct nof_program_step step[64];
};

static const struct world_config worlds[] = {
    {.nics = 2, .mtu = 1500, .dma_inline = 1, .seed = 1},
    {.nics = 2, .mtu = 1500, .seed = 2},
    {.nics = 1, .mtu = 1500, .dma_inline = 1, .dma_read_late = 1, .seed = 3},
};
#define NWORLDS (sizeof worlds / sizeof worlds[0])

static struct program made(void)
{
    return (struct program){.head = {.magic = NOF_PROGRAM_MAGIC}};
}

static struct nof_program_step *add(struct program *p, uint8_t opcode)
{
    struct nof_program_step *s = &p->step[p->head.nsteps++];
    *s = (struct nof_program_step){.opcode = opcode, .after = {NOF_STEP_NONE, NOF_STEP_NONE}};
    return s;
}

static void add_transfer(struct program *p, uint8_t opcode, int peer, int64_t offset, uint64_t len)
{
    struct nof_program_step *s = add(p, opcode);
    s->peer = peer;
    s->offset = offset;
    s->len = len;
}

/* to op= from; a copy, if the type is NONE. */
static void add_work(struct program *p, unsigned op, unsigned type, int64_t from, int64_t to, uint64_t len)
{
    struct nof_program_step *s = add(p, type == NOF_REDUCE_NONE ? NOF_STEP_COPY : NOF_STEP_REDUCE);
    s->op = (uint8_t)op;
    s->elem = (uint8_t)type;
    s->from = from;
    s->from_base = 1;
    s->offset = to;
    s->len = len;
}

static void open_program(struct world *w, unsigned rank, uint32_t name, const struct program *p)
{
    struct nof_desc d = {.opcode = NOF_DESC_SCHED_OPEN,
                         .cookie = 1000 + name,
                         .len = sizeof p->head + p->head.nsteps * sizeof p->step[0],
                         .sched = {.name = name, .generation = 1}};
    memcpy(world_rank(w, rank)->program_area, p, (size_t)d.len);
    world_post(w, rank, &d);
    world_run(w);
    assert_int_equal(world_expect(w, rank, NOF_COMP_SCHED_OPEN, 1000 + name)->status, NOF_OK);
}

static void command(struct world *w, unsigned rank, uint8_t opcode, uint32_t name, uint64_t step)
{
    struct nof_desc d = {.opcode = opcode, .sched = {.name = name, .generation = 1, .base = {step}}};
    world_post(w, rank, &d);
}

static uint8_t *arena_of(struct world *w, unsigned rank)
{
    return world_rank(w, rank)->arena;
}

static void start_at(struct world *w, unsigned rank, uint32_t name, uint64_t cookie, uint64_t base0,
                     uint64_t base1)
{
    struct nof_desc d = {.opcode = NOF_DESC_SCHED_START,
                         .ctx = CTX,
                         .cookie = cookie,
                         .tag = TAG,
                         .sched = {.name = name, .generation = 1, .base = {base0, base1}}};
    world_post(w, rank, &d);
}

static void start(struct world *w, unsigned rank, uint32_t name, uint64_t cookie)
{
    uint64_t arena = (uint64_t)(uintptr_t)arena_of(w, rank);
    start_at(w, rank, name, cookie, arena, arena);
}

static void expect_end(struct world *w, unsigned rank, uint64_t cookie, int status)
{
    assert_int_equal(world_expect(w, rank, NOF_COMP_SCHED, cookie)->status, status);
}

static struct world *open_world(const struct world_config *cfg, unsigned ranks)
{
    struct world *w = world_init(cfg);
    for (unsigned r = 0; r < ranks; r++)
        world_open(w, r % cfg->nics, r, ranks);
    world_run(w);
    return w;
}

static bool all_are(uint8_t value, const uint8_t *at, size_t bytes)
{
    return at[0] == value && memcmp(at, at + 1, bytes - 1) == 0;
}

static uint64_t counted(struct world *w, unsigned rank, enum nof_counter counter)
{
    return world_rank(w, rank)->counters[counter];
}

/* Numbers of a type, for all operations on it: to draw them takes longer than the rest. */
static uint8_t drawn[4][40000];

static void draw_operands(unsigned type, uint64_t *seed)
{
    const uint32_t bytes = nof_reduce_bytes(type);
    for (unsigned i = 0; i < 4 && bytes > 0; i++)
        operands_fill(type, drawn[i], (uint32_t)sizeof drawn[i] / bytes, seed);
}

static void reduced_once(struct world *w, unsigned op, unsigned type, uint32_t count)
{
    static uint8_t want[3 * NOF_REDUCE_PIECE_BYTES];
    const size_t len = (size_t)count * nof_reduce_bytes(type);
    uint8_t *to = arena_of(w, 0) + 1, *from = arena_of(w, 0) + QUARTER + 3;
    struct program p = made();
    add_work(&p, op, type, QUARTER + 3, 1, len);
    open_program(w, 0, 1, &p);
    memcpy(want, drawn[0], len);
    memcpy(to, want, len);
    memcpy(from, drawn[1], len);
    to[len] = 77;
    nof_reduce_kernel_of(op, type)(drawn[1], want, count);
    start(w, 0, 1, 5);
    world_run(w);
    expect_end(w, 0, 5, NOF_OK);
    assert_memory_equal(to, want, len);
    assert_memory_equal(from, drawn[1], len);
    assert_int_equal(to[len], 77);
    command(w, 0, NOF_DESC_SCHED_FREE, 1, 0);
    world_run(w);
}

/* At the border of a piece, and around it; neither operand aligned. */
static void results_are_those_of_the_host(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++) {
        struct world *w = open_world(&worlds[c], 1);
        for (unsigned type = 0; type < NOF_REDUCE_TYPES; type++) {
            const uint32_t most = nof_reduce_most(type);
            draw_operands(type, &seed);
            for (unsigned op = 0; op < NOF_REDUCE_OPS; op++)
                for (uint32_t count = 2 * most - 1; nof_reduce_defined(op, type) && count <= 2 * most + 1;
                     count++)
                    reduced_once(w, op, type, count);
        }
        assert_int_equal(counted(w, 0, NOF_C_COLL_HOST_STEPS), 0);
        world_fini(w);
    }
}

static void copies_of_any_length(void **state)
{
    static const uint64_t sizes[] = {
        0, 1, NOF_REDUCE_PIECE_BYTES - 1, NOF_REDUCE_PIECE_BYTES, NOF_REDUCE_PIECE_BYTES + 1, 100001};
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++)
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct world *w = open_world(&worlds[c], 1);
            struct program p = made();
            uint8_t *to = arena_of(w, 0), *from = to + QUARTER;
            add_work(&p, 0, NOF_REDUCE_NONE, QUARTER, 7, sizes[i]);
            open_program(w, 0, 1, &p);
            for (uint64_t k = 0; k < sizes[i]; k++)
                from[k] = (uint8_t)(k * 7 + k / 1000);
            memset(to, 88, (size_t)sizes[i] + 8);
            start(w, 0, 1, 5);
            world_run(w);
            expect_end(w, 0, 5, NOF_OK);
            assert_memory_equal(to + 7, from, (size_t)sizes[i]);
            assert_true(to[6] == 88 && to[7 + sizes[i]] == 88);
            assert_int_equal(counted(w, 0, NOF_C_COLL_REDUCED_BYTES), 0);
            world_fini(w);
        }
}

/* Allreduce by doubling of 4 ranks, lower ranks first: what comes lies at QUARTER, the result changes places. */
static struct program doubling(unsigned rank, unsigned op, unsigned type, uint64_t len)
{
    struct program p = made();
    int64_t partial = 0, incoming = QUARTER;
    for (unsigned mask = 1; mask < 4; mask *= 2) {
        unsigned peer = rank ^ mask;
        uint16_t behind = p.head.nsteps > 0 ? (uint16_t)(p.head.nsteps - 1) : NOF_STEP_NONE;
        add_transfer(&p, NOF_STEP_RECV, (int)peer, incoming, len);
        add_transfer(&p, NOF_STEP_SEND, (int)peer, partial, len);
        p.step[p.head.nsteps - 1].after[0] = p.step[p.head.nsteps - 2].after[0] = behind;
        add(&p, NOF_STEP_FENCE);
        if (peer < rank) {
            add_work(&p, op, type, incoming, partial, len);
        } else {
            add_work(&p, op, type, partial, incoming, len);
            int64_t other = partial;
            partial = incoming;
            incoming = other;
        }
    }
    uint16_t last = (uint16_t)(p.head.nsteps - 1);
    if (partial != 0) {
        add_work(&p, 0, NOF_REDUCE_NONE, partial, 0, len);
        p.step[last + 1].after[0] = last;
    }
    return p;
}

static void allreduce_once(struct world *w, unsigned op, unsigned type, uint32_t count)
{
    static uint8_t operand[4][sizeof drawn[0]];
    uint64_t len = (uint64_t)count * nof_reduce_bytes(type);
    assert_true(len <= sizeof operand[0]);
    for (unsigned r = 0; r < 4; r++) {
        struct program p = doubling(r, op, type, len);
        open_program(w, r, 1, &p);
        memcpy(operand[r], drawn[r], (size_t)len);
        memcpy(arena_of(w, r), drawn[r], (size_t)len);
        start(w, r, 1, 70 + r);
    }
    world_run(w);
    nof_reduce_kernel kernel = nof_reduce_kernel_of(op, type);
    kernel(operand[0], operand[1], count);
    kernel(operand[2], operand[3], count);
    kernel(operand[1], operand[3], count);
    for (unsigned r = 0; r < 4; r++) {
        expect_end(w, r, 70 + r, NOF_OK);
        assert_memory_equal(arena_of(w, r), operand[3], (size_t)len);
        command(w, r, NOF_DESC_SCHED_FREE, 1, 0);
    }
    world_run(w);
}

static void allreduce_gives_the_host_s_bits(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++) {
        struct world *w = open_world(&worlds[c], 4);
        uint64_t seed = 7 + c;
        for (unsigned type = 0; type < NOF_REDUCE_TYPES; type++) {
            draw_operands(type, &seed);
            for (unsigned op = 0; op < NOF_REDUCE_OPS; op++)
                if (nof_reduce_defined(op, type)) {
                    allreduce_once(w, op, type, 100);
                    allreduce_once(w, op, type, (uint32_t)(sizeof drawn[0] / nof_reduce_bytes(type)));
                }
        }
        for (unsigned r = 0; r < 4; r++)
            assert_int_equal(counted(w, r, NOF_C_COLL_HOST_STEPS), 0);
        world_fini(w);
    }
}

/* An operand that is not there ends its schedule, tells the step, and does no harm. */
static void memory_that_is_gone(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++)
        for (unsigned which = 0; which < 4; which++) {
            struct world *w = open_world(&worlds[c], 2);
            struct program p = made();
            uint64_t arena = (uint64_t)(uintptr_t)arena_of(w, 0);
            uint64_t gone = which / 2 ? UINT64_MAX - LONG_BYTES / 2 : arena + WORLD_ARENA - LONG_BYTES / 2;
            add_work(&p, 0, NOF_REDUCE_NONE, 0, LONG_BYTES, 8);
            add(&p, NOF_STEP_FENCE);
            add_work(&p, NOF_REDUCE_SUM, NOF_REDUCE_U32, 0, 0, LONG_BYTES);
            p.step[0].from_base = 2; /* 0, which nobody has */
            open_program(w, 0, 2, &p);
            p.step[0].from_base = 0;
            p.step[0].base = 0;
            p.step[0].offset = 16;
            open_program(w, 0, 1, &p);
            struct program other = made();
            add_work(&other, NOF_REDUCE_SUM, NOF_REDUCE_U32, 0, QUARTER, LONG_BYTES);
            open_program(w, 1, 1, &other);
            if (which % 2)
                start_at(w, 0, 1, 5, arena, gone);
            else
                start_at(w, 0, 1, 5, gone, arena);
            start(w, 1, 1, 6);
            world_run(w);
            const struct nof_comp *comp = world_expect(w, 0, NOF_COMP_SCHED, 5);
            assert_int_equal(comp->status, NOF_EFAULT);
            assert_int_equal(comp->handle, which == 2 ? 0 : 2);
            assert_int_equal(comp->peer, -1);
            expect_end(w, 1, 6, NOF_OK);
            start_at(w, 0, 2, 8, arena, arena);
            start(w, 0, 1, 7);
            world_run(w);
            const struct nof_comp *first = world_expect(w, 0, NOF_COMP_SCHED, 8);
            assert_true(first->status == NOF_EFAULT && first->handle == 0);
            expect_end(w, 0, 7, NOF_OK);
            assert_int_equal(world_rank(w, 0)->failed, 0);
            world_fini(w);
        }
}

static unsigned requests[2];
static struct world *watched;

static int let_frame(void *ctx, unsigned nic, const uint8_t *bytes, uint32_t len)
{
    (void)ctx, (void)nic, (void)bytes, (void)len;
    return 0;
}

static void any_bytes(void *ctx, uint8_t *at, size_t bytes)
{
    (void)ctx;
    memset(at, 0xa5, bytes);
}

/* Once the end of a schedule is told, its memory is the host's. */
static void nothing_is_under_way(void *ctx, unsigned rank, const struct nof_comp *comp)
{
    (void)ctx;
    if (comp->opcode == NOF_COMP_SCHED && watched != NULL)
        assert_int_equal(world_rank(watched, rank)->dma_pending, 0);
}

static enum world_dma count_requests(void *ctx, unsigned rank, int write, const struct nof_segment *seg,
                                     unsigned nseg, const struct nof_buf *buf, unsigned nbuf)
{
    (void)ctx, (void)write, (void)seg, (void)nseg, (void)buf, (void)nbuf;
    requests[rank]++;
    return WORLD_DMA_DO;
}

static const struct world_watch watch = {
    .frame = let_frame, .dma = count_requests, .comp = nothing_is_under_way, .stale = any_bytes};

/* Inline copies, where a piece needs no waiting: still a few in each turn, and the other rank's in between. */
static void a_turn_has_few_pieces(void **state)
{
    static const struct {
        unsigned type, most;
    } types[] = {{NOF_REDUCE_F64, 8}, {NOF_REDUCE_F128, 8}, {NOF_REDUCE_I8, 8}};
    (void)state;
    for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct world_config cfg = worlds[0];
        cfg.nics = 1;
        cfg.watch = &watch;
        struct world *w = open_world(&cfg, 2);
        struct program p = made();
        add_work(&p, NOF_REDUCE_SUM, types[i].type, 0, QUARTER, LONG_BYTES);
        open_program(w, 0, 1, &p);
        p.step[0].len = 64;
        open_program(w, 1, 1, &p);
        start(w, 0, 1, 5);
        unsigned turns = 0;
        for (; counted(w, 0, NOF_C_COLL_COMPLETED) == 0; turns++) {
            requests[0] = 0;
            if (turns % 4 == 0)
                start(w, 1, 1, 6);
            assert_true(nof_nic_poll(world_nic(w, 0), world_now(w), 64));
            assert_true(requests[0] <= types[i].most);
            if (turns % 4 == 3) /* it is no later for the other's work */
                expect_end(w, 1, 6, NOF_OK);
        }
        assert_true(turns > 10);
        expect_end(w, 0, 5, NOF_OK);
        world_fini(w);
    }
}

/* Requests that never end hold up the rank whose they are, and nobody else. */
static void a_rank_s_memory_that_never_answers(void **state)
{
    (void)state;
    struct world *w = open_world(&worlds[1], 4);
    struct program p = made();
    add_work(&p, NOF_REDUCE_SUM, NOF_REDUCE_F64, 0, QUARTER, LONG_BYTES);
    for (unsigned r = 0; r < 4; r++)
        open_program(w, r, 1, &p);
    world_rank(w, 0)->dma_stuck = 1;
    start(w, 0, 1, 5);
    world_run_for(w, MS);
    assert_int_equal(world_rank(w, 0)->dma_pending, NOF_COMBINES_PER_EP);
    for (unsigned r = 1; r < 4; r++)
        start(w, r, 1, 5);
    world_run_for(w, 100 * MS);
    for (unsigned r = 1; r < 4; r++)
        expect_end(w, r, 5, NOF_OK);
    command(w, 0, NOF_DESC_SCHED_CANCEL, 1, 0);
    world_run_for(w, MS);
    assert_null(world_take(w, 0)); /* its memory is in use */
    world_dma_give_up(w);
    world_run_for(w, MS);
    assert_int_equal(world_take(w, 0)->opcode, NOF_COMP_SCHED);
    world_fini(w);
}

static void programs_of_a_rank_take_turns(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++) {
        struct world *w = open_world(&worlds[c], 1);
        struct program p = made();
        for (unsigned k = 0; k < 8; k++)
            add_work(&p, NOF_REDUCE_SUM, NOF_REDUCE_F64, 0, QUARTER, LONG_BYTES);
        open_program(w, 0, 1, &p);
        p.head.nsteps = 1;
        p.step[0].len = 8;
        for (uint32_t name = 2; name < 6; name++)
            open_program(w, 0, name, &p);
        for (uint32_t name = 1; name < 6; name++)
            start(w, 0, name, name);
        world_run(w);
        for (uint32_t name = 2; name < 6; name++)
            expect_end(w, 0, name, NOF_OK);
        expect_end(w, 0, 1, NOF_OK);
        world_fini(w);
    }
}

static void cancelled_at_any_time(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++) {
        struct world_config cfg = worlds[c];
        cfg.watch = &watch;
        struct world *w = open_world(&cfg, 1);
        watched = w;
        struct program p = made();
        add_work(&p, NOF_REDUCE_SUM, NOF_REDUCE_U8, 0, QUARTER, 200000);
        add_work(&p, 0, NOF_REDUCE_NONE, 0, 2 * QUARTER, 100000);
        p.step[1].after[0] = 0;
        add_work(&p, NOF_REDUCE_MAX, NOF_REDUCE_I8, 0, 3 * QUARTER, 200000);
        open_program(w, 0, 1, &p);
        unsigned cancelled = 0;
        for (unsigned after = 0; after < 80; after++) {
            start(w, 0, 1, 5);
            for (unsigned turn = 0; cfg.dma_inline && turn < after / 2; turn++)
                nof_nic_poll(world_nic(w, 0), world_now(w), 64);
            if (!cfg.dma_inline || cfg.dma_read_late)
                world_run_for(w, after * 4999);
            command(w, 0, NOF_DESC_SCHED_CANCEL, 1, 0);
            world_run(w);
            int status = world_expect(w, 0, NOF_COMP_SCHED, 5)->status;
            assert_true(status == NOF_OK || status == NOF_ECANCELED);
            cancelled += status != NOF_OK;
        }
        assert_true(cancelled > 0);
        memset(arena_of(w, 0), 3, WORLD_ARENA);
        start(w, 0, 1, 5);
        world_run(w);
        expect_end(w, 0, 5, NOF_OK);
        assert_true(all_are(6, arena_of(w, 0) + QUARTER, 200000));
        assert_true(all_are(3, arena_of(w, 0) + 3 * QUARTER, 200000));
        watched = NULL;
        world_fini(w);
    }
}

static void an_endpoint_may_close_at_any_time(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++)
        for (uint64_t after = 0; after < 200000; after += 7919) {
            struct world *w = open_world(&worlds[c], 2);
            struct program p = made();
            add_work(&p, NOF_REDUCE_SUM, NOF_REDUCE_F64, 0, QUARTER, 200000);
            add_work(&p, 0, NOF_REDUCE_NONE, 0, 2 * QUARTER, 100000);
            for (unsigned r = 0; r < 2; r++) {
                open_program(w, r, 1, &p);
                open_program(w, r, 2, &p);
                start(w, r, 1, 5);
                start(w, r, 2, 6);
            }
            world_run_for(w, after);
            world_close(w, 0, NOF_OK);
            world_run(w);
            world_open(w, 0, 0, 2); /* it finds the same place, as if nothing had been */
            world_run(w);
            while (world_take(w, 0) != NULL)
                ;
            open_program(w, 0, 1, &p);
            start(w, 0, 1, 5);
            world_run(w);
            expect_end(w, 0, 5, NOF_OK);
            world_fini(w);
        }
}

static void a_peer_dies_meanwhile(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++)
        for (uint64_t after = 0; after < 200000; after += 39989) {
            struct world *w = open_world(&worlds[c], 2);
            struct program p = made();
            add_transfer(&p, NOF_STEP_RECV, 1, 0, 100);
            add_work(&p, NOF_REDUCE_SUM, NOF_REDUCE_F64, QUARTER, 2 * QUARTER, 8 * LONG_BYTES / 4);
            open_program(w, 0, 1, &p);
            start(w, 0, 1, 5);
            world_run_for(w, after);
            world_close(w, 1, NOF_EPEERDEAD);
            world_run(w);
            world_expect_dead(w, 0, NOF_COMP_SCHED, 5, 1);
            world_fini(w);
        }
}

/* Every request of the host fails once, in each way; what was only late changes nothing. */
static void requests_that_fail(void **state)
{
    static const enum world_how hows[] = {WORLD_BUSY, WORLD_BROKEN, WORLD_LATE};
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++)
        for (unsigned h = 0; h < 3; h++)
            for (uint64_t at = 1; at < 20; at++) {
                struct world *w = open_world(&worlds[c], 1);
                struct program p = made();
                add_work(&p, NOF_REDUCE_SUM, NOF_REDUCE_U8, 0, QUARTER, 50000);
                add_work(&p, 0, NOF_REDUCE_NONE, 0, 2 * QUARTER, 50000);
                open_program(w, 0, 1, &p);
                memset(arena_of(w, 0), 3, 50000);
                memset(arena_of(w, 0) + QUARTER, 3, 50000);
                world_fault(w, &(struct world_fault){.ops = 1u << WORLD_READ | 1u << WORLD_WRITE,
                                                     .at = at,
                                                     .count = 2,
                                                     .how = hows[h]});
                start(w, 0, 1, 5);
                world_run(w);
                bool breaks = hows[h] != WORLD_BUSY && at <= 16; /* 4 pieces each, read and written */
                expect_end(w, 0, 5, breaks ? NOF_EFAULT : NOF_OK);
                assert_true(breaks || all_are(6, arena_of(w, 0) + QUARTER, 50000));
                world_fault(w, &(struct world_fault){0});
                start(w, 0, 1, 6);
                world_run(w);
                expect_end(w, 0, 6, NOF_OK);
                world_fini(w);
            }
}

/* A step of the NIC is not the host's to continue. */
static void the_host_continues_what_is_the_nic_s(void **state)
{
    (void)state;
    struct world *w = open_world(&worlds[1], 2);
    struct program p = made();
    add_work(&p, NOF_REDUCE_SUM, NOF_REDUCE_F64, 0, QUARTER, LONG_BYTES);
    open_program(w, 0, 1, &p);
    start(w, 0, 1, 5);
    world_run_for(w, 20000);
    assert_true(world_rank(w, 0)->dma_pending > 0);
    command(w, 0, NOF_DESC_SCHED_CONTINUE, 1, 0);
    world_run(w);
    assert_int_not_equal(world_rank(w, 0)->failed, 0);
    assert_int_equal(world_rank(w, 1)->failed, 0);
    world_fini(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_the_host),
        cmocka_unit_test(copies_of_any_length),
        cmocka_unit_test(allreduce_gives_the_host_s_bits),
        cmocka_unit_test(memory_that_is_gone),
        cmocka_unit_test(a_turn_has_few_pieces),
        cmocka_unit_test(a_rank_s_memory_that_never_answers),
        cmocka_unit_test(programs_of_a_rank_take_turns),
        cmocka_unit_test(cancelled_at_any_time),
        cmocka_unit_test(an_endpoint_may_close_at_any_time),
        cmocka_unit_test(a_peer_dies_meanwhile),
        cmocka_unit_test(requests_that_fail),
        cmocka_unit_test(the_host_continues_what_is_the_nic_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
