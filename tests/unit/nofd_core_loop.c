/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loop of a NIC core, on its thread: whom it serves and in which order, and its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <rte_lcore.h>

#include "../check.h"
#include "nofd/core/core_loop.h"
#include "nofd/dma/copier.h"
#include "nofd/sys/clock.h"

enum who { FIRST_NIC, SECOND_NIC, HELPERS, BELLS, COPIER, KINDS };

static struct nofd_nic nic[2];
static struct nofd_nic *nics[2] = {&nic[0], &nic[1]};
static struct nofd_source copier_source;
static struct nofd_core core;
static bool naps[2];
static bool have_copier;
/* All of these cross, by errands that are answered, or atomic. */
static unsigned turns[KINDS], work[KINDS], spares;
static enum who order[8];
static unsigned norder;
static bool recording;
static uint64_t pause_ns; /* the next turn of the first NIC takes so long */
static uint64_t stalled_ns[KINDS]; /* the longest that sources were told */
static unsigned lates[KINDS]; /* times that they were told that another core is late */

static bool registers; /* or no number is left: the core works all the same */
static unsigned registered;
static bool no_thread;

int rte_thread_register(void)
{
    registered += registers;
    return registers ? 0 : -1;
}

void rte_thread_unregister(void)
{
    registered--;
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    return no_thread ? EAGAIN : __real_pthread_create(thread, attr, run, arg);
}

static enum who who_is(const struct nofd_source *source)
{
    if (source == &copier_source)
        return COPIER;
    if (source == &core.dma.pools.source)
        return HELPERS;
    if (source == &core.dma.pools.bells)
        return BELLS;
    check(source == &nic[0].source || source == &nic[1].source);
    return source == &nic[0].source ? FIRST_NIC : SECOND_NIC;
}

static unsigned turn(struct nofd_source *source, uint64_t now_ns)
{
    enum who who = who_is(source);

    check(now_ns == core.lcore.now_ns);
    if (who == FIRST_NIC && pause_ns != 0) {
        usleep((useconds_t)(pause_ns / NOFD_US));
        pause_ns = 0;
    }
    if (recording && norder < sizeof(order) / sizeof(order[0]))
        order[norder++] = who;
    __atomic_fetch_add(&turns[who], 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&work[who], __ATOMIC_SEQ_CST);
}

static unsigned spare(struct nofd_source *source)
{
    check(who_is(source) == COPIER);
    __atomic_fetch_add(&spares, 1, __ATOMIC_SEQ_CST);
    return 0;
}

static void stalled(struct nofd_source *source, uint64_t now_ns, uint64_t for_ns)
{
    check(now_ns == core.lcore.now_ns);
    if (stalled_ns[who_is(source)] < for_ns)
        stalled_ns[who_is(source)] = for_ns; /* on a busy machine a shorter one may follow */
}

static void late(struct nofd_source *source, uint64_t now_ns)
{
    check(now_ns == core.lcore.now_ns);
    __atomic_fetch_add(&lates[who_is(source)], 1, __ATOMIC_SEQ_CST);
}

static const struct nofd_source_ops ops = {.turn = turn, .stalled = stalled, .late = late};
static const struct nofd_source_ops with_spare = {.turn = turn, .spare = spare};

/* Whom the core serves. */
bool nofd_nic_place(struct nofd_nic *of, struct nofd_lcore *lcore, struct nofd_dma *dma)
{
    of->source.ops = &ops;
    of->lcore = lcore;
    of->dma = dma;
    return !naps[of - nic];
}

void nofd_dma_pools_init(struct nofd_dma_pools *pools, struct nofd_lcore *lcore)
{
    pools->source.ops = &ops;
    pools->bells.ops = &ops;
    pools->lcore = lcore;
}

struct nofd_copier *nofd_copier_start(struct nofd_dma *dma)
{
    check(dma == &core.dma);
    return have_copier ? (struct nofd_copier *)(void *)&copier_source : NULL;
}

static unsigned copiers_stopped;

void nofd_copier_stop(struct nofd_copier *copier)
{
    copiers_stopped += copier != NULL;
}

struct nofd_source *nofd_copier_source(struct nofd_copier *of)
{
    check((void *)of == &copier_source);
    return &copier_source;
}

static int start(void **state)
{
    (void)state;
    memset(nic, 0, sizeof(nic));
    memset(turns, 0, sizeof(turns));
    memset(work, 0, sizeof(work));
    memset(stalled_ns, 0, sizeof(stalled_ns));
    memset(lates, 0, sizeof(lates));
    naps[0] = naps[1] = have_copier = recording = false;
    norder = spares = 0;
    pause_ns = 0;
    copier_source.ops = &with_spare;
    if (nofd_core_init(&core, 0, nics, 2, -1) != 0)
        return -1;
    core.idle.policy = NOFD_IDLE_YIELD;
    return 0;
}

static void record(struct nofd_lcore *lcore, void *arg)
{
    (void)lcore;
    (void)arg;
    norder = 0;
    recording = true;
}

static void stop_recording(struct nofd_lcore *lcore, void *arg)
{
    (void)lcore;
    (void)arg;
    recording = false;
}

static void until(unsigned *count, unsigned more)
{
    unsigned n = __atomic_load_n(count, __ATOMIC_SEQ_CST) + more;
    uint64_t end_ns = nofd_clock_ns() + CHECK_PATIENCE_MS * NOFD_MS;

    while ((int)(__atomic_load_n(count, __ATOMIC_SEQ_CST) - n) < 0 && nofd_clock_ns() < end_ns)
        sched_yield();
    assert_true((int)(__atomic_load_n(count, __ATOMIC_SEQ_CST) - n) >= 0);
}

/* An errand comes before the turn: what is recorded begins with the first source. */
static void served(const enum who *want, unsigned n)
{
    nofd_lcore_run(&core.lcore, record, NULL);
    until(&turns[SECOND_NIC], 3);
    nofd_lcore_run(&core.lcore, stop_recording, NULL);
    assert_true(norder >= n);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(order[i], want[i]);
}

static void stop(void)
{
    nofd_core_stop(&core);
    nofd_core_wait(&core);
    nofd_core_fini(&core);
}

/* NICs go on with what has been copied in the same turn. */
static void a_private_daemon_serves_the_copier_then_its_nics(void **state)
{
    static const enum who want[] = {COPIER, FIRST_NIC, SECOND_NIC, COPIER};

    (void)state;
    have_copier = true;
    assert_int_equal(nofd_core_launch(&core, true), 0);
    served(want, 4);
    stop();
}

static void without_a_cpu_for_it_there_is_no_copier(void **state)
{
    static const enum who want[] = {FIRST_NIC, SECOND_NIC, FIRST_NIC};

    (void)state;
    assert_int_equal(nofd_core_launch(&core, true), 0);
    served(want, 3);
    assert_null(core.spare);
    stop();
}

static void a_shared_daemon_serves_helpers_then_nics_then_rings(void **state)
{
    static const enum who want[] = {HELPERS, FIRST_NIC, SECOND_NIC, BELLS, HELPERS};

    (void)state;
    have_copier = true;
    assert_int_equal(nofd_core_launch(&core, false), 0);
    served(want, 5);
    assert_null(core.spare);
    stop();
}

static void only_a_turn_without_work_has_something_to_spare(void **state)
{
    (void)state;
    have_copier = true;
    work[SECOND_NIC] = 1;
    assert_int_equal(nofd_core_launch(&core, true), 0);
    until(&turns[SECOND_NIC], 50);
    assert_int_equal(__atomic_load_n(&spares, __ATOMIC_SEQ_CST), 0);
    __atomic_store_n(&work[SECOND_NIC], 0, __ATOMIC_SEQ_CST);
    until(&spares, 3);
    stop();
}

static void make_pause(struct nofd_lcore *lcore, void *arg)
{
    (void)lcore;
    (void)arg;
    memset(stalled_ns, 0, sizeof(stalled_ns));
    pause_ns = 30 * NOFD_MS;
}

static void all_are_told_for_how_long_nobody_listened(void **state)
{
    (void)state;
    assert_int_equal(nofd_core_launch(&core, false), 0);
    nofd_lcore_run(&core.lcore, make_pause, NULL);
    until(&turns[BELLS], 2);
    stop();
    for (unsigned i = 0; i < COPIER; i++)
        assert_true(stalled_ns[i] >= 30 * NOFD_MS);
}

static void own_time(struct nofd_lcore *lcore, void *arg)
{
    (void)arg;
    lcore->watch_pauses = true;
    lcore->pause_ns = UINT64_MAX;
}

static void look_at_pause(struct nofd_lcore *lcore, void *arg)
{
    *(uint64_t *)arg = lcore->pause_ns;
}

static void a_turn_is_measured_where_that_is_asked_for(void **state)
{
    uint64_t took_ns;

    (void)state;
    assert_int_equal(nofd_core_launch(&core, true), 0);
    nofd_lcore_run(&core.lcore, own_time, NULL);
    until(&turns[SECOND_NIC], 3);
    nofd_lcore_run(&core.lcore, look_at_pause, &took_ns);
    assert_true(took_ns < CHECK_PATIENCE_MS * NOFD_MS);
    stop();
}

static void a_port_that_wakes_nobody_is_napped_for(void **state)
{
    (void)state;
    nofd_core_fini(&core);
    naps[1] = true;
    assert_int_equal(nofd_core_init(&core, 0, nics, 2, -1), 0);
    assert_true(core.idle.naps);
    nofd_core_fini(&core);
    naps[1] = false;
    assert_int_equal(nofd_core_init(&core, 0, nics, 2, -1), 0);
    assert_false(core.idle.naps);
    nofd_core_fini(&core);
}

#define EACH(test) cmocka_unit_test_setup(test, start)

/* A frame waits for it, and it does not come to it. */
static void all_are_told_of_a_core_beside_that_stands(void **state)
{
    struct nofd_core other = {.lcore = {.asleep = NOFD_WOKEN}};

    (void)state;
    assert_int_equal(nofd_core_meet(&core, &other, 1), 0);
    assert_int_equal(nofd_core_launch(&core, false), 0);
    until(&lates[FIRST_NIC], 2);
    until(&lates[SECOND_NIC], 1);
    stop();
}

static void without_a_thread_there_is_no_copier_either(void **state)
{
    (void)state;
    have_copier = no_thread = true;
    assert_int_equal(nofd_core_launch(&core, true), -EAGAIN);
    no_thread = false;
    assert_int_equal(copiers_stopped, 1);
    assert_null(core.dma.copier);
    nofd_core_fini(&core);
}

static void dpdk_knows_its_thread_while_it_runs(void **state)
{
    (void)state;
    registers = true;
    assert_int_equal(nofd_core_launch(&core, true), 0);
    until(&turns[SECOND_NIC], 1);
    assert_int_equal(__atomic_load_n(&registered, __ATOMIC_SEQ_CST), 1);
    stop();
    assert_int_equal(registered, 0);
    registers = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_private_daemon_serves_the_copier_then_its_nics),
        EACH(without_a_cpu_for_it_there_is_no_copier),
        EACH(a_shared_daemon_serves_helpers_then_nics_then_rings),
        EACH(only_a_turn_without_work_has_something_to_spare),
        EACH(all_are_told_for_how_long_nobody_listened),
        EACH(all_are_told_of_a_core_beside_that_stands),
        EACH(a_turn_is_measured_where_that_is_asked_for),
        EACH(a_port_that_wakes_nobody_is_napped_for),
        EACH(without_a_thread_there_is_no_copier_either),
        EACH(dpdk_knows_its_thread_while_it_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
