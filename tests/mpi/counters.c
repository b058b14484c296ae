/* SPDX-License-Identifier: BSD-3-Clause */
/* MPIX_Nic_counters reads the NIC's counters by name; unknown names are errors. */
#include "mpitest.h"

#include "mpi_offload.h"

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    unsigned long long before = 0, after = 0;
    OK(MPIX_Nic_counters("msg.tx", &before));
    for (int i = 0; i < 10; i++) {
        int value = i;
        OK(MPI_Sendrecv(&value, 1, MPI_INT, (t_rank + 1) % t_size, 1, &value, 1, MPI_INT,
                        (t_rank + t_size - 1) % t_size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPIX_Nic_counters("msg.tx", &after));
    CHECK(after >= before + 10);
    FAILS(MPIX_Nic_counters("no.such.counter", &after), MPI_ERR_ARG);
    return t_end();
}
