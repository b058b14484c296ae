/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors of userfaultfd, of which nothing is read: what they watch is a signal in the thread that touches it. */
#ifndef NOF_MPI_DELTA_UFFD_H
#define NOF_MPI_DELTA_UFFD_H

#include "delta/delta_pages.h"

/* NULL, or why not; `since`: because the kernel lacks these features. */
const char *nof_delta_uffd_open(uint64_t features, const char *since, int *fd_out);
/* mode: UFFDIO_REGISTER_MODE_*, of whole pages. */
bool nof_delta_uffd_enlist(int fd, uintptr_t low, size_t bytes, uint64_t mode);
/* What was unmapped or moved is no longer the descriptor's. False: some of it is not, or could not be dismissed. */
bool nof_delta_uffd_dismiss(int fd, uintptr_t low, size_t bytes);

#endif
