/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/core/wire_ops.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "nofd/sys/log.h"

#define IP_SOURCE_BYTES 26u /* of a frame: Ethernet's 14, and 12 */

static bool is_from_here(const struct nofd_wire *wire, const struct nof_frame *frame)
{
    return frame->len_bytes >= IP_SOURCE_BYTES + 4 &&
           nof_get_be32(frame->data + IP_SOURCE_BYTES) == wire->ip4;
}

/* What was unplugged by command hears its own address still: other cores of the NIC, which need no link. */
static unsigned udp_rx(struct nofd_wire *wire, uint64_t now_ns, struct nof_frame **frames, unsigned max)
{
    unsigned n = nof_udp_port_rx(wire->udp, frames, max);

    unsigned kept = 0;

    (void)now_ns;
    if (!wire->unplugged)
        return n;
    for (unsigned i = 0; i < n; i++)
        if (is_from_here(wire, frames[i]))
            frames[kept++] = frames[i];
    return kept;
}

static void udp_rx_done(struct nofd_wire *wire, struct nof_frame *const *frames, unsigned n)
{
    (void)wire;
    (void)frames;
    (void)n;
}

static unsigned udp_flush(struct nofd_wire *wire, uint64_t now_ns)
{
    (void)now_ns;
    nof_udp_port_flush(wire->udp);
    return 0;
}

static uint64_t udp_deadline(struct nofd_wire *wire)
{
    (void)wire;
    return UINT64_MAX;
}

static bool udp_sleep(struct nofd_wire *wire)
{
    wire->full = nof_udp_port_full(wire->udp);
    return nof_udp_port_sleep(wire->udp);
}

static void udp_wake(struct nofd_wire *wire)
{
    (void)wire;
}

/* Why a peer is not reached is known here, and nowhere else. */
static void tell_refused(struct nofd_wire *wire)
{
    uint32_t ip4;
    int error;

    if (nof_udp_port_refused(wire->udp, &ip4, &error))
        nofd_warning("%s: the kernel does not send to %u.%u.%u.%u: %s", wire->device_name, ip4 >> 24,
                     ip4 >> 16 & 255, ip4 >> 8 & 255, ip4 & 255, strerror(error));
}

static bool udp_link(struct nofd_wire *wire, uint64_t now_ns)
{
    (void)now_ns;
    tell_refused(wire);
    return !wire->unplugged && nof_udp_port_link(wire->udp);
}

static bool udp_set_link(struct nofd_wire *wire, bool up)
{
    wire->unplugged = !up;
    return true;
}

static void udp_close(struct nofd_wire *wire)
{
    nof_udp_port_close(wire->udp);
    wire->udp = NULL;
}

static const struct nofd_wire_ops udp_ops = {
    .rx = udp_rx,
    .rx_done = udp_rx_done,
    .flush = udp_flush,
    .deadline = udp_deadline,
    .sleep = udp_sleep,
    .wake = udp_wake,
    .link = udp_link,
    .set_link = udp_set_link,
    .close = udp_close,
};

int nofd_wire_open_udp(struct nofd_wire *wire, const struct nof_udp_port_config *cfg, char *err,
                       size_t err_bytes)
{
    const struct nof_udp_port_info *info;
    struct nof_udp_port *port;
    int rc = nof_udp_port_open(cfg, &port, err, err_bytes);

    if (rc != 0)
        return rc;
    info = nof_udp_port_info(port);
    memset(wire, 0, sizeof(*wire));
    wire->ops = &udp_ops;
    wire->port_ops = &nof_udp_port_ops;
    wire->port = port;
    wire->udp = port;
    wire->wait_fd = info->wait_fd;
    memcpy(wire->mac, info->mac, sizeof(wire->mac));
    wire->ip4 = info->ip4;
    wire->udp_port = info->udp_port;
    wire->mtu_bytes = info->mtu_bytes;
    wire->rate_bps = info->rate_bps;
    snprintf(wire->kind, sizeof(wire->kind), "udp");
    snprintf(wire->device_name, sizeof(wire->device_name), "%s:%u", info->ifname, info->udp_port);
    return 0;
}
