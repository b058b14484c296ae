/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/siphash.h"

#include "base/bytes.h"

struct sip {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotl(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64u - bits);
}

static void rounds(struct sip *s, unsigned n)
{
    /* bound: rounds, 4; paid by the handshake */
    for (; n > 0; n--) {
        s->v0 += s->v1;
        s->v1 = rotl(s->v1, 13) ^ s->v0;
        s->v0 = rotl(s->v0, 32);
        s->v2 += s->v3;
        s->v3 = rotl(s->v3, 16) ^ s->v2;
        s->v0 += s->v3;
        s->v3 = rotl(s->v3, 21) ^ s->v0;
        s->v2 += s->v1;
        s->v1 = rotl(s->v1, 17) ^ s->v2;
        s->v2 = rotl(s->v2, 32);
    }
}

static void absorb(struct sip *s, uint64_t m)
{
    s->v3 ^= m;
    rounds(s, 2);
    s->v0 ^= m;
}

void nof_siphash128(const uint8_t key[NOF_SIPHASH_KEY_BYTES], const uint8_t *data, size_t len_bytes,
                    uint8_t tag_out[NOF_SIPHASH_TAG_BYTES])
{
    uint64_t k0 = nof_get64(key);
    uint64_t k1 = nof_get64(key + 8);
    struct sip s = {
        .v0 = k0 ^ 0x736f6d6570736575u,
        .v1 = k1 ^ 0x646f72616e646f6du ^ 0xeeu, /* 0xee: the variant with 128 bits of output */
        .v2 = k0 ^ 0x6c7967656e657261u,
        .v3 = k1 ^ 0x7465646279746573u,
    };
    size_t left = len_bytes;

    /* bound: bytes of a handshake; paid by the handshake */
    for (; left >= 8; left -= 8, data += 8)
        absorb(&s, nof_get64(data));

    uint64_t last = (uint64_t)(len_bytes & 0xff) << 56;
    /* bound: 7 bytes; paid by the handshake */
    for (size_t i = 0; i < left; i++)
        last |= (uint64_t)data[i] << (8 * i);
    absorb(&s, last);

    s.v2 ^= 0xeeu;
    rounds(&s, 4);
    nof_put64(tag_out, s.v0 ^ s.v1 ^ s.v2 ^ s.v3);
    s.v1 ^= 0xddu;
    rounds(&s, 4);
    nof_put64(tag_out + 8, s.v0 ^ s.v1 ^ s.v2 ^ s.v3);
}
