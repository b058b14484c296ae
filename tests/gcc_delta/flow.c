/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops and jumps that nobody writes for a plug-in: what is transformed computes the same. */
#include <complex.h>
#include <signal.h>
#include "cases.h"

#define BEGIN_TYPE(buf, count, type, request) \
    MPIX_Delta_send_begin(buf, count, type, 1, 0, MPI_COMM_WORLD, request)
#define RECV_TYPE(buf, count, type) MPIX_Delta_recv(buf, count, type, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)

CASE double computed_goto_recv(double *b, int n, int which)
{
    static void *const labels[] = {&&one, &&two, &&out};
    double sum = 0;
    int i = 0;
    RECV(b, n, 4); /* delta: not pipelined: cannot be counted */
again:
    if (i >= n)
        which = 2;
    goto *labels[which];
one:
    sum += b[i];
    i++;
    goto again;
two:
    sum += b[n - 1 - i];
    i++;
    goto again;
out:
    return sum;
}

CASE double irreducible(double *b, int n, int inside)
{
    MPI_Request r;
    int i = 0;
    BEGIN(b, n, &r); /* delta: not pipelined: a loop with several entries */
    if (inside)
        goto middle;
top:
    b[i] = i;
middle:
    i++;
    if (i < n)
        goto top;
    if (b[0] < -1) {
        i = 5;
        goto middle;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[1];
}

CASE double irreducible_inside(double *b, int m, int n, int inside)
{
    MPI_Request r;
    BEGIN(b, m * n, &r); /* delta: not pipelined: a loop with several entries */
    for (int j = 0; j < m; j++) {
        int i = 0, turns = 0;
        if (inside > j)
            goto middle;
    top:
        b[j * n + i] += i;
    middle:
        b[j * n + n - 1] += 1;
        i++;
        if (i < n)
            goto top;
        if (turns++ < 2) {
            i = 5;
            goto middle;
        }
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[1];
}

CASE double irreducible_recv(double *b, int m, int n, int inside)
{
    double sum = 0;
    RECV(b, m * n, 9); /* delta: not pipelined: jumps of the function are not followed */
    for (int j = 0; j < m; j++) {
        int i = 0, turns = 0;
        if (inside > j)
            goto middle;
    top:
        sum += b[j * n + i];
    middle:
        sum = sum * 0.5 + b[j * n + n - 1];
        i++;
        if (i < n)
            goto top;
        if (turns++ < 2) {
            i = 5;
            goto middle;
        }
    }
    return sum;
}

__attribute__((noipa)) static void fill_some(double *restrict p, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = -i;
}

CASE double asm_store(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: an asm statement */
    for (int i = 0; i < n; i++) {
        b[i] = i;
        __asm__ volatile("movq $0, %0" : "=m"(b[i / 2]));
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[n / 4];
}

CASE double asm_goto_exit(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++) {
        b[i] = i;
        __asm__ goto("cmpl $3000, %0; je %l1" : : "r"(i) : "cc" : out);
    }
out:
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[7];
}

CASE double complex_halves(double _Complex *b, int n)
{
    MPI_Request r;
    double sum = 0;
    BEGIN_TYPE(b, n, MPI_C_DOUBLE_COMPLEX, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++) {
        __real__ b[i] = i;
        __imag__ b[i] = -i;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV_TYPE(b, n, MPI_C_DOUBLE_COMPLEX); /* delta: not pipelined: returns */ /* delta: pipelined: receive */
    for (int i = 0; i < n; i++)
        sum += __imag__ b[i] * 1e-300;
    return sum == sum;
}

CASE double complex_imag_late(double _Complex *b, int n)
{
    MPI_Request r;
    BEGIN_TYPE(b, n, MPI_C_DOUBLE_COMPLEX, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        __real__ b[i] = i;
    for (int i = 0; i < n; i++)
        __imag__ b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return creal(b[4]);
}

struct bits {
    unsigned a : 5, b : 11, c : 16;
    int d;
};

CASE double bit_fields(struct bits *b, int n)
{
    MPI_Request r;
    unsigned sum = 0;
    BEGIN_TYPE(b, 8 * n, MPI_BYTE, &r); /* delta: not pipelined: the store */
    for (int i = 0; i < n; i++) {
        b[i].d = i;
        b[i].b = i & 2047;
        b[i].c = i & 65535;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV_TYPE(b, 8 * n, MPI_BYTE); /* delta: not pipelined: returns */
    for (int i = 0; i < n; i++)
        sum = sum * 3 + b[i].b;
    return sum;
}

CASE double bit_fields_behind(struct bits *b, int n)
{
    MPI_Request r;
    BEGIN_TYPE(b, 8 * n, MPI_BYTE, &r); /* delta: not pipelined: behind the loop */
    for (int i = 0; i < n; i++)
        b[i].d = i;
    for (int i = 0; i < n; i++)
        b[i].b = i & 2047;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[3].b;
}

CASE double triangle(double *b, int n)
{
    MPI_Request r;
    double sum = 0;
    BEGIN(b, n * n, &r); /* delta: pipelined: send */
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++)
            b[j * n + i] = i + j;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(b, n * n, 3); /* delta: not pipelined: returns */ /* delta: pipelined: receive */
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++)
            sum = sum * 0.5 + b[j * n + i];
    return sum;
}

CASE double triangle_back(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n * n, &r); /* delta: not pipelined: its directions cannot be told */
    for (int j = n - 1; j >= 0; j--)
        for (int i = j; i >= 0; i--)
            b[j * n + i] = i + j;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[0];
}

CASE double packed_triangle(double *b, int n)
{
    MPI_Request r;
    double sum = 0;
    BEGIN(b, n * (n + 1) / 2, &r); /* delta: not pipelined: its address is not affine */
    int at = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++)
            b[at++] = i + j;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(b, n * (n + 1) / 2, 3); /* delta: not pipelined: returns */
    at = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++)
            sum = sum * 0.5 + b[at++];
    return sum;
}

CASE double unsigned_wraps_plain(double *b, unsigned from, unsigned n)
{
    MPI_Request r;
    BEGIN(b, (int)n + 200, &r); /* delta: pipelined: send */
    for (unsigned i = from; i != n; i++)
        b[i + 100] += i + 1.0;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[1];
}

CASE double unsigned_char_index(double *b, int n)
{
    MPI_Request r;
    unsigned char c = 0;
    BEGIN(b, 256, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[c++] += i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[1];
}

CASE double unsigned_down(double *b, unsigned n)
{
    MPI_Request r;
    double sum = 0;
    BEGIN(b, (int)n, &r); /* delta: pipelined: send */
    for (unsigned i = n; i-- > 0;)
        b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(b, (int)n, 3); /* delta: not pipelined: returns */
    for (unsigned i = n - 1; i < n; i--)
        sum = sum * 0.5 + b[i];
    return sum;
}

CASE double early_return(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++) {
        b[i] = i;
        if (i == n / 2) {
            MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
            return b[i];
        }
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double early_return_recv(double *b, int n)
{
    double sum = 0;
    RECV(b, n, 3); /* delta: not pipelined: cannot be counted */
    for (int i = 0; i < n; i++) {
        sum += b[i];
        if (sum > 1000)
            return i;
    }
    return sum;
}

CASE double continue_loop(double *b, const int *limit, int n)
{
    MPI_Request r;
    double sum = 0;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++) {
        if (i % 5 == 3)
            continue;
        b[i] = i;
        if (limit[i % 60] > 3)
            continue;
        b[i] += 4;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(b, n, 3); /* delta: not pipelined: returns */
    for (int i = 0; i < n; i++) {
        if (limit[i % 60] > 3)
            continue;
        sum = sum * 0.5 + b[i];
        if (i % 5 == 3)
            b[i + 1 < n ? i + 1 : i] = i;
    }
    return sum;
}

CASE double recursion_inside(double *b, int n, int depth)
{
    MPI_Request r;
    double sum = 0;
    BEGIN(b, n, &r); /* delta: not pipelined: behind the loop */
    for (int i = 0; i < n; i++)
        b[i] = i + depth;
    if (depth > 0)
        sum = recursion_inside(b, n, depth - 1);
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[2] + sum;
}

CASE double same_buffer_twice(double *b, int n)
{
    MPI_Request r, s;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    BEGIN(b + n / 4, n / 2, &s); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[i] = i;
    MPIX_Delta_wait(&s, MPI_STATUS_IGNORE);
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[2];
}

CASE double same_buffer_behind(double *b, int n)
{
    MPI_Request r, s;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    BEGIN(b + n / 4, n / 2, &s); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[i] = i;
    MPIX_Delta_wait(&s, MPI_STATUS_IGNORE);
    for (int i = n / 4; i < n; i++)
        b[i] = i * 2;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[2];
}

static volatile sig_atomic_t flagged;
static double *handled;

static void handler(int number)
{
    (void)number;
    flagged = 1;
    if (handled)
        handled[5] += 1;
}

CASE double signal_raised(double *b, int n)
{
    MPI_Request r;
    handled = b;
    signal(SIGUSR1, handler);
    BEGIN(b, n, &r); /* delta: not pipelined: behind the loop */
    for (int i = 0; i < n; i++)
        b[i] = i;
    raise(SIGUSR1);
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    handled = NULL;
    return b[5];
}

CASE double signal_flag(double *b, int n)
{
    MPI_Request r;
    double sum = 0;
    flagged = 0;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n && !flagged; i++)
        b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(b, n, 3); /* delta: not pipelined: returns */ /* delta: pipelined: receive */
    for (int i = 0; i < n; i++) {
        flagged = i;
        sum = sum * 0.5 + b[i];
    }
    return sum;
}

CASE double unknown_trips(double *b, const int *next)
{
    MPI_Request r;
    int i = 0, k = 0;
    BEGIN(b, N, &r); /* delta: pipelined: send */
    while (k >= 0) {
        b[i++] = k;
        k = next[k];
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return i;
}

CASE double unknown_trips_step(double *b, const int *next, int step)
{
    MPI_Request r;
    int i = N / 2, k = 0;
    BEGIN(b, N, &r); /* delta: pipelined: send */
    while (k >= 0) {
        b[i] += k;
        i += step;
        k = next[k];
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return i;
}

struct image {
    int width, height;
    double *pixels;
};

CASE double through_struct(struct image *im)
{
    MPI_Request r;
    double sum = 0;
    BEGIN(im->pixels, im->width * im->height, &r); /* delta: not pipelined: its address is not affine */
    for (int y = 0; y < im->height; y++)
        for (int x = 0; x < im->width; x++)
            im->pixels[y * im->width + x] = x + y;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(im->pixels, im->width * im->height, 3); /* delta: not pipelined: its address is not affine */
    for (int y = 0; y < im->height; y++)
        for (int x = 0; x < im->width; x++)
            sum = sum * 0.5 + im->pixels[y * im->width + x];
    return sum;
}

union overlay {
    double d[500];
    struct {
        int i[1000];
    } s;
};

CASE double through_union(union overlay *u)
{
    MPI_Request r;
    BEGIN(u->d, 500, &r); /* delta: not pipelined: it is stored to again */ /* delta: pipelined: send */
    for (int i = 0; i < 500; i++)
        u->d[i] = i;
    for (int i = 0; i < 1000; i += 100)
        u->s.i[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return u->s.i[100];
}

/* The request's own memory is inside the buffer. */
CASE double request_inside(double *b, int n)
{
    MPI_Request *r = (MPI_Request *)(void *)&b[n];
    BEGIN(b, n, r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[i] = i;
    MPIX_Delta_wait(r, MPI_STATUS_IGNORE);
    return b[2];
}

CASE double count_in_buffer(int *b, int n)
{
    MPI_Request r;
    b[0] = n;
    BEGIN_TYPE(b, n, MPI_INT, &r); /* delta: pipelined: send */
    for (int i = 0; i < b[0]; i++)
        b[i] = n + (i & 1);
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[2];
}

CASE double bound_received(int *b, int n)
{
    double sum = 0;
    RECV_TYPE(b, n, MPI_INT); /* delta: not pipelined: cannot be counted */
    for (int i = 0; i < n && i < (b[0] & 4095); i++)
        sum = sum * 0.5 + (b[i] & 1023);
    return sum;
}

CASE double vla(int n)
{
    double b[n];
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(b, n, 4); /* delta: not pipelined: stack_restore */ /* delta: pipelined: receive */
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum = sum * 0.5 + b[i];
    return sum;
}

CASE double vla_rows(int m, int n, double b[m][n])
{
    MPI_Request r;
    BEGIN(&b[0][0], m * n, &r); /* delta: pipelined: send */
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++)
            b[j][i] = i + j;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(&b[0][0], m * n, 4); /* delta: pipelined: receive */
    double sum = 0;
    for (int j = m - 1; j >= 0; j--)
        for (int i = n - 1; i >= 0; i--)
            sum = sum * 0.5 + b[j][i];
    return sum;
}

CASE double atomic_flag(double *b, int *flag, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: behind the loop */
    for (int i = 0; i < n; i += 2)
        b[i] = i;
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
        ;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[1];
}

CASE double do_while_zero(double *b, int n)
{
    MPI_Request r;
    int i = 0;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    do {
        b[i] = i;
        i += 2;
    } while (i < n);
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[1];
}

CASE double strided_rest(double *b, int n, int step)
{
    MPI_Request r;
    double sum = 0;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i += step)
        b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(b, n, 3); /* delta: not pipelined: returns */
    for (int i = 0; i < n; i += step)
        sum = sum * 0.5 + b[i];
    return sum;
}

CASE double strided_back(double *b, int n, int step)
{
    MPI_Request r;
    double sum = 0;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = n - 1; i >= 0; i -= step)
        b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(b, n, 3); /* delta: not pipelined: returns */
    for (int i = n - 1; i >= 0; i -= step)
        sum = sum * 0.5 + b[i];
    return sum;
}

/* Interleaved by two loops. */
CASE double red_black(double *b, int n)
{
    MPI_Request r;
    double sum = 0;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i += 2)
        b[i] = i;
    for (int i = 1; i < n - 1; i += 2)
        b[i] = b[i - 1] + b[i + 1];
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(b, n, 3); /* delta: pipelined: receive */
    for (int i = 0; i < n; i += 2)
        sum += b[i];
    for (int i = 1; i < n - 1; i += 2)
        sum += b[i];
    return sum;
}

CASE double tiles(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n * n, &r); /* delta: pipelined: send */
    for (int jj = 0; jj < n; jj += 8)
        for (int ii = 0; ii < n; ii += 8)
            for (int j = jj; j < jj + 8; j++)
                for (int i = ii; i < ii + 8; i++)
                    b[j * n + i] = i + j;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[1];
}

CASE double tiles_recv(double *b, int n)
{
    double sum = 0;
    RECV(b, n * n, 4); /* delta: pipelined: receive */
    for (int jj = 0; jj < n; jj += 8)
        for (int ii = 0; ii < n; ii += 8)
            for (int j = jj; j < jj + 8; j++)
                for (int i = ii; i < ii + 8; i++)
                    sum = sum * 0.5 + b[j * n + i];
    return sum;
}

CASE double three_dims(double *b, int l, int m, int n)
{
    MPI_Request r;
    double sum = 0;
    BEGIN(b, l * m * n, &r); /* delta: pipelined: send */
    for (int k = l - 1; k >= 0; k--)
        for (int j = 0; j < m; j++)
            for (int i = n - 1; i >= 0; i--)
                b[(k * m + j) * n + i] = i + j + k;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    RECV(b, l * m * n, 3); /* delta: pipelined: receive */
    for (int k = 0; k < l; k++)
        for (int j = m - 1; j >= 0; j--)
            for (int i = 0; i < n; i++)
                sum = sum * 0.5 + b[(k * m + j) * n + i];
    return sum;
}

CASE double swap_pointers(double *a, double *b, int n, int times)
{
    MPI_Request r;
    double sum = 0;
    for (int t = 0; t < times; t++) {
        BEGIN(a, n, &r); /* delta: pipelined: send */
        for (int i = 0; i < n; i++)
            a[i] = b[i] + t;
        MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
        RECV(b, n, t); /* delta: pipelined: receive */
        for (int i = 1; i < n - 1; i++)
            sum = sum * 0.5 + b[i];
        double *c = a;
        a = b;
        b = c;
    }
    return sum;
}

CASE double swap_inside(double *a, double *b, int n)
{
    MPI_Request r;
    BEGIN(a, n, &r); /* delta: not pipelined: its address is not affine */
    for (int t = 0; t < 4; t++) {
        for (int i = 0; i < n; i++)
            a[i] = b[i] + t;
        double *c = a;
        a = b;
        b = c;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return a[1];
}

CASE double conditional_pointer(double *a, double *b, int n, int which)
{
    MPI_Request r;
    double *p = which ? a : b;
    BEGIN(p, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        p[i] = i;
    for (int i = 0; i < n; i++)
        b[i] = a[i] + 1;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return a[1];
}

CASE double unaligned(unsigned char *b, int n)
{
    MPI_Request r;
    BEGIN_TYPE(b + 3, 8 * n, MPI_BYTE, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++) {
        double v = i;
        memcpy(b + 3 + 8 * i, &v, sizeof(v));
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    double sum = 0;
    RECV_TYPE(b + 5, 8 * n, MPI_BYTE); /* delta: not pipelined: returns */ /* delta: pipelined: receive */
    for (int i = 0; i < n; i++) {
        unsigned long v;
        memcpy(&v, b + 5 + 8 * i, sizeof(v));
        sum = sum * 0.5 + (double)(v & 0xffff);
    }
    return sum;
}

int main(int argc, char **argv)
{
    static int limit[N], next[N], flag = 1;
    static long atomic;
    begin_cases(argc, argv);
    for (int i = 0; i < N; i++)
        limit[i] = i % 7, next[i] = i + 1 < N ? i + 1 : -1;
    RUN(computed_goto_recv, 0, 0, memory[0], N, 0);
    RUN(computed_goto_recv, 0, 0, memory[0], N, 1);
    RUN(irreducible, 0, 0, memory[0], N, 0);
    RUN(irreducible, 0, 0, memory[0], N, 1);
    RUN(irreducible_inside, 0, 0, memory[0], 60, 100, 30);
    RUN(irreducible_recv, 0, 0, memory[0], 60, 100, 30);
    RUN(asm_store, 0, 0, memory[0], N);
    RUN(asm_goto_exit, 0, 0, memory[0], N);
    RUN(complex_halves, 0, 0, (double _Complex *)memory[0], N / 2);
    RUN(complex_imag_late, 0, 0, (double _Complex *)memory[0], N / 2);
    RUN(bit_fields, 0, 0, (struct bits *)memory[0], N);
    RUN(bit_fields_behind, 0, 0, (struct bits *)memory[0], N);
    RUN(triangle, 0, 0, memory[0], 77);
    RUN(triangle_back, 0, 0, memory[0], 77);
    RUN(packed_triangle, 0, 0, memory[0], 100);
    RUN(unsigned_wraps_plain, 0, 0, memory[0], -50u, 4000);
    RUN(unsigned_wraps_plain, 0, 0, memory[0], 3u, 4000);
    RUN(unsigned_char_index, 0, 0, memory[0], 1000);
    RUN(unsigned_down, 0, 0, memory[0], N);
    RUN(early_return, 0, 0, memory[0], N);
    RUN(early_return_recv, 0, 0, memory[0], N);
    RUN(continue_loop, 0, 0, memory[0], limit, N);
    RUN(recursion_inside, 0, 0, memory[0], N, 3);
    RUN(same_buffer_twice, 0, 0, memory[0], N);
    RUN(same_buffer_behind, 0, 0, memory[0], N);
    RUN(signal_raised, 0, 0, memory[0], N);
    RUN(signal_flag, 0, 0, memory[0], N);
    RUN(unknown_trips, 0, 0, memory[0], next);
    RUN(unknown_trips_step, 0, 0, memory[0], next, 0);
    next[2000] = -1;
    RUN(unknown_trips_step, 0, 0, memory[0], next, 1);
    RUN(unknown_trips_step, 0, 0, memory[0], next, -1);
    struct image im = {60, 100, memory[0]};
    RUN(through_struct, 0, 0, &im);
    RUN(through_union, 0, 0, (union overlay *)memory[0]);
    RUN(request_inside, 0, 0, memory[0], N - 1);
    RUN(count_in_buffer, 0, 0, (int *)memory[0], N);
    RUN(bound_received, 0, 0, (int *)memory[0], N);
    RUN(vla, 0, 0, N);
    RUN(vla_rows, 0, 0, 60, 100, (double(*)[100])memory[0]);
    RUN(atomic_flag, 0, 0, memory[0], &flag, N);
    RUN(do_while_zero, 0, 0, memory[0], N);
    RUN(do_while_zero, 0, 0, memory[0], 0);
    for (int step = 1; step < 400; step += 7) {
        RUN(strided_rest, 0, 0, memory[0], N - step, step);
        RUN(strided_back, 0, 0, memory[0], N - step, step);
    }
    RUN(red_black, 0, 0, memory[0], N);
    RUN(tiles, 0, 0, memory[0], 72);
    RUN(tiles_recv, 0, 0, memory[0], 72);
    RUN(three_dims, 0, 0, memory[0], 15, 20, 20);
    RUN(swap_pointers, 0, 0, memory[0], memory[1], N, 5);
    RUN(swap_pointers, 0, 0, memory[0], memory[0] + 70, N - 100, 5);
    RUN(swap_inside, 0, 0, memory[0], memory[1], N);
    RUN(conditional_pointer, 0, 0, memory[0], memory[1], N, 1);
    RUN(conditional_pointer, 0, 0, memory[0], memory[1], N, 0);
    RUN(unaligned, 0, 0, (unsigned char *)memory[0], N - 2);
    return 0;
}
