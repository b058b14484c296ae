/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nofd's side of one BAR (nof/bar.h): two sealed memfds, mapped here as one range.
 *
 *   RO memfd: identity | NIC words, counters | submission head | completion head | delta arrivals | staging
 *   RW memfd: submission ring | completion ring | host words | library counts | bounce |
 *             program area | assist | delta
 *
 *   range:  identity, NIC words and counters, [submission head|submission ring],
 *           [completion head|completion ring], host words, library counts, bounce, program area, assist,
 *           delta, delta arrivals, staging
 *
 * Both memfds are fully allocated before they are passed: a hole would be a SIGBUS for us on a
 * machine without memory. Threads: create and destroy on the main thread; the contents belong to
 * the NIC core and the host. */
#ifndef NOFD_BAR_MEMORY_H
#define NOFD_BAR_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "nof/bar.h"
#include "nof_private/ring.h"

/* All sizes are rounded up to pages. */
struct nofd_bar_config {
    uint32_t submit_slots; /* powers of two; one less can be used */
    uint32_t complete_slots;
    uint64_t staging_bytes;
    uint64_t bounce_bytes;
    uint64_t bounce_max_bytes;
    uint64_t program_area_bytes;
    uint64_t assist_bytes; /* 0 where the DMA works */
};

struct nofd_bar {
    int fd[NOF_BAR_FDS]; /* the doorbell as well; -1: closed */
    uint8_t *base;
    uint64_t bytes;
    struct nof_bar_identity *identity;
    struct nof_nic_words *nic_words;
    struct nof_host_words *host_words;
    uint64_t *counters;
    const uint64_t *library_counts; /* the host's word: NOF_LIBRARY_COUNT_MAX of any values */
    struct rte_ring *submit;
    struct rte_ring *complete;
};

/* 0 or -errno (ENOMEM, EMFILE, ...). The identity page is filled but for card, nic_name, dma and
 * nofd_pid. */
int nofd_bar_create(struct nofd_bar *bar, const struct nofd_bar_config *cfg);
/* Closes the memfds and the doorbell, and unmaps. */
void nofd_bar_destroy(struct nofd_bar *bar);

static inline void *nofd_bar_at(const struct nofd_bar *bar, uint64_t offset)
{
    return bar->base + offset;
}

#endif
