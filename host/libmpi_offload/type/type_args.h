/* SPDX-License-Identifier: BSD-3-Clause */
/* What the constructors' entry points share: arrays that hold int in one function and MPI_Count in its
 * large-count twin, and checks. Threads: any; nothing is kept. */
#ifndef NOF_MPI_TYPE_ARGS_H
#define NOF_MPI_TYPE_ARGS_H

#include "base/error.h"
#include "type/type_contents.h"

/* One of the two is set, or neither (an argument that was NULL). On LP64 an MPI_Aint is an MPI_Count. */
struct nof_numbers {
    const int *narrow;
    const MPI_Count *wide;
};

static inline MPI_Count nof_number(const struct nof_numbers *n, MPI_Count i)
{
    return n->narrow != NULL ? n->narrow[i] : n->wide[i];
}

static inline bool nof_numbers_given(const struct nof_numbers *n)
{
    return n->narrow != NULL || n->wide != NULL;
}

static inline int nof_type_check_blocks(MPI_Count count)
{
    return count < 0 ? nof_error(MPI_ERR_COUNT, "the count is %lld", (long long)count) : MPI_SUCCESS;
}

static inline int nof_type_check_length(MPI_Count length)
{
    return length < 0 ? nof_error(MPI_ERR_ARG, "a block length is %lld", (long long)length) : MPI_SUCCESS;
}

static inline int nof_type_too_large(void)
{
    return nof_error(MPI_ERR_COUNT, "the datatype would be larger than an MPI_Aint can say");
}

#endif
