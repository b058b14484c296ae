/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening and closing of a UDP port. */
#include "port/udp/udp_private.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nof/status.h"
#include "port/interface_link.h"

#define MTU_MOST 9216u
#define CORE_FRAMES 16384u
#define BUFFER_BYTES (8 << 20) /* asked for; what the kernel allows is in info.receive_bytes */
#define LINE 64u

static size_t lines(size_t bytes)
{
    return (bytes + LINE - 1) & ~(size_t)(LINE - 1);
}

/* Both are touched as they are needed. */
static uint8_t *map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

static int allocate(struct nof_udp_port *port, uint32_t core_frames)
{
    struct udp_rx *rx = &port->rx;

    port->frame_bytes = lines(sizeof(struct udp_frame) + port->info.mtu_bytes + NOF_WIRE_OUTER_BYTES);
    port->pool_bytes = port->frame_bytes * (core_frames != 0 ? core_frames : CORE_FRAMES);
    port->pool = map(port->pool_bytes);
    rx->stride_bytes = lines(UDP_HEAD_ROOM + port->payload_max);
    rx->area_bytes = rx->stride_bytes * UDP_RX_MESSAGES * UDP_RX_SEGMENTS;
    rx->area = map(rx->area_bytes);
    if (port->pool == NULL || rx->area == NULL)
        return NOF_ENOMEM;
    for (unsigned m = 0; m < UDP_RX_MESSAGES; m++)
        rx->msg[m].msg_hdr = (struct msghdr){
            .msg_name = &rx->from[m],
            .msg_namelen = sizeof(rx->from[m]),
            .msg_control = &rx->control[m],
            .msg_controllen = sizeof(rx->control[m].bytes),
        };
    udp_rx_expect(rx, port->payload_max);
    return NOF_OK;
}

/* Strangers are not to wake the core, nor to take room from peers. A datagram begins with its UDP header here; of a
 * super-frame the first one is looked at. A kernel that takes no filter leaves all of it to the core. */
static void keep_strangers_out(int fd)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, UDP_HEAD_BYTES + NOF_WIRE_COMMON_BYTES, 0, 3),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, UDP_HEAD_BYTES + NOF_WIRE_VER),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NOF_WIRE_VERSION, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

static void buffer(int fd, int force, int ask)
{
    int bytes = BUFFER_BYTES;

    if (setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof(bytes)) != 0)
        (void)setsockopt(fd, SOL_SOCKET, ask, &bytes,
                         sizeof(bytes)); /* as far as net.core.[rw]mem_max allows */
}

static int set_up(struct nof_udp_port *port, char *err, size_t err_bytes)
{
    int dont_fragment = IP_PMTUDISC_PROBE, one = 1, bytes = 0, capable = 2; /* RFC 3168: ECT(0) */
    socklen_t len = sizeof(bytes);

    if (setsockopt(port->fd, IPPROTO_IP, IP_MTU_DISCOVER, &dont_fragment, sizeof(dont_fragment)) != 0)
        return udp_fail(NOF_ENOTSUP, err, err_bytes, "this kernel has no path MTU discovery: %s",
                        strerror(errno));
    (void)setsockopt(port->fd, IPPROTO_IP, IP_TOS, &capable, sizeof(capable));
    (void)setsockopt(port->fd, IPPROTO_IP, IP_RECVTOS, &one, sizeof(one));
    if (!port->single)
        (void)setsockopt(port->fd, SOL_UDP, UDP_GRO, &one,
                         sizeof(one)); /* without, datagrams come one by one */
    keep_strangers_out(port->fd);
    buffer(port->fd, SO_RCVBUFFORCE, SO_RCVBUF);
    buffer(port->fd, SO_SNDBUFFORCE, SO_SNDBUF);
    if (getsockopt(port->fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len) == 0 && bytes > 0)
        port->info.receive_bytes = (uint32_t)bytes;
    return NOF_OK;
}

static int cannot_bind(const struct udp_spec *spec, int error, char *err, size_t err_bytes)
{
    if (error == EADDRINUSE && spec->port_last != spec->port_first)
        return udp_fail(NOF_EAGAIN, err, err_bytes,
                        "UDP ports %u to %u of %s are all taken.\nType: ss -lnup, to see by whom, or give "
                        "other ports: udp:%s:0 "
                        "takes any",
                        spec->port_first, spec->port_last, spec->where, spec->where);
    if (error == EADDRINUSE)
        return udp_fail(NOF_EAGAIN, err, err_bytes,
                        "UDP port %u of %s is taken, perhaps by another nofd.\nType: ss -lnup, to see by "
                        "whom, or give another: "
                        "udp:%s:%u, or udp:%s:0 for any",
                        spec->port_first, spec->where, spec->where, spec->port_first + 1u, spec->where);
    if (error == EACCES)
        return udp_fail(NOF_EPERM, err, err_bytes,
                        "UDP port %u needs root, as all below 1024 do.\nType for example: udp:%s:48620",
                        spec->port_first, spec->where);
    return udp_fail(NOF_ENOTSUP, err, err_bytes, "UDP port %u of %s cannot be had: %s", spec->port_first,
                    spec->where, strerror(error));
}

/* The first of the ports that is free. */
static int bind_port(struct nof_udp_port *port, const struct udp_spec *spec, char *err, size_t err_bytes)
{
    struct sockaddr_in self = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(port->info.ip4)}};
    socklen_t len = sizeof(self);
    int error = EADDRINUSE;

    for (unsigned at = spec->port_first; at <= spec->port_last && error == EADDRINUSE; at++) {
        self.sin_port = htons((uint16_t)at);
        error = bind(port->fd, (const struct sockaddr *)&self, sizeof(self)) == 0 ? 0 : errno;
    }
    if (error != 0)
        return cannot_bind(spec, error, err, err_bytes);
    if (getsockname(port->fd, (struct sockaddr *)&self, &len) != 0)
        return udp_fail(NOF_ENOTSUP, err, err_bytes, "the kernel does not tell the port: %s",
                        strerror(errno));
    port->info.udp_port = ntohs(self.sin_port);
    return NOF_OK;
}

static int choose_mtu(struct nof_udp_port *port, uint32_t wanted, char *err, size_t err_bytes)
{
    uint32_t most = port->info.iface_mtu_bytes < MTU_MOST ? port->info.iface_mtu_bytes : MTU_MOST;

    if (wanted != 0 && (wanted < UDP_MTU_LEAST || wanted > MTU_MOST))
        return udp_fail(NOF_EINVAL, err, err_bytes, "MTU %u is outside %u..%u", wanted, UDP_MTU_LEAST,
                        MTU_MOST);
    if (most < UDP_MTU_LEAST)
        return udp_fail(NOF_ENOTSUP, err, err_bytes,
                        "%s has MTU %u: the least is %u.\nType: ip link set dev %s mtu 1500",
                        port->info.ifname, port->info.iface_mtu_bytes, UDP_MTU_LEAST, port->info.ifname);
    if (wanted > most)
        return udp_fail(NOF_EINVAL, err, err_bytes,
                        "%s has MTU %u, less than %u.\nType: ip link set dev %s mtu %u, or --mtu %u",
                        port->info.ifname, port->info.iface_mtu_bytes, wanted, port->info.ifname, wanted,
                        most);
    port->info.mtu_bytes = wanted != 0 ? wanted : most;
    port->payload_max = port->info.mtu_bytes - UDP_IP_BYTES;
    return NOF_OK;
}

static bool has_device(const char *ifname)
{
    char path[96];

    snprintf(path, sizeof(path), "/sys/class/net/%s/device", ifname);
    return access(path, F_OK) == 0;
}

/* The one port that is asked for is the first core's. */
static int move_port(struct udp_spec *spec, unsigned core, char *err, size_t err_bytes)
{
    if (spec->port_first == 0 || spec->port_last != spec->port_first)
        return NOF_OK; /* there is a choice */
    if (spec->port_first + core > UINT16_MAX)
        return udp_fail(
            NOF_EINVAL, err, err_bytes,
            "a core of the NIC would need UDP port %u: each takes one, from %u on.\nType for example: "
            "udp:%s:48620, or udp:%s:0 for any",
            spec->port_first + core, spec->port_first, spec->where, spec->where);
    spec->port_first = spec->port_last = (uint16_t)(spec->port_first + core);
    return NOF_OK;
}

static int open_all(struct nof_udp_port *port, const struct nof_udp_port_config *cfg, char *err,
                    size_t err_bytes)
{
    struct udp_spec spec;
    int rc = udp_spec_read(cfg->spec, cfg->udp_port != 0 ? cfg->udp_port : NOF_WIRE_UDP_PORT, &spec, err,
                           err_bytes);

    if (rc == NOF_OK)
        rc = move_port(&spec, cfg->core, err, err_bytes);
    if (rc == NOF_OK)
        rc = udp_facts(&spec, &port->info, err, err_bytes);
    if (rc == NOF_OK)
        rc = choose_mtu(port, cfg->mtu_bytes, err, err_bytes);
    if (rc != NOF_OK)
        return rc;
    port->single = cfg->single;
    port->info.rate_bps = spec.rate_bps;
    port->real_device = has_device(port->info.ifname);
    port->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    port->facts_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    port->info.wait_fd = port->fd;
    if (port->fd < 0 || port->facts_fd < 0)
        return udp_fail(errno == EACCES || errno == EPERM ? NOF_EPERM : NOF_ENOMEM, err, err_bytes,
                        "no UDP socket: %s", strerror(errno));
    rc = set_up(port, err, err_bytes);
    if (rc == NOF_OK)
        rc = allocate(port, cfg->core_frames);
    if (rc == NOF_ENOMEM)
        return udp_fail(rc, err, err_bytes, "no memory for the frames of a UDP port");
    return rc == NOF_OK ? bind_port(port, &spec, err, err_bytes) : rc;
}

int nof_udp_port_open(const struct nof_udp_port_config *cfg, struct nof_udp_port **port_out, char *err,
                      size_t err_bytes)
{
    struct nof_udp_port *port = aligned_alloc(LINE, lines(sizeof(*port)));
    int rc;

    if (port == NULL)
        return udp_fail(NOF_ENOMEM, err, err_bytes, "no memory for a UDP port");
    memset(port, 0, sizeof(*port));
    port->fd = port->facts_fd = -1;
    rc = open_all(port, cfg, err, err_bytes);
    if (rc != NOF_OK) {
        nof_udp_port_close(port);
        return rc;
    }
    *port_out = port;
    return NOF_OK;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void nof_udp_port_close(struct nof_udp_port *port)
{
    if (port == NULL)
        return;
    close_fd(port->fd);
    close_fd(port->facts_fd);
    if (port->pool != NULL)
        munmap(port->pool, port->pool_bytes);
    if (port->rx.area != NULL)
        munmap(port->rx.area, port->rx.area_bytes);
    free(port);
}

const struct nof_udp_port_info *nof_udp_port_info(const struct nof_udp_port *port)
{
    return &port->info;
}

bool nof_udp_port_link(struct nof_udp_port *port)
{
    return nof_interface_carries(port->facts_fd, port->info.ifname, &port->link_asked);
}

const char *nof_udp_port_counter_name(unsigned counter)
{
    static const char *const names[NOF_UDP_COUNTERS] = {
        [NOF_UDP_TX_CALLS] = "udp.tx_calls",
        [NOF_UDP_RX_CALLS] = "udp.rx_calls",
        [NOF_UDP_TX_RUNS] = "udp.tx_runs",
        [NOF_UDP_RX_RUNS] = "udp.rx_runs",
        [NOF_UDP_TX_LOST] = "udp.tx_lost",
        [NOF_UDP_TX_LARGE] = "udp.tx_large",
        [NOF_UDP_TX_FRAGMENTED] = "udp.tx_fragmented",
        [NOF_UDP_RX_LARGE] = "udp.rx_large",
        [NOF_UDP_RX_MOVED] = "udp.rx_moved",
        [NOF_UDP_RX_MARKED] = "udp.rx_marked",
        [NOF_UDP_RX_DROPPED] = "udp.rx_dropped",
    };

    return counter < NOF_UDP_COUNTERS ? names[counter] : NULL;
}

static uint64_t dropped(const struct nof_udp_port *port)
{
    uint32_t info[SK_MEMINFO_VARS] = {0};
    socklen_t len = sizeof(info);

    return getsockopt(port->fd, SOL_SOCKET, SO_MEMINFO, info, &len) == 0 ? info[SK_MEMINFO_DROPS] : 0;
}

uint64_t nof_udp_port_counter(const struct nof_udp_port *port, unsigned counter)
{
    if (counter == NOF_UDP_RX_DROPPED)
        return dropped(port);
    return counter < NOF_UDP_COUNTERS ? __atomic_load_n(&port->counters[counter], __ATOMIC_RELAXED) : 0;
}
