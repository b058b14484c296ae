/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators and groups: dup keeps messages apart, split orders by key, compare tells them apart,
 * group operations keep the standard's order, names stick. */
#include "mpitest.h"

static void contexts(void)
{
    MPI_Comm copy;
    MPI_Status status;
    int a = 1, b = 2, got = 0, other = t_rank ^ 1, result;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_Comm_compare(MPI_COMM_WORLD, copy, &result));
    CHECK(result == MPI_CONGRUENT);
    OK(MPI_Comm_compare(copy, copy, &result));
    CHECK(result == MPI_IDENT);
    if (other < t_size) {
        OK(MPI_Send(&a, 1, MPI_INT, other, 1, MPI_COMM_WORLD));
        OK(MPI_Send(&b, 1, MPI_INT, other, 1, copy));
        OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &status));
        CHECK(got == 2 && status.MPI_SOURCE == other);
        OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK(got == 1);
    }
    OK(MPI_Comm_free(&copy));
    CHECK(copy == MPI_COMM_NULL);
}

static void splits(void)
{
    MPI_Comm half, reversed, none, shared;
    int rank, size, sum = 0;
    OK(MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, t_rank, &half));
    OK(MPI_Comm_rank(half, &rank));
    OK(MPI_Comm_size(half, &size));
    CHECK(rank == t_rank / 2 && size == (t_size + 1 - t_rank % 2) / 2);
    OK(MPI_Allreduce(&t_rank, &sum, 1, MPI_INT, MPI_SUM, half));
    int expected = 0;
    for (int i = t_rank % 2; i < t_size; i += 2)
        expected += i;
    CHECK(sum == expected);
    if (size > 1) {
        MPI_Status status;
        int got;
        OK(MPI_Sendrecv(&t_rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, 0, half,
                        &status));
        CHECK(status.MPI_SOURCE == (rank + size - 1) % size); /* ranks of half, not of the world */
        CHECK(got == 2 * status.MPI_SOURCE + t_rank % 2);
    }
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -t_rank, &reversed));
    OK(MPI_Comm_rank(reversed, &rank));
    CHECK(rank == t_size - 1 - t_rank);
    int result;
    OK(MPI_Comm_compare(reversed, MPI_COMM_WORLD, &result));
    CHECK(result == (t_size == 1 ? MPI_CONGRUENT : MPI_SIMILAR));
    OK(MPI_Comm_split(MPI_COMM_WORLD, t_rank == 0 ? MPI_UNDEFINED : 1, 0, &none));
    CHECK((none == MPI_COMM_NULL) == (t_rank == 0));
    if (none != MPI_COMM_NULL)
        OK(MPI_Comm_free(&none));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    OK(MPI_Comm_size(shared, &size));
    CHECK(size >= 1 && size <= t_size);
    OK(MPI_Comm_free(&shared));
    OK(MPI_Comm_free(&half));
    OK(MPI_Comm_free(&reversed));
}

static void groups(void)
{
    MPI_Group world, a, b, both, common, rest, empty;
    int result, rank, size;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_size(world, &size));
    OK(MPI_Group_rank(world, &rank));
    CHECK(size == t_size && rank == t_rank);
    int first[2] = {1, 0}, second[2] = {2, 1}, out[2], minus[2];
    OK(MPI_Group_incl(world, 2, first, &a));
    OK(MPI_Group_incl(world, 2, second, &b));
    OK(MPI_Group_translate_ranks(a, 2, (int[]){0, 1}, b, out));
    CHECK(out[0] == 1 && out[1] == MPI_UNDEFINED);
    OK(MPI_Group_union(a, b, &both));
    OK(MPI_Group_translate_ranks(both, 2, (int[]){0, 2}, world, out));
    CHECK(out[0] == 1 && out[1] == 2);
    OK(MPI_Group_intersection(a, b, &common));
    OK(MPI_Group_size(common, &size));
    CHECK(size == 1);
    OK(MPI_Group_difference(a, b, &rest));
    OK(MPI_Group_translate_ranks(rest, 1, (int[]){0}, world, minus));
    CHECK(minus[0] == 0);
    OK(MPI_Group_difference(a, a, &empty));
    CHECK(empty == MPI_GROUP_EMPTY);
    OK(MPI_Group_compare(a, b, &result));
    CHECK(result == MPI_UNEQUAL);
    MPI_Group evens;
    int ranges[1][3] = {{0, t_size - 1, 2}};
    OK(MPI_Group_range_incl(world, 1, ranges, &evens));
    OK(MPI_Group_size(evens, &size));
    CHECK(size == (t_size + 1) / 2);
    MPI_Comm part;
    OK(MPI_Comm_create(MPI_COMM_WORLD, evens, &part));
    CHECK((part == MPI_COMM_NULL) == (t_rank % 2 == 1));
    if (part != MPI_COMM_NULL) {
        OK(MPI_Comm_rank(part, &rank));
        CHECK(rank == t_rank / 2);
        OK(MPI_Barrier(part));
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Group_free(&evens));
    OK(MPI_Group_free(&both));
    OK(MPI_Group_free(&common));
    OK(MPI_Group_free(&rest));
    OK(MPI_Group_free(&a));
    OK(MPI_Group_free(&b));
    OK(MPI_Group_free(&world));
}

static void names_and_attributes(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int len, flag, *value;
    OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &len));
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && len == 14);
    MPI_Comm copy;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &copy));
    OK(MPI_Comm_set_name(copy, "mine"));
    OK(MPI_Comm_get_name(copy, name, &len));
    CHECK(strcmp(name, "mine") == 0);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value >= 32767);
    int tagged = *value, got = 0;
    OK(MPI_Sendrecv(&tagged, 1, MPI_INT, t_rank, tagged, &got, 1, MPI_INT, t_rank, tagged, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    CHECK(got == tagged);
}

/* Many communicators, freed in another order than they were made; all usable. */
static void many(void)
{
    enum { MANY = 60 };
    MPI_Comm comms[MANY];
    for (int i = 0; i < MANY; i++)
        OK(MPI_Comm_dup(i % 3 == 2 ? comms[i - 1] : MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < MANY; i++) {
        int sum = 0;
        OK(MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comms[i]));
        CHECK(sum == i * t_size);
    }
    for (int i = 0; i < MANY; i++)
        OK(MPI_Comm_free(&comms[(i * 7) % MANY]));
}

/* Only the members take part, and tags keep makers at the same time apart. */
static void subsets(void)
{
    if (t_rank == 1)
        return;
    MPI_Group world, rest;
    MPI_Comm a, b, c;
    int sum = 0, rank;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_excl(world, 1, (int[]){1}, &rest));
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, rest, 5, &a));
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, rest, 6, &b));
    OK(MPI_Comm_create_from_group(rest, "nof.subset", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &c));
    MPI_Comm all[3] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        OK(MPI_Comm_rank(all[i], &rank));
        CHECK(rank == (t_rank == 0 ? 0 : t_rank - 1));
        OK(MPI_Allreduce(&t_rank, &sum, 1, MPI_INT, MPI_SUM, all[i]));
        CHECK(sum == t_size * (t_size - 1) / 2 - 1);
        OK(MPI_Comm_free(&all[i]));
    }
    OK(MPI_Group_free(&rest));
    OK(MPI_Group_free(&world));
}

/* A duplicate is under way while the program communicates, and others may be too. */
static void nonblocking(void)
{
    MPI_Comm copies[3];
    MPI_Request requests[3];
    int sum = 0, flag = 0;
    /* Rank 0 starts only when the others have: they must not be held up. */
    if (t_rank == 0)
        for (int i = 1; i < t_size; i++)
            OK(MPI_Recv(&flag, 1, MPI_INT, i, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 3; i++)
        OK(MPI_Comm_idup(MPI_COMM_WORLD, &copies[i], &requests[i]));
    if (t_rank != 0)
        OK(MPI_Send(&flag, 1, MPI_INT, 0, 9, MPI_COMM_WORLD));
    OK(MPI_Allreduce(&t_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 2; i >= 0; i--)
        OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    for (int i = 0; i < 3; i++) {
        OK(MPI_Allreduce(&t_rank, &sum, 1, MPI_INT, MPI_SUM, copies[i]));
        CHECK(sum == t_size * (t_size - 1) / 2);
    }
    /* Freed while a receive is pending: the receive still gets its message. */
    int got = 0, to = (t_rank + 1) % t_size, from = (t_rank + t_size - 1) % t_size;
    MPI_Comm talk = copies[1];
    OK(MPI_Irecv(&got, 1, MPI_INT, from, 0, copies[1], &requests[0]));
    OK(MPI_Send(&t_rank, 1, MPI_INT, to, 0, talk));
    OK(MPI_Comm_free(&copies[1]));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(got == from);
    OK(MPI_Comm_free(&copies[0]));
    OK(MPI_Comm_free(&copies[2]));
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 3);
    contexts();
    splits();
    groups();
    names_and_attributes();
    many();
    subsets();
    nonblocking();
    return t_end();
}
