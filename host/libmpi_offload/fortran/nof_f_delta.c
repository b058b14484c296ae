/* SPDX-License-Identifier: BSD-3-Clause */
/* Delta messages of mpi_offload.h: external procedures in all three bindings, as MPIX_DELTA_... and by the paper's names. */
#include "fortran/nof_f.h"
#include "mpi_offload.h"

#define EXTERNAL(name, args) \
    __attribute__((visibility("default"))) void mpix_delta_##name##_ args; \
    __attribute__((visibility("default"), alias("mpix_delta_" #name "_"))) void mpi_delta_##name##_ args; \
    void mpix_delta_##name##_ args

EXTERNAL(send_begin, (void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *dest, MPI_Fint *tag,
                      MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierror))
{
    MPI_Request handle = MPI_REQUEST_NULL;
    nof_f_ierror(ierror, MPIX_Delta_send_begin(nof_f_buffer(buf), *count, MPI_Type_f2c(*datatype), *dest,
                                               *tag, MPI_Comm_f2c(*comm), &handle));
    *request = MPI_Request_c2f(handle);
}

EXTERNAL(send_data, (MPI_Fint * request, const void *address, const MPI_Count *bytes, MPI_Fint *ierror))
{
    nof_f_ierror(ierror, MPIX_Delta_send_data(MPI_Request_f2c(*request), address, *bytes));
}

EXTERNAL(send_end, (MPI_Fint * request, MPI_Fint *ierror))
{
    MPI_Request handle = MPI_Request_f2c(*request);
    nof_f_ierror(ierror, MPIX_Delta_send_end(&handle));
}

EXTERNAL(send_end_count, (MPI_Fint * request, const MPI_Count *count, MPI_Fint *ierror))
{
    MPI_Request handle = MPI_Request_f2c(*request);
    nof_f_ierror(ierror, MPIX_Delta_send_end_count(&handle, *count));
}

EXTERNAL(wait, (MPI_Fint * request, MPI_Fint *status, MPI_Fint *ierror))
{
    MPI_Request handle = MPI_Request_f2c(*request);
    nof_f_ierror(ierror, MPIX_Delta_wait(&handle, nof_f_status(status)));
    *request = MPI_Request_c2f(handle);
}

EXTERNAL(recv, (void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *source, MPI_Fint *tag,
                MPI_Fint *comm, MPI_Fint *status, MPI_Fint *ierror))
{
    nof_f_ierror(ierror, MPIX_Delta_recv(nof_f_buffer(buf), *count, MPI_Type_f2c(*datatype), *source, *tag,
                                         MPI_Comm_f2c(*comm), nof_f_status(status)));
}

EXTERNAL(wait_data, (const void *address, const MPI_Count *bytes, MPI_Fint *ierror))
{
    nof_f_ierror(ierror, MPIX_Delta_wait_data(address, *bytes));
}

EXTERNAL(recv_wait, (void *buf, MPI_Fint *status, MPI_Fint *ierror))
{
    nof_f_ierror(ierror, MPIX_Delta_recv_wait(nof_f_buffer(buf), nof_f_status(status)));
}
