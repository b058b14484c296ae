/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Life and death: closing, dying peers, broken buffers, full rings, stuck DMA, jobs that must not
 * meet. Every operation ends; nothing else is harmed; no memory stays behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nic.h"
#include "nof/layout.h"
#include "world.h"

#define MS 1000000ull

static struct world *two(unsigned nics, int dma_inline, struct nof_nic_config nic)
{
    struct world_config cfg = {.nics = nics, .mtu = 1500, .dma_inline = dma_inline, .seed = 5, .nic = nic};
    struct world *w = world_init(&cfg);
    world_open(w, 0, 0, 4);
    world_open(w, nics - 1, 1, 4);
    world_run(w);
    return w;
}

static uint8_t *arena(struct world *w, unsigned rank)
{
    return world_rank(w, rank)->arena;
}

/* The completions that a rank has, by cookie; PEER_DEAD at index 0. */
static void collect(struct world *w, unsigned rank, int *status, unsigned n)
{
    const struct nof_comp *c;
    for (unsigned i = 0; i < n; i++)
        status[i] = 1;
    while ((c = world_take(w, rank)) != NULL) {
        unsigned i = c->opcode == NOF_COMP_PEER_DEAD ? 0 : (unsigned)c->cookie;
        assert_true(i < n);
        assert_int_equal(status[i], 1); /* once each */
        status[i] = c->status;
    }
}

static void nothing_left(struct world *w, unsigned nics)
{
    world_run_for(w, 3000 * MS);
    for (unsigned i = 0; i < nics; i++) {
        assert_true(nof_nic_quiet(world_nic(w, i)));
        assert_int_equal(nof_nic_counters(world_nic(w, i))[NOF_C_NETMEM_BYTES], 0);
    }
}

/* Everything that can wait for rank 1 does so at rank 0 (and one thing that does not). */
static void wait_for_rank_1(struct world *w)
{
    world_recv(w, 0, 1, 1, arena(w, 0), 100, 1);
    world_send(w, 0, 1, 2, arena(w, 0), 200000, 2); /* rendezvous that nobody grants */
    struct nof_desc d = {.opcode = NOF_DESC_SEND,
                         .flags = NOF_DESC_F_SYNC,
                         .ctx = 1,
                         .cookie = 3,
                         .peer = 1,
                         .len = 64,
                         .addr = (uint64_t)(uintptr_t)arena(w, 0)};
    world_post(w, 0, &d);
    d = (struct nof_desc){
        .opcode = NOF_DESC_PROBE, .flags = NOF_DESC_F_WAIT, .ctx = 1, .cookie = 4, .peer = 1};
    world_post(w, 0, &d);
    world_recv(w, 0, NOF_ANY_SOURCE, 9, arena(w, 0), 100, 5);
    world_run_for(w, 5 * MS);
}

static void check_ended(struct world *w, int why)
{
    int status[8];
    collect(w, 0, status, 8);
    assert_int_equal(status[0], why);
    for (unsigned i = 1; i <= 4; i++)
        assert_int_equal(status[i], why == NOF_OK ? NOF_EPEERDEAD : why);
    assert_int_equal(status[5], 1); /* any source: the library decides */
    world_send(w, 0, 1, 2, arena(w, 0), 8, 6);
    world_recv(w, 0, 1, 2, arena(w, 0), 8, 7);
    collect(w, 0, status, 8);
    assert_int_equal(status[6], why == NOF_OK ? NOF_EPEERDEAD : why);
    assert_int_equal(status[7], why == NOF_OK ? NOF_EPEERDEAD : why);
}

static void a_closed_peer_ends_what_waits_for_it(void **state)
{
    (void)state;
    static const int reasons[] = {NOF_OK, NOF_EPEERDEAD, NOF_EINVAL};
    for (unsigned nics = 1; nics <= 2; nics++)
        for (unsigned i = 0; i < 3; i++) {
            struct world *w = two(nics, 1, (struct nof_nic_config){0});
            wait_for_rank_1(w);
            world_close(w, 1, reasons[i]);
            world_run_for(w, 5 * MS);
            check_ended(w, reasons[i]);
            world_close(w, 0, NOF_OK);
            nothing_left(w, nics);
            world_fini(w);
        }
}

static void a_silent_nic_is_dead_within_a_second(void **state)
{
    (void)state;
    struct world *w = two(2, 1, (struct nof_nic_config){0});
    wait_for_rank_1(w);
    world_cut(w, 1, true);
    world_run_for(w, 850 * MS);
    check_ended(w, NOF_EPEERDEAD);
    world_close(w, 0, NOF_OK);
    world_close(w, 1, NOF_OK);
    nothing_left(w, 2);
    world_fini(w);
}

static void what_has_arrived_can_still_be_received(void **state)
{
    (void)state;
    struct world *w = two(2, 0, (struct nof_nic_config){0});
    memset(arena(w, 1), 0x3c, 10000);
    world_send(w, 1, 0, 1, arena(w, 1), 20, 1);
    world_send(w, 1, 0, 2, arena(w, 1), 900, 2);
    world_send(w, 1, 0, 3, arena(w, 1), 200000, 3);
    world_run_for(w, 20 * MS);
    world_close(w, 1, NOF_EPEERDEAD);
    world_run_for(w, 20 * MS);
    assert_int_equal(world_expect(w, 0, NOF_COMP_PEER_DEAD, 0)->status, NOF_EPEERDEAD);
    world_recv(w, 0, 1, 1, arena(w, 0), 10000, 1);
    world_recv(w, 0, 1, 2, arena(w, 0), 10000, 2);
    world_recv(w, 0, 1, 3, arena(w, 0), 10000, 3);
    world_run_for(w, 20 * MS);
    int status[4];
    const struct nof_comp *c = world_expect(w, 0, NOF_COMP_RECV, 1);
    assert_int_equal(c->inline_data[19], 0x3c);
    collect(w, 0, status, 4);
    assert_int_equal(status[2], NOF_OK);
    assert_int_equal(status[3], NOF_EPEERDEAD);
    world_close(w, 0, NOF_OK);
    nothing_left(w, 2);
    world_fini(w);
}

/* A buffer that the DMA engine cannot touch ends that message at both sides and nothing else. */
static void a_bad_buffer_ends_its_message(void **state)
{
    (void)state;
    static const uint64_t lens[] = {64, 5000, 16000, 200000};
    static uint8_t outside[8];
    for (unsigned mode = 0; mode < 8; mode++)
        for (unsigned k = 0; k < 4; k++) {
            struct world *w = two(mode & 4 ? 1 : 2, mode & 1, (struct nof_nic_config){0});
            int bad_send = (mode & 2) != 0;
            uint64_t len = lens[k];
            /* The end of a large buffer is outside: the failure comes when much has been sent. */
            const uint8_t *bad = k == 3 ? arena(w, bad_send ? 0 : 1) + WORLD_ARENA - 100000 : outside;
            memset(arena(w, 0), 0x11, 200000);
            world_recv(w, 1, 0, 7, arena(w, 1), 8, 1); /* opens credit for eager messages */
            world_send(w, 0, 1, 7, arena(w, 0), 8, 1);
            world_run_for(w, 5 * MS);
            world_expect(w, 0, NOF_COMP_SEND, 1);
            world_expect(w, 1, NOF_COMP_RECV, 1);
            world_recv(w, 1, 0, 1, bad_send ? arena(w, 1) : (uint8_t *)(uintptr_t)bad, len, 1);
            world_recv(w, 1, 0, 2, arena(w, 1), len, 2);
            world_send(w, 0, 1, 1, bad_send ? bad : arena(w, 0), len, 3);
            world_send(w, 0, 1, 2, arena(w, 0), len, 4);
            world_run_for(w, 200 * MS);
            int at0[5], at1[5];
            collect(w, 0, at0, 5);
            collect(w, 1, at1, 5);
            int staged = len <= 8192; /* then the receive's buffer is not needed */
            assert_int_equal(at1[1], bad_send || !staged ? NOF_EFAULT : NOF_OK);
            assert_int_equal(at1[2], NOF_OK);
            assert_int_equal(at0[4], NOF_OK);
            if (bad_send)
                assert_int_equal(at0[3], NOF_EFAULT);
            else
                assert_true(at0[3] == NOF_OK || (k == 3 && at0[3] == NOF_EFAULT));
            world_close(w, 0, NOF_OK);
            world_close(w, 1, NOF_OK);
            nothing_left(w, mode & 4 ? 1 : 2);
            world_fini(w);
        }
}

static void completions_wait_for_the_ring_in_order(void **state)
{
    (void)state;
    struct world *w = two(2, 1, (struct nof_nic_config){0});
    world_rank(w, 1)->ring_slots = 3;
    for (unsigned i = 0; i < 200; i++) {
        world_recv(w, 1, 0, 1, arena(w, 1), 64, 1000 + i);
        world_send(w, 0, 1, 1, arena(w, 0), 8, i);
    }
    for (unsigned i = 0; i < 200; i++) {
        world_run_for(w, 1 * MS);
        world_expect(w, 1, NOF_COMP_RECV, 1000 + i);
        world_expect(w, 0, NOF_COMP_SEND, i);
    }
    assert_int_equal(nof_nic_host_room(world_nic(w, 1), world_rank(w, 1)->endpoint) > 0, 1);
    world_close(w, 0, NOF_OK);
    world_close(w, 1, NOF_OK);
    nothing_left(w, 2);
    world_fini(w);
}

/* n messages and a FLUSH; flows count from first_seq. */
static void check_flush(unsigned n, uint32_t first_seq)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .seed = 5};
    struct world *w = world_init(&cfg);
    world_nic(w, 0)->first_seq = world_nic(w, 1)->first_seq = first_seq;
    world_open(w, 0, 0, 4);
    world_open(w, 1, 1, 4);
    world_run(w);
    world_cut(w, 1, true);
    for (unsigned i = 1; i <= n; i++)
        world_send(w, 0, 1, 1, arena(w, 0), 20, i);
    struct nof_desc d = {.opcode = NOF_DESC_FLUSH, .cookie = 6};
    world_post(w, 0, &d);
    world_run_for(w, 50 * MS);
    const struct nof_comp *c;
    while ((c = world_take(w, 0)) != NULL)
        assert_int_equal(c->opcode, NOF_COMP_SEND);
    world_cut(w, 1, false);
    world_run_for(w, 900 * MS);
    int flushed = 0;
    while ((c = world_take(w, 0)) != NULL)
        flushed |= c->opcode == NOF_COMP_FLUSH && c->cookie == 6;
    assert_true(flushed);
    world_close(w, 0, NOF_OK); /* what was flushed arrives although the sender is gone */
    world_run_for(w, 5 * MS);
    for (unsigned i = 1; i <= n; i++)
        world_recv(w, 1, 0, 1, arena(w, 1), 2000, i);
    world_run_for(w, 5 * MS);
    int status[8];
    collect(w, 1, status, 8);
    for (unsigned i = 1; i <= n; i++)
        assert_int_equal(status[i], NOF_OK);
    world_close(w, 1, NOF_OK);
    nothing_left(w, 2);
    world_fini(w);
}

static void flush_means_acknowledged(void **state)
{
    (void)state;
    check_flush(5, 0);
}

/* The number of the last message is the largest there is: what comes next is 0, as if nothing had been sent. */
static void flush_means_acknowledged_where_numbers_wrap(void **state)
{
    (void)state;
    check_flush(1, 0u - 1);
}

static void stuck_dma_costs_its_endpoint_only(void **state)
{
    (void)state;
    struct world_config cfg = {.nics = 2,
                               .mtu = 1500,
                               .seed = 2,
                               .nic = {.max_endpoints = 4, .netmem_bytes = 1u << 20, .max_sends = 64}};
    struct world *w = world_init(&cfg);
    for (unsigned i = 0; i < 4; i++)
        world_open(w, i % 2, i, 4);
    world_run(w);
    world_rank(w, 0)->dma_stuck = 1;
    world_rank(w, 1)->dma_stuck = 1;
    for (unsigned i = 0; i < 40; i++) {
        world_send(w, 0, 1, 1, arena(w, 0), 50000, i);
        world_recv(w, 1, 0, 1, arena(w, 1), 50000, i);
        world_send(w, 2, 1, 2, arena(w, 2), 50000, i);
        world_recv(w, 1, 2, 2, arena(w, 1), 50000, 100 + i);
    }
    world_run_for(w, 20 * MS);
    memset(arena(w, 2), 0x77, 300000);
    for (unsigned i = 0; i < 20; i++) {
        world_send(w, 2, 3, 1, arena(w, 2), 300000, 200 + i);
        world_recv(w, 3, 2, 1, arena(w, 3), 300000, i);
    }
    for (unsigned i = 0; i < 500; i++) {
        world_run_for(w, 1 * MS);
        const struct nof_comp *c = world_take(w, 2);
        if (c == NULL || c->opcode != NOF_COMP_GRANT)
            continue;
        struct nof_desc d = {.opcode = NOF_DESC_SEND,
                             .flags = NOF_DESC_F_GRANTED,
                             .ctx = 1,
                             .cookie = c->cookie,
                             .peer = c->peer,
                             .tag = 1,
                             .len = 300000,
                             .handle = c->handle,
                             .addr = (uint64_t)(uintptr_t)arena(w, 2)};
        world_post(w, 2, &d);
    }
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(world_expect(w, 3, NOF_COMP_RECV, i)->status, NOF_OK);
    assert_int_equal(arena(w, 3)[299999], 0x77);
    for (unsigned i = 0; i < 4; i++)
        world_close(w, i, NOF_EPEERDEAD);
    world_run_for(w, 5 * MS);
    world_fini(w); /* requests never ended: their memory is the zombie's */
}

static void pending_dma_outlives_its_endpoint(void **state)
{
    (void)state;
    for (unsigned at = 1; at < 60; at++) {
        struct world *w = two(2, 0, (struct nof_nic_config){0});
        world_recv(w, 1, 0, 1, arena(w, 1), 400000, 1);
        world_send(w, 0, 1, 1, arena(w, 0), 400000, 1);
        world_recv(w, 0, 1, 1, arena(w, 0) + 500000, 4000, 2);
        world_send(w, 1, 0, 1, arena(w, 1) + 500000, 4000, 2);
        world_run_for(w, at * 7000);
        world_close(w, at % 2, NOF_EPEERDEAD);
        world_run_for(w, 100 * MS);
        int status[3];
        collect(w, 1 - at % 2, status, 3);
        assert_true(status[1] != 1 && status[2] != 1);
        world_open(w, at % 2, 2, 4); /* the index is free again */
        world_run_for(w, 5 * MS);
        world_close(w, 1 - at % 2, NOF_OK);
        world_close(w, 2, NOF_OK);
        nothing_left(w, 2);
        world_fini(w);
    }
}

static void jobs_never_meet(void **state)
{
    (void)state;
    for (unsigned nics = 1; nics <= 2; nics++) {
        struct world_config cfg = {.nics = nics, .mtu = 1500, .dma_inline = 1, .seed = 5};
        struct world *w = world_init(&cfg);
        world_open_job(w, 0, 0, 0, 2, 7);
        world_open_job(w, nics - 1, 1, 1, 2, 8);
        world_introduce(w, 0, 1, 1); /* another job's card */
        world_introduce(w, 1, 0, 0);
        world_recv(w, 1, NOF_ANY_SOURCE, 1, arena(w, 1), 8, 1);
        world_send(w, 0, 1, 1, arena(w, 0), 8, 1);
        world_run_for(w, 4000 * MS);
        const struct nof_comp *c;
        int failed = 0;
        while ((c = world_take(w, 0)) != NULL)
            failed |= c->opcode == NOF_COMP_SEND && c->status < 0;
        assert_true(failed);
        while ((c = world_take(w, 1)) != NULL)
            assert_int_equal(c->opcode, NOF_COMP_PEER_DEAD);
        world_fini(w);
    }
}

static void stale_cards_reach_nobody(void **state)
{
    (void)state;
    for (unsigned nics = 1; nics <= 2; nics++) {
        struct world *w = two(nics, 1, (struct nof_nic_config){0});
        world_open_job(w, 0, 3, 3, 4, 7);
        world_run(w);
        struct nof_card stale = world_rank(w, 1)->card;
        world_close(w, 1, NOF_OK);
        world_run_for(w, 5 * MS);
        world_open_job(w, nics - 1, 2, 2, 4, 7);
        assert_int_equal(world_rank(w, 2)->card.endpoint, stale.endpoint);
        struct nof_desc d = {.opcode = NOF_DESC_PEER, .peer = 1};
        memcpy(d.inline_data, &stale, sizeof stale);
        world_post(w, 3, &d);
        world_send(w, 3, 1, 1, arena(w, 3), 8, 1);
        world_run_for(w, 20 * MS);
        int status[2];
        collect(w, 3, status, 2);
        assert_int_equal(status[1] == NOF_OK ? NOF_OK : status[1], status[1]);
        assert_int_equal(status[0], NOF_EPEERDEAD);
        assert_null(world_take(w, 2));
        world_fini(w);
    }
}

/* How many peers (then layouts) this rank gets before the NIC refuses; made-up cards of our own NIC. */
static unsigned hoard(struct world *w, unsigned rank, int opcode, unsigned most)
{
    struct world_rank *r = world_rank(w, rank);
    struct {
        struct nof_layout_head head;
        struct nof_layout_op op;
    } one = {{NOF_LAYOUT_MAGIC, 1, 8, 8}, {NOF_LAYOUT_BLOCK, 0, 1, 8, 0, 0}};
    memcpy(r->program_area, &one, sizeof one);
    for (unsigned i = 0; i < most; i++) {
        struct nof_desc d = {.opcode = (uint8_t)opcode, .cookie = i};
        if (opcode == NOF_DESC_PEER) {
            struct nof_card card = r->card;
            card.endpoint = (uint16_t)(1000 + i);
            d.peer = (int32_t)(100 + i);
            memcpy(d.inline_data, &card, sizeof card);
        } else {
            d.len = sizeof one;
            d.layout = i;
        }
        world_post(w, rank, &d);
        const struct nof_comp *c;
        while ((c = world_take(w, rank)) != NULL)
            if (c->opcode == opcode && c->status == NOF_ENOMEM)
                return i;
    }
    return most;
}

static void nobody_takes_what_others_count_on(void **state)
{
    (void)state;
    struct world_config cfg = {.nics = 1,
                               .mtu = 1500,
                               .dma_inline = 1,
                               .seed = 5,
                               .nic = {.max_endpoints = 4, .max_peers = 64, .max_layouts = 32}};
    for (int what = 0; what < 2; what++) {
        struct world *w = world_init(&cfg);
        int opcode = what ? NOF_DESC_LAYOUT : NOF_DESC_PEER;
        unsigned all = what ? 32 : 64;
        for (unsigned i = 0; i < 4; i++)
            world_open_job(w, 0, i, i, 1000, 7);
        assert_true(hoard(w, 0, opcode, all) < all);
        for (unsigned i = 1; i < 4; i++)
            assert_int_equal(hoard(w, i, opcode, all), all / 8);
        world_fini(w);
    }
}

/* By the gauge, one path, link and flow; by what the arena grows by, one flow of an endpoint that talks to
 * a NIC's 16, with its share of the pools. */
static void a_silent_peer_costs_512_bytes(void **state)
{
    (void)state;
    for (uint32_t window = 32; window <= 1024; window *= 2) {
        struct nof_nic_config cfg = {.window_frames = window};
        struct world *w = two(2, 1, cfg);
        uint64_t gauge = nof_nic_counters(world_nic(w, 0))[NOF_C_MEM_PEER_BYTES];
        assert_in_range(gauge, 300, 512);
        world_fini(w);
        cfg = (struct nof_nic_config){
            .nic_id = 1, .window_frames = window, .max_paths = 256, .max_peers = 4096};
        size_t before = nof_nic_mem_size(&cfg);
        cfg.max_paths *= 2;
        cfg.max_peers *= 2;
        assert_in_range((nof_nic_mem_size(&cfg) - before) / 4096, 200, 512);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_peer_ends_what_waits_for_it),
        cmocka_unit_test(a_silent_nic_is_dead_within_a_second),
        cmocka_unit_test(what_has_arrived_can_still_be_received),
        cmocka_unit_test(a_bad_buffer_ends_its_message),
        cmocka_unit_test(completions_wait_for_the_ring_in_order),
        cmocka_unit_test(flush_means_acknowledged),
        cmocka_unit_test(flush_means_acknowledged_where_numbers_wrap),
        cmocka_unit_test(stuck_dma_costs_its_endpoint_only),
        cmocka_unit_test(pending_dma_outlives_its_endpoint),
        cmocka_unit_test(jobs_never_meet),
        cmocka_unit_test(stale_cards_reach_nobody),
        cmocka_unit_test(nobody_takes_what_others_count_on),
        cmocka_unit_test(a_silent_peer_costs_512_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
