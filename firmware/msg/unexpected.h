/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The envelope store: messages that came before their receive, until a receive (or a matched
 * probe) takes them or they are spilled. Payload of up to NOF_INLINE_BYTES is in the envelope, more
 * in a stored message of network memory; of a rendezvous there is only the envelope. Credit
 * guarantees room for all of it. */
#ifndef NOF_UNEXPECTED_H
#define NOF_UNEXPECTED_H

#include "msg/eager.h"
#include "nic.h"

/* An envelope for a message that no receive wants, in no table yet, with its first piece; NULL: there is no room. */
struct nof_env *nof_unexpected_take(struct nof_nic *nic, struct nof_peer *peer, const struct nof_arrival *a);
/* Give a stored envelope to r (not posted); the envelope is freed. */
void nof_unexpected_deliver(struct nof_nic *nic, struct nof_recv *r, struct nof_env *e);
/* Out of the matching tables, for MRECV later. Returns the handle. */
uint64_t nof_unexpected_mprobe(struct nof_nic *nic, struct nof_env *e);
struct nof_env *nof_unexpected_by_handle(struct nof_nic *nic, uint32_t ep, uint64_t handle);
/* Collect the payload of a matched message in network memory, deliver when complete. */
int nof_unexpected_collect(struct nof_nic *nic, struct nof_peer *peer, struct nof_recv *r,
                           const struct nof_arrival *a);
/* The last piece of a stored message is here; or no further one will come. */
void nof_unexpected_complete(struct nof_nic *nic, uint32_t chain);
void nof_unexpected_failed(struct nof_nic *nic, uint32_t chain, int status);
/* Why a message with NOF_ENV_F_FAILED has failed. */
static inline int nof_unexpected_failure(unsigned flags)
{
    return flags & NOF_ENV_F_GONE ? NOF_EPEERDEAD : NOF_EFAULT;
}
/* r takes over a stored message, complete or not, or failed. */
void nof_unexpected_assign(struct nof_nic *nic, struct nof_recv *r, uint32_t chain);
/* Its sender takes the message back: out of the store, payload and all. */
void nof_unexpected_withdraw(struct nof_nic *nic, struct nof_env *e);
/* Free an envelope (in no table) and its credit; not its chain. */
void nof_unexpected_free(struct nof_nic *nic, struct nof_env *e);
/* The endpoint closes: free this envelope if it is one that is stored for it; true: it was. */
bool nof_unexpected_close(struct nof_nic *nic, const struct nof_endpoint *ep, uint32_t index);
/* The same of a spilled message's chain. */
void nof_unexpected_close_held(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t chain);

#endif
