/* SPDX-License-Identifier: BSD-3-Clause */
/* From a schedule to a program of the NIC (nof/program.h).
 *
 *   schedule   own steps | transfers, fences, own steps ... | own steps
 *              the host's  begin     the program        end   the host's
 *
 * Own steps (copies, reductions, updates) that follow each other become a step each that the NIC does, one behind the other:
 * reductions of predefined operations, copies of one block. If one of them is anything else, or a floating operation where
 * this thread computes otherwise than the NIC (op.h), they become one HOST step. What comes later in the round waits for
 * them, as it does where the host goes through the list. Those before the first transfer are done before the program
 * starts, those behind the last one when it has ended; the NIC does these, if it can, where the program does not wait
 * (non-blocking and persistent ones).
 *
 * Places are relative to the bases of a START: each is where a buffer of the program or a temporary begins that steps
 * name, in the order in which they do. So equal calls have equal programs, wherever their buffers lie. What belongs to which
 * is found by the addresses; where that is another one than was meant, or there are more than NOF_PROGRAM_BASES, the program
 * is right all the same, and equal only to those whose buffers lie alike.
 *
 * Pure: reads the schedule, and how this thread computes, alone. Threads: under the library's lock. */
#ifndef NOF_MPI_COMPILE_H
#define NOF_MPI_COMPILE_H

#include "coll/schedule.h"
#include "nof/program.h"

enum nof_compiled {
    NOF_COMPILED,
    NOF_COMPILE_OWN, /* no transfers */
    NOF_COMPILE_SHAPE, /* an inter-communicator, too many steps, or a copy that does not fit */
    NOF_COMPILE_TYPE, /* bytes that lie apart, of a type that the channel does not walk */
    NOF_COMPILE_MEMORY
};

struct nof_chan;

struct nof_image {
    struct nof_program_head *program; /* malloc'ed, together with origin */
    size_t bytes;
    uint64_t base[NOF_PROGRAM_BASES];
    uint32_t *origin; /* of each step of the program that in the schedule; of a HOST step, its first */
    size_t begin; /* step of the schedule: the first transfer */
    size_t end; /* behind the last one */
    bool ieee; /* the host computed floating operations as the NIC does */
};

/* The image is free()d by nof_image_free(), whatever the answer. */
enum nof_compiled nof_compile(const struct nof_sched *s, const struct nof_chan *channel,
                              struct nof_image *image_out);
void nof_image_free(struct nof_image *image);

#endif
