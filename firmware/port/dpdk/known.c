/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the steering program in front of a queue is told of paths and groups. Written by the queue's thread, without system calls. */
#include "port/dpdk/port_private.h"

#include <errno.h>

#include "nof/status.h"

#ifdef NOF_HAVE_EBPF
#include "steer_host.h"

static_assert(NOF_STEER_IDS * (NOF_STEER_BLOCK_PATHS - NOF_STEER_BLOCK_DEAD) == NOF_PORT_CONN_DEAD,
              "slots of dead paths come first");
static_assert(NOF_STEER_GROUPS >= NOF_IGMP_GROUPS_MAX, "every group that can be joined has its place");

int nof_dpdk_queue_guard(struct nof_dpdk_queue *q, uint64_t nic_id, uint32_t max_paths, int *errno_out)
{
    const struct nof_dpdk_port *port = q->port;
    struct nof_steer_self self = {.nic_id = nic_id, .ip4 = port->info.ip4, .max_paths = max_paths};
    int rc;

    *errno_out = port->steer_errno;
    if (!port->steer || q->known)
        return NOF_ENOTSUP;
    rc = nof_steer_table_open(nof_steer_known_fd(port->steer), q->index, &self, &q->known);
    if (rc < 0 && rc != -ENOENT)
        *errno_out = -rc;
    return rc < 0 ? NOF_ENOTSUP : NOF_OK;
}

void nof_dpdk_queue_conn(void *queue, uint32_t slot, uint64_t id)
{
    struct nof_dpdk_queue *q = queue;

    if (q->known)
        nof_steer_table_conn(q->known, slot, id);
}

void nof_dpdk_queue_knows_group(struct nof_dpdk_queue *q, uint32_t ip4, bool join)
{
    if (q->known)
        nof_steer_table_group(q->known, ip4, join);
}

void nof_dpdk_queue_forget(struct nof_dpdk_queue *q)
{
    nof_steer_table_close(q->known);
    q->known = NULL;
}

#else

int nof_dpdk_queue_guard(struct nof_dpdk_queue *q, uint64_t nic_id, uint32_t max_paths, int *errno_out)
{
    (void)q;
    (void)nic_id;
    (void)max_paths;
    *errno_out = 0;
    return NOF_ENOTSUP;
}

void nof_dpdk_queue_conn(void *queue, uint32_t slot, uint64_t id)
{
    (void)queue;
    (void)slot;
    (void)id;
}

void nof_dpdk_queue_knows_group(struct nof_dpdk_queue *q, uint32_t ip4, bool join)
{
    (void)q;
    (void)ip4;
    (void)join;
}

void nof_dpdk_queue_forget(struct nof_dpdk_queue *q)
{
    (void)q;
}

#endif
