/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames of an eager message are of one size, and no more than if all but the last were full; a peer that does not say that
 * it takes them gets the others. Seen on the wire, between two NICs of MTU 1500. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"
#include "transport/state.h"
#include "transport/wire.h"

#define BODY_MAX 1440u /* of MTU 1500: less IPv4, UDP and the common header */
#define EAGER_MAX 16384u /* feature eager_max_bytes, as it is by default */
#define TAG 5
#define UNEVEN 10001u /* bytes that do not divide by their frames */

static struct pair p;

static bool rest_breaks; /* what is read of a message behind its first block fails */
static unsigned breaks; /* so often it did */

static struct {
    unsigned frames, longer; /* of MSG and MSG_MORE; of those with longer fields */
    uint32_t first_bytes, last_bytes, least_bytes, most_bytes; /* of a frame's body */
    uint32_t padding_bytes;
} seen;

static int look(void *ctx, unsigned nic, const uint8_t *bytes, uint32_t len)
{
    const uint8_t *common = bytes + NOF_WIRE_OUTER_BYTES;
    uint32_t body = len - NOF_WIRE_OUTER_BYTES - NOF_WIRE_COMMON_BYTES;
    unsigned type = common[NOF_WIRE_TYPE], fields = common[NOF_WIRE_FIELDS];
    unsigned fixed = type == NOF_WIRE_MSG ? NOF_WIRE_MSG_BYTES : NOF_WIRE_MSG_MORE_BYTES;

    (void)ctx;
    if (nic != 0 || (type != NOF_WIRE_MSG && type != NOF_WIRE_MSG_MORE))
        return 0;
    if (seen.frames == 0)
        seen.first_bytes = seen.least_bytes = body;
    seen.frames++;
    seen.last_bytes = body;
    seen.least_bytes = body < seen.least_bytes ? body : seen.least_bytes;
    seen.most_bytes = body > seen.most_bytes ? body : seen.most_bytes;
    assert_true(fields >= fixed);
    seen.longer += fields > fixed;
    seen.padding_bytes += fields - fixed;
    for (unsigned i = fixed; i < fields; i++)
        assert_int_equal(common[NOF_WIRE_COMMON_BYTES + i], 0); /* nothing of ours leaks */
    return 0;
}

static enum world_dma copy(void *ctx, unsigned rank, int write, const struct nof_segment *seg, unsigned nseg,
                           const struct nof_buf *buf, unsigned nbuf)
{
    (void)ctx, (void)rank, (void)nseg, (void)buf, (void)nbuf;
    if (!rest_breaks || write || seg[0].addr == (uintptr_t)p.out)
        return WORLD_DMA_DO;
    breaks++;
    return WORLD_DMA_BROKEN;
}

static void ignore(void *ctx, unsigned rank, const struct nof_comp *comp)
{
    (void)ctx, (void)rank, (void)comp;
}

static void any_bytes(void *ctx, uint8_t *at, size_t bytes)
{
    (void)ctx;
    memset(at, 0xa5, bytes);
}

static const struct world_watch watch = {.frame = look, .dma = copy, .comp = ignore, .stale = any_bytes};

static void begin(int dma_inline, int dma_read_late)
{
    struct world_config cfg = {.nics = 2,
                               .mtu = 1500,
                               .dma_inline = dma_inline,
                               .dma_read_late = dma_read_late,
                               .seed = 1,
                               .watch = &watch};

    cfg.nic = (struct nof_nic_config){.max_endpoints = 2, .max_peers = 16, .max_envelopes = 512};
    p = pair_of(&cfg);
}

static void send_it(uint32_t len)
{
    const struct nof_comp *c;

    memset(&seen, 0, sizeof(seen));
    world_recv(p.w, 1, 0, TAG, p.in, len, 1);
    world_send(p.w, 0, 1, TAG, p.out, len, 2);
    world_run_for(p.w, 5 * MS);
    c = world_expect(p.w, 1, NOF_COMP_RECV, 1);
    assert_int_equal(c->status, NOF_OK);
    assert_memory_equal(world_payload(p.w, 1, c, p.in), p.out, len);
    (void)world_expect(p.w, 0, NOF_COMP_SEND, 2);
}

static unsigned fewest(uint32_t len)
{
    return (len + NOF_WIRE_MSG_BYTES - NOF_WIRE_MSG_MORE_BYTES + BODY_MAX - NOF_WIRE_MSG_MORE_BYTES - 1) /
           (BODY_MAX - NOF_WIRE_MSG_MORE_BYTES);
}

static void frames_of_a_message_are_of_one_size(void **state)
{
    (void)state;
    for (int dma_inline = 0; dma_inline < 2; dma_inline++) {
        begin(dma_inline, 0);
        for (uint32_t len = 1; len <= EAGER_MAX; len += len < 3000 ? 31 : 377) {
            send_it(len);
            assert_int_equal(seen.frames, fewest(len));
            assert_int_equal(seen.least_bytes, seen.most_bytes);
            assert_true(seen.padding_bytes < seen.frames);
        }
        send_it(EAGER_MAX);
        assert_int_equal(seen.frames, fewest(EAGER_MAX));
        assert_int_equal(seen.least_bytes, seen.most_bytes);
        world_fini(p.w);
    }
}

static void of_one_that_is_one_frame_nothing_is_added(void **state)
{
    (void)state;
    begin(1, 0);
    send_it(BODY_MAX - NOF_WIRE_MSG_BYTES);
    assert_int_equal(seen.frames, 1);
    assert_int_equal(seen.padding_bytes, 0);
    send_it(BODY_MAX - NOF_WIRE_MSG_BYTES + 1);
    assert_int_equal(seen.frames, 2);
    world_fini(p.w);
}

/* Their sums are of full frames. */
static void who_gets_sums_of_what_is_read_fills_frames(void **state)
{
    (void)state;
    begin(1, 1);
    send_it(10000);
    assert_int_equal(seen.frames, fewest(10000));
    assert_int_equal(seen.most_bytes, BODY_MAX);
    assert_int_equal(seen.padding_bytes, 0);
    world_fini(p.w);
}

static void a_peer_that_does_not_say_so_gets_none_with_longer_fields(void **state)
{
    (void)state;
    begin(1, 0);
    p.theirs->links[p.their_peer->link].path->long_more = false;
    for (uint32_t len = 1; len <= EAGER_MAX; len += 997) {
        send_it(len);
        assert_int_equal(seen.longer, 0);
        assert_int_equal(seen.frames, fewest(len));
        assert_true(seen.frames == 1 || seen.first_bytes == BODY_MAX);
    }
    world_fini(p.w);
}

/* Not even the last frame of such a message is longer than it was. */
static void the_rest_of_a_message_that_cannot_be_read_ends_it(void **state)
{
    const unsigned n = 32;

    (void)state;
    begin(1, 0);
    rest_breaks = true;
    breaks = 0;
    memset(&seen, 0, sizeof(seen));
    for (unsigned i = 0; i < n; i++)
        world_recv(p.w, 1, 0, TAG, p.in, UNEVEN, i);
    for (unsigned i = 0; i < n; i++) /* more than the window takes: some leave in two parts */
        world_send(p.w, 0, 1, TAG, p.out, UNEVEN, i);
    world_run_for(p.w, 50 * MS);
    rest_breaks = false;
    assert_true(breaks > 0);
    unsigned failed = 0;
    for (unsigned i = 0; i < n; i++)
        failed += world_expect(p.w, 1, NOF_COMP_RECV, i)->status == NOF_EFAULT;
    assert_int_equal(failed, breaks);
    world_fini(p.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_a_message_are_of_one_size),
        cmocka_unit_test(of_one_that_is_one_frame_nothing_is_added),
        cmocka_unit_test(who_gets_sums_of_what_is_read_fills_frames),
        cmocka_unit_test(the_rest_of_a_message_that_cannot_be_read_ends_it),
        cmocka_unit_test(a_peer_that_does_not_say_so_gets_none_with_longer_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
