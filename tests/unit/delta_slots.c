/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Delta messages between two NICs, and what their boards say on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"

#include "msg/delta_slots.h"
#include "msg/recv.h"
#include "msg/send.h"
#include "payload/reserve.h"

#define CTX 1 /* as world_send() */
#define UNIT 4096u
#define LOG2 12u
#define LEN (40 * UNIT + 1000)

static struct pair p;

static int start_late(void **state)
{
    (void)state;
    p = pair_begin(0);
    return 0;
}

static int start_inline(void **state)
{
    (void)state;
    p = pair_begin(1);
    return 0;
}

static int start_small(void **state)
{
    (void)state;
    p = pair_begin_with(1, 128);
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_run(p.w);
    assert_int_equal(p.theirs->delta_eps, 0);
    assert_int_equal(p.ep->delta_recvs, 0);
    assert_int_equal(p.nic->netmem.used, 0);
    assert_int_equal(p.nic->dma_free, p.nic->dma_total);
    world_fini(p.w);
    return 0;
}

static struct nof_delta_ready *board(uint32_t slot)
{
    return &world_rank(p.w, 0)->delta_host->ready[slot];
}

static const struct nof_delta_arrival *arrival(uint32_t slot)
{
    return &world_rank(p.w, 1)->delta_nic->arrival[slot];
}

static void begin_send(uint32_t slot, uint64_t len, uint64_t cookie)
{
    struct nof_desc desc = {.opcode = NOF_DESC_SEND,
                            .flags = NOF_DESC_F_DELTA,
                            .ctx = CTX,
                            .peer = 1,
                            .tag = 5,
                            .cookie = cookie,
                            .len = len,
                            .addr = (uint64_t)(uintptr_t)p.out,
                            .handle = nof_delta_handle(slot, LOG2)};

    if (slot < NOF_DELTA_SLOTS)
        memset(board(slot), 0, sizeof *board(slot));
    world_post(p.w, 0, &desc);
}

static void begin_recv(uint32_t slot, uint64_t capacity, uint64_t cookie)
{
    struct nof_desc desc = {.opcode = NOF_DESC_RECV,
                            .flags = NOF_DESC_F_DELTA,
                            .ctx = CTX,
                            .peer = 0,
                            .tag = 5,
                            .cookie = cookie,
                            .len = capacity,
                            .addr = (uint64_t)(uintptr_t)p.in,
                            .handle = nof_delta_handle(slot, 0)};

    world_post(p.w, 1, &desc);
}

static void ring(uint32_t slot)
{
    world_rank(p.w, 0)->delta_host->rung |= 1ull << slot;
    world_run_for(p.w, 5 * MS);
}

static void ready(uint32_t slot, unsigned unit)
{
    board(slot)->unit[unit / 64] |= 1ull << unit % 64;
    ring(slot);
}

static void finish(uint32_t slot, uint64_t len)
{
    board(slot)->end = 1 + len;
    ring(slot);
}

static void done(uint64_t len, uint64_t cookie)
{
    const struct nof_comp *c = world_expect(p.w, 1, NOF_COMP_RECV, cookie);

    assert_int_equal(c->status, NOF_OK);
    assert_int_equal(c->len, len);
    assert_int_equal(c->flags, NOF_COMP_F_BUFFER);
    assert_memory_equal(p.in, p.out, len);
    c = world_expect(p.w, 0, NOF_COMP_SEND, cookie);
    assert_int_equal(c->status, NOF_OK);
    assert_int_equal(c->len, len);
}

static void increments_arrive_before_the_rest_is_ready(void **state)
{
    static const unsigned order[] = {7, 8, 9, 0, 40, 20};

    (void)state;
    begin_recv(3, LEN, 1);
    world_run_for(p.w, MS);
    assert_int_equal(arrival(3)->state, NOF_DELTA_POSTED);
    begin_send(2, LEN, 1);
    world_run_for(p.w, 5 * MS);
    assert_int_equal(arrival(3)->state, NOF_DELTA_MATCHED);
    assert_int_equal(arrival(3)->unit_log2, LOG2);
    assert_int_equal(arrival(3)->len, LEN);
    assert_int_equal(arrival(3)->peer, 0);
    assert_int_equal(arrival(3)->tag, 5);
    for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++) {
        unsigned u = order[i];
        uint32_t n = u == 40 ? 1000 : UNIT;

        ready(2, u);
        assert_int_equal(arrival(3)->unit[0] >> u & 1, 1);
        assert_memory_equal(p.in + u * UNIT, p.out + u * UNIT, n);
        assert_int_equal(__builtin_popcountll(arrival(3)->unit[0]), i + 1);
    }
    assert_int_equal(arrival(3)->bytes, 5 * UNIT + 1000);
    assert_null(world_take(p.w, 1));
    finish(2, LEN);
    assert_int_equal(arrival(3)->state, NOF_DELTA_DONE);
    assert_int_equal(arrival(3)->unit[0], (1ull << 41) - 1);
    done(LEN, 1);
}

static void a_message_may_end_early(void **state)
{
    (void)state;
    begin_send(0, LEN, 1);
    begin_recv(0, LEN, 1);
    world_run_for(p.w, 5 * MS);
    ready(0, 1);
    finish(0, UNIT + 5); /* below what was ready */
    assert_int_equal(arrival(0)->len, 2 * UNIT);
    done(2 * UNIT, 1);
    begin_send(0, LEN, 2);
    begin_recv(0, LEN, 2);
    finish(0, 0);
    assert_int_equal(arrival(0)->status, NOF_OK);
    done(0, 2);
}

static void plain_on_either_side(void **state)
{
    (void)state;
    world_recv(p.w, 1, 0, 5, p.in, LEN, 1);
    begin_send(63, LEN, 1);
    world_run_for(p.w, 5 * MS);
    ready(63, 30);
    ready(63, 2);
    ready(63, 3);
    finish(63, LEN);
    done(LEN, 1);
    memset(p.in, 0, LEN);
    begin_recv(1, LEN, 2);
    world_send(p.w, 0, 1, 5, p.out, LEN, 2);
    world_run(p.w);
    assert_int_equal(arrival(1)->state, NOF_DELTA_DONE);
    assert_int_equal(arrival(1)->bytes, LEN);
    done(LEN, 2);
    for (uint64_t len = 0; len < 5000; len = 3 * len + 11) { /* eager ones go into the buffer, too */
        memset(p.in, 0, LEN);
        begin_recv(1, LEN, 3);
        world_run_for(p.w, MS);
        world_send(p.w, 0, 1, 5, p.out, len, 3);
        world_run(p.w);
        assert_int_equal(arrival(1)->state, NOF_DELTA_DONE);
        assert_memory_equal(p.in, p.out, len);
        assert_int_equal(world_expect(p.w, 1, NOF_COMP_RECV, 3)->len, len);
        assert_int_equal(world_expect(p.w, 0, NOF_COMP_SEND, 3)->status, NOF_OK);
    }
}

static void what_is_here_already_is_a_plain_receive(void **state)
{
    const struct nof_comp *c;

    (void)state;
    world_send(p.w, 0, 1, 5, p.out, 2000, 1);
    world_run(p.w);
    begin_recv(5, LEN, 1);
    world_run(p.w);
    assert_int_equal(arrival(5)->state, NOF_DELTA_PLAIN);
    c = world_expect(p.w, 1, NOF_COMP_RECV, 1);
    assert_memory_equal(world_payload(p.w, 1, c, p.in), p.out, 2000);
}

/* Each range has blocks of its own until it is written, and there are few. */
static void small_ranges_far_apart(void **state)
{
    enum { SMALL = 64, UNITS = 2048 };
    struct nof_desc desc = {.opcode = NOF_DESC_SEND,
                            .flags = NOF_DESC_F_DELTA,
                            .ctx = CTX,
                            .peer = 1,
                            .tag = 5,
                            .cookie = 1,
                            .len = SMALL * UNITS,
                            .addr = (uint64_t)(uintptr_t)p.out,
                            .handle = nof_delta_handle(0, 6)};

    (void)state;
    memset(board(0), 0, sizeof *board(0));
    world_post(p.w, 0, &desc);
    world_recv(p.w, 1, 0, 5, p.in, SMALL * UNITS, 1);
    world_run_for(p.w, 5 * MS);
    for (unsigned step = 0; step < 4; step++) {
        for (unsigned u = 0; u < UNITS; u += 4)
            board(0)->unit[(u + step) / 64] |= 1ull << (u + step) % 64;
        ring(0);
    }
    world_run(p.w);
    finish(0, SMALL * UNITS);
    done(SMALL * UNITS, 1);
}

static void clipped_to_the_buffer(void **state)
{
    const struct nof_comp *c;

    (void)state;
    begin_recv(0, 3 * UNIT + 7, 1);
    begin_send(0, LEN, 1);
    world_run_for(p.w, 5 * MS);
    ready(0, 3);
    ready(0, 9);
    ready(0, 0);
    finish(0, LEN);
    c = world_expect(p.w, 1, NOF_COMP_RECV, 1);
    assert_int_equal(c->status, NOF_ETRUNC);
    assert_int_equal(c->len, LEN);
    assert_memory_equal(p.in, p.out, 3 * UNIT + 7);
    assert_int_equal(p.in[3 * UNIT + 7], 0);
}

static int answer(int rank, const struct nof_desc *desc)
{
    world_post(p.w, (unsigned)rank, desc);
    world_run_for(p.w, MS);
    return world_expect(p.w, (unsigned)rank, desc->opcode, desc->cookie)->status;
}

static void slots_are_checked(void **state)
{
    struct nof_desc desc = {
        .opcode = NOF_DESC_SEND, .flags = NOF_DESC_F_DELTA, .peer = 1, .cookie = 77, .len = LEN};

    (void)state;
    begin_send(4, LEN, 1);
    desc.handle = nof_delta_handle(4, LOG2);
    assert_int_equal(answer(0, &desc), NOF_EINVAL); /* busy */
    desc.handle = nof_delta_handle(65, LOG2);
    assert_int_equal(answer(0, &desc), NOF_EINVAL);
    desc.handle = nof_delta_handle(5, 5);
    assert_int_equal(answer(0, &desc), NOF_EINVAL); /* too many units */
    desc.handle = nof_delta_handle(5, 64);
    assert_int_equal(answer(0, &desc), NOF_EINVAL);
    desc.handle = nof_delta_handle(5, LOG2);
    desc.flags |= NOF_DESC_F_BOUNCE;
    assert_int_equal(answer(0, &desc), NOF_EINVAL);
    desc = (struct nof_desc){.opcode = NOF_DESC_RECV, .flags = NOF_DESC_F_DELTA, .peer = 0, .cookie = 78};
    desc.handle = nof_delta_handle(0, 1);
    assert_int_equal(answer(1, &desc), NOF_EINVAL);
    desc.handle = 64;
    assert_int_equal(answer(1, &desc), NOF_EINVAL);
    begin_recv(0, LEN, 1);
    desc.handle = 0;
    assert_int_equal(answer(1, &desc), NOF_EINVAL);
    finish(4, LEN);
    done(LEN, 1);
}

static struct nof_comp grant(uint64_t cookie)
{
    return *world_expect(p.w, 0, NOF_COMP_GRANT, cookie);
}

/* A parked one is whole now. */
static void submit_granted(uint64_t len, const struct nof_comp *c)
{
    struct nof_desc desc = {.opcode = NOF_DESC_SEND,
                            .flags = NOF_DESC_F_GRANTED,
                            .ctx = CTX,
                            .peer = 1,
                            .tag = 5,
                            .cookie = c->cookie,
                            .len = len,
                            .addr = (uint64_t)(uintptr_t)p.out,
                            .handle = c->handle};

    desc.callsite = c->granted_len;
    world_post(p.w, 0, &desc);
    world_run_for(p.w, 5 * MS);
}

static void without_a_slot_it_is_parked_and_may_be_shorter(void **state)
{
    static const uint64_t lens[] = {LEN, 2 * UNIT + 5, 3, 0};

    (void)state;
    for (unsigned i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        memset(p.in, 0, LEN);
        begin_send(NOF_DELTA_NO_SLOT, LEN, 1);
        world_run_for(p.w, MS);
        world_expect(p.w, 0, NOF_COMP_PARKED, 1);
        assert_int_equal(p.their_ep->delta_sends, 0);
        assert_int_equal(p.their_ep->sends_used, 0);
        if (i % 2 == 0)
            world_recv(p.w, 1, 0, 5, p.in, LEN, 1);
        else
            begin_recv(3, LEN, 1);
        world_run_for(p.w, 5 * MS);
        struct nof_comp c = grant(1);
        submit_granted(lens[i], &c);
        done(lens[i], 1);
    }
}

static void a_short_message_is_parked_too(void **state)
{
    (void)state;
    begin_send(NOF_DELTA_NO_SLOT, 3, 1); /* plain, it would be eager */
    world_run_for(p.w, MS);
    world_expect(p.w, 0, NOF_COMP_PARKED, 1);
    world_recv(p.w, 1, 0, 5, p.in, LEN, 1);
    world_run_for(p.w, 5 * MS);
    struct nof_comp c = grant(1);
    submit_granted(3, &c);
    done(3, 1);
}

/* It was granted without room for its payload. Is there none when it is back, it takes up none at its own NIC either. */
static void one_that_is_back_without_room_is_parked_again(void **state)
{
    (void)state;
    begin_send(NOF_DELTA_NO_SLOT, LEN, 1);
    world_run_for(p.w, MS);
    world_expect(p.w, 0, NOF_COMP_PARKED, 1);
    world_recv(p.w, 1, 0, 5, p.in, LEN, 1);
    world_run_for(p.w, 5 * MS);
    struct nof_comp first = grant(1);
    struct nof_recv *taker = nof_recv_take(p.nic, p.ep, NOF_COMP_RECV);
    while (nof_reserve_take(p.nic, taker, 1, 1) > 0)
        continue;
    submit_granted(LEN - UNIT, &first);
    world_expect(p.w, 0, NOF_COMP_PARKED, 1);
    assert_int_equal(p.their_ep->sends_used, 0);
    assert_int_equal(p.nic->recvs_waiting, 1);
    assert_null(world_take(p.w, 0));
    nof_reserve_give(p.nic, taker);
    nof_recv_free(p.nic, taker);
    world_run_for(p.w, 5 * MS);
    struct nof_comp again = grant(1);
    assert_int_equal(again.granted_len, LEN - UNIT);
    submit_granted(LEN - UNIT, &again);
    done(LEN - UNIT, 1);
}

/* What a receiver says of a send that its host has not brought back does not park it. */
static void a_send_that_was_not_granted_is_not_parked_again(void **state)
{
    (void)state;
    world_send(p.w, 0, 1, 6, p.out, LEN, 1);
    world_run_for(p.w, MS);
    assert_int_equal(p.their_ep->sends_used, 1);
    const struct nof_send *s = nof_send_at(p.theirs, p.their_ep->sends_head);
    uint64_t handle = nof_handle(p.their_ep->sends_head, s->obj.gen);
    for (unsigned i = 0; i < 2; i++) {
        nof_send_abort_rx(p.theirs, p.their_peer, handle, NOF_EAGAIN);
        world_run_for(p.w, MS);
        assert_int_equal(p.their_peer->parked, 0);
    }
    assert_int_equal(world_expect(p.w, 0, NOF_COMP_SEND, 1)->status, NOF_EAGAIN);
    assert_int_equal(p.their_ep->sends_used, 0);
    assert_null(world_take(p.w, 0));
}

/* As many as leave others their room have their slots; those behind are parked. All keep their order. */
static void more_than_there_is_room_for_are_parked(void **state)
{
    enum { GUARANTEED = 8, ALL = 2 * GUARANTEED + 1 };
    struct nof_nic *nic = p.theirs;

    (void)state;
    assert_int_equal(nic->sends_min, 4 * GUARANTEED);
    for (uint32_t i = 0; i < ALL; i++)
        world_recv(p.w, 1, 0, 5, p.in, LEN, 1 + i);
    nic->promised_sends = nof_send_spare(nic); /* nothing is nobody's */
    for (uint32_t i = 0; i <= GUARANTEED; i++)
        begin_send(i, LEN, 1 + i);
    world_run_for(p.w, 5 * MS);
    assert_int_equal(p.their_ep->delta_sends, GUARANTEED);
    assert_int_equal(p.their_ep->delta_extra, 0);
    world_expect(p.w, 0, NOF_COMP_PARKED, 1 + GUARANTEED);
    struct nof_comp c = grant(1 + GUARANTEED);
    nic->promised_sends = 0;
    for (uint32_t i = GUARANTEED + 1; i < ALL; i++)
        begin_send(i, LEN, 1 + i);
    world_run_for(p.w, 5 * MS);
    assert_int_equal(p.their_ep->delta_sends, ALL - 1);
    assert_int_equal(p.their_ep->delta_extra, ALL - 1 - GUARANTEED);
    assert_int_equal(p.their_ep->sends_asking, 0);
    nic->promised_sends = nof_send_spare(nic);
    assert_int_equal(nof_send_room(nic, p.their_ep), nic->sends_min - GUARANTEED); /* still */
    nic->promised_sends = 0;
    for (uint32_t i = 0; i < ALL; i++) {
        p.in[LEN - 1] = (uint8_t)~p.out[LEN - 1];
        if (i == GUARANTEED)
            submit_granted(LEN, &c);
        else
            finish(i, LEN);
        done(LEN, 1 + i);
    }
    assert_int_equal(p.their_ep->delta_extra, 0);
}

/* Neither those that wait for their match nor delta sends, nor both, take an endpoint's last sends. */
static void with_those_that_ask_they_leave_room(void **state)
{
    struct nof_nic *nic = p.theirs;

    (void)state;
    nic->promised_sends = nof_send_spare(nic); /* nothing is nobody's */
    for (uint32_t i = 0; i < nic->sends_min; i++)
        world_send(p.w, 0, 1, 7, p.out, LEN, 100 + i);
    world_run_for(p.w, 5 * MS);
    for (uint32_t i = 0; i < nic->sends_min; i++)
        begin_send(i, LEN, 200 + i);
    world_run_for(p.w, 5 * MS);
    assert_true(p.their_ep->delta_sends > 0);
    assert_in_range(nof_send_room(nic, p.their_ep), 1, nic->sends_min);
    nic->promised_sends = 0;
    world_close(p.w, 0, NOF_OK);
    world_run(p.w);
}

static void a_sender_that_dies_ends_it(void **state)
{
    (void)state;
    begin_recv(0, LEN, 1);
    begin_send(0, LEN, 1);
    world_run_for(p.w, 5 * MS);
    ready(0, 6);
    world_close(p.w, 0, NOF_EPEERDEAD);
    world_run(p.w);
    world_expect_dead(p.w, 1, NOF_COMP_RECV, 1, 0);
    assert_int_equal(arrival(0)->state, NOF_DELTA_DONE);
    assert_int_equal(arrival(0)->status, NOF_EPEERDEAD);
    assert_memory_equal(p.in + 6 * UNIT, p.out + 6 * UNIT, UNIT);
}

/* However many delta receives wait, a rendezvous finds the blocks that it begins with. */
static void those_that_wait_leave_room(void **state)
{
    unsigned held = 0;

    (void)state;
    for (uint32_t slot = 0; slot < NOF_DELTA_SLOTS; slot++)
        begin_recv(slot, LEN, 100 + slot);
    world_run_for(p.w, MS);
    for (uint32_t slot = 0; slot < NOF_DELTA_SLOTS; slot++)
        held += arrival(slot)->state == NOF_DELTA_POSTED;
    assert_in_range(held, 1, NOF_DELTA_SLOTS);
    assert_true(p.ep->dma_used + NOF_RESERVE_LEAST <= p.nic->dma_min);
    world_recv(p.w, 1, 0, 6, p.in, LEN, 1);
    world_send(p.w, 0, 1, 6, p.out, LEN, 1);
    world_run(p.w);
    done(LEN, 1);
    world_close(p.w, 1, NOF_OK);
}

/* Where payload needs room: more of them than there is a share for come when they have ended, in whatever order. */
static void those_that_compute_leave_others_their_room(void **state)
{
    enum { N = 12 };
    unsigned later = 0;

    (void)state;
    for (uint32_t k = 0; k < N; k++)
        begin_recv(k, LEN, 100 + k);
    for (uint32_t k = 0; k < N; k++)
        begin_send(k, LEN, 100 + k);
    world_run_for(p.w, 5 * MS);
    for (uint32_t i = 0; i < p.theirs->sends.high; i++)
        later += nof_send_at(p.theirs, i)->state == NOF_SEND_LATER;
    assert_in_range(later, 1, N - 1);
    assert_in_range(p.ep->ahead_blocks, 1,
                    (p.nic->dma_total - p.nic->cfg.max_endpoints * p.nic->dma_min) / 4);
    ready(0, 7);
    assert_int_equal(arrival(0)->unit[0], 1 << 7);
    world_recv(p.w, 1, 0, 6, p.in, LEN, 1);
    world_send(p.w, 0, 1, 6, p.out, LEN, 1);
    world_run_for(p.w, 5 * MS);
    done(LEN, 1);
    for (uint32_t k = N; k-- > 0;) {
        uint64_t len = k % 3 == 0 ? LEN : LEN - 5000;

        memset(p.in, 0, LEN);
        finish(k, len);
        if (k > 0) /* what it had ready has been overwritten */
            done(len, 100 + k);
    }
    assert_int_equal(world_expect(p.w, 1, NOF_COMP_RECV, 100)->status, NOF_OK);
    assert_int_equal(world_expect(p.w, 0, NOF_COMP_SEND, 100)->status, NOF_OK);
    assert_int_equal(p.ep->ahead_blocks, 0);
}

static void the_death_of_those_that_come_later_is_told(void **state)
{
    enum { N = 12 };

    (void)state;
    for (uint32_t k = 0; k < N; k++)
        begin_recv(k, LEN, 100 + k);
    for (uint32_t k = 0; k < N; k++)
        begin_send(k, LEN, 100 + k);
    world_run_for(p.w, 5 * MS);
    world_close(p.w, 0, NOF_EPEERDEAD);
    world_run(p.w);
    for (uint32_t k = 0; k < N; k++)
        assert_int_equal(arrival(k)->status, NOF_EPEERDEAD);
    assert_int_equal(p.ep->ahead_blocks, 0);
}

/* A host that rings for all that it has, always, has so much looked at in a turn, and nothing is lost. */
static void ringing_is_paid_for(void **state)
{
    (void)state;
    begin_recv(0, LEN, 1);
    begin_send(0, LEN, 1);
    world_run_for(p.w, 5 * MS);
    p.their_ep->turn = p.theirs->turn; /* it has used up its steps of this turn */
    p.their_ep->steps = 0;
    world_rank(p.w, 0)->delta_host->rung = UINT64_MAX;
    board(0)->end = 1 + LEN;
    nof_send_rung(p.theirs);
    assert_int_equal(world_rank(p.w, 0)->delta_host->rung, UINT64_MAX);
    assert_int_equal(p.theirs->rung_late, 1);
    world_run(p.w);
    assert_int_equal(p.theirs->rung_late, 0);
    done(LEN, 1);
}

#define BOTH(f) \
    cmocka_unit_test_setup_teardown(f, start_late, end), cmocka_unit_test_setup_teardown(f, start_inline, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(increments_arrive_before_the_rest_is_ready),
        BOTH(a_message_may_end_early),
        BOTH(plain_on_either_side),
        BOTH(what_is_here_already_is_a_plain_receive),
        BOTH(small_ranges_far_apart),
        BOTH(clipped_to_the_buffer),
        BOTH(slots_are_checked),
        BOTH(without_a_slot_it_is_parked_and_may_be_shorter),
        BOTH(a_short_message_is_parked_too),
        cmocka_unit_test_setup_teardown(a_send_that_was_not_granted_is_not_parked_again, start_late, end),
        cmocka_unit_test_setup_teardown(one_that_is_back_without_room_is_parked_again, start_late, end),
        cmocka_unit_test_setup_teardown(more_than_there_is_room_for_are_parked, start_small, end),
        cmocka_unit_test_setup_teardown(with_those_that_ask_they_leave_room, start_small, end),
        BOTH(a_sender_that_dies_ends_it),
        BOTH(those_that_wait_leave_room),
        cmocka_unit_test_setup_teardown(those_that_compute_leave_others_their_room, start_late, end),
        cmocka_unit_test_setup_teardown(the_death_of_those_that_come_later_is_told, start_late, end),
        BOTH(ringing_is_paid_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
