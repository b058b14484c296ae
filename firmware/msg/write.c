/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/write.h"

#include "flow/credit.h"
#include "base/invariant.h"
#include "flow/link.h"
#include "msg/recv.h"
#include "msg/rendezvous.h"

uint32_t nof_write_reserve(struct nof_nic *nic, struct nof_recv *r, uint32_t want, uint32_t least)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    uint32_t kept = nic->cfg.max_endpoints * nic->dma_min;
    uint32_t room = nic->dma_free > kept ? nic->dma_free - kept : 0;
    if (ep->dma_used < nic->dma_min && nic->dma_min - ep->dma_used > room)
        room = nic->dma_min - ep->dma_used;
    if (room > nic->dma_free)
        room = nic->dma_free;
    if (room < least)
        return 0;
    uint32_t n = want < room ? want : room;
    r->reserved_blocks += n;
    ep->dma_used += n;
    nic->dma_free -= n;
    return n;
}

void nof_write_unreserve(struct nof_nic *nic, struct nof_recv *r)
{
    nic->eps[r->ep].dma_used -= r->reserved_blocks;
    nic->dma_free += r->reserved_blocks;
    if (r->reserved_blocks > 0 && nic->recvs_waiting > 0)
        nic->dma_released = 1;
    r->reserved_blocks = 0;
}

int nof_write_borrow(struct nof_nic *nic, struct nof_recv *r, uint32_t want)
{
    uint32_t kept = nic->cfg.max_endpoints * nic->dma_min;
    if (nic->dma_free < kept || nic->dma_free - kept < want)
        return 0;
    r->reserved_blocks = want;
    nic->dma_free -= want;
    return 1;
}

void nof_write_claim(struct nof_nic *nic, const struct nof_recv *r)
{
    nic->eps[r->ep].dma_used += r->reserved_blocks;
}

static void give_chain(struct nof_nic *nic, struct nof_recv *r, uint32_t chain, uint32_t peer)
{
    uint32_t blocks = nof_netmem_free(&nic->netmem, chain);
    if (peer == NOF_NIL) {
        r->used_blocks -= blocks;
        return;
    }
    nof_credit_free(nic, nof_peer_at(nic, peer), 0, blocks);
    nof_link_update_credit(nic, nof_peer_at(nic, peer));
}

/* The write of r is done; everything before what is held has been written. r may end in here. */
static void write_held(struct nof_nic *nic, struct nof_recv *r)
{
    uint32_t bytes = r->hold_bytes;
    r->hold_bytes = 0;
    nof_write_chain(nic, r, r->hold_chain, 0, bytes, r->written, NOF_NIL);
}

void nof_write_rest(struct nof_nic *nic, struct nof_recv *r)
{
    if (r->state == NOF_RECV_RNDV && r->writes == 0 && r->hold_bytes > 0)
        write_held(nic, r);
    else
        nof_recv_progress(nic, r);
}

/* Are so many bytes worth a request of their own, with none under way? A request costs the host more than its bytes
 * do when they are few. While the sender has more to send it may be a whole reserve ahead and is granted more after
 * half of one, so a quarter always comes. */
static int worth_writing(const struct nof_recv *r, uint32_t bytes)
{
    return bytes > 0 && ((r->flags & NOF_RECV_F_ARRIVED) != 0 ||
                         bytes >= r->reserved_blocks * NOF_WRITE_BYTES_PER_BLOCK / 4);
}

static void finish(struct nof_nic *nic, struct nof_write *w, int status)
{
    struct nof_recv *r = nof_recv_at(nic, w->recv);
    uint32_t bytes = w->bytes;
    give_chain(nic, r, w->chain, w->peer);
    nof_pool_give(&nic->writes, (uint32_t)(w - (struct nof_write *)nic->writes.base));
    r->writes--;
    if (r->state == NOF_RECV_ENDING) {
        nof_recv_write_ended(nic, r);
    } else if (status != NOF_OK) {
        nof_recv_abort(nic, r, status);
    } else {
        r->written += bytes;
        if (r->state == NOF_RECV_RNDV)
            nof_rndv_window(nic, r);
        if (r->state == NOF_RECV_RNDV && r->writes == 0 && worth_writing(r, r->hold_bytes))
            write_held(nic, r);
        else
            nof_recv_progress(nic, r);
    }
}

static void wait_in(struct nof_nic *nic, struct nof_write *w, uint32_t *queue)
{
    w->waiting = 1;
    nof_queue_push(&nic->writes, queue, (uint32_t)(w - (struct nof_write *)nic->writes.base));
}

/* Issue requests until one is pending, the endpoint has had its turn, or all is written. */
static void issue(struct nof_nic *nic, struct nof_write *w)
{
    const struct nof_recv *r = nof_recv_at(nic, w->recv);
    struct nof_endpoint *ep = &nic->eps[w->ep];
    uint32_t index = (uint32_t)(w - (struct nof_write *)nic->writes.base);
    /* bound: 64 KiB, a request each, as far as the steps reach; paid by the endpoint's steps */
    while (w->done < w->bytes && r->state != NOF_RECV_ENDING) {
        uint64_t reach;
        uint32_t n;
        uint32_t steps;
        uint32_t left = w->bytes - w->done;
        if (ep->state == NOF_EP_CLOSING) {
            finish(nic, w, NOF_ECANCELED);
            return;
        }
        if (nof_steps_left(nic, ep) == 0) {
            wait_in(nic, w, &nic->write_later);
            return;
        }
        if (left > NOF_DMA_BLOCK_BYTES)
            left = NOF_DMA_BLOCK_BYTES;
        unsigned nsegs = nof_buffer_segments(&nic->layouts, r->layout, r->addr, w->offset + w->done, left,
                                             nic->segs, &reach, &steps);
        nof_steps_spend(ep, steps);
        unsigned nbufs = nof_chain_bufs(&nic->netmem, w->chain, w->skip + w->done, (uint32_t)reach, nic->bufs,
                                        NOF_DMA_SEGMENTS_MAX, &n);
        int rc = nic->host_ops->dma_write(nic->host, w->ep, nic->segs, nof_segments_trim(nic->segs, nsegs, n),
                                          nic->bufs, nbufs, nof_handle(index, w->obj.gen) | NOF_TOKEN_WRITE);
        if (rc == NOF_EAGAIN) {
            wait_in(nic, w, &nic->write_retry);
            nof_retry(nic);
            return;
        }
        nof_count(nic, ep, NOF_C_DMA_WRITES, 1);
        if (rc == NOF_DMA_PENDING) {
            w->issued = n;
            ep->dma_pending++;
            return;
        }
        if (rc != NOF_DMA_DONE) {
            nof_count(nic, ep, NOF_C_DMA_FAULTS, 1);
            finish(nic, w, rc < 0 ? rc : NOF_EFAULT);
            return;
        }
        nof_count(nic, ep, NOF_C_DMA_WRITE_BYTES, n);
        w->done += n;
    }
    finish(nic, w, NOF_OK);
}

void nof_write_chain(struct nof_nic *nic, struct nof_recv *r, uint32_t chain, uint32_t skip, uint32_t bytes,
                     uint64_t offset, uint32_t peer)
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
    issue(nic, w);
}

void nof_write_done(struct nof_nic *nic, uint32_t index, int status)
{
    struct nof_write *w = nof_write_at(nic, index);
    struct nof_endpoint *ep = &nic->eps[w->ep];
    ep->dma_pending--;
    if (status != NOF_OK) {
        nof_count(nic, ep, NOF_C_DMA_FAULTS, 1);
        finish(nic, w, status < 0 ? status : NOF_EFAULT);
        return;
    }
    nof_count(nic, ep, NOF_C_DMA_WRITE_BYTES, w->issued);
    w->done += w->issued;
    w->issued = 0;
    issue(nic, w);
}

void nof_write_retry(struct nof_nic *nic, uint32_t *queue)
{
    uint32_t all = *queue;
    uint32_t i;
    *queue = NOF_NIL;
    /* bound: writes that found no room or no steps; paid by each endpoint's steps */
    while ((i = nof_queue_pop(&nic->writes, &all)) != NOF_NIL) {
        nof_write_at(nic, i)->waiting = 0;
        issue(nic, nof_write_at(nic, i));
    }
}

static void gather_reset(struct nof_gather *g)
{
    g->recv = NOF_NIL;
    g->bytes = 0;
    g->nbufs = 0;
    g->chain = NOF_NIL;
    g->chain_tail = NOF_NIL;
    g->chain_fill = 0;
}

/* The host takes no request now although it copies inline: keep it all in network memory. */
static void defer(struct nof_nic *nic, struct nof_recv *r, const struct nof_gather *g)
{
    uint32_t blocks = (g->bytes + NOF_NETMEM_BLOCK - 1) / NOF_NETMEM_BLOCK;
    uint32_t chain = NOF_NIL;
    if (nof_write_reserve(nic, r, blocks, blocks) == blocks)
        chain = nof_netmem_take(&nic->netmem, blocks);
    if (chain == NOF_NIL) {
        nof_recv_abort(nic, r, NOF_ENOMEM);
        return;
    }
    r->used_blocks += blocks;
    uint32_t block = chain;
    uint32_t fill = 0;
    /* bound: NOF_DMA_SEGMENTS_MAX, 64; paid by the flow's bytes */
    for (uint32_t k = 0; k < g->nbufs; k++) {
        const uint8_t *from = g->buf[k].base;
        /* bound: bytes of one frame; paid by the flow's bytes */
        for (uint32_t n = (uint32_t)g->buf[k].len_bytes; n > 0;) {
            if (fill == NOF_NETMEM_BLOCK) {
                block = nic->netmem.next[block];
                fill = 0;
            }
            uint32_t piece = NOF_NETMEM_BLOCK - fill < n ? NOF_NETMEM_BLOCK - fill : n;
            memcpy(nof_netmem_at(&nic->netmem, block) + fill, from, piece);
            fill += piece;
            from += piece;
            n -= piece;
        }
    }
    nof_write_chain(nic, r, chain, 0, g->bytes, g->offset, NOF_NIL);
}

/* A plain buffer (nof_recv_is_direct()): one request. */
static void write_inline(struct nof_nic *nic, struct nof_recv *r, const struct nof_gather *g)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    struct nof_segment seg = {.addr = r->addr + g->offset, .len_bytes = g->bytes};
    int rc = nic->host_ops->dma_write(nic->host, r->ep, &seg, 1, g->buf, g->nbufs, 0);
    if (rc == NOF_EAGAIN) {
        defer(nic, r, g);
        return;
    }
    nof_count(nic, ep, NOF_C_DMA_WRITES, 1);
    if (rc != NOF_DMA_DONE) {
        nof_count(nic, ep, NOF_C_DMA_FAULTS, 1);
        nof_recv_abort(nic, r, rc < 0 ? rc : NOF_EFAULT);
        return;
    }
    nof_count(nic, ep, NOF_C_DMA_WRITE_BYTES, g->bytes);
    r->written += g->bytes;
    nof_recv_progress(nic, r);
}

/* A write of r is under way, or this is too little for one: more will come behind it, so that small frames fill whole
 * blocks and the reserve is enough however little each frame carries. */
static void hold(struct nof_recv *r, const struct nof_gather *g)
{
    r->hold_chain = g->chain;
    r->hold_tail = g->chain_tail;
    r->hold_fill = g->chain_fill;
    r->hold_bytes = g->bytes;
}

/* New pieces go behind what is held. */
static void take_held(struct nof_recv *r, struct nof_gather *g)
{
    g->chain = r->hold_chain;
    g->chain_tail = r->hold_tail;
    g->chain_fill = r->hold_fill;
    g->bytes += r->hold_bytes;
    g->offset -= r->hold_bytes;
    r->hold_bytes = 0;
}

void nof_gather_flush(struct nof_nic *nic)
{
    struct nof_gather *g = &nic->gather;
    if (g->recv == NOF_NIL)
        return;
    struct nof_recv *r = nof_recv_at(nic, g->recv);
    g->recv = NOF_NIL; /* so that an end of r leaves the pieces to us */
    if (g->chain == NOF_NIL)
        write_inline(nic, r, g);
    else if (r->state == NOF_RECV_RNDV && (r->writes > 0 || !worth_writing(r, g->bytes)))
        hold(r, g);
    else
        nof_write_chain(nic, r, g->chain, 0, g->bytes, g->offset, NOF_NIL);
    gather_reset(g);
}

void nof_gather_forget(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_gather *g = &nic->gather;
    if (r->state == NOF_RECV_RNDV && r->hold_bytes > 0)
        give_chain(nic, r, r->hold_chain, NOF_NIL);
    if (r->state == NOF_RECV_RNDV)
        r->hold_bytes = 0;
    if (g->recv != nof_recv_index(nic, r))
        return;
    if (g->chain != NOF_NIL)
        give_chain(nic, r, g->chain, NOF_NIL);
    gather_reset(g);
}

/* Copy a piece behind what is in the chain; 0: the receive has used up its reserve. */
static int chain_add(struct nof_nic *nic, struct nof_recv *r, const uint8_t *data, uint32_t n)
{
    struct nof_gather *g = &nic->gather;
    if (g->chain == NOF_NIL && r->state == NOF_RECV_RNDV && r->hold_bytes > 0)
        take_held(r, g);
    /* bound: bytes of one frame; paid by the flow's bytes */
    while (n > 0) {
        if (g->chain == NOF_NIL || g->chain_fill == NOF_NETMEM_BLOCK) {
            uint32_t b = r->used_blocks < r->reserved_blocks ? nof_netmem_take(&nic->netmem, 1) : NOF_NIL;
            if (b == NOF_NIL)
                return 0;
            r->used_blocks++;
            if (g->chain == NOF_NIL)
                g->chain = b;
            else
                nic->netmem.next[g->chain_tail] = b;
            g->chain_tail = b;
            g->chain_fill = 0;
        }
        uint32_t room = NOF_NETMEM_BLOCK - g->chain_fill;
        uint32_t piece = n < room ? n : room;
        memcpy(nof_netmem_at(&nic->netmem, g->chain_tail) + g->chain_fill, data, piece);
        g->chain_fill += piece;
        data += piece;
        n -= piece;
    }
    return 1;
}

void nof_gather_add(struct nof_nic *nic, struct nof_recv *r, uint64_t offset, const uint8_t *data, uint32_t n,
                    int lent)
{
    struct nof_gather *g = &nic->gather;
    uint32_t i = nof_recv_index(nic, r);
    if (g->recv != NOF_NIL &&
        (g->recv != i || g->bytes + n > NOF_DMA_BLOCK_BYTES || g->nbufs == NOF_DMA_SEGMENTS_MAX)) {
        nof_gather_flush(nic);
        if (r->state != NOF_RECV_RNDV && r->state != NOF_RECV_DIRECT)
            return; /* it failed */
    }
    if (g->recv == NOF_NIL) {
        g->recv = i;
        g->offset = offset;
    }
    g->bytes += n;
    if (!nof_recv_is_direct(nic, r)) {
        if (!chain_add(nic, r, data, n))
            nof_recv_abort(nic, r, NOF_EPROTO);
        return;
    }
    const uint8_t *const *from = &data;
    memcpy(&g->buf[g->nbufs].base, from, sizeof data); /* dma_write reads; struct nof_buf serves both ways */
    g->buf[g->nbufs++].len_bytes = n;
    if (!lent)
        nof_gather_flush(nic);
}
