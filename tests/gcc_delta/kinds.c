/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of numbers, objects and requests. */
#include "cases.h"
typedef double v4 __attribute__((vector_size(32), aligned(8)));
CASE double vectors(double *b, int n)
{
    MPI_Request r;
    v4 sum = {0, 0, 0, 0};
    BEGIN(b, n, &r); /* delta: not pipelined: the store */
    for (int i = 0; i + 4 <= n; i += 4)
        *(v4 *)(b + i) = (v4){i, i + 1, i + 2, i + 3};
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(b, n, 3); /* delta: not pipelined: the call of MPIX_Delta_wait */ /* delta: pipelined: receive */
    for (int i = 0; i + 4 <= n; i += 2)
        sum += *(v4 *)(b + i);
    BEGIN(b, n, &r); /* delta: not pipelined: no loop */ /* delta: pipelined: send */
    for (int i = 0; i + 4 <= n; i += 1)
        *(v4 *)(b + i) += (v4){i, i + 1, i + 2, i + 3};
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    BEGIN(b, n, &r); /* delta: not pipelined: no loop */
    for (int i = 0; i + 4 <= n; i += 4) {
        v4 *p = (v4 *)(b + i);
        (*p)[1] = i;
        (*p)[(i >> 2) & 3] = 4;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return sum[0] + sum[2];
}
static __thread double local[3000];
CASE double thread_local(int n)
{
    MPI_Request r;
    double sum = 0;
    BEGIN(local, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        local[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(local, n, 4); /* delta: not pipelined: the function returns */ /* delta: pipelined: receive */
    for (int i = 0; i < n; i++)
        sum = sum * 0.5 + local[i];
    return sum;
}
double shared_a[3000];
extern double shared_b[3000] __attribute__((alias("shared_a")));
CASE double symbol_alias(int n)
{
    MPI_Request r;
    BEGIN(shared_a, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        shared_a[i] = i;
    for (int i = 0; i < n; i++)
        shared_b[n - 1 - i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return shared_a[4];
}
CASE double two_receives_overlap(double *b, int n)
{
    double sum = 0;
    RECV(b, n, 3); /* delta: pipelined: receive */
    RECV(b + n / 2, n / 4, 5); /* delta: pipelined: receive */
    for (int i = 0; i < n; i++)
        sum = sum * 0.5 + b[i];
    RECV(b + 1, n - 3, 7); /* delta: pipelined: receive */
    for (int i = n - 1; i >= 0; i--)
        sum = sum * 0.5 + b[i];
    return sum;
}
CASE double received_in_branches(double *b, double *c, int n, int which)
{
    double sum = 0;
    if (which)
        RECV(b, n, 3); /* delta: pipelined: receive */
    else
        RECV(c, n, 4); /* delta: pipelined: receive */
    double *p = which ? b : c;
    for (int i = 0; i < n; i++)
        sum = sum * 0.5 + p[i];
    return sum + b[4];
}
CASE double receive_in_rows(double *b, int m, int n)
{
    double sum = 0;
    for (int j = 0; j < m; j++) {
        RECV(b + j * n, n, j); /* delta: pipelined: receive */
        for (int i = 0; i < n; i++)
            sum = sum * 0.5 + b[j * n + i] + (j ? b[(j - 1) * n + i] : 0);
    }
    for (int i = 0; i < m * n; i++)
        sum += b[i];
    return sum;
}
CASE double receive_late_used(double *b, int m, int n)
{
    double sum = 0;
    for (int j = 0; j < m; j++)
        RECV(b + j * n, n, j); /* delta: pipelined: receive */
    for (int i = 0; i < m * n; i++)
        sum += b[i];
    return sum;
}
CASE double wavefront(double *b, double *row, int m, int n)
{
    MPI_Request r;
    double sum = 0;
    for (int t = 0; t < m; t++) {
        RECV(row, n, t); /* delta: pipelined: receive */
        BEGIN(b + t * n, n, &r); /* delta: pipelined: send */
        for (int i = 0; i < n; i++) {
            double left = i ? b[t * n + i - 1] : 0;
            b[t * n + i] = 0.5 * row[i] + 0.25 * left + 0.1 * b[t * n + i];
        }
        MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
        sum += b[t * n + 5];
    }
    return sum;
}
CASE double other_calls(double *b, double *c, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: behind the loop */
    for (int i = 0; i < n; i++)
        b[i] = i;
    RECV(c, n, 4); /* delta: not pipelined: the call of MPIX_Delta_wait */ /* delta: pipelined: receive */
    for (int i = 0; i < n; i++)
        c[i] += 1;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return c[3];
}
CASE double deep(double *b)
{
    MPI_Request r;
    double sum = 0;
    BEGIN(b, 6561 < N ? 6561 : N, &r); /* delta: pipelined: send */
    double(*p)[3][3][3][3][3][3][3] = (void *)b;
    for (int a = 0; a < 2; a++)
        for (int c = 0; c < 3; c++)
            for (int d = 0; d < 3; d++)
                for (int e = 0; e < 3; e++)
                    for (int f = 0; f < 3; f++)
                        for (int g = 0; g < 3; g++)
                            for (int h = 0; h < 3; h++)
                                for (int i = 0; i < 3; i++)
                                    p[a][c][d][e][f][g][h][i] = sin(a + c * i + d + e + f + g + h);
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(b, 4374, 3); /* delta: pipelined: receive */
    for (int a = 0; a < 2; a++)
        for (int c = 0; c < 3; c++)
            for (int d = 0; d < 3; d++)
                for (int e = 0; e < 3; e++)
                    for (int f = 0; f < 3; f++)
                        for (int g = 0; g < 3; g++)
                            for (int h = 0; h < 3; h++)
                                for (int i = 0; i < 3; i++)
                                    sum = sum * 0.5 + p[a][c][d][e][f][g][h][i];
    return sum;
}
CASE double deep_run(double *b, const int *s)
{
    MPI_Request r;
    double sum = 0;
    BEGIN(b, 4374, &r); /* delta: not pipelined: its address is not affine */
    for (int a = 0; a < s[0]; a++)
        for (int c = 0; c < s[1]; c++)
            for (int d = 0; d < s[2]; d++)
                for (int e = 0; e < s[3]; e++)
                    for (int f = 0; f < s[4]; f++)
                        for (int g = 0; g < s[5]; g++)
                            for (int h = 0; h < s[6]; h++)
                                b[((((((a * s[1] + c) * s[2] + d) * s[3] + e) * s[4] + f) * s[5] + g) *
                                   s[6]) +
                                  h] = a + h;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[7];
}
struct node {
    int n;
    double v[];
};
CASE double double_counter(double *b, int n)
{
    MPI_Request r;
    int i = 0, j = n - 1;
    BEGIN(b, n, &r); /* delta: not pipelined: where the store */
    while (i <= j) {
        double t = b[i];
        b[i++] = b[j];
        b[j--] = t;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[4];
}
CASE double float_counter(double *b, int n)
{
    MPI_Request r;
    int i = 0;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (double x = 0; x < n; x += 1.0)
        b[i++] = x;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    BEGIN(b, n, &r); /* delta: not pipelined: its address is not affine */
    for (float x = 0; x < n; x += 1.0f)
        b[(int)x] = x * 2;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[4];
}
CASE double compacted(double *b, const double *c, int n)
{
    MPI_Request r;
    int k = 0;
    BEGIN(b, n, &r); /* delta: not pipelined: its address is not affine */
    for (int i = 0; i < n; i++)
        if (c[i] > 30)
            b[k++] = c[i];
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return k;
}
CASE double geometric(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: its address is not affine */
    for (int i = 1; i < n; i *= 2)
        b[i] = i;
    for (int w = 1; w < n; w *= 2)
        for (int i = 0; i < n; i += 2 * w)
            b[i] += i + w < n ? b[i + w] : 0;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[0];
}
CASE double int128(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: its address is not affine */
    for (__int128 i = 0; i < n; i++)
        b[i] = (double)i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[0];
}
CASE double signed_char_wraps(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, 300, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[128 + (signed char)i] += i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[0];
}
CASE double begin_checked(double *b, int n)
{
    MPI_Request r;
    if (BEGIN(b, n, &r) != MPI_SUCCESS) /* delta: not pipelined: neither the send */
        return -1;
    for (int i = 0; i < n; i++)
        b[i] = i;
    if (MPIX_Delta_wait(&r, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return -2;
    return b[3];
}
CASE double request_copied(double *b, int n)
{
    MPI_Request r, s;
    BEGIN(b, n, &r); /* delta: not pipelined: neither the send */
    s = r;
    for (int i = 0; i < n; i++)
        b[i] = i;
    MPIX_Delta_wait(&s, MPI_STATUS_IGNORE);
    return b[3];
}
int main(int argc, char **argv)
{
    begin_cases(argc, argv);
    RUN(vectors, 0, 0, memory[0], N);
    RUN(thread_local, 0, 0, 3000);
    RUN(symbol_alias, 0, 0, 3000);
    RUN(two_receives_overlap, 0, 0, memory[0], N);
    RUN(received_in_branches, 0, 0, memory[0], memory[1], N, 0);
    RUN(received_in_branches, 0, 0, memory[0], memory[1], N, 1);
    RUN(received_in_branches, 0, 0, memory[0], memory[0] + 4, N - 8, 1);
    RUN(receive_in_rows, 0, 0, memory[0], 10, 600);
    RUN(receive_late_used, 0, 0, memory[0], 10, 600);
    RUN(wavefront, 0, 0, memory[0], memory[1], 10, 600);
    RUN(wavefront, 0, 0, memory[0], memory[0] + 5400, 10, 600);
    RUN(wavefront, 0, 0, memory[0], memory[0] + 300, 9, 600);
    RUN(other_calls, 0, 0, memory[0], memory[1], N);
    RUN(other_calls, 0, 0, memory[0], memory[0] + N / 2, N / 2);
    RUN(other_calls, 0, 0, memory[0], memory[0] + N / 2, N / 2 - 40);
    RUN(deep, 0, 0, memory[0]);
    int s[7] = {6, 3, 3, 3, 3, 3, 3};
    RUN(deep_run, 0, 0, memory[0], s);
    struct node *f = (void *)memory[0];
    f->n = N - 2;
    int q[3] = {5, N, 3};
    RUN(double_counter, 0, 0, memory[0], N);
    RUN(float_counter, 0, 0, memory[0], N);
    RUN(compacted, 0, 0, memory[0], memory[1], N);
    RUN(compacted, 0, 0, memory[0], memory[0], N);
    RUN(geometric, 0, 0, memory[0], N);
    RUN(int128, 0, 0, memory[0], N);
    RUN(signed_char_wraps, 0, 0, memory[0], 1000);
    RUN(begin_checked, 0, 0, memory[0], N);
    RUN(request_copied, 0, 0, memory[0], N);
    return 0;
}
