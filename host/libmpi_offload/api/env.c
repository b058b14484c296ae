/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comm/entry.h"
#include "base/error.h"
#include "base/info.h"
#include "base/lib.h"

NOF_MPI(Get_processor_name)
int PMPI_Get_processor_name(char *name, int *resultlen)
{
    nof_lib_enter(__func__);
    int rc = nof_error_if_null(name == NULL ? NULL : resultlen, "the place for the name or its length");
    if (rc == MPI_SUCCESS)
        *resultlen = snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", nof_lib.host);
    return nof_lib_leave(NULL, rc, __func__);
}

/* Of what may be asked at any time. */
static int check_places(const void *first, const void *second, const char *func)
{
    if (first != NULL && second != NULL)
        return MPI_SUCCESS;
    nof_lib_lock();
    return nof_lib_leave_anytime(nof_error(MPI_ERR_ARG, "a place for an answer is NULL"), func);
}

NOF_MPI(Get_version)
int PMPI_Get_version(int *version, int *subversion)
{
    int rc = check_places(version, subversion, __func__);
    if (rc == MPI_SUCCESS) {
        *version = MPI_VERSION;
        *subversion = MPI_SUBVERSION;
    }
    return rc;
}

NOF_MPI(Abi_get_version)
int PMPI_Abi_get_version(int *abi_major, int *abi_minor)
{
    int rc = check_places(abi_major, abi_minor, __func__);
    if (rc == MPI_SUCCESS) {
        *abi_major = MPI_ABI_VERSION;
        *abi_minor = MPI_ABI_SUBVERSION;
    }
    return rc;
}

NOF_MPI(Get_library_version)
int PMPI_Get_library_version(char *version, int *resultlen)
{
    int rc = check_places(version, resultlen, __func__);
    if (rc == MPI_SUCCESS)
        *resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING,
                              "libmpi_offload %s (nof: NIC offload firmware for MPI), MPI ABI %d.%d",
                              NOF_VERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
    return rc;
}

NOF_MPI(Wtime)
double PMPI_Wtime(void)
{
    return (double)nof_lib_now_ns() * 1e-9;
}

NOF_MPI(Wtick)
double PMPI_Wtick(void)
{
    struct timespec tick;
    clock_getres(CLOCK_MONOTONIC, &tick);
    return (double)tick.tv_sec + (double)tick.tv_nsec * 1e-9;
}

#define ALLOC_PAGE 4096

NOF_MPI(Alloc_mem)
int PMPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    nof_lib_enter(__func__);
    (void)info;
    void *memory = NULL;
    int rc = nof_error_if_null(baseptr, "the place for the address");
    if (rc == MPI_SUCCESS && size < 0)
        rc = nof_error(MPI_ERR_ARG, "the size is %td", (ptrdiff_t)size);
    /* Whole pages for large ones: a delta message is watched by pages that hold nothing else. */
    size_t align = size < ALLOC_PAGE ? 64 : ALLOC_PAGE, room = ((size_t)size + align) & ~(align - 1);
    if (rc == MPI_SUCCESS && posix_memalign(&memory, align, room) != 0)
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for %td bytes", (ptrdiff_t)size);
    if (rc == MPI_SUCCESS)
        memcpy(baseptr, &memory, sizeof(memory));
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Free_mem)
int PMPI_Free_mem(void *base)
{
    nof_lib_enter(__func__);
    free(base);
    return nof_lib_leave(NULL, MPI_SUCCESS, __func__);
}

NOF_MPI(Get_address)
int PMPI_Get_address(const void *location, MPI_Aint *address)
{
    int rc = check_places(address, address, __func__);
    if (rc == MPI_SUCCESS)
        *address = (MPI_Aint)location;
    return rc;
}

NOF_MPI(Aint_add)
MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

NOF_MPI(Aint_diff)
MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
    return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}

/* What MPI_Comm_split_type takes as mpi_hw_resource_type: the one kind of resource that this library tells apart. */
NOF_MPI(Get_hw_resource_info)
int PMPI_Get_hw_resource_info(MPI_Info *hw_info)
{
    nof_lib_lock();
    struct nof_info *info;
    int rc = hw_info == NULL ? nof_error(MPI_ERR_ARG, "the place for the handle is NULL")
                             : nof_info_new(hw_info, &info);
    if (rc == MPI_SUCCESS)
        rc = nof_info_set(info, "mpi_shared_memory", "true");
    return nof_lib_leave_anytime(rc, __func__);
}

/* No process of a job was spawned by another. */
NOF_MPI(Comm_get_parent)
int PMPI_Comm_get_parent(MPI_Comm *parent)
{
    nof_lib_enter(__func__);
    int rc = parent == NULL ? nof_error(MPI_ERR_ARG, "the place for the handle is NULL") : MPI_SUCCESS;
    if (rc == MPI_SUCCESS)
        *parent = MPI_COMM_NULL;
    return nof_lib_leave(NULL, rc, __func__);
}

/* For profiling libraries to intercept; nothing to do here. */
NOF_MPI(Pcontrol)
int PMPI_Pcontrol(const int level, ...)
{
    (void)level;
    return MPI_SUCCESS;
}
