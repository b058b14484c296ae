/* SPDX-License-Identifier: BSD-3-Clause */
#include "fortran/nof_f.h"

#include <stdio.h>
#include <string.h>

/* A pointer to a C handle is used as a pointer to Fortran's: its low word comes first. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a handle's low word must come first");
_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint),
               "a status is the same in both languages");

void *nof_f_buffer(void *buffer)
{
    if (buffer == mpi_fortran_in_place_)
        return MPI_IN_PLACE;
    if (buffer == mpi_fortran_bottom_)
        return MPI_BOTTOM;
    return buffer == mpi_fortran_buffer_automatic_ ? MPI_BUFFER_AUTOMATIC : buffer;
}

MPI_Status *nof_f_status(MPI_Fint *status)
{
    if (status == mpi_fortran_status_ignore_ || status == mpi_fortran_statuses_ignore_)
        return MPI_STATUS_IGNORE;
    return (MPI_Status *)status;
}

int *nof_f_weights(MPI_Fint *weights)
{
    if (weights == mpi_fortran_unweighted_)
        return MPI_UNWEIGHTED;
    return weights == mpi_fortran_weights_empty_ ? MPI_WEIGHTS_EMPTY : weights;
}

int *nof_f_errcodes(MPI_Fint *errcodes)
{
    return errcodes == mpi_fortran_errcodes_ignore_ ? MPI_ERRCODES_IGNORE : errcodes;
}

char *nof_f_string_in(const char *string, size_t len)
{
    while (len > 0 && (string[len - 1] == ' ' || string[len - 1] == '\0'))
        len--;
    char *copy = malloc(len + 1);
    if (copy == NULL) {
        fprintf(stderr, "libmpi_offload_fortran: no memory for a string of %zu characters\n", len);
        abort();
    }
    memcpy(copy, string, len);
    copy[len] = '\0';
    return copy;
}

char *nof_f_string_trimmed(const char *string, size_t len)
{
    while (len > 0 && *string == ' ') {
        string++;
        len--;
    }
    return nof_f_string_in(string, len);
}

void nof_f_string_out(const char *from, char *string, size_t len)
{
    size_t used = strnlen(from, len);
    memcpy(string, from, used);
    memset(string + used, ' ', len - used);
}

int nof_f_handles_in(struct nof_f_handles *handles, enum nof_f_kind kind, const MPI_Fint *from,
                     MPI_Count count)
{
    handles->kind = kind;
    handles->count = 0;
    handles->items = handles->room;
    if (count > (MPI_Count)(sizeof(handles->room) / sizeof(handles->room[0]))) {
        handles->items = calloc((size_t)count, sizeof(void *));
        if (handles->items == NULL)
            return PMPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_NO_MEM) == MPI_SUCCESS ? MPI_ERR_NO_MEM
                                                                                           : MPI_ERR_OTHER;
    }
    handles->count = count > 0 ? (size_t)count : 0;
    for (size_t i = 0; i < handles->count; i++) {
        if (kind == NOF_F_REQUEST)
            ((MPI_Request *)handles->items)[i] = MPI_Request_f2c(from[i]);
        else if (kind == NOF_F_TYPE)
            ((MPI_Datatype *)handles->items)[i] = MPI_Type_f2c(from[i]);
        else
            ((MPI_Info *)handles->items)[i] = MPI_Info_f2c(from[i]);
    }
    return MPI_SUCCESS;
}

void nof_f_handles_out(struct nof_f_handles *handles, MPI_Fint *to)
{
    for (size_t i = 0; i < handles->count && to != NULL; i++) {
        if (handles->kind == NOF_F_REQUEST)
            to[i] = MPI_Request_c2f(((MPI_Request *)handles->items)[i]);
        else if (handles->kind == NOF_F_TYPE)
            to[i] = MPI_Type_c2f(((MPI_Datatype *)handles->items)[i]);
        else
            to[i] = MPI_Info_c2f(((MPI_Info *)handles->items)[i]);
    }
    if (handles->items != handles->room)
        free(handles->items);
}

/* The call that these lengths are for finds fault with a bad communicator: here errors only mean "none". */
static bool is_usable(MPI_Comm comm)
{
    return comm != MPI_COMM_NULL;
}

int nof_f_peers(MPI_Comm comm)
{
    int inter = 0, size = 0;
    if (!is_usable(comm) || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS)
        return 0;
    int rc = inter ? PMPI_Comm_remote_size(comm, &size) : PMPI_Comm_size(comm, &size);
    return rc == MPI_SUCCESS ? size : 0;
}

int nof_f_neighbours(MPI_Comm comm, int incoming)
{
    int topology = MPI_UNDEFINED, in = 0, out = 0, rank = 0, weighted = 0;
    if (!is_usable(comm) || PMPI_Topo_test(comm, &topology) != MPI_SUCCESS)
        return 0;
    if (topology == MPI_CART && PMPI_Cartdim_get(comm, &in) == MPI_SUCCESS)
        return 2 * in;
    if (topology == MPI_GRAPH && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS &&
        PMPI_Graph_neighbors_count(comm, rank, &in) == MPI_SUCCESS)
        return in;
    if (topology == MPI_DIST_GRAPH &&
        PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) == MPI_SUCCESS)
        return incoming ? in : out;
    return 0;
}

void nof_f_positions(MPI_Fint *indices, int count)
{
    for (int i = 0; i < count; i++)
        indices[i] = nof_f_position(indices[i]);
}
