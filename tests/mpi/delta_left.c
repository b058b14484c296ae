/* SPDX-License-Identifier: BSD-3-Clause */
/* A delta send that is begun and never ended, and MPI_Finalize: the buffer still there, unmapped, freed, with something else in its
 * place, its request given up or cancelled, or in a message that nobody receives. Nothing hangs, what had come stays, the receiver has
 * an error class where the rest is gone, and whatever lies there is the program's. usage: delta_left WHAT; two ranks, by calls or
 * by pages. */
#include "mpi_offload.h"

#include "mpitest.h"

#include <sys/mman.h>

enum { PAGE = 4096, BYTES = 100 * PAGE, QUARTER = BYTES / 4, HALF = BYTES / 2, TAG = 5, ACK = 6 };

static const char *what;

static int is(const char *name)
{
    return strcmp(what, name) == 0;
}

static unsigned char *pages(void *at)
{
    void *memory = mmap(at, BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | (at == NULL ? 0 : MAP_FIXED), -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static void take_away(unsigned char *buf, MPI_Request *req)
{
    if (is("given_up") || is("given_up_unmapped"))
        OK(MPI_Request_free(req));
    if (is("cancelled_unmapped"))
        OK(MPI_Cancel(req));
    if (is("unmapped") || is("given_up_unmapped") || is("unmatched_unmapped") || is("cancelled_unmapped"))
        CHECK(munmap(buf, BYTES) == 0);
    if (is("freed"))
        free(buf);
    if (is("replaced"))
        memset(pages(buf), 0x77, BYTES);
}

/* When there is no MPI any more. */
static void fail(const char *call, int code)
{
    fprintf(stderr, "%s: rank %d: %s gave %d\n", what, t_rank, call, code);
    exit(1);
}

/* What a program may do to memory of its own. */
static void use(unsigned char *buf)
{
    if (is("replaced"))
        for (int i = 0; i < BYTES; i++)
            if (buf[i] != 0x77)
                fail("what lies there", buf[i]);
    if (is("replaced") || is("kept") || is("given_up") || is("unmatched"))
        memset(buf, 1, BYTES);
    else if (!is("freed") && msync(buf, BYTES, MS_ASYNC) == 0)
        fail("msync", 0); /* nothing was mapped there */
}

static void send(void)
{
    unsigned char *buf = is("freed") ? malloc(BYTES) : pages(NULL);
    MPI_Request req;
    CHECK(buf != NULL);
    OK(MPIX_Delta_send_begin(buf, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &req));
    for (int i = 0; i < HALF; i++)
        buf[i] = t_byte(1, (size_t)i);
    OK(MPIX_Delta_send_data(req, buf, HALF));
    OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    take_away(buf, &req);
    int gone = is("unmapped") || is("given_up_unmapped") || is("cancelled_unmapped") || is("freed");
    int code = MPI_Finalize();
    if (code != (gone ? MPI_ERR_BUFFER : MPI_SUCCESS))
        fail("MPI_Finalize", code);
    use(buf);
}

static void receive(void)
{
    unsigned char *buf = pages(NULL);
    MPI_Status status;
    int count, whole = is("kept") || is("given_up") || is("replaced");
    if (is("unmatched") || is("unmatched_unmapped")) {
        OK(MPI_Send(NULL, 0, MPI_BYTE, 0, ACK, MPI_COMM_WORLD));
        OK(MPI_Finalize());
        return;
    }
    memset(buf, 0xee, BYTES);
    OK(MPIX_Delta_recv(buf, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPIX_Delta_wait_data(buf, QUARTER));
    CHECK(t_verify(buf, QUARTER, 1));
    OK(MPI_Send(NULL, 0, MPI_BYTE, 0, ACK, MPI_COMM_WORLD));
    int code = MPIX_Delta_recv_wait(buf, &status);
    CHECK(t_class(code) == (whole ? MPI_SUCCESS : MPI_ERR_BUFFER));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(!whole || count == BYTES);
    CHECK(t_verify(buf, QUARTER, 1));
    OK(MPI_Finalize());
    memset(buf, 1, BYTES);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    what = argc > 1 ? argv[1] : "kept";
    if (t_rank == 0)
        send();
    else if (t_rank == 1)
        receive();
    return 0;
}
