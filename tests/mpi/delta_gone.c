/* SPDX-License-Identifier: BSD-3-Clause */
/* NOF_DELTA=os, and a program that takes the buffer away while the message is under way: unmapped, moved, something else in its
 * place; and system calls on it. An error class for each, what had come stays, nothing that lies there by now is written, and
 * the next message is whole. */
#include "mpi_offload.h"

#include "mpitest.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 100, BYTES = PAGES * PAGE, HALF = BYTES / 2, TAG = 5, ACK = 6 };

static int other;

static unsigned char *map(void)
{
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static void unmap(void *memory)
{
    CHECK(munmap(memory, BYTES) == 0);
}

static void fill(unsigned char *to, size_t from, size_t behind)
{
    for (size_t i = from; i < behind; i++)
        to[i] = t_byte(1, i);
}

static void begin(const void *from, MPI_Request *req)
{
    OK(MPIX_Delta_send_begin(from, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, req));
}

static void receive(void *to)
{
    OK(MPIX_Delta_recv(to, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void acknowledge(void)
{
    OK(MPI_Send(NULL, 0, MPI_BYTE, other, ACK, MPI_COMM_WORLD));
}

static void await_acknowledgement(void)
{
    OK(MPI_Recv(NULL, 0, MPI_BYTE, other, ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Of neither side is anything amiss after what went before. */
static void whole(void)
{
    unsigned char *buf = map();
    MPI_Request req;
    if (t_rank == 0) {
        begin(buf, &req);
        fill(buf, 0, BYTES);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        memset(buf, 0, BYTES);
    } else {
        receive(buf);
        CHECK(t_verify(buf, BYTES, 1));
        OK(MPIX_Delta_recv_wait(buf, MPI_STATUS_IGNORE));
        memset(buf, 0, BYTES);
    }
    unmap(buf);
}

static void failed(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;
    OK(MPI_Error_string(code, text, &len));
    if (getenv("T_VERBOSE") != NULL)
        printf("rank %d: class %d: %s\n", t_rank, t_class(code), text);
    CHECK(t_class(code) == MPI_ERR_BUFFER);
}

/* Of the sender, after a quarter has come. before: what the receiver has there; 0: pages that were never touched. */
static void send_gone(int moved, unsigned char before)
{
    unsigned char *buf = map();
    MPI_Request req;
    if (t_rank == 0) {
        begin(buf, &req);
        fill(buf, 0, HALF);
        await_acknowledgement();
        if (moved) {
            unsigned char *there = map();
            CHECK(mremap(buf, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, there) == there);
            CHECK(t_verify(there, HALF, 1));
            memset(there, 1, BYTES); /* it can be written */
            unmap(there);
        } else {
            unmap(buf);
        }
        failed(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        CHECK(req == MPI_REQUEST_NULL);
    } else {
        if (before != 0)
            memset(buf, before, BYTES);
        receive(buf);
        CHECK(t_verify(buf, HALF / 2, 1));
        acknowledge();
        CHECK(buf[BYTES - 1] == before); /* waits until it has failed */
        failed(MPIX_Delta_recv_wait(buf, MPI_STATUS_IGNORE));
        CHECK(t_verify(buf, HALF / 2, 1));
        memset(buf, 0, BYTES);
        unmap(buf);
    }
}

/* Of the receiver, too: what had come goes with it; the rest is what lay there, or, where userfaultfd hid it, empty. */
static void recv_moved(void)
{
    unsigned char *buf = map();
    MPI_Request req;
    if (t_rank == 0) {
        begin(buf, &req);
        fill(buf, 0, HALF);
        await_acknowledgement();
        fill(buf, HALF, BYTES);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        unmap(buf);
        return;
    }
    unsigned char *there = map();
    memset(buf, 0xee, BYTES);
    receive(buf);
    CHECK(t_verify(buf, HALF / 2, 1));
    CHECK(mremap(buf, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, there) == there);
    CHECK(t_verify(there, HALF / 2, 1));
    for (int i = HALF; i < BYTES; i++)
        CHECK(there[i] == there[HALF] && (there[i] == 0xee || there[i] == 0));
    acknowledge();
    FAILS(MPIX_Delta_recv_wait(buf, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
    CHECK(t_verify(there, HALF / 2, 1));
    unmap(there);
}

/* Of the receiver, before the second half is made; `then`: something else lies there. */
static void recv_gone(int then)
{
    unsigned char *buf = map();
    MPI_Request req;
    if (t_rank == 0) {
        begin(buf, &req);
        fill(buf, 0, HALF);
        await_acknowledgement();
        fill(buf, HALF, BYTES);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        unmap(buf);
        return;
    }
    receive(buf);
    CHECK(t_verify(buf, HALF / 2, 1));
    CHECK(munmap(buf + HALF, HALF) == 0);
    if (then) {
        CHECK(mmap(buf + HALF, HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                   0) == buf + HALF);
        memset(buf + HALF, 0x77, HALF);
    }
    acknowledge();
    FAILS(MPIX_Delta_recv_wait(buf, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
    CHECK(t_verify(buf, HALF, 1));
    for (int i = HALF; then && i < BYTES; i++)
        CHECK(buf[i] == 0x77);
    CHECK(then || msync(buf + HALF, HALF, MS_ASYNC) != 0); /* nothing was mapped there */
    CHECK(munmap(buf, then ? BYTES : HALF) == 0);
}

/* The kernel waits for no page. Written by one that can be, a part is open to system calls; waited for, a part has come. */
static void system_calls(void)
{
    unsigned char *buf = map();
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), null[2];
    MPI_Request req;
    CHECK(zero >= 0 && pipe(null) == 0);
    if (t_rank == 0) {
        begin(buf, &req);
        CHECK(read(zero, buf, HALF) == -1 && errno == EFAULT);
        memset(buf, 1, PAGE); /* by the C library: it is open until something else is written */
        CHECK(read(zero, buf, PAGE) == PAGE);
        memset(buf + PAGE, 0, HALF - PAGE);
        fill(buf, HALF, BYTES);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        CHECK(read(zero, buf, BYTES) == BYTES);
    } else {
        receive(buf);
        acknowledge();
        OK(MPIX_Delta_wait_data(buf + HALF, PAGE));
        CHECK(write(null[1], buf + HALF, PAGE) == PAGE);
        OK(MPIX_Delta_recv_wait(buf, MPI_STATUS_IGNORE));
        for (int i = 0; i < BYTES; i++)
            CHECK(buf[i] == (i < HALF ? 0 : t_byte(1, (size_t)i)));
    }
    if (t_rank == 0)
        await_acknowledgement();
    CHECK(close(zero) == 0 && close(null[0]) == 0 && close(null[1]) == 0);
    unmap(buf);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    other = t_rank ^ 1;
    for (int k = 0; k < 2; k++) {
        send_gone(k, 0xee);
        whole();
        send_gone(k, 0);
        whole();
        recv_gone(k);
        whole();
    }
    recv_moved();
    whole();
    system_calls();
    whole();
    return t_end();
}
