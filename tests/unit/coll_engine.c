/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs of collectives: what is refused, and which steps may begin, against the rule of coll_engine.h taken literally. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coll_engine.h"
#include "nof/desc.h"
#include "nof/reductions.h"
#include "nof/status.h"

#define PROGRAMS 4u
#define CHUNKS 34u
#define RANKS 8u

struct program {
    struct nof_program_head head;
    struct nof_program_step step[NOF_PROGRAM_STEPS_MAX + 1];
};

static struct nof_colls all;
static struct nof_coll_program programs[PROGRAMS];
static struct nof_coll_chunk chunks[CHUNKS];
static uint32_t buckets[16];
static struct nof_coll_use used[1]; /* endpoint 0 has everything */
static struct program p;

static void clear(void)
{
    memset(programs, 0xa5, sizeof programs);
    memset(chunks, 0xa5, sizeof chunks);
    memset(buckets, 0xff, sizeof buckets);
    nof_pool_init(&all.pool, programs, sizeof programs[0], PROGRAMS);
    nof_pool_init(&all.chunks, chunks, sizeof chunks[0], CHUNKS);
    all.bucket = buckets;
    all.mask = 15;
    all.used = used;
    nof_coll_shares(&all, 1);
    memset(&p, 0, sizeof p);
    p.head.magic = NOF_PROGRAM_MAGIC;
}

static struct nof_program_step *add(uint8_t opcode, int after0, int after1)
{
    struct nof_program_step *s = &p.step[p.head.nsteps++];
    *s = (struct nof_program_step){.opcode = opcode};
    s->after[0] = after0 < 0 ? NOF_STEP_NONE : (uint16_t)after0;
    s->after[1] = after1 < 0 ? NOF_STEP_NONE : (uint16_t)after1;
    return s;
}

/* The bytes lie at the end of what may be read. */
static int open_bytes(uint32_t name, size_t len)
{
    uint8_t *exact = malloc(len + (len == 0));
    assert_non_null(exact);
    memcpy(exact, &p, len);
    int rc = nof_coll_open(&all, 0, RANKS, name, 5, exact, len);
    free(exact);
    return rc;
}

static size_t bytes_of(void)
{
    return sizeof p.head + p.head.nsteps * sizeof p.step[0];
}

static int open_named(uint32_t name)
{
    return open_bytes(name, bytes_of());
}

static void expect_clean(void)
{
    assert_int_equal(all.pool.used, 0);
    assert_int_equal(all.chunks.used, 0);
    assert_int_equal(used[0].programs, 0);
    assert_int_equal(used[0].chunks, 0);
}

static void refuse(void)
{
    assert_int_equal(open_named(1), NOF_EINVAL);
    expect_clean();
}

static void refuse_each(const struct nof_program_step bad[], unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        clear();
        add(NOF_STEP_SEND, -1, -1);
        *add(0, -1, -1) = bad[i];
        p.step[1].after[0] = p.step[1].after[1] = NOF_STEP_NONE;
        refuse();
    }
}

static void programs_that_are_none_are_refused(void **state)
{
    (void)state;
    clear();
    refuse(); /* no steps */
    add(NOF_STEP_SEND, -1, -1);
    assert_int_equal(open_bytes(1, 3), NOF_EINVAL);
    assert_int_equal(open_bytes(1, bytes_of() - 1), NOF_EINVAL);
    assert_int_equal(open_bytes(1, bytes_of() + 1), NOF_EINVAL);
    p.head.magic++;
    refuse();
    p.head.magic--;
    p.head.reserved = 1;
    refuse();
    p.head.reserved = 0;
    p.head.nsteps = NOF_PROGRAM_STEPS_MAX + 1;
    refuse();
    p.head.nsteps = 1;
    assert_int_equal(open_named(1), NOF_OK);
    assert_int_equal(open_named(1), NOF_EINVAL); /* the name is in use */
    nof_coll_close(&all, nof_coll_find(&all, 0, 1, 5));
    expect_clean();
}

static void steps_out_of_range_are_refused(void **state)
{
    static const struct nof_program_step bad[] = {
        {.opcode = 0},
        {.opcode = NOF_STEP_COPY + 1},
        {.opcode = NOF_STEP_SEND, .flags = 8},
        {.opcode = NOF_STEP_SEND, .elem = NOF_ELEM_COUNT},
        {.opcode = NOF_STEP_RECV, .elem = 1},
        {.opcode = NOF_STEP_SEND, .base = NOF_PROGRAM_BASES},
        {.opcode = NOF_STEP_SEND, .peer = RANKS},
        {.opcode = NOF_STEP_RECV, .peer = -1},
        {.opcode = NOF_STEP_RECV, .len = (uint64_t)INT64_MAX + 1},
        {.opcode = NOF_STEP_RECV, .layout = 1},
        {.opcode = NOF_STEP_RECV, .layout_generation = 1},
        {.opcode = NOF_STEP_RECV, .reserved = {1, 0}},
        {.opcode = NOF_STEP_COPY, .reserved = {0, 1}},
        {.opcode = NOF_STEP_RECV, .op = 1},
        {.opcode = NOF_STEP_HOST, .from = 1},
        {.opcode = NOF_STEP_FENCE, .from_base = 1},
        {.opcode = NOF_STEP_COPY, .op = 1},
        {.opcode = NOF_STEP_COPY, .elem = 1},
        {.opcode = NOF_STEP_COPY, .flags = NOF_STEP_F_EXACT},
        {.opcode = NOF_STEP_COPY, .peer = 1},
        {.opcode = NOF_STEP_COPY, .layout = 1},
        {.opcode = NOF_STEP_COPY, .base = NOF_PROGRAM_BASES},
        {.opcode = NOF_STEP_COPY, .from_base = NOF_PROGRAM_BASES},
        {.opcode = NOF_STEP_COPY, .len = (uint64_t)INT64_MAX + 1},
        {.opcode = NOF_STEP_REDUCE, .elem = NOF_REDUCE_NONE},
        {.opcode = NOF_STEP_REDUCE, .elem = NOF_REDUCE_TYPES, .len = 16},
        {.opcode = NOF_STEP_REDUCE, .elem = UINT8_MAX, .len = 16},
        {.opcode = NOF_STEP_REDUCE, .elem = NOF_REDUCE_F64, .op = NOF_REDUCE_OPS, .len = 16},
        {.opcode = NOF_STEP_REDUCE, .elem = NOF_REDUCE_F64, .op = NOF_REDUCE_BAND, .len = 16},
        {.opcode = NOF_STEP_REDUCE, .elem = NOF_REDUCE_F64, .op = NOF_REDUCE_SUM, .len = 12},
        {.opcode = NOF_STEP_REDUCE, .elem = NOF_REDUCE_F64, .base = NOF_PROGRAM_BASES, .len = 16},
        {.opcode = NOF_STEP_HOST, .len = 1},
        {.opcode = NOF_STEP_HOST, .peer = 1},
        {.opcode = NOF_STEP_FENCE, .offset = 1},
        {.opcode = NOF_STEP_FENCE, .flags = NOF_STEP_F_EXACT},
        {.opcode = NOF_STEP_RECV, .flags = NOF_STEP_F_ANNOUNCED},
        {.opcode = NOF_STEP_SEND, .from = 8},
        {.opcode = NOF_STEP_SEND, .flags = NOF_STEP_F_ANNOUNCED | NOF_STEP_F_LAYOUT, .from = 8},
    };
    (void)state;
    refuse_each(bad, sizeof bad / sizeof bad[0]);
    clear();
    *add(0, -1, -1) = (struct nof_program_step){.opcode = NOF_STEP_RECV,
                                                .flags = NOF_STEP_F_EXACT | NOF_STEP_F_LAYOUT,
                                                .base = NOF_PROGRAM_BASES - 1,
                                                .peer = RANKS - 1,
                                                .len = INT64_MAX,
                                                .layout = 7,
                                                .layout_generation = 8,
                                                .after = {NOF_STEP_NONE, NOF_STEP_NONE}};
    *add(0, -1, -1) = (struct nof_program_step){.opcode = NOF_STEP_REDUCE,
                                                .elem = NOF_REDUCE_F32_I32,
                                                .op = NOF_REDUCE_MAXLOC,
                                                .base = NOF_PROGRAM_BASES - 1,
                                                .from_base = NOF_PROGRAM_BASES - 1,
                                                .offset = INT64_MIN,
                                                .from = -3,
                                                .len = INT64_MAX - 7,
                                                .after = {NOF_STEP_NONE, NOF_STEP_NONE}};
    assert_int_equal(open_named(1), NOF_OK);
    const struct nof_coll_step *s = nof_coll_step_at(&all, nof_coll_find(&all, 0, 1, 5), 1);
    assert_true(s->opcode == NOF_STEP_REDUCE && s->op == NOF_REDUCE_MAXLOC && s->elem == NOF_REDUCE_F32_I32);
    assert_true(s->from == (uint64_t)-3 && s->from_base == NOF_PROGRAM_BASES - 1);
    assert_true(s->offset == (uint64_t)INT64_MIN && s->len == INT64_MAX - 7);
}

static void only_steps_of_the_host_await_a_rank(void **state)
{
    static const struct nof_program_step bad[] = {
        {.opcode = NOF_STEP_HOST, .flags = NOF_STEP_F_AWAITS, .peer = RANKS},
        {.opcode = NOF_STEP_HOST, .flags = NOF_STEP_F_AWAITS, .peer = -1},
        {.opcode = NOF_STEP_HOST, .flags = NOF_STEP_F_AWAITS, .len = 1},
        {.opcode = NOF_STEP_HOST, .flags = NOF_STEP_F_AWAITS | NOF_STEP_F_EXACT},
        {.opcode = NOF_STEP_HOST, .flags = NOF_STEP_F_SENDS},
        {.opcode = NOF_STEP_SEND, .flags = NOF_STEP_F_SENDS},
        {.opcode = NOF_STEP_RECV, .flags = NOF_STEP_F_AWAITS},
        {.opcode = NOF_STEP_COPY, .flags = NOF_STEP_F_AWAITS},
        {.opcode = NOF_STEP_FENCE, .flags = NOF_STEP_F_AWAITS},
    };
    (void)state;
    refuse_each(bad, sizeof bad / sizeof bad[0]);
    clear();
    add(NOF_STEP_HOST, -1, -1)->flags = NOF_STEP_F_AWAITS;
    p.step[0].peer = RANKS - 1;
    assert_int_equal(open_named(1), NOF_OK);
    nof_coll_close(&all, nof_coll_find(&all, 0, 1, 5));
    expect_clean();
}

static void names_are_of_the_round_and_smaller(void **state)
{
    static const struct {
        int after;
        int rc;
    } names[] = {{0, NOF_EINVAL}, {1, NOF_EINVAL}, {2, NOF_OK}, {3, NOF_EINVAL}, {4, NOF_EINVAL}};
    (void)state;
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
            clear();
            add(NOF_STEP_SEND, -1, -1);
            add(NOF_STEP_FENCE, -1, -1);
            add(NOF_STEP_RECV, -1, -1);
            add(NOF_STEP_HOST, k == 0 ? names[i].after : -1, k == 1 ? names[i].after : -1);
            add(NOF_STEP_SEND, -1, -1);
            assert_int_equal(open_named(1), names[i].rc);
        }
    clear();
    add(NOF_STEP_SEND, -1, -1);
    add(NOF_STEP_FENCE, 0, -1);
    refuse();
}

static void one_send_takes_its_turn_behind_another(void **state)
{
    (void)state;
    clear();
    add(NOF_STEP_SEND, -1, -1);
    add(NOF_STEP_RECV, -1, -1);
    add(NOF_STEP_SEND, 0, 1)->flags = NOF_STEP_F_IN_TURN;
    add(NOF_STEP_SEND, 0, -1);
    assert_int_equal(open_named(1), NOF_OK);
    nof_coll_close(&all, nof_coll_find(&all, 0, 1, 5));
    p.step[3].flags = NOF_STEP_F_IN_TURN; /* a second one behind the same */
    refuse();
    p.step[3].after[0] = 2;
    assert_int_equal(open_named(1), NOF_OK);
    nof_coll_close(&all, nof_coll_find(&all, 0, 1, 5));
    p.step[3].after[0] = 1; /* a RECV has no turn */
    refuse();
    p.step[3].after[0] = NOF_STEP_NONE;
    p.step[3].after[1] = 2; /* it is the first name that counts */
    refuse();
    p.step[3].after[1] = NOF_STEP_NONE;
    refuse();
    p.step[3].after[0] = 2;
    for (uint8_t opcode = NOF_STEP_RECV; opcode <= NOF_STEP_COPY; opcode++) {
        p.step[3].opcode = opcode; /* nor has anything but a SEND */
        refuse();
    }
}

static void memory_is_bounded_and_comes_back(void **state)
{
    (void)state;
    clear();
    for (unsigned i = 0; i < NOF_PROGRAM_STEPS_MAX; i++)
        add(NOF_STEP_SEND, -1, -1);
    for (unsigned times = 0; times < 3; times++) {
        assert_int_equal(open_named(1), NOF_OK);
        assert_int_equal(open_named(2), NOF_ENOMEM); /* 64 chunks of 34 */
        assert_int_equal(used[0].chunks, NOF_COLL_CHUNKS_MAX);
        nof_coll_close(&all, nof_coll_find(&all, 0, 1, 5));
        expect_clean();
    }
    p.head.nsteps = 1;
    for (unsigned i = 0; i < PROGRAMS; i++)
        assert_int_equal(open_named(16 * i), NOF_OK);
    assert_int_equal(open_named(99), NOF_ENOMEM);
    assert_null(nof_coll_find(&all, 0, 16, 6));
    assert_null(nof_coll_find(&all, 1, 16, 5));
    assert_null(nof_coll_find(&all, 0, 1, 5));
    for (unsigned i = 0; i < PROGRAMS; i++)
        nof_coll_close(&all, nof_coll_find(&all, 0, 16 * (i ^ 1u), 5));
    expect_clean();
}

static uint64_t seed;

static uint32_t draw(uint32_t n)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % n;
}

static void draw_program(void)
{
    uint32_t n = 1 + draw(draw(8) == 0 ? 200 : 40), begin = 0;
    clear();
    for (uint32_t i = 0; i < n; i++) {
        static const uint8_t opcodes[] = {NOF_STEP_SEND, NOF_STEP_RECV, NOF_STEP_HOST, NOF_STEP_COPY};
        if (draw(10) == 0) {
            add(NOF_STEP_FENCE, -1, -1);
            begin = i + 1;
            continue;
        }
        int before = i > begin && draw(3) > 0 ? (int)(begin + draw(i - begin)) : -1;
        int other = i > begin && draw(3) == 0 ? (int)(begin + draw(i - begin)) : -1;
        struct nof_program_step *s = add(opcodes[draw(4)], before, other);
        bool may = s->opcode == NOF_STEP_SEND && before >= 0 && p.step[before].opcode == NOF_STEP_SEND;
        for (uint32_t k = begin; k < i; k++)
            may = may && !((p.step[k].flags & NOF_STEP_F_IN_TURN) && p.step[k].after[0] == before);
        if (may && draw(3) > 0)
            s->flags = NOF_STEP_F_IN_TURN;
    }
}

static bool turn_over[NOF_PROGRAM_STEPS_MAX]; /* of sends that have begun */

/* Ends of steps by the rule: a FENCE is done when all before it are. */
static bool is_done(const uint8_t *state_of, uint32_t i)
{
    if (p.step[i].opcode != NOF_STEP_FENCE)
        return state_of[i] == 2;
    for (uint32_t k = i; k-- > 0;)
        if (p.step[k].opcode != NOF_STEP_FENCE && state_of[k] != 2)
            return false;
    return true;
}

static bool may_begin(const uint8_t *state_of, uint32_t i)
{
    for (unsigned k = 0; k < 2; k++) {
        bool turn = k == 0 && (p.step[i].flags & NOF_STEP_F_IN_TURN) != 0;
        if (p.step[i].after[k] != NOF_STEP_NONE && !is_done(state_of, p.step[i].after[k]) &&
            !(turn && turn_over[p.step[i].after[k]]))
            return false;
    }
    for (uint32_t k = i; k-- > 0;)
        if (p.step[k].opcode == NOF_STEP_FENCE)
            return is_done(state_of, k);
    return true;
}

/* All that may begin has: nothing is left out. */
static void expect_stuck(const uint8_t *state_of)
{
    for (uint32_t i = 0; i < p.head.nsteps; i++)
        if (p.step[i].opcode != NOF_STEP_FENCE && state_of[i] == 0)
            assert_false(may_begin(state_of, i));
}

/* One run; give_up: it is left before its end with this chance in a thousand at each turn. */
static void run(struct nof_coll_program *q, uint32_t give_up)
{
    uint8_t state_of[NOF_PROGRAM_STEPS_MAX] = {0}; /* 1: begun, 2: ended */
    uint32_t live[NOF_PROGRAM_STEPS_MAX], nlive = 0, work = 0, names = 0, most[NOF_STEP_COPY + 1] = {0},
                                          now[NOF_STEP_COPY + 1] = {0};
    for (uint32_t i = 0; i < p.head.nsteps; i++)
        for (unsigned k = 0; k < 2; k++)
            names += p.step[i].after[k] != NOF_STEP_NONE;
    memset(turn_over, 0, sizeof turn_over);
    nof_coll_begin(&all, q);
    for (;;) {
        uint32_t budget = draw(4), had = budget, step;
        enum nof_coll_next next = nof_coll_next(&all, q, &budget, &step);
        work += had - budget;
        if (next == NOF_COLL_STEP) {
            assert_true(step < p.head.nsteps && p.step[step].opcode != NOF_STEP_FENCE);
            assert_int_equal(state_of[step], 0);
            assert_true(may_begin(state_of, step));
            state_of[step] = 1;
            live[nlive++] = step;
            now[p.step[step].opcode]++;
            if (now[p.step[step].opcode] > most[p.step[step].opcode])
                most[p.step[step].opcode] = now[p.step[step].opcode];
        } else if (next == NOF_COLL_WAIT) {
            expect_stuck(state_of);
            assert_true(nlive > 0);
        } else if (next == NOF_COLL_DONE) {
            break;
        }
        if (give_up > 0 && draw(1000) < give_up)
            return;
        if (nlive > 0 && draw(4) == 0) {
            uint32_t over = live[draw(nlive)];
            bool named = false;
            for (uint32_t k = over; k < p.head.nsteps; k++)
                named = named || ((p.step[k].flags & NOF_STEP_F_IN_TURN) && p.step[k].after[0] == over);
            assert_int_equal(nof_coll_turn_over(&all, q, over), named && !turn_over[over]);
            turn_over[over] = true;
        }
        if (nlive > 0 && (next == NOF_COLL_WAIT || draw(3) == 0)) {
            uint32_t at = draw(nlive), ended = live[at];
            live[at] = live[--nlive];
            state_of[ended] = 2;
            now[p.step[ended].opcode]--;
            nof_coll_ended(&all, q, ended);
        }
    }
    for (uint32_t i = 0; i < p.head.nsteps; i++)
        assert_true(p.step[i].opcode == NOF_STEP_FENCE || state_of[i] == 2);
    assert_true(work <= 3 * p.head.nsteps + names);
    assert_true(most[NOF_STEP_SEND] <= q->sends && most[NOF_STEP_RECV] <= q->recvs &&
                most[NOF_STEP_HOST] <= q->hosts);
}

static void every_step_begins_when_it_may(void **state)
{
    (void)state;
    for (seed = 1; seed < 400; seed++) {
        uint64_t kept = seed;
        draw_program();
        assert_int_equal(open_named(1), NOF_OK);
        struct nof_coll_program *q = nof_coll_find(&all, 0, 1, 5);
        run(q, 0);
        for (unsigned times = 0; times < 4; times++)
            run(q, 50); /* what it leaves is no trouble for */
        run(q, 0);
        seed = kept;
    }
}

static void fences_alone_end_at_once(void **state)
{
    uint32_t budget = 100, step;
    (void)state;
    clear();
    for (unsigned i = 0; i < 5; i++)
        add(NOF_STEP_FENCE, -1, -1);
    assert_int_equal(open_named(1), NOF_OK);
    struct nof_coll_program *q = nof_coll_find(&all, 0, 1, 5);
    nof_coll_begin(&all, q);
    assert_int_equal(nof_coll_next(&all, q, &budget, &step), NOF_COLL_DONE);
    budget = 0;
    nof_coll_begin(&all, q);
    assert_int_equal(nof_coll_next(&all, q, &budget, &step), NOF_COLL_LATER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_that_are_none_are_refused),
        cmocka_unit_test(steps_out_of_range_are_refused),
        cmocka_unit_test(only_steps_of_the_host_await_a_rank),
        cmocka_unit_test(names_are_of_the_round_and_smaller),
        cmocka_unit_test(one_send_takes_its_turn_behind_another),
        cmocka_unit_test(memory_is_bounded_and_comes_back),
        cmocka_unit_test(every_step_begins_when_it_may),
        cmocka_unit_test(fences_alone_end_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
