/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers in bytes: how frames, chunks and the helpers' windows hold them. */
#ifndef NOF_BYTES_H
#define NOF_BYTES_H

#include <stdint.h>
#include <string.h>

/* Little-endian values at any alignment. Where the machine is little-endian they are one instruction
 * each; compilers do not reliably make that of the bytes. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static inline uint16_t nof_get16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}
static inline uint32_t nof_get32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}
static inline uint64_t nof_get64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}
static inline void nof_put16(uint8_t *p, uint16_t v)
{
    memcpy(p, &v, sizeof(v));
}
static inline void nof_put32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, sizeof(v));
}
static inline void nof_put64(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, sizeof(v));
}
#else
static inline uint16_t nof_get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}
static inline uint32_t nof_get32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t nof_get64(const uint8_t *p)
{
    return (uint64_t)nof_get32(p) | (uint64_t)nof_get32(p + 4) << 32;
}
static inline void nof_put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}
static inline void nof_put32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}
static inline void nof_put64(uint8_t *p, uint64_t v)
{
    nof_put32(p, (uint32_t)v);
    nof_put32(p + 4, (uint32_t)(v >> 32));
}
#endif

/* In the network's order. */
static inline uint16_t nof_get_be16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}
static inline uint32_t nof_get_be32(const uint8_t *p)
{
    return (uint32_t)nof_get_be16(p) << 16 | nof_get_be16(p + 2);
}
static inline void nof_put_be16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}
static inline void nof_put_be32(uint8_t *p, uint32_t v)
{
    nof_put_be16(p, v >> 16);
    nof_put_be16(p + 2, v);
}

#endif
