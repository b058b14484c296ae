/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/core/wire_ops.h"

#include <stdio.h>
#include <string.h>

static unsigned dpdk_rx(struct nofd_wire *wire, uint64_t now_ns, struct nof_frame **frames, unsigned max)
{
    (void)now_ns;
    return nof_dpdk_queue_rx(wire->port, frames, max);
}

static void dpdk_rx_done(struct nofd_wire *wire, struct nof_frame *const *frames, unsigned n)
{
    nof_dpdk_queue_rx_done(wire->port, frames, n);
}

static unsigned dpdk_flush(struct nofd_wire *wire, uint64_t now_ns)
{
    return nof_dpdk_queue_flush(wire->port, now_ns);
}

static uint64_t dpdk_deadline(struct nofd_wire *wire)
{
    (void)wire;
    return UINT64_MAX;
}

static bool dpdk_sleep(struct nofd_wire *wire)
{
    return nof_dpdk_queue_sleep(wire->port) != 0;
}

static void dpdk_wake(struct nofd_wire *wire)
{
    nof_dpdk_queue_wake(wire->port);
}

static bool dpdk_wakes(const struct nofd_wire *wire)
{
    return nof_dpdk_queue_wakes(wire->port);
}

static bool dpdk_quiet(struct nofd_wire *wire, bool quiet)
{
    return nof_dpdk_queue_quiet(wire->port, quiet);
}

/* Each core has its part of the link; of a rate that is known it is not 0, which is none. */
static uint64_t part_bps(const struct nofd_wire *wire)
{
    uint64_t whole_bps = nof_dpdk_port_rate(wire->device);

    return (whole_bps + wire->ncores - 1) / wire->ncores;
}

static bool dpdk_link(struct nofd_wire *wire, uint64_t now_ns)
{
    bool up = nof_dpdk_queue_link(wire->port, now_ns) != 0;

    wire->rate_bps = part_bps(wire);
    return up && !wire->unplugged;
}

static int dpdk_guard(struct nofd_wire *wire, uint64_t nic_id, uint32_t max_paths, int *errno_out)
{
    return nof_dpdk_queue_guard(wire->port, nic_id, max_paths, errno_out);
}

/* A real cable cannot be pulled by command: frames are thrown away and the core is told. */
static bool dpdk_set_link(struct nofd_wire *wire, bool up)
{
    wire->unplugged = !up;
    nof_dpdk_queue_unplug(wire->port, !up);
    return true;
}

static void dpdk_on_arrival(struct nofd_wire *wire, void (*wake)(void *arg), void *arg)
{
    nof_dpdk_queue_on_arrival(wire->port, wake, arg);
}

static int dpdk_release(struct nofd_wire *wire, char *err, size_t err_bytes)
{
    return nof_dpdk_port_release(wire->device, err, err_bytes);
}

static void dpdk_close(struct nofd_wire *wire)
{
    nof_dpdk_port_close(wire->device);
    wire->device = NULL;
}

/* A wire whose device has gone. */
static unsigned no_rx(struct nofd_wire *wire, uint64_t now_ns, struct nof_frame **frames, unsigned max)
{
    (void)wire;
    (void)now_ns;
    (void)frames;
    (void)max;
    return 0;
}

static unsigned no_flush(struct nofd_wire *wire, uint64_t now_ns)
{
    (void)wire;
    (void)now_ns;
    return 0;
}

static bool no_frames(struct nofd_wire *wire)
{
    (void)wire;
    return true;
}

static void no_wake(struct nofd_wire *wire)
{
    (void)wire;
}

static bool no_link(struct nofd_wire *wire, uint64_t now_ns)
{
    (void)wire;
    (void)now_ns;
    return false;
}

static bool no_set_link(struct nofd_wire *wire, bool up)
{
    (void)wire;
    (void)up;
    return false;
}

static const struct nofd_wire_ops gone_ops = {
    .rx = no_rx,
    .rx_done = dpdk_rx_done,
    .flush = no_flush,
    .deadline = dpdk_deadline,
    .sleep = no_frames,
    .wake = no_wake,
    .link = no_link,
    .set_link = no_set_link,
    .release = dpdk_release,
    .close = dpdk_close,
};

static bool dpdk_gone(struct nofd_wire *wire)
{
    if (!nof_dpdk_queue_gone(wire->port))
        return false;
    wire->ops = &gone_ops;
    wire->wait_fd = -1;
    return true;
}

static const struct nofd_wire_ops dpdk_ops = {
    .rx = dpdk_rx,
    .rx_done = dpdk_rx_done,
    .flush = dpdk_flush,
    .deadline = dpdk_deadline,
    .sleep = dpdk_sleep,
    .wake = dpdk_wake,
    .wakes = dpdk_wakes,
    .quiet = dpdk_quiet,
    .link = dpdk_link,
    .guard = dpdk_guard,
    .gone = dpdk_gone,
    .release = dpdk_release,
    .set_link = dpdk_set_link,
    .on_arrival = dpdk_on_arrival,
    .close = dpdk_close,
};

static void open_part(struct nofd_wire *wire, struct nof_dpdk_port *device, unsigned core)
{
    const struct nof_dpdk_port_info *info = nof_dpdk_port_info(device);

    memset(wire, 0, sizeof(*wire));
    wire->ops = &dpdk_ops;
    wire->port_ops = info->ncores > 1 ? &nof_dpdk_cores_port_ops : &nof_dpdk_port_ops;
    wire->port = nof_dpdk_port_queue(device, core);
    wire->device = device;
    wire->core = core;
    wire->ncores = info->ncores;
    wire->wait_fd = nof_dpdk_queue_wait_fd(wire->port);
    wire->naps = nof_dpdk_queue_naps(wire->port);
    memcpy(wire->mac, info->mac, sizeof(wire->mac));
    wire->ip4 = info->ip4;
    wire->mtu_bytes = info->mtu_bytes;
    wire->rate_bps = part_bps(wire);
    snprintf(wire->kind, sizeof(wire->kind), "%s", info->driver);
    snprintf(wire->device_name, sizeof(wire->device_name), "%s",
             info->ifname[0] != '\0' ? info->ifname : info->device);
}

int nofd_wire_open_dpdk(struct nofd_wire *wires, const struct nof_dpdk_port_config *cfg, char *err,
                        size_t err_bytes)
{
    struct nof_dpdk_port *device;
    int rc = nof_dpdk_port_open(cfg, &device, err, err_bytes);

    for (unsigned core = 0; rc == 0 && core < nof_dpdk_port_info(device)->ncores; core++)
        open_part(&wires[core], device, core);
    return rc;
}
