/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The facade: whom it listens to, what it says of itself, and when it wants to be called again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#include "nic.h"
#include "transport/state.h"

#define EPS 3u
#define MS 1000000ull

static struct world *w;
static struct nof_nic *nic;

static void begin(int dma_inline)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = dma_inline, .seed = 1};

    cfg.nic = (struct nof_nic_config){.max_endpoints = EPS, .max_peers = 64};
    w = world_init(&cfg);
    nic = world_nic(w, 0);
    world_open(w, 0, 0, 2);
    world_open(w, 1, 1, 2);
    world_run_for(w, 20 * MS);
    for (unsigned i = 0; i < 2; i++)
        while (world_take(w, i) != NULL)
            continue;
}

static int start(void **state)
{
    (void)state;
    begin(1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_fini(w);
    return 0;
}

static uint32_t endpoint(void)
{
    return world_rank(w, 0)->endpoint;
}

static void descriptors_are_taken_only_from_whom_there_is(void **state)
{
    struct nof_desc d = {.opcode = NOF_DESC_FLUSH, .cookie = 1};

    (void)state;
    assert_in_range(nof_nic_host_room(nic, endpoint()), 1, 256);
    assert_int_equal(nof_nic_host_room(nic, endpoint() + 1), 0); /* not attached */
    assert_int_equal(nof_nic_host_room(nic, EPS), 0);
    assert_int_equal(nof_nic_host_room(nic, UINT32_MAX), 0);
    nof_nic_host(nic, world_now(w), EPS, &d, 1);
    nof_nic_host(nic, world_now(w), UINT32_MAX, &d, 1);
    nof_nic_endpoint_close(nic, world_now(w), EPS, NOF_OK);
    assert_null(world_take(w, 0));
    world_close(w, 0, NOF_OK);
    assert_int_equal(nof_nic_host_room(nic, endpoint()), 0);
}

/* So that a full ring is pushed back on who does not read it. */
static void room_shrinks_with_what_is_under_way(void **state)
{
    unsigned sent = 0;

    (void)state;
    world_cut(w, 1, true);
    while (nof_nic_host_room(nic, endpoint()) > 0 && sent < 2 * nic->cfg.max_sends) {
        world_send(w, 0, 1, 1, world_rank(w, 0)->arena, 20000, sent++);
        assert_int_equal(world_rank(w, 0)->nbacklog, 0);
    }
    assert_in_range(sent, nic->cfg.max_sends / 2, nic->cfg.max_sends);
}

static void queues_of_an_endpoint_are_counted(void **state)
{
    uint32_t posted = 99, unexpected = 99;

    (void)state;
    nof_nic_endpoint_queues(nic, endpoint(), &posted, &unexpected);
    assert_int_equal(posted, 0);
    assert_int_equal(unexpected, 0);
    for (unsigned i = 0; i < 3; i++)
        world_recv(w, 0, 1, 1, world_rank(w, 0)->arena, 8, i);
    for (unsigned i = 0; i < 5; i++)
        world_send(w, 1, 0, 2, world_rank(w, 1)->arena, 8, i);
    world_run_for(w, MS);
    nof_nic_endpoint_queues(nic, endpoint(), &posted, &unexpected);
    assert_int_equal(posted, 3);
    assert_int_equal(unexpected, 5);
    nof_nic_endpoint_queues(nic, UINT32_MAX, &posted, &unexpected); /* no endpoint, no fault */
}

static void the_end_of_a_copy_that_is_not_under_way_is_nobodys(void **state)
{
    uint64_t tokens[] = {0, 1, UINT32_MAX, NOF_TOKEN_WRITE, NOF_TOKEN_WRITE | 5, UINT64_MAX, 1ull << 32};

    (void)state;
    end(state);
    begin(0);
    world_rank(w, 0)->dma_stuck = 1;
    world_send(w, 0, 1, 1, world_rank(w, 0)->arena, 3000, 1);
    world_run_for(w, MS);
    assert_int_equal(nic->reads.used, 1);
    for (unsigned i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        if (tokens[i] == nof_handle(0, nof_read_at(nic, 0)->obj.gen))
            tokens[i] += 1ull << 32; /* another life of it */
        nof_nic_dma_done(nic, world_now(w), tokens[i], NOF_OK);
    }
    assert_int_equal(nic->reads.used, 1);
    assert_int_equal(nic->eps[endpoint()].dma_pending, 1);
    world_dma_give_up(w);
    world_run_for(w, 50 * MS);
    assert_int_equal(nic->reads.used, 0);
}

static void quiet_is_when_only_silence_is_left(void **state)
{
    (void)state;
    assert_true(nof_nic_quiet(nic));
    world_recv(w, 0, 1, 1, world_rank(w, 0)->arena, 8, 1);
    assert_true(nof_nic_quiet(nic)); /* it may wait for ever */
    nic->ctls.used++; /* a control frame that found no room */
    assert_false(nof_nic_quiet(nic));
    nic->ctls.used--;
    world_cut(w, 1, true);
    world_send(w, 0, 1, 1, world_rank(w, 0)->arena, 8, 1);
    assert_false(nof_nic_quiet(nic)); /* nothing has acknowledged it */
    world_cut(w, 1, false);
    world_run_for(w, 50 * MS);
    assert_true(nof_nic_quiet(nic));
    world_send(w, 0, 1, 1, world_rank(w, 0)->arena, 50000, 2);
    world_run_for(w, 50 * MS);
    assert_false(nof_nic_quiet(nic)); /* it waits for a peer */
}

static void who_has_more_to_do_wants_to_be_called_at_once(void **state)
{
    uint64_t now = world_now(w);

    (void)state;
    assert_true(nof_nic_next_deadline(nic) > now);
    nic->chores = NOF_NIL;
    nic->later_flows = 0;
    assert_true(nof_nic_next_deadline(nic) <= now);
    nic->later_flows = NOF_NIL;
    nic->retry_ns = now + 5;
    assert_int_equal(nof_nic_next_deadline(nic), now + 5);
    nic->retry_ns = 0;
}

static void memory_of_a_nic_is_told(void **state)
{
    (void)state;
    assert_true(nof_nic_counters(nic)[NOF_C_MEM_BYTES] > 0);
    assert_true(nof_nic_counters(nic)[NOF_C_MEM_ENDPOINT_BYTES] >= sizeof(struct nof_endpoint));
    assert_in_range(nof_nic_counters(nic)[NOF_C_MEM_PEER_BYTES], 1, 512);
}

static void network_memory_in_use_is_told(void **state)
{
    (void)state;
    assert_int_equal(nof_nic_counters(nic)[NOF_C_NETMEM_BYTES], 0);
    world_send(w, 1, 0, 2, world_rank(w, 1)->arena, 3000, 1);
    world_run_for(w, MS);
    assert_true(nof_nic_counters(nic)[NOF_C_NETMEM_BYTES] >= 3000);
    world_recv(w, 0, 1, 2, world_rank(w, 0)->arena, 3000, 1);
    world_run_for(w, MS);
    assert_int_equal(nof_nic_counters(nic)[NOF_C_NETMEM_BYTES], 0);
    assert_true(nof_nic_counters(nic)[NOF_C_NETMEM_PEAK_BYTES] >= 3000);
}

static void a_link_that_stays_down_ends_its_paths(void **state)
{
    const struct nof_comp *c;

    (void)state;
    world_recv(w, 0, 1, 1, world_rank(w, 0)->arena, 8, 1);
    nof_nic_link(nic, world_now(w), false);
    world_cut(w, 0, true);
    world_run_for(w, 300 * MS);
    assert_null(world_take(w, 0)); /* a shorter flap heals */
    world_run_for(w, 400 * MS); /* two thirds of 800 ms have passed */
    c = world_take(w, 0);
    assert_non_null(c);
    assert_int_equal(c->status, NOF_ELINKDOWN);
}

static void what_leaves_is_paced_to_the_rate_that_the_link_has_now(void **state)
{
    (void)state;
    assert_int_equal(nic->transport->pacer.frame_ns, 0); /* unknown */
    nof_nic_rate(nic, world_now(w), 100000000);
    assert_int_equal(nic->transport->pacer.frame_ns, (nic->cfg.mtu_bytes + 14u + NOF_ETH_EXTRA_BYTES) * 80u);
    assert_true(nic->grants.min_bytes < 1u << 20); /* compression pays at some length */
    assert_true(nic->clearance.budget_bytes < 1u << 20); /* and what is cleared follows the link */
    nof_nic_rate(nic, world_now(w), 0);
    assert_int_equal(nic->transport->pacer.frame_ns, 0);
}

static void in_the_end_no_frame_is_kept(void **state)
{
    (void)state;
    world_cut(w, 1, true);
    for (unsigned i = 0; i < 50; i++)
        world_send(w, 0, 1, 1, world_rank(w, 0)->arena, 3000, i);
    world_run_for(w, MS);
    assert_true(world_frames(w) > 0); /* world_fini() checks that they come back */
    end(state);
    begin(0);
    world_rank(w, 0)->dma_stuck = 1; /* and those that are being filled */
    world_send(w, 0, 1, 1, world_rank(w, 0)->arena, 3000, 1);
    world_run_for(w, MS);
    assert_int_equal(nic->reads.used, 1);
    assert_true(world_frames(w) > 0);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(descriptors_are_taken_only_from_whom_there_is),
        EACH(room_shrinks_with_what_is_under_way),
        EACH(queues_of_an_endpoint_are_counted),
        EACH(the_end_of_a_copy_that_is_not_under_way_is_nobodys),
        EACH(quiet_is_when_only_silence_is_left),
        EACH(who_has_more_to_do_wants_to_be_called_at_once),
        EACH(memory_of_a_nic_is_told),
        EACH(network_memory_in_use_is_told),
        EACH(a_link_that_stays_down_ends_its_paths),
        EACH(what_leaves_is_paced_to_the_rate_that_the_link_has_now),
        EACH(in_the_end_no_frame_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
