/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Envelopes and pieces of eager messages as they arrive: what breaks the protocol, what credit it costs, and where it
 * goes. The frames are made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"

#include "msg/eager.h"

static struct pair p;
static uint8_t fields[64];
static struct nof_wire_view view;

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

/* The next envelope of the flow, of which n bytes are here. */
static struct nof_wire_view *envelope(uint8_t type, uint64_t len, uint32_t n)
{
    memset(fields, 0, sizeof fields);
    nof_put32(fields + NOF_WIRE_MSG_CTX, 1);
    nof_put32(fields + NOF_WIRE_MSG_TAG, 5);
    nof_put64(fields + NOF_WIRE_MSG_LEN, len);
    nof_put32(fields + NOF_WIRE_MSG_SEQ, p.peer->rx_seq);
    view = (struct nof_wire_view){.type = type,
                                  .src_ep = p.peer->remote_ep,
                                  .dst_ep = p.peer->ep,
                                  .fields = fields,
                                  .fields_bytes = NOF_WIRE_MSG_BYTES,
                                  .payload = p.out,
                                  .payload_bytes = n};
    return &view;
}

static int arrives(const struct nof_wire_view *v)
{
    return nof_eager_envelope_rx(p.nic, p.peer, v, 1);
}

static int more(uint32_t at, uint32_t n)
{
    memset(fields, 0, sizeof fields);
    nof_put32(fields + NOF_WIRE_MORE_SEQ, p.peer->rx_seq - 1);
    nof_put64(fields + NOF_WIRE_MORE_OFFSET, at);
    view = (struct nof_wire_view){.type = NOF_WIRE_MSG_MORE,
                                  .fields = fields,
                                  .fields_bytes = NOF_WIRE_MSG_MORE_BYTES,
                                  .payload = p.out + at,
                                  .payload_bytes = n};
    return nof_eager_more_rx(p.nic, p.peer, &view, 1);
}

static void receive(uint64_t capacity, uint64_t cookie)
{
    world_recv(p.w, 1, 0, 5, p.in, capacity, cookie);
}

static void a_message_has_its_receive(void **state)
{
    (void)state;
    receive(100, 1);
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 20, 20)), NOF_OK);
    assert_memory_equal(world_expect(p.w, 1, NOF_COMP_RECV, 1)->inline_data, p.out, 20);
    assert_int_equal(p.peer->rx_msgs_freed, p.peer->rx_seq);
}

static void or_waits_for_it(void **state)
{
    const struct nof_comp *c;

    (void)state;
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 900, 900)), NOF_OK);
    assert_null(world_take(p.w, 1));
    assert_int_equal(p.ep->stored, 1);
    assert_int_equal(p.peer->rx_msgs_freed + 1, p.peer->rx_seq); /* and holds its credit */
    receive(1000, 1);
    c = world_expect(p.w, 1, NOF_COMP_RECV, 1);
    assert_memory_equal(world_payload(p.w, 1, c, p.in), p.out, 900);
    assert_int_equal(p.peer->rx_msgs_freed, p.peer->rx_seq);
    assert_int_equal(p.nic->netmem.used, 0);
}

static void pieces_come_in_order_until_all_are_here(void **state)
{
    const struct nof_comp *c;

    (void)state;
    receive(10000, 1);
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 3000, 1400)), NOF_OK);
    assert_int_equal(p.peer->rx_left, 1600);
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 8, 8)), NOF_EPROTO); /* the one before is not complete */
    assert_int_equal(more(1400, 1400), NOF_OK);
    assert_null(world_take(p.w, 1));
    assert_int_equal(more(2800, 200), NOF_OK);
    world_run_for(p.w, MS);
    c = world_expect(p.w, 1, NOF_COMP_RECV, 1);
    assert_int_equal(c->status, NOF_OK);
    assert_memory_equal(world_payload(p.w, 1, c, p.in), p.out, 3000);
    assert_int_equal(more(3000, 1), NOF_EPROTO); /* of nothing */
}

static void more_than_was_said_breaks_the_protocol(void **state)
{
    (void)state;
    receive(10000, 1);
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 3000, 1400)), NOF_OK);
    assert_int_equal(more(1400, 1601), NOF_EPROTO);
}

/* Of a peer that makes its frames equal. */
static void a_piece_may_have_longer_fields_but_not_shorter_ones(void **state)
{
    (void)state;
    receive(10000, 1);
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 3000, 1400)), NOF_OK);
    for (unsigned longer = 0; longer < 2; longer++) {
        view.type = NOF_WIRE_MSG_MORE;
        memset(fields, 0, sizeof fields);
        nof_put32(fields + NOF_WIRE_MORE_SEQ, p.peer->rx_seq - 1);
        nof_put64(fields + NOF_WIRE_MORE_OFFSET, 1400);
        view.fields_bytes = longer ? NOF_WIRE_MSG_MORE_BYTES + 16 : NOF_WIRE_MSG_MORE_BYTES - 1;
        view.payload = p.out + 1400;
        view.payload_bytes = 1600;
        assert_int_equal(nof_eager_more_rx(p.nic, p.peer, &view, 1), longer ? NOF_OK : NOF_EPROTO);
    }
    world_run_for(p.w, MS);
    assert_memory_equal(world_payload(p.w, 1, world_expect(p.w, 1, NOF_COMP_RECV, 1), p.in), p.out, 3000);
}

static void a_piece_that_is_not_the_next_breaks_the_protocol(void **state)
{
    (void)state;
    receive(10000, 1);
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 3000, 1400)), NOF_OK);
    assert_int_equal(more(1401, 100), NOF_EPROTO);
    assert_int_equal(more(1399, 100), NOF_EPROTO);
    assert_int_equal(more(1400, 100), NOF_OK);
}

static void only_what_is_wanted_is_kept(void **state)
{
    const struct nof_comp *c;

    (void)state;
    memset(p.in, 0, 4000);
    receive(1000, 1);
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 3000, 1400)), NOF_OK);
    assert_int_equal(more(1400, 1600), NOF_OK);
    world_run_for(p.w, MS);
    c = world_expect(p.w, 1, NOF_COMP_RECV, 1);
    assert_int_equal(c->status, NOF_ETRUNC);
    assert_int_equal(c->len, 3000);
    assert_int_equal(p.in[1000], 0);
    assert_int_equal(p.nic->netmem.used, 0);
}

static void what_breaks_the_protocol_is_refused_and_costs_nothing(void **state)
{
    uint32_t seq = p.peer->rx_seq, blocks = p.peer->rx_blocks_used;

    (void)state;
    for (unsigned flaw = 0; flaw < 12; flaw++) {
        uint8_t type = flaw >= 9 ? NOF_WIRE_RTS : NOF_WIRE_MSG;
        struct nof_wire_view *v = envelope(type, 100, type == NOF_WIRE_MSG ? 100 : 0);

        switch (flaw) {
        case 0:
            v->fields_bytes--;
            break;
        case 1:
            nof_put32(fields + NOF_WIRE_MSG_TAG, (uint32_t)-1);
            break;
        case 2:
            nof_put32(fields + NOF_WIRE_MSG_ELEM, NOF_ELEM_COUNT);
            break;
        case 3:
            nof_put32(fields + NOF_WIRE_MSG_SEQ, seq + 1);
            break;
        case 4:
            v->payload_bytes = 101;
            break;
        case 5: /* longer than any eager message */
            nof_put64(fields + NOF_WIRE_MSG_LEN, NOF_EAGER_LIMIT + 1);
            break;
        case 6: /* nothing of it */
            v->payload_bytes = 0;
            break;
        case 7: /* a handle where nobody waits */
            nof_put64(fields + NOF_WIRE_MSG_HANDLE, NOF_HANDLE_SYNC);
            break;
        case 8: /* and none where somebody does */
            v->flags = NOF_WIRE_MSG_F_SYNC;
            break;
        case 9: /* an announcement with payload */
            v->payload_bytes = 1;
            break;
        case 10:
            nof_put64(fields + NOF_WIRE_MSG_HANDLE, NOF_HANDLE_HELD);
            break;
        default:
            v->flags = NOF_WIRE_RTS_F_PARKED;
            nof_put64(fields + NOF_WIRE_MSG_HANDLE, NOF_HANDLE_PARKED);
        }
        if (arrives(v) != NOF_EPROTO)
            fail_msg("flaw %u is taken", flaw);
        assert_int_equal(p.peer->rx_seq, seq);
        assert_int_equal(p.peer->rx_blocks_used, blocks);
    }
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 100, 100)), NOF_OK);
}

static void nobody_sends_beyond_his_credit(void **state)
{
    uint32_t announced = p.peer->rx_msgs_announced, blocks = p.peer->rx_blocks_announced;

    (void)state;
    p.peer->rx_msgs_announced = p.peer->rx_seq;
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 0, 0)), NOF_EPROTO);
    p.peer->rx_msgs_announced = announced;
    p.peer->rx_blocks_announced = p.peer->rx_blocks_used + 2;
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 3000, 1400)), NOF_EPROTO);
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 1500, 1400)), NOF_OK);
    p.peer->rx_blocks_announced = blocks;
}

static void what_its_sender_could_not_read_ends_as_a_fault(void **state)
{
    struct nof_wire_view *v;

    (void)state;
    receive(100, 1);
    v = envelope(NOF_WIRE_MSG, 900, 0);
    v->flags = NOF_WIRE_F_FAILED;
    assert_int_equal(arrives(v), NOF_OK);
    assert_int_equal(world_expect(p.w, 1, NOF_COMP_RECV, 1)->status, NOF_EFAULT);
    assert_int_equal(p.peer->rx_left, 0);
    assert_int_equal(p.peer->rx_msgs_freed, p.peer->rx_seq);
    assert_int_equal(p.peer->rx_blocks_freed, p.peer->rx_blocks_used);
}

static void a_probe_that_waits_is_answered_and_the_message_stays(void **state)
{
    struct nof_desc d = {
        .opcode = NOF_DESC_PROBE, .flags = NOF_DESC_F_WAIT, .ctx = 1, .cookie = 4, .peer = 0, .tag = 5};

    (void)state;
    world_post(p.w, 1, &d);
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 900, 900)), NOF_OK);
    assert_int_equal(world_expect(p.w, 1, NOF_COMP_PROBE, 4)->len, 900);
    assert_int_equal(p.ep->stored, 1);
}

static struct nof_wire_view *last_word(uint64_t len)
{
    struct nof_wire_view *v = envelope(NOF_WIRE_MSG, len, (uint32_t)len);
    nof_put32(fields + NOF_WIRE_MSG_ELEM, NOF_AGREED_NO_MORE << 8);
    return v;
}

/* It takes nothing, and is not there for who comes later. */
static void that_no_more_comes_is_dropped_where_nobody_waits(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(arrives(last_word(0)), NOF_OK);
    assert_int_equal(p.ep->stored, 0);
    assert_int_equal(p.peer->rx_msgs_freed, p.peer->rx_seq);
    receive(100, 1);
    assert_null(world_take(p.w, 1));
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 8, 8)), NOF_OK);
    assert_int_equal(world_expect(p.w, 1, NOF_COMP_RECV, 1)->len, 8);
}

static void and_ends_who_waits(void **state)
{
    struct nof_desc d = {
        .opcode = NOF_DESC_RECV, .agreed = 7, .ctx = 1, .cookie = 4, .peer = 0, .tag = 5, .len = 0};

    (void)state;
    world_post(p.w, 1, &d);
    world_post(p.w, 1, &d);
    assert_int_equal(arrives(envelope(NOF_WIRE_MSG, 0, 0)), NOF_OK);
    assert_int_equal(world_expect(p.w, 1, NOF_COMP_RECV, 4)->status, NOF_OK); /* what was sent before it */
    assert_int_equal(arrives(last_word(0)), NOF_OK);
    assert_int_equal(world_expect(p.w, 1, NOF_COMP_RECV, 4)->status, NOF_EDISAGREE);
    assert_int_equal(p.peer->rx_msgs_freed, p.peer->rx_seq);
}

/* One with bytes is a message as any, whatever it says. */
static void bytes_are_kept_all_the_same(void **state)
{
    (void)state;
    assert_int_equal(arrives(last_word(8)), NOF_OK);
    assert_int_equal(p.ep->stored, 1);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_message_has_its_receive),
        EACH(or_waits_for_it),
        EACH(pieces_come_in_order_until_all_are_here),
        EACH(more_than_was_said_breaks_the_protocol),
        EACH(a_piece_may_have_longer_fields_but_not_shorter_ones),
        EACH(a_piece_that_is_not_the_next_breaks_the_protocol),
        EACH(only_what_is_wanted_is_kept),
        EACH(what_breaks_the_protocol_is_refused_and_costs_nothing),
        EACH(nobody_sends_beyond_his_credit),
        EACH(what_its_sender_could_not_read_ends_as_a_fault),
        EACH(a_probe_that_waits_is_answered_and_the_message_stays),
        EACH(that_no_more_comes_is_dropped_where_nobody_waits),
        EACH(and_ends_who_waits),
        EACH(bytes_are_kept_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
