/* SPDX-License-Identifier: BSD-3-Clause */
#include "dfcm_reference.h"

#include <string.h>

#define TOP(delta) ((delta) >> 50) /* sign, exponent, two bits of the mantissa */

static uint32_t hash(const struct dfcm_reference *p)
{
    return (uint32_t)(TOP(p->delta[0]) ^ TOP(p->delta[1]) << 5 ^ TOP(p->delta[2]) << 10) %
           DFCM_REFERENCE_LINES;
}

static uint64_t predict(const struct dfcm_reference *p, uint32_t h)
{
    uint64_t newest = p->line[h].newest;
    uint64_t older = p->line[h].older;

    if (TOP(newest) == TOP(older))
        return p->last + newest + (newest - older);
    return p->last + newest;
}

static void update(struct dfcm_reference *p, uint32_t h, uint64_t value)
{
    uint64_t delta = value - p->last;

    p->line[h].older = p->line[h].newest;
    p->line[h].newest = delta;
    p->delta[2] = p->delta[1];
    p->delta[1] = p->delta[0];
    p->delta[0] = delta;
    p->last = value;
}

/* Bits, the most significant first. */
struct bits {
    uint8_t *at;
    uint64_t word; /* its upper `used` bits wait to be written */
    unsigned used; /* < 64 */
};

static void put_word(struct bits *b, uint64_t word)
{
    word = __builtin_bswap64(word);
    memcpy(b->at, &word, sizeof(word));
    b->at += sizeof(word);
}

/* n from 1 to 64; bits above are 0. */
static void put(struct bits *b, uint64_t bits, unsigned n)
{
    unsigned room = 64 - b->used;

    if (n < room) {
        b->word |= bits << (room - n);
        b->used += n;
        return;
    }
    put_word(b, b->word | bits >> (n - room));
    b->used = n - room;
    b->word = b->used == 0 ? 0 : bits << (64 - b->used);
}

size_t dfcm_reference_encode(struct dfcm_reference *p, const uint8_t *in, size_t n, uint8_t *out)
{
    struct bits b = {.at = out};

    for (size_t i = 0; i < n; i++) {
        uint32_t h = hash(p);
        uint64_t value, diff;

        memcpy(&value, in + 8 * i, sizeof(value));
        diff = value ^ predict(p, h);
        unsigned lzc = diff == 0 ? 15 : (unsigned)__builtin_clzll(diff) / 4;
        put(&b, lzc, 4);
        put(&b, diff, 64 - 4 * lzc);
        update(p, h, value);
    }
    unsigned rest = (b.used + 7) / 8;
    put_word(&b, b.word);
    return (size_t)(b.at - out) - 8 + rest;
}

static uint64_t get(const uint8_t *in, size_t *at, unsigned n)
{
    uint64_t word;
    unsigned skip = *at % 8;

    memcpy(&word, in + *at / 8, sizeof(word));
    word = __builtin_bswap64(word) << skip;
    if (skip + n > 64)
        word |= (uint64_t)in[*at / 8 + 8] >> (8 - skip);
    *at += n;
    return word >> (64 - n);
}

void dfcm_reference_decode(struct dfcm_reference *p, const uint8_t *in, size_t n, uint8_t *out)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t h = hash(p);
        unsigned lzc = (unsigned)get(in, &at, 4);
        uint64_t value = predict(p, h) ^ get(in, &at, 64 - 4 * lzc);

        memcpy(out + 8 * i, &value, sizeof(value));
        update(p, h, value);
    }
}
