/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Outer headers and common header: checks what comes in, writes what goes out. Keeps no state.
 * Every byte read lies inside [data, data + len). docs/WIRE.md is the normative page.
 * Threads: any. Cost: O(1), and one CRC over the frame where asked for. */
#ifndef NOF_PACKET_H
#define NOF_PACKET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/crc32c.h"
#include "transport/wire.h"

/* Bytes that are the same in all frames of a path: outer headers, then CRC .. CONN. */
#define NOF_PACKET_HEAD_BYTES (NOF_WIRE_OUTER_BYTES + 16u)
#define NOF_PACKET_IP_OVERHEAD_BYTES (28u + NOF_WIRE_COMMON_BYTES) /* IP MTU minus body */

struct nof_packet_addr {
    uint8_t mac[6];
    uint16_t udp_port; /* host byte order */
    uint32_t ip4; /* host byte order */
};

struct nof_packet {
    const uint8_t *data; /* the frame */
    const uint8_t *common; /* common header; fields and payload follow */
    uint32_t len_bytes; /* common header + fields + payload */
    uint32_t fields_bytes; /* <= len_bytes - NOF_WIRE_COMMON_BYTES */
};

/* What a frame must be addressed to, as it is read out of the frame. */
struct nof_packet_self {
    uint64_t mac; /* in the upper 48 bits */
    uint64_t ip4_port; /* destination address, 16 bits 0, destination port */
};

void nof_packet_self(struct nof_packet_self *self_out, const struct nof_packet_addr *addr);

/* Is this frame for `self`, and do all its lengths, the IPv4 checksum and the version hold?
 * Returns 0, or the enum nof_counter under which it must be dropped. The CRC is not looked at. */
int nof_packet_parse(const uint8_t *data, uint32_t len_bytes, const struct nof_packet_self *self,
                     struct nof_packet *packet_out);

/* The same for a multicast datagram to this port, whatever its group. */
int nof_packet_parse_group(const uint8_t *data, uint32_t len_bytes, uint16_t udp_port,
                           struct nof_packet *packet_out);

/* The address that belongs to a multicast IPv4 address (RFC 1112). */
void nof_packet_group_mac(uint32_t ip4, uint8_t mac_out[6]);

/* Where a parsed frame comes from. */
void nof_packet_from(const struct nof_packet *packet, struct nof_packet_addr *from_out);

/* Did a router on its way say "congestion experienced" (RFC 3168)? Both bits of the traffic class are then set. */
static inline bool nof_packet_marked(const struct nof_packet *packet)
{
    return (~packet->common[1 - 28] & 3u) == 0;
}

static inline bool nof_packet_crc_ok(const struct nof_packet *packet)
{
    return nof_crc32c(packet->common + NOF_WIRE_VER, packet->len_bytes - NOF_WIRE_VER) ==
           nof_get32(packet->common + NOF_WIRE_CRC);
}

/* Fill `head` for frames from `self` to `to`; src_port is the UDP source port (entropy for RSS).
 * Returns the partial IPv4 checksum that nof_packet_finish() wants. */
uint16_t nof_packet_head(uint8_t head[NOF_PACKET_HEAD_BYTES], const struct nof_packet_addr *self,
                         const struct nof_packet_addr *to, uint16_t src_port, uint64_t conn);

/* Of a frame that is finished and not yet sent: "don't fragment", which nof_packet_head() sets, off. Routers may cut the
 * datagram; `id` tells its fragments from those of others. Not a second time. */
void nof_packet_cut(uint8_t *data, uint16_t id);
bool nof_packet_is_cut(const uint8_t *data);

struct nof_packet_fill {
    uint8_t type;
    uint8_t flags;
    uint8_t fields_bytes;
    uint32_t pn;
    uint32_t ack;
    uint16_t ack_delay_us;
    uint16_t src_ep;
    uint16_t dst_ep;
};

/* All headers but the CRC. Inline, as those below: once per frame. */
static inline void nof_packet_headers(uint8_t *data, const uint8_t head[NOF_PACKET_HEAD_BYTES],
                                      uint16_t ip_sum, const struct nof_packet_fill *fill,
                                      uint32_t body_bytes)
{
    uint8_t *c = data + NOF_WIRE_OUTER_BYTES;
    uint32_t len = NOF_WIRE_COMMON_BYTES + body_bytes;
    uint32_t ip_len = len + 28u;
    uint32_t sum = ip_sum + ip_len;

    memcpy(data, head, NOF_PACKET_HEAD_BYTES);
    sum = ~((sum & 0xffffu) + (sum >> 16));
    /* Network byte order. */
    nof_put16(data + 16, (uint16_t)(ip_len << 8 | ip_len >> 8));
    nof_put16(data + 24, (uint16_t)((sum & 0xffu) << 8 | (sum >> 8 & 0xffu)));
    nof_put16(data + 38, (uint16_t)((len + 8u) << 8 | (len + 8u) >> 8));

    nof_put32(c + NOF_WIRE_VER, NOF_WIRE_VERSION | (uint32_t)fill->type << 8 | len << 16);
    nof_put32(c + NOF_WIRE_PN, fill->pn);
    nof_put32(c + NOF_WIRE_ACK, fill->ack);
    nof_put32(c + NOF_WIRE_SRC_EP, fill->src_ep | (uint32_t)fill->dst_ep << 16);
    nof_put32(c + NOF_WIRE_FLAGS,
              fill->flags | (uint32_t)fill->fields_bytes << 8 | (uint32_t)fill->ack_delay_us << 16);
}

/* Write all headers in front of the body_bytes that already lie behind them, and the CRC.
 * `data` has NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES + body_bytes bytes. */
static inline void nof_packet_finish(uint8_t *data, const uint8_t head[NOF_PACKET_HEAD_BYTES],
                                     uint16_t ip_sum, const struct nof_packet_fill *fill, uint32_t body_bytes)
{
    uint8_t *c = data + NOF_WIRE_OUTER_BYTES;

    nof_packet_headers(data, head, ip_sum, fill, body_bytes);
    nof_put32(c + NOF_WIRE_CRC,
              nof_crc32c(c + NOF_WIRE_VER, NOF_WIRE_COMMON_BYTES - NOF_WIRE_VER + body_bytes));
}

/* The same where the CRC32C of the last join->len_bytes bytes of the body stands in the CRC's place. */
static inline void nof_packet_finish_summed(uint8_t *data, const uint8_t head[NOF_PACKET_HEAD_BYTES],
                                            uint16_t ip_sum, const struct nof_packet_fill *fill,
                                            uint32_t body_bytes, const struct nof_crc32c_join *join)
{
    uint8_t *c = data + NOF_WIRE_OUTER_BYTES;
    uint32_t payload = nof_get32(c + NOF_WIRE_CRC);

    nof_packet_headers(data, head, ip_sum, fill, body_bytes);
    nof_put32(c + NOF_WIRE_CRC,
              nof_crc32c_join(join,
                              nof_crc32c(c + NOF_WIRE_VER,
                                         NOF_WIRE_COMMON_BYTES - NOF_WIRE_VER + body_bytes - join->len_bytes),
                              payload));
}

#endif
