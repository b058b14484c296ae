/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One NIC of the daemon, or one core of a NIC that has several: a firmware core, its port, and the endpoints it serves. Cores of
 * a NIC share its addresses, save the UDP port, and nothing else (docs/decisions/0046).
 *
 * Threads: create, place and destroy on the main thread while no core runs; its turn on the NIC core; attach, detach and the other
 * calls on the NIC core through nofd_lcore_run(). */
#ifndef NOFD_NIC_HOST_H
#define NOFD_NIC_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof/core.h"

#include "nofd/core/endpoint.h"
#include "nofd/sys/source.h"
#include "nofd/core/told.h"
#include "nofd/core/wire_ops.h"

#define NOFD_ENDPOINTS_MAX 1024u
#define NOFD_BURST 32u /* descriptors taken from one endpoint in one turn */
/* Sent in one turn: what two NICs on one core have between them stays in its L2 cache, and small frames still
 * come in bursts. */
#define NOFD_FRAME_BUDGET 32u

static_assert(NOF_FEATURE_COUNT <= 64, "a bit for each");

struct nofd_nic {
    struct nofd_source source; /* first member */
    unsigned index; /* of the NIC */
    unsigned core; /* of that NIC's */
    char name[32]; /* "nic0 (fabric)", "nic0 core 1 (fabric)" */
    struct nofd_lcore *lcore; /* of the NIC core that serves it */
    struct nofd_dma *dma; /* that one's */
    struct nofd_wire wire;
    struct nof_nic *nic;
    void *mem;
    size_t mem_bytes;
    struct nof_nic_config cfg;

    struct nofd_endpoint **by_index; /* cfg.max_endpoints, for the core's callbacks */
    struct nofd_endpoint **live; /* those that are served */
    unsigned nlive;
    struct nofd_endpoint **closing; /* closed, a DMA still under way */
    unsigned nclosing;
    bool doomed; /* an endpoint is to be failed after this call of the core */
    bool link_up;
    bool lost; /* its device has gone, for good */
    bool released; /* main thread: and was let go */
    bool stuck; /* main thread: which has failed before */
    uint64_t release_ns; /* main thread: when to try it again */
    uint64_t link_look_ns; /* when the link is looked at next */
    uint64_t counters[NOF_COUNTER_COUNT]; /* what nofd itself counts, added to the core's */

    uint64_t own_features; /* main thread: a bit for each that was set on this NIC alone, to */
    uint64_t own_feature[NOF_FEATURE_COUNT]; /* main thread: which value */
    unsigned promised; /* main thread: attaches under way that are to be its */
    struct nofd_told gone; /* main thread: of the ranks whose endpoints are freed */
};

/* cfg: mac, ip4, mtu, link rate are taken from `wire`, the rest as given. 0, or a negative
 * nof_status with a text in err. */
int nofd_nic_create(struct nofd_nic *nic, unsigned index, const struct nofd_wire *wire,
                    const struct nof_nic_config *cfg, uint64_t now_ns, char *err, size_t err_bytes);
/* Of the clock in which the core measures what the codec costs. */
uint64_t nofd_nic_cycles_per_s(void);
void nofd_nic_destroy(struct nofd_nic *nic);

/* Has its device gone? Any thread. */
static inline bool nofd_nic_gone(const struct nofd_nic *nic)
{
    return __atomic_load_n(&nic->lost, __ATOMIC_ACQUIRE);
}
/* Then the kernel, or who unplugs it, gets it back. Main thread, while its core runs. Returns whether to call it again later: it
 * failed, as the log says, and is tried every second. */
bool nofd_nic_let_go(struct nofd_nic *nic, uint64_t now_ns);

/* Which core serves it: main thread, before that runs. Returns whether its port can wake the core. */
bool nofd_nic_place(struct nofd_nic *nic, struct nofd_lcore *lcore, struct nofd_dma *dma);

/* NOF_OK, or why the firmware core refused, or NOF_EUNPLUGGED; ep->index and ep->card are set. */
int nofd_nic_attach(struct nofd_nic *nic, uint64_t now_ns, struct nofd_endpoint *ep,
                    const struct nof_endpoint_params *params);
/* The endpoint's state becomes CLOSED or GONE. */
void nofd_nic_detach(struct nofd_nic *nic, uint64_t now_ns, struct nofd_endpoint *ep, int reason);

#endif
