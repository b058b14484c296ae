/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Delta messages (nof/delta.h) in the core: which slot of an endpoint's boards is whose, what of a send may leave, what of a
 * receive is told to have arrived. A delta send is a rendezvous whose payload leaves in runs (delta_engine.h), each frame with
 * NOF_WIRE_DATA_F_RANGE; `sent`, `wanted`, `allowed` and `received` count bytes, wherever they lie. */
#ifndef NOF_DELTA_SLOTS_H
#define NOF_DELTA_SLOTS_H

#include "nic.h"

/* Can a message of at most len bytes have these units? */
static inline bool nof_delta_units_ok(uint64_t len, uint32_t unit_log2)
{
    return unit_log2 >= NOF_DELTA_UNIT_LOG2_LEAST && unit_log2 <= NOF_DELTA_UNIT_LOG2_MOST &&
           (len == 0 || (len - 1) >> unit_log2 < NOF_DELTA_UNITS);
}

/* May this SEND or RECV have the slot that it names? NOF_OK; NOF_ENOTSUP: no boards; NOF_EINVAL. *parks_out: it is to be
 * parked, without a slot; NOF_ENOMEM: and its cookie forbids that. */
int nof_delta_check_send(const struct nof_nic *nic, const struct nof_endpoint *ep,
                         const struct nof_desc *desc, bool *parks_out);
int nof_delta_check_recv(const struct nof_endpoint *ep, const struct nof_desc *desc);

/* s, whose descriptor is checked and which does not park, has its slot; it has left. */
void nof_delta_send_begin(struct nof_nic *nic, struct nof_send *s, uint64_t handle);
void nof_delta_send_leave(struct nof_nic *nic, struct nof_send *s);
/* Has its host ended it? */
bool nof_delta_send_ended(struct nof_nic *nic, struct nof_send *s);
/* Is there something of s, which is in state DATA, that may be sent now? Then its next run is [s->at, s->run_end), or nothing
 * but its end is left. */
bool nof_delta_advance(struct nof_nic *nic, struct nof_send *s);
/* Has a host rung? */
bool nof_delta_rung(const struct nof_nic *nic);

/* A RECV that is checked is told of as one without its slot, until that begins. */
void nof_delta_plain(struct nof_nic *nic, const struct nof_endpoint *ep, const struct nof_desc *desc);
/* r is made from it, and posted next, or has found the envelope of its rendezvous. It has its slot, if there is a block for it. */
void nof_delta_recv_begin(struct nof_nic *nic, struct nof_recv *r, uint64_t handle);
/* Its message is known; unit_log2: as its RTS says, or 0. */
void nof_delta_recv_matched(struct nof_nic *nic, struct nof_recv *r, uint32_t unit_log2);
/* n bytes at `offset` come, behind r->at. False: they must not. */
bool nof_delta_recv_comes(struct nof_nic *nic, const struct nof_recv *r, uint64_t offset, uint64_t n);
/* They are in its buffer. */
void nof_delta_recv_wrote(struct nof_nic *nic, const struct nof_recv *r, uint64_t offset, uint64_t n);
/* It ends with this status. */
void nof_delta_recv_end(struct nof_nic *nic, struct nof_recv *r, int status);

#endif
