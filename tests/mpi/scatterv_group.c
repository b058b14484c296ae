/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled communication: a scatterv to some of the ranks, by a group of their own, moves what MPI_Scatterv moves, again and
 * again, out of other buffers, when arrays and datatypes are gone, in place, two groups at once; ranks without a block need not
 * call; what is refused or differs is an error at all ranks. A dynamic group, likewise. With `asked` all that goes by multicast,
 * with `unicast` nothing does. With `left` a group is left open. */
#include <stdbool.h>
#include <stdlib.h>

#include "mpitest.h"

#define NOF_CCMPI_NAMES
#include "mpi_offload.h"

enum { MOST = 5000, RANKS_MOST = 16 };
static int out[RANKS_MOST * MOST], in[MOST + 1];
static int counts[RANKS_MOST], displs[RANKS_MOST];
static MPI_T_pvar_session session;

static int value_of(int round, int rank, int i)
{
    return round * 1000003 + rank * 10007 + i;
}

/* Of each rank but `without`, which may be -1; the order in the buffer is another one. */
static void lay_out(int most, int without)
{
    int at = 0;
    for (int r = t_size - 1; r >= 0; r--) {
        counts[r] = r == without ? 0 : 1 + most * r / t_size;
        displs[r] = at;
        at += counts[r] + 1;
    }
}

static void fill(int round)
{
    for (int r = 0; r < t_size; r++)
        for (int i = 0; i < counts[r]; i++)
            out[displs[r] + i] = value_of(round, r, i);
    for (int i = 0; i <= MOST; i++)
        in[i] = -1;
}

static void check_got(int round, int n)
{
    for (int i = 0; i < n; i++)
        CHECK(in[i] == value_of(round, t_rank, i));
    CHECK(in[n] == -1);
}

static MPIX_Coll open_group(int most, int without, int root)
{
    MPI_Datatype type;
    MPIX_Coll coll;
    int sent[RANKS_MOST];
    lay_out(most, without);
    memcpy(sent, counts, sizeof(sent));
    OK(MPI_Type_contiguous(1, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Scatterv_open_group(t_rank == root ? sent : NULL, t_rank == root ? displs : NULL, type,
                               counts[t_rank], type, root, MPI_COMM_WORLD, &coll));
    OK(MPI_Type_free(&type));
    memset(sent, -1, sizeof(sent));
    return coll;
}

static void move(MPIX_Coll coll, int round, int root)
{
    bool mine = t_rank == root || counts[t_rank] > 0;
    bool in_place = t_rank == root && round % 2 == 1;
    fill(round);
    if (!mine && round % 2 == 0)
        return; /* it may call, and need not */
    OK(MPI_Scatterv_data_movement(t_rank == root ? out : NULL, in_place ? MPI_IN_PLACE : in, coll));
    if (!in_place)
        check_got(round, counts[t_rank]);
}

static void one_group(int most, int without, int root)
{
    MPIX_Coll coll = open_group(most, without, root);
    for (int round = 0; round < 6; round++)
        move(coll, round, root);
    CHECK(MPIX_Coll_f2c(MPIX_Coll_c2f(coll)) == coll);
    OK(MPI_Scatterv_close_group(&coll));
    CHECK(coll == MPIX_COLL_NULL);
}

static void two_groups(void)
{
    MPIX_Coll small = open_group(10, -1, 1), large = open_group(3000, t_size - 1, 1);
    for (int round = 0; round < 8; round++) {
        lay_out(round % 3 == 0 ? 3000 : 10, round % 3 == 0 ? t_size - 1 : -1);
        move(round % 3 == 0 ? large : small, round, 1);
        OK(MPI_Bcast(&round, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    OK(MPI_Scatterv_close_group(&small));
    OK(MPI_Scatterv_close_group(&large));
}

static void dynamic(int round, int most, int root)
{
    bool in_place = t_rank == root && round % 2 == 1;
    lay_out(most, round % 3 == 0 ? (root + 1) % t_size : -1);
    fill(round);
    OK(MPIX_Scatterv_dynamic(out, t_rank == root ? counts : NULL, displs, MPI_INT,
                             in_place ? MPI_IN_PLACE : in, counts[t_rank], MPI_INT, root, MPI_COMM_WORLD));
    if (!in_place)
        check_got(round, counts[t_rank]);
}

static void bad_input(void)
{
    MPIX_Coll coll = (MPIX_Coll)out, other;
    int last = t_size - 1;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    lay_out(10, -1);
    for (int more = -1; more <= 1; more += 2) {
        FAILS(MPIX_Scatterv_open_group(counts, displs, MPI_INT, counts[t_rank] + (t_rank == last ? more : 0),
                                       MPI_INT, 0, MPI_COMM_WORLD, &coll),
              more < 0 ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT);
        CHECK(coll == MPIX_COLL_NULL);
    }
    int count = counts[1];
    counts[1] = -1;
    FAILS(MPIX_Scatterv_open_group(counts, displs, MPI_INT, t_rank == 1 ? count : counts[t_rank], MPI_INT, 0,
                                   MPI_COMM_WORLD, &coll),
          t_rank == 0 ? MPI_ERR_COUNT : MPI_ERR_ARG);
    counts[1] = count;
    FAILS(MPIX_Scatterv_open_group(counts, displs, MPI_INT, counts[t_rank],
                                   t_rank == last ? MPI_DATATYPE_NULL : MPI_INT, 0, MPI_COMM_WORLD, &coll),
          t_rank == last ? MPI_ERR_TYPE : MPI_ERR_ARG);
    FAILS(MPIX_Scatterv_open_group(counts, displs, MPI_INT, 0, MPI_INT, t_size, MPI_COMM_WORLD, &coll),
          MPI_ERR_ROOT);
    FAILS(MPIX_Scatterv_data_movement(out, in, MPIX_COLL_NULL), MPI_ERR_ARG);
    other = open_group(10, -1, 0);
    FAILS(MPIX_Coll_free(&other), MPI_ERR_ARG);
    FAILS(MPIX_Alltoallv_data_trans1(out, in, other), MPI_ERR_ARG);
    if (t_rank > 0)
        FAILS(MPIX_Scatterv_data_movement(out, MPI_IN_PLACE, other), MPI_ERR_BUFFER);
    move(other, 0, 0);
    coll = other;
    OK(MPIX_Scatterv_close_group(&other));
    FAILS(MPIX_Scatterv_close_group(&coll), MPI_ERR_ARG);
    /* More than a memory holds; and what is wrong with a buffer all hear of, because they have begun. */
    MPI_Datatype large;
    OK(MPI_Type_contiguous(1 << 30, MPI_DOUBLE, &large));
    OK(MPI_Type_commit(&large));
    for (int r = 0; r < t_size; r++)
        counts[r] = 1 << 29;
    FAILS(MPIX_Scatterv_open_group(counts, displs, large, 0, MPI_INT, 0, MPI_COMM_WORLD, &coll),
          t_rank == 0 ? MPI_ERR_COUNT : MPI_ERR_ARG);
    OK(MPI_Type_free(&large));
    lay_out(10, -1);
    int rc = MPIX_Scatterv_dynamic(t_rank == 0 ? MPI_IN_PLACE : out, counts, displs, MPI_INT, in,
                                   counts[t_rank], MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(rc != MPI_SUCCESS);
    /* Of a dynamic group only the rank whose length differs learns of it. */
    for (int more = -1; more <= 1; more += 2)
        FAILS(MPIX_Scatterv_dynamic(out, counts, displs, MPI_INT, in,
                                    counts[t_rank] + (t_rank == last ? more : 0), MPI_INT, 0, MPI_COMM_WORLD),
              t_rank != last ? MPI_SUCCESS
              : more < 0     ? MPI_ERR_TRUNCATE
                             : MPI_ERR_COUNT);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    int provided;
    const char *how = argc > 1 ? argv[1] : "";
    bool asked = strcmp(how, "asked") == 0, unicast = strcmp(how, "unicast") == 0;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    t_begin(&argc, &argv, 3);
    CHECK(t_size <= RANKS_MOST);
    if (strcmp(how, "left") == 0) {
        move(open_group(10, -1, 1), 0, 1);
        return t_end();
    }
    for (int root = 0; root < t_size; root++) {
        one_group(12, -1, root);
        one_group(4000, asked ? -1 : (root + 1) % t_size, root);
    }
    two_groups();
    for (int k = 0; k < 30; k++)
        dynamic(k, k % 4 == 0 ? 3000 : 20, k % t_size);
    bad_input();
    unsigned long long by_group = t_counted(session, "scatterv_group");
    CHECK(!asked || by_group > 60);
    CHECK(!unicast || by_group == 0);
    CHECK(!unicast || t_counted(session, "scatterv_group_unicast") > 60);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return t_end();
}
