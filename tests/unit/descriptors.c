/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a host may write into a descriptor: each field out of its bounds is refused, alone, and what no completion can
 * tell ends the endpoint. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nic.h"
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

static void refused(struct world *w, struct nof_desc d)
{
    d.cookie = 99;
    world_post(w, 0, &d);
    int receives = d.opcode == NOF_DESC_MRECV || d.opcode == NOF_DESC_PULL;
    const struct nof_comp *c = world_expect(w, 0, receives ? NOF_COMP_RECV : d.opcode, 99);
    assert_int_equal(c->status, NOF_EINVAL);
}

static void bad_descriptors_are_refused(void **state)
{
    (void)state;
    struct world *w = two(2, 1, (struct nof_nic_config){0});
    struct nof_desc send = {.opcode = NOF_DESC_SEND, .peer = 1, .len = 8};
    struct nof_desc recv = {.opcode = NOF_DESC_RECV, .peer = 1, .len = 8};
    struct nof_desc d;
    d = send, d.peer = 4, refused(w, d);
    d = send, d.peer = -1, refused(w, d);
    d = send, d.tag = -1, refused(w, d);
    d = send, d.elem = NOF_ELEM_COUNT, refused(w, d);
    d = (struct nof_desc){.opcode = NOF_DESC_PROBE, .peer = 1, .agreed = 1}, refused(w, d);
    d = send, d.flags = 0x80, refused(w, d);
    d = send, d.len = 1ull << 63, refused(w, d);
    d = send, d.flags = NOF_DESC_F_INLINE, d.len = 33, refused(w, d);
    d = send, d.flags = NOF_DESC_F_INLINE | NOF_DESC_F_BOUNCE, refused(w, d);
    d = send, d.flags = NOF_DESC_F_INLINE | NOF_DESC_F_ANNOUNCED, refused(w, d);
    d = send, d.flags = NOF_DESC_F_BOUNCE, d.addr = 65530, refused(w, d);
    d = send, d.flags = NOF_DESC_F_BOUNCE, d.addr = UINT64_MAX, refused(w, d);
    d = send, d.flags = NOF_DESC_F_LAYOUT, refused(w, d);
    d = recv, d.peer = 4, refused(w, d);
    d = recv, d.peer = -2, refused(w, d);
    d = recv, d.tag = -2, refused(w, d);
    d = recv, d.flags = NOF_DESC_F_WAIT, refused(w, d);
    d = (struct nof_desc){.opcode = NOF_DESC_PULL, .peer = -1}, refused(w, d);
    d = (struct nof_desc){.opcode = NOF_DESC_MRECV, .len = 1ull << 63}, refused(w, d);
    d = (struct nof_desc){.opcode = NOF_DESC_PEER, .peer = 5}, refused(w, d);
    d = (struct nof_desc){.opcode = NOF_DESC_LAYOUT, .addr = 65530, .len = 64}, refused(w, d);
    assert_int_equal(world_rank(w, 0)->counters[NOF_C_DESC_INVALID], 21);
    d = (struct nof_desc){.opcode = NOF_DESC_MRECV, .cookie = 98, .handle = 0x100000000ull};
    world_post(w, 0, &d);
    assert_int_equal(world_expect(w, 0, NOF_COMP_RECV, 98)->status, NOF_ENOENT);
    send.peer = 3; /* a rank, but nobody has told us its card */
    send.cookie = 97;
    world_post(w, 0, &send);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SEND, 97)->status, NOF_ENOENT);
    assert_int_equal(world_rank(w, 0)->failed, 0);
    d = (struct nof_desc){.opcode = 200};
    world_post(w, 0, &d);
    assert_int_equal(world_expect(w, 0, NOF_COMP_FAILED, 0)->status, NOF_EINVAL);
    assert_int_equal(world_rank(w, 0)->failed, NOF_EINVAL);
    assert_int_equal(nof_nic_host_room(world_nic(w, 0), world_rank(w, 0)->endpoint), 0);
    world_fini(w);
}

/* A library has one for each thread that is in MPI_Probe. */
static void so_many_probes_wait_and_the_others_with_the_library(void **state)
{
    struct world *w = two(2, 1, (struct nof_nic_config){0});
    struct nof_desc d = {.opcode = NOF_DESC_PROBE, .flags = NOF_DESC_F_WAIT, .ctx = 1, .peer = 1};

    (void)state;
    for (unsigned i = 0; i < 65; i++) {
        d.cookie = i;
        world_post(w, 0, &d);
    }
    assert_int_equal(world_expect(w, 0, NOF_COMP_PROBE, 64)->status, NOF_ENOMATCH);
    assert_null(world_take(w, 0));
    world_fini(w);
}

static void what_is_good_after_what_is_bad_is_done(void **state)
{
    struct world *w = two(2, 1, (struct nof_nic_config){0});
    struct nof_desc d[3] = {
        {.opcode = NOF_DESC_SEND, .cookie = 1, .peer = 9},
        {.opcode = NOF_DESC_SEND, .flags = NOF_DESC_F_INLINE, .cookie = 2, .peer = 1, .len = 4},
        {.opcode = NOF_DESC_FLUSH, .cookie = 3}};

    (void)state;
    nof_nic_host(world_nic(w, 0), world_now(w), world_rank(w, 0)->endpoint, d, 3);
    world_run_for(w, 5 * MS);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SEND, 1)->status, NOF_EINVAL);
    assert_int_equal(world_expect(w, 0, NOF_COMP_SEND, 2)->status, NOF_OK);
    assert_int_equal(world_expect(w, 0, NOF_COMP_FLUSH, 3)->status, NOF_OK);
    world_fini(w);
}

static void behind_what_ends_the_endpoint_nothing_is_looked_at(void **state)
{
    struct world *w = two(2, 1, (struct nof_nic_config){0});
    struct nof_desc d[2] = {{.opcode = 0}, {.opcode = NOF_DESC_FLUSH, .cookie = 3}};

    (void)state;
    nof_nic_host(world_nic(w, 0), world_now(w), world_rank(w, 0)->endpoint, d, 2);
    assert_int_equal(world_expect(w, 0, NOF_COMP_FAILED, 0)->status, NOF_EINVAL);
    assert_null(world_take(w, 0));
    world_fini(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_descriptors_are_refused),
        cmocka_unit_test(so_many_probes_wait_and_the_others_with_the_library),
        cmocka_unit_test(what_is_good_after_what_is_bad_is_done),
        cmocka_unit_test(behind_what_ends_the_endpoint_nothing_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
