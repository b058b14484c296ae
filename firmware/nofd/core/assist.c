/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/core/assist.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "nofd/dma/dma.h"
#include "nofd/dma/dma_window.h"
#include "nofd/core/endpoint.h"

struct assist_slot {
    bool busy;
    bool write;
    uint32_t generation; /* tells an answer from one to the slot's previous request */
    unsigned asked; /* completions given */
    uint64_t token; /* the core's */
    unsigned nlocal;
    struct nof_buf local[NOF_DMA_SEGMENTS_MAX];
};

struct nofd_assist {
    uint8_t *area;
    struct assist_slot slots[NOF_ASSIST_SLOTS];
};

struct nofd_assist *nofd_assist_create(void *area)
{
    struct nofd_assist *assist = calloc(1, sizeof(*assist));

    if (assist == NULL)
        return NULL;
    assist->area = area;
    for (unsigned i = 0; i < NOF_ASSIST_SLOTS; i++)
        assist->slots[i].generation = 1; /* the host's words begin with 0 */
    return assist;
}

void nofd_assist_destroy(struct nofd_assist *assist)
{
    free(assist);
}

static struct nofd_endpoint *endpoint_of(struct nofd_dma_memory *memory)
{
    return (struct nofd_endpoint *)(void *)((char *)memory - offsetof(struct nofd_endpoint, memory));
}

static int copy_by_host(struct nofd_dma_memory *memory, bool write, const struct nof_segment *remote,
                        unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    struct nofd_endpoint *ep = endpoint_of(memory);
    struct nofd_assist *assist = ep->assist;
    struct nof_comp asks[NOF_DMA_SEGMENTS_MAX];
    struct assist_slot *slot;
    uint32_t offset;
    unsigned nasks = 0;
    unsigned i = 0;

    while (i < NOF_ASSIST_SLOTS && assist->slots[i].busy)
        i++;
    if (i == NOF_ASSIST_SLOTS || nofd_endpoint_give_room(ep) < nremote)
        return NOF_EAGAIN;
    slot = &assist->slots[i];
    offset = i * NOF_DMA_BLOCK_BYTES;
    memset(asks, 0, nremote * sizeof(asks[0]));
    for (unsigned j = 0; j < nremote; j++) {
        struct nof_comp *ask = &asks[nasks];

        if (remote[j].len_bytes == 0)
            continue;
        ask->opcode = NOF_COMP_ASSIST;
        ask->flags = write ? NOF_COMP_F_WRITE : 0;
        ask->len = remote[j].len_bytes;
        ask->assist.slot = i;
        ask->assist.generation = slot->generation;
        ask->assist.addr = remote[j].addr;
        ask->assist.area_offset = offset;
        ask->assist.area_len = (uint32_t)remote[j].len_bytes;
        offset += ask->assist.area_len;
        nasks++;
    }
    if (nasks == 0)
        return NOF_DMA_DONE;
    if (write)
        nofd_window_gather(assist->area + i * NOF_DMA_BLOCK_BYTES, local, nlocal);
    if (nofd_endpoint_give(ep, asks, nasks) != nasks)
        return NOF_EAGAIN;
    slot->busy = true;
    slot->write = write;
    slot->asked = nasks;
    slot->token = token;
    slot->nlocal = nlocal;
    memcpy(slot->local, local, nlocal * sizeof(*local));
    return NOF_DMA_PENDING;
}

static void finish(struct nofd_endpoint *ep, struct assist_slot *slot, int status)
{
    slot->busy = false;
    if (++slot->generation == 0)
        slot->generation = 1;
    nofd_dma_ended(&ep->memory, slot->token, status);
}

/* The host has done all copies of this slot; *status_out says whether well. */
static bool answered(const struct nofd_endpoint *ep, unsigned i, int *status_out)
{
    const struct assist_slot *slot = &ep->assist->slots[i];
    uint64_t word = __atomic_load_n(&ep->host_words->assist[i], __ATOMIC_ACQUIRE);

    if (!slot->busy || word >> 32 != slot->generation || (uint16_t)(word >> 16) < slot->asked)
        return false;
    *status_out = (uint16_t)word == 0 ? NOF_OK : NOF_EFAULT;
    return true;
}

bool nofd_assist_has_work(const struct nofd_endpoint *ep)
{
    int status;

    for (unsigned i = 0; i < NOF_ASSIST_SLOTS; i++)
        if (answered(ep, i, &status))
            return true;
    return false;
}

unsigned nofd_assist_turn(struct nofd_endpoint *ep)
{
    struct nofd_assist *assist = ep->assist;
    unsigned work = 0;

    for (unsigned i = 0; i < NOF_ASSIST_SLOTS; i++) {
        struct assist_slot *slot = &assist->slots[i];
        int status;

        if (!answered(ep, i, &status))
            continue;
        if (!slot->write && status == NOF_OK)
            nofd_window_scatter(assist->area + i * NOF_DMA_BLOCK_BYTES, slot->local, slot->nlocal);
        finish(ep, slot, status);
        work++;
    }
    return work;
}

static void cancel_all(struct nofd_dma_memory *memory)
{
    struct nofd_endpoint *ep = endpoint_of(memory);

    for (unsigned i = 0; i < NOF_ASSIST_SLOTS; i++) {
        struct assist_slot *slot = &ep->assist->slots[i];

        if (!slot->busy)
            continue;
        finish(ep, slot, NOF_EPEERDEAD);
    }
}

const struct nofd_dma_ops nofd_dma_assist = {
    .name = "assist",
    .is_inline = false,
    .copy = copy_by_host,
    .cancel = cancel_all,
};
