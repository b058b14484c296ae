/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The paper's stream: a count of leading zero nibbles, the nibbles that are left, the next value; the most significant
 * bit first. A block begins and ends in the middle of a byte. */

/* bound of all loops here: the values of one chunk, 64 KiB; paid by the flow's bytes */
#include "codec/dfcm_kernel.h"
#include "base/bytes.h"

static void store_big(uint8_t *out, uint64_t word)
{
    for (unsigned i = 0; i < 8; i++)
        out[i] = (uint8_t)(word >> (56 - 8 * i));
}

struct stream {
    uint8_t *at;
    uint64_t word; /* its upper `used` bits are to be written to *at */
    unsigned used; /* < 64 */
};

/* n from 4 to 64; bits above are 0. */
static inline void put(struct stream *s, uint64_t bits, unsigned n)
{
    unsigned room = 64 - s->used;

    if (n < room) {
        s->word |= bits << (room - n);
        s->used += n;
        return;
    }
    store_big(s->at, s->word | bits >> (n - room));
    s->at += 8;
    s->used = n - room;
    s->word = s->used == 0 ? 0 : bits << (64 - s->used);
}

void nof_dfcm_paper_pack(const struct nof_dfcm_block *b, unsigned n, unsigned word_bytes, uint8_t *out,
                         size_t *nibbles, uint64_t hits[NOF_DFCM_CLASSES])
{
    unsigned most = 2 * word_bytes;
    struct stream s = {.at = out + *nibbles / 2, .used = *nibbles % 2 != 0 ? 4 : 0};

    if (s.used != 0)
        s.word = (uint64_t)(*s.at & 0xf0u) << 56;
    for (unsigned i = 0; i < n; i++) {
        unsigned kept = b->kept[i];

        hits[(most - kept) / 4]++;
        *nibbles += 1 + kept;
        if (kept == 16) {
            put(&s, 0, 4);
            put(&s, b->diff[i], 64);
        } else {
            put(&s, (uint64_t)(most - kept) << 4 * kept | b->diff[i], 4 + 4 * kept);
        }
    }
    for (; s.used > 0; s.used = s.used > 8 ? s.used - 8 : 0) {
        *s.at++ = (uint8_t)(s.word >> 56);
        s.word <<= 8;
    }
}

static inline unsigned nibble(const uint8_t *in, size_t at)
{
    return in[at / 2] >> (at % 2 == 0 ? 4 : 0) & 15u;
}

/* Up to 16 nibbles from nibble `at`; `in` is readable to byte at / 2 + 8. */
static inline uint64_t get(const uint8_t *in, size_t at, unsigned n)
{
    unsigned half = at % 2 * 4;
    uint64_t word =
        __builtin_bswap64(nof_get64(in + at / 2)) << half | (uint64_t)in[at / 2 + 8] >> (8 - half);

    return n == 0 ? 0 : word >> ((64 - 4 * n) & 63);
}

/* The same where the bytes may end. */
static uint64_t get_last(const uint8_t *in, size_t at, unsigned n)
{
    uint64_t word = 0;

    for (; n > 0; n--, at++)
        word = word << 4 | nibble(in, at);
    return word;
}

int nof_dfcm_paper_unpack(uint64_t *diff, unsigned n, unsigned word_bytes, const uint8_t *in, size_t end,
                          size_t *nibbles, uint64_t hits[NOF_DFCM_CLASSES])
{
    unsigned most = 2 * word_bytes;
    size_t at = *nibbles;

    for (unsigned i = 0; i < n; i++) {
        if (at >= end)
            return -1;
        unsigned zeros = nibble(in, at++);
        unsigned kept = most - zeros;
        if (zeros > most || kept > end - at)
            return -1;
        hits[zeros / 4]++;
        diff[i] = end - at >= 18 ? get(in, at, kept) : get_last(in, at, kept);
        at += kept;
    }
    *nibbles = at;
    return 0;
}
