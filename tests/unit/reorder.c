/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receive window beside a model that remembers every packet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "transport/reorder.h"

#define SLOTS 6u
#define SLOT_BYTES 16u
#define WINDOW 32u

static struct nof_reorder_slot slots[SLOTS];
static uint8_t data[SLOTS * SLOT_BYTES];
static struct nof_reorder_pool pool = {.slot = slots, .data = data, .slot_bytes = SLOT_BYTES};

static unsigned free_slots(void)
{
    unsigned n = 0;

    for (uint32_t i = pool.free; i != NOF_NIL; i = slots[i].next)
        n++;
    return n;
}

/* What packet pn looks like: its length differs from packet to packet, too. */
static uint32_t packet(uint32_t pn, uint8_t bytes_out[SLOT_BYTES])
{
    memset(bytes_out, (int)(pn * 7 & 255), SLOT_BYTES);
    memcpy(bytes_out, &pn, sizeof pn);
    return 4 + pn % (SLOT_BYTES - 3);
}

struct peer {
    struct nof_reorder r;
    uint32_t first;
    uint32_t delivered; /* since first */
    uint32_t has; /* model: bit i is packet next + i */
};

static void deliver_slots(struct peer *s)
{
    uint8_t want[SLOT_BYTES];
    uint32_t slot;

    while ((slot = nof_reorder_take(&s->r, &pool)) != NOF_NIL) {
        uint32_t pn = s->first + s->delivered++;

        assert_int_equal(slots[slot].len_bytes, packet(pn, want));
        assert_memory_equal(nof_reorder_bytes(&pool, slot), want, slots[slot].len_bytes);
        nof_reorder_release(&pool, slot);
        assert_true(s->has & 1);
        s->has >>= 1;
    }
}

static void check(const struct peer *s)
{
    uint8_t words[4] = {0xff, 0xff, 0xff, 0xff};
    uint32_t seen;

    assert_int_equal(s->r.next_pn, s->first + s->delivered);
    assert_false(s->has & 1);
    assert_true(nof_reorder_words(&s->r) <= 1);
    assert_int_equal(nof_reorder_words(&s->r) != 0, s->has != 0);
    assert_int_equal(nof_reorder_gap(&s->r), s->has != 0);
    if (s->has != 0)
        assert_true(s->has >> (s->r.high_pn - s->r.next_pn - 1) == 1);
    nof_reorder_bits(&s->r, &pool, words, 1);
    seen = words[0] | (uint32_t)words[1] << 8 | (uint32_t)words[2] << 16 | (uint32_t)words[3] << 24;
    assert_int_equal(seen, s->has >> 1);
}

/* One arrival of packet next + ahead. Returns what became of it. */
static enum nof_reorder_outcome arrive(struct peer *s, int32_t ahead, uint64_t now)
{
    uint8_t bytes[SLOT_BYTES];
    uint32_t pn = s->r.next_pn + (uint32_t)ahead;
    uint32_t len = packet(pn, bytes);
    enum nof_reorder_outcome said = NOF_REORDER_NOW;
    uint32_t high = s->r.high_pn;
    uint64_t newest = s->r.newest_ns;
    unsigned room = free_slots();

    if (nof_reorder_next(&s->r, pn, now)) {
        assert_int_equal(ahead, 0);
        assert_int_equal(s->has, 0);
    } else {
        said = nof_reorder_rx(&s->r, &pool, pn, bytes, len, WINDOW, now);
    }
    if (ahead < 0 || (ahead < (int32_t)WINDOW && s->has >> ahead & 1)) {
        assert_int_equal(said, NOF_REORDER_DUPLICATE);
    } else if (ahead >= (int32_t)WINDOW) {
        assert_int_equal(said, NOF_REORDER_BEYOND);
    } else if (ahead > 0) {
        assert_int_equal(said, room > 0 ? NOF_REORDER_KEPT : NOF_REORDER_FULL);
        s->has |= said == NOF_REORDER_KEPT ? 1u << ahead : 0;
    } else {
        assert_int_equal(said, NOF_REORDER_NOW);
        s->delivered++;
        s->has >>= 1;
        deliver_slots(s);
    }
    assert_true(s->r.newest_ns == (s->r.high_pn != high ? now : newest));
    check(s);
    return said;
}

static void start(struct peer *s, uint32_t first)
{
    *s = (struct peer){.first = first};
    nof_reorder_init(&s->r, first);
    assert_int_equal(s->r.newest_ns, 0);
}

/* Packets come anyhow: early, twice, too early; two paths share the pool. */
static void frames_come_out_in_order_and_once(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct peer a, b;
        uint64_t random = seed * 0x9e3779b97f4a7c15u;

        nof_reorder_pool_init(&pool, SLOTS);
        start(&a, 0u - 40u * seed); /* wraps on the way */
        start(&b, seed);
        for (unsigned i = 1; i < 4000; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint32_t r = (uint32_t)(random >> 33);
            int32_t ahead = r & 3 ? (int32_t)(r >> 2 & 7) - 2 : (int32_t)(r >> 2 & 63) % 40 - 4;
            (void)arrive(random >> 63 ? &a : &b, ahead, i);
        }
        assert_true(a.delivered > 100 && b.delivered > 100);
        nof_reorder_clear(&a.r, &pool);
        nof_reorder_clear(&b.r, &pool);
        assert_int_equal(free_slots(), SLOTS);
    }
}

static void a_window_of_gaps_drains_at_once(void **state)
{
    struct peer s;

    (void)state;
    nof_reorder_pool_init(&pool, SLOTS);
    start(&s, 100);
    for (int32_t i = (int32_t)SLOTS; i >= 1; i--)
        assert_int_equal(arrive(&s, i, 1), NOF_REORDER_KEPT);
    assert_int_equal(arrive(&s, 0, 2), NOF_REORDER_NOW);
    assert_int_equal(s.r.next_pn, 100 + SLOTS + 1);
    assert_int_equal(free_slots(), SLOTS);
}

static void without_a_slot_there_is_still_progress(void **state)
{
    struct peer s;

    (void)state;
    nof_reorder_pool_init(&pool, SLOTS);
    start(&s, 0);
    for (int32_t i = 1; i <= (int32_t)SLOTS; i++)
        (void)arrive(&s, i + 1, 1);
    assert_int_equal(arrive(&s, (int32_t)SLOTS + 2, 2), NOF_REORDER_FULL);
    assert_int_equal(arrive(&s, 2, 2), NOF_REORDER_DUPLICATE); /* not: no slot */
    assert_int_equal(arrive(&s, 0, 3), NOF_REORDER_NOW);
    assert_int_equal(s.delivered, 1);
    assert_int_equal(arrive(&s, 0, 3), NOF_REORDER_NOW);
    assert_int_equal(s.delivered, 2 + SLOTS);
}

static void the_window_ends_where_it_says(void **state)
{
    struct peer s;

    (void)state;
    nof_reorder_pool_init(&pool, SLOTS);
    start(&s, UINT32_MAX - 3);
    assert_int_equal(arrive(&s, (int32_t)WINDOW - 1, 1), NOF_REORDER_KEPT);
    assert_int_equal(arrive(&s, (int32_t)WINDOW, 1), NOF_REORDER_BEYOND);
    assert_int_equal(arrive(&s, INT32_MAX, 1), NOF_REORDER_BEYOND);
    assert_int_equal(arrive(&s, INT32_MIN, 1), NOF_REORDER_DUPLICATE);
}

static void what_is_longer_than_a_slot_is_not_kept(void **state)
{
    uint8_t bytes[SLOT_BYTES + 1] = {0};
    struct peer s;

    (void)state;
    nof_reorder_pool_init(&pool, SLOTS);
    start(&s, 0);
    assert_int_equal(nof_reorder_rx(&s.r, &pool, 1, bytes, SLOT_BYTES + 1, WINDOW, 1), NOF_REORDER_FULL);
    assert_int_equal(s.r.high_pn, 0);
    assert_int_equal(nof_reorder_rx(&s.r, &pool, 1, bytes, SLOT_BYTES, WINDOW, 1), NOF_REORDER_KEPT);
    nof_reorder_pool_init(&pool, 0);
    nof_reorder_init(&s.r, 0);
    assert_int_equal(nof_reorder_rx(&s.r, &pool, 1, bytes, 4, WINDOW, 1), NOF_REORDER_FULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_out_in_order_and_once),
        cmocka_unit_test(a_window_of_gaps_drains_at_once),
        cmocka_unit_test(without_a_slot_there_is_still_progress),
        cmocka_unit_test(the_window_ends_where_it_says),
        cmocka_unit_test(what_is_longer_than_a_slot_is_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
