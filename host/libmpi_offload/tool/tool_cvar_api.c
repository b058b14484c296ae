/* SPDX-License-Identifier: BSD-3-Clause */
/* Beginning and end of the tool interface, control variables, enumerations. A handle of a control variable is its
 * index + 1: there is nothing else to keep. */
#include <string.h>

#include "comm/entry.h"
#include "tool/nic_control.h"
#include "tool/tool.h"

static int users; /* MPI_T_init_thread() without its MPI_T_finalize() */

int nof_tool_enter(void)
{
    nof_lib_lock();
    return users > 0 ? MPI_SUCCESS : MPI_T_ERR_NOT_INITIALIZED;
}

int nof_tool_leave(int rc)
{
    nof_lib_unlock();
    return rc;
}

void nof_tool_text(const char *text, char *out, int *len)
{
    if (len == NULL)
        return;
    if (out != NULL && *len > 0) {
        size_t most = (size_t)*len - 1, have = strlen(text);
        size_t n = have < most ? have : most;
        memcpy(out, text, n);
        out[n] = '\0';
    }
    *len = (int)strlen(text) + 1;
}

NOF_MPI(T_init_thread)
int PMPI_T_init_thread(int required, int *provided)
{
    (void)required; /* every call locks by itself */
    nof_lib_lock();
    users++;
    if (provided != NULL)
        *provided = nof_lib.phase == NOF_LIB_RUNNING ? nof_lib.thread_level : MPI_THREAD_MULTIPLE;
    return nof_tool_leave(MPI_SUCCESS);
}

NOF_MPI(T_finalize)
int PMPI_T_finalize(void)
{
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS)
        users--;
    return nof_tool_leave(rc);
}

NOF_MPI(T_cvar_get_num)
int PMPI_T_cvar_get_num(int *num_cvar)
{
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && num_cvar == NULL)
        rc = MPI_T_ERR_INVALID;
    if (rc == MPI_SUCCESS)
        *num_cvar = NOF_TOOL_CVARS;
    return nof_tool_leave(rc);
}

NOF_MPI(T_cvar_get_info)
int PMPI_T_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity, MPI_Datatype *datatype,
                         MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *scope)
{
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && (cvar_index < 0 || cvar_index >= NOF_TOOL_CVARS))
        rc = MPI_T_ERR_INVALID_INDEX;
    if (rc == MPI_SUCCESS) {
        struct nof_tool_var var = nof_tool_cvar(cvar_index);
        nof_tool_text(var.name, name, name_len);
        nof_tool_text(var.help, desc, desc_len);
        if (verbosity != NULL)
            *verbosity = MPI_T_VERBOSITY_USER_BASIC;
        if (datatype != NULL)
            *datatype = var.type;
        if (enumtype != NULL)
            *enumtype = var.choices;
        if (bind != NULL)
            *bind = MPI_T_BIND_NO_OBJECT;
        if (scope != NULL)
            *scope = !var.writable                    ? MPI_T_SCOPE_READONLY
                     : cvar_index < NOF_TOOL_SETTINGS ? MPI_T_SCOPE_LOCAL
                                                      : MPI_T_SCOPE_GROUP;
    }
    return nof_tool_leave(rc);
}

NOF_MPI(T_cvar_get_index)
int PMPI_T_cvar_get_index(const char *name, int *cvar_index)
{
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && (name == NULL || cvar_index == NULL))
        rc = MPI_T_ERR_INVALID;
    int at = 0;
    while (rc == MPI_SUCCESS && at < NOF_TOOL_CVARS && strcmp(nof_tool_cvar(at).name, name) != 0)
        at++;
    if (rc == MPI_SUCCESS && at == NOF_TOOL_CVARS)
        rc = MPI_T_ERR_INVALID_NAME;
    if (rc == MPI_SUCCESS)
        *cvar_index = at;
    return nof_tool_leave(rc);
}

static int of_handle(MPI_T_cvar_handle handle, int *index_out)
{
    uint64_t number = nof_lib_bits(handle);
    if (number == 0 || number > NOF_TOOL_CVARS)
        return MPI_T_ERR_INVALID_HANDLE;
    *index_out = (int)number - 1;
    return MPI_SUCCESS;
}

NOF_MPI(T_cvar_handle_alloc)
int PMPI_T_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count)
{
    int rc = nof_tool_enter();
    (void)obj_handle; /* all are bound to no object */
    if (rc == MPI_SUCCESS && (handle == NULL || count == NULL))
        rc = MPI_T_ERR_INVALID;
    if (rc == MPI_SUCCESS && (cvar_index < 0 || cvar_index >= NOF_TOOL_CVARS))
        rc = MPI_T_ERR_INVALID_INDEX;
    if (rc == MPI_SUCCESS) {
        *handle = nof_lib_handle((uint64_t)cvar_index + 1);
        *count = nof_tool_cvar(cvar_index).count;
    }
    return nof_tool_leave(rc);
}

NOF_MPI(T_cvar_handle_free)
int PMPI_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    int index, rc = nof_tool_enter();
    if (rc == MPI_SUCCESS)
        rc = handle == NULL ? MPI_T_ERR_INVALID_HANDLE : of_handle(*handle, &index);
    if (rc == MPI_SUCCESS)
        *handle = MPI_T_CVAR_HANDLE_NULL;
    return nof_tool_leave(rc);
}

NOF_MPI(T_cvar_read)
int PMPI_T_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
    int index, rc = nof_tool_enter();
    if (rc == MPI_SUCCESS)
        rc = of_handle(handle, &index);
    if (rc == MPI_SUCCESS)
        rc = buf == NULL ? MPI_T_ERR_INVALID : nof_tool_cvar_read(index, buf);
    return nof_tool_leave(rc);
}

NOF_MPI(T_cvar_write)
int PMPI_T_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
    int index, rc = nof_tool_enter();
    if (rc == MPI_SUCCESS)
        rc = of_handle(handle, &index);
    if (rc == MPI_SUCCESS)
        rc = buf == NULL ? MPI_T_ERR_INVALID : nof_tool_cvar_write(index, buf);
    return nof_tool_leave(rc);
}

NOF_MPI(T_enum_get_info)
int PMPI_T_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len)
{
    char choice[32];
    enum nof_feature feature;
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && !nof_tool_enum_feature(enumtype, &feature))
        rc = MPI_T_ERR_INVALID_HANDLE;
    if (rc == MPI_SUCCESS) {
        int count = 0;
        while (nof_nic_control_choice(feature, count, choice, sizeof(choice)))
            count++;
        if (num != NULL)
            *num = count;
        nof_tool_text(nof_tool_cvar(NOF_TOOL_SETTINGS + (int)feature).name, name, name_len);
    }
    return nof_tool_leave(rc);
}

NOF_MPI(T_enum_get_item)
int PMPI_T_enum_get_item(MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len)
{
    char choice[32];
    enum nof_feature feature;
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && !nof_tool_enum_feature(enumtype, &feature))
        rc = MPI_T_ERR_INVALID_HANDLE;
    if (rc == MPI_SUCCESS && (indx < 0 || !nof_nic_control_choice(feature, indx, choice, sizeof(choice))))
        rc = MPI_T_ERR_INVALID_INDEX;
    if (rc == MPI_SUCCESS) {
        if (value != NULL)
            *value = indx;
        nof_tool_text(choice, name, name_len);
    }
    return nof_tool_leave(rc);
}
