/* SPDX-License-Identifier: BSD-3-Clause */
#include "codecs.h"

#include <stdlib.h>
#include <string.h>

#include "dfcm_engine.h"
#include "../tests/dfcm_reference/dfcm_reference.h"
#include "messages.h"
#include "nof/status.h"

struct firmware {
    enum nof_dfcm_format format;
    void *memory[NOF_MESSAGES_DESTINATIONS];
    struct nof_dfcm *predictor[NOF_MESSAGES_DESTINATIONS];
    uint32_t *chunk; /* lengths; the top bit says raw */
    size_t n, room, at;
};

#define RAW (1u << 31)

static void *open_firmware(enum nof_dfcm_format format)
{
    struct firmware *f = calloc(1, sizeof(*f));

    if (f != NULL)
        f->format = format;
    return f;
}

static void *open_fast(void)
{
    return open_firmware(NOF_DFCM_FAST);
}

static void *open_paper(void)
{
    return open_firmware(NOF_DFCM_PAPER);
}

static void close_firmware(void *state)
{
    struct firmware *f = state;

    for (unsigned i = 0; i < NOF_MESSAGES_DESTINATIONS; i++)
        free(f->memory[i]);
    free(f->chunk);
    free(f);
}

static void fresh_firmware(void *state, bool forget)
{
    struct firmware *f = state;

    for (unsigned i = 0; i < NOF_MESSAGES_DESTINATIONS; i++)
        if (f->predictor[i] != NULL)
            nof_dfcm_reset(f->predictor[i]);
    f->at = 0;
    if (forget)
        f->n = 0;
}

static struct nof_dfcm *predictor_of(struct firmware *f, uint32_t destination)
{
    if (f->predictor[destination] == NULL) {
        size_t size = nof_dfcm_mem_size(NOF_DFCM_TABLE_LOG2) + NOF_DFCM_ALIGN;

        f->memory[destination] = aligned_alloc(NOF_DFCM_ALIGN, size - size % NOF_DFCM_ALIGN);
        f->predictor[destination] =
            nof_dfcm_init(f->memory[destination], NOF_DFCM_TABLE_LOG2, f->format, NOF_DFCM_ISA_AUTO);
        if (f->predictor[destination] == NULL)
            abort();
    }
    return f->predictor[destination];
}

static void note_chunk(struct firmware *f, const struct nof_dfcm_chunk *c)
{
    if (f->n == f->room) {
        f->room = f->room * 2 + 1024;
        f->chunk = realloc(f->chunk, f->room * sizeof(*f->chunk));
        if (f->chunk == NULL)
            abort();
    }
    f->chunk[f->n++] = c->len_bytes | (c->raw ? RAW : 0);
}

static size_t compress_firmware(void *state, uint32_t destination, const uint8_t *in, size_t len,
                                uint8_t *out)
{
    struct firmware *f = state;
    struct nof_dfcm *p = predictor_of(f, destination);
    size_t used = 0;

    for (size_t at = 0; at < len;) {
        struct nof_dfcm_chunk c;

        nof_dfcm_encode(p, NOF_ELEM_F64, in + at, len - at, out + used, NOF_BENCH_CHUNK_BYTES, &c, NULL);
        note_chunk(f, &c);
        at += c.plain_bytes;
        used += c.len_bytes;
    }
    return used;
}

static int decompress_firmware(void *state, uint32_t destination, const uint8_t *in, size_t packed_bytes,
                               uint8_t *out, size_t len)
{
    struct firmware *f = state;
    struct nof_dfcm *p = predictor_of(f, destination);
    size_t used = 0;

    for (size_t at = 0; at < len;) {
        uint32_t chunk = f->chunk[f->at++], bytes = chunk & ~RAW;
        uint32_t plain = bytes;

        if (chunk & RAW) {
            nof_dfcm_train(p, NOF_ELEM_F64, in + used, bytes, NULL);
            memcpy(out + at, in + used, bytes);
        } else if (nof_dfcm_decode(p, NOF_ELEM_F64, in + used, bytes, out + at, len - at, &plain, NULL) !=
                   NOF_OK) {
            return -1;
        }
        used += bytes;
        at += plain;
    }
    return used == packed_bytes ? 0 : -1;
}

const struct nof_codec nof_codec_fast = {
    "fast", NULL, open_fast, close_firmware, fresh_firmware, compress_firmware, decompress_firmware,
};
const struct nof_codec nof_codec_paper = {
    "paper", NULL, open_paper, close_firmware, fresh_firmware, compress_firmware, decompress_firmware,
};

struct reference {
    struct dfcm_reference *predictor[NOF_MESSAGES_DESTINATIONS];
};

static void *open_reference(void)
{
    return calloc(1, sizeof(struct reference));
}

static void close_reference(void *state)
{
    struct reference *r = state;

    for (unsigned i = 0; i < NOF_MESSAGES_DESTINATIONS; i++)
        free(r->predictor[i]);
    free(r);
}

static void fresh_reference(void *state, bool forget)
{
    struct reference *r = state;

    (void)forget;
    for (unsigned i = 0; i < NOF_MESSAGES_DESTINATIONS; i++)
        if (r->predictor[i] != NULL)
            memset(r->predictor[i], 0, sizeof(*r->predictor[i]));
}

static struct dfcm_reference *reference_of(struct reference *r, uint32_t destination)
{
    if (r->predictor[destination] == NULL) {
        r->predictor[destination] = calloc(1, sizeof(struct dfcm_reference));
        if (r->predictor[destination] == NULL)
            abort();
    }
    return r->predictor[destination];
}

/* The bytes behind the doubles, which recorded messages have not, would travel as they are. */
static size_t compress_reference(void *state, uint32_t destination, const uint8_t *in, size_t len,
                                 uint8_t *out)
{
    size_t used = dfcm_reference_encode(reference_of(state, destination), in, len / 8, out);

    memcpy(out + used, in + len / 8 * 8, len % 8);
    return used + len % 8;
}

static int decompress_reference(void *state, uint32_t destination, const uint8_t *in, size_t packed_bytes,
                                uint8_t *out, size_t len)
{
    dfcm_reference_decode(reference_of(state, destination), in, len / 8, out);
    memcpy(out + len / 8 * 8, in + packed_bytes - len % 8, len % 8);
    return 0;
}

const struct nof_codec nof_codec_reference = {
    "reference",          NULL, open_reference, close_reference, fresh_reference, compress_reference,
    decompress_reference,
};
