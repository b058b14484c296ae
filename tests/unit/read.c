/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads: payload leaves in order whatever order the host copies in, so many requests at a time, and no frame stays with
 * one that nobody needs any more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"

#include "msg/read.h"

static struct pair p;

static int start(void **state)
{
    (void)state;
    p = pair_begin(0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_fini(p.w);
    return 0;
}

static void send_one(uint64_t len, uint64_t cookie)
{
    world_send(p.w, 0, 1, 5, p.out + cookie * 1000, len, cookie);
}

static void come_in_order(unsigned n, uint64_t len)
{
    for (uint64_t i = 0; i < n; i++) {
        const struct nof_comp *c;

        world_recv(p.w, 1, 0, 5, p.in, len, i);
        world_run_for(p.w, 20 * MS);
        c = world_expect(p.w, 1, NOF_COMP_RECV, i);
        assert_int_equal(c->status, NOF_OK);
        assert_memory_equal(world_payload(p.w, 1, c, p.in), p.out + i * 1000, len);
    }
}

static void nothing_is_left(void)
{
    assert_int_equal(p.theirs->reads.used, 0);
    assert_int_equal(p.theirs->reads_pending, 0);
    assert_int_equal(p.their_ep->reads, 0);
    assert_int_equal(p.their_ep->dma_pending, 0);
    assert_int_equal(p.their_peer->readq, NOF_NIL);
}

static void an_endpoint_has_so_many_under_way_and_a_flow_not_all_of_them(void **state)
{
    uint32_t wire_reads;

    (void)state;
    world_rank(p.w, 0)->dma_stuck = 1;
    for (uint64_t i = 0; i < 10; i++)
        send_one(900, i);
    world_run_for(p.w, MS);
    assert_int_equal(p.theirs->reads.used, p.their_ep->reads);
    assert_in_range(p.their_ep->reads, NOF_READS_PER_FLOW, NOF_READS_PER_EP - 1);
    wire_reads = p.theirs->reads_pending;
    assert_int_equal(wire_reads, p.their_ep->reads);
    for (uint64_t i = 0; i < 10; i++) {
        struct nof_desc d = {.opcode = NOF_DESC_SEND,
                             .ctx = 1,
                             .cookie = 100 + i,
                             .peer = 0, /* itself: another flow */
                             .tag = 5,
                             .len = 900,
                             .addr = (uint64_t)(uintptr_t)p.out};

        world_post(p.w, 0, &d);
    }
    world_run_for(p.w, MS);
    assert_int_equal(p.their_ep->reads, NOF_READS_PER_EP);
    assert_int_equal(p.theirs->reads_pending,
                     wire_reads); /* the wire does not wait for what a rank sends itself */
    world_dma_give_up(p.w);
    world_rank(p.w, 0)->dma_stuck = 0;
    world_run_for(p.w, 50 * MS);
    nothing_is_left();
}

static void what_is_copied_in_any_order_leaves_in_order(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 8; i++)
        send_one(900, i); /* the stand-in copies after 3 to 23 us */
    world_run_for(p.w, 20 * MS);
    come_in_order(8, 900);
    nothing_is_left();
}

static void a_message_of_many_frames_is_one_request(void **state)
{
    uint64_t before = world_rank(p.w, 0)->counters[NOF_C_DMA_READS];

    (void)state;
    send_one(14000, 0);
    world_run_for(p.w, 20 * MS);
    assert_int_equal(world_rank(p.w, 0)->counters[NOF_C_DMA_READS] - before, 1);
    assert_true(world_rank(p.w, 0)->counters[NOF_C_TX_FRAMES] >= 10);
    come_in_order(1, 14000);
    nothing_is_left();
}

static void what_cannot_be_read_fails_alone_and_what_follows_comes(void **state)
{
    const struct nof_comp *c;

    (void)state;
    world_send(p.w, 0, 1, 5, (void *)16, 900, 50);
    send_one(900, 0);
    world_run_for(p.w, 20 * MS);
    for (unsigned i = 0; i < 2; i++) { /* in the order of their copies */
        c = world_take(p.w, 0);
        assert_non_null(c);
        assert_int_equal(c->status, c->cookie == 50 ? NOF_EFAULT : NOF_OK);
    }
    world_recv(p.w, 1, 0, 5, p.in, 1000, 50);
    world_run_for(p.w, MS);
    c = world_expect(p.w, 1, NOF_COMP_RECV, 50);
    assert_int_equal(c->status, NOF_EFAULT);
    come_in_order(1, 900);
    nothing_is_left();
}

/* Whoever gets a part of its message, posted or late, small or large. */
static void a_process_that_is_gone_is_told_from_a_buffer_that_is_not_there(void **state)
{
    static const uint64_t lens[] = {900, 14000, 60000, 500000};

    (void)state;
    for (unsigned i = 0; i < 16; i++) {
        uint64_t len = lens[i / 4];
        if (i % 2)
            world_recv(p.w, 1, 0, 5, p.in, len, i);
        world_fault(p.w, &(struct world_fault){.ops = 1u << WORLD_READ,
                                               .at = i / 2 % 2 == 1 && len > 100000 ? 2 : 1,
                                               .count = 1,
                                               .how = i / 2 % 2 ? WORLD_GONE : WORLD_LATE});
        send_one(len, 40);
        world_run_for(p.w, 20 * MS);
        if (i % 2 == 0)
            world_recv(p.w, 1, 0, 5, p.in, len, i);
        world_run_for(p.w, 20 * MS);
        assert_int_equal(world_expect(p.w, 1, NOF_COMP_RECV, i)->status,
                         i / 2 % 2 ? NOF_EPEERDEAD : NOF_EFAULT);
        (void)world_expect(p.w, 0, NOF_COMP_SEND, 40);
    }
    nothing_is_left();
}

static void a_host_or_a_port_that_has_nothing_now_is_asked_again(void **state)
{
    static const unsigned ops[] = {1u << WORLD_READ, 1u << WORLD_ALLOC};

    for (unsigned i = 0; i < 2; i++) {
        if (i > 0) {
            end(state);
            start(state);
        }
        world_fault(p.w, &(struct world_fault){.ops = ops[i], .at = 1, .count = 3});
        send_one(900, 0);
        assert_true(world_counted(p.w) >= 1);
        assert_int_equal(p.their_ep->dma_pending, 0);
        world_run_for(p.w, 20 * MS);
        come_in_order(1, 900);
        nothing_is_left();
    }
}

/* world_fini() checks that its frames come back. */
static void of_a_flow_that_died_nothing_leaves_and_no_frame_stays(void **state)
{
    uint64_t sent;

    (void)state;
    world_rank(p.w, 0)->dma_stuck = 1;
    send_one(900, 0);
    send_one(900, 1);
    world_run_for(p.w, MS);
    assert_int_equal(p.theirs->reads.used, 2);
    sent = world_rank(p.w, 0)->counters[NOF_C_TX_FRAMES];
    nof_read_orphan(p.theirs, p.their_peer);
    assert_int_equal(p.their_peer->readq, NOF_NIL);
    assert_int_equal(p.theirs->reads.used, 2); /* the host still writes there */
    world_dma_give_up(p.w);
    world_run_for(p.w, 5 * MS);
    nothing_is_left();
    assert_int_equal(world_rank(p.w, 0)->counters[NOF_C_TX_FRAMES], sent);
}

/* While a piece of a message is copied (3 to 23 us) its link is no idle one, which keeps credit for some 3 frames only. */
static void a_link_that_waits_for_copies_is_full_all_the_same(void **state)
{
    const uint64_t len = 400000;
    uint64_t frames;

    (void)state;
    nof_nic_rate(p.theirs, world_now(p.w), 1000000000);
    world_recv(p.w, 1, 0, 5, p.in, len, 0);
    world_run_for(p.w, MS);
    frames = world_rank(p.w, 0)->counters[NOF_C_TX_FRAMES];
    world_send(p.w, 0, 1, 5, p.out, len, 0);
    world_run_for(p.w, 3500000); /* 3.5 ms of full frames: 284 */
    frames = world_rank(p.w, 0)->counters[NOF_C_TX_FRAMES] - frames;
    world_run_for(p.w, 20 * MS);
    assert_int_equal(world_expect(p.w, 1, NOF_COMP_RECV, 0)->status, NOF_OK);
    assert_memory_equal(p.in, p.out, len);
    nothing_is_left();
    assert_true(frames >= 270);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(an_endpoint_has_so_many_under_way_and_a_flow_not_all_of_them),
        EACH(what_is_copied_in_any_order_leaves_in_order),
        EACH(a_message_of_many_frames_is_one_request),
        EACH(what_cannot_be_read_fails_alone_and_what_follows_comes),
        EACH(a_process_that_is_gone_is_told_from_a_buffer_that_is_not_there),
        EACH(a_host_or_a_port_that_has_nothing_now_is_asked_again),
        EACH(of_a_flow_that_died_nothing_leaves_and_no_frame_stays),
        EACH(a_link_that_waits_for_copies_is_full_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
