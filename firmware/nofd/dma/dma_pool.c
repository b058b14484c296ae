/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The main thread's side of the helpers: pools and processes come and go. */
#include "nofd/dma/dma_helper_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nofd/sys/clock.h"
#include "nofd/dma/dma_copy.h"
#include "nofd/sys/log.h"

#define START_EVERY_NS (100 * NOFD_MS) /* helpers of one user: he may kill them as fast as he likes */
#define LINGER_NS (2 * NOFD_S) /* a pool without ranks: its user's next program has a helper at once */
#define END_MS 200 /* a helper that is killed ends at once, but for one whose page will not let it */

static void helper_free(struct nofd_dma_helper *helper)
{
    struct nofd_dma_helper **at = &helper->crew->helpers;

    while (*at != helper)
        at = &(*at)->next;
    *at = helper->next;
    nofd_dma_process_free(&helper->process);
    free(helper);
}

/* One that cannot start for a reason that stays cannot start again; said once, and tried anew when the pool has gone. */
static void give_up(struct nofd_dma_pool *pool, const char *why)
{
    if (pool->useless == 0)
        nofd_warning("no DMA for user %u: %s; his ranks copy themselves, which is slower",
                     (unsigned)pool->user.uid, why);
    __atomic_store_n(&pool->useless, 1, __ATOMIC_RELEASE);
}

/* What may be had a moment later: the daemon is short of memory, descriptors or processes. */
static bool is_passing(int rc)
{
    return rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE || rc == -EAGAIN;
}

static void try_later(struct nofd_dma_pool *pool, const char *why)
{
    if (!pool->short_said)
        nofd_warning("no helper for DMA of user %u now: %s; a rank that attaches now copies itself, which is "
                     "slower; for those that have attached it is tried again",
                     (unsigned)pool->user.uid, why);
    pool->short_said = true;
}

static void tell_of_death(const struct nofd_dma_pool *pool, const struct nofd_dma_helper *helper)
{
    int signal = helper->process.signal;
    const char *name = signal > 0 ? sigabbrev_np(signal) : NULL;

    if (signal <= 0) {
        nofd_warning("a DMA helper (nofd-dma, pid %d) of user %u has ended by itself; another one copies for "
                     "his ranks",
                     (int)helper->process.pid, (unsigned)pool->user.uid);
        return;
    }
    nofd_warning("a DMA helper (nofd-dma, pid %d) of user %u has %s (signal %d, SIG%s); another one copies "
                 "for his ranks",
                 (int)helper->process.pid, (unsigned)pool->user.uid,
                 helper->process.crashed ? "crashed" : "ended, killed by somebody", signal,
                 name != NULL ? name : "?");
}

static void on_ended(struct nofd_watch *watch, uint32_t events)
{
    struct nofd_dma_helper *helper = (struct nofd_dma_helper *)watch; /* first member of the first */
    const char *why = nofd_dma_process_reap(&helper->process, helper->crew->loop);

    (void)events;
    if (helper->pool == NULL) {
        helper_free(helper);
        return;
    }
    if (why != NULL)
        give_up(helper->pool, why);
    __atomic_store_n(&helper->life, NOFD_HELPER_DEAD, __ATOMIC_RELEASE);
    nofd_lcore_wake(helper->pool->lcore);
}

static struct nofd_dma_helper *helper_start(struct nofd_dma_pool *pool)
{
    struct nofd_dma_crew *crew = pool->crew;
    struct nofd_dma_helper *helper = calloc(1, sizeof(*helper));
    char err[512];
    int rc;

    if (helper == NULL)
        return NULL;
    pool->started_ns = nofd_clock_ns();
    rc = nofd_dma_process_start(&helper->process, crew->loop, &pool->user, on_ended, err, sizeof(err));
    if (rc != 0) {
        if (is_passing(rc))
            try_later(pool, err);
        else
            give_up(pool, err);
        free(helper);
        return NULL;
    }
    pool->short_said = false;
    helper->free_blocks = (uint32_t)((1ull << NOFD_DMA_SLOTS) - 1);
    helper->crew = crew;
    helper->pool = pool;
    helper->number = (unsigned)__builtin_ctz(~pool->numbers);
    pool->numbers |= 1u << helper->number;
    helper->next = crew->helpers;
    crew->helpers = helper;
    return helper;
}

/* The pool lets go of it; its memory goes when its process has ended, too. */
static void helper_put(struct nofd_dma_helper *helper)
{
    helper->pool->numbers &= ~(1u << helper->number);
    helper->pool = NULL;
    if (helper->life == NOFD_HELPER_DEAD)
        helper_free(helper);
    else
        nofd_dma_process_kill(&helper->process);
}

static void add_pool(struct nofd_lcore *lcore, void *arg)
{
    struct nofd_dma_pool *pool = arg;
    struct nofd_dma_helper *first = pool->helpers[0];

    (void)lcore;
    pool->pools->pool[pool->pools->n++] = pool;
    nofd_dma_helper_join(pool, first);
}

static void remove_pool(struct nofd_lcore *lcore, void *arg)
{
    struct nofd_dma_pool *pool = arg;
    struct nofd_dma_pools *pools = pool->pools;

    for (unsigned i = 0; i < pool->nhelpers; i++)
        nofd_lcore_unwatch(lcore, pool->helpers[i]->process.wake_fd);
    for (unsigned i = 0; i < pools->n; i++) {
        if (pools->pool[i] != pool)
            continue;
        pools->pool[i] = pools->pool[--pools->n];
        return;
    }
}

static void pool_close(struct nofd_dma_pool *pool)
{
    struct nofd_dma_pool **at = &pool->crew->pools;

    nofd_lcore_run(pool->lcore, remove_pool, pool);
    for (unsigned i = 0; i < pool->nhelpers; i++)
        helper_put(pool->helpers[i]);
    if (pool->dead != NULL)
        helper_put(pool->dead);
    while (*at != pool)
        at = &(*at)->next;
    *at = pool->next;
    free(pool);
}

/* The list changes only by errands of this thread. */
static struct nofd_dma_pool *pool_find(const struct nofd_dma_pools *pools, const struct nofd_dma_user *user)
{
    for (unsigned i = 0; i < pools->n; i++) {
        const struct nofd_dma_user *u = &pools->pool[i]->user;

        if (u->uid == user->uid && u->gid == user->gid && u->caps == user->caps)
            return pools->pool[i];
    }
    return NULL;
}

/* Of those without ranks the one that has been for longest makes room. */
static bool make_room(const struct nofd_dma_pools *pools)
{
    struct nofd_dma_pool *oldest = NULL;

    if (pools->n < NOFD_DMA_POOLS_MAX)
        return true;
    for (unsigned i = 0; i < pools->n; i++)
        if (pools->pool[i]->references == 0 &&
            (oldest == NULL || pools->pool[i]->unused_ns < oldest->unused_ns))
            oldest = pools->pool[i];
    if (oldest == NULL)
        return false;
    pool_close(oldest);
    return true;
}

static struct nofd_dma_pool *pool_open(struct nofd_dma_crew *crew, struct nofd_dma_pools *pools,
                                       const struct nofd_dma_user *user)
{
    struct nofd_dma_pool *pool = pool_find(pools, user);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (pool != NULL || !nofd_dma_user_possible(user) || !make_room(pools))
        return pool;
    pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return NULL;
    pool->crew = crew;
    pool->pools = pools;
    pool->lcore = pools->lcore;
    pool->user = *user;
    pool->timeout_ns = crew->timeout_ns;
    pool->normal_helpers = cpus >= 8 ? (unsigned)cpus / 4 : 1;
    pool->helpers[0] = helper_start(pool);
    if (pool->helpers[0] == NULL) {
        free(pool);
        return NULL;
    }
    pool->next = crew->pools;
    crew->pools = pool;
    nofd_lcore_run(pool->lcore, add_pool, pool);
    return pool;
}

static void join_helper(struct nofd_lcore *lcore, void *arg)
{
    struct nofd_dma_helper *helper = arg;

    (void)lcore;
    nofd_dma_helper_join(helper->pool, helper);
}

/* Returns whether to look again at the next tick. */
static bool pool_look(struct nofd_dma_pool *pool, uint64_t now_ns)
{
    struct nofd_dma_helper *dead = __atomic_exchange_n(&pool->dead, NULL, __ATOMIC_ACQ_REL);
    struct nofd_dma_helper *helper = NULL;

    if (dead != NULL) {
        if (!dead->killed && pool->useless == 0)
            tell_of_death(pool, dead);
        helper_put(dead);
    }
    if (pool->references == 0 && now_ns - pool->unused_ns > LINGER_NS) {
        pool_close(pool);
        return false;
    }
    if (__atomic_load_n(&pool->wants_helper, __ATOMIC_ACQUIRE) == 0)
        return pool->references == 0;
    if (now_ns - pool->started_ns < START_EVERY_NS)
        return true;
    if (pool->numbers != (1u << NOFD_DMA_HELPERS_MAX) - 1)
        helper = helper_start(pool);
    if (helper == NULL && pool->useless == 0 && pool->numbers != (1u << NOFD_DMA_HELPERS_MAX) - 1)
        return true; /* short of something: it is still wanted */
    if (helper != NULL)
        nofd_lcore_run(pool->lcore, join_helper, helper);
    __atomic_store_n(&pool->wants_helper, 0, __ATOMIC_RELEASE);
    return pool->references == 0;
}

/* Returns whether to look again at the next tick. */
static bool look(struct nofd_dma_crew *crew)
{
    uint64_t now_ns = nofd_clock_ns();
    struct nofd_dma_pool *next;
    bool again = false;

    for (struct nofd_dma_pool *pool = crew->pools; pool != NULL; pool = next) {
        next = pool->next;
        again |= pool_look(pool, now_ns);
    }
    return again;
}

static bool on_tick(struct nofd_tick *tick)
{
    return look((struct nofd_dma_crew *)(void *)((char *)tick - offsetof(struct nofd_dma_crew, tick)));
}

void nofd_dma_crew_init(struct nofd_dma_crew *crew, struct nofd_loop *loop, struct nofd_ticks *ticks,
                        uint64_t timeout_ns)
{
    *crew =
        (struct nofd_dma_crew){.loop = loop, .ticks = ticks, .tick.fn = on_tick, .timeout_ns = timeout_ns};
    nofd_ticks_add(ticks, &crew->tick);
}

void nofd_dma_crew_look(struct nofd_dma_crew *crew)
{
    if (look(crew))
        nofd_ticks_need(crew->ticks);
}

void nofd_dma_crew_end(struct nofd_dma_crew *crew)
{
    struct nofd_dma_pool *next;

    for (struct nofd_dma_helper *helper = crew->helpers; helper != NULL; helper = helper->next)
        if (helper->life != NOFD_HELPER_DEAD)
            nofd_dma_process_kill(&helper->process);
    for (const struct nofd_dma_helper *helper = crew->helpers; helper != NULL; helper = helper->next) {
        struct pollfd end = {.fd = helper->process.watch.fd, .events = POLLIN};

        (void)poll(&end, 1, END_MS);
    }
    for (struct nofd_dma_pool *pool = crew->pools; pool != NULL; pool = next) {
        next = pool->next;
        free(pool);
    }
    crew->pools = NULL;
    while (crew->helpers != NULL)
        helper_free(crew->helpers);
}

static void join_rank(struct nofd_lcore *lcore, void *arg)
{
    (void)lcore;
    nofd_dma_rank_join(arg);
}

static void forget_rank(struct nofd_lcore *lcore, void *arg)
{
    (void)lcore;
    nofd_dma_rank_forget(arg);
}

struct nofd_dma_rank *nofd_dma_rank_open(struct nofd_dma_crew *crew, struct nofd_dma_pools *pools,
                                         const struct ucred *who, int pidfd, uint64_t probe_addr,
                                         uint64_t probe_value)
{
    struct nofd_dma_user user = {.uid = who->uid, .gid = who->gid};
    struct nofd_dma_pool *pool;
    struct nofd_dma_rank *rank;
    uint32_t index = 0;

    /* By number: they are this process's if it lives afterwards. */
    if (nofd_dma_user_caps(who->uid, who->pid, &user.caps) != 0 || !nofd_pidfd_alive(pidfd))
        return NULL;
    pool = pool_open(crew, pools, &user);
    if (pool == NULL || pool->useless != 0)
        return NULL;
    while (index < NOFD_DMA_RANKS && pool->ranks[index] != NULL)
        index++;
    rank = index < NOFD_DMA_RANKS ? calloc(1, sizeof(*rank)) : NULL;
    if (rank == NULL)
        return NULL;
    *rank =
        (struct nofd_dma_rank){.pool = pool,
                               .pid = who->pid,
                               .pidfd = fcntl(pidfd, F_DUPFD_CLOEXEC, 0),
                               .index = index,
                               .generation = ++pool->generation != 0 ? pool->generation : ++pool->generation,
                               .probe_addr = probe_addr,
                               .probe_value = probe_value,
                               .probe_read = ~probe_value};
    if (rank->pidfd < 0) {
        free(rank);
        return NULL;
    }
    pool->references++;
    nofd_lcore_run(pool->lcore, join_rank, rank);
    return rank;
}

void nofd_dma_rank_close(struct nofd_dma_rank *rank)
{
    struct nofd_dma_pool *pool = rank->pool;

    nofd_lcore_run(pool->lcore, forget_rank, rank);
    close(rank->pidfd);
    free(rank);
    if (--pool->references == 0)
        pool->unused_ns = nofd_clock_ns();
    nofd_ticks_need(pool->crew->ticks);
}
