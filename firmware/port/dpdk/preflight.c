/* SPDX-License-Identifier: BSD-3-Clause */
#include "port/dpdk/preflight.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nof/status.h"
#include "port/dpdk/device.h"

#ifdef NOF_HAVE_EBPF
#include "steer_host.h"
#endif

#ifndef AF_XDP
#define AF_XDP 44
#endif

#define PACKET_QUEUES_MAX 16u /* of the driver */

int nof_port_fail(int status, char *err, size_t err_bytes, const char *format, ...)
{
    va_list args;

    if (err_bytes > 0) {
        va_start(args, format);
        (void)vsnprintf(err, err_bytes, format, args);
        va_end(args);
    }
    return status;
}

static int probe_socket(int family, const char *what, char *err, size_t err_bytes)
{
    int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC, 0);
    int e = errno;

    if (fd >= 0) {
        close(fd);
        return NOF_OK;
    }
    if (e == EPERM)
        return nof_port_fail(NOF_EPERM, err, err_bytes,
                             "%s sockets need the capabilities NET_RAW, NET_ADMIN and BPF, which this "
                             "process lacks.\nStart the daemon as root: sudo nof up ...",
                             what);
    return nof_port_fail(NOF_ENOTSUP, err, err_bytes,
                         "this kernel has no %s sockets (%s).\nUse another port, for example "
                         "net_af_packet,iface=..., or a kernel with CONFIG_XDP_SOCKETS=y.",
                         what, strerror(e));
}

static int check_mtu(struct nof_dpdk_port *port, const struct nof_dpdk_port_config *cfg, uint32_t iface_mtu,
                     char *err, size_t err_bytes)
{
    bool xdp = port->devargs.kind == NOF_DEVARGS_AF_XDP;
    uint32_t limit = nof_port_mtu_max(port->devargs.kind);

    if (cfg->mtu_bytes > iface_mtu)
        return nof_port_fail(NOF_EINVAL, err, err_bytes,
                             "MTU %u was asked for, but %s has %u.\nType: ip link set %s mtu %u",
                             cfg->mtu_bytes, port->info.ifname, iface_mtu, port->info.ifname, cfg->mtu_bytes);
    if (cfg->mtu_bytes > limit)
        return nof_port_fail(
            NOF_EINVAL, err, err_bytes,
            "MTU %u was asked for, but %s carries at most %u%s.\nType: --mtu %u%s%s", cfg->mtu_bytes,
            port->devargs.name, limit, xdp ? ": AF_XDP has a frame in one memory page" : "", limit,
            xdp ? ", or use the port net_af_packet,iface=" : "", xdp ? port->info.ifname : "");
    port->info.iface_mtu_bytes = iface_mtu;
    port->info.mtu_bytes = cfg->mtu_bytes ? cfg->mtu_bytes : RTE_MIN(iface_mtu, limit);
    return NOF_OK;
}

static int read_facts(struct nof_dpdk_port *port, const struct nof_dpdk_port_config *cfg,
                      struct nof_netif_facts *facts, char *err, size_t err_bytes)
{
    const char *ifname = port->devargs.ifname;
    int rc;

    if (ifname[0] == '\0')
        return nof_port_fail(NOF_EINVAL, err, err_bytes,
                             "%s needs the interface it shall use.\nType: %s,iface=eth0", port->devargs.name,
                             port->devargs.name);
    rc = nof_netif_open(&port->netif_fd);
    if (rc == 0)
        rc = nof_netif_facts(port->netif_fd, ifname, facts);
    if (rc == -ENODEV)
        return nof_port_fail(NOF_EINVAL, err, err_bytes,
                             "there is no interface %s in this network namespace.\nType: ip link, to "
                             "see which there are.",
                             ifname);
    if (rc < 0)
        return nof_port_fail(NOF_ENOTSUP, err, err_bytes, "interface %s cannot be read: %s", ifname,
                             strerror(-rc));
    snprintf(port->info.ifname, sizeof(port->info.ifname), "%s", ifname);
    memcpy(port->info.mac, facts->mac, sizeof(facts->mac));
    port->info.rate_bps = facts->rate_bps;
    port->virtual_device = facts->virtual_device;
    port->ifindex = facts->ifindex;
    port->info.ip4 = cfg->ip4 ? cfg->ip4 : facts->ip4;
    port->info.kernel = NOF_DPDK_KERNEL_KEEPS;
    if (port->info.ip4 == 0)
        return nof_port_fail(NOF_EINVAL, err, err_bytes,
                             "%s has no IPv4 address, and frames travel in UDP.\nType: ip addr add "
                             "10.0.0.1/24 dev %s (or give --ip)",
                             ifname, ifname);
    return check_mtu(port, cfg, facts->mtu_bytes, err, err_bytes);
}

static int claim(struct nof_dpdk_port *port, char *err, size_t err_bytes)
{
    int rc = nof_netif_claim(port->info.ifname, &port->claim_fd);

    if (rc == -EBUSY)
        return nof_port_fail(NOF_EAGAIN, err, err_bytes,
                             "another nofd already drives %s.\nUse that one (nof status), or stop it "
                             "first: nof down",
                             port->info.ifname);
    if (rc < 0)
        return nof_port_fail(NOF_ENOTSUP, err, err_bytes, "cannot claim %s: %s", port->info.ifname,
                             strerror(-rc));
    return NOF_OK;
}

/* Frames to our address and port would come to us, whoever holds the socket. */
static int hush(struct nof_dpdk_port *port, struct nof_dpdk_queue *q, char *err, size_t err_bytes)
{
    uint32_t ip4 = port->info.ip4;
    uint16_t udp_port = (uint16_t)(port->udp_port + q->index);

    /* What else may go wrong costs an answer of the kernel's, no frame. */
    if (nof_netif_hush(ip4, udp_port, &q->hush_fd) != -EADDRINUSE)
        return NOF_OK;
    return nof_port_fail(
        NOF_EAGAIN, err, err_bytes,
        "another program has UDP port %u of %u.%u.%u.%u, and its datagrams would come to "
        "this port instead.\nIf it is a nofd, use that one (nof status) or stop it (nof down). "
        "Type: ss -ulnp, to see who it is; or give another address of %s: --ip",
        udp_port, ip4 >> 24, ip4 >> 16 & 255, ip4 >> 8 & 255, ip4 & 255, port->info.ifname);
}

/* Queues that a core serves: as many as there are of both. */
static int check_channels(struct nof_dpdk_port *port, const struct nof_netif_facts *facts, char *err,
                          size_t err_bytes)
{
    uint32_t first = nof_devargs_number(&port->devargs, "start_queue", 0);
    uint32_t left = facts->pairs > first ? facts->pairs - first : 1;
    uint32_t asked = nof_devargs_number(&port->devargs, "queue_count", left);

    port->info.nqueues = RTE_MIN(port->info.ncores, RTE_MIN(left, asked));
    if (nof_devargs_has(&port->devargs, "start_queue") || facts->channels <= port->info.nqueues)
        return NOF_OK;
    if (facts->channels > facts->pairs)
        return nof_port_fail(
            NOF_EINVAL, err, err_bytes,
            "%s spreads frames over %u queues, and AF_XDP by DPDK serves one of a device whose queues "
            "receive or transmit: frames of the others would never be seen.\nType: ethtool -L %s rx 1 "
            "tx 1; more cores than one (--cores-per-nic) share that queue",
            port->info.ifname, facts->channels, port->info.ifname);
    if (asked < RTE_MIN(port->info.ncores, left))
        return nof_port_fail(
            NOF_EINVAL, err, err_bytes,
            "%s spreads frames over %u queues, but queue_count=%u opens no more of them: frames of the "
            "others "
            "would never be seen.\nLeave queue_count= out, or type: ethtool -L %s combined %u",
            port->info.ifname, facts->channels, asked, port->info.ifname, asked);
    return nof_port_fail(
        NOF_EINVAL, err, err_bytes,
        "%s spreads frames over %u queues, but %u NIC core(s) would serve it: frames of "
        "the others would never be seen.\nType: ethtool -L %s combined %u, or give it a core for "
        "each: --cores-per-nic %u",
        port->info.ifname, facts->channels, port->info.ncores, port->info.ifname, port->info.ncores,
        facts->channels);
}

#ifdef NOF_HAVE_EBPF
static int occupied(const char *ifname, char *err, size_t err_bytes)
{
    struct nof_steer_seen seen = {.name = "?"};
    char command[96];
    bool dispatcher;

    (void)nof_steer_look(ifname, &seen);
    dispatcher = strcmp(seen.name, "xdp_dispatcher") == 0;
    snprintf(command, sizeof(command),
             dispatcher ? "xdp-loader unload %s --all" : "ip link set dev %s %s off", ifname,
             seen.generic ? "xdpgeneric" : "xdp");
    return nof_port_fail(
        NOF_EAGAIN, err, err_bytes,
        "%s has another XDP program already: \"%s\", number %u of the kernel%s, and one interface has "
        "one%s.\nType: %s, if nobody needs it; or leave it there: --port net_af_packet,iface=%s, or --port "
        "udp:%s",
        ifname, seen.name, seen.id, seen.generic ? ", on the generic hook" : "",
        dispatcher ? "; libxdp's takes others behind it, but not DPDK's" : "", command, ifname, ifname);
}

static int reclaim(const struct nof_dpdk_port *port, char *err, size_t err_bytes)
{
    int rc = nof_steer_reclaim(port->info.ifname);

    if (rc == -EBUSY)
        return occupied(port->info.ifname, err, err_bytes);
    if (rc < 0)
        return nof_port_fail(NOF_EPERM, err, err_bytes,
                             "the XDP program of %s cannot be looked at: %s.\nStart the daemon as root.",
                             port->info.ifname, strerror(-rc));
    return NOF_OK;
}
#else
static int reclaim(const struct nof_dpdk_port *port, char *err, size_t err_bytes)
{
    if (nof_devargs_has(&port->devargs, "xdp_prog"))
        return NOF_OK;
    return nof_port_fail(NOF_ENOTSUP, err, err_bytes,
                         "this nofd was built without the steering program.\nBuild with clang, bpftool "
                         "and libbpf-dev, or give xdp_prog=OBJECT in the port's arguments.");
}
#endif

/* Driver arguments that follow from what was found; the user's own come first and win. */
static int complete_xdp(struct nof_dpdk_port *port, const struct nof_netif_facts *facts)
{
    char count[16];
    int rc = NOF_OK;

    snprintf(count, sizeof(count), "%u", port->info.nqueues);
    if (!nof_devargs_has(&port->devargs, "queue_count"))
        rc = nof_devargs_add(&port->devargs, "queue_count", count);
    /* Zero copy would need frames that no page boundary cuts, which is not how the pool lies (device.c). */
    nof_devargs_remove(&port->devargs, "force_copy");
    if (rc == NOF_OK)
        rc = nof_devargs_add(&port->devargs, "force_copy", "1");
    /* Preferred busy polling makes every empty receive burst a system call; it pays where a device's
     * interrupts can be deferred, which a virtual device has none of (docs/decisions/0005-dpdk-port.md). */
    if (rc == NOF_OK && facts->virtual_device && !nof_devargs_has(&port->devargs, "busy_budget"))
        rc = nof_devargs_add(&port->devargs, "busy_budget", "0");
    return rc;
}

/* The kernel deals frames to as many sockets as the driver opens, and a core reads one. */
static int check_sockets(const struct nof_dpdk_port *port, char *err, size_t err_bytes)
{
    unsigned n = nof_devargs_number(&port->devargs, "qpairs", 0);

    if (n <= port->info.ncores)
        return NOF_OK;
    return nof_port_fail(
        NOF_EINVAL, err, err_bytes,
        "qpairs=%u has the kernel deal frames to %u sockets, but %u NIC core(s) would read one "
        "each: frames of the others would never be seen.\nLeave qpairs= out, or give it a core "
        "for each: --cores-per-nic %u",
        n, n, port->info.ncores, n);
}

static int complete_packet(struct nof_dpdk_port *port)
{
    uint32_t frame_bytes = nof_port_frame_bytes(port->info.mtu_bytes), per_block = 65536u / frame_bytes;
    char text[16];
    int rc = NOF_OK;

    /* The driver counts the ring as one array of frames: blocks, of whole pages, must have no rest. */
    while (per_block * frame_bytes % 4096u != 0)
        per_block--;
    if (!nof_devargs_has(&port->devargs, "qpairs")) {
        snprintf(text, sizeof(text), "%u", RTE_MIN(port->info.ncores, PACKET_QUEUES_MAX));
        rc = nof_devargs_add(&port->devargs, "qpairs", text);
    }
    if (rc == NOF_OK && !nof_devargs_has(&port->devargs, "framesz") &&
        !nof_devargs_has(&port->devargs, "blocksz")) {
        snprintf(text, sizeof(text), "%u", per_block * frame_bytes);
        rc = nof_devargs_add(&port->devargs, "blocksz", text);
        snprintf(text, sizeof(text), "%u", frame_bytes);
        if (rc == NOF_OK)
            rc = nof_devargs_add(&port->devargs, "framesz", text);
        snprintf(text, sizeof(text), "%u", 1024u / per_block * per_block);
        if (rc == NOF_OK && !nof_devargs_has(&port->devargs, "framecnt"))
            rc = nof_devargs_add(&port->devargs, "framecnt", text);
    }
    return rc;
}

int nof_port_preflight_kernel(struct nof_dpdk_port *port, const struct nof_dpdk_port_config *cfg, char *err,
                              size_t err_bytes)
{
    bool xdp = port->devargs.kind == NOF_DEVARGS_AF_XDP;
    struct nof_netif_facts facts;
    int rc = read_facts(port, cfg, &facts, err, err_bytes);

    if (rc == NOF_OK)
        rc = xdp ? check_channels(port, &facts, err, err_bytes) : check_sockets(port, err, err_bytes);
    if (rc == NOF_OK)
        rc = probe_socket(xdp ? AF_XDP : AF_PACKET, xdp ? "AF_XDP" : "AF_PACKET", err, err_bytes);
    if (rc == NOF_OK)
        rc = claim(port, err, err_bytes);
    for (unsigned i = 0; rc == NOF_OK && i < port->info.ncores; i++)
        rc = hush(port, &port->queues[i], err, err_bytes);
    if (rc == NOF_OK && xdp)
        rc = reclaim(port, err, err_bytes);
    if (rc != NOF_OK)
        return rc;
    rc = xdp ? complete_xdp(port, &facts) : complete_packet(port);
    if (rc != NOF_OK)
        return nof_port_fail(rc, err, err_bytes, "the arguments of %s are too long", port->devargs.name);
    return NOF_OK;
}
