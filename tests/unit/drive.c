/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules driven by the NIC: the same bytes as a host's own sends and receives, whoever drives the other side; what is
 * declined, handed to the host, taken back; ends of peers, endpoints and requests. */
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
#define TAG 3

struct program {
    struct nof_program_head head;
    struct nof_program_step step[64];
};

static const uint64_t sizes[] = {0, 1, 32, 33, 500, 9000, 100000};
#define NSIZES (sizeof sizes / sizeof sizes[0])

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

static void add_transfer(struct program *p, uint8_t opcode, int peer, unsigned base, int64_t offset,
                         uint64_t len)
{
    struct nof_program_step *s = add(p, opcode);
    s->peer = peer;
    s->base = (uint8_t)base;
    s->offset = offset;
    s->len = len;
}

static void put_open(struct world *w, unsigned rank, uint32_t name, const struct program *p)
{
    struct nof_desc d = {.opcode = NOF_DESC_SCHED_OPEN,
                         .cookie = 1000 + name,
                         .len = sizeof p->head + p->head.nsteps * sizeof p->step[0],
                         .sched = {.name = name, .generation = 1}};
    memcpy(world_rank(w, rank)->program_area, p, (size_t)d.len);
    world_post(w, rank, &d);
    world_run(w);
}

static void open_program(struct world *w, unsigned rank, uint32_t name, const struct program *p)
{
    put_open(w, rank, name, p);
    assert_int_equal(world_expect(w, rank, NOF_COMP_SCHED_OPEN, 1000 + name)->status, NOF_OK);
}

/* Bases: the beginning of the arena, its second quarter, nothing. */
static void start(struct world *w, unsigned rank, uint32_t name, uint64_t cookie)
{
    uint64_t arena = (uint64_t)(uintptr_t)world_rank(w, rank)->arena;
    struct nof_desc d = {.opcode = NOF_DESC_SCHED_START,
                         .ctx = CTX,
                         .cookie = cookie,
                         .tag = TAG,
                         .sched = {.name = name, .generation = 1, .base = {arena, arena + WORLD_ARENA / 4}}};
    world_post(w, rank, &d);
}

static void command(struct world *w, unsigned rank, uint8_t opcode, uint32_t name, uint64_t step, int status)
{
    struct nof_desc d = {.opcode = opcode,
                         .sched = {.name = name, .generation = 1, .base = {step, (uint64_t)(int64_t)status}}};
    world_post(w, rank, &d);
}

static void expect_end(struct world *w, unsigned rank, uint64_t cookie, int status)
{
    assert_int_equal(world_expect(w, rank, NOF_COMP_SCHED, cookie)->status, status);
}

static void fill(struct world *w, unsigned rank, uint64_t at, uint64_t len, uint8_t with)
{
    for (uint64_t i = 0; i < len; i++)
        world_rank(w, rank)->arena[at + i] = (uint8_t)(with + i * 7);
}

static void expect_bytes(struct world *w, unsigned rank, uint64_t at, uint64_t len, uint8_t with)
{
    for (uint64_t i = 0; i < len; i++)
        if (world_rank(w, rank)->arena[at + i] != (uint8_t)(with + i * 7))
            fail_msg("byte %llu of %llu differs", (unsigned long long)i, (unsigned long long)len);
}

static void expect_quiet(struct world *w, unsigned ranks)
{
    world_run_for(w, 100 * MS);
    for (unsigned r = 0; r < ranks; r++)
        assert_null(world_take(w, r));
}

static struct world *open_world(const struct world_config *cfg, unsigned ranks)
{
    struct world *w = world_init(cfg);
    for (unsigned r = 0; r < ranks; r++)
        world_open(w, r % cfg->nics, r, ranks);
    world_run(w);
    return w;
}

static const struct world_config worlds[] = {
    {.nics = 2, .mtu = 1500, .dma_inline = 1, .seed = 1},
    {.nics = 2, .mtu = 1500, .seed = 2},
    {.nics = 1, .mtu = 1500, .seed = 3},
    {.nics = 2, .mtu = 1500, .dma_inline = 1, .dma_read_late = 1, .loss_percent = 5, .seed = 4},
    {.nics = 2, .mtu = 1500, .loss_percent = 5, .staging_bytes = SIZE_MAX, .seed = 5},
};
#define NWORLDS (sizeof worlds / sizeof worlds[0])

/* Ring: what came in one round goes on in the next. After 3 rounds everybody has everybody's block. */
static struct program ring(unsigned rank, unsigned ranks, uint64_t bytes)
{
    struct program p = made();
    int right = (int)((rank + 1) % ranks), left = (int)((rank + ranks - 1) % ranks);
    for (unsigned k = 0; k + 1 < ranks; k++) {
        unsigned out = (rank + ranks - k) % ranks, in = (rank + ranks - k - 1) % ranks;
        add_transfer(&p, NOF_STEP_RECV, left, 1, (int64_t)(in * bytes), bytes);
        add_transfer(&p, NOF_STEP_SEND, right, 1, (int64_t)(out * bytes), bytes);
        add(&p, NOF_STEP_FENCE);
    }
    return p;
}

/* late: ranks that begin when the others' messages have come. */
static void run_ring(struct world *w, uint64_t bytes, unsigned late)
{
    const uint64_t at = WORLD_ARENA / 4;
    for (unsigned r = 0; r < 4; r++)
        fill(w, r, at + r * bytes, bytes, (uint8_t)(40 * r + bytes));
    for (unsigned r = 0; r < 4; r++)
        if (!(late >> r & 1))
            start(w, r, (uint32_t)bytes, 70 + r);
    world_run_for(w, 20 * MS);
    for (unsigned r = 0; r < 4; r++)
        if (late >> r & 1)
            start(w, r, (uint32_t)bytes, 70 + r);
    world_run(w);
    for (unsigned r = 0; r < 4; r++) {
        expect_end(w, r, 70 + r, NOF_OK);
        for (unsigned from = 0; from < 4; from++)
            expect_bytes(w, r, at + from * bytes, bytes, (uint8_t)(40 * from + bytes));
    }
}

static void blocks_go_round_a_ring(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++) {
        struct world *w = open_world(&worlds[c], 4);
        for (unsigned i = 0; i < NSIZES; i++) {
            for (unsigned r = 0; r < 4; r++) {
                struct program p = ring(r, 4, sizes[i]);
                open_program(w, r, (uint32_t)sizes[i], &p);
            }
            for (unsigned late = 0; late < 16; late += 5)
                run_ring(w, sizes[i], late);
        }
        for (unsigned r = 0; r < 4; r++)
            for (unsigned i = 0; i < NSIZES; i++)
                command(w, r, NOF_DESC_SCHED_FREE, (uint32_t)sizes[i], 0, 0);
        expect_quiet(w, 4);
        assert_int_equal(world_rank(w, 0)->counters[NOF_C_COLL_STARTED], 4 * NSIZES);
        assert_int_equal(world_rank(w, 0)->counters[NOF_C_COLL_COMPLETED], 4 * NSIZES);
        for (unsigned n = 0; n < worlds[c].nics; n++)
            assert_int_equal(nof_nic_counters(world_nic(w, n))[NOF_C_NETMEM_BYTES], 0);
        world_fini(w);
    }
}

static void desc_of(struct world *w, unsigned rank, uint8_t opcode, int peer, uint64_t at, uint64_t len)
{
    struct nof_desc d = {
        .opcode = opcode, .ctx = CTX, .cookie = 50 + opcode, .peer = peer, .tag = TAG, .len = len};
    d.addr = (uint64_t)(uintptr_t)world_rank(w, rank)->arena + at;
    world_post(w, rank, &d);
}

/* One side driven by its NIC, the other by its host: nobody can tell. */
static void the_other_side_may_be_a_host(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++)
        for (unsigned i = 0; i < 2 * NSIZES; i++) {
            uint64_t len = sizes[i / 2];
            struct world *w = open_world(&worlds[c], 2);
            struct program p = made();
            add_transfer(&p, NOF_STEP_RECV, 1, 0, 0, len);
            add_transfer(&p, NOF_STEP_SEND, 1, 1, 0, len);
            open_program(w, 0, 1, &p);
            fill(w, 0, WORLD_ARENA / 4, len, 1);
            fill(w, 1, WORLD_ARENA / 4, len, 2);
            if (i % 2)
                start(w, 0, 1, 5);
            world_run_for(w, 5 * MS);
            desc_of(w, 1, NOF_DESC_SEND, 0, WORLD_ARENA / 4, len);
            world_run_for(w, 5 * MS);
            desc_of(w, 1, NOF_DESC_RECV, 0, 0, len);
            world_run_for(w, 5 * MS);
            if (i % 2 == 0)
                start(w, 0, 1, 5);
            world_run(w);
            expect_end(w, 0, 5, NOF_OK);
            expect_bytes(w, 0, 0, len, 2);
            const struct nof_comp *comp;
            const uint8_t *got = NULL;
            while ((comp = world_take(w, 1)) != NULL) {
                assert_int_equal(comp->status, NOF_OK);
                if (comp->opcode == NOF_COMP_RECV)
                    got = world_payload(w, 1, comp, world_rank(w, 1)->arena);
            }
            assert_non_null(got);
            assert_memory_equal(got, world_rank(w, 0)->arena + WORLD_ARENA / 4, (size_t)len);
            world_fini(w);
        }
}

static void the_host_does_its_steps(void **state)
{
    (void)state;
    struct world *w = open_world(&worlds[0], 2);
    struct program p = made();
    add_transfer(&p, NOF_STEP_RECV, 1, 0, 0, 8);
    add(&p, NOF_STEP_HOST)->after[0] = 0;
    struct nof_program_step *s = add(&p, NOF_STEP_SEND);
    *s = (struct nof_program_step){.opcode = NOF_STEP_SEND, .peer = 1, .len = 8, .after = {1, NOF_STEP_NONE}};
    open_program(w, 0, 1, &p);
    for (unsigned times = 0; times < 3; times++) {
        start(w, 0, 1, 5);
        desc_of(w, 1, NOF_DESC_SEND, 0, 0, 8);
        desc_of(w, 1, NOF_DESC_RECV, 0, 64, 8);
        world_run(w);
        assert_int_equal(world_expect(w, 0, NOF_COMP_SCHED_HOST, 5)->handle, 1);
        assert_null(world_take(w, 0)); /* the send waits for it */
        command(w, 0, NOF_DESC_SCHED_CONTINUE, 1, 1, times == 2 ? NOF_EFAULT : NOF_OK);
        world_run(w);
        const struct nof_comp *comp = world_expect(w, 0, NOF_COMP_SCHED, 5);
        assert_int_equal(comp->status, times == 2 ? NOF_EFAULT : NOF_OK);
        assert_int_equal(comp->handle, times == 2 ? 1 : 3);
        (void)world_expect(w, 1, NOF_COMP_SEND, 50 + NOF_DESC_SEND);
        if (times < 2)
            (void)world_expect(w, 1, NOF_COMP_RECV, 50 + NOF_DESC_RECV);
    }
    command(w, 0, NOF_DESC_SCHED_CONTINUE, 1, 1, NOF_OK); /* late: nobody minds */
    world_run(w);
    assert_int_equal(world_rank(w, 0)->failed, 0);
    assert_int_equal(world_rank(w, 0)->counters[NOF_C_COLL_HOST_STEPS], 3);
    assert_int_equal(world_rank(w, 0)->counters[NOF_C_COLL_FAILED], 1);
    world_fini(w);
}

static void other_lengths_are_told_and_others_go_on(void **state)
{
    static const struct {
        uint64_t comes;
        uint8_t flags;
        int status;
        uint64_t sent; /* of 100 bytes */
    } cases[] = {{100, NOF_STEP_F_EXACT, NOF_OK, 100},
                 {50, NOF_STEP_F_EXACT, NOF_ETRUNC, 0},
                 {50, 0, NOF_OK, 100},
                 {101, NOF_STEP_F_EXACT, NOF_ETRUNC, 0},
                 {5000, 0, NOF_ETRUNC, 100},
                 {90000, NOF_STEP_F_EXACT, NOF_ETRUNC, 0}};
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++)
        for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct world *w = open_world(&worlds[c], 2);
            struct program p = made();
            add_transfer(&p, NOF_STEP_RECV, 1, 0, 0, 100);
            add(&p, NOF_STEP_FENCE);
            add_transfer(&p, NOF_STEP_SEND, 1, 1, 0, 100);
            p.step[0].flags = p.step[2].flags = cases[i].flags;
            open_program(w, 0, 1, &p);
            fill(w, 1, 0, cases[i].comes, 9);
            fill(w, 0, 100, 4, 77);
            start(w, 0, 1, 5);
            desc_of(w, 1, NOF_DESC_SEND, 0, 0, cases[i].comes);
            desc_of(w, 1, NOF_DESC_RECV, 0, WORLD_ARENA / 2, 100);
            world_run(w);
            const struct nof_comp *comp = world_expect(w, 0, NOF_COMP_SCHED, 5);
            assert_int_equal(comp->status, cases[i].status);
            if (cases[i].status != NOF_OK) {
                assert_int_equal(comp->handle, 0);
                assert_int_equal(comp->peer, 1);
                assert_int_equal(comp->len, cases[i].comes);
            }
            expect_bytes(w, 0, 0, cases[i].comes < 100 ? cases[i].comes : 100, 9);
            expect_bytes(w, 0, 100, 4, 77);
            while ((comp = world_take(w, 1)) != NULL)
                if (comp->opcode == NOF_COMP_RECV) {
                    assert_int_equal(comp->len, cases[i].sent);
                    (void)world_payload(w, 1, comp, world_rank(w, 1)->arena);
                }
            world_fini(w);
        }
}

static void receives_are_taken_back(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++) {
        struct world *w = open_world(&worlds[c], 2);
        struct program p = made();
        for (unsigned i = 0; i < 40; i++)
            add_transfer(&p, NOF_STEP_RECV, 1, 0, 0, 100);
        open_program(w, 0, 1, &p);
        for (unsigned times = 0; times < 20; times++) {
            start(w, 0, 1, 5);
            world_run_for(w, times * 100000);
            start(w, 0, 1, 6); /* it runs */
            command(w, 0, NOF_DESC_SCHED_CANCEL, 1, 0, 0);
            world_run(w);
            expect_end(w, 0, 6, NOF_EAGAIN);
            expect_end(w, 0, 5, NOF_ECANCELED);
        }
        command(w, 0, NOF_DESC_SCHED_CANCEL, 1, 0, 0); /* it does not: nobody minds */
        desc_of(w, 1, NOF_DESC_SEND, 0, 0, 100);
        world_run(w);
        desc_of(w, 0, NOF_DESC_RECV, 1, 0, 100);
        world_run(w);
        (void)world_payload(w, 0, world_expect(w, 0, NOF_COMP_RECV, 50 + NOF_DESC_RECV),
                            world_rank(w, 0)->arena);
        uint32_t posted, unexpected;
        nof_nic_endpoint_queues(world_nic(w, 0), world_rank(w, 0)->endpoint, &posted, &unexpected);
        assert_int_equal(posted, 0);
        world_fini(w);
    }
}

/* A step has a number where a host's receive has its cookie: a CANCEL finds the host's, and never the step's. */
static void a_cancel_finds_no_step(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 3; before++) { /* the host's receive; 2: there is none */
        struct world *w = open_world(&worlds[0], 2);
        struct program p = made();
        add_transfer(&p, NOF_STEP_RECV, 1, 0, 0, 100);
        open_program(w, 0, 1, &p);
        const uint64_t cookie = 1ull << 63; /* program 0, step 0 */
        struct nof_desc own = {
            .opcode = NOF_DESC_RECV, .ctx = 1, .cookie = cookie, .tag = 77, .peer = 1, .len = 8};
        const struct nof_desc cancel = {.opcode = NOF_DESC_CANCEL, .cookie = cookie};
        own.addr = (uint64_t)(uintptr_t)world_rank(w, 0)->arena + 4096;
        if (before == 0)
            world_post(w, 0, &own);
        start(w, 0, 1, 5);
        world_run_for(w, MS);
        if (before == 1)
            world_post(w, 0, &own);
        world_post(w, 0, &cancel);
        world_post(w, 0, &cancel);
        world_run_for(w, MS);
        if (before < 2)
            assert_int_equal(world_expect(w, 0, NOF_COMP_CANCEL, cookie)->status, NOF_OK);
        else
            assert_int_equal(world_expect(w, 0, NOF_COMP_CANCEL, cookie)->status, NOF_ENOMATCH);
        assert_int_equal(world_expect(w, 0, NOF_COMP_CANCEL, cookie)->status, NOF_ENOMATCH);
        desc_of(w, 1, NOF_DESC_SEND, 0, 0, 100);
        world_run(w);
        expect_end(w, 0, 5, NOF_OK);
        expect_quiet(w, 1);
        world_fini(w);
    }
}

/* Sends that nobody has asked for end with their schedule, which may run again at once; who asks later is refused. */
static void sends_that_nobody_asked_for_are_taken_back(void **state)
{
    (void)state;
    struct world *w = open_world(&worlds[0], 2);
    struct program p = made();
    add_transfer(&p, NOF_STEP_SEND, 1, 0, 0, 100000);
    add_transfer(&p, NOF_STEP_RECV, 1, 1, 0, 100);
    open_program(w, 0, 1, &p);
    start(w, 0, 1, 5);
    world_run_for(w, MS);
    command(w, 0, NOF_DESC_SCHED_CANCEL, 1, 0, 0);
    world_run_for(w, MS);
    expect_end(w, 0, 5, NOF_ECANCELED);
    start(w, 0, 1, 6);
    world_run_for(w, MS);
    desc_of(w, 1, NOF_DESC_RECV, 0, 0, 100000);
    world_run_for(w, MS);
    assert_int_equal(world_expect(w, 1, NOF_COMP_RECV, 50 + NOF_DESC_RECV)->status, NOF_ENOENT);
    desc_of(w, 1, NOF_DESC_RECV, 0, 0, 100000);
    world_run_for(w, 20 * MS);
    assert_int_equal(world_expect(w, 1, NOF_COMP_RECV, 50 + NOF_DESC_RECV)->status, NOF_OK);
    desc_of(w, 1, NOF_DESC_SEND, 0, 0, 100);
    world_run(w);
    expect_end(w, 0, 6, NOF_OK);
    command(w, 0, NOF_DESC_SCHED_FREE, 1, 0, 0);
    open_program(w, 0, 1, &p);
    world_fini(w);
}

static void a_dead_peer_ends_it(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++) {
        struct world *w = open_world(&worlds[c], 3);
        struct program p = made();
        add_transfer(&p, NOF_STEP_RECV, 1, 0, 0, 100);
        add_transfer(&p, NOF_STEP_RECV, 2, 0, 200, 100);
        add_transfer(&p, NOF_STEP_SEND, 2, 1, 0, 100000);
        open_program(w, 0, 1, &p);
        start(w, 0, 1, 5);
        world_run_for(w, 5 * MS);
        world_close(w, 2, NOF_EPEERDEAD);
        world_run(w);
        world_expect_dead(w, 0, NOF_COMP_SCHED, 5, 2);
        world_fini(w);
    }
}

static void an_endpoint_may_close_at_any_time(void **state)
{
    (void)state;
    for (unsigned c = 0; c < NWORLDS; c++)
        for (uint64_t after = 0; after < 400000; after += 3 * 7919) {
            struct world *w = open_world(&worlds[c], 2);
            for (unsigned r = 0; r < 2; r++) {
                struct program p = ring(r, 2, 60000);
                add(&p, NOF_STEP_HOST);
                open_program(w, r, 1, &p);
                start(w, r, 1, 5);
            }
            world_run_for(w, after);
            world_close(w, 0, NOF_OK);
            world_run(w);
            world_open(w, 0, 0, 2); /* it finds the same place, as if nothing had been */
            while (world_take(w, 0) != NULL)
                ;
            struct program p = ring(0, 2, 10);
            open_program(w, 0, 1, &p);
            world_fini(w);
        }
}

static void host_receives(struct world *w, uint64_t cookie, uint64_t at)
{
    struct nof_desc d = {
        .opcode = NOF_DESC_RECV, .ctx = CTX, .cookie = cookie, .peer = 1, .tag = TAG, .len = 100000};
    d.addr = (uint64_t)(uintptr_t)world_rank(w, 0)->arena + at;
    world_post(w, 0, &d);
}

/* Spill mode has one receive of a round go to the host, and has ended when the next one begins. */
static void a_receive_of_the_host_is_not_overtaken(void **state)
{
    struct world_config cfg = worlds[0];
    struct nof_desc other = {.opcode = NOF_DESC_SEND, .ctx = CTX + 1, .cookie = 60, .tag = TAG};
    struct nof_desc spill_end = {.opcode = NOF_DESC_SPILL_END, .cookie = 61};
    const struct nof_comp *comp;
    (void)state;
    cfg.nic.max_envelopes = 64;
    struct world *w = open_world(&cfg, 2);
    struct program p = made();
    add_transfer(&p, NOF_STEP_RECV, 1, 0, 0, 8);
    add(&p, NOF_STEP_FENCE);
    add_transfer(&p, NOF_STEP_RECV, 1, 0, 100000, 100000);
    add(&p, NOF_STEP_HOST);
    add_transfer(&p, NOF_STEP_RECV, 1, 0, 200000, 100000);
    p.step[4].after[0] = 3;
    open_program(w, 0, 1, &p);
    start(w, 0, 1, 5);
    for (unsigned i = 0; i < 1000 && spill_end.spills_seen == 0; i++) {
        world_post(w, 1, &other);
        world_run_for(w, MS);
        while ((comp = world_take(w, 0)) != NULL) {
            assert_int_equal(comp->opcode, NOF_COMP_SPILL);
            spill_end.spills_seen++;
        }
    }
    desc_of(w, 1, NOF_DESC_SEND, 0, 0, 8);
    world_run_for(w, MS);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SCHED_HOST, 5)->handle, 2);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SCHED_HOST, 5)->handle, 3);
    other.opcode = NOF_DESC_RECV;
    other.peer = 1;
    world_post(w, 0, &other);
    world_post(w, 0, &spill_end);
    world_run_for(w, MS);
    (void)world_expect(w, 0, NOF_COMP_RECV, 60);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SPILL_END, 61)->status, NOF_OK);
    command(w, 0, NOF_DESC_SCHED_CONTINUE, 1, 3, NOF_OK);
    world_run_for(w, MS);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SCHED_HOST, 5)->handle, 4);
    for (unsigned i = 0; i < 2; i++) {
        host_receives(w, 70 + i, 100000 + 100000 * i);
        fill(w, 1, 100000 * i, 100000, (uint8_t)(3 + i));
    }
    desc_of(w, 1, NOF_DESC_SEND, 0, 0, 100000);
    desc_of(w, 1, NOF_DESC_SEND, 0, 100000, 100000);
    world_run(w);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(world_expect(w, 0, NOF_COMP_RECV, 70 + i)->status, NOF_OK);
        expect_bytes(w, 0, 100000 + 100000 * i, 100000, (uint8_t)(3 + i));
        command(w, 0, NOF_DESC_SCHED_CONTINUE, 1, 2 + 2 * i, NOF_OK);
    }
    world_run(w);
    expect_end(w, 0, 5, NOF_OK);
    world_fini(w);
}

/* Who breaks the rules loses the endpoint, and nobody else anything. */
static void hosts_that_break_the_rules(void **state)
{
    static const struct {
        uint8_t opcode;
        uint32_t name;
        uint64_t step;
        int status;
        bool fatal;
    } cases[] = {{NOF_DESC_SCHED_CONTINUE, 1, 0, NOF_OK, true}, /* the NIC's own */
                 {NOF_DESC_SCHED_CONTINUE, 1, 1, 1, true},
                 {NOF_DESC_SCHED_CONTINUE, 1, 1, -40000, true},
                 {NOF_DESC_SCHED_CONTINUE, 1, 99, NOF_OK, false},
                 {NOF_DESC_SCHED_CONTINUE, 2, 0, NOF_OK, false},
                 {NOF_DESC_SCHED_FREE, 1, 0, 0, true}, /* it runs */
                 {NOF_DESC_SCHED_FREE, 2, 0, 0, true},
                 {NOF_DESC_SCHED_CANCEL, 2, 0, 0, false},
                 {NOF_DESC_SCHED_CANCEL, 1, 1, 0, true},
                 {NOF_DESC_SCHED_CANCEL, 1, (uint64_t)-40000, 0, true},
                 {NOF_DESC_SCHED_CANCEL, 1, (uint64_t)-1, 2, true},
                 {NOF_DESC_COLL_ABORT, 1, 0, 0, true},
                 {NOF_DESC_COLL_ABORT, 2, (uint64_t)-1, 0, true},
                 {NOF_DESC_GROUP_CLOSE + 1, 1, 0, 0, true}};
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world *w = open_world(&worlds[0], 2);
        struct program p = made();
        add_transfer(&p, NOF_STEP_RECV, 1, 0, 0, 8);
        add(&p, NOF_STEP_HOST);
        open_program(w, 0, 1, &p);
        start(w, 0, 1, 5);
        world_run(w);
        (void)world_expect(w, 0, NOF_COMP_SCHED_HOST, 5);
        command(w, 0, cases[i].opcode, cases[i].name, cases[i].step, cases[i].status);
        world_run(w);
        assert_int_equal(world_rank(w, 0)->failed != 0, cases[i].fatal);
        assert_int_equal(world_rank(w, 1)->failed, 0);
        world_fini(w);
    }
    struct world *w = open_world(&worlds[0], 2);
    struct program p = made();
    put_open(w, 0, 1, &p); /* no steps */
    assert_int_equal(world_expect(w, 0, NOF_COMP_SCHED_OPEN, 1001)->status, NOF_EINVAL);
    start(w, 0, 1, 5);
    world_run(w);
    expect_end(w, 0, 5, NOF_ENOENT);
    struct nof_desc far = {.opcode = NOF_DESC_SCHED_OPEN, .cookie = 3, .len = 64};
    far.sched.base[0] = WORLD_AREA - 63;
    world_post(w, 0, &far);
    far.sched.base[0] = UINT64_MAX;
    world_post(w, 0, &far);
    world_run(w);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SCHED_OPEN, 3)->status, NOF_EINVAL);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SCHED_OPEN, 3)->status, NOF_EINVAL);
    world_fini(w);
}

/* No step waits for an object that another has: who cannot have all of a round is declined, and what is promised to one is
 * not the other's. */
static void rooms_are_promised_whole(void **state)
{
    struct world_config cfg = {.nics = 1, .mtu = 1500, .dma_inline = 1, .seed = 1};
    cfg.nic.max_sends = 64;
    cfg.nic.max_endpoints = 4;
    (void)state;
    struct world *w = open_world(&cfg, 2);
    struct program p = made();
    for (unsigned i = 0; i < 30; i++)
        add_transfer(&p, NOF_STEP_SEND, 1, 0, 0, 100000); /* each waits for its receive */
    uint32_t names = 0;
    for (; names < 8; names++) {
        open_program(w, 0, names, &p);
        start(w, 0, names, 20 + names);
        world_run_for(w, 5 * MS);
        const struct nof_comp *comp = world_take(w, 0);
        if (comp != NULL) {
            assert_int_equal(comp->status, NOF_EAGAIN);
            break;
        }
    }
    assert_in_range(names, 1, 2);
    assert_int_equal(world_rank(w, 0)->counters[NOF_C_COLL_DECLINED], 1);
    for (unsigned i = 0; i < 30 * names; i++) {
        desc_of(w, 1, NOF_DESC_RECV, 0, 0, 100000);
        world_run(w);
        (void)world_expect(w, 1, NOF_COMP_RECV, 50 + NOF_DESC_RECV);
    }
    for (uint32_t i = 0; i < names; i++)
        expect_end(w, 0, 20 + i, NOF_OK);
    start(w, 0, names, 40); /* now there is room */
    world_run_for(w, 5 * MS);
    assert_null(world_take(w, 0));
    world_fini(w);
}

/* What a schedule has under way is none of what its host can count on: it may have to receive before any of that ends. */
static void the_host_of_a_schedule_can_submit(void **state)
{
    struct world_config cfg = {.nics = 1, .mtu = 1500, .dma_inline = 1, .seed = 1};
    cfg.nic.max_sends = 64;
    cfg.nic.max_endpoints = 4;
    (void)state;
    struct world *w = open_world(&cfg, 2);
    struct program p = made();
    for (unsigned i = 0; i < 30; i++)
        add_transfer(&p, NOF_STEP_SEND, 1, 0, 0, 100000); /* each waits for its receive */
    open_program(w, 0, 1, &p);
    start(w, 0, 1, 5);
    world_run_for(w, 5 * MS);
    assert_int_equal(world_rank(w, 0)->counters[NOF_C_COLL_STARTED], 1);
    for (unsigned i = 0; i < 8; i++) /* what no endpoint can count on is taken */
        desc_of(w, 1, NOF_DESC_SEND, 0, 0, 100000);
    world_run_for(w, 5 * MS);
    assert_true(nof_nic_host_room(world_nic(w, 0), world_rank(w, 0)->endpoint) > 0);
    world_fini(w);
}

/* Between the completion and the turn that its program still waits for, the host may do what it likes with it. */
static void freed_or_started_before_its_turn(void **state)
{
    (void)state;
    for (unsigned again = 0; again < 2; again++) {
        struct world *w = open_world(&worlds[0], 2);
        struct nof_nic *nic = world_nic(w, 0);
        struct program p = made(), q = made();
        add_transfer(&p, NOF_STEP_RECV, 1, 0, 0, 500);
        for (unsigned i = 0; i < 60; i++)
            add_transfer(&q, NOF_STEP_SEND, 1, 1, 0, 8);
        open_program(w, 0, 1, &p);
        open_program(w, 0, 2, &q);
        desc_of(w, 1, NOF_DESC_SEND, 0, 0, 500);
        world_run(w);
        start(w, 0, 1, 5);
        start(w, 0, 2, 6);
        nof_nic_poll(nic, world_now(w),
                     64); /* p ends and is queued behind q, which takes the rest of the turn */
        expect_end(w, 0, 5, NOF_OK);
        if (again)
            start(w, 0, 1, 7);
        else
            command(w, 0, NOF_DESC_SCHED_FREE, 1, 0, 0);
        for (unsigned i = 0; i < 60; i++) {
            desc_of(w, 1, NOF_DESC_RECV, 0, 0, 8);
            world_run(w);
        }
        if (again) {
            desc_of(w, 1, NOF_DESC_SEND, 0, 0, 500);
            world_run(w);
        }
        unsigned ends = 0;
        for (const struct nof_comp *comp; (comp = world_take(w, 0)) != NULL; ends++)
            assert_int_equal(comp->status, NOF_OK);
        assert_int_equal(ends, again ? 2 : 1);
        assert_int_equal(world_rank(w, 0)->failed, 0);
        if (!again)
            open_program(w, 0, 1, &p);
        world_fini(w);
    }
}

/* Rank 0 of two has started the program. */
static struct world *started(const struct program *p)
{
    struct world *w = open_world(&worlds[0], 2);
    open_program(w, 0, 1, p);
    start(w, 0, 1, 5);
    return w;
}

/* A step of the run before, which was cancelled, is none that the host was asked for in this one. */
static void a_cancelled_run_leaves_no_step_begun(void **state)
{
    (void)state;
    struct program p = made();
    add(&p, NOF_STEP_HOST);
    for (unsigned i = 1; i < 4; i++) {
        add_transfer(&p, NOF_STEP_SEND, 1, 0, 0, 8);
        p.step[i].after[0] = 0;
    }
    struct world *w = started(&p);
    world_run(w);
    (void)world_expect(w, 0, NOF_COMP_SCHED_HOST, 5);
    command(w, 0, NOF_DESC_SCHED_CANCEL, 1, 0, 0);
    world_run(w);
    expect_end(w, 0, 5, NOF_ECANCELED);
    start(w, 0, 1, 6);
    command(w, 0, NOF_DESC_SCHED_CONTINUE, 1, 0, NOF_OK);
    world_run(w);
    assert_int_not_equal(world_rank(w, 0)->failed, 0); /* it was not asked yet */
    world_fini(w);
}

/* What a peer says of a message is no word of the NIC's: only the flag says that nothing has happened. */
static void declined_is_said_by_the_nic_alone(void **state)
{
    (void)state;
    struct program p = made();
    add(&p, NOF_STEP_HOST);
    struct world *w = started(&p);
    start(w, 0, 1, 6);
    world_run(w);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SCHED, 6)->flags, NOF_COMP_F_DECLINED);
    (void)world_expect(w, 0, NOF_COMP_SCHED_HOST, 5);
    command(w, 0, NOF_DESC_SCHED_CONTINUE, 1, 0, NOF_EAGAIN);
    world_run(w);
    const struct nof_comp *comp = world_expect(w, 0, NOF_COMP_SCHED, 5);
    assert_int_equal(comp->status, NOF_EAGAIN);
    assert_int_equal(comp->flags, 0);
    assert_int_equal(comp->peer, -1);
    world_fini(w);
}

/* The k-th call of port or host fails, or takes nothing: the schedule ends, and nothing is left. */
static void calls_that_fail(void **state)
{
    static const enum world_how hows[] = {WORLD_BUSY, WORLD_BROKEN, WORLD_LATE};
    (void)state;
    for (unsigned c = 0; c < 3; c++)
        for (unsigned h = 0; h < 3; h++)
            for (uint64_t at = 1; at < 60; at += 1 + at / 8) {
                struct world *w = open_world(&worlds[c], 2);
                for (unsigned r = 0; r < 2; r++) {
                    struct program p = ring(r, 2, at % 2 ? 20000 : 30);
                    open_program(w, r, 1, &p);
                }
                world_fault(w, &(struct world_fault){
                                   .ops = (1u << WORLD_OPS) - 1, .at = at, .count = 3, .how = hows[h]});
                start(w, 0, 1, 5);
                start(w, 1, 1, 5);
                world_run_for(w, 50 * MS);
                for (unsigned r = 0; r < 2; r++)
                    command(w, r, NOF_DESC_SCHED_CANCEL, 1, 0,
                            0); /* where the other side's bytes were lost */
                world_run(w);
                for (unsigned r = 0; r < 2; r++) {
                    assert_int_equal(world_take(w, r)->opcode, NOF_COMP_SCHED);
                    const struct nof_comp *comp = world_take(w, r); /* it had ended before the other failed */
                    assert_true(comp == NULL || comp->opcode == NOF_COMP_COLL_ABORT);
                    assert_null(world_take(w, r));
                }
                world_fini(w);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_go_round_a_ring),
        cmocka_unit_test(the_other_side_may_be_a_host),
        cmocka_unit_test(the_host_does_its_steps),
        cmocka_unit_test(other_lengths_are_told_and_others_go_on),
        cmocka_unit_test(receives_are_taken_back),
        cmocka_unit_test(a_cancel_finds_no_step),
        cmocka_unit_test(sends_that_nobody_asked_for_are_taken_back),
        cmocka_unit_test(a_dead_peer_ends_it),
        cmocka_unit_test(an_endpoint_may_close_at_any_time),
        cmocka_unit_test(a_receive_of_the_host_is_not_overtaken),
        cmocka_unit_test(hosts_that_break_the_rules),
        cmocka_unit_test(rooms_are_promised_whole),
        cmocka_unit_test(the_host_of_a_schedule_can_submit),
        cmocka_unit_test(freed_or_started_before_its_turn),
        cmocka_unit_test(a_cancelled_run_leaves_no_step_begun),
        cmocka_unit_test(declined_is_said_by_the_nic_alone),
        cmocka_unit_test(calls_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
