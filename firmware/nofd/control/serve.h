/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Life of an endpoint on the main thread: BAR, DMA, firmware core; and the way back. */
#ifndef NOFD_SERVE_H
#define NOFD_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "nofd/core/endpoint.h"
#include "nofd/door/job_owner.h"

struct nofd;
struct nofd_dma_rank;
struct nofd_nic;

struct nofd_serve {
    const struct nof_attach_request *request;
    struct nofd_job *job; /* the endpoint's on success */
    pid_t pid;
    uid_t uid;
    struct nofd_nic *nic;
    int pidfd; /* the caller's, until the endpoint is closed */
    bool direct; /* the DMA probe succeeded */
    struct nofd_dma_rank *rank; /* what helpers copy for, if direct; the endpoint's, also on failure */
};

/* A core of the NIC that was asked for, or that is dealt. */
struct nofd_nic *nofd_serve_nic(struct nofd *d, uint32_t wanted);
/* NOF_OK, or a negative nof_status with a sentence in text. */
int nofd_serve_open(struct nofd *d, const struct nofd_serve *serve, struct nofd_endpoint **ep_out, char *text,
                    size_t text_bytes);
/* Closes it in the core; frees it now, or when its last DMA has ended (nofd_attach_look()). */
void nofd_serve_close(struct nofd *d, struct nofd_endpoint *ep, int reason);
/* state is GONE. */
void nofd_serve_free(struct nofd *d, struct nofd_endpoint *ep);
/* Pollers against CPUs: cores give way at once while spinning when CPUs are scarce. */
void nofd_serve_count(struct nofd *d);

#endif
