/* SPDX-License-Identifier: BSD-3-Clause
 *
 * General compressors, where their libraries are: each message by itself, no dictionary. */
#include "codecs.h"

#include <limits.h>
#include <stdlib.h>

#ifdef NOF_HAVE_LZ4
#include <lz4.h>

static void *open_lz4(void)
{
    return malloc((size_t)LZ4_sizeofState());
}

static void fresh(void *state, bool forget)
{
    (void)state;
    (void)forget;
}

static size_t compress_lz4(void *state, uint32_t destination, const uint8_t *in, size_t len, uint8_t *out)
{
    (void)destination;
    return (size_t)LZ4_compress_fast_extState(state, (const char *)in, (char *)out, (int)len,
                                              (int)(2 * len + 4096), 1);
}

static int decompress_lz4(void *state, uint32_t destination, const uint8_t *in, size_t packed_bytes,
                          uint8_t *out, size_t len)
{
    (void)state;
    (void)destination;
    return LZ4_decompress_safe((const char *)in, (char *)out, (int)packed_bytes, (int)len) == (int)len ? 0
                                                                                                       : -1;
}

const struct nof_codec nof_codec_lz4 = {"lz4", NULL, open_lz4, free, fresh, compress_lz4, decompress_lz4};
#else
const struct nof_codec nof_codec_lz4 = {
    .name = "lz4",
    .missing = "this build has no liblz4: apt install liblz4-dev, then meson setup --reconfigure BUILD",
};
#endif

#ifdef NOF_HAVE_ZSTD
#include <zstd.h>

struct zstd {
    ZSTD_CCtx *c;
    ZSTD_DCtx *d;
};

static void close_zstd(void *state)
{
    struct zstd *z = state;

    ZSTD_freeCCtx(z->c);
    ZSTD_freeDCtx(z->d);
    free(z);
}

static void *open_zstd(void)
{
    struct zstd *z = malloc(sizeof(*z));

    if (z == NULL)
        return NULL;
    *z = (struct zstd){ZSTD_createCCtx(), ZSTD_createDCtx()};
    if (z->c != NULL && z->d != NULL)
        return z;
    close_zstd(z);
    return NULL;
}

static void fresh_zstd(void *state, bool forget)
{
    (void)state;
    (void)forget;
}

static size_t compress_zstd(void *state, uint32_t destination, const uint8_t *in, size_t len, uint8_t *out)
{
    struct zstd *z = state;

    (void)destination;
    return ZSTD_compressCCtx(z->c, out, 2 * len + 4096, in, len, 1);
}

static int decompress_zstd(void *state, uint32_t destination, const uint8_t *in, size_t packed_bytes,
                           uint8_t *out, size_t len)
{
    struct zstd *z = state;

    (void)destination;
    return ZSTD_decompressDCtx(z->d, out, len, in, packed_bytes) == len ? 0 : -1;
}

const struct nof_codec nof_codec_zstd1 = {"zstd1",    NULL,          open_zstd,      close_zstd,
                                          fresh_zstd, compress_zstd, decompress_zstd};
#else
const struct nof_codec nof_codec_zstd1 = {
    .name = "zstd1",
    .missing = "this build has no libzstd: apt install libzstd-dev, then meson setup --reconfigure BUILD",
};
#endif
