/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives whose buffers are sections of Fortran arrays.
 *
 * Threads: under the library's lock, but for the two that note what the next collective means. */
#ifndef NOF_MPI_COLL_SECTION_H
#define NOF_MPI_COLL_SECTION_H

#include "coll/coll_args.h"
#include "type/section.h"

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
