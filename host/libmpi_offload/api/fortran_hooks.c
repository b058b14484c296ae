/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/fortran_hooks.h"

#include "base/attr.h"
#include "comm/entry.h"
#include "coll/coll_section.h"

static void set_callsite(const void *site)
{
    nof_lib_callsite = (uint64_t)(uintptr_t)site;
}

static void attributes(bool is_old)
{
    nof_attr_called_from(is_old ? NOF_ATTR_FORTRAN_OLD : NOF_ATTR_FORTRAN);
}

static int make_section_type(const struct nof_section *section, MPI_Datatype handle, MPI_Count count,
                             ptrdiff_t step_bytes, MPI_Datatype *made_out)
{
    struct nof_type *type, *made;
    int rc = nof_type_check(handle, true, &type);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_count(type, count);
    if (rc != MPI_SUCCESS)
        return rc;
    made = nof_section_type(section, type, (size_t)count);
    if (made != NULL && step_bytes != 0) {
        struct nof_type *resized = nof_type_resized(made, 0, step_bytes);
        nof_type_release(made);
        made = resized;
    }
    uint64_t bits = made == NULL ? 0 : nof_handle_add(&nof_lib.types, made);
    if (bits == 0) {
        if (made != NULL)
            nof_type_release(made);
        return MPI_ERR_NO_MEM;
    }
    made->committed = true;
    made->handle = nof_lib_handle(bits);
    *made_out = made->handle;
    return MPI_SUCCESS;
}

static int section_type(const struct nof_section *section, MPI_Datatype type, MPI_Count count,
                        ptrdiff_t step_bytes, MPI_Datatype *made_out)
{
    nof_lib_lock();
    int rc = make_section_type(section, type, count, step_bytes, made_out);
    nof_lib_unlock();
    return rc == MPI_SUCCESS ? rc : nof_error_class(rc);
}

static void free_type(MPI_Datatype handle)
{
    struct nof_type *type;
    nof_lib_lock();
    if (nof_type_check(handle, false, &type) == MPI_SUCCESS) {
        nof_handle_remove(&nof_lib.types, nof_lib_bits(handle));
        type->handle = MPI_DATATYPE_NULL;
        nof_type_release(type);
    }
    nof_lib_unlock();
}

static int raise_error(int error_class, const char *text)
{
    nof_lib_lock();
    return nof_lib_leave_anytime(nof_error(error_class, "%s", text), "mpi_f08");
}

__attribute__((visibility("default"))) const struct nof_fortran_hooks nof_fortran_hooks = {
    .callsite = set_callsite,
    .attributes = attributes,
    .section_type = section_type,
    .free_type = free_type,
    .section = nof_coll_note_section,
    .forget_sections = nof_coll_forget_sections,
    .raise = raise_error,
};
