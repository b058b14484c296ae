/* SPDX-License-Identifier: BSD-3-Clause */
/* A group of MPIX_Scatterv_open_group that another thread closes while its message is awaited: the message comes all the same, and the
 * handle is gone. */
#include <pthread.h>

#include "mpitest.h"

#include "mpi_offload.h"

enum { RANKS = 3, NUMBERS = 200 };
static MPIX_Coll coll;
static int in[NUMBERS];

static void *receive(void *unused)
{
    OK(MPIX_Scatterv_data_movement(NULL, in, coll));
    return unused;
}

int main(int argc, char **argv)
{
    static int out[RANKS * NUMBERS];
    const int counts[RANKS] = {0, NUMBERS, NUMBERS}, displs[RANKS] = {0, NUMBERS, 2 * NUMBERS};
    int provided, word = 0;
    MPI_T_pvar_session session;
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &t_rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &t_size));
    CHECK(t_size == RANKS);
    for (int i = 0; i < RANKS * NUMBERS; i++)
        out[i] = i;
    OK(MPIX_Scatterv_open_group(counts, displs, MPI_INT, counts[t_rank], MPI_INT, 0, MPI_COMM_WORLD, &coll));
    if (t_rank == 0) {
        for (int rank = 1; rank < RANKS; rank++)
            OK(MPI_Recv(&word, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPIX_Scatterv_data_movement(out, MPI_IN_PLACE, coll));
        OK(MPIX_Scatterv_close_group(&coll));
    } else {
        pthread_t receiver;
        MPIX_Coll closed = coll;
        CHECK(pthread_create(&receiver, NULL, receive, NULL) == 0);
        while (t_counted(session, "scatterv_group") == 0)
            ; /* it does not wait yet */
        OK(MPIX_Scatterv_close_group(&closed));
        CHECK(closed == MPIX_COLL_NULL);
        OK(MPI_Send(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
        CHECK(pthread_join(receiver, NULL) == 0);
        for (int i = 0; i < NUMBERS; i++)
            CHECK(in[i] == displs[t_rank] + i);
        OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        FAILS(MPIX_Scatterv_data_movement(NULL, in, coll), MPI_ERR_ARG);
    }
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return t_end();
}
