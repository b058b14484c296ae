/* SPDX-License-Identifier: BSD-3-Clause */
/* The table that NOF_COLL_TABLE names chooses, and MPI_T says how often each algorithm was, and by whom. Ranks whose tables
 * choose differently are told so: none waits, and none has another's bytes. */
#include <unistd.h>

#include "mpitest.h"

static MPI_T_pvar_session session;

/* Before MPI_Init, of this rank. */
static void choose(int rank)
{
    char name[] = "/tmp/nof-coll-table-XXXXXX";
    int fd = mkstemp(name);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    CHECK(file != NULL);
    fprintf(file, "allgather 1 any %s\nallgather 1 any ring\nbcast 1 1K tree\nbcast 1 any %s\n",
            rank == 1 ? "bruck" : "ring", rank == 1 ? "ring" : "doubling");
    CHECK(fclose(file) == 0 && setenv("NOF_COLL_TABLE", name, 1) == 0);
    t_begin(NULL, NULL, 3);
    CHECK(unlink(name) == 0);
}

int main(void)
{
    static char in[4096], all[16 * sizeof(in)];
    const char *rank = getenv("PMI_RANK");
    int provided;
    choose(rank != NULL ? atoi(rank) : 0);
    t_errors_return();
    CHECK(t_size <= 16);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));

    unsigned long long trees = t_counted(session, "bcast_tree"),
                       tables = t_counted(session, "selected_by_table");
    unsigned long long defaults = t_counted(session, "selected_by_default"),
                       doublings = t_counted(session, "allreduce_doubling");
    OK(MPI_Bcast(in, 1024, MPI_BYTE, 1, MPI_COMM_WORLD));
    CHECK(t_counted(session, "bcast_tree") == trees + 1 &&
          t_counted(session, "selected_by_table") == tables + 1);
    OK(MPI_Allreduce(MPI_IN_PLACE, in, 8, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
    /* Of a hierarchical one, which three ranks on two hosts use, and of what goes between NICs. */
    CHECK(t_counted(session, "allreduce_doubling") == doublings + 1);
    CHECK(t_counted(session, "selected_by_default") == defaults + 2 &&
          t_counted(session, "selected_by_environment") == 0);

    MPI_Comm comm[2];
    for (int i = 0; i < 2; i++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]));
    FAILS(MPI_Allgather(in, sizeof(in), MPI_BYTE, all, sizeof(in), MPI_BYTE, comm[0]), MPI_ERR_ARG);
    FAILS(MPI_Bcast(in, sizeof(in), MPI_BYTE, 0, comm[1]), MPI_ERR_ARG);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 2; i++)
        OK(MPI_Comm_free(&comm[i]));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return t_end();
}
