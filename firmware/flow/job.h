/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs: id, key and size, fixed by the first endpoint; every path and loop-back link belongs to one.
 * When the last endpoint has closed, the job's paths are drained and closed, then it is forgotten. */
#ifndef NOF_JOB_H
#define NOF_JOB_H

#include "nic.h"

/* Find or make the job of these parameters and count one more endpoint in it. NOF_OK, NOF_EPERM
 * (wrong key), NOF_EINVAL (another size), NOF_ENOMEM. */
int nof_job_join(struct nof_nic *nic, const struct nof_endpoint_params *params, uint32_t *job_out);
void nof_job_leave(struct nof_nic *nic, uint32_t job);
/* The key of a job that has endpoints here, or NULL. */
const uint8_t *nof_job_key(const struct nof_nic *nic, uint64_t job_id);
/* Close paths that nobody needs any more, once everything on them is acknowledged. */
void nof_job_drain(struct nof_nic *nic);
/* A link or endpoint of this job was freed. */
void nof_job_link_gone(struct nof_nic *nic, uint32_t job);

#endif
