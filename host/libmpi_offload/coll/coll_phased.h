/* SPDX-License-Identifier: BSD-3-Clause */
/* Phased all-to-all: what a rank sends and receives, and when, worked out once for any number of transmissions (the
 * compiled communication of docs/SOURCES.md, section 4.2; host/phases.h).
 *
 *   from_counts (level 1) | from_matrix (level 2) | load (level 3)   the network control: collective
 *     -> build() -> a schedule, for each transmission -> free()
 *
 * Level 1 gathers everybody's counts; 2 and 3 are given what concerns all, and find out whether all were given the same.
 * Nodes of the phases are hosts, each of which has one link; ranks of one host are in no phase and begin at once.
 * Receives are those that others send, not those that this rank expects: where the two are known to differ a transmission
 * ends with MPI_ERR_COUNT or MPI_ERR_TRUNCATE at that rank, and nobody waits.
 *
 * Memory: 16 bytes a peer, and 12 a transfer of this rank; while it is worked out 8 a pair of ranks, and what the phases
 * take. Threads: under the library's lock. */
#ifndef NOF_MPI_COLL_PHASED_H
#define NOF_MPI_COLL_PHASED_H

#include "coll/coll.h"
#include "coll/compiled.h"
#include "mpi_offload.h"
#include "phases.h"

struct nof_phased_transfer {
    int peer;
    bool sends;
    uint32_t phase;
};

struct nof_phased {
    enum nof_compiled_kind kind;
    struct nof_comm *comm; /* a reference */
    struct nof_type *send_type, *recv_type; /* references */
    int *counts; /* of each peer: to send, their displacements, to receive, their displacements */
    struct nof_phased_transfer *transfer; /* of this rank, in the order of the phases */
    size_t transfer_count;
    int unlike; /* a rank that sends fewer bytes than this one expects, or -1 */
    MPIX_Coll handle;
};

/* Of a call; arrays of as many as the communicator has ranks. counts_to and counts_from are not given with a matrix. */
struct nof_phased_args {
    const int *counts_to, *displs_to;
    MPI_Datatype type_to;
    const int *counts_from, *displs_from; /* not given where they are found */
    MPI_Datatype type_from;
    bool finds; /* what comes, into these, only on success; the blocks lie one behind another */
    int *found_counts, *found_displs;
};

/* MPI_SUCCESS or the code; what depends on all ranks' arguments is told to all of them.
 * Where counts are found both types have one size, the same at all ranks. */
int nof_phased_from_counts(struct nof_comm *comm, const struct nof_phased_args *args,
                           struct nof_phased **phased_out);
/* matrix[i * size + j]: elements that rank i sends to rank j, of both types. */
int nof_phased_from_matrix(struct nof_comm *comm, const int *matrix, const struct nof_phased_args *args,
                           struct nof_phased **phased_out);
int nof_phased_load(struct nof_comm *comm, const struct MPIX_Phases *phases,
                    const struct nof_phased_args *args, struct nof_phased **phased_out);
void nof_phased_free(struct nof_phased *phased);

/* Into an empty schedule. phases: false, all at once. */
int nof_phased_build(const struct nof_phased *phased, struct nof_sched *s, const void *sendbuf, void *recvbuf,
                     bool phases);
/* What a transmission that went well ends with: MPI_ERR_COUNT where fewer bytes came than were expected. */
int nof_phased_end(const struct nof_phased *phased);

#endif
