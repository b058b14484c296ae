/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of a simulated process as its NIC sees it: addresses are true ones. Copies are done at once or later. */
#ifndef NOF_SIM_LIBRARY_PROCESS_DMA_H
#define NOF_SIM_LIBRARY_PROCESS_DMA_H

#include "cluster.h"
#include "rng.h"

struct nof_dma {
    struct nof_cluster *cluster;
    struct nof_rng rng;
    unsigned nic;
    bool alive; /* attached: the memory may be touched */
    bool is_inline; /* never pending */
    bool sums;
    uint8_t *arena; /* where addresses with NOF_BAR_ARENA lie */
    uint64_t arena_bytes;
    unsigned late_percent;
    const char *name;
};

/* As nof_cluster_host_ops.dma. */
int nof_dma_run(struct nof_dma *d, bool write, const struct nof_segment *remote, unsigned nremote,
                const struct nof_buf *local, unsigned nlocal, uint64_t token);

#endif
