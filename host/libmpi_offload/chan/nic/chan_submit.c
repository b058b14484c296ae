/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "chan/nic/chan_nic.h"

struct nof_chan_nic nof_chan_nic;

#define OP_CHUNK 256u
#define SUBMIT_BURST 32u
/* The NIC keeps the cookie of a parked send beside marks of its own in the highest bits. */
#define GENERATION_MAX ((1u << 28) - 1)

static bool grow_ops(void)
{
    struct nof_chan_nic_op **more =
        realloc(nof_chan_nic.op_chunks, (nof_chan_nic.op_chunk_count + 1) * sizeof(struct nof_chan_nic_op *));
    if (more == NULL)
        return false;
    nof_chan_nic.op_chunks = more;
    struct nof_chan_nic_op *chunk = calloc(OP_CHUNK, sizeof(*chunk));
    if (chunk == NULL)
        return false;
    more[nof_chan_nic.op_chunk_count] = chunk;
    for (uint32_t i = 0; i < OP_CHUNK; i++) {
        chunk[i].index = nof_chan_nic.op_chunk_count * OP_CHUNK + i;
        chunk[i].generation = 1;
        chunk[i].next = nof_chan_nic.op_free;
        nof_chan_nic.op_free = &chunk[i];
    }
    nof_chan_nic.op_chunk_count++;
    return true;
}

struct nof_chan_nic_op *nof_chan_nic_op_new(enum nof_op_phase phase, struct nof_request *req)
{
    if (nof_chan_nic.op_free == NULL && !grow_ops())
        return NULL;
    struct nof_chan_nic_op *op = nof_chan_nic.op_free;
    nof_chan_nic.op_free = op->next;
    *op = (struct nof_chan_nic_op){.index = op->index,
                                   .generation = op->generation,
                                   .phase = phase,
                                   .req = req,
                                   .next_active = nof_chan_nic.active};
    if (nof_chan_nic.active != NULL)
        nof_chan_nic.active->prev_active = op;
    nof_chan_nic.active = op;
    if (req != NULL)
        req->channel_op = op;
    return op;
}

void nof_chan_nic_op_free(struct nof_chan_nic_op *op)
{
    if (op->bounced)
        nof_pmd_bounce_free(nof_chan_nic.pmd, op->bounce);
    if (op->req != NULL)
        op->req->channel_op = NULL;
    if (op->prev_active != NULL)
        op->prev_active->next_active = op->next_active;
    else
        nof_chan_nic.active = op->next_active;
    if (op->next_active != NULL)
        op->next_active->prev_active = op->prev_active;
    op->phase = NOF_OP_FREE;
    op->generation = op->generation == GENERATION_MAX ? 1 : op->generation + 1;
    op->next = nof_chan_nic.op_free;
    nof_chan_nic.op_free = op;
}

uint64_t nof_chan_nic_cookie(const struct nof_chan_nic_op *op)
{
    return (uint64_t)op->generation << 32 | op->index;
}

struct nof_chan_nic_op *nof_chan_nic_op_of(uint64_t cookie)
{
    uint32_t index = (uint32_t)cookie;
    if (index >= nof_chan_nic.op_chunk_count * OP_CHUNK)
        return NULL;
    struct nof_chan_nic_op *op = &nof_chan_nic.op_chunks[index / OP_CHUNK][index % OP_CHUNK];
    return op->generation == (uint32_t)(cookie >> 32) && op->phase != NOF_OP_FREE ? op : NULL;
}

static bool grow_queue(void)
{
    size_t capacity = nof_chan_nic.queue_capacity == 0 ? 256 : nof_chan_nic.queue_capacity * 2;
    struct nof_desc *queue = malloc(capacity * sizeof(*queue));
    if (queue == NULL)
        return false;
    for (size_t i = 0; i < nof_chan_nic.queue_count; i++)
        queue[i] = nof_chan_nic.queue[(nof_chan_nic.queue_head + i) & (nof_chan_nic.queue_capacity - 1)];
    free(nof_chan_nic.queue);
    nof_chan_nic.queue = queue;
    nof_chan_nic.queue_capacity = capacity;
    nof_chan_nic.queue_head = 0;
    return true;
}

void nof_chan_nic_submit_queued(void)
{
    while (nof_chan_nic.queue_count > 0) {
        size_t n = nof_chan_nic.queue_capacity - nof_chan_nic.queue_head;
        if (n > nof_chan_nic.queue_count)
            n = nof_chan_nic.queue_count;
        if (n > SUBMIT_BURST)
            n = SUBMIT_BURST;
        int taken =
            nof_pmd_submit(nof_chan_nic.pmd, &nof_chan_nic.queue[nof_chan_nic.queue_head], (unsigned)n);
        if (taken <= 0)
            return; /* full; a dead NIC is noticed when reaping */
        nof_chan_nic.queue_head =
            (nof_chan_nic.queue_head + (size_t)taken) & (nof_chan_nic.queue_capacity - 1);
        nof_chan_nic.queue_count -= (size_t)taken;
        nof_chan_nic.queue_left += (size_t)taken;
    }
}

void nof_chan_nic_submit(const struct nof_desc *desc)
{
    if (nof_chan_nic.queue_count > 0)
        nof_chan_nic_submit_queued();
    if (nof_chan_nic.queue_count == 0 && nof_pmd_submit(nof_chan_nic.pmd, desc, 1) == 1)
        return;
    if (nof_chan_nic.queue_count == nof_chan_nic.queue_capacity && !grow_queue())
        nof_lib_die(1, "no memory for descriptors behind a full submission ring");
    nof_chan_nic
        .queue[(nof_chan_nic.queue_head + nof_chan_nic.queue_count) & (nof_chan_nic.queue_capacity - 1)] =
        *desc;
    nof_chan_nic.queue_count++;
}

void nof_chan_nic_release_flush(void)
{
    if (nof_chan_nic.release_count == 0)
        return;
    struct nof_desc desc = {.opcode = NOF_DESC_RELEASE};
    desc.release.count = nof_chan_nic.release_count;
    memcpy(desc.release.offset, nof_chan_nic.release,
           nof_chan_nic.release_count * sizeof(nof_chan_nic.release[0]));
    nof_chan_nic.release_count = 0;
    nof_chan_nic_submit(&desc);
}

void nof_chan_nic_release_staged(uint32_t offset)
{
    nof_chan_nic.release[nof_chan_nic.release_count++] = offset;
    if (nof_chan_nic.release_count == NOF_RELEASE_MAX)
        nof_chan_nic_release_flush();
}
