/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows: made, asked, freed. */
#include "rma/win.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "comm/entry.h"
#include "base/info.h"
#include "rma/rma.h"
#include "rma/win_shared.h"

static int check_new(MPI_Comm comm, MPI_Info info, MPI_Aint size, MPI_Aint disp_unit,
                     struct nof_win_spec *spec)
{
    struct nof_info *hints = NULL;
    int rc = nof_comm_check_intra(comm, &spec->comm);
    if (rc == MPI_SUCCESS)
        rc = nof_info_check_optional(info, &hints);
    spec->hints = hints;
    if (rc == MPI_SUCCESS && size < 0)
        rc = nof_error(MPI_ERR_SIZE, "the size is %td", (ptrdiff_t)size);
    if (rc == MPI_SUCCESS && disp_unit <= 0)
        rc = nof_error(MPI_ERR_DISP, "the displacement unit is %td", (ptrdiff_t)disp_unit);
    spec->size = size;
    spec->disp_unit = disp_unit;
    return rc;
}

static int create(void *base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win,
                  const char *func)
{
    nof_lib_enter(func);
    struct nof_win_spec spec = {.flavor = MPI_WIN_FLAVOR_CREATE, .base = base};
    struct nof_win *w;
    int rc = check_new(comm, info, size, disp_unit, &spec);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(win, "the place for the window");
    if (rc == MPI_SUCCESS && base == NULL && size > 0)
        rc = nof_error(MPI_ERR_BASE, "the base is NULL and the size is %td", (ptrdiff_t)size);
    if (rc == MPI_SUCCESS)
        rc = nof_win_make(&spec, &w);
    if (rc == MPI_SUCCESS)
        *win = w->handle;
    return nof_lib_leave(spec.comm, rc, func);
}

NOF_MPI(Win_create)
int PMPI_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    return create(base, size, disp_unit, info, comm, win, __func__);
}

NOF_MPI(Win_create_c)
int PMPI_Win_create_c(void *base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                      MPI_Win *win)
{
    return create(base, size, disp_unit, info, comm, win, __func__);
}

NOF_MPI(Win_create_dynamic)
int PMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    nof_lib_enter(__func__);
    struct nof_win_spec spec = {.flavor = MPI_WIN_FLAVOR_DYNAMIC};
    struct nof_win *w;
    int rc = check_new(comm, info, 0, 1, &spec);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(win, "the place for the window");
    if (rc == MPI_SUCCESS)
        rc = nof_win_make(&spec, &w);
    if (rc == MPI_SUCCESS)
        *win = w->handle;
    return nof_lib_leave(spec.comm, rc, __func__);
}

static int allocate(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                    MPI_Win *win, const char *func)
{
    nof_lib_enter(func);
    struct nof_win_spec spec = {.flavor = MPI_WIN_FLAVOR_ALLOCATE};
    struct nof_win *w;
    int rc = check_new(comm, info, size, disp_unit, &spec);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(baseptr == NULL ? NULL : win, "the place for the memory or the window");
    if (rc == MPI_SUCCESS) {
        spec.no_memory = posix_memalign(&spec.base, 64, size == 0 ? 64 : (size_t)size) != 0;
        if (spec.no_memory)
            spec.base = NULL;
        rc = nof_win_make(&spec, &w);
        if (rc != MPI_SUCCESS)
            free(spec.base);
    }
    if (rc == MPI_SUCCESS) {
        w->memory = spec.base;
        memcpy(baseptr, &spec.base, sizeof(spec.base));
        *win = w->handle;
    }
    return nof_lib_leave(spec.comm, rc, func);
}

NOF_MPI(Win_allocate)
int PMPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win)
{
    return allocate(size, disp_unit, info, comm, baseptr, win, __func__);
}

NOF_MPI(Win_allocate_c)
int PMPI_Win_allocate_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                        MPI_Win *win)
{
    return allocate(size, disp_unit, info, comm, baseptr, win, __func__);
}

static int allocate_shared(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                           MPI_Win *win, const char *func)
{
    nof_lib_enter(func);
    struct nof_win_spec spec = {.flavor = MPI_WIN_FLAVOR_SHARED};
    struct nof_win_shared shared;
    struct nof_win *w;
    int rc = check_new(comm, info, size, disp_unit, &spec);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(baseptr == NULL ? NULL : win, "the place for the memory or the window");
    if (rc == MPI_SUCCESS)
        rc = nof_win_shared_map(spec.comm, (size_t)size, &shared);
    if (rc == MPI_SUCCESS) {
        spec.base = shared.base;
        rc = nof_win_make(&spec, &w);
        if (rc != MPI_SUCCESS)
            munmap(shared.mapping, shared.bytes);
    }
    if (rc == MPI_SUCCESS) {
        w->shared = shared.mapping;
        w->shared_bytes = shared.bytes;
        memcpy(baseptr, &shared.base, sizeof(shared.base));
        *win = w->handle;
    }
    return nof_lib_leave(spec.comm, rc, func);
}

NOF_MPI(Win_allocate_shared)
int PMPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                             MPI_Win *win)
{
    return allocate_shared(size, disp_unit, info, comm, baseptr, win, __func__);
}

NOF_MPI(Win_allocate_shared_c)
int PMPI_Win_allocate_shared_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                               MPI_Win *win)
{
    return allocate_shared(size, disp_unit, info, comm, baseptr, win, __func__);
}

/* What this process can load and store of the part of a rank: of a shared window all, of others its own (MPI 4.1,
 * 12.2.3: no part that is elsewhere is an error; it has no bytes). */
static size_t reachable(const struct nof_win *w, int rank)
{
    bool here = w->flavor == MPI_WIN_FLAVOR_SHARED || rank == w->comm->rank;
    return here && w->flavor != MPI_WIN_FLAVOR_DYNAMIC ? w->parts[rank].size : 0;
}

/* MPI_PROC_NULL asks for the first rank that has any memory, be it reachable or not. */
static int query(const struct nof_win *w, int rank, MPI_Aint *size, MPI_Aint *disp_unit, void *baseptr)
{
    int n = nof_comm_size(w->comm);
    if (rank != MPI_PROC_NULL && (rank < 0 || rank >= n))
        return nof_error(MPI_ERR_RANK, "rank %d in a window of %d", rank, n);
    if (size == NULL || disp_unit == NULL || baseptr == NULL)
        return nof_error(MPI_ERR_ARG, "a place for an answer is NULL");
    int at = rank == MPI_PROC_NULL ? 0 : rank;
    while (rank == MPI_PROC_NULL && w->parts != NULL && at < n - 1 && w->parts[at].size == 0)
        at++;
    size_t before = 0, bytes = reachable(w, at);
    for (int i = 0; w->shared != NULL && i < at; i++)
        before += w->parts[i].size;
    void *base = w->shared == NULL ? w->base : nof_lib_at(w->shared, (ptrdiff_t)before);
    base = bytes == 0 ? NULL : base;
    *size = (MPI_Aint)bytes;
    *disp_unit = w->parts == NULL ? w->disp_unit : (MPI_Aint)w->parts[at].disp_unit;
    memcpy(baseptr, &base, sizeof(base));
    return MPI_SUCCESS;
}

NOF_MPI(Win_shared_query_c)
int PMPI_Win_shared_query_c(MPI_Win win, int rank, MPI_Aint *size, MPI_Aint *disp_unit, void *baseptr)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS)
        rc = query(w, rank, size, disp_unit, baseptr);
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_shared_query)
int PMPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint *size, int *disp_unit, void *baseptr)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    MPI_Aint unit = 0;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS)
        rc = query(w, rank, size, disp_unit == NULL ? NULL : &unit, baseptr);
    if (rc == MPI_SUCCESS)
        *disp_unit = (int)unit;
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_free)
int PMPI_Win_free(MPI_Win *win)
{
    nof_lib_enter(__func__);
    struct nof_win *w = NULL;
    int rc =
        win == NULL ? nof_error(MPI_ERR_ARG, "the place of the handle is NULL") : nof_win_check(*win, &w);
    if (rc != MPI_SUCCESS)
        return nof_win_leave(w, rc, __func__);
    /* The handler outlives the window: it has to hear what targets reported in the end. */
    struct nof_error_object object = {w->handle, w->errhandler};
    nof_errhandler_hold(object.errhandler);
    int late = MPI_SUCCESS;
    rc = nof_win_free(w, &late);
    if (rc == MPI_SUCCESS) {
        *win = MPI_WIN_NULL;
        rc = late;
    }
    rc = nof_lib_leave_at(&object, rc, __func__);
    nof_lib_lock();
    nof_errhandler_release(object.errhandler);
    nof_lib_unlock();
    return rc;
}

static int check_dynamic(MPI_Win win, struct nof_win **w)
{
    int rc = nof_win_check(win, w);
    if (rc == MPI_SUCCESS && (*w)->flavor != MPI_WIN_FLAVOR_DYNAMIC)
        rc = nof_error(MPI_ERR_RMA_FLAVOR, "the window was not made by MPI_Win_create_dynamic");
    return rc;
}

static int attach(struct nof_rma *rma, uint64_t base, uint64_t size)
{
    for (size_t i = 0; i < rma->region_count; i++)
        if (base < rma->regions[i].base + rma->regions[i].size && rma->regions[i].base < base + size)
            return nof_error(MPI_ERR_RMA_ATTACH, "the memory overlaps what is attached already");
    struct nof_rma_region *more = realloc(rma->regions, (rma->region_count + 1) * sizeof(*more));
    if (more == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a region");
    rma->regions = more;
    more[rma->region_count++] = (struct nof_rma_region){base, size};
    return MPI_SUCCESS;
}

NOF_MPI(Win_attach)
int PMPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = check_dynamic(win, &w);
    if (rc == MPI_SUCCESS && size < 0)
        rc = nof_error(MPI_ERR_SIZE, "the size is %td", (ptrdiff_t)size);
    if (rc == MPI_SUCCESS && base == NULL && size > 0)
        rc = nof_error(MPI_ERR_RMA_ATTACH, "the base is NULL and the size is %td", (ptrdiff_t)size);
    if (rc == MPI_SUCCESS && (uintptr_t)base > UINTPTR_MAX - (uintptr_t)size)
        rc = nof_error(MPI_ERR_RMA_ATTACH, "%td bytes from %p go beyond all memory", (ptrdiff_t)size, base);
    if (rc == MPI_SUCCESS)
        rc = attach(w->rma, (uint64_t)(uintptr_t)base, (uint64_t)size);
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_detach)
int PMPI_Win_detach(MPI_Win win, const void *base)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = check_dynamic(win, &w);
    if (rc == MPI_SUCCESS) {
        struct nof_rma *rma = w->rma;
        size_t i = 0;
        while (i < rma->region_count && rma->regions[i].base != (uint64_t)(uintptr_t)base)
            i++;
        if (i == rma->region_count)
            rc = nof_error(MPI_ERR_RMA_ATTACH, "no memory is attached there");
        else
            rma->regions[i] = rma->regions[--rma->region_count];
    }
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_get_group)
int PMPI_Win_get_group(MPI_Win win, MPI_Group *group)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(group, "the place for the group");
    if (rc == MPI_SUCCESS)
        rc = nof_group_publish(w->comm->group, group);
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_set_name)
int PMPI_Win_set_name(MPI_Win win, const char *win_name)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS && win_name == NULL)
        rc = nof_error(MPI_ERR_ARG, "the name is NULL");
    if (rc == MPI_SUCCESS)
        snprintf(w->name, sizeof(w->name), "%s", win_name);
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_get_name)
int PMPI_Win_get_name(MPI_Win win, char *win_name, int *resultlen)
{
    nof_lib_enter(__func__);
    struct nof_win *w = NULL;
    int rc = win == MPI_WIN_NULL ? MPI_SUCCESS : nof_win_check(win, &w);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(win_name == NULL ? NULL : resultlen, "the place for the name or its length");
    if (rc == MPI_SUCCESS)
        *resultlen = snprintf(win_name, MPI_MAX_OBJECT_NAME, "%s", w == NULL ? "MPI_WIN_NULL" : w->name);
    return nof_win_leave(w, rc, __func__);
}
