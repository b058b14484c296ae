/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening and closing of a DPDK port. The order matters: facts, claim, plug, configure, queues (each
 * with its own pool), start, then what needs the running device. */
#include "port/dpdk/dpdk_port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_malloc.h>

#include "nof/status.h"
#include "port/dpdk/device.h"
#include "port/dpdk/preflight.h"
#include "port/dpdk/removal.h"
#include "port/dpdk/sockfd.h"
#include "port/interface_link.h"

#ifdef NOF_HAVE_EBPF
#include "steer_host.h"
#endif

/* MTU, MAC and multicast of a port that is ours alone. */
static int set_up_link(struct nof_port_opening *o)
{
    struct nof_dpdk_port *port = o->port;
    struct rte_ether_addr mac;
    int rc = rte_eth_dev_set_mtu(port->port_id, (uint16_t)port->info.mtu_bytes);

    if (rc < 0 && rc != -ENOTSUP)
        return nof_port_fail(NOF_EINVAL, o->err, o->err_bytes, "%s refuses MTU %u: %s.\nType: --mtu 1500",
                             port->info.device, port->info.mtu_bytes, strerror(-rc));
    if (rte_eth_macaddr_get(port->port_id, &mac) != 0 || rte_is_zero_ether_addr(&mac)) {
        rte_eth_random_addr(mac.addr_bytes);
        (void)rte_eth_dev_default_mac_addr_set(port->port_id, &mac);
    }
    memcpy(port->info.mac, mac.addr_bytes, sizeof(port->info.mac));
    (void)rte_eth_promiscuous_disable(port->port_id);
    return NOF_OK;
}

static void set_up_arp(struct nof_dpdk_port *port)
{
    for (unsigned i = 0; i < port->info.ncores; i++) {
        struct nof_dpdk_queue *q = &port->queues[i];

        if (port->info.kernel != NOF_DPDK_KERNEL_NONE || port->info.ip4 == 0)
            return;
        memcpy(q->arp.mac, port->info.mac, sizeof(q->arp.mac));
        q->arp.ip4 = port->info.ip4;
        q->answers_arp = true;
        q->announce_left = i == 0 ? NOF_ARP_ANNOUNCEMENTS : 0;
    }
}

static void set_up_interrupts(struct nof_dpdk_port *port)
{
    for (unsigned i = 0; i < port->info.nqueues; i++) {
        struct nof_dpdk_queue *q = &port->queues[i];
        int fd = rte_eth_dev_rx_intr_ctl_q_get_fd(port->port_id, q->queue_id);

        if (fd >= 0) {
            q->wait_fd = fd;
            q->wait_is_interrupt = true;
        }
    }
}

#ifdef NOF_HAVE_EBPF
/* Which hook, and who copies, with the reasons. */
static void describe_xdp(struct nof_dpdk_port *port)
{
    struct nof_dpdk_port_info *info = &port->info;
    const char *hook = "its driver's own hook", *hook_why = "";
    struct nof_steer_seen seen;

    if (nof_steer_look(info->ifname, &seen) < 0)
        return;
    info->xdp_zero_copy = port->queues[0].wait_fd >= 0 && nof_sockfd_zero_copy(port->queues[0].wait_fd);
    snprintf(info->xdp_hook, sizeof(info->xdp_hook), "%s", seen.generic ? "generic" : "native");
    if (seen.generic) {
        hook = "the generic hook";
        hook_why = port->virtual_device ? ", for a virtual device gains nothing by its own"
                                        : ", for its driver has none of its own";
    }
    snprintf(info->xdp_words, sizeof(info->xdp_words), "the XDP program is on %s%s; frames are %s", hook,
             hook_why,
             info->xdp_zero_copy
                 ? "not copied"
                 : "copied, for page boundaries cut those of this port, and zero copy takes none such");
}
#endif

/* Conveniences: a port without them works. */
static void set_up_extras(struct nof_port_opening *o)
{
    struct nof_dpdk_port *port = o->port;

#ifdef NOF_HAVE_EBPF
    if (port->devargs.kind == NOF_DEVARGS_AF_XDP) {
        int rc;

        if (port->virtual_device)
            (void)nof_steer_generic(port->info.ifname);
        describe_xdp(port);
        rc = nof_steer_open(port->info.ifname, &port->steer);
        if (rc == 0)
            port->info.xdp_pinned = nof_steer_pin(port->steer) == 0;
        else if (rc != -ENOENT)
            port->steer_errno = -rc;
    }
#endif
    if (port->info.nqueues > 1 && nof_dpdk_rules_open(port))
        port->info.spread = NOF_DPDK_SPREAD_RULES;
    if (o->interrupts)
        set_up_interrupts(port);
    set_up_arp(port);
}

static const struct {
    const char *name, *words;
} spreads[] = {
    [NOF_DPDK_SPREAD_ALONE] = {"alone", "to the only core"},
    [NOF_DPDK_SPREAD_RULES] = {"rules", "to the core that their UDP port names, by rules of the device"},
    [NOF_DPDK_SPREAD_HASH] = {"hash", "to any core, by a hash of the device, and are handed over"},
    [NOF_DPDK_SPREAD_KERNEL] = {"kernel",
                                "to any core, as the kernel or the driver spreads them, and are handed over"},
    [NOF_DPDK_SPREAD_FIRST] = {"first", "to core 0, which hands them over"},
};

const char *nof_dpdk_spread_name(enum nof_dpdk_spread spread)
{
    return spreads[spread].name;
}

const char *nof_dpdk_spread_words(enum nof_dpdk_spread spread)
{
    return spreads[spread].words;
}

static int interface_link(struct nof_dpdk_port *port)
{
    if (nof_interface_carries(port->netif_fd, port->info.ifname, &port->link_asked))
        return 1;
    if (!nof_netif_there(port->netif_fd, port->ifindex))
        __atomic_store_n(&port->removed, true, __ATOMIC_RELEASE);
    return 0;
}

/* A device knows its rate when its link is up, which takes seconds where it is negotiated. */
static int device_link(struct nof_dpdk_port *port)
{
    struct rte_eth_link link;

    if (rte_eth_link_get_nowait(port->port_id, &link) != 0 || link.link_status != RTE_ETH_LINK_UP)
        return 0;
    if (port->devargs.kind == NOF_DEVARGS_BUS && !port->rate_is_given)
        __atomic_store_n(&port->info.rate_bps,
                         link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN ? link.link_speed * UINT64_C(1000000)
                                                                      : 0,
                         __ATOMIC_RELAXED);
    return 1;
}

static void look_at_link(struct nof_dpdk_port *port, uint64_t now_ns)
{
    int was = port->link_up, is;

    if (now_ns < port->link_next_ns)
        return;
    port->link_next_ns = now_ns == UINT64_MAX ? 0 : now_ns + LINK_CHECK_NS;
    is = port->info.ifname[0] != '\0' ? interface_link(port) : device_link(port);
    __atomic_store_n(&port->link_up, is, __ATOMIC_RELAXED);
    /* Another switch may be at the other end now: tell it where we are. */
    if (is && !was && port->queues[0].answers_arp)
        port->queues[0].announce_left = NOF_ARP_ANNOUNCEMENTS;
}

static int start(struct nof_port_opening *o)
{
    struct nof_dpdk_port *port = o->port;
    int rc = rte_eth_dev_start(port->port_id);

    if (rc < 0)
        return nof_port_fail(NOF_ENOTSUP, o->err, o->err_bytes, "%s does not start: %s", port->info.device,
                             strerror(-rc));
    port->started = true;
    set_up_extras(o);
    nof_port_removal_watch(port);
    look_at_link(port, UINT64_MAX);
    return NOF_OK;
}

static int open_device(struct nof_port_opening *o)
{
    struct nof_dpdk_port *port = o->port;
    struct rte_eth_dev_info dev;
    int rc = nof_port_plug(o);

    if (rc != NOF_OK)
        return rc;
    rc = rte_eth_dev_info_get(port->port_id, &dev);
    if (rc < 0)
        return nof_port_fail(NOF_ENOTSUP, o->err, o->err_bytes, "%s does not answer: %s", port->devargs.name,
                             strerror(-rc));
    snprintf(port->info.driver, sizeof(port->info.driver), "%s", dev.driver_name);
    (void)rte_eth_dev_get_name_by_port(port->port_id, port->info.device);
    port->info.socket = rte_eth_dev_socket_id(port->port_id);
    for (unsigned i = 0; i < port->info.ncores; i++)
        port->queues[i].port_id = port->port_id;
    rc = nof_port_configure(o, &dev);
    if (rc == NOF_OK)
        rc = nof_port_set_up_queues(o);
    if (rc == NOF_OK && port->info.kernel == NOF_DPDK_KERNEL_NONE)
        rc = set_up_link(o);
    if (rc == NOF_OK)
        rc = start(o);
    return rc;
}

static int check_config(const struct nof_dpdk_port_config *cfg, struct nof_devargs *devargs,
                        uint64_t *rate_bps_out, char *err, size_t err_bytes)
{
    if (!cfg->devargs || nof_devargs_parse(cfg->devargs, devargs) != NOF_OK)
        return nof_port_fail(NOF_EINVAL, err, err_bytes,
                             "\"%s\" names no port.\nType one of: net_af_xdp,iface=eth0  "
                             "net_af_packet,iface=eth0  0000:03:00.0",
                             cfg->devargs ? cfg->devargs : "");
    if (nof_devargs_take_rate(devargs, rate_bps_out) != NOF_OK)
        return nof_port_fail(NOF_EINVAL, err, err_bytes,
                             "\"%s\": rate= takes bits per second.\nType for example: rate=10g",
                             cfg->devargs);
    if (cfg->ncores > NOF_DPDK_QUEUES_MAX)
        return nof_port_fail(NOF_EINVAL, err, err_bytes, "%u NIC cores on one port; at most %u", cfg->ncores,
                             NOF_DPDK_QUEUES_MAX);
    if (nof_port_udp(cfg) + cfg->ncores > 65536u)
        return nof_port_fail(NOF_EINVAL, err, err_bytes,
                             "%u NIC cores need as many UDP ports from %u on, and the last one is 65535",
                             cfg->ncores, nof_port_udp(cfg));
    if (cfg->mtu_bytes != 0 && (cfg->mtu_bytes < 576 || cfg->mtu_bytes > 9216))
        return nof_port_fail(NOF_EINVAL, err, err_bytes, "MTU %u is outside 576..9216", cfg->mtu_bytes);
    if (devargs->kind == NOF_DEVARGS_AF_XDP && cfg->udp_port != 0 && cfg->udp_port != NOF_PORT_UDP_DEFAULT &&
        !cfg->steer_path)
        return nof_port_fail(NOF_EINVAL, err, err_bytes,
                             "the steering program takes UDP port %u only, not %u", NOF_PORT_UDP_DEFAULT,
                             cfg->udp_port);
    return NOF_OK;
}

static struct nof_dpdk_port *new_port(const struct nof_dpdk_port_config *cfg,
                                      const struct nof_devargs *devargs)
{
    unsigned ncores = cfg->ncores;
    struct nof_dpdk_port *port =
        rte_zmalloc("nof_dpdk_port", sizeof(*port) + ncores * sizeof(port->queues[0]), RTE_CACHE_LINE_SIZE);

    if (!port)
        return NULL;
    port->devargs = *devargs;
    port->port_id = RTE_MAX_ETHPORTS;
    port->netif_fd = port->claim_fd = port->member_fd = -1;
    port->info.ncores = port->users = ncores;
    port->udp_port = nof_port_udp(cfg);
    port->info.ip4 = cfg->ip4;
    port->info.mtu_bytes = cfg->mtu_bytes ? cfg->mtu_bytes : 1500u;
    for (unsigned i = 0; i < ncores; i++) {
        struct nof_dpdk_queue *q = &port->queues[i];

        q->index = (uint8_t)i;
        q->queue_id = (uint16_t)i;
        q->port = port;
        q->turn = &nof_dpdk_turn_alone;
        q->hush_fd = q->wait_fd = -1;
    }
    return port;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void drop_pending(struct nof_dpdk_queue *q)
{
    rte_pktmbuf_free_bulk(q->pending, q->npending);
    q->npending = 0;
    rte_pktmbuf_free_bulk(q->early, q->nearly);
    q->nearly = 0;
}

static void close_queue(struct nof_dpdk_queue *q)
{
    rte_mempool_free(q->pool);
    close_fd(q->hush_fd);
}

static void close_port(struct nof_dpdk_port *port)
{
    nof_port_removal_unwatch(port);
    for (unsigned i = 0; i < port->info.ncores; i++) {
        drop_pending(&port->queues[i]);
        nof_dpdk_queue_forget(&port->queues[i]);
    }
    nof_dpdk_cores_close(port);
    nof_dpdk_rules_close(port);
    if (port->started)
        (void)rte_eth_dev_stop(port->port_id);
#ifdef NOF_HAVE_EBPF
    nof_steer_close(port->steer);
#endif
    if (port->owned && port->port_id != RTE_MAX_ETHPORTS)
        (void)rte_eth_dev_close(port->port_id);
    if (port->owned && port->devargs.kind != NOF_DEVARGS_BUS)
        (void)rte_eal_hotplug_remove("vdev", port->devargs.name);
#ifdef NOF_HAVE_EBPF
    /* The driver detaches its program only on the way that it expects: make sure. */
    if (port->devargs.kind == NOF_DEVARGS_AF_XDP && port->claim_fd >= 0)
        (void)nof_steer_reclaim(port->info.ifname);
#endif
    for (unsigned i = 0; i < port->info.ncores; i++)
        close_queue(&port->queues[i]);
    close_fd(port->member_fd);
    close_fd(port->netif_fd);
    close_fd(port->claim_fd);
    rte_free(port);
}

int nof_dpdk_port_open(const struct nof_dpdk_port_config *given, struct nof_dpdk_port **port_out, char *err,
                       size_t err_bytes)
{
    struct nof_dpdk_port_config with_cores = *given;
    const struct nof_dpdk_port_config *cfg = &with_cores;
    struct nof_port_opening o = {.cfg = cfg, .steer_object_fd = -1, .err = err, .err_bytes = err_bytes};
    struct nof_devargs devargs;
    uint64_t rate_bps;
    int rc = check_config(cfg, &devargs, &rate_bps, err, err_bytes);

    if (rc != NOF_OK)
        return rc;
    if (with_cores.ncores == 0)
        with_cores.ncores = 1;
    o.port = new_port(cfg, &devargs);
    if (!o.port)
        return nof_port_fail(NOF_ENOMEM, err, err_bytes, "no memory for the port");
    if (devargs.kind == NOF_DEVARGS_AF_XDP || devargs.kind == NOF_DEVARGS_AF_PACKET)
        rc = nof_port_preflight_kernel(o.port, cfg, err, err_bytes);
    if (rc == NOF_OK)
        rc = open_device(&o);
    if (rate_bps != 0)
        o.port->info.rate_bps = rate_bps;
    o.port->rate_is_given = rate_bps != 0;
    /* The driver has read the object when the first queue was set up. */
    if (o.steer_object_fd >= 0)
        close(o.steer_object_fd);
    if (rc != NOF_OK) {
        close_port(o.port);
        return rc;
    }
    *port_out = o.port;
    return NOF_OK;
}

void nof_dpdk_port_close(struct nof_dpdk_port *port)
{
    if (port && --port->users == 0)
        close_port(port);
}

const struct nof_dpdk_port_info *nof_dpdk_port_info(const struct nof_dpdk_port *port)
{
    return &port->info;
}

struct nof_dpdk_queue *nof_dpdk_port_queue(struct nof_dpdk_port *port, unsigned queue)
{
    return queue < port->info.ncores ? &port->queues[queue] : NULL;
}

int nof_dpdk_queue_link(struct nof_dpdk_queue *q, uint64_t now_ns)
{
    if (q->index == 0)
        look_at_link(q->port, now_ns);
    return __atomic_load_n(&q->port->link_up, __ATOMIC_RELAXED);
}

uint64_t nof_dpdk_port_rate(const struct nof_dpdk_port *port)
{
    return __atomic_load_n(&port->info.rate_bps, __ATOMIC_RELAXED);
}

unsigned nof_dpdk_port_xdp_counters(const struct nof_dpdk_port *port,
                                    uint64_t frames_out[NOF_DPDK_XDP_COUNTERS])
{
#ifdef NOF_HAVE_EBPF
    struct nof_steer_count counts[NOF_STEER_VERDICTS];

    if (!port->steer || nof_steer_read(port->steer, counts) < 0)
        return 0;
    for (unsigned i = 0; i < NOF_STEER_VERDICTS; i++)
        frames_out[i] = counts[i].frames;
    return NOF_STEER_VERDICTS;
#else
    (void)port;
    (void)frames_out;
    return 0;
#endif
}

const char *nof_dpdk_port_xdp_name(unsigned counter)
{
#ifdef NOF_HAVE_EBPF
    return nof_steer_name(counter);
#else
    (void)counter;
    return NULL;
#endif
}
