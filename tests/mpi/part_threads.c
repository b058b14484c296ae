/* SPDX-License-Identifier: BSD-3-Clause */
/* 8 threads declare the partitions of one message ready, which share units of the board with their neighbours, or have some each: every
 * byte comes, once, what was ready cannot be so again, and no thread takes a lock: mutexes, also those of the library, are locked
 * through the function below. */
#include "mpitest.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 8, PARTS = 510, MOST = 1024, ROUNDS = 30 };

static unsigned char out[PARTS * MOST], in[PARTS * MOST];
static size_t each;
static MPI_Request req;
static int round_number;
static atomic_uint locks, arrived, won[PARTS];
static __thread int in_pready;

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static int (*_Atomic next)(pthread_mutex_t *);
    int (*lock)(pthread_mutex_t *) = atomic_load(&next);
    if (lock == NULL) {
        void *found = dlsym(RTLD_NEXT, "pthread_mutex_lock");
        memcpy(&lock, &found, sizeof(lock));
        atomic_store(&next, lock);
    }
    if (in_pready)
        locks++;
    return lock(mutex);
}

/* Partitions lie between those of the other threads, and end inside units. */
static void *declare(void *arg)
{
    const int *number = arg;
    for (int part = *number; part < PARTS; part += THREADS) {
        for (size_t i = (size_t)part * each; i < ((size_t)part + 1) * each; i++)
            out[i] = t_byte((uint64_t)round_number, i);
        in_pready = 1;
        OK(MPI_Pready(part, req));
        in_pready = 0;
    }
    return NULL;
}

static void send_round(void)
{
    pthread_t thread[THREADS];
    int number[THREADS];
    for (int k = 0; k < THREADS; k++) {
        number[k] = k;
        CHECK(pthread_create(&thread[k], NULL, declare, &number[k]) == 0);
    }
    for (int k = 0; k < THREADS; k++)
        CHECK(pthread_join(thread[k], NULL) == 0);
}

static void again(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    OK(MPI_Start(&req));
    for (int part = 0; t_rank == 0 && part < PARTS; part++) {
        OK(MPI_Pready(part, req));
        FAILS(MPI_Pready(part, req), MPI_ERR_ARG);
        FAILS(MPI_Pready(PARTS, req), MPI_ERR_ARG);
    }
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    CHECK(t_rank == 0 || t_verify(in, PARTS * each, ROUNDS - 1));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Two threads declare the same partitions, each at the same time as the other. */
static void *declare_too(void *arg)
{
    (void)arg;
    for (unsigned part = 0; part < PARTS; part++) {
        arrived++;
        while (arrived < 2 * (part + 1))
            sched_yield();
        won[part] += MPI_Pready((int)part, req) == MPI_SUCCESS;
    }
    return NULL;
}

/* One of the two is told that it was late, and the message ends when all partitions are ready. */
static void at_once(void)
{
    pthread_t thread[2];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    OK(MPI_Start(&req));
    arrived = 0;
    for (int k = 0; t_rank == 0 && k < 2; k++)
        CHECK(pthread_create(&thread[k], NULL, declare_too, NULL) == 0);
    for (int k = 0; t_rank == 0 && k < 2; k++)
        CHECK(pthread_join(thread[k], NULL) == 0);
    for (int part = 0; t_rank == 0 && part < PARTS; part++)
        CHECK(atomic_exchange(&won[part], 0) == 1);
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void partitions_of(size_t bytes)
{
    each = bytes;
    if (t_rank == 0)
        OK(MPI_Psend_init(out, PARTS, (MPI_Count)each, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &req));
    else
        OK(MPI_Precv_init(in, 1, (MPI_Count)(PARTS * each), MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &req));
    for (round_number = 0; round_number < ROUNDS; round_number++) {
        memset(out, 0, sizeof(out));
        memset(in, 0, sizeof(in));
        OK(MPI_Start(&req));
        if (t_rank == 0)
            send_round();
        OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
        CHECK(t_rank == 0 || t_verify(in, PARTS * each, (uint64_t)round_number));
    }
    CHECK(locks == 0);
    again();
    for (int k = 0; k < ROUNDS; k++)
        at_once();
    locks = 0;
    OK(MPI_Start(&req));
    in_pready = 1;
    if (t_rank == 0)
        OK(MPI_Pready_range(0, PARTS - 1, req)); /* which does: they are counted */
    in_pready = 0;
    CHECK((locks > 0) == (t_rank == 0));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&req));
    locks = 0;
}

int main(int argc, char **argv)
{
    int provided;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &t_rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &t_size));
    CHECK(t_size == 2);
    partitions_of(1000);
    partitions_of(1024);
    return t_end();
}
