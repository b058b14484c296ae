/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints of communicators (MPI 4.1, 7.4.4). The library knows the standard's assertions, and nof_delta_trigger (delta_way.h);
 * other keys and values have no meaning to it and are not kept, and a duplicate starts without hints. */
#include <string.h>

#include "comm/comm.h"
#include "comm/entry.h"
#include "base/error.h"
#include "base/info.h"
#include "delta/delta_way.h"

static const char *const assertions[] = {
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
};

#define DELTA_TRIGGER "nof_delta_trigger"
#define ASSERTIONS (sizeof(assertions) / sizeof(assertions[0]))

void nof_comm_take_hints(struct nof_comm *comm, const struct nof_info *info)
{
    for (size_t i = 0; i < ASSERTIONS; i++) {
        const char *value = nof_info_get(info, assertions[i]);
        if (value != NULL && strcmp(value, "true") == 0)
            comm->assertions |= 1u << i;
        else if (value != NULL && strcmp(value, "false") == 0)
            comm->assertions &= ~(1u << i);
    }
    const char *name = nof_info_get(info, DELTA_TRIGGER);
    enum nof_delta_way way;
    if (name != NULL && nof_delta_way_named(name, &way))
        comm->delta_way = (int)way;
}

NOF_MPI(Comm_set_info)
int PMPI_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_info *hints;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_info_check(info, &hints);
    if (rc == MPI_SUCCESS)
        nof_comm_take_hints(c, hints);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_get_info)
int PMPI_Comm_get_info(MPI_Comm comm, MPI_Info *info_used)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_info *hints;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS && info_used == NULL)
        rc = nof_error(MPI_ERR_ARG, "the place for the handle is NULL");
    if (rc == MPI_SUCCESS)
        rc = nof_info_new(info_used, &hints);
    for (size_t i = 0; rc == MPI_SUCCESS && i < ASSERTIONS; i++)
        rc = nof_info_set(hints, assertions[i], (c->assertions >> i & 1) != 0 ? "true" : "false");
    if (rc == MPI_SUCCESS)
        rc = nof_info_set(hints, "mpi_memory_alloc_kinds", "mpi,system");
    if (rc == MPI_SUCCESS)
        rc = nof_info_set(hints, DELTA_TRIGGER, nof_delta_way_name((enum nof_delta_way)c->delta_way));
    return nof_lib_leave(c, rc, __func__);
}
