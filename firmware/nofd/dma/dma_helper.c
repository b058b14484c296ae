/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The core's side of the helpers: who copies what, and what happens when one does not come back. */
#include "nofd/dma/dma_helper_private.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nof_private/fence.h"

#include "nofd/sys/clock.h"
#include "nofd/dma/dma_copy.h"
#include "nofd/dma/dma_window.h"
#include "nofd/sys/log.h"

/* A copy of 64 KiB takes microseconds; a helper that was not scheduled on a busy machine comes back
 * within some tens of milliseconds. */
#define STUCK_NS (50 * NOFD_MS)
#define TURN_BYTES (256u << 10) /* copied out of windows in one turn of the core */
#define PROBE_BYTES 8u
#define STARVING_NS (100 * NOFD_MS) /* a request that found no helper is made again long before */

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

static struct nofd_dma_order *order_at(const struct nofd_dma_helper *helper, uint32_t i)
{
    return &helper->process.ring->orders[i % NOFD_DMA_SLOTS];
}

static uint32_t bit_of(const struct nofd_dma_helper *helper)
{
    return 1u << helper->number;
}

static bool has_room(const struct nofd_dma_helper *helper)
{
    return helper->posted - helper->retired < NOFD_DMA_SLOTS;
}

static void ask_for_helper(struct nofd_dma_pool *pool)
{
    if (__atomic_exchange_n(&pool->wants_helper, 1, __ATOMIC_ACQ_REL) == 0)
        nofd_lcore_tell_main(pool->lcore);
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
    if (best == NULL && healthy < pool->normal_helpers && pool->nhelpers < NOFD_DMA_HELPERS_MAX &&
        __atomic_load_n(&pool->useless, __ATOMIC_ACQUIRE) == 0)
        ask_for_helper(pool);
    return best;
}

static bool blocked_by_other(struct nofd_dma_helper *helper, const struct nofd_dma_rank *rank)
{
    return helper->stuck && slot_at(helper, helper->retired)->rank != rank;
}

/* NULL: none now. */
static struct nofd_dma_helper *helper_for(struct nofd_dma_rank *rank)
{
    if (rank->helper == NULL || helper_dead(rank->helper) || blocked_by_other(rank->helper, rank))
        rank->helper = choose(rank->pool);
    return rank->helper;
}

/* No helper for this request: try later, but not for ever. */
static int starve(struct nofd_dma_pool *pool)
{
    uint64_t now_ns = pool->lcore->now_ns;

    if (pool->starved_since_ns == 0 || now_ns - pool->starved_last_ns > STARVING_NS)
        pool->starved_since_ns = now_ns; /* who starved before has asked no more: it has left, or ended */
    pool->starved_last_ns = now_ns;
    return now_ns - pool->starved_since_ns > pool->timeout_ns ? NOF_EFAULT : NOF_EAGAIN;
}

static void ring_bell(struct nofd_dma_ring *ring)
{
    nof_fence_full();
    if (__atomic_load_n(&ring->asleep, __ATOMIC_RELAXED) == 0)
        return;
    __atomic_store_n(&ring->asleep, 0, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&ring->bell, 1, __ATOMIC_SEQ_CST);
    (void)syscall(SYS_futex, &ring->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Of a helper with room: its next slot, with a block of its own; given by post(). */
static struct nofd_dma_slot *next_slot(struct nofd_dma_helper *helper, struct nofd_dma_rank *rank,
                                       uint32_t what)
{
    struct nofd_dma_slot *slot = slot_at(helper, helper->posted);

    slot->state = NOFD_SLOT_POSTED;
    slot->what = what;
    slot->block = (uint32_t)__builtin_ctz(helper->free_blocks);
    slot->rank = rank;
    slot->probe = false;
    slot->queued_ns = rank->pool->lcore->now_ns;
    slot->nremote = slot->nlocal = slot->len_bytes = 0;
    return slot;
}

static void set_buffers(struct nofd_dma_slot *slot, const struct nof_segment *remote, unsigned nremote,
                        const struct nof_buf *local, unsigned nlocal)
{
    slot->nremote = nremote;
    slot->nlocal = nlocal;
    memcpy(slot->remote, remote, nremote * sizeof(*remote));
    memcpy(slot->local, local, nlocal * sizeof(*local));
    for (unsigned i = 0; i < nlocal; i++)
        slot->len_bytes += (uint32_t)local[i].len_bytes;
}

static void post(struct nofd_dma_helper *helper, uint64_t now_ns)
{
    struct nofd_dma_slot *slot = slot_at(helper, helper->posted);
    struct nofd_dma_order *order = order_at(helper, helper->posted);

    if (helper->posted == helper->retired)
        helper->head_since_ns = now_ns;
    helper->free_blocks &= ~(1u << slot->block);
    order->what = slot->what;
    order->rank = slot->rank->index;
    order->generation = slot->rank->generation;
    order->pid = slot->rank->pid;
    order->block = slot->block;
    order->len_bytes = slot->len_bytes;
    order->nremote = slot->nremote;
    memcpy(order->remote, slot->remote, slot->nremote * sizeof(slot->remote[0]));
    if (slot->what == NOFD_DMA_WRITE)
        nofd_window_gather(nofd_dma_block(&helper->process, slot->block), slot->local, slot->nlocal);
    __atomic_store_n(&order->state, NOFD_ORDER_QUEUED, __ATOMIC_RELAXED);
    helper->posted++;
    __atomic_store_n(&helper->process.ring->posted, helper->posted, __ATOMIC_RELEASE);
}

/* Whether this helper holds the rank's process; has it open a pidfd if it does not. */
static bool knows(struct nofd_dma_helper *helper, struct nofd_dma_rank *rank)
{
    if ((rank->known_by & bit_of(helper)) != 0)
        return true;
    if ((rank->asked & bit_of(helper)) == 0 && has_room(helper)) {
        (void)next_slot(helper, rank, NOFD_DMA_KNOW);
        post(helper, rank->pool->lcore->now_ns);
        rank->asked |= bit_of(helper);
    }
    return false;
}

static int copy_by_helper(struct nofd_dma_memory *memory, bool write, const struct nof_segment *remote,
                          unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    struct nofd_dma_rank *rank = memory->helped;
    struct nofd_dma_helper *helper;
    struct nofd_dma_slot *slot;

    if (nremote > NOF_DMA_SEGMENTS_MAX || nlocal > NOF_DMA_SEGMENTS_MAX)
        return NOF_EINVAL;
    if (rank->failed != 0)
        return rank->failed;
    helper = helper_for(rank);
    if (helper == NULL)
        return starve(rank->pool);
    rank->pool->starved_since_ns = 0;
    if (!knows(helper, rank) || !has_room(helper))
        return NOF_EAGAIN;
    slot = next_slot(helper, rank, write ? NOFD_DMA_WRITE : NOFD_DMA_READ);
    slot->token = token;
    set_buffers(slot, remote, nremote, local, nlocal);
    post(helper, rank->pool->lcore->now_ns);
    return NOF_DMA_PENDING;
}

const struct nofd_dma_ops nofd_dma_helpers = {
    .name = "helper",
    .is_inline = false,
    .reads_sum = true,
    .copy = copy_by_helper,
};

static void end_probe(struct nofd_dma_rank *rank, int status)
{
    if (rank->probe_wanted) {
        rank->probe_wanted = false;
        rank->pool->nprobes--;
    }
    rank->probe_status = status == NOF_OK && rank->probe_read != rank->probe_value ? NOF_EFAULT : status;
    __atomic_store_n(&rank->probe_done, 1, __ATOMIC_RELEASE);
    nofd_lcore_tell_main(rank->pool->lcore);
}

/* The helper opened a pidfd by number. If the process that we have held since the attach lives still, no other has had
 * that number in between. */
static void learn(struct nofd_dma_helper *helper, struct nofd_dma_rank *rank, int status)
{
    rank->asked &= ~bit_of(helper);
    if (status == NOF_OK && !nofd_pidfd_alive(rank->pidfd))
        status = NOF_EPEERDEAD;
    if (status == NOF_OK) {
        rank->known_by |= bit_of(helper);
        return;
    }
    rank->failed = status;
    if (rank->probe_wanted)
        end_probe(rank, status);
}

/* Ends what the slot stands for. Returns bytes that were copied. */
static uint32_t finish(struct nofd_dma_helper *helper, struct nofd_dma_slot *slot, int status)
{
    struct nofd_dma_rank *rank = slot->rank;
    uint32_t copied = 0;

    slot->state = NOFD_SLOT_OVER;
    if (rank == NULL)
        return 0;
    if (slot->what == NOFD_DMA_KNOW) {
        learn(helper, rank, status);
        return 0;
    }
    if (slot->what == NOFD_DMA_READ && status == NOF_OK) {
        nofd_window_scatter(nofd_dma_block(&helper->process, slot->block), slot->local, slot->nlocal);
        copied = slot->len_bytes;
    }
    if (slot->probe)
        end_probe(rank, status);
    else
        nofd_dma_ended(rank->memory, slot->token, status);
    return copied;
}

/* What the helper says of an order that it has passed. */
static int status_of(const struct nofd_dma_order *order)
{
    int32_t status;

    if (load(&order->state) != NOFD_ORDER_DONE)
        return NOF_EFAULT;
    status = __atomic_load_n(&order->status, __ATOMIC_RELAXED);
    return status == NOF_OK || status == NOF_EPERM || status == NOF_EPEERDEAD ? status : NOF_EFAULT;
}

static void pass(struct nofd_dma_helper *helper)
{
    helper->free_blocks |= 1u << slot_at(helper, helper->retired)->block;
    helper->retired++;
}

static void condemn(struct nofd_dma_helper *helper)
{
    helper->stuck = true;
    if (!helper->killed)
        nofd_dma_process_kill(&helper->process);
    helper->killed = true;
}

/* Slots that the helper has passed, in order, until *left bytes are copied. */
static unsigned retire(struct nofd_lcore *lcore, struct nofd_dma_helper *helper, uint32_t *left)
{
    uint32_t taken = load(&helper->process.ring->taken);
    unsigned n = 0;

    if (taken - helper->retired > helper->posted - helper->retired) {
        condemn(helper); /* no helper of ours says so */
        return 0;
    }
    while (helper->retired != taken && *left > 0) {
        struct nofd_dma_slot *slot = slot_at(helper, helper->retired);
        uint32_t copied = 0;

        if (slot->state == NOFD_SLOT_STOLEN)
            break;
        if (slot->state == NOFD_SLOT_POSTED)
            copied = finish(helper, slot, status_of(order_at(helper, helper->retired)));
        *left -= copied < *left ? copied : *left;
        pass(helper);
        n++;
    }
    if (n > 0)
        helper->head_since_ns = lcore->now_ns;
    if (n > 0 || helper->retired != taken)
        helper->stuck =
            helper
                ->killed; /* it was not scheduled, and passes what was stolen meanwhile: it may have that again */
    return n;
}

/* What a helper died over is copied once more: that changes nothing, for until the copy ends the bytes are ours. Not what
 * we killed it for, and not for ever: it may be what helpers die of. */
static bool is_copied_again(const struct nofd_dma_pool *pool, const struct nofd_dma_helper *helper,
                            const struct nofd_dma_slot *slot)
{
    return !helper->killed && pool->lcore->now_ns - slot->queued_ns <= pool->timeout_ns;
}

/* From a dead helper: what it has not done. From a living one: what it has not claimed. */
static bool take_back(const struct nofd_dma_pool *pool, const struct nofd_dma_helper *helper,
                      const struct nofd_dma_slot *slot, bool dead)
{
    struct nofd_dma_order *order = &helper->process.ring->orders[slot - helper->slots];
    uint32_t queued = NOFD_ORDER_QUEUED;
    uint32_t state = load(&order->state);

    if (dead)
        return state == NOFD_ORDER_QUEUED ||
               (state == NOFD_ORDER_CLAIMED && is_copied_again(pool, helper, slot));
    return __atomic_compare_exchange_n(&order->state, &queued, NOFD_ORDER_STOLEN, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

/* Takes back what a stuck helper has not claimed, but not from the rank that blocks it; from a
 * dead one all. */
static void steal(struct nofd_dma_pool *pool, struct nofd_dma_helper *helper, bool dead)
{
    const struct nofd_dma_rank *blocked = NULL;

    if (!dead && load(&order_at(helper, helper->retired)->state) == NOFD_ORDER_CLAIMED)
        blocked = slot_at(helper, helper->retired)->rank;
    for (uint32_t i = helper->retired; i != helper->posted; i++) {
        struct nofd_dma_slot *slot = slot_at(helper, i);

        if (slot->state != NOFD_SLOT_POSTED || (blocked != NULL && slot->rank == blocked) ||
            !take_back(pool, helper, slot, dead))
            continue;
        slot->state = NOFD_SLOT_OVER;
        if (slot->rank == NULL)
            continue;
        if (slot->rank->helper == helper)
            slot->rank->helper = NULL;
        if (slot->what == NOFD_DMA_KNOW) { /* the other helper is asked when it is needed */
            slot->rank->asked &= ~bit_of(helper);
        } else {
            slot->state = NOFD_SLOT_STOLEN;
            pool->nstolen++;
        }
    }
}

/* Gives stolen slots to others; one that waits longer than the timeout ends with an error. */
static void give_stolen(struct nofd_lcore *lcore, struct nofd_dma_pool *pool, struct nofd_dma_helper *from)
{
    for (uint32_t i = from->retired; i != from->posted && pool->nstolen > 0; i++) {
        struct nofd_dma_slot *slot = slot_at(from, i);
        struct nofd_dma_helper *to;

        if (slot->state != NOFD_SLOT_STOLEN)
            continue;
        to = helper_for(slot->rank);
        if (to != NULL && !to->stuck && knows(to, slot->rank) && has_room(to)) {
            struct nofd_dma_slot *copy = next_slot(to, slot->rank, slot->what);

            copy->token = slot->token;
            copy->probe = slot->probe;
            copy->queued_ns = slot->queued_ns;
            set_buffers(copy, slot->remote, slot->nremote, slot->local, slot->nlocal);
            post(to, lcore->now_ns);
            slot->state = NOFD_SLOT_OVER;
        } else if (slot->rank->failed != 0 || lcore->now_ns - slot->queued_ns > pool->timeout_ns) {
            slot->what = NOFD_DMA_WRITE; /* nothing to copy */
            (void)finish(from, slot, slot->rank->failed != 0 ? slot->rank->failed : NOF_EFAULT);
        } else {
            continue;
        }
        pool->nstolen--;
    }
}

/* A dead helper passes no slot any more: what it had not done is given away. */
static void bury(struct nofd_lcore *lcore, struct nofd_dma_pool *pool, unsigned i)
{
    struct nofd_dma_helper *helper = pool->helpers[i];

    steal(pool, helper, true);
    give_stolen(lcore, pool, helper);
    while (helper->retired != helper->posted) {
        struct nofd_dma_slot *slot = slot_at(helper, helper->retired);

        if (slot->state == NOFD_SLOT_STOLEN)
            return;
        if (slot->state == NOFD_SLOT_POSTED && slot->what == NOFD_DMA_KNOW && slot->rank != NULL)
            slot->rank->asked &= ~bit_of(helper); /* another will be asked */
        else if (slot->state == NOFD_SLOT_POSTED)
            (void)finish(helper, slot, status_of(order_at(helper, helper->retired)));
        pass(helper);
    }
    for (unsigned j = 0; j < pool->nranks; j++) {
        struct nofd_dma_rank *rank = pool->ranks[j];

        if (rank == NULL)
            continue;
        rank->known_by &= ~bit_of(helper);
        if (rank->helper == helper)
            rank->helper = NULL;
    }
    if (__atomic_load_n(&pool->dead, __ATOMIC_ACQUIRE) != NULL)
        return; /* main has not yet taken the last one */
    nofd_lcore_unwatch(lcore, helper->process.wake_fd);
    pool->helpers[i] = pool->helpers[--pool->nhelpers];
    __atomic_store_n(&pool->dead, helper, __ATOMIC_RELEASE);
    nofd_lcore_tell_main(lcore);
}

static void watch_helper(struct nofd_lcore *lcore, struct nofd_dma_pool *pool, struct nofd_dma_helper *helper)
{
    uint64_t waited_ns = lcore->now_ns - helper->head_since_ns;
    const struct nofd_dma_rank *rank;

    if (helper->posted == helper->retired || load(&helper->process.ring->taken) != helper->retired ||
        waited_ns < STUCK_NS)
        return;
    if (!helper->stuck) {
        helper->stuck = true;
        steal(pool, helper, false);
    }
    if (waited_ns <= pool->timeout_ns || helper->killed ||
        load(&order_at(helper, helper->retired)->state) != NOFD_ORDER_CLAIMED)
        return;
    rank = slot_at(helper, helper->retired)->rank;
    if (rank != NULL && rank->memory != NULL) {
        nofd_warning("%s: memory of rank %u (pid %d) blocks its DMA for %u ms", rank->memory->nic_name,
                     rank->memory->rank, (int)rank->pid, (unsigned)(waited_ns / NOFD_MS));
        nofd_doom_set(rank->memory->doom, NOF_EFAULT);
    }
    condemn(helper);
}

static void begin_probes(struct nofd_dma_pool *pool)
{
    for (unsigned i = 0; i < pool->nranks && pool->nprobes > 0; i++) {
        struct nofd_dma_rank *rank = pool->ranks[i];
        struct nofd_dma_helper *helper = rank != NULL && rank->probe_wanted ? helper_for(rank) : NULL;
        struct nof_segment remote;
        struct nof_buf local;
        struct nofd_dma_slot *slot;

        if (helper == NULL && rank != NULL && rank->probe_wanted &&
            __atomic_load_n(&pool->useless, __ATOMIC_ACQUIRE) != 0)
            end_probe(rank, NOF_EPERM);
        if (helper == NULL || !knows(helper, rank) || !has_room(helper))
            continue;
        remote = (struct nof_segment){.addr = rank->probe_addr, .len_bytes = PROBE_BYTES};
        local = (struct nof_buf){.base = &rank->probe_read, .len_bytes = PROBE_BYTES};
        slot = next_slot(helper, rank, NOFD_DMA_READ);
        slot->probe = true;
        set_buffers(slot, &remote, 1, &local, 1);
        post(helper, pool->lcore->now_ns);
        rank->probe_wanted = false;
        pool->nprobes--;
    }
}

static unsigned pool_turn(struct nofd_lcore *lcore, struct nofd_dma_pool *pool, uint32_t *left)
{
    unsigned n = 0;

    for (unsigned i = pool->nhelpers; i > 0; i--) {
        struct nofd_dma_helper *helper = pool->helpers[i - 1];

        n += retire(lcore, helper, left);
        if (helper_dead(helper)) {
            bury(lcore, pool, i - 1);
            n++;
            continue;
        }
        watch_helper(lcore, pool, helper);
        if (pool->nstolen > 0)
            give_stolen(lcore, pool, helper);
    }
    if (pool->nprobes > 0)
        begin_probes(pool);
    return n;
}

static struct nofd_dma_pools *pools_of(struct nofd_source *source)
{
    return (struct nofd_dma_pools *)source; /* first member */
}

/* Results retired. Bounded in bytes: the rest waits for the next turn. */
static unsigned turn(struct nofd_source *source, uint64_t now_ns)
{
    struct nofd_dma_pools *pools = pools_of(source);
    uint32_t left = TURN_BYTES;
    unsigned n = 0;

    (void)now_ns;
    if (pools->n == 0)
        return 0;
    pools->first++; /* none is always the last, for which nothing is left */
    for (unsigned i = 0; i < pools->n; i++)
        n += pool_turn(pools->lcore, pools->pool[(pools->first + i) % pools->n], &left);
    return n;
}

/* Wakes helpers that were given orders in this turn. Once, for a wake takes longer than a copy. */
static unsigned ring_bells(struct nofd_source *source, uint64_t now_ns)
{
    const struct nofd_dma_pools *pools =
        (struct nofd_dma_pools *)(void *)((char *)source - offsetof(struct nofd_dma_pools, bells));

    (void)now_ns;
    for (unsigned i = 0; i < pools->n; i++)
        for (unsigned j = 0; j < pools->pool[i]->nhelpers; j++) {
            struct nofd_dma_helper *helper = pools->pool[i]->helpers[j];

            if (helper->rung == helper->posted)
                continue;
            helper->rung = helper->posted;
            ring_bell(helper->process.ring);
        }
    return 0;
}

/* Perhaps no helper was scheduled either: that time counts for no timeout. */
static void stalled(struct nofd_source *source, uint64_t now_ns, uint64_t stalled_ns)
{
    struct nofd_dma_pools *pools = pools_of(source);

    (void)now_ns;
    for (unsigned i = 0; i < pools->n; i++) {
        struct nofd_dma_pool *pool = pools->pool[i];

        if (pool->starved_since_ns != 0)
            pool->starved_since_ns += stalled_ns;
        pool->starved_last_ns += stalled_ns;
        for (unsigned j = 0; j < pool->nhelpers; j++) {
            struct nofd_dma_helper *helper = pool->helpers[j];

            helper->head_since_ns += stalled_ns;
            for (uint32_t k = helper->retired; k != helper->posted; k++)
                slot_at(helper, k)->queued_ns += stalled_ns;
        }
    }
}

/* Before sleep: have helpers wake the core, and after it no more. */
static void asleep(struct nofd_source *source, bool is)
{
    struct nofd_dma_pools *pools = pools_of(source);

    for (unsigned i = 0; i < pools->n; i++)
        for (unsigned j = 0; j < pools->pool[i]->nhelpers; j++)
            __atomic_store_n(&pools->pool[i]->helpers[j]->process.ring->core_asleep, is ? 1 : 0,
                             __ATOMIC_RELAXED);
}

static bool ready(struct nofd_source *source)
{
    const struct nofd_dma_pools *pools = pools_of(source);

    for (unsigned i = 0; i < pools->n; i++) {
        const struct nofd_dma_pool *pool = pools->pool[i];

        for (unsigned j = 0; j < pool->nhelpers; j++)
            if (load(&pool->helpers[j]->process.ring->taken) != pool->helpers[j]->retired ||
                helper_dead(pool->helpers[j]))
                return true;
    }
    return false;
}

/* When a helper must be looked at although it said nothing. */
static uint64_t deadline(struct nofd_source *source, uint64_t now_ns)
{
    const struct nofd_dma_pools *pools = pools_of(source);

    for (unsigned i = 0; i < pools->n; i++)
        for (unsigned j = 0; j < pools->pool[i]->nhelpers; j++)
            if (pools->pool[i]->helpers[j]->posted != pools->pool[i]->helpers[j]->retired)
                return now_ns + STUCK_NS / 2;
    return UINT64_MAX;
}

void nofd_dma_pools_init(struct nofd_dma_pools *pools, struct nofd_lcore *lcore)
{
    static const struct nofd_source_ops ops = {
        .turn = turn,
        .deadline = deadline,
        .asleep = asleep,
        .ready = ready,
        .stalled = stalled,
    };
    static const struct nofd_source_ops bells = {.turn = ring_bells};

    *pools = (struct nofd_dma_pools){.source.ops = &ops, .bells.ops = &bells, .lcore = lcore};
}

unsigned nofd_dma_pools_helpers(const struct nofd_dma_pools *pools)
{
    unsigned n = 0;

    for (unsigned i = 0; i < pools->n; i++)
        n += pools->pool[i]->nhelpers;
    return n;
}

void nofd_dma_helper_join(struct nofd_dma_pool *pool, struct nofd_dma_helper *helper)
{
    /* Unwatched it would be looked at late, but it would be. */
    (void)nofd_lcore_watch(pool->lcore, helper->process.wake_fd, true);
    pool->helpers[pool->nhelpers++] = helper;
}

void nofd_dma_rank_join(struct nofd_dma_rank *rank)
{
    struct nofd_dma_pool *pool = rank->pool;

    pool->ranks[rank->index] = rank;
    if (rank->index >= pool->nranks)
        pool->nranks = rank->index + 1;
    rank->probe_wanted = true;
    pool->nprobes++;
}

void nofd_dma_rank_forget(struct nofd_dma_rank *rank)
{
    struct nofd_dma_pool *pool = rank->pool;

    if (rank->probe_wanted)
        pool->nprobes--;
    pool->ranks[rank->index] = NULL;
    while (pool->nranks > 0 && pool->ranks[pool->nranks - 1] == NULL)
        pool->nranks--;
    for (unsigned i = 0; i < pool->nhelpers; i++) {
        struct nofd_dma_helper *helper = pool->helpers[i];

        for (uint32_t k = helper->retired; k != helper->posted; k++) {
            struct nofd_dma_slot *slot = slot_at(helper, k);

            if (slot->rank != rank)
                continue;
            slot->rank = NULL;
            if (slot->state == NOFD_SLOT_STOLEN) {
                slot->state = NOFD_SLOT_OVER;
                pool->nstolen--;
            }
        }
    }
}
