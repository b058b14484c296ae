/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/control/serve.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nofd/core/assist.h"
#include "nofd/sys/clock.h"
#include "nofd/control/daemon.h"
#include "nofd/dma/dma.h"
#include "nofd/door/job_owner.h"
#include "nofd/sys/limits.h"
#include "nofd/sys/log.h"

#define SUBMIT_SLOTS 1024u
#define COMPLETE_SLOTS 2048u
#define PROGRAM_AREA_BYTES (64u << 10)
#define BOUNCE_MAX_BYTES (16u << 10) /* beyond, one process_vm_readv is cheaper than a second copy */

/* With those to come: ranks of a job attach at once. */
static unsigned endpoints_of(const struct nofd *d, const struct nofd_nic *nic)
{
    unsigned n = nic->promised;

    for (const struct nofd_endpoint *ep = d->endpoints; ep != NULL; ep = ep->next)
        n += ep->nic == nic;
    return n;
}

/* The first of a NIC's cores that has fewest. */
static struct nofd_nic *core_with_fewest(const struct nofd *d, struct nofd_nic *first)
{
    struct nofd_nic *best = first;
    unsigned least = endpoints_of(d, first);

    for (unsigned core = 1; core < d->options.cores_per_nic; core++) {
        unsigned n = endpoints_of(d, first + core);

        if (n >= least)
            continue;
        best = first + core;
        least = n;
    }
    return best;
}

struct nofd_nic *nofd_serve_nic(struct nofd *d, uint32_t wanted)
{
    struct nofd_nic *first = nofd_nic_of(d, wanted != UINT32_MAX ? wanted : d->next_nic++ % d->nnics);

    /* Past those whose device has gone, unless there are no others. */
    for (unsigned i = 1; wanted == UINT32_MAX && nofd_nic_gone(first) && i < d->nnics; i++)
        first = nofd_nic_of(d, d->next_nic++ % d->nnics);
    return core_with_fewest(d, first);
}

/* How the rank's memory is reached. Falls back to assist without a word: it works, only slower. */
static void choose_dma(struct nofd_endpoint *ep, const struct nofd_serve *serve)
{
    struct nofd_dma_memory *memory = &ep->memory;

    *memory = (struct nofd_dma_memory){
        .ops = &nofd_dma_assist,
        .dma = ep->nic->dma,
        .nic = ep->nic->nic,
        .nic_name = ep->nic->name,
        .doom = &ep->doom,
        .pid = serve->pid,
        .rank = serve->request->rank,
        .pidfd = -1,
        .helped = serve->rank,
    };
    if (serve->rank != NULL) {
        memory->ops = &nofd_dma_helpers;
        serve->rank->memory = memory; /* the core's next errand sees it */
    } else if (serve->direct) {
        memory->ops = memory->dma->copier != NULL ? &nofd_dma_split : &nofd_dma_inline;
        memory->pidfd = serve->pidfd;
    }
}

/* What is set on this NIC alone, else for all. */
static uint64_t feature_of(const struct nofd *d, const struct nofd_nic *nic, unsigned feature)
{
    return nic->own_features >> feature & 1 ? nic->own_feature[feature] : d->options.feature[feature];
}

static int create_bar(struct nofd *d, struct nofd_endpoint *ep)
{
    struct nofd_bar_config cfg = {
        .submit_slots = SUBMIT_SLOTS,
        .complete_slots = COMPLETE_SLOTS,
        .staging_bytes = d->options.staging_bytes,
        .bounce_bytes = d->options.bounce_bytes,
        .bounce_max_bytes = BOUNCE_MAX_BYTES,
        .program_area_bytes = PROGRAM_AREA_BYTES,
        .assist_bytes =
            ep->memory.ops == &nofd_dma_assist ? NOF_ASSIST_SLOTS * (uint64_t)NOF_DMA_BLOCK_BYTES : 0,
    };
    struct nof_bar_identity *id;
    int rc = nofd_bar_create(&ep->bar, &cfg);

    if (rc != 0)
        return rc;
    id = ep->bar.identity;
    ep->submit = ep->bar.submit;
    ep->complete = ep->bar.complete;
    ep->nic_words = ep->bar.nic_words;
    ep->host_words = ep->bar.host_words;
    ep->delta = nofd_bar_at(&ep->bar, id->delta_host_offset);
    ep->claims = nofd_bar_at(&ep->bar, id->claim_offset);
    ep->counters = ep->bar.counters;
    for (unsigned feature = 0; feature < NOF_FEATURE_COUNT; feature++)
        nofd_endpoint_tell(ep, feature, feature_of(d, ep->nic, feature));
    if (ep->memory.ops == &nofd_dma_assist) {
        ep->assist = nofd_assist_create(nofd_bar_at(&ep->bar, id->assist_offset));
        if (ep->assist == NULL) {
            nofd_bar_destroy(&ep->bar);
            return -ENOMEM;
        }
    }
    id->dma = ep->memory.ops == &nofd_dma_assist ? NOF_DMA_ASSIST : NOF_DMA_DIRECT;
    id->nofd_pid = (uint32_t)getpid();
    id->wire_version = NOF_CORE_WIRE_VERSION;
    snprintf(id->nic_name, sizeof(id->nic_name), "%s", ep->nic->name);
    return 0;
}

struct attach_call {
    struct nofd_endpoint *ep;
    struct nof_endpoint_params params;
    int rc;
};

static void attach_on_core(struct nofd_lcore *lcore, void *arg)
{
    struct attach_call *call = arg;

    call->rc = nofd_nic_attach(call->ep->nic, lcore->now_ns, call->ep, &call->params);
}

static int open_in_core(struct nofd_endpoint *ep, const struct nof_attach_request *request)
{
    const struct nof_bar_identity *id = ep->bar.identity;
    struct attach_call call = {
        .ep = ep,
        .params =
            {
                .job_id = request->job_id,
                .rank = request->rank,
                .size = request->size,
                .staging = nofd_bar_at(&ep->bar, id->staging_offset),
                .staging_bytes = id->staging_bytes,
                .bounce = nofd_bar_at(&ep->bar, id->bounce_offset),
                .bounce_bytes = id->bounce_bytes,
                .program_area = nofd_bar_at(&ep->bar, id->program_area_offset),
                .program_area_bytes = id->program_area_bytes,
                .delta_host = nofd_bar_at(&ep->bar, id->delta_host_offset),
                .delta_nic = nofd_bar_at(&ep->bar, id->delta_nic_offset),
                .claim_slots = NOF_CLAIM_SLOTS,
                .counters = ep->counters,
                .dma_inline = ep->memory.ops->is_inline,
                .dma_read_late = ep->memory.ops->reads_late,
                .dma_read_sums = ep->memory.ops->reads_sum,
            },
    };

    memcpy(call.params.job_key, request->job_key, sizeof(call.params.job_key));
    nofd_lcore_run(ep->nic->lcore, attach_on_core, &call);
    explicit_bzero(call.params.job_key, sizeof(call.params.job_key));
    if (call.rc == NOF_OK) {
        ep->card.segment_id = nofd_segment_id(&ep->slot);
        ep->bar.identity->card = ep->card;
    }
    return call.rc;
}

/* How many slots the job's segment on a host has, should this rank be the first to ask: no more than can attach. */
static uint32_t slots_of(const struct nofd *d, const struct nof_attach_request *request)
{
    uint64_t most = (uint64_t)d->options.max_endpoints * d->nnics;
    uint32_t slots = request->local_ranks != 0 ? request->local_ranks : request->size;

    return slots < most ? slots : (uint32_t)most;
}

static bool wants_slot(const struct nofd *d, const struct nofd_nic *nic, uint32_t flags)
{
    return (flags & NOF_ATTACH_F_SEGMENT) != 0 || ((flags & NOF_ATTACH_F_SEGMENT_AS_SET) != 0 &&
                                                   feature_of(d, nic, NOF_F_CHANNELS) != NOF_CHANNELS_NIC);
}

/* Before the core serves it, which rings its bell. Without one it is reached by its NIC. */
static void take_slot(struct nofd *d, const struct nofd_serve *serve, struct nofd_endpoint *ep)
{
    const struct nof_attach_request *request = serve->request;
    struct nofd_segment *segment;
    char why[128];

    if (!wants_slot(d, ep->nic, request->flags))
        return;
    segment =
        nofd_segment_of(&serve->job->segments, ep->nic->cfg.host_id, slots_of(d, request), why, sizeof(why));
    if (why[0] != '\0')
        nofd_warning("job %llu has no memory that its ranks on the host of %s share, and these send by their "
                     "NIC: %s",
                     (unsigned long long)request->job_id, ep->nic->name, why);
    if (segment != NULL && nofd_segment_give(segment, request->rank, &ep->slot))
        ep->bell = nofd_segment_bell(&ep->slot);
}

static void release(struct nofd_endpoint *ep)
{
    if (ep->memory.helped != NULL)
        nofd_dma_rank_close(ep->memory.helped);
    nofd_assist_destroy(ep->assist);
    nofd_bar_destroy(&ep->bar);
    free(ep);
}

static int refuse_full(const struct nofd *d, const struct nofd_nic *nic, char *text, size_t text_bytes)
{
    snprintf(text, text_bytes,
             "nic%u serves %u ranks at most: fewer ranks per host, or start nofd with a larger "
             "--max-endpoints",
             nic->index, d->options.max_endpoints);
    return NOF_ENOMEM;
}

/* One endpoint per rank, no more than the NIC has, and in a daemon that serves several users a quarter of each NIC that
 * no single one but its own can take. */
static int check_share(const struct nofd *d, const struct nofd_serve *serve, const struct nofd_nic *nic,
                       char *text, size_t text_bytes)
{
    uint32_t share = d->options.max_endpoints - d->options.max_endpoints / 4;
    uint32_t held = 0, served = 0;

    if (nofd_nic_gone(nic)) {
        snprintf(text, text_bytes,
                 "the device of %s has gone (unplugged, or taken from its driver): `nof down`, then `nof up` "
                 "with one that "
                 "is there",
                 nic->name);
        return NOF_EUNPLUGGED;
    }
    for (const struct nofd_endpoint *ep = d->endpoints; ep != NULL; ep = ep->next) {
        if (ep->attach != NULL && ep->job == serve->job && ep->memory.rank == serve->request->rank) {
            snprintf(text, text_bytes,
                     "rank %u of job %llu is attached already, by pid %d: one endpoint per rank",
                     ep->memory.rank, (unsigned long long)serve->job->id, (int)ep->memory.pid);
            return NOF_EINVAL;
        }
        held += ep->nic->index == nic->index && ep->uid == serve->uid;
        served += ep->nic->index == nic->index && nofd_endpoint_state(ep) == NOFD_EP_LIVE;
    }
    if (served >= d->options.max_endpoints) /* the parts of its cores are rounded up */
        return refuse_full(d, nic, text, text_bytes);
    if (d->options.private_job || serve->uid == geteuid() || held < share)
        return NOF_OK;
    snprintf(text, text_bytes,
             "user %u has %u of the %u endpoints of %s, and the others are kept for other users: fewer "
             "ranks, or start "
             "nofd with a larger --max-endpoints",
             (unsigned)serve->uid, held, d->options.max_endpoints, nic->name);
    return NOF_ENOMEM;
}

int nofd_serve_open(struct nofd *d, const struct nofd_serve *serve, struct nofd_endpoint **ep_out, char *text,
                    size_t text_bytes)
{
    struct nofd_endpoint *ep = calloc(1, sizeof(*ep));
    int rc;

    if (ep == NULL) {
        if (serve->rank != NULL)
            nofd_dma_rank_close(serve->rank);
        snprintf(text, text_bytes, "the daemon is out of memory");
        return NOF_ENOMEM;
    }
    for (unsigned i = 0; i < NOF_BAR_FDS; i++)
        ep->bar.fd[i] = -1;
    ep->nic = serve->nic;
    ep->doom.any = &ep->nic->doomed;
    ep->uid = serve->uid;
    choose_dma(ep, serve);
    rc = check_share(d, serve, ep->nic, text, text_bytes);
    if (rc != NOF_OK)
        goto err_release;
    rc = create_bar(d, ep);
    if (rc != 0) {
        snprintf(text, text_bytes,
                 "no memory for the endpoint (%s)%s: fewer ranks, or smaller --staging and --bounce",
                 strerror(-rc), nofd_limits_hint(-rc));
        rc = NOF_ENOMEM;
        goto err_release;
    }
    take_slot(d, serve, ep);
    rc = open_in_core(ep, serve->request);
    if (rc != NOF_OK) {
        nofd_segment_release(&ep->slot);
        if (rc == NOF_ENOMEM)
            (void)refuse_full(d, ep->nic, text, text_bytes);
        else
            snprintf(text, text_bytes, "%s refuses the endpoint: %s", ep->nic->name, nof_strstatus(rc));
        goto err_release;
    }
    nofd_segment_keep(&ep->slot, serve->pid);
    ep->job = serve->job;
    ep->next = d->endpoints;
    d->endpoints = ep;
    d->nendpoints++;
    nofd_serve_count(d);
    *ep_out = ep;
    return NOF_OK;
err_release:
    release(ep);
    return rc;
}

struct detach_call {
    struct nofd_endpoint *ep;
    int reason;
};

static void detach_on_core(struct nofd_lcore *lcore, void *arg)
{
    struct detach_call *call = arg;

    nofd_nic_detach(call->ep->nic, lcore->now_ns, call->ep, call->reason);
}

void nofd_serve_close(struct nofd *d, struct nofd_endpoint *ep, int reason)
{
    struct detach_call call = {.ep = ep, .reason = reason};

    nofd_lcore_run(ep->nic->lcore, detach_on_core, &call);
    nofd_segment_alarm(&ep->slot);
    if (nofd_endpoint_state(ep) == NOFD_EP_GONE)
        nofd_serve_free(d, ep);
}

void nofd_serve_free(struct nofd *d, struct nofd_endpoint *ep)
{
    struct nofd_endpoint **at = &d->endpoints;

    while (*at != ep)
        at = &(*at)->next;
    *at = ep->next;
    d->nendpoints--;
    nofd_job_leave(&d->jobs, ep->job);
    nofd_told_add(&ep->nic->gone, 1, ep->bar.library_counts); /* stays counted */
    release(ep);
    nofd_serve_count(d);
}

struct count_call {
    struct nofd_core *core;
    bool scarce;
};

static void count_on_core(struct nofd_lcore *lcore, void *arg)
{
    const struct count_call *call = arg;

    (void)lcore;
    call->core->idle.scarce = call->scarce;
}

void nofd_serve_count(struct nofd *d)
{
    cpu_set_t cpus;
    unsigned ncpus = 1;
    bool scarce;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
        ncpus = (unsigned)CPU_COUNT(&cpus);
    scarce = d->nendpoints + d->ncores > ncpus;
    for (unsigned i = 0; i < d->nrunning; i++) {
        struct count_call call = {.core = &d->cores[i], .scarce = scarce};

        nofd_lcore_run(&call.core->lcore, count_on_core, &call);
    }
}
