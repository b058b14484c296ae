/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/plug.h"

#include <errno.h>
#include <net/if.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef NOF_HAVE_EBPF
#include "steer_host.h"
#endif

#include "nof_private/machine.h"

#include "nofd/sys/clock.h"
#include "nofd/control/daemon.h"
#include "nofd/control/parts.h"
#include "nofd/dma/dma_helper.h"
#include "nofd/sys/limits.h"
#include "nofd/sys/log.h"

#define FABRIC_MTU 9000u
#define FABRIC_FRAMES 2048u /* of one NIC's queue */
#define BLOCKED_FRAMES 256u /* that one endpoint's unfinished reads can hold */
#define NETMEM_PER_RANK (256ull << 10)
#define NETMEM_PER_PEER (4ull << 10) /* so that each has its share of blocks */
#define NETMEM_PEERS_MOST (1ull << 30)
#define NETMEM_LEAST (16ull << 20)
#define NETMEM_ENDPOINT_LEAST (64ull << 10) /* the core's own bounds */
#define NETMEM_MOST (64ull << 30)
#define PEERS_LEAST 4096u
#define PEERS_MOST 65536u /* without being asked: some 500 bytes each on every NIC */
#define FABRIC_IP 0x0a630001u /* 10.99.0.1, one more per NIC */
#define FABRIC_REORDER_NS (100 * NOFD_US)
#define WINDOW_BYTES (600u << 10) /* on a path of the simulated wire: a third of a usual L2 cache */
#define KERNEL_FRAME_BYTES 256u /* that the kernel counts for a frame beside its bytes, where it joins them */
#define WINDOW_LEAST 32u
#define WINDOW_MOST 256u

/* Random, never 0. */
static uint64_t draw(void)
{
    uint64_t value = 0;

    while (value == 0)
        if (getrandom(&value, sizeof(value), 0) != (ssize_t)sizeof(value))
            value = nofd_clock_ns() ^ (uint64_t)getpid() << 32;
    return value;
}

static uint32_t ppm(double share)
{
    return (uint32_t)(share * NOF_FABRIC_PPM + 0.5);
}

static int make_fabric(struct nofd *d, uint8_t (*macs)[6], char *err, size_t err_bytes)
{
    const struct nofd_fabric_options *o = &d->options.fabric;
    unsigned cores = d->options.cores_per_nic;
    uint32_t mtu_bytes = d->options.mtu_bytes != 0 ? d->options.mtu_bytes : FABRIC_MTU;
    struct nof_fabric_config cfg = {
        .nports = o->nics * cores,
        .cores = cores,
        .shared = d->options.cores > 1,
        .seed = draw(),
        .pool_frames = FABRIC_FRAMES + BLOCKED_FRAMES * nofd_part(d, d->options.max_endpoints),
        .frame_bytes = mtu_bytes + NOFD_FRAME_HEAD_BYTES,
        .queue_frames = FABRIC_FRAMES,
        .link =
            {
                .rate_bps = nofd_part_rate(d, o->rate_bps),
                .delay_ns = o->delay_ns,
                .buffer_bytes = nofd_part_buffer(d, o->buffer_bytes, mtu_bytes),
                .loss_ppm = ppm(o->loss),
                .duplicate_ppm = ppm(o->duplicate),
                .reorder_ppm = ppm(o->reorder),
                .corrupt_ppm = ppm(o->corrupt),
                .multicast = o->multicast,
                .reorder_ns = FABRIC_REORDER_NS,
            },
    };
    uint64_t unique = draw();
    int rc;

    for (unsigned i = 0; i < cfg.nports; i++) {
        macs[i][0] = 0x02; /* locally administered */
        memcpy(&macs[i][1], &unique, 3);
        macs[i][4] = (uint8_t)(i >> 8);
        macs[i][5] = (uint8_t)i;
    }
    cfg.mac = (const uint8_t(*)[6])macs;
    rc = nof_fabric_create(&cfg, &d->fabric);
    if (rc == NOF_ENOMEM)
        snprintf(err, err_bytes,
                 "no memory for a fabric of %u NICs%s: fewer NICs (hosts), or a smaller --max-endpoints",
                 o->nics, nofd_limits_hint(ENOMEM));
    else if (rc != NOF_OK)
        snprintf(err, err_bytes, "cannot build the fabric of %u NICs: %s; check --link, --delay and --buffer",
                 o->nics, nof_strstatus(rc));
    return rc == NOF_OK ? 0 : -1;
}

/* What the kernel has no room for while we do not run is lost: no more than that, in frames as it counts them. */
static uint32_t udp_window_frames(const struct nofd_wire *wire)
{
    uint32_t room = nof_udp_port_info(wire->udp)->receive_bytes, frames = WINDOW_MOST;

    while (frames > WINDOW_LEAST && frames * (wire->mtu_bytes + KERNEL_FRAME_BYTES) > room)
        frames /= 2;
    return frames;
}

/* Frames that may be unacknowledged on a path; 0: the core's default. On a simulated wire without rate and delay
 * nothing is ever under way: more of them would only drive each other out of the L2 cache (at MTU 9000, 256 frames
 * cost a third of the bandwidth). */
static uint32_t window_frames(const struct nofd *d, const struct nofd_wire *wire)
{
    uint32_t frames = WINDOW_MOST;

    if (wire->udp != NULL)
        return udp_window_frames(wire);
    if (wire->fabric == NULL || d->options.fabric.rate_bps != 0 || d->options.fabric.delay_ns != 0)
        return 0;
    while (frames > WINDOW_LEAST && frames * wire->mtu_bytes > WINDOW_BYTES)
        frames /= 2;
    return frames;
}

/* Every rank that can attach here, with every other one. */
static uint32_t max_peers(const struct nofd *d)
{
    uint64_t ranks =
        (uint64_t)d->options.max_endpoints * (d->options.fabric.nics > 0 ? d->options.fabric.nics : 1);
    uint64_t pairs = ranks * nofd_part(d, d->options.max_endpoints);

    if (d->options.max_peers != 0)
        return nofd_part(d, d->options.max_peers);
    if (pairs < PEERS_LEAST)
        return PEERS_LEAST;
    return pairs < PEERS_MOST ? (uint32_t)pairs : PEERS_MOST;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t netmem_bytes(const struct nof_nic_config *cfg)
{
    uint64_t peers = cfg->max_peers * NETMEM_PER_PEER;

    if (peers > NETMEM_PEERS_MOST)
        peers = NETMEM_PEERS_MOST;
    return larger(larger(cfg->max_endpoints * NETMEM_PER_RANK, peers), NETMEM_LEAST);
}

/* Each endpoint must be able to reserve the least that a rendezvous needs. */
static int check_netmem(const struct nofd_options *o, char *err, size_t err_bytes)
{
    uint64_t least = (uint64_t)o->max_endpoints * NETMEM_ENDPOINT_LEAST;

    if (o->netmem_bytes == 0 || (o->netmem_bytes >= least && o->netmem_bytes <= NETMEM_MOST))
        return 0;
    snprintf(err, err_bytes,
             "--netmem of %llu bytes: for %u endpoints it is from %lluKiB to %lluGiB; or give another "
             "--max-endpoints",
             (unsigned long long)o->netmem_bytes, o->max_endpoints, (unsigned long long)least >> 10,
             (unsigned long long)NETMEM_MOST >> 30);
    return -1;
}

/* The UDP port of a NIC's first core; the others' follow, where a device has all of them. */
static uint16_t udp_base(const struct nofd *d)
{
    return (uint16_t)(d->options.udp_port != 0 ? d->options.udp_port : NOFD_UDP_PORT);
}

static uint64_t netmem_part(const struct nofd *d, const struct nof_nic_config *cfg)
{
    uint64_t least = (uint64_t)cfg->max_endpoints * NETMEM_ENDPOINT_LEAST;

    if (d->options.netmem_bytes == 0)
        return netmem_bytes(cfg);
    return larger(d->options.netmem_bytes / d->options.cores_per_nic, least);
}

/* The next core of the NIC that is being made; closes the wire if it fails. */
static int add_part(struct nofd *d, struct nofd_wire *wire, unsigned core, char *err, size_t err_bytes)
{
    struct nof_nic_config cfg = {
        .nic_id = draw(),
        .udp_port = wire->udp_port != 0 ? wire->udp_port : (uint16_t)(udp_base(d) + core),
        .group_port = udp_base(d),
        .max_endpoints = nofd_part(d, d->options.max_endpoints),
        .max_peers = max_peers(d),
        .max_jobs = nofd_part(d, d->options.max_endpoints), /* each may be a job of its own */
        .max_paths = d->options.cores_per_nic * NOF_PATHS_DEFAULT, /* to each core of each other NIC */
        .predict_calls = d->options.predict_calls,
        .window_frames = window_frames(d, wire),
    };
    struct nofd_nic *nic = &d->nics[d->nparts];
    uint64_t seed[2] = {draw(), draw()};

    cfg.netmem_bytes = netmem_part(d, &cfg);
    memcpy(cfg.seed, seed, sizeof(cfg.seed));
    cfg.host_id = wire->simulated_host ? d->host_id + 1 + d->nnics : d->host_id;
    wire->core = core;
    wire->ncores = d->options.cores_per_nic;
    if (nofd_nic_create(nic, d->nnics, wire, &cfg, nofd_clock_ns(), err, err_bytes) != NOF_OK)
        return -1;
    d->nparts++;
    for (unsigned i = 0; i < NOF_FEATURE_COUNT; i++)
        if (i < NOF_F_IDLE)
            (void)nof_nic_feature_set(nic->nic, (enum nof_feature)i, d->options.feature[i]);
    return 0;
}

static int plug_fabric(struct nofd *d, char *err, size_t err_bytes)
{
    const struct nofd_options *o = &d->options;
    unsigned cores = o->cores_per_nic;
    uint8_t(*macs)[6];
    int rc = 0;

    if (o->fabric.nics == 0)
        return 0;
    macs = calloc((size_t)o->fabric.nics * cores, sizeof(*macs));
    if (macs == NULL || make_fabric(d, macs, err, err_bytes) != 0) {
        free(macs);
        return -1;
    }
    for (unsigned i = 0; i < o->fabric.nics * cores && rc == 0; i++) {
        struct nofd_wire wire;
        unsigned nic = i / cores;
        uint32_t ip4 = nic < o->nips ? o->ip4[nic] : FABRIC_IP + nic;

        nofd_wire_open_fabric(&wire, d->fabric, i, macs[i], ip4,
                              o->mtu_bytes != 0 ? o->mtu_bytes : FABRIC_MTU,
                              nofd_part_rate(d, o->fabric.rate_bps));
        rc = add_part(d, &wire, i % cores, err, err_bytes);
        d->nnics += rc == 0 && i % cores == cores - 1;
    }
    free(macs);
    return rc;
}

/* The steering program comes out of our own library unless a file was named. */
static int steer_file(const struct nofd_options *o, const char *device, char *path, size_t path_bytes)
{
    int fd = -1;

    path[0] = '\0';
    if (strncmp(device, "net_af_xdp", strlen("net_af_xdp")) != 0)
        return -1;
    if (o->steer[0] != '\0') {
        snprintf(path, path_bytes, "%s", o->steer);
        return -1;
    }
#ifdef NOF_HAVE_EBPF
    if (nof_steer_object_fd(&fd) == 0)
        snprintf(path, path_bytes, "/proc/self/fd/%d", fd);
    else
        fd = -1;
#endif
    return fd;
}

/* Nobody looks for the reason of smaller frames in a log at another level. */
static void tell_mtu(const struct nofd_options *o, const struct nofd_wire *wire)
{
    const struct nof_dpdk_port_info *info = nof_dpdk_port_info(wire->device);

    if (info->mtu_bytes >= info->iface_mtu_bytes)
        return;
    nofd_notice("%s: MTU %u of the interface's %u, %s", wire->device_name, info->mtu_bytes,
                info->iface_mtu_bytes,
                o->mtu_bytes != 0 ? "as asked for" : "the most that this port carries");
}

/* What the kernel or the device does for this port, and what not. */
static void tell_help(const struct nofd_wire *wire)
{
    const struct nof_dpdk_port_info *info = nof_dpdk_port_info(wire->device);

    if (info->xdp_words[0] != '\0')
        nofd_notice("%s: %s", wire->device_name, info->xdp_words);
    if (info->udp_checksum == NOF_DPDK_HELP_USED)
        nofd_notice("%s: the device computes UDP checksums", wire->device_name);
    if (info->ncores > 1)
        nofd_notice("%s: %u cores, %u queue(s) of the device; frames come %s", wire->device_name,
                    info->ncores, info->nqueues, nof_dpdk_spread_words(info->spread));
}

/* What has been made of a NIC goes, and so do the wires of cores that were not. */
static void unplug_device(struct nofd *d, struct nofd_wire *wires, unsigned made, unsigned ncores)
{
    d->nparts -= made;
    for (unsigned core = 0; core < made; core++)
        nofd_nic_destroy(&d->nics[d->nparts + core]);
    for (unsigned core = made; core < ncores; core++)
        nofd_wire_close(&wires[core]);
}

static int add_parts(struct nofd *d, struct nofd_wire *wires, char *err, size_t err_bytes)
{
    unsigned ncores = d->options.cores_per_nic, made = 0;

    if (wires[0].ip4 == 0)
        snprintf(err, err_bytes, "%s has no IPv4 address: give one with --ip A.B.C.D", wires[0].device_name);
    while (wires[0].ip4 != 0 && made < ncores) {
        if (add_part(d, &wires[made], made, err, err_bytes) != 0) {
            wires[made].ops = NULL; /* closed */
            break;
        }
        made++;
    }
    if (made < ncores) {
        unplug_device(d, wires, made, ncores);
        return -1;
    }
    d->nnics++;
    return 0;
}

static int plug_device(struct nofd *d, unsigned i, const char *devargs, char *err, size_t err_bytes)
{
    const struct nofd_options *o = &d->options;
    unsigned nic = o->fabric.nics + i;
    char steer[256];
    int steer_fd = steer_file(o, devargs, steer, sizeof(steer));
    struct nof_dpdk_port_config cfg = {
        .devargs = devargs,
        .mtu_bytes = o->mtu_bytes,
        .ncores = o->cores_per_nic,
        .ip4 = nic < o->nips ? o->ip4[nic] : 0,
        .steer_path = steer[0] != '\0' ? steer : NULL,
        .udp_port = o->udp_port,
    };
    struct nofd_wire wires[NOFD_CORES_MAX];
    int rc = nofd_wire_open_dpdk(wires, &cfg, err, err_bytes);

    if (steer_fd >= 0)
        close(steer_fd);
    if (rc != NOF_OK)
        return -1;
    tell_mtu(o, &wires[0]);
    tell_help(&wires[0]);
    return add_parts(d, wires, err, err_bytes);
}

static int plug_udp(struct nofd *d, unsigned i, char *err, size_t err_bytes)
{
    const struct nofd_options *o = &d->options;
    struct nof_udp_port_config cfg = {.spec = o->port[i], .mtu_bytes = o->mtu_bytes, .udp_port = o->udp_port};
    struct nofd_wire wire;
    unsigned nic = o->fabric.nics + i;

    if (nic < o->nips && o->ip4[nic] != 0) {
        snprintf(err, err_bytes,
                 "--ip does not go with %s: a UDP socket has the address that it names.\nType: --port "
                 "udp:A.B.C.D, with the address there, and 0.0.0.0 in its place in --ip",
                 o->port[i]);
        return -1;
    }
    /* Each core has a socket: the kernel hands over. */
    for (cfg.core = 0; cfg.core < o->cores_per_nic; cfg.core++) {
        if (nofd_wire_open_udp(&wire, &cfg, err, err_bytes) != NOF_OK)
            return -1;
        wire.rate_bps = nofd_part_rate(d, wire.rate_bps);
        if (add_part(d, &wire, cfg.core, err, err_bytes) != 0)
            return -1;
    }
    d->nnics++;
    return 0;
}

/* A network interface by its name alone: AF_XDP, and where the kernel or our rights do not have that, AF_PACKET. */
static int plug_interface(struct nofd *d, unsigned i, const char *ifname, char *err, size_t err_bytes)
{
    char devargs[64];
    char why[NOFD_ERROR_BYTES];

    snprintf(devargs, sizeof(devargs), "net_af_xdp%u,iface=%s", i, ifname);
    if (plug_device(d, i, devargs, why, sizeof(why)) == 0)
        return 0;
    for (char *at = why; (at = strchr(at, '\n')) != NULL;)
        *at = ' '; /* a message is one line */
    nofd_notice("%s: AF_PACKET, for AF_XDP does not serve: %s", ifname, why);
    snprintf(devargs, sizeof(devargs), "net_af_packet%u,iface=%s", i, ifname);
    return plug_device(d, i, devargs, err, err_bytes);
}

static int plug_port(struct nofd *d, unsigned i, char *err, size_t err_bytes)
{
    const char *port = d->options.port[i];

    if (nof_udp_port_is(port))
        return plug_udp(d, i, err, err_bytes);
    if (if_nametoindex(port) != 0)
        return plug_interface(d, i, port, err, err_bytes);
    /* DPDK's own names: a driver's begin so, an address on a bus has a colon. */
    if (strncmp(port, "net_", 4) != 0 && strchr(port, ':') == NULL) {
        snprintf(err, err_bytes,
                 "there is no interface %s in this network namespace.\nType: ip link, to see those that "
                 "there are. A UDP socket goes by its address, such as udp:10.0.0.1; "
                 "a PCI device by its address, such as 0000:03:00.0, a driver by its name, such as "
                 "net_af_packet,iface=eth0 (docs/PORTS.md)",
                 port);
        return -1;
    }
    return plug_device(d, i, port, err, err_bytes);
}

static int make_cores(struct nofd *d, char *err, size_t err_bytes)
{
    unsigned placed = 0;

    d->ncores = d->options.cores;
    d->cores = calloc(d->ncores, sizeof(*d->cores));
    d->by_core = calloc(d->nparts, sizeof(*d->by_core));
    if (d->cores == NULL || d->by_core == NULL) {
        d->ncores = 0;
        snprintf(err, err_bytes, "out of memory%s", nofd_limits_hint(ENOMEM));
        return -1;
    }
    for (unsigned i = 0; i < d->ncores; i++) {
        struct nofd_core *core = &d->cores[i];
        unsigned first = placed;

        for (unsigned j = i; j < d->nparts; j += d->ncores)
            d->by_core[placed++] = &d->nics[j];
        if (nofd_core_init(core, i, &d->by_core[first], placed - first, d->cores_watch.fd) != 0) {
            snprintf(err, err_bytes, "no descriptors for NIC core %u: %s", i, strerror(errno));
            d->ncores = i;
            return -1;
        }
        core->lcore.watch_pauses = d->options.watch_pauses;
        core->idle.policy = (enum nofd_idle_policy)d->options.feature[NOF_F_IDLE];
        core->idle.spin_ns = d->options.feature[NOF_F_SPIN] * NOFD_US;
        core->idle.nap_ns = d->options.feature[NOF_F_NAP] * NOFD_US;
    }
    for (unsigned i = 0; i < d->ncores; i++)
        if (nofd_core_meet(&d->cores[i], d->cores, d->ncores) != 0) {
            snprintf(err, err_bytes, "out of memory%s", nofd_limits_hint(ENOMEM));
            return -1;
        }
    return 0;
}

int nofd_plug_in(struct nofd *d, char *err, size_t err_bytes)
{
    unsigned total = (d->options.fabric.nics + d->options.nports) * d->options.cores_per_nic;

    d->host_id = nof_machine_id();
    d->nics = calloc(total, sizeof(*d->nics));
    if (d->nics == NULL) {
        snprintf(err, err_bytes, "out of memory%s", nofd_limits_hint(ENOMEM));
        return -1;
    }
    if (d->options.cores > total) {
        nofd_info("%u NIC cores asked for, %u of use: one for each core of each NIC", d->options.cores,
                  total);
        d->options.cores = total;
    }
    if (check_netmem(&d->options, err, err_bytes) != 0 || plug_fabric(d, err, err_bytes) != 0)
        goto err_out;
    for (unsigned i = 0; i < d->options.nports; i++)
        if (plug_port(d, i, err, err_bytes) != 0)
            goto err_out;
    if (make_cores(d, err, err_bytes) != 0)
        goto err_out;
    return 0;
err_out:
    nofd_plug_out(d);
    return -1;
}

void nofd_plug_out(struct nofd *d)
{
    nofd_dma_crew_end(&d->crew);
    for (unsigned i = 0; i < d->ncores; i++)
        nofd_core_fini(&d->cores[i]);
    for (unsigned i = 0; i < d->nparts; i++)
        nofd_nic_destroy(&d->nics[i]);
    if (d->fabric != NULL)
        nof_fabric_destroy(d->fabric);
    d->fabric = NULL;
    free(d->nics);
    free(d->by_core);
    free(d->cores);
    d->nics = NULL;
    d->by_core = NULL;
    d->cores = NULL;
    d->nparts = 0;
    d->nnics = 0;
    d->ncores = 0;
}
