/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies: grids, graphs and distributed graphs answer what the standard says of them, duplicates
 * keep them, wrong arguments are named. */
#include <sys/resource.h>

#include "mpitest.h"

static void grid(void)
{
    MPI_Comm cart, copy, row;
    int dims[2] = {3, 2}, periods[2] = {1, 0}, coords[2], rank, status, got_dims[2], got_periods[2];
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &cart));
    CHECK((cart == MPI_COMM_NULL) == (t_rank >= 6));
    if (cart == MPI_COMM_NULL)
        return;
    OK(MPI_Comm_dup(cart, &copy));
    OK(MPI_Topo_test(copy, &status));
    CHECK(status == MPI_CART);
    OK(MPI_Comm_rank(copy, &rank));
    OK(MPI_Cart_get(copy, 2, got_dims, got_periods, coords));
    CHECK(got_dims[0] == 3 && got_dims[1] == 2 && got_periods[0] == 1 && got_periods[1] == 0);
    CHECK(coords[0] == rank / 2 && coords[1] == rank % 2);
    int up, down;
    OK(MPI_Cart_shift(copy, 0, 1, &up, &down));
    CHECK(up == (rank + 4) % 6 && down == (rank + 2) % 6);
    OK(MPI_Cart_shift(copy, 1, -1, &up, &down));
    CHECK(up == (coords[1] == 0 ? rank + 1 : MPI_PROC_NULL));
    CHECK(down == (coords[1] == 1 ? rank - 1 : MPI_PROC_NULL));
    OK(MPI_Cart_rank(copy, (int[]){-1, 1}, &rank));
    CHECK(rank == 5);
    FAILS(MPI_Cart_rank(copy, (int[]){0, 2}, &rank), MPI_ERR_ARG);
    FAILS(MPI_Cart_coords(copy, 6, 2, coords), MPI_ERR_RANK);
    FAILS(MPI_Cart_coords(copy, 0, 1, got_dims), MPI_ERR_ARG);
    OK(MPI_Cart_sub(copy, (int[]){0, 1}, &row));
    int size, ndims;
    OK(MPI_Comm_size(row, &size));
    OK(MPI_Comm_rank(row, &rank));
    OK(MPI_Cartdim_get(row, &ndims));
    CHECK(size == 2 && rank == coords[1] && ndims == 1);
    OK(MPI_Comm_free(&row));
    OK(MPI_Cart_sub(copy, (int[]){0, 0}, &row));
    OK(MPI_Comm_rank(copy, &rank));
    CHECK((row == MPI_COMM_NULL) == (rank > 0));
    if (row != MPI_COMM_NULL) {
        OK(MPI_Cartdim_get(row, &ndims));
        OK(MPI_Comm_size(row, &size));
        CHECK(size == 1 && ndims == 0);
        OK(MPI_Comm_free(&row));
    }
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&cart));
}

/* A ring of three, and one that knows nobody. */
static void graph(void)
{
    MPI_Comm ring, copy;
    int index[4] = {2, 4, 6, 6}, edges[6] = {1, 2, 0, 2, 0, 1}, nodes, edge_count, status;
    OK(MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &ring));
    CHECK((ring == MPI_COMM_NULL) == (t_rank >= 4));
    if (ring == MPI_COMM_NULL)
        return;
    OK(MPI_Comm_dup(ring, &copy));
    OK(MPI_Topo_test(copy, &status));
    CHECK(status == MPI_GRAPH);
    OK(MPI_Graphdims_get(copy, &nodes, &edge_count));
    CHECK(nodes == 4 && edge_count == 6);
    int got_index[4], got_edges[6], count, neighbors[2] = {-1, -1};
    OK(MPI_Graph_get(copy, 4, 6, got_index, got_edges));
    CHECK(memcmp(index, got_index, sizeof(index)) == 0 && memcmp(edges, got_edges, sizeof(edges)) == 0);
    OK(MPI_Graph_neighbors_count(copy, 3, &count));
    CHECK(count == 0);
    OK(MPI_Graph_neighbors(copy, 1, 2, neighbors));
    CHECK(neighbors[0] == 0 && neighbors[1] == 2);
    FAILS(MPI_Graph_neighbors(copy, 4, 2, neighbors), MPI_ERR_RANK);
    FAILS(MPI_Cart_get(copy, 0, NULL, NULL, NULL), MPI_ERR_TOPOLOGY);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&ring));
}

/* Every process sends to the next and to the one after it; each edge is named by another process. */
static void distributed(void)
{
    MPI_Comm named, adjacent;
    int source = (t_rank + 1) % t_size;
    int to[2] = {(source + 1) % t_size, (source + 2) % t_size}, degree = 2,
        weights[2] = {10 + source, 20 + source};
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, to, weights, MPI_INFO_NULL, 0, &named));
    int in, out, weighted, sources[2], in_weights[2], destinations[2], out_weights[2];
    OK(MPI_Dist_graph_neighbors_count(named, &in, &out, &weighted));
    CHECK(in == 2 && out == 2 && weighted);
    OK(MPI_Dist_graph_neighbors(named, 2, sources, in_weights, 2, destinations, out_weights));
    for (int i = 0; i < 2; i++) {
        int step = (t_rank - sources[i] + t_size) % t_size;
        CHECK((step == 1 || step == 2) && in_weights[i] == step * 10 + sources[i]);
        CHECK(destinations[i] == (t_rank + 1 + i) % t_size && out_weights[i] == 10 * (i + 1) + t_rank);
    }
    OK(MPI_Dist_graph_create_adjacent(named, 2, sources, MPI_UNWEIGHTED, 2, destinations, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &adjacent));
    int again[2], status;
    OK(MPI_Topo_test(adjacent, &status));
    CHECK(status == MPI_DIST_GRAPH);
    OK(MPI_Dist_graph_neighbors_count(adjacent, &in, &out, &weighted));
    CHECK(in == 2 && out == 2 && !weighted);
    OK(MPI_Dist_graph_neighbors(adjacent, 2, again, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED));
    CHECK(memcmp(again, sources, sizeof(again)) == 0);
    OK(MPI_Comm_free(&adjacent));
    OK(MPI_Comm_free(&named));
    /* None at all. */
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY,
                                      MPI_INFO_NULL, 0, &adjacent));
    OK(MPI_Dist_graph_neighbors_count(adjacent, &in, &out, &weighted));
    CHECK(in == 0 && out == 0 && weighted);
    OK(MPI_Comm_free(&adjacent));
}

/* One process names all edges: the others need no more memory for them than there are edges. */
static void named_by_one(void)
{
    enum { EACH = 150000, MOST_KIB = 64 * 1024 };
    int n = t_rank == 0 ? t_size : 0, in, out, weighted;
    int *sources = malloc(sizeof(int) * (size_t)t_size), *degrees = malloc(sizeof(int) * (size_t)t_size);
    int *to = malloc(sizeof(int) * EACH * (size_t)t_size);
    struct rusage before, after;
    MPI_Comm graph;
    for (int i = 0; i < t_size; i++) {
        sources[i] = i;
        degrees[i] = EACH;
        for (int k = 0; k < EACH; k++)
            to[i * EACH + k] = (i + k) % t_size;
    }
    CHECK(getrusage(RUSAGE_SELF, &before) == 0);
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                             &graph));
    CHECK(getrusage(RUSAGE_SELF, &after) == 0);
    CHECK(after.ru_maxrss - before.ru_maxrss < MOST_KIB);
    OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
    CHECK(out == EACH && !weighted);
    OK(MPI_Dist_graph_neighbors(graph, 0, NULL, MPI_UNWEIGHTED, out, to, MPI_UNWEIGHTED));
    for (int k = 0; k < EACH; k++)
        CHECK(to[k] == (t_rank + k) % t_size);
    OK(MPI_Comm_free(&graph));
    free(sources);
    free(degrees);
    free(to);
}

/* Factors as close together as they can be, in non-increasing order; also of large numbers, at once. */
static void dims(void)
{
    static const int wanted[][6] = {/* processes, dimensions, result */
                                    {7, 2, 7, 1},
                                    {60, 3, 5, 4, 3},
                                    {5040, 3, 21, 16, 15},
                                    {98784, 5, 14, 14, 9, 8},
                                    {590520, 4, 38, 37, 21, 20},
                                    {2147483647, 2, 2147483647, 1}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        int got[5] = {0};
        OK(MPI_Dims_create(wanted[i][0], wanted[i][1], got));
        for (int k = 0; k < wanted[i][1] && k < 4; k++)
            CHECK(got[k] == wanted[i][2 + k]);
    }
    int fixed[3] = {0, 3, 0};
    OK(MPI_Dims_create(24, 3, fixed));
    CHECK(fixed[0] == 4 && fixed[1] == 3 && fixed[2] == 2);
    FAILS(MPI_Dims_create(25, 3, (int[]){0, 3, 0}), MPI_ERR_DIMS);
}

static void wrong(void)
{
    MPI_Comm bad;
    int status;
    OK(MPI_Topo_test(MPI_COMM_WORLD, &status));
    CHECK(status == MPI_UNDEFINED);
    FAILS(MPI_Cartdim_get(MPI_COMM_WORLD, &status), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){t_size + 1}, (int[]){0}, 0, &bad), MPI_ERR_DIMS);
    FAILS(MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){1, 0}, (int[]){0, 0}, 0, &bad), MPI_ERR_DIMS);
    FAILS(MPI_Graph_create(MPI_COMM_WORLD, 2, (int[]){1, 2}, (int[]){1, 2}, 0, &bad), MPI_ERR_ARG);
    FAILS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, (int[]){t_size}, MPI_UNWEIGHTED, 0, NULL,
                                         MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &bad),
          MPI_ERR_RANK);
    FAILS(MPI_Cart_create(MPI_COMM_NULL, 1, (int[]){1}, (int[]){0}, 0, &bad), MPI_ERR_COMM);
}

/* NULL for what is to be written or read is said, not written to. */
static void nowhere(void)
{
    MPI_Comm grid, graph, dist, self = MPI_COMM_SELF;
    int n, m, list[2], ones[] = {1}, zeros[] = {0};
    OK(MPI_Cart_create(self, 1, ones, zeros, 0, &grid));
    FAILS(MPI_Cart_create(self, 1, NULL, zeros, 0, &graph), MPI_ERR_ARG);
    FAILS(MPI_Cart_map(self, 1, ones, NULL, &n), MPI_ERR_ARG);
    FAILS(MPI_Cart_sub(grid, NULL, &graph), MPI_ERR_ARG);
    FAILS(MPI_Cart_sub(grid, ones, NULL), MPI_ERR_ARG);
    FAILS(MPI_Cartdim_get(grid, NULL), MPI_ERR_ARG);
    FAILS(MPI_Cart_get(grid, 1, NULL, list, list), MPI_ERR_ARG);
    FAILS(MPI_Cart_get(grid, 1, list, NULL, list), MPI_ERR_ARG);
    FAILS(MPI_Cart_get(grid, 1, list, list, NULL), MPI_ERR_ARG);
    FAILS(MPI_Cart_rank(grid, NULL, &n), MPI_ERR_ARG);
    FAILS(MPI_Cart_rank(grid, zeros, NULL), MPI_ERR_ARG);
    FAILS(MPI_Cart_coords(grid, 0, 1, NULL), MPI_ERR_ARG);
    FAILS(MPI_Cart_shift(grid, 0, 1, NULL, &n), MPI_ERR_ARG);
    FAILS(MPI_Cart_shift(grid, 0, 1, &n, NULL), MPI_ERR_ARG);
    FAILS(MPI_Dims_create(4, 2, NULL), MPI_ERR_ARG);
    OK(MPI_Graph_create(self, 1, ones, zeros, 0, &graph));
    FAILS(MPI_Graph_create(self, 1, ones, zeros, 0, NULL), MPI_ERR_ARG);
    FAILS(MPI_Graph_create(self, 1, NULL, zeros, 0, &dist), MPI_ERR_ARG);
    FAILS(MPI_Graph_map(self, 1, ones, zeros, NULL), MPI_ERR_ARG);
    FAILS(MPI_Graphdims_get(graph, NULL, &n), MPI_ERR_ARG);
    FAILS(MPI_Graph_get(graph, 1, 1, NULL, list), MPI_ERR_ARG);
    FAILS(MPI_Graph_get(graph, 1, 1, list, NULL), MPI_ERR_ARG);
    FAILS(MPI_Graph_neighbors_count(graph, 0, NULL), MPI_ERR_ARG);
    FAILS(MPI_Graph_neighbors(graph, 0, 1, NULL), MPI_ERR_ARG);
    OK(MPI_Dist_graph_create_adjacent(self, 1, zeros, ones, 1, zeros, ones, MPI_INFO_NULL, 0, &dist));
    FAILS(MPI_Dist_graph_create_adjacent(self, 0, NULL, NULL, 0, NULL, NULL, MPI_INFO_NULL, 0, NULL),
          MPI_ERR_ARG);
    FAILS(MPI_Dist_graph_create(self, 1, zeros, ones, NULL, ones, MPI_INFO_NULL, 0, &self), MPI_ERR_ARG);
    FAILS(MPI_Dist_graph_neighbors_count(dist, &n, NULL, &m), MPI_ERR_ARG);
    FAILS(MPI_Dist_graph_neighbors(dist, 1, NULL, list, 1, list, list), MPI_ERR_ARG);
    FAILS(MPI_Dist_graph_neighbors(dist, 1, list, list, 1, list, NULL), MPI_ERR_ARG);
    OK(MPI_Dist_graph_neighbors(dist, 0, NULL, NULL, 0, NULL, NULL));
    OK(MPI_Comm_free(&grid));
    OK(MPI_Comm_free(&graph));
    OK(MPI_Comm_free(&dist));
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 6);
    t_errors_return();
    grid();
    graph();
    distributed();
    named_by_one();
    dims();
    wrong();
    nowhere();
    return t_end();
}
