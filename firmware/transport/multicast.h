/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datagrams to a multicast group, sealed and sent; knows nothing of members or messages.
 *
 *   nof_group_dest_init()                         -> once for a group
 *   nof_group_frame() -> fill -> nof_group_seal() -> nof_group_send(), as often as wanted: the same bytes
 *                                                 -> nof_group_frame_free()
 *
 * The tag of a datagram is SipHash over all that follows it in the datagram, under a key that is SipHash, under the key
 * of the group, of the common header behind its CRC. */
#ifndef NOF_MULTICAST_H
#define NOF_MULTICAST_H

#include "transport/packet.h"
#include "transport/siphash.h"
#include "transport/transport.h"

#define NOF_GROUP_HEAD_BYTES (NOF_WIRE_COMMON_BYTES + NOF_WIRE_MDATA_BYTES)

struct nof_group_dest {
    uint64_t id;
    uint8_t key[NOF_SIPHASH_KEY_BYTES];
    uint32_t ip4;
    uint8_t mac[6];
    uint16_t ip_sum;
    uint8_t head[NOF_PACKET_HEAD_BYTES];
};

struct nof_group_view { /* of an MDATA whose tag is right */
    uint64_t len; /* of the message */
    uint32_t number;
    uint32_t frames; /* of the message */
    uint32_t frame;
    uint16_t sender;
    uint16_t chunk;
    const uint8_t *payload;
    uint32_t payload_bytes;
};

/* id and key of group (ctx, members, epoch) of a job, and its address, of the organization's own (RFC 2365). members: `n` job
 * ranks of 4 bytes, in their order. Who lists others, or in another order, has another group: a NIC seals as the member that the
 * list has on it, and so cannot be made to seal as another. */
void nof_group_dest_init(struct nof_transport *t, struct nof_group_dest *dest_out,
                         const uint8_t job_key[NOF_SIPHASH_KEY_BYTES], uint32_t ctx, const uint8_t *members,
                         uint32_t n, uint32_t epoch);

/* What a full frame takes on this NIC's link; 0: its rate is not known. */
uint64_t nof_group_frame_ns(const struct nof_transport *t);
/* Frames that may leave now; 0: *at_out is when to ask again. */
unsigned nof_group_window(struct nof_transport *t, uint64_t *at_out);
/* NULL: the port has none now. The payload is to be filled. */
struct nof_frame *nof_group_frame(struct nof_transport *t, uint32_t payload_bytes, uint8_t **payload_out);
void nof_group_seal(const struct nof_group_dest *dest, struct nof_frame *frame,
                    const struct nof_group_view *view, uint16_t src_ep);
/* False: the queue is full. The frame stays the caller's. */
bool nof_group_send(struct nof_transport *t, struct nof_frame *frame);
void nof_group_frame_free(struct nof_transport *t, struct nof_frame *frame);
/* The datagram in a sealed frame, from the common header on. */
static inline const uint8_t *nof_group_datagram(const struct nof_frame *frame, uint32_t *len_out)
{
    *len_out = frame->len_bytes - NOF_WIRE_OUTER_BYTES;
    return frame->data + NOF_WIRE_OUTER_BYTES;
}

/* Is this a datagram of the group, whole, and sealed with its key? */
bool nof_group_open(const struct nof_group_dest *dest, const uint8_t *common, uint32_t len_bytes,
                    struct nof_group_view *view_out);

#endif
