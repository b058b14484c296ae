/* SPDX-License-Identifier: BSD-3-Clause */
/* Delta sends that were parked, and have ended, to a rank that has no room for them: those to another rank go on. Four ranks, two
 * on each NIC, where the ranks copy what the NIC brings (--dma=assist): there a message that goes in increments holds room from its
 * match to its end. */
#include "mpi_offload.h"

#include "mpitest.h"

enum { SENDER, HOLDER, FULL, OTHER };
enum { SLOTS = 64, HOLDS = 40, HELD = 1 << 20, WAITING = 8, EACH = 3000 };
enum { HOLD = 1, FILL, WAIT, WANTED, WORD, GO };

static unsigned char *memory;
static MPI_Request requests[SLOTS + WAITING + 1];

static void word(int to, int tag)
{
    OK(MPI_Send(NULL, 0, MPI_BYTE, to, tag, MPI_COMM_WORLD));
}

static void heard(int from, int tag)
{
    OK(MPI_Recv(NULL, 0, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* All the slots of the board are taken by what nobody receives yet; those behind them are parked. */
static void sender(void)
{
    for (int k = 0; k <= SLOTS + WAITING; k++) {
        int to = k < SLOTS || k == SLOTS + WAITING ? OTHER : FULL;
        int tag = k < SLOTS ? FILL : to == FULL ? WAIT : WANTED;
        memset(memory + (size_t)k * EACH, k + 1, EACH);
        OK(MPIX_Delta_send_begin(memory + (size_t)k * EACH, EACH, MPI_BYTE, to, tag, MPI_COMM_WORLD,
                                 &requests[k]));
    }
    word(FULL, GO);
    heard(FULL, WORD);
    for (int k = SLOTS; k < SLOTS + WAITING; k++)
        OK(MPIX_Delta_send_end(&requests[k]));
    word(FULL, GO); /* by the time this is answered they are with the NIC again */
    heard(FULL, WORD);
    OK(MPIX_Delta_send_end(&requests[SLOTS + WAITING]));
    word(OTHER, GO);
    for (int k = 0; k <= SLOTS + WAITING; k++)
        OK(MPIX_Delta_wait(&requests[k], MPI_STATUS_IGNORE));
}

static void holder(void)
{
    heard(FULL, GO);
    for (int k = 0; k < HOLDS; k++)
        OK(MPIX_Delta_send_begin(memory + (size_t)k * HELD, HELD, MPI_BYTE, FULL, HOLD, MPI_COMM_WORLD,
                                 &requests[k]));
    word(FULL, WORD);
    heard(OTHER, WORD);
    for (int k = 0; k < HOLDS; k++) {
        memset(memory + (size_t)k * HELD, k + 1, HELD);
        OK(MPIX_Delta_wait(&requests[k], MPI_STATUS_IGNORE));
    }
}

/* The word from the holder comes behind its messages: those are matched then. Together they want more room than there is. */
static void full(void)
{
    unsigned char *waiting = memory + (size_t)HOLDS * HELD;
    for (int k = 0; k < HOLDS; k++)
        OK(MPIX_Delta_recv(memory + (size_t)k * HELD, HELD, MPI_BYTE, HOLDER, HOLD, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
    word(HOLDER, GO);
    heard(HOLDER, WORD);
    for (int k = 0; k < WAITING; k++)
        OK(MPI_Irecv(waiting + (size_t)k * EACH, EACH, MPI_BYTE, SENDER, WAIT, MPI_COMM_WORLD, &requests[k]));
    for (int k = 0; k < 2; k++) {
        heard(SENDER, GO);
        word(SENDER, WORD);
    }
    OK(MPI_Waitall(WAITING, requests, MPI_STATUSES_IGNORE));
    for (int k = 0; k < HOLDS; k++) {
        OK(MPIX_Delta_recv_wait(memory + (size_t)k * HELD, MPI_STATUS_IGNORE));
        CHECK(memory[(size_t)k * HELD] == k + 1 && memory[(size_t)(k + 1) * HELD - 1] == k + 1);
    }
    for (int k = 0; k < WAITING; k++)
        CHECK(waiting[(size_t)k * EACH] == SLOTS + k + 1 &&
              waiting[(size_t)(k + 1) * EACH - 1] == SLOTS + k + 1);
}

static void other(void)
{
    heard(SENDER, GO);
    OK(MPI_Recv(memory, EACH, MPI_BYTE, SENDER, WANTED, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(memory[0] == SLOTS + WAITING + 1 && memory[EACH - 1] == SLOTS + WAITING + 1);
    word(HOLDER, WORD);
    for (int k = 0; k < SLOTS; k++) {
        OK(MPI_Recv(memory, EACH, MPI_BYTE, SENDER, FILL, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(memory[0] == k + 1);
    }
}

int main(int argc, char **argv)
{
    static void (*const does[])(void) = {sender, holder, full, other};
    t_begin(&argc, &argv, 4);
    memory = malloc((size_t)HOLDS * HELD + (size_t)WAITING * EACH);
    CHECK(memory != NULL);
    if (t_rank < 4)
        does[t_rank]();
    int code = t_end();
    free(memory);
    return code;
}
