/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Increments of a message, as bits of its units (nof/delta.h): a value that knows no NIC.
 *
 *   sender    next() -> a run of units that are ready and were not taken, or none
 *   receiver  comes() -> may these bytes come?    arrives() -> these bytes are in the buffer
 *
 * A run begins at a unit and ends at one, or with the message. What leaves of it, leaves in order; so pieces that follow
 * each other without a gap are one run, and a unit has arrived when its last byte has.
 *
 * `ready` is written by the host while we read: every word is read once, and what it says of a unit that is taken does not
 * count. The other words are the NIC's alone. */
#ifndef NOF_DELTA_ENGINE_H
#define NOF_DELTA_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "nof/delta.h"

struct nof_delta_run {
    uint64_t offset, end; /* bytes */
};

static inline bool nof_delta_has(const uint64_t *bits, uint64_t unit)
{
    return __atomic_load_n(&bits[unit / 64], __ATOMIC_ACQUIRE) >> unit % 64 & 1;
}

/* Bytes of units until the end of the highest one that is taken, at most `bytes`. */
uint64_t nof_delta_extent(const struct nof_delta_taken *taken, uint32_t unit_log2, uint64_t bytes);
/* The next run from byte `from` on, at the end from the beginning again, within the first `bytes` of the message; its units
 * are taken. ready NULL: all are. False: there is none. */
bool nof_delta_next(const struct nof_delta_ready *ready, struct nof_delta_taken *taken, uint32_t unit_log2,
                    uint64_t bytes, uint64_t from, struct nof_delta_run *out);

/* n bytes at `offset` come, of which `at` is where the bytes before them ended. False: they begin a run within a unit, or what
 * they begin has come before. */
bool nof_delta_comes(struct nof_delta_taken *came, uint32_t unit_log2, uint64_t at, uint64_t offset,
                     uint64_t n);
/* n bytes at `offset` are in the buffer, as they came, of the `bytes` that are wanted of the message. */
void nof_delta_arrives(struct nof_delta_arrival *arrival, uint64_t offset, uint64_t n, uint64_t bytes);
/* All of the first `bytes` are. */
void nof_delta_arrives_all(struct nof_delta_arrival *arrival, uint64_t bytes);

#endif
