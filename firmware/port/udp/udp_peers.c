/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of the addresses that we send to. A table without chains: an entry that two addresses want is the last
 * one's, and the other one's super-frames are only sent singly for a time. */
#include "port/udp/udp_private.h"

struct udp_peer *udp_peer_of(struct nof_udp_port *port, uint32_t ip4, uint16_t udp_port)
{
    uint32_t hash = (ip4 ^ (uint32_t)udp_port << 7) * 2654435761u;
    struct udp_peer *peer = &port->peers[hash >> (32 - UDP_PEERS_LOG2)];

    if (peer->ip4 != ip4 || peer->udp_port != udp_port)
        *peer = (struct udp_peer){.ip4 = ip4, .udp_port = udp_port};
    return peer;
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
