/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints of communicators (MPI 4.1, 7.4.4). The library knows the standard's assertions, nof_delta_trigger (delta_way.h) and
 * nof_channels (ways.h); other keys and values have no meaning to it and are not kept, and a duplicate starts without hints. */
#include <string.h>

#include "comm/comm.h"
#include "comm/entry.h"
#include "base/error.h"
#include "base/info.h"
#include "chan/chan.h"
#include "chan/ways.h"
#include "delta/delta_way.h"

static const char *const assertions[] = {
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
};

#define DELTA_TRIGGER "nof_delta_trigger"
#define CHANNELS "nof_channels"
#define ASSERTIONS (sizeof(assertions) / sizeof(assertions[0]))

/* Of nof_channels; false: it is not there. */
static bool way_in(const struct nof_info *info, enum nof_channels *way_out, int *rc_out)
{
    const char *name = nof_info_get(info, CHANNELS);
    *rc_out = MPI_SUCCESS;
    if (name == NULL)
        return false;
    if (!nof_ways_named(name, way_out))
        *rc_out = nof_error(MPI_ERR_INFO_VALUE, "%s is \"%.64s\": must be " NOF_WAYS_LIST, CHANNELS, name);
    return *rc_out == MPI_SUCCESS;
}

bool nof_comm_hints_by_nic(const struct nof_info *info)
{
    const char *name = nof_info_get(info, CHANNELS);
    return name != NULL && strcmp(name, nof_ways_name(NOF_CHANNELS_NIC)) == 0;
}

/* Its messages go by memory or by the NIC for its life. That of those by memory which this rank sends goes in a way of its choice. */
static void take_way(struct nof_comm *comm, enum nof_channels way)
{
    if (way == NOF_CHANNELS_NIC)
        return;
    comm->way_said = true;
    comm->way = way;
    comm->chan = NULL; /* to be chosen again: the same but for the short path */
}

int nof_comm_take_hints(struct nof_comm *comm, const struct nof_info *info)
{
    enum nof_channels channels;
    int rc;
    bool channels_said = way_in(info, &channels, &rc);
    if (rc != MPI_SUCCESS)
        return rc;
    if (channels_said)
        take_way(comm, channels);
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
    return MPI_SUCCESS;
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
        rc = nof_comm_take_hints(c, hints);
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
    if (rc == MPI_SUCCESS)
        rc = nof_info_set(hints, CHANNELS, nof_ways_name(nof_chan_way(c)));
    return nof_lib_leave(c, rc, __func__);
}
