/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What one core of a NIC has of what is the whole NIC's. */
#ifndef NOFD_PARTS_H
#define NOFD_PARTS_H

#include <stdint.h>

#include "nofd/control/daemon.h"

#define NOFD_FRAME_HEAD_BYTES 64u /* Ethernet and a VLAN tag, rounded up */

/* Rounded up. */
static inline uint32_t nofd_part(const struct nofd *d, uint32_t whole)
{
    return (whole + d->options.cores_per_nic - 1) / d->options.cores_per_nic;
}

/* No part is 0, which is no bound, or less than a link can have; a whole that is stays so, to be refused by the link. */
static inline uint64_t nofd_part_rate(const struct nofd *d, uint64_t whole_bps)
{
    uint64_t bps = whole_bps / d->options.cores_per_nic;

    if (whole_bps < NOF_FABRIC_RATE_LEAST)
        return whole_bps;
    return bps > NOF_FABRIC_RATE_LEAST ? bps : NOF_FABRIC_RATE_LEAST;
}

/* A whole frame at least: a part that holds none would let none through. */
static inline uint32_t nofd_part_buffer(const struct nofd *d, uint64_t whole_bytes, uint32_t mtu_bytes)
{
    uint64_t bytes = whole_bytes < UINT32_MAX ? whole_bytes : UINT32_MAX;
    uint32_t frame_bytes = mtu_bytes + NOFD_FRAME_HEAD_BYTES;

    if (bytes <= frame_bytes)
        return (uint32_t)bytes;
    bytes /= d->options.cores_per_nic;
    return bytes > frame_bytes ? (uint32_t)bytes : frame_bytes;
}

#endif
