/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The codec by its header's contract: what was put in comes out, bit by bit, with every type, format and code, in
 * chunks of any capacity, and both predictors end in the same state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dfcm_engine.h"
#include "../dfcm_reference/dfcm_reference.h"
#include "nof/status.h"

#define TABLE_LOG2 10u
#define BYTES_MAX (20000u * 8u)

static const enum nof_dfcm_format formats[] = {NOF_DFCM_PAPER, NOF_DFCM_FAST};
static const enum nof_elem elems[] = {NOF_ELEM_F64, NOF_ELEM_F32, NOF_ELEM_I64,
                                      NOF_ELEM_I32, NOF_ELEM_C64, NOF_ELEM_C32};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t rng;

static uint64_t draw(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng;
}

static struct nof_dfcm *open_predictor(enum nof_dfcm_format format, enum nof_dfcm_isa isa)
{
    size_t size = (nof_dfcm_mem_size(TABLE_LOG2) + NOF_DFCM_ALIGN - 1) / NOF_DFCM_ALIGN * NOF_DFCM_ALIGN;
    void *mem = aligned_alloc(NOF_DFCM_ALIGN, size);
    struct nof_dfcm *p = nof_dfcm_init(mem, TABLE_LOG2, format, isa);

    if (p == NULL)
        free(mem);
    return p;
}

/* Both ends of a flow. */
struct ends {
    struct nof_dfcm *from, *to;
    struct nof_dfcm_stats sent, received;
};

static bool open_ends(struct ends *e, enum nof_dfcm_format format, enum nof_dfcm_isa isa)
{
    *e = (struct ends){.from = open_predictor(format, isa), .to = open_predictor(format, isa)};
    return e->from != NULL;
}

static void close_ends(struct ends *e)
{
    assert_int_equal(nof_dfcm_digest(e->from), nof_dfcm_digest(e->to));
    assert_int_equal(e->sent.plain_bytes, e->received.plain_bytes);
    assert_int_equal(e->sent.chunk_bytes, e->received.chunk_bytes);
    assert_int_equal(e->sent.coded, e->received.coded);
    assert_int_equal(e->sent.raw, e->received.raw);
    assert_memory_equal(e->sent.hits, e->received.hits, sizeof(e->sent.hits));
    free(e->from);
    free(e->to);
}

/* Sends a message in blocks of exactly the size that they need, so that sanitizers see one byte too far. */
static void send_message(struct ends *e, enum nof_elem elem, const uint8_t *message, size_t len,
                         size_t capacity)
{
    uint8_t *in = malloc(len);
    uint8_t *frame = malloc(capacity);

    memcpy(in, message, len);
    for (size_t at = 0; at < len;) {
        struct nof_dfcm_chunk c;

        assert_int_equal(nof_dfcm_encode(e->from, elem, in + at, len - at, frame, capacity, &c, &e->sent),
                         NOF_OK);
        assert_in_range(c.plain_bytes, 1, len - at);
        assert_in_range(c.len_bytes, 1, capacity);
        assert_true(c.raw ? c.len_bytes == c.plain_bytes : c.len_bytes < c.plain_bytes);
        assert_true(at + c.plain_bytes == len || c.plain_bytes % nof_dfcm_word_bytes(elem) == 0);
        if (c.raw) {
            assert_memory_equal(frame, in + at, c.len_bytes);
            assert_int_equal(nof_dfcm_train(e->to, elem, frame, c.len_bytes, &e->received), NOF_OK);
        } else {
            uint8_t *chunk = malloc(c.len_bytes);
            uint8_t *out = malloc(c.plain_bytes);
            uint32_t plain = 0;

            memcpy(chunk, frame, c.len_bytes);
            assert_int_equal(nof_dfcm_plain_bytes(chunk, c.len_bytes), c.plain_bytes);
            assert_int_equal(
                nof_dfcm_decode(e->to, elem, chunk, c.len_bytes, out, c.plain_bytes, &plain, &e->received),
                NOF_OK);
            assert_int_equal(plain, c.plain_bytes);
            assert_memory_equal(out, in + at, plain);
            free(chunk);
            free(out);
        }
        at += c.plain_bytes;
    }
    free(in);
    free(frame);
}

enum content { ZEROS, EQUAL, RANDOM, SMOOTH, SPECIAL, PERIODIC, CONTENTS };

static const uint64_t special[] = {
    0x7ff8000000000000u,
    0x7ff4000000000001u,
    0xfff800000000beefu,
    0x7ff0000000000000u,
    0xfff0000000000000u,
    0x8000000000000000u,
    0x0000000000000001u,
    0x000fffffffffffffu,
    0x8000000000000001u,
    0x0010000000000000u,
    0x7fefffffffffffffu,
    0x3ff0000000000000u,
    0,
};

static void fill(uint8_t *message, size_t len, enum content content)
{
    static uint8_t all[BYTES_MAX];

    for (size_t i = 0; i < sizeof(all) / 8; i++) {
        double smooth = 1.0 + 1e-3 * (double)i + 1e-9 * (double)(i * i % 977);
        uint64_t v = 0;

        if (content == EQUAL)
            v = 0x4009abcdef012345u;
        else if (content == RANDOM)
            v = draw();
        else if (content == SPECIAL)
            v = special[draw() % COUNT(special)];
        else if (content == PERIODIC)
            v = special[i % 5] + (i / 5) * 0x10001u;
        else if (content == SMOOTH)
            memcpy(&v, &smooth, sizeof(v));
        memcpy(all + 8 * i, &v, sizeof(v));
    }
    memcpy(message, all, len);
}

static void through(enum nof_dfcm_isa isa, enum content content, const size_t *lens, size_t nlens,
                    size_t capacity)
{
    static uint8_t message[BYTES_MAX];

    for (size_t f = 0; f < COUNT(formats); f++) {
        for (size_t t = 0; t < COUNT(elems); t++) {
            struct ends e;

            if (!open_ends(&e, formats[f], isa))
                return;
            for (size_t i = 0; i < nlens; i++) {
                fill(message, lens[i], content);
                if (lens[i] > 0)
                    send_message(&e, elems[t], message, lens[i], capacity);
            }
            close_ends(&e);
        }
    }
}

static void every_pattern_comes_back(void **state)
{
    static const size_t lens[] = {8, 8 * 127, 8 * 128, 1, 7, 8 * 129 + 3, 64, 16 * 1000 + 5, 8 * 63, 8 * 65};

    (void)state;
    for (int isa = NOF_DFCM_ISA_AUTO; isa < NOF_DFCM_ISA_COUNT; isa++)
        for (int content = 0; content < CONTENTS; content++)
            through((enum nof_dfcm_isa)isa, (enum content)content, lens, COUNT(lens), 1424);
}

/* A flow carries messages of all types by one predictor. */
static void types_change_on_a_flow(void **state)
{
    static uint8_t message[4096];

    (void)state;
    for (size_t f = 0; f < COUNT(formats); f++) {
        struct ends e;

        assert_true(open_ends(&e, formats[f], NOF_DFCM_ISA_AUTO));
        for (unsigned i = 0; i < 60; i++) {
            fill(message, sizeof(message), i % 3 == 0 ? RANDOM : PERIODIC);
            send_message(&e, elems[draw() % COUNT(elems)], message, sizeof(message), 500);
        }
        close_ends(&e);
    }
}

/* A long message, as one sequence of frames; returns its length. */
static size_t frames_of(struct nof_dfcm *p, enum nof_elem elem, const uint8_t *message, size_t len,
                        uint8_t *frames)
{
    size_t used = 0;

    for (size_t at = 0; at < len;) {
        struct nof_dfcm_chunk c;

        assert_int_equal(nof_dfcm_encode(p, elem, message + at, len - at, frames + used, 1424, &c, NULL),
                         NOF_OK);
        at += c.plain_bytes;
        used += c.len_bytes;
    }
    return used;
}

static void every_code_makes_the_same_bytes(void **state)
{
    static uint8_t message[BYTES_MAX / 4], one[sizeof(message) * 2], other[sizeof(message) * 2];

    (void)state;
    for (unsigned i = 0; i < COUNT(formats) * COUNT(elems) * CONTENTS; i++) {
        enum nof_dfcm_format format = formats[i % 2];
        enum nof_elem elem = elems[i / 2 % COUNT(elems)];
        struct nof_dfcm *portable = open_predictor(format, NOF_DFCM_ISA_PORTABLE);
        size_t len;

        fill(message, sizeof(message), (enum content)(i / 2 / COUNT(elems)));
        len = frames_of(portable, elem, message, sizeof(message), one);
        for (int isa = NOF_DFCM_ISA_AVX2; isa < NOF_DFCM_ISA_COUNT; isa++) {
            struct nof_dfcm *p = open_predictor(format, (enum nof_dfcm_isa)isa);

            if (p == NULL)
                continue;
            assert_int_equal(nof_dfcm_isa(p), isa);
            assert_int_equal(frames_of(p, elem, message, sizeof(message), other), len);
            assert_memory_equal(one, other, len);
            assert_int_equal(nof_dfcm_digest(p), nof_dfcm_digest(portable));
            free(p);
        }
        free(portable);
    }
}

/* Without chunks there is one stream: a chunk of everything is that stream behind a header. */
static void papers_stream_is_the_literal_one(void **state)
{
    static uint8_t message[8 * 5000], frame[8 * 6000], literal[8 * 6000];
    size_t size = (nof_dfcm_mem_size(15) + NOF_DFCM_ALIGN - 1) / NOF_DFCM_ALIGN * NOF_DFCM_ALIGN;
    struct dfcm_reference *reference = calloc(1, sizeof(*reference));
    void *mem = aligned_alloc(NOF_DFCM_ALIGN, size);

    (void)state;
    for (int content = 0; content < CONTENTS; content++) {
        struct nof_dfcm *p = nof_dfcm_init(mem, 15, NOF_DFCM_PAPER, NOF_DFCM_ISA_AUTO);
        struct nof_dfcm_chunk c;

        memset(reference, 0, sizeof(*reference));
        for (size_t n = 127; n < sizeof(message) / 8; n = 2 * n + 1) {
            fill(message, 8 * n, (enum content)content);
            size_t len = dfcm_reference_encode(reference, message, n, literal);

            assert_int_equal(nof_dfcm_encode(p, NOF_ELEM_F64, message, 8 * n, frame, sizeof(frame), &c, NULL),
                             NOF_OK);
            assert_int_equal(c.plain_bytes, 8 * n);
            assert_int_equal(c.raw, len + NOF_DFCM_HEADER_BYTES >= 8 * n);
            if (!c.raw) {
                assert_int_equal(c.len_bytes, len + NOF_DFCM_HEADER_BYTES);
                assert_memory_equal(frame + NOF_DFCM_HEADER_BYTES, literal, len);
            }
        }
    }
    free(mem);
    free(reference);
}

static void chunks_of_every_capacity(void **state)
{
    static const size_t lens[] = {8 * 500 + 1};

    (void)state;
    for (int content = 0; content < CONTENTS; content++)
        for (size_t capacity = NOF_DFCM_CAPACITY_MIN; capacity < 4300; capacity += 1 + capacity / 9)
            through(NOF_DFCM_ISA_AUTO, (enum content)content, lens, COUNT(lens), capacity);
}

static void the_largest_chunk_has_8192_values(void **state)
{
    static uint8_t message[BYTES_MAX];
    uint8_t frame[9000];
    struct nof_dfcm_chunk c;

    (void)state;
    for (size_t f = 0; f < COUNT(formats); f++) {
        struct nof_dfcm *p = open_predictor(formats[f], NOF_DFCM_ISA_AUTO);

        memset(message, 0, sizeof(message));
        assert_int_equal(
            nof_dfcm_encode(p, NOF_ELEM_F32, message, sizeof(message), frame, sizeof(frame), &c, NULL),
            NOF_OK);
        assert_int_equal(c.plain_bytes, 4 * NOF_DFCM_VALUES_MAX);
        assert_false(c.raw);
        free(p);
    }
}

static void foreign_bytes_are_an_error_and_a_fresh_predictor(void **state)
{
    uint8_t message[1000], frame[1424], out[2000];
    struct nof_dfcm_chunk c;
    uint32_t plain = 0;

    (void)state;
    fill(message, sizeof(message), SMOOTH);
    for (size_t f = 0; f < COUNT(formats); f++) {
        struct nof_dfcm *from = open_predictor(formats[f], NOF_DFCM_ISA_AUTO);
        struct nof_dfcm *to = open_predictor(formats[f], NOF_DFCM_ISA_AUTO);
        uint64_t fresh = nof_dfcm_digest(to);
        struct nof_dfcm_stats stats = {0};
        uint8_t bad[1424];

        nof_dfcm_encode(from, NOF_ELEM_F64, message, sizeof(message), frame, sizeof(frame), &c, NULL);
        assert_false(c.raw);
        for (size_t len = 0; len < c.len_bytes; len++)
            assert_int_equal(nof_dfcm_decode(to, NOF_ELEM_F64, frame, len, out, sizeof(out), &plain, &stats),
                             NOF_EPROTO);
        assert_int_equal(stats.bad, c.len_bytes);
        assert_int_equal(nof_dfcm_digest(to), fresh);

        assert_int_equal(nof_dfcm_decode(to, NOF_ELEM_F64, frame, c.len_bytes, out, 999, &plain, NULL),
                         NOF_EPROTO);
        assert_int_equal(nof_dfcm_decode(to, NOF_ELEM_I64, frame, c.len_bytes, out, 1000, &plain, NULL),
                         NOF_EPROTO);
        memcpy(bad, frame, sizeof(bad));
        bad[0] = (uint8_t)((bad[0] & 0xf0) | 9);
        assert_int_equal(nof_dfcm_decode(to, NOF_ELEM_F64, bad, c.len_bytes, out, 1000, &plain, NULL),
                         NOF_EVERSION);
        for (int count = 0; count < 65536; count += 5) {
            memcpy(bad, frame, sizeof(bad));
            bad[2] = (uint8_t)count;
            bad[3] = (uint8_t)(count >> 8);
            if (count != 125)
                assert_int_equal(
                    nof_dfcm_decode(to, NOF_ELEM_F64, bad, c.len_bytes, out, sizeof(out), &plain, NULL),
                    NOF_EPROTO);
        }
        assert_int_equal(nof_dfcm_decode(to, NOF_ELEM_F64, frame, c.len_bytes, out, 1000, &plain, NULL),
                         NOF_OK);
        assert_memory_equal(out, message, sizeof(message));
        assert_int_equal(nof_dfcm_digest(to), nof_dfcm_digest(from));
        free(from);
        free(to);
    }
}

static void wrong_arguments_change_nothing(void **state)
{
    struct nof_dfcm *p = open_predictor(NOF_DFCM_FAST, NOF_DFCM_ISA_AUTO);
    uint64_t fresh = nof_dfcm_digest(p);
    uint8_t in[64] = {1}, out[64];
    struct nof_dfcm_chunk c = {0};

    (void)state;
    assert_int_equal(nof_dfcm_encode(p, NOF_ELEM_RAW, in, 64, out, 64, &c, NULL), NOF_EINVAL);
    assert_int_equal(nof_dfcm_encode(p, NOF_ELEM_COUNT, in, 64, out, 64, &c, NULL), NOF_EINVAL);
    assert_int_equal(nof_dfcm_encode(p, NOF_ELEM_F64, in, 0, out, 64, &c, NULL), NOF_EINVAL);
    assert_int_equal(nof_dfcm_encode(p, NOF_ELEM_F64, in, 64, out, 63, &c, NULL), NOF_EINVAL);
    assert_int_equal(nof_dfcm_train(p, NOF_ELEM_F64, in, 0, NULL), NOF_EINVAL);
    assert_int_equal(nof_dfcm_train(p, NOF_ELEM_RAW, in, 8, NULL), NOF_EINVAL);
    assert_int_equal(nof_dfcm_mem_size(NOF_DFCM_TABLE_LOG2_MIN - 1), 0);
    assert_int_equal(nof_dfcm_mem_size(NOF_DFCM_TABLE_LOG2_MAX + 1), 0);
    assert_int_equal(nof_dfcm_digest(p), fresh);
    assert_int_equal(nof_dfcm_plain_bytes(in, 64), 0);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_comes_back),
        cmocka_unit_test(types_change_on_a_flow),
        cmocka_unit_test(every_code_makes_the_same_bytes),
        cmocka_unit_test(papers_stream_is_the_literal_one),
        cmocka_unit_test(chunks_of_every_capacity),
        cmocka_unit_test(the_largest_chunk_has_8192_values),
        cmocka_unit_test(foreign_bytes_are_an_error_and_a_fresh_predictor),
        cmocka_unit_test(wrong_arguments_change_nothing),
    };

    rng = 0x9e3779b97f4a7c15u;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
