/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shows an endpoint's receive calls to its predictor, in call order and with full message ids.
 *
 *   call()     a receive of the program was posted, or found its message in the store
 *   matched()  a posted one with a wildcard has found its message: now it has an id
 *   gone()     a posted one was taken out of the tables otherwise (cancelled, its source died)
 *   hint()     NOF_DESC_HINT: where the next call will come from
 *
 * A call that comes after a wildcard that has not matched yet waits behind it, so that the order in which
 * messages happen to arrive does not blur the order of the calls. A wildcard that NOF_WATCH_WAITING later calls
 * overtake is not learnt.
 *
 * An endpoint whose receives cannot be foretold costs nothing to speak of: when fewer than a quarter of a
 * window of calls were hits, the predictor sleeps, for longer each time (NOF_WATCH_SLEEP_MIN to _MAX calls),
 * and then looks at one more window. A window is as long as the history, and so as the longest cycle.
 *
 * Memory: one of these and one predictor per endpoint, in the arena. Off: nof_endpoint.watch is NULL, which
 * is all that the callers ask. */
#ifndef NOF_RECV_WATCH_H
#define NOF_RECV_WATCH_H

#include "nic.h"
#include "recv_predictor.h"

#define NOF_WATCH_WAITING 16u
#define NOF_WATCH_WINDOW_MIN 256u
#define NOF_WATCH_SLEEP_MIN 4096u
#define NOF_WATCH_SLEEP_MAX 131072u

enum nof_watch_state { NOF_WATCH_READY, NOF_WATCH_WILD, NOF_WATCH_GONE };

struct nof_watch_call {
    struct nof_message_id id; /* READY */
    uint32_t recv; /* WILD */
    uint64_t callsite;
    uint64_t state; /* enum nof_watch_state */
};

struct nof_watch {
    struct nof_recv_predictor *predictor;
    uint32_t asleep; /* calls to let pass */
    uint32_t sleep; /* how many it will be next time */
    uint32_t window_calls;
    uint32_t window; /* calls left of this one */
    uint32_t window_hits;
    uint32_t head, count; /* of `waiting` */
    struct nof_watch_call waiting[NOF_WATCH_WAITING];
};

/* Bytes per endpoint, for nof_nic_config.predict_calls. */
size_t nof_watch_mem_size(uint32_t calls);
/* Begin (anew), go on or end watching, as the feature says. */
void nof_watch_set(struct nof_nic *nic, struct nof_endpoint *ep);

/* nof_watch_call() of a call that the predictor is awake for. */
void nof_watch_learn(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_match_key *key,
                     uint64_t callsite, uint32_t recv);

/* recv: index of the posted receive if the key has a wildcard. callsite 0: the library's own, not shown. The
 * endpoint is watched. */
static inline void nof_watch_call(struct nof_nic *nic, struct nof_endpoint *ep,
                                  const struct nof_match_key *key, uint64_t callsite, uint32_t recv)
{
    if (callsite == 0)
        return;
    nof_count(nic, ep, NOF_C_PREDICT_CALLS, 1);
    if (ep->watch->asleep > 0)
        ep->watch->asleep--;
    else
        nof_watch_learn(nic, ep, key, callsite, recv);
}

void nof_watch_matched(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t recv,
                       const struct nof_match_key *key);
void nof_watch_gone(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t recv);
void nof_watch_hint(struct nof_endpoint *ep, uint64_t callsite);

/* The next receives of this endpoint, as nof_recv_predictor_predict(). Not watched: 0. */
uint32_t nof_watch_predict(const struct nof_endpoint *ep, uint32_t k, struct nof_message_id *out);

#endif
