/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cancel of sends: taken back wherever nobody has matched the message, too late wherever somebody
 * has, and an answer also when the receiver never gives one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#define MS 1000000ull
#define LARGE 100000u /* a rendezvous */

static struct world *open_pair(const struct world_config *cfg, unsigned nic_b)
{
    struct world *w = world_init(cfg);
    world_open(w, 0, 0, 2);
    world_open(w, nic_b, 1, 2);
    world_run(w);
    return w;
}

static void send(struct world *w, int tag, uint64_t len, unsigned flags, uint64_t cookie)
{
    struct nof_desc d = {
        .opcode = NOF_DESC_SEND, .flags = (uint8_t)flags, .ctx = 1, .cookie = cookie, .peer = 1};
    d.tag = tag;
    d.len = len;
    d.addr = (uint64_t)(uintptr_t)world_rank(w, 0)->arena;
    world_post(w, 0, &d);
}

static void cancel(struct world *w, int tag, uint64_t cookie)
{
    struct nof_desc d = {.opcode = NOF_DESC_SEND_CANCEL, .ctx = 1, .cookie = cookie, .peer = 1, .tag = tag};
    world_post(w, 0, &d);
}

static void expect_answer(struct world *w, uint64_t cookie, int status)
{
    assert_int_equal(world_expect(w, 0, NOF_COMP_SEND_CANCEL, cookie)->status, status);
}

static void receive(struct world *w, int tag, uint64_t len, uint64_t cookie)
{
    world_recv(w, 1, 0, tag, world_rank(w, 1)->arena, len, cookie);
}

static void expect_receive(struct world *w, uint64_t len, uint64_t cookie)
{
    const struct nof_comp *c = world_expect(w, 1, NOF_COMP_RECV, cookie);
    assert_int_equal(c->status, NOF_OK);
    assert_int_equal(c->len, len);
    (void)world_payload(w, 1, c, world_rank(w, 1)->arena);
}

/* Nothing was left behind: no payload, and as much credit as before. */
static void expect_clean(struct world *w, unsigned nic_b)
{
    world_run_for(w, 100 * MS);
    assert_null(world_take(w, 0));
    assert_null(world_take(w, 1));
    assert_true(nof_nic_quiet(world_nic(w, 0)));
    assert_true(nof_nic_quiet(world_nic(w, nic_b)));
    assert_int_equal(nof_nic_counters(world_nic(w, nic_b))[NOF_C_NETMEM_BYTES], 0);
}

static const struct {
    uint64_t len;
    unsigned flags;
} kinds[] = {{LARGE, 0},
             {LARGE, NOF_DESC_F_SYNC},
             {0, NOF_DESC_F_SYNC},
             {20, NOF_DESC_F_SYNC},
             {500, NOF_DESC_F_SYNC},
             {8000, NOF_DESC_F_SYNC}};
#define NKINDS (sizeof kinds / sizeof kinds[0])

/* Every kind that waits for its match, cancelled before and after it; more often than there is credit. */
static void take_back(const struct world_config *cfg, unsigned nic_b)
{
    struct world *w = open_pair(cfg, nic_b);
    for (unsigned i = 0; i < 40 * NKINDS; i++) {
        uint64_t len = kinds[i % NKINDS].len;
        unsigned flags = kinds[i % NKINDS].flags;
        send(w, 5, len, flags, 1000 + i);
        if (i % 2)
            world_run_for(w, 3 * MS);
        cancel(w, 5, 1000 + i);
        world_run(w);
        expect_answer(w, 1000 + i, NOF_OK);
    }
    send(w, 5, 7000, NOF_DESC_F_SYNC, 1);
    world_run_for(w, 3 * MS);
    receive(w, 5, LARGE, 2); /* gets the one that was not cancelled */
    world_run(w);
    expect_receive(w, 7000, 2);
    (void)world_expect(w, 0, NOF_COMP_SEND, 1);
    for (unsigned i = 0; i < NKINDS; i++) {
        receive(w, 5, LARGE, 20 + i);
        send(w, 5, kinds[i].len, kinds[i].flags, 40 + i);
        world_run(w);
        expect_receive(w, kinds[i].len, 20 + i);
        assert_int_equal(world_expect(w, 0, NOF_COMP_SEND, 40 + i)->status, NOF_OK);
        cancel(w, 5, 40 + i);
        world_run(w);
        expect_answer(w, 40 + i, NOF_ENOMATCH);
    }
    expect_clean(w, nic_b);
    assert_int_equal(nof_nic_counters(world_nic(w, 0))[NOF_C_SENDS_CANCELLED], 40 * NKINDS);
    world_fini(w);
}

static void unmatched_sends_are_taken_back(void **state)
{
    (void)state;
    for (int dma_inline = 0; dma_inline < 2; dma_inline++) {
        struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = dma_inline, .seed = 5};
        take_back(&cfg, true);
        cfg.loss_percent = 5;
        take_back(&cfg, true);
        cfg.nics = 1;
        cfg.loss_percent = 0;
        take_back(&cfg, false);
    }
}

/* Cancel at every moment of a send whose receive is posted at every moment: one side's answer is the other's. */
static void both_sides_agree(void **state)
{
    (void)state;
    struct world_config cfg = {.nics = 2, .mtu = 1500, .seed = 7};
    unsigned taken = 0;
    for (uint64_t at = 0; at < 40; at++) {
        struct world *w = open_pair(&cfg, 1);
        send(w, 5, at % 2 ? LARGE : 8000, NOF_DESC_F_SYNC, 1);
        world_run_for(w, at * 4000);
        cancel(w, 5, 1);
        world_run_for(w, (40 - at) * 1000);
        receive(w, 5, LARGE, 2);
        world_run_for(w, 20 * MS);
        const struct nof_comp *c = world_take(w, 0);
        assert_non_null(c);
        if (c->opcode == NOF_COMP_SEND)
            c = world_take(w, 0);
        assert_int_equal(c->opcode, NOF_COMP_SEND_CANCEL);
        if (c->status == NOF_OK) {
            taken++;
            assert_null(world_take(w, 0));
            assert_null(world_take(w, 1));
        } else {
            assert_int_equal(c->status, NOF_ENOMATCH);
            expect_receive(w, at % 2 ? LARGE : 8000, 2);
        }
        world_fini(w);
    }
    assert_true(taken > 0);
}

static void a_matched_probe_is_too_late(void **state)
{
    (void)state;
    struct world_config cfg = {.nics = 2, .mtu = 1500, .seed = 3};
    struct world *w = open_pair(&cfg, 1);
    send(w, 5, LARGE, 0, 1);
    world_run_for(w, 3 * MS);
    struct nof_desc d = {.opcode = NOF_DESC_MPROBE, .ctx = 1, .cookie = 2, .tag = 5};
    world_post(w, 1, &d);
    world_run_for(w, 3 * MS);
    uint64_t handle = world_expect(w, 1, NOF_COMP_MPROBE, 2)->handle;
    cancel(w, 5, 1);
    world_run_for(w, 3 * MS);
    expect_answer(w, 1, NOF_ENOMATCH);
    d = (struct nof_desc){.opcode = NOF_DESC_MRECV, .ctx = 1, .cookie = 3, .tag = 5};
    d.len = LARGE;
    d.addr = (uint64_t)(uintptr_t)world_rank(w, 1)->arena;
    d.handle = handle;
    world_post(w, 1, &d);
    world_run(w);
    expect_receive(w, LARGE, 3);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SEND, 1)->status, NOF_OK);
    cancel(w, 5, 77); /* never heard of */
    world_run(w);
    expect_answer(w, 77, NOF_ENOMATCH);
    expect_clean(w, 1);
    world_fini(w);
}

/* The window is shut: what waits behind it goes, in the middle and at the end, and the rest flows. */
static void queued_sends_go_at_once(void **state)
{
    (void)state;
    struct world_config cfg = {.nics = 2, .mtu = 1500, .seed = 3, .nic = {.window_frames = 32}};
    struct world *w = open_pair(&cfg, 1);
    world_cut(w, 1, true); /* no answer is needed */
    for (unsigned i = 0; i < 60; i++)
        send(w, 5, LARGE + i, 0, 100 + i);
    world_run_for(w, MS);
    for (unsigned i = 59; i >= 50; i -= 2)
        cancel(w, 5, 100 + i);
    world_run_for(w, MS / 10);
    for (unsigned i = 59; i >= 50; i -= 2)
        expect_answer(w, 100 + i, NOF_OK);
    world_cut(w, 1, false);
    for (unsigned i = 0; i < 60; i++) {
        if (i >= 50 && i % 2)
            continue;
        receive(w, 5, 2 * LARGE, 1);
        world_run_for(w, 20 * MS);
        expect_receive(w, LARGE + i, 1);
        assert_int_equal(world_expect(w, 0, NOF_COMP_SEND, 100 + i)->status, NOF_OK);
    }
    send(w, 5, LARGE, 0, 1);
    world_run_for(w, 3 * MS);
    cancel(w, 5, 1);
    world_run(w);
    expect_answer(w, 1, NOF_OK);
    expect_clean(w, 1);
    world_fini(w);
}

/* The host keeps what the NIC has no room for: the NIC knows nothing of it and asks all the same. */
static void parked_sends_are_taken_back(void **state)
{
    (void)state;
    struct world_config cfg = {
        .nics = 2, .mtu = 1500, .seed = 3, .nic = {.max_sends = 8, .max_peers = 64, .max_endpoints = 1}};
    struct world *w = open_pair(&cfg, 1);
    for (unsigned i = 0; i < 6; i++)
        send(w, 5, LARGE + i, 0, 100 + i);
    world_run_for(w, 3 * MS);
    unsigned parked = 0;
    for (const struct nof_comp *c; (c = world_take(w, 0)) != NULL; parked++)
        assert_int_equal(c->opcode, NOF_COMP_PARKED);
    assert_in_range(parked, 1, 5);
    for (unsigned i = 0; i < 6; i++)
        cancel(w, 5, 100 + i);
    world_run(w);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(world_take(w, 0)->status, NOF_OK);
    receive(w, 5, 2 * LARGE, 1);
    send(w, 5, 10, 0, 2);
    world_run(w);
    expect_receive(w, 10, 1);
    (void)world_expect(w, 0, NOF_COMP_SEND, 2);
    expect_clean(w, 1);
    world_fini(w);
}

static void revoked(struct world *w, const struct nof_comp *asked, int gone, uint64_t handle)
{
    struct nof_desc d = {.opcode = NOF_DESC_REVOKED, .cookie = asked->cookie, .peer = asked->peer};
    d.flags = gone ? NOF_DESC_F_GONE : 0;
    d.handle = handle;
    world_post(w, 1, &d);
}

/* Spilled: the library behind the receiver has the word, whatever holds the payload. */
static void spilled_sends_ask_the_library(void **state)
{
    (void)state;
    struct world_config cfg = {.nics = 2,
                               .mtu = 1500,
                               .seed = 3,
                               .staging_bytes = SIZE_MAX,
                               .nic = {.max_envelopes = 8, .max_peers = 16, .max_endpoints = 2}};
    struct world *w = open_pair(&cfg, 1);
    uint64_t handle[64], sender[64];
    unsigned spilled = 0;
    for (unsigned i = 0; i < 20; i++)
        send(w, 5, i % 2 ? LARGE : 500, NOF_DESC_F_SYNC, 100 + i);
    world_run_for(w, 20 * MS);
    for (const struct nof_comp *c; (c = world_take(w, 1)) != NULL; spilled++) {
        assert_int_equal(c->opcode, NOF_COMP_SPILL);
        handle[spilled] = c->handle;
        sender[spilled] = c->sender_handle;
    }
    assert_in_range(spilled, 4, 20);
    unsigned first = 20 - spilled; /* those before are in the store */
    for (unsigned i = 0; i < 20; i++)
        cancel(w, 5, 100 + i);
    world_run_for(w, 20 * MS);
    for (unsigned i = 0; i < first; i++)
        expect_answer(w, 100 + i, NOF_OK);
    assert_null(world_take(w, 0)); /* the others wait for the library */
    for (unsigned i = 0; i < spilled; i++) {
        const struct nof_comp *c = world_take(w, 1);
        assert_non_null(c);
        assert_int_equal(c->opcode, NOF_COMP_REVOKE);
        assert_int_equal(c->handle, sender[i]);
        revoked(w, c, i != 1, handle[i]);
    }
    world_run_for(w, 20 * MS);
    for (unsigned i = 0; i < spilled; i++)
        expect_answer(w, 100 + first + i, i == 1 ? NOF_ENOMATCH : NOF_OK);
    struct nof_desc d = {.opcode = NOF_DESC_PULL, .ctx = 1, .cookie = 3, .tag = 5};
    d.len = LARGE;
    d.addr = (uint64_t)(uintptr_t)world_rank(w, 1)->arena;
    d.handle = handle[1];
    d.callsite = LARGE;
    world_post(w, 1, &d);
    world_run(w);
    (void)world_payload(w, 1, world_expect(w, 1, NOF_COMP_RECV, 3), world_rank(w, 1)->arena);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SEND, 100 + first + 1)->status, NOF_OK);
    expect_clean(w, 1);
    d = (struct nof_desc){.opcode = NOF_DESC_REVOKED}; /* nobody has asked */
    world_post(w, 1, &d);
    world_run(w);
    assert_int_equal(world_rank(w, 1)->failed, NOF_EINVAL);
    world_fini(w);
}

static void the_death_of_the_peer_is_an_answer(void **state)
{
    (void)state;
    struct world_config cfg = {.nics = 2, .mtu = 1500, .seed = 3};
    struct world *w = open_pair(&cfg, 1);
    send(w, 5, LARGE, 0, 1);
    world_run_for(w, 3 * MS);
    world_cut(w, 1, true);
    cancel(w, 5, 1);
    world_run_for(w, 3000 * MS);
    unsigned seen = 0;
    for (const struct nof_comp *c; (c = world_take(w, 0)) != NULL;)
        seen += c->opcode == NOF_COMP_SEND || c->opcode == NOF_COMP_SEND_CANCEL;
    assert_int_equal(seen, 2);
    cancel(w, 5, 1);
    world_run(w);
    expect_answer(w, 1, NOF_ENOMATCH);
    world_fini(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unmatched_sends_are_taken_back),     cmocka_unit_test(both_sides_agree),
        cmocka_unit_test(a_matched_probe_is_too_late),        cmocka_unit_test(queued_sends_go_at_once),
        cmocka_unit_test(parked_sends_are_taken_back),        cmocka_unit_test(spilled_sends_ask_the_library),
        cmocka_unit_test(the_death_of_the_peer_is_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
