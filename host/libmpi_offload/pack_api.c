/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>

#include "comm.h"
#include "error.h"
#include "type.h"

/* What the three calls check alike. */
static int check(MPI_Comm comm, MPI_Datatype datatype, int count, struct nof_comm **c, struct nof_type **type)
{
    int rc = nof_comm_check(comm, c);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check(datatype, true, type);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_count(*type, count);
    return rc;
}

/* Room for `need` bytes behind *position in a packed buffer of `size` bytes. */
static int check_room(int size, const int *position, size_t need)
{
    if (size < 0 || *position < 0 || *position > size)
        return nof_error(MPI_ERR_ARG, "position %d in a packed buffer of %d bytes", *position, size);
    if (need > (size_t)(size - *position))
        return nof_error(MPI_ERR_TRUNCATE, "%zu bytes at position %d of a packed buffer of %d bytes", need,
                         *position, size);
    return MPI_SUCCESS;
}

NOF_MPI(Pack)
int PMPI_Pack(const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf, int outsize, int *position,
              MPI_Comm comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_type *type;
    int rc = check(comm, datatype, incount, &c, &type);
    size_t len = rc == MPI_SUCCESS ? type->size * (size_t)incount : 0;
    if (rc == MPI_SUCCESS)
        rc = check_room(outsize, position, len);
    if (rc == MPI_SUCCESS) {
        nof_type_pack(type, inbuf, (size_t)incount, 0, len, nof_lib_at(outbuf, *position));
        *position += (int)len;
    }
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Unpack)
int PMPI_Unpack(const void *inbuf, int insize, int *position, void *outbuf, int outcount,
                MPI_Datatype datatype, MPI_Comm comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_type *type;
    int rc = check(comm, datatype, outcount, &c, &type);
    size_t len = rc == MPI_SUCCESS ? type->size * (size_t)outcount : 0;
    if (rc == MPI_SUCCESS)
        rc = check_room(insize, position, len);
    if (rc == MPI_SUCCESS) {
        nof_type_unpack(type, outbuf, (size_t)outcount, 0, len, nof_lib_at(inbuf, *position));
        *position += (int)len;
    }
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Pack_size)
int PMPI_Pack_size(int incount, MPI_Datatype datatype, MPI_Comm comm, int *size)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_type *type;
    int rc = check(comm, datatype, incount, &c, &type);
    if (rc == MPI_SUCCESS) {
        size_t len = type->size * (size_t)incount;
        *size = len > INT_MAX ? MPI_UNDEFINED : (int)len;
    }
    return nof_lib_leave(c, rc, __func__);
}
