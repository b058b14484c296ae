/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rendezvous, the receiver's side: RTS -> CTS (bytes wanted, bytes allowed so far) -> DATA in order,
 * the last one with F_LAST and the length of the message -> complete.
 *
 * `allowed` is everything at once when the host copies inline. Else it runs ahead of what the host
 * has by the blocks that the receive has reserved, and further CTS frames move it. Both only so far as the NIC's
 * budget reaches (flow/clearance.h), and the first CTS may have to wait for that. */
#ifndef NOF_RENDEZVOUS_H
#define NOF_RENDEZVOUS_H

#include "flow/clearance.h"
#include "nic.h"

/* r is matched (nof_recv_matched): ask the sender. flags: of nof_env_flag; PARKED: `handle` is its host's cookie. unit_log2: of a
 * delta send that is not, else 0. */
void nof_rndv_begin(struct nof_nic *nic, struct nof_recv *r, uint64_t handle, uint8_t flags,
                    uint32_t unit_log2);
/* The same before there is a receive call: all of it is granted, early.c has made room. */
void nof_rndv_early(struct nof_nic *nic, struct nof_recv *r, uint64_t handle);
/* r->written has grown: let the sender go on. */
void nof_rndv_window(struct nof_nic *nic, struct nof_recv *r);
/* r->received has grown by n: likewise. */
static inline void nof_rndv_came(struct nof_nic *nic, struct nof_recv *r, uint32_t n)
{
    nof_clearance_came(nic, r, n);
    if (nof_clearance_low(nic, r))
        nof_rndv_window(nic, r);
}
/* Receives that wait for their clearance. */
void nof_rndv_clear(struct nof_nic *nic);
/* Blocks have come back: receives that wait for some. */
void nof_rndv_blocks(struct nof_nic *nic);
/* Receives that wait for a while (recv_wait.h): ask again, for as many as the steps of their endpoints reach. */
void nof_rndv_again(struct nof_nic *nic);
/* A parked send is back at its NIC: NOF_OK or NOF_EPROTO. */
int nof_rndv_resume_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view);
/* The send has ended, as its side says in an ABORT. */
void nof_rndv_abort_rx(struct nof_nic *nic, struct nof_peer *peer, uint64_t handle, int status);

#endif
