/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends: each ends once; what answers them names them rightly or reaches nobody; and who has many leaves room for the
 * others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"

#include "msg/send.h"

static struct pair p; /* looked at from `theirs`: rank 0 sends */
static uint8_t fields[64];

static int start(void **state)
{
    (void)state;
    p = pair_begin(1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_fini(p.w);
    return 0;
}

static void send_one(uint64_t len, unsigned flags, uint64_t cookie)
{
    struct nof_desc d = {.opcode = NOF_DESC_SEND,
                         .flags = (uint8_t)flags,
                         .ctx = 1,
                         .cookie = cookie,
                         .peer = 1,
                         .tag = 5,
                         .len = len,
                         .addr = (uint64_t)(uintptr_t)p.out};

    world_post(p.w, 0, &d);
    world_run_for(p.w, 5 * MS);
}

static uint64_t handle_of(const struct nof_send *s)
{
    return nof_handle(nof_send_index(p.theirs, s), s->obj.gen);
}

static uint8_t view_flags;

static struct nof_wire_view frame(uint8_t type, uint32_t bytes)
{
    return (struct nof_wire_view){.type = type, .flags = view_flags, .fields = fields, .fields_bytes = bytes};
}

static int cts(uint64_t sender, uint64_t wanted, uint64_t allowed, uint32_t bytes)
{
    struct nof_wire_view view = frame(NOF_WIRE_CTS, bytes);

    nof_put64(fields + NOF_WIRE_CTS_SENDER, sender);
    nof_put64(fields + NOF_WIRE_CTS_RECEIVER, 1);
    nof_put64(fields + NOF_WIRE_CTS_WANTED, wanted);
    nof_put64(fields + NOF_WIRE_CTS_ALLOWED, allowed);
    return nof_send_cts_rx(p.theirs, &p.theirs->links[p.their_peer->link], p.their_peer, &view);
}

static int matched(uint64_t sender, uint32_t bytes)
{
    struct nof_wire_view view = frame(NOF_WIRE_MATCHED, bytes);

    nof_put64(fields + NOF_WIRE_MATCHED_SENDER, sender);
    return nof_send_matched_rx(p.theirs, p.their_peer, &view);
}

static void a_synchronous_one_ends_with_its_match(void **state)
{
    struct nof_send *s;

    (void)state;
    send_one(900, NOF_DESC_F_SYNC, 1);
    assert_null(world_take(p.w, 0));
    s = nof_send_by_cookie(p.theirs, p.their_ep, 1);
    assert_int_equal(s->state, NOF_SEND_MATCH_WAIT);
    assert_int_equal(matched(handle_of(s), NOF_WIRE_MATCHED_BYTES - 1), NOF_EPROTO);
    assert_int_equal(matched((handle_of(s) | NOF_HANDLE_SYNC) + (1ull << 32), NOF_WIRE_MATCHED_BYTES),
                     NOF_OK);
    assert_null(world_take(p.w, 0)); /* another life of it */
    assert_int_equal(matched(handle_of(s) | NOF_HANDLE_SYNC, NOF_WIRE_MATCHED_BYTES), NOF_OK);
    assert_int_equal(world_expect(p.w, 0, NOF_COMP_SEND, 1)->status, NOF_OK);
    assert_int_equal(p.their_ep->sends_used, 0);
}

static void a_grant_lets_go_as_far_as_it_says(void **state)
{
    struct nof_send *s;

    (void)state;
    send_one(100000, 0, 1);
    s = nof_send_by_cookie(p.theirs, p.their_ep, 1);
    assert_int_equal(s->state, NOF_SEND_CTS_WAIT);
    assert_int_equal(cts(handle_of(s), 50000, 20000, NOF_WIRE_CTS_BYTES - 1), NOF_EPROTO);
    view_flags = NOF_WIRE_CTS_F_LATER; /* it is no delta send */
    assert_int_equal(cts(handle_of(s), 50000, 0, NOF_WIRE_CTS_BYTES), NOF_EPROTO);
    view_flags = 0;
    assert_int_equal(s->state, NOF_SEND_CTS_WAIT);
    world_cut(p.w, 1, 1); /* the receiver knows nothing of it */
    assert_int_equal(cts(handle_of(s), 50000, 20000, NOF_WIRE_CTS_BYTES), NOF_OK);
    world_run_for(p.w, MS);
    assert_int_equal(s->sent, 20000);
    assert_int_equal(cts(handle_of(s), 50000, 10000, NOF_WIRE_CTS_BYTES), NOF_OK); /* never back */
    assert_int_equal(s->allowed, 20000);
    assert_int_equal(cts(handle_of(s), 99999, 99999, NOF_WIRE_CTS_BYTES), NOF_OK);
    assert_int_equal(s->wanted, 50000); /* as at first */
    assert_int_equal(s->allowed, 50000);
}

static void a_grant_of_nothing_reaches_nobody(void **state)
{
    struct nof_send *s;
    uint64_t handle;

    (void)state;
    send_one(100000, 0, 1);
    s = nof_send_by_cookie(p.theirs, p.their_ep, 1);
    handle = handle_of(s);
    assert_int_equal(cts(handle + 1, 1, 1, NOF_WIRE_CTS_BYTES), NOF_OK);
    assert_int_equal(cts(handle + (1ull << 32), 1, 1, NOF_WIRE_CTS_BYTES), NOF_OK);
    assert_int_equal(cts(UINT64_MAX, 1, 1, NOF_WIRE_CTS_BYTES), NOF_OK);
    assert_int_equal(s->state, NOF_SEND_CTS_WAIT);
    assert_null(nof_send_by_handle(p.theirs, p.their_peer + 1, handle)); /* another peer's */
    assert_ptr_equal(nof_send_by_handle(p.theirs, p.their_peer, handle), s);
}

static void what_the_receiver_gives_up_ends_with_its_reason(void **state)
{
    struct nof_send *s;

    (void)state;
    send_one(100000, 0, 1);
    s = nof_send_by_cookie(p.theirs, p.their_ep, 1);
    nof_send_abort_rx(p.theirs, p.their_peer, handle_of(s) + (1ull << 32), NOF_EFAULT);
    assert_null(world_take(p.w, 0));
    nof_send_abort_rx(p.theirs, p.their_peer, handle_of(s), NOF_ENOMEM);
    assert_int_equal(world_expect(p.w, 0, NOF_COMP_SEND, 1)->status, NOF_ENOMEM);
    assert_int_equal(p.their_ep->sends_used, 0);
}

static void of_two_with_one_cookie_the_younger_is_found(void **state)
{
    struct nof_send *older, *younger;

    (void)state;
    send_one(100000, 0, 1);
    older = nof_send_by_cookie(p.theirs, p.their_ep, 1);
    send_one(100000, 0, 1);
    younger = nof_send_by_cookie(p.theirs, p.their_ep, 1);
    assert_ptr_not_equal(older, younger);
    nof_send_end(p.theirs, younger, NOF_ECANCELED);
    assert_ptr_equal(nof_send_by_cookie(p.theirs, p.their_ep, 1), older);
    assert_null(nof_send_by_cookie(p.theirs, p.their_ep, 2));
    assert_null(nof_send_by_cookie(p.theirs, &p.theirs->eps[1], 1));
}

static void while_its_buffer_is_read_it_is_not_the_hosts(void **state)
{
    struct nof_send *s;

    end(state);
    p = pair_begin(0);
    world_rank(p.w, 0)->dma_stuck = 1;
    send_one(900, 0, 1);
    s = nof_send_by_cookie(p.theirs, p.their_ep, 1);
    assert_int_equal(s->reads, 1);
    nof_queue_pop(&p.theirs->sends, &p.their_peer->sendq);
    nof_send_end(p.theirs, s, NOF_EPEERDEAD);
    assert_null(world_take(p.w, 0));
    assert_int_equal(s->state, NOF_SEND_ENDING);
    world_dma_give_up(p.w);
    world_run_for(p.w, MS);
    assert_int_equal(world_expect(p.w, 0, NOF_COMP_SEND, 1)->status, NOF_EPEERDEAD);
}

static void one_endpoint_leaves_the_others_their_room(void **state)
{
    uint32_t room = nof_send_room(p.theirs, p.their_ep);

    (void)state;
    assert_int_equal(room, p.theirs->cfg.max_sends - 2 * p.theirs->sends_min);
    world_cut(p.w, 1, 1);
    for (uint64_t i = 0; i < p.theirs->cfg.max_sends && nof_send_room(p.theirs, p.their_ep) > 0; i++) {
        struct nof_desc d = {
            .opcode = NOF_DESC_SEND, .ctx = 1, .cookie = i, .peer = 1, .tag = 5, .len = 20000};

        nof_nic_host(p.theirs, world_now(p.w), p.their_ep->index, &d, 1);
    }
    assert_int_equal(p.their_ep->sends_used, p.theirs->cfg.max_sends - 2 * p.theirs->sends_min);
    assert_int_equal(nof_send_room(p.theirs, &p.theirs->eps[1]), p.theirs->sends_min);
}

static void credit_that_comes_lets_go_on(void **state)
{
    struct nof_wire_view view = frame(NOF_WIRE_CREDIT, NOF_WIRE_CREDIT_BYTES);
    uint32_t msgs = p.their_peer->tx_msgs_allowed;

    (void)state;
    p.their_peer->tx_msgs_allowed = p.their_peer->tx_seq;
    send_one(8, 0, 1);
    assert_null(world_take(p.w, 0));
    memset(fields, 0, sizeof fields);
    nof_put32(fields + NOF_WIRE_CREDIT_ENVELOPES, msgs);
    nof_put64(fields + NOF_WIRE_CREDIT_PAYLOAD, (uint64_t)p.their_peer->tx_blocks_allowed * NOF_NETMEM_BLOCK);
    assert_int_equal(nof_send_credit_rx(p.theirs, p.their_peer, &view), NOF_OK);
    world_run_for(p.w, MS);
    assert_int_equal(world_expect(p.w, 0, NOF_COMP_SEND, 1)->status, NOF_OK);
    view.fields_bytes--;
    assert_int_equal(nof_send_credit_rx(p.theirs, p.their_peer, &view), NOF_EPROTO);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_synchronous_one_ends_with_its_match),
        EACH(a_grant_lets_go_as_far_as_it_says),
        EACH(a_grant_of_nothing_reaches_nobody),
        EACH(what_the_receiver_gives_up_ends_with_its_reason),
        EACH(of_two_with_one_cookie_the_younger_is_found),
        EACH(while_its_buffer_is_read_it_is_not_the_hosts),
        EACH(one_endpoint_leaves_the_others_their_room),
        EACH(credit_that_comes_lets_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
