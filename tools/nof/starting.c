/* SPDX-License-Identifier: BSD-3-Clause */
#include "starting.h"

#include <stdio.h>

#include "run_job.h"

#define SECOND_NS 1000000000u
#define PATIENCE_NS (2ull * SECOND_NS) /* what nobody has to be told about */
#define REPEAT_NS (5ull * SECOND_NS)
#define RANKS_MANY 64u /* fewer are up in that time, or something else is wrong that is said elsewhere */
#define MEETINGS 2u /* the daemon's address, then the ranks' cards: after the second MPI_Init returns */

void nof_starting_begin(struct nof_starting *s, uint64_t now_ns)
{
    s->began_ns = now_ns;
    s->next_ns = now_ns + PATIENCE_NS;
}

static unsigned in_mpi(const struct nof_job *job)
{
    unsigned n = 0;

    for (unsigned i = 0; i < job->ranks; i++)
        n += nof_pmi_phase(job->pmi, i) != NOF_PMI_NEW;
    return n;
}

uint64_t nof_starting_look(struct nof_starting *s, const struct nof_job *job, unsigned started,
                           uint64_t now_ns)
{
    unsigned began;

    if (s->next_ns == UINT64_MAX)
        return UINT64_MAX;
    if (job->ranks < RANKS_MANY || job->ending || nof_pmi_fences(job->pmi) >= MEETINGS) {
        s->next_ns = UINT64_MAX;
        return UINT64_MAX;
    }
    if (now_ns < s->next_ns)
        return s->next_ns;
    s->next_ns = now_ns + REPEAT_NS;
    began = in_mpi(job);
    if (started < job->ranks)
        fprintf(stderr, "%s: starting, %u s: %u of %u ranks run\n", job->self,
                (unsigned)((now_ns - s->began_ns) / SECOND_NS), started, job->ranks);
    else if (began > 0)
        fprintf(stderr, "%s: starting, %u s: %u of %u ranks are in MPI_Init\n", job->self,
                (unsigned)((now_ns - s->began_ns) / SECOND_NS), began, job->ranks);
    return s->next_ns;
}
