/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cluster: NIC cores on a fabric under one virtual clock. It moves frames, descriptors, finished
 * DMA and time between them and knows nothing of messages; hosts hang on by nof_cluster_host_ops.
 *
 *   nof_cluster_create() -> nof_cluster_endpoint_open()... -> nof_cluster_at(first events)
 *     -> nof_cluster_run() -> nof_cluster_destroy()
 *
 * A NIC core runs in rounds, at least `loop_ns` apart: received frames, finished DMA, descriptors,
 * poll. Same seed and configuration: same run. A broken rule is reported by nof_cluster_fail(); the
 * run stops at the first. */
#ifndef NOF_SIM_CLUSTER_H
#define NOF_SIM_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "port/fabric/fabric.h"
#include "nof/core.h"

struct nof_cluster;

/* One endpoint's host. All are called from inside a round and must not call the core. */
struct nof_cluster_host_ops {
    /* Descriptors that the host has ready, at most max. */
    unsigned (*fetch)(void *host, struct nof_desc *descs, unsigned max);
    unsigned (*complete)(void *host, const struct nof_comp *comps, unsigned n);
    /* As nof_host_ops.dma_read and dma_write; a pending one ends by nof_cluster_dma_done(). */
    int (*dma)(void *host, bool write, const struct nof_segment *remote, unsigned nremote,
               const struct nof_buf *local, unsigned nlocal, uint64_t token);
    /* As nof_host_ops.claim; NULL: its endpoints have no slots. */
    bool (*claim)(void *host, uint32_t slot, uint32_t generation);
    /* As nof_host_ops.arrived. */
    void (*arrived)(void *host);
    /* The core gave the endpoint up; the cluster closes it. */
    void (*failed)(void *host, int status);
};

struct nof_cluster_config {
    unsigned nnics; /* a multiple of `cores` */
    unsigned
        cores; /* that in turn are one NIC's; each is a "NIC" of all calls here [1, on a fabric that is not shared] */
    uint64_t seed;
    uint64_t loop_ns; /* between two rounds of a core [500] */
    uint64_t frame_ns; /* that a round takes longer for each frame and descriptor of it [0] */
    uint64_t byte_ps; /* and for each byte that it sends, receives, combines or copies [0] */
    struct nof_fabric_link link;
    unsigned switches; /* among which the NICs are dealt; with links between them like the NICs' [1] */
    uint32_t pool_frames; /* per port; 0 takes the fabric's default, like the next two */
    uint32_t queue_frames;
    uint32_t tx_queue_bytes;
    struct nof_nic_config nic; /* of every NIC, save id, seed and addresses */
    uint32_t near_wrap; /* not 0: all counters of a NIC begin so far before they wrap */
    FILE *trace; /* NULL: none */
};

typedef void nof_cluster_event(struct nof_cluster *c, void *user, uint64_t arg);

int nof_cluster_create(const struct nof_cluster_config *cfg, struct nof_cluster **cluster_out);
void nof_cluster_destroy(struct nof_cluster *c);

uint64_t nof_cluster_now(const struct nof_cluster *c);
struct nof_fabric *nof_cluster_fabric(struct nof_cluster *c);
/* The core of a NIC; replaced by nof_cluster_restart(). */
struct nof_nic *nof_cluster_nic(struct nof_cluster *c, unsigned nic);
unsigned nof_cluster_nnics(const struct nof_cluster *c);
/* Of each NIC. */
unsigned nof_cluster_cores(const struct nof_cluster *c);

/* `host` and `ops` stay until the endpoint is closed or its NIC restarted. */
int nof_cluster_endpoint_open(struct nof_cluster *c, unsigned nic, const struct nof_endpoint_params *params,
                              const struct nof_cluster_host_ops *ops, void *host, uint32_t *endpoint_out,
                              struct nof_card *card_out);
void nof_cluster_endpoint_close(struct nof_cluster *c, unsigned nic, uint32_t endpoint, int reason);

/* Call `fn` at that time, in order of time, then of these calls. */
void nof_cluster_at(struct nof_cluster *c, uint64_t when_ns, nof_cluster_event *fn, void *user, uint64_t arg);
/* The host rang the doorbell: the NIC has a round as soon as it can. */
void nof_cluster_kick(struct nof_cluster *c, unsigned nic);
/* A pending DMA of this incarnation of the NIC has ended; ignored after a restart. */
void nof_cluster_dma_done(struct nof_cluster *c, unsigned nic, uint32_t incarnation, uint64_t token,
                          int status);
/* Counts the starts of a NIC, from 0. */
uint32_t nof_cluster_incarnation(const struct nof_cluster *c, unsigned nic);

/* What rounds of all cores cost from now on. */
void nof_cluster_set_cost(struct nof_cluster *c, uint64_t loop_ns, uint64_t frame_ns);

/* Faults of a core. */
void nof_cluster_stall(struct nof_cluster *c, unsigned nic, uint64_t for_ns);
void nof_cluster_restart(struct nof_cluster *c, unsigned nic);
/* Unplug and plug the NIC of which this is a core: fabric and cores hear of it. */
void nof_cluster_set_link_up(struct nof_cluster *c, unsigned nic, bool up);

/* Until `done(user)` answers true (asked after each event), the time is reached, nothing is left to
 * do, or a rule is broken. Returns true if `done` did. */
bool nof_cluster_run(struct nof_cluster *c, uint64_t until_ns, bool (*done)(void *user), void *user);

/* Every core is quiet and no frame is under way. */
bool nof_cluster_quiet(struct nof_cluster *c);
/* End all cores and check what they leave: frames, memory. Call before destroy. */
void nof_cluster_fini(struct nof_cluster *c);

__attribute__((format(printf, 2, 3))) void nof_cluster_fail(struct nof_cluster *c, const char *format, ...);
__attribute__((format(printf, 2, 3))) void nof_cluster_trace(struct nof_cluster *c, const char *format, ...);
bool nof_cluster_tracing(const struct nof_cluster *c);
/* NULL, or the first broken rule. */
const char *nof_cluster_violation(const struct nof_cluster *c);

struct nof_cluster_faults {
    uint64_t lost, duplicated, reordered, corrupted;
    uint64_t stalls, restarts;
    uint64_t rings_full; /* frames that found their core's ring full */
    uint64_t pulls_refused; /* no fault: NICs had no room for what waits for a parked send */
};
struct nof_cluster_faults nof_cluster_faults(const struct nof_cluster *c);

#endif
