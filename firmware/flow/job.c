/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/job.h"

#include "flow/link.h"

static bool key_equal(const uint8_t *a, const uint8_t *b)
{
    uint8_t diff = 0;
    for (uint32_t i = 0; i < NOF_JOB_KEY_BYTES; i++)
        diff |= a[i] ^ b[i]; /* in constant time: one byte at a time cannot be guessed */
    return diff == 0;
}

static struct nof_job *find(struct nof_nic *nic, uint64_t id)
{
    /* bound: jobs; paid by the attach or the frame */
    for (uint32_t i = 0; i < nic->cfg.max_jobs; i++)
        if (nic->jobs[i].used && nic->jobs[i].id == id)
            return &nic->jobs[i];
    return NULL;
}

static struct nof_job *make(struct nof_nic *nic, const struct nof_endpoint_params *params)
{
    /* bound: jobs; paid by the attach */
    for (uint32_t i = 0; i < nic->cfg.max_jobs; i++) {
        struct nof_job *job = &nic->jobs[i];
        if (job->used)
            continue;
        *job = (struct nof_job){.id = params->job_id, .size = params->size, .used = 1};
        memcpy(job->key, params->job_key, NOF_JOB_KEY_BYTES);
        nof_link_init_local(nic, i);
        return job;
    }
    return NULL;
}

int nof_job_join(struct nof_nic *nic, const struct nof_endpoint_params *params, uint32_t *job_out)
{
    struct nof_job *job = find(nic, params->job_id);
    if (job != NULL && job->endpoints == 0 &&
        (!key_equal(job->key, params->job_key) || job->size != params->size))
        return NOF_ENOMEM; /* another job of that id has just ended here and is being cleared away */
    if (job != NULL && !key_equal(job->key, params->job_key))
        return NOF_EPERM;
    if (job != NULL && job->size != params->size)
        return NOF_EINVAL;
    if (job == NULL)
        job = make(nic, params);
    if (job == NULL)
        return NOF_ENOMEM;
    job->endpoints++;
    *job_out = (uint32_t)(job - nic->jobs);
    /* bound: paths; paid by the attach */
    for (uint32_t i = 0; i < nic->cfg.max_paths; i++) {
        struct nof_link *link = &nic->links[i];
        if (link->used && link->job == *job_out)
            nof_link_keep(nic, link);
    }
    return NOF_OK;
}

/* Forget the job when nothing of it is left. */
static void forget_if_empty(struct nof_nic *nic, uint32_t job)
{
    if (nic->jobs[job].endpoints > 0)
        return;
    /* bound: paths; paid by the link or endpoint that goes */
    for (uint32_t i = 0; i < nic->cfg.max_paths; i++)
        if (nic->links[i].used && nic->links[i].job == job)
            return;
    /* bound: endpoints; paid by the link or endpoint that goes */
    for (uint32_t i = 0; i < nic->cfg.max_endpoints; i++)
        if (nic->eps[i].state != NOF_EP_FREE && nic->eps[i].job == job)
            return;
    nof_link_free(nic, &nic->links[nic->jobs[job].local_link]);
    nic->jobs[job].used = 0;
}

void nof_job_leave(struct nof_nic *nic, uint32_t job)
{
    nic->jobs[job].endpoints--;
    if (nic->jobs[job].endpoints > 0)
        return;
    /* bound: paths; paid by the endpoint that closes */
    for (uint32_t i = 0; i < nic->cfg.max_paths; i++)
        if (nic->links[i].used && nic->links[i].job == job)
            nof_link_drain(nic, &nic->links[i]);
}

const uint8_t *nof_job_key(const struct nof_nic *nic, uint64_t job_id)
{
    /* bound: jobs; paid by the handshake */
    for (uint32_t i = 0; i < nic->cfg.max_jobs; i++)
        if (nic->jobs[i].used && nic->jobs[i].id == job_id && nic->jobs[i].endpoints > 0)
            return nic->jobs[i].key;
    return NULL;
}

void nof_job_link_gone(struct nof_nic *nic, uint32_t job)
{
    if (job != NOF_JOB_NONE)
        forget_if_empty(nic, job);
}

/* How many links have been told by every closing endpoint, for each job. */
static void count_told(struct nof_nic *nic)
{
    /* bound: jobs, once a turn while paths drain; paid by all */
    for (uint32_t j = 0; j < nic->cfg.max_jobs; j++)
        nic->jobs[j].told = UINT32_MAX;
    /* bound: endpoints, once a turn while paths drain; paid by all */
    for (uint32_t i = 0; i < nic->cfg.max_endpoints; i++) {
        const struct nof_endpoint *ep = &nic->eps[i];
        if (ep->state == NOF_EP_CLOSING && ep->told < nic->jobs[ep->job].told)
            nic->jobs[ep->job].told = ep->told;
    }
}

void nof_job_drain(struct nof_nic *nic)
{
    nic->drain_late = nic->drain_turn == nic->turn;
    if (nic->drain_late)
        return;
    nic->drain_turn = nic->turn;
    count_told(nic);
    /* bound: paths, once a turn while some drain; paid by all */
    for (uint32_t i = 0; i < nic->cfg.max_paths; i++) {
        struct nof_link *link = &nic->links[i];
        if (!link->used || link->draining != NOF_DRAIN_ASKED ||
            (link->job != NOF_JOB_NONE && nic->jobs[link->job].told <= i))
            continue;
        if (link->up && (link->ctl != NOF_NIL || !nof_link_acked(link, link->last_pn)))
            continue;
        nof_link_close(link);
    }
}
