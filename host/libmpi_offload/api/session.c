/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions (MPI 4.1, 11.3): another way into the same library, and the process sets from which groups are made. */
#include "comm/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "comm/entry.h"
#include "base/error.h"
#include "comm/group.h"
#include "p2p/bsend.h"
#include "base/info.h"

static const struct {
    const char *name;
    int level;
} levels[] = {
    {"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
    {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
    {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
    {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE},
};

/* Names of process sets are URIs: upper and lower case are the same. */
static const char *const psets[] = {"mpi://WORLD", "mpi://SELF"};
enum { PSETS = (int)(sizeof(psets) / sizeof(psets[0])), WORLD = 0, SELF = 1 };

static int level_of(const struct nof_info *info, int *level_out)
{
    const char *value = nof_info_get(info, "thread_level");
    *level_out = MPI_THREAD_SINGLE;
    for (size_t i = 0; value != NULL && i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (strcmp(levels[i].name, value) == 0) {
            *level_out = levels[i].level;
            return MPI_SUCCESS;
        }
    }
    return value == NULL
               ? MPI_SUCCESS
               : nof_error(MPI_ERR_INFO_VALUE,
                           "thread_level is \"%s\": must be MPI_THREAD_SINGLE, _FUNNELED, _SERIALIZED or "
                           "_MULTIPLE",
                           value);
}

int nof_session_check(MPI_Session handle, struct nof_session **session_out)
{
    *session_out = nof_handle_get(&nof_lib.sessions, nof_lib_bits(handle));
    if (*session_out == NULL)
        return nof_error(MPI_ERR_SESSION, "%s",
                         handle == MPI_SESSION_NULL ? "the session is MPI_SESSION_NULL"
                                                    : "the handle names no session (finalized?)");
    return MPI_SUCCESS;
}

int nof_session_leave(const struct nof_session *session, int rc, const char *func)
{
    if (session == NULL || rc == MPI_SUCCESS)
        return nof_lib_leave(NULL, rc, func);
    struct nof_error_object object = {session->handle, session->errhandler};
    return nof_lib_leave_at(&object, rc, func);
}

static int make(struct nof_errhandler *handler, MPI_Session *handle_out)
{
    struct nof_session *session = calloc(1, sizeof(*session));
    uint64_t handle = session == NULL ? 0 : nof_handle_add(&nof_lib.sessions, session);
    if (handle == 0) {
        free(session);
        return nof_error(MPI_ERR_NO_MEM, "no memory for a session");
    }
    session->handle = *handle_out = nof_lib_handle(handle);
    session->errhandler = handler;
    nof_errhandler_hold(handler);
    if (nof_lib.open_sessions++ == 0 && nof_lib.world != NOF_WORLD_ACTIVE) {
        struct nof_error_object object = {session->handle, handler};
        nof_error_set_session(&object);
    }
    return MPI_SUCCESS;
}

NOF_MPI(Session_init)
int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    /* The mutex itself: nof_lib_lock() depends on what is about to change. */
    pthread_mutex_lock(&nof_lib.lock);
    struct nof_info *wishes;
    struct nof_errhandler *handler = NULL;
    int level, rc = nof_errhandler_check(errhandler, NOF_ERRHANDLER_SESSION, &handler);
    if (rc == MPI_SUCCESS)
        rc = nof_info_check_optional(info, &wishes);
    if (rc == MPI_SUCCESS && session == NULL)
        rc = nof_error(MPI_ERR_ARG, "the place for the handle is NULL");
    if (rc == MPI_SUCCESS)
        rc = level_of(wishes, &level);
    if (rc == MPI_SUCCESS) {
        nof_lib_begin(level, "MPI_Session_init");
        rc = make(handler, session);
        nof_lib_end(); /* if there is no session after all */
    }
    pthread_mutex_unlock(&nof_lib.lock);
    if (rc == MPI_SUCCESS || handler == NULL)
        return rc == MPI_SUCCESS ? rc : nof_error_raise(NULL, rc, "MPI_Session_init");
    struct nof_error_object object = {MPI_SESSION_NULL, handler};
    return nof_error_raise_at(&object, rc, "MPI_Session_init");
}

NOF_MPI(Session_finalize)
int PMPI_Session_finalize(MPI_Session *session)
{
    nof_lib_enter(__func__);
    struct nof_session *s = NULL;
    int rc = session == NULL ? nof_error(MPI_ERR_ARG, "the place of the handle is NULL")
                             : nof_session_check(*session, &s);
    if (rc != MPI_SUCCESS)
        return nof_session_leave(NULL, rc, __func__);
    bool locked = nof_lib.locking;
    nof_bsend_wait(&s->bsend);
    nof_handle_remove(&nof_lib.sessions, nof_lib_bits(*session));
    nof_errhandler_release(s->errhandler);
    free(s);
    *session = MPI_SESSION_NULL;
    if (--nof_lib.open_sessions == 0) {
        nof_error_set_session(NULL);
        nof_lib_end();
    }
    if (locked)
        pthread_mutex_unlock(&nof_lib.lock);
    return MPI_SUCCESS;
}

NOF_MPI(Session_get_num_psets)
int PMPI_Session_get_num_psets(MPI_Session session, MPI_Info info, int *npset_names)
{
    nof_lib_enter(__func__);
    (void)info;
    struct nof_session *s;
    int rc = nof_session_check(session, &s);
    if (rc == MPI_SUCCESS && npset_names == NULL)
        rc = nof_error(MPI_ERR_ARG, "the place for the number is NULL");
    if (rc == MPI_SUCCESS)
        *npset_names = PSETS;
    return nof_session_leave(s, rc, __func__);
}

NOF_MPI(Session_get_nth_pset)
int PMPI_Session_get_nth_pset(MPI_Session session, MPI_Info info, int n, int *pset_len, char *pset_name)
{
    nof_lib_enter(__func__);
    (void)info;
    struct nof_session *s;
    int rc = nof_session_check(session, &s);
    if (rc == MPI_SUCCESS && (n < 0 || n >= PSETS))
        rc = nof_error(MPI_ERR_ARG, "process set %d of %d is asked for", n, PSETS);
    if (rc == MPI_SUCCESS && (pset_len == NULL || *pset_len < 0 || (*pset_len > 0 && pset_name == NULL)))
        rc = nof_error(MPI_ERR_ARG, "the length is NULL or negative, or the place for the name is NULL");
    if (rc == MPI_SUCCESS) {
        if (*pset_len > 0)
            snprintf(pset_name, (size_t)*pset_len, "%s", psets[n]);
        *pset_len = (int)strlen(psets[n]) + 1;
    }
    return nof_session_leave(s, rc, __func__);
}

NOF_MPI(Session_get_info)
int PMPI_Session_get_info(MPI_Session session, MPI_Info *info_used)
{
    nof_lib_enter(__func__);
    struct nof_session *s;
    struct nof_info *info;
    int rc = nof_session_check(session, &s);
    if (rc == MPI_SUCCESS && info_used == NULL)
        rc = nof_error(MPI_ERR_ARG, "the place for the handle is NULL");
    if (rc == MPI_SUCCESS)
        rc = nof_info_new(info_used, &info);
    for (size_t i = 0; rc == MPI_SUCCESS && i < sizeof(levels) / sizeof(levels[0]); i++)
        if (levels[i].level == nof_lib.thread_level)
            rc = nof_info_set(info, "thread_level", levels[i].name);
    if (rc == MPI_SUCCESS)
        rc = nof_info_set(info, "mpi_memory_alloc_kinds", "mpi,system");
    return nof_session_leave(s, rc, __func__);
}

static int find_pset(const char *name, int *pset_out)
{
    for (int i = 0; name != NULL && i < PSETS; i++) {
        if (strcasecmp(name, psets[i]) == 0) {
            *pset_out = i;
            return MPI_SUCCESS;
        }
    }
    return nof_error(MPI_ERR_ARG, "there is no process set \"%s\": %s and %s are known",
                     name == NULL ? "(NULL)" : name, psets[WORLD], psets[SELF]);
}

NOF_MPI(Session_get_pset_info)
int PMPI_Session_get_pset_info(MPI_Session session, const char *pset_name, MPI_Info *info)
{
    nof_lib_enter(__func__);
    char size[16];
    struct nof_session *s;
    struct nof_info *made;
    int pset = WORLD, rc = nof_session_check(session, &s);
    if (rc == MPI_SUCCESS)
        rc = find_pset(pset_name, &pset);
    if (rc == MPI_SUCCESS && info == NULL)
        rc = nof_error(MPI_ERR_ARG, "the place for the handle is NULL");
    if (rc == MPI_SUCCESS)
        rc = nof_info_new(info, &made);
    if (rc == MPI_SUCCESS) {
        snprintf(size, sizeof(size), "%d", pset == SELF ? 1 : nof_lib.world_size);
        rc = nof_info_set(made, "mpi_size", size);
    }
    return nof_session_leave(s, rc, __func__);
}

NOF_MPI(Group_from_session_pset)
int PMPI_Group_from_session_pset(MPI_Session session, const char *pset_name, MPI_Group *newgroup)
{
    nof_lib_enter(__func__);
    struct nof_session *s;
    int pset = WORLD, rc = nof_session_check(session, &s);
    if (rc == MPI_SUCCESS)
        rc = find_pset(pset_name, &pset);
    if (rc == MPI_SUCCESS && newgroup == NULL)
        rc = nof_error(MPI_ERR_ARG, "the place for the handle is NULL");
    if (rc == MPI_SUCCESS) {
        int *me = pset == SELF ? malloc(sizeof(*me)) : NULL;
        if (me != NULL)
            *me = nof_lib.world_rank;
        struct nof_group *group =
            pset == SELF && me == NULL ? NULL : nof_group_new(pset == SELF ? 1 : nof_lib.world_size, me);
        if (group == NULL) {
            rc = nof_error(MPI_ERR_NO_MEM, "no memory for a group");
        } else {
            group->session = s->handle;
            rc = nof_group_publish(group, newgroup);
            nof_group_release(group);
        }
    }
    return nof_session_leave(s, rc, __func__);
}

NOF_MPI(Session_set_errhandler)
int PMPI_Session_set_errhandler(MPI_Session session, MPI_Errhandler errhandler)
{
    nof_lib_enter(__func__);
    struct nof_session *s;
    struct nof_errhandler *handler;
    int rc = nof_session_check(session, &s);
    if (rc == MPI_SUCCESS)
        rc = nof_errhandler_check(errhandler, NOF_ERRHANDLER_SESSION, &handler);
    if (rc == MPI_SUCCESS) {
        nof_errhandler_hold(handler);
        nof_errhandler_release(s->errhandler);
        s->errhandler = handler;
        if (nof_lib.world != NOF_WORLD_ACTIVE) {
            struct nof_error_object object = {s->handle, handler};
            nof_error_set_session(&object);
        }
    }
    return nof_session_leave(s, rc, __func__);
}

NOF_MPI(Session_get_errhandler)
int PMPI_Session_get_errhandler(MPI_Session session, MPI_Errhandler *errhandler)
{
    nof_lib_enter(__func__);
    struct nof_session *s;
    int rc = nof_session_check(session, &s);
    if (rc == MPI_SUCCESS && errhandler == NULL)
        rc = nof_error(MPI_ERR_ARG, "the place for the handle is NULL");
    if (rc == MPI_SUCCESS)
        rc = nof_errhandler_handle(s->errhandler, errhandler);
    return nof_session_leave(s, rc, __func__);
}

NOF_MPI(Session_call_errhandler)
int PMPI_Session_call_errhandler(MPI_Session session, int errorcode)
{
    nof_lib_enter(__func__);
    struct nof_session *s;
    int rc = nof_session_check(session, &s);
    if (rc != MPI_SUCCESS)
        return nof_session_leave(NULL, rc, __func__);
    (void)nof_session_leave(s, errorcode, __func__);
    return MPI_SUCCESS;
}
