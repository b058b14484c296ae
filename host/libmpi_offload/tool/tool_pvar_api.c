/* SPDX-License-Identifier: BSD-3-Clause */
/* Performance variables: all are continuous and can only be read. */
#include <stdlib.h>
#include <string.h>

#include "comm/entry.h"
#include "tool/tool.h"

struct pvar_session {
    struct pvar_handle *first;
};

struct pvar_handle {
    struct pvar_session *session;
    struct pvar_handle *next; /* of the session */
    uint64_t bits;
    int index;
};

static int session_of(MPI_T_pvar_session handle, struct pvar_session **session_out)
{
    *session_out = nof_handle_get(&nof_lib.tool_sessions, nof_lib_bits(handle));
    return *session_out == NULL ? MPI_T_ERR_INVALID_SESSION : MPI_SUCCESS;
}

static int handle_of(MPI_T_pvar_session session, MPI_T_pvar_handle handle, struct pvar_handle **handle_out)
{
    struct pvar_session *s;
    int rc = session_of(session, &s);
    *handle_out = rc == MPI_SUCCESS ? nof_handle_get(&nof_lib.tool_handles, nof_lib_bits(handle)) : NULL;
    if (rc == MPI_SUCCESS && (*handle_out == NULL || (*handle_out)->session != s))
        rc = MPI_T_ERR_INVALID_HANDLE;
    return rc;
}

NOF_MPI(T_pvar_get_num)
int PMPI_T_pvar_get_num(int *num_pvar)
{
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && num_pvar == NULL)
        rc = MPI_T_ERR_INVALID;
    if (rc == MPI_SUCCESS)
        *num_pvar = NOF_TOOL_PVARS;
    return nof_tool_leave(rc);
}

static void set_unless_null(int *out, int value)
{
    if (out != NULL)
        *out = value;
}

NOF_MPI(T_pvar_get_info)
int PMPI_T_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class,
                         MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind,
                         int *readonly, int *continuous, int *atomic)
{
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && (pvar_index < 0 || pvar_index >= NOF_TOOL_PVARS))
        rc = MPI_T_ERR_INVALID_INDEX;
    if (rc == MPI_SUCCESS) {
        struct nof_tool_var var = nof_tool_pvar(pvar_index);
        nof_tool_text(var.name, name, name_len);
        nof_tool_text(var.help, desc, desc_len);
        if (datatype != NULL)
            *datatype = var.type;
        if (enumtype != NULL)
            *enumtype = var.choices;
        set_unless_null(verbosity, MPI_T_VERBOSITY_USER_BASIC);
        set_unless_null(var_class, var.var_class);
        set_unless_null(bind, MPI_T_BIND_NO_OBJECT);
        set_unless_null(readonly, 1);
        set_unless_null(continuous, 1);
        set_unless_null(atomic, 0);
    }
    return nof_tool_leave(rc);
}

NOF_MPI(T_pvar_get_index)
int PMPI_T_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && (name == NULL || pvar_index == NULL))
        rc = MPI_T_ERR_INVALID;
    int at = 0;
    while (rc == MPI_SUCCESS && at < NOF_TOOL_PVARS &&
           (strcmp(nof_tool_pvar(at).name, name) != 0 || nof_tool_pvar(at).var_class != var_class))
        at++;
    if (rc == MPI_SUCCESS && at == NOF_TOOL_PVARS)
        rc = MPI_T_ERR_INVALID_NAME;
    if (rc == MPI_SUCCESS)
        *pvar_index = at;
    return nof_tool_leave(rc);
}

/* Give a new object of calloc() its handle; NULL and no room give the same code. */
static int publish(struct nof_handle_table *table, void *object, int full, uint64_t *handle_out)
{
    if (object == NULL)
        return MPI_T_ERR_MEMORY;
    *handle_out = nof_handle_add(table, object);
    if (*handle_out != 0)
        return MPI_SUCCESS;
    free(object);
    return full;
}

NOF_MPI(T_pvar_session_create)
int PMPI_T_pvar_session_create(MPI_T_pvar_session *session)
{
    uint64_t handle = 0;
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && session == NULL)
        rc = MPI_T_ERR_INVALID;
    if (rc == MPI_SUCCESS)
        rc = publish(&nof_lib.tool_sessions, calloc(1, sizeof(struct pvar_session)),
                     MPI_T_ERR_OUT_OF_SESSIONS, &handle);
    if (rc == MPI_SUCCESS)
        *session = nof_lib_handle(handle);
    return nof_tool_leave(rc);
}

static void free_handle(struct pvar_handle *h)
{
    struct pvar_handle **at = &h->session->first;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    nof_handle_remove(&nof_lib.tool_handles, h->bits);
    free(h);
}

NOF_MPI(T_pvar_session_free)
int PMPI_T_pvar_session_free(MPI_T_pvar_session *session)
{
    struct pvar_session *s;
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS)
        rc = session == NULL ? MPI_T_ERR_INVALID_SESSION : session_of(*session, &s);
    if (rc == MPI_SUCCESS) {
        while (s->first != NULL) /* no call needs them to be freed before */
            free_handle(s->first);
        nof_handle_remove(&nof_lib.tool_sessions, nof_lib_bits(*session));
        free(s);
        *session = MPI_T_PVAR_SESSION_NULL;
    }
    return nof_tool_leave(rc);
}

NOF_MPI(T_pvar_handle_alloc)
int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                             MPI_T_pvar_handle *handle, int *count)
{
    (void)obj_handle; /* all are bound to no object */
    uint64_t bits = 0;
    struct pvar_session *s;
    struct pvar_handle *h = NULL;
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS)
        rc = session_of(session, &s);
    if (rc == MPI_SUCCESS && (handle == NULL || count == NULL))
        rc = MPI_T_ERR_INVALID;
    if (rc == MPI_SUCCESS && (pvar_index < 0 || pvar_index >= NOF_TOOL_PVARS))
        rc = MPI_T_ERR_INVALID_INDEX;
    if (rc == MPI_SUCCESS) {
        h = calloc(1, sizeof(*h));
        rc = publish(&nof_lib.tool_handles, h, MPI_T_ERR_OUT_OF_HANDLES, &bits);
    }
    if (rc == MPI_SUCCESS) {
        *h = (struct pvar_handle){s, s->first, bits, pvar_index};
        s->first = h;
        *handle = nof_lib_handle(bits);
        *count = 1;
    }
    return nof_tool_leave(rc);
}

NOF_MPI(T_pvar_handle_free)
int PMPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    struct pvar_handle *h;
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS)
        rc = handle == NULL ? MPI_T_ERR_INVALID_HANDLE : handle_of(session, *handle, &h);
    if (rc == MPI_SUCCESS) {
        free_handle(h);
        *handle = MPI_T_PVAR_HANDLE_NULL;
    }
    return nof_tool_leave(rc);
}

/* For what a variable that is continuous and can only be read refuses with `refusal`. With all handles of a session
 * there is nothing to do, and that is no error. */
static int refuse(MPI_T_pvar_session session, MPI_T_pvar_handle handle, bool all_allowed, int refusal)
{
    struct pvar_session *s;
    struct pvar_handle *h;
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && all_allowed && handle == MPI_T_PVAR_ALL_HANDLES)
        rc = session_of(session, &s);
    else if (rc == MPI_SUCCESS && (rc = handle_of(session, handle, &h)) == MPI_SUCCESS)
        rc = refusal;
    return nof_tool_leave(rc);
}

NOF_MPI(T_pvar_start)
int PMPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return refuse(session, handle, true, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

NOF_MPI(T_pvar_stop)
int PMPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return refuse(session, handle, true, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

NOF_MPI(T_pvar_read)
int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    struct pvar_handle *h;
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS)
        rc = handle_of(session, handle, &h);
    if (rc == MPI_SUCCESS && buf == NULL)
        rc = MPI_T_ERR_INVALID;
    if (rc == MPI_SUCCESS)
        nof_tool_pvar_read(h->index, buf);
    return nof_tool_leave(rc);
}

NOF_MPI(T_pvar_write)
int PMPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    (void)buf;
    return refuse(session, handle, false, MPI_T_ERR_PVAR_NO_WRITE);
}

NOF_MPI(T_pvar_reset)
int PMPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return refuse(session, handle, true, MPI_T_ERR_PVAR_NO_WRITE);
}

NOF_MPI(T_pvar_readreset)
int PMPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    (void)buf;
    return refuse(session, handle, false, MPI_T_ERR_PVAR_NO_ATOMIC);
}
