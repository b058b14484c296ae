/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatterv to some of the ranks by a multicast group of their own (the compiled communication of docs/SOURCES.md, section 4.1).
 *
 *   open() by all ranks of the communicator: the root tells all of them the sizes; those with a block and the root form a group
 *     -> move(), for each transmission -> release(), which closes the group when no transmission holds it
 *
 * The root sends one message of all blocks but its own; a host that has several of the ranks gets it once. Nobody sends by
 * multicast unless all members have found that they hear each other: else, and for fewer than three hosts, blocks go by
 * unicast. Of a group that was `compiled` only those with a block need to move; of a dynamic one all ranks do.
 *
 * Memory: 16 bytes a rank, at the root 24. Threads: under the library's lock. */
#ifndef NOF_MPI_SCATTER_GROUP_H
#define NOF_MPI_SCATTER_GROUP_H

#include "coll/compiled.h"
#include "coll/group/coll_group.h"
#include "mpi_offload.h"

struct nof_scatter_group {
    enum nof_compiled_kind kind;
    unsigned holds; /* by its handle, and by transmissions under way */
    struct nof_comm *comm; /* a reference */
    int root;
    bool compiled;
    bool multicast; /* the group is open, everywhere */
    uint64_t *sizes; /* of each rank's block, bytes; of the root's: 0 */
    int *counts, *displs; /* the root's arrays; NULL elsewhere */
    struct nof_type *send_type, *recv_type; /* references; NULL: not significant */
    size_t recv_count;
    struct nof_group_members members;
    struct nof_chan_group nic;
    uint32_t number; /* of the next message */
    uint32_t kept_at,
        moved; /* its place among the persistent collectives of the communicator, and how often it was used */
    MPIX_Coll handle;
};

struct nof_scatter_args {
    const int *counts, *displs; /* at the root */
    MPI_Datatype send_type;
    int recv_count;
    MPI_Datatype recv_type; /* at the root MPI_DATATYPE_NULL if it will be in place */
    int root;
};

/* MPI_SUCCESS or the code: of a compiled one the same at all ranks, where arguments are bad or sizes differ. */
int nof_scatter_group_open(struct nof_comm *comm, const struct nof_scatter_args *args, bool compiled,
                           struct nof_scatter_group **group_out);
static inline void nof_scatter_group_hold(struct nof_scatter_group *h)
{
    h->holds++;
}
/* The last one frees it. */
void nof_scatter_group_release(struct nof_scatter_group *h);

/* Into an empty schedule; h is held until that has been run. */
int nof_scatter_group_move(struct nof_scatter_group *h, struct nof_sched *s, const void *sendbuf,
                           void *recvbuf);

/* MPI_Finalize: those that are open are closed, and stderr is told. */
void nof_scatter_group_close_all(void);

#endif
