/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank sends more than is received. That is told when the collective has ended: a rank that finds it out before it has
 * begun takes part all the same, for the others know nothing of it and wait. What comes after works as if nothing had
 * happened. */
#include "mpitest.h"

enum { MOST_RANKS = 16 };

struct call {
    int who; /* sends twice as much as is received */
    int count;
    const int *out;
    int *in;
    int sends[MOST_RANKS], receives[MOST_RANKS], places[MOST_RANKS], bytes[MOST_RANKS];
    MPI_Datatype types[MOST_RANKS];
};

#define SENT (c->count * (t_rank == c->who ? 2 : 1))

#define FORMS(name, I, now, ...) \
    static int name(struct call *c, int form, MPI_Request *req) \
    { \
        if (form == 0) \
            return MPI_##now(__VA_ARGS__, MPI_COMM_WORLD); \
        if (form == 1) \
            return MPI_##I(__VA_ARGS__, MPI_COMM_WORLD, req); \
        OK(MPI_##now##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, req)); \
        OK(MPI_Start(req)); \
        (void)MPI_Wait(req, MPI_STATUS_IGNORE); \
        return MPI_Start(req); /* the second time is as the first */ \
    }

FORMS(alltoall, Ialltoall, Alltoall, c->out, SENT, MPI_INT, c->in, c->count, MPI_INT)
FORMS(alltoallv, Ialltoallv, Alltoallv, c->out, c->sends, c->places, MPI_INT, c->in, c->receives, c->places,
      MPI_INT)
FORMS(alltoallw, Ialltoallw, Alltoallw, c->out, c->sends, c->bytes, c->types, c->in, c->receives, c->bytes,
      c->types)
FORMS(allgather, Iallgather, Allgather, c->out, SENT, MPI_INT, c->in, c->count, MPI_INT)
FORMS(allgatherv, Iallgatherv, Allgatherv, c->out, SENT, MPI_INT, c->in, c->receives, c->places, MPI_INT)
FORMS(gather, Igather, Gather, c->out, SENT, MPI_INT, c->in, c->count, MPI_INT, c->who)
FORMS(gatherv, Igatherv, Gatherv, c->out, SENT, MPI_INT, c->in, c->receives, c->places, MPI_INT, c->who)
FORMS(scatter, Iscatter, Scatter, c->out, SENT, MPI_INT, c->in, c->count, MPI_INT, c->who)
FORMS(scatterv, Iscatterv, Scatterv, c->out, c->sends, c->places, MPI_INT, c->in, c->receives[0], MPI_INT,
      c->who)

static int (*const calls[])(struct call *, int, MPI_Request *) = {
    alltoall, alltoallv, alltoallw, allgather, allgatherv, gather, gatherv, scatter, scatterv,
};

/* And all can still work together. */
static void somebody_found(int found)
{
    int mine[2] = {found, t_rank}, sum[2] = {0, 0};
    OK(MPI_Allreduce(mine, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum[0] > 0 && sum[1] == t_size * (t_size - 1) / 2);
}

static void one(int which, int form, int who, int count)
{
    struct call c = {.who = who, .count = count};
    size_t room = 4u * (size_t)count * (size_t)t_size;
    int *out = malloc(room * sizeof(int)), *in = malloc(room * sizeof(int));
    MPI_Request req = MPI_REQUEST_NULL;
    CHECK(out != NULL && in != NULL && t_size <= MOST_RANKS);
    for (size_t i = 0; i < room; i++)
        in[i] = out[i] = -1;
    c.out = out;
    c.in = in;
    for (int i = 0; i < t_size; i++) {
        c.sends[i] = count * (t_rank == who ? 2 : 1);
        c.receives[i] = count;
        c.places[i] = 2 * count * i;
        c.bytes[i] = c.places[i] * (int)sizeof(int);
        c.types[i] = MPI_INT;
    }
    int rc = calls[which](&c, form, &req);
    if (form > 0) {
        OK(rc); /* it has begun: the error comes at its end */
        rc = MPI_Wait(&req, MPI_STATUS_IGNORE);
    }
    if (rc != MPI_SUCCESS &&
        t_class(rc) != MPI_ERR_ARG) /* that the ranks do not call the same, or more precisely: */
        FAILS(rc, MPI_ERR_TRUNCATE);
    somebody_found(rc != MPI_SUCCESS); /* who depends on the algorithm */
    /* Nothing is written behind what was to be received. */
    for (size_t i = 2u * (size_t)count * (size_t)t_size; i < room; i++)
        CHECK(in[i] == -1);
    if (form == 2)
        OK(MPI_Request_free(&req));
    free(in);
    free(out);
}

/* A broadcast of another length than is expected, longer or shorter, is noticed by all but its root: those, too, whose own
 * part came from a rank that had noticed. */
static void broadcast(int root_count, int count, int form)
{
    int most = root_count > count ? root_count : count, mine = t_rank == 0 ? root_count : count;
    int *data = calloc((size_t)most + 1, sizeof(int));
    MPI_Request req = MPI_REQUEST_NULL;
    int rc;
    CHECK(data != NULL);
    if (form == 0) {
        rc = MPI_Bcast(data, mine, MPI_INT, 0, MPI_COMM_WORLD);
    } else {
        OK(MPI_Ibcast(data, mine, MPI_INT, 0, MPI_COMM_WORLD, &req));
        rc = MPI_Wait(&req, MPI_STATUS_IGNORE);
    }
    /* Of lengths for which the library chooses different algorithms, that ranks call something else. */
    if (t_rank != 0 && t_class(rc) != MPI_ERR_TRUNCATE && t_class(rc) != MPI_ERR_ARG)
        FAILS(rc, MPI_ERR_COUNT);
    somebody_found(rc != MPI_SUCCESS);
    free(data);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 40, 1000, 20000};
    t_begin(&argc, &argv, 2);
    t_errors_return();
    for (int which = 0; which < (int)(sizeof(calls) / sizeof(calls[0])); which++)
        for (int form = 0; form < 3; form++)
            for (int k = 0; k < (int)(sizeof(counts) / sizeof(counts[0])); k++)
                for (int who = 0; who < t_size; who += t_size - 1)
                    one(which, form, who, counts[k]);
    static const int pairs[][2] = {{0, 1},       {0, 10},      {0, 30000},       {1, 10},         {10, 1},
                                   {1000, 3000}, {3000, 2000}, {100000, 200000}, {200000, 100000}};
    for (int i = 0; i < (int)(sizeof(pairs) / sizeof(pairs[0])); i++)
        for (int form = 0; form < 2; form++)
            broadcast(pairs[i][0], pairs[i][1], form);
    return t_end();
}
