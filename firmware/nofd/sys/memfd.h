/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory to share: a memfd of full size with every page allocated, because a hole would be a SIGBUS for us on a machine
 * without memory. Sizes are the caller's to seal. Any thread. */
#ifndef NOFD_MEMFD_H
#define NOFD_MEMFD_H

#include <stdint.h>

/* A descriptor (close-on-exec), or -errno, which is also set. */
int nofd_memfd_create(const char *name, uint64_t bytes);
/* The same, of which only the first `allocated` bytes are there: the rest is nobody's yet, and not for us to touch. */
int nofd_memfd_sparse(const char *name, uint64_t bytes, uint64_t allocated);

#endif
