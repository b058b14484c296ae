/* SPDX-License-Identifier: BSD-3-Clause */
/* A smoother as MG's psinv (NAS Parallel Benchmarks): a stencil of 27 places in a cube, with its six faces as messages. Those
 * across x and y are packed where they are made, those across z lie in the cube as they are; two faces come from
 * neighbours and are unpacked where they are used. Begin, end and receive alone are written by hand. */
#include "cases.h"

enum { E = 42 };

typedef double cube[E][E][E];

static cube solution, residual;
static double x_low[E * E], x_high[E * E], y_low[E * E], y_high[E * E], ghost_low[E * E], ghost_high[E * E];

CASE double psinv(double (*u)[E][E], double (*r)[E][E], double *xl, double *xh, double *yl, double *yh,
                  double *gl, double *gh, const double *c, int tag)
{
    MPI_Request to[6];
    RECV(gl, E * E, tag); /* delta: pipelined: receive */
    RECV(gh, E * E, tag + 1); /* delta: pipelined: receive */
    BEGIN(xl, E * E, &to[0]); /* delta: pipelined: send */
    BEGIN(xh, E * E, &to[1]); /* delta: pipelined: send */
    BEGIN(yl, E * E, &to[2]); /* delta: pipelined: send */
    BEGIN(yh, E * E, &to[3]); /* delta: pipelined: send */
    BEGIN(&u[1][0][0], E * E, &to[4]); /* delta: pipelined: send */
    BEGIN(&u[E - 2][0][0], E * E, &to[5]); /* delta: pipelined: send */
    for (int k = 1; k < E - 1; k++) {
        for (int i = 0; i < E; i++) {
            r[k][0][i] = gl[k * E + i];
            r[k][E - 1][i] = gh[k * E + i];
        }
        for (int j = 1; j < E - 1; j++) {
            double r1[E], r2[E];
            for (int i = 0; i < E; i++) {
                r1[i] = r[k][j - 1][i] + r[k][j + 1][i] + r[k - 1][j][i] + r[k + 1][j][i];
                r2[i] = r[k - 1][j - 1][i] + r[k - 1][j + 1][i] + r[k + 1][j - 1][i] + r[k + 1][j + 1][i];
            }
            for (int i = 1; i < E - 1; i++)
                u[k][j][i] += c[0] * r[k][j][i] + c[1] * (r[k][j][i - 1] + r[k][j][i + 1] + r1[i]) +
                              c[2] * (r2[i] + r1[i - 1] + r1[i + 1]);
            xl[k * E + j] = u[k][j][1];
            xh[k * E + j] = u[k][j][E - 2];
        }
        for (int i = 1; i < E - 1; i++) {
            yl[k * E + i] = u[k][1][i];
            yh[k * E + i] = u[k][E - 2][i];
        }
    }
    MPIX_Delta_wait(&to[0], MPI_STATUS_IGNORE);
    MPIX_Delta_wait(&to[1], MPI_STATUS_IGNORE);
    MPIX_Delta_wait(&to[2], MPI_STATUS_IGNORE);
    MPIX_Delta_wait(&to[3], MPI_STATUS_IGNORE);
    MPIX_Delta_wait(&to[4], MPI_STATUS_IGNORE);
    MPIX_Delta_wait(&to[5], MPI_STATUS_IGNORE);
    return u[E / 2][E / 2][E / 2];
}

int main(int argc, char **argv)
{
    static const double c[4] = {-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0};
    begin_cases(argc, argv);
    for (int i = 0; i < E * E * E; i++)
        (&residual[0][0][0])[i] = (i * 7919) % 101;
    for (int k = 0; k < 3; k++)
        RUN(psinv, 80, 20, solution, residual, x_low, x_high, y_low, y_high, ghost_low, ghost_high, c, 2 * k);
    for (int k = 0; k < E; k += 5)
        printf("%.17g\n", solution[k][E - 2 - k % 3][k]);
    return 0;
}
