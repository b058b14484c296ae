/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The main thread's side of the helpers: pools and processes come and go. */
#include "dma_helper_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "core.h"
#include "daemon.h"
#include "dma_copy.h"
#include "log.h"

#define START_EVERY_NS (100 * NOFD_MS) /* helpers of one user: he may kill them as fast as he likes */
#define LINGER_NS (2 * NOFD_S) /* a pool without ranks: its user's next program has a helper at once */
#define END_MS 200 /* a helper that is killed ends at once, but for one whose page will not let it */

/* --- helpers -------------------------------------------------------------------------------------- */

static void helper_free(struct nofd_dma_helper *helper)
{
    struct nofd_dma_helper **at = &helper->daemon->helpers;

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

static void on_ended(struct nofd_watch *watch, uint32_t events)
{
    struct nofd_dma_helper *helper = (struct nofd_dma_helper *)watch; /* first member of the first */
    const char *why = nofd_dma_process_reap(&helper->process, &helper->daemon->loop);

    (void)events;
    if (helper->pool == NULL) {
        helper_free(helper);
        return;
    }
    if (why != NULL)
        give_up(helper->pool, why);
    __atomic_store_n(&helper->life, NOFD_HELPER_DEAD, __ATOMIC_RELEASE);
    nofd_idle_wake(&helper->pool->core->idle);
}

static struct nofd_dma_helper *helper_start(struct nofd *d, struct nofd_dma_pool *pool)
{
    struct nofd_dma_helper *helper = calloc(1, sizeof(*helper));
    char err[512];
    int rc;

    if (helper == NULL)
        return NULL;
    pool->started_ns = nofd_clock_ns();
    rc = nofd_dma_process_start(&helper->process, &d->loop, &pool->user, on_ended, err, sizeof(err));
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
    helper->daemon = d;
    helper->pool = pool;
    helper->number = (unsigned)__builtin_ctz(~pool->numbers);
    pool->numbers |= 1u << helper->number;
    helper->next = d->helpers;
    d->helpers = helper;
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

/* --- pools ---------------------------------------------------------------------------------------- */

static void add_pool(struct nofd_core *core, void *arg)
{
    struct nofd_dma_pool *pool = arg;
    struct nofd_dma_helper *first = pool->helpers[0];

    core->pools[core->npools++] = pool;
    nofd_dma_helper_join(pool, first);
}

static void remove_pool(struct nofd_core *core, void *arg)
{
    struct nofd_dma_pool *pool = arg;

    for (unsigned i = 0; i < pool->nhelpers; i++)
        nofd_idle_unwatch(&core->idle, pool->helpers[i]->process.wake_fd);
    for (unsigned i = 0; i < core->npools; i++) {
        if (core->pools[i] != pool)
            continue;
        core->pools[i] = core->pools[--core->npools];
        return;
    }
}

static void pool_close(struct nofd *d, struct nofd_dma_pool *pool)
{
    nofd_call(d, pool->core, remove_pool, pool);
    for (unsigned i = 0; i < pool->nhelpers; i++)
        helper_put(pool->helpers[i]);
    if (pool->dead != NULL)
        helper_put(pool->dead);
    free(pool);
}

/* The array changes only by calls of this thread. */
static struct nofd_dma_pool *pool_find(const struct nofd_core *core, const struct nofd_dma_user *user)
{
    for (unsigned i = 0; i < core->npools; i++) {
        const struct nofd_dma_user *u = &core->pools[i]->user;

        if (u->uid == user->uid && u->gid == user->gid && u->caps == user->caps)
            return core->pools[i];
    }
    return NULL;
}

/* Of those without ranks the one that has been for longest makes room. */
static bool make_room(struct nofd *d, struct nofd_core *core)
{
    struct nofd_dma_pool *oldest = NULL;

    if (core->npools < NOFD_CORE_POOLS_MAX)
        return true;
    for (unsigned i = 0; i < core->npools; i++)
        if (core->pools[i]->references == 0 &&
            (oldest == NULL || core->pools[i]->unused_ns < oldest->unused_ns))
            oldest = core->pools[i];
    if (oldest == NULL)
        return false;
    pool_close(d, oldest);
    return true;
}

static struct nofd_dma_pool *pool_open(struct nofd *d, struct nofd_core *core,
                                       const struct nofd_dma_user *user)
{
    struct nofd_dma_pool *pool = pool_find(core, user);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (pool != NULL || !nofd_dma_user_possible(user) || !make_room(d, core))
        return pool;
    pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return NULL;
    pool->core = core;
    pool->user = *user;
    pool->timeout_ns = d->options.dma_timeout_ns;
    pool->normal_helpers = cpus >= 8 ? (unsigned)cpus / 4 : 1;
    pool->helpers[0] = helper_start(d, pool);
    if (pool->helpers[0] == NULL) {
        free(pool);
        return NULL;
    }
    nofd_call(d, core, add_pool, pool);
    return pool;
}

static void join_helper(struct nofd_core *core, void *arg)
{
    struct nofd_dma_helper *helper = arg;

    (void)core;
    nofd_dma_helper_join(helper->pool, helper);
}

/* Returns whether to look again at the next tick. */
static bool pool_look(struct nofd *d, struct nofd_dma_pool *pool, uint64_t now_ns)
{
    struct nofd_dma_helper *dead = __atomic_exchange_n(&pool->dead, NULL, __ATOMIC_ACQ_REL);
    struct nofd_dma_helper *helper = NULL;

    if (dead != NULL)
        helper_put(dead);
    if (pool->references == 0 && now_ns - pool->unused_ns > LINGER_NS) {
        pool_close(d, pool);
        return false;
    }
    if (__atomic_load_n(&pool->wants_helper, __ATOMIC_ACQUIRE) == 0)
        return pool->references == 0;
    if (now_ns - pool->started_ns < START_EVERY_NS)
        return true;
    if (pool->numbers != (1u << NOFD_DMA_HELPERS_MAX) - 1)
        helper = helper_start(d, pool);
    if (helper == NULL && pool->useless == 0 && pool->numbers != (1u << NOFD_DMA_HELPERS_MAX) - 1)
        return true; /* short of something: it is still wanted */
    if (helper != NULL)
        nofd_call(d, pool->core, join_helper, helper);
    __atomic_store_n(&pool->wants_helper, 0, __ATOMIC_RELEASE);
    return pool->references == 0;
}

bool nofd_dma_pools_look(struct nofd *d)
{
    uint64_t now_ns = nofd_clock_ns();
    bool again = false;

    for (unsigned i = 0; i < d->ncores; i++)
        for (unsigned j = d->cores[i].npools; j > 0; j--)
            again |= pool_look(d, d->cores[i].pools[j - 1], now_ns);
    return again;
}

void nofd_dma_pools_end(struct nofd *d)
{
    for (struct nofd_dma_helper *helper = d->helpers; helper != NULL; helper = helper->next)
        if (helper->life != NOFD_HELPER_DEAD)
            nofd_dma_process_kill(&helper->process);
    for (const struct nofd_dma_helper *helper = d->helpers; helper != NULL; helper = helper->next) {
        struct pollfd end = {.fd = helper->process.watch.fd, .events = POLLIN};

        (void)poll(&end, 1, END_MS);
    }
    for (unsigned i = 0; i < d->ncores; i++)
        for (unsigned j = 0; j < d->cores[i].npools; j++)
            free(d->cores[i].pools[j]);
    while (d->helpers != NULL)
        helper_free(d->helpers);
}

/* --- ranks ---------------------------------------------------------------------------------------- */

static void join_rank(struct nofd_core *core, void *arg)
{
    (void)core;
    nofd_dma_rank_join(arg);
}

static void forget_rank(struct nofd_core *core, void *arg)
{
    (void)core;
    nofd_dma_rank_forget(arg);
}

struct nofd_dma_rank *nofd_dma_rank_open(struct nofd *d, struct nofd_core *core, const struct ucred *who,
                                         int pidfd, uint64_t probe_addr, uint64_t probe_value)
{
    struct nofd_dma_user user = {.uid = who->uid, .gid = who->gid};
    struct nofd_dma_pool *pool;
    struct nofd_dma_rank *rank;
    uint32_t index = 0;

    /* By number: they are this process's if it lives afterwards. */
    if (nofd_dma_user_caps(who->uid, who->pid, &user.caps) != 0 || !nofd_pidfd_alive(pidfd))
        return NULL;
    pool = pool_open(d, core, &user);
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
    nofd_call(d, core, join_rank, rank);
    return rank;
}

void nofd_dma_rank_close(struct nofd *d, struct nofd_dma_rank *rank)
{
    struct nofd_dma_pool *pool = rank->pool;

    nofd_call(d, pool->core, forget_rank, rank);
    close(rank->pidfd);
    free(rank);
    if (--pool->references == 0)
        pool->unused_ns = nofd_clock_ns();
    nofd_need_ticks(d);
}
