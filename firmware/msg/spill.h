/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spill mode (nof/desc.h, "Spill"): what of matching the library does when a bound of the NIC is
 * reached, and what of a message it is handed.
 *
 * Every event (a SPILL, a NOF_ENOMATCH answer) is put on the endpoint's completion queue at the
 * moment at which it happens, and the library replays them in that order. So nothing may wait here:
 * a payload that has neither room in the completion nor a staging slot stays in network memory as a
 * HELD message, charged to the byte credit of its flow, while its envelope goes to the library and
 * the envelope credit back to the sender. A sender without byte credit sends RTS, whose payload
 * stays with it. Neither the order of events nor progress depends on the library releasing slots. */
#ifndef NOF_SPILL_H
#define NOF_SPILL_H

#include "msg/eager.h"
#include "nic.h"

void nof_spill_enter(struct nof_endpoint *ep);
/* Hand an arriving message to the library. NOF_OK or NOF_EPROTO. */
int nof_spill_arrive(struct nof_nic *nic, struct nof_peer *peer, const struct nof_arrival *a);
/* NOF_AGREED_NO_MORE: ends the receive that waits for it in the library with NOF_EDISAGREE, and is nothing where none does. */
int nof_spill_last_word(struct nof_nic *nic, struct nof_peer *peer, const struct nof_arrival *a);
/* A waiting probe, no longer posted, goes to the library's matcher. */
void nof_spill_probe(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r);
/* The SPILL_END descriptor: NOF_OK or NOF_EAGAIN. */
int nof_spill_end(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc);
/* Does a PULL with this handle stay until its sender's host has done something? Else what it wants is here, or it tells a synchronous
 * sender. */
bool nof_spill_waits(uint64_t handle);
/* The PULL descriptor, with flags and handle; r has buffer, key and cookie, `len` bytes were announced. */
void nof_spill_pull(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r, uint8_t flags,
                    uint64_t handle, uint64_t len);
/* The message of a SPILL was taken back by its sender: what we still hold of it is freed. `handle` is
 * the SPILL's, whatever it names. */
void nof_spill_forget(struct nof_nic *nic, const struct nof_endpoint *ep, const struct nof_peer *peer,
                      uint64_t handle);

#endif
