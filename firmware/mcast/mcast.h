/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multicast groups: endpoints of a job, one a NIC, that get a message with one multicast of each frame.
 *
 *   GROUP_OPEN -> the NIC joins; a first message of no bytes goes round -> COMP_GROUP: OK, or ENOMATCH: somebody is deaf
 *   GROUP_SEND at one, GROUP_RECV at all others, of message number k, k + 1, ... -> their completions
 *   GROUP_CLOSE, or the end of the endpoint
 *
 * Members count messages alike, so everybody knows which one comes next, and what is older is a replay. A member may be in
 * two at once: its own, and the one that others have begun already.
 *
 *   mcast_group.c  tables: open, close, find; time
 *   mcast_send.c   the sender: reading, sending, what is sent again
 *   mcast_recv.c   a member: frames into the buffer of the host, what is told
 *   mcast_op.c     both: begin and end
 *   mcast_msg.c    a message as one member sees it, a value
 *
 * Acknowledgements go up a tree (mcast_msg.h). What is missing is asked for at the sender, after a random time of up
 * to a round trip, and comes by unicast; by multicast if many miss it. Frames beyond the first NOF_MCAST_ROOM_BYTES, and the
 * last one, are sent when the receives of all members stand; what comes before is kept in room that each member has from
 * the start. A member ends when all below it have everything, and says so in a reliable frame; so nobody is left whom
 * others need.
 *
 * A member that misses more than NOF_MCAST_DEAF_FRAMES at once is served apart, by unicast, from then on. One whose peer
 * has died fails all messages of the group. Work is paid for with the endpoint's steps (flow/chores.h). */
#ifndef NOF_MCAST_H
#define NOF_MCAST_H

#include "nic.h"

#define NOF_MCAST_DEAF_FRAMES 32u

#define NOF_MCAST_OPENED 1 /* of nof_mcast_open(): it is open */

/* Descriptors. NOF_OK: COMP_GROUP follows; else why not: NOF_EINVAL, NOF_ENOENT, NOF_ENOMEM, NOF_ENOTSUP, NOF_EAGAIN. */
int nof_mcast_open(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc);
void nof_mcast_close(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc);
/* GROUP_SEND, GROUP_RECV. NOF_OK: its completion follows. */
int nof_mcast_submit(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc);

/* What has come: a datagram to a group, whoever sent it; GACK, MREPAIR, GDONE: NOF_OK or NOF_EPROTO. */
void nof_mcast_datagram(struct nof_nic *nic, const uint8_t *common, uint32_t len_bytes);
int nof_mcast_gack_rx(struct nof_nic *nic, struct nof_link *link, const struct nof_wire_view *view);
int nof_mcast_repair_rx(struct nof_nic *nic, const struct nof_wire_view *view);
int nof_mcast_done_rx(struct nof_nic *nic, struct nof_link *link, const struct nof_wire_view *view);

/* A request of a group has ended. index: of its token. */
void nof_mcast_dma_done(struct nof_nic *nic, uint32_t index, int status);
/* Whose token is it? */
static inline uint32_t nof_mcast_token_group(uint32_t index)
{
    return index >> 7;
}

/* Go on with all that is due. */
void nof_mcast_run(struct nof_nic *nic);
static inline uint64_t nof_mcast_deadline(const struct nof_nic *nic)
{
    return nic->mcast.live > 0 ? nic->mcast.due_ns : NOF_NO_DEADLINE;
}
/* The endpoint closes: its groups end, silently, once none of their requests is under way. */
void nof_mcast_ep_close(struct nof_nic *nic, struct nof_endpoint *ep);
/* The end of the NIC: frames go back. */
void nof_mcast_fini(struct nof_nic *nic);

#endif
