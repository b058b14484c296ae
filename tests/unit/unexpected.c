/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The envelope store: what came early is given once, to who asks for it, and its credit comes back whatever becomes of
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"

#include "msg/unexpected.h"

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

static void send_early(uint64_t len, int tag, unsigned flags)
{
    struct nof_desc d = {.opcode = NOF_DESC_SEND,
                         .flags = (uint8_t)flags,
                         .ctx = 1,
                         .cookie = 7,
                         .peer = 1,
                         .tag = tag,
                         .len = len,
                         .addr = (uint64_t)(uintptr_t)p.out};

    world_post(p.w, 0, &d);
    world_run_for(p.w, 5 * MS);
}

static uint64_t mprobe(int tag)
{
    struct nof_desc d = {.opcode = NOF_DESC_MPROBE, .ctx = 1, .cookie = 4, .peer = 0, .tag = tag};
    const struct nof_comp *c;

    world_post(p.w, 1, &d);
    c = world_expect(p.w, 1, NOF_COMP_MPROBE, 4);
    return c->status == NOF_OK ? c->handle : 0;
}

static int mrecv(uint64_t handle, uint64_t capacity)
{
    struct nof_desc d = {.opcode = NOF_DESC_MRECV,
                         .ctx = 1,
                         .cookie = 5,
                         .handle = handle,
                         .addr = (uint64_t)(uintptr_t)p.in,
                         .len = capacity};
    const struct nof_comp *c;

    world_post(p.w, 1, &d);
    world_run_for(p.w, 20 * MS);
    c = world_expect(p.w, 1, NOF_COMP_RECV, 5);
    if (c->status == NOF_OK)
        assert_memory_equal(world_payload(p.w, 1, c, p.in), p.out, c->len);
    return c->status;
}

static void all_back(void)
{
    assert_int_equal(p.nic->envs.used, 0);
    assert_int_equal(p.nic->netmem.used, 0);
    assert_int_equal(p.ep->stored + p.ep->mprobed, 0);
    assert_int_equal(p.peer->rx_msgs_freed, p.peer->rx_seq);
    assert_int_equal(p.peer->rx_blocks_freed, p.peer->rx_blocks_used);
}

static void each_is_given_once_in_order(void **state)
{
    static const uint64_t lengths[] = {0, 20, 900, 5000, 100000};

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        send_early(lengths[i], 5, 0);
    assert_int_equal(p.ep->stored, 5);
    for (unsigned i = 0; i < 5; i++) {
        const struct nof_comp *c;

        world_recv(p.w, 1, 0, 5, p.in, 200000, i);
        world_run_for(p.w, 20 * MS);
        c = world_expect(p.w, 1, NOF_COMP_RECV, i);
        assert_int_equal(c->len, lengths[i]);
        assert_memory_equal(world_payload(p.w, 1, c, p.in), p.out, lengths[i]);
        assert_int_equal(p.ep->stored, 4 - i);
    }
    all_back();
}

static void one_that_a_probe_has_taken_is_nobody_elses(void **state)
{
    static const uint64_t lengths[] = {20, 900, 100000};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t handle;

        send_early(lengths[i], 5, 0);
        handle = mprobe(5);
        assert_int_not_equal(handle, 0);
        assert_int_equal(p.ep->stored, 0);
        assert_int_equal(p.ep->mprobed, 1);
        world_recv(p.w, 1, 0, 5, p.in + 200000, 100, 99); /* finds nothing */
        assert_null(world_take(p.w, 1));
        assert_int_equal(mrecv(handle, 200000), NOF_OK);
        assert_int_equal(mrecv(handle, 200000), NOF_ENOENT); /* once */
        send_early(8, 5, 0);
        (void)world_expect(p.w, 1, NOF_COMP_RECV, 99);
        all_back();
    }
}

static void a_handle_of_nothing_finds_nothing(void **state)
{
    uint64_t handle;

    (void)state;
    send_early(900, 5, 0);
    send_early(900, 6, 0);
    handle = mprobe(5);
    assert_int_equal(mrecv(handle + 1, 1000), NOF_ENOENT); /* that is stored, and not taken */
    assert_int_equal(mrecv(handle + (1ull << 32), 1000), NOF_ENOENT);
    assert_int_equal(mrecv(UINT64_MAX, 1000), NOF_ENOENT);
    assert_null(nof_unexpected_by_handle(p.nic, p.ep->index + 1, handle)); /* another endpoint's */
    assert_non_null(nof_unexpected_by_handle(p.nic, p.ep->index, handle));
    assert_int_equal(mrecv(handle, 1000), NOF_OK);
}

static void its_sender_hears_that_it_was_matched(void **state)
{
    static const uint64_t lengths[] = {8, 900};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        send_early(lengths[i], 5, NOF_DESC_F_SYNC);
        while (world_take(p.w, 0) != NULL)
            fail_msg("a synchronous send has ended before its match");
        world_recv(p.w, 1, 0, 5, p.in, 1000, 1);
        world_run_for(p.w, 5 * MS);
        (void)world_payload(p.w, 1, world_expect(p.w, 1, NOF_COMP_RECV, 1), p.in);
        (void)world_expect(p.w, 0, NOF_COMP_SEND, 7);
        all_back();
    }
}

static void one_whose_sender_died_halfway_fails_when_it_is_asked_for(void **state)
{
    struct nof_wire_view view;
    uint8_t fields[NOF_WIRE_MSG_BYTES] = {0};
    const struct nof_comp *c;

    (void)state;
    nof_put32(fields + NOF_WIRE_MSG_CTX, 1);
    nof_put32(fields + NOF_WIRE_MSG_TAG, 5);
    nof_put64(fields + NOF_WIRE_MSG_LEN, 3000);
    nof_put32(fields + NOF_WIRE_MSG_SEQ, p.peer->rx_seq);
    view = (struct nof_wire_view){.type = NOF_WIRE_MSG,
                                  .fields = fields,
                                  .fields_bytes = sizeof fields,
                                  .payload = p.out,
                                  .payload_bytes = 1000};
    assert_int_equal(nof_eager_envelope_rx(p.nic, p.peer, &view, 1), NOF_OK);
    assert_int_equal(p.ep->stored, 1);
    world_close(p.w, 0, NOF_EPEERDEAD);
    world_run_for(p.w, 10 * MS);
    while ((c = world_take(p.w, 1)) != NULL)
        assert_int_equal(c->opcode, NOF_COMP_PEER_DEAD);
    world_recv(p.w, 1, 0, 5, p.in, 5000, 1);
    c = world_expect(p.w, 1, NOF_COMP_RECV, 1);
    assert_int_equal(c->status, NOF_EPEERDEAD);
    assert_int_equal(p.nic->netmem.used, 0);
    assert_int_equal(p.nic->envs.used, 0);
}

static void what_was_whole_is_received_although_its_sender_died(void **state)
{
    const struct nof_comp *c;

    (void)state;
    send_early(900, 5, 0);
    world_close(p.w, 0, NOF_EPEERDEAD);
    world_run_for(p.w, 10 * MS);
    while ((c = world_take(p.w, 1)) != NULL)
        assert_int_equal(c->opcode, NOF_COMP_PEER_DEAD);
    world_recv(p.w, 1, 0, 5, p.in, 5000, 1);
    c = world_expect(p.w, 1, NOF_COMP_RECV, 1);
    assert_int_equal(c->status, NOF_OK);
    assert_memory_equal(world_payload(p.w, 1, c, p.in), p.out, 900);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(each_is_given_once_in_order),
        EACH(one_that_a_probe_has_taken_is_nobody_elses),
        EACH(a_handle_of_nothing_finds_nothing),
        EACH(its_sender_hears_that_it_was_matched),
        EACH(one_whose_sender_died_halfway_fails_when_it_is_asked_for),
        EACH(what_was_whole_is_received_although_its_sender_died),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
