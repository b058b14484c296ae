/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that is killed between two parts of a message that its receiver copies behind it. Three ranks by memory, of which the last one
 * dies. Argument: what the part was of: "recv": a message that is waited for; "any": likewise, from anybody; "unposted": one without a
 * receive; "put": a command of a window, which goes on carrying out what the living ask for. */
#include "doomed.h"

#include <signal.h>
#include <stdbool.h>

#ifndef MPI_ERR_PROC_FAILED
#define MPI_ERR_PROC_FAILED MPIX_ERR_PROC_FAILED
#endif

enum { PART = 2048, BYTES = 4 * PART, PUT = 4000, AFTER = 12, PATIENCE_S = 30 };

static int armed; /* 2: for the first part; 1: for the next one, which may be shorter */

/* The library's, too. The second part is not copied any more, and the first was published. */
void *memcpy(void *to, const void *from, size_t bytes)
{
    if (armed == 1 && bytes > PART / 2)
        raise(SIGKILL);
    if (armed == 2 && bytes == PART)
        armed = 1;
    return memmove(to, from, bytes);
}

static void must_have_failed(int code)
{
    CHECK(t_class(code) == MPI_ERR_PROC_FAILED);
}

static int wait_for(MPI_Request *request)
{
    return MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void receive(const char *what, int dead)
{
    static unsigned char buf[BYTES];
    MPI_Request request = MPI_REQUEST_NULL;
    bool posted = strcmp(what, "unposted") != 0;
    if (posted)
        OK(MPI_Irecv(buf, BYTES, MPI_BYTE, strcmp(what, "any") == 0 ? MPI_ANY_SOURCE : dead, 5,
                     MPI_COMM_WORLD, &request));
    t_all_are_ready(t_ear(), dead);
    if (posted)
        must_have_failed(wait_for(&request));
    for (int tag = 6; tag >= 5; tag--) /* the first finds out that it is dead */
        must_have_failed(MPI_Recv(buf, BYTES, MPI_BYTE, dead, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < BYTES; i++) /* a part, or none */
        CHECK(buf[i] == (i < PART ? buf[0] : 0));
    CHECK(posted || buf[0] == 0);
}

/* More commands than a window has receives. None is waited for: a window of which a rank is dead cannot be synchronized. */
static void put_on(MPI_Win window, volatile unsigned char *memory, int dead)
{
    unsigned char byte = 9;
    double end = MPI_Wtime() + PATIENCE_S;
    int flag;
    t_all_are_ready(t_ear(), dead);
    must_have_failed(MPI_Recv(&byte, 1, MPI_BYTE, dead, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (t_rank == 1) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, window));
        for (int i = 0; i < AFTER; i++)
            OK(MPI_Put(&byte, 1, MPI_BYTE, 0, i, 1, MPI_BYTE, window));
        OK(MPI_Recv(&byte, 1, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        return;
    }
    for (int i = 0; i < AFTER;) {
        OK(MPI_Iprobe(1, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        i += memory[i] == 9;
        CHECK(MPI_Wtime() < end);
    }
    CHECK(memory[PUT - 1] == 0);
    OK(MPI_Send(&byte, 1, MPI_BYTE, 1, 7, MPI_COMM_WORLD));
}

static void die(bool put, MPI_Win window)
{
    static unsigned char buf[BYTES];
    memset(buf, 1, BYTES);
    t_hear(t_ear(), t_size - 1);
    if (put)
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, window));
    armed = 2;
    if (put)
        OK(MPI_Put(buf, PUT, MPI_BYTE, 0, 0, PUT, MPI_BYTE, window));
    else
        OK(MPI_Send(buf, BYTES, MPI_BYTE, 0, 5, MPI_COMM_WORLD));
    fprintf(stderr, "the message did not go in parts\n");
    _exit(1);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 3);
    const char *what = argc > 1 ? argv[1] : "recv";
    int dead = t_size - 1;
    bool put = strcmp(what, "put") == 0;
    MPI_Win window = MPI_WIN_NULL;
    static unsigned char memory[BYTES], warm[PART / 2];
    t_errors_return();
    OK(MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    OK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* What was sent before has been read. */
    if (t_rank == dead) {
        OK(MPI_Send(warm, PART / 2, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
        OK(MPI_Recv(warm, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        die(put, window);
    }
    if (t_rank == 0) {
        OK(MPI_Recv(warm, PART / 2, MPI_BYTE, dead, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Send(warm, 1, MPI_BYTE, dead, 2, MPI_COMM_WORLD));
    }
    if (put)
        put_on(window, memory, dead);
    else if (t_rank == 0)
        receive(what, dead);
    else
        t_all_are_ready(t_ear(), dead);
    printf("rank %d survived\n", t_rank);
    MPI_Finalize();
    return 0;
}
