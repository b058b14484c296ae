/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a NIC core does without work: whom it asks before it sleeps, and for how long it does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../check.h"
#include "nofd/sys/clock.h"
#include "nofd/core/idle.h"

struct fake {
    struct nofd_source source; /* first member */
    uint64_t after_ns; /* its deadline; UINT64_MAX: none */
    bool ready;
    bool busy;
    bool asleep;
    unsigned asked;
    unsigned told;
};

static struct nofd_lcore lcore;
static struct nofd_idle idle;
static struct fake fakes[3];
static struct nofd_source *list[3];
static struct nofd_sources sources = {.of = list};
static uint64_t sleeps;
static uint64_t began_ns; /* the last wait */

static uint64_t deadline(struct nofd_source *source, uint64_t now_ns)
{
    const struct fake *f = (struct fake *)source;

    return f->after_ns == UINT64_MAX ? UINT64_MAX : now_ns + f->after_ns;
}

static bool quiet(struct nofd_source *source)
{
    return !((struct fake *)source)->busy;
}

static void asleep(struct nofd_source *source, bool is)
{
    struct fake *f = (struct fake *)source;

    f->asleep = is;
    f->told++;
    assert_int_equal(lcore.asleep, 1); /* published first, taken back last */
}

static bool ready(struct nofd_source *source)
{
    struct fake *f = (struct fake *)source;

    assert_true(f->asleep);
    f->asked++;
    return f->ready;
}

static const struct nofd_source_ops all = {
    .deadline = deadline, .quiet = quiet, .asleep = asleep, .ready = ready};
static const struct nofd_source_ops nothing;

static int start(void **state)
{
    (void)state;
    idle = (struct nofd_idle){.policy = NOFD_IDLE_SLEEP, .sleeps = &sleeps, .nap_ns = 100 * NOFD_US};
    sleeps = 0;
    for (unsigned i = 0; i < 3; i++) {
        fakes[i] = (struct fake){.source.ops = &all, .after_ns = UINT64_MAX};
        list[i] = &fakes[i].source;
    }
    sources.n = 3;
    if (nofd_lcore_init(&lcore, 0, -1) != 0)
        return -1;
    lcore.now_ns = nofd_clock_ns();
    return 0;
}

static int end(void **state)
{
    (void)state;
    nofd_lcore_fini(&lcore);
    return 0;
}

static uint64_t slept_ns(void)
{
    began_ns = lcore.now_ns = nofd_clock_ns();
    nofd_idle_wait(&idle, &lcore, &sources);
    return nofd_clock_ns() - began_ns;
}

/* On a busy machine the deadline has come before it sleeps: then once more. */
static uint64_t slept_once_ns(void)
{
    uint64_t end_ns = nofd_clock_ns() + CHECK_PATIENCE_MS * NOFD_MS, took_ns;

    do {
        fakes[0].told = 0;
        took_ns = slept_ns();
    } while (sleeps == 0 && nofd_clock_ns() < end_ns);
    assert_int_equal(sleeps, 1);
    return took_ns;
}

static void a_sleep_lasts_until_the_earliest_deadline(void **state)
{
    (void)state;
    fakes[0].after_ns = 2 * CHECK_PATIENCE_MS * NOFD_MS;
    fakes[1].after_ns = 5 * NOFD_MS;
    list[2]->ops = &nothing;
    assert_in_range(slept_once_ns(), 5 * NOFD_MS, CHECK_PATIENCE_MS * NOFD_MS);
    assert_int_equal(lcore.asleep, 0);
    assert_int_equal(fakes[0].told, 2);
    assert_false(fakes[0].asleep);
}

static void oversleeping_is_no_stall_but_what_comes_after_is(void **state)
{
    (void)state;
    fakes[0].after_ns = 5 * NOFD_MS;
    (void)slept_once_ns();
    assert_int_equal(lcore.now_ns, began_ns + 5 * NOFD_MS); /* the deadline, however late it woke */
}

static void who_is_ready_keeps_it_awake_and_all_are_asked(void **state)
{
    (void)state;
    fakes[0].ready = true;
    (void)slept_ns(); /* without a deadline: for ever */
    assert_int_equal(sleeps, 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(fakes[i].asked, 1);
        assert_int_equal(fakes[i].told, 2);
        assert_false(fakes[i].asleep);
    }
}

static void an_errand_or_the_end_keeps_it_awake(void **state)
{
    (void)state;
    lcore.stop = 1;
    (void)slept_ns();
    assert_int_equal(sleeps, 0);
}

static void a_wake_ends_a_sleep(void **state)
{
    (void)state;
    lcore.asleep = 1;
    nofd_lcore_wake(&lcore);
    (void)slept_ns();
    assert_int_equal(sleeps, 1);
}

static void a_deadline_that_has_come_is_no_sleep(void **state)
{
    (void)state;
    fakes[2].after_ns = 0;
    (void)slept_ns();
    assert_int_equal(fakes[0].asked, 0);
}

static void naps_grow_while_all_are_quiet(void **state)
{
    static const uint64_t want_us[] = {100, 200, 400, 800, 1000, 1000};

    (void)state;
    idle.naps = true;
    for (unsigned i = 0; i < 6; i++) {
        (void)slept_ns();
        assert_int_equal(idle.backoff_ns, want_us[i] * NOFD_US);
    }
    fakes[1].busy = true;
    (void)slept_ns();
    assert_int_equal(idle.backoff_ns, 100 * NOFD_US);
    fakes[1].busy = false;
    (void)slept_ns();
    assert_int_equal(idle.backoff_ns, 200 * NOFD_US);
    nofd_idle_worked(&idle, nofd_clock_ns());
    assert_int_equal(idle.backoff_ns, 0);
}

/* Who asks for naps longer than the most gets what he asks for. */
static void a_nap_is_never_shorter_than_asked_for(void **state)
{
    (void)state;
    idle.naps = true;
    idle.nap_ns = 3 * NOFD_MS;
    for (unsigned i = 0; i < 3; i++) {
        (void)slept_ns();
        assert_int_equal(idle.backoff_ns, 3 * NOFD_MS);
    }
}

static void busy_and_yield_never_sleep(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        idle.policy = i % 2 == 0 ? NOFD_IDLE_BUSY : NOFD_IDLE_YIELD;
        (void)slept_ns();
    }
    assert_int_equal(fakes[0].asked, 0);
    assert_int_equal(sleeps, 0);
}

/* With CPUs enough, as far as it knows, only after a while. */
static void auto_gives_way_while_it_spins(void **state)
{
    (void)state;
    idle.policy = NOFD_IDLE_AUTO;
    idle.spin_ns = 50 * NOFD_US;
    for (unsigned scarce = 0; scarce < 2; scarce++) {
        idle.scarce = scarce;
        lcore.now_ns += 1 * NOFD_US;
        nofd_idle_worked(&idle, lcore.now_ns);
        nofd_idle_wait(&idle, &lcore, &sources);
        assert_int_equal(idle.yielded_ns, scarce ? lcore.now_ns : 0);
        lcore.now_ns += 1 * NOFD_US;
        nofd_idle_wait(&idle, &lcore, &sources);
        assert_int_equal(idle.yielded_ns, scarce ? lcore.now_ns : 0);
        lcore.now_ns += 2 * NOFD_US;
        nofd_idle_wait(&idle, &lcore, &sources);
        assert_int_equal(idle.yielded_ns, lcore.now_ns);
        assert_int_equal(sleeps, 0);
    }
}

static void auto_spins_first_and_longer_after_work(void **state)
{
    uint64_t now_ns = NOFD_S;

    (void)state;
    idle.policy = NOFD_IDLE_AUTO;
    idle.spin_ns = 10 * NOFD_US;
    nofd_idle_worked(&idle, now_ns);
    lcore.now_ns = now_ns + 400 * NOFD_US; /* it worked for so long: a quarter is earned */
    nofd_idle_wait(&idle, &lcore, &sources);
    assert_int_equal(idle.credit_ns, 100 * NOFD_US);
    lcore.now_ns += 100 * NOFD_US; /* within spin and credit */
    nofd_idle_wait(&idle, &lcore, &sources);
    assert_int_equal(fakes[0].asked, 0);
    lcore.now_ns += 20 * NOFD_US;
    fakes[0].ready = true;
    nofd_idle_wait(&idle, &lcore, &sources);
    assert_int_equal(fakes[0].asked, 1);
    assert_int_equal(idle.credit_ns, 0);
}

static void credit_has_an_end(void **state)
{
    (void)state;
    idle.policy = NOFD_IDLE_AUTO;
    idle.spin_ns = 10 * NOFD_US;
    nofd_idle_worked(&idle, NOFD_S);
    nofd_idle_worked(&idle, 60 * NOFD_S);
    assert_int_equal(idle.credit_ns, NOFD_IDLE_CREDIT_NS);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_sleep_lasts_until_the_earliest_deadline),
        EACH(oversleeping_is_no_stall_but_what_comes_after_is),
        EACH(who_is_ready_keeps_it_awake_and_all_are_asked),
        EACH(an_errand_or_the_end_keeps_it_awake),
        EACH(a_wake_ends_a_sleep),
        EACH(a_deadline_that_has_come_is_no_sleep),
        EACH(naps_grow_while_all_are_quiet),
        EACH(a_nap_is_never_shorter_than_asked_for),
        EACH(busy_and_yield_never_sleep),
        EACH(auto_gives_way_while_it_spins),
        EACH(auto_spins_first_and_longer_after_work),
        EACH(credit_has_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
