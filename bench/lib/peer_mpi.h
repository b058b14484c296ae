/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Other MPIs on a testbed's lab: TCP through the same switch, one rank a host.
 *
 *   nof_peer_compile(), or nof_peer_take() of what is compiled -> nof_peer_run() ... */
#ifndef NOF_BENCH_PEER_MPI_H
#define NOF_BENCH_PEER_MPI_H

#include "testbed.h"

enum nof_peer_mpi { NOF_PEER_MPICH, NOF_PEER_OPENMPI, NOF_PEERS };

struct nof_peer {
    enum nof_peer_mpi mpi;
    char program[NOF_BENCH_PATH_BYTES];
    char into[NOF_BENCH_PATH_BYTES]; /* stands in for ssh */
    const char
        *told; /* stands in what it prints once it has told all figures; NULL: its line NOF_BENCH_DONE */
};

/* source: below NOF_BENCH_SOURCE_DIR. NULL, or a sentence why it cannot be compared with. */
const char *nof_peer_compile(struct nof_peer *peer, enum nof_peer_mpi mpi, const struct nof_testbed *bed,
                             const char *source);
/* program: a path, compiled by who has it; told as in struct nof_peer. The same. */
const char *nof_peer_take(struct nof_peer *peer, enum nof_peer_mpi mpi, const struct nof_testbed *bed,
                          const char *program, const char *told);
/* arguments: without the program. As nof_bench_spawn_peer(); false: it was not done in time. */
bool nof_peer_run(const struct nof_peer *peer, const struct nof_testbed *bed, const char *const *arguments,
                  unsigned timeout_s, void (*line)(void *ctx, const char *text), void *ctx);

#endif
