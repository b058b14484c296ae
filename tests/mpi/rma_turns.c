/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of one origin on the same bytes take effect in the order in which it called them, once the one before is over
 * there: a get sees the put before it, an accumulate adds to it. Long ones, whose payload comes by itself, and short ones;
 * contiguous, every other element, and types whose description is long. */
#include "mpitest.h"

enum { LONG = 3000, ROUNDS = 40, WHOLE = 2 * LONG, BURST = 100 };

static double *window, mine[WHOLE], got[WHOLE], many[BURST][LONG];
static MPI_Win win;

struct shape {
    MPI_Datatype type;
    int count; /* doubles */
};

static MPI_Datatype scattered(int count)
{
    static int at[LONG];
    MPI_Datatype type;
    for (int i = 0; i < count; i++)
        at[i] = 2 * i + (i % 3 == 0);
    OK(MPI_Type_create_indexed_block(count, 1, at, MPI_DOUBLE, &type));
    OK(MPI_Type_commit(&type));
    return type;
}

static MPI_Datatype strided(int count)
{
    MPI_Datatype type;
    OK(MPI_Type_vector(count, 1, 2, MPI_DOUBLE, &type));
    OK(MPI_Type_commit(&type));
    return type;
}

static MPI_Datatype dense(int count)
{
    MPI_Datatype type;
    OK(MPI_Type_contiguous(count, MPI_DOUBLE, &type));
    OK(MPI_Type_commit(&type));
    return type;
}

static void put(const struct shape *s, double value, int to)
{
    for (int i = 0; i < s->count; i++)
        mine[i] = value + i;
    OK(MPI_Put(mine, s->count, MPI_DOUBLE, to, 0, 1, s->type, win));
    OK(MPI_Win_flush_local(to, win));
}

static void add(const struct shape *s, double value, int to)
{
    for (int i = 0; i < s->count; i++)
        mine[i] = value;
    OK(MPI_Accumulate(mine, s->count, MPI_DOUBLE, to, 0, 1, s->type, MPI_SUM, win));
    OK(MPI_Win_flush_local(to, win));
}

static void expect(const struct shape *s, double value, int to)
{
    for (int i = 0; i < s->count; i++)
        got[i] = -1;
    OK(MPI_Get(got, s->count, MPI_DOUBLE, to, 0, 1, s->type, win));
    OK(MPI_Win_flush_local(to, win));
    for (int i = 0; i < s->count; i++)
        CHECK(got[i] == value + i);
}

/* A short put into the midst of a long one. */
static void overwrite(const struct shape *s, int to)
{
    double nine = 9;
    put(s, 1, to);
    OK(MPI_Put(&nine, 1, MPI_DOUBLE, to, 0, 1, MPI_DOUBLE, win));
    OK(MPI_Get(got, 1, MPI_DOUBLE, to, 0, 1, MPI_DOUBLE, win));
    OK(MPI_Win_flush_local(to, win));
    CHECK(got[0] == 9);
}

/* More of them than may have begun, and than are received before their turn; none is waited for. */
static void many_at_a_time(const struct shape *s, int to)
{
    for (int k = 0; k < BURST; k++) {
        for (int i = 0; i < s->count; i++)
            many[k][i] = k + i;
        OK(MPI_Put(many[k], s->count, MPI_DOUBLE, to, 0, 1, s->type, win));
    }
    expect(s, BURST - 1, to);
    OK(MPI_Win_flush(to, win));
}

static void shape_is_in_order(const struct shape *s, int to)
{
    for (int round = 0; round < ROUNDS; round++) {
        put(s, round, to);
        expect(s, round, to);
        put(s, 2 * round, to);
        add(s, 5, to);
        expect(s, 2 * round + 5, to);
        add(s, 3, to);
        put(s, 7, to);
        add(s, 1, to);
        expect(s, 8, to);
        if (round % 8 == 0)
            many_at_a_time(s, to);
    }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    OK(MPI_Win_allocate(WHOLE * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &window,
                        &win));
    for (int i = 0; i < WHOLE; i++)
        window[i] = 0;
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    struct shape shapes[] = {{dense(LONG), LONG},  {dense(20), 20},         {strided(LONG), LONG},
                             {strided(20), 20},    {scattered(LONG), LONG}, {scattered(200), 200},
                             {scattered(700), 700}};
    int n = sizeof(shapes) / sizeof(shapes[0]);
    for (int i = 0; t_rank == 0 && i < n; i++)
        shape_is_in_order(&shapes[i], 1);
    for (int round = 0; t_rank == 0 && round < ROUNDS; round++)
        overwrite(&shapes[0], 1);
    OK(MPI_Win_unlock_all(win));
    for (int i = 0; i < n; i++)
        OK(MPI_Type_free(&shapes[i].type));
    OK(MPI_Win_free(&win));
    MPI_Finalize();
    return 0;
}
