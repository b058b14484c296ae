/* SPDX-License-Identifier: BSD-3-Clause */
/* Delta messages by memory that cannot be read, from the beginning or from some byte on: they come whole, and a receive from any
 * source returns when it is matched all the same. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mpi_offload.h"
#include "mpitest.h"

enum { N = 1 << 20, TAG = 5, OTHER = 6 };

static unsigned char out[N], in[N];
static atomic_bool forbidden;

/* The kernel's answer is what a sender that is no longer dumpable, or a filter of system calls, leads to. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nlocal,
                         const struct iovec *remote, unsigned long nremote, unsigned long flags)
{
    if (!atomic_load(&forbidden))
        return syscall(SYS_process_vm_readv, pid, local, nlocal, remote, nremote, flags);
    errno = EPERM;
    return -1;
}

static void check_end(uint64_t id)
{
    MPI_Status status;
    int count;
    OK(MPIX_Delta_recv_wait(in, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == N && status.MPI_SOURCE == 0 && status.MPI_TAG == TAG);
    CHECK(t_verify(in, N, id));
}

static void wildcard(void)
{
    MPI_Request req;
    MPI_Status status;
    int word = 7;
    if (t_rank == 0) {
        t_fill(out, N, 1);
        OK(MPIX_Delta_send_begin(out, N, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &req));
        OK(MPI_Ssend(&word, 1, MPI_INT, 1, OTHER, MPI_COMM_WORLD));
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        return;
    }
    OK(MPIX_Delta_recv(in, N, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == TAG);
    OK(MPI_Recv(&word, 1, MPI_INT, 0, OTHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check_end(1);
}

static void forbidden_later(void)
{
    MPI_Request req;
    int word = 7;
    if (t_rank == 0) {
        t_fill(out, N, 2);
        OK(MPIX_Delta_send_begin(out, N, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &req));
        OK(MPIX_Delta_send_data(req, out, N / 4));
        OK(MPI_Recv(&word, 1, MPI_INT, 1, OTHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        return;
    }
    OK(MPIX_Delta_recv(in, N, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int flag = 0, i = 0; i < 1000; i++)
        OK(MPI_Iprobe(0, OTHER, MPI_COMM_WORLD, &flag,
                      MPI_STATUS_IGNORE)); /* some of it comes where it may be read */
    atomic_store(&forbidden, true);
    OK(MPI_Send(&word, 1, MPI_INT, 0, OTHER, MPI_COMM_WORLD));
    check_end(2);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    wildcard();
    forbidden_later();
    return t_end();
}
