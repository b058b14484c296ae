/* SPDX-License-Identifier: BSD-3-Clause */
/* A wavefront as that of LU's lower triangle (NAS Parallel Benchmarks): five numbers at each place of a plane, of which each
 * hangs on those to the north and to the west. What comes from there is unpacked, and what goes to the south and to the
 * east packed, where it is used and made. Begin, end and receive alone are written by hand. */
#include "cases.h"

enum { NX = 256, NY = 192 };

struct edges {
    double north[5 * NX], west[5 * NY], south[5 * NX], east[5 * NY];
};

static double plane[NY][NX][5];
static struct edges edges;

CASE double sweep(double (*v)[NX][5], double *north, double *west, double *south, double *east, int k,
                  int first)
{
    MPI_Request to_south, to_east;
    double check = 0;
    if (!first)
        RECV(north, 5 * NX, 2 * k); /* delta: pipelined: receive */
    if (!first)
        RECV(west, 5 * NY, 2 * k + 1); /* delta: pipelined: receive */
    BEGIN(south, 5 * NX, &to_south); /* delta: pipelined: send */
    BEGIN(east, 5 * NY, &to_east); /* delta: pipelined: send */
    for (int j = 0; j < NY; j++) {
        for (int i = 0; i < NX; i++)
            for (int m = 0; m < 5; m++) {
                double up = j > 0 ? v[j - 1][i][m] : north[5 * i + m];
                double left = i > 0 ? v[j][i - 1][m] : west[5 * j + m];
                v[j][i][m] = 0.25 * v[j][i][m] + 0.5 * up + 0.125 * left + 0.01 * (m + 1);
            }
        for (int m = 0; m < 5; m++)
            east[5 * j + m] = v[j][NX - 1][m];
        check += v[j][j][0];
    }
    for (int i = 0; i < NX; i++)
        for (int m = 0; m < 5; m++)
            south[5 * i + m] = v[NY - 1][i][m];
    MPIX_Delta_send_end(&to_south);
    MPIX_Delta_send_end(&to_east);
    MPIX_Delta_wait(&to_south, MPI_STATUS_IGNORE);
    MPIX_Delta_wait(&to_east, MPI_STATUS_IGNORE);
    return check;
}

int main(int argc, char **argv)
{
    begin_cases(argc, argv);
    for (int k = 0; k < 4; k++)
        RUN(sweep, 75, k == 0 ? 0 : 14, plane, edges.north, edges.west, edges.south, edges.east, k, k == 0);
    for (int j = 0; j < NY; j += 7)
        printf("%.17g\n", plane[j][NX - 1 - j][j % 5]);
    return 0;
}
