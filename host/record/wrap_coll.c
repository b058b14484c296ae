/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives: what each carries, and the CPU time that the rank has taken since the one before. That is what it computes
 * also where ranks share CPUs, and does not hold what it waits. */
#include "recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NUMBER_BYTES 21u /* with what parts it from the next */
#define HEAD_BYTES 128u

static _Thread_local uint64_t
    left_ns; /* the last one; 0: none yet, and this thread has computed ever since */

static uint64_t cpu_ns(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void nof_record_computes(void)
{
    left_ns = cpu_ns();
}

/* One call: what it was before it, and its arguments, which are looked at behind it, and where it is written alone: those that MPI does not
 * look at may be anything. */
struct call {
    const char *kind;
    MPI_Comm comm;
    int root; /* 0 where there is none */
    uint64_t computed_ns;
    struct block {
        MPI_Count count;
        MPI_Datatype type;
    } block, root_block; /* where all are alike; the root's own, if `rooted` */
    bool rooted;
    const int *to, *from; /* or counts for each rank and from each; NULL: none */
    MPI_Datatype to_type, from_type;
};

static size_t put_members(char *text, size_t room, uint32_t number, const int *members, int n)
{
    size_t at = (size_t)snprintf(text, room, "comm %" PRIu32 " ", number);

    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, room - at, "%d%c", members[i], i + 1 < n ? ',' : '\n');
    return at;
}

static size_t put_list(char *text, size_t room, const int *counts, MPI_Datatype type, int n)
{
    size_t at = 0;

    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, room - at, "%c%" PRIu64, i > 0 ? ',' : ' ',
                               nof_record_len_bytes(counts[i], type));
    return at;
}

static bool is_root(MPI_Comm comm, int root)
{
    int rank = -1;

    return REAL(Comm_rank)(comm, &rank) == MPI_SUCCESS && rank == root;
}

static void write_call(const struct call *c)
{
    uint32_t number = 0;
    int n = 0;
    bool first = false;
    const int *members = nof_record_members(c->comm, &number, &n, &first);
    size_t room = HEAD_BYTES + 3 * NUMBER_BYTES * (size_t)n, at = 0;
    char *text = members != NULL ? malloc(room) : NULL;

    if (text == NULL) {
        if (nof_record_has_world())
            nof_record_other_collective();
        else
            nof_record_worldless_collective();
        return;
    }
    if (first)
        at = put_members(text, room, number, members, n);
    at += (size_t)snprintf(text + at, room - at, "%s %" PRIu64 " %" PRIu32 " %d", c->kind, c->computed_ns,
                           number, c->root);
    if (c->to != NULL) {
        at += put_list(text + at, room - at, c->to, c->to_type, n);
        at += put_list(text + at, room - at, c->from, c->from_type, n);
    } else {
        const struct block *b = c->rooted && is_root(c->comm, c->root) ? &c->root_block : &c->block;
        at += (size_t)snprintf(text + at, room - at, " %" PRIu64,
                               b->count > 0 ? nof_record_len_bytes(b->count, b->type) : 0);
    }
    text[at++] = '\n';
    nof_record_collective(text, at);
    free(text);
}

static uint64_t computed_ns(void)
{
    return nof_record_on() ? cpu_ns() - left_ns : 0;
}

static int ended(int rc, const struct call *c)
{
    if (!nof_record_on())
        return rc;
    if (rc == MPI_SUCCESS)
        write_call(c);
    nof_record_computes();
    return rc;
}

EXPORT int MPI_Barrier(MPI_Comm comm)
{
    struct call c = {.kind = "barrier", .comm = comm, .computed_ns = computed_ns()};

    return ended(REAL(Barrier)(comm), &c);
}

EXPORT int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    struct call c = {.kind = "bcast", .comm = comm, .root = root, .computed_ns = computed_ns()};

    c.block = (struct block){count, type};
    return ended(REAL(Bcast)(buf, count, type, root, comm), &c);
}

EXPORT int MPI_Reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root,
                      MPI_Comm comm)
{
    struct call c = {.kind = "reduce", .comm = comm, .root = root, .computed_ns = computed_ns()};

    c.block = (struct block){count, type};
    return ended(REAL(Reduce)(in, out, count, type, op, root, comm), &c);
}

EXPORT int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct call c = {.kind = "allreduce", .comm = comm, .computed_ns = computed_ns()};

    c.block = (struct block){count, type};
    return ended(REAL(Allreduce)(in, out, count, type, op, comm), &c);
}

/* What a rank gets of each other is what all send, also where they send in place. */
#define FROM_ALL(name, text) \
    EXPORT int MPI_##name(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count, \
                          MPI_Datatype in_type, MPI_Comm comm) \
    { \
        struct call c = {.kind = (text), .comm = comm, .computed_ns = computed_ns()}; \
        c.block = (struct block){in_count, in_type}; \
        return ended(REAL(name)(out, out_count, out_type, in, in_count, in_type, comm), &c); \
    }
FROM_ALL(Alltoall, "alltoall")
FROM_ALL(Allgather, "allgather")

EXPORT int MPI_Gather(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
                      MPI_Datatype in_type, int root, MPI_Comm comm)
{
    struct call c = {.kind = "gather", .comm = comm, .root = root, .computed_ns = computed_ns()};

    c.rooted = true;
    c.root_block = (struct block){in_count, in_type};
    c.block = (struct block){out_count, out_type};
    return ended(REAL(Gather)(out, out_count, out_type, in, in_count, in_type, root, comm), &c);
}

EXPORT int MPI_Scatter(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
                       MPI_Datatype in_type, int root, MPI_Comm comm)
{
    struct call c = {.kind = "scatter", .comm = comm, .root = root, .computed_ns = computed_ns()};

    c.rooted = true;
    c.root_block = (struct block){out_count, out_type};
    c.block = (struct block){in_count, in_type};
    return ended(REAL(Scatter)(out, out_count, out_type, in, in_count, in_type, root, comm), &c);
}

EXPORT int MPI_Alltoallv(const void *out, const int out_counts[], const int out_at[], MPI_Datatype out_type,
                         void *in, const int in_counts[], const int in_at[], MPI_Datatype in_type,
                         MPI_Comm comm)
{
    bool in_place = out == MPI_IN_PLACE;
    struct call c = {.kind = "alltoallv",
                     .comm = comm,
                     .computed_ns = computed_ns(),
                     .to = in_place ? in_counts : out_counts,
                     .from = in_counts,
                     .to_type = in_place ? in_type : out_type,
                     .from_type = in_type};

    return ended(REAL(Alltoallv)(out, out_counts, out_at, out_type, in, in_counts, in_at, in_type, comm), &c);
}

/* The others are counted, so that nobody takes a trace for the whole. */
#define OTHER(name, parameters, arguments) \
    EXPORT int MPI_##name parameters \
    { \
        if (nof_record_on()) \
            nof_record_other_collective(); \
        return REAL(name) arguments; \
    }
#define OTHERS(suffix, number, distance) \
    OTHER(Allgatherv##suffix, \
          (const void *out, number out_count, MPI_Datatype out_type, void *in, const number in_counts[], \
           const distance in_at[], MPI_Datatype in_type, MPI_Comm comm), \
          (out, out_count, out_type, in, in_counts, in_at, in_type, comm)) \
    OTHER(Gatherv##suffix, \
          (const void *out, number out_count, MPI_Datatype out_type, void *in, const number in_counts[], \
           const distance in_at[], MPI_Datatype in_type, int root, MPI_Comm comm), \
          (out, out_count, out_type, in, in_counts, in_at, in_type, root, comm)) \
    OTHER(Scatterv##suffix, \
          (const void *out, const number out_counts[], const distance out_at[], MPI_Datatype out_type, \
           void *in, number in_count, MPI_Datatype in_type, int root, MPI_Comm comm), \
          (out, out_counts, out_at, out_type, in, in_count, in_type, root, comm)) \
    OTHER(Alltoallw##suffix, \
          (const void *out, const number out_counts[], const distance out_at[], \
           const MPI_Datatype out_types[], void *in, const number in_counts[], const distance in_at[], \
           const MPI_Datatype in_types[], MPI_Comm comm), \
          (out, out_counts, out_at, out_types, in, in_counts, in_at, in_types, comm)) \
    OTHER(Reduce_scatter##suffix, \
          (const void *in, void *out, const number counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
          (in, out, counts, type, op, comm)) \
    OTHER(Reduce_scatter_block##suffix, \
          (const void *in, void *out, number count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
          (in, out, count, type, op, comm)) \
    OTHER(Scan##suffix, \
          (const void *in, void *out, number count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
          (in, out, count, type, op, comm)) \
    OTHER(Exscan##suffix, \
          (const void *in, void *out, number count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
          (in, out, count, type, op, comm))
OTHERS(, int, int)
OTHERS(_c, MPI_Count, MPI_Aint)

/* Of what is recorded, the forms with large counts. */
#define LARGE_BLOCKS(name) \
    OTHER(name, \
          (const void *out, MPI_Count out_count, MPI_Datatype out_type, void *in, MPI_Count in_count, \
           MPI_Datatype in_type, MPI_Comm comm), \
          (out, out_count, out_type, in, in_count, in_type, comm))
#define LARGE_ROOTED(name) \
    OTHER(name, \
          (const void *out, MPI_Count out_count, MPI_Datatype out_type, void *in, MPI_Count in_count, \
           MPI_Datatype in_type, int root, MPI_Comm comm), \
          (out, out_count, out_type, in, in_count, in_type, root, comm))
LARGE_BLOCKS(Alltoall_c)
LARGE_BLOCKS(Allgather_c)
LARGE_ROOTED(Gather_c)
LARGE_ROOTED(Scatter_c)
OTHER(Bcast_c, (void *buf, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm),
      (buf, count, type, root, comm))
OTHER(Reduce_c,
      (const void *in, void *out, MPI_Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
      (in, out, count, type, op, root, comm))
OTHER(Allreduce_c, (const void *in, void *out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
      (in, out, count, type, op, comm))
OTHER(Alltoallv_c,
      (const void *out, const MPI_Count out_counts[], const MPI_Aint out_at[], MPI_Datatype out_type,
       void *in, const MPI_Count in_counts[], const MPI_Aint in_at[], MPI_Datatype in_type, MPI_Comm comm),
      (out, out_counts, out_at, out_type, in, in_counts, in_at, in_type, comm))
