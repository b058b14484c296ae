/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links: frames that loop back, control frames that wait, and what becomes of them when the link ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#include "flow/job.h"
#include "flow/link.h"

static struct world *w;
static struct nof_nic *nic;
static struct nof_link *link;
static uint32_t job;

static int start(void **state)
{
    struct world_config cfg = {.nics = 1, .mtu = 1500, .seed = 1, .nic = {.max_endpoints = 2, .max_jobs = 2}};
    struct nof_endpoint_params params = {.job_id = 7, .size = 4};

    (void)state;
    w = world_init(&cfg);
    nic = world_nic(w, 0);
    if (nof_job_join(nic, &params, &job) != NOF_OK)
        return -1;
    link = &nic->links[nic->jobs[job].local_link];
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_fini(w);
    return 0;
}

/* A control frame with a number in it. */
static void say(uint8_t number)
{
    nof_link_ctl(nic, link, NOF_WIRE_MATCHED, 0, 0, 1, &number, 1);
}

/* The numbers, or 'C' for CREDIT, of all frames that loop back. */
static const char *heard(void)
{
    static char text[600];
    struct nof_local_batch batch = nof_local_take(nic);
    struct nof_wire_view view;
    struct nof_link *from;
    size_t n = 0;

    while ((from = nof_local_next(nic, &batch, &view)) != NULL && n < sizeof text - 1) {
        assert_ptr_equal(from, link);
        assert_int_equal(view.payload_bytes, 0);
        text[n++] = view.type == NOF_WIRE_CREDIT ? 'C' : (char)view.fields[0];
    }
    nof_local_done(nic, &batch);
    text[n] = '\0';
    return text;
}

static void frames_loop_back_in_order_and_are_free_again(void **state)
{
    uint32_t free = nof_pool_free(&nic->locals);

    (void)state;
    say('a');
    say('b');
    assert_int_equal(nof_pool_free(&nic->locals), free - 2);
    assert_string_equal(heard(), "ab");
    assert_int_equal(nof_pool_free(&nic->locals), free);
    assert_string_equal(heard(), "");
}

static void a_frame_has_room_and_can_be_let_go(void **state)
{
    uint8_t *body;
    struct nof_frame *frame;

    (void)state;
    assert_int_equal(nof_link_body_max(link), NOF_LOCAL_BODY);
    frame = nof_link_frame(nic, link, NOF_LOCAL_BODY, &body);
    assert_non_null(frame);
    memset(body, 1, NOF_LOCAL_BODY);
    nof_link_drop(nic, link, frame);
    assert_int_equal(nic->locals.used, 0);
}

/* So that what makes room is never behind what needs it. */
static void control_frames_have_a_reserve(void **state)
{
    struct nof_frame *frame[256];
    uint8_t *body;
    unsigned n = 0;

    (void)state;
    while (nof_link_window(nic, link, false) > 0)
        frame[n++] = nof_link_frame(nic, link, 10, &body);
    assert_int_equal(nof_link_window(nic, link, true), NOF_LOCAL_FRAMES / 8);
    for (unsigned i = 0; i < NOF_LOCAL_FRAMES / 8; i++)
        say((uint8_t)('a' + i));
    assert_int_equal(nof_link_window(nic, link, true), 0);
    assert_null(nof_link_frame(nic, link, 10, &body));
    say('z'); /* waits */
    assert_int_equal(nic->ctls.used, 1);
    assert_string_equal(heard(), "abcd");
    assert_string_equal(heard(), "z"); /* room brought it on its way */
    while (n > 0)
        nof_link_drop(nic, link, frame[--n]);
}

static void what_waits_leaves_in_order_and_nothing_overtakes_it(void **state)
{
    (void)state;
    link->up = 0;
    say('a');
    say('b');
    assert_string_equal(heard(), "");
    link->up = 1;
    say('c');
    assert_string_equal(heard(), "");
    nof_link_ready(nic, link);
    assert_string_equal(heard(), "abc");
    assert_int_equal(nic->ctls.used, 0);
    say('d');
    assert_string_equal(heard(), "d");
}

static struct nof_peer *flow(void)
{
    struct nof_peer *p = nof_peer_at(nic, nof_pool_take(&nic->peers));

    p->link = nof_link_index(nic, link);
    p->rx_msgs_announced = 10;
    return p;
}

static void credit_waits_once_and_has_the_values_of_the_moment_it_leaves(void **state)
{
    struct nof_peer *p = flow();
    struct nof_local_batch batch;
    struct nof_wire_view view;

    (void)state;
    link->up = 0;
    nof_link_credit(nic, link, p);
    nof_link_credit(nic, link, p);
    p->rx_msgs_announced = 33;
    nof_link_credit(nic, link, p);
    assert_int_equal(nic->ctls.used, 1);
    link->up = 1;
    nof_link_ready(nic, link);
    batch = nof_local_take(nic);
    assert_non_null(nof_local_next(nic, &batch, &view));
    assert_int_equal(view.type, NOF_WIRE_CREDIT);
    assert_int_equal(nof_get32(view.fields + NOF_WIRE_CREDIT_ENVELOPES), 33);
    assert_null(nof_local_next(nic, &batch, &view));
    nof_local_done(nic, &batch);
    nof_link_credit(nic, link, p); /* and again */
    assert_string_equal(heard(), "C");
}

static void credit_of_a_flow_that_died_stays_unsaid(void **state)
{
    struct nof_peer *dead = flow(), *other = flow();

    (void)state;
    link->up = 0;
    say('a');
    nof_link_credit(nic, link, dead);
    nof_link_credit(nic, link, other);
    say('b');
    dead->flags |= NOF_PEER_F_DEAD;
    nof_pool_give(&nic->peers, nof_peer_index(nic, other)); /* its place is another's */
    link->up = 1;
    nof_link_ready(nic, link);
    assert_string_equal(heard(), "ab");
    assert_int_equal(nic->ctls.used, 0);
}

static void what_waits_on_a_link_that_ends_is_swept_in_pieces(void **state)
{
    (void)state;
    link->up = 0;
    for (unsigned i = 0; i < 600; i++)
        say(1);
    assert_int_equal(nic->ctls.used, 600);
    nof_link_free(nic, link);
    assert_int_equal(nic->ctls.used, 600);
    nof_link_sweep(nic);
    assert_int_equal(nic->ctls.used, 600 - 256);
    nof_link_sweep(nic);
    nof_link_sweep(nic);
    assert_int_equal(nic->ctls.used, 0);
    assert_int_equal(nic->stale_ctls, NOF_NIL);
    nof_link_init_local(nic, job);
    assert_string_equal(heard(), "");
}

static void frames_of_a_link_that_has_ended_reach_nobody(void **state)
{
    uint32_t free = nof_pool_free(&nic->locals);

    (void)state;
    say('a');
    nof_link_free(nic, link);
    assert_string_equal(heard(), "");
    assert_int_equal(nof_pool_free(&nic->locals), free);
    nof_link_init_local(nic, job);
}

static void what_is_said_to_a_link_that_is_gone_is_forgotten(void **state)
{
    (void)state;
    link->up = 0;
    link->gone = 1;
    say('a');
    assert_int_equal(nic->ctls.used, 0);
}

static void a_link_that_is_gone_stays_until_its_flows_have_left(void **state)
{
    (void)state;
    link->flows = 2;
    link->gone = 1;
    assert_false(nof_link_left(nic, link));
    assert_true(link->used);
    link->flows = 0;
    assert_true(nof_link_left(nic, link));
    assert_false(link->used);
    nof_link_init_local(nic, job);
}

static void draining_is_counted_once_and_taken_back(void **state)
{
    (void)state;
    nof_link_keep(nic, link);
    assert_int_equal(nic->draining, 0);
    nof_link_drain(nic, link);
    nof_link_drain(nic, link);
    assert_int_equal(nic->draining, 1);
    nof_link_keep(nic, link);
    nof_link_keep(nic, link);
    assert_int_equal(nic->draining, 0);
    nof_link_drain(nic, link);
    nof_link_free(nic, link);
    assert_int_equal(nic->draining, 0);
    link->gone = 1;
    nof_link_drain(nic, link); /* it goes by itself */
    assert_int_equal(nic->draining, 0);
    nof_link_init_local(nic, job);
}

static void what_loops_back_is_acknowledged(void **state)
{
    (void)state;
    say('a');
    assert_true(nof_link_acked(link, 123));
    assert_string_equal(heard(), "a");
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(frames_loop_back_in_order_and_are_free_again),
        EACH(a_frame_has_room_and_can_be_let_go),
        EACH(control_frames_have_a_reserve),
        EACH(what_waits_leaves_in_order_and_nothing_overtakes_it),
        EACH(credit_waits_once_and_has_the_values_of_the_moment_it_leaves),
        EACH(credit_of_a_flow_that_died_stays_unsaid),
        EACH(what_waits_on_a_link_that_ends_is_swept_in_pieces),
        EACH(frames_of_a_link_that_has_ended_reach_nobody),
        EACH(what_is_said_to_a_link_that_is_gone_is_forgotten),
        EACH(a_link_that_is_gone_stays_until_its_flows_have_left),
        EACH(draining_is_counted_once_and_taken_back),
        EACH(what_loops_back_is_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
