/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process counts, where nofd reads it (docs/HOST_ABI.md, "Library counts"): written before a wait sleeps, every
 * NOF_PUBLISH_NS while one polls for so long that it looks at the clock, and at the end. Under the library's lock.
 *
 * This file knows nobody who counts. */
#ifndef NOF_MPI_PUBLISH_H
#define NOF_MPI_PUBLISH_H

#include <stdint.h>

#define NOF_PUBLISH_NS 100000000u

struct nof_publish_part {
    const uint64_t *count; /* atomic; NULL: behind the last part */
    unsigned n;
};

extern uint64_t nof_publish_due_ns
    __attribute__((visibility("hidden"))); /* though nothing sleeps; UINT64_MAX: never */

/* All of `parts`, one behind the other, to `to`, which is the reader's and has room for them; NULL: nobody reads. */
void nof_publish_open(const struct nof_publish_part *parts, uint64_t *to);
void nof_publish(uint64_t now_ns);
/* Writes a last time. */
void nof_publish_close(void);

#endif
