/* SPDX-License-Identifier: BSD-3-Clause */
#include "port/dpdk/arp.h"

#include <string.h>

#include "base/bytes.h"

#define ETH_BYTES 14u
#define VLAN_BYTES 4u
#define ARP_BYTES 28u
#define FRAME_MIN 60u /* Ethernet's minimum without FCS */

#define TYPE_ARP 0x0806u
#define TYPE_VLAN 0x8100u
#define OP_REQUEST 1u
#define OP_REPLY 2u

/* Offsets in an ARP packet for Ethernet and IPv4. */
enum { AT_HTYPE = 0, AT_PTYPE = 2, AT_OP = 6, AT_SHA = 8, AT_SPA = 14, AT_THA = 18, AT_TPA = 24 };

/* Bytes before the ARP packet, 0 if this is no ARP frame. */
static uint32_t link_bytes(const uint8_t *frame, uint32_t len_bytes)
{
    if (len_bytes < ETH_BYTES)
        return 0;
    if (nof_get_be16(frame + 12) == TYPE_ARP)
        return ETH_BYTES;
    if (len_bytes >= ETH_BYTES + VLAN_BYTES && nof_get_be16(frame + 12) == TYPE_VLAN &&
        nof_get_be16(frame + 16) == TYPE_ARP)
        return ETH_BYTES + VLAN_BYTES;
    return 0;
}

bool nof_arp_is(const uint8_t *frame, uint32_t len_bytes)
{
    return link_bytes(frame, len_bytes) != 0;
}

static void put_head(uint8_t *arp, uint32_t op)
{
    nof_put_be16(arp + AT_HTYPE, 1); /* Ethernet */
    nof_put_be16(arp + AT_PTYPE, 0x0800);
    arp[4] = 6;
    arp[5] = 4;
    nof_put_be16(arp + AT_OP, op);
}

uint32_t nof_arp_answer(const struct nof_arp_self *self, const uint8_t *frame, uint32_t len_bytes,
                        uint8_t *out)
{
    static const uint8_t expected[6] = {0, 1, 8, 0, 6, 4};
    uint32_t head = link_bytes(frame, len_bytes);
    const uint8_t *arp = frame + head;
    uint8_t *reply = out + head;

    if (head == 0 || len_bytes < head + ARP_BYTES)
        return 0;
    if (memcmp(arp, expected, sizeof(expected)) != 0 || nof_get_be16(arp + AT_OP) != OP_REQUEST)
        return 0;
    if (nof_get_be32(arp + AT_TPA) != self->ip4)
        return 0;
    /* Our own announcement that came back, or somebody who claims our MAC. */
    if (memcmp(arp + AT_SHA, self->mac, 6) == 0)
        return 0;

    memset(out, 0, NOF_ARP_FRAME_BYTES);
    memcpy(out, arp + AT_SHA, 6);
    memcpy(out + 6, self->mac, 6);
    memcpy(out + 12, frame + 12, head - 12);
    put_head(reply, OP_REPLY);
    memcpy(reply + AT_SHA, self->mac, 6);
    nof_put_be32(reply + AT_SPA, self->ip4);
    memcpy(reply + AT_THA, arp + AT_SHA, 6);
    memcpy(reply + AT_TPA, arp + AT_SPA, 4);
    return FRAME_MIN;
}

uint32_t nof_arp_announce(const struct nof_arp_self *self, uint8_t *out)
{
    uint8_t *arp = out + ETH_BYTES;

    memset(out, 0, NOF_ARP_FRAME_BYTES);
    memset(out, 0xff, 6);
    memcpy(out + 6, self->mac, 6);
    nof_put_be16(out + 12, TYPE_ARP);
    put_head(arp, OP_REQUEST);
    memcpy(arp + AT_SHA, self->mac, 6);
    nof_put_be32(arp + AT_SPA, self->ip4);
    nof_put_be32(arp + AT_TPA, self->ip4);
    return FRAME_MIN;
}
