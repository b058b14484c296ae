/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives that the host may serve as well (nof/claim.h): a message that fits one has it only if the NIC wins its claim.
 *
 *   POSTED -> a message fits it -> won  -> as any receive
 *                               -> lost -> TAKEN: in no queue, until its CANCEL
 *   its descriptor finds a message in the store: likewise, and the message stays there
 *
 * The host is believed in nothing: what its word says decides which of its own receives has the message. A receive is lost
 * once at most, so its RECV has paid for it; NOF_CLAIM_SLOTS bounds how many one message passes over. */
#ifndef NOF_RECV_CLAIM_H
#define NOF_RECV_CLAIM_H

#include "nic.h"

/* May this descriptor have the claim that it names? */
bool nof_claim_valid(const struct nof_endpoint *ep, const struct nof_desc *desc);
/* May one more be posted? Half of the words stay for those that are on their way here: what waits for a word waits for
 * nobody's message. */
static inline bool nof_claim_may_post(const struct nof_endpoint *ep)
{
    return ep->claims < ep->claim_slots / 2;
}
/* The one exchange with the host's word. */
bool nof_claim_win(struct nof_nic *nic, struct nof_endpoint *ep, uint64_t handle);
/* A posted receive, or waiting MPROBE, is lost. */
void nof_claim_lost(struct nof_nic *nic, struct nof_recv *r);
/* So is one that was never posted: its object waits likewise. */
void nof_claim_wait(struct nof_nic *nic, struct nof_recv *r);
/* The posted receive that has a message with this full key, claimed if need be, and still posted; NULL: none. */
struct nof_recv *nof_claim_posted(struct nof_nic *nic, struct nof_endpoint *ep,
                                  const struct nof_match_key *key);
/* The host has given r, posted or lost, a message of its own: what watches receives learns which. False: r would not have
 * fitted it. */
bool nof_claim_tell(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_recv *r,
                    const struct nof_desc *cancel);
/* It waits no longer: r is in no table, and its caller's. */
void nof_claim_end(struct nof_nic *nic, struct nof_recv *r);

#endif
