/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/core/wire_ops.h"

#include <stdio.h>
#include <string.h>

static unsigned fabric_rx(struct nofd_wire *wire, uint64_t now_ns, struct nof_frame **frames, unsigned max)
{
    return nof_fabric_rx_burst(wire->port, now_ns, frames, max);
}

static void fabric_rx_done(struct nofd_wire *wire, struct nof_frame *const *frames, unsigned n)
{
    nof_fabric_rx_done(wire->port, frames, n);
}

static unsigned fabric_flush(struct nofd_wire *wire, uint64_t now_ns)
{
    (void)wire;
    (void)now_ns;
    return 0;
}

static uint64_t fabric_deadline(struct nofd_wire *wire)
{
    return nof_fabric_port_deadline(wire->port);
}

static bool fabric_sleep(struct nofd_wire *wire)
{
    return nof_fabric_rx_ready(wire->port) == 0;
}

static void fabric_wake(struct nofd_wire *wire)
{
    (void)wire;
}

static bool fabric_link(struct nofd_wire *wire, uint64_t now_ns)
{
    (void)now_ns;
    return nof_fabric_is_up(wire->fabric, wire->index);
}

static bool fabric_set_link(struct nofd_wire *wire, bool up)
{
    nof_fabric_set_up(wire->fabric, wire->index, up);
    return true;
}

static void fabric_on_arrival(struct nofd_wire *wire, void (*wake)(void *arg), void *arg)
{
    nof_fabric_on_arrival(wire->port, wake, arg);
}

static void fabric_close(struct nofd_wire *wire)
{
    (void)wire;
}

static const struct nofd_wire_ops fabric_ops = {
    .rx = fabric_rx,
    .rx_done = fabric_rx_done,
    .flush = fabric_flush,
    .deadline = fabric_deadline,
    .sleep = fabric_sleep,
    .wake = fabric_wake,
    .link = fabric_link,
    .set_link = fabric_set_link,
    .on_arrival = fabric_on_arrival,
    .close = fabric_close,
};

void nofd_wire_open_fabric(struct nofd_wire *wire, struct nof_fabric *fabric, unsigned index,
                           const uint8_t mac[6], uint32_t ip4, uint32_t mtu_bytes, uint64_t rate_bps)
{
    memset(wire, 0, sizeof(*wire));
    wire->ops = &fabric_ops;
    wire->port_ops = nof_fabric_ops(fabric);
    wire->port = nof_fabric_port(fabric, index);
    wire->fabric = fabric;
    wire->index = index;
    wire->wait_fd = -1;
    wire->naps = false;
    memcpy(wire->mac, mac, sizeof(wire->mac));
    wire->ip4 = ip4;
    wire->mtu_bytes = mtu_bytes;
    wire->rate_bps = rate_bps;
    wire->simulated_host = true;
    snprintf(wire->kind, sizeof(wire->kind), "fabric");
    snprintf(wire->device_name, sizeof(wire->device_name), "switch port %u", index);
}

void nofd_wire_close(struct nofd_wire *wire)
{
    if (wire->ops != NULL)
        wire->ops->close(wire);
    wire->ops = NULL;
}
