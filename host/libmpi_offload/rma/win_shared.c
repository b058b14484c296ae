/* SPDX-License-Identifier: BSD-3-Clause */
/* One memfd, made by rank 0, which the others open by its name in /proc: nothing is left behind. */
#include "rma/win_shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "coll/coll.h"
#include "launch/launch.h"

struct card {
    uint64_t host;
    uint64_t size;
};

/* Where the memfd of rank 0 is. */
struct place {
    int32_t pid;
    int32_t fd; /* -1: there is none, and errno */
    int32_t error;
    int32_t reserved;
};

static int all_on_one_host(const struct nof_comm *comm, const struct card *cards)
{
    for (int i = 1; i < nof_comm_size(comm); i++)
        if (cards[i].host != cards[0].host)
            return nof_error(MPI_ERR_RMA_SHARED,
                             "ranks 0 and %d are on different hosts: split with MPI_COMM_TYPE_SHARED first",
                             i);
    return MPI_SUCCESS;
}

static int make_file(size_t bytes, struct place *place)
{
    int fd = memfd_create("nof-window", MFD_CLOEXEC);
    place->pid = (int32_t)getpid();
    place->fd = fd;
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) != 0) {
        place->error = errno;
        close(fd);
        place->fd = -1;
    } else if (fd < 0) {
        place->error = errno;
    }
    return fd;
}

/* MAP_FAILED, and errno, when it cannot be mapped. */
static void *map_file(const struct place *place, int own_fd, size_t bytes)
{
    char name[64];
    snprintf(name, sizeof(name), "/proc/%d/fd/%d", place->pid, place->fd);
    int fd = own_fd >= 0 ? own_fd : open(name, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return MAP_FAILED;
    void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int error = errno;
    if (own_fd < 0)
        close(fd);
    errno = error;
    return mapping;
}

/* All of them, or none: what one process could not map the others must not use. */
static int agree(struct nof_comm *comm, int error, size_t bytes)
{
    int32_t *errors = calloc((size_t)nof_comm_size(comm), sizeof(*errors));
    if (errors == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for %d ranks", nof_comm_size(comm));
    errors[comm->rank] = error;
    int rc = nof_coll_allgather_bytes(comm, errors, sizeof(*errors));
    for (int i = 0; rc == MPI_SUCCESS && i < nof_comm_size(comm); i++)
        if (errors[i] != 0)
            rc = nof_error(MPI_ERR_RMA_SHARED, "rank %d cannot map %zu shared bytes: %s", i, bytes,
                           strerror(errors[i]));
    free(errors);
    return rc;
}

static int map_all(struct nof_comm *comm, size_t bytes, void **mapping_out)
{
    struct place place = {0};
    int own = comm->rank == 0 ? make_file(bytes, &place) : -1;
    int rc = nof_coll_bcast(comm, &place, sizeof(place), nof_type_byte(), 0);
    void *mapping = MAP_FAILED;
    int error = place.error;
    if (rc == MPI_SUCCESS && place.fd >= 0) {
        mapping = map_file(&place, own, bytes);
        error = mapping == MAP_FAILED ? errno : 0;
    }
    if (rc == MPI_SUCCESS)
        rc = agree(comm, error, bytes);
    if (own >= 0)
        close(own); /* everybody has it mapped */
    if (rc != MPI_SUCCESS && mapping != MAP_FAILED)
        munmap(mapping, bytes);
    *mapping_out = mapping;
    return rc;
}

int nof_win_shared_map(struct nof_comm *comm, size_t size, struct nof_win_shared *shared_out)
{
    struct card *cards = calloc((size_t)nof_comm_size(comm), sizeof(*cards));
    if (cards == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for %d ranks", nof_comm_size(comm));
    cards[comm->rank] = (struct card){nof_launch_host_id(), size};
    int rc = nof_coll_allgather_bytes(comm, cards, sizeof(*cards));
    if (rc == MPI_SUCCESS)
        rc = all_on_one_host(comm, cards);
    size_t before = 0, total = 0;
    for (int i = 0; rc == MPI_SUCCESS && i < nof_comm_size(comm); i++) {
        if (i == comm->rank)
            before = total;
        if (__builtin_add_overflow(total, cards[i].size, &total) || total > PTRDIFF_MAX)
            rc = nof_error(MPI_ERR_SIZE, "the parts of all ranks are more than a memory can hold");
    }
    free(cards);
    if (rc != MPI_SUCCESS)
        return rc;
    void *mapping = NULL;
    size_t bytes = total == 0 ? 1 : total;
    rc = map_all(comm, bytes, &mapping);
    if (rc == MPI_SUCCESS)
        *shared_out = (struct nof_win_shared){mapping, bytes, nof_lib_at(mapping, (ptrdiff_t)before)};
    return rc;
}
