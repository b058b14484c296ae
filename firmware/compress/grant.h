/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Grants: what a receiver gives a sender so that payload of the flow between them, in this direction, travels
 * compressed: a predictor at each end. Bytes: docs/WIRE.md, "Compression".
 *
 *   sender (grant_tx.c)                               receiver (grant_rx.c)
 *   first large message: ASK            ------------>   owns the budget: a table of cfg.max_predictors
 *   READY                               <------------   GRANT (slot, epoch, table) or REFUSED; until then raw
 *   pack.c: read a block, encode()
 *           frame by frame              ------------>   nof_grant_open_chunk(): decode() on arrival, in the order
 *                                                       of the path
 *                                       <------------   REVOKE: the slot is wanted for a busier flow, or a chunk
 *                                                       did not decode
 *   END, in order behind the last chunk ------------>   the slot is free
 *
 * Both ends see the same chunks of an epoch in the same order, because a path is reliable and in order and a chunk
 * is encoded just before it leaves. A flow that dies takes its grant with it. A predictor that was not used for
 * cfg.predictor_idle_ns may be taken for another flow, the least recently used one first; a sender that does not
 * answer REVOKE loses it all the same after REVOKE_PATIENCE, and what it sends by it then does not decode.
 *
 * Memory: the NIC's arena; a table is not touched before it is granted. Threads: the NIC core.
 * Source: docs/SOURCES.md, compression, sections 2.2 and 2.4. */
#ifndef NOF_GRANT_H
#define NOF_GRANT_H

#include "nic.h"

/* Compression was switched or its threshold moved: nothing is asked for, ended or forgotten. */
void nof_grants_set(struct nof_nic *nic);
/* What came in that time has not been heard: no sender was late with END. */
void nof_grants_stalled(struct nof_nic *nic, uint64_t stalled_ns);
/* Lines of a new predictor, as a power of two: as wished, and as there is room for. */
uint8_t nof_grants_log2(const struct nof_nic *nic);
/* Into the index of a table, and out again. */
void nof_grant_enter(uint16_t *index, struct nof_grant *table, struct nof_grant *ch);
void nof_grant_leave(uint16_t *index, struct nof_grant *table, const struct nof_grant *ch);
/* The flow is gone, and with it its predictors at this end. */
void nof_grant_tx_forget(struct nof_nic *nic, uint32_t peer);
void nof_grant_rx_forget(struct nof_nic *nic, uint32_t peer);

/* Shall payload of this kind be compressed now? The flow's grant if it is there and pays, else NULL: send it as
 * it is. Asks for a predictor when there is none. The flow is open and its link no loop-back. */
struct nof_grant *nof_grant_of_send(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                                    const struct nof_send *s);
/* A rendezvous begins: ask now, so that the grant is here before the CTS. */
void nof_grant_announced(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                         const struct nof_send *s);
/* Will compression of the next `bytes` of this grant be faster than sending them as they are? */
int nof_grant_pays(struct nof_nic *nic, struct nof_grant *ch, uint64_t bytes);
/* The flow's grant, if chunks are to be made on it now, else NULL. */
struct nof_grant *nof_grant_tx(const struct nof_nic *nic, const struct nof_peer *peer);
/* Encode the beginning of in[0, in_bytes) into a prefix and a chunk of at most `room` bytes; returns the bytes put,
 * and in *plain_out how many of the input they stand for, at least one. */
uint32_t nof_grant_encode(struct nof_nic *nic, struct nof_grant *ch, uint8_t elem, const uint8_t *in,
                          uint32_t in_bytes, uint8_t *out, uint32_t room, uint32_t *plain_out);
int nof_grant_given_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view);
int nof_grant_revoke_rx(struct nof_nic *nic, const struct nof_peer *peer, const struct nof_wire_view *view);

int nof_grant_ask_rx(struct nof_nic *nic, struct nof_link *link, const struct nof_peer *peer,
                     const struct nof_wire_view *view);
int nof_grant_end_rx(struct nof_nic *nic, const struct nof_peer *peer, const struct nof_wire_view *view);
/* A frame whose payload is a chunk. NOF_OK: *plain_out is the frame as it would have come without compression; its
 * payload is lent until the end of the burst (nof_grant_burst_end), or until the room for it is used up: what was
 * gathered before is written then. Else the chunk does not decode: the sender is told, the grant is broken, and
 * *plain_out has no payload: its message has to end.
 *
 * Who wants to keep a chunk as it came and decode it later must keep those that follow on the grant, too (they
 * decode in the order of their arrival only), and give the slot up in nof_grant_end_rx() only when all are
 * decoded. All frames pass this function before anything looks at their payload, so it is the place to divert them:
 * the fields of *plain_out are right without decoding, but for payload_bytes, which nof_dfcm_plain_bytes() tells of a
 * coded chunk. */
int nof_grant_open_chunk(struct nof_nic *nic, const struct nof_peer *peer, const struct nof_wire_view *view,
                         struct nof_wire_view *plain_out);
/* Nothing that was gathered points to decoded payload any more. */
static inline void nof_grant_burst_end(struct nof_grants *grants)
{
    grants->plain_used = 0;
}

#endif
