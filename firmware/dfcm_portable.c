/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "dfcm_kernel.h"
#include "transport/wire.h"

static uint64_t load(const uint8_t *in, const struct nof_dfcm_shape *s, unsigned i)
{
    return s->word_bytes == 8 ? nof_get64(in + 8u * i) : (uint64_t)nof_get32(in + 4u * i) << 32;
}

/* The context of value i of the block, as a line of the table (papers/000, section 2.3). */
static uint32_t context(const struct nof_dfcm *p, const struct nof_dfcm_shape *s, const uint64_t *delta)
{
    uint64_t newest = delta[-1] >> s->top;
    uint64_t middle = delta[-2] >> s->top;
    uint64_t oldest = delta[-3] >> s->top;

    return (uint32_t)((newest ^ middle << 5 ^ oldest << 10) & p->mask);
}

/* The difference that a line foretells: the newest, and the drift again if there is one. */
static uint64_t foretell(struct nof_dfcm_line line, unsigned top)
{
    return (line.newest ^ line.older) >> top == 0 ? line.newest + (line.newest - line.older) : line.newest;
}

static void predict(struct nof_dfcm *p, const struct nof_dfcm_shape *s, struct nof_dfcm_block *b, unsigned at,
                    unsigned n, const uint8_t *in)
{
    for (unsigned i = at; i < at + n; i++) {
        uint64_t *delta = &b->delta[NOF_DFCM_HISTORY + i];
        uint64_t *value = &b->value[2 + i];
        uint32_t index = context(p, s, delta - s->delay);
        struct nof_dfcm_line line = p->line[index];

        value[0] = load(in, s, i - at);
        delta[0] = value[0] - value[-(int)s->stride];
        b->diff[i] = (value[0] ^ (value[-(int)s->stride] + foretell(line, s->top))) >> s->widen;
        b->line[i] = line;
        b->index[i] = index;
        p->line[index] = (struct nof_dfcm_line){.newest = delta[0], .older = line.newest};
    }
}

static void restore(struct nof_dfcm *p, const struct nof_dfcm_shape *s, struct nof_dfcm_block *b, unsigned n,
                    uint8_t *out)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t *delta = &b->delta[NOF_DFCM_HISTORY + i];
        uint64_t *value = &b->value[2 + i];
        struct nof_dfcm_line *line = &p->line[context(p, s, delta - s->delay)];

        value[0] = (value[-(int)s->stride] + foretell(*line, s->top)) ^ b->diff[i] << s->widen;
        delta[0] = value[0] - value[-(int)s->stride];
        *line = (struct nof_dfcm_line){.newest = delta[0], .older = line->newest};
        if (s->word_bytes == 8)
            nof_put64(out + 8u * i, value[0]);
        else
            nof_put32(out + 4u * i, (uint32_t)(value[0] >> 32));
    }
}

static size_t pack(const struct nof_dfcm_block *b, unsigned n, unsigned word_bytes, uint8_t *out,
                   uint64_t hits[NOF_DFCM_CLASSES])
{
    unsigned most = 2 * word_bytes;
    uint8_t odd[NOF_DFCM_BLOCK / 2 + 1] = {0};
    unsigned odds = 0;
    size_t counts = (n + 1) / 2;

    memset(out, 0, counts);
    for (unsigned i = 0; i < n; i++) {
        unsigned kept = nof_dfcm_kept(b->diff[i], word_bytes);

        out[i / 2] |= (uint8_t)((most - kept) << 4 * (i % 2));
        hits[(most - kept) / 4]++;
        if (kept & 1) {
            odd[odds / 2] |= (uint8_t)((b->diff[i] >> 4 * (kept - 1) & 15u) << 4 * (odds % 2));
            odds++;
        }
    }
    memcpy(out + counts, odd, (odds + 1) / 2);
    uint8_t *to = out + counts + (odds + 1) / 2;
    for (unsigned i = 0; i < n; i++) {
        nof_put64(to, b->diff[i]);
        to += nof_dfcm_kept(b->diff[i], word_bytes) / 2;
    }
    return (size_t)(to - out);
}

static size_t unpack(struct nof_dfcm_block *b, unsigned n, unsigned word_bytes, const uint8_t *in, size_t len,
                     uint64_t hits[NOF_DFCM_CLASSES])
{
    unsigned most = 2 * word_bytes;
    uint8_t kept[NOF_DFCM_BLOCK];
    unsigned odds = 0;
    size_t bytes = 0;
    size_t counts = (n + 1) / 2;

    if (n % 2 != 0 && in[n / 2] >> 4 != 0)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned zeros = in[i / 2] >> 4 * (i % 2) & 15u;

        if (zeros > most)
            return 0;
        hits[zeros / 4]++;
        kept[i] = (uint8_t)(most - zeros);
        odds += kept[i] & 1u;
        bytes += kept[i] / 2u;
    }
    if (counts + (odds + 1) / 2 + bytes > len)
        return 0;
    const uint8_t *odd = in + counts;
    const uint8_t *from = odd + (odds + 1) / 2;
    if (odds % 2 != 0 && odd[odds / 2] >> 4 != 0)
        return 0;
    odds = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned whole = kept[i] / 2u;
        uint64_t low = whole == 8 ? nof_get64(from) : nof_get64(from) & ~(UINT64_MAX << 8 * whole);

        if (kept[i] & 1u) {
            low |= (uint64_t)(odd[odds / 2] >> 4 * (odds % 2) & 15u) << 8 * whole;
            odds++;
        }
        b->diff[i] = low;
        from += whole;
    }
    return (size_t)(from - in);
}

const struct nof_dfcm_kernel nof_dfcm_portable = {
    .isa = NOF_DFCM_ISA_PORTABLE,
    .predict = predict,
    .restore = restore,
    .pack = pack,
    .unpack = unpack,
};
