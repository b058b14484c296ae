/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "udp:WHERE[:PORT[-PORT]][,rate=R]", and what the kernel knows of that place. */
#include "port/udp/udp_private.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "nof/status.h"
#include "nof_private/units.h"

#define PREFIX "udp:"
#define RATE "rate="

int udp_fail(int status, char *err, size_t err_bytes, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(err, err_bytes, format, list);
    va_end(list);
    return status;
}

bool nof_udp_port_is(const char *spec)
{
    return strncmp(spec, PREFIX, strlen(PREFIX)) == 0;
}

/* "48620", "48700-48799", "0". */
static int read_ports(const char *text, struct udp_spec *spec)
{
    char first[16];
    const char *dash = strchr(text, '-');
    size_t len = dash != NULL ? (size_t)(dash - text) : strlen(text);
    uint64_t a, b;

    if (len >= sizeof(first))
        return -1;
    memcpy(first, text, len);
    first[len] = '\0';
    if (nofd_units_number(first, 0, UINT16_MAX, &a) != 0)
        return -1;
    b = a;
    if (dash != NULL && (nofd_units_number(dash + 1, 1, UINT16_MAX, &b) != 0 || a == 0 || b < a))
        return -1;
    spec->port_first = (uint16_t)a;
    spec->port_last = (uint16_t)b;
    return 0;
}

static int read_where(char *text, struct udp_spec *spec, char *err, size_t err_bytes)
{
    char *colon = strchr(text, ':');

    if (text[0] == '[' || (colon != NULL && strchr(colon + 1, ':') != NULL))
        return udp_fail(NOF_EINVAL, err, err_bytes,
                        "\"%s\" is an IPv6 address: the wire is IPv4.\nType for example: udp:10.0.0.1", text);
    if (colon != NULL)
        *colon = '\0';
    if (text[0] == '\0' || strlen(text) >= sizeof(spec->where))
        return udp_fail(NOF_EINVAL, err, err_bytes,
                        "udp: an address or an interface of this host goes behind it.\nType for example: "
                        "udp:10.0.0.1, or "
                        "udp:eth0");
    memcpy(spec->where, text, strlen(text) + 1);
    if (nofd_units_ip4(text, &spec->ip4) != 0)
        spec->ip4 = 0;
    else if (spec->ip4 == 0 || spec->ip4 >> 28 >= 0xe)
        return udp_fail(NOF_EINVAL, err, err_bytes,
                        "%s is not the address of one interface, which peers must know.\nType: ip -4 addr, "
                        "to see those that "
                        "there are",
                        text);
    if (colon != NULL && read_ports(colon + 1, spec) != 0)
        return udp_fail(NOF_EINVAL, err, err_bytes,
                        "\"%s\" is no UDP port.\nType for example: udp:%s:48620, udp:%s:48700-48799 for the "
                        "first that is free, "
                        "or udp:%s:0 for any",
                        colon + 1, text, text, text);
    return NOF_OK;
}

int udp_spec_read(const char *text, uint16_t default_port, struct udp_spec *spec_out, char *err,
                  size_t err_bytes)
{
    struct udp_spec spec = {.port_first = default_port, .port_last = default_port};
    char copy[128];
    char *comma;
    int rc;

    if (!nof_udp_port_is(text) || strlen(text) >= sizeof(copy))
        return udp_fail(NOF_EINVAL, err, err_bytes,
                        "\"%.64s\" is no UDP port.\nType for example: udp:10.0.0.1", text);
    memcpy(copy, text + strlen(PREFIX), strlen(text + strlen(PREFIX)) + 1);
    comma = strchr(copy, ',');
    if (comma != NULL)
        *comma = '\0';
    rc = read_where(copy, &spec, err, err_bytes);
    if (rc != NOF_OK)
        return rc;
    if (comma != NULL && (strncmp(comma + 1, RATE, strlen(RATE)) != 0 ||
                          nofd_units_rate(comma + 1 + strlen(RATE), &spec.rate_bps) != 0))
        return udp_fail(NOF_EINVAL, err, err_bytes,
                        "\"%s\" is not understood behind a UDP port.\nType for example: rate=1g, the link's "
                        "rate in bits per "
                        "second",
                        comma + 1);
    *spec_out = spec;
    return NOF_OK;
}

static uint32_t ip4_of(const struct ifaddrs *a)
{
    struct sockaddr_in in;

    if (a->ifa_addr == NULL || a->ifa_addr->sa_family != AF_INET)
        return 0;
    memcpy(&in, a->ifa_addr, sizeof(in));
    return ntohl(in.sin_addr.s_addr);
}

/* Interfaces may have labels of their own ("eth0:1"); the device goes by what stands in front. */
static bool is_on(const struct ifaddrs *a, const char *ifname)
{
    size_t len = strcspn(a->ifa_name, ":");

    return strlen(ifname) == len && strncmp(a->ifa_name, ifname, len) == 0;
}

/* The address that was asked for, or the first one of that interface. */
static const struct ifaddrs *find_address(const struct ifaddrs *list, const struct udp_spec *spec)
{
    for (const struct ifaddrs *a = list; a != NULL; a = a->ifa_next)
        if (ip4_of(a) != 0 && (spec->ip4 != 0 ? ip4_of(a) == spec->ip4 : is_on(a, spec->where)))
            return a;
    return NULL;
}

/* lo has none; a made-up one only has to be another one for each address. */
static void find_mac(const struct ifaddrs *list, struct nof_udp_port_info *info)
{
    static const uint8_t none[6] = {0};

    info->mac[0] = 0x02; /* locally administered */
    info->mac[1] = 0x6e;
    nof_put_be32(info->mac + 2, info->ip4);
    for (const struct ifaddrs *a = list; a != NULL; a = a->ifa_next) {
        struct sockaddr_ll ll;

        if (a->ifa_addr == NULL || a->ifa_addr->sa_family != AF_PACKET || !is_on(a, info->ifname))
            continue;
        memcpy(&ll, a->ifa_addr, sizeof(ll));
        if (ll.sll_halen == sizeof(info->mac) && memcmp(ll.sll_addr, none, sizeof(none)) != 0)
            memcpy(info->mac, ll.sll_addr, sizeof(info->mac));
    }
}

static uint32_t mtu_of(const char *ifname)
{
    struct ifreq ifr;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    uint32_t mtu = 0;

    memset(&ifr, 0, sizeof(ifr));
    snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%.*s", (int)sizeof(ifr.ifr_name) - 1, ifname);
    if (fd >= 0 && ioctl(fd, SIOCGIFMTU, &ifr) == 0)
        mtu = (uint32_t)ifr.ifr_mtu;
    if (fd >= 0)
        close(fd);
    return mtu;
}

static int no_address(const struct udp_spec *spec, char *err, size_t err_bytes)
{
    if (spec->ip4 != 0)
        return udp_fail(NOF_ENOTSUP, err, err_bytes,
                        "%s is no address of this host (in this network namespace).\nType: ip -4 addr, to "
                        "see those that there "
                        "are",
                        spec->where);
    if (if_nametoindex(spec->where) == 0)
        return udp_fail(NOF_ENOTSUP, err, err_bytes,
                        "%s is neither an IPv4 address nor an interface of this network namespace.\nType: ip "
                        "-4 addr, to see "
                        "those that there are",
                        spec->where);
    return udp_fail(
        NOF_ENOTSUP, err, err_bytes,
        "%s has no IPv4 address, and the wire is IPv4.\nType for example: ip addr add 10.0.0.1/24 dev %s",
        spec->where, spec->where);
}

int udp_facts(const struct udp_spec *spec, struct nof_udp_port_info *info, char *err, size_t err_bytes)
{
    struct ifaddrs *list;
    const struct ifaddrs *found;

    if (getifaddrs(&list) != 0)
        return udp_fail(NOF_ENOMEM, err, err_bytes, "the kernel does not tell its addresses: %s",
                        strerror(errno));
    found = find_address(list, spec);
    if (found != NULL) {
        info->ip4 = ip4_of(found);
        snprintf(info->ifname, sizeof(info->ifname), "%.*s", (int)strcspn(found->ifa_name, ":"),
                 found->ifa_name);
        find_mac(list, info);
        info->iface_mtu_bytes = mtu_of(info->ifname);
    } else if (spec->ip4 >> 24 == 127 && if_nametoindex("lo") != 0) {
        /* All of 127.0.0.0/8 is this host's, though lo names one address of it. */
        info->ip4 = spec->ip4;
        snprintf(info->ifname, sizeof(info->ifname), "lo");
        find_mac(NULL, info);
        info->iface_mtu_bytes = mtu_of(info->ifname);
    }
    freeifaddrs(list);
    return info->ip4 != 0 ? NOF_OK : no_address(spec, err, err_bytes);
}
