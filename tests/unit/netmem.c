/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Network memory: chains, stored messages, handles of held ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/netmem.h"

#define BLOCKS 80u

static struct nof_netmem nm;
static uint32_t next[BLOCKS], held[BLOCKS];

static int set_up(void **state)
{
    *state = aligned_alloc(64, BLOCKS * NOF_NETMEM_BLOCK);
    memset(next, 0xa5, sizeof next);
    memset(held, 0xa5, sizeof held);
    nof_netmem_init(&nm, *state, next, held, BLOCKS);
    return *state == NULL;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static void blocks_are_given_once(void **state)
{
    (void)state;
    uint8_t owner[BLOCKS] = {0};
    uint32_t chain[8];
    assert_int_equal(nof_netmem_take(&nm, BLOCKS + 1), NOF_NIL);
    for (unsigned round = 0; round < 50; round++) {
        for (unsigned i = 0; i < 8; i++) {
            uint32_t length = 0;
            chain[i] = nof_netmem_take(&nm, i + 1 + round % 3);
            for (uint32_t b = chain[i]; b != NOF_NIL; b = next[b], length++) {
                assert_in_range(b, 0, BLOCKS - 1);
                assert_int_equal(owner[b]++, 0);
            }
            assert_int_equal(length, i + 1 + round % 3);
        }
        assert_int_equal(nof_netmem_take(&nm, BLOCKS - nm.used + 1), NOF_NIL);
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal(nof_netmem_free(&nm, chain[(i + round) % 8]), (i + round) % 8 + 1 + round % 3);
        memset(owner, 0, sizeof owner);
        assert_int_equal(nm.used, 0);
    }
    assert_int_equal(nm.peak, 36 + 16);
}

static void charge_is_header_and_payload(void **state)
{
    (void)state;
    assert_int_equal(nof_netmem_charge(0, false), 0);
    assert_int_equal(nof_netmem_charge(0, true), 0);
    assert_int_equal(nof_netmem_charge(32, false), 0);
    assert_int_equal(nof_netmem_charge(32, true), 1);
    assert_int_equal(nof_netmem_charge(33, false), 1);
    assert_int_equal(nof_netmem_charge(960, false), 1);
    assert_int_equal(nof_netmem_charge(961, false), 2);
    assert_int_equal(nof_netmem_charge(65536, false), 65);
}

static void what_is_stored_comes_back(void **state)
{
    (void)state;
    static uint8_t in[65536], out[65536];
    static const uint32_t lens[] = {33, 959, 960, 961, 1984, 5000, 65536};
    for (uint32_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)(i * 7 + (i >> 8));
    for (unsigned k = 0; k < sizeof lens / sizeof lens[0]; k++) {
        for (uint32_t piece = 1; piece <= 3001; piece += 500) {
            uint32_t chain = nof_stored_take(&nm, lens[k], false);
            assert_int_not_equal(chain, NOF_NIL);
            for (uint32_t at = 0; at < lens[k]; at += piece)
                nof_stored_append(&nm, chain, in + at, lens[k] - at < piece ? lens[k] - at : piece);
            assert_int_equal(nof_stored_at(&nm, chain)->arrived, lens[k]);
            memset(out, 0, lens[k]);
            nof_stored_copy(&nm, chain, out, lens[k]);
            assert_memory_equal(out, in, lens[k]);
            struct nof_buf bufs[NOF_CHAIN_BUFS_MAX];
            uint32_t covered, at = lens[k] / 3;
            unsigned n = nof_chain_bufs(&nm, chain, NOF_STORED_BYTES + at, lens[k] - at, bufs,
                                        NOF_CHAIN_BUFS_MAX, &covered);
            assert_int_equal(covered, lens[k] - at);
            for (unsigned b = 0; b < n; at += (uint32_t)bufs[b++].len_bytes)
                assert_memory_equal(bufs[b].base, in + at, bufs[b].len_bytes);
            assert_int_equal(at, lens[k]);
            assert_int_equal(nof_netmem_free(&nm, chain), nof_netmem_charge(lens[k], false));
        }
    }
}

static void a_list_that_is_too_short_is_filled(void **state)
{
    (void)state;
    uint32_t a = nof_netmem_take(&nm, 1), b = nof_netmem_take(&nm, 1), c = nof_netmem_take(&nm, 1);
    nof_netmem_free(&nm, b);
    nof_netmem_free(&nm, a);
    nof_netmem_free(&nm, c);
    uint32_t chain = nof_netmem_take(&nm, 3); /* c, a, b: only the last two touch */
    struct nof_buf bufs[3];
    uint32_t covered;
    assert_int_equal(nof_chain_bufs(&nm, chain, 0, 3 * NOF_NETMEM_BLOCK, bufs, 3, &covered), 2);
    assert_int_equal(covered, 3 * NOF_NETMEM_BLOCK);
    assert_int_equal(nof_chain_bufs(&nm, chain, 0, 3 * NOF_NETMEM_BLOCK, bufs, 1, &covered), 1);
    assert_int_equal(covered, NOF_NETMEM_BLOCK);
}

static void a_held_message_has_one_handle(void **state)
{
    (void)state;
    uint32_t chain = nof_stored_take(&nm, 100, false);
    uint32_t gen = nof_stored_hold(&nm, chain);
    assert_int_equal(nof_stored_unhold(&nm, chain, gen + 1), 0);
    assert_int_equal(nof_stored_unhold(&nm, chain, 0), 0);
    assert_int_equal(nof_stored_unhold(&nm, chain + 1, gen), 0);
    assert_int_equal(nof_stored_unhold(&nm, UINT32_MAX, gen), 0);
    assert_int_equal(nof_stored_unhold(&nm, chain, gen), 1);
    assert_int_equal(nof_stored_unhold(&nm, chain, gen), 0);
    assert_int_not_equal(nof_stored_hold(&nm, chain), gen);
    nm.gen = NOF_GEN_MAX;
    assert_int_equal(nof_stored_hold(&nm, chain), 1); /* 0 means not held */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blocks_are_given_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(charge_is_header_and_payload, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_stored_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_that_is_too_short_is_filled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_held_message_has_one_handle, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
