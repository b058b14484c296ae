/* SPDX-License-Identifier: BSD-3-Clause */
/* For how long a collective has waited while nobody of ours was to blame: what coll_patience_ms is held against.
 *
 *   moved = true        when something has come
 *   nof_waited_look()   when somebody looks: begins anew if something has
 *   nof_waited_excuse() time in which this process itself did not look
 *   nof_waited_ns()     the wait, without the time in which the NIC did not run
 *
 * A value of the caller's; all times are of one clock, and no excuse moves the beginning beyond the present. */
#ifndef NOF_MPI_WAITED_H
#define NOF_MPI_WAITED_H

#include <stdbool.h>
#include <stdint.h>

struct nof_waited {
    uint64_t since_ns; /* 0: nobody has looked */
    uint32_t away_ms; /* of the NIC, when somebody looked */
    bool moved; /* since then */
};

static inline void nof_waited_look(struct nof_waited *p, uint64_t now_ns)
{
    if (p->moved || p->since_ns == 0)
        p->since_ns = now_ns;
    p->moved = false;
}

static inline void nof_waited_excuse(struct nof_waited *p, uint64_t absent_ns, uint64_t now_ns)
{
    if (p->since_ns != 0)
        p->since_ns = p->since_ns + absent_ns < now_ns ? p->since_ns + absent_ns : now_ns;
}

/* away_ms: for how long in all the NIC did not run, as the BAR has it; it wraps. */
static inline uint64_t nof_waited_ns(struct nof_waited *p, uint32_t away_ms, uint64_t now_ns)
{
    nof_waited_excuse(p, (uint32_t)(away_ms - p->away_ms) * 1000000ull, now_ns);
    p->away_ms = away_ms;
    return now_ns - p->since_ns;
}

#endif
