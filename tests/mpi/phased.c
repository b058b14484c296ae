/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled communication: an all-to-all of any counts at each of its levels moves what MPI_Alltoallv moves, again and again,
 * out of other buffers, when arrays and datatypes are gone; what is refused or differs is an error at all ranks, and
 * counts that differ are one where they do, while nobody waits. */
#include "mpitest.h"

#define NOF_CCMPI_NAMES
#include "mpi_offload.h"

#define MOST 3000 /* elements of a message: below and above what needs a phase */
#define ROUNDS 3

static int *matrix; /* [from * t_size + to] */
static int *sendcounts, *sdispls, *recvcounts, *rdispls, *pairs, *first;
static int *out, *in, *want;

static void draw(unsigned seed)
{
    for (int i = 0; i < t_size * t_size; i++) {
        seed = seed * 1103515245u + 12345u;
        matrix[i] = (seed >> 16) % 4 == 0 ? 0 : (int)((seed >> 8) % MOST);
    }
    for (int i = 0, s = 0, r = 0; i < t_size; i++) {
        sendcounts[i] = matrix[t_rank * t_size + i];
        recvcounts[i] = matrix[i * t_size + t_rank];
        sdispls[i] = s;
        rdispls[i] = r;
        s += sendcounts[i] + i;
        r += recvcounts[i] + 1;
    }
}

static void fill(int round)
{
    for (int i = 0; i < t_size * (MOST + t_size); i++) {
        out[i] = (t_rank * 1000 + round) * 100000 + i;
        in[i] = want[i] = -1;
    }
}

/* By MPI_Alltoallv into `want`, then by the handle into `in`. */
static void compare(MPIX_Coll coll)
{
    for (int round = 0; round < ROUNDS; round++) {
        fill(round);
        OK(MPI_Alltoallv(out, sendcounts, sdispls, MPI_INT, want, recvcounts, rdispls, MPI_INT,
                         MPI_COMM_WORLD));
        OK(round == 1 ? MPI_Alltoallv_data_trans1(out, in, coll) : MPI_Alltoallv_data_trans2(out, in, coll));
        CHECK(memcmp(in, want, (size_t)(t_size * (MOST + t_size)) * sizeof(int)) == 0);
    }
}

/* Phase k has what each rank sends k + 1 ranks on. */
static struct MPIX_Phases shift(void)
{
    int n = 0;
    for (int k = 0; k + 1 < t_size; k++) {
        first[k] = n;
        for (int i = 0; i < t_size; i++) {
            int to = (i + k + 1) % t_size;
            if (matrix[i * t_size + to] == 0)
                continue;
            pairs[2 * n] = i;
            pairs[2 * n + 1] = to;
            n++;
        }
    }
    first[t_size - 1] = n;
    return (struct MPIX_Phases){t_size, t_size - 1, first, (const int(*)[2])(void *)pairs};
}

static void levels(unsigned seed)
{
    MPIX_Coll coll[3];
    draw(seed);
    OK(MPI_Alltoallv_control1(sendcounts, sdispls, MPI_INT, recvcounts, rdispls, MPI_INT, MPI_COMM_WORLD,
                              &coll[0]));
    OK(MPI_Alltoallv_control2(matrix, sdispls, MPI_INT, rdispls, MPI_INT, MPI_COMM_WORLD, &coll[1]));
    struct MPIX_Phases phases = shift();
    OK(MPIX_Alltoallv_load(&phases, sendcounts, sdispls, MPI_INT, recvcounts, rdispls, MPI_INT,
                           MPI_COMM_WORLD, &coll[2]));
    for (int i = 0; i < 3; i++) {
        CHECK(MPIX_Coll_f2c(MPIX_Coll_c2f(coll[i])) == coll[i]);
        compare(coll[i]);
    }
    for (int i = 0; i < 3; i++) {
        MPIX_Coll copy = coll[i];
        OK(MPIX_Coll_free(&coll[i]));
        CHECK(coll[i] == MPIX_COLL_NULL);
        FAILS(MPIX_Alltoallv_data_trans2(out, in, copy), MPI_ERR_ARG);
    }
}

/* The others ask after a second; who polls answers. */
static void come_late(void)
{
    int flag;
    for (double end = MPI_Wtime() + 2; MPI_Wtime() < end;)
        OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
}

/* Every other int of the sender, in a type that is freed before it is used, as are the arrays; of a communicator too, where all
 * wait for one that is late. */
static void lives_on(void)
{
    MPI_Comm comm;
    MPI_Datatype gaps;
    MPIX_Coll coll;
    int *ones = malloc((size_t)t_size * sizeof(int)), *places = malloc((size_t)t_size * sizeof(int));
    CHECK(ones != NULL && places != NULL);
    for (int i = 0; i < t_size; i++) {
        ones[i] = 1;
        places[i] = i;
    }
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Type_vector(600, 1, 2, MPI_INT, &gaps));
    OK(MPI_Type_commit(&gaps));
    MPI_Datatype dense;
    OK(MPI_Type_contiguous(600, MPI_INT, &dense));
    OK(MPI_Type_commit(&dense));
    OK(MPIX_Alltoallv_control1(ones, places, gaps, ones, places, dense, comm, &coll));
    OK(MPI_Type_free(&gaps));
    OK(MPI_Type_free(&dense));
    OK(MPI_Comm_free(&comm));
    memset(places, 99, (size_t)t_size * sizeof(int));
    fill(0);
    OK(MPIX_Alltoallv_data_trans2(out, in, coll));
    if (t_rank == t_size - 1)
        come_late();
    fill(0);
    OK(MPIX_Alltoallv_data_trans2(out, in, coll));
    for (int i = 0; i < t_size; i++)
        for (int k = 0; k < 600; k++)
            CHECK(in[i * 600 + k] == i * 1000 * 100000 + t_rank * 1199 + 2 * k);
    OK(MPIX_Coll_free(&coll));
    free(ones);
    free(places);
}

/* What comes is told, and lies without gaps. */
static void told(unsigned seed)
{
    MPIX_Coll coll = MPIX_COLL_NULL;
    int *counts = malloc((size_t)t_size * sizeof(*counts)), at = 0;
    CHECK(counts != NULL);
    draw(seed);
    memcpy(counts, recvcounts, (size_t)t_size * sizeof(*counts));
    memset(recvcounts, 0xff, (size_t)t_size * sizeof(*recvcounts));
    memset(rdispls, 0xff, (size_t)t_size * sizeof(*rdispls));
    OK(MPI_Alltoallv_control1_told(sendcounts, sdispls, MPI_INT, recvcounts, rdispls, MPI_INT, MPI_COMM_WORLD,
                                   &coll));
    for (int i = 0; i < t_size; i++) {
        CHECK(recvcounts[i] == counts[i] && rdispls[i] == at);
        at += counts[i];
    }
    compare(coll);
    OK(MPIX_Coll_free(&coll));
    int last = t_rank == t_size - 1;
    MPI_Datatype other = last ? MPI_DOUBLE : MPI_INT;
    FAILS(MPIX_Alltoallv_control1_told(sendcounts, sdispls, other, recvcounts, rdispls, other, MPI_COMM_WORLD,
                                       &coll),
          MPI_ERR_ARG);
    FAILS(MPIX_Alltoallv_control1_told(sendcounts, sdispls, MPI_INT, recvcounts, rdispls, other,
                                       MPI_COMM_WORLD, &coll),
          last ? MPI_ERR_TYPE : MPI_ERR_ARG);
    char text[MPI_MAX_ERROR_STRING];
    int len;
    int rc = MPIX_Alltoallv_control1_told(sendcounts, sdispls, MPI_INT, last ? NULL : recvcounts, rdispls,
                                          MPI_INT, MPI_COMM_WORLD, &coll);
    FAILS(rc, MPI_ERR_ARG);
    OK(MPI_Error_string(rc, text, &len));
    CHECK(!last || strstr(text, "the counts are NULL") != NULL);
    rc = last ? MPIX_Alltoallv_control1(sendcounts, sdispls, MPI_INT, counts, rdispls, MPI_INT,
                                        MPI_COMM_WORLD, &coll)
              : MPIX_Alltoallv_control1_told(sendcounts, sdispls, MPI_INT, recvcounts, rdispls, MPI_INT,
                                             MPI_COMM_WORLD, &coll);
    FAILS(rc, MPI_ERR_ARG);
    for (int i = 0; i < t_size; i++)
        sendcounts[i] = i == 0 ? INT32_MAX : 1;
    FAILS(MPIX_Alltoallv_control1_told(sendcounts, sdispls, MPI_BYTE, recvcounts, rdispls, MPI_BYTE,
                                       MPI_COMM_WORLD, &coll),
          MPI_ERR_COUNT);
    CHECK(coll == MPIX_COLL_NULL);
    free(counts);
}

/* The first rank sends one element more to all than they expect, and expects one more than they send. */
static void lengths_differ(void)
{
    MPIX_Coll coll;
    for (int i = 0; i < t_size; i++) {
        sendcounts[i] = recvcounts[i] = 1000;
        sdispls[i] = rdispls[i] = 1001 * i;
    }
    for (int i = 1; i < t_size && t_rank == 0; i++) {
        sendcounts[i]++;
        recvcounts[i]++;
    }
    OK(MPIX_Alltoallv_control1(sendcounts, sdispls, MPI_INT, recvcounts, rdispls, MPI_INT, MPI_COMM_WORLD,
                               &coll));
    fill(0);
    FAILS(MPIX_Alltoallv_data_trans2(out, in, coll), t_rank == 0 ? MPI_ERR_COUNT : MPI_ERR_TRUNCATE);
    for (int i = 0; i < t_size; i++)
        CHECK(in[1001 * i] == i * 100000000 + 1001 * t_rank && in[1001 * i + 999] == in[1001 * i] + 999);
    OK(MPIX_Coll_free(&coll));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void refused(void)
{
    MPIX_Coll coll;
    int last = t_rank == t_size - 1;
    draw(77);
    struct MPIX_Phases phases = shift();
    sendcounts[0] = last ? -1 : sendcounts[0];
    FAILS(MPIX_Alltoallv_control1(sendcounts, sdispls, MPI_INT, recvcounts, rdispls, MPI_INT, MPI_COMM_WORLD,
                                  &coll),
          last ? MPI_ERR_COUNT : MPI_ERR_ARG);
    CHECK(coll == MPIX_COLL_NULL);
    draw(77);
    matrix[1] += last;
    FAILS(MPIX_Alltoallv_control2(matrix, sdispls, MPI_INT, rdispls, MPI_INT, MPI_COMM_WORLD, &coll),
          MPI_ERR_ARG);
    FAILS(MPIX_Alltoallv_control2(last ? NULL : matrix, sdispls, MPI_INT, rdispls, MPI_INT, MPI_COMM_WORLD,
                                  &coll),
          MPI_ERR_ARG);
    FAILS(MPIX_Alltoallv_control2(matrix, sdispls, MPI_INT, rdispls, last ? MPI_DOUBLE : MPI_INT,
                                  MPI_COMM_WORLD, &coll),
          last ? MPI_ERR_TYPE : MPI_ERR_ARG);
    phases.phase_count -= last;
    phases.ranks += last;
    FAILS(MPIX_Alltoallv_load(&phases, sendcounts, sdispls, MPI_INT, recvcounts, rdispls, MPI_INT,
                              MPI_COMM_WORLD, &coll),
          MPI_ERR_ARG);
    draw(77);
    phases = shift();
    pairs[0] = pairs[1]; /* at all ranks */
    FAILS(MPIX_Alltoallv_load(&phases, sendcounts, sdispls, MPI_INT, recvcounts, rdispls, MPI_INT,
                              MPI_COMM_WORLD, &coll),
          MPI_ERR_RANK);
    FAILS(MPIX_Alltoallv_load(NULL, sendcounts, sdispls, MPI_INT, recvcounts, rdispls, MPI_INT,
                              MPI_COMM_WORLD, &coll),
          MPI_ERR_ARG);
    FAILS(MPIX_Alltoallv_control1(sendcounts, sdispls, MPI_INT, recvcounts, rdispls, MPI_INT, MPI_COMM_WORLD,
                                  NULL),
          MPI_ERR_ARG);
    OK(MPIX_Alltoallv_control1(sendcounts, sdispls, MPI_INT, recvcounts, rdispls, MPI_INT, MPI_COMM_WORLD,
                               &coll));
    FAILS(MPIX_Alltoallv_data_trans2(MPI_IN_PLACE, in, coll), MPI_ERR_BUFFER);
    OK(MPIX_Coll_free(&coll));
    FAILS(MPIX_Coll_free(&coll), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    size_t n = (size_t)t_size, elements = n * (MOST + n);
    int *arrays = malloc((n * n + 5 * n + 2 * n * n) * sizeof(int));
    out = malloc(3 * elements * sizeof(int));
    CHECK(arrays != NULL && out != NULL);
    in = out + elements;
    want = in + elements;
    matrix = arrays;
    sendcounts = matrix + n * n;
    sdispls = sendcounts + n;
    recvcounts = sdispls + n;
    rdispls = recvcounts + n;
    first = rdispls + n;
    pairs = first + n;
    for (unsigned seed = 1; seed <= 5; seed++) {
        levels(seed);
        told(seed);
    }
    lives_on();
    lengths_differ();
    refused();
    free(arrays);
    free(out);
    return t_end();
}
