/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decoding goes value by value in every kernel; each compiles this for its own instruction set. The way from a value to
 * the one that its context foretells, five later: difference, hash, look-up, drift. Only two of its steps, the
 * addition and the exclusive or, lie between neighbours. */
#ifndef NOF_DFCM_SCALAR_H
#define NOF_DFCM_SCALAR_H

#include <string.h>

#include "dfcm_kernel.h"
#include "transport/wire.h"

/* The constants of a shape only help where they are known. */
#define INLINE static inline __attribute__((always_inline))

/* The shapes that matter most: doubles, by their delay. */
INLINE struct nof_dfcm_shape nof_dfcm_f64(unsigned delay)
{
    return (struct nof_dfcm_shape){.word_bytes = 8, .top = 50, .stride = 1, .delay = delay};
}

static inline int nof_dfcm_is_f64(const struct nof_dfcm_shape *s, unsigned delay)
{
    return s->word_bytes == 8 && s->top == 50 && s->stride == 1 && s->delay == delay;
}

INLINE uint64_t nof_dfcm_load(struct nof_dfcm_shape s, const uint8_t *in, unsigned i)
{
    return s.word_bytes == 8 ? nof_get64(in + 8u * i) : (uint64_t)nof_get32(in + 4u * i) << 32;
}

/* The place of the line of a value's context (papers/000, section 2.3); delta: that of the value itself. */
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

struct nof_dfcm_restorer {
    struct nof_dfcm *p;
    uint8_t *out;
    uint64_t values[2]; /* the newest last */
    uint32_t mask;
    uint32_t newest; /* place of the value after the next `delay` */
};

/* One value. *place: its line's; then that of the value `delay` + 1 later. */
INLINE void nof_dfcm_restore_one(struct nof_dfcm_restorer *r, struct nof_dfcm_shape s, uint32_t *place,
                                 uint64_t diff)
{
    struct nof_dfcm_line *line = nof_dfcm_line_at(r->p, *place);
    uint64_t newest = line->newest;
    uint64_t base = r->values[2 - s.stride];
    /* The low half of a narrow type's value is 0, also where a wide type has left its bits in history and table. */
    uint64_t value =
        ((base + nof_dfcm_foretell(newest, line->older, s.top)) ^ diff << s.widen) & UINT64_MAX << s.widen;
    uint64_t change = value - base;

    line->newest = change;
    line->older = newest;
    /* The mask has 15 bits at most, so that a fourth difference leaves nothing in it. */
    uint32_t tops = (uint32_t)(s.top >= NOF_DFCM_LINE_SHIFT ? change >> (s.top - NOF_DFCM_LINE_SHIFT)
                                                            : change << NOF_DFCM_LINE_SHIFT);
    r->newest = (r->newest << 5 ^ tops) & r->mask;
    *place = r->newest;
    r->values[0] = r->values[1];
    r->values[1] = value;
    if (s.word_bytes == 8)
        nof_put64(r->out, value);
    else
        nof_put32(r->out, (uint32_t)(value >> 32));
    r->out += s.word_bytes;
}

/* The differences that the next block looks back to, from the values restored. */
INLINE void nof_dfcm_last_deltas(struct nof_dfcm_shape s, struct nof_dfcm_block *b, unsigned n,
                                 const uint8_t *out)
{
    for (unsigned i = n < NOF_DFCM_HISTORY ? 0 : n - NOF_DFCM_HISTORY; i < n; i++) {
        uint64_t base = i < s.stride ? b->value[2 + i - s.stride] : nof_dfcm_load(s, out, i - s.stride);

        b->delta[NOF_DFCM_HISTORY + i] = nof_dfcm_load(s, out, i) - base;
    }
}

/* With constants for what the shape says. */
INLINE void nof_dfcm_restore_as(struct nof_dfcm *p, struct nof_dfcm_shape s, struct nof_dfcm_block *b,
                                unsigned n, uint8_t *out)
{
    struct nof_dfcm_restorer r = {
        .p = p, .out = out, .values = {b->value[0], b->value[1]}, .mask = p->mask << NOF_DFCM_LINE_SHIFT};
    uint64_t *delta = &b->delta[NOF_DFCM_HISTORY];
    uint32_t place[5];
    unsigned i = 0;

    for (unsigned j = 0; j <= s.delay; j++)
        place[j] = r.newest = nof_dfcm_context(p, s.top, delta + j - s.delay);
    if (s.delay == 4) {
        /* In registers. */
        uint32_t first = place[0], second = place[1], third = place[2], fourth = place[3], fifth = place[4];

        for (; i + 5 <= n; i += 5) {
            nof_dfcm_restore_one(&r, s, &first, b->diff[i]);
            nof_dfcm_restore_one(&r, s, &second, b->diff[i + 1]);
            nof_dfcm_restore_one(&r, s, &third, b->diff[i + 2]);
            nof_dfcm_restore_one(&r, s, &fourth, b->diff[i + 3]);
            nof_dfcm_restore_one(&r, s, &fifth, b->diff[i + 4]);
        }
        place[0] = first;
        place[1] = second;
        place[2] = third;
        place[3] = fourth;
        place[4] = fifth;
    }
    for (unsigned j = 0; i < n; i++, j = j == s.delay ? 0 : j + 1)
        nof_dfcm_restore_one(&r, s, &place[j], b->diff[i]);
    nof_dfcm_last_deltas(s, b, n, out);
    b->value[n] = r.values[0];
    b->value[n + 1] = r.values[1];
}

static void restore(struct nof_dfcm *p, const struct nof_dfcm_shape *s, struct nof_dfcm_block *b, unsigned n,
                    uint8_t *out)
{
    if (nof_dfcm_is_f64(s, 4))
        nof_dfcm_restore_as(p, nof_dfcm_f64(4), b, n, out);
    else if (nof_dfcm_is_f64(s, 0))
        nof_dfcm_restore_as(p, nof_dfcm_f64(0), b, n, out);
    else
        nof_dfcm_restore_as(p, *s, b, n, out);
}

#endif
