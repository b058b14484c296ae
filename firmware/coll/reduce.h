/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions of the NIC core: the predefined operations of nof/reductions.h on bytes wherever they lie, with the bits that the
 * MPI library gives. Pure: no state, no memory of its own.
 *
 * A vector is combined in pieces of at most nof_reduce_most() elements, so that a call is short: the piece is the caller's
 * step, what is left is for the next turn. */
#ifndef NOF_COLL_REDUCE_H
#define NOF_COLL_REDUCE_H

#include <stdint.h>

#include "nof/reductions.h"

/* Bytes of a piece at most: some microseconds, also of the types that are computed without instructions of their own (F128,
 * C128: 30 to 100 ns an element). */
#define NOF_REDUCE_PIECE_BYTES 16384u
#define NOF_REDUCE_PIECE_BYTES_SLOW 1024u

/* Elements of a piece at most; 0: nothing is defined on the type. Takes any number. */
uint32_t nof_reduce_most(unsigned type);

/* inout[i] = in[i] op inout[i], i < count; `in` first, for what does not commute. Neither needs an alignment; they do not
 * overlap, and each is count * nof_reduce_bytes(type) long. op, type: any numbers, as they came from a host.
 * 0, or NOF_EINVAL: the operation is not defined on the type, or count is more than a piece; nothing happened. */
int nof_reduce(unsigned op, unsigned type, void *inout, const void *in, uint32_t count);

#endif
