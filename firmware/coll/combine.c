/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/combine.h"

#include "coll/reduce.h"

/* Steps of a turn for each part of a piece: for its request, and for its bytes. A whole piece takes three times the latter,
 * whatever its type: nof_combine_most() is less where the computation is slow. */
#define REQUEST_COST 4u
#define PIECE_COST 24u

static struct nof_combine *combine_at(const struct nof_nic *nic, uint32_t i)
{
    return (struct nof_combine *)nic->combines.base + i;
}

/* The result, and the other operand behind it. */
static uint8_t *memory_of(const struct nof_nic *nic, uint32_t index)
{
    return nic->combine_mem + (size_t)index * 2 * NOF_REDUCE_PIECE_BYTES;
}

uint32_t nof_combine_most(unsigned type)
{
    return type == NOF_REDUCE_NONE ? NOF_REDUCE_PIECE_BYTES : nof_reduce_most(type) * nof_reduce_bytes(type);
}

uint32_t nof_combine_begin(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t program, uint32_t step,
                           uint64_t at, const uint64_t *bases)
{
    const struct nof_coll_step *s = nof_coll_step_at(&nic->colls, nof_coll_at(&nic->colls, program), step);
    uint32_t i = nof_pool_take(&nic->combines); /* there are as many as all endpoints may have */
    struct nof_combine *c = combine_at(nic, i);
    uint32_t most = nof_combine_most(s->elem);
    *c = (struct nof_combine){.obj = c->obj,
                              .ep = (uint16_t)ep->index,
                              .part = NOF_COMBINE_READ,
                              .op = s->op,
                              .type = s->elem,
                              .bytes = s->len - at < most ? (uint32_t)(s->len - at) : most,
                              .program = program,
                              .step = step,
                              .from = bases[s->from_base] + s->from + at,
                              .to = bases[s->base] + s->offset + at};
    ep->combines++;
    return i;
}

static bool end(struct nof_nic *nic, uint32_t index, int status, struct nof_combined *ended_out)
{
    const struct nof_combine *c = combine_at(nic, index);
    struct nof_endpoint *ep = &nic->eps[c->ep];
    *ended_out = (struct nof_combined){.ep = ep, .program = c->program, .step = c->step, .status = status};
    ep->combines--;
    nof_pool_give(&nic->combines, index);
    return true;
}

static bool put_off(struct nof_nic *nic, uint32_t index, uint32_t *queue)
{
    nof_queue_push(&nic->combines, queue, index);
    return false;
}

static uint32_t bytes_read(const struct nof_combine *c)
{
    return c->type == NOF_REDUCE_NONE ? c->bytes : 2 * c->bytes;
}

static int request(struct nof_nic *nic, uint32_t index, const struct nof_combine *c)
{
    uint8_t *mem = memory_of(nic, index);
    uint64_t token = nof_handle(index, c->obj.gen) | NOF_TOKEN_COMBINE;
    unsigned n = 1;
    nic->segs[0] = (struct nof_segment){.addr = c->to, .len_bytes = c->bytes};
    nic->bufs[0] = (struct nof_buf){.base = mem, .len_bytes = c->bytes};
    if (c->part == NOF_COMBINE_WRITE)
        return nic->host_ops->dma_write(nic->host, c->ep, nic->segs, n, nic->bufs, n, token);
    if (c->type == NOF_REDUCE_NONE) {
        nic->segs[0].addr = c->from;
    } else {
        nic->segs[n] = (struct nof_segment){.addr = c->from, .len_bytes = c->bytes};
        nic->bufs[n++] = (struct nof_buf){.base = mem + NOF_REDUCE_PIECE_BYTES, .len_bytes = c->bytes};
    }
    return nic->host_ops->dma_read(nic->host, c->ep, nic->segs, n, nic->bufs, n, token);
}

/* The request of this part has ended well. */
static void copied(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_combine *c)
{
    bool reads = c->part == NOF_COMBINE_READ;
    nof_count(nic, ep, reads ? NOF_C_DMA_READ_BYTES : NOF_C_DMA_WRITE_BYTES,
              reads ? bytes_read(c) : c->bytes);
    c->part++;
}

static void compute(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t index, struct nof_combine *c)
{
    uint8_t *mem = memory_of(nic, index);
    if (c->type != NOF_REDUCE_NONE) {
        (void)nof_reduce(c->op, c->type, mem, mem + NOF_REDUCE_PIECE_BYTES, /* which the program was asked */
                         c->bytes / nof_reduce_bytes(c->type));
        nof_count(nic, ep, NOF_C_COLL_REDUCED_BYTES, c->bytes);
    }
    c->part++;
}

bool nof_combine_go(struct nof_nic *nic, uint32_t index, struct nof_combined *ended_out)
{
    struct nof_combine *c = combine_at(nic, index);
    struct nof_endpoint *ep = &nic->eps[c->ep];
    /* bound: parts of a piece, 3; paid by the endpoint's steps */
    while (c->part != NOF_COMBINE_DONE) {
        if (ep->state == NOF_EP_CLOSING)
            return end(nic, index, NOF_ECANCELED, ended_out);
        if (nof_steps_left(nic, ep) == 0)
            return put_off(nic, index, &nic->combine_later);
        nof_steps_spend(ep, REQUEST_COST + PIECE_COST * c->bytes / nof_combine_most(c->type));
        if (c->part == NOF_COMBINE_COMPUTE) {
            compute(nic, ep, index, c);
            continue;
        }
        int rc = request(nic, index, c);
        if (rc == NOF_EAGAIN) {
            nof_retry(nic);
            return put_off(nic, index, &nic->combine_retry);
        }
        nof_count(nic, ep, c->part == NOF_COMBINE_READ ? NOF_C_DMA_READS : NOF_C_DMA_WRITES, 1);
        if (rc == NOF_DMA_PENDING) {
            ep->dma_pending++;
            return false;
        }
        if (rc != NOF_DMA_DONE) {
            nof_count(nic, ep, NOF_C_DMA_FAULTS, 1);
            return end(nic, index, rc < 0 ? rc : NOF_EFAULT, ended_out);
        }
        copied(nic, ep, c);
    }
    return end(nic, index, NOF_OK, ended_out);
}

bool nof_combine_done(struct nof_nic *nic, uint32_t index, int status, struct nof_combined *ended_out)
{
    struct nof_combine *c = combine_at(nic, index);
    struct nof_endpoint *ep = &nic->eps[c->ep];
    ep->dma_pending--;
    if (status != NOF_OK) {
        nof_count(nic, ep, NOF_C_DMA_FAULTS, 1);
        return end(nic, index, status < 0 ? status : NOF_EFAULT, ended_out);
    }
    copied(nic, ep, c);
    return nof_combine_go(nic, index, ended_out);
}
