/* SPDX-License-Identifier: BSD-3-Clause
 *
 * AVX-512 (Ice Lake, Zen 4 and later). Encoding is three passes over a block, of which only the look-ups go one by
 * one; residuals are packed by compressing bytes. Budget: 15 instructions a value, and a line of 16 bytes. */

/* bound of all loops here: the values of one chunk, 64 KiB; paid by the flow's bytes */
#include <immintrin.h>
#include <string.h>

#include "codec/dfcm_kernel.h"
#include "codec/dfcm_scalar.h"

#define WIDE 8u

/* Words [i, i + WIDE) of `in`, those from n on as zeros. */
static inline __m512i load(const uint8_t *in, unsigned i, unsigned n, unsigned word_bytes)
{
    __mmask8 there = n - i >= WIDE ? 0xff : (__mmask8)((1u << (n - i)) - 1);

    if (word_bytes == 8)
        return _mm512_maskz_loadu_epi64(there, in + 8u * i);
    return _mm512_slli_epi64(_mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(there, in + 4u * i)), 32);
}

/* For _mm512_permutex2var_epi64(): of two neighbours in a row, the elements that lie `back` before the second's. */
static inline __m512i reach(unsigned back)
{
    return _mm512_add_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(8 - (long long)back));
}

/* Values, differences and lines' numbers, from the values alone. */
static inline void prepare(const struct nof_dfcm *p, const struct nof_dfcm_shape *s, struct nof_dfcm_block *b,
                           unsigned at, unsigned n, const uint8_t *in)
{
    const __m512i stride = reach(s->stride), near = reach(s->delay + 1), middle = reach(s->delay + 2),
                  far = reach(s->delay + 3), mask = _mm512_set1_epi64(p->mask);
    const __m128i top = _mm_cvtsi32_si128((int)s->top);
    const uint64_t *behind = &b->value[at];
    __m512i value_before = _mm512_set_epi64((long long)behind[1], (long long)behind[0], 0, 0, 0, 0, 0, 0);
    __m512i top_before = _mm512_srl_epi64(_mm512_loadu_si512(&b->delta[at]), top);

    for (unsigned i = 0; i < n; i += WIDE) {
        __m512i value = load(in, i, n, s->word_bytes);
        __m512i delta = _mm512_sub_epi64(value, _mm512_permutex2var_epi64(value_before, stride, value));
        __m512i tops = _mm512_srl_epi64(delta, top);
        __m512i index = _mm512_permutex2var_epi64(top_before, near, tops);

        index = _mm512_xor_epi64(index,
                                 _mm512_slli_epi64(_mm512_permutex2var_epi64(top_before, middle, tops), 5));
        index =
            _mm512_xor_epi64(index, _mm512_slli_epi64(_mm512_permutex2var_epi64(top_before, far, tops), 10));
        _mm512_storeu_si512(&b->value[2 + at + i], value);
        _mm512_storeu_si512(&b->delta[NOF_DFCM_HISTORY + at + i], delta);
        _mm256_storeu_si256(
            (void *)&b->place[at + i],
            _mm512_cvtepi64_epi32(_mm512_slli_epi64(_mm512_and_epi64(index, mask), NOF_DFCM_LINE_SHIFT)));
        value_before = value;
        top_before = tops;
    }
}

/* As nof_dfcm_kept(). */
static inline __m512i kept(__m512i diff, unsigned word_bytes)
{
    __m512i zeros = _mm512_srli_epi64(_mm512_lzcnt_epi64(_mm512_or_epi64(diff, _mm512_set1_epi64(1))), 2);
    __mmask8 some = word_bytes == 8 ? 0xff : _mm512_test_epi64_mask(diff, diff);

    return _mm512_maskz_sub_epi64(some, _mm512_set1_epi64(16), zeros);
}

/* What the lines foretell against what came. */
static inline void compare(const struct nof_dfcm_shape *s, struct nof_dfcm_block *b, unsigned at, unsigned n)
{
    const __m512i evens = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odds = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
    const __m128i top = _mm_cvtsi32_si128((int)s->top), widen = _mm_cvtsi32_si128((int)s->widen);

    for (unsigned i = at; i < at + n; i += WIDE) {
        __m512i low = _mm512_loadu_si512(&b->line[i]), high = _mm512_loadu_si512(&b->line[i + 4]);
        __m512i newest = _mm512_permutex2var_epi64(low, evens, high);
        __m512i older = _mm512_permutex2var_epi64(low, odds, high);
        __m512i apart = _mm512_srl_epi64(_mm512_xor_epi64(newest, older), top);
        __mmask8 drifts = _mm512_testn_epi64_mask(apart, apart);
        __m512i value = _mm512_loadu_si512(&b->value[2 + i]);
        __m512i base = _mm512_sub_epi64(value, _mm512_loadu_si512(&b->delta[NOF_DFCM_HISTORY + i]));
        __m512i guess = _mm512_add_epi64(base, newest);

        guess = _mm512_mask_add_epi64(guess, drifts, guess, _mm512_sub_epi64(newest, older));
        __m512i diff = _mm512_srl_epi64(_mm512_xor_epi64(value, guess), widen);
        _mm512_storeu_si512(&b->diff[i], diff);
        _mm_storel_epi64((void *)&b->kept[i], _mm512_cvtepi64_epi8(kept(diff, s->word_bytes)));
    }
}

static inline void look_up(struct nof_dfcm *p, struct nof_dfcm_block *b, unsigned i)
{
    __m128i *table = (void *)nof_dfcm_line_at(p, b->place[i]);
    __m128i line = _mm_load_si128(table);
    __m128i delta = _mm_loadl_epi64((const void *)&b->delta[NOF_DFCM_HISTORY + i]);

    _mm_storeu_si128((void *)&b->line[i], line);
    _mm_store_si128(table, _mm_unpacklo_epi64(delta, line));
}

static void predict(struct nof_dfcm *p, const struct nof_dfcm_shape *s, struct nof_dfcm_block *b, unsigned at,
                    unsigned n, const uint8_t *in)
{
    unsigned i = at;

    prepare(p, s, b, at, n, in);
    for (; i + 4 <= at + n; i += 4) {
        look_up(p, b, i);
        look_up(p, b, i + 1);
        look_up(p, b, i + 2);
        look_up(p, b, i + 3);
    }
    for (; i < at + n; i++)
        look_up(p, b, i);
    compare(s, b, at, n);
}

/* Two nibbles a byte, the first in the low half; 32 bytes of 64. */
static inline __m256i join(__m512i nibbles)
{
    return _mm512_cvtepi16_epi8(_mm512_maddubs_epi16(nibbles, _mm512_set1_epi16(0x1001)));
}

static inline __m512i split(__m256i bytes)
{
    __m512i words = _mm512_cvtepu8_epi16(bytes);

    return _mm512_and_si512(_mm512_or_si512(words, _mm512_slli_epi16(words, 4)), _mm512_set1_epi8(15));
}

/* In each word, the bytes that a residual of `whole` bytes has. */
static inline __mmask64 bytes_of(__m512i whole)
{
    const __m512i spread = _mm512_set_epi64(0x0808080808080808, 0, 0x0808080808080808, 0, 0x0808080808080808,
                                            0, 0x0808080808080808, 0);
    const __m512i place = _mm512_set1_epi64(0x0706050403020100);

    return _mm512_cmplt_epu8_mask(place, _mm512_shuffle_epi8(whole, spread));
}

static inline __mmask64 first(unsigned n)
{
    return n >= 64 ? UINT64_MAX : (1ull << n) - 1;
}

static void count_hits(__m512i zeros, __mmask64 there, uint64_t hits[NOF_DFCM_CLASSES])
{
    const __mmask64 four = _mm512_test_epi8_mask(zeros, _mm512_set1_epi8(4)) & there;
    const __mmask64 eight = _mm512_test_epi8_mask(zeros, _mm512_set1_epi8(8)) & there;

    hits[0] += (uint64_t)_mm_popcnt_u64(there & ~four & ~eight);
    hits[1] += (uint64_t)_mm_popcnt_u64(four & ~eight);
    hits[2] += (uint64_t)_mm_popcnt_u64(eight & ~four);
    hits[3] += (uint64_t)_mm_popcnt_u64(eight & four);
}

static size_t pack(const struct nof_dfcm_block *b, unsigned n, unsigned word_bytes, uint8_t *out,
                   uint64_t hits[NOF_DFCM_CLASSES])
{
    const __m512i most = _mm512_set1_epi8((char)(2 * word_bytes));
    uint8_t tops[NOF_DFCM_BLOCK];

    for (unsigned i = 0; i < n; i += WIDE) {
        __m512i used = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)&b->kept[i]));
        __m512i below = _mm512_andnot_epi64(_mm512_set1_epi64(7), _mm512_slli_epi64(used, 2));
        __m512i top = _mm512_srlv_epi64(_mm512_loadu_si512(&b->diff[i]), below);

        _mm_storel_epi64((void *)&tops[i], _mm512_cvtepi64_epi8(top));
    }
    __mmask64 there = first(n);
    __m512i keeps = _mm512_maskz_loadu_epi8(there, b->kept);
    __m512i zeros = _mm512_maskz_sub_epi8(there, most, keeps);
    __mmask64 odd = _mm512_test_epi8_mask(keeps, _mm512_set1_epi8(1));
    unsigned odds = (unsigned)_mm_popcnt_u64(odd);
    uint8_t *to = out + (n + 1) / 2;

    count_hits(zeros, there, hits);
    _mm256_storeu_si256((void *)out, join(zeros));
    _mm256_storeu_si256((void *)to,
                        join(_mm512_maskz_compress_epi8(odd, _mm512_maskz_loadu_epi8(there, tops))));
    to += (odds + 1) / 2;
    for (unsigned i = 0; i < n; i += WIDE) {
        __m512i whole = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)&b->kept[i]));
        __mmask64 bytes = bytes_of(_mm512_srli_epi64(whole, 1));

        if (n - i < WIDE)
            bytes &= first(8 * (n - i));
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(bytes, _mm512_loadu_si512(&b->diff[i])));
        to += _mm_popcnt_u64(bytes);
    }
    return (size_t)(to - out);
}

/* Residuals back. Returns the bytes used, 0 if [in, in + len) does not hold n values. `in` is readable 64 bytes beyond
 * len; len >= n / 2. diff has room for NOF_DFCM_SPARE more. */
static size_t unpack(uint64_t *diff, unsigned n, unsigned word_bytes, const uint8_t *in, size_t len,
                     uint64_t hits[NOF_DFCM_CLASSES])
{
    const __mmask64 there = first(n);
    const __m512i most = _mm512_set1_epi8((char)(2 * word_bytes));
    size_t counts = (n + 1) / 2;
    __m512i zeros = split(_mm256_loadu_si256((const void *)in));
    __m512i keeps = _mm512_maskz_sub_epi8(there, most, zeros);
    __m512i whole = _mm512_and_si512(_mm512_srli_epi16(keeps, 1), _mm512_set1_epi8(15));
    __mmask64 odd = _mm512_test_epi8_mask(keeps, _mm512_set1_epi8(1));
    unsigned odds = (unsigned)_mm_popcnt_u64(odd);
    size_t bytes = (size_t)_mm512_reduce_add_epi64(_mm512_sad_epu8(whole, _mm512_setzero_si512()));
    uint8_t wholes[NOF_DFCM_BLOCK], tops[NOF_DFCM_BLOCK];

    if ((_mm512_cmpgt_epu8_mask(zeros, most) & there) != 0 || counts + (odds + 1) / 2 + bytes > len)
        return 0;
    if ((n % 2 != 0 && in[n / 2] >> 4 != 0) || (odds % 2 != 0 && in[counts + odds / 2] >> 4 != 0))
        return 0;
    count_hits(zeros, there, hits);
    const uint8_t *from = in + counts;
    _mm512_storeu_si512(wholes, whole);
    _mm512_storeu_si512(tops, _mm512_maskz_expand_epi8(odd, split(_mm256_loadu_si256((const void *)from))));
    from += (odds + 1) / 2;
    for (unsigned i = 0; i < n; i += WIDE) {
        __m512i each = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)&wholes[i]));
        __m512i top = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)&tops[i]));
        __mmask64 mask = bytes_of(each);
        __m512i low = _mm512_maskz_expand_epi8(mask, _mm512_loadu_si512(from));

        _mm512_storeu_si512(&diff[i],
                            _mm512_or_epi64(low, _mm512_sllv_epi64(top, _mm512_slli_epi64(each, 3))));
        from += _mm_popcnt_u64(mask);
    }
    return (size_t)(from - in);
}

const struct nof_dfcm_kernel nof_dfcm_avx512 = {
    .isa = NOF_DFCM_ISA_AVX512,
    .predict = predict,
    .pack = pack,
    .decode = decode,
};
