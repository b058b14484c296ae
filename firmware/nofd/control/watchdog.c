/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/control/watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "nofd/dma/busy.h"
#include "nofd/sys/clock.h"
#include "nofd/dma/copier.h"
#include "nofd/control/daemon.h"
#include "nofd/sys/log.h"

#define PERIOD_LEAST_NS (1 * NOFD_MS)

struct watched {
    struct nofd_look core, copier;
};

struct nofd_watchdog {
    struct nofd *daemon;
    pthread_t thread;
    sem_t stop;
    uint64_t period_ns;
    struct nofd_look attach;
    struct watched cores[]; /* as many as the daemon has */
};

static void end_if_overdue(struct nofd_watchdog *dog, struct nofd_look *look, const struct nofd_busy *busy,
                           const char *who)
{
    uint32_t rank;
    pid_t pid;

    if (!nofd_look_overdue(look, busy, &pid, &rank))
        return;
    nofd_error(
        "%s: memory of rank %u (pid %u) blocks its copy for %u ms (a userfaultfd, or a file system "
        "that does not answer), and nothing else of this private daemon can go on: the job ends. A copy that "
        "may take longer needs a larger --dma-timeout, in the environment NOF_DMA_TIMEOUT; under `nof up` "
        "only that rank fails",
        who, rank, (unsigned)pid, (unsigned)(dog->daemon->options.dma_timeout_ns / NOFD_MS));
    quick_exit(1);
}

static void look_at(struct nofd_watchdog *dog, unsigned i)
{
    const struct nofd_core *core = &dog->daemon->cores[i];
    struct nofd_copier *copier = core->dma.copier;
    struct watched *w = &dog->cores[i];
    char name[32];
    uint32_t rank;
    pid_t pid;

    if (copier != NULL && nofd_look_overdue(&w->copier, nofd_copier_busy(copier), &pid, &rank))
        nofd_copier_overdue(copier);
    snprintf(name, sizeof(name), "NIC core %u", core->lcore.index);
    end_if_overdue(dog, &w->core, &core->dma.busy, name);
}

/* Until the next look; false: the daemon ends. */
static bool nap(struct nofd_watchdog *dog)
{
    struct timespec until;
    uint64_t at_ns;

    clock_gettime(CLOCK_MONOTONIC, &until);
    at_ns = (uint64_t)until.tv_nsec + dog->period_ns;
    until.tv_sec += (time_t)(at_ns / NOFD_S);
    until.tv_nsec = (long)(at_ns % NOFD_S);
    while (sem_clockwait(&dog->stop, CLOCK_MONOTONIC, &until) != 0)
        if (errno != EINTR)
            return true;
    return false;
}

static void *dog_main(void *arg)
{
    struct nofd_watchdog *dog = arg;

    while (nap(dog)) {
        for (unsigned i = 0; i < dog->daemon->ncores; i++)
            look_at(dog, i);
        end_if_overdue(dog, &dog->attach, &dog->daemon->busy, "attach");
    }
    return NULL;
}

struct nofd_watchdog *nofd_watchdog_start(struct nofd *d)
{
    struct nofd_watchdog *dog = calloc(1, sizeof(*dog) + d->ncores * sizeof(dog->cores[0]));
    sigset_t all;
    sigset_t before;
    int rc;

    if (dog == NULL)
        return NULL;
    dog->daemon = d;
    dog->period_ns = d->options.dma_timeout_ns / NOFD_LOOKS;
    if (dog->period_ns < PERIOD_LEAST_NS)
        dog->period_ns = PERIOD_LEAST_NS;
    sem_init(&dog->stop, 0, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&dog->thread, NULL, dog_main, dog);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        return dog;
    sem_destroy(&dog->stop);
    free(dog);
    return NULL;
}

void nofd_watchdog_stop(struct nofd_watchdog *dog)
{
    if (dog == NULL)
        return;
    sem_post(&dog->stop);
    (void)pthread_join(dog->thread, NULL);
    sem_destroy(&dog->stop);
    free(dog);
}
