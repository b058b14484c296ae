/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process whose memory the kernel opens to the NIC no longer is told so, in words. */
#include <string.h>
#include <sys/prctl.h>

#include "mpitest.h"

#define BYTES (1 << 20)

int main(int argc, char **argv)
{
    static char out[BYTES], in[BYTES];
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, rc;

    t_begin(&argc, &argv, 2);
    t_errors_return();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (t_rank == 0)
        CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
    if (t_rank == 0)
        rc = MPI_Recv(in, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        rc = MPI_Ssend(out, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    if (t_rank == 0) {
        OK(MPI_Error_string(rc, text, &length));
        FAILS(rc, MPI_ERR_OTHER);
        CHECK(strstr(text, "PR_SET_DUMPABLE") != NULL);
    } else {
        CHECK(rc != MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return t_end();
}
