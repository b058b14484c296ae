/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that are expected: what the frames look like when a rendezvous is granted before its receive,
 * and that truncation, synchronous sends and a wrong prediction come out as they would without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nic.h"
#include "recv_predictor.h"
#include "world.h"

#define CYCLE 7
#define TRAINED 6 /* cycles after which the predictor is trusted */
#define LINES_BYTES 40000u /* that lines may take */
#define WAIT_NS 3000000u

static struct world *world;
static uint8_t *out, *in;
static uint8_t sent, wanted; /* what the next send and receive say of their collective */

static uint64_t counter(unsigned nic, enum nof_counter c)
{
    return nof_nic_counters(world_nic(world, nic))[c];
}

static void send_one(int tag, uint64_t len, int sync)
{
    struct nof_desc d = {.opcode = NOF_DESC_SEND,
                         .flags = sync ? NOF_DESC_F_SYNC : 0,
                         .agreed = sent,
                         .peer = 1,
                         .tag = tag,
                         .len = len,
                         .cookie = 1000 + (uint64_t)tag,
                         .addr = (uintptr_t)(out + tag * 8)};
    world_post(world, 0, &d);
}

static void post_one(int tag, uint64_t capacity)
{
    struct nof_desc d = {.opcode = NOF_DESC_RECV,
                         .agreed = wanted,
                         .peer = 0,
                         .tag = tag,
                         .len = capacity,
                         .cookie = (uint64_t)tag};
    d.addr = (uintptr_t)in;
    d.callsite = 0x1000 + (uint64_t)tag;
    world_post(world, 1, &d);
}

static void check_one(int tag, uint64_t len, uint64_t capacity)
{
    const struct nof_comp *c = world_expect(world, 1, NOF_COMP_RECV, (uint64_t)tag);
    uint64_t here = len < capacity ? len : capacity;
    assert_int_equal(c->len, len);
    assert_int_equal(c->status, len <= capacity ? NOF_OK : NOF_ETRUNC);
    assert_memory_equal(world_payload(world, 1, c, in), out + tag * 8, here);
}

static void one_cycle(uint64_t len)
{
    for (int tag = 0; tag < CYCLE; tag++) {
        send_one(tag, len, 0);
        post_one(tag, len);
        world_run(world);
        check_one(tag, len, len);
        assert_int_equal(world_expect(world, 0, NOF_COMP_SEND, 1000 + (uint64_t)tag)->status, NOF_OK);
    }
}

static void begin(int dma_inline, uint64_t len)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = dma_inline, .seed = 5};
    world = world_init(&cfg);
    world_open(world, 0, 0, 2);
    world_open(world, 1, 1, 2);
    world_run(world);
    assert_int_equal(nof_nic_feature_set(world_nic(world, 1), NOF_F_PREDICTION, NOF_PREDICTOR_AUTO), NOF_OK);
    assert_int_equal(nof_nic_feature_set(world_nic(world, 1), NOF_F_STAGE_BYTES, LINES_BYTES), NOF_OK);
    out = world_rank(world, 0)->arena;
    in = world_rank(world, 1)->arena;
    for (unsigned i = 0; i < 60000; i++)
        out[i] = (uint8_t)(i * 31 + (i >> 8) * 7);
    for (int i = 0; i < TRAINED; i++)
        one_cycle(len);
}

static void end(void)
{
    world_run_for(world, 100000000);
    assert_int_equal(counter(1, NOF_C_NETMEM_BYTES), 0);
    assert_int_equal(nof_nic_quiet(world_nic(world, 1)), 1);
    world_fini(world);
}

/* RTS, CTS and DATA are over before the receive is posted: then nothing more is on the wire. */
static void an_expected_rendezvous_needs_no_round_trip(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {20000, 50000}; /* a line, blocks of network memory */
    for (unsigned i = 0; i < 4; i++) {
        uint64_t len = lengths[i / 2];
        begin(i & 1, len);
        uint64_t granted = counter(1, NOF_C_STAGE_GRANTED), hits = counter(1, NOF_C_STAGE_HITS);
        send_one(0, len, 0);
        world_run_for(world, WAIT_NS);
        assert_int_equal(counter(1, NOF_C_STAGE_GRANTED), granted + 1);
        assert_int_equal(world_expect(world, 0, NOF_COMP_SEND, 1000)->status, NOF_OK);
        uint64_t frames = counter(0, NOF_C_TX_FRAMES) + counter(1, NOF_C_TX_FRAMES);
        post_one(0, len);
        world_run_for(world, WAIT_NS);
        check_one(0, len, len);
        assert_int_equal(counter(1, NOF_C_STAGE_HITS), hits + 1);
        assert_int_equal(counter(0, NOF_C_TX_FRAMES) + counter(1, NOF_C_TX_FRAMES), frames);
        end();
    }
}

/* Of another collective than the receive that was predicted: nothing of it is written. */
static void a_granted_message_may_be_of_another_collective(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {20000, 50000};
    for (unsigned i = 0; i < 2; i++) {
        begin(1, lengths[i]);
        uint64_t granted = counter(1, NOF_C_STAGE_GRANTED);
        sent = 5;
        send_one(0, lengths[i], 0);
        world_run_for(world, WAIT_NS);
        assert_int_equal(counter(1, NOF_C_STAGE_GRANTED), granted + 1);
        wanted = 6;
        memset(in, 0xee, (size_t)lengths[i]);
        post_one(0, lengths[i]);
        world_run_for(world, WAIT_NS);
        assert_int_equal(world_expect(world, 1, NOF_COMP_RECV, 0)->status, NOF_EDISAGREE);
        assert_int_equal(in[0], 0xee);
        assert_int_equal(world_expect(world, 0, NOF_COMP_SEND, 1000)->status, NOF_OK);
        sent = wanted = 0;
        end();
    }
}

/* Off: the same message waits for its receive, and CTS and DATA come after that. */
static void an_unexpected_rendezvous_waits(void **state)
{
    (void)state;
    begin(0, 20000);
    nof_nic_feature_set(world_nic(world, 1), NOF_F_PREDICTION, NOF_PREDICTOR_OFF);
    send_one(0, 20000, 0);
    world_run_for(world, WAIT_NS);
    assert_null(world_take(world, 0));
    uint64_t frames = counter(0, NOF_C_TX_FRAMES);
    post_one(0, 20000);
    world_run(world);
    check_one(0, 20000, 20000);
    assert_true(counter(0, NOF_C_TX_FRAMES) >= frames + 20000 / 1500);
    assert_int_equal(world_expect(world, 0, NOF_COMP_SEND, 1000)->status, NOF_OK);
    end();
}

static void a_synchronous_send_is_not_granted_early(void **state)
{
    (void)state;
    begin(0, 20000);
    uint64_t granted = counter(1, NOF_C_STAGE_GRANTED);
    send_one(0, 20000, 1);
    world_run_for(world, WAIT_NS);
    assert_int_equal(counter(1, NOF_C_STAGE_GRANTED), granted);
    assert_null(world_take(world, 0));
    post_one(0, 20000);
    world_run(world);
    check_one(0, 20000, 20000);
    assert_int_equal(world_expect(world, 0, NOF_COMP_SEND, 1000)->status, NOF_OK);
    end();
}

/* Receives that are smaller than what was granted, down to nothing. */
static void a_granted_message_may_be_truncated(void **state)
{
    (void)state;
    static const uint64_t capacities[] = {0, 20, 1000, 19999};
    for (unsigned i = 0; i < 8; i++)
        for (uint64_t len = 20000; len <= 50000; len += 30000) {
            begin(i & 1, len);
            send_one(0, len, 0);
            world_run_for(world, WAIT_NS);
            post_one(0, capacities[i / 2]);
            world_run(world);
            check_one(0, len, capacities[i / 2]);
            assert_int_equal(world_expect(world, 0, NOF_COMP_SEND, 1000)->status, NOF_OK);
            end();
        }
}

/* Eager messages that came early are found in the staging area; those that came out of turn are found too. */
static void a_wrong_prediction_costs_nothing_but_time(void **state)
{
    (void)state;
    begin(0, 9000);
    uint64_t hits = counter(1, NOF_C_STAGE_HITS);
    assert_int_equal(nof_nic_feature_set(world_nic(world, 1), NOF_F_STAGE_BYTES, 262144), NOF_OK);
    for (int tag = 0; tag < CYCLE; tag++)
        send_one(tag, 9000, 0);
    world_run_for(world, WAIT_NS);
    assert_true(counter(1, NOF_C_STAGE_AHEAD) >= CYCLE);
    for (int tag = CYCLE - 1; tag >= 0; tag--) {
        post_one(tag, 9000);
        world_run(world);
        check_one(tag, 9000, 9000);
    }
    assert_true(counter(1, NOF_C_STAGE_HITS) > hits);
    while (world_take(world, 0) != NULL)
        ;
    end();
}

/* A message that would fit the limit, but whose line would not, drives nothing out. */
static void what_can_have_no_line_replaces_none(void **state)
{
    (void)state;
    begin(0, 9000);
    const struct nof_stage *stage = &world_nic(world, 1)->eps[world_rank(world, 1)->endpoint].stage;
    uint64_t evicted = counter(1, NOF_C_STAGE_EVICTED);
    for (int tag = 1; tag < 4; tag++)
        send_one(tag, 9000, 0);
    world_run_for(world, WAIT_NS);
    uint32_t lines = stage->lines;
    assert_true(lines > 0);
    assert_int_equal(nof_nic_feature_set(world_nic(world, 1), NOF_F_STAGE_BYTES, 9001), NOF_OK);
    send_one(0, 9001, 0); /* wanted before all of them */
    world_run_for(world, WAIT_NS);
    assert_int_equal(counter(1, NOF_C_STAGE_EVICTED), evicted);
    assert_int_equal(stage->lines, lines);
    for (int tag = 0; tag < 4; tag++) {
        post_one(tag, 10000);
        world_run(world);
        check_one(tag, tag == 0 ? 9001 : 9000, 10000);
    }
    while (world_take(world, 0) != NULL)
        ;
    end();
}

/* A slot that the host was not given is not the host's to release. */
static void a_line_cannot_be_released(void **state)
{
    (void)state;
    begin(0, 9000);
    const struct nof_stage *stage = &world_nic(world, 1)->eps[world_rank(world, 1)->endpoint].stage;
    send_one(0, 9000, 0);
    world_run_for(world, WAIT_NS);
    uint32_t line = 0;
    while (line < NOF_STAGE_LINES && stage->line[line].bytes != 9000)
        line++;
    assert_true(line < NOF_STAGE_LINES);
    struct nof_desc d = {.opcode = NOF_DESC_RELEASE};
    d.release.count = 1;
    d.release.offset[0] = stage->line[line].offset;
    world_post(world, 1, &d);
    world_run(world);
    assert_int_equal(world_expect(world, 1, NOF_COMP_FAILED, 0)->status, NOF_EINVAL);
    world_close(world, 1, NOF_EINVAL);
    while (world_take(world, 0) != NULL)
        ;
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_expected_rendezvous_needs_no_round_trip),
        cmocka_unit_test(a_granted_message_may_be_of_another_collective),
        cmocka_unit_test(an_unexpected_rendezvous_waits),
        cmocka_unit_test(a_synchronous_send_is_not_granted_early),
        cmocka_unit_test(a_granted_message_may_be_truncated),
        cmocka_unit_test(a_wrong_prediction_costs_nothing_but_time),
        cmocka_unit_test(what_can_have_no_line_replaces_none),
        cmocka_unit_test(a_line_cannot_be_released),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
