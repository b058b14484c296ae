/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops to refuse: nothing is announced, and all of a receive is waited for before its first use. */
#include "cases.h"

CASE double stored_twice(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: it is stored to again */ /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[i] = i;
    for (int i = 0; i < n; i++)
        b[i] += 1;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double repeated(double *b, int n, int times)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: stores to the same place again */
    for (int t = 0; t < times; t++)
        for (int i = 0; i < n; i++)
            b[i] += i + t;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double corner_behind(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: stored to again */
    for (int i = 0; i < n; i++)
        b[i] = i;
    b[0] = b[n - 1];
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double twice_in_loop(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: twice to the same place */
    for (int i = 0; i < n / 2; i++) {
        b[i] = i;
        b[2 * i] = b[n - 1];
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

/* That they meet is seen when the program runs. */
CASE double from_both_ends(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++) {
        b[i] = i;
        b[n - 1 - i] = 2 * i;
        b[i] += b[n - 1];
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double columns(double *b, int m)
{
    MPI_Request r;
    BEGIN(b, m * 60, &r); /* delta: not pipelined: stores across the buffer */
    for (int i = 0; i < 60; i++)
        for (int j = 0; j < m; j++)
            b[j * 60 + i] = i + j;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double indirect(double *b, const int *index, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: not affine */
    for (int i = 0; i < n; i++)
        b[index[i]] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

/* The second array may be the first. */
CASE double indirect_beside(double *b, double *histogram, const int *index, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: not affine */
    for (int i = 0; i < n; i++) {
        b[i] = i;
        histogram[index[i]] += 1;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double squares(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: not affine */
    for (int i = 0; i * i < n; i++)
        b[i * i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

static double *kept;

__attribute__((noipa)) static void keep(double *b)
{
    kept = b;
}

__attribute__((noipa)) static void scribble(int i)
{
    kept[i / 2] += 1;
}

CASE double call_between(double *b, int n)
{
    MPI_Request r;
    keep(b);
    BEGIN(b, n, &r); /* delta: not pipelined: the call of scribble */
    for (int i = 0; i < n; i++) {
        b[i] = i;
        scribble(i);
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double call_behind(int n)
{
    double b[1000];
    MPI_Request r;
    keep(b);
    BEGIN(b, n, &r); /* delta: not pipelined: behind the loop, the call of scribble */
    for (int i = 0; i < n; i++)
        b[i] = i;
    scribble(6);
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[3];
}

CASE double through_pointer(double *b, int n, void (*call)(int))
{
    MPI_Request r;
    keep(b);
    BEGIN(b, n, &r); /* delta: not pipelined: a call through a pointer */
    for (int i = 0; i < n; i++) {
        b[i] = i;
        call(i);
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double volatile_stores(volatile double *b, int n)
{
    MPI_Request r;
    BEGIN((double *)(uintptr_t)b, n, &r); /* delta: not pipelined: volatile */
    for (int i = 0; i < n; i++)
        b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double copied(double *b, const double *from, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: the call of memcpy */
    for (int i = 0; i < n; i++)
        b[i] = i;
    memcpy(b, from, (size_t)n / 2 * sizeof(*b));
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double copied_alone(double *b, const double *from, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: no loop between begin and end stores into the buffer */
    memcpy(b, from, (size_t)n * sizeof(*b));
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

struct node {
    struct node *next;
    int at;
};

CASE double list(double *b, const struct node *node, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: not affine */
    while (node) {
        b[node->at] = node->at;
        node = node->next;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double asm_between(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: an asm statement */
    for (int i = 0; i < n; i++) {
        b[i] = i;
        __asm__ volatile("" ::: "memory");
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

static jmp_buf back;

CASE double jumps(double *b, volatile int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: jumps of the function */
    if (setjmp(back) == 0)
        n /= 2;
    for (int i = 0; i < n; i++)
        b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

static MPI_Request elsewhere;

__attribute__((noipa)) static void finish(MPI_Request *r)
{
    MPIX_Delta_wait(r, MPI_STATUS_IGNORE);
}

CASE double ended_elsewhere(double *b, int n)
{
    BEGIN(b, n, &elsewhere); /* delta: not pipelined: neither the send's end nor its wait */
    for (int i = 0; i < n; i++)
        b[i] = i;
    finish(&elsewhere);
    return 0;
}

/* Whoever ends it can begin another one with the same request. */
CASE double ended_in_between(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: the call of finish */
    finish(&r);
    for (int i = 0; i < n; i++)
        b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

/* What a request stands for changes between begin and end. */
CASE double exchanged(double *b, double *c, int n)
{
    MPI_Request r[2];
    BEGIN(b, n, &r[0]); /* delta: not pipelined: may change the request */
    BEGIN(c, n, &r[1]); /* delta: not pipelined: may change the request */
    for (int i = 0; i < n; i++) {
        b[i] = i;
        c[i] = -i;
    }
    MPI_Request first = r[0];
    r[0] = r[1];
    r[1] = first;
    MPIX_Delta_wait(&r[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        b[i] += 1;
    MPIX_Delta_wait(&r[1], MPI_STATUS_IGNORE);
    return b[3];
}

__attribute__((noipa)) static void restart(double *b, int n, MPI_Request *r)
{
    MPIX_Delta_wait(r, MPI_STATUS_IGNORE);
    BEGIN(b, n, r); /* delta: not pipelined: neither the send's end nor its wait */
}

CASE double restarted(double *b, double *c, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: the call of restart */
    restart(c, n, &r);
    for (int i = 0; i < n; i++)
        b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[3];
}

CASE double shortened(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: the message may become shorter */
    for (int i = 0; i < n; i++)
        b[i] = i;
    MPIX_Delta_send_end_count(&r, n / 2);
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[3];
}

CASE double ended_sometimes(double *b, int n, int now)
{
    BEGIN(b, n, &elsewhere); /* delta: not pipelined: neither the send's end nor its wait */
    for (int i = 0; i < n; i++)
        b[i] = i;
    if (now)
        MPIX_Delta_wait(&elsewhere, MPI_STATUS_IGNORE);
    return 0;
}

/* Which of the two ends is known at run time alone. */
CASE double which_end(double *a, double *b, int n, int i)
{
    MPI_Request r[2];
    BEGIN(a, n, &r[0]); /* delta: not pipelined: may be of this request or of another */
    BEGIN(b, n, &r[1]); /* delta: not pipelined: may be of this request or of another */
    MPIX_Delta_send_end(&r[i]);
    for (int k = 0; k < n; k++)
        a[k] = k;
    MPIX_Delta_wait(&r[0], MPI_STATUS_IGNORE);
    MPIX_Delta_wait(&r[1], MPI_STATUS_IGNORE);
    return 0;
}

/* The loop goes round between begin and end. */
CASE double ended_by_the_next(double *b, int n, int times)
{
    MPI_Request r = MPI_REQUEST_NULL;
    for (int t = 0; t < times; t++) {
        MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
        BEGIN(b, n, &r); /* delta: not pipelined: may not have ended when its loop goes on */
        for (int i = 0; i < n; i++)
            b[i] = i + t;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double ended_inside(double *b, int n, int when)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: the send's end is inside the loop */
    for (int i = 0; i < n; i++) {
        if (i == when)
            MPIX_Delta_send_end(&r);
        if (i < when)
            b[i] = i;
    }
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double by_hand(double *b, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: not pipelined: announces by hand */
    for (int i = 0; i < n; i++)
        b[i] = i;
    MPIX_Delta_send_data(r, b, n / 2);
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double any_type(double *b, int n, MPI_Datatype type)
{
    MPI_Request r;
    MPIX_Delta_send_begin(b, n, type, 1, 0, MPI_COMM_WORLD, &r); /* delta: not pipelined: not a constant */
    for (int i = 0; i < n; i++)
        b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

CASE double little(double *b)
{
    MPI_Request r;
    BEGIN(b, 100, &r); /* delta: not pipelined: less than a strip */
    for (int i = 0; i < 100; i++)
        b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return 0;
}

__attribute__((noipa)) static double summed(const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += b[i] * i;
    return sum;
}

CASE double given_away(double *b, int n)
{
    RECV(b, n, 1); /* delta: not pipelined: the call of summed */
    return summed(b, n);
}

CASE double given_away_inside(double *b, int n)
{
    double sum = 0;
    RECV(b, n, 1); /* delta: not pipelined: the call of summed */
    for (int i = 0; i < n; i += 100)
        sum += b[i] + summed(b + i, 10);
    return sum;
}

CASE double returned_to(double *b, int n)
{
    RECV(b, n, 2); /* delta: not pipelined: returns before a loop uses the buffer */
    return 0;
}

CASE double gathered(const double *b, const int *index, int n)
{
    double sum = 0;
    RECV((double *)(uintptr_t)b, n, 3); /* delta: not pipelined: not affine */
    for (int i = 0; i < n; i++)
        sum += b[index[i]] * i;
    return sum;
}

CASE double searched(double *b, int n)
{
    int i = 0;
    RECV(b, n, 4); /* delta: not pipelined: cannot be counted */
    while (i < n && b[i] < 16.5)
        i++;
    return i;
}

CASE double volatile_loads(volatile double *b, int n)
{
    double sum = 0;
    RECV((double *)(uintptr_t)b, n, 5); /* delta: not pipelined: volatile */
    for (int i = 0; i < n; i++)
        sum += b[i];
    return sum;
}

CASE double copied_from(double *b, double *to, int n)
{
    RECV(b, n, 6); /* delta: not pipelined: the call of memcpy */
    memcpy(to, b, (size_t)n * sizeof(*b));
    return 0;
}

CASE double received_any(double *b, int n, MPI_Datatype type)
{
    double sum = 0;
    MPIX_Delta_recv(b, n, type, 1, 7, MPI_COMM_WORLD, NULL); /* delta: not pipelined: not a constant */
    for (int i = 0; i < n; i++)
        sum += b[i];
    return sum;
}

CASE double jumped_to(double *b, volatile int n)
{
    double sum = 0;
    RECV(b, n, 8); /* delta: not pipelined: jumps of the function */
    if (setjmp(back) == 0)
        n /= 2;
    for (int i = 0; i < n; i++)
        sum += b[i];
    return sum;
}

/* Rows so far below the array that their addresses wrap: none of them is stored to, or read. */
CASE double far_behind(double *b, long first, long rows, long width, int n)
{
    MPI_Request r;
    BEGIN(b, n, &r); /* delta: pipelined: send */
    for (int i = 0; i < n; i++)
        b[i] = i + 3;
    for (long j = 0; j < rows; j++)
        if (j >= first)
            b[(j - first) * width + 7] = 8;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
    return b[7];
}

CASE double far_rows(double *b, long first, long rows, long width, int n)
{
    double sum = 0;
    RECV(b, n, 4); /* delta: pipelined: receive */
    for (long j = 0; j < rows; j++)
        if (j >= first)
            for (int i = 0; i < n; i++)
                sum = sum * 0.5 + b[(j - first) * width + i];
    return sum;
}

static double *last_words;

static void at_exit(void)
{
    printf("at exit: %.17g\n", summed(last_words, N));
}

/* Functions that run at the end of the program read the buffer. */
CASE double leaves(double *b, int n, int now)
{
    double sum = 0;
    RECV(b, n, 9); /* delta: pipelined: receive */
    if (now)
        exit(0);
    for (int i = 0; i < n; i++)
        sum += b[i];
    return sum;
}

int main(int argc, char **argv)
{
    static int index[N];
    static struct node nodes[N];
    begin_cases(argc, argv);
    for (int i = 0; i < N; i++) {
        index[i] = (i * 7919) % N;
        nodes[i].at = (i * 7919) % N;
        nodes[i].next = i + 1 < N ? &nodes[i + 1] : NULL;
    }
    RUN(stored_twice, 0, 0, memory[0], N);
    RUN(repeated, -1, 0, memory[0], N, 3);
    RUN(corner_behind, -1, 0, memory[0], N);
    RUN(twice_in_loop, -1, 0, memory[0], N);
    RUN(from_both_ends, -1, 0, memory[0], N);
    RUN(columns, -1, 0, memory[0], N / 60);
    RUN(indirect, -1, 0, memory[0], index, N);
    RUN(indirect_beside, -1, 0, memory[0], memory[0], index, N);
    RUN(squares, -1, 0, memory[0], N);
    RUN(call_between, -1, 0, memory[0], N);
    RUN(call_behind, -1, 0, 1000);
    RUN(through_pointer, -1, 0, memory[0], N, scribble);
    RUN(volatile_stores, -1, 0, memory[0], N);
    RUN(copied, -1, 0, memory[0], memory[1], N);
    RUN(copied_alone, -1, 0, memory[0], memory[1], N);
    RUN(list, -1, 0, memory[0], nodes, N);
    RUN(asm_between, -1, 0, memory[0], N);
    RUN(jumps, -1, 0, memory[0], N);
    RUN(ended_elsewhere, -1, 0, memory[0], N);
    RUN(ended_in_between, -1, 0, memory[0], N);
    RUN(ended_sometimes, -1, 0, memory[0], N, 1);
    RUN(which_end, -1, 0, memory[0], memory[1], N, 1);
    RUN(ended_by_the_next, -1, 0, memory[0], N, 3);
    RUN(ended_inside, -1, 0, memory[0], N, N / 2);
    RUN(by_hand, 1, 0, memory[0], N);
    RUN(any_type, -1, 0, memory[0], N, MPI_DOUBLE);
    RUN(little, -1, 0, memory[0]);
    RUN(given_away, -1, 1, memory[0], N);
    RUN(given_away_inside, -1, 1, memory[0], N);
    RUN(returned_to, -1, 1, memory[0], N);
    RUN(gathered, -1, 1, memory[0], index, N);
    RUN(searched, -1, 1, memory[0], N);
    RUN(volatile_loads, -1, 1, memory[0], N);
    RUN(copied_from, -1, 1, memory[0], memory[1], N);
    RUN(received_any, -1, 0, memory[0], N, MPI_DOUBLE);
    RUN(jumped_to, -1, 0, memory[0], N);
    RUN(exchanged, -1, 0, memory[0], memory[1], N);
    RUN(restarted, -1, 0, memory[0], memory[1], N);
    RUN(shortened, -1, 0, memory[0], N);
    RUN(far_behind, -1, 0, memory[0], 1L << 20, (1L << 20) + 1, 1L << 25, N);
    RUN(far_rows, -1, 1, memory[0], 1L << 20, (1L << 20) + 1, 1L << 25, N);
    last_words = memory[0];
    atexit(at_exit);
    return (int)leaves(memory[0], N, 1);
}
