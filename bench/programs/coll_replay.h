/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls the collectives of a trace again, with random bytes: of `nof bench replay`, as a program (replay_mpi.c) and in the
 * simulator (tests/sim/library/image_replay.c). What the rank computed between them is left to who includes this. Vectors are
 * reduced as bytes, by exclusive or: they have the traffic of any other operation.
 *
 *   coll_replay_open() -> coll_replay_run() -> coll_replay_close()     all ranks together */
#ifndef NOF_BENCH_PROGRAMS_COLL_REPLAY_H
#define NOF_BENCH_PROGRAMS_COLL_REPLAY_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

#include "coll_trace.h"

#define COLL_REPLAY_LEAST_NS \
    100000 /* that are computed at once: sleeping for less takes longer than it is told */

/* The program's own. The first does not return. */
static void coll_replay_fail(const char *what);
static void coll_replay_compute(long ns);

struct coll_replay {
    const struct coll_trace *trace;
    MPI_Comm *comm;
    unsigned char *out, *in;
    int *to_at, *from_at;
};

static void *coll_replay_room(size_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        coll_replay_fail("no memory");
    return memory;
}

static size_t coll_replay_sum(const int *list, int n)
{
    size_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += (size_t)list[i];
    return sum;
}

static void coll_replay_allocate(struct coll_replay *r)
{
    const struct coll_trace *t = r->trace;
    size_t out = 1, in = 1, members = 1;
    uint64_t x = 1;
    for (size_t i = 0; i < t->ops; i++) {
        const struct coll_trace_op *op = &t->op[i];
        size_t n = (size_t)t->comm[op->comm].size, most = n * (size_t)op->bytes;
        size_t sent = op->to != NULL ? coll_replay_sum(op->to, (int)n) : most;
        size_t got = op->from != NULL ? coll_replay_sum(op->from, (int)n) : most;
        out = sent > out ? sent : out;
        in = got > in ? got : in;
        members = n > members ? n : members;
    }
    r->out = coll_replay_room(out);
    r->in = coll_replay_room(in);
    r->to_at = coll_replay_room(members * sizeof(*r->to_at));
    r->from_at = coll_replay_room(members * sizeof(*r->from_at));
    for (size_t i = 0; i < out; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        r->out[i] = (unsigned char)(x >> 56);
    }
}

/* An error is the program's end: what is left out takes no time. */
static void coll_replay_check(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING], said[MPI_MAX_ERROR_STRING + 64];
    int length = 0;
    if (rc == MPI_SUCCESS)
        return;
    text[0] = '\0';
    MPI_Error_string(rc, text, &length);
    snprintf(said, sizeof(said), "%s: %s", what, text);
    coll_replay_fail(said);
}

/* In the order in which the program first used them, so that nobody waits for another in a ring. */
static void coll_replay_open(struct coll_replay *r, const struct coll_trace *trace)
{
    MPI_Group world, group;
    r->trace = trace;
    coll_replay_allocate(r);
    r->comm = coll_replay_room(trace->comms * sizeof(*r->comm));
    coll_replay_check(MPI_Comm_group(MPI_COMM_WORLD, &world), "group of all");
    for (unsigned c = 0; c < trace->comms; c++) {
        coll_replay_check(MPI_Group_incl(world, trace->comm[c].size, trace->comm[c].member, &group), "group");
        coll_replay_check(MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &r->comm[c]), "communicator");
        coll_replay_check(MPI_Group_free(&group), "group");
    }
    coll_replay_check(MPI_Group_free(&world), "group of all");
}

static void coll_replay_close(struct coll_replay *r)
{
    for (unsigned c = 0; c < r->trace->comms; c++)
        coll_replay_check(MPI_Comm_free(&r->comm[c]), "communicator");
    free(r->comm);
    free(r->out);
    free(r->in);
    free(r->to_at);
    free(r->from_at);
}

static int coll_replay_alltoallv(const struct coll_replay *r, const struct coll_trace_op *op)
{
    int n = r->trace->comm[op->comm].size, to = 0, from = 0;
    for (int i = 0; i < n; i++) {
        r->to_at[i] = to;
        r->from_at[i] = from;
        to += op->to[i];
        from += op->from[i];
    }
    return MPI_Alltoallv(r->out, op->to, r->to_at, MPI_BYTE, r->in, op->from, r->from_at, MPI_BYTE,
                         r->comm[op->comm]);
}

static int coll_replay_call(const struct coll_replay *r, const struct coll_trace_op *op)
{
    MPI_Comm comm = r->comm[op->comm];
    int n = op->bytes;
    switch (op->kind) {
    case COLL_TRACE_BARRIER:
        return MPI_Barrier(comm);
    case COLL_TRACE_BCAST:
        return MPI_Bcast(r->out, n, MPI_BYTE, op->root, comm);
    case COLL_TRACE_REDUCE:
        return MPI_Reduce(r->out, r->in, n, MPI_BYTE, MPI_BXOR, op->root, comm);
    case COLL_TRACE_ALLREDUCE:
        return MPI_Allreduce(r->out, r->in, n, MPI_BYTE, MPI_BXOR, comm);
    case COLL_TRACE_ALLTOALL:
        return MPI_Alltoall(r->out, n, MPI_BYTE, r->in, n, MPI_BYTE, comm);
    case COLL_TRACE_ALLGATHER:
        return MPI_Allgather(r->out, n, MPI_BYTE, r->in, n, MPI_BYTE, comm);
    case COLL_TRACE_GATHER:
        return MPI_Gather(r->out, n, MPI_BYTE, r->in, n, MPI_BYTE, op->root, comm);
    case COLL_TRACE_SCATTER:
        return MPI_Scatter(r->out, n, MPI_BYTE, r->in, n, MPI_BYTE, op->root, comm);
    case COLL_TRACE_ALLTOALLV:
        return coll_replay_alltoallv(r, op);
    case COLL_TRACE_KINDS_COUNT:
        break;
    }
    return MPI_SUCCESS;
}

/* factor: of what was computed, from the first call on. */
static void coll_replay_run(const struct coll_replay *r, double factor)
{
    double owed_ns = 0;
    for (size_t i = 0; i < r->trace->ops; i++) {
        owed_ns += i > 0 ? factor * (double)r->trace->op[i].computed_ns : 0;
        if (owed_ns >= COLL_REPLAY_LEAST_NS || (i + 1 == r->trace->ops && owed_ns > 0)) {
            coll_replay_compute((long)owed_ns);
            owed_ns = 0;
        }
        coll_replay_check(coll_replay_call(r, &r->trace->op[i]), "a collective of the recording");
    }
}

#endif
