/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The codec's grants at the end of a run: both ends of each have seen the same, and nothing came that did not
 * decode. Looks into the core's own state. */
#include "nic.h"

#include "grants.h"

static struct nof_grant *other_end(struct nof_cluster *c, uint64_t nic_id, const struct nof_grant *tx)
{
    for (unsigned i = 0; i < nof_cluster_nnics(c); i++) {
        struct nof_nic *nic = nof_cluster_nic(c, i);
        if (nic->cfg.nic_id == nic_id && tx->slot < nic->grants.count)
            return &nic->grants.rx[tx->slot];
    }
    return NULL;
}

/* All is quiet: the predictors at both ends of a grant have seen the same. */
void nof_verify_grants(struct nof_cluster *c, unsigned index)
{
    const struct nof_nic *nic = nof_cluster_nic(c, index);
    if (nic->counters[NOF_C_CODEC_BAD] != 0)
        nof_cluster_fail(c, "NIC %u got %llu chunks that do not decode", index,
                         (unsigned long long)nic->counters[NOF_C_CODEC_BAD]);
    for (uint32_t i = 0; i < nic->grants.count; i++) {
        const struct nof_grant *tx = &nic->grants.tx[i];
        if (tx->state != NOF_GRANT_READY)
            continue;
        const struct nof_link *link = &nic->links[nof_peer_at(nic, tx->peer)->link];
        const struct nof_grant *rx = other_end(c, nof_path_peer_nic(link->path), tx);
        if (rx == NULL)
            continue; /* that NIC began anew, and its silence is not over */
        if (rx->state == NOF_GRANT_FREE || rx->epoch != tx->epoch)
            nof_cluster_fail(c, "NIC %u has a predictor that the receiver has not", index);
        else if (nof_dfcm_digest(tx->predictor) != nof_dfcm_digest(rx->predictor))
            nof_cluster_fail(c, "NIC %u: the predictors of a grant are out of step", index);
    }
}
