/* SPDX-License-Identifier: BSD-3-Clause */
/* Graph topologies, of which every process knows all edges. Ranks are never reordered. */
#include <stdlib.h>
#include <string.h>

#include "make/comm_make.h"
#include "comm/entry.h"
#include "comm/topo.h"

static int check_graph(const struct nof_comm *c, int nnodes, const int *index, const int *edges)
{
    if (nnodes < 0 || nnodes > nof_comm_size(c))
        return nof_error(MPI_ERR_ARG, "a graph of %d nodes for %d processes", nnodes, nof_comm_size(c));
    if (nnodes > 0 && (index == NULL || (index[nnodes - 1] > 0 && edges == NULL)))
        return nof_error(MPI_ERR_ARG, "index or edges is NULL");
    for (int i = 0; i < nnodes; i++)
        if (index[i] < (i == 0 ? 0 : index[i - 1]))
            return nof_error(MPI_ERR_ARG, "index[%d] is %d: less than the one before", i, index[i]);
    for (int i = 0; nnodes > 0 && i < index[nnodes - 1]; i++)
        if (edges[i] < 0 || edges[i] >= nnodes)
            return nof_error(MPI_ERR_ARG, "edges[%d] is %d in a graph of %d nodes", i, edges[i], nnodes);
    return MPI_SUCCESS;
}

static int first_edge(const int *index, int rank)
{
    return rank == 0 ? 0 : index[rank - 1];
}

static struct nof_topo *new_graph(int nnodes, const int *index, const int *edges, int rank)
{
    struct nof_topo *topo = calloc(1, sizeof(*topo));
    if (topo == NULL)
        return NULL;
    int first = first_edge(index, rank);
    topo->refs = 1;
    topo->kind = MPI_GRAPH;
    topo->node_count = nnodes;
    topo->edge_count = index[nnodes - 1];
    topo->index = nof_topo_copy(index, (size_t)nnodes);
    topo->edges = nof_topo_copy(edges, (size_t)topo->edge_count);
    topo->source_count = topo->destination_count = index[rank] - first;
    topo->sources = nof_topo_copy(edges == NULL ? NULL : edges + first, (size_t)topo->source_count);
    topo->destinations = topo->sources;
    if (topo->index == NULL || topo->edges == NULL || topo->sources == NULL) {
        nof_topo_release(topo);
        return NULL;
    }
    return topo;
}

NOF_MPI(Graph_create)
int PMPI_Graph_create(MPI_Comm comm_old, int nnodes, const int index[], const int edges[], int reorder,
                      MPI_Comm *comm_graph)
{
    nof_lib_enter(__func__);
    (void)reorder;
    struct nof_comm *c;
    struct nof_topo *topo = NULL;
    int rc = nof_comm_check_intra(comm_old, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(comm_graph, "the place for the communicator");
    if (rc == MPI_SUCCESS)
        rc = check_graph(c, nnodes, index, edges);
    if (rc == MPI_SUCCESS && c->rank < nnodes && (topo = new_graph(nnodes, index, edges, c->rank)) == NULL)
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for a topology");
    if (rc == MPI_SUCCESS)
        rc = nof_topo_attach(c, nnodes, topo, comm_graph);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Graph_map)
int PMPI_Graph_map(MPI_Comm comm, int nnodes, const int index[], const int edges[], int *newrank)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check_intra(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = check_graph(c, nnodes, index, edges);
    if (rc == MPI_SUCCESS && nnodes == 0)
        rc = nof_error(MPI_ERR_ARG, "the graph has no nodes");
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(newrank, "the place for the rank");
    if (rc == MPI_SUCCESS)
        *newrank = c->rank < nnodes ? c->rank : MPI_UNDEFINED;
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Graphdims_get)
int PMPI_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    const struct nof_topo *topo;
    int rc = nof_topo_check(comm, MPI_GRAPH, &c, &topo);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(nnodes == NULL ? NULL : nedges, "the place for a number");
    if (rc == MPI_SUCCESS) {
        *nnodes = topo->node_count;
        *nedges = topo->edge_count;
    }
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Graph_get)
int PMPI_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[])
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    const struct nof_topo *topo;
    int rc = nof_topo_check(comm, MPI_GRAPH, &c, &topo);
    if (rc == MPI_SUCCESS && (maxindex < topo->node_count || maxedges < topo->edge_count))
        rc = nof_error(MPI_ERR_ARG, "room for %d nodes and %d edges, the graph has %d and %d", maxindex,
                       maxedges, topo->node_count, topo->edge_count);
    if (rc == MPI_SUCCESS && (index == NULL || (topo->edge_count > 0 && edges == NULL)))
        rc = nof_error(MPI_ERR_ARG, "index or edges is NULL");
    if (rc == MPI_SUCCESS) {
        memcpy(index, topo->index, (size_t)topo->node_count * sizeof(*index));
        if (topo->edge_count > 0)
            memcpy(edges, topo->edges, (size_t)topo->edge_count * sizeof(*edges));
    }
    return nof_lib_leave(c, rc, __func__);
}

static int check_node(const struct nof_topo *topo, int rank)
{
    if (rank < 0 || rank >= topo->node_count)
        return nof_error(MPI_ERR_RANK, "rank %d in a graph of %d nodes", rank, topo->node_count);
    return MPI_SUCCESS;
}

NOF_MPI(Graph_neighbors_count)
int PMPI_Graph_neighbors_count(MPI_Comm comm, int rank, int *nneighbors)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    const struct nof_topo *topo;
    int rc = nof_topo_check(comm, MPI_GRAPH, &c, &topo);
    if (rc == MPI_SUCCESS)
        rc = check_node(topo, rank);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(nneighbors, "the place for the number of neighbours");
    if (rc == MPI_SUCCESS)
        *nneighbors = topo->index[rank] - first_edge(topo->index, rank);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Graph_neighbors)
int PMPI_Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[])
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    const struct nof_topo *topo;
    int rc = nof_topo_check(comm, MPI_GRAPH, &c, &topo);
    if (rc == MPI_SUCCESS)
        rc = check_node(topo, rank);
    int first = rc == MPI_SUCCESS ? first_edge(topo->index, rank) : 0;
    int count = rc == MPI_SUCCESS ? topo->index[rank] - first : 0;
    if (rc == MPI_SUCCESS && maxneighbors < count)
        rc = nof_error(MPI_ERR_ARG, "room for %d neighbours, rank %d has %d", maxneighbors, rank, count);
    if (rc == MPI_SUCCESS && count > 0)
        rc = nof_error_if_null(neighbors, "the array of neighbours");
    for (int i = 0; rc == MPI_SUCCESS && i < count; i++)
        neighbors[i] = topo->edges[first + i];
    return nof_lib_leave(c, rc, __func__);
}
