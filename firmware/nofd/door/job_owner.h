/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs that have ranks here: the first attach fixes user, key and size; the record goes with the
 * last endpoint. Main thread. */
#ifndef NOFD_JOB_OWNER_H
#define NOFD_JOB_OWNER_H

#include <stdint.h>
#include <sys/types.h>

#include "nof/bar.h"

#include "nofd/door/job_segment.h"

struct nofd_job {
    struct nofd_job *next;
    uint64_t id;
    uint8_t key[NOF_JOB_KEY_BYTES];
    uid_t uid;
    uint32_t size;
    unsigned ranks; /* endpoints that live here */
    struct nofd_segment *segments; /* one for each of its hosts, and as long-lived as the job */
};

/* Counts one rank in. NOF_OK; NOF_EPERM (another user or key) or NOF_EINVAL (another size) with a
 * sentence in text; NOF_ENOMEM. */
int nofd_job_enter(struct nofd_job **jobs, const struct nof_attach_request *request, uid_t uid,
                   struct nofd_job **job_out, char *text, size_t text_bytes);
void nofd_job_leave(struct nofd_job **jobs, struct nofd_job *job);

#endif
