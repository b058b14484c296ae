/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The code for every processor, and, compiled once more with NOF_DFCM_AVX2, for those with AVX2 and BMI2. What is
 * counted in nibbles is done eight at a time in ordinary registers. */

/* bound of all loops here: the values of one chunk, 64 KiB; paid by the flow's bytes */
#include <string.h>

#include "codec/dfcm_kernel.h"
#include "codec/dfcm_scalar.h"
#include "base/bytes.h"

#ifdef NOF_DFCM_AVX2
#define KERNEL nof_dfcm_avx2
#define KERNEL_ISA NOF_DFCM_ISA_AVX2
#else
#define KERNEL nof_dfcm_portable
#define KERNEL_ISA NOF_DFCM_ISA_PORTABLE
#endif

#define BYTES 0x0101010101010101u

INLINE void predict_as(struct nof_dfcm *p, struct nof_dfcm_shape s, struct nof_dfcm_block *b, unsigned at,
                       unsigned n, const uint8_t *in)
{
    for (unsigned i = at; i < at + n; i++) {
        uint64_t *delta = &b->delta[NOF_DFCM_HISTORY + i];
        uint64_t value = nof_dfcm_load(s, in, i - at);
        uint64_t base = b->value[2 + i - s.stride];
        uint32_t place = nof_dfcm_context(p, s.top, delta - s.delay);
        struct nof_dfcm_line *line = nof_dfcm_line_at(p, place);
        uint64_t newest = line->newest, older = line->older;
        uint64_t diff = (value ^ (base + nof_dfcm_foretell(newest, older, s.top))) >> s.widen;

        b->value[2 + i] = value;
        b->diff[i] = diff;
        b->kept[i] = (uint8_t)nof_dfcm_kept(diff, s.word_bytes);
        b->place[i] = place;
        b->line[i].newest = newest;
        b->line[i].older = older;
        *delta = value - base;
        line->newest = value - base;
        line->older = newest;
    }
}

static void predict(struct nof_dfcm *p, const struct nof_dfcm_shape *s, struct nof_dfcm_block *b, unsigned at,
                    unsigned n, const uint8_t *in)
{
    if (nof_dfcm_is_f64(s, 4))
        predict_as(p, nof_dfcm_f64(4), b, at, n, in);
    else
        predict_as(p, *s, b, at, n, in);
}

/* Eight nibbles, one a byte, into four bytes, the first in the low half; and back. */
static inline uint32_t join(uint64_t nibbles)
{
    nibbles = (nibbles | nibbles >> 4) & 0x00ff00ff00ff00ffu;
    nibbles = (nibbles | nibbles >> 8) & 0x0000ffff0000ffffu;
    return (uint32_t)(nibbles | nibbles >> 16);
}

static inline uint64_t split(uint64_t joined)
{
    joined = (joined | joined << 16) & 0x0000ffff0000ffffu;
    joined = (joined | joined << 8) & 0x00ff00ff00ff00ffu;
    return (joined | joined << 4) & 0x0f0f0f0f0f0f0f0fu;
}

/* The first n of eight bytes; n >= 1. */
static inline uint64_t first(unsigned n)
{
    return n >= 8 ? UINT64_MAX : (1ull << 8 * n) - 1;
}

/* A byte of 0 or 1 each, added up. */
static inline unsigned sum(uint64_t bytes)
{
    return (unsigned)(bytes * BYTES >> 56);
}

static inline void count_hits(uint64_t zeros, uint64_t there, uint64_t hits[NOF_DFCM_CLASSES])
{
    uint64_t four = zeros >> 2 & BYTES, eight = zeros >> 3 & BYTES;
    unsigned both = sum(four & eight), fours = sum(four), eights = sum(eight);

    hits[0] += sum(there & BYTES) - fours - eights + both;
    hits[1] += fours - both;
    hits[2] += eights - both;
    hits[3] += both;
}

static size_t pack(const struct nof_dfcm_block *b, unsigned n, unsigned word_bytes, uint8_t *out,
                   uint64_t hits[NOF_DFCM_CLASSES])
{
    uint8_t odd[NOF_DFCM_BLOCK + 8] = {0};
    unsigned odds = 0;
    uint8_t *to = out + (n + 1) / 2;

    for (unsigned i = 0; i < n; i += 8) {
        uint64_t there = first(n - i);
        uint64_t zeros = (2 * word_bytes * BYTES - nof_get64(&b->kept[i])) & there;

        count_hits(zeros, there, hits);
        nof_put32(out + i / 2, join(zeros));
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned kept = b->kept[i];

        odd[odds] = b->diff[i] >> (4 * (kept & ~1u) & 63u) & 15u;
        odds += kept & 1u;
    }
    odd[odds] = 0; /* what was written there and not kept */
    for (unsigned i = 0; i < odds; i += 8)
        nof_put32(to + i / 2, join(nof_get64(odd + i)));
    to += (odds + 1) / 2;
    for (unsigned i = 0; i < n; i++) {
        nof_put64(to, b->diff[i]);
        to += b->kept[i] / 2u;
    }
    return (size_t)(to - out);
}

/* Counts of a block, from its first bytes. Returns the bytes that follow them, or SIZE_MAX. */
static inline size_t unpack_counts(unsigned n, unsigned word_bytes, const uint8_t *in, uint8_t *kept,
                                   unsigned *odds, uint64_t hits[NOF_DFCM_CLASSES])
{
    uint64_t bytes = 0, wrong = 0;

    *odds = 0;
    for (unsigned i = 0; i < n; i += 8) {
        uint64_t there = first(n - i);
        uint64_t zeros = split(nof_get32(in + i / 2)) & there;
        uint64_t keeps = (2 * word_bytes * BYTES & there) - zeros;

        wrong |= keeps & 0xe0e0e0e0e0e0e0e0u; /* borrowed: more zeros than the word has */
        count_hits(zeros, there, hits);
        nof_put64(kept + i, keeps);
        *odds += sum(keeps & BYTES);
        bytes += sum(keeps >> 1 & 0x0f * BYTES);
    }
    return wrong != 0 ? SIZE_MAX : bytes;
}

/* Residuals back. Returns the bytes used, 0 if [in, in + len) does not hold n values. `in` is readable 64 bytes beyond
 * len; len >= n / 2. diff has room for NOF_DFCM_SPARE more. */
static size_t unpack(uint64_t *diff, unsigned n, unsigned word_bytes, const uint8_t *in, size_t len,
                     uint64_t hits[NOF_DFCM_CLASSES])
{
    static const uint64_t low[9] = {
        0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff, UINT64_MAX};
    uint8_t kept[NOF_DFCM_BLOCK + 8], odd[NOF_DFCM_BLOCK + 8];
    unsigned odds;
    size_t counts = (n + 1) / 2;
    size_t bytes = unpack_counts(n, word_bytes, in, kept, &odds, hits);
    const uint8_t *from = in + counts;

    if (bytes == SIZE_MAX || counts + (odds + 1) / 2 + bytes > len)
        return 0;
    if ((n % 2 != 0 && in[n / 2] >> 4 != 0) || (odds % 2 != 0 && from[odds / 2] >> 4 != 0))
        return 0;
    for (unsigned i = 0; i < odds + 1; i += 8)
        nof_put64(odd + i, split(nof_get32(from + i / 2)));
    from += (odds + 1) / 2;
    odds = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned whole = kept[i] / 2u, rest = kept[i] & 1u;

        diff[i] = (nof_get64(from) & low[whole]) | (uint64_t)(odd[odds] & (0u - rest)) << (8 * whole & 63u);
        odds += rest;
        from += whole;
    }
    return (size_t)(from - in);
}

const struct nof_dfcm_kernel KERNEL = {
    .isa = KERNEL_ISA,
    .predict = predict,
    .pack = pack,
    .decode = decode,
};
