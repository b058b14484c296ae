/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the bytes of a stored message lie: whole wherever they are, brought into a line and written back, and gone with
 * their credit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"

#include "flow/credit.h"
#include "flow/incoming.h"
#include "msg/stored.h"

static struct pair p;
static struct nof_env *owner;

static int start(void **state)
{
    (void)state;
    p = pair_begin(1);
    owner = nof_env_at(p.nic, nof_pool_take(&p.nic->envs));
    owner->state = NOF_ENV_MPROBED; /* in no table */
    owner->key.ep = p.ep->index;
    owner->early = NOF_NIL;
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_fini(p.w);
    return 0;
}

static const struct nof_match_key key = {.ctx = 1, .source = 0, .tag = 5};

static uint32_t store(uint64_t len)
{
    struct nof_arrival a = {.key = key, .len = len, .handle = 77};
    uint32_t chain;

    nof_credit_used(p.peer, nof_netmem_charge(len, 0));
    chain = nof_stored_begin(p.nic, p.peer, &a, NOF_STORED_ENV, nof_env_index(p.nic, owner));
    assert_int_not_equal(chain, NOF_NIL);
    owner->chain = chain;
    return chain;
}

static void put(uint32_t chain, uint32_t from, uint32_t n)
{
    assert_true(nof_stored_put(p.nic, chain, p.out + from, n));
}

static void holds(uint32_t chain, uint32_t n)
{
    static uint8_t copy[65536];
    const struct nof_stored *st = nof_stored_at(&p.nic->netmem, chain);

    assert_int_equal(st->arrived, n);
    if (st->line != NOF_NIL) {
        assert_memory_equal(p.ep->stage.area + p.ep->stage.line[st->line].offset, p.out, n);
        return;
    }
    nof_stored_copy(&p.nic->netmem, chain, copy, n);
    assert_memory_equal(copy, p.out, n);
}

static void pieces_of_any_length_lie_behind_each_other(void **state)
{
    uint32_t chain = store(10000), n = 0;

    (void)state;
    for (uint32_t piece = 1; n + piece <= 10000; piece += 61) {
        put(chain, n, piece);
        n += piece;
    }
    put(chain, n, 10000 - n);
    holds(chain, 10000);
    assert_true(nof_stored_capacity(nof_stored_at(&p.nic->netmem, chain)) >= 10000);
    assert_int_equal(p.nic->netmem.used, nof_netmem_charge(10000, 0));
    nof_stored_drop(p.nic, chain);
    assert_int_equal(p.nic->netmem.used, 0);
    assert_int_equal(p.peer->rx_blocks_freed, p.peer->rx_blocks_used);
}

static void its_envelope_is_remembered(void **state)
{
    const struct nof_stored *st = nof_stored_at(&p.nic->netmem, store(100));

    (void)state;
    assert_int_equal(st->len, 100);
    assert_int_equal(st->ctx, 1);
    assert_int_equal(st->tag, 5);
    assert_int_equal(st->handle, 77);
    assert_int_equal(st->peer, nof_peer_index(p.nic, p.peer));
    assert_int_equal(st->owner, nof_env_index(p.nic, owner));
    nof_stored_drop(p.nic, owner->chain);
}

static void without_blocks_there_is_none(void **state)
{
    struct nof_arrival a = {.key = key, .len = 100};
    uint32_t all = nof_netmem_take(&p.nic->netmem, p.nic->netmem.nblocks);

    (void)state;
    assert_int_not_equal(all, NOF_NIL);
    assert_int_equal(nof_stored_begin(p.nic, p.peer, &a, NOF_STORED_ENV, 0), NOF_NIL);
    nof_netmem_free(&p.nic->netmem, all);
}

static void further_pieces_come_to_it_until_it_is_discarded(void **state)
{
    uint32_t chain;

    (void)state;
    nof_incoming_begin(p.nic, p.peer, 100, 4000);
    chain = store(4100);
    assert_int_equal(p.peer->rx_target, NOF_REF(NOF_REF_ENV, chain));
    nof_stored_discard(p.nic, chain);
    assert_int_equal(p.peer->rx_target, NOF_NIL);
    assert_int_equal(p.peer->rx_left, 4000); /* it comes all the same */
    assert_int_equal(p.nic->netmem.used, 0);
    nof_incoming_end(p.nic, p.peer);
}

static uint32_t line_for(uint32_t chain, uint64_t len, uint64_t due)
{
    return nof_stored_line(p.nic, p.ep, &key, NOF_REF(NOF_REF_ENV, chain), len, due);
}

static void brought_into_a_line_it_goes_on_there(void **state)
{
    uint32_t chain = store(3000), line;

    (void)state;
    put(chain, 0, 1000);
    line = line_for(chain, 3000, 1);
    assert_int_not_equal(line, NOF_STAGE_NONE);
    nof_stored_bring(p.nic, chain, line);
    holds(chain, 1000);
    assert_int_equal(nof_stored_at(&p.nic->netmem, chain)->line, line);
    put(chain, 1000, 2000);
    holds(chain, 3000);
    assert_int_equal(p.nic->netmem.used, nof_netmem_charge(3000, 0)); /* its blocks wait, empty */
    nof_stored_drop(p.nic, chain);
    assert_int_equal(p.nic->netmem.used, 0);
    assert_int_not_equal(line_for(0, 3000, 1), NOF_STAGE_NONE); /* the line, too, is free */
}

static void what_makes_room_is_written_back(void **state)
{
    uint64_t limit = p.nic->features[NOF_F_STAGE_BYTES];
    uint32_t chain, other;

    (void)state;
    assert_int_equal(nof_nic_feature_set(p.nic, NOF_F_STAGE_BYTES, 4096), NOF_OK);
    chain = store(3000);
    put(chain, 0, 2500);
    nof_stored_bring(p.nic, chain, line_for(chain, 3000, 9));
    other = line_for(0, 3000, 1); /* wanted sooner */
    assert_int_not_equal(other, NOF_STAGE_NONE);
    assert_int_equal(nof_stored_at(&p.nic->netmem, chain)->line, NOF_NIL);
    holds(chain, 2500);
    put(chain, 2500, 500);
    holds(chain, 3000);
    assert_int_equal(world_rank(p.w, 1)->counters[NOF_C_STAGE_EVICTED], 1);
    assert_int_equal(world_rank(p.w, 1)->counters[NOF_C_STAGE_EVICTED_BYTES], 2500);
    nof_stored_drop(p.nic, chain);
    assert_int_equal(nof_nic_feature_set(p.nic, NOF_F_STAGE_BYTES, limit), NOF_OK);
}

static void what_could_have_no_line_replaces_none(void **state)
{
    (void)state;
    assert_int_equal(nof_nic_feature_set(p.nic, NOF_F_STAGE_BYTES, 4096), NOF_OK);
    assert_int_equal(line_for(0, 4097, 1), NOF_STAGE_NONE);
    assert_int_equal(line_for(0, 0, 1), NOF_STAGE_NONE);
    assert_int_not_equal(line_for(0, 4096, 1), NOF_STAGE_NONE);
}

static void what_is_not_packed_needs_no_opening(void **state)
{
    uint32_t chain = store(1000);

    (void)state;
    put(chain, 0, 1000);
    assert_int_equal(nof_stored_open(p.nic, chain), NOF_OK);
    holds(chain, 1000);
    nof_stored_drop(p.nic, chain);
}

/* Nobody asks what is expected where nothing could be brought nearer. */
static void what_lies_far_is_counted(void **state)
{
    uint32_t chain = store(1000), line;

    (void)state;
    put(chain, 0, 1000);
    nof_stored_note(p.nic, owner);
    assert_int_equal(p.ep->far, 1);
    nof_stored_note(p.nic, owner);
    assert_int_equal(p.ep->far, 1);
    line = line_for(chain, 1000, 1);
    nof_stored_bring(p.nic, chain, line);
    nof_stored_note(p.nic, owner);
    assert_int_equal(p.ep->far, 0);
    nof_stored_drop(p.nic, chain);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(pieces_of_any_length_lie_behind_each_other),
        EACH(its_envelope_is_remembered),
        EACH(without_blocks_there_is_none),
        EACH(further_pieces_come_to_it_until_it_is_discarded),
        EACH(brought_into_a_line_it_goes_on_there),
        EACH(what_makes_room_is_written_back),
        EACH(what_could_have_no_line_replaces_none),
        EACH(what_is_not_packed_needs_no_opening),
        EACH(what_lies_far_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
