/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of the addresses that we send to. A table without chains: an entry that two addresses want is the last
 * one's, and the other one's super-frames are only sent singly for a time. */
#include "port/udp/udp_private.h"

#include <string.h>
#include <unistd.h>

struct udp_peer *udp_peer_of(struct nof_udp_port *port, uint32_t ip4, uint16_t udp_port)
{
    uint32_t hash = (ip4 ^ (uint32_t)udp_port << 7) * 2654435761u;
    struct udp_peer *peer = &port->peers[hash >> (32 - UDP_PEERS_LOG2)];

    if (peer->ip4 != ip4 || peer->udp_port != udp_port)
        *peer = (struct udp_peer){.ip4 = ip4, .udp_port = udp_port};
    return peer;
}

/* A socket that is connected can be asked. The way depends on where it comes from (rules, addresses of several networks). */
static uint32_t path_mtu(struct nof_udp_port *port, const struct sockaddr_in *to)
{
    struct sockaddr_in self = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(port->info.ip4)}};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int mtu = 0;
    socklen_t len = sizeof(mtu);

    udp_count(port, NOF_UDP_TX_CALLS, 5);
    if (fd < 0)
        return 0;
    if (bind(fd, (const struct sockaddr *)&self, sizeof(self)) != 0 ||
        connect(fd, (const struct sockaddr *)to, sizeof(*to)) != 0 ||
        getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &len) != 0)
        mtu = 0;
    close(fd);
    return mtu > 0 ? (uint32_t)mtu : 0;
}

static void keep(struct nof_udp_port *port, uint32_t ip4, uint32_t mtu_bytes)
{
    for (unsigned i = 0; i < port->nnarrowed; i++) {
        if (port->narrowed[i].ip4 != ip4)
            continue;
        port->narrowed[i].mtu_bytes = mtu_bytes;
        return;
    }
    if (port->nnarrowed == UDP_NARROWED_MAX)
        return; /* its next frame that is too large tells again */
    port->narrowed[port->nnarrowed].ip4 = ip4;
    port->narrowed[port->nnarrowed++].mtu_bytes = mtu_bytes;
}

uint32_t udp_peer_narrowed(struct nof_udp_port *port, const struct sockaddr_in *to)
{
    uint32_t mtu = path_mtu(port, to);

    if (mtu != 0 && mtu < port->info.mtu_bytes)
        keep(port, ntohl(to->sin_addr.s_addr), mtu);
    if (mtu != 0 && mtu < UDP_MTU_LEAST) {
        struct udp_peer *peer = udp_peer_of(port, to->sin_addr.s_addr, to->sin_port);

        peer->pieces = UDP_PIECES_FRAMES;
        peer->way_bytes = (uint16_t)mtu;
    }
    return mtu;
}

bool nof_udp_port_narrowed(struct nof_udp_port *port, uint32_t *ip4_out, uint32_t *mtu_bytes_out)
{
    if (port->nnarrowed == 0)
        return false;
    port->nnarrowed--;
    *ip4_out = port->narrowed[port->nnarrowed].ip4;
    *mtu_bytes_out = port->narrowed[port->nnarrowed].mtu_bytes;
    return true;
}

bool nof_udp_port_refused(struct nof_udp_port *port, uint32_t *ip4_out, int *errno_out)
{
    if (port->refused_ip4 == 0)
        return false;
    *ip4_out = port->refused_ip4;
    *errno_out = port->refused_errno;
    port->refused_ip4 = 0;
    return true;
}
