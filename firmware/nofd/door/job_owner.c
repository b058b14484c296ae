/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/door/job_owner.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nof/status.h"

/* In constant time: the key is the job's only secret. */
static bool same_key(const uint8_t *a, const uint8_t *b)
{
    unsigned differs = 0;

    for (unsigned i = 0; i < NOF_JOB_KEY_BYTES; i++)
        differs |= (unsigned)(a[i] ^ b[i]);
    return differs == 0;
}

static int check(const struct nofd_job *job, const struct nof_attach_request *request, uid_t uid, char *text,
                 size_t text_bytes)
{
    if (job->uid != uid || !same_key(job->key, request->job_key)) {
        snprintf(text, text_bytes,
                 "job %" PRIu64 " belongs to %s: ranks of one job must be started by one launcher", job->id,
                 job->uid != uid ? "another user" : "somebody with another key");
        return NOF_EPERM;
    }
    if (job->size != request->size) {
        snprintf(text, text_bytes, "job %" PRIu64 " has %u ranks, not %u: its ranks disagree about its size",
                 job->id, job->size, request->size);
        return NOF_EINVAL;
    }
    return NOF_OK;
}

int nofd_job_enter(struct nofd_job **jobs, const struct nof_attach_request *request, uid_t uid,
                   struct nofd_job **job_out, char *text, size_t text_bytes)
{
    struct nofd_job *job = *jobs;
    int rc;

    while (job != NULL && job->id != request->job_id)
        job = job->next;
    if (job != NULL) {
        rc = check(job, request, uid, text, text_bytes);
        if (rc != NOF_OK)
            return rc;
    } else {
        job = calloc(1, sizeof(*job));
        if (job == NULL) {
            snprintf(text, text_bytes, "the daemon is out of memory");
            return NOF_ENOMEM;
        }
        job->id = request->job_id;
        memcpy(job->key, request->job_key, sizeof(job->key));
        job->uid = uid;
        job->size = request->size;
        job->next = *jobs;
        *jobs = job;
    }
    job->ranks++;
    *job_out = job;
    return NOF_OK;
}

void nofd_job_leave(struct nofd_job **jobs, struct nofd_job *job)
{
    if (--job->ranks > 0)
        return;
    while (*jobs != job)
        jobs = &(*jobs)->next;
    *jobs = job->next;
    nofd_segments_end(&job->segments);
    explicit_bzero(job->key, sizeof(job->key));
    free(job);
}
