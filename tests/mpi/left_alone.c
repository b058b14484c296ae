/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that begins a collective of which all others have left for MPI_Finalize: it has an error that says so, and soon, whether
 * it sends or waits for them, by multicast or not, in a communicator of its own or with a group of MPIX_Scatterv_open_group; and
 * the job ends. The words say which: group, closed (that the others have closed), bcast, allreduce, ibarrier, iallreduce; and
 * world: not in a communicator of its own. */
#include <stdbool.h>
#include <time.h>

#include "mpitest.h"

#include "mpi_offload.h"

enum { NUMBERS = 4000, MOVED = 3, MORE = 200, SECONDS = 20 };

static int out[64 * NUMBERS], in[NUMBERS];
static MPI_Comm comm;
static MPIX_Coll coll = MPIX_COLL_NULL;

static void open_group(void)
{
    int counts[64], displs[64];
    for (int i = 0; i < t_size; i++) {
        counts[i] = i == 0 ? 0 : NUMBERS;
        displs[i] = i * NUMBERS;
    }
    OK(MPIX_Scatterv_open_group(counts, displs, MPI_INT, counts[t_rank], MPI_INT, 0, comm, &coll));
    for (int k = 0; k < MOVED; k++)
        OK(MPIX_Scatterv_data_movement(out, t_rank == 0 ? MPI_IN_PLACE : (void *)in, coll));
}

static int call(const char *which)
{
    MPI_Request req;
    if (coll != MPIX_COLL_NULL)
        return MPIX_Scatterv_data_movement(out, MPI_IN_PLACE, coll);
    if (strcmp(which, "bcast") == 0)
        return MPI_Bcast(out, 64 * NUMBERS, MPI_INT, 0, comm);
    if (strcmp(which, "allreduce") == 0)
        return MPI_Allreduce(out, in, NUMBERS, MPI_INT, MPI_SUM, comm);
    int rc = strcmp(which, "iallreduce") == 0 ? MPI_Iallreduce(out, in, NUMBERS, MPI_INT, MPI_SUM, comm, &req)
                                              : MPI_Ibarrier(comm, &req);
    return rc != MPI_SUCCESS ? rc : MPI_Wait(&req, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 3);
    CHECK(argc >= 2 && t_size <= 64);
    bool closed = strcmp(argv[1], "closed") == 0;
    comm = MPI_COMM_WORLD;
    if (argc == 2 || strcmp(argv[2], "world") != 0)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    if (closed || strcmp(argv[1], "group") == 0)
        open_group();
    if (closed && t_rank != 0)
        OK(MPIX_Scatterv_close_group(&coll));
    if (t_rank == 0) {
        char text[MPI_MAX_ERROR_STRING] = "";
        double began = MPI_Wtime();
        int rc = MPI_SUCCESS, length;
        for (int k = 0; k < MORE && rc == MPI_SUCCESS; k++) /* what is short may end for its sender */
            rc = call(argv[1]);
        CHECK(rc != MPI_SUCCESS && MPI_Wtime() - began < SECONDS);
        OK(MPI_Error_string(rc, text, &length));
        if (strstr(text, "is in MPI_Finalize") == NULL)
            fprintf(stderr, "%s\n", text);
        CHECK(strstr(text, "is in MPI_Finalize") != NULL);
    }
    MPI_Finalize();
    return 0;
}
