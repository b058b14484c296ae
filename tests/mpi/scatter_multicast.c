/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking scatters by multicast: the same blocks, whoever the root is and whatever the type, before and after the ranks have
 * agreed to use it, small and large, empty, in place, of lengths that differ; with `asked`, and a table that chooses it
 * (multicast.table), that it was used, or with `unicast`, not. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"

enum { BLOCK_MOST = 40000, RANKS_MOST = 16 };
static int out[RANKS_MOST * BLOCK_MOST], in[BLOCK_MOST + 1];
static int counts[RANKS_MOST], displs[RANKS_MOST];
static MPI_T_pvar_session session;

static int value_of(int round, int rank, int i)
{
    return round * 1000003 + rank * 10007 + i;
}

static void clear(int n)
{
    for (int i = 0; i <= n; i++)
        in[i] = -1;
}

static void same(int round, int n)
{
    for (int i = 0; i < n; i++)
        CHECK(in[i] == value_of(round, t_rank, i));
    CHECK(in[n] == -1);
}

static void scatter(int round, int root, int n, bool in_place)
{
    bool mine = in_place && t_rank == root;
    clear(n);
    for (int r = 0; r < t_size; r++)
        for (int i = 0; i < n; i++)
            out[r * n + i] = t_rank == root ? value_of(round, r, i) : -2;
    OK(MPI_Scatter(out, n, MPI_INT, mine ? MPI_IN_PLACE : in, n, MPI_INT, root, MPI_COMM_WORLD));
    if (mine)
        memcpy(in, out + root * n, (size_t)n * sizeof(in[0]));
    same(round, n);
}

/* Every second number at the root, close together elsewhere. */
static void with_gaps(int round, int root, int n)
{
    MPI_Datatype pair, gaps;
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps));
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_Type_commit(&pair));
    clear(2 * n);
    for (int r = 0; r < t_size; r++)
        for (int i = 0; i < 2 * n; i++)
            out[2 * (r * 2 * n + i)] = value_of(round, r, i);
    OK(MPI_Scatter(out, 2 * n, gaps, in, n, pair, root, MPI_COMM_WORLD));
    same(round, 2 * n);
    OK(MPI_Type_free(&pair));
    OK(MPI_Type_free(&gaps));
}

/* Rank r gets `most` * r / size numbers, backwards in the root's buffer, every third nothing. */
static void scatterv(int round, int root, int most, bool in_place)
{
    bool mine = in_place && t_rank == root;
    int at = 0;
    for (int r = t_size - 1; r >= 0; r--) {
        counts[r] = r % 3 == 2 ? 0 : most * (r + 1) / t_size;
        displs[r] = at;
        for (int i = 0; i < counts[r]; i++)
            out[at++] = value_of(round, r, i);
    }
    int n = counts[t_rank];
    clear(n);
    if (t_rank != root)
        memset(counts, -1, sizeof(counts)); /* not significant */
    OK(MPI_Scatterv(out, counts, displs, MPI_INT, mine ? MPI_IN_PLACE : in, n, MPI_INT, root,
                    MPI_COMM_WORLD));
    if (mine)
        memcpy(in, out + displs[root], (size_t)n * sizeof(in[0]));
    same(round, n);
}

/* A rank that expects more, or less, than the root has for it learns of it, where that can be told; all others go on. */
static void lengths_that_differ(bool asked)
{
    int last = t_size - 1;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int wrong = -1; wrong <= 1; wrong += 2) {
        for (int r = 0; r < t_size; r++) {
            counts[r] = 10;
            displs[r] = 10 * r;
        }
        int n = t_rank == last ? 10 + wrong : 10, class;
        int rc = MPI_Scatterv(out, counts, displs, MPI_INT, in, n, MPI_INT, 0, MPI_COMM_WORLD);
        OK(MPI_Error_class(rc, &class));
        if (t_rank == last && asked)
            CHECK(class == (wrong < 0 ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT));
        else if (t_rank != last)
            CHECK(class == MPI_SUCCESS);
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 7, 60, 100, 3000, 40000};
    int provided, round = 0;
    bool asked = argc > 1 && strcmp(argv[1], "asked") == 0,
         unicast = argc > 1 && strcmp(argv[1], "unicast") == 0;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    t_begin(&argc, &argv, 3);
    CHECK(t_size <= RANKS_MOST);
    for (; round < 17; round++) {
        if (round % 2 == 0)
            scatter(round, round % t_size, 20, false);
        else
            scatterv(round, round % t_size, 20, false);
        if (round > 7)
            t_settle(); /* the group opens meanwhile */
    }
    unsigned long long before = t_counted(session, "scatter_multicast");
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
        for (int root = 0; root < t_size; root++) {
            scatter(round++, root, sizes[k], root % 2 == 0);
            scatterv(round++, root, sizes[k], root % 2 != 0);
        }
    scatter(round++, 1, 0, false);
    scatterv(round++, 1, 0, false);
    for (int root = 0; root < t_size; root++)
        with_gaps(round++, root, 8);
    for (int k = 0; k < 70; k++)
        scatterv(round++, k % t_size, 10, k % 2 == 0);
    for (int k = 0; k < 10; k++)
        OK(MPI_Bcast(in, 20, MPI_INT, k % t_size, MPI_COMM_WORLD));
    if (!unicast)
        lengths_that_differ(asked);
    scatter(round++, 0, 10, false);
    CHECK(!asked || t_counted(session, "scatter_multicast") > before + 10);
    CHECK(!asked || t_counted(session, "scatterv_multicast") > 20);
    CHECK(!asked || t_counted(session, "scatterv_linear") > 1);
    CHECK(!asked || t_counted(session, "scatterv_unicast_unasked") > 2);
    CHECK(!unicast ||
          t_counted(session, "scatter_multicast") + t_counted(session, "scatterv_multicast") == 0);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return t_end();
}
