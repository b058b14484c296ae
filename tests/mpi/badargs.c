/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong arguments give the error class that the standard names, through the error handler of the
 * communicator, and leave the library usable. Freed handles are found out. */
#include "mpitest.h"

#include <limits.h>

static void ranks_tags_counts(void)
{
    int v[4] = {0};
    MPI_Request req;
    MPI_Status status;
    int flag;
    FAILS(MPI_Send(v, 1, MPI_INT, t_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    FAILS(MPI_Send(v, 1, MPI_INT, -77, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    FAILS(MPI_Send(v, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    FAILS(MPI_Isend(v, 1, MPI_INT, t_size, 0, MPI_COMM_WORLD, &req), MPI_ERR_RANK);
    FAILS(MPI_Recv(v, 1, MPI_INT, t_size, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
    FAILS(MPI_Irecv(v, 1, MPI_INT, -77, 0, MPI_COMM_WORLD, &req), MPI_ERR_RANK);
    FAILS(MPI_Probe(t_size, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
    FAILS(MPI_Iprobe(t_size, 0, MPI_COMM_WORLD, &flag, &status), MPI_ERR_RANK);
    FAILS(MPI_Send(v, 1, MPI_INT, 0, -5, MPI_COMM_WORLD), MPI_ERR_TAG);
    FAILS(MPI_Send(v, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
    FAILS(MPI_Recv(v, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, &status), MPI_ERR_TAG);
    FAILS(MPI_Send(v, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Recv(v, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status), MPI_ERR_COUNT);
    FAILS(MPI_Send(v, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    FAILS(MPI_Send(v, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    OK(MPI_Send(v, 4, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
}

static void handles(void)
{
    int v[3] = {0}, size;
    MPI_Datatype type, none = MPI_DATATYPE_NULL;
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    FAILS(MPI_Send(v, 1, type, t_rank, 0, MPI_COMM_WORLD), MPI_ERR_TYPE); /* not committed */
    FAILS(MPI_Type_free(&none), MPI_ERR_TYPE);
    FAILS(MPI_Type_commit(&none), MPI_ERR_TYPE);
    OK(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL);
    FAILS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);

    MPI_Group group, null_group = MPI_GROUP_NULL;
    FAILS(MPI_Group_size(null_group, &size), MPI_ERR_GROUP);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    int outside[1] = {t_size};
    MPI_Group bad;
    FAILS(MPI_Group_incl(group, 1, outside, &bad), MPI_ERR_RANK);
    OK(MPI_Group_free(&group));

    MPI_Comm none_comm = MPI_COMM_NULL, world = MPI_COMM_WORLD;
    FAILS(MPI_Comm_size(none_comm, &size), MPI_ERR_COMM);
    FAILS(MPI_Comm_free(&none_comm), MPI_ERR_COMM);
    FAILS(MPI_Comm_free(&world), MPI_ERR_COMM);

    MPI_Op sum = MPI_SUM, none_op = MPI_OP_NULL;
    FAILS(MPI_Op_free(&sum), MPI_ERR_OP);
    FAILS(MPI_Op_free(&none_op), MPI_ERR_OP);

    MPI_Request null_request = MPI_REQUEST_NULL;
    FAILS(MPI_Cancel(&null_request), MPI_ERR_REQUEST);
    FAILS(MPI_Request_free(&null_request), MPI_ERR_REQUEST);
    FAILS(MPI_Start(&null_request), MPI_ERR_REQUEST);
}

static void collectives(void)
{
    int in[4] = {0}, out[4];
    double d = 0, e;
    FAILS(MPI_Bcast(in, 1, MPI_INT, t_size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(in, 1, MPI_INT, -9, MPI_COMM_WORLD), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(in, -1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Reduce(in, out, 1, MPI_INT, MPI_OP_NULL, 0, MPI_COMM_WORLD), MPI_ERR_OP);
    FAILS(MPI_Allreduce(&d, &e, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
    FAILS(MPI_Allreduce(in, out, 1, MPI_INT, MPI_MAXLOC, MPI_COMM_WORLD), MPI_ERR_OP);
    FAILS(MPI_Allreduce(in, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    FAILS(MPI_Allreduce(in, out, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
}

/* Rank 0 has no result, but its operand is there. */
static void exscan_without_operand(void)
{
    int v[2] = {5, 6};
    FAILS(MPI_Exscan(MPI_IN_PLACE, NULL, 2, MPI_INT, MPI_SUM, MPI_COMM_SELF), MPI_ERR_BUFFER);
    OK(MPI_Exscan(MPI_IN_PLACE, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_SELF));
    OK(MPI_Exscan(MPI_IN_PLACE, v, 2, MPI_INT, MPI_SUM, MPI_COMM_SELF));
    OK(MPI_Exscan(v, NULL, 2, MPI_INT, MPI_SUM, MPI_COMM_SELF));
    CHECK(v[0] == 5 && v[1] == 6);
}

/* Nowhere to put an answer: an error, not a crash. */
static void places(void)
{
    int v[4] = {0}, flag, index, size;
    char name[MPI_MAX_ERROR_STRING];
    MPI_Aint lb;
    MPI_Request req = MPI_REQUEST_NULL;
    FAILS(MPI_Isend(v, 1, MPI_INT, t_rank, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    FAILS(MPI_Irecv(v, 1, MPI_INT, t_rank, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    FAILS(MPI_Send_init(v, 1, MPI_INT, t_rank, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    FAILS(MPI_Recv_init(v, 1, MPI_INT, t_rank, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    FAILS(MPI_Ibarrier(MPI_COMM_SELF, NULL), MPI_ERR_ARG);
    FAILS(MPI_Iprobe(t_rank, 0, MPI_COMM_WORLD, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Mprobe(t_rank, 0, MPI_COMM_WORLD, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Wait(NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Test(NULL, &flag, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Test(&req, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Waitany(1, &req, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Testany(1, &req, &index, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Testall(1, &req, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Waitsome(1, &req, &index, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Start(NULL), MPI_ERR_ARG);
    FAILS(MPI_Startall(1, NULL), MPI_ERR_ARG);
    FAILS(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG);
    FAILS(MPI_Type_commit(NULL), MPI_ERR_ARG);
    FAILS(MPI_Type_size(MPI_INT, NULL), MPI_ERR_ARG);
    FAILS(MPI_Type_get_extent(MPI_INT, &lb, NULL), MPI_ERR_ARG);
    FAILS(MPI_Type_get_name(MPI_INT, name, NULL), MPI_ERR_ARG);
    FAILS(MPI_Pack(v, 1, MPI_INT, v, 4, NULL, MPI_COMM_WORLD), MPI_ERR_ARG);
    FAILS(MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    FAILS(MPI_Pack_external("external32", v, 1, MPI_INT, v, 4, NULL), MPI_ERR_ARG);
    FAILS(MPI_Pack_external_size("external32", 1, MPI_INT, NULL), MPI_ERR_ARG);
    FAILS(MPI_Op_free(NULL), MPI_ERR_ARG);
    FAILS(MPI_Topo_test(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    FAILS(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, NULL), MPI_ERR_ARG);
    FAILS(MPI_Initialized(NULL), MPI_ERR_ARG);
    FAILS(MPI_Get_version(&size, NULL), MPI_ERR_ARG);
    FAILS(MPI_Error_string(MPI_ERR_ARG, name, NULL), MPI_ERR_ARG);
}

static void texts(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int len = 0, error_class;
    int code = MPI_Send(&len, 1, MPI_INT, t_size + 3, 0, MPI_COMM_WORLD);
    OK(MPI_Error_string(code, text, &len));
    CHECK(len > 0 && (size_t)len == strlen(text));
    char again[MPI_MAX_ERROR_STRING];
    for (int i = 0; i < 5000; i++) { /* more than texts are kept; one of another reason now and then */
        if (i % 7 == 0)
            FAILS(MPI_Send(&len, -1 - i % 3, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
        CHECK(MPI_Send(&len, 1, MPI_INT, t_size + 3, 0, MPI_COMM_WORLD) == code);
    }
    OK(MPI_Error_string(code, again, &len));
    CHECK(strcmp(text, again) == 0);
    for (int c = MPI_SUCCESS; c <= MPI_ERR_PENDING; c++) {
        OK(MPI_Error_class(c, &error_class));
        CHECK(error_class == c);
        OK(MPI_Error_string(c, text, &len));
        CHECK(len > 0);
    }
    int own_class, own_code;
    OK(MPI_Add_error_class(&own_class));
    OK(MPI_Add_error_code(own_class, &own_code));
    OK(MPI_Add_error_string(own_code, "my own error"));
    OK(MPI_Error_class(own_code, &error_class));
    CHECK(error_class == own_class && own_class > MPI_ERR_LASTCODE);
    OK(MPI_Error_string(own_code, text, &len));
    CHECK(strcmp(text, "my own error") == 0);
}

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *len; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* Sizes that no size_t or MPI_Aint can say must not wrap around to small ones. */
static void sizes(void)
{
    char in[8] = {0}, out[8];
    int displ = INT_MAX, one = 1, position = 0;
    MPI_Datatype giga, vast, type;
    OK(MPI_Type_contiguous(1 << 30, MPI_DOUBLE, &giga));
    OK(MPI_Type_contiguous(1 << 25, giga, &vast));
    OK(MPI_Type_commit(&vast));
    FAILS(MPI_Send(in, 1 << 6, vast, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Recv(out, 1 << 6, vast, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    FAILS(MPI_Bcast(in, 1 << 6, vast, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Pack(in, 1 << 6, vast, out, 8, &position, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Type_contiguous(1 << 6, vast, &type), MPI_ERR_COUNT);
    FAILS(MPI_Type_vector(2, 1, 1 << 10, vast, &type), MPI_ERR_COUNT);
    FAILS(MPI_Type_indexed(1, &one, &displ, vast, &type), MPI_ERR_COUNT);
    FAILS(MPI_Type_create_resized(MPI_INT, PTRDIFF_MAX, 1, &type), MPI_ERR_COUNT);
    OK(MPI_Type_free(&giga));
    OK(MPI_Type_free(&vast));
}

/* Nor places that no address reaches: elements or blocks too far apart. */
static void distances(void)
{
    int in[4] = {0}, out[4], counts[64], displs[64];
    MPI_Datatype far;
    MPI_Op op;
    OK(MPI_Type_create_resized(MPI_INT, 0, PTRDIFF_MAX / 4, &far));
    OK(MPI_Type_commit(&far));
    OK(MPI_Op_create(add, 1, &op));
    FAILS(MPI_Send(in, 6, far, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Allreduce(in, out, 6, far, op, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Allgather(in, 1, MPI_INT, out, 4, far, MPI_COMM_WORLD), MPI_ERR_COUNT);
    for (int i = 0; i < 64; i++) {
        counts[i] = i % 2;
        displs[i] = i * 6; /* of an empty block it says nothing */
    }
    if (t_size <= 64)
        FAILS(MPI_Allgatherv(in, t_rank % 2, MPI_INT, out, counts, displs, far, MPI_COMM_WORLD),
              MPI_ERR_COUNT);
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&far));
}

/* NULL is where displacements that are addresses count from, and no buffer of any other type. */
static void null_buffers(void)
{
    int from[2] = {5 + t_rank, 7}, to[2] = {0}, packed[2], position = 0, ones[2] = {1, 1};
    MPI_Aint places[2][2];
    MPI_Datatype apart, absolute[2];
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &apart));
    OK(MPI_Type_commit(&apart));
    FAILS(MPI_Send(NULL, 1, apart, t_rank, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    FAILS(MPI_Recv(NULL, 1, apart, t_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
    FAILS(MPI_Bcast(NULL, 1, apart, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    FAILS(MPI_Pack(NULL, 1, apart, packed, 8, &position, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    FAILS(MPI_Pack(from, 2, MPI_INT, NULL, 8, &position, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    FAILS(MPI_Unpack(packed, 8, &position, NULL, 1, apart, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    OK(MPI_Send(NULL, 0, apart, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Type_free(&apart));

    for (int i = 0; i < 2; i++) {
        OK(MPI_Get_address(&from[i], &places[0][i]));
        OK(MPI_Get_address(&to[1 - i], &places[1][i]));
    }
    for (int i = 0; i < 2; i++) {
        OK(MPI_Type_create_hindexed(2, ones, places[i], MPI_INT, &absolute[i]));
        OK(MPI_Type_commit(&absolute[i]));
    }
    OK(MPI_Sendrecv(MPI_BOTTOM, 1, absolute[0], t_rank, 3, NULL, 1, absolute[1], t_rank, 3, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    CHECK(to[0] == 7 && to[1] == 5 + t_rank);
    OK(MPI_Pack(MPI_BOTTOM, 1, absolute[0], packed, 8, &position, MPI_COMM_WORLD));
    CHECK(packed[0] == from[0] && packed[1] == from[1]);
    OK(MPI_Type_free(&absolute[0]));
    OK(MPI_Type_free(&absolute[1]));
}

/* One rank asks for more than there is: all hear of it, nobody waits. */
static void one_without_memory(void)
{
    void *base;
    MPI_Win win;
    MPI_Aint size = t_rank == t_size - 1 ? PTRDIFF_MAX / 2 : 8;
    FAILS(MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_NO_MEM);
    OK(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_free(&win));
}

/* One leader has no place for the communicator: the other side hears of it. */
static void one_leader_wrong(void)
{
    MPI_Comm inter;
    FAILS(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - t_rank, 5, t_rank == 0 ? NULL : &inter),
          MPI_ERR_ARG);
    OK(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - t_rank, 5, &inter));
    OK(MPI_Comm_free(&inter));
}

/* What rank 0 sends from, or rank 1 receives to, is no memory: whose it is, neither end is told, so each names the other. */
static void no_memory_at_one_end(void)
{
    enum { BYTES = 1000000 };
    char *data = calloc(1, BYTES);
    char text[MPI_MAX_ERROR_STRING], other[64];
    int len;

    snprintf(other, sizeof(other), "the buffer here, or that of rank %d of MPI_COMM_WORLD", 1 - t_rank);
    for (int bad = 0; bad < 2 && t_rank < 2; bad++) {
        void *buf = t_rank == bad ? (void *)64 : data; /* NOLINT(performance-no-int-to-ptr) */
        int rc = t_rank == 0 ? MPI_Send(buf, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD)
                             : MPI_Recv(buf, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(t_class(rc) == MPI_ERR_BUFFER);
        OK(MPI_Error_string(rc, text, &len));
        CHECK(strstr(text, other) != NULL);
    }
    free(data);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    ranks_tags_counts();
    handles();
    collectives();
    exscan_without_operand();
    places();
    texts();
    sizes();
    distances();
    null_buffers();
    one_without_memory();
    no_memory_at_one_end();
    if (t_size == 2)
        one_leader_wrong();
    /* Nothing is stuck after all that. */
    int sum = 0, one = 1;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == t_size);
    return t_end();
}
