/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/entry.h"
#include "base/error.h"
#include "base/lib.h"

#define DIMS_MAX 32

/* Divisors of an int: 2^31 - 1 and below have at most 1536. */
#define DIVISORS_MAX 1536

struct search {
    int divisors[DIVISORS_MAX]; /* of what is to be factored, ascending */
    int divisor_count;
    int count; /* free dimensions */
    int current[DIMS_MAX];
    int best[DIMS_MAX];
    int best_spread; /* -1: nothing found yet */
};

static void find_divisors(struct search *s, int n)
{
    int low = 0, high = 0, large[DIVISORS_MAX];
    for (int d = 1; d <= n / d; d++) {
        if (n % d != 0)
            continue;
        s->divisors[low++] = d;
        if (d != n / d)
            large[high++] = n / d;
    }
    while (high > 0)
        s->divisors[low++] = large[--high];
    s->divisor_count = low;
}

/* The largest r with r^k <= n. */
static int root(int n, int k)
{
    int low = 1, high = n;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        int64_t power = 1;
        for (int i = 0; i < k && power <= n; i++)
            power *= middle;
        if (power <= n)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The factors are closer together than the best so far: the first and the last; of equals those of which
 * the small ones are larger, from the last on. */
static bool closer(const struct search *s)
{
    int last = s->count - 1, spread = s->current[0] - s->current[last];
    if (spread != s->best_spread)
        return spread < s->best_spread;
    for (int i = last; i > 0; i--)
        if (s->current[i] != s->best[i])
            return s->current[i] > s->best[i];
    return false;
}

/* Try the ways to write `rest` as a product of non-increasing factors not above `limit`; keep the one
 * whose factors are closest. Factors are tried from the smallest that is possible
 * up, so that a good one is found soon, and a larger one only makes the smallest smaller. */
static void factor(struct search *s, int at, int rest, int limit)
{
    int left = s->count - at;
    if (left == 1) {
        s->current[at] = rest;
        if (rest <= limit && (s->best_spread < 0 || closer(s))) {
            s->best_spread = s->current[0] - rest;
            for (int i = 0; i < s->count; i++)
                s->best[i] = s->current[i];
        }
        return;
    }
    int least = root(rest, left);
    for (int i = 0; i < s->divisor_count && s->divisors[i] <= limit; i++) {
        int d = s->divisors[i];
        if (d < least || rest % d != 0)
            continue;
        int largest = at == 0 ? d : s->current[0];
        if (s->best_spread >= 0 && largest - root(rest / d, left - 1) > s->best_spread)
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
    find_divisors(&s, nnodes / fixed);
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
