/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies: what a communicator knows of who is whose neighbour. Immutable, shared by duplicates.
 *
 * Whatever the kind, the two lists of neighbours of this process are worked out when it is made, in
 * the order of the neighbourhood collectives (MPI 4.1, 8.6):
 *   Cartesian: per dimension the rank one step down, then the rank one step up, MPI_PROC_NULL beyond
 *   the edge; both lists are the same. Graph: the edges of this process, both lists the same.
 *   Distributed graph: as the program gave them.
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_TOPO_H
#define NOF_MPI_TOPO_H

#include "comm/comm.h"

struct nof_topo {
    uint32_t refs;
    int kind; /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
    int source_count;
    int destination_count;
    int *sources;
    int *destinations;
    /* CART */
    int ndims;
    int *dims; /* dims, periods, coordinates of this process: ndims each, in one allocation */
    int *periods;
    int *coords;
    /* GRAPH */
    int node_count;
    int edge_count;
    int *index;
    int *edges;
    /* DIST_GRAPH; NULL: not weighted */
    bool weighted;
    int *source_weights;
    int *destination_weights;
};

void nof_topo_hold(struct nof_topo *topo);
void nof_topo_release(struct nof_topo *topo);

/* The neighbours of this process: n sources and m destinations, ranks of comm or MPI_PROC_NULL, which
 * live as long as comm. MPI_ERR_TOPOLOGY if comm has no topology. */
int nof_topo_neighbors(const struct nof_comm *comm, const int **sources_out, int *n_out,
                       const int **destinations_out, int *m_out);

/* A copy of count ints, at least one place. NULL: no memory. */
int *nof_topo_copy(const int *values, size_t count);

/* Of topo_api.c. */

/* Communicator behind a handle that has a topology of this kind. */
int nof_topo_check(MPI_Comm handle, int kind, struct nof_comm **comm_out, const struct nof_topo **topo_out);

/* A communicator over the first `size` processes of c with this topology (NULL at those that are not
 * among them). Collective over c; takes over the topology, also when it fails. *comm_out: the handle,
 * MPI_COMM_NULL for the rest. */
int nof_topo_attach(struct nof_comm *c, int size, struct nof_topo *topo, MPI_Comm *comm_out);

#endif
