/* SPDX-License-Identifier: BSD-3-Clause */
#include "dfcm_kernel.h"

/* Nibble `at` of a stream whose bytes carry the high half first. What lies behind it in the byte becomes 0. */
static void put(uint8_t *out, size_t at, unsigned nibble)
{
    if (at % 2 == 0)
        out[at / 2] = (uint8_t)(nibble << 4);
    else
        out[at / 2] = (uint8_t)(out[at / 2] | nibble);
}

static unsigned get(const uint8_t *in, size_t at)
{
    return in[at / 2] >> (at % 2 == 0 ? 4 : 0) & 15u;
}

void nof_dfcm_paper_pack(const struct nof_dfcm_block *b, unsigned n, unsigned word_bytes, uint8_t *out,
                         size_t *nibbles, uint64_t hits[NOF_DFCM_CLASSES])
{
    size_t at = *nibbles;

    for (unsigned i = 0; i < n; i++) {
        unsigned kept = b->kept[i];

        hits[(2 * word_bytes - kept) / 4]++;
        put(out, at++, 2 * word_bytes - kept);
        while (kept > 0)
            put(out, at++, (unsigned)(b->diff[i] >> 4 * --kept & 15u));
    }
    *nibbles = at;
}

int nof_dfcm_paper_unpack(struct nof_dfcm_block *b, unsigned n, unsigned word_bytes, const uint8_t *in,
                          size_t end, size_t *nibbles, uint64_t hits[NOF_DFCM_CLASSES])
{
    size_t at = *nibbles;

    for (unsigned i = 0; i < n; i++) {
        if (at >= end)
            return -1;
        unsigned zeros = get(in, at++);
        if (zeros > 2 * word_bytes || 2 * word_bytes - zeros > end - at)
            return -1;
        hits[zeros / 4]++;
        b->diff[i] = 0;
        for (unsigned kept = 2 * word_bytes - zeros; kept > 0; kept--)
            b->diff[i] = b->diff[i] << 4 | get(in, at++);
    }
    *nibbles = at;
    return 0;
}
