/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decoding goes value by value in every kernel; each compiles this for its own instruction set. The way from a value to
 * the one that its context foretells, five later: difference, hash, look-up, drift. Only two of its steps, the
 * addition and the exclusive or, lie between neighbours. */

/* bound of all loops here: the values of one chunk, 64 KiB; paid by the flow's bytes */
#ifndef NOF_DFCM_SCALAR_H
#define NOF_DFCM_SCALAR_H

#include <string.h>

#include "codec/dfcm_kernel.h"
#include "base/bytes.h"

/* The constants of a shape only help where they are known. */
#define INLINE static inline __attribute__((always_inline))
/* A function of its own has the registers for itself. */
#define NOINLINE static __attribute__((noinline))

/* The shapes that matter most: doubles, by their delay. */
INLINE struct nof_dfcm_shape nof_dfcm_f64(unsigned delay)
{
    return (struct nof_dfcm_shape){.word_bytes = 8, .top = 50, .stride = 1, .delay = delay};
}

static inline bool nof_dfcm_is_f64(const struct nof_dfcm_shape *s, unsigned delay)
{
    return s->word_bytes == 8 && s->top == 50 && s->stride == 1 && s->delay == delay;
}

INLINE uint64_t nof_dfcm_load(struct nof_dfcm_shape s, const uint8_t *in, unsigned i)
{
    return s.word_bytes == 8 ? nof_get64(in + 8u * i) : (uint64_t)nof_get32(in + 4u * i) << 32;
}

/* The place of the line of a value's context (docs/SOURCES.md, compression, section 2.3); delta: that of the value itself. */
INLINE uint32_t nof_dfcm_context(const struct nof_dfcm *p, unsigned top, const uint64_t *delta)
{
    uint64_t index = delta[-1] >> top ^ delta[-2] >> top << 5 ^ delta[-3] >> top << 10;

    return (uint32_t)(index & p->mask) << NOF_DFCM_LINE_SHIFT;
}

/* The difference that a line foretells: the newest, and the drift again if there is one. */
INLINE uint64_t nof_dfcm_foretell(uint64_t newest, uint64_t older, unsigned top)
{
    uint64_t drifted = newest + (newest - older);

    return (newest ^ older) < 1ull << top ? drifted : newest;
}

/* How far a chunk is decoded. */
struct nof_dfcm_restorer {
    uint64_t values[2]; /* the newest last */
    uint32_t place[5]; /* of the next values' lines, as many as the delay says and one; the newest last */
};

/* One value. *place: its line's; then that of the value `delay` + 1 later. before: place of the value one less ahead. */
INLINE void nof_dfcm_restore_one(struct nof_dfcm *p, uint32_t mask, struct nof_dfcm_restorer *r,
                                 struct nof_dfcm_shape s, uint32_t *place, uint32_t before, uint64_t diff,
                                 uint8_t *out)
{
    struct nof_dfcm_line *line = nof_dfcm_line_at(p, *place);
    uint64_t newest = line->newest;
    uint64_t base = r->values[2 - s.stride];
    /* The low half of a narrow type's value is 0, also where a wide type has left its bits in history and table. */
    uint64_t value =
        ((base + nof_dfcm_foretell(newest, line->older, s.top)) ^ diff << s.widen) & UINT64_MAX << s.widen;
    uint64_t change = value - base;
    /* The mask has 15 bits at most, so that a fourth difference leaves nothing in it. */
    uint32_t tops = (uint32_t)(s.top >= NOF_DFCM_LINE_SHIFT ? change >> (s.top - NOF_DFCM_LINE_SHIFT)
                                                            : change << NOF_DFCM_LINE_SHIFT);

    line->newest = change;
    line->older = newest;
    *place = (before << 5 ^ tops) & mask;
    r->values[0] = r->values[1];
    r->values[1] = value;
    if (s.word_bytes == 8)
        nof_put64(out, value);
    else
        nof_put32(out, (uint32_t)(value >> 32));
}

INLINE void nof_dfcm_begin(const struct nof_dfcm *p, struct nof_dfcm_shape s, struct nof_dfcm_restorer *r)
{
    r->values[0] = p->value[0];
    r->values[1] = p->value[1];
    for (unsigned j = 0; j <= s.delay; j++)
        r->place[j] = nof_dfcm_context(p, s.top, p->delta + NOF_DFCM_HISTORY + j - s.delay);
}

/* Values by five, one for each context that is under way. */
INLINE void nof_dfcm_restore_fives(struct nof_dfcm *p, struct nof_dfcm_restorer *state,
                                   struct nof_dfcm_shape s, const uint64_t *diff, unsigned n, uint8_t *out)
{
    struct nof_dfcm_restorer r = *state;
    uint32_t mask = p->mask << NOF_DFCM_LINE_SHIFT;
    uint32_t a = r.place[0], b = r.place[1], c = r.place[2], d = r.place[3], e = r.place[4];
    unsigned w = s.word_bytes;

    for (const uint64_t *end = diff + n; diff != end; diff += 5, out += 5 * w) {
        nof_dfcm_restore_one(p, mask, &r, s, &a, e, diff[0], out);
        nof_dfcm_restore_one(p, mask, &r, s, &b, a, diff[1], out + w);
        nof_dfcm_restore_one(p, mask, &r, s, &c, b, diff[2], out + 2 * w);
        nof_dfcm_restore_one(p, mask, &r, s, &d, c, diff[3], out + 3 * w);
        nof_dfcm_restore_one(p, mask, &r, s, &e, d, diff[4], out + 4 * w);
    }
    *state = r;
    state->place[0] = a;
    state->place[1] = b;
    state->place[2] = c;
    state->place[3] = d;
    state->place[4] = e;
}

NOINLINE void restore_f64(struct nof_dfcm *p, struct nof_dfcm_restorer *r, const uint64_t *diff, unsigned n,
                          uint8_t *out)
{
    nof_dfcm_restore_fives(p, r, nof_dfcm_f64(4), diff, n, out);
}

NOINLINE void restore_any(struct nof_dfcm *p, struct nof_dfcm_restorer *r, const struct nof_dfcm_shape *s,
                          const uint64_t *diff, unsigned n, uint8_t *out)
{
    nof_dfcm_restore_fives(p, r, *s, diff, n, out);
}

/* The predictor's history ends with the n values of `out`. */
INLINE void nof_dfcm_remember(struct nof_dfcm *p, struct nof_dfcm_shape s, unsigned n, const uint8_t *out,
                              const uint64_t values[2])
{
    unsigned more = n < NOF_DFCM_HISTORY ? n : NOF_DFCM_HISTORY;

    memmove(p->delta, p->delta + more, (NOF_DFCM_HISTORY - more) * sizeof(p->delta[0]));
    for (unsigned i = n - more; i < n; i++) {
        uint64_t base = i < s.stride ? p->value[2 + i - s.stride] : nof_dfcm_load(s, out, i - s.stride);

        p->delta[NOF_DFCM_HISTORY + i - n] = nof_dfcm_load(s, out, i) - base;
    }
    p->value[0] = values[0];
    p->value[1] = values[1];
}

static size_t unpack(uint64_t *diff, unsigned n, unsigned word_bytes, const uint8_t *in, size_t len,
                     uint64_t hits[NOF_DFCM_CLASSES]);

/* FAST's next block. Returns the bytes used, 0 if there is no such block. */
NOINLINE size_t unpack_safely(uint64_t *diff, unsigned n, unsigned word_bytes, const uint8_t *in, size_t len,
                              uint64_t *hits)
{
    uint8_t last[NOF_DFCM_BLOCK_BYTES(NOF_DFCM_BLOCK) + 64];

    if (len < (n + 1) / 2)
        return 0;
    if (len >= sizeof(last))
        return unpack(diff, n, word_bytes, in, len, hits);
    memcpy(last, in, len);
    memset(last + len, 0, sizeof(last) - len);
    return unpack(diff, n, word_bytes, last, len, hits);
}

/* FAST: residuals by the block. What five do not divide waits for the next block. */
static size_t decode_fast(struct nof_dfcm *p, const struct nof_dfcm_shape *s, unsigned words,
                          const uint8_t *in, size_t len, uint8_t *out, uint64_t *hits)
{
    const int f64 = nof_dfcm_is_f64(s, 4);
    uint64_t diff[4 + NOF_DFCM_BLOCK + NOF_DFCM_SPARE];
    struct nof_dfcm_restorer r;
    uint8_t *to = out;
    unsigned have = 0;
    size_t at = 0;

    nof_dfcm_begin(p, *s, &r);
    for (unsigned left = words; left > 0;) {
        unsigned n = left < NOF_DFCM_BLOCK ? left : NOF_DFCM_BLOCK;
        size_t used = unpack_safely(diff + have, n, s->word_bytes, in + at, len - at, hits);

        if (used == 0)
            return 0;
        at += used;
        left -= n;
        have += n;
        n = have - have % 5;
        if (f64)
            restore_f64(p, &r, diff, n, to);
        else
            restore_any(p, &r, s, diff, n, to);
        to += n * s->word_bytes;
        have -= n;
        for (unsigned j = 0; j < have; j++)
            diff[j] = diff[n + j];
    }
    for (unsigned j = 0; j < have; j++, to += s->word_bytes)
        nof_dfcm_restore_one(p, p->mask << NOF_DFCM_LINE_SHIFT, &r, *s, &r.place[j], r.place[(j + 4) % 5],
                             diff[j], to);
    nof_dfcm_remember(p, *s, words, out, r.values);
    return at;
}

#define STEP 8u

/* PAPER: each value waits for the one before it; so that reading ahead is done meanwhile, it goes in small steps. */
INLINE size_t nof_dfcm_decode_paper(struct nof_dfcm *p, struct nof_dfcm_shape s, unsigned words,
                                    const uint8_t *in, size_t len, uint8_t *out, uint64_t *hits)
{
    const uint32_t mask = p->mask << NOF_DFCM_LINE_SHIFT;
    struct nof_dfcm_restorer r;
    uint64_t diff[STEP];
    uint8_t *to = out;
    size_t at = 0;

    nof_dfcm_begin(p, s, &r);
    for (unsigned left = words; left > 0;) {
        unsigned n = left < STEP ? left : STEP;

        if (nof_dfcm_paper_unpack(diff, n, s.word_bytes, in, 2 * len, &at, hits) != 0)
            return 0;
        for (unsigned i = 0; i < n; i++, to += s.word_bytes)
            nof_dfcm_restore_one(p, mask, &r, s, &r.place[0], r.place[0], diff[i], to);
        left -= n;
    }
    if (at % 2 != 0 && (in[at / 2] & 15u) != 0)
        return 0;
    nof_dfcm_remember(p, s, words, out, r.values);
    return (at + 1) / 2;
}

static size_t decode(struct nof_dfcm *p, const struct nof_dfcm_shape *s, unsigned words, const uint8_t *in,
                     size_t len, uint8_t *out, uint64_t hits[NOF_DFCM_CLASSES])
{
    if (s->delay != 0)
        return decode_fast(p, s, words, in, len, out, hits);
    if (nof_dfcm_is_f64(s, 0))
        return nof_dfcm_decode_paper(p, nof_dfcm_f64(0), words, in, len, out, hits);
    return nof_dfcm_decode_paper(p, *s, words, in, len, out, hits);
}

#endif
