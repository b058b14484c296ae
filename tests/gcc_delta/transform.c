/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops to transform. */
#include "cases.h"

CASE double counted(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[i] = sin(i) * sin(i) + cos(i) * cos(i) + i;
    MPIX_Delta_send_end(&r);
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[n / 2];
}

CASE double other_names(double *b, int n)
{
    MPI_Request r;
    MPI_Delta_send_begin(b, n, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &r); /* delta: pipelined: send */
    for (long i = 0; i < n; i++)
        b[i] = (double)i / 3;
    MPI_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double decreasing(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = n - 1; i >= 0; i--)
        b[i] = i * 3.0;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double rows(double *b, int m, int n)
{
    MPI_Request r;
    BEGIN(b, m * n, &r); /* delta: pipelined: send */
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++)
            b[j * n + i] = j * 100 + i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double rows_from_below(double *b, long m, long n)
{
    MPI_Request r;
    BEGIN(b, (int)(m * 64), &r); /* delta: pipelined: send */
    for (long j = m - 1; j >= 0; j--)
        for (long i = 0; i < n; i++)
            b[j * 64 + i] = (double)(j * 100 + i);
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

/* What lies between the rows is final, too. */
CASE double interior(double (*a)[50])
{
    MPI_Request r;
    BEGIN(&a[0][0], N, &r); /* delta: pipelined: send */
    for (int j = 1; j < N / 50 - 1; j++)
        for (int i = 1; i < 49; i++)
            a[j][i] = j + i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

struct point {
    double x, y, z;
};

CASE double structs(struct point *p, int n)
{
    MPI_Request r;
    BEGIN((double *)p, 3 * n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++) {
        p[i].z = i;
        p[i].x = i * 2;
        p[i].y = i * 3;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double whole_structs(struct point *p, const struct point *from, int n)
{
    MPI_Request r;
    BEGIN((double *)p, 3 * n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        p[i] = from[n - 1 - i];
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

/* Struct of arrays: three places that go forward at once. */
CASE double arrays(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, 3 * n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++) {
        b[i] = i;
        b[n + i] = i * 2;
        b[2 * n + i] = i * 3;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double conditional_store(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        if (i % 3 != 1)
            b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double moving_pointer(double *b, const double *end)
{
    MPI_Request r;
    BEGIN(b, (int)(end - b), &r); /* delta: pipelined: send */
    double value = 0;
    for (double *p = b; p < end; p++)
        *p = value += 0.5;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return value;
}

/* How long it goes on nobody knows: looked at after each iteration. */
CASE double with_break(double *b, const int *limit, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++) {
        b[i] = i * 7;
        if (limit[i] < 0)
            break;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double goto_out(double *b, const int *limit, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int j = 0; j < n / 100; j++)
        for (int i = 0; i < 100; i++) {
            if (limit[i] < 0)
                goto out;
            b[j * 100 + i] = i + j;
        }
out:
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double while_counted(double *b, unsigned n)
{
    MPI_Request r;
    BEGIN(b, (int)n, &r); /* delta: pipelined: send */
    unsigned i = 0;
    while (i < n) {
        b[i] = i;
        i++;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

/* An element is stored to again by the next iteration. */
CASE double overlapping_windows(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i + 1 < n; i++) {
        b[i] = i;
        b[i + 1] = i * 2;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

/* Each row is summed up: complete when its turn is over. */
CASE double product(double *c, const double *a, const double *x, int m, int n)
{
    MPI_Request r;
    BEGIN(c, m * n, &r); /* delta: pipelined: send */
    for (int j = 0; j < m; j++)
        for (int k = 0; k < n; k++)
            for (int i = 0; i < n; i++)
                c[j * n + i] += a[k] * x[i + k];
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double two_halves(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n / 2; i++)
        b[i] = i;
    for (int i = n / 2; i < n; i++)
        b[i] = i * 2;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

/* The message is a part of what the loop stores to. */
CASE double part_of_array(double (*a)[100])
{
    MPI_Request r;
    BEGIN(&a[20][0], 2000, &r); /* delta: pipelined: send */
    for (int j = 0; j < 60; j++)
        for (int i = 0; i < 100; i++)
            a[j][i] = j * i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double two_requests(double *a, double *b, int n)
{
    MPI_Request r[2];
    BEGIN(a, n, &r[0]); /* delta: pipelined: send */
    BEGIN(b, n, &r[1]); /* delta: pipelined: send */
    for (int i = 0; i < n; i++) {
        a[i] = i;
        b[n - 1 - i] = i * 2;
    }
    MPIX_Delta_wait(&r[0], MPI_STATUS_IGNORE);
    MPIX_Delta_wait(&r[1], MPI_STATUS_IGNORE);
    return 0;
}

CASE double nested_begin(double *a, double *b, int n)
{
    MPI_Request outer, inner;
    BEGIN(a, n, &outer); /* delta: pipelined: send */
    for (int k = 0; k < 2; k++) {
        BEGIN(b, n, &inner); /* delta: pipelined: send */
        for (int i = 0; i < n; i++)
            b[i] = i + k;
        MPIX_Delta_wait(&inner, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < n; i++)
        a[i] = b[i];
    MPIX_Delta_wait(&outer, MPI_STATUS_IGNORE);
    return 0;
}

CASE double sometimes(double *b, int n, int rank)
{
    MPI_Request r;
    if (rank > 0)
        BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[i] = i;
    if (rank > 0)
        MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

__attribute__((noipa)) static void ask_rank(int *rank)
{
    *rank = 1;
}

/* A number that a call has set, and that nothing sets anew. */
CASE double sometimes_by_call(double *b, int n)
{
    MPI_Request r;
    int rank;
    ask_rank(&rank);
    if (rank > 0)
        BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[i] = i;
    if (rank > 0)
        MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double again_and_again(double *b, int n, int times)
{
    for (int t = 0; t < times; t++) {
        MPI_Request r;
        if (t % 2)
            BEGIN(b, n, &r); /* delta: pipelined: send */
        for (int i = 0; i < n; i++)
            b[i] = i + t;
        if (t % 2)
            MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    }
    return 0;
}

/* The buffer is not named by the begin's pointer; whether it is the same is asked when the program runs. */
CASE double another_pointer(double *b, double *p, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        p[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double bytes(unsigned char *b, int n)
{
    MPI_Request r;
    MPIX_Delta_send_begin(b, n, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[i] = (unsigned char)(i * 7);
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double used_forward(double *b, int n)
{
    double sum = 0;
    RECV(b, n, 1); /* delta: pipelined: receive */
    for (int i = 0; i < n; i++)
        sum = sum * 0.5 + b[i];
    return sum;
}

CASE double used_backward(double *b, int n)
{
    double sum = 0;
    RECV(b, n, 2); /* delta: pipelined: receive */
    for (int i = n - 1; i >= 0; i--)
        sum = sum * 0.5 + b[i];
    return sum;
}

CASE double used_rows(double *b, int m, int n)
{
    double sum = 0;
    RECV(b, m * n, 3); /* delta: pipelined: receive */
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++)
            sum += b[j * n + i] * i;
    return sum;
}

CASE double used_columns(double *b, int m, int n)
{
    double sum = 0;
    RECV(b, m * n, 3); /* delta: pipelined: receive */
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            sum += b[j * n + i] * i;
    return sum;
}

CASE double stencil(const double *unused, double *b, double *out, int n)
{
    RECV(b, n, 4); /* delta: pipelined: receive */
    double first = b[0] + unused[0];
    for (int i = 1; i < n - 1; i++)
        out[i] = b[i - 1] + b[i] * 2 + b[i + 1];
    out[n - 1] = first + b[n - 1];
    return first;
}

CASE double in_place(double *b, int n)
{
    RECV(b, n, 5); /* delta: pipelined: receive */
    for (int i = 0; i < n; i += 2)
        b[i] *= 2;
    return b[n - 1];
}

/* Stored to before all has come: what comes must not come over it. */
CASE double stored_over(double *b, int n)
{
    RECV(b, n, 5); /* delta: pipelined: receive */
    for (int i = 0; i < n; i++)
        if (i % 3)
            b[i] = i;
    return 0;
}

CASE double used_arrays(double *b, int n)
{
    double sum = 0;
    RECV(b, 3 * n, 6); /* delta: pipelined: receive */
    for (int i = 0; i < n; i++)
        sum += b[i] * b[n + i] - b[2 * n + i];
    return sum;
}

CASE double used_again(double *b, int n)
{
    double sum = 0;
    RECV(b, n, 7); /* delta: pipelined: receive */
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < n; i++)
            sum += b[i] * k;
    return sum;
}

CASE double received_sometimes(double *b, int n, int rank)
{
    double sum = 0;
    for (int t = 0; t < 3; t++) {
        if (rank + t > 1)
            RECV(b, n, 8 + t); /* delta: pipelined: receive */
        for (int i = 0; i < n; i++)
            sum += b[i];
    }
    return sum;
}

/* Each increment goes on as soon as it has been worked on. */
CASE double cascade(double *in, double *out, int n)
{
    MPI_Request r;
    RECV(in, n, 12); /* delta: pipelined: receive */
    BEGIN(out, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        out[i] = in[i] * 1.5 + i;
    MPIX_Delta_send_end(&r);
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double two_receives(double *a, double *b, int n)
{
    double sum = 0;
    RECV(a, n, 13); /* delta: pipelined: receive */
    RECV(b, n, 14); /* delta: pipelined: receive */
    for (int i = 0; i < n; i++)
        sum += a[i] * b[n - 1 - i];
    return sum;
}

/* The second is shorter, and comes when not all of the first has been used. */
CASE double received_again(double *b, int n)
{
    double sum = 0;
    for (int t = 0; t < 3; t++) {
        RECV(b, n / (t + 1), 20 + t); /* delta: pipelined: receive */
        for (int i = 0; i < n / 4; i++)
            sum += b[i];
    }
    return sum + b[n - 1];
}

/* Each row is stored over a part of the one before. */
CASE double overlapping_rows(double *b, int m, int n, int width)
{
    MPI_Request r;
    BEGIN(b, m * n + width, &r); /* delta: pipelined: send */
    for (int j = 0; j < m; j++)
        for (int i = 0; i < width; i++)
            b[j * n + i] += i + j;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

/* What is stored behind the inner loop lies before what it has stored. */
CASE double late_corner(double *b, int m, int n)
{
    MPI_Request r;
    BEGIN(b, m * n, &r); /* delta: pipelined: send */
    for (int j = 0; j < m; j++) {
        for (int i = 0; i < n; i++)
            b[j * n + i] = i + j;
        b[j * n + 5] = -j;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

/* Whether the rows go up or down is known at run time. */
CASE double signed_rows(double *b, int m, int n)
{
    MPI_Request r;
    BEGIN(b, N, &r); /* delta: pipelined: send */
    for (int j = 0; j < m; j++)
        for (int i = 0; i < 40; i++)
            b[N / 2 + j * n + i] += i + j;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double signed_rows_behind(double *b, int m, int n)
{
    MPI_Request r;
    BEGIN(b, N, &r); /* delta: pipelined: send */
    for (int i = 0; i < N / 2; i++)
        b[i] = i;
    for (int j = 0; j < m; j++)
        for (int i = 0; i < 40; i++)
            b[N / 2 + j * n + i] += i + j;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

/* An index that may begin anew. */
CASE double ring(unsigned char *b, int first, int n)
{
    MPI_Request r;
    MPIX_Delta_send_begin(b, 65536, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[(unsigned short)(first + i)] = (unsigned char)(b[(unsigned short)(first + i)] + i);
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double left_early(double *b, int n, int rank)
{
    MPI_Request r;
    if (rank > 0)
        BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[i] = i;
    if (rank <= 0)
        return b[1];
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[2];
}

/* Between the numbers that are stored, those that came may not have come. */
CASE double forwarded(double *b, int n)
{
    MPI_Request r;
    RECV(b, n, 30); /* delta: pipelined: receive */
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i += 3)
        b[i] *= 2;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[1];
}

CASE double no_bytes(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, 0, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[1];
}

CASE double no_bytes_received(double *b, int n)
{
    double sum = 0;
    RECV(b, 0, 31); /* delta: pipelined: receive */
    for (int i = 0; i < n; i++)
        sum += b[i];
    return sum;
}

static double global[2000];

CASE double object(void)
{
    double sum = 0;
    MPI_Request r;
    RECV(global, 2000, 15); /* delta: pipelined: receive */
    for (int i = 0; i < 2000; i++)
        sum += global[i];
    BEGIN(global, 2000, &r); /* delta: pipelined: send */
    for (int i = 0; i < 2000; i++)
        global[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return sum;
}

static void late_cases(void)
{
    RUN(overlapping_rows, 60, 0, memory[0], 10, 300, 1000);
    RUN(overlapping_rows, 85, 0, memory[0], 10, 500, 300);
    RUN(late_corner, 70, 0, memory[0], 4, 1500);
    RUN(late_corner, 80, 0, memory[0], 100, 60);
    RUN(no_bytes, 0, 0, memory[0], N);
    RUN(no_bytes_received, 0, 0, memory[0], N);
    RUN(signed_rows, 40, 0, memory[0], 50, 50);
    RUN(signed_rows, -1, 0, memory[0], 50, -50);
    RUN(signed_rows_behind, 80, 0, memory[0], 50, 50);
    RUN(signed_rows_behind, -1, 0, memory[0], 50, -50);
    RUN(ring, 40, 0, (unsigned char *)memory[0], 0, 30000);
    RUN(ring, -1, 0, (unsigned char *)memory[0], 60000, 10000);
    RUN(left_early, 95, 0, memory[0], N, 1);
    RUN(left_early, 0, 0, memory[0], N, 0);
    RUN(forwarded, -1, 30, memory[0], N);
}

int main(int argc, char **argv)
{
    static int limit[N];
    begin_cases(argc, argv);
    RUN(counted, 95, 0, memory[0], N);
    RUN(counted, 0, 0, memory[0], 1);
    RUN(other_names, 95, 0, memory[0], N);
    RUN(decreasing, 95, 0, memory[0], N);
    RUN(rows, 95, 0, memory[0], 100, 60);
    RUN(rows, 95, 0, memory[0], 2, 3000);
    RUN(rows, 90, 0, memory[0], 3000, 2);
    RUN(rows_from_below, 90, 0, memory[0], 90, 30);
    RUN(rows_from_below, 90, 0, memory[0], 90, 64);
    RUN(rows_from_below, 0, 0, memory[0], 90, 100);
    RUN(interior, 90, 0, (double(*)[50])memory[0]);
    RUN(structs, 95, 0, (struct point *)memory[0], N / 3);
    RUN(whole_structs, 95, 0, (struct point *)memory[0], (struct point *)memory[1], N / 3);
    RUN(whole_structs, 0, 0, (struct point *)memory[0], (struct point *)memory[0], N / 3);
    RUN(arrays, 85, 0, memory[0], N / 3);
    RUN(conditional_store, 95, 0, memory[0], N);
    RUN(moving_pointer, 95, 0, memory[0], memory[0] + N);
    RUN(with_break, 95, 0, memory[0], limit, N);
    limit[N / 2] = -1;
    RUN(with_break, 45, 0, memory[0], limit, N);
    RUN(goto_out, 95, 0, memory[0], limit, N);
    RUN(while_counted, 95, 0, memory[0], N);
    RUN(overlapping_windows, 95, 0, memory[0], N);
    RUN(product, 90, 0, memory[0], memory[1], memory[2], 100, 60);
    RUN(product, 0, 0, memory[0], memory[0] + 7, memory[0] + 60, 60, 60);
    RUN(two_halves, 95, 0, memory[0], N);
    RUN(part_of_array, 90, 0, (double(*)[100])memory[0]);
    RUN(two_requests, 95, 0, memory[0], memory[1], N);
    RUN(nested_begin, 60, 0, memory[0], memory[1], N);
    RUN(sometimes, 95, 0, memory[0], N, 1);
    RUN(sometimes, 0, 0, memory[0], N, 0);
    RUN(sometimes_by_call, 95, 0, memory[0], N);
    RUN(again_and_again, 95, 0, memory[0], N, 5);
    RUN(another_pointer, 95, 0, memory[0], memory[0], N);
    RUN(another_pointer, 40, 0, memory[0], memory[0] + N / 2, N);
    RUN(another_pointer, 0, 0, memory[0], memory[1], N);
    RUN(bytes, 95, 0, (unsigned char *)memory[0], 30000);
    RUN(used_forward, 0, 40, memory[0], N);
    RUN(used_backward, 0, 40, memory[0], N);
    RUN(used_rows, 0, 40, memory[0], 100, 60);
    RUN(used_rows, 0, 40, memory[0], 2, 3000);
    RUN(used_rows, 0, 40, memory[0], 3000, 2);
    RUN(used_columns, 0, 1, memory[0], 100, 60);
    RUN(stencil, 0, 40, memory[1], memory[0], memory[2], N);
    RUN(stencil, 0, 1, memory[0], memory[0], memory[0] + 5, N - 100);
    RUN(in_place, 0, 40, memory[0], N);
    RUN(stored_over, 0, 40, memory[0], N);
    RUN(used_arrays, 0, 40, memory[0], N / 3);
    RUN(used_again, 0, 40, memory[0], N);
    RUN(received_sometimes, 0, 80, memory[0], N, 1);
    RUN(cascade, 95, 40, memory[0], memory[1], N);
    RUN(cascade, 0, 1, memory[0], memory[0] + 100, N - 100);
    RUN(cascade, 0, 1, memory[0] + 100, memory[0], N - 100);
    RUN(two_receives, 0, 40, memory[0], memory[1], N);
    RUN(received_again, 0, 30, memory[0], N);
    RUN(object, 90, 15);
    late_cases();
    return 0;
}
