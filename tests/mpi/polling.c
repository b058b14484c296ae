/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of two hosts, each with another one beside it and one beyond: however the wait loop deals its looks, all messages come, and
 * a change of the features counts while the program runs. With the argument "static" or "dynamic": the environment says so,
 * and the features change nothing. */
#include "mpitest.h"

enum { ROUNDS = 60, LARGEST = 60000, ALONE = 3000 };

struct setting {
    int dynamic;
    unsigned long ratio, update;
};

static const struct setting settings[] = {{0, 1, 10},  {0, 50, 10},    {0, 1000, 10}, {1, 50, 1},
                                          {1, 50, 10}, {1, 1000, 400}, {1, 1, 1000}};
static const int lengths[] = {0, 4, 40, 41, 2048, 16385, LARGEST};

static MPI_Comm host, beyond; /* the ranks of this host; as many of both */
static int host_rank, host_size;
static unsigned char out[LARGEST], in[2][LARGEST];
static MPI_T_pvar_session session;

static int fixed; /* by the environment */

static void write_cvar(const char *name, const void *value)
{
    MPI_T_cvar_handle handle;
    int at, count;
    OK(MPI_T_cvar_get_index(name, &at));
    OK(MPI_T_cvar_handle_alloc(at, NULL, &handle, &count));
    OK(MPI_T_cvar_write(handle, value));
    OK(MPI_T_cvar_handle_free(&handle));
}

/* Of all ranks: they have one daemon. */
static void set(const struct setting *s)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0) {
        write_cvar("polling", &s->dynamic);
        write_cvar("poll_ratio", &s->ratio);
        write_cvar("poll_update", &s->update);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static unsigned char byte_of(int from, int round, int at)
{
    return (unsigned char)(from * 31 + round * 7 + at);
}

static void check(const unsigned char *came, int bytes, int from, int round)
{
    for (int i = 0; i < bytes; i += 1 + i / 8)
        CHECK(came[i] == byte_of(from, round, i));
}

/* One message from each side, received in whichever order they come. */
static void both(int round, int bytes)
{
    int beside = (host_rank + 1) % host_size, before = (host_rank + host_size - 1) % host_size;
    int across = (t_rank + host_size) % t_size, back = (t_rank + t_size - host_size) % t_size;
    MPI_Request request[4];
    MPI_Status statuses[2];
    for (int i = 0; i < bytes; i++)
        out[i] = byte_of(t_rank, round, i);
    OK(MPI_Irecv(in[0], LARGEST, MPI_BYTE, before, round, host, &request[0]));
    OK(MPI_Irecv(in[1], LARGEST, MPI_BYTE, back, round, beyond, &request[1]));
    OK(MPI_Isend(out, bytes, MPI_BYTE, beside, round, host, &request[2]));
    OK(MPI_Isend(out, bytes, MPI_BYTE, across, round, beyond, &request[3]));
    for (int i = 0; i < 2; i++) {
        int which = -1, count = -1;
        OK(MPI_Waitany(2, request, &which, &statuses[i]));
        CHECK(which == 0 || which == 1);
        OK(MPI_Get_count(&statuses[i], MPI_BYTE, &count));
        CHECK(count == bytes);
    }
    OK(MPI_Waitall(2, &request[2], MPI_STATUSES_IGNORE));
    check(in[0], bytes, before + (t_rank - host_rank), round);
    check(in[1], bytes, back, round);
}

/* Looks at the NIC for each look at memory, while messages come by memory alone. */
static double nic_share(void)
{
    int partner = host_rank ^ 1, value = 0;
    unsigned long long near, far;
    MPI_Request request;
    for (int phase = 0; phase < 2; phase++) {
        near = t_counted(session, "polls_memory");
        far = t_counted(session, "polls_nic");
        for (int i = 0; partner < host_size && i < ALONE; i++) {
            OK(MPI_Irecv(&value, 1, MPI_INT, partner, 0, host, &request));
            if (host_rank == 0)
                OK(MPI_Send(&i, 1, MPI_INT, partner, 0, host));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK(value == i);
            if (host_rank != 0)
                OK(MPI_Send(&i, 1, MPI_INT, partner, 0, host));
        } /* in the first phase the setting may still be asked for */
    }
    near = t_counted(session, "polls_memory") - near;
    far = t_counted(session, "polls_nic") - far;
    CHECK(near > 0 && far <= near);
    return (double)far / (double)near;
}

/* The same while messages come by the NIC alone: nothing by memory could end the waits. */
static double nic_share_beyond(void)
{
    int partner = (t_rank + host_size) % t_size, value = 0;
    unsigned long long near = t_counted(session, "polls_memory"), far = t_counted(session, "polls_nic");
    for (int i = 0; i < ALONE / 10; i++) {
        if (t_rank < host_size)
            OK(MPI_Send(&i, 1, MPI_INT, partner, 0, beyond));
        OK(MPI_Recv(&value, 1, MPI_INT, partner, 0, beyond, MPI_STATUS_IGNORE));
        CHECK(value == i);
        if (t_rank >= host_size)
            OK(MPI_Send(&i, 1, MPI_INT, partner, 0, beyond));
    }
    near = t_counted(session, "polls_memory") - near;
    far = t_counted(session, "polls_nic") - far;
    CHECK(near > 0 && far <= near);
    return (double)far / (double)near;
}

/* A window that is open has receives for whatever comes; nobody waits for these. Its own calls do. */
static void beside_a_window(void)
{
    static const struct setting seldom = {0, 1000, 10};
    int shown = 0, seen = 0;
    MPI_Win win;
    set(&seldom);
    OK(MPI_Win_create(&shown, sizeof(shown), sizeof(shown), MPI_INFO_NULL, host, &win));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(nic_share_beyond() > 0.999);
    OK(MPI_Win_lock_all(0, win));
    for (int i = 1; i <= 20; i++) {
        OK(MPI_Put(&i, 1, MPI_INT, host_rank ^ 1, 0, 1, MPI_INT, win));
        OK(MPI_Win_flush(host_rank ^ 1, win));
        OK(MPI_Get(&seen, 1, MPI_INT, host_rank ^ 1, 0, 1, MPI_INT, win));
        OK(MPI_Win_flush(host_rank ^ 1, win));
        CHECK(seen == i);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
}

static void changes(void)
{
    static const struct setting each = {0, 1, 10}, seldom = {0, 1000, 10};
    set(&each);
    double share = nic_share();
    CHECK(fixed ? share < 0.999 : share > 0.999);
    set(&seldom);
    CHECK(nic_share() < 0.999);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int level, round = 0;
    t_begin(&argc, &argv, 4);
    t_errors_return();
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    OK(MPI_T_pvar_session_create(&session));
    fixed = argc > 1;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, t_rank, MPI_INFO_NULL, &host));
    OK(MPI_Comm_rank(host, &host_rank));
    OK(MPI_Comm_size(host, &host_size));
    CHECK(host_size == 2 && t_size == 4);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &beyond));
    for (size_t s = 0; s < sizeof(settings) / sizeof(settings[0]); s++) {
        set(&settings[s]);
        for (int i = 0; i < ROUNDS; i++, round++)
            both(round, lengths[round % (int)(sizeof(lengths) / sizeof(lengths[0]))]);
    }
    changes();
    beside_a_window();
    CHECK(fixed || t_counted(session, "polling_updates") > 0);
    CHECK(!fixed || (t_counted(session, "polling_updates") > 0) == (strcmp(argv[1], "dynamic") == 0));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    OK(MPI_Comm_free(&beyond));
    OK(MPI_Comm_free(&host));
    return t_end();
}
