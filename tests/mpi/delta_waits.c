/* SPDX-License-Identifier: BSD-3-Clause */
/* NOF_DELTA=os: a rank waits for pages of a delta message, in a fault or in a call, and the one that is to send them first waits for
 * large messages of that rank, which need its doing. With "threads", calls of one thread beside another that waits for pages. */
#include "mpi_offload.h"

#include "mpitest.h"
#include "parked.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { PAGE = 4096, BYTES = 64 * PAGE, TAG = 5, ROUNDS = 3 };

static unsigned char *out, *in, *copy;
static int other;

static void fill(void)
{
    for (size_t i = 0; i < BYTES; i++)
        out[i] = t_byte(1, i);
}

static int right(const unsigned char *at)
{
    return t_verify(at, BYTES, 1);
}

static void deliver(void)
{
    MPI_Request req;
    OK(MPIX_Delta_send_begin(out, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &req));
    fill();
    OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    memset(out, 0, BYTES);
}

static void by_fault(void)
{
    CHECK(in[BYTES / 2] == t_byte(1, BYTES / 2));
}

static void by_send(void)
{
    OK(MPI_Send(in, BYTES, MPI_BYTE, other, 6, MPI_COMM_WORLD));
}

static void by_column(void)
{
    MPI_Datatype column;
    OK(MPI_Type_vector(BYTES / 4096, 8, 4096, MPI_BYTE, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Send(in, 1, column, other, 6, MPI_COMM_WORLD));
    OK(MPI_Type_free(&column));
}

static void by_allreduce(void)
{
    OK(MPI_Allreduce(in, copy, BYTES, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
    CHECK(right(copy));
}

static void by_reduce_local(void)
{
    memset(copy, 0, BYTES);
    OK(MPI_Reduce_local(in, copy, BYTES, MPI_BYTE, MPI_BOR));
    CHECK(right(copy));
}

static void by_pack(void)
{
    int at = 0;
    OK(MPI_Pack(in, BYTES, MPI_BYTE, copy, BYTES, &at, MPI_COMM_WORLD));
    CHECK(right(copy));
}

static void by_delta_send(void)
{
    MPI_Request req;
    OK(MPIX_Delta_send_begin(in, BYTES, MPI_BYTE, other, 6, MPI_COMM_WORLD, &req));
    OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
}

static void answer_send(void)
{
    OK(MPI_Recv(copy, BYTES, MPI_BYTE, other, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(copy[0] == t_byte(1, 0));
}

static void answer_allreduce(void)
{
    memset(out, 0, BYTES);
    OK(MPI_Allreduce(out, copy, BYTES, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
    CHECK(right(copy));
}

static const struct {
    void (*wait)(void);
    void (*answer)(void); /* of the one that has sent */
} ways[] = {{by_fault, NULL},
            {by_send, answer_send},
            {by_column, answer_send},
            {by_allreduce, answer_allreduce},
            {by_reduce_local, NULL},
            {by_pack, NULL},
            {by_delta_send, answer_send}};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* Each rank has its large messages on their way; one waits for pages of the other, which waits for the large ones. */
static void both_ways(int way, int waits)
{
    MPI_Request reqs[PARKED];
    send_large(other, reqs);
    if (waits) {
        memset(in, 0xee, BYTES);
        OK(MPIX_Delta_recv(in, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        ways[way].wait();
        CHECK(right(in));
        receive_large(other);
    } else {
        receive_large(other);
        deliver();
        if (ways[way].answer != NULL)
            ways[way].answer();
    }
    OK(MPI_Waitall(PARKED, reqs, MPI_STATUSES_IGNORE));
    if (waits)
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
}

/* Two threads. */

static atomic_int about_to_wait;
static int way_of_thread;

static void *wait_beside(void *arg)
{
    (void)arg;
    atomic_store(&about_to_wait, 1);
    ways[way_of_thread].wait();
    CHECK(right(in));
    return NULL;
}

static void beside_a_thread(int way, int waits)
{
    enum { WORDS = 200 };
    pthread_t thread;
    int word = 0;
    if (waits) {
        memset(in, 0xee, BYTES);
        OK(MPIX_Delta_recv(in, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        way_of_thread = way;
        atomic_store(&about_to_wait, 0);
        CHECK(pthread_create(&thread, NULL, wait_beside, NULL) == 0);
        while (atomic_load(&about_to_wait) == 0)
            ;
    }
    for (int i = 0; i < WORDS; i++) {
        if (waits)
            OK(MPI_Ssend(&i, 1, MPI_INT, other, 7, MPI_COMM_WORLD));
        else
            OK(MPI_Recv(&word, 1, MPI_INT, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    if (!waits) {
        deliver();
        if (ways[way].answer != NULL)
            ways[way].answer();
        return;
    }
    CHECK(pthread_join(thread, NULL) == 0);
    OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
}

static unsigned char *pages(void)
{
    void *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 && strcmp(argv[1], "threads") == 0, provided;
    OK(MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided));
    MPI_Comm_rank(MPI_COMM_WORLD, &t_rank);
    OK(MPI_Query_thread(&provided));
    CHECK(provided == (threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE));
    other = t_rank ^ 1;
    out = pages();
    in = pages();
    copy = pages();
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = 0; way < WAYS; way++) {
            for (int first = 0; first < 2; first++) {
                if (threads)
                    beside_a_thread(way, t_rank == first);
                else
                    both_ways(way, t_rank == first);
                OK(MPI_Barrier(MPI_COMM_WORLD));
            }
        }
    }
    return t_end();
}
