/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host of one rank for measurements at size (alltoall.c, mcast.c): buffers that are not there, whose bytes are counted, not
 * copied. First in the host of who measures, whose `complete` is its own. */
#ifndef NOF_SIM_BULK_HOST_H
#define NOF_SIM_BULK_HOST_H

#include "cluster.h"

#define NOF_BULK_SEND_AT 0x100000000000ull /* addresses of the two buffers */
#define NOF_BULK_RECV_AT 0x200000000000ull
#define NOF_BULK_DELAY_NS 500u /* of a link, one way: a few metres, and half of a switch */
#define NOF_BULK_IDLE_TURN_NS 100u /* of a core that looks and finds nothing */
#define NOF_BULK_PATIENCE_NS 600000000000ull

struct nof_bulk_host {
    struct nof_cluster *cluster;
    unsigned rank;
    uint32_t endpoint;
    struct nof_card card;
    uint64_t buffer_bytes; /* of each of the two */
    uint8_t *area; /* its programs */
    struct nof_desc *queue;
    unsigned head, tail, room;
    uint64_t received; /* bytes */
};

/* Rank, cluster, buffers and area are set; compression is off. ops has these three. NOF_OK, or why not. */
int nof_bulk_host_open(struct nof_bulk_host *h, unsigned size, uint64_t area_bytes,
                       const struct nof_cluster_host_ops *ops);
unsigned nof_bulk_host_fetch(void *host, struct nof_desc *descs, unsigned max);
int nof_bulk_host_dma(void *host, bool write, const struct nof_segment *remote, unsigned nremote,
                      const struct nof_buf *local, unsigned nlocal, uint64_t token);
void nof_bulk_host_failed(void *host, int status);
void nof_bulk_host_free(struct nof_bulk_host *h);
void nof_bulk_host_submit(struct nof_bulk_host *h, const struct nof_desc *d);
/* h knows the other one from now on. */
void nof_bulk_host_meet(struct nof_bulk_host *h, const struct nof_bulk_host *other);

#endif
