/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions without MPI_Init: process sets become groups, groups become communicators that work; sessions may come
 * again after the last one went, and MPI_Init beside them. */
#include "mpitest.h"

static int calls;

static void handler(MPI_Session *session, int *code, ...)
{
    CHECK(session != NULL && t_class(*code) == MPI_ERR_ARG);
    calls++;
}

static void sum_over(MPI_Session session, const char *pset, const char *tag)
{
    int rank, size, sum, flag;
    char value[16];
    MPI_Group group;
    MPI_Comm comm;
    MPI_Info info;
    OK(MPI_Group_from_session_pset(session, pset, &group));
    OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    OK(MPI_Session_get_pset_info(session, pset, &info));
    OK(MPI_Info_get(info, "mpi_size", 15, value, &flag));
    CHECK(flag && atoi(value) == size);
    OK(MPI_Info_free(&info));
    rank++;
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * (size + 1) / 2);
    OK(MPI_Comm_free(&comm));
}

/* A session's buffer serves the communicators that stem from it, in whatever way: of a group made from its process set's, ... */
static void group_of(MPI_Session session, int how, MPI_Group *group)
{
    MPI_Group whole;
    int first = 0, range[1][3] = {{0, 0, 1}};
    OK(MPI_Group_from_session_pset(session, "mpi://SELF", &whole));
    if (how == 0)
        *group = whole;
    else if (how == 1)
        OK(MPI_Group_incl(whole, 1, &first, group));
    else if (how == 2)
        OK(MPI_Group_range_incl(whole, 1, range, group));
    else
        OK(MPI_Group_union(MPI_GROUP_EMPTY, whole, group));
    if (how != 0)
        OK(MPI_Group_free(&whole));
}

/* ... or of a communicator's. */
static void by_its_group(MPI_Comm *comm)
{
    MPI_Comm parts;
    MPI_Group group;
    OK(MPI_Comm_split(*comm, 0, 0, &parts));
    OK(MPI_Comm_free(comm));
    OK(MPI_Comm_group(parts, &group));
    OK(MPI_Comm_free(&parts));
    OK(MPI_Comm_create_from_group(group, "by its group", MPI_INFO_NULL, MPI_ERRORS_RETURN, comm));
    OK(MPI_Group_free(&group));
}

/* What is of different sessions is not mixed. */
static void mixed(MPI_Session one)
{
    MPI_Session other;
    MPI_Group a, b, made;
    MPI_Comm comm, of_both = MPI_COMM_NULL;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other));
    group_of(one, 1, &a);
    group_of(other, 0, &b);
    FAILS(MPI_Group_union(a, b, &made), MPI_ERR_GROUP);
    FAILS(MPI_Group_intersection(b, a, &made), MPI_ERR_GROUP);
    OK(MPI_Group_difference(a, a, &made));
    OK(MPI_Comm_create_from_group(b, "not mixed", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    FAILS(MPI_Comm_create(comm, a, &of_both), MPI_ERR_GROUP);
    FAILS(MPI_Comm_create_group(comm, a, 0, &of_both), MPI_ERR_GROUP);
    OK(MPI_Comm_create_group(comm, b, 0, &of_both));
    OK(MPI_Comm_free(&of_both));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&a));
    OK(MPI_Group_free(&b));
    OK(MPI_Session_finalize(&other));
}

/* The world's group, out of which a session's communicator was made, is still of no session. */
static void of_none(MPI_Session one)
{
    MPI_Session other;
    MPI_Group world, whole, both;
    MPI_Comm comm, made;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_from_session_pset(one, "mpi://WORLD", &whole));
    OK(MPI_Comm_create_from_group(whole, "of none", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Comm_create_group(comm, world, 0, &made));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&whole));
    OK(MPI_Comm_group(made, &whole)); /* and that one's group is of the session */
    OK(MPI_Comm_free(&made));
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other));
    group_of(other, 0, &both);
    FAILS(MPI_Group_union(both, whole, &both), MPI_ERR_GROUP);
    OK(MPI_Group_free(&whole));
    OK(MPI_Group_from_session_pset(other, "mpi://WORLD", &whole));
    OK(MPI_Group_free(&both));
    OK(MPI_Group_union(world, whole, &both));
    OK(MPI_Group_free(&both));
    OK(MPI_Group_free(&whole));
    OK(MPI_Group_free(&world));
    OK(MPI_Session_finalize(&other));
}

static void buffered(MPI_Session session, int how)
{
    static char room[MPI_BSEND_OVERHEAD + 64];
    int rank, v = 5, w = 0, size;
    void *back;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Request request;
    group_of(session, how, &group);
    OK(MPI_Comm_create_from_group(group, "buffered", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Group_free(&group));
    if (how == 3)
        by_its_group(&comm);
    OK(MPI_Comm_rank(comm, &rank));
    FAILS(MPI_Bsend(&v, 1, MPI_INT, 0, 0, comm), MPI_ERR_BUFFER);
    OK(MPI_Session_attach_buffer(session, room, (int)sizeof(room)));
    OK(MPI_Bsend(&v, 1, MPI_INT, 0, 0, comm));
    OK(MPI_Recv(&w, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
    CHECK(w == 5);
    OK(MPI_Session_iflush_buffer(session, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Session_flush_buffer(session));
    OK(MPI_Session_detach_buffer(session, &back, &size));
    CHECK(back == room && size == (int)sizeof(room));
    OK(MPI_Comm_free(&comm));
}

static void one_session(const char *tag)
{
    int count, len = 0, initialized;
    char name[MPI_MAX_PSET_NAME_LEN];
    MPI_Session session;
    MPI_Errhandler own;
    MPI_Group group;
    OK(MPI_Session_create_errhandler(handler, &own));
    OK(MPI_Session_init(MPI_INFO_NULL, own, &session));
    OK(MPI_Errhandler_free(&own));
    OK(MPI_Initialized(&initialized));
    CHECK(!initialized);
    OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
    CHECK(count == 2);
    for (int i = 0; i < count; i++) {
        len = 0;
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, NULL));
        CHECK(len > 1 && len <= (int)sizeof(name));
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, name));
        CHECK((int)strlen(name) + 1 == len);
        sum_over(session, name, tag);
    }
    for (int how = 0; how < 4; how++)
        buffered(session, how);
    calls = 0;
    FAILS(MPI_Group_from_session_pset(session, "mpi://nowhere", &group), MPI_ERR_ARG);
    FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, count, &len, name), MPI_ERR_ARG);
    CHECK(calls == 2);
    OK(MPI_Session_finalize(&session));
    CHECK(session == MPI_SESSION_NULL);
}

int main(int argc, char **argv)
{
    int flag;
    MPI_Session session;
    one_session("first");
    one_session("second");
    if (argc > 1) /* never MPI_Init: the process leaves the job at its exit */
        return 0;
    t_begin(&argc, &argv, 1);
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    t_errors_return();
    mixed(session);
    of_none(session);
    sum_over(session, "mpi://world", "beside");
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Finalize());
    OK(MPI_Finalized(&flag));
    CHECK(flag);
    sum_over(session, "mpi://world", "after");
    OK(MPI_Session_finalize(&session));
    return 0;
}
