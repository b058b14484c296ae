/* SPDX-License-Identifier: BSD-3-Clause */
/* What an MPIX_Coll (mpi_offload.h) names: an object that begins with its kind. */
#ifndef NOF_MPI_COMPILED_H
#define NOF_MPI_COMPILED_H

enum nof_compiled_kind {
    NOF_COMPILED_ALLTOALLV = 1, /* struct nof_phased */
    NOF_COMPILED_SCATTERV, /* struct nof_scatter_group */
};

#endif
