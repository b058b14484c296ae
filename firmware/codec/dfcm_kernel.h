/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the DFCM codec: what its files share. A *block* is up to 64 values on their way between the message and
 * a chunk; a *kernel* is the code for one instruction set. Nothing else includes this. */
#ifndef NOF_DFCM_KERNEL_H
#define NOF_DFCM_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "dfcm_engine.h"

#define NOF_DFCM_BLOCK 64u
#define NOF_DFCM_LINE_SHIFT 4u /* log2 of a line's bytes */
#define NOF_DFCM_SPARE 8u /* behind the values of a block, so that vectors may end there */
#define NOF_DFCM_HISTORY 8u /* differences that are kept; contexts look back 4 + 3 */
/* Bytes of a block of n values at most, in either format: 17 nibbles a value, two odd nibbles. */
#define NOF_DFCM_BLOCK_BYTES(n) ((17u * (n) + 1u) / 2u + 1u)

struct nof_dfcm_line {
    uint64_t newest, older;
};

struct nof_dfcm {
    const struct nof_dfcm_kernel *kernel;
    enum nof_dfcm_format format;
    uint32_t mask; /* lines - 1 */
    uint32_t per_kib; /* bytes of chunks that 1024 bytes of messages have recently become */
    uint64_t delta[NOF_DFCM_HISTORY]; /* the newest last */
    uint64_t value[2]; /* the newest last */
    _Alignas(64) struct nof_dfcm_line line[];
};

/* How words of a type are seen, docs/DFCM_FORMAT.md section 2. */
struct nof_dfcm_shape {
    unsigned word_bytes;
    unsigned widen; /* bits that a word is shifted up by to be 64 bits wide */
    unsigned top; /* bits of a difference below those that make the context */
    unsigned stride; /* the value that the difference is taken to is so far back */
    unsigned delay; /* differences left out of the context */
};

struct nof_dfcm_block {
    uint64_t delta[NOF_DFCM_HISTORY + NOF_DFCM_BLOCK + NOF_DFCM_SPARE];
    uint64_t value[2 + NOF_DFCM_BLOCK + NOF_DFCM_SPARE]; /* widened */
    uint64_t diff[NOF_DFCM_BLOCK + NOF_DFCM_SPARE]; /* value xor prediction, not widened */
    struct nof_dfcm_line line[NOF_DFCM_BLOCK + NOF_DFCM_SPARE]; /* what was looked up */
    uint32_t place[NOF_DFCM_BLOCK + NOF_DFCM_SPARE]; /* of that line: bytes from the table's beginning */
    uint8_t kept[NOF_DFCM_BLOCK + NOF_DFCM_SPARE]; /* nibbles of diff that are sent */
};

struct nof_dfcm_kernel {
    enum nof_dfcm_isa isa;
    /* Words [at, at + n) of the block come from `in`: fills all arrays there and updates the table. */
    void (*predict)(struct nof_dfcm *p, const struct nof_dfcm_shape *s, struct nof_dfcm_block *b, unsigned at,
                    unsigned n, const uint8_t *in);
    /* The other way, a whole chunk: `words` values from the predictor's format in [in, in + len) to `out`; updates table
     * and history. Returns the bytes used, 0 if the values are not there (then the predictor is anything). */
    size_t (*decode)(struct nof_dfcm *p, const struct nof_dfcm_shape *s, unsigned words, const uint8_t *in,
                     size_t len, uint8_t *out, uint64_t hits[NOF_DFCM_CLASSES]);
    /* FAST's bytes of diff[0, n) and kept. out has NOF_DFCM_BLOCK_BYTES(n) + 64. Returns the bytes used. */
    size_t (*pack)(const struct nof_dfcm_block *b, unsigned n, unsigned word_bytes, uint8_t *out,
                   uint64_t hits[NOF_DFCM_CLASSES]);
};

extern const struct nof_dfcm_kernel nof_dfcm_portable;
#ifdef NOF_DFCM_VECTORS /* the build has them; the processor may not */
extern const struct nof_dfcm_kernel nof_dfcm_avx2;
extern const struct nof_dfcm_kernel nof_dfcm_avx512;
#endif

static inline struct nof_dfcm_line *nof_dfcm_line_at(struct nof_dfcm *p, uint32_t place)
{
    return (struct nof_dfcm_line *)(void *)((char *)p->line + place);
}

/* Nibbles that are kept of a residual: 1 to 16 of a word of 8 bytes (the count of leading zeros ends at 15), 0 to 8 of
 * one of 4. */
static inline unsigned nof_dfcm_kept(uint64_t diff, unsigned word_bytes)
{
    unsigned used = 16u - ((unsigned)__builtin_clzll(diff | 1u) >> 2);

    return word_bytes == 8 ? used : diff == 0 ? 0 : used;
}

/* PAPER's bits of diff[0, n), appended to out[0, *nibbles / 2]: a half byte may already be there. */
void nof_dfcm_paper_pack(const struct nof_dfcm_block *b, unsigned n, unsigned word_bytes, uint8_t *out,
                         size_t *nibbles, uint64_t hits[NOF_DFCM_CLASSES]);
/* Back, from nibble *nibbles of `in`, which has `end` nibbles. Returns 0, or -1 if n values are not there. */
int nof_dfcm_paper_unpack(uint64_t *diff, unsigned n, unsigned word_bytes, const uint8_t *in, size_t end,
                          size_t *nibbles, uint64_t hits[NOF_DFCM_CLASSES]);

#endif
