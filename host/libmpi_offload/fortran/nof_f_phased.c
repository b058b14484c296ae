/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled communication of mpi_offload.h: external procedures in all three bindings. Phases are given as three arguments
 * more than in C: their number, FIRST(0:PHASES), counted from 0, and PAIR(2,*), sources and destinations. */
#include "fortran/nof_f.h"
#include "mpi_offload.h"

#define EXTERNAL(name, args) \
    __attribute__((visibility("default"))) void mpix_##name##_ args; \
    void mpix_##name##_ args

EXTERNAL(alltoallv_control1,
         (const MPI_Fint *sendcounts, const MPI_Fint *sdispls, MPI_Fint *sendtype, const MPI_Fint *recvcounts,
          const MPI_Fint *rdispls, MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *coll, MPI_Fint *ierror))
{
    MPIX_Coll handle = MPIX_COLL_NULL;
    nof_f_ierror(ierror,
                 MPIX_Alltoallv_control1(sendcounts, sdispls, MPI_Type_f2c(*sendtype), recvcounts, rdispls,
                                         MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm), &handle));
    *coll = MPIX_Coll_c2f(handle);
}

EXTERNAL(alltoallv_control1_told,
         (const MPI_Fint *sendcounts, const MPI_Fint *sdispls, MPI_Fint *sendtype, MPI_Fint *recvcounts,
          MPI_Fint *rdispls, MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *coll, MPI_Fint *ierror))
{
    MPIX_Coll handle = MPIX_COLL_NULL;
    nof_f_ierror(ierror, MPIX_Alltoallv_control1_told(sendcounts, sdispls, MPI_Type_f2c(*sendtype),
                                                      recvcounts, rdispls, MPI_Type_f2c(*recvtype),
                                                      MPI_Comm_f2c(*comm), &handle));
    *coll = MPIX_Coll_c2f(handle);
}

EXTERNAL(alltoallv_control2,
         (const MPI_Fint *matrix, const MPI_Fint *sdispls, MPI_Fint *sendtype, const MPI_Fint *rdispls,
          MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *coll, MPI_Fint *ierror))
{
    MPIX_Coll handle = MPIX_COLL_NULL;
    nof_f_ierror(ierror, MPIX_Alltoallv_control2(matrix, sdispls, MPI_Type_f2c(*sendtype), rdispls,
                                                 MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm), &handle));
    *coll = MPIX_Coll_c2f(handle);
}

EXTERNAL(alltoallv_load,
         (MPI_Fint * ranks, MPI_Fint *phase_count, const MPI_Fint *first, const MPI_Fint (*pair)[2],
          const MPI_Fint *sendcounts, const MPI_Fint *sdispls, MPI_Fint *sendtype, const MPI_Fint *recvcounts,
          const MPI_Fint *rdispls, MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *coll, MPI_Fint *ierror))
{
    MPIX_Coll handle = MPIX_COLL_NULL;
    struct MPIX_Phases phases = {*ranks, *phase_count, first, pair};
    nof_f_ierror(ierror,
                 MPIX_Alltoallv_load(&phases, sendcounts, sdispls, MPI_Type_f2c(*sendtype), recvcounts,
                                     rdispls, MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm), &handle));
    *coll = MPIX_Coll_c2f(handle);
}

EXTERNAL(alltoallv_data_trans1, (void *sendbuf, void *recvbuf, MPI_Fint *coll, MPI_Fint *ierror))
{
    nof_f_ierror(ierror, MPIX_Alltoallv_data_trans1(nof_f_buffer(sendbuf), nof_f_buffer(recvbuf),
                                                    MPIX_Coll_f2c(*coll)));
}

EXTERNAL(alltoallv_data_trans2, (void *sendbuf, void *recvbuf, MPI_Fint *coll, MPI_Fint *ierror))
{
    nof_f_ierror(ierror, MPIX_Alltoallv_data_trans2(nof_f_buffer(sendbuf), nof_f_buffer(recvbuf),
                                                    MPIX_Coll_f2c(*coll)));
}

EXTERNAL(coll_free, (MPI_Fint * coll, MPI_Fint *ierror))
{
    MPIX_Coll handle = MPIX_Coll_f2c(*coll);
    nof_f_ierror(ierror, MPIX_Coll_free(&handle));
    *coll = MPIX_Coll_c2f(handle);
}

EXTERNAL(scatterv_open_group,
         (const MPI_Fint *sendcounts, const MPI_Fint *displs, MPI_Fint *sendtype, MPI_Fint *recvcount,
          MPI_Fint *recvtype, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *coll, MPI_Fint *ierror))
{
    MPIX_Coll handle = MPIX_COLL_NULL;
    nof_f_ierror(ierror,
                 MPIX_Scatterv_open_group(sendcounts, displs, MPI_Type_f2c(*sendtype), *recvcount,
                                          MPI_Type_f2c(*recvtype), *root, MPI_Comm_f2c(*comm), &handle));
    *coll = MPIX_Coll_c2f(handle);
}

EXTERNAL(scatterv_data_movement, (void *sendbuf, void *recvbuf, MPI_Fint *coll, MPI_Fint *ierror))
{
    nof_f_ierror(ierror, MPIX_Scatterv_data_movement(nof_f_buffer(sendbuf), nof_f_buffer(recvbuf),
                                                     MPIX_Coll_f2c(*coll)));
}

EXTERNAL(scatterv_close_group, (MPI_Fint * coll, MPI_Fint *ierror))
{
    MPIX_Coll handle = MPIX_Coll_f2c(*coll);
    nof_f_ierror(ierror, MPIX_Scatterv_close_group(&handle));
    *coll = MPIX_Coll_c2f(handle);
}

EXTERNAL(scatterv_dynamic, (void *sendbuf, const MPI_Fint *sendcounts, const MPI_Fint *displs,
                            MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcount, MPI_Fint *recvtype,
                            MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierror))
{
    nof_f_ierror(ierror, MPIX_Scatterv_dynamic(nof_f_buffer(sendbuf), sendcounts, displs,
                                               MPI_Type_f2c(*sendtype), nof_f_buffer(recvbuf), *recvcount,
                                               MPI_Type_f2c(*recvtype), *root, MPI_Comm_f2c(*comm)));
}
