/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The codec once more, literally: value by value, as the paper (docs/SOURCES.md, compression, sections 2.2 and 2.3) and
 * docs/DFCM_FORMAT.md have it, sharing nothing with firmware/. Tests hold the firmware against it; `nof bench dfcm` takes it as the
 * measure of ratio and speed.
 *
 * Memory: the caller's; a predictor of zeros has seen nothing. Threads: the caller's. */
#ifndef NOF_DFCM_REFERENCE_H
#define NOF_DFCM_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#define DFCM_REFERENCE_LINES (1u << 15)

struct dfcm_reference {
    struct {
        uint64_t newest, older;
    } line[DFCM_REFERENCE_LINES];
    uint64_t last; /* value */
    uint64_t delta[3]; /* the newest first */
};

/* The paper's stream of n doubles: no header, no raw chunks. out has 8.5 n + 8 bytes. Returns the bytes written; the
 * last one is filled up with zeros. */
size_t dfcm_reference_encode(struct dfcm_reference *p, const uint8_t *in, size_t n, uint8_t *out);
/* Back; trusts its input, which is readable 16 bytes beyond its end. */
void dfcm_reference_decode(struct dfcm_reference *p, const uint8_t *in, size_t n, uint8_t *out);

#endif
