/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deficit round robin: shares of the link, counted in bytes, and which queue a flow stands in. Endpoints and flows are
 * made here; nothing is sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world.h"

#include "flow/link.h"
#include "flow/scheduler.h"
#include "transport/state.h"

#define EPS 4u
#define QUANTUM 10000u
#define FULL_BYTES 1514u

static struct world *w;
static struct nof_nic *nic;

static int start(void **state)
{
    struct world_config cfg = {.nics = 1, .mtu = 1500, .seed = 1};

    (void)state;
    cfg.nic = (struct nof_nic_config){.max_endpoints = EPS, .max_peers = 2048, .max_envelopes = 2048};
    w = world_init(&cfg);
    nic = world_nic(w, 0);
    for (uint32_t i = 0; i < EPS; i++) {
        nic->eps[i].state = NOF_EP_OPEN;
        nof_scheduler_init(&nic->eps[i]);
    }
    nof_link_init_local(nic, 0);
    return nof_nic_feature_set(nic, NOF_F_DRR_QUANTUM, QUANTUM);
}

static int end(void **state)
{
    (void)state;
    world_fini(w);
    return 0;
}

/* A flow of this endpoint that always has something to send. */
static struct nof_peer *flow(uint32_t ep)
{
    struct nof_peer *p = nof_peer_at(nic, nof_pool_take(&nic->peers));

    p->used = 1;
    p->ep = (uint16_t)ep;
    p->link = nic->jobs[0].local_link;
    p->sendq = 0;
    p->dataq = p->readq = NOF_NIL;
    return p;
}

static void none_is_next(void)
{
    struct nof_scheduler_run run = {0};

    assert_null(nof_scheduler_next(nic, &run));
    assert_false(nof_scheduler_flows(nic));
}

static void only_who_has_something_to_send_is_served(void **state)
{
    struct nof_scheduler_run run = {0};
    struct nof_peer *empty = flow(0), *dead = flow(0), *full = flow(0);

    (void)state;
    empty->sendq = NOF_NIL;
    dead->flags = NOF_PEER_F_DEAD;
    nof_scheduler_activate(nic, empty);
    nof_scheduler_activate(nic, dead);
    none_is_next();
    nof_scheduler_activate(nic, full);
    nof_scheduler_activate(nic, full);
    assert_ptr_equal(nof_scheduler_next(nic, &run), full);
    nof_scheduler_served(nic, &run, full, NOF_PUMP_IDLE, 1, 0);
    assert_int_equal(full->sched, NOF_SCHED_IDLE);
    assert_null(nof_scheduler_next(nic, &run)); /* it stood there once */
}

/* What a flow sends that has endless requests of this length: until its share is used up, and none is cut. */
static uint32_t share_of(const struct nof_peer *p, uint32_t length)
{
    return ((uint32_t)p->deficit + length - 1) / length * length;
}

/* So many flows are served, with requests of the given lengths, by endpoint; what each got. */
static void serve(unsigned turns, const uint32_t *lengths, uint64_t *got)
{
    for (unsigned n = 0; n < turns;) {
        struct nof_scheduler_run run = {0};
        struct nof_peer *p;

        while (n < turns && (p = nof_scheduler_next(nic, &run)) != NULL) {
            uint32_t bytes = share_of(p, lengths[p->ep]);

            assert_true(bytes < QUANTUM + lengths[p->ep]);
            got[p->ep] += bytes;
            nof_scheduler_served(nic, &run, p, NOF_PUMP_MORE, bytes, 0);
            n++;
        }
        nof_scheduler_end(nic, &run);
    }
}

static void endpoints_share_in_bytes_not_in_requests_or_flows(void **state)
{
    static const uint32_t lengths[EPS] = {64, 1500, 65536, 9000};
    uint64_t got[EPS] = {0}, least = UINT64_MAX, most = 0;

    (void)state;
    for (uint32_t i = 0; i < EPS; i++)
        for (unsigned k = 0; k < (i == 0 ? 40 : 1); k++) /* one floods */
            nof_scheduler_activate(nic, flow(i));
    serve(5000, lengths, got);
    for (unsigned i = 0; i < EPS; i++) {
        least = got[i] < least ? got[i] : least;
        most = got[i] > most ? got[i] : most;
    }
    assert_true(least > 10 * 65536);
    assert_true(most - least <= 2 * 65536 + 2 * QUANTUM); /* a request is never cut */
}

static void flows_of_one_endpoint_share_too(void **state)
{
    struct nof_peer *small = flow(1), *large = flow(1);
    uint64_t got[2] = {0};

    (void)state;
    nof_scheduler_activate(nic, small);
    nof_scheduler_activate(nic, large);
    for (unsigned n = 0; n < 4000; n++) {
        struct nof_scheduler_run run = {0};
        struct nof_peer *p = nof_scheduler_next(nic, &run);

        if (p != NULL) {
            uint32_t bytes = share_of(p, p == small ? 500 : 60000);

            got[p == large] += bytes;
            nof_scheduler_served(nic, &run, p, NOF_PUMP_MORE, bytes, 0);
        }
        nof_scheduler_end(nic, &run);
    }
    assert_true(got[0] > 500000);
    assert_in_range(got[1], got[0] - 80000, got[0] + 80000);
}

/* Credit for silence would be a burst later. */
static void who_was_silent_has_saved_nothing(void **state)
{
    static const uint32_t lengths[EPS] = {1000, 1000, 0, 0};
    struct nof_peer *modest = flow(0);
    uint64_t got[EPS] = {0};

    (void)state;
    for (unsigned i = 0; i < 500; i++) { /* far less than it might */
        struct nof_scheduler_run run = {0};

        nof_scheduler_activate(nic, modest);
        assert_ptr_equal(nof_scheduler_next(nic, &run), modest);
        nof_scheduler_served(nic, &run, modest, NOF_PUMP_IDLE, 100, 0);
        nof_scheduler_end(nic, &run);
    }
    nof_scheduler_activate(nic, modest);
    nof_scheduler_activate(nic, flow(1));
    serve(100, lengths, got);
    assert_true(got[1] > 20 * QUANTUM);
    assert_in_range(got[0], got[1] - 2 * QUANTUM, got[1] + 2 * QUANTUM);
}

static struct nof_peer *served_as(struct nof_peer *p, enum nof_pump state)
{
    struct nof_scheduler_run run = {0};

    nof_scheduler_activate(nic, p);
    assert_ptr_equal(nof_scheduler_next(nic, &run), p);
    nof_scheduler_served(nic, &run, p, state, 10, 0);
    nof_scheduler_end(nic, &run);
    return p;
}

static void slow_link(void)
{
    static uint64_t place;
    void *anywhere = &place;

    nic->cfg.link_rate_bps = 100000000;
    nof_pacer_init(&nic->transport->pacer, nic->cfg.link_rate_bps, FULL_BYTES, nic->transport->now_ns);
    nic->links[1].path = anywhere;
}

static struct nof_peer *wire_flow(uint32_t ep)
{
    struct nof_peer *p = flow(ep);

    p->link = 1;
    return p;
}

/* The NIC may send a frame at a time: each has its share all the same, and who has been interrupted goes on. */
static void a_paced_link_is_shared_frame_by_frame(void **state)
{
    struct nof_peer *first = wire_flow(0), *second = wire_flow(0), *other = wire_flow(1);
    uint64_t got[3] = {0};
    unsigned changes = 0;
    struct nof_peer *last = NULL;

    (void)state;
    slow_link();
    nof_scheduler_activate(nic, first);
    nof_scheduler_activate(nic, second);
    nof_scheduler_activate(nic, other);
    for (unsigned n = 0; n < 4000; n++) {
        struct nof_scheduler_run run = {0};
        struct nof_peer *p = nof_scheduler_next(nic, &run);

        assert_non_null(p);
        got[p == first ? 0 : p == second ? 1 : 2] += FULL_BYTES;
        changes += p != last;
        last = p;
        nof_pacer_book(&nic->transport->pacer, FULL_BYTES, 1, nic->transport->now_ns);
        assert_false(nof_transport_room(nic->transport));
        nof_scheduler_served(nic, &run, p, NOF_PUMP_BLOCKED, FULL_BYTES, 0);
        assert_null(nof_scheduler_next(nic, &run));
        nof_scheduler_end(nic, &run);
        assert_false(nof_scheduler_ready(nic)); /* the clock says when */
        nic->transport->now_ns = nic->transport->pacer.free_ns;
        nic->transport->room_wanted = false;
    }
    assert_in_range(got[2], got[0] + got[1] - 4 * QUANTUM, got[0] + got[1] + 4 * QUANTUM);
    assert_in_range(got[0], got[1] - 4 * QUANTUM, got[1] + 4 * QUANTUM);
    assert_in_range(changes, 1300, 2700); /* what the link carries in 250 us: two frames, or three */
}

/* A flow with the payload of one message, which is the n-th that its endpoint has sent. */
static struct nof_peer *bulk_flow(uint32_t ep, uint64_t n)
{
    struct nof_peer *p = wire_flow(ep);
    uint32_t s = nof_pool_take(&nic->sends);

    nof_send_at(nic, s)->order = n;
    p->sendq = NOF_NIL;
    nof_queue_push(&nic->sends, &p->dataq, s);
    return p;
}

static struct nof_peer *next_served(enum nof_pump state, uint32_t bytes)
{
    struct nof_scheduler_run run = {0};
    struct nof_peer *p = nof_scheduler_next(nic, &run);

    assert_non_null(p);
    nof_scheduler_served(nic, &run, p, state, bytes, 0);
    nof_scheduler_end(nic, &run);
    return p;
}

static void payload_leaves_in_the_order_of_messages(void **state)
{
    struct nof_peer *third, *first, *second, *envelope;

    (void)state;
    slow_link();
    third = bulk_flow(0, 3), first = bulk_flow(0, 1), second = bulk_flow(0, 2);
    nof_scheduler_activate(nic, third);
    nof_scheduler_activate(nic, first);
    nof_scheduler_activate(nic, second);
    for (unsigned n = 0; n < 20; n++)
        assert_ptr_equal(next_served(NOF_PUMP_MORE, 2 * FULL_BYTES), first);
    envelope = wire_flow(0); /* is not behind it, and does not hold it up */
    nof_scheduler_activate(nic, envelope);
    for (unsigned n = 0, turns = 0; n < 20; n++) {
        turns += next_served(NOF_PUMP_MORE, 4 * FULL_BYTES) == envelope;
        assert_in_range(2 * turns, n, n + 2);
    }
    third->sendq = 0; /* nor is one that has come to have an envelope */
    nof_scheduler_activate(nic, third);
    assert_int_equal(third->sched, NOF_SCHED_ACTIVE);
    nof_scheduler_remove(nic, third);
    nof_scheduler_remove(nic, envelope);
    assert_ptr_equal(next_served(NOF_PUMP_IDLE, FULL_BYTES), first);
    assert_ptr_equal(next_served(NOF_PUMP_MORE, FULL_BYTES), second);
    nof_scheduler_remove(nic, second);
    assert_int_equal(nic->eps[0].sched[NOF_SCHED_WIRE].bulk, NOF_NIL);
    none_is_next();
}

/* Each flow has a block that was charged when it was read: one does not send all of it before the other. */
static void a_block_that_is_paid_for_does_not_leave_alone(void **state)
{
    struct nof_peer *a = wire_flow(0), *b = wire_flow(1), *last = NULL;

    (void)state;
    slow_link();
    nof_scheduler_activate(nic, a);
    nof_scheduler_activate(nic, b);
    for (unsigned n = 0; n < 20; n++) {
        struct nof_scheduler_run run = {0};
        struct nof_peer *p = nof_scheduler_next(nic, &run);

        assert_ptr_not_equal(p, last);
        last = p;
        nof_pacer_book(&nic->transport->pacer, FULL_BYTES, 1, nic->transport->now_ns);
        nof_scheduler_served(nic, &run, p, NOF_PUMP_BLOCKED, 0, 1);
        nof_scheduler_end(nic, &run);
        nic->transport->now_ns = nic->transport->pacer.free_ns;
    }
}

static void the_loop_back_does_not_wait_for_the_link(void **state)
{
    struct nof_scheduler_run run = {0};
    struct nof_peer *wire = wire_flow(0), *loop = flow(0);

    (void)state;
    slow_link();
    nof_pacer_book(&nic->transport->pacer, FULL_BYTES, 10, nic->transport->now_ns);
    nof_scheduler_activate(nic, wire);
    nof_scheduler_activate(nic, loop);
    assert_ptr_equal(nof_scheduler_next(nic, &run), wire);
    nof_scheduler_served(nic, &run, wire, NOF_PUMP_BLOCKED, 0, 0);
    assert_ptr_equal(nof_scheduler_next(nic, &run), loop);
    nof_scheduler_served(nic, &run, loop, NOF_PUMP_IDLE, 1, 0);
    assert_null(nof_scheduler_next(nic, &run));
    nof_scheduler_end(nic, &run);
    assert_int_equal(wire->sched, NOF_SCHED_ACTIVE);
    nof_scheduler_remove(nic, wire);
    assert_int_equal(nic->eps[0].sched[NOF_SCHED_WIRE].active, NOF_NIL);
}

static void a_shut_window_holds_the_flow_at_its_link(void **state)
{
    struct nof_link *link = &nic->links[nic->jobs[0].local_link];
    struct nof_peer *p = served_as(flow(0), NOF_PUMP_BLOCKED);
    struct nof_scheduler_run run = {0};

    (void)state;
    assert_int_equal(p->sched, NOF_SCHED_BLOCKED);
    nof_scheduler_activate(nic, p); /* more to send, and the window is still shut */
    none_is_next();
    assert_false(nof_scheduler_unblock(nic, link));
    assert_ptr_equal(nof_scheduler_next(nic, &run), p);
}

static void a_window_that_opens_wakes_so_many_at_a_time(void **state)
{
    struct nof_link *link = &nic->links[nic->jobs[0].local_link];
    unsigned active = 0;

    (void)state;
    for (unsigned i = 0; i < 300; i++)
        (void)served_as(flow(i % EPS), NOF_PUMP_BLOCKED);
    assert_true(nof_scheduler_unblock(nic, link));
    for (uint32_t i = 0; i < nic->peers.high; i++)
        active += nof_peer_at(nic, i)->sched == NOF_SCHED_LOOPS;
    assert_int_equal(active, 256);
    assert_false(nof_scheduler_unblock(nic, link));
}

static void what_found_nothing_to_send_with_is_tried_again(void **state)
{
    static const enum nof_pump why[] = {NOF_PUMP_BUSY, NOF_PUMP_READING};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct nof_scheduler_run run = {0};
        struct nof_peer *p;

        nic->retry_ns = 0;
        p = served_as(flow(0), why[i]);
        assert_int_equal(p->sched, NOF_SCHED_BUSY);
        assert_int_equal(nic->retry_ns != 0, why[i] == NOF_PUMP_BUSY); /* nobody will say when */
        none_is_next();
        nof_scheduler_retry(nic);
        assert_ptr_equal(nof_scheduler_next(nic, &run), p);
        nof_scheduler_served(nic, &run, p, NOF_PUMP_IDLE, 0, 0);
        nof_scheduler_end(nic, &run);
        p->flags = NOF_PEER_F_DEAD;
    }
}

/* A read that finds no room is not tried again because another flow has used up its endpoint's steps. */
static void who_has_no_steps_left_goes_on_in_the_next_turn(void **state)
{
    struct nof_peer *busy = served_as(flow(0), NOF_PUMP_BUSY), *later = served_as(flow(1), NOF_PUMP_LATER);
    struct nof_scheduler_run run = {0};

    (void)state;
    assert_int_equal(later->sched, NOF_SCHED_LATER);
    nof_scheduler_turn(nic);
    assert_ptr_equal(nof_scheduler_next(nic, &run), later);
    nof_scheduler_served(nic, &run, later, NOF_PUMP_LATER, 0, 0);
    nof_scheduler_end(nic, &run);
    assert_int_equal(busy->sched, NOF_SCHED_BUSY);
    nof_scheduler_retry(nic);
    run = (struct nof_scheduler_run){0};
    assert_ptr_equal(nof_scheduler_next(nic, &run), busy);
    nof_scheduler_served(nic, &run, busy, NOF_PUMP_IDLE, 0, 0);
    nof_scheduler_end(nic, &run);
    assert_int_equal(later->sched, NOF_SCHED_LATER);
}

static void a_dying_flow_leaves_whatever_queue_it_is_in(void **state)
{
    struct nof_link *link = &nic->links[nic->jobs[0].local_link];
    struct nof_peer *active = flow(0), *blocked = served_as(flow(1), NOF_PUMP_BLOCKED),
                    *busy = served_as(flow(2), NOF_PUMP_BUSY), *idle = flow(3),
                    *later = served_as(flow(3), NOF_PUMP_LATER);

    (void)state;
    nof_scheduler_activate(nic, active);
    nof_scheduler_remove(nic, active);
    nof_scheduler_remove(nic, blocked);
    nof_scheduler_remove(nic, busy);
    nof_scheduler_remove(nic, later);
    nof_scheduler_remove(nic, idle);
    assert_int_equal(nic->eps[0].sched[NOF_SCHED_LOOP].active, NOF_NIL);
    assert_int_equal(link->blocked, NOF_NIL);
    assert_int_equal(nic->busy_flows, NOF_NIL);
    assert_int_equal(nic->later_flows, NOF_NIL);
    none_is_next();
}

static void an_endpoint_that_closes_has_no_turn(void **state)
{
    (void)state;
    nof_scheduler_activate(nic, flow(0));
    nic->eps[0].state = NOF_EP_CLOSING;
    none_is_next();
    assert_false(nic->eps[0].sched[NOF_SCHED_LOOP].listed);
}

/* One with thousands of flows that can send nothing is not looked through at once. */
static void a_run_looks_at_so_many_flows(void **state)
{
    struct nof_scheduler_run run = {0};
    unsigned looks = 0;
    struct nof_peer *p;

    (void)state;
    for (unsigned i = 0; i < 2000; i++)
        nof_scheduler_activate(nic, flow(i % 2));
    while ((p = nof_scheduler_next(nic, &run)) != NULL) {
        nof_scheduler_served(nic, &run, p, NOF_PUMP_BLOCKED, 0, 0);
        looks++;
    }
    assert_in_range(looks, 512, 512 + 64);
    assert_true(nof_scheduler_flows(nic)); /* the rest in the next */
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(only_who_has_something_to_send_is_served),
        EACH(endpoints_share_in_bytes_not_in_requests_or_flows),
        EACH(flows_of_one_endpoint_share_too),
        EACH(who_was_silent_has_saved_nothing),
        EACH(a_paced_link_is_shared_frame_by_frame),
        EACH(payload_leaves_in_the_order_of_messages),
        EACH(a_block_that_is_paid_for_does_not_leave_alone),
        EACH(the_loop_back_does_not_wait_for_the_link),
        EACH(a_shut_window_holds_the_flow_at_its_link),
        EACH(a_window_that_opens_wakes_so_many_at_a_time),
        EACH(what_found_nothing_to_send_with_is_tried_again),
        EACH(who_has_no_steps_left_goes_on_in_the_next_turn),
        EACH(a_dying_flow_leaves_whatever_queue_it_is_in),
        EACH(an_endpoint_that_closes_has_no_turn),
        EACH(a_run_looks_at_so_many_flows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
