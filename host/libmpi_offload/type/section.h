/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections of Fortran arrays as buffers (fortran_hooks.h): what MPI says of a buffer holds of the section's elements
 * strung together.
 *
 * Threads: under the library's lock, but for the two that note what the next collective means. */
#ifndef NOF_MPI_SECTION_H
#define NOF_MPI_SECTION_H

#include "coll/coll_args.h"
#include "api/fortran_hooks.h"

/* A new type, uncommitted: `count` elements of `type` in the section. NULL: no memory, or no address reaches so far. */
struct nof_type *nof_section_type(const struct nof_section *section, struct nof_type *type, size_t count);

/* Bytes of all elements. False: more than a memory can hold. */
bool nof_section_bytes(const struct nof_section *section, size_t *bytes_out);

/* Write to the section what of `bytes` is another than before. */
void nof_section_update(const struct nof_section *section, const void *bytes, const void *before);

/* ---- coll_section.c ---- */
void nof_coll_note_section(const struct nof_section *section, bool is_read);
void nof_coll_forget_sections(void);

struct nof_coll_lent {
    const struct nof_section *section; /* NULL: nothing was lent */
    char *copy;
    char *before; /* what the copy was; NULL: it is only read */
};

/* Buffers of the call that are noted sections are replaced in *args by copies, which the schedule's first steps fill.
 * Errors are the schedule's build_error. finish: last steps that write back what changed. */
void nof_coll_lend(struct nof_sched *s, struct nof_coll_args *args, struct nof_coll_lent lent[2]);
void nof_coll_lend_finish(struct nof_sched *s, const struct nof_coll_lent lent[2]);

#endif
