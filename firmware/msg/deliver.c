/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/deliver.h"

#include "base/invariant.h"
#include "flow/credit.h"
#include "payload/gather.h"
#include "msg/delta_slots.h"
#include "msg/granted.h"
#include "msg/recv.h"
#include "msg/rendezvous.h"
#include "payload/reserve.h"
#include "payload/write.h"

/* Are its bytes written in the order in which they came? Where ranges come what is held lies anywhere; where the host is told,
 * a unit is there with its last byte. */
static bool in_order(const struct nof_recv *r)
{
    return nof_recv_is_ranged(r) || r->delta;
}

static void write_chain(struct nof_nic *nic, struct nof_recv *r, uint32_t chain, uint32_t skip,
                        uint32_t bytes, uint64_t offset, uint32_t peer);

/* Where no ranges came, no write of r is under way, and everything before what is held has been written. */
static void write_held(struct nof_nic *nic, struct nof_recv *r)
{
    uint32_t chain;
    uint64_t at = r->hold_at;
    uint32_t bytes = nof_gather_unhold(r, &chain);
    write_chain(nic, r, chain, 0, bytes, at, NOF_NIL);
}

void nof_deliver_rest(struct nof_nic *nic, struct nof_recv *r)
{
    if (r->state == NOF_RECV_RNDV && r->writes == 0 && r->hold_bytes > 0)
        write_held(nic, r);
    else
        nof_recv_progress(nic, r);
}

/* Are so many bytes worth a request of their own, with none under way? A request costs the host more than its bytes
 * do when they are few. While the sender has more to send it may be a whole reserve ahead and is granted more after
 * half of one, so a quarter always comes. Where the host is told what has come, somebody waits for little. */
static bool worth_writing(const struct nof_recv *r, uint32_t bytes)
{
    return bytes > 0 && (r->arrived || r->delta || bytes >= nof_reserve_bytes(r) / 4);
}

static void wrote(struct nof_nic *nic, struct nof_recv *r, uint64_t offset, uint64_t n)
{
    nof_recv_wrote(r, n);
    if (r->delta)
        nof_delta_recv_wrote(nic, r, offset, n);
}

static void written(struct nof_nic *nic, const struct nof_written *w)
{
    struct nof_recv *r = w->recv;
    if (r->state == NOF_RECV_ENDING) {
        nof_recv_write_ended(nic, r);
        return;
    }
    if (w->status != NOF_OK) {
        nof_recv_abort(nic, r, w->status);
        return;
    }
    wrote(nic, r, w->offset, w->bytes);
    if (r->state == NOF_RECV_RNDV)
        nof_rndv_window(nic, r);
    if (r->state == NOF_RECV_RNDV && r->writes == 0 && worth_writing(r, r->hold_bytes))
        write_held(nic, r);
    else
        nof_recv_progress(nic, r);
}

/* This write has ended; returns the one that waits behind it, or NOF_NIL. */
static uint32_t ended_one(struct nof_nic *nic, const struct nof_written *w)
{
    uint32_t next = nof_write_next(nic, w->recv); /* before w's receive may end */
    written(nic, w);
    return next;
}

static void go(struct nof_nic *nic, uint32_t write)
{
    struct nof_written ended;
    /* bound: writes of one receive, each with a block of its reserve; paid by the flow's bytes */
    while (write != NOF_NIL && nof_write_go(nic, write, &ended))
        write = ended_one(nic, &ended);
}

static void write_chain(struct nof_nic *nic, struct nof_recv *r, uint32_t chain, uint32_t skip,
                        uint32_t bytes, uint64_t offset, uint32_t peer)
{
    uint32_t write = nof_write_begin(nic, r, chain, skip, bytes, offset, peer);
    if (in_order(r) && r->writes > 1)
        nof_write_later(nic, r, write);
    else
        go(nic, write);
}

void nof_deliver_done(struct nof_nic *nic, uint32_t write, int status)
{
    struct nof_written ended;
    if (nof_write_done(nic, write, status, &ended))
        go(nic, ended_one(nic, &ended));
}

void nof_deliver_retry(struct nof_nic *nic, uint32_t *queue)
{
    uint32_t all = *queue;
    uint32_t i;
    *queue = NOF_NIL;
    /* bound: writes that found no room or no steps; paid by each endpoint's steps */
    while ((i = nof_queue_pop(&nic->writes, &all)) != NOF_NIL)
        go(nic, i);
}

/* The host takes no request now although it copies inline: keep it all in network memory. */
static void defer(struct nof_nic *nic, struct nof_recv *r, const struct nof_gather *g)
{
    uint32_t blocks = (g->bytes + NOF_NETMEM_BLOCK - 1) / NOF_NETMEM_BLOCK;
    uint32_t chain = NOF_NIL;
    if (nof_reserve_take(nic, r, blocks, blocks) == blocks)
        chain = nof_reserve_chain(nic, r, blocks);
    if (chain == NOF_NIL) {
        nof_recv_abort(nic, r, NOF_ENOMEM);
        return;
    }
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
    write_chain(nic, r, chain, 0, g->bytes, g->offset, NOF_NIL);
}

/* A plain buffer (nof_recv_is_direct()): one request. */
static void write_inline(struct nof_nic *nic, struct nof_recv *r, const struct nof_gather *g)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    struct nof_segment seg = {.addr = r->addr + g->offset, .len_bytes = g->bytes};
    int rc = NOF_EAGAIN;
    if (!in_order(r) || r->writes == 0)
        rc = nic->host_ops->dma_write(nic->host, r->ep, &seg, 1, g->buf, g->nbufs, 0);
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
    wrote(nic, r, g->offset, g->bytes);
    nof_recv_progress(nic, r);
}

void nof_deliver_flush(struct nof_nic *nic)
{
    struct nof_gather *g = &nic->gather;
    if (g->recv == NOF_NIL)
        return;
    struct nof_recv *r = nof_recv_at(nic, g->recv);
    g->recv = NOF_NIL; /* so that an end of r leaves the pieces to us */
    if (g->chain == NOF_NIL)
        write_inline(nic, r, g);
    else if (r->state == NOF_RECV_RNDV && (r->writes > 0 || !worth_writing(r, g->bytes)))
        nof_gather_hold(r, g);
    else
        write_chain(nic, r, g->chain, 0, g->bytes, g->offset, NOF_NIL);
    nof_gather_clear(g);
}

void nof_deliver_any_piece(struct nof_nic *nic, struct nof_recv *r, uint64_t offset, const uint8_t *data,
                           uint32_t n, bool lent)
{
    struct nof_gather *g = &nic->gather;
    uint32_t i = nof_recv_index(nic, r);
    if (g->recv != NOF_NIL && !nof_gather_follows(g, i, offset, n)) {
        nof_deliver_flush(nic);
        if (r->state != NOF_RECV_RNDV && r->state != NOF_RECV_DIRECT)
            return; /* it failed */
    }
    if (g->recv == NOF_NIL) {
        if (r->state == NOF_RECV_RNDV && !nof_gather_goes_on(r, offset)) {
            write_held(nic, r);
            if (r->state != NOF_RECV_RNDV)
                return; /* it failed */
        }
        g->recv = i;
        g->offset = offset;
    }
    if (!nof_recv_is_direct(nic, r)) {
        g->bytes += n;
        if (!nof_gather_copy(nic, r, data, n))
            nof_recv_abort(nic, r, NOF_EPROTO);
        return;
    }
    nof_gather_lent(g, data, n);
    if (!lent)
        nof_deliver_flush(nic);
}

void nof_deliver_small(struct nof_nic *nic, struct nof_recv *r, const uint8_t *data)
{
    if (!nof_recv_in_buffer(r) || r->wanted == 0) {
        nof_recv_inline(nic, r, data);
        return;
    }
    uint32_t block = nof_reserve_chain(nic, r, 1);
    nof_invariant(block != NOF_NIL); /* it was taken together with the receive */
    memcpy(nof_netmem_at(&nic->netmem, block), data, (size_t)r->wanted);
    nof_recv_all_here(r);
    write_chain(nic, r, block, 0, (uint32_t)r->wanted, 0, NOF_NIL);
}

/* r->wanted bytes lie in this line, which is free afterwards. */
static void deliver_line(struct nof_nic *nic, struct nof_recv *r, uint32_t line)
{
    struct nof_stage *stage = &nic->eps[r->ep].stage;
    uint8_t small[NOF_INLINE_BYTES];
    if (r->wanted > NOF_INLINE_BYTES) {
        nof_recv_give_staged(nic, r, nof_stage_give(stage, line));
        return;
    }
    memcpy(small, nof_stage_touch(stage, line, 0, (uint32_t)r->wanted), (size_t)r->wanted);
    nof_stage_close(stage, line);
    nof_recv_inline(nic, r, small);
}

void nof_deliver_stored(struct nof_nic *nic, struct nof_recv *r, uint32_t chain)
{
    struct nof_peer *peer = nof_peer_at(nic, r->peer);
    uint32_t line = nof_stored_at(&nic->netmem, chain)->line;
    uint8_t small[NOF_INLINE_BYTES];
    uint8_t *to = NULL;
    if (line != NOF_NIL) {
        nof_credit_free(nic, peer, 0, nof_netmem_free(&nic->netmem, chain));
        nof_count(nic, &nic->eps[r->ep], NOF_C_STAGE_COPIES_AVOIDED, 1);
        deliver_line(nic, r, line);
        return;
    }
    if (r->wanted <= NOF_INLINE_BYTES)
        to = small;
    else if (nof_recv_stage(nic, r))
        to = nic->eps[r->ep].stage.area + r->stage_offset;
    if (to == NULL) {
        nof_recv_all_here(r);
        write_chain(nic, r, chain, NOF_STORED_BYTES, (uint32_t)r->wanted, 0, r->peer);
        return;
    }
    nof_stored_copy(&nic->netmem, chain, to, (uint32_t)r->wanted);
    nof_credit_free(nic, peer, 0, nof_netmem_free(&nic->netmem, chain));
    if (to == small)
        nof_deliver_small(nic, r, small);
    else
        nof_recv_give_staged(nic, r, r->stage_offset);
}

void nof_deliver_granted(struct nof_nic *nic, struct nof_recv *r)
{
    uint32_t line = r->line;
    uint32_t chain;
    uint32_t n;
    uint8_t small[NOF_INLINE_BYTES];
    nof_granted_settle(r);
    if (line != NOF_STAGE_NONE) {
        deliver_line(nic, r, line);
        return;
    }
    uint32_t held = nof_gather_unhold(r, &chain);
    if (r->wanted > NOF_INLINE_BYTES) {
        nof_recv_all_here(r);
        write_chain(nic, r, chain, 0, (uint32_t)r->wanted, 0, NOF_NIL);
        return;
    }
    if (held > 0) {
        if (r->wanted > 0) {
            nof_chain_bufs(&nic->netmem, chain, 0, (uint32_t)r->wanted, nic->bufs, 1, &n);
            memcpy(small, nic->bufs[0].base, (size_t)r->wanted);
        }
        nof_reserve_free(nic, r, chain);
    }
    nof_recv_inline(nic, r, small);
}
