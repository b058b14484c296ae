/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Business card: where one endpoint of a job is reached. Travels as text through PMI/PMIx (the
 * 32 bytes in hex) and as bytes in NOF_DESC_PEER. All fields little-endian. */
#ifndef NOF_CARD_H
#define NOF_CARD_H

#include <assert.h>
#include <stdint.h>

struct nof_card {
    uint64_t nic_id; /* random per NIC core and start: a restarted NIC is another NIC */
    uint8_t mac[6];
    uint16_t udp_port; /* host byte order, like all fields */
    uint32_t ip4; /* host byte order: 10.0.0.1 is 0x0a000001 */
    uint16_t endpoint; /* index on that NIC */
    uint16_t generation; /* of that endpoint index; a stale card reaches nobody */
    uint32_t host_id; /* equal for endpoints of one (simulated) host */
    uint32_t segment_id; /* of its job's segment there (segment.h), if it has a slot in one; 0: none */
};

static_assert(sizeof(struct nof_card) == 32, "business card is 32 bytes");

#endif
