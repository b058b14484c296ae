/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_offload.h"

#include "chan/nic/chan_nic.h"
#include "comm/entry.h"
#include "base/error.h"
#include "p2p/pt2pt.h"

__attribute__((visibility("default"))) __typeof__(MPIX_Nic_counters) PMPIX_Nic_counters;
__attribute__((visibility("default"), weak,
               alias("PMPIX_Nic_counters"))) extern __typeof__(MPIX_Nic_counters) MPIX_Nic_counters;

__attribute__((visibility("default"))) __typeof__(MPIX_Pre_receive) PMPIX_Pre_receive;
__attribute__((visibility("default"), weak,
               alias("PMPIX_Pre_receive"))) extern __typeof__(MPIX_Pre_receive) MPIX_Pre_receive;

int PMPIX_Nic_counters(const char *name, unsigned long long *value_out)
{
    nof_lib_enter(__func__);
    uint64_t value = 0;
    int rc = MPI_SUCCESS;
    if (name == NULL || value_out == NULL)
        rc = nof_error(MPI_ERR_ARG, "the name or the place for the value is NULL");
    else if (nof_chan_nic_counter(name, &value) != 0)
        rc = nof_error(MPI_ERR_ARG, "\"%.64s\" is no counter of this process's NIC", name);
    else
        *value_out = value;
    return nof_lib_leave(NULL, rc, __func__);
}

int PMPIX_Pre_receive(int tag)
{
    nof_lib_enter(__func__);
    int rc =
        tag < 0 ? nof_error(MPI_ERR_ARG, "%d is no name of a receive: it is negative", tag) : MPI_SUCCESS;
    if (rc == MPI_SUCCESS) {
        nof_pt2pt_next_site = NOF_PT2PT_NAMED_SITE | (unsigned)tag;
        nof_chan_nic_hint(nof_pt2pt_next_site);
    }
    return nof_lib_leave(NULL, rc, __func__);
}
