/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that do not call the same collective, or not with the same root, operation or length: who finds it has MPI_ERR_ARG,
 * nobody waits for ever, and what comes after works as if nothing had happened. Argument "some": not each rank in turn differs,
 * but the first and the last. */
#include <stdbool.h>

#include "mpitest.h"

enum { LONG = 60000 };

static int data[LONG], result[LONG];

static int another_collective(bool differs)
{
    return differs ? MPI_Bcast(data, 4, MPI_INT, 0, MPI_COMM_WORLD) : MPI_Barrier(MPI_COMM_WORLD);
}
static int another_operation(bool differs)
{
    return MPI_Allreduce(data, result, 8, MPI_INT, differs ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
}
static int another_type(bool differs)
{
    return MPI_Allreduce(data, result, 8, differs ? MPI_FLOAT : MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static int another_length(bool differs)
{
    return MPI_Allreduce(data, result, differs ? 100 : 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static int another_way(bool differs)
{
    return MPI_Bcast(data, differs ? 1000 : LONG, MPI_INT, 0, MPI_COMM_WORLD);
}
static int another_way_again(bool differs)
{
    return MPI_Bcast(data, differs ? LONG : 1000, MPI_INT, 0, MPI_COMM_WORLD);
}
static int another_root_of_reduce(bool differs)
{
    return MPI_Reduce(data, result, 8, MPI_INT, MPI_SUM, differs ? 2 : 0, MPI_COMM_WORLD);
}
static int another_block(bool differs)
{
    return MPI_Allgather(data, differs ? 16 : 8, MPI_INT, result, differs ? 16 : 8, MPI_INT, MPI_COMM_WORLD);
}
static int another_tree(bool differs)
{
    int count = differs ? 1000 : 8;
    return MPI_Gather(data, count, MPI_INT, result, count, MPI_INT, 0, MPI_COMM_WORLD);
}
static int shorter_block_of_one(bool differs)
{
    return MPI_Allgather(data, differs ? 1 : 8, MPI_INT, result, 8, MPI_INT, MPI_COMM_WORLD);
}
static int shorter_message_of_one(bool differs)
{
    return MPI_Alltoall(data, differs ? 1 : 8, MPI_INT, result, 8, MPI_INT, MPI_COMM_WORLD);
}
static int none_of_one(bool differs)
{
    return MPI_Gather(data, differs ? 0 : 4000, MPI_INT, result, differs ? 0 : 4000, MPI_INT, 0,
                      MPI_COMM_WORLD);
}
/* Both wait until somebody takes what they send. */
static int two_roots(bool differs)
{
    return MPI_Bcast(data, LONG, MPI_INT, differs ? 1 : 0, MPI_COMM_WORLD);
}
static int gathers_what_others_scatter(bool differs)
{
    return differs ? MPI_Gather(data, LONG / 8, MPI_INT, result, LONG / 8, MPI_INT, 1, MPI_COMM_WORLD)
                   : MPI_Scatter(data, LONG / 8, MPI_INT, result, LONG / 8, MPI_INT, 0, MPI_COMM_WORLD);
}
static int another_scan(bool differs)
{
    return differs ? MPI_Exscan(data, result, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
                   : MPI_Scan(data, result, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
/* Of a length that is 0 there is no message: what one rank sends, or waits for, the others know nothing of. */
static int one_exchanges(bool differs, int most, int sends)
{
    int counts[64] = {0}, none[64] = {0}, from[64] = {0};
    for (int i = 0; i < t_size && differs; i++)
        counts[i] = most;
    return MPI_Alltoallv(data, sends ? counts : none, from, MPI_INT, result, sends ? none : counts, from,
                         MPI_INT, MPI_COMM_WORLD);
}
static int waits_for_what_nobody_sends(bool differs)
{
    return one_exchanges(differs, 8, false);
}
static int sends_what_nobody_receives(bool differs)
{
    return one_exchanges(differs, LONG / 8, true);
}

static const struct {
    int (*call)(bool differs);
    bool
        always_found; /* else it depends on who differs: with no root at all everybody may have sent and gone on */
} calls[] = {
    {another_collective, true},
    {another_operation, true},
    {another_type, true},
    {another_length, true},
    {another_way, true},
    {another_way_again, true},
    {another_block, true},
    {another_tree, true},
    {another_scan, true},
    {shorter_block_of_one, true},
    {shorter_message_of_one, true},
    {none_of_one, false},
    {two_roots, false},
    {gathers_what_others_scatter, false},
    {another_root_of_reduce, false},
    {waits_for_what_nobody_sends, false},
    {sends_what_nobody_receives, false},
};

/* And all can still work together. */
static void agree_on_found(bool found, bool must)
{
    int mine[2] = {found, t_rank}, sum[2] = {0, 0};
    OK(MPI_Allreduce(mine, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK((sum[0] > 0 || !must) && sum[1] == t_size * (t_size - 1) / 2);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 3);
    t_errors_return();
    bool some = argc > 1 && strcmp(argv[1], "some") == 0;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        int ranks = calls[i].always_found ? t_size : 2; /* the others may take seconds */
        for (int who = 0; who < ranks; who += some ? ranks - 1 : 1) {
            int rc = calls[i].call(t_rank == who);
            bool length = t_class(rc) == MPI_ERR_COUNT || t_class(rc) == MPI_ERR_TRUNCATE;
            if (rc != MPI_SUCCESS && !length) /* which is told where all go the same way */
                FAILS(rc, MPI_ERR_ARG);
            agree_on_found(rc != MPI_SUCCESS, calls[i].always_found);
        }
    }
    return t_end();
}
