/* SPDX-License-Identifier: BSD-3-Clause */
/* The error handler that a call is given is the one that hears of that call's own errors: MPI_Comm_create_from_group,
 * MPI_Intercomm_create_from_groups, MPI_Session_init, which also refuses a thread level that is none. */
#include "mpitest.h"

static int calls, last_class, null_handles;

static void of_comm(MPI_Comm *comm, int *code, ...)
{
    calls++;
    last_class = t_class(*code);
    null_handles += *comm == MPI_COMM_NULL;
}

static void of_session(MPI_Session *session, int *code, ...)
{
    calls++;
    last_class = t_class(*code);
    null_handles += *session == MPI_SESSION_NULL;
}

/* Nothing here is an error of a file. */
static void of_file(MPI_File *file, int *code, ...)
{
    (void)file;
    CHECK(code == NULL);
}

static void sessions(MPI_Session *session)
{
    MPI_Errhandler own;
    MPI_Info info;
    OK(MPI_Session_create_errhandler(of_session, &own));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_WHATEVER"));
    calls = null_handles = 0;
    FAILS(MPI_Session_init(info, own, session), MPI_ERR_INFO_VALUE);
    CHECK(calls == 1 && null_handles == 1 && last_class == MPI_ERR_INFO_VALUE);
    OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_FUNNELED"));
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, session));
    CHECK(calls == 1);
    OK(MPI_Errhandler_free(&own));
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Errhandler own, wrong;
    sessions(&session);
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_errhandler(of_comm, &own));
    OK(MPI_File_create_errhandler(of_file, &wrong));
    calls = null_handles = 0;
    FAILS(MPI_Comm_create_from_group(group, "x", MPI_INFO_NULL, own, NULL), MPI_ERR_ARG);
    CHECK(calls == 1 && null_handles == 1 && last_class == MPI_ERR_ARG);
    FAILS(MPI_Comm_create_from_group(MPI_GROUP_NULL, "x", MPI_INFO_NULL, own, &comm), MPI_ERR_GROUP);
    CHECK(calls == 2 && null_handles == 2 && last_class == MPI_ERR_GROUP);
    FAILS(MPI_Intercomm_create_from_groups(group, -1, MPI_GROUP_NULL, 0, "x", MPI_INFO_NULL, own, &comm),
          MPI_ERR_RANK);
    CHECK(calls == 3 && null_handles == 3 && last_class == MPI_ERR_RANK);
    FAILS(MPI_Comm_create_from_group(group, "x", MPI_INFO_NULL, wrong, &comm), MPI_ERR_ERRHANDLER);
    CHECK(calls == 3);
    OK(MPI_Comm_create_from_group(group, "x", MPI_INFO_NULL, own, &comm));
    OK(MPI_Comm_rank(comm, &t_rank));
    FAILS(MPI_Send(NULL, 0, MPI_INT, -77, 0, comm), MPI_ERR_RANK);
    CHECK(calls == 4 && null_handles == 3);
    OK(MPI_Errhandler_free(&own));
    OK(MPI_Errhandler_free(&wrong));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Session_finalize(&session));
    t_begin(&argc, &argv, 1);
    return t_end();
}
