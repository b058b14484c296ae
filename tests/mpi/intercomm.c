/* SPDX-License-Identifier: BSD-3-Clause */
/* Inter-communicators: ranks of point to point are those of the other side, in both directions, and a
 * merge joins the sides in the order they asked for; a split finds its parts on both sides. */
#include "mpitest.h"

static MPI_Comm half;
static int side, half_rank, half_size;

static MPI_Comm connect_halves(void)
{
    MPI_Comm inter;
    /* The last of each half leads: leaders need not have rank 0. */
    int evens = (t_size + 1) / 2, odds = t_size / 2;
    int remote_leader = side == 0 ? 2 * odds - 1 : 2 * (evens - 1);
    OK(MPI_Intercomm_create(half, half_size - 1, MPI_COMM_WORLD, remote_leader, 17, &inter));
    return inter;
}

static void asks(MPI_Comm inter)
{
    int flag, size, rank, result;
    OK(MPI_Comm_test_inter(inter, &flag));
    CHECK(flag == 1);
    OK(MPI_Comm_test_inter(half, &flag));
    CHECK(flag == 0);
    OK(MPI_Comm_rank(inter, &rank));
    CHECK(rank == half_rank);
    OK(MPI_Comm_size(inter, &size));
    CHECK(size == half_size);
    OK(MPI_Comm_remote_size(inter, &size));
    CHECK(size == t_size - half_size);
    MPI_Group remote, world;
    OK(MPI_Comm_remote_group(inter, &remote));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < size; i++) {
        int place;
        OK(MPI_Group_translate_ranks(remote, 1, &i, world, &place));
        CHECK(place == 2 * i + 1 - side);
    }
    OK(MPI_Group_free(&remote));
    OK(MPI_Group_free(&world));
    OK(MPI_Comm_compare(inter, inter, &result));
    CHECK(result == MPI_IDENT);
    OK(MPI_Comm_compare(inter, half, &result));
    CHECK(result == MPI_UNEQUAL);
    FAILS(MPI_Comm_remote_size(half, &size), MPI_ERR_COMM);
    FAILS(MPI_Send(&size, 1, MPI_INT, t_size - half_size, 0, inter), MPI_ERR_RANK);
}

/* Everybody sends to everybody of the other side, once by name and once to be taken from anywhere. */
static void both_ways(MPI_Comm inter)
{
    int others = t_size - half_size;
    MPI_Request sends[64];
    CHECK(2 * others <= 64);
    for (int i = 0; i < others; i++) {
        OK(MPI_Isend(&t_rank, 1, MPI_INT, i, 3, inter, &sends[2 * i]));
        OK(MPI_Isend(&t_rank, 1, MPI_INT, i, 4, inter, &sends[2 * i + 1]));
    }
    for (int i = 0; i < others; i++) {
        int got = -1;
        MPI_Status status;
        OK(MPI_Recv(&got, 1, MPI_INT, i, 3, inter, &status));
        CHECK(got == 2 * i + 1 - side && status.MPI_SOURCE == i);
        OK(MPI_Probe(MPI_ANY_SOURCE, 4, inter, &status));
        int from = status.MPI_SOURCE;
        OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 4, inter, &status));
        CHECK(got == 2 * status.MPI_SOURCE + 1 - side);
        CHECK(from >= 0 && from < others);
    }
    OK(MPI_Waitall(2 * others, sends, MPI_STATUSES_IGNORE));
}

static void merged(MPI_Comm inter, int high)
{
    MPI_Comm all;
    int rank, sum = 0;
    OK(MPI_Intercomm_merge(inter, high, &all));
    OK(MPI_Comm_rank(all, &rank));
    CHECK(rank == half_rank + (high ? t_size - half_size : 0));
    OK(MPI_Allreduce(&t_rank, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK(sum == t_size * (t_size - 1) / 2);
    OK(MPI_Comm_free(&all));
    OK(MPI_Intercomm_merge(inter, 0, &all)); /* the order of equals is the library's */
    OK(MPI_Barrier(all));
    OK(MPI_Comm_free(&all));
}

/* One more message each way proves that it is a communicator of its own. */
static void ping(MPI_Comm inter)
{
    int size, rank, got = -1;
    OK(MPI_Comm_remote_size(inter, &size));
    OK(MPI_Comm_rank(inter, &rank));
    OK(MPI_Sendrecv(&t_rank, 1, MPI_INT, rank < size ? rank : MPI_PROC_NULL, 0, &got, 1, MPI_INT,
                    rank < size ? rank : MPI_PROC_NULL, 0, inter, MPI_STATUS_IGNORE));
    CHECK(rank >= size || (got % 2) != side);
}

static void derived(MPI_Comm inter)
{
    MPI_Comm copy, part, one;
    MPI_Request request;
    int result, size, high = -1;
    OK(MPI_Comm_dup(inter, &copy));
    OK(MPI_Comm_compare(inter, copy, &result));
    CHECK(result == MPI_CONGRUENT);
    ping(copy);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_idup(inter, &copy, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    ping(copy);
    OK(MPI_Comm_disconnect(&copy));
    CHECK(copy == MPI_COMM_NULL);
    /* Backwards: who was last is first, on both sides. */
    OK(MPI_Comm_split(inter, 1, -half_rank, &part));
    OK(MPI_Comm_rank(part, &result));
    CHECK(result == half_size - 1 - half_rank);
    ping(part);
    OK(MPI_Comm_free(&part));
    /* A color that only one side has makes nothing. */
    OK(MPI_Comm_split(inter, side, 0, &part));
    CHECK(part == MPI_COMM_NULL);
    MPI_Group group, first;
    OK(MPI_Comm_group(inter, &group));
    OK(MPI_Group_incl(group, 1, (int[]){0}, &first));
    OK(MPI_Comm_create(inter, first, &one));
    CHECK((one == MPI_COMM_NULL) == (half_rank > 0));
    if (one != MPI_COMM_NULL) {
        OK(MPI_Comm_remote_size(one, &size));
        CHECK(size == 1);
        OK(MPI_Sendrecv(&t_rank, 1, MPI_INT, 0, 0, &high, 1, MPI_INT, 0, 0, one, MPI_STATUS_IGNORE));
        CHECK(high == 1 - side);
        OK(MPI_Comm_free(&one));
    }
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&first));
}

/* Out of groups alone, no communicator in between. */
static void from_groups(void)
{
    MPI_Group mine, world, other;
    MPI_Comm inter, all;
    OK(MPI_Comm_group(half, &mine));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_difference(world, mine, &other));
    OK(MPI_Intercomm_create_from_groups(mine, 0, other, 0, "nof.test", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                        &inter));
    ping(inter);
    OK(MPI_Intercomm_merge(inter, side, &all));
    OK(MPI_Barrier(all));
    OK(MPI_Comm_free(&all));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Group_free(&mine));
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&other));
}

/* A leader that cannot connect tells its group, so that nobody waits. */
static void refused(void)
{
    MPI_Comm none;
    FAILS(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, t_size, 0, &none), MPI_ERR_RANK);
    FAILS(MPI_Intercomm_create(half, half_size, MPI_COMM_WORLD, 0, 0, &none), MPI_ERR_RANK);
    FAILS(MPI_Intercomm_merge(half, 0, &none), MPI_ERR_COMM);
}

/* By the memory they share: those of both sides that are on one host; none where a side has nobody there. */
static void shared(MPI_Comm inter)
{
    char(*names)[MPI_MAX_PROCESSOR_NAME] = calloc((size_t)t_size, sizeof(*names));
    int len, here[2] = {0, 0}, size, got = -1, none;
    MPI_Comm part;
    CHECK(names != NULL);
    OK(MPI_Get_processor_name(names[t_rank], &len));
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, names, (int)sizeof(*names), MPI_CHAR,
                     MPI_COMM_WORLD));
    for (int i = 0; i < t_size; i++)
        here[i % 2] += strcmp(names[i], names[t_rank]) == 0;
    OK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part));
    CHECK((part == MPI_COMM_NULL) == (here[0] == 0 || here[1] == 0));
    if (part != MPI_COMM_NULL) {
        OK(MPI_Comm_size(part, &size));
        CHECK(size == here[side]);
        OK(MPI_Comm_remote_size(part, &size));
        CHECK(size == here[1 - side]);
        OK(MPI_Allreduce(&(int){1}, &got, 1, MPI_INT, MPI_SUM, part));
        CHECK(got == here[1 - side]);
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Comm_split_type(inter, MPI_UNDEFINED, 0, MPI_INFO_NULL, &part));
    CHECK(part == MPI_COMM_NULL);
    none = MPI_Comm_split_type(inter, 12345, 0, MPI_INFO_NULL, &part);
    CHECK(t_class(none) == MPI_ERR_ARG);
    free(names);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    side = t_rank % 2;
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, t_rank, &half));
    OK(MPI_Comm_rank(half, &half_rank));
    OK(MPI_Comm_size(half, &half_size));
    MPI_Comm inter = connect_halves();
    asks(inter);
    both_ways(inter);
    merged(inter, side);
    merged(inter, 1 - side);
    refused();
    derived(inter);
    shared(inter);
    from_groups();
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
    return t_end();
}
