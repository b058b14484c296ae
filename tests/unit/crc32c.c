/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/crc32c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Bit by bit, from the polynomial. */
static uint32_t slow(const uint8_t *p, size_t n)
{
    uint32_t crc = 0xffffffffu;

    while (n-- > 0) {
        crc ^= *p++;
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (0x82f63b78u & (0u - (crc & 1)));
    }
    return ~crc;
}

static void gives_the_published_check_values(void **state)
{
    uint8_t b[32];

    (void)state;
    assert_int_equal(nof_crc32c("123456789", 9), 0xe3069283u);
    /* RFC 3720, appendix B.4 */
    memset(b, 0, sizeof(b));
    assert_int_equal(nof_crc32c(b, 32), 0x8a9136aau);
    memset(b, 0xff, sizeof(b));
    assert_int_equal(nof_crc32c(b, 32), 0x62a8ab43u);
    for (unsigned i = 0; i < 32; i++)
        b[i] = (uint8_t)i;
    assert_int_equal(nof_crc32c(b, 32), 0x46dd794eu);
}

static void agrees_with_the_polynomial_at_every_length_and_alignment(void **state)
{
    uint8_t b[700];

    (void)state;
    for (unsigned i = 0; i < sizeof(b); i++)
        b[i] = (uint8_t)(i * i + 3 * i);
    for (size_t at = 0; at < 9; at++)
        for (size_t n = 0; n + at <= sizeof(b); n += n < 70 ? 1 : 37)
            assert_int_equal(nof_crc32c(b + at, n), slow(b + at, n));
}

static void joins_two_pieces_of_any_lengths(void **state)
{
    static const size_t seconds[] = {0, 1, 2, 3, 4, 31, 32, 255, 256, 500};
    struct nof_crc32c_join join;
    uint8_t b[700];

    (void)state;
    for (unsigned i = 0; i < sizeof(b); i++)
        b[i] = (uint8_t)(7 * i * i + i + 1);
    for (size_t k = 0; k < sizeof(seconds) / sizeof(seconds[0]); k++) {
        nof_crc32c_join_init(&join, (uint32_t)seconds[k]);
        for (size_t first = 0; first + seconds[k] <= sizeof(b); first += 1 + first / 3)
            assert_int_equal(nof_crc32c_join(&join, nof_crc32c(b, first), nof_crc32c(b + first, seconds[k])),
                             nof_crc32c(b, first + seconds[k]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_published_check_values),
        cmocka_unit_test(joins_two_pieces_of_any_lengths),
        cmocka_unit_test(agrees_with_the_polynomial_at_every_length_and_alignment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
