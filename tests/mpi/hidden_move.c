/* SPDX-License-Identifier: BSD-3-Clause */
/* A send has waited, so that it was moved to a cell and has ended; somebody writes over the word that says so, and its receiver, which may
 * not read its sender's memory, asks for pieces. The receive is an error, and not for ever; what follows arrives, and the cells of all that
 * were hidden so are back. Two ranks, to which the kernel grants no reading of others (forbid.c), NOF_CHANNELS=auto. */
#include "mpitest.h"
#include "past_library.h"

#include "chan/shm/shm_part.h"
#include "nof/segment.h"

#include <string.h>
#include <unistd.h>

/* More messages than a rank has lines for such, or cells. */
enum { BYTES = 7000, ROUNDS = 200, LIMIT_S = 60 };

static_assert(ROUNDS > NOF_PART_MOVES && ROUNDS > NOF_CELLS, "all of them are used again");

/* Where the process has mapped the file of memory that nofd has given this name. */
static void *mapping_of(const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    void *at = NULL;
    CHECK(maps != NULL);
    while (at == NULL && fgets(line, sizeof(line), maps) != NULL)
        if (strstr(line, name) != NULL)
            CHECK(sscanf(line, "%p", &at) == 1);
    CHECK(at != NULL);
    (void)fclose(maps);
    return at;
}

static struct nof_part *part_of(uint32_t rank)
{
    const struct nof_roster *roster = mapping_of("memfd:nof-roster");
    const struct nof_roster_rank *who = (const struct nof_roster_rank *)(const void *)(roster + 1);
    uint32_t slot = 0;
    while (slot < roster->nslots && (who[slot].state != NOF_ROSTER_ATTACHED || who[slot].rank != rank))
        slot++;
    CHECK(slot < roster->nslots);
    return (struct nof_part *)(void *)((char *)mapping_of("memfd:nof-segment") + roster->part_offset +
                                       slot * roster->part_bytes);
}

static void hide(struct nof_part *part)
{
    for (uint32_t i = 0; i < NOF_PART_MOVES; i++)
        __atomic_store_n(&part->moves[i].word, 0, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
    static unsigned char data[BYTES];
    struct past past;
    past_begin(&past, &argc, &argv);
    struct nof_part *sender = part_of(0);
    t_errors_return();
    (void)alarm(LIMIT_S);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char next = (unsigned char)round;
        if (t_rank == 0) {
            OK(MPI_Send(data, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
            __atomic_store_n(past.word, round + 1, __ATOMIC_RELEASE);
            OK(MPI_Send(&next, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD));
            OK(MPI_Recv(&next, 1, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            spin_until(past.word, round + 1);
            hide(sender);
            CHECK(t_class(MPI_Recv(data, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) !=
                  MPI_SUCCESS);
            next++;
            OK(MPI_Recv(&next, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Send(&next, 1, MPI_BYTE, 0, 3, MPI_COMM_WORLD));
        }
        CHECK(next == (unsigned char)round);
    }
    if (t_rank == 0)
        CHECK(t_counted(past.session, "memory_moved") >= ROUNDS);
    return past_end(&past);
}
