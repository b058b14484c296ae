/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clearance: how much may be under way, who waits, in which order they go, and that nobody waits for ever. Rank 0 receives
 * on NIC 0, as rank 4 does; ranks 1, 2 and 3 have a NIC each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#include "flow/clearance.h"
#include "flow/peer.h"
#include "msg/rendezvous.h"

#define MS 1000000ull
#define KB 1024u
#define BUDGET 8192u
#define WINDOW (16 * KB)
#define ALONE (128 * KB)

static struct world *w;
static struct nof_nic *nic;

static void budget(uint64_t bytes, uint64_t us)
{
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(nof_nic_feature_set(world_nic(w, i), NOF_F_GRANT_BYTES, bytes), NOF_OK);
        assert_int_equal(nof_nic_feature_set(world_nic(w, i), NOF_F_GRANT_US, us), NOF_OK);
    }
}

static int start(void **state)
{
    struct world_config cfg = {.nics = 4, .mtu = 1500, .dma_inline = 1, .seed = 1};

    (void)state;
    cfg.nic = (struct nof_nic_config){.max_endpoints = 2, .max_peers = 16, .max_envelopes = 512};
    w = world_init(&cfg);
    for (unsigned i = 0; i < 5; i++)
        world_open(w, i % 4, i, 5);
    world_run_for(w, 20 * MS);
    nic = world_nic(w, 0);
    budget(BUDGET, 0);
    for (unsigned i = 0; i < 5; i++)
        while (world_take(w, i) != NULL)
            continue;
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_fini(w);
    return 0;
}

/* A rendezvous of this endpoint of NIC 0 from a rank. */
static struct nof_recv *rendezvous(unsigned rank, unsigned from, uint64_t bytes)
{
    uint32_t ep = world_rank(w, rank)->endpoint;
    struct nof_recv *r = nof_recv_at(nic, nof_pool_take(&nic->recvs));

    r->state = NOF_RECV_RNDV;
    r->opcode = NOF_COMP_RECV;
    r->ep = (uint16_t)ep;
    r->peer = nof_peer_index(nic, nof_peer_by_rank(nic, ep, from));
    r->wanted = bytes;
    r->allowed = r->received = 0;
    r->unit_log2 = 0;
    return r;
}

static struct nof_recv *step(unsigned rank, unsigned from, uint64_t bytes, unsigned number)
{
    struct nof_recv *r = rendezvous(rank, from, bytes);

    r->opcode = NOF_RECV_STEP;
    r->cookie = (uint64_t)1 << 63 | 7 << 16 | number;
    return r;
}

static uint64_t ask(struct nof_recv *r)
{
    return r->allowed = nof_clearance_ask(nic, r, r->wanted);
}

static void comes(struct nof_recv *r, uint32_t bytes)
{
    r->received += bytes;
    nof_clearance_came(nic, r, bytes);
}

static void ends(struct nof_recv *r)
{
    nof_clearance_leave(nic, r);
    assert_int_equal(r->clear_bytes, 0);
    assert_false(r->clear_waits);
    nof_pool_give(&nic->recvs, nof_recv_index(nic, r));
}

/* The one whose turn it is. */
static struct nof_recv *goes(void)
{
    struct nof_recv *r = nof_clearance_next(nic);

    if (r != NULL)
        r->allowed = nof_clearance_give(nic, r, r->wanted);
    return r;
}

static void nothing_is_left(void)
{
    assert_int_equal(nic->clearance.out_bytes, 0);
    assert_int_equal(nic->clearance.links, 0);
    assert_int_equal(nic->clearance.waiting, 0);
    for (unsigned k = 0; k < NOF_CLEAR_SPANS; k++)
        assert_int_equal(nic->clearance.span[k].out, NOF_NIL);
    assert_null(nof_clearance_next(nic));
    assert_true(nof_clearance_deadline(nic) == NOF_NO_DEADLINE);
}

static void who_is_alone_runs_ahead_and_never_waits(void **state)
{
    struct nof_recv *a = rendezvous(0, 1, 1024 * KB), *b = rendezvous(0, 1, 20 * KB);

    (void)state;
    assert_int_equal(ask(a), ALONE);
    assert_false(nof_clearance_low(nic, a));
    comes(a, ALONE - WINDOW / 2);
    assert_true(nof_clearance_low(nic, a));
    assert_int_equal(ask(a), 2 * ALONE - WINDOW / 2);
    assert_int_equal(ask(b), 20 * KB); /* of the same NIC */
    assert_int_equal(nic->clearance.waiting, 0);
    ends(a);
    ends(b);
    nothing_is_left();
}

/* A stream that never pauses: another receive beside it narrows it, for as long as that one is there. */
static void who_is_alone_again_runs_ahead_again(void **state)
{
    struct nof_recv *a = rendezvous(0, 1, 4096 * KB), *b = rendezvous(0, 2, 20 * KB);

    (void)state;
    assert_int_equal(ask(a), ALONE);
    assert_int_equal(ask(b), 0);
    comes(a, ALONE - 1);
    assert_ptr_equal(goes(), b);
    ends(b);
    assert_int_equal(ask(a), 2 * ALONE - 1);
    ends(a);
    nothing_is_left();
}

/* However far ahead of what it has made. */
static void of_a_sender_that_computes_a_window_counts(void **state)
{
    struct nof_recv *a = rendezvous(0, 1, 1024 * KB), *b = rendezvous(0, 2, 20 * KB),
                    *c = rendezvous(0, 3, 20 * KB);

    (void)state;
    budget(2 * WINDOW, 0);
    a->unit_log2 = 12;
    assert_int_equal(ask(a), ALONE);
    assert_int_equal(nic->clearance.out_bytes, WINDOW);
    assert_int_equal(ask(b), WINDOW);
    assert_int_equal(ask(c), 0);
    comes(a, ALONE - WINDOW);
    assert_int_equal(nic->clearance.out_bytes, 2 * WINDOW);
    comes(a, 1);
    assert_int_equal(nic->clearance.out_bytes, 2 * WINDOW - 1);
    assert_ptr_equal(goes(), c);
    comes(a, WINDOW - 1);
    assert_int_equal(a->clear_bytes, 0);
    ends(a);
    ends(b);
    ends(c);
    nothing_is_left();
}

static void others_wait_while_the_budget_is_used_up(void **state)
{
    struct nof_recv *a = rendezvous(0, 1, 100 * KB), *b = rendezvous(0, 2, 100 * KB),
                    *c = rendezvous(4, 3, 10 * KB);
    uint64_t waits = nic->counters[NOF_C_CLEAR_WAITS];

    (void)state;
    assert_int_equal(ask(a), 100 * KB);
    assert_int_equal(ask(b), 0);
    assert_int_equal(ask(c), 0);
    assert_int_equal(nic->clearance.waiting, 2);
    assert_int_equal(nic->counters[NOF_C_CLEAR_WAITS], waits + 2);
    comes(a, 100 * KB - BUDGET);
    assert_null(goes());
    comes(a, 1);
    assert_ptr_equal(goes(), b);
    assert_int_equal(b->allowed, WINDOW); /* not all of it: others are there */
    assert_null(goes());
    comes(a, BUDGET - 1);
    ends(b);
    assert_ptr_equal(goes(), c);
    assert_int_equal(c->allowed, 10 * KB);
    ends(a);
    ends(c);
    nothing_is_left();
}

static void small_ones_and_those_within_the_nic_do_not_count(void **state)
{
    struct nof_recv *a = rendezvous(0, 1, 100 * KB), *small = rendezvous(0, 2, 2 * KB),
                    *inside = rendezvous(0, 4, 300 * KB);

    (void)state;
    ask(a);
    assert_int_equal(ask(small), 2 * KB);
    assert_int_equal(ask(inside), 300 * KB);
    assert_int_equal(nic->clearance.out_bytes, 100 * KB);
    ends(a);
    ends(small);
    ends(inside);
    nothing_is_left();
}

static void a_flow_with_many_has_the_turn_of_one(void **state)
{
    enum { MANY = 40 };
    struct nof_recv *a = rendezvous(0, 1, 10 * KB), *many[MANY], *honest, *r;
    unsigned turns = 0;

    (void)state;
    ask(a);
    for (unsigned i = 0; i < MANY; i++) {
        many[i] = rendezvous(0, 2, 10 * KB);
        assert_int_equal(ask(many[i]), 0);
    }
    honest = rendezvous(0, 3, 10 * KB);
    ask(honest);
    ends(a);
    for (r = goes(); r != honest; r = goes(), turns++) {
        assert_ptr_equal(r, many[turns]); /* as they came */
        ends(r);
    }
    assert_true(turns <= 1);
    ends(honest);
    for (unsigned i = turns; i < MANY; i++)
        ends(many[i]);
    nothing_is_left();
}

static void endpoints_share_by_bytes(void **state)
{
    struct nof_recv *a = rendezvous(0, 1, 10 * KB), *few[4], *many[12], *r;
    uint64_t bytes[2] = {0, 0};

    (void)state;
    ask(a);
    for (unsigned i = 0; i < 12; i++)
        ask(many[i] = rendezvous(0, 2, 5 * KB));
    for (unsigned i = 0; i < 4; i++)
        ask(few[i] = rendezvous(4, 3, 15 * KB));
    ends(a);
    while ((r = goes()) != NULL) {
        bytes[r->ep == few[0]->ep] += r->allowed;
        assert_true(bytes[0] <= bytes[1] + 2 * WINDOW && bytes[1] <= bytes[0] + 2 * WINDOW);
        ends(r);
    }
    assert_int_equal(bytes[0], bytes[1]);
    nothing_is_left();
}

static void steps_go_in_the_order_of_their_phases(void **state)
{
    static const unsigned number[] = {9, 3, 12, 1, 7, 4, 0, 8};
    struct nof_recv *a = rendezvous(0, 1, 10 * KB), *r;
    unsigned before = 0, n = 0;

    (void)state;
    ask(a);
    for (unsigned i = 0; i < 8; i++)
        ask(step(0, 2 + i % 2, 10 * KB, number[i]));
    assert_int_equal(nic->clearance.waiting, 8);
    ends(a);
    for (; (r = goes()) != NULL; n++) {
        assert_true(n == 0 || nof_drive_step(r->cookie) > before);
        before = nof_drive_step(r->cookie);
        ends(r);
    }
    assert_int_equal(n, 8);
    nothing_is_left();
}

static void schedules_and_others_take_turns(void **state)
{
    struct nof_recv *a = rendezvous(0, 1, 10 * KB), *r;
    int ahead = 0;

    (void)state;
    ask(a);
    for (unsigned i = 0; i < 6; i++) {
        ask(rendezvous(0, 2, 10 * KB));
        ask(step(0, 3, 10 * KB, i));
    }
    ends(a);
    while ((r = goes()) != NULL) {
        ahead += r->opcode == NOF_RECV_STEP ? 1 : -1;
        assert_in_range(ahead, 0, 1); /* steps first */
        ends(r);
    }
    assert_int_equal(ahead, 0);
    nothing_is_left();
}

static void what_does_not_come_lapses(void **state)
{
    struct nof_recv *silent = rendezvous(0, 1, 50 * KB), *other = rendezvous(0, 2, 10 * KB);
    uint64_t lapsed = nic->counters[NOF_C_CLEAR_LAPSED];

    (void)state;
    ask(silent);
    ask(other);
    assert_true(nof_clearance_deadline(nic) == nic->now_ns + nic->clearance.span[0].lapse_ns);
    nic->now_ns += nic->clearance.span[0].lapse_ns - 1;
    assert_null(goes());
    nic->now_ns++;
    assert_ptr_equal(goes(), other);
    assert_int_equal(nic->counters[NOF_C_CLEAR_LAPSED], lapsed + 1);
    assert_int_equal(nic->clearance.out_bytes, 10 * KB);
    comes(silent, 50 * KB); /* late, and welcome */
    assert_int_equal(nic->clearance.out_bytes, 10 * KB);
    ends(silent);
    ends(other);
    nothing_is_left();
}

/* On a slow link that takes longer than a budget does: nobody is let in beside it while its sender has a third of its own link
 * for another. */
static void what_came_alone_comes_to_its_end(void **state)
{
    enum { PIECE = 1024, RATE_MBPS = 100 };
    struct nof_recv *alone = rendezvous(0, 1, ALONE), *other = rendezvous(0, 2, ALONE);
    uint64_t lapsed = nic->counters[NOF_C_CLEAR_LAPSED], left = ALONE;

    (void)state;
    nic->cfg.link_rate_bps = RATE_MBPS * 1000000ull;
    budget(28672, 50);
    assert_int_equal(ask(alone), ALONE);
    ask(other);
    for (; left >= 28672; left -= PIECE) {
        assert_null(goes());
        nic->now_ns += PIECE * 8 * 1000 / RATE_MBPS * 3 / 2;
        comes(alone, PIECE);
    }
    assert_ptr_equal(goes(), other);
    assert_int_equal(nic->counters[NOF_C_CLEAR_LAPSED], lapsed);
    ends(alone);
    ends(other);
    nothing_is_left();
}

/* Of two endpoints that share the link one has nothing but senders that are silent: the other has its half. */
static void silence_costs_the_endpoint_that_waits_for_it(void **state)
{
    enum { NS = 50 * (int)MS, PIECE = 8 * KB, HERE = 2, RATE_GBPS = 10 };
    struct nof_recv *silent[8], *good[HERE];
    uint64_t end_ns = nic->now_ns + NS, came = 0;

    (void)state;
    nic->cfg.link_rate_bps = RATE_GBPS * 1000000000ull;
    budget(28672, 50);
    for (unsigned i = 0; i < 8; i++)
        ask(silent[i] = rendezvous(4, 1, 1024 * KB));
    for (unsigned i = 0; i < HERE; i++)
        ask(good[i] = rendezvous(0, 2 + i, 1ull << 40));
    while (nic->now_ns < end_ns) {
        uint64_t before = came;
        for (unsigned i = 0; i < HERE; i++) {
            uint64_t left = good[i]->allowed - good[i]->received, n = left < PIECE ? left : PIECE;
            comes(good[i], (uint32_t)n);
            came += n;
            nic->now_ns += n * 8 / RATE_GBPS;
            if (nof_clearance_low(nic, good[i]))
                ask(good[i]);
        }
        for (unsigned i = 0; i < 8; i++)
            if (silent[i]->allowed > 0 && silent[i]->clear_bytes == 0) {
                ends(silent[i]);
                ask(silent[i] = rendezvous(4, 1, 1024 * KB));
            }
        while (goes() != NULL)
            continue;
        nic->now_ns += came == before ? 1000 : 0;
    }
    assert_true(came > (uint64_t)NS * RATE_GBPS / 8 * 2 / 5);
    for (unsigned i = 0; i < 8; i++)
        ends(silent[i]);
    for (unsigned i = 0; i < HERE; i++)
        ends(good[i]);
    nothing_is_left();
}

/* Silent senders, one of which was alone and may be long about what it has: those behind it lapse in their time, its own
 * endpoint in its own, and each pays for that. */
static void each_lapses_in_its_time_and_pays_for_it(void **state)
{
    struct nof_recv *alone = rendezvous(4, 1, ALONE), *silent = rendezvous(0, 2, WINDOW),
                    *other = rendezvous(0, 3, KB * KB);
    const struct nof_clear_span *span = nic->clearance.span;
    uint64_t begin_ns = nic->now_ns;

    (void)state;
    nic->cfg.link_rate_bps = 100000000;
    budget(28 * KB, 50);
    assert_true(span[0].lapse_ns < span[1].lapse_ns);
    assert_int_equal(ask(alone), ALONE);
    comes(alone, ALONE - 20 * KB); /* there is room for another */
    assert_int_equal(ask(silent), WINDOW);
    ask(other);
    assert_int_equal(nic->clearance.waiting, 1);
    assert_true(nof_clearance_deadline(nic) == begin_ns + span[0].lapse_ns);
    nic->now_ns = begin_ns + span[0].lapse_ns;
    assert_ptr_equal(goes(), other); /* silent has lapsed, alone has not */
    assert_int_equal(silent->clear_bytes, 0);
    assert_int_equal(alone->clear_bytes, 20 * KB);
    assert_int_equal(nic->clearance.turns[1][silent->ep].owes, span[0].lapse_bytes);
    ends(other);
    ends(silent);
    nic->now_ns = begin_ns + span[1].lapse_ns - 1;
    assert_int_equal(ask(silent = rendezvous(0, 2, WINDOW)), WINDOW);
    ask(other = rendezvous(0, 3, WINDOW));
    assert_true(nof_clearance_deadline(nic) == nic->now_ns + 1);
    nic->now_ns++;
    assert_ptr_equal(goes(), other); /* alone has lapsed, silent has not */
    assert_int_equal(alone->clear_bytes, 0);
    assert_int_equal(silent->clear_bytes, WINDOW);
    assert_int_equal(nic->clearance.turns[1][alone->ep].owes, span[1].lapse_bytes);
    assert_true(span[1].lapse_bytes / 12500 >= span[1].lapse_ns / MS - 1); /* 12.5 bytes a microsecond */
    ends(alone);
    ends(other);
    ends(silent);
    nothing_is_left();
}

static void a_trickle_lapses_too(void **state)
{
    struct nof_recv *slow = rendezvous(0, 1, 60 * KB), *other = rendezvous(0, 2, 10 * KB);
    unsigned n = 0;

    (void)state;
    ask(slow);
    ask(other);
    for (; goes() == NULL; n++) {
        comes(slow, 1);
        nic->now_ns += MS / 10;
    }
    assert_in_range(n, 1, 20 + nic->clearance.span[0].lapse_ns / (MS / 10));
    ends(slow);
    ends(other);
    nothing_is_left();
}

static void without_a_budget_nobody_waits_any_more(void **state)
{
    struct nof_recv *a = rendezvous(0, 1, 100 * KB), *b = rendezvous(0, 2, 1024 * KB), *c;

    (void)state;
    ask(a);
    ask(b);
    assert_int_equal(nic->clearance.waiting, 1);
    budget(0, 50);
    assert_ptr_equal(goes(), b);
    assert_int_equal(b->allowed, 1024 * KB);
    c = rendezvous(0, 3, 1024 * KB);
    assert_int_equal(ask(c), 1024 * KB);
    ends(a);
    ends(b);
    ends(c);
    nothing_is_left();
}

static void the_budget_is_at_least_what_the_link_carries(void **state)
{
    (void)state;
    assert_int_equal(nic->clearance.budget_bytes, BUDGET);
    budget(BUDGET, 50);
    assert_int_equal(nic->clearance.budget_bytes, 1024 * KB); /* the rate is unknown */
    nic->cfg.link_rate_bps = 100000000;
    nof_clearance_set(nic);
    assert_int_equal(nic->clearance.budget_bytes, BUDGET);
    nic->cfg.link_rate_bps = 100000000000ull;
    nof_clearance_set(nic);
    assert_int_equal(nic->clearance.budget_bytes, 625000);
    assert_int_equal(nic->clearance.window_bytes, 312500);
    assert_int_equal(nic->clearance.alone_bytes, 2500000);
}

/* All of it: three senders at once, one of which vanishes and leaves the others what it had. */
static void messages_of_all_come_whatever_one_does(void **state)
{
    enum { N = 12, LEN = 90000 };
    uint8_t *in = world_rank(w, 0)->arena;
    unsigned done = 0, failed = 0;

    (void)state;
    for (unsigned i = 0; i < N; i++)
        world_recv(w, 0, (int)(1 + i % 3), 5, in + i * LEN, LEN, 100 + i);
    for (unsigned i = 0; i < N; i++) {
        memset(world_rank(w, 1 + i % 3)->arena + i * LEN, (int)(i + 1), LEN);
        world_send(w, 1 + i % 3, 0, 5, world_rank(w, 1 + i % 3)->arena + i * LEN, LEN, i);
    }
    while (nic->clearance.waiting == 0)
        world_run_for(w, 1000);
    world_cut(w, 3, true);
    world_run_for(w, 3000 * MS);
    for (const struct nof_comp *c; (c = world_take(w, 0)) != NULL;) {
        if (c->opcode != NOF_COMP_RECV)
            continue;
        failed += c->status != NOF_OK;
        done += c->status == NOF_OK;
        for (unsigned k = 0; c->status == NOF_OK && k < LEN; k++)
            assert_int_equal(in[(c->cookie - 100) * LEN + k], c->cookie - 100 + 1);
    }
    assert_int_equal(done + failed, N);
    assert_in_range(failed, 1, N / 3);
    nothing_is_left();
}

/* It sends, and takes nothing: neither does its receive fill the pool of control frames, nor is it forgotten. */
static void a_sender_that_acknowledges_nothing_has_one_cts_that_waits(void **state)
{
    struct nof_recv *other = rendezvous(4, 2, 5 * KB), *r = rendezvous(0, 1, 1ull << 40);
    uint32_t waiting = nic->ctls.used;

    (void)state;
    ask(other);
    ask(r);
    for (unsigned i = 0; i < 1000; i++) {
        uint32_t n = (uint32_t)(r->allowed - r->received);
        assert_true(n > 0);
        r->received += n;
        nof_rndv_came(nic, r, n);
        nof_rndv_clear(nic);
    }
    assert_int_equal(nic->ctls.used, waiting + 1);
    assert_true(r->cts_waits);
    world_run_for(w, 20 * MS);
    assert_int_equal(nic->ctls.used, waiting);
    assert_false(r->cts_waits);
    ends(r);
    ends(other);
    nothing_is_left();
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(who_is_alone_runs_ahead_and_never_waits),
        EACH(who_is_alone_again_runs_ahead_again),
        EACH(of_a_sender_that_computes_a_window_counts),
        EACH(others_wait_while_the_budget_is_used_up),
        EACH(small_ones_and_those_within_the_nic_do_not_count),
        EACH(a_flow_with_many_has_the_turn_of_one),
        EACH(endpoints_share_by_bytes),
        EACH(steps_go_in_the_order_of_their_phases),
        EACH(schedules_and_others_take_turns),
        EACH(what_does_not_come_lapses),
        EACH(silence_costs_the_endpoint_that_waits_for_it),
        EACH(what_came_alone_comes_to_its_end),
        EACH(each_lapses_in_its_time_and_pays_for_it),
        EACH(a_trickle_lapses_too),
        EACH(without_a_budget_nobody_waits_any_more),
        EACH(the_budget_is_at_least_what_the_link_carries),
        EACH(a_sender_that_acknowledges_nothing_has_one_cts_that_waits),
        EACH(messages_of_all_come_whatever_one_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
