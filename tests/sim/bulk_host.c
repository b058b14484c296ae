/* SPDX-License-Identifier: BSD-3-Clause */
#include "bulk_host.h"

#include <stdlib.h>
#include <string.h>

void nof_bulk_host_submit(struct nof_bulk_host *h, const struct nof_desc *d)
{
    if (h->tail == h->room) {
        h->room = h->room != 0 ? 2 * h->room : 64;
        h->queue = realloc(h->queue, h->room * sizeof(*h->queue));
        if (h->queue == NULL)
            abort();
    }
    h->queue[h->tail++] = *d;
    nof_cluster_kick(h->cluster, h->rank);
}

unsigned nof_bulk_host_fetch(void *host, struct nof_desc *descs, unsigned max)
{
    struct nof_bulk_host *h = host;
    unsigned n = h->tail - h->head < max ? h->tail - h->head : max;
    if (n > 0)
        memcpy(descs, h->queue + h->head, n * sizeof(*descs));
    h->head += n;
    if (h->head == h->tail)
        h->head = h->tail = 0;
    return n;
}

/* What has come may be read, too: a tree passes it on. */
int nof_bulk_host_dma(void *host, bool write, const struct nof_segment *remote, unsigned nremote,
                      const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    struct nof_bulk_host *h = host;
    (void)local, (void)nlocal, (void)token;
    for (unsigned i = 0; i < nremote; i++) {
        uint64_t base = write || remote[i].addr >= NOF_BULK_RECV_AT ? NOF_BULK_RECV_AT : NOF_BULK_SEND_AT;
        uint64_t at = remote[i].addr - base;
        if (at > h->buffer_bytes || remote[i].len_bytes > h->buffer_bytes - at)
            nof_cluster_fail(h->cluster, "DMA of host %u touches what is not its own", h->rank);
        h->received += write ? remote[i].len_bytes : 0;
    }
    return NOF_DMA_DONE;
}

void nof_bulk_host_failed(void *host, int status)
{
    struct nof_bulk_host *h = host;
    nof_cluster_fail(h->cluster, "the NIC gives host %u up: %s", h->rank, nof_strstatus(status));
}

int nof_bulk_host_open(struct nof_bulk_host *h, unsigned size, uint64_t area_bytes,
                       const struct nof_cluster_host_ops *ops)
{
    struct nof_endpoint_params params = {.job_id = 7,
                                         .rank = h->rank,
                                         .size = size,
                                         .program_area = h->area,
                                         .program_area_bytes = area_bytes,
                                         .dma_inline = 1};
    int status = nof_nic_feature_set(nof_cluster_nic(h->cluster, h->rank), NOF_F_COMPRESSION, 0);
    return status != NOF_OK
               ? status
               : nof_cluster_endpoint_open(h->cluster, h->rank, &params, ops, h, &h->endpoint, &h->card);
}

void nof_bulk_host_free(struct nof_bulk_host *h)
{
    free(h->area);
    free(h->queue);
}

void nof_bulk_host_meet(struct nof_bulk_host *h, const struct nof_bulk_host *other)
{
    struct nof_desc d = {.opcode = NOF_DESC_PEER, .peer = (int32_t)other->rank, .len = sizeof(other->card)};
    memcpy(d.inline_data, &other->card, sizeof(other->card));
    nof_bulk_host_submit(h, &d);
}
