/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <string.h>

#include "comm/comm.h"
#include "comm/entry.h"
#include "base/error.h"
#include "p2p/delta_settle.h"
#include "type/type.h"

static int check_typed(MPI_Datatype datatype, MPI_Count count, struct nof_type **type)
{
    int rc = nof_type_check(datatype, true, type);
    return rc == MPI_SUCCESS ? nof_type_check_count(*type, count) : rc;
}

/* One side is typed, the other is packed. */
struct packing {
    void *typed;
    MPI_Count count;
    MPI_Datatype datatype;
    void *packed;
    MPI_Count packed_bytes;
    bool unpack;
};

/* Both buffers, and room for `need` bytes behind `position` in the packed one. */
static int check_room(const struct packing *p, const struct nof_type *type, const MPI_Count *position,
                      size_t need)
{
    int rc = nof_error_if_null(position, "the place of the position");
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_buffer(type, p->typed, p->count);
    if (rc != MPI_SUCCESS)
        return rc;
    if (p->packed_bytes < 0 || *position < 0 || *position > p->packed_bytes)
        return nof_error(MPI_ERR_ARG, "position %lld in a packed buffer of %lld bytes", (long long)*position,
                         (long long)p->packed_bytes);
    if (need > (size_t)(p->packed_bytes - *position))
        return nof_error(MPI_ERR_TRUNCATE, "%zu bytes at position %lld of a packed buffer of %lld bytes",
                         need, (long long)*position, (long long)p->packed_bytes);
    if (need > 0 && p->packed == NULL)
        return nof_error(MPI_ERR_BUFFER, "the packed buffer is NULL");
    return MPI_SUCCESS;
}

static int run(const struct packing *p, MPI_Comm comm, MPI_Count *position, struct nof_comm **c)
{
    struct nof_type *type;
    int rc = nof_comm_check(comm, c);
    if (rc == MPI_SUCCESS)
        rc = check_typed(p->datatype, p->count, &type);
    if (rc != MPI_SUCCESS)
        return rc;
    size_t count = (size_t)p->count, len = type->size * count;
    rc = check_room(p, type, position, len);
    if (rc != MPI_SUCCESS)
        return rc;
    void *at = nof_lib_at(p->packed, *position);
    nof_delta_settle_buffer(p->typed, count, type);
    nof_delta_settle(at, len);
    if (p->unpack)
        nof_type_unpack(type, p->typed, count, 0, len, at);
    else
        nof_type_pack(type, p->typed, count, 0, len, at);
    *position += (MPI_Count)len;
    return MPI_SUCCESS;
}

static int run_wide(const struct packing *p, MPI_Comm comm, MPI_Count *position, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c = NULL;
    int rc = run(p, comm, position, &c);
    return nof_lib_leave(c, rc, func);
}

/* The position never passes the size, which was an int where the position is one. */
static int run_narrow(const struct packing *p, MPI_Comm comm, int *position, const char *func)
{
    MPI_Count at = position == NULL ? 0 : *position;
    int rc = run_wide(p, comm, position == NULL ? NULL : &at, func);
    if (rc == MPI_SUCCESS)
        *position = (int)at;
    return rc;
}

NOF_MPI(Pack)
int PMPI_Pack(const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf, int outsize, int *position,
              MPI_Comm comm)
{
    struct packing p = {nof_lib_unconst(inbuf), incount, datatype, outbuf, outsize, false};
    return run_narrow(&p, comm, position, __func__);
}

NOF_MPI(Pack_c)
int PMPI_Pack_c(const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf, MPI_Count outsize,
                MPI_Count *position, MPI_Comm comm)
{
    struct packing p = {nof_lib_unconst(inbuf), incount, datatype, outbuf, outsize, false};
    return run_wide(&p, comm, position, __func__);
}

NOF_MPI(Unpack)
int PMPI_Unpack(const void *inbuf, int insize, int *position, void *outbuf, int outcount,
                MPI_Datatype datatype, MPI_Comm comm)
{
    struct packing p = {outbuf, outcount, datatype, nof_lib_unconst(inbuf), insize, true};
    return run_narrow(&p, comm, position, __func__);
}

NOF_MPI(Unpack_c)
int PMPI_Unpack_c(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf, MPI_Count outcount,
                  MPI_Datatype datatype, MPI_Comm comm)
{
    struct packing p = {outbuf, outcount, datatype, nof_lib_unconst(inbuf), insize, true};
    return run_wide(&p, comm, position, __func__);
}

static int packed_size(MPI_Count count, MPI_Datatype datatype, MPI_Comm comm, MPI_Count *size,
                       struct nof_comm **c)
{
    struct nof_type *type;
    int rc = nof_comm_check(comm, c);
    if (rc == MPI_SUCCESS)
        rc = check_typed(datatype, count, &type);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(size, "the place for the size");
    if (rc == MPI_SUCCESS)
        *size = (MPI_Count)(type->size * (size_t)count);
    return rc;
}

NOF_MPI(Pack_size)
int PMPI_Pack_size(int incount, MPI_Datatype datatype, MPI_Comm comm, int *size)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    MPI_Count bytes = 0;
    int rc = packed_size(incount, datatype, comm, size == NULL ? NULL : &bytes, &c);
    if (rc == MPI_SUCCESS)
        *size = bytes > INT_MAX ? MPI_UNDEFINED : (int)bytes;
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Pack_size_c)
int PMPI_Pack_size_c(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count *size)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    int rc = packed_size(incount, datatype, comm, size, &c);
    return nof_lib_leave(c, rc, __func__);
}

static int external_size(const char *datarep, MPI_Count count, MPI_Datatype datatype, struct nof_type **type,
                         MPI_Count *size)
{
    size_t bytes;
    if (datarep == NULL || strcmp(datarep, "external32") != 0)
        return nof_error(MPI_ERR_ARG, "the data representation is '%.64s': only external32 is known",
                         datarep == NULL ? "(NULL)" : datarep);
    int rc = nof_error_if_null(size, "the place for the size");
    if (rc == MPI_SUCCESS)
        rc = check_typed(datatype, count, type);
    if (rc == MPI_SUCCESS && !nof_type_external_bytes(*type, (size_t)count, &bytes))
        rc = nof_error(MPI_ERR_COUNT, "%lld elements are more than a memory can hold", (long long)count);
    if (rc == MPI_SUCCESS)
        *size = (MPI_Count)bytes;
    return rc;
}

static int run_external(const char *datarep, const struct packing *p, MPI_Count *position)
{
    struct nof_type *type;
    MPI_Count len;
    int rc = external_size(datarep, p->count, p->datatype, &type, &len);
    if (rc == MPI_SUCCESS)
        rc = check_room(p, type, position, (size_t)len);
    if (rc != MPI_SUCCESS)
        return rc;
    void *at = nof_lib_at(p->packed, *position);
    if (p->unpack)
        nof_type_external_unpack(type, p->typed, (size_t)p->count, at);
    else
        nof_type_external_pack(type, p->typed, (size_t)p->count, at);
    *position += len;
    return MPI_SUCCESS;
}

NOF_MPI(Pack_external)
int PMPI_Pack_external(const char datarep[], const void *inbuf, int incount, MPI_Datatype datatype,
                       void *outbuf, MPI_Aint outsize, MPI_Aint *position)
{
    nof_lib_enter(__func__);
    struct packing p = {nof_lib_unconst(inbuf), incount, datatype, outbuf, outsize, false};
    return nof_lib_leave(NULL, run_external(datarep, &p, position), __func__);
}

NOF_MPI(Pack_external_c)
int PMPI_Pack_external_c(const char datarep[], const void *inbuf, MPI_Count incount, MPI_Datatype datatype,
                         void *outbuf, MPI_Count outsize, MPI_Count *position)
{
    nof_lib_enter(__func__);
    struct packing p = {nof_lib_unconst(inbuf), incount, datatype, outbuf, outsize, false};
    return nof_lib_leave(NULL, run_external(datarep, &p, position), __func__);
}

NOF_MPI(Unpack_external)
int PMPI_Unpack_external(const char datarep[], const void *inbuf, MPI_Aint insize, MPI_Aint *position,
                         void *outbuf, int outcount, MPI_Datatype datatype)
{
    nof_lib_enter(__func__);
    struct packing p = {outbuf, outcount, datatype, nof_lib_unconst(inbuf), insize, true};
    return nof_lib_leave(NULL, run_external(datarep, &p, position), __func__);
}

NOF_MPI(Unpack_external_c)
int PMPI_Unpack_external_c(const char datarep[], const void *inbuf, MPI_Count insize, MPI_Count *position,
                           void *outbuf, MPI_Count outcount, MPI_Datatype datatype)
{
    nof_lib_enter(__func__);
    struct packing p = {outbuf, outcount, datatype, nof_lib_unconst(inbuf), insize, true};
    return nof_lib_leave(NULL, run_external(datarep, &p, position), __func__);
}

NOF_MPI(Pack_external_size)
int PMPI_Pack_external_size(const char datarep[], int incount, MPI_Datatype datatype, MPI_Aint *size)
{
    nof_lib_enter(__func__);
    struct nof_type *type;
    return nof_lib_leave(NULL, external_size(datarep, incount, datatype, &type, size), __func__);
}

NOF_MPI(Pack_external_size_c)
int PMPI_Pack_external_size_c(const char datarep[], MPI_Count incount, MPI_Datatype datatype, MPI_Count *size)
{
    nof_lib_enter(__func__);
    struct nof_type *type;
    return nof_lib_leave(NULL, external_size(datarep, incount, datatype, &type, size), __func__);
}
