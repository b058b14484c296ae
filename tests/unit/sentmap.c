/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nof/core.h"
#include "transport/sentmap.h"

#define US 1000u
#define N 64u
#define LEN 1000u

static struct nof_sent entries[N];
static struct nof_frame frames[N];
static unsigned given_back;

static void frame_free(void *port, struct nof_frame *frame)
{
    assert_ptr_equal(port, &given_back);
    assert_true(frame->data != NULL); /* not twice */
    frame->data = NULL;
    given_back++;
}

static const struct nof_port_ops port_ops = {.frame_free = frame_free};
static struct nof_sent_pool pool = {.entry = entries, .port_ops = &port_ops, .port = &given_back};
static const struct nof_rtt rtt = {.srtt_ns = 800 * US, .rttvar_ns = 50 * US, .min_ns = 400 * US};
#define WAIT (800u * US + 100u * US + 50u * US) /* srtt + srtt / 8 + rttvar */

static struct nof_sentmap fresh(uint32_t first_pn, uint32_t first_xn)
{
    struct nof_sentmap map;

    memset(entries, 0xa5, sizeof entries);
    memset(frames, 0, sizeof frames);
    given_back = 0;
    nof_sent_pool_init(&pool, N);
    nof_sentmap_init(&map, first_pn, first_xn);
    return map;
}

static uint32_t send(struct nof_sentmap *map, uint32_t len_bytes, uint64_t now_ns)
{
    uint32_t index = nof_sent_get(&pool);

    if (index == NOF_NIL)
        return index;
    frames[index] = (struct nof_frame){.data = (uint8_t *)&frames[index], .len_bytes = len_bytes};
    nof_sentmap_add(map, &pool, index, &frames[index], now_ns);
    return index;
}

/* An acknowledgement of all before `cum`, and of cum + 1 + i for each bit i. What it says of is given back. */
static struct nof_acked hear(struct nof_sentmap *map, uint32_t cum, uint32_t bits, uint64_t now_ns)
{
    const uint8_t words[4] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16),
                              (uint8_t)(bits >> 24)};
    struct nof_sent_ack ack = {.now_ns = now_ns, .words = words, .nwords = bits != 0, .cum_pn = cum};
    struct nof_acked acked;

    nof_sentmap_ack(map, &pool, &rtt, &ack, &acked);
    nof_sent_free_all(&pool, acked.gone);
    return acked;
}

static void what_has_come_leaves_the_list(void **state)
{
    struct nof_sentmap map = fresh(UINT32_MAX - 2, UINT32_MAX - 4);
    struct nof_acked acked;

    (void)state;
    for (unsigned i = 0; i < 8; i++)
        (void)send(&map, LEN + i, i);
    assert_int_equal(map.flight_bytes, 8 * LEN + 28);
    acked = hear(&map, UINT32_MAX, 1u << 1 | 1u << 3, 100); /* the first two, the fifth, the seventh */
    assert_int_equal(acked.bytes, 4 * LEN + 0 + 1 + 4 + 6);
    assert_int_equal(acked.flight_before_bytes, 8 * LEN + 28);
    assert_int_equal(acked.rtt_pn, UINT32_MAX - 2 + 6);
    assert_int_equal(acked.rtt_sent_ns, 6);
    assert_int_equal(map.frames, 4);
    assert_int_equal(map.flight_bytes, 4 * LEN + 2 + 3 + 5 + 7);
    assert_int_equal(map.delivered_xn, UINT32_MAX - 4 + 7);
    assert_int_equal(map.cum_pn, UINT32_MAX);
    assert_int_equal(given_back, 4);
    acked = hear(&map, UINT32_MAX, 1u << 1 | 1u << 3, 200); /* the same again says nothing */
    assert_int_equal(acked.bytes, 0);
    assert_int_equal(acked.rtt_sent_ns, 0);
    acked = hear(&map, map.next_pn, 0, 300);
    assert_int_equal(acked.bytes, 4 * LEN + 17);
    assert_true(nof_sentmap_empty(&map));
    assert_int_equal(map.flight_bytes, 0);
    assert_int_equal(pool.free_count, N);
}

/* At all times: what the header says of flight_bytes and lost, and nothing of the pool gets lost. */
static void the_sums_hold_whatever_happens(void **state)
{
    uint64_t random = 88172645463325252u;

    (void)state;
    for (unsigned seed = 0; seed < 50; seed++) {
        struct nof_sentmap map = fresh(0u - seed * 20, 0u - seed * 30);

        for (uint64_t now = 1; now < 2000; now++) {
            uint32_t flight = 0;
            unsigned lost = 0, listed = 0;

            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            switch (random % 8) {
            case 0:
                (void)hear(&map, map.cum_pn + (uint32_t)(random >> 8) % (map.next_pn - map.cum_pn + 1), 0,
                           now * 50 * US);
                break;
            case 1:
                if (map.next_pn - map.cum_pn > 32)
                    (void)hear(&map, map.cum_pn, (uint32_t)(random >> 8), now * 50 * US);
                break;
            case 2:
                (void)nof_sentmap_detect(&map, &pool, &rtt, now * 50 * US);
                break;
            case 3:
                if (nof_sent_next_lost(&pool, map.head) != NOF_NIL)
                    nof_sentmap_again(&map, &pool, nof_sent_next_lost(&pool, map.head), now * 50 * US);
                break;
            default:
                if (send(&map, 100 + (uint32_t)(random >> 8) % 1400, now * 50 * US) == NOF_NIL)
                    assert_int_equal(pool.free_count, 0);
                break;
            }
            for (uint32_t i = map.head; i != NOF_NIL; i = entries[i].next) {
                lost += (entries[i].flags & NOF_SENT_LOST) != 0;
                flight += entries[i].flags & NOF_SENT_LOST ? 0 : entries[i].len_bytes;
                listed++;
                if (entries[i].next == NOF_NIL)
                    assert_int_equal(map.tail, i);
                else
                    assert_true(nof_serial_before(entries[i].pn, entries[entries[i].next].pn));
            }
            assert_int_equal(map.flight_bytes, flight);
            assert_int_equal(map.lost, lost);
            assert_int_equal(map.frames, listed);
            assert_int_equal(pool.free_count + listed, N);
        }
        nof_sent_free_all(&pool, nof_sentmap_clear(&map));
        assert_true(map.head == NOF_NIL && map.tail == NOF_NIL);
        assert_int_equal(pool.free_count, N);
        assert_int_equal(map.flight_bytes + map.lost + map.frames, 0);
    }
}

/* 3 * 2^level transmissions later. */
static void a_frame_is_lost_when_later_ones_have_come(void **state)
{
    (void)state;
    for (unsigned level = 0; level <= 2; level++) {
        const uint32_t far = 3u << level;
        struct nof_sentmap map = fresh(0, 0u - 5);

        map.level = (uint8_t)level;
        for (unsigned i = 0; i <= far + 1; i++)
            (void)send(&map, LEN, 0);
        (void)hear(&map, 0, (1u << (far - 1)) - 1, 1); /* the one after it and so on: far - 1 of them */
        assert_int_equal(nof_sentmap_detect(&map, &pool, &rtt, 1), 0);
        assert_true(map.loss_at_ns == (uint64_t)800 * US + ((uint64_t)150 * US << level));
        (void)hear(&map, 0, 1u << (far - 1), 1);
        assert_int_equal(nof_sentmap_detect(&map, &pool, &rtt, 1), 1);
        assert_int_equal(map.flight_bytes, LEN); /* the newest */
        assert_int_equal(nof_sent_next_lost(&pool, map.head), map.head);
        assert_int_equal(nof_sentmap_detect(&map, &pool, &rtt, 1), 0); /* not twice */
    }
}

static void a_frame_is_lost_when_its_time_is_over(void **state)
{
    struct nof_sentmap map = fresh(7, 0);

    (void)state;
    (void)send(&map, LEN, 10);
    (void)send(&map, LEN, 20);
    assert_int_equal(nof_sentmap_detect(&map, &pool, &rtt, 10 * WAIT), 0); /* nothing later has come */
    assert_true(map.loss_at_ns == NOF_NO_DEADLINE);
    (void)hear(&map, 7, 1, 30);
    assert_int_equal(nof_sentmap_detect(&map, &pool, &rtt, 10 + WAIT - 1), 0);
    assert_true(map.loss_at_ns == 10 + WAIT);
    assert_int_equal(nof_sentmap_detect(&map, &pool, &rtt, 10 + WAIT), 1);
    assert_true(map.loss_at_ns == NOF_NO_DEADLINE);
    assert_int_equal(map.flight_bytes, 0);
}

static void a_retransmission_can_be_lost_too(void **state)
{
    struct nof_sentmap map = fresh(0, 0);
    uint32_t first;

    (void)state;
    first = send(&map, LEN, 0);
    for (unsigned i = 0; i < 4; i++)
        (void)send(&map, LEN, 0);
    (void)hear(&map, 0, 15, 1);
    assert_int_equal(nof_sentmap_detect(&map, &pool, &rtt, 1), 1);
    nof_sentmap_again(&map, &pool, first, 2);
    assert_int_equal(map.lost, 0);
    assert_int_equal(map.flight_bytes, LEN);
    assert_int_equal(entries[first].xn, 5);
    for (unsigned i = 0; i < 4; i++)
        (void)send(&map, LEN, 3);
    assert_int_equal(nof_sentmap_detect(&map, &pool, &rtt, 4), 0); /* sent after all that has come */
    (void)hear(&map, 0, 0xff, 5);
    assert_int_equal(nof_sentmap_detect(&map, &pool, &rtt, 5), 1);
}

static void what_was_only_overtaken_teaches_patience(void **state)
{
    struct nof_sentmap map = fresh(0, 0);
    struct nof_acked acked;

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        (void)send(&map, LEN, 0);
    (void)hear(&map, 0, 15, 1);
    assert_int_equal(nof_sentmap_detect(&map, &pool, &rtt, 1), 1);
    acked = hear(&map, 5, 0, 2); /* here it is after all */
    assert_int_equal(acked.bytes, LEN);
    assert_int_equal(map.flight_bytes, 0);
    assert_int_equal(map.level, 1);
    for (unsigned i = 1; i < NOF_SENT_LEVEL_ROUNDS; i++)
        nof_sentmap_round(&map);
    assert_int_equal(map.level, 1);
    nof_sentmap_round(&map);
    assert_int_equal(map.level, 0);
    for (unsigned i = 0; i < NOF_SENT_LEVEL_ROUNDS; i++)
        nof_sentmap_round(&map);
    assert_int_equal(map.level, 0);
}

/* Within 7/8 of the least round trip no retransmission can have been answered: the original was. */
static void an_answer_that_is_too_soon_is_the_originals(void **state)
{
    const uint64_t soon = 2000 * US + 350 * US;

    (void)state;
    for (unsigned late = 0; late < 2; late++) {
        struct nof_sentmap map = fresh(0, 0);
        uint32_t index = send(&map, LEN, 0);
        struct nof_acked acked;

        nof_sentmap_again(&map, &pool, index, 2000 * US); /* a timeout */
        acked = hear(&map, 1, 0, soon - 1 + late);
        assert_int_equal(acked.rtt_sent_ns, 0); /* Karn: which of the two cannot be told */
        assert_int_equal(map.level, !late);
        assert_int_equal(map.delivered_xn, late ? 2 : 0);
    }
}

static void after_a_timeout_nothing_is_lost_while_in_doubt(void **state)
{
    struct nof_sentmap map = fresh(0, 0);
    const uint64_t now = 3000 * US;
    struct nof_sent_ack ack = {.now_ns = now, .cum_pn = 1, .timed_out = true};
    struct nof_acked acked;
    uint32_t index = send(&map, LEN, 0);

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        (void)send(&map, LEN, 1);
    nof_sentmap_again(&map, &pool, index, 2000 * US);
    nof_sentmap_ack(&map, &pool, &rtt, &ack, &acked);
    assert_true(map.doubt_ns == now + rtt.srtt_ns);
    assert_int_equal(nof_sentmap_detect(&map, &pool, &rtt, map.doubt_ns - 1), 0);
    assert_true(map.loss_at_ns == map.doubt_ns);
    assert_int_equal(nof_sentmap_detect(&map, &pool, &rtt, map.doubt_ns), 5);
}

/* The map frees nothing: the port's queue may hold it. */
static void what_has_come_is_handed_over_each_once(void **state)
{
    const uint8_t words[4] = {1 << 1 | 1 << 3};
    const struct nof_sent_ack ack = {.now_ns = 9, .words = words, .nwords = 1, .cum_pn = 2};
    struct nof_sentmap map = fresh(0, 0);
    struct nof_acked acked;
    unsigned listed = 0;

    (void)state;
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(send(&map, LEN, 4), i);
    nof_sentmap_ack(&map, &pool, &rtt, &ack, &acked);
    assert_int_equal(given_back, 0);
    assert_int_equal(pool.free_count, N - 8);
    for (uint32_t i = acked.gone; i != NOF_NIL; i = entries[i].next)
        listed |= 1u << i;
    assert_int_equal(listed, 1u << 0 | 1u << 1 | 1u << 4 | 1u << 6);
    nof_sent_free_all(&pool, acked.gone);
    assert_int_equal(given_back, 4);
    nof_sentmap_ack(&map, &pool, &rtt, &ack, &acked);
    assert_int_equal(acked.gone, NOF_NIL);
    acked.gone = nof_sentmap_clear(&map);
    assert_int_equal(given_back, 4);
    listed = 0;
    for (uint32_t i = acked.gone; i != NOF_NIL; i = entries[i].next)
        listed |= 1u << i;
    assert_int_equal(listed, 1u << 2 | 1u << 3 | 1u << 5 | 1u << 7);
    assert_int_equal(nof_sentmap_clear(&map), NOF_NIL);
    nof_sent_free_all(&pool, acked.gone);
    assert_int_equal(given_back, 8);
}

static void all_that_was_given_back_can_be_had_again(void **state)
{
    struct nof_sentmap map = fresh(0, 0);

    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < N; i++)
            assert_true(send(&map, LEN, 1) < N);
        assert_int_equal(nof_sent_get(&pool), NOF_NIL);
        nof_sent_free_all(&pool, NOF_NIL);
        assert_int_equal(pool.free_count, 0);
        (void)hear(&map, map.cum_pn + N / 2, 0, 2);
        assert_int_equal(pool.free_count, N / 2);
        (void)hear(&map, map.next_pn, 0, 2);
        assert_int_equal(pool.free_count, N);
    }
}

static void what_did_not_leave_counts_as_lost(void **state)
{
    struct nof_sentmap map = fresh(0, 0);
    uint32_t index = send(&map, LEN, 0);

    (void)state;
    nof_sentmap_stuck(&map, &pool, index);
    assert_int_equal(map.flight_bytes, 0);
    assert_int_equal(map.lost, 1);
    assert_int_equal(nof_sent_next_lost(&pool, map.head), index);
    nof_sentmap_again(&map, &pool, index, 1);
    assert_int_equal(map.flight_bytes, LEN);
    assert_int_equal(map.lost, 0);
    for (unsigned i = 0; i < 300; i++)
        nof_sentmap_again(&map, &pool, index, 1);
    assert_int_equal(entries[index].retx, UINT8_MAX); /* does not wrap to "sent once" */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_come_leaves_the_list),
        cmocka_unit_test(the_sums_hold_whatever_happens),
        cmocka_unit_test(a_frame_is_lost_when_later_ones_have_come),
        cmocka_unit_test(a_frame_is_lost_when_its_time_is_over),
        cmocka_unit_test(a_retransmission_can_be_lost_too),
        cmocka_unit_test(what_was_only_overtaken_teaches_patience),
        cmocka_unit_test(an_answer_that_is_too_soon_is_the_originals),
        cmocka_unit_test(after_a_timeout_nothing_is_lost_while_in_doubt),
        cmocka_unit_test(what_has_come_is_handed_over_each_once),
        cmocka_unit_test(all_that_was_given_back_can_be_had_again),
        cmocka_unit_test(what_did_not_leave_counts_as_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
