/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives and one-sided communication of the program of an image: what must come out is known, so each is judged
 * here. */
#include <stdlib.h>
#include <string.h>

#include "image_run.h"
#include "mpi_offload.h"

#define EPOCH_OPERATIONS 8u

static int64_t number(int rank, int to, int i)
{
    return rank * 1000003ll + to * 1009ll + i;
}

static int rank_in(uint32_t comm)
{
    return nof_program_rank(nof_run.program, comm, nof_image->rank);
}

static struct nof_together *together_new(const struct nof_step *step, bool blocking)
{
    struct nof_together *c = calloc(1, sizeof(*c));
    size_t room = (size_t)step->spare * (size_t)nof_image->size + 1;
    int me = rank_in(step->item);
    if (c == NULL)
        abort();
    *c = (struct nof_together){
        .kind = step->style, .comm = step->item, .count = (int)step->spare, .root = (int)step->ns};
    if (blocking && c->kind == NOF_COLLECTIVE_BCAST && nof_run_multicasts())
        c->kind = NOF_COLLECTIVE_SCATTERV;
    c->in = calloc(room, sizeof(*c->in));
    c->out = calloc(room, sizeof(*c->out));
    if (c->in == NULL || c->out == NULL)
        abort();
    bool each = c->kind == NOF_COLLECTIVE_ALLTOALL || c->kind == NOF_COLLECTIVE_SCATTERV;
    for (int to = 0; to < nof_image->size; to++)
        for (int i = 0; i < c->count; i++)
            c->in[to * c->count + i] = number(me, each ? to : 0, i);
    if (c->kind == NOF_COLLECTIVE_BCAST && me == c->root)
        memcpy(c->out, c->in, (size_t)c->count * sizeof(*c->out));
    return c;
}

static int start(const struct nof_together *c, MPI_Request *r)
{
    MPI_Comm comm = nof_run.comm[c->comm];
    int64_t *in = c->in, *out = c->out;
    switch (c->kind) {
    case NOF_COLLECTIVE_ALLREDUCE:
        return MPI_Iallreduce(in, out, c->count, MPI_INT64_T, MPI_SUM, comm, r);
    case NOF_COLLECTIVE_BCAST:
        return MPI_Ibcast(out, c->count, MPI_INT64_T, c->root, comm, r);
    case NOF_COLLECTIVE_REDUCE:
        return MPI_Ireduce(in, out, c->count, MPI_INT64_T, MPI_SUM, c->root, comm, r);
    case NOF_COLLECTIVE_ALLGATHER:
        return MPI_Iallgather(in, c->count, MPI_INT64_T, out, c->count, MPI_INT64_T, comm, r);
    case NOF_COLLECTIVE_ALLTOALL:
        return MPI_Ialltoall(in, c->count, MPI_INT64_T, out, c->count, MPI_INT64_T, comm, r);
    case NOF_COLLECTIVE_SCAN:
        return MPI_Iscan(in, out, c->count, MPI_INT64_T, MPI_SUM, comm, r);
    case NOF_COLLECTIVE_BARRIER:
    case NOF_COLLECTIVE_SCATTERV:
    case NOF_COLLECTIVE_REDUCE_SCATTER:
    case NOF_COLLECTIVE_KINDS:
        break;
    }
    return MPI_Ibarrier(comm, r);
}

/* Numbers for a rank: some get none, which are not of the group. */
static int scattered(const struct nof_together *c, int rank)
{
    return (rank + c->count) % 4 == 3 ? 0 : c->count;
}

static int scatter(const struct nof_together *c, MPI_Comm comm)
{
    int counts[NOF_PROGRAM_RANKS_MAX], displs[NOF_PROGRAM_RANKS_MAX];
    for (int i = 0; i < nof_image->size; i++) {
        counts[i] = scattered(c, i);
        displs[i] = i * c->count;
    }
    return MPIX_Scatterv_dynamic(c->in, counts, displs, MPI_INT64_T, c->out, counts[rank_in(c->comm)],
                                 MPI_INT64_T, c->root, comm);
}

static int run_blocking(const struct nof_together *c)
{
    MPI_Comm comm = nof_run.comm[c->comm];
    int64_t *in = c->in, *out = c->out;
    switch (c->kind) {
    case NOF_COLLECTIVE_ALLREDUCE:
        return MPI_Allreduce(in, out, c->count, MPI_INT64_T, MPI_SUM, comm);
    case NOF_COLLECTIVE_BCAST:
        return MPI_Bcast(out, c->count, MPI_INT64_T, c->root, comm);
    case NOF_COLLECTIVE_REDUCE:
        return MPI_Reduce(in, out, c->count, MPI_INT64_T, MPI_SUM, c->root, comm);
    case NOF_COLLECTIVE_ALLGATHER:
        return MPI_Allgather(in, c->count, MPI_INT64_T, out, c->count, MPI_INT64_T, comm);
    case NOF_COLLECTIVE_ALLTOALL:
        return MPI_Alltoall(in, c->count, MPI_INT64_T, out, c->count, MPI_INT64_T, comm);
    case NOF_COLLECTIVE_SCAN:
        return MPI_Scan(in, out, c->count, MPI_INT64_T, MPI_SUM, comm);
    case NOF_COLLECTIVE_SCATTERV:
        return scatter(c, comm);
    case NOF_COLLECTIVE_BARRIER:
    case NOF_COLLECTIVE_REDUCE_SCATTER:
    case NOF_COLLECTIVE_KINDS:
        break;
    }
    return MPI_Barrier(comm);
}

/* Of ranks 0..last: number(rank, 0, i). */
static int64_t sum_to(int last, int i)
{
    return number(0, 0, 0) * (last + 1) + (int64_t)last * (last + 1) / 2 * 1000003ll +
           (int64_t)(last + 1) * i;
}

/* What must stand at place `at` of the result; what stands there where nothing must. */
static int64_t wanted(const struct nof_together *c, int at)
{
    int me = rank_in(c->comm), block = at / c->count, i = at % c->count;
    switch (c->kind) {
    case NOF_COLLECTIVE_ALLREDUCE:
        return block == 0 ? sum_to(nof_image->size - 1, i) : 0;
    case NOF_COLLECTIVE_BCAST:
        return block == 0 ? number(c->root, 0, i) : 0;
    case NOF_COLLECTIVE_REDUCE:
        return block == 0 && me == c->root ? sum_to(nof_image->size - 1, i) : 0;
    case NOF_COLLECTIVE_ALLGATHER:
        return number(block, 0, i);
    case NOF_COLLECTIVE_ALLTOALL:
        return number(block, me, i);
    case NOF_COLLECTIVE_SCAN:
        return block == 0 ? sum_to(me, i) : 0;
    case NOF_COLLECTIVE_SCATTERV:
        return at < scattered(c, me) ? number(c->root, me, at) : 0;
    case NOF_COLLECTIVE_BARRIER:
    case NOF_COLLECTIVE_REDUCE_SCATTER:
    case NOF_COLLECTIVE_KINDS:
        break;
    }
    return 0;
}

void nof_together_ended(struct nof_together *c, int rc)
{
    nof_run_check(rc, "collective", c->kind);
    for (int at = 0; rc == MPI_SUCCESS && at < c->count * nof_image->size; at++) {
        if (c->out[at] == wanted(c, at))
            continue;
        nof_run_fail("collective %u of communicator %u gives %lld at place %d instead of %lld", c->kind,
                     c->comm, (long long)c->out[at], at, (long long)wanted(c, at));
        break;
    }
    if (rc ==
        MPI_SUCCESS) { /* else the NIC may still read what was to be sent: it stays until the process ends */
        free(c->in);
        free(c->out);
    }
    free(c);
}

void nof_together_run(const struct nof_step *step, bool blocking)
{
    struct nof_together *c = together_new(step, blocking);
    if (blocking) {
        nof_together_ended(c, run_blocking(c));
        return;
    }
    struct nof_transfer *t = calloc(1, sizeof(*t));
    if (t == NULL)
        abort();
    t->together = c;
    t->request = MPI_REQUEST_NULL;
    nof_run_check(start(c, &t->request), "collective", c->kind);
    nof_transfer_live(t);
}

/* Of each rank: a place per origin, which that puts into, and a last one that all add to. */
struct window {
    MPI_Win win;
    MPI_Comm comm;
    int n, me;
    int width; /* numbers of a place, all alike */
    int64_t *mem;
    int64_t *put; /* what was put last, by target */
    int64_t added;
};

static uint64_t draw(uint64_t n)
{
    return nof_image->ops->draw(nof_image->process, n);
}

static int64_t *numbers(size_t n)
{
    int64_t *array = calloc(n, sizeof(*array));
    if (array == NULL)
        abort();
    return array;
}

/* `values` must stay until the epoch ends. Two puts to one place of one epoch have no order, so not all may put. */
static void operate(struct window *w, int target, int64_t *values, bool may_put, uint32_t number_of_operation)
{
    bool adds = !may_put || draw(2) == 0;
    int64_t value = adds ? 1 + (int64_t)draw(1000) : number(w->me, target, (int)number_of_operation);
    for (int i = 0; i < w->width; i++)
        values[i] = value;
    if (adds) {
        w->added += value;
        nof_run_check(MPI_Accumulate(values, w->width, MPI_INT64_T, target, (MPI_Aint)w->n * w->width,
                                     w->width, MPI_INT64_T, MPI_SUM, w->win),
                      "accumulate", number_of_operation);
        return;
    }
    w->put[target] = value;
    nof_run_check(MPI_Put(values, w->width, MPI_INT64_T, target, (MPI_Aint)w->me * w->width, w->width,
                          MPI_INT64_T, w->win),
                  "put", number_of_operation);
}

static void lock_one(const struct window *w, int target)
{
    nof_run_check(MPI_Win_lock(draw(2) == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, w->win),
                  "lock", 0);
}

static void operations(struct window *w, enum nof_window_style style, uint32_t count)
{
    int64_t *values = numbers((size_t)count * (size_t)w->width);
    if (style == NOF_WINDOW_FENCE)
        nof_run_check(MPI_Win_fence(0, w->win), "fence", 0);
    if (style == NOF_WINDOW_LOCK_ALL)
        nof_run_check(MPI_Win_lock_all(0, w->win), "lock", 0);
    for (uint32_t i = 0; i < count; i++) {
        int target = (int)draw((uint64_t)w->n);
        bool epoch_ends = i % EPOCH_OPERATIONS == EPOCH_OPERATIONS - 1 || i == count - 1;
        if (style == NOF_WINDOW_LOCK)
            lock_one(w, target);
        operate(w, target, values + (size_t)i * (size_t)w->width,
                style == NOF_WINDOW_LOCK || i % EPOCH_OPERATIONS == 0, i);
        if (style == NOF_WINDOW_LOCK)
            nof_run_check(MPI_Win_unlock(target, w->win), "unlock", i);
        else if (epoch_ends && style == NOF_WINDOW_LOCK_ALL)
            nof_run_check(MPI_Win_flush_all(w->win), "flush", i);
        else if (epoch_ends)
            nof_run_check(MPI_Win_fence(0, w->win), "fence", i);
    }
    if (style == NOF_WINDOW_LOCK_ALL)
        nof_run_check(MPI_Win_unlock_all(w->win), "unlock", 0);
    free(values);
}

/* The numbers of this place, which must be alike. */
static int64_t get(const struct window *w, int target, int place)
{
    int64_t *got = numbers((size_t)w->width), first;
    nof_run_check(MPI_Get(got, w->width, MPI_INT64_T, target, (MPI_Aint)place * w->width, w->width,
                          MPI_INT64_T, w->win),
                  "get", 0);
    nof_run_check(MPI_Win_flush(target, w->win), "flush", 0);
    first = got[0];
    for (int i = 1; i < w->width; i++) {
        if (got[i] == first)
            continue;
        nof_run_fail("place %d of the window of rank %d: %lld at number %d, %lld before it", place, target,
                     (long long)got[i], i, (long long)first);
        break;
    }
    free(got);
    return first;
}

static void judge_window(const struct window *w)
{
    int64_t all = 0, added = 0;
    nof_run_check(MPI_Win_lock_all(0, w->win), "lock", 0);
    for (int i = 0; i < w->n; i++) {
        int64_t got = get(w, i, w->me);
        if (got != w->put[i])
            nof_run_fail("%lld was put to rank %d, where %lld is", (long long)w->put[i], i, (long long)got);
    }
    int64_t mine = get(w, w->me, w->n);
    nof_run_check(MPI_Win_unlock_all(w->win), "unlock", 0);
    nof_run_check(MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, w->comm), "allreduce", 0);
    nof_run_check(MPI_Allreduce(&w->added, &added, 1, MPI_INT64_T, MPI_SUM, w->comm), "allreduce", 0);
    if (all != added)
        nof_run_fail("%lld was added to a window, which has %lld", (long long)added, (long long)all);
}

void nof_window_run(const struct nof_step *step)
{
    struct window w = {.comm = nof_run.comm[step->item],
                       .n = nof_image->size,
                       .me = rank_in(step->item),
                       .width = (int)step->ns,
                       .put = numbers((size_t)nof_image->size)};
    MPI_Aint bytes = (MPI_Aint)((size_t)(w.n + 1) * (size_t)w.width * sizeof(int64_t));
    nof_run_check(MPI_Win_allocate(bytes, sizeof(int64_t), MPI_INFO_NULL, w.comm, &w.mem, &w.win), "window",
                  0);
    memset(w.mem, 0, (size_t)bytes);
    nof_run_check(MPI_Barrier(w.comm), "barrier", step->item);
    operations(&w, step->style, step->spare);
    nof_run_check(MPI_Barrier(w.comm), "barrier", step->item);
    judge_window(&w);
    nof_run_check(MPI_Win_free(&w.win), "window", 0);
    free(w.put);
}
