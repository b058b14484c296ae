/* SPDX-License-Identifier: BSD-3-Clause */
/* Distributed graphs: every process knows its own neighbours. Ranks are never reordered. */
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "make/comm_make.h"
#include "comm/entry.h"
#include "comm/topo.h"

/* Half of a distributed graph: the neighbours on one side. */
struct half {
    int count;
    const int *ranks;
    const int *weights; /* MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY or count of them */
};

static int check_half(const struct nof_comm *c, const struct half *half, const char *what)
{
    if (half->count < 0)
        return nof_error(MPI_ERR_ARG, "the number of %s is %d", what, half->count);
    if (half->count > 0 &&
        (half->ranks == NULL || half->weights == NULL || half->weights == MPI_WEIGHTS_EMPTY))
        return nof_error(MPI_ERR_ARG, "the %s or their weights are missing", what);
    for (int i = 0; i < half->count; i++) {
        if (half->ranks[i] < 0 || half->ranks[i] >= nof_comm_size(c))
            return nof_error(MPI_ERR_RANK, "rank %d among the %s in a communicator of %d", half->ranks[i],
                             what, nof_comm_size(c));
        if (half->weights != MPI_UNWEIGHTED && half->weights[i] < 0)
            return nof_error(MPI_ERR_ARG, "weight %d among the %s", half->weights[i], what);
    }
    return MPI_SUCCESS;
}

static struct nof_topo *new_dist(const struct half *in, const struct half *out, bool weighted)
{
    struct nof_topo *topo = calloc(1, sizeof(*topo));
    if (topo == NULL)
        return NULL;
    topo->refs = 1;
    topo->kind = MPI_DIST_GRAPH;
    topo->weighted = weighted;
    topo->source_count = in->count;
    topo->destination_count = out->count;
    topo->sources = nof_topo_copy(in->ranks, (size_t)in->count);
    topo->destinations = nof_topo_copy(out->ranks, (size_t)out->count);
    bool good = topo->sources != NULL && topo->destinations != NULL;
    if (weighted) {
        topo->source_weights = nof_topo_copy(in->weights, (size_t)in->count);
        topo->destination_weights = nof_topo_copy(out->weights, (size_t)out->count);
        good = good && topo->source_weights != NULL && topo->destination_weights != NULL;
    }
    if (good)
        return topo;
    nof_topo_release(topo);
    return NULL;
}

static int attach(struct nof_comm *c, const struct half *in, const struct half *out, bool weighted,
                  MPI_Comm *comm_out)
{
    struct nof_topo *topo = new_dist(in, out, weighted);
    if (topo == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a topology");
    return nof_topo_attach(c, nof_comm_size(c), topo, comm_out);
}

NOF_MPI(Dist_graph_create_adjacent)
int PMPI_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                    const int sourceweights[], int outdegree, const int destinations[],
                                    const int destweights[], MPI_Info info, int reorder,
                                    MPI_Comm *comm_dist_graph)
{
    nof_lib_enter(__func__);
    (void)info;
    (void)reorder;
    struct nof_comm *c;
    struct half in = {indegree, sources, sourceweights}, out = {outdegree, destinations, destweights};
    int rc = nof_comm_check_intra(comm_old, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(comm_dist_graph, "the place for the communicator");
    if (rc == MPI_SUCCESS)
        rc = check_half(c, &in, "sources");
    if (rc == MPI_SUCCESS)
        rc = check_half(c, &out, "destinations");
    bool plain = sourceweights == MPI_UNWEIGHTED || destweights == MPI_UNWEIGHTED;
    if (rc == MPI_SUCCESS && plain && sourceweights != destweights)
        rc = nof_error(MPI_ERR_ARG, "MPI_UNWEIGHTED is for both sides or for none");
    if (rc == MPI_SUCCESS)
        rc = attach(c, &in, &out, !plain, comm_dist_graph);
    return nof_lib_leave(c, rc, __func__);
}

/* One edge as the processes tell each other. */
struct edge {
    int32_t source;
    int32_t destination;
    int32_t weight;
};

/* Every process's edges: one process may name them all. */
static int gather_edges(struct nof_comm *c, const struct edge *mine, size_t count, struct edge **all_out,
                        size_t *total_out)
{
    size_t size = (size_t)nof_comm_size(c), rank = (size_t)c->rank;
    MPI_Count *bytes = calloc(size, 2 * sizeof(*bytes)), *begins = bytes + size, total = 0;
    if (bytes == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for %zu counts", size);
    bytes[rank] = (MPI_Count)(count * sizeof(*mine));
    int rc = nof_coll_allgather_bytes(c, bytes, sizeof(*bytes));
    for (size_t i = 0; rc == MPI_SUCCESS && i < size; i++) {
        begins[i] = total;
        total += bytes[i];
    }
    struct edge *all = rc == MPI_SUCCESS ? malloc((size_t)total + 1) : NULL;
    if (rc == MPI_SUCCESS && all == NULL)
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for %lld bytes of edges", (long long)total);
    if (rc == MPI_SUCCESS && count > 0)
        memcpy((char *)all + begins[rank], mine, count * sizeof(*mine));
    if (rc == MPI_SUCCESS && total > 0)
        rc = nof_coll_allgatherv_bytes(c, all, bytes, begins);
    free(bytes);
    if (rc != MPI_SUCCESS) {
        free(all);
        return rc;
    }
    *all_out = all;
    *total_out = (size_t)total / sizeof(*all);
    return MPI_SUCCESS;
}

/* From all edges those of this process. */
static int attach_own(struct nof_comm *c, const struct edge *all, size_t total, bool weighted,
                      MPI_Comm *comm_out)
{
    size_t ins = 0, outs = 0;
    for (size_t i = 0; i < total; i++) {
        ins += all[i].destination == c->rank;
        outs += all[i].source == c->rank;
    }
    int *lists = malloc((2 * (ins + outs) + 1) * sizeof(*lists));
    if (lists == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for %zu edges", ins + outs);
    int *sources = lists, *source_weights = lists + ins;
    int *destinations = source_weights + ins, *destination_weights = destinations + outs;
    int in_count = 0, out_count = 0;
    for (size_t i = 0; i < total; i++) {
        if (all[i].destination == c->rank) {
            source_weights[in_count] = all[i].weight;
            sources[in_count++] = all[i].source;
        }
        if (all[i].source == c->rank) {
            destination_weights[out_count] = all[i].weight;
            destinations[out_count++] = all[i].destination;
        }
    }
    struct half in = {in_count, sources, source_weights};
    struct half out = {out_count, destinations, destination_weights};
    int rc = attach(c, &in, &out, weighted, comm_out);
    free(lists);
    return rc;
}

/* The edges that this process names, as a list. */
static int list_edges(const struct half *sources, const int *degrees, const struct half *targets,
                      struct edge **edges_out)
{
    struct edge *edges = malloc(((size_t)targets->count + 1) * sizeof(*edges));
    if (edges == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for %d edges", targets->count);
    int at = 0;
    for (int i = 0; i < sources->count; i++)
        for (int k = 0; k < degrees[i]; k++, at++)
            edges[at] = (struct edge){sources->ranks[i], targets->ranks[at],
                                      targets->weights == MPI_UNWEIGHTED ? 0 : targets->weights[at]};
    *edges_out = edges;
    return MPI_SUCCESS;
}

static int count_edges(int n, const int *degrees, int *total_out)
{
    int64_t total = 0;
    if (n < 0 || (n > 0 && degrees == NULL))
        return nof_error(MPI_ERR_ARG, "n is %d, or the degrees are missing", n);
    for (int i = 0; i < n; i++) {
        if (degrees[i] < 0)
            return nof_error(MPI_ERR_ARG, "degrees[%d] is %d", i, degrees[i]);
        total += degrees[i];
    }
    if (total > INT32_MAX)
        return nof_error(MPI_ERR_ARG, "more than %d edges", INT32_MAX);
    *total_out = (int)total;
    return MPI_SUCCESS;
}

NOF_MPI(Dist_graph_create)
int PMPI_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                           const int destinations[], const int weights[], MPI_Info info, int reorder,
                           MPI_Comm *comm_dist_graph)
{
    nof_lib_enter(__func__);
    (void)info;
    (void)reorder;
    struct nof_comm *c;
    struct half from = {n, sources, MPI_UNWEIGHTED}, to = {0, destinations, weights};
    struct edge *mine = NULL, *all = NULL;
    size_t total = 0;
    int rc = nof_comm_check_intra(comm_old, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(comm_dist_graph, "the place for the communicator");
    if (rc == MPI_SUCCESS)
        rc = count_edges(n, degrees, &to.count);
    if (rc == MPI_SUCCESS)
        rc = check_half(c, &from, "sources");
    if (rc == MPI_SUCCESS)
        rc = check_half(c, &to, "destinations");
    if (rc == MPI_SUCCESS)
        rc = list_edges(&from, degrees, &to, &mine);
    if (rc == MPI_SUCCESS)
        rc = gather_edges(c, mine, (size_t)to.count, &all, &total);
    if (rc == MPI_SUCCESS)
        rc = attach_own(c, all, total, weights != MPI_UNWEIGHTED, comm_dist_graph);
    free(mine);
    free(all);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Dist_graph_neighbors_count)
int PMPI_Dist_graph_neighbors_count(MPI_Comm comm, int *indegree, int *outdegree, int *weighted)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    const struct nof_topo *topo;
    int rc = nof_topo_check(comm, MPI_DIST_GRAPH, &c, &topo);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(indegree == NULL || outdegree == NULL ? NULL : weighted,
                               "the place for a number");
    if (rc == MPI_SUCCESS) {
        *indegree = topo->source_count;
        *outdegree = topo->destination_count;
        *weighted = topo->weighted;
    }
    return nof_lib_leave(c, rc, __func__);
}

/* Nowhere to put what there is of one side. */
static bool nowhere(int max, int count, const int *ranks_out, const int *weights, const int *weights_out)
{
    return max > 0 && count > 0 && (ranks_out == NULL || (weights != NULL && weights_out == NULL));
}

/* The first `max` neighbours of one side (MPI 4.1, 8.5.5: a shorter list is no error). */
static void give(int max, int count, const int *ranks, const int *weights, int *ranks_out, int *weights_out)
{
    size_t bytes = (size_t)(count < max ? count : max) * sizeof(int);
    if (bytes == 0)
        return;
    memcpy(ranks_out, ranks, bytes);
    if (weights != NULL && weights_out != MPI_UNWEIGHTED && weights_out != MPI_WEIGHTS_EMPTY)
        memcpy(weights_out, weights, bytes);
}

NOF_MPI(Dist_graph_neighbors)
int PMPI_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int sourceweights[],
                              int maxoutdegree, int destinations[], int destweights[])
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    const struct nof_topo *topo;
    int rc = nof_topo_check(comm, MPI_DIST_GRAPH, &c, &topo);
    if (rc == MPI_SUCCESS && (maxindegree < 0 || maxoutdegree < 0))
        rc = nof_error(MPI_ERR_ARG, "room for %d sources and %d destinations", maxindegree, maxoutdegree);
    if (rc == MPI_SUCCESS &&
        (nowhere(maxindegree, topo->source_count, sources, topo->source_weights, sourceweights) ||
         nowhere(maxoutdegree, topo->destination_count, destinations, topo->destination_weights,
                 destweights)))
        rc = nof_error(MPI_ERR_ARG, "an array of ranks or weights is NULL");
    if (rc == MPI_SUCCESS) {
        give(maxindegree, topo->source_count, topo->sources, topo->source_weights, sources, sourceweights);
        give(maxoutdegree, topo->destination_count, topo->destinations, topo->destination_weights,
             destinations, destweights);
    }
    return nof_lib_leave(c, rc, __func__);
}
