/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the guard knows of receives that a host may serve as well (nof/claim.h): one that the NIC has not won gets no byte and no
 * message, whenever its host takes it, and one that its host has taken ends with its CANCEL. */
#ifndef NOF_TESTS_FUZZ_GUARD_CLAIM_H
#define NOF_TESTS_FUZZ_GUARD_CLAIM_H

#include "guard.h"

#define GUARD_CLAIMS 6u /* words of a rank that are used */

/* op, a RECV or MPROBE that was not posted yet, is one of these; false: all words are in use. */
bool guard_claim_open(struct guard *g, struct guard_op *op);
/* Its host takes it, if the NIC has not won: true. message: it has given it one, else it cancels. */
bool guard_claim_take(struct guard *g, struct guard_op *op, bool message);
/* The CANCELs of those that were taken. */
void guard_claim_cancel(struct guard *g, unsigned rank);
/* May the NIC move bytes of it, or say that it has a message? */
bool guard_claim_is_won(const struct guard_op *op);
/* It ends with this completion, or with that of its CANCEL. True: it waits for the other one. */
bool guard_claim_end(const struct guard *g, struct guard_op *op, const struct nof_comp *c);
void guard_claim_cancelled(const struct guard *g, const struct guard_op *op, const struct nof_comp *c);

/* For guard_watch. */
void guard_claim_comes(void *ctx, unsigned rank, uint32_t slot, uint32_t generation);
void guard_claim_done(void *ctx, unsigned rank, uint32_t slot, uint32_t generation, bool won);

#endif
