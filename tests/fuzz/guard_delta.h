/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the guard knows of delta receives of honest ranks: a unit that a board says to be there was written, once, and nothing
 * is changed after the completion. */
#ifndef NOF_TESTS_FUZZ_GUARD_DELTA_H
#define NOF_TESTS_FUZZ_GUARD_DELTA_H

#include "guard.h"

/* It goes to the core. */
void guard_delta_post(struct guard *g, struct guard_op *op);
/* A request that writes this piece of its buffer is accepted. */
void guard_delta_written(struct guard *g, struct guard_op *op, const struct nof_segment *seg);
/* At any time, but not while the core accounts for a write that has ended. */
void guard_delta_look(struct guard *g);
/* Boards of receives that have ended are as they were. */
void guard_delta_look_back(const struct guard *g);
/* It ends with this completion. */
void guard_delta_end(struct guard *g, const struct guard_op *op, const struct nof_comp *c);

#endif
