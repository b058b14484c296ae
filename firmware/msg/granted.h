/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives that are granted before their receive call: a rendezvous whose envelope waits is let begin, and its bytes are
 * collected in a line of the staging area, or in blocks that were borrowed for it (reserve.h). Which ones is policy
 * (early.h). Such a receive is marked `early`, and is
 *
 *   unbound   until a receive takes its envelope: begin() ... bind()
 *   bound     until all of it is here, and it is delivered: settle()
 *
 * end() at any time, when it fails. */
#ifndef NOF_GRANTED_H
#define NOF_GRANTED_H

#include "nic.h"

/* r, which is matched with e and has borrowed its blocks, is granted; line: where its bytes go, or NOF_STAGE_NONE. */
void nof_granted_begin(struct nof_nic *nic, struct nof_recv *r, struct nof_env *e, uint32_t line);
/* n more bytes of it; r->received counts them already. */
void nof_granted_put(struct nof_nic *nic, struct nof_recv *r, uint64_t offset, const uint8_t *data,
                     uint32_t n);
/* Its line is wanted for others: its bytes go into blocks. Returns how many they are. */
uint32_t nof_granted_leave_line(struct nof_nic *nic, struct nof_recv *r, const uint8_t *from);
/* All of it is here (it has arrived). True: and so is its receive; it can be delivered. */
bool nof_granted_whole(struct nof_nic *nic, const struct nof_recv *r);
/* r has taken e, whose rendezvous is granted already; r's object is given back. Returns the one that goes on, which can
 * be delivered if it has arrived. */
struct nof_recv *nof_granted_bind(struct nof_nic *nic, struct nof_recv *r, struct nof_env *e);
/* It is bound and all of it is here: it is a receive like others from now on, of what was received. */
void nof_granted_settle(struct nof_recv *r);
/* It ends. True: it had no receive call, and its object is given back; false: the caller completes it. */
bool nof_granted_end(struct nof_nic *nic, struct nof_recv *r);

#endif
