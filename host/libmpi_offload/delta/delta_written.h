/* SPDX-License-Identifier: BSD-3-Clause */
/* A delta send whose pages are guarded: which thread writes which part, and with which it has done.
 *
 * Under the lock of handlers (delta_hold.h), by handlers, too. What sets one up is delta_watch.c. */
#ifndef NOF_MPI_DELTA_WRITTEN_H
#define NOF_MPI_DELTA_WRITTEN_H

#include <pthread.h>

#include "delta/delta_out.h"
#include "delta/delta_pages.h"
#include "delta/delta_parts.h"

struct nof_delta_access {
    uintptr_t address;
    bool by_libc; /* by a function of the C library */
    uintptr_t into; /* then, if it lies in the message: the function fills a range that begins here */
};

/* Parts that a thread has open lie between these, among those of others. */
struct nof_delta_writer {
    pthread_t thread;
    /* Calls of the C library that fill one range behind the other: */
    uintptr_t into; /* where the last one began; 0: there was none */
    uint32_t open, top; /* parts from .. behind that they have written, and no one else writes */
    uint32_t first, behind; /* equal: none */
};

struct nof_delta_written {
    struct nof_delta_parts parts;
    struct nof_delta_out *out;
    const struct nof_delta_pages_ops *ops;
    struct nof_delta_writer writer[NOF_DELTA_WRITERS];
    uintptr_t
        twice; /* an address that was written after its part had gone, or, where writes are no faults, its page; 0: none */
};

/* A write faulted there. False: it was no guard of ours. */
bool nof_delta_written_fault(struct nof_delta_written *w, const struct nof_delta_access *access);
/* Where writes are no faults: what has been written since the last look. */
void nof_delta_written_look(struct nof_delta_written *w);
/* Somebody else than a thread of the program is about to write there. */
void nof_delta_written_late(struct nof_delta_written *w, uintptr_t low, uintptr_t high);

#endif
