/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Claims: who serves a receive that two matchers know. A receive from any source, in a communicator some of whose members
 * are reached by the NIC and others by memory of this host, is posted in the NIC and in the host's own store, and one word
 * decides: whoever changes it from OPEN has the receive, and the other one leaves it alone.
 *
 *   host   a free slot: writes {generation, OPEN}, then submits RECV or MPROBE with NOF_DESC_F_CLAIM and that handle
 *   NIC    before anything that the receive, the sender or the predictor of early messages could see of a match:
 *          {generation, OPEN} -> {generation, NIC}. Not so: the receive is not the NIC's; the message goes to the next
 *          receive that it fits, or stays in the store, and the receive waits, posted nowhere, for its CANCEL
 *   host   a message of its own: {generation, OPEN} -> {generation, HOST}, then CANCEL, with NOF_DESC_F_TAKEN, peer and tag
 *          if the program has got a message (else it has cancelled the receive), ahead of what it posts next
 *
 * Of all receives that are submitted the NIC posts NOF_CLAIM_SLOTS / 2 at most, and spills when there is one more: a host that waits for
 * a free slot waits for no message.
 *
 * The slot is free again, and its next generation another, when the receive has its completion, or its CANCEL has one.
 *
 * The words lie in the part of the BAR that the host writes (nof_bar_identity.claim_offset). The host writes any of its own
 * as it likes. The NIC reads and writes one of them only in that one exchange, and believes none: what stands there decides
 * which of its own receives a rank gets a message with, and nothing else. Whoever lies waits for messages that it has put
 * away.
 *
 * Threads: the host's under its own lock; the NIC's core. Both use nof_claim_take() alone once a receive is submitted. */
#ifndef NOF_CLAIM_H
#define NOF_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

/* Receives of one endpoint that may be claimed at a time, those that wait for their CANCEL included. So many may one
 * message have to pass over, at most. */
#define NOF_CLAIM_SLOTS 256u

enum nof_claim_state {
    NOF_CLAIM_SHUT = 0, /* nobody's; fresh memory */
    NOF_CLAIM_OPEN = 1,
    NOF_CLAIM_NIC = 2,
    NOF_CLAIM_HOST = 3,
};

struct nof_claim_words {
    uint64_t word[NOF_CLAIM_SLOTS]; /* nof_claim_word() */
};

static inline uint64_t nof_claim_word(uint32_t generation, enum nof_claim_state state)
{
    return (uint64_t)generation << 32 | (uint64_t)state;
}

/* nof_desc.handle of a RECV or MPROBE with NOF_DESC_F_CLAIM. */
static inline uint64_t nof_claim_handle(uint32_t slot, uint32_t generation)
{
    return (uint64_t)generation << 32 | slot;
}

static inline uint32_t nof_claim_slot(uint64_t handle)
{
    return (uint32_t)handle;
}

static inline uint32_t nof_claim_generation(uint64_t handle)
{
    return (uint32_t)(handle >> 32);
}

/* OPEN of this generation becomes `state`: true; it was something else: false, and nothing has changed. */
static inline bool nof_claim_take(uint64_t *word, uint32_t generation, enum nof_claim_state state)
{
    uint64_t open = nof_claim_word(generation, NOF_CLAIM_OPEN);
    return __atomic_compare_exchange_n(word, &open, nof_claim_word(generation, state), false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

#endif
