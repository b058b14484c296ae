/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways in which writes to pages can be caught, and pages hidden, and which of them a message takes: NOF_DELTA_TRIGGER, or the
 * info key nof_delta_trigger of its communicator, each mprotect, userfaultfd, pagemap, or auto (the default), which is the one of
 * the first two that costs least here, by measurement when the first such message begins (docs/decisions/0037, 0053). pagemap
 * hides none: receives are as with auto.
 *
 * Under the library's lock, but for the fault; after nof_delta_fault_open(). */
#ifndef NOF_MPI_DELTA_WAY_H
#define NOF_MPI_DELTA_WAY_H

#include "delta/delta_pages.h"

enum nof_delta_way {
    NOF_DELTA_WAY_UNSAID, /* as the environment says */
    NOF_DELTA_WAY_AUTO,
    NOF_DELTA_WAY_MPROTECT,
    NOF_DELTA_WAY_USERFAULTFD,
    NOF_DELTA_WAY_PAGEMAP,
};

/* False: that is none's name. */
bool nof_delta_way_named(const char *name, enum nof_delta_way *way_out);
const char *nof_delta_way_name(enum nof_delta_way way);

/* Reads the environment. 0, or -1 and a sentence. */
int nof_delta_way_open(char *text, size_t text_bytes);

/* Where what was asked for cannot be had, mprotect, and stderr says once why. */
const struct nof_delta_pages_ops *nof_delta_way_ops(enum nof_delta_way way);
const struct nof_delta_hide_ops *nof_delta_way_hide_ops(enum nof_delta_way way);

/* What a part of one page costs by these, in the thread that writes it: entry and end of the signal, and both changes. */
uint64_t nof_delta_way_fault_ns(const struct nof_delta_pages_ops *ops);

/* By a signal handler: an access to pages that only measure. */
bool nof_delta_way_fault(uintptr_t address);

#endif
