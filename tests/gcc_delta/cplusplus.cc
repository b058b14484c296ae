/* SPDX-License-Identifier: BSD-3-Clause */
/* A function of C++ with objects that must be destroyed however it is left. */
#include <vector>

#include "cases.h"

CASE double scale(std::vector<double> &v)
{
    MPI_Request r;
    std::vector<double> w(v);
    BEGIN(v.data(), (int)v.size(), &r); /* delta: pipelined: send */
    double *to = v.data(), *from = w.data();
    for (int i = 0; i < N; i++)
        to[i] = from[i] * 2;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    double sum = 0;
    RECV(from, N, 3); /* delta: pipelined: receive */
    for (int i = 0; i < N; i++)
        sum += from[i];
    return sum;
}

int main(int argc, char **argv)
{
    begin_cases(argc, argv);
    std::vector<double> v(N);
    for (int i = 0; i < N; i++)
        v[i] = i;
    RUN(scale, 90, 40, v);
    return 0;
}
