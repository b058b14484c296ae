/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much of a collective goes on while its ranks compute without a call of MPI, as bench/programs/overlap_mpi.c measures it:
 *
 *   overlap = 1 - (with - compute) / pure
 *
 * pure: the collective and its wait; with: the same around a computation of that length; medians of the slowest rank. */
#include <stdlib.h>
#include <string.h>

#include "image_run.h"

#define WARM_ROUNDS 3
#define ROUNDS 5

struct measured {
    enum nof_collective kind;
    int bytes; /* of a block */
    char *in, *out;
};

static int begin(const struct measured *m, MPI_Request *r)
{
    MPI_Comm comm = nof_run.comm[0];
    void *in = m->in, *out = m->out;
    int n = m->bytes;
    if (m->kind == NOF_COLLECTIVE_BCAST)
        return MPI_Ibcast(nof_image->rank == 0 ? in : out, n, MPI_BYTE, 0, comm, r);
    if (m->kind == NOF_COLLECTIVE_ALLGATHER)
        return MPI_Iallgather(in, n, MPI_BYTE, out, n, MPI_BYTE, comm, r);
    if (m->kind == NOF_COLLECTIVE_ALLTOALL)
        return MPI_Ialltoall(in, n, MPI_BYTE, out, n, MPI_BYTE, comm, r);
    if (m->kind == NOF_COLLECTIVE_ALLREDUCE)
        return MPI_Iallreduce(in, out, n / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, comm, r);
    if (m->kind == NOF_COLLECTIVE_REDUCE)
        return MPI_Ireduce(in, out, n / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, 0, comm, r);
    if (m->kind == NOF_COLLECTIVE_REDUCE_SCATTER)
        return MPI_Ireduce_scatter_block(in, out, n / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, comm, r);
    return MPI_Ibarrier(comm, r);
}

/* The last number of a block from one rank to another. */
static double number(int from, int to)
{
    return 1000.0 * from + to;
}

static double *number_of(const struct measured *m, char *blocks, int i)
{
    return (double *)(void *)(blocks + (size_t)(i + 1) * (size_t)m->bytes - sizeof(double));
}

static double wanted(enum nof_collective kind, int block)
{
    double sum = 0;
    if (kind == NOF_COLLECTIVE_ALLGATHER || kind == NOF_COLLECTIVE_ALLTOALL)
        return number(block, kind == NOF_COLLECTIVE_ALLTOALL ? nof_image->rank : 0);
    for (int r = 0; r < (kind == NOF_COLLECTIVE_BCAST ? 1 : nof_image->size); r++)
        sum += number(r, 0);
    return sum;
}

static void judge(const struct measured *m)
{
    bool reduce = m->kind == NOF_COLLECTIVE_REDUCE;
    bool one = m->kind == NOF_COLLECTIVE_BCAST || m->kind == NOF_COLLECTIVE_ALLREDUCE ||
               m->kind == NOF_COLLECTIVE_REDUCE_SCATTER || reduce;
    int blocks = one ? 1 : nof_image->size;
    if (m->kind == NOF_COLLECTIVE_BARRIER || (m->kind == NOF_COLLECTIVE_BCAST && nof_image->rank == 0) ||
        (reduce && nof_image->rank != 0))
        return;
    for (int i = 0; i < blocks; i++) {
        double *got = number_of(m, m->out, i);
        if (*got != wanted(m->kind, i))
            nof_run_fail("collective %u gives %g at the end of block %d instead of %g", m->kind, *got, i,
                         wanted(m->kind, i));
        *got = -1;
    }
}

/* One collective, around a computation of this length; returns the time beside it, and counts its descriptors. */
static double once(const struct measured *m, double compute_ns, struct nof_overlap *o)
{
    MPI_Request req;
    nof_run_check(MPI_Barrier(nof_run.comm[0]), "barrier", 0);
    uint64_t descs = nof_image->submitted, began_ns = nof_image->ops->now_ns(nof_image->process);
    nof_run_check(begin(m, &req), "collective", m->kind);
    if (compute_ns > 0)
        nof_image->ops->nap(nof_image->process, (uint64_t)compute_ns);
    nof_run_check(MPI_Wait(&req, MPI_STATUS_IGNORE), "collective", m->kind);
    uint64_t ended_ns = nof_image->ops->now_ns(nof_image->process);
    descs = nof_image->submitted - descs;
    o->descs = descs > o->descs ? descs : o->descs;
    judge(m);
    return (double)(ended_ns - began_ns) - compute_ns;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median of the slowest rank. */
static double measure(const struct measured *m, double compute_ns, int rounds, struct nof_overlap *o)
{
    double ns[ROUNDS];
    for (int i = 0; i < rounds; i++) {
        double mine = once(m, compute_ns, o);
        nof_run_check(MPI_Allreduce(&mine, &ns[i], 1, MPI_DOUBLE, MPI_MAX, nof_run.comm[0]), "allreduce", 0);
    }
    qsort(ns, (size_t)rounds, sizeof(ns[0]), compare);
    return ns[rounds / 2];
}

void nof_overlap_run(const struct nof_step *step)
{
    struct nof_overlap *o = &nof_run.program->overlap[nof_image->rank];
    size_t room = (size_t)step->spare * (size_t)nof_image->size;
    struct measured m = {
        .kind = step->style, .bytes = (int)step->spare, .in = malloc(room), .out = malloc(room)};
    if (m.in == NULL || m.out == NULL)
        abort();
    memset(m.in, 0, room);
    for (int i = 0; i < nof_image->size; i++)
        *number_of(&m, m.in, i) = number(nof_image->rank, m.kind == NOF_COLLECTIVE_ALLTOALL ? i : 0);
    (void)measure(&m, 0, WARM_ROUNDS, o);
    o->descs = 0;
    o->pure_ns = measure(&m, 0, ROUNDS, o);
    o->exposed_ns = measure(&m, o->pure_ns, ROUNDS, o);
    free(m.in);
    free(m.out);
}
