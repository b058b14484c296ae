/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stored messages: where the bytes of a message lie that has no place at its host yet. This file alone knows:
 *
 *   in blocks   of network memory, behind the message's struct nof_stored (netmem.h)
 *   in a line   of the staging area, near the receive that is expected; its blocks wait, empty, so that replacement
 *               always succeeds: what makes room is written back to them
 *   packed      in the blocks, compressed, frame by frame as they came
 *
 * Elsewhere lie: a few bytes, in their envelope (unexpected.c); what a rendezvous brings that was granted early, in the
 * blocks reserved for it (gather.h); what the host took (spill.h); an announced message, at its sender.
 *
 *   begin() -> put() per piece ... -> the receive reads it (open() first), or discard()
 *
 * Who wants a message near, or left packed, is policy (early.h, defer.h). The chunks of a grant decode in the order of
 * their arrival only: its packed messages are a queue, open() decodes all that are before the one that is asked for, and
 * flush() all, before a chunk behind them is decoded and before the grant's predictor is given up. docs/STAGING.md is
 * normative. */
#ifndef NOF_STORED_H
#define NOF_STORED_H

#include "nic.h"

#define NOF_RECORD_BYTES 2u /* packed: before each frame's payload, its length */

/* One envelope and the first piece of its payload. */
struct nof_arrival {
    struct nof_match_key key;
    uint64_t len;
    uint64_t handle;
    const uint8_t *payload;
    uint32_t payload_bytes;
    uint32_t blocks; /* charged */
    uint8_t flags; /* enum nof_env_flag */
    uint8_t lent;
    uint8_t agreed; /* desc.h */
    uint8_t unit_log2; /* RTS of a delta send; else 0 */
};

/* A chain for this message, in blocks, without its first piece; NOF_NIL: no blocks. Further pieces come to it. */
uint32_t nof_stored_begin(struct nof_nic *nic, struct nof_peer *peer, const struct nof_arrival *a,
                          uint8_t owner_kind, uint32_t owner);
/* n more bytes, wherever they belong; while nic->grants.deferring is a frame, that frame, which stands for n bytes.
 * False: what came before did not decode, and the message is gone. */
bool nof_stored_put(struct nof_nic *nic, uint32_t chain, const uint8_t *data, uint32_t n);
/* Decode it if it is packed, and those before it. NOF_OK, or NOF_EPROTO: it did not decode; its envelope says so, and
 * the chain has been freed. */
int nof_stored_open(struct nof_nic *nic, uint32_t chain);
/* Decode all packed messages of a grant. */
void nof_stored_flush(struct nof_nic *nic, struct nof_grant *ch);
/* Bytes that the blocks of a stored message hold. */
uint32_t nof_stored_capacity(const struct nof_stored *st);

/* Free it, wherever it lies; nobody will get it. discard: what is still to come of it is thrown away, too. */
void nof_stored_drop(struct nof_nic *nic, uint32_t chain);
void nof_stored_discard(struct nof_nic *nic, uint32_t chain);

/* A line for a message of this key and length that receive number `due` will take, if need be in the place of others
 * that are wanted later; or NOF_STAGE_NONE. network: NOF_REF_ENV and a chain, or NOF_REF_RECV and a receive that
 * is granted early. */
uint32_t nof_stored_line(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_match_key *key,
                         uint32_t network, uint64_t len, uint64_t due);
/* A message that lies in blocks goes into this line. */
void nof_stored_bring(struct nof_nic *nic, uint32_t chain, uint32_t line);
/* Could e, which can be matched, be brought nearer than it is? Where nothing could, nobody asks what is expected. */
void nof_stored_note(struct nof_nic *nic, struct nof_env *e);

#endif
