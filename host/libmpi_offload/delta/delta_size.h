/* SPDX-License-Identifier: BSD-3-Clause */
/* How large an increment of a delta message is: NOF_DELTA_SIZE=BYTES, or auto (the default), by a model of its cost.
 *
 * A message of N bytes whose program makes p bytes a nanosecond, over a link of L, in increments of d bytes that cost c each,
 * through k tasks in a row, takes
 *
 *     N / min(p, L) + (k - 1) d (1 / p + 1 / L) + c N / d        least at d = sqrt(c N / ((k - 1) (1 / p + 1 / L)))
 *
 * which is held between `least` and max(least, N / 4). How deep the row is nobody tells: k is 2. */
#ifndef NOF_MPI_DELTA_SIZE_H
#define NOF_MPI_DELTA_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOF_DELTA_LEAST_BYTES 1024u /* explicit calls */
#define NOF_DELTA_CALL_NS \
    2000u /* what an increment costs that a call announces: the call, the NIC's turn, the frame's head */

/* Reads the environment. 0, or -1 and a sentence. */
int nof_delta_size_open(char *text, size_t text_bytes);

/* Of a message of `bytes` of which the program makes 1 KiB in ns_per_kib; 0: not known, as the last one. `least`, or a quarter of the
 * message, at most; from `least` on, but where the environment says less. */
size_t nof_delta_size(size_t bytes, uint64_t ns_per_kib, uint64_t cost_ns, size_t least);

/* How fast the program was, for the next message. Any thread. */
void nof_delta_size_learn(uint64_t ns_per_kib);

/* NOF_DELTA: what announces increments. */
enum nof_delta_trigger {
    NOF_DELTA_EXPLICIT, /* the program's calls */
    NOF_DELTA_OS, /* its pages (delta_watch.h), whatever it calls */
    NOF_DELTA_AUTO, /* pages where there are some; else calls */
};
enum nof_delta_trigger nof_delta_trigger(void);

#endif
