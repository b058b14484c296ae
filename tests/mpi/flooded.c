/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ranks, each with more sends, receives and matched messages under way than its NIC has room for, before
 * either waits for one of them. usage: flooded [MESSAGES [BYTES [s][r][m][h]]]
 * (sends first, receives first, matched first, matched by waiting probes) */
#include "mpitest.h"

static int n, bytes;
static char *out, *in;
static MPI_Request *sends, *recvs;

static char *slot(char *base, int i)
{
    return base + (size_t)i * (size_t)bytes;
}

static void send_all(int peer, int tag)
{
    for (int i = 0; i < n; i++)
        OK(MPI_Isend(slot(out, i), bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &sends[i]));
}

static void receive_all(int peer, int tag)
{
    for (int i = 0; i < n; i++)
        OK(MPI_Irecv(slot(in, i), bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &recvs[i]));
}

static void finish(void)
{
    OK(MPI_Waitall(n, sends, MPI_STATUSES_IGNORE));
    OK(MPI_Waitall(n, recvs, MPI_STATUSES_IGNORE));
    for (int i = 0; i < n; i++)
        CHECK(t_verify(slot(in, i), (size_t)bytes, (unsigned)i));
    memset(in, 0, (size_t)n * (size_t)bytes);
}

/* All that come are taken out of matching before the first is received. */
static void matched(int peer)
{
    MPI_Message *messages = malloc((size_t)n * sizeof(*messages));
    send_all(peer, 3);
    for (int i = 0; i < n; i++)
        OK(MPI_Mprobe(peer, 3, MPI_COMM_WORLD, &messages[i], MPI_STATUS_IGNORE));
    for (int i = 0; i < n; i++)
        OK(MPI_Imrecv(slot(in, i), bytes, MPI_BYTE, &messages[i], &recvs[i]));
    free(messages);
    finish();
}

/* Each message finds a probe that waits for it, and none is received before all are matched. */
static void held(int peer)
{
    MPI_Message *messages = malloc((size_t)n * sizeof(*messages));
    for (int i = 0; i < n; i++) {
        int turn = i % 2 == t_rank;
        if (turn)
            OK(MPI_Recv(NULL, 0, MPI_BYTE, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Isend(slot(out, i), bytes, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &sends[i]));
        if (!turn)
            OK(MPI_Send(NULL, 0, MPI_BYTE, peer, 5, MPI_COMM_WORLD));
        OK(MPI_Mprobe(peer, 4, MPI_COMM_WORLD, &messages[i], MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < n; i++)
        OK(MPI_Imrecv(slot(in, i), bytes, MPI_BYTE, &messages[i], &recvs[i]));
    free(messages);
    finish();
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    n = argc > 1 ? atoi(argv[1]) : 1500;
    bytes = argc > 2 ? atoi(argv[2]) : 8;
    out = malloc((size_t)n * (size_t)bytes);
    in = calloc((size_t)n, (size_t)bytes);
    sends = malloc((size_t)n * sizeof(MPI_Request));
    recvs = malloc((size_t)n * sizeof(MPI_Request));
    for (int i = 0; i < n; i++)
        t_fill(slot(out, i), (size_t)bytes, (unsigned)i);
    int peer = t_rank ^ 1;
    const char *only = argc > 3 ? argv[3] : "srmh";
    if (t_rank < 2) {
        if (strchr(only, 's')) {
            send_all(peer, 1);
            receive_all(peer, 1);
            finish();
        }
        if (strchr(only, 'r')) {
            receive_all(peer, 2);
            send_all(peer, 2);
            finish();
        }
        if (strchr(only, 'm'))
            matched(peer);
        if (strchr(only, 'h'))
            held(peer);
    }
    free(out);
    free(in);
    free(sends);
    free(recvs);
    return t_end();
}
