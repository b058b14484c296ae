/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_THREAD_MULTIPLE: a thread that blocks in MPI holds up no other one. One thread waits in a
 * receive that only another thread's send can release; then many threads talk, collectively too, and commit
 * types at once. */
#include "mpitest.h"

#include <pthread.h>

enum { THREADS = 4, MESSAGES = 300 };

static void *blocked(void *arg)
{
    int *value = arg;
    OK(MPI_Recv(value, 1, MPI_INT, t_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return NULL;
}

static void *probing(void *arg)
{
    int *value = arg;
    MPI_Status status;
    MPI_Message message;
    OK(MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &message, &status));
    OK(MPI_Mrecv(value, 1, MPI_INT, &message, &status));
    return NULL;
}

static void released(void)
{
    pthread_t a, b;
    int got_a = 0, got_b = 0, value = 42;
    CHECK(pthread_create(&a, NULL, blocked, &got_a) == 0);
    CHECK(pthread_create(&b, NULL, probing, &got_b) == 0);
    /* Both are most likely asleep by now; whether they are does not matter for the result. */
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Send(&value, 1, MPI_INT, t_rank, 1, MPI_COMM_WORLD));
    OK(MPI_Ssend(&value, 1, MPI_INT, t_rank, 2, MPI_COMM_WORLD));
    CHECK(pthread_join(a, NULL) == 0 && pthread_join(b, NULL) == 0);
    CHECK(got_a == 42 && got_b == 42);
}

/* Thread i talks to thread i of the neighbours under tag 10 + i, half of it large. */
static void *talk(void *arg)
{
    int tag = 10 + *(int *)arg, right = (t_rank + 1) % t_size, left = (t_rank + t_size - 1) % t_size;
    char *out = malloc(100000), *in = malloc(100000);
    for (int i = 0; i < MESSAGES; i++) {
        int len = i % 16 == 0 ? 100000 : i % 3000;
        MPI_Request reqs[2];
        t_fill(out, (size_t)len, (uint64_t)(t_rank * 1000 + i));
        OK(MPI_Irecv(in, 100000, MPI_BYTE, left, tag, MPI_COMM_WORLD, &reqs[0]));
        OK(MPI_Isend(out, len, MPI_BYTE, right, tag, MPI_COMM_WORLD, &reqs[1]));
        OK(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
        CHECK(t_verify(in, (size_t)len, (uint64_t)(left * 1000 + i)));
    }
    free(out);
    free(in);
    return NULL;
}

/* Collectives on a communicator of one's own, from all threads at once. */
static void *collective(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *)arg;
    for (int i = 0; i < 50; i++) {
        int one = i, sum = 0;
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(sum == i * t_size);
    }
    return NULL;
}

/* Types are committed, used for messages large enough to be streamed, and freed by all threads at once. */
static void *committing(void *arg)
{
    enum { BLOCKS = 40, BLOCK = 2000, STRIDE = 2500 };
    int tag = 50 + *(int *)arg, right = (t_rank + 1) % t_size, left = (t_rank + t_size - 1) % t_size;
    size_t room = BLOCKS * (STRIDE + THREADS);
    int stride = STRIDE + *(int *)arg;
    char *out = malloc(room), *in = malloc(room);
    CHECK(out != NULL && in != NULL);
    for (int i = 0; i < 20; i++) {
        MPI_Datatype t;
        OK(MPI_Type_vector(BLOCKS, BLOCK, stride, MPI_BYTE, &t));
        OK(MPI_Type_commit(&t));
        memset(out, t_rank + i, room);
        memset(in, -1, room);
        OK(MPI_Sendrecv(out, 1, t, right, tag, in, 1, t, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int k = 0; k < BLOCKS; k++)
            CHECK(in[k * stride] == left + i && in[k * stride + BLOCK - 1] == left + i &&
                  in[k * stride + BLOCK] == -1);
        OK(MPI_Type_free(&t));
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &t_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t_size);
    if (provided < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "skipped: no MPI_THREAD_MULTIPLE\n");
        MPI_Finalize();
        return 77;
    }
    released();
    pthread_t threads[3 * THREADS];
    int numbers[THREADS];
    MPI_Comm comms[THREADS];
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, talk, &numbers[i]) == 0);
        CHECK(pthread_create(&threads[THREADS + i], NULL, collective, &comms[i]) == 0);
        CHECK(pthread_create(&threads[2 * THREADS + i], NULL, committing, &numbers[i]) == 0);
    }
    for (int i = 0; i < 3 * THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Comm_free(&comms[i]));
    return t_end();
}
