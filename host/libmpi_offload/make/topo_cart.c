/* SPDX-License-Identifier: BSD-3-Clause */
/* Cartesian topologies: the last dimension runs fastest. Ranks are never reordered. */
#include <stdlib.h>
#include <string.h>

#include "make/comm_make.h"
#include "comm/entry.h"
#include "comm/topo.h"

/* The rank at these coordinates, MPI_PROC_NULL beyond an edge; periodic dimensions wrap. */
static int rank_at(const struct nof_topo *topo, const int *coords)
{
    int rank = 0;
    for (int i = 0; i < topo->ndims; i++) {
        int at = coords[i], n = topo->dims[i];
        if (at < 0 || at >= n) {
            if (!topo->periods[i])
                return MPI_PROC_NULL;
            at = (at % n + n) % n;
        }
        rank = rank * n + at;
    }
    return rank;
}

static void coords_of(const struct nof_topo *topo, int rank, int *coords)
{
    for (int i = topo->ndims - 1; i >= 0; i--) {
        coords[i] = rank % topo->dims[i];
        rank /= topo->dims[i];
    }
}

/* The rank `steps` away from this process along one dimension. */
static int rank_along(const struct nof_topo *topo, int dimension, int64_t steps)
{
    int n = topo->dims[dimension];
    int64_t at = topo->coords[dimension] + steps;
    if (topo->periods[dimension])
        at = (at % n + n) % n;
    if (at < 0 || at >= n)
        return MPI_PROC_NULL;
    int stride = 1, self = 0;
    for (int i = topo->ndims - 1; i > dimension; i--)
        stride *= topo->dims[i];
    for (int i = 0; i < topo->ndims; i++)
        self = self * topo->dims[i] + topo->coords[i];
    return self + ((int)at - topo->coords[dimension]) * stride;
}

/* A Cartesian topology as rank `rank` sees it. NULL: no memory. */
static struct nof_topo *new_grid(int ndims, const int *dims, const int *periods, int rank)
{
    struct nof_topo *topo = calloc(1, sizeof(*topo));
    size_t n = (size_t)ndims;
    if (topo == NULL)
        return NULL;
    topo->refs = 1;
    topo->kind = MPI_CART;
    topo->ndims = ndims;
    topo->dims = calloc(3 * n + 1, sizeof(int));
    topo->sources = calloc(2 * n + 1, sizeof(int));
    topo->destinations = topo->sources;
    if (topo->dims == NULL || topo->sources == NULL) {
        nof_topo_release(topo);
        return NULL;
    }
    topo->periods = topo->dims + n;
    topo->coords = topo->periods + n;
    for (int i = 0; i < ndims; i++) {
        topo->dims[i] = dims[i];
        topo->periods[i] = periods[i] != 0;
    }
    coords_of(topo, rank, topo->coords);
    for (int i = 0; i < ndims; i++) {
        topo->sources[2 * i] = rank_along(topo, i, -1);
        topo->sources[2 * i + 1] = rank_along(topo, i, 1);
    }
    topo->source_count = topo->destination_count = 2 * ndims;
    return topo;
}

/* How many processes the grid has, or the error of its arguments. */
static int grid_size(const struct nof_comm *c, int ndims, const int *dims, const int *periods, int *size_out)
{
    if (ndims < 0)
        return nof_error(MPI_ERR_DIMS, "the number of dimensions is %d", ndims);
    if (ndims > 0 && (dims == NULL || periods == NULL))
        return nof_error(MPI_ERR_ARG, "dims or periods is NULL");
    int64_t size = 1;
    for (int i = 0; i < ndims; i++) {
        if (dims[i] <= 0)
            return nof_error(MPI_ERR_DIMS, "dimension %d is %d", i, dims[i]);
        size *= dims[i];
        if (size > nof_comm_size(c))
            return nof_error(MPI_ERR_DIMS, "the grid is larger than the %d processes there are",
                             nof_comm_size(c));
    }
    *size_out = (int)size;
    return MPI_SUCCESS;
}

NOF_MPI(Cart_create)
int PMPI_Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder,
                     MPI_Comm *comm_cart)
{
    nof_lib_enter(__func__);
    (void)reorder;
    struct nof_comm *c;
    int size = 0;
    struct nof_topo *topo = NULL;
    int rc = nof_comm_check_intra(comm_old, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(comm_cart, "the place for the communicator");
    if (rc == MPI_SUCCESS)
        rc = grid_size(c, ndims, dims, periods, &size);
    if (rc == MPI_SUCCESS && c->rank < size && (topo = new_grid(ndims, dims, periods, c->rank)) == NULL)
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for a topology");
    if (rc == MPI_SUCCESS)
        rc = nof_topo_attach(c, size, topo, comm_cart);
    else if (comm_cart != NULL)
        *comm_cart = MPI_COMM_NULL;
    return nof_lib_leave(c, rc, __func__);
}

/* The part of the grid that this process is in when some dimensions are given up. */
static int sub(struct nof_comm *c, const struct nof_topo *topo, const int *remain, MPI_Comm *newcomm)
{
    size_t n = (size_t)topo->ndims;
    int *dims = calloc(2 * n + 1, sizeof(int));
    if (dims == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for %zu dimensions", n);
    int *periods = dims + n;
    int color = 0, rank = 0, count = 0;
    for (int i = 0; i < topo->ndims; i++) {
        if (remain[i]) {
            rank = rank * topo->dims[i] + topo->coords[i];
            dims[count] = topo->dims[i];
            periods[count++] = topo->periods[i];
        } else {
            color = color * topo->dims[i] + topo->coords[i];
        }
    }
    if (count == 0) /* a grid without dimensions is one process, as in MPI_Cart_create */
        color = c->rank == 0 ? 0 : MPI_UNDEFINED;
    struct nof_comm *part = NULL;
    struct nof_topo *grid = new_grid(count, dims, periods, rank);
    int rc = nof_comm_split_into(c, color, rank, NULL, &part);
    free(dims);
    if (rc == MPI_SUCCESS && part == NULL) {
        nof_topo_release(grid);
        *newcomm = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    if (rc == MPI_SUCCESS && grid == NULL) {
        nof_comm_drop(part);
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for a topology");
    }
    if (rc != MPI_SUCCESS) {
        nof_topo_release(grid);
        return rc;
    }
    part->topo = grid;
    *newcomm = part->handle;
    return MPI_SUCCESS;
}

NOF_MPI(Cart_sub)
int PMPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    const struct nof_topo *topo;
    int rc = nof_topo_check(comm, MPI_CART, &c, &topo);
    if (rc == MPI_SUCCESS && topo->ndims > 0 && remain_dims == NULL)
        rc = nof_error(MPI_ERR_ARG, "remain_dims is NULL");
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(newcomm, "the place for the communicator");
    if (rc == MPI_SUCCESS)
        rc = sub(c, topo, remain_dims, newcomm);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Cart_map)
int PMPI_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int periods[], int *newrank)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int size = 0;
    int rc = nof_comm_check_intra(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = grid_size(c, ndims, dims, periods, &size);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(newrank, "the place for the rank");
    if (rc == MPI_SUCCESS)
        *newrank = c->rank < size ? c->rank : MPI_UNDEFINED;
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Cartdim_get)
int PMPI_Cartdim_get(MPI_Comm comm, int *ndims)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    const struct nof_topo *topo;
    int rc = nof_topo_check(comm, MPI_CART, &c, &topo);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(ndims, "the place for the number of dimensions");
    if (rc == MPI_SUCCESS)
        *ndims = topo->ndims;
    return nof_lib_leave(c, rc, __func__);
}

static int check_room(const struct nof_topo *topo, int maxdims)
{
    if (maxdims < topo->ndims)
        return nof_error(MPI_ERR_ARG, "maxdims is %d, the grid has %d dimensions", maxdims, topo->ndims);
    return MPI_SUCCESS;
}

NOF_MPI(Cart_get)
int PMPI_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    const struct nof_topo *topo;
    int rc = nof_topo_check(comm, MPI_CART, &c, &topo);
    if (rc == MPI_SUCCESS)
        rc = check_room(topo, maxdims);
    if (rc == MPI_SUCCESS && topo->ndims > 0 && (dims == NULL || periods == NULL || coords == NULL))
        rc = nof_error(MPI_ERR_ARG, "dims, periods or coords is NULL");
    for (int i = 0; rc == MPI_SUCCESS && i < topo->ndims; i++) {
        dims[i] = topo->dims[i];
        periods[i] = topo->periods[i];
        coords[i] = topo->coords[i];
    }
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Cart_rank)
int PMPI_Cart_rank(MPI_Comm comm, const int coords[], int *rank)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    const struct nof_topo *topo;
    int rc = nof_topo_check(comm, MPI_CART, &c, &topo);
    if (rc == MPI_SUCCESS && topo->ndims > 0)
        rc = nof_error_if_null(coords, "the array of coordinates");
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(rank, "the place for the rank");
    int at = rc == MPI_SUCCESS ? rank_at(topo, coords) : MPI_PROC_NULL;
    if (rc == MPI_SUCCESS && at == MPI_PROC_NULL)
        rc = nof_error(MPI_ERR_ARG, "the coordinates lie beyond an edge that is not periodic");
    if (rc == MPI_SUCCESS)
        *rank = at;
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Cart_coords)
int PMPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[])
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    const struct nof_topo *topo;
    int rc = nof_topo_check(comm, MPI_CART, &c, &topo);
    if (rc == MPI_SUCCESS && (rank < 0 || rank >= nof_comm_size(c)))
        rc = nof_error(MPI_ERR_RANK, "rank %d in a communicator of %d", rank, nof_comm_size(c));
    if (rc == MPI_SUCCESS)
        rc = check_room(topo, maxdims);
    if (rc == MPI_SUCCESS && topo->ndims > 0)
        rc = nof_error_if_null(coords, "the array of coordinates");
    if (rc == MPI_SUCCESS)
        coords_of(topo, rank, coords);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Cart_shift)
int PMPI_Cart_shift(MPI_Comm comm, int direction, int disp, int *rank_source, int *rank_dest)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    const struct nof_topo *topo;
    int rc = nof_topo_check(comm, MPI_CART, &c, &topo);
    if (rc == MPI_SUCCESS && (direction < 0 || direction >= topo->ndims))
        rc = nof_error(MPI_ERR_ARG, "direction %d in a grid of %d dimensions", direction, topo->ndims);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(rank_source == NULL ? NULL : rank_dest, "the place for a rank");
    if (rc == MPI_SUCCESS) {
        *rank_source = rank_along(topo, direction, -(int64_t)disp);
        *rank_dest = rank_along(topo, direction, disp);
    }
    return nof_lib_leave(c, rc, __func__);
}
