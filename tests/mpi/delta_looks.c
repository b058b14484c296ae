/* SPDX-License-Identifier: BSD-3-Clause */
/* NOF_DELTA=os, NOF_DELTA_TRIGGER=pagemap: writes are no faults, the library looks for them. Pages leave while others are written,
 * whoever writes them, a system call too; a page that is written once more is found out. */
#include "mpi_offload.h"

#include "mpitest.h"

#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 100, BYTES = PAGES * PAGE, TAG = 5, ACK = 6 };
#define PAUSE_US 500u /* some looks */

static unsigned char *buf;

static void begin(MPI_Request *req)
{
    OK(MPIX_Delta_send_begin(buf, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, req));
}

static void by_program(size_t page)
{
    for (size_t i = page * PAGE; i < (page + 1) * PAGE; i++)
        buf[i] = t_byte(1, i);
}

static void by_system_call(size_t page)
{
    static unsigned char from[PAGE];
    int ends[2];
    for (size_t i = 0; i < PAGE; i++)
        from[i] = t_byte(1, page * PAGE + i);
    CHECK(pipe(ends) == 0 && write(ends[1], from, PAGE) == PAGE);
    CHECK(read(ends[0], buf + page * PAGE, PAGE) == PAGE);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
}

/* The first half has come, and is read, before the second is made. */
static void slowly(void (*make)(size_t page))
{
    MPI_Request req;
    if (t_rank == 1) {
        memset(buf, 0, BYTES);
        OK(MPIX_Delta_recv(buf, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(t_verify(buf, BYTES / 2, 1));
        OK(MPI_Send(NULL, 0, MPI_BYTE, 0, ACK, MPI_COMM_WORLD));
        CHECK(t_verify(buf, BYTES, 1));
        OK(MPIX_Delta_recv_wait(buf, MPI_STATUS_IGNORE));
        return;
    }
    int come = 0;
    size_t page = 0;
    begin(&req);
    for (; page < PAGES - 1 && (page < PAGES / 2 || !come); page++) {
        make(page);
        usleep(PAUSE_US);
        if (page > PAGES / 2)
            OK(MPI_Iprobe(1, ACK, MPI_COMM_WORLD, &come, MPI_STATUS_IGNORE));
    }
    OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (; page < PAGES; page++)
        make(page);
    OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
}

static void twice(void)
{
    char text[MPI_MAX_ERROR_STRING], address[32];
    int len, code;
    MPI_Request req;
    if (t_rank == 1) {
        memset(buf, 0, BYTES);
        OK(MPIX_Delta_recv(buf, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(t_verify(buf, 10 * PAGE, 1));
        OK(MPI_Send(NULL, 0, MPI_BYTE, 0, ACK, MPI_COMM_WORLD));
        OK(MPIX_Delta_recv_wait(buf, MPI_STATUS_IGNORE));
        CHECK(t_verify(buf, 9 * PAGE, 1));
        return;
    }
    begin(&req);
    for (size_t page = 0; page < PAGES; page++) {
        by_program(page);
        usleep(PAUSE_US);
    }
    OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* the tenth page has left */
    buf[9 * PAGE + 7] ^= 1;
    code = MPIX_Delta_wait(&req, MPI_STATUS_IGNORE);
    CHECK(t_class(code) == MPI_ERR_ARG);
    OK(MPI_Error_string(code, text, &len));
    snprintf(address, sizeof(address), "%p", (void *)(buf + 9 * PAGE));
    CHECK(strstr(text, address) != NULL);
}

int main(int argc, char **argv)
{
    struct utsname kernel;
    int major = 0, minor = 0;
    t_begin(&argc, &argv, 2);
    t_errors_return();
    CHECK(uname(&kernel) == 0 && sscanf(kernel.release, "%d.%d", &major, &minor) == 2);
    if (major * 100 + minor < 607) {
        if (t_rank == 0)
            printf("skipped: needs Linux 6.7, this is %s\n", kernel.release);
        MPI_Finalize();
        return 77;
    }
    buf = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(buf != MAP_FAILED);
    slowly(by_program);
    slowly(by_system_call);
    slowly(by_program);
    twice();
    return t_end();
}
