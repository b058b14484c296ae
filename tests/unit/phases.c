/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules of phases: the paper's figures (docs/SOURCES.md, compiled communication, section 4.2), its two algorithms
 * written again as it tells them, and what must hold of every schedule.
 *
 * usage: phases [PATTERNS [SEED [NODES_OF_THE_LARGEST]]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../sim/rng.h"
#include "nof/status.h"
#include "phases.h"

#define NODES 64u
#define MESSAGES_MAX (2 * NODES * NODES)
#define SMALL_PHASE UINT32_MAX

static uint64_t patterns = 2000;
static uint64_t first_seed = 1;
static uint32_t most_nodes = 1024;

/* The allocation that fails, counted from 1; 0: none does. */
static unsigned failing;

static bool fails(void)
{
    return failing > 0 && --failing == 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t items, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t items, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t items, size_t bytes)
{
    return fails() ? NULL : __real_calloc(items, bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    return fails() ? NULL : __real_realloc(block, bytes);
}

static struct nof_phases *scheduled(enum nof_phases_algorithm algorithm, const struct nof_phases_pattern *p,
                                    uint64_t threshold_bytes)
{
    struct nof_phases *phases = NULL;

    assert_int_equal(nof_phases_schedule(algorithm, p, threshold_bytes, &phases), NOF_OK);
    assert_non_null(phases);
    return phases;
}

/* "0->1 1000000, 1->3 1000000; 0->2 10000": phases as text. */
static const char *as_text(const struct nof_phases *p)
{
    static char text[1024];
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < p->piece_count; i++) {
        const char *before = i > 0 ? ", " : "";

        for (size_t k = 1; k < p->phase_count; k++)
            before = p->phase[k].first_piece == i ? "; " : before;
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u->%u %llu", before, p->piece[i].source,
                               p->piece[i].destination, (unsigned long long)p->piece[i].bytes);
    }
    return text;
}

static const struct nof_phases_message figure_3[] = {
    {0, 1, 1000000}, {1, 3, 1000000}, {0, 2, 10000}, {2, 3, 100}, {1, 5, 100}, {2, 1, 100},
};
static const struct nof_phases_pattern figure_3_pattern = {6, figure_3, 6};

static void figure_3_has_the_papers_phases(void **state)
{
    (void)state;
    struct nof_phases *p = scheduled(NOF_PHASES_GREEDY, &figure_3_pattern, 0);
    assert_string_equal(as_text(p), "0->1 1000000, 1->3 1000000; 0->2 10000, 2->3 100, 1->5 100; 2->1 100");
    assert_int_equal(p->maxima_bytes, 1010100);
    assert_int_equal(p->fullest_link_bytes, 1010000);
    nof_phases_free(p);

    p = scheduled(NOF_PHASES_ALLTOALL, &figure_3_pattern, 0);
    assert_string_equal(as_text(p), "0->1 1000000, 2->3 100, 1->5 100; 1->3 1000000, 0->2 10000, 2->1 100");
    assert_int_equal(p->maxima_bytes, 2000000);
    nof_phases_free(p);
}

static void figure_2_is_the_order_of_shifts(void **state)
{
    (void)state;
    struct nof_phases_message m[30];
    size_t n = 0;
    for (uint32_t s = 0; s < 6; s++)
        for (uint32_t d = 0; d < 6; d++)
            if (s != d)
                m[n++] = (struct nof_phases_message){s, d, 8};
    struct nof_phases *p = scheduled(NOF_PHASES_SHIFT, &(struct nof_phases_pattern){6, m, n}, 0);
    assert_int_equal(p->phase_count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(p->phase[i].piece_count, 6);
        for (uint32_t j = 0; j < 6; j++) {
            const struct nof_phases_piece *piece = &p->piece[p->phase[i].first_piece + j];
            assert_int_equal(piece->source, j);
            assert_int_equal(piece->destination, (j + i + 1) % 6);
        }
    }
    nof_phases_free(p);
}

static void a_pairs_messages_add_up_where_the_first_stood(void **state)
{
    (void)state;
    static const struct nof_phases_message m[] = {
        {1, 2, 5}, {0, 2, 10}, {3, 3, 7}, {0, 1, 0}, {1, 2, 5}, {3, 3, 1}, {3, 2, 10},
    };
    struct nof_phases *p = scheduled(NOF_PHASES_GREEDY, &(struct nof_phases_pattern){4, m, 7}, 0);
    assert_string_equal(as_text(p), "1->2 10; 0->2 10; 3->2 10");
    assert_int_equal(p->message_count, 3);
    assert_int_equal(p->local_count, 2);
    assert_int_equal(p->local_bytes, 8);
    assert_int_equal(p->fullest_link_bytes, 30);
    nof_phases_free(p);
}

static void without_messages_there_are_no_phases(void **state)
{
    (void)state;
    for (unsigned a = 0; a < NOF_PHASES_ALGORITHM_COUNT; a++)
        for (uint32_t nodes = 1; nodes <= 2; nodes++) {
            struct nof_phases *p =
                scheduled((enum nof_phases_algorithm)a, &(struct nof_phases_pattern){nodes, NULL, 0}, 100);
            assert_int_equal(p->phase_count, 0);
            assert_int_equal(p->maxima_bytes, 0);
            nof_phases_free(p);
        }
}

static void what_is_left_of_the_small_goes_into_one_marked_phase(void **state)
{
    (void)state;
    /* 2 to 3 fits beside the large one; the others have to wait, and do so together. */
    static const struct nof_phases_message m[] = {
        {0, 1, 1000}, {0, 2, 99}, {2, 1, 60}, {2, 3, 50}, {0, 3, 40}};
    static const struct nof_phases_pattern pattern = {4, m, 5};
    struct nof_phases *p = scheduled(NOF_PHASES_GREEDY, &pattern, 100);
    assert_string_equal(as_text(p), "0->1 1000, 2->3 50; 0->2 99, 2->1 60, 0->3 40");
    assert_false(p->phase[0].small);
    assert_true(p->phase[1].small);
    assert_int_equal(p->phase[1].largest_bytes, 99);
    assert_int_equal(p->phase[1].link_bytes, 139);
    assert_int_equal(p->maxima_bytes, 1139);
    nof_phases_free(p);

    p = scheduled(NOF_PHASES_GREEDY, &pattern, 99); /* 99 bytes are not less than 99 */
    assert_string_equal(as_text(p), "0->1 1000, 2->3 50; 0->2 99, 2->1 60; 0->3 40");
    assert_true(p->phase[2].small);
    nof_phases_free(p);

    p = scheduled(NOF_PHASES_SHIFT, &pattern, 100); /* shift 1 has a large one */
    assert_string_equal(as_text(p), "0->1 1000, 2->3 50; 0->2 99, 0->3 40, 2->1 60");
    assert_true(p->phase[1].small);
    nof_phases_free(p);

    p = scheduled(NOF_PHASES_OPTIMAL, &pattern, 100);
    assert_int_equal(p->phase_count, 2);
    assert_int_equal(p->phase[1].piece_count, 4);
    nof_phases_free(p);
}

static void what_is_no_pattern_is_refused(void **state)
{
    (void)state;
    static const struct nof_phases_message beyond[] = {{0, 1, 1}, {1, 2, 1}};
    static const struct nof_phases_message from_beyond[] = {{2, 1, 1}};
    static const struct nof_phases_message too_much[] = {{0, 1, INT64_MAX}, {1, 1, 1}};
    static const struct nof_phases_pattern bad[] = {
        {0, NULL, 0},     {NOF_PHASES_NODES_MAX + 1, NULL, 0},
        {2, beyond, 2},   {2, from_beyond, 1},
        {2, too_much, 2}, {2, beyond, (size_t)NOF_PHASES_MESSAGES_MAX + 1},
    };
    struct nof_phases *p = NULL;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(nof_phases_schedule(NOF_PHASES_GREEDY, &bad[i], 0, &p), NOF_EINVAL);
    assert_int_equal(nof_phases_schedule(NOF_PHASES_ALGORITHM_COUNT, &figure_3_pattern, 0, &p), NOF_EINVAL);
    assert_null(p);
    assert_null(nof_phases_algorithm_name(NOF_PHASES_ALGORITHM_COUNT));

    static const struct nof_phases_message most[] = {{0, 1, INT64_MAX - 1}, {1, 0, 1}};
    for (unsigned a = 0; a < NOF_PHASES_ALGORITHM_COUNT; a++) {
        p = scheduled((enum nof_phases_algorithm)a, &(struct nof_phases_pattern){2, most, 2}, 0);
        assert_true(p->maxima_bytes >= INT64_MAX - 1);
        nof_phases_free(p);
    }
}

static void without_memory_it_says_so_and_keeps_none(void **state)
{
    (void)state;
    for (unsigned a = 0; a < NOF_PHASES_ALGORITHM_COUNT; a++) {
        struct nof_phases *p = NULL;
        int rc = NOF_ENOMEM;
        unsigned k = 0;
        while (rc == NOF_ENOMEM) {
            failing = ++k;
            rc = nof_phases_schedule((enum nof_phases_algorithm)a, &figure_3_pattern, 1000, &p);
            assert_true((rc == NOF_OK) == (p != NULL));
        }
        assert_int_equal(rc, NOF_OK);
        assert_true(failing > 0 && k > 10); /* it came to its end before the k-th */
        failing = 0;
        nof_phases_free(p);
    }
}

/* A pattern that is drawn, its sums in order of size, and which phase each is in. */
struct drawn {
    struct nof_phases_pattern pattern;
    struct nof_phases_message message[MESSAGES_MAX];
    uint64_t threshold_bytes;
    uint64_t sum_bytes[NODES][NODES];
    uint64_t sent_bytes[NODES]; /* of messages not below the threshold */
    uint64_t received_bytes[NODES];
    uint64_t fullest_link_bytes;
    uint32_t out_degree, in_degree; /* the largest */
    uint32_t sums;
    struct nof_phases_message sum[NODES * NODES];
    uint32_t phase_of[NODES * NODES]; /* from 1, or SMALL_PHASE */
};

static uint64_t size_drawn(struct nof_rng *r, unsigned kind)
{
    switch (kind) {
    case 0:
        return 65536;
    case 1:
        return 1 + nof_rng_below(r, 1u << 20);
    case 2:
        return 1ull << nof_rng_below(r, 21);
    default:
        return nof_rng_below(r, 4);
    }
}

static void add_up(struct drawn *d)
{
    for (size_t i = 0; i < d->pattern.message_count; i++) {
        const struct nof_phases_message *m = &d->message[i];
        if (m->source == m->destination || m->bytes == 0)
            continue;
        if (d->sum_bytes[m->source][m->destination] == 0)
            d->sum[d->sums++] = *m;
        d->sum_bytes[m->source][m->destination] += m->bytes;
    }
    for (uint32_t i = 0; i < d->sums; i++)
        d->sum[i].bytes = d->sum_bytes[d->sum[i].source][d->sum[i].destination];
    for (uint32_t i = 1; i < d->sums; i++) { /* stable: by insertion */
        struct nof_phases_message m = d->sum[i];
        uint32_t at = i;
        for (; at > 0 && d->sum[at - 1].bytes < m.bytes; at--)
            d->sum[at] = d->sum[at - 1];
        d->sum[at] = m;
    }
}

static void look_at_links(struct drawn *d)
{
    for (uint32_t n = 0; n < d->pattern.nodes; n++) {
        uint64_t sent = 0, received = 0;
        uint32_t out = 0, in = 0;
        for (uint32_t k = 0; k < d->pattern.nodes; k++) {
            uint64_t to = d->sum_bytes[n][k], from = d->sum_bytes[k][n];
            sent += to;
            received += from;
            out += to > 0;
            in += from > 0;
            d->sent_bytes[n] += to >= d->threshold_bytes ? to : 0;
            d->received_bytes[n] += from >= d->threshold_bytes ? from : 0;
        }
        d->fullest_link_bytes = sent > d->fullest_link_bytes ? sent : d->fullest_link_bytes;
        d->fullest_link_bytes = received > d->fullest_link_bytes ? received : d->fullest_link_bytes;
        d->out_degree = out > d->out_degree ? out : d->out_degree;
        d->in_degree = in > d->in_degree ? in : d->in_degree;
    }
}

static void draw(struct drawn *d, uint64_t seed)
{
    struct nof_rng r = {.state = seed};
    memset(d, 0, sizeof(*d));
    uint32_t nodes = (uint32_t)nof_rng_between(&r, 1, nof_rng_chance(&r, 80) ? 20 : NODES);
    unsigned kind = (unsigned)nof_rng_below(&r, 4);
    size_t n =
        nof_rng_chance(&r, 30) ? (size_t)nodes * nodes : nof_rng_below(&r, (uint64_t)nodes * nodes * 2);
    for (size_t i = 0; i < n; i++)
        d->message[i] = (struct nof_phases_message){(uint32_t)nof_rng_below(&r, nodes),
                                                    (uint32_t)nof_rng_below(&r, nodes), size_drawn(&r, kind)};
    if (nof_rng_chance(&r, 30)) { /* all to all */
        n = (size_t)nodes * nodes;
        for (uint32_t i = 0; i < n; i++)
            d->message[i] = (struct nof_phases_message){i / nodes, i % nodes, size_drawn(&r, kind)};
    }
    d->pattern = (struct nof_phases_pattern){nodes, d->message, n};
    d->threshold_bytes = nof_rng_chance(&r, 60) ? 0 : size_drawn(&r, kind);
    add_up(d);
    look_at_links(d);
}

/* As section 4.2 and figure 4 tell it: one phase after another, each from all messages that are left. */
static uint32_t told_by_the_paper(struct drawn *d, bool alltoall)
{
    uint32_t phase = 0, nodes = d->pattern.nodes;
    memset(d->phase_of, 0, sizeof(d->phase_of));
    for (uint32_t largest = 0;; phase++) {
        bool sends[NODES] = {false}, receives[NODES] = {false};
        while (largest < d->sums && d->phase_of[largest] != 0)
            largest++;
        if (largest == d->sums)
            return phase;
        if (d->sum[largest].bytes < d->threshold_bytes) {
            for (uint32_t i = largest; i < d->sums; i++)
                d->phase_of[i] = d->phase_of[i] == 0 ? SMALL_PHASE : d->phase_of[i];
            return phase + 1;
        }
        uint32_t shift = (d->sum[largest].destination + nodes - d->sum[largest].source) % nodes;
        for (unsigned pass = !alltoall; pass < 2; pass++)
            for (uint32_t i = largest; i < d->sums; i++) {
                const struct nof_phases_message *m = &d->sum[i];
                if (d->phase_of[i] != 0 || sends[m->source] || receives[m->destination] ||
                    (pass == 0 && (m->destination + nodes - m->source) % nodes != shift))
                    continue;
                d->phase_of[i] = phase + 1;
                sends[m->source] = receives[m->destination] = true;
            }
    }
}

static void check_same_phases(struct drawn *d, const struct nof_phases *p, bool alltoall)
{
    static uint32_t phase_of[NODES][NODES];
    assert_int_equal(p->phase_count, told_by_the_paper(d, alltoall));
    for (size_t i = 0; i < p->phase_count; i++)
        for (size_t k = 0; k < p->phase[i].piece_count; k++) {
            const struct nof_phases_piece *piece = &p->piece[p->phase[i].first_piece + k];
            phase_of[piece->source][piece->destination] = p->phase[i].small ? SMALL_PHASE : (uint32_t)i + 1;
        }
    for (uint32_t i = 0; i < d->sums; i++)
        assert_int_equal(phase_of[d->sum[i].source][d->sum[i].destination], d->phase_of[i]);
}

/* One phase: its figures, and no node twice unless it is the small one. */
static void check_phase(const struct drawn *d, const struct nof_phases *p, size_t at)
{
    const struct nof_phase *phase = &p->phase[at];
    uint64_t sent[NODES] = {0}, received[NODES] = {0}, largest = 0, link = 0;
    assert_true(phase->piece_count > 0);
    assert_true(!phase->small || at == p->phase_count - 1);
    for (size_t k = 0; k < phase->piece_count; k++) {
        const struct nof_phases_piece *piece = &p->piece[phase->first_piece + k];
        assert_true(piece->bytes > 0);
        if (phase->small)
            assert_true(d->sum_bytes[piece->source][piece->destination] < d->threshold_bytes);
        else
            assert_true(sent[piece->source] == 0 && received[piece->destination] == 0);
        sent[piece->source] += piece->bytes;
        received[piece->destination] += piece->bytes;
        largest = piece->bytes > largest ? piece->bytes : largest;
        link = sent[piece->source] > link ? sent[piece->source] : link;
        link = received[piece->destination] > link ? received[piece->destination] : link;
    }
    assert_int_equal(phase->largest_bytes, largest);
    assert_int_equal(phase->link_bytes, link);
}

/* Every byte once, and the parts of a message in their order. */
static void check_bytes(const struct drawn *d, const struct nof_phases *p)
{
    static uint64_t done[NODES][NODES];
    memset(done, 0, sizeof(done));
    for (size_t i = 0; i < p->piece_count; i++) {
        const struct nof_phases_piece *piece = &p->piece[i];
        assert_int_equal(piece->offset_bytes, done[piece->source][piece->destination]);
        done[piece->source][piece->destination] += piece->bytes;
    }
    assert_memory_equal(done, d->sum_bytes, sizeof(done));
}

static void check_optimal(const struct drawn *d, const struct nof_phases *p)
{
    uint64_t large = 0, fullest = 0;
    for (size_t i = 0; i < p->phase_count; i++)
        large += p->phase[i].small ? 0 : p->phase[i].largest_bytes;
    for (uint32_t n = 0; n < d->pattern.nodes; n++) {
        fullest = d->sent_bytes[n] > fullest ? d->sent_bytes[n] : fullest;
        fullest = d->received_bytes[n] > fullest ? d->received_bytes[n] : fullest;
    }
    assert_int_equal(large, fullest);
    if (d->threshold_bytes == 0)
        assert_int_equal(p->maxima_bytes, p->fullest_link_bytes);
    assert_true(p->phase_count <= d->sums + 2 * d->pattern.nodes);
}

static void check_schedule(struct drawn *d, enum nof_phases_algorithm algorithm)
{
    struct nof_phases *p = scheduled(algorithm, &d->pattern, d->threshold_bytes);
    uint64_t maxima = 0;
    size_t pieces = 0;
    for (size_t i = 0; i < p->phase_count; i++) {
        assert_int_equal(p->phase[i].first_piece, pieces);
        check_phase(d, p, i);
        pieces += p->phase[i].piece_count;
        maxima += p->phase[i].link_bytes;
    }
    assert_int_equal(pieces, p->piece_count);
    assert_int_equal(p->message_count, d->sums);
    assert_int_equal(p->maxima_bytes, maxima);
    assert_int_equal(p->fullest_link_bytes, d->fullest_link_bytes);
    assert_true(p->maxima_bytes >= p->fullest_link_bytes);
    check_bytes(d, p);
    if (algorithm != NOF_PHASES_OPTIMAL)
        assert_int_equal(p->piece_count, d->sums);
    if (algorithm == NOF_PHASES_ALLTOALL || algorithm == NOF_PHASES_SHIFT)
        assert_true(p->phase_count <= d->pattern.nodes - 1);
    if (algorithm == NOF_PHASES_GREEDY) /* one for each message that may be in a message's way, and its own */
        assert_true(p->phase_count == 0 || p->phase_count <= d->out_degree + d->in_degree - 1);
    if (algorithm == NOF_PHASES_OPTIMAL)
        check_optimal(d, p);
    if (algorithm == NOF_PHASES_GREEDY || algorithm == NOF_PHASES_ALLTOALL)
        check_same_phases(d, p, algorithm == NOF_PHASES_ALLTOALL);
    nof_phases_free(p);
}

static uint64_t seed_under_test; /* 0: all are done */

static void every_schedule_of_drawn_patterns_is_sound(void **state)
{
    (void)state;
    static struct drawn d;
    for (uint64_t i = 0; i < patterns; i++) {
        seed_under_test = first_seed + i;
        draw(&d, seed_under_test);
        for (unsigned a = 0; a < NOF_PHASES_ALGORITHM_COUNT; a++)
            check_schedule(&d, (enum nof_phases_algorithm)a);
    }
    seed_under_test = 0;
}

static int tell_seed(void **state)
{
    (void)state;
    if (seed_under_test != 0)
        print_error("again with: unit-phases 1 %llu\n", (unsigned long long)seed_under_test);
    return 0;
}

/* 160 messages of 64 KiB, 20 of 16 KiB, 60 of 100 bytes, dealt to all pairs of 16 nodes. */
static void draw_table_3(struct nof_phases_message *m, uint64_t seed)
{
    struct nof_rng r = {.state = seed};
    uint32_t n = 0;
    for (uint32_t s = 0; s < 16; s++)
        for (uint32_t d = 0; d < 16; d++)
            if (s != d)
                m[n++] = (struct nof_phases_message){s, d, 0};
    for (uint32_t i = 0; i < 240; i++)
        m[i].bytes = i < 160 ? 65536 : i < 180 ? 16384 : 100;
    for (uint32_t i = 239; i > 0; i--) {
        uint64_t other = nof_rng_below(&r, i + 1);
        uint64_t bytes = m[i].bytes;
        m[i].bytes = m[other].bytes;
        m[other].bytes = bytes;
    }
}

static void table_3_takes_15_phases_by_shifts_and_more_by_greed(void **state)
{
    (void)state;
    struct nof_phases_message m[240];
    size_t least = SIZE_MAX, most = 0;
    double longer[NOF_PHASES_ALGORITHM_COUNT] = {0};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        draw_table_3(m, seed);
        for (unsigned a = 0; a < NOF_PHASES_ALGORITHM_COUNT; a++) {
            struct nof_phases *p =
                scheduled((enum nof_phases_algorithm)a, &(struct nof_phases_pattern){16, m, 240}, 0);
            longer[a] += (double)p->maxima_bytes / (double)p->fullest_link_bytes / 20;
            if (a == NOF_PHASES_ALLTOALL)
                assert_int_equal(p->phase_count, 15);
            if (a == NOF_PHASES_GREEDY) {
                least = p->phase_count < least ? p->phase_count : least;
                most = p->phase_count > most ? p->phase_count : most;
            }
            nof_phases_free(p);
        }
    }
    assert_true(least > 15);
    if (getenv("T_VERBOSE") == NULL)
        return;
    print_message("greedy: %zu to %zu phases\n", least, most);
    for (unsigned a = 0; a < NOF_PHASES_ALGORITHM_COUNT; a++)
        print_message("%s: maxima %.3f times the fullest link\n",
                      nof_phases_algorithm_name((enum nof_phases_algorithm)a), longer[a]);
}

/* If each phase ended with the first message that ends, there would be as many as messages. */
static void the_bound_is_met_in_few_phases(void **state)
{
    (void)state;
    static struct nof_phases_message m[NODES * NODES];
    size_t phases = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct nof_rng r = {.state = seed};
        for (uint32_t i = 0; i < NODES * NODES; i++)
            m[i] = (struct nof_phases_message){i / NODES, i % NODES, 1 + nof_rng_below(&r, 1u << 20)};
        struct nof_phases *p =
            scheduled(NOF_PHASES_OPTIMAL, &(struct nof_phases_pattern){NODES, m, (size_t)NODES * NODES}, 0);
        if (getenv("T_VERBOSE") != NULL)
            print_message("optimal: %zu phases, %zu parts\n", p->phase_count, p->piece_count);
        assert_int_equal(p->maxima_bytes, p->fullest_link_bytes);
        phases += p->phase_count;
        nof_phases_free(p);
    }
    assert_true(phases <= 5 * 350);
}

/* The largest that is planned for: a dense pattern of 1024 nodes. */
static void a_million_messages_meet_the_bound_nearly(void **state)
{
    (void)state;
    uint32_t nodes = most_nodes;
    size_t n = 0;
    struct nof_rng r = {.state = 1};
    struct nof_phases_message *m = calloc((size_t)nodes * nodes, sizeof(*m));
    assert_non_null(m);
    for (uint32_t s = 0; s < nodes; s++)
        for (uint32_t d = 0; d < nodes; d++)
            m[n++] = (struct nof_phases_message){s, d, 1 + nof_rng_below(&r, 1u << 20)};
    struct nof_phases *p = scheduled(NOF_PHASES_GREEDY, &(struct nof_phases_pattern){nodes, m, n}, 0);
    assert_int_equal(p->message_count, n - nodes);
    assert_int_equal(p->piece_count, n - nodes);
    assert_true((double)p->maxima_bytes < 1.1 * (double)p->fullest_link_bytes);
    nof_phases_free(p);
    p = scheduled(NOF_PHASES_ALLTOALL, &(struct nof_phases_pattern){nodes, m, n}, 0);
    assert_int_equal(p->phase_count, nodes - 1);
    nof_phases_free(p);
    free(m);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure_3_has_the_papers_phases),
        cmocka_unit_test(figure_2_is_the_order_of_shifts),
        cmocka_unit_test(a_pairs_messages_add_up_where_the_first_stood),
        cmocka_unit_test(without_messages_there_are_no_phases),
        cmocka_unit_test(what_is_left_of_the_small_goes_into_one_marked_phase),
        cmocka_unit_test(what_is_no_pattern_is_refused),
        cmocka_unit_test(without_memory_it_says_so_and_keeps_none),
        cmocka_unit_test_teardown(every_schedule_of_drawn_patterns_is_sound, tell_seed),
        cmocka_unit_test(table_3_takes_15_phases_by_shifts_and_more_by_greed),
        cmocka_unit_test(the_bound_is_met_in_few_phases),
        cmocka_unit_test(a_million_messages_meet_the_bound_nearly),
    };

    if (argc > 1)
        patterns = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    if (argc > 3)
        most_nodes = (uint32_t)strtoul(argv[3], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
