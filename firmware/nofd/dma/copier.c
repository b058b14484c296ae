/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/dma/copier.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nof_private/fence.h"

#include "nofd/sys/clock.h"
#include "nofd/dma/dma.h"
#include "nofd/dma/dma_direct.h"
#include "nofd/sys/log.h"

#define SLOTS 16u /* power of two */
#define SEGMENTS 8u
#define BUFS NOF_DMA_SEGMENTS_MAX
#define SPIN_NS (50 * NOFD_US) /* a stream brings the next block before this */
#define STREAM_NS (50 * NOFD_US) /* a block that comes this soon after the last belongs to a stream */
#define PATIENCE_NS (10 * NOFD_US) /* a copier without CPU has had its chance */
#define JOIN_WAIT_S 2

enum slot_state { FREE = 0, QUEUED, CLAIMED, DONE, CANCELLED };

struct slot {
    uint32_t state; /* crosses: enum slot_state */
    int status;
    bool overdue; /* core: blocks the copier */
    struct nofd_dma_memory *memory;
    pid_t pid;
    uint32_t rank;
    uint64_t token;
    uint64_t since_ns; /* when it was posted */
    unsigned nremote, nlocal;
    struct nof_segment remote[SEGMENTS];
    struct nof_buf local[BUFS];
};

struct nofd_copier {
    struct nofd_source source; /* first member */
    struct nofd_dma *dma;
    pthread_t thread;
    uint32_t posted; /* crosses: slots filled so far; the copier sleeps on it */
    uint32_t asleep; /* crosses */
    uint32_t stop; /* crosses */
    uint32_t overdue; /* crosses: the watchdog's word to the core */
    struct nofd_busy busy; /* crosses */
    _Alignas(64) uint32_t retired; /* core: all slots before are free */
    bool stuck; /* core: an overdue slot has not come back */
    uint64_t last_ns; /* core: of the last read while the copier slept */
    _Alignas(64) struct slot slot[SLOTS];
};

static uint32_t load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Claims a queued slot and reads; false if the other side has it. */
static bool work_on(struct slot *s, struct nofd_busy *busy)
{
    uint32_t queued = QUEUED;

    if (!__atomic_compare_exchange_n(&s->state, &queued, CLAIMED, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    s->status = nofd_dma_direct(busy, s->pid, s->rank, false, s->remote, s->nremote, s->local, s->nlocal);
    __atomic_store_n(&s->state, DONE, __ATOMIC_RELEASE);
    return true;
}

/* Until something is posted beyond `seen`: spins for a while, then sleeps. */
static void wait_for_work(struct nofd_copier *c, uint32_t seen)
{
    uint64_t until_ns = nofd_clock_ns() + SPIN_NS;

    while (load(&c->posted) == seen && load(&c->stop) == 0) {
        if (nofd_clock_ns() < until_ns) {
            sched_yield();
            continue;
        }
        __atomic_store_n(&c->asleep, 1, __ATOMIC_RELAXED);
        nof_fence_full(); /* pairs with the one in nofd_copier_read() */
        if (load(&c->posted) == seen && load(&c->stop) == 0)
            syscall(SYS_futex, &c->posted, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
        __atomic_store_n(&c->asleep, 0, __ATOMIC_RELAXED);
    }
}

static void *copier_main(void *arg)
{
    struct nofd_copier *c = arg;
    uint32_t next = 0;

    while (load(&c->stop) == 0) {
        if (load(&c->posted) == next) {
            wait_for_work(c, next);
            continue;
        }
        if (work_on(&c->slot[next % SLOTS], &c->busy))
            nofd_lcore_wake(c->dma->lcore);
        next++;
    }
    return NULL;
}

void nofd_copier_stop(struct nofd_copier *c)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    uint64_t until_ns = nofd_clock_ns() + JOIN_WAIT_S * NOFD_S;

    if (c == NULL)
        return;
    __atomic_store_n(&c->stop, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&c->posted, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &c->posted, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    while (pthread_tryjoin_np(c->thread, NULL) != 0) {
        if (nofd_clock_ns() >= until_ns) {
            nofd_warning("a rank's memory blocks a copy; it ends with the daemon");
            return;
        }
        (void)nanosleep(&pause, NULL);
    }
    free(c);
}

int nofd_copier_read(struct nofd_copier *c, struct nofd_dma_memory *memory, const struct nof_segment *remote,
                     unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    struct slot *s = &c->slot[c->posted % SLOTS];

    /* The first block is not worth waking a copier: a lone message is done sooner here. */
    if (load(&c->asleep) != 0 && c->posted == c->retired) {
        bool lone = c->dma->lcore->now_ns - c->last_ns > STREAM_NS;

        c->last_ns = c->dma->lcore->now_ns;
        if (lone)
            return NOF_EAGAIN;
    }
    if (c->stuck || c->posted - c->retired == SLOTS || nremote > SEGMENTS || nlocal > BUFS)
        return NOF_EAGAIN;
    s->memory = memory;
    s->pid = memory->pid;
    s->rank = memory->rank;
    s->token = token;
    s->since_ns = c->dma->lcore->now_ns;
    s->nremote = nremote;
    s->nlocal = nlocal;
    memcpy(s->remote, remote, nremote * sizeof(*remote));
    memcpy(s->local, local, nlocal * sizeof(*local));
    __atomic_store_n(&s->state, QUEUED, __ATOMIC_RELEASE);
    __atomic_store_n(&c->posted, c->posted + 1, __ATOMIC_RELEASE);
    nof_fence_full();
    if (__atomic_load_n(&c->asleep, __ATOMIC_RELAXED) != 0)
        syscall(SYS_futex, &c->posted, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return NOF_DMA_PENDING;
}

static void retire(struct nofd_copier *c, struct slot *s, int status)
{
    if (s->overdue)
        c->stuck = s->overdue = false;
    __atomic_store_n(&s->state, FREE, __ATOMIC_RELAXED); /* a late copier still looks at it */
    nofd_dma_ended(s->memory, s->token, status);
}

/* Slots before the first that is in use can be filled again. */
static void advance(struct nofd_copier *c)
{
    while (c->retired != c->posted && load(&c->slot[c->retired % SLOTS].state) == FREE)
        c->retired++;
}

/* The core itself holds no slot between two turns: the one that is CLAIMED blocks the copier. */
static void doom_blocker(struct nofd_copier *c)
{
    for (uint32_t i = c->retired; i != c->posted; i++) {
        struct slot *s = &c->slot[i % SLOTS];

        if (load(&s->state) != CLAIMED || s->overdue)
            continue;
        c->stuck = s->overdue = true;
        nofd_warning("%s: memory of rank %u (pid %d) blocks its DMA", s->memory->nic_name, s->rank,
                     (int)s->pid);
        nofd_doom_set(s->memory->doom, NOF_EFAULT);
    }
}

/* The first member of one that is aligned to a cache line. */
static struct nofd_copier *copier_of(struct nofd_source *source)
{
    return (struct nofd_copier *)(void *)source;
}

static unsigned turn(struct nofd_source *source, uint64_t now_ns)
{
    struct nofd_copier *c = copier_of(source);
    unsigned n = 0;

    (void)now_ns;
    for (uint32_t i = c->retired; i != c->posted; i++) {
        struct slot *s = &c->slot[i % SLOTS];

        if (load(&s->state) != DONE)
            continue;
        retire(c, s, s->status);
        n++;
    }
    if (n > 0)
        advance(c);
    if (__atomic_load_n(&c->overdue, __ATOMIC_RELAXED) != 0) {
        __atomic_store_n(&c->overdue, 0, __ATOMIC_RELAXED);
        doom_blocker(c);
    }
    return n;
}

/* Steals one read: the core never waits for a copier that has no CPU. */
static unsigned spare(struct nofd_source *source)
{
    struct nofd_copier *c = copier_of(source);

    for (uint32_t i = c->retired; i != c->posted; i++) {
        struct slot *s = &c->slot[i % SLOTS];

        if (load(&s->state) != QUEUED)
            continue;
        /* A copier that is awake takes it at once; two that read at a time would both then wait. */
        if (load(&c->asleep) == 0 && c->dma->lcore->now_ns - s->since_ns < PATIENCE_NS)
            return 0;
        if (work_on(s, &c->dma->busy))
            return 1;
    }
    return 0;
}

/* Reads are under way or wait to be retired. */
static bool ready(struct nofd_source *source)
{
    const struct nofd_copier *c = copier_of(source);

    for (uint32_t i = c->retired; i != c->posted; i++) {
        uint32_t state = load(&c->slot[i % SLOTS].state);

        if (state == QUEUED || state == DONE)
            return true;
    }
    return __atomic_load_n(&c->overdue, __ATOMIC_RELAXED) != 0;
}

struct nofd_copier *nofd_copier_start(struct nofd_dma *dma)
{
    static const struct nofd_source_ops ops = {.turn = turn, .spare = spare, .ready = ready};
    struct nofd_copier *c = NULL;
    sigset_t all;
    sigset_t before;
    cpu_set_t cpus;
    int rc;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) < 2)
        return NULL;
    if (posix_memalign((void **)&c, 64, sizeof(*c)) != 0)
        return NULL;
    memset(c, 0, sizeof(*c));
    c->source.ops = &ops;
    c->dma = dma;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&c->thread, NULL, copier_main, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        free(c);
        return NULL;
    }
    return c;
}

void nofd_copier_cancel(struct nofd_copier *c, const struct nofd_dma_memory *memory)
{
    for (uint32_t i = c->retired; i != c->posted; i++) {
        struct slot *s = &c->slot[i % SLOTS];
        uint32_t queued = QUEUED;

        if (load(&s->state) == QUEUED && s->memory == memory &&
            __atomic_compare_exchange_n(&s->state, &queued, CANCELLED, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            retire(c, s, NOF_EPEERDEAD);
    }
    advance(c);
}

struct nofd_source *nofd_copier_source(struct nofd_copier *c)
{
    return &c->source;
}

const struct nofd_busy *nofd_copier_busy(const struct nofd_copier *c)
{
    return &c->busy;
}

void nofd_copier_overdue(struct nofd_copier *c)
{
    __atomic_store_n(&c->overdue, 1, __ATOMIC_RELEASE);
    nofd_lcore_wake(c->dma->lcore);
}
