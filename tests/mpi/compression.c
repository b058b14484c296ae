/* SPDX-License-Identifier: BSD-3-Clause */
/* What travels compressed comes out bit by bit: all types, lengths around the threshold, numbers that are none,
 * layouts, collectives. Argument: how many times smaller, in percent, the smooth messages must have become on the
 * wire (0: nothing may have been compressed). */
#include "mpitest.h"

#include "mpi_offload.h"

#define MOST (1 << 17) /* bytes */

static uint8_t sent[MOST], got[MOST], want[MOST];

enum content { SMOOTH, SPECIAL, NOISE, CONTENTS };

static double wave(double x)
{
    return 3.0 + 1e-3 * x - 1e-7 * x * x + 1e-13 * x * x * x;
}

/* Any rank can tell what another sends. */
static void fill(uint8_t *to, size_t bytes, enum content content, int rank, int round)
{
    static const uint64_t special[] = {
        0x7ff8000000000001u, 0xfff0000000000000u, 0x8000000000000000u, 1, 0x7ff4dead0000beefu, 0};
    uint64_t noise = (uint64_t)rank * 7919 + (uint64_t)round + 1;
    for (size_t i = 0; i < bytes / 8 + 1; i++) {
        double smooth = wave((double)(i + (size_t)(round * 3)) + 100 * rank);
        uint64_t word;
        memcpy(&word, &smooth, 8);
        noise = noise * 6364136223846793005u + 1442695040888963407u;
        if (content == SPECIAL)
            word = special[(i + (size_t)rank) % 6] ^ (i % 50 == 0 ? noise : 0);
        else if (content == NOISE)
            word = noise ^ noise >> 31;
        memcpy(to + 8 * i, &word, 8 * i + 8 <= bytes ? 8 : bytes - 8 * i);
    }
}

static void ring(MPI_Datatype type, size_t bytes, enum content content, int round)
{
    int size;
    OK(MPI_Type_size(type, &size));
    int to = (t_rank + 1) % t_size, from = (t_rank + t_size - 1) % t_size;
    int n = (int)(bytes / (size_t)size);
    bytes = (size_t)n * (size_t)size;
    fill(sent, bytes, content, t_rank, round);
    fill(want, bytes, content, from, round);
    memset(got, 0x55, bytes + 8);
    OK(MPI_Sendrecv(sent, n, type, to, round, got, n, type, from, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(memcmp(got, want, bytes) == 0);
    CHECK(got[bytes] == 0x55);
}

static void types_and_lengths(void)
{
    const MPI_Datatype types[] = {
        MPI_DOUBLE,           MPI_FLOAT,           MPI_INT64_T, MPI_UINT64_T, MPI_INT32_T, MPI_UINT32_T,
        MPI_C_DOUBLE_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_BYTE,    MPI_CHAR,     MPI_SHORT};
    const size_t lengths[] = {0,    8,    1016, 1024,  1032,  1400,  1408,
                              1424, 1432, 8192, 16384, 16392, 65536, 100000};
    int round = 0;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
            ring(types[t], lengths[l], (enum content)((t + l) % CONTENTS), round++);
}

/* Columns of a matrix, and a type of several numbers. */
static void layouts(void)
{
    enum { ROWS = 64, COLUMNS = 96 };
    static double a[ROWS][COLUMNS], b[ROWS][COLUMNS];
    MPI_Datatype column, both;
    OK(MPI_Type_vector(ROWS, 24, COLUMNS, MPI_DOUBLE, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Type_contiguous(2, MPI_DOUBLE, &both));
    OK(MPI_Type_commit(&both));
    int to = (t_rank + 1) % t_size, from = (t_rank + t_size - 1) % t_size;
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                a[i][j] = wave(i + j + round + 50 * t_rank);
        memset(b, 0, sizeof b);
        OK(MPI_Sendrecv(&a[0][5], 1, column, to, 1, &b[0][8], 1, column, from, 1, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                CHECK(b[i][j] == (j >= 8 && j < 32 ? wave(i + j - 3 + round + 50 * from) : 0));
        OK(MPI_Sendrecv(a, ROWS * COLUMNS / 2, both, to, 2, b, ROWS * COLUMNS, MPI_DOUBLE, from, 2,
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                CHECK(b[i][j] == wave(i + j + round + 50 * from));
    }
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&both));
}

static void collectives(void)
{
    enum { N = 3000 };
    static double mine[N], all[8 * N], sum[N];
    CHECK(t_size <= 8);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < N; i++)
            mine[i] = (double)((i + round) * (t_rank + 1));
        OK(MPI_Allgather(mine, N, MPI_DOUBLE, all, N, MPI_DOUBLE, MPI_COMM_WORLD));
        for (int r = 0; r < t_size; r++)
            for (int i = 0; i < N; i++)
                CHECK(all[r * N + i] == (double)((i + round) * (r + 1)));
        OK(MPI_Allreduce(mine, sum, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        for (int i = 0; i < N; i++)
            CHECK(sum[i] == (double)((i + round) * (t_size * (t_size + 1) / 2)));
        OK(MPI_Bcast(mine, N, MPI_DOUBLE, round % t_size, MPI_COMM_WORLD));
        for (int i = 0; i < N; i++)
            CHECK(mine[i] == (double)((i + round) * (round % t_size + 1)));
    }
}

static unsigned long long counter(const char *name)
{
    unsigned long long value = 0;
    OK(MPIX_Nic_counters(name, &value));
    return value;
}

#define WINDOWS 10 /* what pays is measured: on a busy machine it may take some */

/* Smooth numbers, and what they were on the wire. */
static void shrinks(unsigned percent)
{
    unsigned long long plain, wire;
    int crosses, all = 0;
    for (int window = 0; window < WINDOWS && all < 2; window++) {
        plain = counter("codec.tx_plain_bytes");
        wire = counter("codec.tx_bytes");
        for (int round = 0; round < 20; round++)
            ring(MPI_DOUBLE, 40000, SMOOTH, round);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        plain = counter("codec.tx_plain_bytes") - plain;
        wire = counter("codec.tx_bytes") - wire;
        /* A neighbour on the same host is reached without the wire, but for the end of what came before; round the ring at
         * least two are not. */
        crosses = percent == 0 || plain >= 400000;
        OK(MPI_Allreduce(&crosses, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    }
    CHECK(all >= 2);
    if (percent == 0)
        CHECK(plain == 0);
    else if (crosses)
        CHECK(plain * 100 >= wire * (100 + percent));
    CHECK(counter("codec.bad") == 0);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    types_and_lengths();
    layouts();
    collectives();
    shrinks(argc > 1 ? (unsigned)atoi(argv[1]) : 0);
    return t_end();
}
