/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How libFuzzer changes inputs that are records: whole ones are left out, doubled, exchanged or taken from the other
 * input, and of one some bytes change. So what an input has built up survives. */
#include <string.h>

#include "moves.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max_size, unsigned seed);

static unsigned draw(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Room for one more, which is that at `from`. */
static size_t insert(uint8_t *data, size_t n, size_t at, size_t from)
{
    uint8_t rec[RECORD_BYTES];
    memcpy(rec, data + from * RECORD_BYTES, RECORD_BYTES);
    memmove(data + (at + 1) * RECORD_BYTES, data + at * RECORD_BYTES, (n - at) * RECORD_BYTES);
    memcpy(data + at * RECORD_BYTES, rec, RECORD_BYTES);
    return n + 1;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size_t n = size / RECORD_BYTES;
    size_t most = max_size / RECORD_BYTES;
    if (most > RECORDS_MAX)
        most = RECORDS_MAX;
    if (n < 2 || n > most) {
        n = n == 0 ? 1 : n;
        if (most < 2)
            return size;
        if (n > most)
            n = most;
        memset(data + size, 0, size < RECORD_BYTES ? RECORD_BYTES - size : 0);
        if (n == 1) {
            memset(data + RECORD_BYTES, 0, RECORD_BYTES);
            n = 2;
        }
    }
    size_t at = 1 + draw(&seed) % (n - 1);
    size_t from = 1 + draw(&seed) % (n - 1);
    uint8_t *rec = data + (draw(&seed) % 16 == 0 ? 0 : at * RECORD_BYTES);
    switch (draw(&seed) % 8) {
    case 0:
        if (n > 2) {
            memmove(data + at * RECORD_BYTES, data + (at + 1) * RECORD_BYTES, (n - at - 1) * RECORD_BYTES);
            n--;
        }
        break;
    case 1:
    case 2:
        if (n < most)
            n = insert(data, n, at, from);
        break;
    case 3:
        if (n < most) {
            n = insert(data, n, at, from);
            (void)LLVMFuzzerMutate(data + at * RECORD_BYTES, RECORD_BYTES, RECORD_BYTES);
        }
        break;
    case 4:
        rec[draw(&seed) % RECORD_BYTES] = (uint8_t)draw(&seed);
        rec[draw(&seed) % RECORD_BYTES] = (uint8_t)draw(&seed);
        break;
    case 5:
        for (unsigned i = 0; i < RECORD_BYTES; i++)
            rec[i] = (uint8_t)draw(&seed);
        break;
    case 6:
        rec[draw(&seed) % RECORD_BYTES] = (uint8_t)draw(&seed);
        break;
    default:
        (void)LLVMFuzzerMutate(rec, RECORD_BYTES, RECORD_BYTES);
        break;
    }
    return n * RECORD_BYTES;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max_size, unsigned seed)
{
    size_t na = a_size / RECORD_BYTES, nb = b_size / RECORD_BYTES;
    size_t most = max_size / RECORD_BYTES;
    if (na < 2 || nb < 2 || most < 2)
        return 0;
    if (most > RECORDS_MAX)
        most = RECORDS_MAX;
    size_t head = 1 + draw(&seed) % (na - 1);
    size_t from = 1 + draw(&seed) % (nb - 1);
    size_t tail = nb - from;
    if (head > most)
        head = most;
    if (tail > most - head)
        tail = most - head;
    memcpy(out, a, head * RECORD_BYTES);
    memcpy(out + head * RECORD_BYTES, b + from * RECORD_BYTES, tail * RECORD_BYTES);
    return (head + tail) * RECORD_BYTES;
}
