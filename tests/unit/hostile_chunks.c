/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a peer NIC with a valid job key may do with compression: frames that it makes up are put where the transport
 * gives them to the core. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compress/grant.h"
#include "compress/defer.h"
#include "dispatch.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "world.h"

#define LOG2 8u
#define VALUES 256u
#define LEN (8u * VALUES)

static struct world *world;
static struct nof_nic *nic;
static struct nof_peer *peer;
static struct nof_dfcm *predictor; /* the peer's */
static double values[VALUES];

static uint64_t counter(enum nof_counter c)
{
    return nof_nic_counters(nic)[c];
}

static int frame(uint8_t type, uint8_t flags, const uint8_t *fields, uint32_t fields_bytes,
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
    return nof_dispatch_frame(nic, &nic->links[peer->link], &view, false);
}

/* Whether a predictor was granted. */
static int ask(void)
{
    const uint8_t fields[NOF_WIRE_CODEC_ASK_BYTES] = {NOF_DFCM_FAST, LOG2};
    assert_int_equal(frame(NOF_WIRE_CODEC_ASK, 0, fields, sizeof fields, NULL, 0), NOF_OK);
    return nof_grant_rx(&nic->grants, nof_peer_index(nic, peer)) != NULL;
}

static void end_grant(void)
{
    const struct nof_grant *ch = nof_grant_rx(&nic->grants, nof_peer_index(nic, peer));
    uint8_t fields[NOF_WIRE_CODEC_END_BYTES] = {ch->slot};
    nof_put16(fields + 2, ch->epoch);
    assert_int_equal(frame(NOF_WIRE_CODEC_END, 0, fields, sizeof fields, NULL, 0), NOF_OK);
}

/* An eager message of LEN bytes; with `flaw` its chunk says what it stands for and does not decode. */
static void message(int tag, uint16_t epoch, int flaw)
{
    uint8_t fields[NOF_WIRE_MSG_BYTES] = {0};
    uint8_t body[LEN + NOF_WIRE_PREFIX_BYTES];
    struct nof_dfcm_chunk chunk;
    assert_int_equal(nof_dfcm_encode(predictor, NOF_ELEM_F64, values, sizeof values,
                                     body + NOF_WIRE_PREFIX_BYTES, 1400, &chunk, NULL),
                     NOF_OK);
    assert_int_equal(chunk.plain_bytes, LEN);
    body[NOF_WIRE_PREFIX_SLOT] = nof_grant_rx(&nic->grants, nof_peer_index(nic, peer))->slot;
    body[NOF_WIRE_PREFIX_ELEM] = NOF_ELEM_F64;
    nof_put16(body + NOF_WIRE_PREFIX_EPOCH, epoch);
    nof_put32(fields + NOF_WIRE_MSG_CTX, 1); /* as world_recv() has it */
    nof_put32(fields + NOF_WIRE_MSG_TAG, (uint32_t)tag);
    nof_put64(fields + NOF_WIRE_MSG_LEN, LEN);
    nof_put32(fields + NOF_WIRE_MSG_SEQ, peer->rx_seq);
    nof_put32(fields + NOF_WIRE_MSG_ELEM, NOF_ELEM_F64);
    assert_int_equal(frame(NOF_WIRE_MSG, NOF_WIRE_F_CHUNK, fields, sizeof fields, body,
                           NOF_WIRE_PREFIX_BYTES + chunk.len_bytes - (flaw ? 1 : 0)),
                     NOF_OK);
}

/* Rank 1 on our NIC, and rank 0 on one that hears nothing from us once the flow is open. */
static void begin(void)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = 1, .seed = 3};
    world = world_init(&cfg);
    world_open(world, 0, 0, 2);
    world_open(world, 1, 1, 2);
    world_run(world);
    world_send(world, 0, 1, 5, world_rank(world, 0)->arena, 1, 1);
    world_recv(world, 1, 0, 5, world_rank(world, 1)->arena, 1, 2);
    world_run(world);
    assert_int_equal(world_expect(world, 1, NOF_COMP_RECV, 2)->status, NOF_OK);
    nic = world_nic(world, 1);
    assert_int_equal(nof_nic_feature_set(nic, NOF_F_COMPRESSION, NOF_COMPRESSION_ON), NOF_OK);
    assert_int_equal(nof_nic_feature_set(nic, NOF_F_DECODE, NOF_DECODE_NEEDED), NOF_OK);
    peer = nof_peer_by_rank(nic, world_rank(world, 1)->endpoint, 0);
    assert_non_null(peer);
    world_cut(world, 1, true);
    void *mem = aligned_alloc(NOF_DFCM_ALIGN, (nof_dfcm_mem_size(LOG2) + 63) / 64 * 64);
    predictor = nof_dfcm_init(mem, LOG2, NOF_DFCM_FAST, NOF_DFCM_ISA_AUTO);
    assert_non_null(predictor);
    for (unsigned i = 0; i < VALUES; i++)
        values[i] = 1.0 + i;
}

static void end(void)
{
    free(predictor);
    world_fini(world);
}

static void receive(int tag, int status)
{
    uint8_t *to = world_rank(world, 1)->arena;
    world_recv(world, 1, 0, tag, to, LEN, 100 + (uint64_t)tag);
    world_run_for(world, 10000);
    const struct nof_comp *c = world_expect(world, 1, NOF_COMP_RECV, 100 + (uint64_t)tag);
    assert_int_equal(c->status, status);
    if (status == NOF_OK)
        assert_memory_equal(world_payload(world, 1, c, to), values, LEN);
}

/* Each grant clears a table that is ten thousand times as long as the frame that asks for it. */
static void grants_have_a_rate(void **state)
{
    (void)state;
    unsigned granted = 0, later = 0;
    begin();
    for (unsigned i = 0; i < 1000; i++) {
        if (!ask())
            continue;
        granted++;
        end_grant();
    }
    assert_in_range(granted, 1, nic->cfg.max_predictors);
    world_run_for(world, 20000000);
    for (unsigned i = 0; i < 1000; i++) {
        if (!ask())
            continue;
        later++;
        end_grant();
    }
    assert_in_range(later, 1, nic->cfg.max_predictors);
    end();
}

static void a_wrong_epoch_does_not_spoil_what_came_before(void **state)
{
    (void)state;
    begin();
    assert_int_equal(ask(), 1);
    uint16_t epoch = nof_grant_rx(&nic->grants, nof_peer_index(nic, peer))->epoch;
    message(7, epoch, 0);
    assert_int_equal(counter(NOF_C_DEFERRED_BYTES), LEN);
    message(8, (uint16_t)(epoch + 1), 0);
    assert_int_equal(counter(NOF_C_CODEC_BAD), 1);
    receive(7, NOF_OK);
    receive(8, NOF_EFAULT);
    end();
}

static void what_waits_and_does_not_decode_fails_alone(void **state)
{
    (void)state;
    begin();
    assert_int_equal(ask(), 1);
    uint16_t epoch = nof_grant_rx(&nic->grants, nof_peer_index(nic, peer))->epoch;
    message(7, epoch, 0);
    message(8, epoch, 1);
    message(9, epoch, 0);
    assert_int_equal(counter(NOF_C_DEFERRED_BYTES), 3 * LEN);
    receive(9, NOF_EFAULT); /* no chunk of this epoch decodes any more */
    receive(8, NOF_EFAULT);
    receive(7, NOF_OK);
    end();
}

static void what_waits_is_decoded_when_its_sender_dies(void **state)
{
    (void)state;
    begin();
    assert_int_equal(ask(), 1);
    uint16_t epoch = nof_grant_rx(&nic->grants, nof_peer_index(nic, peer))->epoch;
    message(7, epoch, 0);
    message(8, epoch, 1);
    nof_path_reset(nic->links[peer->link].path, NOF_EPROTO);
    world_run_for(world, 1000000);
    assert_int_equal(peer->flags & NOF_PEER_F_DEAD, NOF_PEER_F_DEAD);
    assert_int_equal(counter(NOF_C_CODEC_PREDICTORS), 0);
    while (world_take(world, 1) != NULL) /* the peer's death */
        ;
    receive(7, NOF_OK);
    receive(8, NOF_EPROTO);
    world_close(world, 1, NOF_OK);
    world_run_for(world, 1000000);
    assert_int_equal(counter(NOF_C_NETMEM_BYTES), 0);
    end();
}

static void epochs_go_round(void **state)
{
    (void)state;
    begin();
    assert_int_equal(ask(), 1);
    uint16_t epoch = nof_grant_rx(&nic->grants, nof_peer_index(nic, peer))->epoch;
    end_grant();
    nic->grants.epoch = (uint16_t)(epoch - 1);
    assert_int_equal(ask(), 1);
    assert_int_not_equal(nof_grant_rx(&nic->grants, nof_peer_index(nic, peer))->epoch, epoch);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grants_have_a_rate),
        cmocka_unit_test(a_wrong_epoch_does_not_spoil_what_came_before),
        cmocka_unit_test(what_waits_and_does_not_decode_fails_alone),
        cmocka_unit_test(what_waits_is_decoded_when_its_sender_dies),
        cmocka_unit_test(epochs_go_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
