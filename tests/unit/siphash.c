/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/siphash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Published vectors of SipHash-2-4-128: key 00..0f, message 00, 01, .. of the given length. */
static const struct {
    size_t len;
    uint8_t tag[16];
} vectors[] = {
    {0, {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93}},
    {1, {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45}},
    {2, {0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde, 0xf6, 0x0a, 0xff, 0xe4}},
    {3, {0x9c, 0x70, 0xb6, 0x0c, 0x52, 0x67, 0xa9, 0x4e, 0x5f, 0x33, 0xb6, 0xb0, 0x29, 0x85, 0xed, 0x51}},
    {63, {0x51, 0x50, 0xd1, 0x77, 0x2f, 0x50, 0x83, 0x4a, 0x50, 0x3e, 0x06, 0x9a, 0x97, 0x3f, 0xbd, 0x7c}},
};

static void gives_the_published_vectors(void **state)
{
    uint8_t key[16], text[64], tag[16];

    (void)state;
    for (unsigned i = 0; i < 64; i++)
        text[i] = (uint8_t)i;
    memcpy(key, text, 16);
    for (unsigned k = 0; k < sizeof(vectors) / sizeof(vectors[0]); k++) {
        nof_siphash128(key, text, vectors[k].len, tag);
        assert_memory_equal(tag, vectors[k].tag, 16);
    }
}

static void every_bit_of_key_and_text_counts(void **state)
{
    uint8_t key[16] = {0}, text[24] = {0}, first[16], tag[16];

    (void)state;
    nof_siphash128(key, text, sizeof(text), first);
    for (unsigned b = 0; b < 8 * (sizeof(key) + sizeof(text)); b++) {
        uint8_t *p = b < 128 ? &key[b / 8] : &text[(b - 128) / 8];

        *p ^= (uint8_t)(1u << b % 8);
        nof_siphash128(key, text, sizeof(text), tag);
        assert_memory_not_equal(tag, first, 16);
        *p ^= (uint8_t)(1u << b % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_published_vectors),
        cmocka_unit_test(every_bit_of_key_and_text_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
