/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives: how many an endpoint may have, what they end with, and that one whose buffer is being written does not end
 * before that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"

#include "msg/recv.h"

static struct pair p;

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

/* One that was matched with a message of `len` bytes, listed with its peer. */
static struct nof_recv *matched(uint64_t capacity, uint64_t len, uint64_t cookie)
{
    struct nof_match_key key = {.ep = p.ep->index, .ctx = 1, .source = 0, .tag = 5};
    struct nof_recv *r = nof_recv_take(p.nic, p.ep, NOF_COMP_RECV);

    nof_recv_call(r, &key, cookie, (uint64_t)(uintptr_t)p.in, capacity, NOF_NIL);
    nof_recv_matched(p.nic, r, p.peer, &key, len, 0);
    return r;
}

static void a_matched_one_wants_what_it_has_room_for(void **state)
{
    struct nof_recv *r = matched(100, 60, 1);

    (void)state;
    assert_int_equal(r->wanted, 60);
    assert_int_equal(r->len, 60);
    assert_int_equal(r->peer, nof_peer_index(p.nic, p.peer));
    nof_recv_free(p.nic, r);
    r = matched(100, 5000, 1);
    assert_int_equal(r->wanted, 100);
    assert_int_equal(r->len, 5000);
    nof_recv_free(p.nic, r);
    assert_int_equal(p.ep->recvs_used, 0);
}

static void inline_payload_ends_it(void **state)
{
    const struct nof_comp *c;

    (void)state;
    nof_recv_inline(p.nic, matched(100, 20, 1), p.out);
    c = world_expect(p.w, 1, NOF_COMP_RECV, 1);
    assert_int_equal(c->status, NOF_OK);
    assert_int_equal(c->len, 20);
    assert_int_equal(c->peer, 0);
    assert_int_equal(c->tag, 5);
    assert_memory_equal(c->inline_data, p.out, 20);
    nof_recv_inline(p.nic, matched(10, 20, 2), p.out);
    c = world_expect(p.w, 1, NOF_COMP_RECV, 2);
    assert_int_equal(c->status, NOF_ETRUNC);
    assert_int_equal(c->len, 20); /* of the message */
    assert_int_equal(p.ep->recvs_used, 0);
}

static void an_error_ends_it_with_its_reason(void **state)
{
    struct nof_recv *r = matched(100, 60, 1);

    (void)state;
    nof_recv_list(p.nic, r);
    assert_int_equal(p.peer->expects, 1);
    nof_recv_end(p.nic, r, NOF_EPEERDEAD);
    assert_int_equal(world_expect(p.w, 1, NOF_COMP_RECV, 1)->status, NOF_EPEERDEAD);
    assert_int_equal(p.peer->expects, 0); /* nobody waits for it any more */
    assert_int_equal(p.ep->recvs_used, 0);
}

static void while_its_buffer_is_written_it_does_not_end(void **state)
{
    struct nof_recv *r = matched(100, 60, 1);

    (void)state;
    nof_recv_list(p.nic, r);
    r->state = NOF_RECV_RNDV;
    r->hold_bytes = 0;
    r->writes = 2;
    nof_recv_end(p.nic, r, NOF_EPEERDEAD);
    assert_null(world_take(p.w, 1));
    assert_int_equal(r->state, NOF_RECV_ENDING);
    r->writes = 1;
    nof_recv_write_ended(p.nic, r);
    assert_null(world_take(p.w, 1));
    r->writes = 0;
    nof_recv_write_ended(p.nic, r);
    assert_int_equal(world_expect(p.w, 1, NOF_COMP_RECV, 1)->status, NOF_EPEERDEAD);
}

static void it_is_done_when_all_that_was_wanted_is_with_the_host(void **state)
{
    struct nof_recv *r = matched(2000, 1000, 1);

    (void)state;
    nof_recv_list(p.nic, r);
    r->state = NOF_RECV_RNDV;
    r->hold_bytes = 0;
    nof_recv_came(r, 1000);
    nof_recv_wrote(r, 400);
    nof_recv_progress(p.nic, r);
    assert_null(world_take(p.w, 1));
    nof_recv_arrived(r);
    nof_recv_progress(p.nic, r);
    assert_null(world_take(p.w, 1));
    nof_recv_wrote(r, 600);
    nof_recv_progress(p.nic, r);
    assert_int_equal(world_expect(p.w, 1, NOF_COMP_RECV, 1)->len, 1000);
}

static void a_handle_names_one_of_this_flow_in_this_life(void **state)
{
    struct nof_recv *r = matched(2000, 1000, 1);
    uint64_t handle = nof_handle(nof_recv_index(p.nic, r), r->obj.gen);

    (void)state;
    r->state = NOF_RECV_RNDV;
    assert_ptr_equal(nof_recv_by_handle(p.nic, p.peer, handle), r);
    assert_null(nof_recv_by_handle(p.nic, p.peer, handle + (1ull << 32)));
    assert_null(nof_recv_by_handle(p.nic, p.peer, handle + 1));
    assert_null(nof_recv_by_handle(p.nic, p.peer, UINT32_MAX));
    assert_null(nof_recv_by_handle(p.nic, nof_peer_at(p.nic, nof_peer_index(p.nic, p.peer) ^ 1), handle));
    nof_recv_free(p.nic, r);
    assert_null(nof_recv_by_handle(p.nic, p.peer, handle));
}

static void of_the_dead_nothing_is_posted(void **state)
{
    struct nof_match_key key = {.ep = p.ep->index, .ctx = 1, .source = 0, .tag = 5};
    struct nof_recv *r = nof_recv_take(p.nic, p.ep, NOF_COMP_RECV);

    (void)state;
    nof_recv_call(r, &key, 1, 0, 100, NOF_NIL);
    p.peer->flags |= NOF_PEER_F_DEAD;
    p.peer->status = NOF_ELINKDOWN;
    assert_int_equal(nof_recv_post(p.nic, r), NOF_ELINKDOWN);
    assert_int_equal(p.ep->posted_total, 0);
    p.peer->flags ^= NOF_PEER_F_DEAD;
    assert_int_equal(nof_recv_post(p.nic, r), NOF_OK);
    assert_int_equal(p.ep->posted_total, 1);
    assert_int_equal(p.peer->expects, 1);
    nof_recv_unpost(p.nic, r);
    assert_int_equal(p.ep->posted_total, 0);
    assert_int_equal(p.peer->expects, 0);
    nof_recv_free(p.nic, r);
}

static void room_is_kept_for_the_others(void **state)
{
    uint32_t n = 0;

    (void)state;
    assert_true(nof_recv_may_post(p.nic, p.ep));
    while (nof_recv_may_post(p.nic, p.ep) && nof_recv_take(p.nic, p.ep, NOF_COMP_RECV) != NULL)
        n++;
    assert_true(n >= p.nic->posted_limit);
    assert_true(nof_recv_room(p.nic, p.ep) > 0); /* other kinds of descriptors still are taken */
    assert_true(nof_recv_may_post(p.nic, &p.nic->eps[1])); /* the other has its minimum */
    while (nof_recv_room(p.nic, p.ep) > 0 && nof_recv_take(p.nic, p.ep, NOF_COMP_PROBE) != NULL)
        n++;
    assert_int_equal(nof_recv_room(p.nic, p.ep), 0);
    assert_int_equal(nof_recv_room(p.nic, &p.nic->eps[1]), p.nic->recvs_min);
    assert_true(n < p.nic->recvs.cap);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_matched_one_wants_what_it_has_room_for),
        EACH(inline_payload_ends_it),
        EACH(an_error_ends_it_with_its_reason),
        EACH(while_its_buffer_is_written_it_does_not_end),
        EACH(it_is_done_when_all_that_was_wanted_is_with_the_host),
        EACH(a_handle_names_one_of_this_flow_in_this_life),
        EACH(of_the_dead_nothing_is_posted),
        EACH(room_is_kept_for_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
