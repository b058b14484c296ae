/* SPDX-License-Identifier: BSD-3-Clause */
/* The receive predictor learns where the program called, not where the Fortran binding did. This program stands in
 * for the library's door and for the Fortran caller. */
#include <stdint.h>
#include <stdio.h>

#include "api/fortran_hooks.h"
#include "mpi.h"

static uintptr_t sites[16];
static int count;

static void remember(const void *site)
{
    sites[count++ % 16] = (uintptr_t)site;
}

static void ignore(bool is_old)
{
    (void)is_old;
}

const struct nof_fortran_hooks nof_fortran_hooks = {.callsite = remember, .attributes = ignore};

void mpi_recv_(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *source, MPI_Fint *tag,
               MPI_Fint *comm, MPI_Fint *status, MPI_Fint *ierror);
extern MPI_Fint mpi_fortran_status_ignore_[MPI_F_STATUS_SIZE];

static __attribute__((noinline)) MPI_Fint receive(void)
{
    MPI_Fint none = 0, type = MPI_Type_c2f(MPI_INT), null = MPI_PROC_NULL, comm = MPI_Comm_c2f(MPI_COMM_SELF);
    MPI_Fint ierror = -1;
    mpi_recv_(&none, &none, &type, &null, &none, &comm, mpi_fortran_status_ignore_, &ierror);
    mpi_recv_(&none, &none, &type, &null, &none, &comm, mpi_fortran_status_ignore_, &ierror);
    return ierror;
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Fint ierror = receive();
    MPI_Finalize();
    uintptr_t begin = (uintptr_t)&receive;
    if (ierror != MPI_SUCCESS || count != 4 || sites[1] != 0 || sites[3] != 0 || sites[0] == sites[2] ||
        sites[0] < begin || sites[2] > begin + 1000) {
        fprintf(stderr, "callsite: %d calls of the door, sites %#lx %#lx, the caller is at %#lx\n", count,
                sites[0], sites[2], begin);
        return 1;
    }
    return 0;
}
