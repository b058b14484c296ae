/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The codec. The first byte: bit 0 the format, bits 1 to 3 the element type, bit 4 what the rest is. 0: chunks, each
 * behind its length in two bytes, which a receiver decodes one after the other; bit 5: with a first byte that is right
 * and a count that is in range. 1: capacity in two bytes, and a message, which goes round. The portable code and the
 * best one of this processor must agree in all that they answer, and both ends in their state. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dfcm_engine.h"
#include "nof/status.h"

#define TABLE_LOG2 NOF_DFCM_TABLE_LOG2_MIN
#define ENDS 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
    if (!holds)
        abort();
}

/* One of the ends, as new. Asking a processor what it has is slow under virtualization, so they are kept. */
static struct nof_dfcm *end(unsigned i, enum nof_dfcm_format format)
{
    static struct nof_dfcm *ends[ENDS][NOF_DFCM_FAST + 1];
    struct nof_dfcm **p = &ends[i][format];

    if (*p == NULL) {
        size_t bytes = nof_dfcm_mem_size(TABLE_LOG2) + NOF_DFCM_ALIGN;
        void *memory = aligned_alloc(NOF_DFCM_ALIGN, bytes - bytes % NOF_DFCM_ALIGN);

        *p =
            nof_dfcm_init(memory, TABLE_LOG2, format, i % 2 == 0 ? NOF_DFCM_ISA_AUTO : NOF_DFCM_ISA_PORTABLE);
        check(*p != NULL);
    }
    nof_dfcm_reset(*p);
    return *p;
}

/* In blocks of exactly their size, so that the sanitizers see one byte too far. */
static uint8_t *copy(const uint8_t *data, size_t len)
{
    uint8_t *block = malloc(len + (len == 0));

    check(block != NULL);
    memcpy(block, data, len);
    return block;
}

/* Both receivers get the chunk; room bytes are left of the message. */
static void decode(struct nof_dfcm *one, struct nof_dfcm *other, enum nof_elem elem, const uint8_t *data,
                   size_t len, size_t room, uint64_t fresh)
{
    uint8_t *chunk = copy(data, len), *out = malloc(room + 1), *again = malloc(room + 1);
    struct nof_dfcm_stats stats = {0};
    uint32_t plain = 0, same = 0;
    int rc = nof_dfcm_decode(one, elem, chunk, len, out, room, &plain, &stats);

    check(out != NULL && again != NULL);
    check(rc == NOF_OK || rc == NOF_EPROTO || rc == NOF_EVERSION);
    check(rc == nof_dfcm_decode(other, elem, chunk, len, again, room, &same, NULL));
    check(plain == same && plain <= room && memcmp(out, again, plain) == 0);
    check(nof_dfcm_digest(one) == nof_dfcm_digest(other));
    if (rc == NOF_OK)
        check(stats.plain_bytes == plain && plain > len && nof_dfcm_plain_bytes(chunk, len) == plain);
    else
        check(stats.bad == 1 && nof_dfcm_digest(one) == fresh);
    free(chunk);
    free(out);
    free(again);
}

static void receive(enum nof_dfcm_format format, enum nof_elem elem, int mended, const uint8_t *data,
                    size_t size)
{
    struct nof_dfcm *one = end(0, format), *other = end(1, format);
    uint64_t fresh = nof_dfcm_digest(one);

    while (size >= 2) {
        size_t len = (size_t)(data[0] | data[1] << 8) % 2048;
        uint8_t chunk[2048];

        data += 2;
        size -= 2;
        len = len < size ? len : size;
        memcpy(chunk, data, len);
        if (mended && len > 4) {
            chunk[0] = (uint8_t)(format | (unsigned)elem << 4);
            chunk[1] %= 4;
            chunk[3] %= 2;
        }
        decode(one, other, elem, chunk, len, 8 * 520, fresh);
        data += len;
        size -= len;
    }
}

static void go_round(enum nof_dfcm_format format, enum nof_elem elem, size_t capacity, const uint8_t *data,
                     size_t size)
{
    struct nof_dfcm *from = end(0, format), *same = end(1, format), *to = end(2, format),
                    *also = end(3, format);
    uint8_t *in = copy(data, size), *out = malloc(capacity), *again = malloc(capacity);

    check(out != NULL && again != NULL);
    for (size_t at = 0; at < size;) {
        struct nof_dfcm_chunk c, d;

        check(nof_dfcm_encode(from, elem, in + at, size - at, out, capacity, &c, NULL) == NOF_OK);
        check(nof_dfcm_encode(same, elem, in + at, size - at, again, capacity, &d, NULL) == NOF_OK);
        check(c.plain_bytes == d.plain_bytes && c.len_bytes == d.len_bytes && c.raw == d.raw);
        check(c.plain_bytes >= 1 && c.plain_bytes <= size - at && c.len_bytes <= capacity);
        check(c.len_bytes <= c.plain_bytes && memcmp(out, again, c.len_bytes) == 0);
        if (c.raw) {
            check(c.len_bytes == c.plain_bytes && memcmp(out, in + at, c.len_bytes) == 0);
            check(nof_dfcm_train(to, elem, out, c.len_bytes, NULL) == NOF_OK);
            check(nof_dfcm_train(also, elem, out, c.len_bytes, NULL) == NOF_OK);
        } else {
            uint8_t *plain = malloc(c.plain_bytes);
            uint32_t got = 0;

            check(plain != NULL);
            check(nof_dfcm_decode(to, elem, out, c.len_bytes, plain, c.plain_bytes, &got, NULL) == NOF_OK);
            check(got == c.plain_bytes && memcmp(plain, in + at, got) == 0);
            check(nof_dfcm_decode(also, elem, out, c.len_bytes, plain, c.plain_bytes, &got, NULL) == NOF_OK);
            check(got == c.plain_bytes && memcmp(plain, in + at, got) == 0);
            free(plain);
        }
        check(nof_dfcm_digest(from) == nof_dfcm_digest(same));
        check(nof_dfcm_digest(from) == nof_dfcm_digest(to) && nof_dfcm_digest(to) == nof_dfcm_digest(also));
        at += c.plain_bytes;
    }
    free(in);
    free(out);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;

    enum nof_dfcm_format format = data[0] & 1 ? NOF_DFCM_FAST : NOF_DFCM_PAPER;
    enum nof_elem elem = (enum nof_elem)((data[0] >> 1 & 7u) % 6 + 1);

    if (data[0] & 16)
        go_round(format, elem, NOF_DFCM_CAPACITY_MIN + (size_t)(data[1] | data[2] << 8) % 9000, data + 3,
                 size - 3);
    else
        receive(format, elem, data[0] & 32, data + 1, size - 1);
    return 0;
}
