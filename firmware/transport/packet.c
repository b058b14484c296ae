/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet.h"

#include <string.h>

#include "nof/counters.h"

enum {
    ETH_BYTES = 14,
    VLAN_BYTES = 4,
    IP_BYTES = 20,
    UDP_BYTES = 8,
    ETHERTYPE_IP4 = 0x0800,
    ETHERTYPE_VLAN = 0x8100,
    IP_VERSION_IHL = 0x45, /* version 4, no options */
    IP_DONT_FRAGMENT = 0x4000,
    IP_FRAGMENT_MASK = 0x3fff, /* "more fragments" and the offset */
    IP_TTL = 64,
    IP_PROTO_UDP = 17,
};

static uint16_t get_be16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get_be32(const uint8_t *p)
{
    return (uint32_t)get_be16(p) << 16 | get_be16(p + 2);
}

static void put_be16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void put_be32(uint8_t *p, uint32_t v)
{
    put_be16(p, v >> 16);
    put_be16(p + 2, v);
}

/* RFC 791: the one's complement sum of a good header is 0xffff, which is zero modulo 0xffff. Modulo
 * that, 32-bit words in the machine's byte order give the same answer as 16-bit words in the
 * network's; the sum itself is never zero, because the first byte is not. */
static int ip_sum_ok(const uint8_t *ip)
{
    uint32_t w[5];

    memcpy(w, ip, sizeof(w));
    return ((uint64_t)w[0] + w[1] + w[2] + w[3] + w[4]) % 0xffffu == 0;
}

static int parse_common(const uint8_t *c, uint32_t len_bytes, struct nof_packet *packet_out)
{
    if (c[NOF_WIRE_VER] != NOF_WIRE_VERSION)
        return NOF_C_DROP_VERSION;
    if (nof_get16(c + NOF_WIRE_LEN) != len_bytes)
        return NOF_C_DROP_LENGTH;
    if (c[NOF_WIRE_FIELDS] > len_bytes - NOF_WIRE_COMMON_BYTES)
        return NOF_C_DROP_LENGTH;
    packet_out->common = c;
    packet_out->len_bytes = len_bytes;
    packet_out->fields_bytes = c[NOF_WIRE_FIELDS];
    return 0;
}

void nof_packet_self(struct nof_packet_self *self_out, const struct nof_packet_addr *addr)
{
    memcpy(self_out->mac, addr->mac, sizeof(addr->mac));
    put_be16(self_out->mac + 6, ETHERTYPE_IP4);
    put_be32(self_out->ip4, addr->ip4);
    put_be16(self_out->udp_port, addr->udp_port);
}

void nof_packet_from(const struct nof_packet *packet, struct nof_packet_addr *from_out)
{
    const uint8_t *udp = packet->common - UDP_BYTES;

    memcpy(from_out->mac, packet->data + 6, sizeof(from_out->mac));
    from_out->ip4 = get_be32(udp - 8);
    from_out->udp_port = get_be16(udp);
}

int nof_packet_parse(const uint8_t *data, uint32_t len_bytes, const struct nof_packet_self *self,
                     struct nof_packet *packet_out)
{
    const uint8_t *ip = data + ETH_BYTES;
    uint32_t left = len_bytes - ETH_BYTES;

    if (len_bytes < ETH_BYTES + VLAN_BYTES)
        return NOF_C_DROP_LENGTH;
    if (memcmp(data, self->mac, 6) != 0)
        return NOF_C_DROP_FOREIGN;
    if (get_be16(data + 12) == ETHERTYPE_VLAN) {
        ip += VLAN_BYTES;
        left -= VLAN_BYTES;
    }
    if (memcmp(ip - 2, self->mac + 6, 2) != 0)
        return NOF_C_DROP_FOREIGN;
    if (left < IP_BYTES + UDP_BYTES)
        return NOF_C_DROP_LENGTH;
    if (ip[0] != IP_VERSION_IHL || ip[9] != IP_PROTO_UDP || (get_be16(ip + 6) & IP_FRAGMENT_MASK) != 0 ||
        memcmp(ip + 16, self->ip4, sizeof(self->ip4)) != 0)
        return NOF_C_DROP_FOREIGN;
    if (!ip_sum_ok(ip))
        return NOF_C_DROP_LENGTH;

    const uint8_t *udp = ip + IP_BYTES;
    uint32_t ip_len = get_be16(ip + 2);

    if (memcmp(udp + 2, self->udp_port, sizeof(self->udp_port)) != 0)
        return NOF_C_DROP_FOREIGN;
    /* What lies behind the datagram is the padding of a short Ethernet frame. */
    if (ip_len > left || ip_len < IP_BYTES + UDP_BYTES + NOF_WIRE_COMMON_BYTES ||
        get_be16(udp + 4) != ip_len - IP_BYTES)
        return NOF_C_DROP_LENGTH;

    packet_out->data = data;
    return parse_common(udp + UDP_BYTES, ip_len - IP_BYTES - UDP_BYTES, packet_out);
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
    put_be16(head + 12, ETHERTYPE_IP4);
    ip[0] = IP_VERSION_IHL;
    put_be16(ip + 6, IP_DONT_FRAGMENT);
    ip[8] = IP_TTL;
    ip[9] = IP_PROTO_UDP;
    put_be32(ip + 12, self->ip4);
    put_be32(ip + 16, to->ip4);
    put_be16(udp, src_port);
    put_be16(udp + 2, to->udp_port);
    common[NOF_WIRE_VER] = NOF_WIRE_VERSION;
    nof_put64(common + NOF_WIRE_CONN, conn);

    for (unsigned i = 0; i < IP_BYTES; i += 2)
        sum += get_be16(ip + i);
    sum = (sum & 0xffffu) + (sum >> 16);
    return (uint16_t)((sum & 0xffffu) + (sum >> 16));
}
