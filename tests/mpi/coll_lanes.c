/* SPDX-License-Identifier: BSD-3-Clause */
/* A large allreduce of ranks that share NICs goes in segments, and of each in lanes: also where the last segment has fewer elements than
 * there are NICs, or than a NIC has ranks. By the host and by the NIC. On three hosts or more, as many ranks on each. */
#include "collective.h"

enum { SEGMENT = 2 * 1024 * 1024, BEHIND = 7 }; /* of the library: 8 MiB */

int main(int argc, char **argv)
{
    int provided;
    t_begin(&argc, &argv, 3);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    int *in = malloc(sizeof(*in) * (SEGMENT + BEHIND)), *out = malloc(sizeof(*out) * (SEGMENT + BEHIND));
    CHECK(in != NULL && out != NULL);
    for (int i = 0; i < SEGMENT + BEHIND; i++)
        in[i] = i % 1000 + t_rank;
    for (int by_nic = 0; by_nic < 2; by_nic++) {
        t_drive(by_nic);
        for (int behind = 0; behind <= BEHIND; behind++) {
            OK(MPI_Allreduce(in, out, SEGMENT + behind, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
            for (int i = 0; i < SEGMENT + behind; i++)
                CHECK(out[i] == i % 1000 * t_size + t_size * (t_size - 1) / 2);
        }
    }
    free(in);
    free(out);
    OK(MPI_T_finalize());
    return t_end();
}
