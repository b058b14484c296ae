/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that another implementation's compiler wrapper built: it knows the standard's ABI (MPI 5.0, chapter 20)
 * and no header of ours. Two ranks exchange messages, reduce with an operation of their own, and get errors back. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct MPI_ABI_Comm *Comm;
typedef struct MPI_ABI_Datatype *Datatype;
typedef struct MPI_ABI_Op *Op;
typedef struct MPI_ABI_Request *Request;
typedef struct MPI_ABI_Errhandler *Errhandler;
typedef struct MPI_ABI_Info *Info;
typedef struct {
    int source, tag, error, internal[5];
} Status;

#define WORLD ((Comm)0x101)
#define INT ((Datatype)0x209)
#define DOUBLE ((Datatype)0x214)
#define SUM ((Op)0x21)
#define OP_NULL ((Op)0x20)
#define REQUEST_NULL ((Request)0x180)
#define INFO_NULL ((Info)0x130)
#define ERRORS_RETURN ((Errhandler)0x143)
#define IN_PLACE ((void *)1)
#define ANY_SOURCE (-1)
#define ANY_TAG (-2)
#define PROC_NULL (-3)
#define ERR_RANK 6
#define THREAD_FUNNELED 1024

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Finalize(void);
int MPI_Abi_get_version(int *major, int *minor);
int MPI_Comm_rank(Comm comm, int *rank);
int MPI_Comm_size(Comm comm, int *size);
int MPI_Comm_set_errhandler(Comm comm, Errhandler errhandler);
int MPI_Comm_toint(Comm comm);
int MPI_Error_class(int code, int *class);
int MPI_Send(const void *buf, int count, Datatype type, int dest, int tag, Comm comm);
int MPI_Irecv(void *buf, int count, Datatype type, int source, int tag, Comm comm, Request *request);
int MPI_Waitall(int count, Request requests[], Status statuses[]);
int MPI_Get_count(const Status *status, Datatype type, int *count);
int MPI_Type_vector(int count, int blocklength, int stride, Datatype old, Datatype *made);
int MPI_Type_commit(Datatype *type);
int MPI_Type_free(Datatype *type);
int MPI_Op_create(void (*function)(void *, void *, int *, Datatype *), int commute, Op *op);
int MPI_Op_free(Op *op);
int MPI_Allreduce(const void *send, void *recv, int count, Datatype type, Op op, Comm comm);
int MPI_Psend_init_c(const void *buf, int partitions, int64_t count, Datatype type, int dest, int tag,
                     Comm comm, Info info, Request *request);
int MPI_Request_free(Request *request);

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

static void longest(void *in, void *inout, int *len, Datatype *type)
{
    CHECK(*type == INT);
    for (int i = 0; i < *len; i++)
        if (((int *)in)[i] > ((int *)inout)[i])
            ((int *)inout)[i] = ((int *)in)[i];
}

static void exchange(int rank)
{
    double matrix[4][3] = {{0}}, column[4] = {0};
    Request requests[2] = {REQUEST_NULL, REQUEST_NULL};
    Status statuses[2];
    Datatype type;
    int count = -1;

    for (int i = 0; i < 4; i++)
        matrix[i][1] = 10 * rank + i;
    memset(statuses, 0x55, sizeof(statuses));
    CHECK(MPI_Type_vector(4, 1, 3, DOUBLE, &type) == 0 && MPI_Type_commit(&type) == 0);
    CHECK(MPI_Irecv(column, 4, DOUBLE, ANY_SOURCE, ANY_TAG, WORLD, &requests[0]) == 0);
    CHECK(requests[0] != REQUEST_NULL && requests[0] != NULL);
    CHECK(MPI_Send(&matrix[0][1], 1, type, 1 - rank, 40 + rank, WORLD) == 0);
    CHECK(MPI_Waitall(2, requests, statuses) == 0);
    CHECK(requests[0] == REQUEST_NULL);
    CHECK(statuses[0].source == 1 - rank && statuses[0].tag == 41 - rank);
    CHECK(statuses[1].source == ANY_SOURCE && statuses[1].tag == ANY_TAG);
    CHECK(MPI_Get_count(&statuses[0], DOUBLE, &count) == 0 && count == 4);
    for (int i = 0; i < 4; i++)
        CHECK(column[i] > 10 * (1 - rank) + i - 0.5 && column[i] < 10 * (1 - rank) + i + 0.5);
    CHECK(MPI_Type_free(&type) == 0);
    CHECK(MPI_Psend_init_c(column, 4, 1, DOUBLE, PROC_NULL, 0, WORLD, INFO_NULL, &requests[0]) == 0);
    CHECK(MPI_Request_free(&requests[0]) == 0 && requests[0] == REQUEST_NULL);
}

int main(int argc, char **argv)
{
    int provided, major, minor, rank, size, class, value, sum;
    Op op;

    CHECK(MPI_Init_thread(&argc, &argv, THREAD_FUNNELED, &provided) == 0 && provided >= THREAD_FUNNELED);
    CHECK(MPI_Abi_get_version(&major, &minor) == 0 && major == 1 && minor == 0);
    CHECK(MPI_Comm_rank(WORLD, &rank) == 0 && MPI_Comm_size(WORLD, &size) == 0);
    CHECK(size == 2 && MPI_Comm_toint(WORLD) == 0x101);
    exchange(rank);

    value = rank + 1;
    CHECK(MPI_Allreduce(&value, &sum, 1, INT, SUM, WORLD) == 0 && sum == 3);
    CHECK(MPI_Op_create(longest, 1, &op) == 0);
    CHECK(MPI_Allreduce(IN_PLACE, &value, 1, INT, op, WORLD) == 0 && value == 2);
    CHECK(MPI_Op_free(&op) == 0 && op == OP_NULL);

    CHECK(MPI_Comm_set_errhandler(WORLD, ERRORS_RETURN) == 0);
    int rc = MPI_Send(&value, 1, INT, 99, 0, WORLD);
    CHECK(rc != 0 && MPI_Error_class(rc, &class) == 0 && class == ERR_RANK);
    CHECK(MPI_Finalize() == 0);
    if (rank == 0)
        puts("a program of the standard's ABI ran");
    return 0;
}
