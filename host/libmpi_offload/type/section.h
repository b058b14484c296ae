/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections of Fortran arrays as buffers (fortran_hooks.h): what MPI says of a buffer holds of the section's elements
 * strung together.
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_SECTION_H
#define NOF_MPI_SECTION_H

#include "api/fortran_hooks.h"
#include "type/type.h"

/* A new type, uncommitted: `count` elements of `type` in the section. NULL: no memory, or no address reaches so far. */
struct nof_type *nof_section_type(const struct nof_section *section, struct nof_type *type, size_t count);

/* Bytes of all elements. False: more than a memory can hold. */
bool nof_section_bytes(const struct nof_section *section, size_t *bytes_out);

/* Write to the section what of `bytes` is another than before. */
void nof_section_update(const struct nof_section *section, const void *bytes, const void *before);

#endif
