/* SPDX-License-Identifier: BSD-3-Clause */
#include "fortran_hooks.h"

#include "attr.h"
#include "lib.h"

__thread uint64_t nof_lib_callsite;

static void set_callsite(const void *site)
{
    nof_lib_callsite = (uint64_t)(uintptr_t)site;
}

static void attributes(bool is_old)
{
    nof_attr_called_from(is_old ? NOF_ATTR_FORTRAN_OLD : NOF_ATTR_FORTRAN);
}

__attribute__((visibility("default"))) const struct nof_fortran_hooks nof_fortran_hooks = {
    .callsite = set_callsite,
    .attributes = attributes,
};
