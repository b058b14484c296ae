/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One endpoint: a rank's BAR, the firmware core's endpoint behind it, and the connection that keeps
 * both alive.
 *
 *   main:  attach -> BAR -> nofd_nic_attach() (call to the NIC core) -> reply
 *   core:  LIVE ----------- ring fault, endpoint_failed() ---------> FAILED, main is told
 *   main:  socket or process gone, or told -> nofd_nic_detach() (call to the NIC core)
 *   core:  CLOSED until no DMA uses it any more -> GONE, main is told -> main frees it
 *
 * Threads: the first part belongs to the NIC core while the endpoint is LIVE..CLOSED, the second to
 * the main thread; `state` crosses. */
#ifndef NOFD_ENDPOINT_H
#define NOFD_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nof/core.h"

#include "nofd/door/bar_memory.h"
#include "nofd/door/job_segment.h"
#include "nofd/dma/dma.h"
#include "nofd/sys/doom.h"
#include "nofd/sys/loop.h"

struct nofd_nic;
struct nofd_job;
struct nofd_assist;
struct nofd_attach;

enum nofd_endpoint_state {
    NOFD_EP_NEW, /* main's alone */
    NOFD_EP_LIVE,
    NOFD_EP_FAILED, /* closed in the core with `failure`; main must detach */
    NOFD_EP_CLOSED, /* detached; a DMA may still be under way */
    NOFD_EP_GONE, /* main may free it */
};

struct nofd_endpoint {
    /* NIC core. */
    struct rte_ring *submit;
    struct rte_ring *complete;
    uint32_t submit_cons; /* our own indices: the shared ones can be overwritten */
    uint32_t complete_prod;
    uint32_t index; /* of the firmware core */
    uint32_t owed; /* descriptors: what the bytes of earlier bursts have used up of turns to come */
    bool wake_host; /* completions given since the last look whether it sleeps */
    bool arrived; /* likewise arrivals of delta receives, and nof_delta_host.asleep */
    bool complete_full; /* the host must reap before the core can go on */
    bool ring_broken; /* an index was a lie: counted, and never touched again */
    bool told_failed; /* the core gave NOF_COMP_FAILED itself */
    struct nofd_doom doom;
    int failure;
    struct nof_nic_words *nic_words;
    struct nof_host_words *host_words;
    struct nof_segment_bell *bell; /* rung in place of the host words; NULL: it has no slot */
    struct nofd_slot slot; /* its own, which the core may say is gone */
    struct nof_delta_host *delta; /* that the host writes */
    struct nof_claim_words *claims; /* likewise */
    uint64_t *counters;
    struct nofd_nic *nic;
    struct nofd_dma_memory memory; /* the rank's */
    struct nofd_assist *assist; /* NULL unless the DMA goes by the library */

    /* Crosses: enum nofd_endpoint_state, written by the core but for NEW. */
    int state;

    /* Main thread. */
    struct nofd_endpoint *next; /* all endpoints of the daemon */
    struct nofd_bar bar;
    struct nofd_job *job;
    struct nofd_attach *attach; /* NULL once the connection is gone */
    uid_t uid;
    struct nof_card card;
};

static inline int nofd_endpoint_state(const struct nofd_endpoint *ep)
{
    return __atomic_load_n(&ep->state, __ATOMIC_ACQUIRE);
}

static inline void nofd_endpoint_set_state(struct nofd_endpoint *ep, enum nofd_endpoint_state state)
{
    __atomic_store_n(&ep->state, (int)state, __ATOMIC_RELEASE);
}

/* The word in which the library reads a feature by itself; NULL: it reads none of that. */
static inline uint32_t *nofd_endpoint_word(struct nof_nic_words *words, unsigned feature)
{
    if (feature == NOF_F_COLLECTIVES)
        return &words->runs_collectives;
    if (feature == NOF_F_COLL_PATIENCE)
        return &words->coll_patience_ms;
    if (feature == NOF_F_MULTICAST)
        return &words->multicast;
    if (feature == NOF_F_POLLING)
        return &words->polling;
    if (feature == NOF_F_POLL_RATIO)
        return &words->poll_ratio;
    if (feature == NOF_F_CHANNELS)
        return &words->channels;
    return feature == NOF_F_POLL_UPDATE ? &words->poll_update : NULL;
}
/* The value of any feature, which is nobody's here if the library reads it not. */
static inline void nofd_endpoint_tell(struct nofd_endpoint *ep, unsigned feature, uint64_t value)
{
    uint32_t *word = nofd_endpoint_word(ep->nic_words, feature);

    if (word != NULL)
        __atomic_store_n(word, feature == NOF_F_COLLECTIVES ? value == 0 : (uint32_t)value, __ATOMIC_RELAXED);
}

/* Its ranks, too, judge others by time. Before the core takes what they have submitted meanwhile. */
static inline void nofd_endpoint_tell_away(struct nofd_endpoint *ep, uint32_t away_ms)
{
    uint32_t *word = &ep->nic_words->away_ms;

    __atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) + away_ms, __ATOMIC_RELEASE);
}

/* The data path, called by nic_host.c on the NIC core. */

/* Takes what the host submitted and the core has room for. Returns descriptors taken, or 1 for a turn that is owed while
 * some wait: the core must not sleep. */
unsigned nofd_endpoint_take(struct nofd_endpoint *ep, uint64_t now_ns);
/* There is something to take and room for it: do not sleep. */
bool nofd_endpoint_has_work(const struct nofd_endpoint *ep);
/* Up to n completions into the ring; dooms the endpoint when the host's index is a lie. */
unsigned nofd_endpoint_give(struct nofd_endpoint *ep, const struct nof_comp *comps, unsigned n);
/* Free slots of the completion ring, 0 as well when the endpoint was just doomed. */
unsigned nofd_endpoint_give_room(struct nofd_endpoint *ep);
/* Wakes the host if it sleeps; after completions were given. */
void nofd_endpoint_wake(struct nofd_endpoint *ep);
/* Wakes who waits for arrivals of delta receives. */
void nofd_endpoint_wake_waiters(struct nofd_endpoint *ep);

#endif
