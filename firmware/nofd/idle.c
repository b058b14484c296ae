/* SPDX-License-Identifier: BSD-3-Clause */
#include "idle.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_pause.h>

#include "nof_private/fence.h"

#include "clock.h"
#include "copier.h"
#include "core.h"
#include "dma_helper.h"

#define BACKOFF_MAX_NS (1 * NOFD_MS) /* between two looks at a port that cannot wake us */
#define FULL_LOOK_NS (1 * NOFD_MS) /* at a host that does not reap */
#define CREDIT_SHARE 4u
#define LINK_LOOK_NS (100 * NOFD_MS)
#define LOST_NS (500 * NOFD_US) /* a yield that took as long lost the CPU to somebody who does not give way */
#define SHUN_NS \
    (2 * NOFD_MS) /* no yields for so long after; twice as long each time that it happens again, up to: */
#define SHUN_MAX_NS (50 * NOFD_MS)
#define SHUN_FORGET_NS \
    (500 * NOFD_MS) /* since the last one: ranks that start take a slice or two, and no more */
#define SLEEP_MIN_NS (2 * NOFD_US) /* a shorter sleep costs more than it saves */

int nofd_idle_init(struct nofd_idle *idle)
{
    int rc;

    *idle = (struct nofd_idle){.epoll_fd = -1, .wake_fd = -1};
    idle->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    idle->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (idle->epoll_fd < 0 || idle->wake_fd < 0) {
        rc = -errno;
        nofd_idle_fini(idle);
        return rc;
    }
    return nofd_idle_watch(idle, idle->wake_fd, true);
}

void nofd_idle_fini(struct nofd_idle *idle)
{
    if (idle->epoll_fd >= 0)
        close(idle->epoll_fd);
    if (idle->wake_fd >= 0)
        close(idle->wake_fd);
    idle->epoll_fd = -1;
    idle->wake_fd = -1;
}

int nofd_idle_watch(struct nofd_idle *idle, int fd, bool edge)
{
    /* Edge-triggered, an eventfd wakes once per write and needs no read. */
    struct epoll_event event = {.events = edge ? EPOLLIN | EPOLLET : EPOLLIN};

    return epoll_ctl(idle->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0 ? -errno : 0;
}

void nofd_idle_unwatch(struct nofd_idle *idle, int fd)
{
    (void)epoll_ctl(idle->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

void nofd_idle_wake(struct nofd_idle *idle)
{
    uint64_t one = 1;
    ssize_t n;

    nof_fence_full();
    if (__atomic_load_n(&idle->asleep, __ATOMIC_RELAXED) == 0)
        return;
    n = write(idle->wake_fd, &one, sizeof(one));
    (void)n; /* full: it is awake already */
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* When the core must run again if nobody wakes it. */
static uint64_t deadline(struct nofd_core *core)
{
    struct nofd_idle *idle = &core->idle;
    uint64_t at_ns = core->npools > 0 ? nofd_dma_pools_deadline(core) : UINT64_MAX;
    bool quiet = true;

    for (unsigned i = 0; i < core->nnics; i++) {
        struct nofd_nic *nic = core->nics[i];

        at_ns = earlier(at_ns, nof_nic_next_deadline(nic->nic));
        at_ns = earlier(at_ns, nic->wire.ops->deadline(&nic->wire));
        if (nic->wire.device != NULL)
            at_ns = earlier(at_ns, core->now_ns + LINK_LOOK_NS);
        for (unsigned j = 0; j < nic->nlive; j++)
            if (nic->live[j]->complete_full)
                at_ns = earlier(at_ns, core->now_ns + FULL_LOOK_NS);
        quiet = quiet && nof_nic_quiet(nic->nic);
    }
    if (!idle->naps)
        return at_ns;
    if (!quiet)
        idle->backoff_ns = idle->nap_ns;
    else
        idle->backoff_ns = idle->backoff_ns == 0 ? idle->nap_ns : idle->backoff_ns * 2;
    if (idle->backoff_ns > BACKOFF_MAX_NS && idle->backoff_ns > idle->nap_ns)
        idle->backoff_ns = BACKOFF_MAX_NS > idle->nap_ns ? BACKOFF_MAX_NS : idle->nap_ns;
    return earlier(at_ns, core->now_ns + idle->backoff_ns);
}

static void publish(struct nofd_core *core, uint32_t asleep)
{
    __atomic_store_n(&core->idle.asleep, asleep, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < core->nnics; i++)
        nofd_nic_asleep(core->nics[i], asleep);
    nofd_dma_pools_asleep(core, asleep);
}

/* The last look, after `asleep` was published and the fence passed. */
static bool may_sleep(struct nofd_core *core)
{
    if (__atomic_load_n(&core->call, __ATOMIC_RELAXED) != NULL ||
        __atomic_load_n(&core->stop, __ATOMIC_RELAXED))
        return false;
    if (core->npools > 0 && nofd_dma_pools_ready(core))
        return false;
    if (core->copier != NULL && nofd_copier_ready(core->copier))
        return false;
    for (unsigned i = 0; i < core->nnics; i++)
        if (nofd_nic_has_work(core->nics[i]))
            return false;
    return true;
}

/* A port's socket is in the epoll set only while we sleep: who sends to it would call epoll for every frame. */
static bool arm_ports(struct nofd_core *core)
{
    bool armed = true;

    for (unsigned i = 0; i < core->nnics; i++) {
        struct nofd_wire *wire = &core->nics[i]->wire;

        armed = wire->ops->sleep(wire) && armed;
        if (!wire->naps && wire->wait_fd >= 0)
            armed = nofd_idle_watch(&core->idle, wire->wait_fd, false) == 0 && armed;
    }
    return armed;
}

static void disarm_ports(struct nofd_core *core)
{
    for (unsigned i = 0; i < core->nnics; i++) {
        struct nofd_wire *wire = &core->nics[i]->wire;

        if (!wire->naps && wire->wait_fd >= 0)
            nofd_idle_unwatch(&core->idle, wire->wait_fd);
        wire->ops->wake(wire);
    }
}

static void sleep_until(struct nofd_core *core, uint64_t until_ns)
{
    struct epoll_event events[8];
    struct timespec timeout;
    uint64_t now_ns = nofd_clock_ns();
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;

    if (left_ns < SLEEP_MIN_NS)
        return;
    timeout.tv_sec = (time_t)(left_ns / NOFD_S);
    timeout.tv_nsec = (long)(left_ns % NOFD_S);
    core->nics[0]->counters[NOF_C_SLEEPS]++;
    if (epoll_pwait2(core->idle.epoll_fd, events, 8, until_ns == UINT64_MAX ? NULL : &timeout, NULL) < 0 &&
        errno == ENOSYS) { /* before Linux 5.11 */
        int ms = until_ns == UINT64_MAX || left_ns > 1000 * NOFD_S ? -1 : (int)(left_ns / NOFD_MS) + 1;

        (void)epoll_wait(core->idle.epoll_fd, events, 8, ms);
    }
    /* What we slept on purpose is no stall; what we overslept is. */
    now_ns = nofd_clock_ns();
    core->now_ns = earlier(now_ns, until_ns);
}

static void earn(struct nofd_idle *idle, uint64_t now_ns)
{
    if (idle->worked_ns != 0)
        idle->credit_ns =
            earlier(idle->credit_ns + (now_ns - idle->worked_ns) / CREDIT_SHARE, NOFD_IDLE_CREDIT_NS);
    idle->worked_ns = 0;
}

/* Others that poll give the CPU back at once. Somebody who computes, or spins without giving way, keeps it for a time
 * slice, and for one after each yield; who sleeps instead is let in as soon as he is woken. */
static void shun(struct nofd_idle *idle, uint64_t now_ns)
{
    idle->shun_ns = idle->shun_ns == 0 || idle->yielded_ns - idle->sleep_until_ns > SHUN_FORGET_NS
                        ? SHUN_NS
                        : earlier(2 * idle->shun_ns, SHUN_MAX_NS);
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
        idle->credit_ns -= earlier(spun_ns - idle->spin_ns, idle->credit_ns);
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

void nofd_idle_wait(struct nofd_core *core)
{
    struct nofd_idle *idle = &core->idle;
    uint64_t until_ns;

    look_back(idle, core->now_ns);
    earn(idle, core->now_ns);
    if (idle->since_ns == 0)
        idle->since_ns = core->now_ns;
    if (idle->policy == NOFD_IDLE_BUSY) {
        rte_pause();
        return;
    }
    if (idle->policy == NOFD_IDLE_YIELD) {
        sched_yield();
        return;
    }
    if (may_spin(idle, core->now_ns)) {
        if (!idle->scarce) {
            rte_pause();
            return;
        }
        idle->yielded_ns = core->now_ns;
        sched_yield();
        return;
    }
    until_ns = deadline(core);
    if (until_ns <= core->now_ns)
        return;
    publish(core, 1);
    nof_fence_full();
    idle->credit_ns = 0;
    if (arm_ports(core) && may_sleep(core))
        sleep_until(core, until_ns);
    disarm_ports(core);
    publish(core, 0);
}
