/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Win_shared_query answers for windows of every kind (MPI 4.1): what this process cannot load and store by itself
 * has no bytes and no address. */
#include "mpitest.h"

enum { COUNT = 10 };

static void query(MPI_Win win, const int *base, int all_reachable)
{
    for (int i = -1; i < t_size; i++) {
        MPI_Aint size = -1, unit_c = -1;
        int unit = -1, *at = NULL, *at_c = NULL;
        OK(MPI_Win_shared_query(win, i < 0 ? MPI_PROC_NULL : i, &size, &unit, &at));
        OK(MPI_Win_shared_query_c(win, i < 0 ? MPI_PROC_NULL : i, &size, &unit_c, &at_c));
        CHECK(at == at_c && unit == unit_c);
        CHECK((size == 0) == (at == NULL) && (size == 0 || size == (MPI_Aint)(COUNT * sizeof(int))));
        CHECK(unit == (base == NULL ? 1 : (int)sizeof(int)));
        if ((i < 0 ? 0 : i) == t_rank && base != NULL)
            CHECK(at == base && *at == t_rank);
        else if (!all_reachable)
            CHECK(size == 0);
        if (all_reachable)
            CHECK(at != NULL && *at == (i < 0 ? 0 : i));
    }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    MPI_Win win;
    MPI_Comm host;
    int memory[COUNT] = {t_rank}, *base, world_rank = t_rank, world_size = t_size;

    OK(MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    query(win, memory, 0);
    OK(MPI_Win_free(&win));

    OK(MPI_Win_allocate(sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    *base = t_rank;
    query(win, base, 0);
    OK(MPI_Win_free(&win));

    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_attach(win, memory, sizeof(memory)));
    query(win, NULL, 0);
    OK(MPI_Win_detach(win, memory));
    OK(MPI_Win_free(&win));

    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    OK(MPI_Comm_rank(host, &t_rank));
    OK(MPI_Comm_size(host, &t_size));
    OK(MPI_Win_allocate_shared(sizeof(memory), sizeof(int), MPI_INFO_NULL, host, &base, &win));
    *base = t_rank;
    MPI_Barrier(host);
    query(win, base, 1);
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_free(&host));
    t_rank = world_rank;
    t_size = world_size;
    return t_end();
}
