/* SPDX-License-Identifier: BSD-3-Clause */
#include "port/dpdk/netif.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int request(int fd, unsigned long op, const char *ifname, struct ifreq *ifr)
{
    snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%s", ifname);
    return ioctl(fd, op, ifr) < 0 ? -errno : 0;
}

static int ethtool(int fd, const char *ifname, void *command)
{
    struct ifreq ifr;

    memset(&ifr, 0, sizeof(ifr));
    ifr.ifr_data = command;
    return request(fd, SIOCETHTOOL, ifname, &ifr);
}

int nof_netif_open(int *fd_out)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    *fd_out = fd;
    return 0;
}

static bool is_virtual(int fd, const char *ifname)
{
    struct ethtool_drvinfo info;

    memset(&info, 0, sizeof(info));
    info.cmd = ETHTOOL_GDRVINFO;
    return ethtool(fd, ifname, &info) < 0 || info.bus_info[0] == '\0';
}

static void channels(int fd, const char *ifname, struct nof_netif_facts *facts)
{
    struct ethtool_channels ch;

    facts->channels = facts->pairs = 1;
    memset(&ch, 0, sizeof(ch));
    ch.cmd = ETHTOOL_GCHANNELS;
    if (ethtool(fd, ifname, &ch) < 0 || ch.combined_count + ch.rx_count == 0)
        return;
    facts->channels = ch.combined_count + ch.rx_count;
    if (ch.combined_count > 0)
        facts->pairs = ch.combined_count;
}

static uint64_t rate_bps(int fd, const char *ifname)
{
    struct ethtool_cmd cmd;
    uint32_t mbps;

    memset(&cmd, 0, sizeof(cmd));
    cmd.cmd = ETHTOOL_GSET;
    if (ethtool(fd, ifname, &cmd) < 0)
        return 0;
    mbps = ethtool_cmd_speed(&cmd);
    return mbps == (uint32_t)SPEED_UNKNOWN ? 0 : (uint64_t)mbps * 1000000u;
}

int nof_netif_facts(int fd, const char *ifname, struct nof_netif_facts *facts_out)
{
    struct nof_netif_facts facts;
    struct ifreq ifr;
    int rc;

    memset(&facts, 0, sizeof(facts));
    memset(&ifr, 0, sizeof(ifr));
    rc = request(fd, SIOCGIFMTU, ifname, &ifr);
    if (rc < 0)
        return rc;
    facts.mtu_bytes = (uint32_t)ifr.ifr_mtu;
    rc = request(fd, SIOCGIFHWADDR, ifname, &ifr);
    if (rc < 0)
        return rc;
    memcpy(facts.mac, ifr.ifr_hwaddr.sa_data, sizeof(facts.mac));
    if (request(fd, SIOCGIFADDR, ifname, &ifr) == 0 && ifr.ifr_addr.sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, &ifr.ifr_addr, sizeof(in));
        facts.ip4 = ntohl(in.sin_addr.s_addr);
    }
    rc = request(fd, SIOCGIFINDEX, ifname, &ifr);
    if (rc < 0)
        return rc;
    facts.ifindex = ifr.ifr_ifindex;
    facts.virtual_device = is_virtual(fd, ifname);
    channels(fd, ifname, &facts);
    facts.rate_bps = facts.virtual_device ? 0 : rate_bps(fd, ifname);
    *facts_out = facts;
    return 0;
}

int nof_netif_mtu(const char *ifname, uint32_t *mtu_bytes_out)
{
    struct nof_netif_facts facts;
    int fd = -1, rc = nof_netif_open(&fd);

    if (rc < 0)
        return rc;
    rc = nof_netif_facts(fd, ifname, &facts);
    close(fd);
    if (rc == 0)
        *mtu_bytes_out = facts.mtu_bytes;
    return rc;
}

bool nof_netif_there(int fd, int ifindex)
{
    struct ifreq ifr;

    memset(&ifr, 0, sizeof(ifr));
    ifr.ifr_ifindex = ifindex;
    return ioctl(fd, SIOCGIFNAME, &ifr) == 0 || errno != ENODEV;
}

int nof_netif_claim(const char *ifname, int *fd_out)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int len;

    if (fd < 0)
        return -errno;
    /* Abstract names belong to the network namespace, as interfaces do, and die with their socket. */
    len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "nof-port/%s", ifname);
    if (bind(fd, (const struct sockaddr *)&addr,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) < 0) {
        int e = errno;
        close(fd);
        return e == EADDRINUSE ? -EBUSY : -e;
    }
    *fd_out = fd;
    return 0;
}

int nof_netif_group(int *fd, const char *ifname, uint32_t ip4, bool join)
{
    struct ip_mreqn mreq = {
        .imr_multiaddr = {.s_addr = htonl(ip4)},
        .imr_ifindex = (int)if_nametoindex(ifname),
    };

    if (mreq.imr_ifindex == 0)
        return -ENODEV;
    if (*fd < 0) {
        /* It is only there to hold memberships: without a port it receives nothing. */
        *fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (*fd < 0)
            return -errno;
    }
    if (setsockopt(*fd, IPPROTO_IP, join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &mreq, sizeof(mreq)) < 0)
        return -errno;
    return 0;
}

int nof_netif_hush(uint32_t ip4, uint16_t port, int *fd_out)
{
    struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog filter = {.len = 1, .filter = &drop};
    struct sockaddr_in addr = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr = {.s_addr = htonl(ip4)},
    };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) < 0 ||
        bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0) {
        int e = errno;
        close(fd);
        return -e;
    }
    *fd_out = fd;
    return 0;
}
