/* SPDX-License-Identifier: BSD-3-Clause */
/* What the functions of compiled communication (mpi_offload.h) have in common. */
#ifndef NOF_MPI_COMPILED_API_H
#define NOF_MPI_COMPILED_API_H

#include "base/error.h"
#include "base/lib.h"
#include "coll/compiled.h"
#include "comm/comm.h"
#include "mpi_offload.h"

#define EXPORT(name) \
    __attribute__((visibility("default"))) __typeof__(MPIX_##name) PMPIX_##name; \
    __attribute__((visibility("default"), weak, \
                   alias("PMPIX_" #name))) extern __typeof__(MPIX_##name) MPIX_##name;

/* Begin of a control: *comm_out is known. */
static inline int nof_compiled_begin(MPI_Comm comm, MPIX_Coll *coll_out, struct nof_comm **comm_out)
{
    int rc = nof_error_if_null(coll_out, "the place for the handle");
    if (rc == MPI_SUCCESS)
        *coll_out = MPIX_COLL_NULL;
    return rc == MPI_SUCCESS ? nof_comm_check_intra(comm, comm_out) : rc;
}

static inline int nof_compiled_check(MPIX_Coll coll, enum nof_compiled_kind kind, void **object_out)
{
    const enum nof_compiled_kind *object = *object_out = nof_handle_get(&nof_lib.colls, nof_lib_bits(coll));
    if (object == NULL)
        return nof_error(MPI_ERR_ARG, "%s",
                         coll == MPIX_COLL_NULL ? "the handle is MPIX_COLL_NULL"
                                                : "the handle names no compiled communication (freed?)");
    if (*object != kind)
        return nof_error(MPI_ERR_ARG, "the handle is of %s",
                         *object == NOF_COMPILED_SCATTERV ? "MPIX_Scatterv_open_group" : "an Alltoallv");
    return MPI_SUCCESS;
}

#endif
