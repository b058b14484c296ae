/* SPDX-License-Identifier: BSD-3-Clause */
#include "fortran_hooks.h"

#include "lib.h"

__thread uint64_t nof_lib_callsite;

static void set_callsite(const void *site)
{
    nof_lib_callsite = (uint64_t)(uintptr_t)site;
}

__attribute__((visibility("default"))) const struct nof_fortran_hooks nof_fortran_hooks = {
    .callsite = set_callsite,
};
