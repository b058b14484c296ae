/* SPDX-License-Identifier: BSD-3-Clause */
#include "make/comm_make.h"
#include "comm/entry.h"
#include "comm/topo.h"

int nof_topo_check(MPI_Comm handle, int kind, struct nof_comm **comm_out, const struct nof_topo **topo_out)
{
    int rc = nof_comm_check(handle, comm_out);
    if (rc == MPI_SUCCESS && ((*comm_out)->topo == NULL || (*comm_out)->topo->kind != kind))
        rc = nof_error(MPI_ERR_TOPOLOGY, "the communicator has no %s topology",
                       kind == MPI_CART    ? "Cartesian"
                       : kind == MPI_GRAPH ? "graph"
                                           : "distributed graph");
    if (rc == MPI_SUCCESS)
        *topo_out = (*comm_out)->topo;
    return rc;
}

int nof_topo_attach(struct nof_comm *c, int size, struct nof_topo *topo, MPI_Comm *comm_out)
{
    struct nof_comm *made = NULL;
    int rc = nof_error_if_null(comm_out, "the place for the communicator");
    if (rc == MPI_SUCCESS)
        rc = nof_comm_make_first(c, size, &made);
    if (made == NULL)
        nof_topo_release(topo);
    else
        made->topo = topo;
    if (rc == MPI_SUCCESS)
        *comm_out = made == NULL ? MPI_COMM_NULL : made->handle;
    return rc;
}

NOF_MPI(Topo_test)
int PMPI_Topo_test(MPI_Comm comm, int *status)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(status, "the place for the answer");
    if (rc == MPI_SUCCESS)
        *status = c->topo == NULL ? MPI_UNDEFINED : c->topo->kind;
    return nof_lib_leave(c, rc, __func__);
}
