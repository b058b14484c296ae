/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a short program, brought near: copied to where the NIC reaches it by itself, for one run. Else each message of a few
 * bytes is a system call of its NIC's, or an order to another process, on either side.
 *
 * Of blocking collectives alone: results of others come though no rank calls.
 *
 *   open() -> START with bases() -> take(), of receives that the host did -> close(), or leave()
 *
 * Only what the steps name is copied, and what they write is copied back at the end; bytes between are nobody's business. A program
 * is near if all that it names, with what lies between, is no more than the NIC's side lends (nof/bar.h: bounce_max_bytes), and no
 * step is the host's or of a layout. Where it is not, all calls do nothing and bases() are the image's.
 *
 * Each byte is there once: a program whose bases overlap is not near. It is the library that touches the program's buffers: memory that
 * is not there is a fault of the process, as where the host drives, and no MPI_ERR_BUFFER.
 *
 * Memory: lent by the channel. Threads: under the library's lock. */
#ifndef NOF_MPI_NEAR_H
#define NOF_MPI_NEAR_H

#include <stdbool.h>

#include "chan/chan.h"
#include "coll/compile.h"

struct nof_near {
    char *memory; /* NULL: not near */
    uint64_t address; /* of it, for the NIC */
    uint64_t base[NOF_PROGRAM_BASES];
};

void nof_near_open(struct nof_near *near, const struct nof_chan_programs *nic, const struct nof_image *image);
static inline const uint64_t *nof_near_bases(const struct nof_near *near, const struct nof_image *image)
{
    return near->memory != NULL ? near->base : image->base;
}
/* The host did this step of the program in the program's own memory. */
void nof_near_take(const struct nof_near *near, const struct nof_image *image, uint32_t step);
/* The NIC reads and writes it no more. good: what it wrote is wanted. */
void nof_near_close(struct nof_near *near, const struct nof_chan_programs *nic, const struct nof_image *image,
                    bool good);
/* It failed, and sends that were on their way may read on (nof/program.h): the memory is nobody's any more. */
void nof_near_leave(struct nof_near *near);

#endif
