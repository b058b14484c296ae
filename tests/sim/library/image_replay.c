/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives of a recording, with naps for what was computed between them. */
#include <stdlib.h>

#include "image_run.h"

#include "../../../bench/programs/coll_replay.h"

static void coll_replay_fail(const char *what)
{
    nof_run_fail("%s", what);
    abort();
}

static void coll_replay_compute(long ns)
{
    nof_image->ops->nap(nof_image->process, (uint64_t)ns);
}

void nof_replay_run(void)
{
    struct nof_program_replay *p = nof_run.program->replay;
    struct coll_replay r;
    coll_replay_open(&r, &p->trace[nof_image->rank]);
    nof_run_check(MPI_Barrier(MPI_COMM_WORLD), "barrier", 0);
    uint64_t began_ns = nof_image->ops->now_ns(nof_image->process);
    coll_replay_run(&r, p->factor);
    uint64_t ended_ns = nof_image->ops->now_ns(nof_image->process);
    p->began_ns = p->ended_ns == 0 || began_ns < p->began_ns ? began_ns : p->began_ns;
    p->ended_ns = ended_ns > p->ended_ns ? ended_ns : p->ended_ns;
    coll_replay_close(&r);
}
