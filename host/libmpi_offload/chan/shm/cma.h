/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Single copy: the receiver reads the sender's memory (process_vm_readv). Whether the kernel lets it (Yama, another pid
 * namespace, no CAP_SYS_PTRACE) is tried once for each pair, on a word whose value is known.
 *
 * A number of a process can be another's after its death. So its pidfd is opened before the word is tried, and what has
 * been copied counts only if that process still lives. */
#ifndef NOF_MPI_CMA_H
#define NOF_MPI_CMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct nof_cma_peer {
    pid_t pid;
    int pidfd;
    bool tried;
    bool works;
};

/* A word of a peer. */
struct nof_cma_probe {
    uint64_t address;
    uint64_t value;
};

/* pid 0: not known, and does not work. Closed before. */
void nof_cma_open(struct nof_cma_peer *peer, pid_t pid, const struct nof_cma_probe *probe);
void nof_cma_close(struct nof_cma_peer *peer);
/* `bytes` of the peer at `address` to `to`. 0; -EFAULT: not (wholly) memory there; -EPERM: no longer allowed; -ESRCH: it has
 * died, whatever was copied. */
int nof_cma_read(const struct nof_cma_peer *peer, uint64_t address, void *to, size_t bytes);

#endif
