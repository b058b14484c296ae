/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What one rank does must not keep the core from the others: steps of the longest call into the core, under each
 * attack that makes a loop of it long. A step is a basic block of the core: this program has a core of its own, compiled
 * so that every block calls __sanitizer_cov_trace_pc(). No clock is looked at; the same run gives the same number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nof/layout.h"
#include "turns.h"
#include "world.h"

/* The longest call of plain traffic takes 9000 steps: 64 KiB in 256 frames, or 256 descriptors. One that has to put an
 * end to an attack takes 21000 (NOF_TURN_STEPS for each of two endpoints, some ten blocks each); compilers differ. */
#define STEPS_MAX 40000u

#define RANKS 100000u

static uint64_t steps; /* since the call began */
static uint64_t all_steps; /* of all calls */
static uint64_t longest;
static const char *longest_call = "";
static int counting;

void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
    steps++;
}

void turn_begin(void)
{
    steps = 0;
}

void turn_end(const char *call)
{
    all_steps += steps;
    if (!counting || steps <= longest)
        return;
    longest = steps;
    longest_call = call;
}

static void begin_counting(void)
{
    longest = 0;
    counting = 1;
}

static void check_turns(const char *what)
{
    counting = 0;
    if (getenv("T_VERBOSE") != NULL)
        fprintf(stderr, "%-40s %8llu steps in %s\n", what, (unsigned long long)longest, longest_call);
    if (longest > STEPS_MAX)
        fail_msg("%s: %llu steps in one %s, %u are allowed", what, (unsigned long long)longest, longest_call,
                 STEPS_MAX);
}

static struct world *open_world(unsigned nics, int inline_dma, unsigned ranks)
{
    struct world_config cfg = {.nics = nics,
                               .mtu = 1500,
                               .dma_inline = inline_dma,
                               .seed = 3,
                               .nic = {.max_endpoints = 64,
                                       .max_peers = 64 * 1024,
                                       .netmem_bytes = 256u << 20,
                                       .max_sends = 32 * 1024,
                                       .max_predictors = 64}};
    struct world *w = world_init(&cfg);
    for (unsigned i = 0; i < ranks; i++)
        world_open_job(w, i % nics, i, i, RANKS, 7);
    for (unsigned i = 0; i < ranks; i++)
        for (unsigned j = 0; j < ranks; j++)
            world_introduce(w, i, j, j);
    world_run(w);
    return w;
}

static void forget_completions(struct world *w, unsigned ranks)
{
    for (unsigned i = 0; i < ranks; i++)
        while (world_take(w, i) != NULL)
            ;
}

/* Descriptors in bursts, as a daemon's turn takes them. */
static void post_burst(struct world *w, unsigned rank, const struct nof_desc *descs, unsigned n)
{
    const struct world_rank *r = world_rank(w, rank);
    unsigned room;
    while (n > 0) {
        while ((room = nof_nic_host_room(world_nic(w, r->nic), r->endpoint)) == 0)
            world_run_for(w, 1000);
        room = room < n ? room : n;
        room = room < 32 ? room : 32;
        nof_nic_host(world_nic(w, r->nic), world_now(w), r->endpoint, descs, room);
        world_run_for(w, 1000);
        descs += room;
        n -= room;
    }
}

/* Cards of nobody: endpoints of rank 1's NIC that were never opened. */
static void invent_peers(struct world *w, unsigned rank, unsigned n)
{
    struct nof_desc *d = calloc(n, sizeof *d);
    for (unsigned i = 0; i < n; i++) {
        struct nof_card card = world_rank(w, 1)->card;
        card.endpoint = (uint16_t)(1000 + i);
        d[i].opcode = NOF_DESC_PEER;
        d[i].peer = (int32_t)(1000 + i);
        memcpy(d[i].inline_data, &card, sizeof card);
    }
    post_burst(w, rank, d, n);
    free(d);
}

/* How many completions of this kind with this status there are; the rest is forgotten as well. */
static unsigned count_completions(struct world *w, unsigned rank, int opcode, int status)
{
    unsigned n = 0;
    for (const struct nof_comp *c; (c = world_take(w, rank)) != NULL;)
        n += c->opcode == opcode && c->status == status;
    return n;
}

struct program {
    struct nof_layout_head head;
    struct nof_layout_op op[NOF_LAYOUT_DEPTH_MAX];
};

/* `levels` loops around a block of one byte, each byte `apart` from the one before. */
static void open_layout(struct world *w, unsigned rank, uint32_t name, unsigned levels, int64_t apart)
{
    struct program p = {.head = {.magic = NOF_LAYOUT_MAGIC, .nops = levels + 1, .size = 1}};
    for (unsigned i = levels; i-- > 0;) {
        uint64_t count = i == 0 ? (1u << 20) >> (levels - 1) : 2;
        p.op[i] = (struct nof_layout_op){.opcode = NOF_LAYOUT_LOOP,
                                         .count = count,
                                         .block = levels - i,
                                         .stride = (int64_t)p.head.size * apart};
        p.head.size *= count;
    }
    p.op[levels] = (struct nof_layout_op){.opcode = NOF_LAYOUT_BLOCK, .count = 1, .block = 1, .stride = 2};
    p.head.extent = (int64_t)p.head.size * apart;
    uint32_t len = (uint32_t)(sizeof p.head + (levels + 1) * sizeof p.op[0]);
    memcpy(world_rank(w, rank)->program_area, &p, len);
    struct nof_desc d = {.opcode = NOF_DESC_LAYOUT, .cookie = 5, .len = len, .layout = name};
    world_post(w, rank, &d);
    world_run_for(w, 100000);
    assert_int_equal(world_expect(w, rank, NOF_COMP_LAYOUT, 5)->status, NOF_OK);
}

static struct nof_desc with_layout(uint8_t opcode, const struct world_rank *r, int peer, uint64_t len)
{
    return (struct nof_desc){.opcode = opcode,
                             .flags = NOF_DESC_F_LAYOUT,
                             .ctx = 1,
                             .cookie = opcode,
                             .peer = peer,
                             .len = len,
                             .addr = (uint64_t)(uintptr_t)r->arena,
                             .layout = 1};
}

static void one_layout(unsigned nics, int inline_dma, unsigned levels, int64_t apart)
{
    const uint64_t len = 1u << 20;
    char what[64];
    struct world *w = open_world(nics, inline_dma, 2);
    struct world_rank *from = world_rank(w, 0);
    struct world_rank *to = world_rank(w, 1);
    forget_completions(w, 2);
    for (unsigned i = 0; i < 2; i++)
        open_layout(w, i, 1, levels, apart);
    for (uint64_t i = 0; i < len; i++)
        from->arena[i * (uint64_t)apart] = (uint8_t)(i * 7 + i / 251);
    struct nof_desc send = with_layout(NOF_DESC_SEND, from, 1, len);
    struct nof_desc recv = with_layout(NOF_DESC_RECV, to, 0, len);
    begin_counting();
    world_post(w, 1, &recv);
    world_post(w, 0, &send);
    world_run(w);
    snprintf(what, sizeof what, "layout: %u levels, %d apart, %s, %s", levels, (int)apart,
             nics == 1 ? "loop-back" : "wire", inline_dma ? "inline" : "late");
    check_turns(what);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SEND, NOF_DESC_SEND)->status, NOF_OK);
    assert_int_equal(world_expect(w, 1, NOF_COMP_RECV, NOF_DESC_RECV)->status, NOF_OK);
    for (uint64_t i = 0; i < len; i++)
        assert_int_equal(to->arena[i * (uint64_t)apart], (uint8_t)(i * 7 + i / 251));
    world_fini(w);
}

static void layouts_of_small_pieces(void **state)
{
    (void)state;
    for (unsigned nics = 1; nics <= 2; nics++)
        for (int inline_dma = 0; inline_dma < 2; inline_dma++)
            for (unsigned levels = 1; levels < NOF_LAYOUT_DEPTH_MAX; levels += 3) {
                one_layout(nics, inline_dma, levels, 1);
                one_layout(nics, inline_dma, levels, 2);
            }
}

#define POSTED 6000u

static struct nof_desc receive(int peer, int tag, uint64_t cookie)
{
    return (struct nof_desc){
        .opcode = NOF_DESC_RECV, .ctx = 3, .cookie = cookie, .peer = peer, .tag = tag, .len = 0};
}

static void post_many(struct world *w, unsigned rank, int peer, unsigned n)
{
    struct nof_desc *d = calloc(n, sizeof *d);
    for (unsigned i = 0; i < n; i++)
        d[i] = receive(peer < 0 ? (int)(1000 + i) : peer, (int)i, i);
    post_burst(w, rank, d, n);
    free(d);
}

static void receives_and_cancels_beside_many_posted(void **state)
{
    (void)state;
    struct nof_desc d[32];
    for (unsigned own = 0; own < 2; own++) { /* the many are somebody else's, or its own */
        struct world *w = open_world(1, 1, 3);
        post_many(w, own ? 0 : 2, 1, POSTED);
        forget_completions(w, 3);
        begin_counting();
        for (unsigned round = 0; round < 20; round++) {
            for (unsigned i = 0; i < 32; i += 2) {
                d[i] = receive(1, 7, 100000 + i);
                d[i + 1] = (struct nof_desc){.opcode = NOF_DESC_CANCEL, .cookie = 100000 + i};
            }
            post_burst(w, 0, d, 32);
        }
        world_run(w);
        check_turns(own ? "RECV and CANCEL, its own are posted" : "RECV and CANCEL, others are posted");
        unsigned gone = 0;
        for (const struct nof_comp *c; (c = world_take(w, 0)) != NULL;) {
            assert_int_equal(c->opcode, NOF_COMP_CANCEL);
            assert_int_equal(c->status, NOF_OK);
            gone++;
        }
        assert_int_equal(gone, 20 * 16);
        world_fini(w);
    }
}

static void peers_that_come_and_die_beside_posted_receives(void **state)
{
    (void)state;
    struct world *w = open_world(1, 1, 3);
    post_many(w, 2, 1, POSTED);
    post_many(w, 0, -1, 1000); /* of ranks 1000 and on, which it does not know yet */
    forget_completions(w, 3);
    begin_counting();
    invent_peers(w, 0, 1000);
    world_run(w);
    check_turns("made-up peers beside posted receives");
    unsigned dead = 0;
    unsigned ended = 0;
    for (const struct nof_comp *c; (c = world_take(w, 0)) != NULL;) {
        dead += c->opcode == NOF_COMP_PEER_DEAD;
        if (c->opcode == NOF_COMP_RECV) {
            assert_int_equal(c->status, NOF_EPEERDEAD);
            ended++;
        }
    }
    assert_int_equal(dead, 1000);
    assert_int_equal(ended, 1000);
    world_fini(w);
}

static void flushes_beside_many_peers(void **state)
{
    (void)state;
    struct nof_desc d[32];
    for (unsigned own = 0; own < 2; own++) {
        struct world *w = open_world(1, 1, 3);
        invent_peers(w, own ? 0 : 2, 1500);
        forget_completions(w, 3);
        begin_counting();
        for (unsigned round = 0; round < 20; round++) {
            for (unsigned i = 0; i < 32; i++)
                d[i] = (struct nof_desc){.opcode = NOF_DESC_FLUSH, .cookie = i};
            post_burst(w, 0, d, 32);
        }
        world_run(w);
        check_turns(own ? "FLUSH, its own peers" : "FLUSH, others' peers");
        unsigned flushed = 0;
        while (world_take(w, 0) != NULL)
            flushed++;
        assert_int_equal(flushed, 20 * 32);
        world_fini(w);
    }
}

/* Everything that an endpoint can have thousands of. */
static void hoard(struct world *w, unsigned rank)
{
    struct nof_desc *d = calloc(POSTED, sizeof *d);
    post_many(w, rank, 1, POSTED);
    invent_peers(w, rank, 1000);
    for (unsigned i = 0; i < 1500; i++)
        d[i] = (struct nof_desc){.opcode = NOF_DESC_SEND, /* to itself, not received, and not eager */
                                 .flags = NOF_DESC_F_SYNC,
                                 .ctx = 9,
                                 .peer = (int32_t)rank,
                                 .cookie = i,
                                 .len = 100000,
                                 .addr = (uint64_t)(uintptr_t)world_rank(w, rank)->arena};
    post_burst(w, rank, d, 1500);
    for (unsigned i = 0; i < 1500; i++) {
        d[i].flags = NOF_DESC_F_INLINE;
        d[i].len = 8;
    }
    post_burst(w, 1, d, 1500); /* of rank 1, which it does not receive either */
    free(d);
}

static void an_endpoint_that_held_thousands_closes(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        struct world *w = open_world(1 + round, 1, 3);
        hoard(w, 0);
        world_run_for(w, 1000000);
        begin_counting();
        world_close(w, 0, round == 0 ? NOF_OK : NOF_EPEERDEAD);
        world_run_for(w, 10000000);
        check_turns("an endpoint with thousands of things closes");
        assert_int_equal(nof_nic_counters(world_nic(w, 0))[NOF_C_ENDPOINTS], round == 0 ? 2 : 1);
        world_open_job(w, 0, 0, 0, RANKS, 7);
        for (unsigned j = 0; j < 3; j++)
            world_introduce(w, 0, j, j);
        struct nof_desc d[2] = {
            receive(0, 7, 1),
            {.opcode = NOF_DESC_SEND, .flags = NOF_DESC_F_INLINE, .ctx = 3, .cookie = 2, .tag = 7}};
        forget_completions(w, 1);
        post_burst(w, 0, d, 2);
        world_run_for(w, 10000000);
        unsigned done = 0;
        for (const struct nof_comp *c; (c = world_take(w, 0)) != NULL;)
            done += (c->opcode == NOF_COMP_RECV || c->opcode == NOF_COMP_SEND) && c->status == NOF_OK;
        assert_int_equal(done, 2);
        world_fini(w);
    }
}

static struct nof_desc synchronous(int peer, uint64_t cookie, uint64_t len, const void *from)
{
    return (struct nof_desc){.opcode = NOF_DESC_SEND,
                             .flags = NOF_DESC_F_SYNC,
                             .ctx = 3,
                             .peer = peer,
                             .cookie = cookie,
                             .tag = (int32_t)cookie,
                             .len = len,
                             .addr = (uint64_t)(uintptr_t)from};
}

static void send_many(struct world *w, unsigned rank, int peer, unsigned n, uint64_t len)
{
    struct nof_desc *d = calloc(n, sizeof *d);
    for (unsigned i = 0; i < n; i++)
        d[i] = synchronous(peer, i, len, world_rank(w, rank)->arena);
    post_burst(w, rank, d, n);
    free(d);
}

#define MANY 8000u

/* Sends of rank 0 that wait for their match, and receives that wait for blocks. */
static void a_peer_dies_for_whom_thousands_wait(void **state)
{
    (void)state;
    for (unsigned nics = 1; nics <= 2; nics++) {
        struct world *w = open_world(nics, 0, 3);
        struct nof_desc *d = calloc(MANY, sizeof *d);
        world_rank(w, 0)->dma_stuck = 1;
        for (unsigned i = 0; i < MANY; i++) {
            d[i] = receive(1, (int)i, i);
            d[i].len = 1u << 20;
            d[i].addr = (uint64_t)(uintptr_t)world_rank(w, 0)->arena;
        }
        post_burst(w, 0, d, MANY);
        send_many(w, 1, 0, MANY, 1u << 20);
        send_many(w, 2, 1, MANY, 1u << 20);
        world_run_for(w, 5000000);
        forget_completions(w, 3);
        begin_counting();
        world_close(w, 1, NOF_EPEERDEAD);
        world_run_for(w, 50000000);
        check_turns(nics == 1 ? "a peer of thousands dies, loop-back" : "a peer of thousands dies, wire");
        unsigned parked = (unsigned)world_rank(w, 2)->counters[NOF_C_PARKED];
        assert_in_range(count_completions(w, 0, NOF_COMP_RECV, NOF_EPEERDEAD), MANY / 2,
                        MANY); /* some in DMA */
        assert_in_range(count_completions(w, 2, NOF_COMP_SEND, NOF_EPEERDEAD) + parked, MANY, 2 * MANY);
        free(d);
        world_fini(w);
    }
}

/* Two ranks whose NICs do not know each other yet. */
static struct world *open_strangers(void)
{
    struct world *w = open_world(2, 1, 0);
    for (unsigned i = 0; i < 2; i++)
        world_open_job(w, i, i, i, RANKS, 7);
    return w;
}

#define FLOWS 12000u

static void a_path_of_thousands_of_flows_ends(void **state)
{
    (void)state;
    struct world *w = open_strangers();
    world_cut(w, 1, true);
    invent_peers(w, 0, FLOWS);
    begin_counting();
    world_run_for(w, 10000000000ull);
    check_turns("a path with thousands of flows ends");
    assert_int_equal(count_completions(w, 0, NOF_COMP_PEER_DEAD, NOF_EPEERDEAD), FLOWS);
    world_fini(w);
}

/* As a rank does that hears of it: the last of its job goes while its flows leave the path, which is none any more. */
static void an_endpoint_closes_while_its_path_is_ending(void **state)
{
    (void)state;
    struct world *w = open_strangers();
    world_cut(w, 1, true);
    invent_peers(w, 0, 1000);
    forget_completions(w, 1);
    struct nof_nic *nic = world_nic(w, 0);
    const struct nof_comp *c;
    while ((c = world_take(w, 0)) == NULL) {
        uint64_t at = nof_nic_next_deadline(nic);
        assert_true(at != UINT64_MAX);
        if (at > world_now(w) + 1)
            world_run_for(w, at - world_now(w) - 1);
        nof_nic_poll(nic, at, 64); /* one turn, not all that follow at once */
    }
    assert_non_null(c);
    assert_int_equal(c->opcode, NOF_COMP_PEER_DEAD);
    begin_counting();
    world_close(w, 0, NOF_OK);
    world_run_for(w, 100000000);
    check_turns("an endpoint closes while its path is ending");
    world_fini(w);
}

/* The other side answers late, and then refuses all of them. */
static void a_path_of_thousands_of_flows_comes_up(void **state)
{
    (void)state;
    struct world *w = open_strangers();
    world_cut(w, 1, true);
    invent_peers(w, 0, FLOWS);
    begin_counting();
    world_cut(w, 1, false);
    world_run_for(w, 1000000000);
    check_turns("a path with thousands of flows comes up");
    assert_int_equal(count_completions(w, 0, NOF_COMP_PEER_DEAD, NOF_EPEERDEAD), FLOWS);
    world_fini(w);
}

/* Each of thousands of flows has a message to send, and the window is shut. */
static void thousands_of_flows_wait_for_one_window(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        struct world *w = open_world(2, 1, 2);
        struct nof_desc *d = calloc(FLOWS, sizeof *d);
        forget_completions(w, 2);
        world_cut(w, 1, true);
        begin_counting();
        invent_peers(w, 0, FLOWS);
        for (unsigned i = 0; i < FLOWS; i++)
            d[i] = (struct nof_desc){
                .opcode = NOF_DESC_SEND, .flags = NOF_DESC_F_INLINE, .peer = (int32_t)(1000 + i), .len = 8};
        post_burst(w, 0, d, FLOWS);
        if (round == 1)
            world_close(w, 0, NOF_OK);
        world_cut(w, 1, false);
        world_run_for(w, 1000000000);
        check_turns(round == 0 ? "thousands of flows wait for the window"
                               : "an endpoint closes whose flows wait for the window");
        if (round == 0)
            assert_int_equal(count_completions(w, 0, NOF_COMP_PEER_DEAD, NOF_EPEERDEAD), FLOWS);
        free(d);
        world_fini(w);
    }
}

#define PARKED 16000u

/* A sender whose host takes no completion, and whose NIC has no room for them, is called back by thousands of receives of
 * what it had parked. More than may wait are told to come again. */
static void thousands_of_grants_find_no_room(void **state)
{
    (void)state;
    unsigned n = 0;
    struct world *w = open_world(2, 1, 2);
    struct nof_desc *d = calloc(PARKED, sizeof *d);
    forget_completions(w, 2);
    post_many(w, 0, 1, POSTED);
    send_many(w, 0, 1, PARKED, 1u << 20);
    world_run_for(w, 100000000);
    for (const struct nof_comp *c; (c = world_take(w, 1)) != NULL;)
        if (c->opcode == NOF_COMP_SPILL)
            d[n++] = (struct nof_desc){.opcode = NOF_DESC_PULL,
                                       .ctx = c->ctx,
                                       .peer = c->peer,
                                       .len = c->len,
                                       .addr = (uint64_t)(uintptr_t)world_rank(w, 1)->arena,
                                       .handle = c->handle,
                                       .callsite = c->len};
    assert_in_range(n, PARKED / 2, PARKED);
    forget_completions(w, 1);
    world_rank(w, 0)->ring_slots = 1;
    begin_counting();
    post_burst(w, 1, d, n);
    world_run_for(w, 10000000);
    check_turns("grants that find no room");
    begin_counting();
    world_close(w, 0, NOF_EPEERDEAD);
    world_run_for(w, 100000000);
    check_turns("grants that found no room, and then their peer dies");
    unsigned waited = 0;
    unsigned refused = 0;
    for (const struct nof_comp *c; (c = world_take(w, 1)) != NULL;) {
        waited += c->opcode == NOF_COMP_RECV && c->status == NOF_EPEERDEAD;
        refused += c->opcode == NOF_COMP_RECV && c->status == NOF_EAGAIN;
    }
    assert_int_equal(waited + refused, n);
    assert_in_range(waited, PARKED / 4, n);
    free(d);
    world_fini(w);
}

static void thousands_of_probes_wait_for_one_message(void **state)
{
    (void)state;
    struct world *w = open_world(1, 1, 2);
    struct nof_desc *d = calloc(POSTED, sizeof *d);
    for (unsigned i = 0; i < POSTED; i++)
        d[i] = (struct nof_desc){
            .opcode = NOF_DESC_PROBE, .flags = NOF_DESC_F_WAIT, .ctx = 3, .cookie = i, .tag = 5};
    forget_completions(w, 2);
    begin_counting();
    post_burst(w, 1, d, POSTED);
    struct nof_desc send = {
        .opcode = NOF_DESC_SEND, .flags = NOF_DESC_F_INLINE, .ctx = 3, .peer = 1, .tag = 5};
    post_burst(w, 0, &send, 1);
    world_run(w);
    check_turns("a message that many probes wait for");
    unsigned found = 0;
    unsigned elsewhere = 0; /* with the host, from then on */
    for (const struct nof_comp *c; (c = world_take(w, 1)) != NULL;) {
        found += c->opcode == NOF_COMP_PROBE && c->status == NOF_OK;
        elsewhere += c->opcode == NOF_COMP_PROBE && c->status == NOF_ENOMATCH;
    }
    assert_int_equal(found + elsewhere, POSTED);
    assert_true(found > 0);
    free(d);
    world_fini(w);
}

#define PAIRS 8u /* ranks on each of two NICs: 64 flows each way */

static void send_numbers(struct world *w, unsigned from, unsigned to)
{
    struct nof_desc d = synchronous((int)to, 1, 1u << 20, world_rank(w, from)->arena);
    struct nof_desc r = receive((int)from, 1, 1);
    d.elem = NOF_ELEM_F64;
    r.len = d.len;
    r.addr = (uint64_t)(uintptr_t)world_rank(w, to)->arena + d.len;
    world_post(w, to, &r);
    world_post(w, from, &d);
    world_run(w);
}

/* Steps of a megabyte of doubles, sent by a flow that has got the last of `flows` predictors. */
static uint64_t steps_of_the_last(unsigned flows)
{
    struct world *w = open_world(2, 1, 2 * PAIRS);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(nof_nic_feature_set(world_nic(w, i), NOF_F_COMPRESSION, 1), NOF_OK);
    for (unsigned i = PAIRS * PAIRS - flows; i < PAIRS * PAIRS; i++)
        send_numbers(w, 2 * (i / PAIRS), 2 * (i % PAIRS) + 1);
    assert_int_equal(nof_nic_counters(world_nic(w, 0))[NOF_C_CODEC_PREDICTORS], flows);
    uint64_t before = all_steps;
    send_numbers(w, 2 * (PAIRS - 1), 2 * (PAIRS - 1) + 1);
    uint64_t n = all_steps - before;
    world_fini(w);
    return n;
}

static void a_flow_finds_its_predictor_beside_many_others(void **state)
{
    (void)state;
    uint64_t few = steps_of_the_last(1);
    uint64_t many = steps_of_the_last(PAIRS * PAIRS);
    if (getenv("T_VERBOSE") != NULL)
        fprintf(stderr, "a chunked megabyte: %llu steps with one predictor, %llu with 64\n",
                (unsigned long long)few, (unsigned long long)many);
    assert_in_range(many, few / 2, few + few / 100);
}

static void plain_traffic(void **state)
{
    (void)state;
    for (unsigned nics = 1; nics <= 2; nics++)
        for (int inline_dma = 0; inline_dma < 2; inline_dma++) {
            struct world *w = open_world(nics, inline_dma, 2);
            begin_counting();
            for (unsigned i = 0; i < 300; i++) {
                world_recv(w, 1, 0, (int)i, world_rank(w, 1)->arena, 1u << 20, i);
                world_send(w, 0, 1, (int)i, world_rank(w, 0)->arena, i % 3 ? 1000 : 1u << 20, i);
            }
            world_run(w);
            check_turns("plain");
            world_fini(w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_traffic),
        cmocka_unit_test(layouts_of_small_pieces),
        cmocka_unit_test(receives_and_cancels_beside_many_posted),
        cmocka_unit_test(peers_that_come_and_die_beside_posted_receives),
        cmocka_unit_test(flushes_beside_many_peers),
        cmocka_unit_test(an_endpoint_that_held_thousands_closes),
        cmocka_unit_test(a_peer_dies_for_whom_thousands_wait),
        cmocka_unit_test(a_path_of_thousands_of_flows_ends),
        cmocka_unit_test(an_endpoint_closes_while_its_path_is_ending),
        cmocka_unit_test(a_path_of_thousands_of_flows_comes_up),
        cmocka_unit_test(thousands_of_flows_wait_for_one_window),
        cmocka_unit_test(thousands_of_grants_find_no_room),
        cmocka_unit_test(thousands_of_probes_wait_for_one_message),
        cmocka_unit_test(a_flow_finds_its_predictor_beside_many_others),
    };
    if (getenv("T_ONLY"))
        cmocka_set_test_filter(getenv("T_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
