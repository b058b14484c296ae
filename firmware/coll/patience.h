/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules that wait: for whom, and for how long at most (feature coll_patience_ms, 0: for ever). A rank that lives and does not call
 * may take as long as it likes; who would rather have an error says so. And runs that have failed and whose sends still read the
 * rank's memory: the host hears of the failure when they have ended, but not later than 100 ms on, because the end of a message
 * may be up to another host (who copies for its NIC, say, and computes), and a death has to be told within a second.
 *
 * Budget: a look at all runs, four times in a patience and once in a failure that waits, and nothing without these. */
#ifndef NOF_PATIENCE_H
#define NOF_PATIENCE_H

#include "nic.h"

#define NOF_PATIENCE_SENDS_NS 100000000u

/* A run has failed, and nothing but its sends is under way: does its host wait for them? It is driven again when it need not. */
static inline bool nof_patience_sends(struct nof_nic *nic, struct nof_drive *d)
{
    if (d->sends > 0 && d->sends_until_ns == 0) {
        d->sends_until_ns = nic->now_ns + NOF_PATIENCE_SENDS_NS;
        if (d->sends_until_ns < nic->patience_at_ns)
            nic->patience_at_ns = d->sends_until_ns;
    }
    return d->sends > 0 && nic->now_ns < d->sends_until_ns;
}
/* The feature was set, or not. */
void nof_patience_set(struct nof_nic *nic);
/* The time has come: runs of which nothing has moved for longer than that fail, and hosts have waited for sends for long enough. */
void nof_patience_run(struct nof_nic *nic);
/* This core was not scheduled for so long: what has come meanwhile it has not seen, and nobody is to blame for that. */
void nof_patience_stalled(struct nof_nic *nic, uint64_t stalled_ns);

#endif
