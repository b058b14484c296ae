/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datagrams of a group: what its key has not sealed, and what was there before, is dropped and counted. */
#include "mcast_world.h"

#include "nic.h"
#include "transport/multicast.h"

/* The last datagram of a group on the wire. */
static struct {
    uint8_t bytes[2048];
    uint32_t len;
} heard;

static int watch_frame(void *ctx, unsigned nic, const uint8_t *bytes, uint32_t len)
{
    (void)ctx, (void)nic;
    if ((bytes[0] & 1) && len <= sizeof heard.bytes && heard.len == 0) {
        memcpy(heard.bytes, bytes, len);
        heard.len = len;
    }
    return 0;
}

static void watch_stale(void *ctx, uint8_t *at, size_t bytes)
{
    (void)ctx;
    memset(at, 0x5a, bytes);
}

static enum world_dma watch_dma(void *ctx, unsigned rank, int write, const struct nof_segment *seg,
                                unsigned nseg, const struct nof_buf *buf, unsigned nbuf)
{
    (void)ctx, (void)rank, (void)write, (void)seg, (void)nseg, (void)buf, (void)nbuf;
    return WORLD_DMA_DO;
}

static void watch_comp(void *ctx, unsigned rank, const struct nof_comp *comp)
{
    (void)ctx, (void)rank, (void)comp;
}

static void test_forged_and_old_datagrams_are_dropped(void **state)
{
    (void)state;
    static const struct world_watch watch = {
        .frame = watch_frame, .dma = watch_dma, .comp = watch_comp, .stale = watch_stale};
    struct world_config cfg = {.dma_inline = 1, .seed = 9, .watch = &watch};
    struct world *w = new_world(&cfg);
    open_all(w);
    heard.len = 0;
    bcast(w, 0, 2, 50000);
    assert_true(heard.len > NOF_WIRE_OUTER_BYTES + NOF_GROUP_HEAD_BYTES);
    uint64_t again = counter(w, 1, NOF_C_DROP_DUPLICATE);
    world_inject(w, 1, heard.bytes, heard.len);
    assert_int_equal(counter(w, 1, NOF_C_DROP_DUPLICATE), again + 1);
    /* Every byte counts, but for those that only say how it gets there. */
    for (uint32_t i = NOF_WIRE_OUTER_BYTES + NOF_WIRE_VER; i < heard.len; i++) {
        uint8_t forged[2048];
        uint8_t *c = forged + NOF_WIRE_OUTER_BYTES;
        memcpy(forged, heard.bytes, heard.len);
        forged[i] ^= 1;
        nof_put32(c + NOF_WIRE_CRC,
                  nof_crc32c(c + NOF_WIRE_VER, heard.len - NOF_WIRE_OUTER_BYTES - NOF_WIRE_VER));
        world_inject(w, 1, forged, heard.len);
    }
    assert_int_equal(counter(w, 1, NOF_C_DROP_DUPLICATE), again + 1);
    assert_true(counter(w, 1, NOF_C_DROP_MCAST_TAG) > heard.len - NOF_WIRE_OUTER_BYTES - 32);
    bcast(w, 0, 3, 50000);
    world_fini(w);
}

static void test_an_epoch_is_a_group_of_its_own(void **state)
{
    (void)state;
    struct world_config cfg = {.dma_inline = 1, .seed = 4};
    struct world *w = new_world(&cfg);
    struct nof_nic *nic = world_nic(w, 0);
    const uint8_t *key = nic->jobs[0].key;
    struct nof_group_dest one, other;
    open_all(w);
    nof_group_dest_init(nic->transport, &one, key, CTX, all_members(), ranks, 0);
    nof_group_dest_init(nic->transport, &other, key, CTX, all_members(), ranks, 1);
    assert_int_not_equal(one.id, other.id);
    assert_memory_not_equal(one.key, other.key, sizeof one.key);
    /* A message of the first group waits for its sender, while the second one opens: with its own number 1, and READY and done of
     * its own. */
    for (unsigned i = 1; i < ranks; i++)
        receive(w, i, 0, 2, 1000);
    for (unsigned i = 0; i < ranks; i++) {
        struct nof_desc d = {.opcode = NOF_DESC_GROUP_OPEN,
                             .ctx = CTX,
                             .cookie = 200 + i,
                             .len = 4 * ranks,
                             .sched = {.name = NAME + 1, .generation = 2, .base = {0, 1}}};
        world_post(w, i, &d);
    }
    world_run_for(w, 50 * MS);
    for (unsigned i = 0; i < ranks; i++) {
        assert_int_equal(world_expect(w, i, NOF_COMP_GROUP_OPEN, 200 + i)->status, NOF_OK);
        assert_int_equal(world_expect(w, i, NOF_COMP_GROUP, 200 + i)->status, NOF_OK);
    }
    send(w, 0, 2, 1000);
    world_run_for(w, 50 * MS);
    assert_int_equal(world_expect(w, 0, NOF_COMP_GROUP_SEND, 2)->status, NOF_OK);
    for (unsigned i = 1; i < ranks; i++)
        check_got(w, i, 2, 1000);
    world_fini(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forged_and_old_datagrams_are_dropped),
        cmocka_unit_test(test_an_epoch_is_a_group_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
