/* SPDX-License-Identifier: BSD-3-Clause */
/* Boards of delta messages: the driver's, for those who use them beside the descriptors. */
#include "chan/nic/chan_nic.h"

static struct nof_delta_host *delta_host(void)
{
    return nof_chan_nic.pmd == NULL ? NULL : nof_pmd_delta_host(nof_chan_nic.pmd);
}

static const struct nof_delta_nic *delta_nic(void)
{
    return nof_chan_nic.pmd == NULL ? NULL : nof_pmd_delta_nic(nof_chan_nic.pmd);
}

static struct nof_delta_ready *delta_ready(uint32_t slot)
{
    return slot < NOF_DELTA_SLOTS ? &delta_host()->ready[slot] : NULL;
}

static void delta_ring(uint32_t slot)
{
    nof_pmd_delta_ring(nof_chan_nic.pmd, slot);
}

static bool delta_wait(uint32_t seen, uint64_t timeout_ns)
{
    return nof_pmd_delta_wait(nof_chan_nic.pmd, seen, timeout_ns) == NOF_OK;
}

static bool delta_assisted(void)
{
    return nof_chan_nic.identity->dma == NOF_DMA_ASSIST;
}

const struct nof_delta_board nof_chan_nic_delta = {.host = delta_host,
                                                   .nic = delta_nic,
                                                   .ready = delta_ready,
                                                   .ring = delta_ring,
                                                   .wait = delta_wait,
                                                   .assisted = delta_assisted};

void nof_chan_nic_place_delta(struct nof_desc *desc, const struct nof_request *req)
{
    uint32_t slot = req->delta - 1;
    if (slot >= NOF_DELTA_SLOTS && req->kind != NOF_REQUEST_SEND)
        return;
    desc->flags |= NOF_DESC_F_DELTA;
    desc->handle = nof_delta_handle(slot < NOF_DELTA_SLOTS ? slot : NOF_DELTA_NO_SLOT, req->delta_unit_log2);
}
