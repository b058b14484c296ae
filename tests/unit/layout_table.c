/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Layouts: what is refused, and the cursor at any byte against a plain expansion of the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/layout_table.h"
#include "nof/status.h"

#define LAYOUTS 4u
#define CHUNKS 34u
#define BASE 0x100000u
#define BYTES_MAX 4096u

struct program {
    struct nof_layout_head head;
    struct nof_layout_op op[NOF_LAYOUT_OPS_MAX + 1];
};

static struct nof_layouts all;
static struct nof_layout layouts[LAYOUTS];
static struct nof_layout_chunk chunks[CHUNKS];
static uint32_t buckets[16];
static struct nof_layout_use used[1]; /* endpoint 0 has everything */

static void close_all(uint32_t ep)
{
    for (uint32_t b = 0; b <= all.mask; b++)
        (void)nof_layout_close_bucket(&all, b, ep);
}

static void clear(void)
{
    memset(layouts, 0xa5, sizeof layouts);
    memset(chunks, 0xa5, sizeof chunks);
    memset(buckets, 0xff, sizeof buckets);
    nof_pool_init(&all.pool, layouts, sizeof layouts[0], LAYOUTS);
    nof_pool_init(&all.chunks, chunks, sizeof chunks[0], CHUNKS);
    all.bucket = buckets;
    all.mask = 15;
    all.used = used;
    nof_layout_shares(&all, 1);
}

static int open_named(const struct program *p, uint32_t name)
{
    size_t len = sizeof p->head + p->head.nops * sizeof p->op[0];
    uint8_t *exact = malloc(len);
    assert_non_null(exact);
    memcpy(exact, p, len);
    int rc = nof_layout_open(&all, 0, name, 5, exact, len);
    free(exact);
    return rc;
}

static struct program block(uint64_t count, uint64_t bytes, int64_t stride)
{
    struct program p = {.head = {.magic = NOF_LAYOUT_MAGIC, .nops = 1, .size = count * bytes, .extent = 64}};
    p.op[0] =
        (struct nof_layout_op){.opcode = NOF_LAYOUT_BLOCK, .count = count, .block = bytes, .stride = stride};
    return p;
}

static void refused(const struct program *p)
{
    assert_int_equal(open_named(p, 9), NOF_EINVAL);
    assert_int_equal(all.pool.used, 0);
    assert_int_equal(all.chunks.used, 0);
}

static void bad_programs_are_refused(void **state)
{
    (void)state;
    struct program p;
    clear();
    p = block(2, 8, 16), p.head.magic++, refused(&p);
    p = block(2, 8, 16), p.head.nops = 0, refused(&p);
    p = block(2, 8, 16), p.head.nops = NOF_LAYOUT_OPS_MAX + 1, refused(&p);
    p = block(2, 8, 16), p.head.size = 15, refused(&p);
    p = block(2, 8, 16), p.head.size = 0, refused(&p);
    p = block(2, 8, 16), p.op[0].count = 0, refused(&p);
    p = block(2, 8, 16), p.op[0].block = 0, refused(&p);
    p = block(2, 8, 16), p.op[0].opcode = 0, refused(&p);
    p = block(2, 8, 16), p.op[0].opcode = 3, refused(&p);
    p = block(2, 8, 16), p.op[0].reserved = 1, refused(&p);
    p = block(2, 8, 16), p.op[0].opcode = NOF_LAYOUT_LOOP, refused(&p); /* a body beyond the end */
    p = block(1ull << 33, 1ull << 31, 0), p.head.size = 0x10, refused(&p); /* 2^64 bytes */
    p = block(1ull << 33, (1ull << 31) + 1, 0), p.head.size = 1ull << 33, refused(&p);
    p = block(2, 8, 16);
    p.head.nops = 2;
    p.op[1] = p.op[0];
    p.op[0] = (struct nof_layout_op){.opcode = NOF_LAYOUT_LOOP, .count = UINT64_MAX, .block = 1};
    refused(&p); /* the loop's total overflows */
    p = block(2, 8, 16);
    for (unsigned i = 0; i < NOF_LAYOUT_DEPTH_MAX; i++)
        p.op[i] =
            (struct nof_layout_op){.opcode = NOF_LAYOUT_LOOP, .count = 1, .block = NOF_LAYOUT_DEPTH_MAX - i};
    p.op[NOF_LAYOUT_DEPTH_MAX] = (struct nof_layout_op){.opcode = NOF_LAYOUT_BLOCK, .count = 1, .block = 16};
    p.head.nops = NOF_LAYOUT_DEPTH_MAX + 1;
    refused(&p); /* too deep */
    uint8_t half[30] = {0};
    assert_int_equal(nof_layout_open(&all, 0, 1, 1, half, 10), NOF_EINVAL);
    p = block(2, 8, 16);
    assert_int_equal(nof_layout_open(&all, 0, 1, 1, (const uint8_t *)&p, sizeof p.head + 39), NOF_EINVAL);
}

static void the_deepest_nesting_is_taken(void **state)
{
    (void)state;
    struct program p = block(2, 8, 16);
    clear();
    const unsigned loops = NOF_LAYOUT_DEPTH_MAX - 1;
    for (unsigned i = 0; i < loops; i++)
        p.op[i] = (struct nof_layout_op){
            .opcode = NOF_LAYOUT_LOOP, .count = 2, .block = loops - i, .stride = 1 << i};
    p.op[loops] = (struct nof_layout_op){.opcode = NOF_LAYOUT_BLOCK, .count = 1, .block = 1};
    p.head.nops = loops + 1;
    p.head.size = 1u << loops;
    assert_int_equal(open_named(&p, 1), NOF_OK);
}

static void a_name_lives_until_its_last_message(void **state)
{
    (void)state;
    struct program p = block(2, 8, 16);
    clear();
    assert_int_equal(open_named(&p, 7), NOF_OK);
    assert_int_equal(open_named(&p, 7), NOF_EINVAL);
    assert_int_equal(nof_layout_find(&all, 0, 7, 6), NOF_NIL);
    assert_int_equal(nof_layout_find(&all, 1, 7, 5), NOF_NIL);
    uint32_t i = nof_layout_find(&all, 0, 7, 5);
    nof_layout_hold(&all, i);
    assert_int_equal(nof_layout_close(&all, 0, 7, 6), NOF_ENOENT);
    assert_int_equal(nof_layout_close(&all, 0, 7, 5), NOF_OK);
    assert_int_equal(nof_layout_find(&all, 0, 7, 5), NOF_NIL);
    assert_int_equal(open_named(&p, 7), NOF_OK); /* the name is free, the old program still held */
    assert_int_equal(all.pool.used, 2);
    nof_layout_drop(&all, i);
    assert_int_equal(all.pool.used, 1);
    close_all(1);
    assert_int_equal(all.pool.used, 1);
    close_all(0);
    assert_int_equal(all.pool.used, 0);
    assert_int_equal(all.chunks.used, 0);
}

static void full_pools_say_so(void **state)
{
    (void)state;
    struct program p = block(1, 1, 1);
    clear();
    for (uint32_t i = 0; i < LAYOUTS; i++)
        assert_int_equal(open_named(&p, i), NOF_OK);
    assert_int_equal(open_named(&p, LAYOUTS), NOF_ENOMEM);
    close_all(0);
    for (unsigned i = 0; i < NOF_LAYOUT_OPS_MAX; i++)
        p.op[i] = p.op[0];
    p.head.nops = NOF_LAYOUT_OPS_MAX;
    p.head.size = NOF_LAYOUT_OPS_MAX;
    assert_int_equal(open_named(&p, 1), NOF_OK); /* 32 of 34 chunks */
    assert_int_equal(open_named(&p, 2), NOF_ENOMEM);
    assert_int_equal(all.chunks.used, NOF_LAYOUT_CHUNKS_MAX);
}

static uint64_t rng;

static uint64_t below(uint64_t n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng % n;
}

/* Ops for a body at this depth; returns how many were written. */
static uint32_t grow(struct nof_layout_op *op, uint32_t room, unsigned depth)
{
    uint32_t n = 0;
    for (uint64_t k = 1 + below(3); k > 0 && n < room; k--) {
        struct nof_layout_op *o = &op[n++];
        *o = (struct nof_layout_op){.opcode = NOF_LAYOUT_BLOCK,
                                    .count = 1 + below(4),
                                    .block = 1 + below(9),
                                    .offset = (int64_t)below(40) - 20,
                                    .stride = (int64_t)below(30) - 10};
        if (below(4) == 0)
            o->stride = (int64_t)o->block; /* blocks that touch */
        if (depth + 1 >= NOF_LAYOUT_DEPTH_MAX || n == room || below(2) == 0)
            continue;
        o->opcode = NOF_LAYOUT_LOOP;
        o->count = 1 + below(3);
        o->block = grow(op + n, room - n, depth + 1);
        n += (uint32_t)o->block;
    }
    return n;
}

/* Addresses of the bytes of one run, from the definition in nof/layout.h. */
static uint64_t expand(const struct nof_layout_op *op, uint64_t nops, uint64_t pos, uint64_t *out, uint64_t n)
{
    for (uint64_t i = 0; i < nops; i++) {
        for (uint64_t c = 0; c < op[i].count; c++) {
            uint64_t at = pos + (uint64_t)op[i].offset + c * (uint64_t)op[i].stride;
            if (op[i].opcode == NOF_LAYOUT_LOOP)
                n = expand(&op[i + 1], op[i].block, at, out, n);
            else
                for (uint64_t b = 0; b < op[i].block; b++, n++)
                    if (n < BYTES_MAX)
                        out[n] = at + b;
        }
        if (op[i].opcode == NOF_LAYOUT_LOOP)
            i += op[i].block;
    }
    return n;
}

static uint64_t where(const uint64_t *run, uint64_t size, int64_t extent, uint64_t byte)
{
    return run[byte % size] + byte / size * (uint64_t)extent;
}

static void check_cursor(const uint64_t *run, uint64_t size, int64_t extent, uint32_t index)
{
    for (unsigned k = 0; k < 30; k++) {
        uint64_t offset = below(3 * size);
        struct nof_layout_cursor c;
        nof_layout_seek(&c, &all, index, BASE, offset);
        for (uint64_t at = offset; at < offset + 2 * size;) {
            uint64_t max = 1 + below(20);
            struct nof_segment seg = nof_layout_next(&c, max);
            assert_in_range(seg.len_bytes, 1, max);
            for (uint64_t b = 0; b < seg.len_bytes; b++, at++)
                assert_int_equal(seg.addr + b, where(run, size, extent, at));
        }
        struct nof_segment segs[NOF_DMA_SEGMENTS_MAX];
        uint64_t covered;
        uint32_t steps;
        uint64_t len = 1 + below(2 * size);
        unsigned n = nof_buffer_segments(&all, index, BASE, offset, len, segs, &covered, &steps);
        assert_in_range(n, 1, NOF_DMA_SEGMENTS_MAX);
        assert_in_range(covered, 1, len);
        assert_true(covered == len || n == NOF_DMA_SEGMENTS_MAX || steps >= NOF_LAYOUT_STEPS);
        uint64_t at = offset;
        for (unsigned i = 0; i < n; i++)
            for (uint64_t b = 0; b < segs[i].len_bytes; b++, at++)
                assert_int_equal(segs[i].addr + b, where(run, size, extent, at));
        assert_int_equal(at - offset, covered);
    }
}

static void any_byte_is_where_the_program_puts_it(void **state)
{
    (void)state;
    static struct program p;
    static uint64_t run[BYTES_MAX];
    unsigned tried = 0;
    rng = 88172645463325252ull;
    for (unsigned k = 0; k < 1000; k++) {
        clear();
        p.head = (struct nof_layout_head){.magic = NOF_LAYOUT_MAGIC, .extent = (int64_t)below(500) - 100};
        p.head.nops = grow(p.op, 40, 0);
        p.head.size = expand(p.op, p.head.nops, BASE, run, 0);
        if (p.head.size > BYTES_MAX)
            continue;
        assert_int_equal(open_named(&p, 3), NOF_OK);
        check_cursor(run, p.head.size, p.head.extent, nof_layout_find(&all, 0, 3, 5));
        tried++;
    }
    assert_true(tried > 500);
}

static void segments_are_cut_to_length(void **state)
{
    (void)state;
    struct nof_segment segs[3] = {{100, 10}, {200, 20}, {300, 30}};
    assert_int_equal(nof_segments_trim(segs, 3, 60), 3);
    assert_int_equal(nof_segments_trim(segs, 3, 25), 2);
    assert_int_equal(segs[1].len_bytes, 15);
    assert_int_equal(nof_segments_trim(segs, 2, 10), 1);
    assert_int_equal(nof_segments_trim(segs, 1, 1), 1);
    assert_int_equal(segs[0].len_bytes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_programs_are_refused),
        cmocka_unit_test(the_deepest_nesting_is_taken),
        cmocka_unit_test(a_name_lives_until_its_last_message),
        cmocka_unit_test(full_pools_say_so),
        cmocka_unit_test(any_byte_is_where_the_program_puts_it),
        cmocka_unit_test(segments_are_cut_to_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
