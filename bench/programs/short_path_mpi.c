/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0 sends, and what rank 1 receives is there already: no call waits, and none finds messages for another. Under
 * callgrind, which counts in MPI_Send and MPI_Recv, this is what a message costs (bench/short_path.h).
 *
 *   short_path_mpi MESSAGES FILE     MESSAGES: a multiple of 8. FILE: of 8 zero bytes; the ranks take turns by it, so that
 *                                    MPI looks at nothing meanwhile */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define AHEAD 8 /* messages that a rank may send before the other one looks, whatever carries them */

struct turns {
    uint32_t sent, received; /* by rank 0, by rank 1 */
};

static void wait_for(const uint32_t *word, uint32_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value)
        usleep(20);
}

static struct turns *map(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct turns), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (at == MAP_FAILED) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    close(fd);
    return at;
}

int main(int argc, char **argv)
{
    int rank, size;
    int64_t value = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    uint32_t n = argc == 3 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    if (size != 2 || n < AHEAD || n % AHEAD != 0) {
        fprintf(stderr, "short_path_mpi: two ranks, a multiple of %d messages, and a file\n", AHEAD);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    struct turns *turns = map(argv[2]);
    for (uint32_t done = AHEAD; done <= n; done += AHEAD) {
        for (int i = 0; rank == 0 && i < AHEAD; i++)
            MPI_Send(&value, sizeof(value), MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        if (rank == 0)
            __atomic_store_n(&turns->sent, done, __ATOMIC_RELEASE);
        wait_for(&turns->sent, done);
        for (int i = 0; rank == 1 && i < AHEAD; i++)
            MPI_Recv(&value, sizeof(value), MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            __atomic_store_n(&turns->received, done, __ATOMIC_RELEASE);
        wait_for(&turns->received, done);
    }
    MPI_Finalize();
    return 0;
}
