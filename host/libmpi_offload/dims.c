/* SPDX-License-Identifier: BSD-3-Clause */
#include "error.h"
#include "lib.h"

#define DIMS_MAX 32

struct search {
    int count; /* free dimensions */
    int current[DIMS_MAX];
    int best[DIMS_MAX];
    int best_spread;
};

/* Try all ways to write `rest` as a product of non-increasing factors not above `limit`; keep the
 * one whose largest and smallest factor are closest. */
static void factor(struct search *s, int at, int rest, int limit)
{
    if (at == s->count - 1) {
        if (rest > limit)
            return;
        s->current[at] = rest;
        int spread = s->current[0] - rest;
        if (s->best_spread < 0 || spread < s->best_spread) {
            s->best_spread = spread;
            for (int i = 0; i < s->count; i++)
                s->best[i] = s->current[i];
        }
        return;
    }
    int left = s->count - at;
    for (int d = rest < limit ? rest : limit; d >= 1; d--) {
        if (rest % d != 0)
            continue;
        /* d^left < rest: the factors left cannot make up for it. */
        double power = 1;
        for (int i = 0; i < left; i++)
            power *= d;
        if (power < rest)
            break;
        s->current[at] = d;
        factor(s, at + 1, rest / d, d);
    }
}

static int create(int nnodes, int ndims, int dims[])
{
    struct search s = {.count = 0, .best_spread = -1};
    int fixed = 1;
    if (nnodes < 1 || ndims < 0 || (ndims > 0 && dims == NULL))
        return nof_error(MPI_ERR_ARG, "%d processes in %d dimensions", nnodes, ndims);
    for (int i = 0; i < ndims; i++) {
        if (dims[i] < 0)
            return nof_error(MPI_ERR_DIMS, "dimension %d is %d", i, dims[i]);
        if (dims[i] == 0)
            s.count++;
        else if (nnodes % dims[i] != 0 || fixed > nnodes / dims[i])
            return nof_error(MPI_ERR_DIMS, "%d processes cannot have %d in dimension %d", nnodes, dims[i], i);
        else
            fixed *= dims[i];
    }
    if (nnodes % fixed != 0 || (s.count == 0 && fixed != nnodes))
        return nof_error(MPI_ERR_DIMS, "the fixed dimensions hold %d of %d processes", fixed, nnodes);
    if (s.count == 0)
        return MPI_SUCCESS;
    if (s.count > DIMS_MAX)
        return nof_error(MPI_ERR_DIMS, "more than %d free dimensions", DIMS_MAX);
    factor(&s, 0, nnodes / fixed, nnodes / fixed);
    for (int i = 0, next = 0; i < ndims; i++)
        if (dims[i] == 0)
            dims[i] = s.best[next++];
    return MPI_SUCCESS;
}

NOF_MPI(Dims_create)
int PMPI_Dims_create(int nnodes, int ndims, int dims[])
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, create(nnodes, ndims, dims), __func__);
}
