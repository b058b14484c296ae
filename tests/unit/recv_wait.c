/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives that wait: for blocks in the order of their coming, for a while in any; each leaves from wherever it stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world.h"

#include "payload/recv_wait.h"

#define N 6u

static struct world *w;
static struct nof_nic *nic;
static struct nof_endpoint *ep;
static struct nof_recv *r[N];

static int start(void **state)
{
    struct world_config cfg = {.nics = 1, .mtu = 1500, .seed = 1, .nic = {.max_endpoints = 2}};

    (void)state;
    w = world_init(&cfg);
    nic = world_nic(w, 0);
    ep = &nic->eps[1];
    ep->state = NOF_EP_OPEN;
    ep->recv_wait = ep->again = NOF_NIL;
    for (unsigned i = 0; i < N; i++) {
        r[i] = nof_recv_at(nic, nof_pool_take(&nic->recvs));
        r[i]->ep = 1;
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_fini(w);
    return 0;
}

/* Those that wait for blocks, the oldest first, linked both ways. */
static void blocks_wait_for(const char *order)
{
    unsigned n = 0;
    const struct nof_recv *at = nof_recv_wait_first(nic, ep);

    for (; order[n] != '\0'; n++) {
        const struct nof_recv *want = r[order[n] - '0'];

        assert_ptr_equal(at, want);
        assert_true(want->waiting);
        assert_ptr_equal(nof_recv_at(nic, nof_recv_at(nic, at->blocks_next)->blocks_prev), at);
        at = nof_recv_at(nic, at->blocks_next);
    }
    assert_ptr_equal(at, nof_recv_wait_first(nic, ep)); /* a ring */
    assert_int_equal(nic->recvs_waiting, n);
}

static void the_oldest_gets_blocks_first(void **state)
{
    (void)state;
    blocks_wait_for("");
    for (unsigned i = 0; i < 4; i++)
        nof_recv_wait_for_blocks(nic, r[i]);
    blocks_wait_for("0123");
    nof_recv_wait_leave(nic, r[0]);
    blocks_wait_for("123");
    nof_recv_wait_for_blocks(nic, r[0]); /* again, behind all others */
    blocks_wait_for("1230");
}

static void anybody_leaves_from_where_he_stands(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        nof_recv_wait_for_blocks(nic, r[i]);
    nof_recv_wait_leave(nic, r[2]);
    blocks_wait_for("013");
    nof_recv_wait_leave(nic, r[3]);
    blocks_wait_for("01");
    nof_recv_wait_leave(nic, r[0]);
    nof_recv_wait_leave(nic, r[1]);
    blocks_wait_for("");
    nof_recv_wait_leave(nic, r[1]); /* who does not wait need not leave */
    assert_int_equal(nic->recvs_waiting, 0);
}

static void of_an_endpoint_that_closes_only_the_count_goes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        nof_recv_wait_for_blocks(nic, r[i]);
    ep->state = NOF_EP_CLOSING;
    ep->recv_wait = NOF_NIL; /* as close.c does */
    for (unsigned i = 0; i < 3; i++)
        nof_recv_wait_leave(nic, r[2 - i]);
    assert_int_equal(nic->recvs_waiting, 0);
    assert_int_equal(ep->recv_wait, NOF_NIL);
}

static void who_waits_for_a_while_is_looked_at_again(void **state)
{
    (void)state;
    nic->retry_ns = 0;
    for (unsigned i = 0; i < 3; i++)
        nof_recv_wait_a_while(nic, r[i]);
    assert_int_not_equal(nic->retry_ns, 0);
    assert_int_equal(nic->again, 3);
    assert_ptr_equal(nof_recv_wait_over(nic, ep), r[0]);
    assert_false(r[0]->again);
    nof_recv_wait_leave(nic, r[2]);
    assert_ptr_equal(nof_recv_wait_over(nic, ep), r[1]);
    assert_int_equal(nic->again, 0);
    assert_int_equal(ep->again, NOF_NIL);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(the_oldest_gets_blocks_first),
        EACH(anybody_leaves_from_where_he_stands),
        EACH(of_an_endpoint_that_closes_only_the_count_goes),
        EACH(who_waits_for_a_while_is_looked_at_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
