/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the NIC of a daemon that this host starts for a job on several hosts is reached: an address of this host, and a UDP
 * port. NOF_NET and NOF_UDP_PORTS say; else the kernel's routes do. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nof_private/env.h"

#include "launch/launch.h"

#define ANYWHERE 0xcb007101u /* 203.0.113.1 (RFC 5737): nobody is there, and nothing is sent to it */
#define DISCARD_PORT 9

static uint32_t ip4_of(const struct sockaddr *at)
{
    struct sockaddr_in in;
    if (at == NULL || at->sa_family != AF_INET)
        return 0;
    memcpy(&in, at, sizeof(in));
    return ntohl(in.sin_addr.s_addr);
}

/* The address that the kernel would send from. 0: there is no way. */
static uint32_t source_towards(uint32_t ip4)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(DISCARD_PORT), .sin_addr = {.s_addr = htonl(ip4)}};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    uint32_t source = 0;
    if (fd < 0)
        return 0;
    if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &len) == 0)
        source = ntohl(at.sin_addr.s_addr);
    close(fd);
    return source;
}

/* What NOF_NET may say: an interface, or an address with or without the length of its network's prefix. */
struct net {
    const char *ifname; /* NULL: by address */
    uint32_t ip4, mask;
};

static int parse_net(const char *text, struct net *net_out)
{
    char address[INET_ADDRSTRLEN];
    size_t len = strcspn(text, "/");
    struct in_addr in;
    char *end = NULL;
    long bits = 32;
    *net_out = (struct net){.ifname = text};
    if (len >= sizeof(address))
        return -1;
    memcpy(address, text, len);
    address[len] = '\0';
    if (inet_pton(AF_INET, address, &in) != 1)
        return text[len] == '\0' && len < IF_NAMESIZE ? 0 : -1;
    if (text[len] == '/') {
        bits = strtol(text + len + 1, &end, 10);
        if (end == text + len + 1 || *end != '\0' || bits < 1 || bits > 32)
            return -1;
    }
    net_out->ifname = NULL;
    net_out->mask = ~(uint32_t)0 << (32 - bits);
    net_out->ip4 = ntohl(in.s_addr) & net_out->mask;
    return 0;
}

/* The first address of this host that is of that net; NULL: that other hosts may reach. 0: none. */
static uint32_t first_address(const struct net *net)
{
    struct ifaddrs *list;
    uint32_t found = 0;
    if (getifaddrs(&list) != 0)
        return 0;
    for (const struct ifaddrs *a = list; a != NULL && found == 0; a = a->ifa_next) {
        uint32_t ip4 = ip4_of(a->ifa_addr);
        if (ip4 == 0 || (a->ifa_flags & IFF_UP) == 0)
            continue;
        if (net == NULL           ? (a->ifa_flags & IFF_LOOPBACK) == 0
            : net->ifname != NULL ? strcmp(a->ifa_name, net->ifname) == 0
                                  : (ip4 & net->mask) == net->ip4)
            found = ip4;
    }
    freeifaddrs(list);
    return found;
}

static const char *ip4_text(uint32_t ip4, char text[INET_ADDRSTRLEN])
{
    snprintf(text, INET_ADDRSTRLEN, "%u.%u.%u.%u", ip4 >> 24, ip4 >> 16 & 255, ip4 >> 8 & 255, ip4 & 255);
    return text;
}

static int choose_told(const char *told, uint32_t *ip4_out, char *text, size_t text_bytes)
{
    struct net net;
    if (strchr(told, ':') != NULL)
        snprintf(text, text_bytes,
                 "NOF_NET is %s, which is IPv6, and the wire is IPv4: it takes an interface (eth0), an "
                 "address, or a "
                 "network (10.0.0.0/24)",
                 told);
    else if (parse_net(told, &net) != 0)
        snprintf(text, text_bytes,
                 "NOF_NET is \"%s\": it takes an interface (eth0), an address, or a network (10.0.0.0/24)",
                 told);
    else if ((*ip4_out = first_address(&net)) == 0)
        snprintf(text, text_bytes,
                 "NOF_NET is %s, and %s has no address of that; ip -4 addr lists those that it has", told,
                 nof_lib.host);
    else
        return 0;
    return -1;
}

static int choose(uint32_t towards, uint32_t *ip4_out, char *text, size_t text_bytes)
{
    const char *told = nof_env("NOF_NET");
    char address[INET_ADDRSTRLEN];
    if (told != NULL)
        return choose_told(told, ip4_out, text, text_bytes);
    *ip4_out = source_towards(towards != 0 ? towards : ANYWHERE);
    if (towards == 0 && *ip4_out == 0)
        *ip4_out = first_address(NULL);
    if (*ip4_out == 0 && towards != 0)
        snprintf(text, text_bytes,
                 "%s has no way to %s, where rank 0's host is reached: set NOF_NET to a network that all "
                 "hosts are on",
                 nof_lib.host, ip4_text(towards, address));
    return *ip4_out != 0 || towards == 0 ? 0 : -1;
}

/* "48700-48799", "48700": digits of at most 65535. nofd checks the rest. */
static int read_ports(const char **ports_out, char *text, size_t text_bytes)
{
    const char *ports = nof_env("NOF_UDP_PORTS");
    unsigned first, last;
    int at = 0;
    *ports_out = "0"; /* any that is free: the others learn of it from the ranks' cards */
    if (ports == NULL)
        return 0;
    *ports_out = ports;
    if (strspn(ports, "0123456789-") == strlen(ports) && strlen(ports) <= 11) {
        if (sscanf(ports, "%5u-%5u%n", &first, &last, &at) == 2 && ports[at] == '\0' && first > 0 &&
            first <= last && last <= UINT16_MAX)
            return 0;
        if (sscanf(ports, "%5u%n", &first, &at) == 1 && ports[at] == '\0' && first > 0 && first <= UINT16_MAX)
            return 0;
    }
    snprintf(text, text_bytes,
             "NOF_UDP_PORTS is \"%s\": it takes a port or a range of them, such as 48700-48799", ports);
    return -1;
}

int nof_launch_net(uint32_t towards, char port[NOF_LAUNCH_PORT_BYTES], uint32_t *ip4_out, char *text,
                   size_t text_bytes)
{
    char address[INET_ADDRSTRLEN];
    const char *ports;
    if (read_ports(&ports, text, text_bytes) != 0 || choose(towards, ip4_out, text, text_bytes) != 0)
        return -1;
    /* Bridges of containers have one address on all hosts: what is sent to it never leaves this one. */
    if (towards != 0 && *ip4_out == towards) {
        snprintf(text, text_bytes,
                 "%s has the address %s as well, where rank 0's host is reached: set NOF_NET to a network "
                 "that all "
                 "hosts are on, with an address of its own for each",
                 nof_lib.host, ip4_text(towards, address));
        return -1;
    }
    snprintf(port, NOF_LAUNCH_PORT_BYTES, "udp:%s:%s", ip4_text(*ip4_out, address), ports);
    return 0;
}
