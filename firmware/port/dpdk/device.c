/* SPDX-License-Identifier: BSD-3-Clause */
#include "port/dpdk/device.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <rte_dev.h>
#include <rte_errno.h>

#include "nof/status.h"
#include "port/dpdk/preflight.h"
#include "port/dpdk/sockfd.h"

#ifdef NOF_HAVE_EBPF
#include "steer_host.h"
#include "transport/wire.h"

static_assert(NOF_STEER_VERSION == NOF_WIRE_VERSION && NOF_STEER_PORT == NOF_WIRE_UDP_PORT,
              "the steering program takes this core's frames");
#endif

#ifndef AF_XDP
#define AF_XDP 44
#endif

#define RX_DESCS 2048u
#define TX_DESCS 1024u
/* net_af_xdp keeps this many buffers in its fill ring, and pulls completions only when half a ring
 * of them waits (XSK_RING_PROD__DEFAULT_NUM_DESCS, both). */
#define AF_XDP_RING_DESCS 2048u
#define POOL_CACHE 256u
/* Of a pool beside its frames: a cache for each of RTE_MAX_LCORE, 8.3 KB each and used or not, and the list of what is free. */
#define POOL_OWN_BYTES (2u << 20)
#define CORE_FRAMES_DEFAULT 8192u
#define ETH_OVERHEAD_BYTES 22u /* header 14, one VLAN tag 4, FCS 4 */
#define XDP_HEADROOM_BYTES 256u
#define XDP_CHUNK_MIN_BYTES 2048u
#define PAGE_BYTES 4096u /* of --no-huge */
#define XDP_CHUNK_MAX_BYTES PAGE_BYTES /* the kernel's limit */
#define PORT_MTU_MAX 9216u
#define MTU_DEFAULT 1500u
/* Of af_packet's ring: the kernel's header before the frame, in the worst alignment. */
#define PACKET_HEADER_BYTES 64u

uint32_t nof_port_frame_bytes(uint32_t mtu_bytes)
{
    /* Several devices take receive buffers in steps of 1 KiB only, rounded down. */
    return RTE_ALIGN_CEIL(mtu_bytes + ETH_OVERHEAD_BYTES + PACKET_HEADER_BYTES, 1024u);
}

static uint32_t room_bytes(bool xdp, uint32_t mtu_bytes)
{
    uint32_t frame = mtu_bytes + ETH_OVERHEAD_BYTES;

    if (xdp) {
        uint32_t room = RTE_PKTMBUF_HEADROOM + XDP_HEADROOM_BYTES + RTE_ALIGN_CEIL(frame, 64u);
        return RTE_MAX(room, XDP_CHUNK_MIN_BYTES);
    }
    return RTE_PKTMBUF_HEADROOM + nof_port_frame_bytes(mtu_bytes);
}

static uint32_t element_bytes(uint32_t room)
{
    uint32_t priv = (uint32_t)RTE_ALIGN_CEIL(sizeof(struct nof_dpdk_priv), RTE_MBUF_PRIV_ALIGN);

    return (uint32_t)sizeof(struct rte_mbuf) + priv + room;
}

/* What a frame takes of a pool: header, mbuf, private area, headrooms, data, and what the pool adds to spread objects
 * over the memory channels. */
static uint32_t object_bytes(bool xdp, uint32_t mtu_bytes)
{
    return rte_mempool_calc_obj_size(element_bytes(room_bytes(xdp, mtu_bytes)), 0, NULL);
}

uint32_t nof_port_mtu_max(enum nof_devargs_kind kind)
{
    uint32_t frame = XDP_CHUNK_MAX_BYTES;

    if (kind != NOF_DEVARGS_AF_XDP)
        return PORT_MTU_MAX;
    while (object_bytes(true, frame - ETH_OVERHEAD_BYTES) > XDP_CHUNK_MAX_BYTES)
        frame -= RTE_CACHE_LINE_SIZE;
    return frame - ETH_OVERHEAD_BYTES;
}

/* descs: of the device's queue, 0 of a core without one. Beside what the core holds, what rings hold: `in` of every core and its
 * own `out`. */
static uint32_t pool_frames(bool xdp, const struct nof_dpdk_port_config *cfg, uint32_t descs)
{
    uint32_t n = cfg->core_frames ? cfg->core_frames : CORE_FRAMES_DEFAULT;

    n += nof_dpdk_cores_slots(cfg->ncores) * (cfg->ncores + 1) + 2u * NOF_DPDK_BURST_MAX + 2u * POOL_CACHE;
    return descs == 0 ? n : n + descs + (xdp ? 2u * AF_XDP_RING_DESCS : 0);
}

/* The kernel's ports copy; only a device's DMA would mind a frame across a page boundary. */
static bool packs(enum nof_devargs_kind kind)
{
    return kind == NOF_DEVARGS_AF_XDP || kind == NOF_DEVARGS_AF_PACKET;
}

static size_t queue_mem_bytes(enum nof_devargs_kind kind, const struct nof_dpdk_port_config *cfg,
                              uint32_t mtu_bytes)
{
    bool xdp = kind == NOF_DEVARGS_AF_XDP;
    size_t object = object_bytes(xdp, mtu_bytes);

    /* Where no frame crosses a page boundary, as many as fit lie in a page, or one in so many pages. */
    if (!packs(kind))
        object =
            object > PAGE_BYTES ? RTE_ALIGN_CEIL(object, PAGE_BYTES) : PAGE_BYTES / (PAGE_BYTES / object);
    return object * pool_frames(xdp, cfg, RX_DESCS + TX_DESCS) + POOL_OWN_BYTES;
}

size_t nof_dpdk_queue_mem_bytes(const struct nof_dpdk_port_config *cfg)
{
    uint32_t mtu_bytes = cfg->mtu_bytes;
    struct nof_devargs d;

    if (nof_devargs_parse(cfg->devargs, &d) != NOF_OK)
        return 0;
    if (mtu_bytes == 0 && (d.ifname[0] == '\0' || nof_netif_mtu(d.ifname, &mtu_bytes) != 0))
        mtu_bytes = MTU_DEFAULT;
    return queue_mem_bytes(d.kind, cfg, RTE_MIN(mtu_bytes, nof_port_mtu_max(d.kind)));
}

/* "net_af_xdp" -> "net_af_xdp3": the first number that no device has. */
static void number_device(struct nof_devargs *d)
{
    size_t len = strlen(d->name);
    uint16_t other;

    if (d->name[len - 1] >= '0' && d->name[len - 1] <= '9')
        return;
    for (unsigned i = 0; i < RTE_MAX_ETHPORTS; i++) {
        snprintf(d->name + len, sizeof(d->name) - len, "%u", i);
        if (rte_eth_dev_get_port_by_name(d->name, &other) != 0)
            return;
    }
}

static int plug_bus_device(struct nof_port_opening *o)
{
    const struct nof_devargs *d = &o->port->devargs;
    char text[sizeof(d->name) + sizeof(d->args) + 1];
    struct rte_dev_iterator it;
    uint16_t port_id;
    int rc;

    snprintf(text, sizeof(text), "%s%s%s", d->name, d->args[0] ? "," : "", d->args);
    rc = rte_dev_probe(text);
    if (rc < 0)
        return nof_port_fail(NOF_ENOTSUP, o->err, o->err_bytes,
                             "DPDK cannot open %s: %s.\nFor a PCI device, bind it first: nof bind %s. "
                             "For an interface that the kernel keeps: net_af_xdp,iface=NAME",
                             text, strerror(-rc), d->name);
    o->port->owned = true;
    RTE_ETH_FOREACH_MATCHING_DEV(port_id, text, &it)
    {
        rte_eth_iterator_cleanup(&it);
        o->port->port_id = port_id;
        return NOF_OK;
    }
    return nof_port_fail(NOF_ENOTSUP, o->err, o->err_bytes, "%s is no Ethernet device of DPDK", text);
}

static int plug_vdev(struct nof_port_opening *o)
{
    struct nof_devargs *d = &o->port->devargs;
    struct nof_sockfd_watch watch;
    int rc;

    number_device(d);
    nof_sockfd_watch_begin(&watch, AF_PACKET);
    rc = rte_eal_hotplug_add("vdev", d->name, d->args);
    if (rc < 0)
        return nof_port_fail(NOF_ENOTSUP, o->err, o->err_bytes,
                             "DPDK cannot create %s with \"%s\": %s.\nThe driver's own words are in the "
                             "log (nofd --log-level debug).",
                             d->name, d->args, strerror(-rc));
    o->port->owned = true;
    if (d->kind == NOF_DEVARGS_AF_PACKET)
        o->npacket_fds = nof_sockfd_watch_end(&watch, o->packet_fds, NOF_DPDK_QUEUES_MAX);
    if (rte_eth_dev_get_port_by_name(d->name, &o->port->port_id) != 0)
        return nof_port_fail(NOF_ENOTSUP, o->err, o->err_bytes, "%s is no Ethernet device of DPDK", d->name);
    return NOF_OK;
}

/* The steering program's place in the driver's arguments. */
static int add_steering(struct nof_port_opening *o)
{
    struct nof_devargs *d = &o->port->devargs;
    char path[64];
    const char *use = o->cfg->steer_path;
    int rc;

    if (nof_devargs_has(d, "xdp_prog"))
        return NOF_OK;
#ifdef NOF_HAVE_EBPF
    if (!use) {
        rc = nof_steer_object_fd(&o->steer_object_fd);
        if (rc < 0)
            return nof_port_fail(NOF_ENOMEM, o->err, o->err_bytes,
                                 "no memory file for the steering program: %s", strerror(-rc));
        snprintf(path, sizeof(path), "/proc/self/fd/%d", o->steer_object_fd);
        use = path;
    }
#else
    (void)path;
    if (!use)
        return NOF_OK;
#endif
    rc = nof_devargs_add(d, "xdp_prog", use);
    if (rc != NOF_OK)
        return nof_port_fail(rc, o->err, o->err_bytes, "the path of the steering program is too long");
    return NOF_OK;
}

int nof_port_plug(struct nof_port_opening *o)
{
    struct nof_dpdk_port *port = o->port;
    int rc;

    if (rte_eth_dev_get_port_by_name(port->devargs.name, &port->port_id) == 0) {
        /* EAL has it by its list of devices, for us alone. */
        port->owned = port->devargs.kind == NOF_DEVARGS_BUS;
        return NOF_OK;
    }
    if (port->devargs.kind == NOF_DEVARGS_BUS)
        return plug_bus_device(o);
    if (port->devargs.kind == NOF_DEVARGS_AF_XDP) {
        rc = add_steering(o);
        if (rc != NOF_OK)
            return rc;
    }
    return plug_vdev(o);
}

static bool spread_over_queues(struct rte_eth_conf *conf, const struct rte_eth_dev_info *dev)
{
    uint64_t hash = RTE_ETH_RSS_NONFRAG_IPV4_UDP & dev->flow_type_rss_offloads;

    if (hash == 0)
        return false; /* the device spreads by itself (af_packet's fanout), or does not */
    conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf->rx_adv_conf.rss_conf.rss_hf = hash;
    return true;
}

/* Of a device with fewer queues than cores the first cores have one. */
static void share_queues(struct nof_dpdk_port *port, const struct rte_eth_dev_info *dev,
                         struct rte_eth_conf *conf)
{
    struct nof_dpdk_port_info *info = &port->info;

    info->nqueues = RTE_MIN(info->ncores, (unsigned)RTE_MIN(dev->max_rx_queues, dev->max_tx_queues));
    for (unsigned i = 0; i < info->nqueues; i++)
        port->queues[i].served = true;
    if (info->ncores == 1)
        info->spread = NOF_DPDK_SPREAD_ALONE;
    else if (info->nqueues == 1)
        info->spread = NOF_DPDK_SPREAD_FIRST;
    else
        info->spread = spread_over_queues(conf, dev) ? NOF_DPDK_SPREAD_HASH : NOF_DPDK_SPREAD_KERNEL;
}

static enum nof_dpdk_help help(bool there)
{
    return there ? NOF_DPDK_HELP_THERE : NOF_DPDK_HELP_NONE;
}

/* What gains something is asked for, and only of a device that says that it can. */
static void ask_for_help(struct nof_dpdk_port *port, struct rte_eth_conf *conf,
                         const struct rte_eth_dev_info *dev)
{
    struct nof_dpdk_port_info *info = &port->info;

    info->udp_checksum = help(dev->tx_offload_capa & RTE_ETH_TX_OFFLOAD_UDP_CKSUM);
    info->scatter_gather = help(dev->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
    info->timestamps = help(dev->rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP);
    if (info->udp_checksum == NOF_DPDK_HELP_NONE)
        return;
    conf->txmode.offloads |= RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    info->udp_checksum = NOF_DPDK_HELP_USED;
    for (unsigned i = 0; i < info->nqueues; i++)
        port->queues[i].sums = true;
}

/* Receive interrupts are asked for first, of devices on a bus: some drivers refuse them. */
static int configure(struct nof_port_opening *o, struct rte_eth_conf *conf)
{
    uint16_t port_id = o->port->port_id, n = (uint16_t)o->port->info.nqueues;

    conf->intr_conf.rxq = o->port->devargs.kind == NOF_DEVARGS_BUS;
    o->interrupts = conf->intr_conf.rxq && rte_eth_dev_configure(port_id, n, n, conf) == 0;
    if (o->interrupts)
        return 0;
    conf->intr_conf.rxq = 0;
    return rte_eth_dev_configure(port_id, n, n, conf);
}

/* Without the hash, then with one queue: all cores are served in either way. Not so of the kernel's ports, whose queues are open. */
static int configure_with_less(struct nof_port_opening *o, struct rte_eth_conf *conf)
{
    struct nof_dpdk_port *port = o->port;
    int rc = configure(o, conf);

    if (rc < 0 && conf->rxmode.mq_mode != RTE_ETH_MQ_RX_NONE) {
        conf->rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
        conf->rx_adv_conf.rss_conf.rss_hf = 0;
        port->info.spread = NOF_DPDK_SPREAD_KERNEL;
        rc = configure(o, conf);
    }
    if (rc < 0 && port->info.nqueues > 1 && !packs(port->devargs.kind)) {
        for (unsigned i = 1; i < port->info.nqueues; i++)
            port->queues[i].served = false;
        port->info.nqueues = 1;
        port->info.spread = NOF_DPDK_SPREAD_FIRST;
        rc = configure(o, conf);
    }
    return rc;
}

int nof_port_configure(struct nof_port_opening *o, const struct rte_eth_dev_info *dev)
{
    struct nof_dpdk_port *port = o->port;
    struct rte_eth_conf conf;
    int rc;

    memset(&conf, 0, sizeof(conf));
    share_queues(port, dev, &conf);
    if (port->info.nqueues == 0)
        return nof_port_fail(NOF_ENOTSUP, o->err, o->err_bytes, "%s has no queues to receive and transmit",
                             port->info.device);
    /* net_af_packet says 1518 bytes whatever its ring holds, and takes no MTU from here. */
    if (port->devargs.kind != NOF_DEVARGS_AF_PACKET && dev->max_mtu >= port->info.mtu_bytes &&
        dev->min_mtu <= port->info.mtu_bytes)
        conf.rxmode.mtu = port->info.mtu_bytes;
    ask_for_help(port, &conf, dev);
    conf.intr_conf.rmv = (*dev->dev_flags & RTE_ETH_DEV_INTR_RMV) != 0;
    rc = configure_with_less(o, &conf);
    if (rc < 0)
        return nof_port_fail(NOF_ENOTSUP, o->err, o->err_bytes, "%s refuses %u queue(s) with MTU %u: %s",
                             port->info.device, port->info.nqueues, port->info.mtu_bytes, strerror(-rc));
    return NOF_OK;
}

/* As rte_pktmbuf_pool_create(), but the frames lie one behind the other. By default a pool leaves a gap
 * wherever a frame would cross a page, and net_af_xdp of DPDK 22.11 does not count the gaps when it tells the
 * kernel how long the memory is: frames behind that end can be neither sent nor received, and nobody says so.
 * See complete_xdp(). */
static struct rte_mempool *packed_pool(const char *name, uint32_t frames, uint32_t room, int socket)
{
    uint16_t priv = (uint16_t)RTE_ALIGN_CEIL(sizeof(struct nof_dpdk_priv), RTE_MBUF_PRIV_ALIGN);
    struct rte_pktmbuf_pool_private shape = {.mbuf_data_room_size = (uint16_t)room, .mbuf_priv_size = priv};
    struct rte_mempool *pool = rte_mempool_create_empty(name, frames, element_bytes(room), POOL_CACHE,
                                                        sizeof(shape), socket, RTE_MEMPOOL_F_NO_IOVA_CONTIG);

    if (!pool)
        return NULL;
    /* Last in, first out: the frames that go round are few and in the cache. The default hands out the one that was
     * given back longest ago, so every frame of the pool goes round. */
    (void)rte_mempool_set_ops_byname(pool, "stack", NULL);
    rte_pktmbuf_pool_init(pool, &shape);
    if (rte_mempool_populate_default(pool) < 0) {
        rte_mempool_free(pool);
        return NULL;
    }
    (void)rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
    return pool;
}

static void set_owner(struct rte_mempool *pool, void *queue, void *mbuf, unsigned index)
{
    struct nof_dpdk_priv *priv = rte_mbuf_to_priv(mbuf);

    (void)pool;
    (void)index;
    priv->owner = queue;
}

static int make_pool(struct nof_port_opening *o, struct nof_dpdk_queue *q, uint32_t descs)
{
    struct nof_dpdk_port *port = o->port;
    enum nof_devargs_kind kind = port->devargs.kind;
    bool xdp = kind == NOF_DEVARGS_AF_XDP;
    uint32_t frames = pool_frames(xdp, o->cfg, descs);
    uint32_t room = room_bytes(xdp, port->info.mtu_bytes);
    char name[RTE_MEMPOOL_NAMESIZE];

    snprintf(name, sizeof(name), "nof_%u_%u", port->port_id, q->index);
    if (packs(kind))
        q->pool = packed_pool(name, frames, room, port->info.socket);
    else
        q->pool = rte_pktmbuf_pool_create(
            name, frames, POOL_CACHE,
            (uint16_t)RTE_ALIGN_CEIL(sizeof(struct nof_dpdk_priv), RTE_MBUF_PRIV_ALIGN), (uint16_t)room,
            port->info.socket);
    if (!q->pool)
        return nof_port_fail(NOF_ENOMEM, o->err, o->err_bytes,
                             "no memory for %u frames of %u bytes (%s).\nGive the daemon more packet "
                             "memory: --memory MB, at least %zu per NIC core",
                             frames, room, rte_strerror(rte_errno),
                             (queue_mem_bytes(kind, o->cfg, port->info.mtu_bytes) >> 20) + 17);
    (void)rte_mempool_obj_iter(q->pool, set_owner, q);
    /* The kernel is told one address range per socket. */
    if (xdp && q->pool->nb_mem_chunks != 1)
        return nof_port_fail(NOF_ENOMEM, o->err, o->err_bytes,
                             "the packet memory of %s lies in %u pieces, and AF_XDP needs one.\nUse fewer, "
                             "larger hugepages or --no-huge",
                             port->info.device, q->pool->nb_mem_chunks);
    return NOF_OK;
}

/* What the kernel says of a program that it refuses is the reason; DPDK's driver knows a number. */
static void listen_to_kernel(const struct nof_dpdk_port *port)
{
#ifdef NOF_HAVE_EBPF
    if (port->devargs.kind == NOF_DEVARGS_AF_XDP)
        nof_steer_words_begin();
#else
    (void)port;
#endif
}

static void kernel_said(const struct nof_dpdk_port *port, char *words, size_t words_bytes)
{
    words[0] = '\0';
#ifdef NOF_HAVE_EBPF
    if (port->devargs.kind == NOF_DEVARGS_AF_XDP)
        nof_steer_words_end(words, words_bytes);
#else
    (void)port;
    (void)words_bytes;
#endif
}

static int queue_refused(struct nof_port_opening *o, unsigned index, int rc, const char *words)
{
    const struct nof_dpdk_port_info *info = &o->port->info;
    uint32_t fits = nof_port_mtu_max(o->port->devargs.kind);

    if (strstr(words, "MTU") && info->iface_mtu_bytes > fits)
        return nof_port_fail(
            NOF_ENOTSUP, o->err, o->err_bytes,
            "%s cannot have AF_XDP at MTU %u; the kernel says: %s.\nType: ip link set dev %s "
            "mtu %u (of a veth, at both ends)\nor use the port net_af_packet,iface=%s, which "
            "carries an MTU of up to %u.",
            info->ifname, info->iface_mtu_bytes, words, info->ifname, fits, info->ifname, PORT_MTU_MAX);
    return nof_port_fail(NOF_ENOTSUP, o->err, o->err_bytes,
                         "%s cannot set up queue %u: %s%s%s.\nAnother program may hold the queue, or the "
                         "kernel may limit locked memory (ulimit -l).",
                         info->device, index, strerror(-rc), words[0] != '\0' ? "; the kernel says: " : "",
                         words);
}

static int set_up_queue(struct nof_port_opening *o, unsigned index, uint16_t rx_descs, uint16_t tx_descs)
{
    struct nof_dpdk_port *port = o->port;
    struct nof_dpdk_queue *q = &port->queues[index];
    unsigned node = (unsigned)port->info.socket;
    struct nof_sockfd_watch watch;
    char words[160];
    int rc, fd;

    nof_sockfd_watch_begin(&watch, AF_XDP);
    listen_to_kernel(port);
    rc = rte_eth_rx_queue_setup(port->port_id, q->queue_id, rx_descs, node, NULL, q->pool);
    if (rc == 0)
        rc = rte_eth_tx_queue_setup(port->port_id, q->queue_id, tx_descs, node, NULL);
    kernel_said(port, words, sizeof(words));
    if (rc < 0)
        return queue_refused(o, index, rc, words);
    if (port->devargs.kind == NOF_DEVARGS_AF_XDP && nof_sockfd_watch_end(&watch, &fd, 1) == 1)
        q->wait_fd = fd;
    if (port->devargs.kind == NOF_DEVARGS_AF_PACKET && o->npacket_fds == port->info.nqueues &&
        nof_sockfd_packet_filter(o->packet_fds[index], port->udp_port, port->info.ncores) == 0)
        q->wait_fd = o->packet_fds[index];
    return NOF_OK;
}

int nof_port_set_up_queues(struct nof_port_opening *o)
{
    struct nof_dpdk_port *port = o->port;
    uint16_t rx_descs = (uint16_t)RX_DESCS, tx_descs = (uint16_t)TX_DESCS;
    int rc = rte_eth_dev_adjust_nb_rx_tx_desc(port->port_id, &rx_descs, &tx_descs);

    if (rc < 0 && rc != -ENOTSUP)
        return nof_port_fail(NOF_ENOTSUP, o->err, o->err_bytes, "%s says nothing of its rings: %s",
                             port->info.device, strerror(-rc));
    for (unsigned i = 0; i < port->info.ncores; i++) {
        bool served = port->queues[i].served;

        rc = make_pool(o, &port->queues[i], served ? (uint32_t)rx_descs + tx_descs : 0);
        if (rc == NOF_OK && served)
            rc = set_up_queue(o, i, rx_descs, tx_descs);
        if (rc != NOF_OK)
            return rc;
    }
    if (port->info.ncores > 1 && nof_dpdk_cores_open(port) != NOF_OK)
        return nof_port_fail(NOF_ENOMEM, o->err, o->err_bytes,
                             "no memory for what %u NIC cores hand each other: --memory MB",
                             port->info.ncores);
    return NOF_OK;
}
