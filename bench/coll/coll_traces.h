/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives of all ranks of a recording (docs/RECORDING.md), which have been seen to fit each other: ranks that call
 * them again do not wait for one that does not come.
 *
 *   nof_recording_read() -> ... -> nof_recording_free() */
#ifndef NOF_BENCH_COLL_TRACES_H
#define NOF_BENCH_COLL_TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/coll_trace.h"

#define NOF_RECORDING_WHY_BYTES 512u

struct nof_recording {
    unsigned ranks;
    struct coll_trace *trace; /* of each */
    size_t collectives; /* of the rank that has most */
    double computed_s; /* by the rank that did most, behind its first collective */
    char why[NOF_RECORDING_WHY_BYTES];
};

/* FOLDER/rank0.coll and on, of at most so many ranks. NULL, or why there is none: then there is nothing to free. */
const char *nof_recording_read(struct nof_recording *r, const char *folder, unsigned ranks_most);
void nof_recording_free(struct nof_recording *r);
/* Computing takes `factor` times as long from now on. */
void nof_recording_stretch(struct nof_recording *r, double factor);
/* No rank can be done sooner: it computes, and what it sends or receives passes its link, whatever is the larger part. */
double nof_recording_limit_s(const struct nof_recording *r, uint64_t rate_bps);

#endif
