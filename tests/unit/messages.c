/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages from end to end: every length that changes protocol, expected and unexpected, inline and
 * pending DMA, between NICs and inside one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

static const uint64_t lengths[] = {0,    1,    32,   33,    64,    500,   1000,  1400,  1426,   1500,
                                   4000, 8192, 8193, 16384, 16385, 40000, 65536, 70001, 300000, 1 << 20};
#define NLENGTHS (sizeof lengths / sizeof lengths[0])

static void fill(uint8_t *p, uint64_t n, uint64_t seed)
{
    for (uint64_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i * 31 + (i >> 8) * 7 + seed);
}

static void exchange(const struct world_config *cfg, unsigned nic_b, int unexpected)
{
    struct world *w = world_init(cfg);
    world_open(w, 0, 0, 2);
    world_open(w, nic_b, 1, 2);
    world_run(w);
    uint8_t *out = world_rank(w, 0)->arena;
    uint8_t *in = world_rank(w, 1)->arena;
    for (unsigned k = 0; k < NLENGTHS; k++) {
        uint64_t len = lengths[k];
        fill(out, len, k);
        memset(in, 0, len + 16);
        if (!unexpected)
            world_recv(w, 1, 0, 5, in, len + 8, 100 + k);
        world_send(w, 0, 1, 5, out, len, 200 + k);
        if (unexpected) {
            world_run_for(w, 3000000);
            world_recv(w, 1, k % 2 ? 0 : NOF_ANY_SOURCE, k % 3 ? 5 : NOF_ANY_TAG, in, len + 8, 100 + k);
        }
        world_run(w);
        const struct nof_comp *c = world_expect(w, 1, NOF_COMP_RECV, 100 + k);
        assert_int_equal(c->status, NOF_OK);
        assert_int_equal(c->len, len);
        assert_int_equal(c->peer, 0);
        assert_int_equal(c->tag, 5);
        assert_memory_equal(world_payload(w, 1, c, in), out, len);
        c = world_expect(w, 0, NOF_COMP_SEND, 200 + k);
        assert_int_equal(c->status, NOF_OK);
    }
    assert_null(world_take(w, 0));
    assert_null(world_take(w, 1));
    world_run_for(w, 100000000);
    assert_int_equal(nof_nic_counters(world_nic(w, nic_b))[NOF_C_NETMEM_BYTES], 0);
    world_fini(w);
}

static void all_ways(unsigned nics, unsigned nic_b, uint32_t mtu, unsigned loss)
{
    for (int dma_inline = 0; dma_inline < 2; dma_inline++)
        for (int unexpected = 0; unexpected < 2; unexpected++) {
            struct world_config cfg = {
                .nics = nics, .mtu = mtu, .dma_inline = dma_inline, .loss_percent = loss, .seed = 3};
            exchange(&cfg, nic_b, unexpected);
        }
}

static void between_nics(void **state)
{
    (void)state;
    all_ways(2, 1, 1500, 0);
    all_ways(2, 1, 9000, 0);
    all_ways(2, 1, 576, 0);
}

static void inside_one_nic(void **state)
{
    (void)state;
    all_ways(1, 0, 1500, 0);
}

static void with_loss(void **state)
{
    (void)state;
    all_ways(2, 1, 1500, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_nics),
        cmocka_unit_test(inside_one_nic),
        cmocka_unit_test(with_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
