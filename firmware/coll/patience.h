/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules that wait: for whom, and for how long at most (feature coll_patience_ms, 0: for ever). A rank that lives and does not call
 * may take as long as it likes; who would rather have an error says so.
 *
 * Budget: a look at all runs, four times in a patience, and nothing without one. */
#ifndef NOF_PATIENCE_H
#define NOF_PATIENCE_H

#include "nic.h"

/* The feature was set, or not. */
void nof_patience_set(struct nof_nic *nic);
/* The time has come: runs of which nothing has moved for longer than that fail. */
void nof_patience_run(struct nof_nic *nic);

#endif
