/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/packet.h"

#include <string.h>

#include "nof/counters.h"

enum {
    ETH_BYTES = 14,
    VLAN_BYTES = 4,
    IP_BYTES = 20,
    UDP_BYTES = 8,
    ETHERTYPE_IP4 = 0x0800,
    ETHERTYPE_VLAN = 0x8100,
    ID_AT = ETH_BYTES + 4, /* of a frame that we send, as the next two */
    FLAGS_AT = ETH_BYTES + 6, /* and fragment */
    SUM_AT = ETH_BYTES + 10,
    IP_VERSION_IHL = 0x45, /* version 4, no options */
    IP_DONT_FRAGMENT = 0x4000,
    IP_FRAGMENT_MASK = 0x3fff, /* "more fragments" and the offset */
    IP_TTL = 64,
    IP_PROTO_UDP = 17,
};

/* A 16-bit constant of the network's byte order, as nof_get16() reads it. */
#define SWAPPED(x) (((x)&0xff) << 8 | (x) >> 8)

/* RFC 791: the one's complement sum of a good header is 0xffff, which is zero modulo 0xffff. Modulo
 * that, 32-bit words in the machine's byte order give the same answer as 16-bit words in the
 * network's; the sum itself is never zero, because the first byte is not. */
static bool ip_sum_ok(const uint8_t *ip)
{
    uint32_t w[5];

    memcpy(w, ip, sizeof(w));
    return ((uint64_t)w[0] + w[1] + w[2] + w[3] + w[4]) % 0xffffu == 0;
}

/* Destination address, source port, destination port: eight bytes; the source port may be any. */
#define IP4_PORT_MASK 0xffff0000ffffffffull
/* "More fragments", the fragment's offset, the protocol: of the four bytes that begin with them. */
#define FRAGMENT_PROTO_MASK 0xff00ff3fu

void nof_packet_self(struct nof_packet_self *self_out, const struct nof_packet_addr *addr)
{
    uint8_t at[8] = {0};

    memcpy(at + 2, addr->mac, sizeof(addr->mac));
    self_out->mac = nof_get64(at) >> 16 << 16;
    nof_put_be32(at, addr->ip4);
    nof_put_be32(at + 4, addr->udp_port);
    self_out->ip4_port = nof_get64(at);
}

void nof_packet_from(const struct nof_packet *packet, struct nof_packet_addr *from_out)
{
    const uint8_t *udp = packet->common - UDP_BYTES;

    memcpy(from_out->mac, packet->data + 6, sizeof(from_out->mac));
    from_out->ip4 = nof_get_be32(udp - 8);
    from_out->udp_port = nof_get_be16(udp);
}

int nof_packet_parse(const uint8_t *data, uint32_t len_bytes, const struct nof_packet_self *self,
                     struct nof_packet *packet_out)
{
    const uint8_t *ip = data + ETH_BYTES;
    uint32_t left = len_bytes - ETH_BYTES;

    if (len_bytes < ETH_BYTES + VLAN_BYTES)
        return NOF_C_DROP_LENGTH;
    uint32_t type = nof_get16(data + 12);
    if (nof_get64(data) << 16 != self->mac)
        return NOF_C_DROP_FOREIGN;
    if (type == SWAPPED(ETHERTYPE_VLAN)) {
        ip += VLAN_BYTES;
        left -= VLAN_BYTES;
        type = nof_get16(ip - 2);
    }
    if (type != SWAPPED(ETHERTYPE_IP4))
        return NOF_C_DROP_FOREIGN;
    if (left < IP_BYTES + UDP_BYTES)
        return NOF_C_DROP_LENGTH;
    if (ip[0] != IP_VERSION_IHL ||
        (nof_get32(ip + 6) & FRAGMENT_PROTO_MASK) != (uint32_t)IP_PROTO_UDP << 24 ||
        (nof_get64(ip + 16) & IP4_PORT_MASK) != self->ip4_port)
        return NOF_C_DROP_FOREIGN;
    if (!ip_sum_ok(ip))
        return NOF_C_DROP_LENGTH;

    const uint8_t *common = ip + IP_BYTES + UDP_BYTES;
    uint32_t ip_len = nof_get_be16(ip + 2);
    uint32_t len = ip_len - IP_BYTES - UDP_BYTES;

    /* What lies behind the datagram is the padding of a short Ethernet frame. */
    if (ip_len > left || ip_len < IP_BYTES + UDP_BYTES + NOF_WIRE_COMMON_BYTES ||
        nof_get_be16(common - 4) != ip_len - IP_BYTES)
        return NOF_C_DROP_LENGTH;
    if (common[NOF_WIRE_VER] != NOF_WIRE_VERSION)
        return NOF_C_DROP_VERSION;
    packet_out->data = data;
    packet_out->common = common;
    packet_out->len_bytes = len;
    packet_out->fields_bytes = common[NOF_WIRE_FIELDS];
    if (nof_get16(common + NOF_WIRE_LEN) != len || packet_out->fields_bytes > len - NOF_WIRE_COMMON_BYTES)
        return NOF_C_DROP_LENGTH;
    return 0;
}

void nof_packet_group_mac(uint32_t ip4, uint8_t mac_out[6])
{
    mac_out[0] = 0x01;
    mac_out[1] = 0x00;
    mac_out[2] = 0x5e;
    mac_out[3] = (uint8_t)(ip4 >> 16 & 0x7fu);
    mac_out[4] = (uint8_t)(ip4 >> 8);
    mac_out[5] = (uint8_t)ip4;
}

int nof_packet_parse_group(const uint8_t *data, uint32_t len_bytes, uint16_t udp_port,
                           struct nof_packet *packet_out)
{
    struct nof_packet_addr to = {.udp_port = udp_port};
    struct nof_packet_self self;
    uint32_t ip_at = ETH_BYTES;

    if (len_bytes < ETH_BYTES + VLAN_BYTES + IP_BYTES)
        return NOF_C_DROP_FOREIGN;
    if (nof_get16(data + 12) == SWAPPED(ETHERTYPE_VLAN))
        ip_at += VLAN_BYTES;
    to.ip4 = nof_get_be32(data + ip_at + 16);
    if (to.ip4 >> 28 != 0xe)
        return NOF_C_DROP_FOREIGN;
    nof_packet_group_mac(to.ip4, to.mac);
    nof_packet_self(&self, &to);
    return nof_packet_parse(data, len_bytes, &self, packet_out);
}

uint16_t nof_packet_head(uint8_t head[NOF_PACKET_HEAD_BYTES], const struct nof_packet_addr *self,
                         const struct nof_packet_addr *to, uint16_t src_port, uint64_t conn)
{
    uint8_t *ip = head + ETH_BYTES;
    uint8_t *udp = ip + IP_BYTES;
    uint8_t *common = udp + UDP_BYTES;
    uint32_t sum = 0;

    memset(head, 0, NOF_PACKET_HEAD_BYTES);
    memcpy(head, to->mac, sizeof(to->mac));
    memcpy(head + 6, self->mac, sizeof(self->mac));
    nof_put_be16(head + 12, ETHERTYPE_IP4);
    ip[0] = IP_VERSION_IHL;
    nof_put_be16(ip + 6, IP_DONT_FRAGMENT);
    ip[8] = IP_TTL;
    ip[9] = IP_PROTO_UDP;
    nof_put_be32(ip + 12, self->ip4);
    nof_put_be32(ip + 16, to->ip4);
    nof_put_be16(udp, src_port);
    nof_put_be16(udp + 2, to->udp_port);
    common[NOF_WIRE_VER] = NOF_WIRE_VERSION;
    nof_put64(common + NOF_WIRE_CONN, conn);

    /* bound: 20 bytes; paid by the frame */
    for (unsigned i = 0; i < IP_BYTES; i += 2)
        sum += nof_get_be16(ip + i);
    sum = (sum & 0xffffu) + (sum >> 16);
    return (uint16_t)((sum & 0xffffu) + (sum >> 16));
}

bool nof_packet_is_cut(const uint8_t *data)
{
    return nof_get_be16(data + FLAGS_AT) == 0;
}

void nof_packet_cut(uint8_t *data, uint16_t id)
{
    uint32_t sum = nof_get_be16(data + SUM_AT) + IP_DONT_FRAGMENT + 0xffffu - id; /* RFC 1624 */

    sum = (sum & 0xffffu) + (sum >> 16);
    nof_put_be16(data + ID_AT, id);
    nof_put_be16(data + FLAGS_AT, 0);
    nof_put_be16(data + SUM_AT, (uint16_t)((sum & 0xffffu) + (sum >> 16)));
}
