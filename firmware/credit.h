/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Credit of the flows that come to us: how many envelopes and how many network memory blocks a
 * sender may use before it hears from us again. Running totals: `announced` to the sender, `seq` and
 * `rx_blocks_used` arrived, `freed` no longer stored.
 *
 * Every flow has its initial credit for life; a second half of both pools is lent to flows that
 * are in use, each getting at most an eighth of what is free. Invariant: the sum over all flows of
 * max(initial, announced - freed) never exceeds the pools, so what a peer sends within its credit
 * always finds room. */
#ifndef NOF_CREDIT_H
#define NOF_CREDIT_H

#include "nic.h"

/* Stored envelopes and blocks are free again. */
void nof_credit_free(struct nof_nic *nic, struct nof_peer *peer, uint32_t msgs, uint32_t blocks);
/* Announce more if the sender has used half of what it had. */
void nof_credit_update(struct nof_nic *nic, struct nof_peer *peer);
/* The sender is gone: what it has not used goes back. */
void nof_credit_cancel(struct nof_nic *nic, struct nof_peer *peer);
/* Should unexpected messages of this flow be spilled, to keep room for those that are wanted? */
int nof_credit_tight(const struct nof_peer *peer);
/* The fields of a CREDIT frame. */
void nof_credit_fill(const struct nof_peer *peer, uint8_t *fields);
/* A CREDIT frame has come. NOF_OK or NOF_EPROTO. */
int nof_credit_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view);

#endif
