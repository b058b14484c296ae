/* SPDX-License-Identifier: BSD-3-Clause */
/* Generalized requests end in every wait and test call, also among others; query gives the status, free runs once,
 * their codes are the call's; asking for a status ends nothing. */
#include <pthread.h>
#include <time.h>

#include "mpitest.h"

static int queries, frees, cancels, answer, free_answer;

static int query(void *extra, MPI_Status *status)
{
    queries++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
    MPI_Status_set_cancelled(status, cancels > 0);
    status->MPI_SOURCE = 5;
    status->MPI_TAG = 6;
    return answer;
}

static int release(void *extra)
{
    CHECK(extra != NULL);
    frees++;
    return free_answer;
}

static int cancel(void *extra, int complete)
{
    CHECK(extra != NULL && !complete);
    cancels++;
    return MPI_SUCCESS;
}

static MPI_Request start(int *count)
{
    MPI_Request request;
    queries = frees = cancels = 0;
    OK(MPI_Grequest_start(query, release, cancel, count, &request));
    return request;
}

static void one_by_one(void)
{
    int flag, n, three = 3;
    MPI_Status status;
    MPI_Request request = start(&three);
    OK(MPI_Test(&request, &flag, &status));
    CHECK(!flag && queries == 0);
    OK(MPI_Request_get_status(request, &flag, &status));
    CHECK(!flag);
    OK(MPI_Grequest_complete(request));
    OK(MPI_Request_get_status(request, &flag, &status));
    CHECK(flag && queries == 1 && frees == 0 && request != MPI_REQUEST_NULL && status.MPI_SOURCE == 5);
    OK(MPI_Wait(&request, &status));
    OK(MPI_Get_count(&status, MPI_INT, &n));
    CHECK(n == 3 && status.MPI_TAG == 6 && queries == 2 && frees == 1 && request == MPI_REQUEST_NULL);

    request = start(&three);
    OK(MPI_Cancel(&request));
    CHECK(cancels == 1);
    OK(MPI_Grequest_complete(request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);

    request = start(&three); /* freed first, completed later */
    MPI_Request kept = request;
    OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL && frees == 0);
    OK(MPI_Grequest_complete(kept));
    CHECK(frees == 1);
    FAILS(MPI_Wait(&kept, &status), MPI_ERR_REQUEST);

    request = start(&three);
    OK(MPI_Grequest_complete(request));
    answer = MPI_ERR_ACCESS;
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    CHECK(frees == 1 && request == MPI_REQUEST_NULL);
    answer = MPI_SUCCESS;
    request = start(&three);
    OK(MPI_Grequest_complete(request));
    free_answer = MPI_ERR_QUOTA;
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_QUOTA);
    free_answer = MPI_SUCCESS;
}

static void among_others(void)
{
    int v = 7, w = 0, three = 3, at, flag, n, indices[3];
    MPI_Request r[3];
    MPI_Status s[3];
    r[0] = MPI_REQUEST_NULL;
    r[1] = start(&three);
    OK(MPI_Irecv(&w, 1, MPI_INT, t_rank, 0, MPI_COMM_WORLD, &r[2]));
    OK(MPI_Testall(3, r, &flag, s));
    CHECK(!flag);
    OK(MPI_Request_get_status_any(3, r, &at, &flag, s));
    CHECK(!flag && at == MPI_UNDEFINED);
    OK(MPI_Grequest_complete(r[1]));
    OK(MPI_Request_get_status_any(3, r, &at, &flag, s));
    CHECK(flag && at == 1 && s[0].MPI_SOURCE == 5);
    OK(MPI_Request_get_status_some(3, r, &n, indices, s));
    CHECK(n == 1 && indices[0] == 1 && frees == 0);
    OK(MPI_Request_get_status_all(3, r, &flag, s));
    CHECK(!flag);
    OK(MPI_Waitany(3, r, &at, s));
    CHECK(at == 1 && r[1] == MPI_REQUEST_NULL && frees == 1);
    r[1] = start(&three);
    OK(MPI_Grequest_complete(r[1]));
    OK(MPI_Send(&v, 1, MPI_INT, t_rank, 0, MPI_COMM_WORLD));
    do
        OK(MPI_Request_get_status_all(3, r, &flag, s));
    while (!flag);
    CHECK(r[1] != MPI_REQUEST_NULL && r[2] != MPI_REQUEST_NULL && s[1].MPI_TAG == 6 &&
          s[2].MPI_SOURCE == t_rank);
    OK(MPI_Waitall(3, r, s));
    CHECK(frees == 1 && w == 7 && s[1].MPI_SOURCE == 5 && s[2].MPI_TAG == 0);
}

static void *complete_later(void *request)
{
    const struct timespec later = {.tv_nsec = 20 * 1000 * 1000};
    nanosleep(&later, NULL);
    OK(MPI_Grequest_complete(*(MPI_Request *)request));
    return NULL;
}

/* The one that waits sleeps by then: it is woken. */
static void by_another_thread(void)
{
    int three = 3;
    pthread_t thread;
    MPI_Request request = start(&three), kept = request;
    CHECK(pthread_create(&thread, NULL, complete_later, &kept) == 0);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(frees == 1);
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv)
{
    int provided;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &t_rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &t_size));
    t_errors_return();
    one_by_one();
    among_others();
    by_another_thread();
    return t_end();
}
