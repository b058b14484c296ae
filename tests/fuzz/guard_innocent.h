/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Job B, whose messages arrive whole and in time whatever job A does. For guard.c. */
#ifndef NOF_TESTS_FUZZ_GUARD_INNOCENT_H
#define NOF_TESTS_FUZZ_GUARD_INNOCENT_H

#include "guard.h"

/* Bytes that nobody else may see. */
void guard_fill_secret(uint8_t *at, size_t bytes);
/* A rank of job B takes this completion. */
void guard_innocent_taken(struct guard *g, unsigned rank, const struct nof_comp *c);
/* A send of it that was parked is wanted. */
void guard_innocent_granted(struct guard *g, struct guard_op *op);
/* What is under way arrives. */
void guard_innocent_settle(struct guard *g, const char *when);

#endif
