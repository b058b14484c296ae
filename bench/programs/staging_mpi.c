/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A receiver that computes while messages arrive: rank 0 sends them in a cycle when rank 1 says so, rank 1
 * computes until they are all there and then receives them. Time inside the receive call alone counts: of all
 * rounds the lower quartile, because a machine that does something else too makes the others longer.
 * `nof bench staging` runs it under each prediction and reads the line of rank 1 for each pattern:
 *
 *   row PATTERN MICROSECONDS_PER_RECEIVE
 *
 *   staging_mpi recv|staged ROUNDS [PATTERN...]     (doubles that change little from one to the next: they compress) */
#include <math.h>
#include <mpi.h>
#include <mpi_offload.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CYCLE_MAX 12
#define ROUNDS_MAX 1000
#define WARM_ROUNDS 24
#define ROUND_BYTES (192 << 10) /* that are sent ahead, unless one message is longer */
#define GO_TAG 999

/* What one rank of NPB BT and CG, class W on 4, receives over and over; and one length, six times. */
struct pattern {
    const char *name;
    int n;
    int bytes[CYCLE_MAX];
};

static const struct pattern patterns[] = {
    {"8", 6, {8, 8, 8, 8, 8, 8}},
    {"64", 6, {64, 64, 64, 64, 64, 64}},
    {"1024", 6, {1024, 1024, 1024, 1024, 1024, 1024}},
    {"4096", 6, {4096, 4096, 4096, 4096, 4096, 4096}},
    {"16384", 6, {16384, 16384, 16384, 16384, 16384, 16384}},
    {"32768", 6, {32768, 32768, 32768, 32768, 32768, 32768}},
    {"65536", 6, {65536, 65536, 65536, 65536, 65536, 65536}},
    {"262144", 6, {262144, 262144, 262144, 262144, 262144, 262144}},
    {"1048576", 6, {1048576, 1048576, 1048576, 1048576, 1048576, 1048576}},
    {"bt", 12, {40560, 6760, 40560, 6760, 40560, 6760, 11520, 11520, 11520, 11520, 11520, 11520}},
    {"cg", 8, {28000, 28000, 8, 8, 28000, 28000, 8, 8}},
};

static int rank, in_place;
static double *out[CYCLE_MAX], *in;

/* A call site for each of the cycle's receives, as a program has. */
static double timed_receive(int step, int bytes)
{
    const void *data = in;
    double begin = MPI_Wtime(), end;
    switch (step) {
#define CALL(n) \
    case n: \
        if (in_place) \
            MPIX_Recv_staged(&data, bytes / 8, MPI_DOUBLE, 0, n, MPI_COMM_WORLD, MPI_STATUS_IGNORE); \
        else \
            MPI_Recv(in, bytes / 8, MPI_DOUBLE, 0, n, MPI_COMM_WORLD, MPI_STATUS_IGNORE); \
        __asm__ volatile("# so that the compiler keeps call site " #n); \
        break
        CALL(0);
        CALL(1);
        CALL(2);
        CALL(3);
        CALL(4);
        CALL(5);
        CALL(6);
        CALL(7);
        CALL(8);
        CALL(9);
        CALL(10);
        CALL(11);
#undef CALL
    default:
        break;
    }
    end = MPI_Wtime();
    if (memcmp(data, out[step], (size_t)bytes) != 0) {
        fprintf(stderr, "message %d of %d bytes is not what was sent\n", step, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (in_place)
        MPIX_Release(data);
    return end - begin;
}

/* How many messages a round has: as many as may be on their way. */
static int batch_of(const struct pattern *p, int from)
{
    int total = p->bytes[from % p->n];
    int n = 1;
    while (n < p->n && total + p->bytes[(from + n) % p->n] <= ROUND_BYTES)
        total += p->bytes[(from + n++) % p->n];
    return n;
}

static void compute(double seconds)
{
    double until = MPI_Wtime() + seconds;
    while (MPI_Wtime() < until)
        ;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void send_batch(const struct pattern *p, int at, int n)
{
    MPI_Request requests[CYCLE_MAX];
    MPI_Recv(NULL, 0, MPI_BYTE, 1, GO_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++) {
        int step = (at + i) % p->n;
        MPI_Isend(out[step], p->bytes[step] / 8, MPI_DOUBLE, 1, step, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

static double receive_batch(const struct pattern *p, int at, int n)
{
    double total = 0;
    double bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += p->bytes[(at + i) % p->n];
    MPI_Send(NULL, 0, MPI_BYTE, 0, GO_TAG, MPI_COMM_WORLD);
    for (int here = 0; !here;) {
        compute(100e-6);
        MPI_Iprobe(0, (at + n - 1) % p->n, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
    }
    compute(200e-6 + bytes * 10e-9); /* granted ones come after their announcement */
    for (int i = 0; i < n; i++)
        total += timed_receive((at + i) % p->n, p->bytes[(at + i) % p->n]);
    return total / n;
}

static void run(const struct pattern *p, int rounds)
{
    static double took[ROUNDS_MAX];
    int at = 0;
    for (int i = -WARM_ROUNDS; i < rounds; i++) {
        int n = batch_of(p, at);
        if (rank == 0) {
            send_batch(p, at, n);
        } else {
            double each = receive_batch(p, at, n);
            if (i >= 0)
                took[i] = each;
        }
        at = (at + n) % p->n;
    }
    if (rank != 1)
        return;
    qsort(took, (size_t)rounds, sizeof(took[0]), by_value);
    printf("row %s %.3f\n", p->name, took[rounds / 4] * 1e6);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 60;
    size_t most = 1 << 20;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    in_place = argc > 1 && strcmp(argv[1], "staged") == 0;
    if (rounds < 1 || rounds > ROUNDS_MAX)
        rounds = 60;
    in = malloc(most);
    for (int k = 0; k < CYCLE_MAX; k++) {
        out[k] = malloc(most);
        for (size_t i = 0; i < most / sizeof(double); i++)
            out[k][i] = 1.0 + sin((double)i * 1e-4 + k) * 0.5;
    }
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        int wanted = argc <= 3;
        for (int k = 3; k < argc; k++)
            wanted |= strcmp(argv[k], patterns[i].name) == 0;
        if (wanted)
            run(&patterns[i], rounds);
    }
    MPI_Finalize();
    return 0;
}
