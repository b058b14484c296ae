/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a peer NIC with a valid job key may say about the length of a rendezvous message: its RTS announces one, and
 * its last DATA frame another. Frames that it makes up are put where the transport gives them to the core. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dispatch.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "msg/deliver.h"
#include "msg/delta_slots.h"
#include "msg/recv.h"
#include "msg/spill.h"
#include "world.h"

#define LEN 300u /* announced; less than a frame holds */
#define ROOM 1000u

static struct world *world;
static struct nof_nic *nic;
static struct nof_peer *peer;

static void frame(uint8_t type, uint8_t flags, const uint8_t *fields, uint32_t fields_bytes,
                  const uint8_t *payload, uint32_t payload_bytes)
{
    struct nof_wire_view view = {.type = type,
                                 .flags = flags,
                                 .src_ep = peer->remote_ep,
                                 .dst_ep = peer->ep,
                                 .fields = fields,
                                 .fields_bytes = (uint8_t)fields_bytes,
                                 .payload = payload,
                                 .payload_bytes = payload_bytes};
    assert_int_equal(nof_dispatch_frame(nic, &nic->links[peer->link], &view, false), NOF_OK);
}

static void announce_as(uint8_t flags, int tag, uint32_t kind)
{
    uint8_t fields[NOF_WIRE_MSG_BYTES] = {0};
    nof_put32(fields + NOF_WIRE_MSG_CTX, 1); /* as world_recv() has it */
    nof_put32(fields + NOF_WIRE_MSG_TAG, (uint32_t)tag);
    nof_put64(fields + NOF_WIRE_MSG_LEN, LEN);
    nof_put32(fields + NOF_WIRE_MSG_SEQ, peer->rx_seq);
    nof_put64(fields + NOF_WIRE_MSG_HANDLE, 77);
    nof_put32(fields + NOF_WIRE_MSG_ELEM, kind);
    frame(NOF_WIRE_RTS, flags, fields, sizeof fields, NULL, 0);
}

static void announce_with(uint8_t flags, int tag)
{
    announce_as(flags, tag, 0);
}

static void announce(int tag)
{
    announce_with(0, tag);
}

static struct nof_recv *granted(void)
{
    struct nof_recv *found = NULL;
    for (uint32_t i = 0; i < nic->recvs.high; i++)
        if (nof_recv_at(nic, i)->state == NOF_RECV_RNDV)
            found = nof_recv_at(nic, i);
    assert_non_null(found);
    return found;
}

/* The one frame of payload of the receive that was granted. */
static void data(uint64_t len, uint32_t payload_bytes)
{
    uint8_t fields[NOF_WIRE_DATA_LAST_BYTES], payload[ROOM];
    const struct nof_recv *r = granted();
    memset(payload, 'x', sizeof payload);
    nof_put64(fields, nof_handle(nof_recv_index(nic, r), r->obj.gen));
    nof_put64(fields + 8, 0);
    nof_put64(fields + 16, len);
    frame(NOF_WIRE_DATA, NOF_WIRE_DATA_F_LAST, fields, sizeof fields, payload, payload_bytes);
}

static void no_room(uint64_t handle)
{
    uint8_t fields[NOF_WIRE_ABORT_BYTES];
    nof_put64(fields, handle);
    nof_put32(fields + 8, (uint32_t)NOF_EAGAIN);
    nof_put32(fields + 12, 1);
    frame(NOF_WIRE_ABORT, 0, fields, sizeof fields, NULL, 0);
}

static void begin_with(int dma_inline)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = dma_inline, .delta = 1, .seed = 3};
    world = world_init(&cfg);
    world_open(world, 0, 0, 2);
    world_open(world, 1, 1, 2);
    world_run(world);
    world_send(world, 0, 1, 5, world_rank(world, 0)->arena, 1, 1);
    world_recv(world, 1, 0, 5, world_rank(world, 1)->arena, 1, 2);
    world_run(world);
    assert_int_equal(world_expect(world, 1, NOF_COMP_RECV, 2)->status, NOF_OK);
    nic = world_nic(world, 1);
    peer = nof_peer_by_rank(nic, world_rank(world, 1)->endpoint, 0);
    assert_non_null(peer);
    world_cut(world, 1, true); /* rank 0 hears nothing of the grants */
    memset(world_rank(world, 1)->arena, 0, ROOM);
}

static void begin(void)
{
    begin_with(1);
}

/* The receive must end with this status; refused ones are counted, and no byte beyond `len` is written. */
static void ended(uint64_t cookie, int status, uint64_t refused, uint64_t len)
{
    world_run_for(world, 20000);
    const struct nof_comp *c = world_expect(world, 1, NOF_COMP_RECV, cookie);
    assert_int_equal(c->status, status);
    if (status == NOF_OK)
        assert_int_equal(c->len, LEN);
    assert_int_equal(world_rank(world, 1)->counters[NOF_C_MSGS_BROKEN], refused);
    const uint8_t *to = world_rank(world, 1)->arena;
    for (uint64_t i = len; i < ROOM; i++)
        assert_int_equal(to[i], 0);
}

static void receive(int tag, uint64_t capacity)
{
    world_recv(world, 1, 0, tag, world_rank(world, 1)->arena, capacity, (uint64_t)tag);
    world_run_for(world, 10000);
}

static void a_last_frame_must_keep_to_the_length_announced(void **state)
{
    static const struct {
        uint64_t capacity, len;
        uint32_t payload_bytes;
        int status;
    } cases[] = {{ROOM, LEN, LEN, NOF_OK},
                 {ROOM, LEN + 1, LEN, NOF_EPROTO},
                 {ROOM, LEN + 1, LEN + 1, NOF_EPROTO},
                 {ROOM, UINT64_MAX, LEN, NOF_EPROTO},
                 {ROOM, LEN - 1, LEN - 1, NOF_EPROTO},
                 {ROOM, 0, 0, NOF_EPROTO},
                 {LEN / 2, LEN, LEN / 2, NOF_ETRUNC},
                 {LEN / 2, LEN + 1, LEN / 2, NOF_EPROTO},
                 {LEN / 2, LEN / 2, LEN / 2, NOF_EPROTO}};
    uint64_t refused = 0;
    (void)state;
    begin();
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int tag = 10 + (int)i, early = i % 2;
        if (early)
            announce(tag);
        receive(tag, cases[i].capacity);
        if (!early)
            announce(tag);
        data(cases[i].len, cases[i].payload_bytes);
        refused += cases[i].status == NOF_EPROTO;
        ended((uint64_t)tag, cases[i].status, refused, LEN);
    }
    world_fini(world);
}

/* The library pulls a spilled message. */
static void pull(int tag)
{
    const struct nof_comp *c = world_take(world, 1);
    assert_non_null(c);
    assert_int_equal(c->opcode, NOF_COMP_SPILL);
    assert_int_equal(c->len, LEN);
    struct nof_desc d = {.opcode = NOF_DESC_PULL,
                         .ctx = 1,
                         .cookie = (uint64_t)tag,
                         .peer = 0,
                         .tag = tag,
                         .len = ROOM,
                         .handle = c->handle,
                         .callsite = c->len,
                         .addr = (uint64_t)(uintptr_t)world_rank(world, 1)->arena};
    world_post(world, 1, &d);
    world_run_for(world, 10000);
}

/* With the length that it was told. */
static void pulled(int tag, uint64_t len, uint32_t payload_bytes)
{
    announce(tag);
    pull(tag);
    data(len, payload_bytes);
}

static void a_spilled_message_keeps_to_its_length_too(void **state)
{
    (void)state;
    begin();
    nof_spill_enter(&nic->eps[peer->ep]);
    pulled(20, LEN, LEN);
    ended(20, NOF_OK, 0, LEN);
    pulled(21, LEN + 1, LEN);
    ended(21, NOF_EPROTO, 1, LEN);
    pulled(22, ROOM, ROOM);
    ended(22, NOF_EPROTO, 2, LEN);
    pulled(23, LEN - 1, LEN - 1);
    ended(23, NOF_EPROTO, 3, LEN);
    world_fini(world);
}

/* A grant of a send that our host does not keep for this peer reaches no host; the peer is told. */
static void a_grant_of_nothing_parked_reaches_no_host(void **state)
{
    (void)state;
    begin();
    uint8_t fields[NOF_WIRE_CTS_BYTES] = {0};
    nof_put64(fields, 77); /* cookie */
    nof_put64(fields + 8, 88);
    nof_put64(fields + 16, LEN);
    uint64_t frames = nof_nic_counters(nic)[NOF_C_TX_FRAMES];
    frame(NOF_WIRE_CTS, NOF_WIRE_RTS_F_PARKED, fields, sizeof fields, NULL, 0);
    world_run_for(world, 10000);
    assert_null(world_take(world, 1));
    assert_true(nof_nic_counters(nic)[NOF_C_TX_FRAMES] > frames); /* an ABORT */
    world_fini(world);
}

/* Of a message that is parked at its sender nothing comes before the sender has come back for it, whether it says that
 * its host had no room or not. */
static void no_data_comes_of_a_parked_message(void **state)
{
    (void)state;
    uint8_t fields[NOF_WIRE_DATA_LAST_BYTES], payload[LEN];
    begin_with(0);
    nof_spill_enter(&nic->eps[peer->ep]);
    memset(payload, 'x', sizeof payload);
    for (int tag = 30; tag < 36; tag++) {
        int before = tag % 3 == 1, after = tag % 3 == 2;
        announce_with(NOF_WIRE_RTS_F_PARKED, tag);
        pull(tag);
        const struct nof_recv *r = granted();
        uint64_t handle = nof_handle(nof_recv_index(nic, r), r->obj.gen);
        if (before)
            no_room(handle);
        nof_put64(fields, handle);
        nof_put64(fields + 8, 0);
        frame(NOF_WIRE_DATA, 0, fields, NOF_WIRE_DATA_BYTES, payload, LEN / 3);
        nof_deliver_flush(nic);
        if (after)
            no_room(handle);
        nof_put64(fields + 8, LEN / 3);
        nof_put64(fields + 16, LEN);
        frame(NOF_WIRE_DATA, NOF_WIRE_DATA_F_LAST, fields, sizeof fields, payload, LEN - LEN / 3);
        nof_deliver_flush(nic);
        ended((uint64_t)tag, NOF_EPROTO, (uint64_t)tag - 29, 0);
    }
    world_run_for(world, 10000000); /* what is asked again is asked */
    assert_int_equal(nic->again, 0);
    world_fini(world);
}

/* What a receive whose host is told of its units takes of a delta send: each byte once, from the beginning of a unit or where
 * the frame before it ended. */
static void ranges_come_once(void **state)
{
    enum { UNIT_LOG2 = 6, UNIT = 1 << UNIT_LOG2, LAST = NOF_WIRE_DATA_F_LAST, PLAIN = 64, FRAMES = 4 };
    static const struct {
        int status;
        struct {
            uint64_t offset;
            uint32_t bytes;
            uint8_t flags;
        } frame[FRAMES];
    } cases[] = {
        {NOF_OK, {{2 * UNIT, UNIT + 10, 0}, {3 * UNIT + 10, LEN - 3 * UNIT - 10, 0}, {0, 2 * UNIT, LAST}}},
        {NOF_EPROTO, {{0, UNIT, 0}, {0, UNIT, 0}}},
        {NOF_EPROTO, {{0, 2 * UNIT, 0}, {UNIT, UNIT, 0}}},
        {NOF_EPROTO, {{0, 10, 0}, {UNIT, UNIT, 0}, {10, UNIT - 10, 0}}},
        {NOF_EPROTO, {{UNIT + 1, 10, 0}}},
        {NOF_EPROTO, {{10, 0, 0}, {10, UNIT - 10, 0}}},
        {NOF_EPROTO, {{0, UNIT, 0}, {10, 0, 0}, {10, UNIT - 10, 0}}},
        {NOF_EPROTO, {{4 * UNIT, LEN - 4 * UNIT + 1, 0}}},
        {NOF_EPROTO, {{UINT64_MAX - UNIT + 1, UNIT, 0}}},
        {NOF_EPROTO, {{0, UNIT, PLAIN}}},
        {NOF_EPROTO, {{0, UNIT, 0}, {UNIT, UNIT, PLAIN}}},
    };
    uint8_t fields[NOF_WIRE_DATA_LAST_BYTES], payload[LEN];
    uint64_t refused = 0;
    (void)state;
    begin();
    memset(payload, 'x', sizeof payload);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int tag = 40 + (int)i;
        struct nof_desc desc = {.opcode = NOF_DESC_RECV,
                                .flags = NOF_DESC_F_DELTA,
                                .ctx = 1,
                                .peer = 0,
                                .tag = tag,
                                .cookie = (uint64_t)tag,
                                .len = ROOM,
                                .addr = (uint64_t)(uintptr_t)world_rank(world, 1)->arena,
                                .handle = nof_delta_handle(0, 0)};
        world_post(world, 1, &desc);
        world_run_for(world, 10000);
        announce_as(NOF_WIRE_RTS_F_DELTA, tag, UNIT_LOG2 << 16);
        const struct nof_recv *r = granted();
        nof_put64(fields, nof_handle(nof_recv_index(nic, r), r->obj.gen));
        nof_put64(fields + 16, LEN);
        for (unsigned k = 0; k < FRAMES && (k == 0 || cases[i].frame[k].bytes + cases[i].frame[k].offset > 0);
             k++) {
            uint8_t flags = cases[i].frame[k].flags;
            nof_put64(fields + 8, cases[i].frame[k].offset);
            frame(NOF_WIRE_DATA, (uint8_t)(flags & PLAIN ? 0 : flags | NOF_WIRE_DATA_F_RANGE), fields,
                  flags & LAST ? NOF_WIRE_DATA_LAST_BYTES : NOF_WIRE_DATA_BYTES, payload,
                  cases[i].frame[k].bytes);
        }
        refused += cases[i].status == NOF_EPROTO;
        ended((uint64_t)tag, cases[i].status, refused, LEN);
        assert_int_equal(world_rank(world, 1)->delta_nic->arrival[0].status, cases[i].status);
    }
    world_fini(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_last_frame_must_keep_to_the_length_announced),
        cmocka_unit_test(a_spilled_message_keeps_to_its_length_too),
        cmocka_unit_test(a_grant_of_nothing_parked_reaches_no_host),
        cmocka_unit_test(no_data_comes_of_a_parked_message),
        cmocka_unit_test(ranges_come_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
