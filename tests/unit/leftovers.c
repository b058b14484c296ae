/* SPDX-License-Identifier: BSD-3-Clause */
#include "leftovers.h"

#include <inttypes.h>
#include <stdio.h>

#include "nic.h"

static char text[128];

/* Is `n` what it must be? */
static bool is(const char *what, uint64_t n, uint64_t must)
{
    if (n == must)
        return true;
    snprintf(text, sizeof text, "%s: %" PRIu64 ", not %" PRIu64, what, n, must);
    return false;
}

static bool bucket_empty(const char *what, const uint32_t *bucket, uint32_t mask)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i <= mask; i++)
        used += bucket[i] != NOF_NIL;
    return is(what, used, 0);
}

static bool tables_empty(const struct nof_nic *nic)
{
    return bucket_empty("table of posted receives", nic->match.posted.bucket, nic->match.posted.mask) &&
           bucket_empty("table of probes", nic->match.probes.bucket, nic->match.probes.mask) &&
           bucket_empty("table of cookies", nic->match.cookies.bucket, nic->match.cookies.mask) &&
           bucket_empty("table of sends' cookies", nic->send_cookies, nic->send_cookies_mask) &&
           bucket_empty("table of unexpected messages", nic->match.unexpected.bucket,
                        nic->match.unexpected.mask) &&
           bucket_empty("table of layouts", nic->layouts.bucket, nic->layouts.mask) &&
           bucket_empty("table of programs", nic->colls.bucket, nic->colls.mask) &&
           bucket_empty("table of ranks", nic->peer_by_rank, nic->peer_mask) &&
           bucket_empty("table of flows", nic->peer_by_flow, nic->peer_mask);
}

static bool pools_empty(const struct nof_nic *nic)
{
    const struct {
        const char *name;
        const struct nof_pool *pool;
    } pools[] = {{"sends", &nic->sends},
                 {"receives", &nic->recvs},
                 {"envelopes", &nic->envs},
                 {"peers", &nic->peers},
                 {"control frames", &nic->ctls},
                 {"reads", &nic->reads},
                 {"writes", &nic->writes},
                 {"combines", &nic->combines},
                 {"local frames", &nic->locals},
                 {"raw blocks", &nic->grants.raws},
                 {"layouts", &nic->layouts.pool},
                 {"layout chunks", &nic->layouts.chunks},
                 {"programs", &nic->colls.pool},
                 {"program chunks", &nic->colls.chunks},
                 {"multicast groups", &nic->mcast.groups}};
    for (unsigned i = 0; i < sizeof pools / sizeof pools[0]; i++)
        if (!is(pools[i].name, pools[i].pool->used, 0))
            return false;
    return is("network memory", nic->netmem.used, 0) && is("predictors given", nic->grants.rx_used, 0) &&
           is("predictors had", nic->grants.tx_used, 0);
}

static bool owners_gone(const struct nof_nic *nic)
{
    unsigned eps = 0, links = 0, jobs = 0;
    for (uint32_t e = 0; e < nic->cfg.max_endpoints; e++)
        eps += nic->eps[e].state != NOF_EP_FREE;
    for (uint32_t l = 0; l < nic->nlinks; l++)
        links += nic->links[l].used;
    for (uint32_t j = 0; j < nic->cfg.max_jobs; j++)
        jobs += nic->jobs[j].used;
    return is("endpoints", eps, 0) && is("links", links, 0) && is("jobs", jobs, 0);
}

const char *leftovers(const struct nof_nic *nic, uint32_t msgs_free, uint32_t blocks_free)
{
    const uint64_t *c = nof_nic_counters(nic);
    if (pools_empty(nic) && tables_empty(nic) && owners_gone(nic) &&
        is("quiet", nof_nic_quiet(nic) != 0, 1) && is("DMA blocks", nic->dma_free, nic->dma_total) &&
        is("envelope credit", nic->msgs_free, msgs_free) &&
        is("block credit", nic->blocks_free, blocks_free) && is("posted", nic->posted_total, 0) &&
        is("promised sends", nic->promised_sends, 0) && is("promised receives", nic->promised_recvs, 0) &&
        is("waiting receives", nic->recvs_waiting, 0) &&
        is("endpoints that send in units", nic->delta_eps, 0) &&
        is("stalled completions", nic->stalled_comps, 0) && is("open paths", c[NOF_C_PATHS_OPEN], 0) &&
        is("gauge of endpoints", c[NOF_C_ENDPOINTS], 0) &&
        is("gauge of network memory", c[NOF_C_NETMEM_BYTES], 0) &&
        is("gauge of predictors", c[NOF_C_CODEC_PREDICTORS], 0))
        return NULL;
    return text;
}
