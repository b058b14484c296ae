/* SPDX-License-Identifier: BSD-3-Clause */
#include "payload/write.h"

#include "base/invariant.h"
#include "flow/credit.h"
#include "flow/link.h"
#include "payload/reserve.h"

static void give_chain(struct nof_nic *nic, struct nof_recv *r, const struct nof_write *w)
{
    if (w->peer == NOF_NIL) {
        nof_reserve_free(nic, r, w->chain);
        return;
    }
    nof_credit_free(nic, nof_peer_at(nic, w->peer), 0, nof_netmem_free(&nic->netmem, w->chain));
    nof_link_update_credit(nic, nof_peer_at(nic, w->peer));
}

static bool end(struct nof_nic *nic, struct nof_write *w, int status, struct nof_written *ended_out)
{
    struct nof_recv *r = nof_recv_at(nic, w->recv);
    *ended_out = (struct nof_written){.recv = r, .offset = w->offset, .bytes = w->bytes, .status = status};
    give_chain(nic, r, w);
    nof_pool_give(&nic->writes, (uint32_t)(w - (struct nof_write *)nic->writes.base));
    r->writes--;
    return true;
}

static bool put_off(struct nof_nic *nic, uint32_t index, uint32_t *queue)
{
    nof_queue_push(&nic->writes, queue, index);
    return false;
}

/* The next request of w; *n_out: the bytes that it is for. */
static int request(struct nof_nic *nic, uint32_t index, const struct nof_write *w, uint32_t *n_out)
{
    const struct nof_recv *r = nof_recv_at(nic, w->recv);
    uint64_t reach;
    uint32_t steps;
    uint32_t left = w->bytes - w->done;
    if (left > NOF_DMA_BLOCK_BYTES)
        left = NOF_DMA_BLOCK_BYTES;
    unsigned nsegs = nof_buffer_segments(&nic->layouts, r->layout, r->addr, w->offset + w->done, left,
                                         nic->segs, &reach, &steps);
    nof_steps_spend(&nic->eps[w->ep], steps);
    unsigned nbufs = nof_chain_bufs(&nic->netmem, w->chain, w->skip + w->done, (uint32_t)reach, nic->bufs,
                                    NOF_DMA_SEGMENTS_MAX, n_out);
    return nic->host_ops->dma_write(nic->host, w->ep, nic->segs, nof_segments_trim(nic->segs, nsegs, *n_out),
                                    nic->bufs, nbufs, nof_handle(index, w->obj.gen) | NOF_TOKEN_WRITE);
}

bool nof_write_go(struct nof_nic *nic, uint32_t index, struct nof_written *ended_out)
{
    struct nof_write *w = nof_write_at(nic, index);
    const struct nof_recv *r = nof_recv_at(nic, w->recv);
    struct nof_endpoint *ep = &nic->eps[w->ep];
    /* bound: 64 KiB, a request each, as far as the steps reach; paid by the endpoint's steps */
    while (w->done < w->bytes && r->state != NOF_RECV_ENDING) {
        uint32_t n;
        if (ep->state == NOF_EP_CLOSING)
            return end(nic, w, NOF_ECANCELED, ended_out);
        if (nof_steps_left(nic, ep) == 0)
            return put_off(nic, index, &nic->write_later);
        int rc = request(nic, index, w, &n);
        if (rc == NOF_EAGAIN) {
            nof_retry(nic);
            return put_off(nic, index, &nic->write_retry);
        }
        nof_count(nic, ep, NOF_C_DMA_WRITES, 1);
        if (rc == NOF_DMA_PENDING) {
            w->issued = n;
            ep->dma_pending++;
            return false;
        }
        if (rc != NOF_DMA_DONE) {
            nof_count(nic, ep, NOF_C_DMA_FAULTS, 1);
            return end(nic, w, rc < 0 ? rc : NOF_EFAULT, ended_out);
        }
        nof_count(nic, ep, NOF_C_DMA_WRITE_BYTES, n);
        w->done += n;
    }
    return end(nic, w, NOF_OK, ended_out);
}

uint32_t nof_write_begin(struct nof_nic *nic, struct nof_recv *r, uint32_t chain, uint32_t skip,
                         uint32_t bytes, uint64_t offset, uint32_t peer)
{
    uint32_t i = nof_pool_take(&nic->writes);
    nof_invariant(i != NOF_NIL); /* every write holds a block, and there is one for each */
    struct nof_write *w = nof_write_at(nic, i);
    *w = (struct nof_write){.obj = w->obj,
                            .recv = nof_recv_index(nic, r),
                            .peer = peer,
                            .chain = chain,
                            .skip = skip,
                            .bytes = bytes,
                            .ep = r->ep,
                            .offset = offset};
    r->writes++;
    return i;
}

bool nof_write_done(struct nof_nic *nic, uint32_t index, int status, struct nof_written *ended_out)
{
    struct nof_write *w = nof_write_at(nic, index);
    struct nof_endpoint *ep = &nic->eps[w->ep];
    ep->dma_pending--;
    if (status != NOF_OK) {
        nof_count(nic, ep, NOF_C_DMA_FAULTS, 1);
        return end(nic, w, status < 0 ? status : NOF_EFAULT, ended_out);
    }
    nof_count(nic, ep, NOF_C_DMA_WRITE_BYTES, w->issued);
    w->done += w->issued;
    w->issued = 0;
    return nof_write_go(nic, index, ended_out);
}

void nof_write_later(struct nof_nic *nic, struct nof_recv *r, uint32_t index)
{
    nof_queue_push(&nic->writes, &r->write_queue, index);
}

uint32_t nof_write_next(struct nof_nic *nic, struct nof_recv *r)
{
    return nof_queue_pop(&nic->writes, &r->write_queue);
}
