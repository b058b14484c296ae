/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that this process has open at its NIC. One that has run stays open, idle, so that the next equal one of its
 * communicator is started with one descriptor, and neither copied nor validated again.
 *
 *   take() -> the channel's start() -> heard(ENDED or DECLINED) -> start() ... -> give() or drop()
 *
 * Who takes one has it alone: while it runs, an equal one is opened beside it. Equal is what has the same bytes
 * (nof/program.h: places are relative to a start's bases). Of those that are idle the ones that ran last stay, at most
 * NOF_PROGRAM_CACHE_PROGRAMS with NOF_PROGRAM_CACHE_BYTES; they go with their communicator, with a layout that they name, and
 * where the NIC has no room for another.
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_PROGRAM_CACHE_H
#define NOF_MPI_PROGRAM_CACHE_H

#include "chan/chan.h"
#include "nof/program.h"

#define NOF_PROGRAM_CACHE_PROGRAMS 16u
#define NOF_PROGRAM_CACHE_BYTES (64u * 1024u)

struct nof_cached_program {
    struct nof_chan_program program;
    const struct nof_chan_programs *nic;
    struct nof_cached_program *next, *prev; /* among those that are idle */
    uint64_t hash;
    size_t bytes;
    uint32_t ctx;
    struct nof_program_head *head; /* behind this struct */
};

/* An equal one that is idle, or one that is opened now: as nic->open() answers. The bytes are copied. */
int nof_program_cache_take(const struct nof_chan_programs *nic, uint32_t ctx,
                           const struct nof_program_head *head, size_t bytes,
                           struct nof_cached_program **program_out);
/* Of one that was taken, and does not run. give: it can run again, unless the NIC does not have it. */
void nof_program_cache_give(struct nof_cached_program *p);
void nof_program_cache_drop(struct nof_cached_program *p);
/* The NIC had no room for it: idle ones are closed, as many as are as long as this one, and it is opened once more. False:
 * that was not why, there are none, or it cannot be. */
bool nof_program_cache_open_again(struct nof_cached_program *p);

/* Idle ones of the communicator with this context, or that name this layout, are closed; all of them. */
void nof_program_cache_forget_comm(uint32_t ctx);
void nof_program_cache_forget_layout(uint32_t name, uint32_t generation);
void nof_program_cache_clear(void);

#endif
