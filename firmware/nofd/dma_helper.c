/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The core's side of the helpers: who copies what, and what happens when one does not come back. */
#include "dma_helper_private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "core.h"
#include "daemon.h"
#include "log.h"

/* A copy of 64 KiB takes microseconds; a helper that was not scheduled on a busy machine comes back
 * within some tens of milliseconds. */
#define STUCK_NS (50 * NOFD_MS)

static uint32_t load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static bool helper_dead(const struct nofd_dma_helper *helper)
{
    return __atomic_load_n(&helper->life, __ATOMIC_ACQUIRE) == NOFD_HELPER_DEAD;
}

static struct nofd_dma_slot *slot_at(struct nofd_dma_helper *helper, uint32_t i)
{
    return &helper->slots[i % NOFD_DMA_SLOTS];
}

static void ask_for_helper(struct nofd_dma_pool *pool)
{
    if (__atomic_exchange_n(&pool->wants_helper, 1, __ATOMIC_ACQ_REL) == 0)
        nofd_core_tell_main(pool->core);
}

/* The least loaded helper with a free slot; asks for one more when there is none. */
static struct nofd_dma_helper *choose(struct nofd_dma_pool *pool)
{
    struct nofd_dma_helper *best = NULL;
    uint32_t best_load = NOFD_DMA_SLOTS;
    unsigned healthy = 0;

    for (unsigned i = 0; i < pool->nhelpers; i++) {
        struct nofd_dma_helper *helper = pool->helpers[i];
        uint32_t queued = helper->posted - helper->retired;

        if (helper->stuck || helper_dead(helper))
            continue;
        healthy++;
        if (queued < best_load) {
            best = helper;
            best_load = queued;
        }
    }
    if (best == NULL && healthy < pool->normal_helpers && pool->nhelpers < NOFD_DMA_HELPERS_MAX)
        ask_for_helper(pool);
    return best;
}

/* The next slot of a helper that has one; published by post(). */
static struct nofd_dma_slot *next_slot(struct nofd_dma_helper *helper)
{
    return slot_at(helper, helper->posted);
}

static void post(struct nofd_dma_helper *helper, uint64_t now_ns)
{
    if (helper->posted == helper->retired)
        helper->head_since_ns = now_ns;
    __atomic_store_n(&next_slot(helper)->state, NOFD_SLOT_QUEUED, __ATOMIC_RELAXED);
    __atomic_store_n(&helper->posted, helper->posted + 1, __ATOMIC_RELEASE);
    nofd_dma_helper_ring(helper);
}

static bool has_room(const struct nofd_dma_helper *helper)
{
    return helper->posted - helper->retired < NOFD_DMA_SLOTS;
}

/* No helper for this request: try later, but not for ever. */
static int starve(struct nofd_dma_pool *pool)
{
    uint64_t now_ns = pool->core->now_ns;

    if (pool->starved_since_ns == 0)
        pool->starved_since_ns = now_ns;
    return now_ns - pool->starved_since_ns > pool->timeout_ns ? NOF_EFAULT : NOF_EAGAIN;
}

static bool blocked_by_other(struct nofd_dma_helper *helper, const struct nofd_endpoint *ep)
{
    return helper->stuck && slot_at(helper, helper->retired)->ep != ep;
}

static int copy_by_helper(struct nofd_endpoint *ep, bool write, const struct nof_segment *remote,
                          unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    struct nofd_dma_pool *pool = ep->pool;
    struct nofd_dma_helper *helper = ep->helper;
    struct nofd_dma_slot *slot;

    if (nremote > NOF_DMA_SEGMENTS_MAX || nlocal > NOF_DMA_SEGMENTS_MAX)
        return NOF_EINVAL;
    if (helper == NULL || helper_dead(helper) || blocked_by_other(helper, ep)) {
        helper = choose(pool);
        if (helper == NULL)
            return starve(pool);
        ep->helper = helper;
    }
    if (!has_room(helper))
        return NOF_EAGAIN;
    pool->starved_since_ns = 0;
    slot = next_slot(helper);
    slot->write = write;
    slot->pid = ep->pid;
    slot->nremote = nremote;
    slot->nlocal = nlocal;
    slot->token = token;
    slot->queued_ns = pool->core->now_ns;
    slot->ep = ep;
    memcpy(slot->remote, remote, nremote * sizeof(*remote));
    memcpy(slot->local, local, nlocal * sizeof(*local));
    post(helper, pool->core->now_ns);
    return NOF_DMA_PENDING;
}

const struct nofd_dma_ops nofd_dma_helpers = {
    .name = "helper",
    .is_inline = false,
    .reads_sum = true,
    .copy = copy_by_helper,
};

static void finish(struct nofd_core *core, const struct nofd_dma_slot *slot, int status)
{
    slot->ep->dma_pending--;
    nof_nic_dma_done(slot->ep->nic->nic, core->now_ns, slot->token, status);
}

/* Slots that the helper has passed, in order. */
static unsigned retire(struct nofd_core *core, struct nofd_dma_helper *helper)
{
    uint32_t taken = load(&helper->taken);
    unsigned n = 0;

    while (helper->retired != taken) {
        struct nofd_dma_slot *slot = slot_at(helper, helper->retired);
        uint32_t state = load(&slot->state);

        if (state == NOFD_SLOT_STOLEN)
            break;
        if (state == NOFD_SLOT_DONE)
            finish(core, slot, slot->status);
        helper->retired++;
        n++;
    }
    if (n > 0)
        helper->head_since_ns = core->now_ns;
    if (n > 0 || helper->retired != taken)
        helper->stuck =
            false; /* it was not scheduled, and passes what was stolen meanwhile: it may have that again */
    return n;
}

/* Takes back what a stuck helper has not claimed, but not from the endpoint that blocks it; from a
 * dead one all. */
static void steal(struct nofd_dma_pool *pool, struct nofd_dma_helper *helper, bool dead)
{
    const struct nofd_endpoint *blocked = NULL;

    if (!dead && load(&slot_at(helper, helper->retired)->state) == NOFD_SLOT_CLAIMED)
        blocked = slot_at(helper, helper->retired)->ep;
    for (uint32_t i = helper->retired; i != helper->posted; i++) {
        struct nofd_dma_slot *slot = slot_at(helper, i);
        uint32_t queued = NOFD_SLOT_QUEUED;

        /* Of a slot that was given away the endpoint may be gone: only those still QUEUED. */
        if (load(&slot->state) != NOFD_SLOT_QUEUED || slot->ep == blocked ||
            !__atomic_compare_exchange_n(&slot->state, &queued, NOFD_SLOT_STOLEN, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE))
            continue;
        pool->nstolen++;
        if (slot->ep->helper == helper)
            slot->ep->helper = NULL;
    }
}

/* The helper of an endpoint for a stolen slot; NULL while there is none. */
static struct nofd_dma_helper *other_helper(struct nofd_dma_pool *pool, struct nofd_endpoint *ep)
{
    struct nofd_dma_helper *helper = ep->helper;

    if (helper == NULL || helper_dead(helper) || helper->stuck) {
        helper = choose(pool);
        if (helper == NULL)
            return NULL;
        ep->helper = helper;
    }
    return has_room(helper) ? helper : NULL;
}

/* Gives stolen slots to others; one that waits longer than the timeout ends with an error. */
static void give_stolen(struct nofd_core *core, struct nofd_dma_pool *pool, struct nofd_dma_helper *from)
{
    for (uint32_t i = from->retired; i != from->posted && pool->nstolen > 0; i++) {
        struct nofd_dma_slot *slot = slot_at(from, i);
        struct nofd_dma_helper *to;

        if (load(&slot->state) != NOFD_SLOT_STOLEN)
            continue;
        to = other_helper(pool, slot->ep);
        if (to == NULL && core->now_ns - slot->queued_ns <= pool->timeout_ns)
            continue;
        if (to == NULL) {
            finish(core, slot, NOF_EFAULT);
        } else {
            struct nofd_dma_slot *copy = next_slot(to);

            *copy = *slot;
            post(to, core->now_ns);
        }
        __atomic_store_n(&slot->state, NOFD_SLOT_SKIP, __ATOMIC_RELEASE);
        pool->nstolen--;
    }
}

/* A dead helper passes no slot any more: what it had claimed is lost, the rest is given away. */
static void bury(struct nofd_core *core, struct nofd_dma_pool *pool, unsigned i)
{
    struct nofd_dma_helper *helper = pool->helpers[i];

    steal(pool, helper, true);
    give_stolen(core, pool, helper);
    while (helper->retired != helper->posted) {
        struct nofd_dma_slot *slot = slot_at(helper, helper->retired);
        uint32_t state = load(&slot->state);

        if (state == NOFD_SLOT_STOLEN)
            return;
        if (state == NOFD_SLOT_DONE)
            finish(core, slot, slot->status);
        else if (state == NOFD_SLOT_CLAIMED)
            finish(core, slot, NOF_EFAULT);
        helper->retired++;
    }
    for (unsigned j = 0; j < core->nnics; j++)
        for (unsigned k = 0; k < core->nics[j]->nlive; k++)
            if (core->nics[j]->live[k]->helper == helper)
                core->nics[j]->live[k]->helper = NULL;
    if (__atomic_load_n(&pool->dead, __ATOMIC_ACQUIRE) != NULL)
        return; /* main has not yet taken the last one */
    pool->helpers[i] = pool->helpers[--pool->nhelpers];
    __atomic_store_n(&pool->dead, helper, __ATOMIC_RELEASE);
    nofd_core_tell_main(core);
}

static void watch_helper(struct nofd_core *core, struct nofd_dma_pool *pool, struct nofd_dma_helper *helper)
{
    struct nofd_dma_slot *head = slot_at(helper, helper->retired);
    uint64_t waited_ns = core->now_ns - helper->head_since_ns;

    if (helper->posted == helper->retired || load(&helper->taken) != helper->retired || waited_ns < STUCK_NS)
        return;
    if (!helper->stuck) {
        helper->stuck = true;
        steal(pool, helper, false);
    }
    if (waited_ns > pool->timeout_ns && load(&head->state) == NOFD_SLOT_CLAIMED && head->ep->doomed == 0) {
        nofd_warning("%s: memory of rank %u (pid %d) blocks its DMA for %u ms", head->ep->nic->name,
                     head->ep->rank, (int)head->ep->pid, (unsigned)(waited_ns / NOFD_MS));
        nofd_nic_doom(head->ep->nic, head->ep, NOF_EFAULT);
    }
}

static unsigned pool_turn(struct nofd_core *core, struct nofd_dma_pool *pool)
{
    unsigned n = 0;

    for (unsigned i = pool->nhelpers; i > 0; i--) {
        struct nofd_dma_helper *helper = pool->helpers[i - 1];

        n += retire(core, helper);
        if (helper_dead(helper)) {
            bury(core, pool, i - 1);
            n++;
            continue;
        }
        watch_helper(core, pool, helper);
        if (pool->nstolen > 0)
            give_stolen(core, pool, helper);
    }
    return n;
}

unsigned nofd_dma_pools_turn(struct nofd_core *core)
{
    unsigned n = 0;

    for (unsigned i = 0; i < core->npools; i++)
        n += pool_turn(core, core->pools[i]);
    return n;
}

void nofd_dma_pools_stalled(struct nofd_core *core, uint64_t stalled_ns)
{
    for (unsigned i = 0; i < core->npools; i++) {
        struct nofd_dma_pool *pool = core->pools[i];

        if (pool->starved_since_ns != 0)
            pool->starved_since_ns += stalled_ns;
        for (unsigned j = 0; j < pool->nhelpers; j++) {
            struct nofd_dma_helper *helper = pool->helpers[j];

            helper->head_since_ns += stalled_ns;
            for (uint32_t k = helper->retired; k != helper->posted; k++)
                slot_at(helper, k)->queued_ns += stalled_ns;
        }
    }
}

bool nofd_dma_pools_ready(const struct nofd_core *core)
{
    for (unsigned i = 0; i < core->npools; i++) {
        const struct nofd_dma_pool *pool = core->pools[i];

        for (unsigned j = 0; j < pool->nhelpers; j++)
            if (load(&pool->helpers[j]->taken) != pool->helpers[j]->retired || helper_dead(pool->helpers[j]))
                return true;
    }
    return false;
}

uint64_t nofd_dma_pools_deadline(const struct nofd_core *core)
{
    for (unsigned i = 0; i < core->npools; i++)
        for (unsigned j = 0; j < core->pools[i]->nhelpers; j++)
            if (core->pools[i]->helpers[j]->posted != core->pools[i]->helpers[j]->retired)
                return core->now_ns + STUCK_NS / 2;
    return UINT64_MAX;
}

/* --- main thread ---------------------------------------------------------------------------------- */

static void add_pool(struct nofd_core *core, void *arg)
{
    core->pools[core->npools++] = arg;
}

static void remove_pool(struct nofd_core *core, void *arg)
{
    for (unsigned i = 0; i < core->npools; i++) {
        if (core->pools[i] != arg)
            continue;
        core->pools[i] = core->pools[--core->npools];
        return;
    }
}

struct nofd_dma_pool *nofd_dma_pool_open(struct nofd *d, struct nofd_core *core, uid_t uid, gid_t gid)
{
    struct nofd_dma_pool *pool;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    /* The array changes only by calls of this thread. */
    for (unsigned i = 0; i < core->npools; i++) {
        pool = core->pools[i];
        if (pool->uid == uid && pool->gid == gid) {
            pool->references++;
            return pool;
        }
    }
    if (core->npools == NOFD_CORE_POOLS_MAX)
        return NULL;
    pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return NULL;
    pool->core = core;
    pool->uid = uid;
    pool->gid = gid;
    pool->timeout_ns = d->options.dma_timeout_ns;
    pool->normal_helpers = cpus >= 8 ? (unsigned)cpus / 4 : 1;
    pool->references = 1;
    pool->helpers[0] = nofd_dma_helper_start(pool);
    pool->nhelpers = 1;
    if (pool->helpers[0] == NULL) {
        free(pool);
        return NULL;
    }
    nofd_call(d, core, add_pool, pool);
    return pool;
}

void nofd_dma_pool_close(struct nofd *d, struct nofd_dma_pool *pool)
{
    if (--pool->references > 0)
        return;
    nofd_call(d, pool->core, remove_pool, pool);
    for (unsigned i = 0; i < pool->nhelpers; i++)
        nofd_dma_helper_put(pool->helpers[i]);
    if (pool->dead != NULL)
        nofd_dma_helper_put(pool->dead);
    free(pool);
}

struct added {
    struct nofd_dma_pool *pool;
    struct nofd_dma_helper *helper;
};

static void add_helper(struct nofd_core *core, void *arg)
{
    struct added *added = arg;

    (void)core;
    if (added->pool->nhelpers == NOFD_DMA_HELPERS_MAX)
        return;
    added->pool->helpers[added->pool->nhelpers++] = added->helper;
    added->helper = NULL;
}

void nofd_dma_pool_look(struct nofd *d, struct nofd_dma_pool *pool)
{
    struct added added = {.pool = pool};
    struct nofd_dma_helper *dead = __atomic_exchange_n(&pool->dead, NULL, __ATOMIC_ACQ_REL);

    if (dead != NULL)
        nofd_dma_helper_put(dead);
    if (__atomic_load_n(&pool->wants_helper, __ATOMIC_ACQUIRE) == 0)
        return;
    added.helper = nofd_dma_helper_start(pool);
    if (added.helper != NULL)
        nofd_call(d, pool->core, add_helper, &added);
    if (added.helper != NULL)
        nofd_dma_helper_put(added.helper);
    __atomic_store_n(&pool->wants_helper, 0, __ATOMIC_RELEASE);
}

unsigned nofd_dma_pool_helpers(const struct nofd_dma_pool *pool)
{
    return pool->nhelpers;
}
