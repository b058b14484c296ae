/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SipHash-2-4 with 128 bits of output (Aumasson, Bernstein: "SipHash: a fast short-input PRF").
 * Used for the tag of the handshake, and as the generator of connection ids and nonces: under a
 * secret key its outputs say nothing about each other.
 * Memory: none kept. Threads: any. */
#ifndef NOF_SIPHASH_H
#define NOF_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#define NOF_SIPHASH_KEY_BYTES 16u
#define NOF_SIPHASH_TAG_BYTES 16u

void nof_siphash128(const uint8_t key[NOF_SIPHASH_KEY_BYTES], const uint8_t *data, size_t len_bytes,
                    uint8_t tag_out[NOF_SIPHASH_TAG_BYTES]);

#endif
