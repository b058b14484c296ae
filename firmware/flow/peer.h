/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Peers: one struct per (endpoint, job rank) that the endpoint knows, by a PEER descriptor or
 * because the other side has opened a flow to it. It holds both directions of the flow. A dead
 * peer's struct stays until its endpoint closes: the death is remembered.
 *
 * A rank that is not known, but named by posted receives, has one without a link as long as they wait (NOF_PEER_F_AWAITED): it
 * becomes that of the flow when there is one, and nobody has to look for them then. */
#ifndef NOF_PEER_H
#define NOF_PEER_H

#include "nic.h"

struct nof_peer *nof_peer_by_rank(const struct nof_nic *nic, uint32_t ep, uint32_t rank);
/* For a receive that names the rank: also one that is not known yet, and so only awaited, which nof_peer_by_rank() does not
 * find. NULL: no room for all ranks of the job, so that one that is only awaited keeps no known one out. The caller lists its
 * receive there at once. */
struct nof_peer *nof_peer_await(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t rank);
/* nof_peer_by_rank() for a descriptor's peer, most often that of the one before. */
static inline struct nof_peer *nof_peer_of_desc(const struct nof_nic *nic, struct nof_endpoint *ep,
                                                uint32_t rank)
{
    if (ep->last_rank != NOF_NIL && nof_peer_at(nic, ep->last_rank)->rank == rank)
        return nof_peer_at(nic, ep->last_rank);
    struct nof_peer *peer = nof_peer_by_rank(nic, ep->index, rank);
    if (peer != NULL)
        ep->last_rank = nof_peer_index(nic, peer);
    return peer;
}
struct nof_peer *nof_peer_find_flow(const struct nof_nic *nic, struct nof_link *link, uint16_t remote_ep,
                                    uint16_t ep);
/* The flow between these endpoints, most often that of the frame before. */
static inline struct nof_peer *nof_peer_by_flow(const struct nof_nic *nic, struct nof_link *link,
                                                uint16_t remote_ep, uint16_t ep)
{
    if (link->last_peer != NOF_NIL) { /* one of this link, or its leaving would have cleared it */
        struct nof_peer *p = nof_peer_at(nic, link->last_peer);
        if (p->ep == ep && p->remote_ep == remote_ep)
            return p;
    }
    return nof_peer_find_flow(nic, link, remote_ep, ep);
}

/* The PEER descriptor: NOF_OK, NOF_ENOMEM, NOF_EINVAL (another card than before), NOF_EPEERDEAD. */
int nof_peer_introduce(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t rank,
                       const struct nof_card *card);
/* FLOW_OPEN has come: NOF_OK or NOF_EPROTO. */
int nof_peer_flow_open_rx(struct nof_nic *nic, struct nof_link *link, const struct nof_wire_view *view);

/* Open the flow if its link is up, and we want one that is not open: whether so. */
bool nof_peer_link_up(struct nof_nic *nic, struct nof_peer *peer);
/* We want one. */
void nof_peer_want(struct nof_nic *nic, struct nof_peer *peer);
/* The end, in the order of flows.h: silence() once, nothing is sent to it any more; bury(): frames of the flow find it
 * no more, what it had not used of its credit goes back; forget(): its rank finds it no more; free(). */
void nof_peer_silence(struct nof_peer *peer, bool orderly);
void nof_peer_bury(struct nof_nic *nic, struct nof_peer *peer, int status);
void nof_peer_forget(struct nof_nic *nic, struct nof_peer *peer);
void nof_peer_free(struct nof_nic *nic, struct nof_peer *peer);

/* The path is to be watched from now on, or no longer. */
void nof_peer_watch(struct nof_nic *nic, struct nof_peer *peer, int delta);
/* Somebody begins (1) or ceases (-1) to wait for this peer. */
static inline void nof_peer_expect(struct nof_nic *nic, struct nof_peer *peer, int delta)
{
    uint32_t before = peer->expects;
    peer->expects = before + (uint32_t)delta;
    if (before == 0 || peer->expects == 0)
        nof_peer_watch(nic, peer, delta);
}
/* Nobody waits any more for one that is not known. */
void nof_peer_unawaited(struct nof_nic *nic, struct nof_peer *peer);

static inline struct nof_ties *nof_peer_ties(const struct nof_nic *nic, uint32_t ref)
{
    return NOF_REF_KIND(ref) == NOF_REF_SEND ? &nof_send_at(nic, NOF_REF_INDEX(ref))->wait
                                             : &nof_recv_at(nic, NOF_REF_INDEX(ref))->wait;
}
/* The list of operations that end when the peer dies; `ref` is a send or a receive, with these ties. unlist: an awaited peer that nobody
 * waits for any more is gone. Hot path: each receive that names its source. */
static inline void nof_peer_list(struct nof_nic *nic, struct nof_peer *peer, uint32_t ref,
                                 struct nof_ties *ties)
{
    uint32_t next = peer->waiting;
    *ties = (struct nof_ties){.next = next, .prev = NOF_NIL};
    if (next != NOF_NIL)
        nof_peer_ties(nic, next)->prev = ref;
    peer->waiting = ref;
    nof_peer_expect(nic, peer, 1);
}
static inline void nof_peer_unlist(struct nof_nic *nic, struct nof_peer *peer, const struct nof_ties *ties)
{
    if (ties->prev == NOF_NIL)
        peer->waiting = ties->next;
    else
        nof_peer_ties(nic, ties->prev)->next = ties->next;
    if (ties->next != NOF_NIL)
        nof_peer_ties(nic, ties->next)->prev = ties->prev;
    nof_peer_expect(nic, peer, -1);
    if (peer->expects == 0 && (peer->flags & NOF_PEER_F_AWAITED))
        nof_peer_unawaited(nic, peer);
}

#endif
