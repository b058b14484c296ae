/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/core/idle.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/epoll.h>

#include <rte_pause.h>

#include "nof_private/fence.h"

#include "nofd/sys/clock.h"

#define BACKOFF_MAX_NS (1 * NOFD_MS) /* between two looks at a port that cannot wake us */
#define CREDIT_SHARE 4u
#define LOST_NS (500 * NOFD_US) /* a yield that took as long lost the CPU to somebody who does not give way */
#define SHUN_NS (2 * NOFD_MS) /* no yields for so long after; twice as long if it happens again: */
/* Longer would be dear where ranks compute: asleep, the core is woken for each message (LU of NPB: 14 % at 50 ms). */
#define SHUN_MAX_NS (4 * NOFD_MS)
/* Since the last one: ranks that start take a slice or two, and no more. */
#define SHUN_FORGET_NS (500 * NOFD_MS)
/* Then it gives way even where there seem to be CPUs enough: nobody tells us who else runs here (docs/decisions/0065). */
#define PURE_NS (2 * NOFD_US)
#define SLEEP_MIN_NS (2 * NOFD_US) /* a shorter sleep costs more than it saves */

/* How long a port that cannot wake us is left alone: longer each time that nothing is under way. */
static uint64_t nap_ns(struct nofd_idle *idle, const struct nofd_sources *sources)
{
    uint64_t most_ns = BACKOFF_MAX_NS > idle->nap_ns ? BACKOFF_MAX_NS : idle->nap_ns;
    bool quiet = true;

    for (unsigned i = 0; i < sources->n; i++) {
        struct nofd_source *source = sources->of[i];

        quiet = quiet && (source->ops->quiet == NULL || source->ops->quiet(source));
    }
    idle->backoff_ns = quiet && idle->backoff_ns != 0 ? idle->backoff_ns * 2 : idle->nap_ns;
    idle->backoff_ns = nofd_earlier(idle->backoff_ns, most_ns);
    return idle->backoff_ns;
}

/* When the core must run again if nobody wakes it. */
static uint64_t deadline(struct nofd_idle *idle, uint64_t now_ns, const struct nofd_sources *sources)
{
    uint64_t at_ns = UINT64_MAX;

    for (unsigned i = 0; i < sources->n; i++) {
        struct nofd_source *source = sources->of[i];

        if (source->ops->deadline != NULL)
            at_ns = nofd_earlier(at_ns, source->ops->deadline(source, now_ns));
    }
    return idle->naps ? nofd_earlier(at_ns, now_ns + nap_ns(idle, sources)) : at_ns;
}

static void publish(struct nofd_lcore *lcore, const struct nofd_sources *sources, bool asleep)
{
    if (asleep)
        __atomic_store_n(&lcore->asleep, NOFD_ASLEEP, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < sources->n; i++) {
        struct nofd_source *source = sources->of[i];

        if (source->ops->asleep != NULL)
            source->ops->asleep(source, asleep);
    }
    if (!asleep)
        __atomic_store_n(&lcore->asleep, 0, __ATOMIC_RELAXED);
}

/* The last look, after `asleep` was published and the fence passed. */
static bool may_sleep(struct nofd_lcore *lcore, const struct nofd_sources *sources)
{
    bool ready = nofd_lcore_wanted(lcore);

    for (unsigned i = 0; i < sources->n; i++) {
        struct nofd_source *source = sources->of[i];

        if (source->ops->ready != NULL && source->ops->ready(source))
            ready = true;
    }
    return !ready;
}

static void sleep_until(struct nofd_idle *idle, struct nofd_lcore *lcore, uint64_t until_ns)
{
    struct epoll_event events[8];
    struct timespec timeout;
    uint64_t now_ns = nofd_clock_ns();
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;

    if (left_ns < SLEEP_MIN_NS)
        return;
    timeout.tv_sec = (time_t)(left_ns / NOFD_S);
    timeout.tv_nsec = (long)(left_ns % NOFD_S);
    (*idle->sleeps)++;
    if (epoll_pwait2(lcore->epoll_fd, events, 8, until_ns == UINT64_MAX ? NULL : &timeout, NULL) < 0 &&
        errno == ENOSYS) { /* before Linux 5.11 */
        int ms = until_ns == UINT64_MAX || left_ns > 1000 * NOFD_S ? -1 : (int)(left_ns / NOFD_MS) + 1;

        (void)epoll_wait(lcore->epoll_fd, events, 8, ms);
    }
    /* What we slept on purpose is no stall; what we overslept is. */
    now_ns = nofd_clock_ns();
    lcore->now_ns = nofd_earlier(now_ns, until_ns);
}

static void earn(struct nofd_idle *idle, uint64_t now_ns)
{
    if (idle->worked_ns != 0)
        idle->credit_ns =
            nofd_earlier(idle->credit_ns + (now_ns - idle->worked_ns) / CREDIT_SHARE, NOFD_IDLE_CREDIT_NS);
    idle->worked_ns = 0;
}

/* Others that poll give the CPU back at once. Somebody who computes, or spins without giving way, keeps it for a time
 * slice, and for one after each yield; who sleeps instead is let in as soon as he is woken. */
static void shun(struct nofd_idle *idle, uint64_t now_ns)
{
    idle->shun_ns = idle->shun_ns == 0 || idle->yielded_ns - idle->sleep_until_ns > SHUN_FORGET_NS
                        ? SHUN_NS
                        : nofd_earlier(2 * idle->shun_ns, SHUN_MAX_NS);
    idle->sleep_until_ns = now_ns + idle->shun_ns;
}

/* The turn after a yield says how long it took: a clock of its own for each would cost as much as the yield. */
static void look_back(struct nofd_idle *idle, uint64_t now_ns)
{
    if (idle->yielded_ns != 0 && now_ns - idle->yielded_ns > LOST_NS)
        shun(idle, now_ns);
    idle->yielded_ns = 0;
}

void nofd_idle_worked(struct nofd_idle *idle, uint64_t now_ns)
{
    uint64_t spun_ns = idle->since_ns != 0 ? now_ns - idle->since_ns : 0;

    look_back(idle, now_ns);
    if (spun_ns > idle->spin_ns)
        idle->credit_ns -= nofd_earlier(spun_ns - idle->spin_ns, idle->credit_ns);
    earn(idle, now_ns);
    idle->worked_ns = now_ns;
    idle->since_ns = 0;
    idle->backoff_ns = 0;
}

/* Of a turn without work; spin_us=0 means never. */
static bool may_spin(const struct nofd_idle *idle, uint64_t now_ns)
{
    return idle->policy == NOFD_IDLE_AUTO && idle->spin_ns > 0 && now_ns >= idle->sleep_until_ns &&
           now_ns - idle->since_ns < idle->spin_ns + idle->credit_ns;
}

void nofd_idle_wait(struct nofd_idle *idle, struct nofd_lcore *lcore, const struct nofd_sources *sources)
{
    uint64_t until_ns;

    look_back(idle, lcore->now_ns);
    earn(idle, lcore->now_ns);
    if (idle->since_ns == 0)
        idle->since_ns = lcore->now_ns;
    if (idle->policy == NOFD_IDLE_BUSY) {
        rte_pause();
        return;
    }
    if (idle->policy == NOFD_IDLE_YIELD) {
        sched_yield();
        return;
    }
    if (may_spin(idle, lcore->now_ns)) {
        if (!idle->scarce && lcore->now_ns - idle->since_ns < PURE_NS) {
            rte_pause();
            return;
        }
        idle->yielded_ns = lcore->now_ns;
        sched_yield();
        return;
    }
    until_ns = deadline(idle, lcore->now_ns, sources);
    if (until_ns <= lcore->now_ns)
        return;
    publish(lcore, sources, true);
    nof_fence_full();
    idle->credit_ns = 0;
    if (may_sleep(lcore, sources))
        sleep_until(idle, lcore, until_ns);
    publish(lcore, sources, false);
}
