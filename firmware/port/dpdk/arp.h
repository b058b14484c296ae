/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ARP for an address that no kernel answers for (RFC 826, announcements by RFC 5227). Stateless:
 * frame in, frame out. Frames may carry one VLAN tag; the answer carries the same. */
#ifndef NOF_PORT_ARP_H
#define NOF_PORT_ARP_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_ARP_FRAME_BYTES 64u /* room for what is written, padded to Ethernet's minimum */
#define NOF_ARP_ANNOUNCEMENTS 2u /* RFC 5227: ANNOUNCE_NUM */
#define NOF_ARP_ANNOUNCE_NS 2000000000u /* RFC 5227: ANNOUNCE_INTERVAL */

struct nof_arp_self {
    uint8_t mac[6];
    uint32_t ip4; /* host byte order, not 0 */
};

/* Is this an ARP frame (of any content)? */
bool nof_arp_is(const uint8_t *frame, uint32_t len_bytes);

/* The answer to a request for our address: bytes written to `out` (NOF_ARP_FRAME_BYTES), 0 if the
 * frame is not such a request or is malformed. */
uint32_t nof_arp_answer(const struct nof_arp_self *self, const uint8_t *frame, uint32_t len_bytes,
                        uint8_t *out);

/* An announcement of our address; returns bytes written. */
uint32_t nof_arp_announce(const struct nof_arp_self *self, uint8_t *out);

#endif
