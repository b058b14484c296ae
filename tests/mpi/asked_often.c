/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ranks on one CPU that ask again and again (MPI_Iprobe, MPI_Test, MPI_Testany, MPI_Improbe) instead of waiting: who asks in vain
 * leaves the CPU to the other one, and does not ask until the kernel takes it away, which is some milliseconds a message. What is looked
 * at is the CPU time of the rank, whatever else runs on that CPU. With an argument, at MPI_THREAD_MULTIPLE. */
#include "mpitest.h"

#include <sched.h>
#include <time.h>

enum { ROUNDS = 200, TAG = 3 };
/* Of all rounds of one kind: some milliseconds, half a second where it keeps the CPU. */
#define CPU_MOST_S 0.1

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void by_iprobe(int *got, int from)
{
    int flag = 0;
    while (!flag)
        OK(MPI_Iprobe(from, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    OK(MPI_Recv(got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void by_improbe(int *got, int from)
{
    int flag = 0;
    MPI_Message message;
    while (!flag)
        OK(MPI_Improbe(from, TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
    OK(MPI_Mrecv(got, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
}

static void by_test(int *got, int from)
{
    int flag = 0;
    MPI_Request req;
    OK(MPI_Irecv(got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &req));
    while (!flag)
        OK(MPI_Test(&req, &flag, MPI_STATUS_IGNORE));
}

static void by_testany(int *got, int from)
{
    int flag = 0, index;
    MPI_Request req[2] = {MPI_REQUEST_NULL};
    OK(MPI_Irecv(got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &req[1]));
    while (!flag)
        OK(MPI_Testany(2, req, &index, &flag, MPI_STATUS_IGNORE));
}

static void rounds(const char *name, void (*receive)(int *got, int from))
{
    int other = 1 - t_rank, got = -1;
    double began_s = cpu_s();
    for (int i = 0; i < ROUNDS; i++) {
        if (t_rank == 0)
            OK(MPI_Send(&i, 1, MPI_INT, other, TAG, MPI_COMM_WORLD));
        receive(&got, other);
        CHECK(got == i);
        if (t_rank == 1)
            OK(MPI_Send(&i, 1, MPI_INT, other, TAG, MPI_COMM_WORLD));
    }
    double took_s = cpu_s() - began_s;
    if (getenv("T_VERBOSE") != NULL)
        printf("rank %d: %s: %.4f s of CPU\n", t_rank, name, took_s);
    if (took_s <= CPU_MOST_S)
        return;
    fprintf(stderr, "rank %d: %d rounds by %s took %.3f s of CPU\n", t_rank, ROUNDS, name, took_s);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    cpu_set_t all, one;
    size_t cpu = 0;
    CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
    int level;
    OK(MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &t_rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &t_size));
    CHECK(t_size == 2);
    rounds("MPI_Iprobe", by_iprobe);
    rounds("MPI_Improbe", by_improbe);
    rounds("MPI_Test", by_test);
    rounds("MPI_Testany", by_testany);
    MPI_Finalize();
    return 0;
}
