/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that begins a collective of which all others have left, for MPI_Finalize or since they have freed the communicator: it has
 * an error that says so, and soon, whether it sends or waits for them, by multicast or not, and the job ends. The words say which:
 * group (of MPIX_Scatterv_open_group), closed (that the others have closed), bcast, allreduce, ibarrier, iallreduce, bcastinit,
 * allreduceinit, reduceinter (the local side of an inter-communicator); world: not in a communicator of its own; freed: the others
 * have freed that, before MPI_Finalize, and wait for the one meanwhile. */
#include <stdbool.h>
#include <time.h>

#include "mpitest.h"

#include "mpi_offload.h"

enum { NUMBERS = 4000, MOVED = 3, MORE = 200, SECONDS = 60, TAG = 7 };

static int out[64 * NUMBERS], in[NUMBERS];
static MPI_Comm comm;
static MPIX_Coll coll = MPIX_COLL_NULL;
static MPI_Request kept = MPI_REQUEST_NULL;

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

/* Some that stay behind, so that it is not the first. */
static void make_kept(const char *which)
{
    MPI_Request other;
    OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &other));
    if (strcmp(which, "bcastinit") == 0)
        OK(MPI_Bcast_init(out, 64 * NUMBERS, MPI_INT, 0, comm, MPI_INFO_NULL, &kept));
    else
        OK(MPI_Allreduce_init(out, in, NUMBERS, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &kept));
    for (int k = 0; k < MOVED; k++) {
        OK(MPI_Start(&kept));
        OK(MPI_Wait(&kept, MPI_STATUS_IGNORE));
    }
    OK(MPI_Request_free(&other));
    if (t_rank != 0)
        OK(MPI_Request_free(&kept));
}

/* The first two ranks, and the others. */
static void make_inter(void)
{
    MPI_Comm half, inter;
    OK(MPI_Comm_split(comm, t_rank < 2, t_rank, &half));
    OK(MPI_Intercomm_create(half, 0, comm, t_rank < 2 ? 2 : 0, TAG, &inter));
    OK(MPI_Comm_free(&half));
    OK(MPI_Comm_free(&comm));
    comm = inter;
}

static int call(const char *which)
{
    MPI_Request req;
    if (coll != MPIX_COLL_NULL)
        return MPIX_Scatterv_data_movement(out, MPI_IN_PLACE, coll);
    if (kept != MPI_REQUEST_NULL) {
        int rc = MPI_Start(&kept);
        return rc != MPI_SUCCESS ? rc : MPI_Wait(&kept, MPI_STATUS_IGNORE);
    }
    if (strcmp(which, "bcast") == 0)
        return MPI_Bcast(out, 64 * NUMBERS, MPI_INT, 0, comm);
    if (strcmp(which, "allreduce") == 0)
        return MPI_Allreduce(out, in, NUMBERS, MPI_INT, MPI_SUM, comm);
    if (strcmp(which, "reduceinter") == 0)
        return MPI_Reduce(out, in, NUMBERS, MPI_INT, MPI_SUM, 1, comm);
    int rc = strcmp(which, "iallreduce") == 0 ? MPI_Iallreduce(out, in, NUMBERS, MPI_INT, MPI_SUM, comm, &req)
                                              : MPI_Ibarrier(comm, &req);
    return rc != MPI_SUCCESS ? rc : MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static void begin_alone(const char *which)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    double began = MPI_Wtime();
    int rc = MPI_SUCCESS, length;
    for (int k = 0; k < MORE && rc == MPI_SUCCESS; k++) /* what is short may end for its sender */
        rc = call(which);
    CHECK(rc != MPI_SUCCESS && MPI_Wtime() - began < SECONDS);
    OK(MPI_Error_string(rc, text, &length));
    if (strstr(text, "is in MPI_Finalize") == NULL)
        fprintf(stderr, "%s\n", text);
    CHECK(strstr(text, "is in MPI_Finalize") != NULL);
}

/* The others are called only when it has failed. */
static void leave(bool freed)
{
    int word = 0;
    if (!freed)
        return;
    if (t_rank != 0) {
        OK(MPI_Comm_free(&comm));
        OK(MPI_Recv(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        return;
    }
    for (int i = 1; i < t_size; i++)
        OK(MPI_Send(&word, 1, MPI_INT, i, TAG, MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 3);
    CHECK(argc >= 2 && t_size <= 64);
    const char *which = argv[1], *how = argc > 2 ? argv[2] : "";
    bool closed = strcmp(which, "closed") == 0, freed = strcmp(how, "freed") == 0;
    comm = MPI_COMM_WORLD;
    if (strcmp(how, "world") != 0)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (strcmp(which, "reduceinter") == 0)
        make_inter();
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    if (closed || strcmp(which, "group") == 0)
        open_group();
    if (strstr(which, "init") != NULL)
        make_kept(which);
    if (closed && t_rank != 0)
        OK(MPIX_Scatterv_close_group(&coll));
    if (t_rank == 0)
        begin_alone(which);
    leave(freed);
    MPI_Finalize();
    return 0;
}
