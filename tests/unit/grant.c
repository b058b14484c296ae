/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Grants by their header: who asks, who is granted, what is revoked, and what becomes of a chunk that does not
 * decode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compress/grant.h"
#include "nic.h"
#include "world.h"

#define MS 1000000ull
#define SMALL 8000u /* eager */
#define LARGE 80000u /* rendezvous */
#define HUGE \
    3000000u /* much more than is in flight at once: its send has not ended when an error comes back */

static struct world *ranks(unsigned n, unsigned nics, int dma_inline, uint32_t predictors)
{
    struct world_config cfg = {.nics = nics,
                               .mtu = 1500,
                               .dma_inline = dma_inline,
                               .seed = 3,
                               .nic = {.max_predictors = predictors, .predictor_idle_ns = MS}};
    struct world *w = world_init(&cfg);
    for (unsigned r = 0; r < n; r++)
        world_open(w, r % nics, r, n);
    world_run(w);
    for (unsigned i = 0; i < nics; i++)
        assert_int_equal(nof_nic_feature_set(world_nic(w, i), NOF_F_COMPRESSION, NOF_COMPRESSION_ON), NOF_OK);
    return w;
}

static uint64_t counted(struct world *w, unsigned nic, enum nof_counter c)
{
    return nof_nic_counters(world_nic(w, nic))[c];
}

static void put(uint8_t *to, uint32_t bytes, unsigned round)
{
    for (uint32_t i = 0; i < bytes / 8; i++) {
        double v = 1.0 + 0.001 * (i + round);
        memcpy(to + 8 * i, &v, 8);
    }
}

/* A message of doubles; returns both ends' status. */
static void pass(struct world *w, unsigned from, unsigned to, uint32_t bytes, uint8_t flags, int *sent,
                 int *received)
{
    static unsigned round;
    uint8_t *out = world_rank(w, from)->arena;
    uint8_t *in = world_rank(w, to)->arena + (4u << 20);
    struct nof_desc d = {.opcode = NOF_DESC_SEND,
                         .flags = flags,
                         .elem = NOF_ELEM_F64,
                         .ctx = 1,
                         .cookie = 1,
                         .peer = (int32_t)to,
                         .tag = 5,
                         .len = bytes,
                         .addr = (uint64_t)(uintptr_t)out};
    put(out, bytes, round++);
    memset(in, 0, bytes);
    world_recv(w, to, (int)from, 5, in, bytes, 2);
    world_post(w, from, &d);
    world_run(w);
    *sent = world_expect(w, from, NOF_COMP_SEND, 1)->status;
    const struct nof_comp *c = world_expect(w, to, NOF_COMP_RECV, 2);
    *received = c->status;
    if (c->status == NOF_OK)
        assert_memory_equal(world_payload(w, to, c, in), out, bytes);
}

static void passes(struct world *w, unsigned from, unsigned to, uint32_t bytes)
{
    int sent, received;
    pass(w, from, to, bytes, 0, &sent, &received);
    assert_int_equal(sent, NOF_OK);
    assert_int_equal(received, NOF_OK);
}

/* Both ends have seen the same. */
static void in_step(struct world *w)
{
    const struct nof_grant *tx = &world_nic(w, 0)->grants.tx[0];
    const struct nof_grant *rx = &world_nic(w, 1)->grants.rx[tx->slot];
    assert_int_equal(tx->state, NOF_GRANT_READY);
    assert_int_equal(rx->state, NOF_GRANT_READY);
    assert_int_equal(tx->epoch, rx->epoch);
    assert_int_equal(nof_dfcm_digest(tx->predictor), nof_dfcm_digest(rx->predictor));
}

static void large_messages_shrink_once_a_predictor_is_granted(void **state)
{
    (void)state;
    for (int inline_ = 0; inline_ < 2; inline_++) {
        struct world *w = ranks(2, 2, inline_, 2);
        passes(w, 0, 1, 800);
        assert_int_equal(counted(w, 1, NOF_C_CODEC_GRANTED), 0);
        passes(w, 0, 1, SMALL);
        assert_int_equal(counted(w, 1, NOF_C_CODEC_GRANTED), 1);
        assert_int_equal(counted(w, 0, NOF_C_CODEC_TX_PLAIN), 0);
        passes(w, 0, 1, SMALL);
        passes(w, 0, 1, LARGE);
        assert_int_equal(counted(w, 0, NOF_C_CODEC_TX_PLAIN), SMALL + LARGE);
        assert_true(2 * counted(w, 0, NOF_C_CODEC_TX_BYTES) < counted(w, 0, NOF_C_CODEC_TX_PLAIN));
        assert_int_equal(counted(w, 1, NOF_C_CODEC_RX_PLAIN), SMALL + LARGE);
        in_step(w);
        world_fini(w);
    }
}

static void switched_off_leaves_both_predictors_untouched(void **state)
{
    (void)state;
    struct world *w = ranks(2, 2, 0, 2);
    passes(w, 0, 1, SMALL);
    passes(w, 0, 1, SMALL);
    uint64_t before = nof_dfcm_digest(world_nic(w, 0)->grants.tx[0].predictor);
    nof_nic_feature_set(world_nic(w, 0), NOF_F_COMPRESSION, NOF_COMPRESSION_OFF);
    passes(w, 0, 1, LARGE);
    assert_int_equal(nof_dfcm_digest(world_nic(w, 0)->grants.tx[0].predictor), before);
    in_step(w);
    nof_nic_feature_set(world_nic(w, 0), NOF_F_COMPRESSION, NOF_COMPRESSION_ON);
    passes(w, 0, 1, LARGE);
    assert_int_not_equal(nof_dfcm_digest(world_nic(w, 0)->grants.tx[0].predictor), before);
    in_step(w);
    world_fini(w);
}

static void a_chunk_that_does_not_decode_ends_its_message_alone(void **state)
{
    (void)state;
    static const struct {
        uint32_t bytes;
        uint8_t flags;
        int sent, received;
    } cases[] = {{HUGE, 0, NOF_EPROTO, NOF_EPROTO},
                 {SMALL, 0, NOF_OK, NOF_EFAULT},
                 {SMALL, NOF_DESC_F_SYNC, NOF_EPROTO, NOF_EFAULT}};
    for (unsigned k = 0; k < 3; k++) {
        int sent, received;
        struct world *w = ranks(2, 2, 0, 2);
        passes(w, 0, 1, SMALL);
        passes(w, 0, 1, SMALL);
        uint16_t epoch = world_nic(w, 0)->grants.tx[0].epoch;
        /* As if the chunks that come were of another format than was granted. */
        nof_dfcm_init(world_nic(w, 1)->grants.rx[0].mem, 8, NOF_DFCM_PAPER, NOF_DFCM_ISA_AUTO);
        pass(w, 0, 1, cases[k].bytes, cases[k].flags, &sent, &received);
        assert_int_equal(sent, cases[k].sent);
        assert_int_equal(received, cases[k].received);
        assert_true(counted(w, 1, NOF_C_CODEC_BAD) > 0);
        assert_int_equal(counted(w, 1, NOF_C_CODEC_REVOKED), 1);
        assert_int_equal(counted(w, 1, NOF_C_CODEC_PREDICTORS), 0);
        world_run_for(w, 10 * MS);
        for (int i = 0; i < 3; i++)
            passes(w, 0, 1, SMALL);
        assert_int_equal(counted(w, 1, NOF_C_DROP_PROTO), 0);
        assert_int_equal(counted(w, 0, NOF_C_PATHS_DEAD), 0);
        in_step(w);
        assert_int_not_equal(world_nic(w, 0)->grants.tx[0].epoch, epoch);
        world_fini(w);
    }
}

static void another_epoch_does_not_decode(void **state)
{
    (void)state;
    int sent, received;
    struct world *w = ranks(2, 2, 0, 2);
    passes(w, 0, 1, SMALL);
    passes(w, 0, 1, SMALL);
    world_nic(w, 0)->grants.tx[0].epoch ^= 1;
    pass(w, 0, 1, HUGE, 0, &sent, &received);
    assert_int_equal(sent, NOF_EPROTO);
    assert_int_equal(received, NOF_EPROTO);
    assert_int_equal(counted(w, 1, NOF_C_DROP_PROTO), 0);
    assert_int_equal(counted(w, 0, NOF_C_PATHS_DEAD), 0);
    world_fini(w);
}

static void an_idle_predictor_goes_to_who_asks(void **state)
{
    (void)state;
    struct world *w = ranks(3, 3, 0, 1); /* each on a NIC of its own, and one predictor a NIC */
    passes(w, 0, 1, SMALL);
    passes(w, 2, 1, SMALL);
    assert_int_equal(counted(w, 1, NOF_C_CODEC_GRANTED), 1);
    assert_int_equal(counted(w, 1, NOF_C_CODEC_REFUSED), 1);
    world_run_for(w, 10 * MS);
    passes(w, 2, 1, SMALL); /* asks again: now the other one is asked back */
    assert_int_equal(counted(w, 1, NOF_C_CODEC_REVOKED), 1);
    assert_int_equal(world_nic(w, 0)->grants.tx_used, 0);
    world_run_for(w, 10 * MS);
    passes(w, 2, 1, SMALL);
    passes(w, 2, 1, SMALL);
    assert_int_equal(counted(w, 1, NOF_C_CODEC_GRANTED), 2);
    assert_true(counted(w, 2, NOF_C_CODEC_TX_PLAIN) >= SMALL);
    world_fini(w);
}

/* END of who is asked back may have come while nobody looked: were his predictor taken, his next chunks would not decode. */
static void time_in_which_the_core_did_not_run_is_no_silence_of_who_is_asked_back(void **state)
{
    (void)state;
    struct world *w = ranks(3, 3, 0, 1);
    struct nof_grant *rx = &world_nic(w, 1)->grants.rx[0];
    uint64_t patience_ns = 4 * world_nic(w, 1)->features[NOF_F_DEAD_AFTER] * MS;
    passes(w, 0, 1, SMALL);
    rx->state = NOF_GRANT_REVOKED; /* REVOKE is on its way */
    rx->revoked_ns = world_now(w);
    world_run_for(w, patience_ns + 10 * MS);
    nof_nic_stalled(world_nic(w, 1), world_now(w), patience_ns);
    passes(w, 2, 1, SMALL);
    assert_int_equal(counted(w, 1, NOF_C_CODEC_GRANTED), 1);
    world_run_for(w, patience_ns);
    passes(w, 2, 1, SMALL);
    assert_int_equal(counted(w, 1, NOF_C_CODEC_GRANTED), 2);
    world_fini(w);
}

static void a_sender_takes_an_idle_predictor_of_its_own(void **state)
{
    (void)state;
    struct world *w = ranks(3, 3, 0, 1);
    passes(w, 0, 1, SMALL);
    world_run_for(w, 10 * MS);
    passes(w, 0, 2, SMALL);
    passes(w, 0, 2, SMALL);
    assert_int_equal(counted(w, 1, NOF_C_CODEC_PREDICTORS), 0); /* END came */
    assert_int_equal(counted(w, 2, NOF_C_CODEC_GRANTED), 1);
    assert_true(counted(w, 2, NOF_C_CODEC_RX_PLAIN) >= SMALL);
    world_fini(w);
}

static void a_dead_peer_leaves_no_predictor(void **state)
{
    (void)state;
    struct world *w = ranks(2, 2, 0, 2);
    passes(w, 0, 1, SMALL);
    passes(w, 1, 0, SMALL);
    assert_int_equal(counted(w, 0, NOF_C_CODEC_PREDICTORS), 2);
    world_close(w, 1, NOF_EPEERDEAD);
    world_run_for(w, 100 * MS);
    assert_int_equal(counted(w, 0, NOF_C_CODEC_PREDICTORS), 0);
    assert_int_equal(counted(w, 1, NOF_C_CODEC_PREDICTORS), 0);
    world_fini(w);
}

static void a_receiver_that_is_off_refuses(void **state)
{
    (void)state;
    struct world *w = ranks(2, 2, 0, 2);
    nof_nic_feature_set(world_nic(w, 1), NOF_F_COMPRESSION, NOF_COMPRESSION_OFF);
    passes(w, 0, 1, SMALL);
    passes(w, 0, 1, SMALL);
    assert_int_equal(counted(w, 1, NOF_C_CODEC_REFUSED), 1); /* and is not asked again at once */
    assert_int_equal(counted(w, 0, NOF_C_CODEC_TX_PLAIN), 0);
    world_fini(w);
}

static int grant(struct world *w, struct nof_peer *peer, const struct nof_grant *rx)
{
    uint8_t fields[NOF_WIRE_CODEC_GRANT_BYTES] = {rx->slot, rx->table_log2};
    struct nof_wire_view view = {
        .type = NOF_WIRE_CODEC_GRANT, .fields = fields, .fields_bytes = sizeof fields};
    nof_put16(fields + 2, rx->epoch);
    return nof_grant_given_rx(world_nic(w, 0), peer, &view);
}

static void an_answer_that_never_comes_holds_no_predictor(void **state)
{
    (void)state;
    struct world *w = ranks(3, 3, 0, 1);
    passes(w, 0, 1, SMALL);
    struct nof_grant *tx = &world_nic(w, 0)->grants.tx[0];
    struct nof_peer *peer = nof_peer_at(world_nic(w, 0), tx->peer);
    tx->state = NOF_GRANT_ASKING; /* as if the answer had not come */
    peer->codec_asked = 1;
    world_run_for(w, 10 * MS);
    passes(w, 0, 2, SMALL);
    passes(w, 0, 2, SMALL);
    assert_int_equal(counted(w, 2, NOF_C_CODEC_GRANTED), 1);
    passes(w, 0, 1, SMALL);
    assert_int_equal(counted(w, 1, NOF_C_CODEC_PREDICTORS), 1);
    assert_int_equal(grant(w, peer, &world_nic(w, 1)->grants.rx[0]), NOF_OK); /* here it is */
    world_run_for(w, 10 * MS);
    assert_int_equal(counted(w, 1, NOF_C_CODEC_PREDICTORS), 0); /* END came */
    assert_int_equal(grant(w, peer, &world_nic(w, 1)->grants.rx[0]), NOF_EPROTO);
    passes(w, 0, 1, SMALL);
    passes(w, 0, 1, SMALL);
    assert_int_equal(counted(w, 1, NOF_C_CODEC_GRANTED), 2);
    world_fini(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_messages_shrink_once_a_predictor_is_granted),
        cmocka_unit_test(switched_off_leaves_both_predictors_untouched),
        cmocka_unit_test(a_chunk_that_does_not_decode_ends_its_message_alone),
        cmocka_unit_test(another_epoch_does_not_decode),
        cmocka_unit_test(an_idle_predictor_goes_to_who_asks),
        cmocka_unit_test(time_in_which_the_core_did_not_run_is_no_silence_of_who_is_asked_back),
        cmocka_unit_test(a_sender_takes_an_idle_predictor_of_its_own),
        cmocka_unit_test(a_dead_peer_leaves_no_predictor),
        cmocka_unit_test(a_receiver_that_is_off_refuses),
        cmocka_unit_test(an_answer_that_never_comes_holds_no_predictor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
