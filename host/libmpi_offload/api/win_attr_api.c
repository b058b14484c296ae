/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes and error handlers of windows. */
#include <string.h>

#include "base/attr.h"
#include "comm/entry.h"
#include "rma/win.h"

static bool predefined(int keyval)
{
    return keyval >= MPI_WIN_BASE && keyval <= MPI_WIN_MODEL;
}

static int check_changeable(int keyval)
{
    return predefined(keyval)
               ? nof_error(MPI_ERR_KEYVAL, "the attribute of key %d is predefined and cannot be changed",
                           keyval)
               : MPI_SUCCESS;
}

/* What a predefined attribute is: in C a pointer to it, but the base itself; in Fortran the number. */
static void *get_predefined(struct nof_win *w, int keyval, enum nof_attr_language language)
{
    MPI_Aint number = 0;
    void *place = NULL;
    switch (keyval) {
    case MPI_WIN_BASE:
        return w->base;
    case MPI_WIN_SIZE:
        place = &w->size;
        number = w->size;
        break;
    case MPI_WIN_DISP_UNIT:
        place = &w->facts.disp_unit;
        number = w->disp_unit;
        break;
    case MPI_WIN_CREATE_FLAVOR:
        place = &w->flavor;
        number = w->flavor;
        break;
    default:
        place = &w->facts.model;
        number = w->facts.model;
    }
    return language == NOF_ATTR_C ? place : nof_lib_handle((uint64_t)number);
}

NOF_MPI(Win_set_attr)
int PMPI_Win_set_attr(MPI_Win win, int win_keyval, void *attribute_val)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    struct nof_attr_value value = nof_attr_value_of(nof_attr_caller(), attribute_val);
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS)
        rc = check_changeable(win_keyval);
    if (rc == MPI_SUCCESS) {
        struct nof_attr_owner owner = nof_attr_of_win(w);
        rc = nof_attr_set(&owner, win_keyval, &value);
    }
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_get_attr)
int PMPI_Win_get_attr(MPI_Win win, int win_keyval, void *attribute_val, int *flag)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    enum nof_attr_language language = nof_attr_caller();
    void *word = NULL;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS && (attribute_val == NULL || flag == NULL))
        rc = nof_error(MPI_ERR_ARG, "the place for the value or the flag is NULL");
    if (rc == MPI_SUCCESS && predefined(win_keyval)) {
        word = get_predefined(w, win_keyval, language);
        *flag = 1;
    } else if (rc == MPI_SUCCESS) {
        struct nof_attr_owner owner = nof_attr_of_win(w);
        struct nof_attr_value *value = NULL;
        rc = nof_attr_get(&owner, win_keyval, &value);
        *flag = value != NULL;
        word = value == NULL ? NULL : nof_attr_word_for(language, value);
    }
    if (rc == MPI_SUCCESS && *flag)
        memcpy(attribute_val, &word, sizeof(word));
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_delete_attr)
int PMPI_Win_delete_attr(MPI_Win win, int win_keyval)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS)
        rc = check_changeable(win_keyval);
    if (rc == MPI_SUCCESS) {
        struct nof_attr_owner owner = nof_attr_of_win(w);
        rc = nof_attr_delete(&owner, win_keyval);
    }
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_set_errhandler)
int PMPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler errhandler)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    struct nof_errhandler *handler;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS)
        rc = nof_errhandler_check(errhandler, NOF_ERRHANDLER_WIN, &handler);
    if (rc == MPI_SUCCESS)
        nof_win_set_errhandler(w, handler);
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_get_errhandler)
int PMPI_Win_get_errhandler(MPI_Win win, MPI_Errhandler *errhandler)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS && errhandler == NULL)
        rc = nof_error(MPI_ERR_ARG, "the place for the handle is NULL");
    if (rc == MPI_SUCCESS)
        rc = nof_errhandler_handle(w->errhandler, errhandler);
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_call_errhandler)
int PMPI_Win_call_errhandler(MPI_Win win, int errorcode)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = nof_win_check(win, &w);
    if (rc != MPI_SUCCESS)
        return nof_win_leave(NULL, rc, __func__);
    (void)nof_win_leave(w, errorcode, __func__);
    return MPI_SUCCESS;
}
