/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bounce arena never gives two owners the same byte, and gets everything back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "bounce.h"
#include "nof/status.h"

#define AREA (256u * 1024)
#define PIECE 16384u
#define PIECES 600

static unsigned char owner[AREA];

static void random_use_never_overlaps(void **state)
{
    struct nof_bounce b;
    struct {
        uint64_t offset;
        size_t len;
    } out[PIECES];
    unsigned n = 0;
    unsigned refused = 0;

    (void)state;
    srand(1);
    memset(owner, 0, sizeof(owner));
    assert_int_equal(nof_bounce_open(&b, AREA, PIECE), NOF_OK);
    for (int step = 0; step < 200000; step++) {
        if (n < PIECES && rand() % 2 == 0) {
            size_t len = (size_t)(rand() % (1 << (rand() % 15))) + 1;
            uint64_t offset;

            if (nof_bounce_alloc(&b, len, &offset) != NOF_OK) {
                refused++;
                continue;
            }
            assert_true(offset + len <= AREA && offset % 64 == 0);
            for (size_t i = 0; i < len; i++)
                assert_int_equal(owner[offset + i]++, 0);
            out[n].offset = offset;
            out[n++].len = len;
        } else if (n > 0) {
            unsigned i = (unsigned)rand() % n;

            memset(owner + out[i].offset, 0, out[i].len);
            nof_bounce_free(&b, out[i].offset);
            out[i] = out[--n];
        }
    }
    assert_true(refused > 0);
    while (n > 0)
        nof_bounce_free(&b, out[--n].offset);
    /* Everything is back: the whole area can be had in largest pieces. */
    for (unsigned i = 0; i < AREA / PIECE; i++)
        assert_int_equal(nof_bounce_alloc(&b, PIECE, &out[i].offset), NOF_OK);
    assert_int_equal(nof_bounce_alloc(&b, 1, &out[0].offset), NOF_EAGAIN);
    nof_bounce_close(&b);
}

static void impossible_requests_are_refused(void **state)
{
    struct nof_bounce b;
    uint64_t offset;

    (void)state;
    assert_int_equal(nof_bounce_open(&b, AREA, 1u << 20), NOF_EINVAL);
    assert_int_equal(nof_bounce_open(&b, 0, 0), NOF_OK);
    assert_int_equal(nof_bounce_alloc(&b, 8, &offset), NOF_EAGAIN);
    nof_bounce_close(&b);
    assert_int_equal(nof_bounce_open(&b, AREA, PIECE), NOF_OK);
    assert_int_equal(nof_bounce_alloc(&b, PIECE + 1, &offset), NOF_EAGAIN);
    assert_int_equal(nof_bounce_alloc(&b, 0, &offset), NOF_OK);
    nof_bounce_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_use_never_overlaps),
        cmocka_unit_test(impossible_requests_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
