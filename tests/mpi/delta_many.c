/* SPDX-License-Identifier: BSD-3-Clause */
/* More delta messages and partitioned operations at a time than there are slots, or room in the NIC: none fails, all keep their
 * order, and none waits for another that the program completes later. usage: delta_many [COUNT]... */
#include "mpi_offload.h"

#include "mpitest.h"

#include <stdlib.h>

enum { EACH = 3000, TAG = 5, GO = 6, MOST = 1000 };

static unsigned char *out, *in;
static MPI_Request sends[MOST], recvs[MOST];

static unsigned char *out_at(int k)
{
    return out + (size_t)k * EACH;
}

static unsigned char *in_at(int k)
{
    return in + (size_t)k * EACH;
}

static void fill(int k, int round)
{
    for (size_t i = 0; i < EACH; i++)
        out_at(k)[i] = t_byte((uint64_t)(round * MOST + k), i);
}

/* The message of that number has come, as far as it goes. */
static int holds(int k, int number, int round, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (in_at(k)[i] != t_byte((uint64_t)(round * MOST + number), i))
            return 0;
    return 1;
}

static void begin(int k, int to, int tag)
{
    OK(MPIX_Delta_send_begin(out_at(k), EACH, MPI_BYTE, to, tag, MPI_COMM_WORLD, &sends[k]));
}

static void complete(int k, int round)
{
    fill(k, round);
    OK(MPIX_Delta_send_data(sends[k], out_at(k), EACH / 2));
    FAILS(MPIX_Delta_send_data(sends[k], out_at(k) + EACH / 2 - 1, 2), MPI_ERR_ARG);
    OK(MPIX_Delta_wait(&sends[k], MPI_STATUS_IGNORE));
}

static int next(void)
{
    return (t_rank + 1) % t_size;
}

static int before(void)
{
    return (t_rank + t_size - 1) % t_size;
}

/* All begin to receive, then to send; made, and read, from the last to the first. One tag: the order is that of the begins. */
static void ring(int n, int round)
{
    int from = before();
    memset(in, 0xee, (size_t)n * EACH);
    for (int k = 0; k < n; k++)
        OK(MPIX_Delta_recv(in_at(k), EACH, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int k = 0; k < n; k++)
        begin(k, next(), TAG);
    for (int k = n - 1; k >= 0; k--) {
        complete(k, round);
        OK(MPIX_Delta_wait_data(in_at(k), EACH));
        CHECK(holds(k, k, round, EACH));
    }
    for (int k = 0; k < n; k++) {
        MPI_Status status;
        int count;
        OK(MPIX_Delta_recv_wait(in_at(k), &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == EACH && status.MPI_SOURCE == from && status.MPI_TAG == TAG);
    }
}

/* Plain messages between the delta ones, which come in between; some of these end early. The receiver takes them one by one. */
static void mixed(int n, int round)
{
    int to = next(), from = before();
    for (int k = 0; k < n; k += 2) {
        begin(k, to, TAG);
        if (k + 1 == n)
            break;
        fill(k + 1, round);
        OK(MPI_Isend(out_at(k + 1), EACH, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &sends[k + 1]));
    }
    for (int k = 0; k < n; k++)
        OK(MPI_Irecv(in_at(k), EACH, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &recvs[k]));
    for (int k = (n - 1) / 2 * 2; k >= 0; k -= 2) {
        fill(k, round);
        OK(MPIX_Delta_send_end_count(&sends[k], k % 3 == 0 ? EACH / 3 : EACH));
        OK(MPI_Wait(&sends[k], MPI_STATUS_IGNORE));
    }
    for (int k = n - 1; k >= 0; k--) {
        MPI_Status status;
        int count, wanted = k % 2 == 0 && k % 3 == 0 ? EACH / 3 : EACH;
        OK(MPI_Wait(&recvs[k], &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == wanted && holds(k, k, round, (size_t)count));
        if (k % 2 == 1)
            OK(MPI_Wait(&sends[k], MPI_STATUS_IGNORE));
    }
}

/* Each is completed only when the one before, in the order of completion, has been received: the last of the begins first. */
static void one_by_one(int n, int round)
{
    int other = t_rank ^ 1;
    if (other >= t_size)
        return;
    for (int k = 0; k < n; k++)
        if (t_rank % 2 == 0)
            begin(k, other, 100 + k);
        else
            OK(MPIX_Delta_recv(in_at(k), EACH, MPI_BYTE, other, 100 + k, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int k = n - 1; k >= 0; k--) {
        if (t_rank % 2 == 0) {
            complete(k, round);
            OK(MPI_Recv(NULL, 0, MPI_BYTE, other, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            OK(MPIX_Delta_recv_wait(in_at(k), MPI_STATUS_IGNORE));
            CHECK(holds(k, k, round, EACH));
            OK(MPI_Send(NULL, 0, MPI_BYTE, other, GO, MPI_COMM_WORLD));
        }
    }
}

/* Cancelled before they are matched, whether the NIC has them or has parked them. */
static void cancelled(int n)
{
    int to = next();
    for (int k = 0; k < n; k++)
        begin(k, to, 77);
    for (int k = 0; k < n; k++) {
        MPI_Status status;
        int flag;
        OK(MPI_Cancel(&sends[k]));
        OK(MPIX_Delta_wait(&sends[k], &status));
        OK(MPI_Test_cancelled(&status, &flag));
        CHECK(flag);
    }
}

/* Persistent ones, all under way at once, in both directions, for some rounds. */
static void partitioned(int n, int rounds)
{
    enum { PARTS = 6 };
    for (int k = 0; k < n; k++) {
        OK(MPI_Precv_init(in_at(k), PARTS / 2, EACH / (PARTS / 2), MPI_BYTE, before(), k % 3, MPI_COMM_WORLD,
                          MPI_INFO_NULL, &recvs[k]));
        OK(MPI_Psend_init(out_at(k), PARTS, EACH / PARTS, MPI_BYTE, next(), k % 3, MPI_COMM_WORLD,
                          MPI_INFO_NULL, &sends[k]));
    }
    for (int round = 0; round < rounds; round++) {
        memset(in, 0xee, (size_t)n * EACH);
        OK(MPI_Startall(n, recvs));
        OK(MPI_Startall(n, sends));
        for (int p = PARTS - 1; p >= 0; p--)
            for (int k = n - 1; k >= 0; k--) {
                if (p == PARTS - 1)
                    fill(k, round);
                OK(MPI_Pready(p, sends[k]));
            }
        for (int k = 0; k < n; k++)
            for (int flag = 0, part = k % (PARTS / 2); !flag;)
                OK(MPI_Parrived(recvs[k], part, &flag));
        OK(MPI_Waitall(n, recvs, MPI_STATUSES_IGNORE));
        OK(MPI_Waitall(n, sends, MPI_STATUSES_IGNORE));
        for (int k = 0; k < n; k++)
            CHECK(holds(k, k, round, EACH));
    }
    for (int k = 0; k < n; k++) {
        OK(MPI_Request_free(&sends[k]));
        OK(MPI_Request_free(&recvs[k]));
    }
}

static unsigned long long counted(const char *name)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    unsigned long long value = 0;
    int at, count;
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &at));
    OK(MPI_T_pvar_handle_alloc(session, at, NULL, &handle, &count));
    OK(MPI_T_pvar_read(session, handle, &value));
    OK(MPI_T_pvar_handle_free(session, &handle));
    OK(MPI_T_pvar_session_free(&session));
    return value;
}

/* What is counted of one message. */
static void counters(void)
{
    enum { BYTES = 64 * EACH };
    MPI_Request one;
    unsigned long long begun = counted("library.delta_sends"), plain = counted("library.delta_sends_plain"),
                       early = counted("library.delta_early_bytes"),
                       told = counted("library.delta_increments"), got = counted("library.delta_receives");
    OK(MPIX_Delta_recv(in, BYTES, MPI_BYTE, before(), TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPIX_Delta_send_begin(out, BYTES, MPI_BYTE, next(), TAG, MPI_COMM_WORLD, &one));
    OK(MPIX_Delta_send_data(one, out, BYTES / 2));
    OK(MPIX_Delta_wait(&one, MPI_STATUS_IGNORE));
    OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
    CHECK(counted("library.delta_sends") == begun + 1 && counted("library.delta_sends_plain") == plain);
    CHECK(counted("library.delta_early_bytes") >= early + BYTES / 2 - 64 &&
          counted("library.delta_early_bytes") <= early + BYTES / 2);
    CHECK(counted("library.delta_increments") >= told + 2 && counted("library.delta_receives") == got + 1);
    CHECK(counted("library.delta_faults") == 0);
}

int main(int argc, char **argv)
{
    static const int counts[] = {17, 65, 300};
    int provided;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    t_begin(&argc, &argv, 2);
    t_errors_return();
    out = malloc((size_t)MOST * EACH);
    in = malloc((size_t)MOST * EACH);
    CHECK(out != NULL && in != NULL);
    for (int i = 0; i < (argc > 1 ? argc - 1 : 3); i++) {
        int n = argc > 1 ? atoi(argv[i + 1]) : counts[i];
        CHECK(n > 0 && n <= MOST);
        ring(n, 0);
        mixed(n, 1);
        one_by_one(n, 2);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        cancelled(n);
        partitioned(n, 3);
    }
    if (argc == 1)
        CHECK(counted("library.delta_sends_plain") > 0 && counted("library.delta_receives_plain") > 0);
    counters();
    OK(MPI_T_finalize());
    int code = t_end();
    free(out);
    free(in);
    return code;
}
