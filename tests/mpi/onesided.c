/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided communication: put, get and the accumulates arrive as they were issued in every kind of epoch,
 * small and large, with datatypes of holes on both sides; locks exclude; wrong calls are named. */
#include "mpitest.h"

enum { BIG = 300 * 1000 }; /* ints: far more than travels with a command */

static int next_rank, last_rank;

static void fence(void)
{
    MPI_Win win;
    int *memory, *big = malloc(BIG * sizeof(*big)), got[2] = {-1, -1};
    OK(MPI_Win_allocate((2 * BIG + 4) * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                        &memory, &win));
    for (int i = 0; i < BIG; i++)
        big[i] = t_rank * 1000 + i;
    for (int i = 0; i < 4; i++)
        memory[i] = -5;
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    OK(MPI_Put(&t_rank, 1, MPI_INT, next_rank, 1, 1, MPI_INT, win));
    OK(MPI_Put(big, BIG, MPI_INT, next_rank, 4, BIG, MPI_INT, win));
    OK(MPI_Put(&t_rank, 1, MPI_INT, MPI_PROC_NULL, 1, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(memory[0] == -5 && memory[1] == last_rank && memory[2] == -5);
    for (int i = 0; i < BIG; i++)
        CHECK(memory[4 + i] == last_rank * 1000 + i);
    memset(big, 0, BIG * sizeof(*big));
    OK(MPI_Get(got, 2, MPI_INT, next_rank, 0, 2, MPI_INT, win));
    OK(MPI_Get(big, BIG, MPI_INT, last_rank, 4, BIG, MPI_INT, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK(got[0] == -5 && got[1] == t_rank);
    for (int i = 0; i < BIG; i++)
        CHECK(big[i] == (last_rank + t_size - 1) % t_size * 1000 + i);
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    free(big);
}

/* Whoever has no neighbour names MPI_PROC_NULL, and may have no buffer for it. */
static void to_nobody(void)
{
    MPI_Win win;
    MPI_Request req[4];
    int memory[4] = {0};
    OK(MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Put(NULL, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, win));
    OK(MPI_Get(NULL, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, win));
    OK(MPI_Accumulate(NULL, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, MPI_SUM, win));
    OK(MPI_Get_accumulate(NULL, 3, MPI_INT, NULL, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, MPI_SUM, win));
    OK(MPI_Fetch_and_op(NULL, NULL, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, win));
    OK(MPI_Compare_and_swap(NULL, NULL, NULL, MPI_INT, MPI_PROC_NULL, 0, win));
    OK(MPI_Rput(NULL, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, win, &req[0]));
    OK(MPI_Rget(NULL, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, win, &req[1]));
    OK(MPI_Raccumulate(NULL, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, MPI_SUM, win, &req[2]));
    OK(MPI_Rget_accumulate(NULL, 3, MPI_INT, NULL, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, MPI_SUM, win,
                           &req[3]));
    OK(MPI_Waitall(4, req, MPI_STATUSES_IGNORE));
    CHECK(MPI_Put(NULL, 3, MPI_INT, next_rank, 0, 3, MPI_INT, win) != MPI_SUCCESS);
    CHECK(MPI_Put(NULL, -1, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, win) != MPI_SUCCESS);
    CHECK(MPI_Put(NULL, 3, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, 3, MPI_INT, win) != MPI_SUCCESS);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
}

/* A column of a matrix goes into every third int, and comes back. */
static void holes(void)
{
    enum { ROWS = 40 };
    MPI_Win win;
    MPI_Datatype column, third, list;
    int matrix[ROWS][4], back[ROWS][4], memory[3 * ROWS];
    OK(MPI_Type_vector(ROWS, 1, 4, MPI_INT, &column));
    OK(MPI_Type_vector(ROWS, 1, 3, MPI_INT, &third));
    OK(MPI_Type_indexed(3, (int[]){2, 1, 3}, (int[]){0, 5, 9}, MPI_INT, &list));
    OK(MPI_Type_commit(&column));
    OK(MPI_Type_commit(&third));
    OK(MPI_Type_commit(&list));
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < 4; k++)
            matrix[i][k] = 100 * t_rank + 4 * i + k;
    memset(memory, 0xff, sizeof(memory));
    memset(back, 0xff, sizeof(back));
    OK(MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&matrix[0][1], 1, column, next_rank, 2, 1, third, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < ROWS; i++)
        CHECK(memory[3 * i] == -1 && memory[3 * i + 2] == 100 * last_rank + 4 * i + 1);
    OK(MPI_Get(&back[0][3], 1, column, next_rank, 2, 1, third, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < ROWS; i++)
        CHECK(back[i][2] == -1 && back[i][3] == 100 * t_rank + 4 * i + 1);
    for (int i = 0; i < 3 * ROWS; i++)
        memory[i] = i;
    OK(MPI_Win_fence(0, win));
    int add[6] = {1000, 2000, 3000, 4000, 5000, 6000};
    OK(MPI_Accumulate(add, 6, MPI_INT, next_rank, 1, 1, list, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    int places[6] = {1, 2, 6, 10, 11, 12}, sum = 0;
    for (int i = 0; i < 6; i++)
        CHECK(memory[places[i]] == places[i] + add[i]);
    for (int i = 0; i < 3 * ROWS; i++)
        sum += memory[i];
    CHECK(sum == 3 * ROWS * (3 * ROWS - 1) / 2 + 21000);
    OK(MPI_Win_free(&win));
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&third));
    OK(MPI_Type_free(&list));
}

/* All add to rank 0 at the same time, small and large; what each fetched was there exactly once. */
static void accumulates(void)
{
    enum { TIMES = 50, WIDE = 5000 };
    MPI_Win win;
    int64_t *memory;
    double wide[WIDE];
    size_t bytes = 16 + sizeof(wide);
    OK(MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memset(memory, 0, bytes);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    int64_t one = 1, old[TIMES];
    for (int i = 0; i < TIMES; i++)
        OK(MPI_Fetch_and_op(&one, &old[i], MPI_INT64_T, 0, 0, MPI_SUM, win));
    for (int i = 0; i < WIDE; i++)
        wide[i] = i;
    OK(MPI_Accumulate(wide, WIDE, MPI_DOUBLE, 0, 16, WIDE, MPI_DOUBLE, MPI_SUM, win));
    /* Ordered behind the large one, though it is small. */
    double half = 0.5, seen = 0;
    OK(MPI_Get_accumulate(&half, 1, MPI_DOUBLE, &seen, 1, MPI_DOUBLE, 0, 16 + 8, 1, MPI_DOUBLE, MPI_SUM,
                          win));
    OK(MPI_Win_flush(0, win));
    CHECK(seen >= 1);
    for (int i = 1; i < TIMES; i++)
        CHECK(old[i] > old[i - 1]);
    /* One of them wins the swap. */
    int64_t mine = t_rank + 1, zero = 0, before = -1;
    OK(MPI_Compare_and_swap(&mine, &zero, &before, MPI_INT64_T, 0, 8, win));
    OK(MPI_Win_flush(0, win));
    int won = before == 0, winners = 0;
    OK(MPI_Allreduce(&won, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(winners == 1);
    int64_t result = 0;
    OK(MPI_Fetch_and_op(NULL, &result, MPI_INT64_T, 0, 0, MPI_NO_OP, win));
    OK(MPI_Win_unlock_all(win));
    CHECK(result == (int64_t)TIMES * t_size);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (t_rank == 0) {
        double *sums = (double *)(memory + 2);
        for (int i = 0; i < WIDE; i++)
            CHECK(sums[i] == (double)i * t_size + (i == 1 ? 0.5 * t_size : 0));
        CHECK(memory[1] >= 1 && memory[1] <= t_size);
    }
    OK(MPI_Win_free(&win));
}

/* Exposure for the one before, access to the one after, twice over. */
static void post_start(void)
{
    MPI_Win win;
    MPI_Group world, to, from;
    int memory = -1;
    OK(MPI_Win_create(&memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_get_group(win, &world));
    OK(MPI_Group_incl(world, 1, &next_rank, &to));
    OK(MPI_Group_incl(world, 1, &last_rank, &from));
    for (int round = 0; round < 2; round++) {
        int value = 10 * t_rank + round, flag = 0;
        OK(MPI_Win_post(from, 0, win));
        OK(MPI_Win_start(to, 0, win));
        OK(MPI_Put(&value, 1, MPI_INT, next_rank, 0, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
        if (round == 0)
            OK(MPI_Win_wait(win));
        while (round == 1 && !flag)
            OK(MPI_Win_test(win, &flag));
        CHECK(memory == 10 * last_rank + round);
    }
    OK(MPI_Group_free(&to));
    OK(MPI_Group_free(&from));
    OK(MPI_Group_free(&world));
    OK(MPI_Win_free(&win));
}

/* Read, add one, write back: right only if the lock excludes. The target waits in a barrier meanwhile. */
static void locks(void)
{
    enum { TIMES = 20 };
    MPI_Win win;
    int *memory, value;
    MPI_Request request;
    OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    *memory = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; t_rank != 1 && i < TIMES; i++) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
        OK(MPI_Rget(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        value++;
        OK(MPI_Rput(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Win_unlock(1, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (t_rank == 1) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        CHECK(*memory == TIMES * (t_size - 1));
        OK(MPI_Win_unlock(1, win));
    }
    OK(MPI_Win_free(&win));
}

static void dynamic(void)
{
    MPI_Win win;
    int here[2] = {7, 8}, got = 0;
    MPI_Aint mine, theirs;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_attach(win, here, sizeof(here)));
    FAILS(MPI_Win_attach(win, &here[1], sizeof(int)), MPI_ERR_RMA_ATTACH);
    OK(MPI_Get_address(&here[1], &mine));
    OK(MPI_Sendrecv(&mine, 1, MPI_AINT, last_rank, 0, &theirs, 1, MPI_AINT, next_rank, 0, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank, 0, win));
    OK(MPI_Get(&got, 1, MPI_INT, next_rank, theirs, 1, MPI_INT, win));
    OK(MPI_Win_flush(next_rank, win));
    CHECK(got == 8);
    /* Only the target sees that the second int of this lies beyond what is attached. */
    int two[2] = {1, 2};
    OK(MPI_Put(two, 2, MPI_INT, next_rank, theirs, 2, MPI_INT, win));
    FAILS(MPI_Win_unlock(next_rank, win), MPI_ERR_RMA_RANGE);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(here[1] == 8);
    OK(MPI_Win_detach(win, here));
    FAILS(MPI_Win_detach(win, here), MPI_ERR_RMA_ATTACH);
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
}

/* A target refuses what nobody waits for any more: each way to synchronize after that says so once, the last one
 * being the window's end, which is one all the same. */
static void late_errors(void)
{
    MPI_Win win;
    MPI_Group world, to, from;
    int value = 1, got[2], here = 5;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(&value, 1, MPI_INT, next_rank, 64, 1, MPI_INT, MPI_SUM, win)); /* nothing is attached */
    FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_RANGE);
    OK(MPI_Get(got, 2, MPI_INT, next_rank, 64, 2, MPI_INT, win));
    FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_RANGE);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    OK(MPI_Win_get_group(win, &world));
    OK(MPI_Group_incl(world, 1, &next_rank, &to));
    OK(MPI_Group_incl(world, 1, &last_rank, &from));
    OK(MPI_Win_attach(win, &here, sizeof(here)));
    OK(MPI_Win_post(from, 0, win));
    OK(MPI_Win_start(to, 0, win));
    OK(MPI_Put(&value, 1, MPI_INT, next_rank, 64, 1, MPI_INT, win));
    int code = MPI_Win_complete(win); /* it may be here already, and need not */
    OK(MPI_Win_wait(win));
    CHECK(code == MPI_SUCCESS || t_class(code) == MPI_ERR_RMA_RANGE);
    if (code == MPI_SUCCESS)
        FAILS(MPI_Win_free(&win), MPI_ERR_RMA_RANGE);
    else
        OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL && here == 5);
    OK(MPI_Group_free(&to));
    OK(MPI_Group_free(&from));
    OK(MPI_Group_free(&world));
}

/* Ranks of one host see each other's stores. */
static void shared(void)
{
    MPI_Comm host;
    MPI_Win win, other;
    int rank, size, unit;
    int *mine, *first;
    MPI_Aint bytes;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    OK(MPI_Comm_rank(host, &rank));
    OK(MPI_Comm_size(host, &size));
    OK(MPI_Win_allocate_shared(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, host, &mine, &win));
    OK(MPI_Win_shared_query(win, 0, &bytes, &unit, &first));
    CHECK(bytes == 2 * sizeof(int) && unit == sizeof(int) && mine == first + 2 * rank);
    OK(MPI_Win_fence(0, win));
    mine[1] = 50 + rank;
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < size; i++)
        CHECK(first[2 * i + 1] == 50 + i);
    int value = 90 + rank;
    OK(MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(mine[0] == 90 + (rank + size - 1) % size);
    OK(MPI_Win_free(&win));
    if (size < t_size)
        FAILS(MPI_Win_allocate_shared(4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &other),
              MPI_ERR_RMA_SHARED);
    OK(MPI_Comm_free(&host));
}

static MPI_Win heard_of;
static int heard, deleted;

static void hear(MPI_Win *win, int *code, ...)
{
    heard_of = *win;
    heard = t_class(*code);
}

static int delete_attribute(MPI_Win win, int keyval, void *value, void *extra)
{
    CHECK(win == heard_of && value == &deleted && extra == &heard && keyval != MPI_KEYVAL_INVALID);
    deleted++;
    return MPI_SUCCESS;
}

static void handlers_and_attributes(void)
{
    MPI_Win win;
    MPI_Errhandler handler;
    int memory[2], keyval, flag, *number;
    MPI_Aint *size;
    void *value;
    OK(MPI_Win_create(memory, sizeof(memory), 2, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag));
    CHECK(flag && value == memory);
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag));
    CHECK(flag && *size == sizeof(memory));
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &number, &flag));
    CHECK(flag && *number == 2);
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &number, &flag));
    CHECK(flag && *number == MPI_WIN_FLAVOR_CREATE);
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &number, &flag));
    CHECK(flag && *number == MPI_WIN_UNIFIED);
    OK(MPI_Win_create_errhandler(hear, &handler));
    OK(MPI_Win_set_errhandler(win, handler));
    OK(MPI_Errhandler_free(&handler));
    FAILS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
    CHECK(heard == MPI_ERR_RMA_SYNC && heard_of == win);
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_attribute, &keyval, &heard));
    OK(MPI_Win_set_attr(win, keyval, &deleted));
    OK(MPI_Win_get_attr(win, keyval, &value, &flag));
    CHECK(flag && value == &deleted);
    OK(MPI_Win_free_keyval(&keyval));
    OK(MPI_Win_free(&win));
    CHECK(deleted == 1);
}

static void wrong(void)
{
    MPI_Win win, copy, none;
    MPI_Datatype wide;
    MPI_Request request;
    int memory[2] = {0, 0}, v = 1;
    OK(MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    FAILS(MPI_Put(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock(12345, 0, 0, win), MPI_ERR_LOCKTYPE);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, t_size, 0, win), MPI_ERR_RANK);
    OK(MPI_Win_fence(0, win));
    FAILS(MPI_Put(&v, 1, MPI_INT, t_size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    FAILS(MPI_Put(&v, 1, MPI_INT, next_rank, 2, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Put(&v, 1, MPI_INT, next_rank, PTRDIFF_MAX / (MPI_Aint)sizeof(int), 1, MPI_INT, win),
          MPI_ERR_RMA_RANGE);
    /* 2^24 steps of 2^40 bytes are none in 64 bits. */
    OK(MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)1 << 40, &wide));
    OK(MPI_Type_commit(&wide));
    FAILS(MPI_Put(&v, 1, MPI_INT, next_rank, 0, (1 << 24) + 1, wide, win), MPI_ERR_RMA_RANGE);
    OK(MPI_Type_free(&wide));
    FAILS(MPI_Get(&v, 1, MPI_INT, next_rank, 2, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Accumulate(&v, 1, MPI_INT, next_rank, 2, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_RANGE);
    /* Requests belong to passive target epochs. */
    FAILS(MPI_Rput(&v, 1, MPI_INT, next_rank, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Rget(&v, 1, MPI_INT, next_rank, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Put(&v, 1, MPI_INT, next_rank, -1, 1, MPI_INT, win), MPI_ERR_DISP);
    FAILS(MPI_Put(&v, -1, MPI_INT, next_rank, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
    FAILS(MPI_Accumulate(&v, 1, MPI_INT, next_rank, 0, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP);
    FAILS(MPI_Accumulate(&v, 1, MPI_FLOAT, next_rank, 0, 1, MPI_FLOAT, MPI_BAND, win), MPI_ERR_OP);
    FAILS(MPI_Win_attach(win, memory, 4), MPI_ERR_RMA_FLAVOR);
    OK(MPI_Win_fence(0, win));
    copy = win;
    OK(MPI_Win_free(&win));
    FAILS(MPI_Win_fence(0, copy), MPI_ERR_WIN);
    FAILS(MPI_Win_free(&copy), MPI_ERR_WIN);
    FAILS(MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &none), MPI_ERR_SIZE);
    FAILS(MPI_Win_create(memory, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &none), MPI_ERR_DISP);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    next_rank = (t_rank + 1) % t_size;
    last_rank = (t_rank + t_size - 1) % t_size;
    fence();
    to_nobody();
    holes();
    accumulates();
    post_start();
    locks();
    dynamic();
    late_errors();
    shared();
    handlers_and_attributes();
    wrong();
    return t_end();
}
