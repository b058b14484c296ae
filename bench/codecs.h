/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `nof bench dfcm` compares: message in, bytes out, and back. */
#ifndef NOF_BENCH_CODECS_H
#define NOF_BENCH_CODECS_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

/* Payload of a DATA frame at MTU 1500: IPv4, UDP, common header and fixed fields taken off. */
#define NOF_BENCH_CHUNK_BYTES (1500u - 20u - 8u - 32u - 16u)

struct nof_codec {
    const char *name;
    const char *missing; /* NULL, or why it is not in this build, and what to type */
    void *(*open)(void); /* NULL: no memory */
    void (*close)(void *state);
    /* All predictors as new; what was compressed before is forgotten if `forget`, else read from its beginning. */
    void (*fresh)(void *state, bool forget);
    /* Returns the bytes that travel; out has 2 len + 4096. */
    size_t (*compress)(void *state, uint32_t destination, const uint8_t *in, size_t len, uint8_t *out);
    /* in: packed_bytes that compress() made of len bytes, in the same order of messages. 0, or -1. */
    int (*decompress)(void *state, uint32_t destination, const uint8_t *in, size_t packed_bytes, uint8_t *out,
                      size_t len);
};

/* The firmware's, in both formats; the literal one; general ones, message by message. */
extern const struct nof_codec nof_codec_fast, nof_codec_paper, nof_codec_reference, nof_codec_lz4,
    nof_codec_zstd1;

#endif
