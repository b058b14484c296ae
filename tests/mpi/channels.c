/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of one host, each with a way of its own (info key nof_channels): messages of all lengths come whole and in order in each
 * of them at once; those of nic go by the NIC, those of single-copy are read, those of shm never are; who makes one says
 * for all; what is no way is an error, and nobody hangs. The argument: the way of the others ("nic": none goes by memory). */
#include "mpitest.h"

enum { WAYS = 4, LARGEST = 100000, FORMS = 7, ROUNDS = 20 };

static const char *const ways[WAYS] = {"auto", "nic", "shm", "single-copy"};
static const int lengths[FORMS] = {0, 1, 40, 41, 5000, 16385, LARGEST};
static MPI_T_pvar_session session;
static unsigned char out[LARGEST], in[FORMS][LARGEST];

static MPI_Info info_of(const char *value)
{
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "nof_channels", value));
    return info;
}

static void is(MPI_Comm comm, const char *wanted)
{
    MPI_Info info;
    char value[32] = "";
    int flag;
    OK(MPI_Comm_get_info(comm, &info));
    OK(MPI_Info_get(info, "nof_channels", sizeof(value) - 1, value, &flag));
    CHECK(flag && strcmp(value, wanted) == 0);
    OK(MPI_Info_free(&info));
}

static MPI_Comm made(const char *way)
{
    MPI_Info info = info_of(way);
    MPI_Comm comm;
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    OK(MPI_Info_free(&info));
    return comm;
}

/* In a ring, blocking and not; all lengths are under way at once. */
static void exchange(MPI_Comm comm, int round)
{
    int to = (t_rank + 1) % t_size, from = (t_rank + t_size - 1) % t_size;
    MPI_Request sends[FORMS], recvs[FORMS];
    MPI_Status statuses[FORMS];
    t_fill(out, LARGEST, (uint64_t)t_rank + 1);
    for (int i = 0; i < FORMS; i++)
        OK(MPI_Irecv(in[i], LARGEST, MPI_BYTE, from, 3, comm, &recvs[i]));
    for (int i = 0; i < FORMS; i++)
        OK((i + round) % 3 == 0 ? MPI_Issend(out, lengths[i], MPI_BYTE, to, 3, comm, &sends[i])
                                : MPI_Isend(out, lengths[i], MPI_BYTE, to, 3, comm, &sends[i]));
    OK(MPI_Waitall(FORMS, recvs, statuses));
    OK(MPI_Waitall(FORMS, sends, MPI_STATUSES_IGNORE));
    for (int i = 0; i < FORMS; i++) {
        int count;
        OK(MPI_Get_count(&statuses[i], MPI_BYTE, &count));
        CHECK(count == lengths[i]);
        CHECK(t_verify(in[i], (size_t)lengths[i], (uint64_t)from + 1));
    }
    for (int i = 0; i < 3; i++) { /* the short path, where there is one */
        int value = t_rank * 100 + i, came = -1;
        if (t_rank % 2 == 0)
            OK(MPI_Send(&value, 1, MPI_INT, to, 4, comm));
        OK(MPI_Recv(&came, 1, MPI_INT, from, 4, comm, MPI_STATUS_IGNORE));
        if (t_rank % 2 != 0)
            OK(MPI_Send(&value, 1, MPI_INT, to, 4, comm));
        CHECK(came == from * 100 + i);
    }
}

struct counts {
    unsigned long long memory, nic, copies, pieces;
};

static struct counts counted(void)
{
    return (struct counts){t_counted(session, "memory_sends"), t_counted(session, "nic_sends"),
                           t_counted(session, "memory_single_copies"), t_counted(session, "memory_pieces")};
}

static void each_goes_as_it_says(int by_memory)
{
    for (int w = 0; w < WAYS; w++) {
        MPI_Comm comm = made(ways[w]);
        int nic = !by_memory || strcmp(ways[w], "nic") == 0;
        is(comm, nic ? "nic" : ways[w]);
        struct counts before = counted();
        for (int round = 0; round < ROUNDS; round++)
            exchange(comm, round);
        struct counts after = counted();
        CHECK((after.memory > before.memory) != nic && (after.nic > before.nic) == nic);
        if (strcmp(ways[w], "shm") == 0)
            CHECK(after.copies == before.copies && (nic || after.pieces > before.pieces));
        if (!nic && strcmp(ways[w], "single-copy") == 0 &&
            after.pieces == before.pieces) /* the kernel allows it */
            CHECK(after.copies - before.copies == (FORMS - 1 + 3) * ROUNDS);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Comm_free(&comm));
    }
}

static void all_at_once(void)
{
    MPI_Comm comm[WAYS];
    for (int w = 0; w < WAYS; w++)
        comm[w] = made(ways[w]);
    for (int round = 0; round < ROUNDS; round++)
        for (int w = 0; w < WAYS; w++)
            exchange(comm[w], round);
    for (int w = 0; w < WAYS; w++)
        OK(MPI_Comm_free(&comm[w]));
}

/* Ranks that say different things: rank 0 decides between the NIC and memory. */
static void rank_0_says_for_all(int by_memory, const char *of_the_job)
{
    for (int nic = 0; nic < 2; nic++) {
        MPI_Info info = info_of((t_rank == 0) == nic ? "nic" : "auto");
        MPI_Comm comm;
        MPI_Request request;
        OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        is(comm, nic || !by_memory ? "nic" : t_rank == 0 ? "auto" : of_the_job);
        exchange(comm, 0);
        OK(MPI_Comm_free(&comm));
        OK(MPI_Info_free(&info));
    }
}

static void a_life_long(int by_memory)
{
    MPI_Comm comm = made("auto");
    MPI_Info nic = info_of("nic"), shm = info_of("shm"), bad = info_of("carrier-pigeon");
    exchange(comm, 0);
    OK(MPI_Comm_set_info(comm, nic));
    is(comm, by_memory ? "auto" : "nic");
    exchange(comm, 0);
    OK(MPI_Comm_set_info(comm, shm));
    is(comm, by_memory ? "shm" : "nic");
    exchange(comm, 1);
    FAILS(MPI_Comm_set_info(comm, bad), MPI_ERR_INFO_VALUE);
    is(comm, by_memory ? "shm" : "nic");
    OK(MPI_Comm_free(&comm));
    FAILS(MPI_Comm_dup_with_info(MPI_COMM_WORLD, bad, &comm), MPI_ERR_INFO_VALUE);
    CHECK(comm == MPI_COMM_NULL);
    exchange(MPI_COMM_WORLD, 2);
    OK(MPI_Info_free(&nic));
    OK(MPI_Info_free(&shm));
    OK(MPI_Info_free(&bad));
}

static void is_by_nic(MPI_Comm comm, int wanted)
{
    MPI_Info info;
    char value[32] = "";
    int flag;
    OK(MPI_Comm_get_info(comm, &info));
    OK(MPI_Info_get(info, "nof_channels", sizeof(value) - 1, value, &flag));
    CHECK(flag && (strcmp(value, "nic") == 0) == wanted);
    OK(MPI_Info_free(&info));
}

/* Whoever makes it: its first rank says, of two groups one of both. */
static void others_that_are_made(int by_memory)
{
    for (int nic = 0; nic < 2; nic++) {
        MPI_Info first = info_of((t_rank == 0) == nic ? "nic" : "auto");
        MPI_Info last = info_of(nic && t_rank == t_size - 1 ? "nic" : "auto");
        MPI_Group world, low, high;
        MPI_Comm comm;
        int high_first = t_size - 1, came = 0;
        OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, first, &comm));
        is_by_nic(comm, nic || !by_memory);
        exchange(comm, 0);
        OK(MPI_Comm_free(&comm));
        OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
        OK(MPI_Group_incl(world, 1, &high_first, &high));
        OK(MPI_Group_excl(world, 1, &high_first, &low));
        int of_high = t_rank == high_first;
        OK(MPI_Intercomm_create_from_groups(of_high ? high : low, 0, of_high ? low : high, 0, "made", last,
                                            MPI_ERRORS_RETURN, &comm));
        struct counts before = counted();
        OK(MPI_Sendrecv(&t_rank, 1, MPI_INT, 0, 1, &came, 1, MPI_INT, of_high ? 0 : MPI_ANY_SOURCE, 1,
                        t_rank == 0 || of_high ? comm : MPI_COMM_SELF, MPI_STATUS_IGNORE));
        CHECK(came == (t_rank == 0 ? high_first : of_high ? 0 : t_rank));
        if (t_rank == 0 || of_high)
            CHECK((counted().nic > before.nic) == (nic || !by_memory));
        OK(MPI_Comm_free(&comm));
        OK(MPI_Group_free(&low));
        OK(MPI_Group_free(&high));
        OK(MPI_Group_free(&world));
        OK(MPI_Info_free(&first));
        OK(MPI_Info_free(&last));
    }
}

int main(int argc, char **argv)
{
    int level;
    t_begin(&argc, &argv, 2);
    t_errors_return();
    CHECK(argc == 2);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    OK(MPI_T_pvar_session_create(&session));
    int by_memory = strcmp(argv[1], "nic") != 0;
    is(MPI_COMM_WORLD, argv[1]);
    exchange(MPI_COMM_WORLD, 0);
    each_goes_as_it_says(by_memory);
    all_at_once();
    rank_0_says_for_all(by_memory, argv[1]);
    others_that_are_made(by_memory);
    a_life_long(by_memory);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return t_end();
}
