/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host driver and the segment of its job: what nofd says is checked before it is mapped, and who has a slot sleeps on its
 * bell. The daemon's side is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "fake_nofd.h"
#include "nof_private/fence.h"
#include "pmd_driver.h"

#define SLOTS 3u
#define SLOT 1u

static struct fake_nofd fake;
static struct nof_segment_bell *bells;
static struct nof_roster *roster;
static char text[512];

static int attach(struct nof_pmd **pmd_out)
{
    struct nof_pmd_attach_args args = {
        .socket = fake.address, .job_id = 77, .rank = 5, .size = 8, .shares = true, .local_ranks = SLOTS};

    return fake_attach(&fake, &args, pmd_out, text, sizeof(text));
}

static void open_all(void)
{
    fake_open(&fake);
    fake_share(&fake, SLOTS, SLOT);
    bells = fake.bells;
    roster = fake.roster;
}

static int setup(void **state)
{
    struct nof_pmd *pmd = NULL;

    open_all();
    if (attach(&pmd) != NOF_OK)
        return -1;
    *state = pmd;
    return 0;
}

static int teardown(void **state)
{
    nof_pmd_detach(*state);
    fake_close(&fake);
    return 0;
}

static void what_was_asked_for_is_there(void **state)
{
    const struct nof_pmd_segment *s = nof_pmd_segment(*state);
    const struct nof_roster_rank *entry;

    assert_int_equal(fake.request.flags, NOF_ATTACH_F_SEGMENT);
    assert_int_equal(fake.request.local_ranks, SLOTS);
    assert_non_null(s);
    assert_non_null(s->base);
    assert_int_equal(s->nslots, SLOTS);
    assert_int_equal(s->slot, SLOT);
    assert_int_equal(s->bytes, roster->segment_bytes);
    assert_int_equal(s->roster->segment_id, roster->segment_id);
    s->base[s->bytes - 1] = 42; /* all of it can be written */
    entry = (const struct nof_roster_rank *)(const void *)(s->roster + 1);
    assert_int_equal(entry[SLOTS - 1].state, NOF_ROSTER_FREE);
    assert_int_not_equal(mprotect((void *)(uintptr_t)s->roster, 4096, PROT_READ | PROT_WRITE), 0);
}

static void its_wake_count_is_the_bells(void **state)
{
    assert_int_equal(nof_pmd_wake_count(*state), 0);
    bells[SLOT].wake = 7;
    assert_int_equal(nof_pmd_wake_count(*state), 7);
    nof_pmd_wake(*state);
    assert_int_equal(bells[SLOT].wake, 8);
    assert_int_equal(fake.host_words->wake, 0);
    /* It has rung since, so this does not sleep. */
    assert_int_equal(nof_pmd_wait(*state, 7, UINT64_MAX), NOF_OK);
}

static void *ring_when_asleep(void *unused)
{
    struct nof_segment_bell *bell = &bells[SLOT];

    (void)unused;
    while (__atomic_load_n(&bell->asleep, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    __atomic_store_n(&bell->asleep, 0, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&bell->wake, 1, __ATOMIC_SEQ_CST);
    (void)syscall(SYS_futex, &bell->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
    return NULL;
}

static void a_peer_wakes_it(void **state)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, ring_when_asleep, NULL), 0);
    assert_int_equal(nof_pmd_wait(*state, nof_pmd_wake_count(*state), UINT64_MAX), NOF_OK);
    pthread_join(thread, NULL);
    assert_int_equal(bells[SLOT].wake, 1);
    assert_int_equal(bells[SLOT].asleep, 0);
    assert_int_equal(fake.host_words->host_asleep, 0);
}

/* Between begin() and wait() it is said to sleep, and who rings then is not missed. */
static void a_ring_before_it_sleeps_is_not_lost(void **state)
{
    uint32_t seen = nof_pmd_wake_count(*state);

    nof_pmd_wait_begin(*state);
    assert_int_equal(bells[SLOT].asleep, 1);
    (void)ring_when_asleep(NULL);
    assert_int_equal(nof_pmd_wait(*state, seen, UINT64_MAX), NOF_OK);
    assert_int_equal(bells[SLOT].asleep, 0);
    nof_pmd_wait_begin(*state);
    nof_pmd_wait_end(*state);
    assert_int_equal(bells[SLOT].asleep, 0);
}

static void a_child_has_none_of_it(void **state)
{
    const struct nof_pmd_segment *s = nof_pmd_segment(*state);
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        unsigned char there;
        bool gone =
            mincore(s->base, 4096, &there) != 0 && mincore((void *)(uintptr_t)s->roster, 4096, &there) != 0;

        nof_pmd_wait_begin(*state);
        nof_pmd_wait_end(*state);
        nof_pmd_wake(*state);
        _exit(gone && nof_pmd_segment(*state) == NULL ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void without_address_space_for_it_the_bell_still_is(void **state)
{
    struct rlimit was, few;
    struct nof_pmd *pmd = NULL;
    unsigned long pages;
    FILE *statm = fopen("/proc/self/statm", "re");
    int rc;

    (void)state;
    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%lu", &pages), 1);
    (void)fclose(statm);
    fake_open(&fake);
    fake_share(&fake, NOF_SEGMENT_SLOTS_MAX, SLOT); /* 70 GB of it */
    assert_int_equal(getrlimit(RLIMIT_AS, &was), 0);
    few = was;
    few.rlim_cur = (rlim_t)pages * 4096 + ((rlim_t)1 << 30);
    assert_int_equal(setrlimit(RLIMIT_AS, &few), 0);
    rc = attach(&pmd);
    assert_int_equal(setrlimit(RLIMIT_AS, &was), 0);
    assert_int_equal(rc, NOF_OK);
    assert_non_null(nof_pmd_segment(pmd));
    assert_null(nof_pmd_segment(pmd)->base);
    assert_int_equal(nof_pmd_segment(pmd)->roster->nslots, NOF_SEGMENT_SLOTS_MAX);
    fake.bells[SLOT].wake = 3;
    assert_int_equal(nof_pmd_wake_count(pmd), 3);
    nof_pmd_detach(pmd);
    fake_close(&fake);
}

static void without_a_slot_it_sleeps_on_its_host_words(void **state)
{
    struct nof_pmd *pmd = NULL;

    (void)state;
    fake_open(&fake);
    assert_int_equal(attach(&pmd), NOF_OK);
    assert_null(nof_pmd_segment(pmd));
    nof_pmd_wait_begin(pmd);
    assert_int_equal(fake.host_words->host_asleep, 1);
    nof_pmd_wait_end(pmd);
    nof_pmd_wake(pmd);
    assert_int_equal(fake.host_words->wake, 1);
    nof_pmd_detach(pmd);
    fake_close(&fake);
}

enum garble {
    ONE_SLOT,
    TOO_MANY,
    SLOT_OUTSIDE,
    SEGMENT_SHORT,
    SEGMENT_LONG,
    ROSTER_SHORT,
    ROSTER_LONG,
    NO_SEALS,
    MAGIC,
    VERSION,
    OTHER_SLOTS,
    OTHER_OFFSET,
    NO_ID,
    NO_FDS_OF_IT,
    FDS_OF_NOTHING,
    GARBLES
};

static void garble(enum garble how)
{
    struct nof_segment_reply *told = &fake.reply.shared;

    if (how == ONE_SLOT)
        told->nslots = 1;
    else if (how == TOO_MANY)
        told->nslots = UINT32_MAX;
    else if (how == SLOT_OUTSIDE)
        told->slot = SLOTS;
    else if (how == SEGMENT_SHORT)
        told->segment_bytes -= 4096;
    else if (how == SEGMENT_LONG)
        told->segment_bytes = UINT64_MAX & ~4095ull;
    else if (how == ROSTER_SHORT)
        told->roster_bytes = sizeof(struct nof_roster);
    else if (how == ROSTER_LONG)
        told->roster_bytes = UINT64_MAX & ~4095ull;
    else if (how == NO_SEALS)
        fake.shared_unsealed = true;
    else if (how == MAGIC)
        roster->magic++;
    else if (how == VERSION)
        roster->abi_version++;
    else if (how == OTHER_SLOTS)
        roster->nslots++;
    else if (how == OTHER_OFFSET)
        roster->part_offset = 0;
    else if (how == NO_ID)
        roster->segment_id = 0;
    else if (how == NO_FDS_OF_IT)
        fake.nshared = 0;
    else if (how == FDS_OF_NOTHING)
        told->nslots = 0;
}

static void what_makes_no_sense_is_refused_and_leaks_nothing(void **state)
{
    (void)state;
    for (enum garble how = ONE_SLOT; how < GARBLES; how++) {
        struct nof_pmd *pmd = NULL;
        unsigned before = fake_open_descriptors();
        int rc;

        open_all();
        garble(how);
        rc = attach(&pmd);
        if (rc != NOF_EVERSION || pmd != NULL || text[0] == '\0')
            fail_msg("garble %d: rc %d '%s'", how, rc, text);
        fake_close(&fake);
        assert_int_equal(fake_open_descriptors(), before);
    }
}

int main(void)
{
#define WITH_PMD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_PMD(what_was_asked_for_is_there),
        WITH_PMD(its_wake_count_is_the_bells),
        WITH_PMD(a_peer_wakes_it),
        WITH_PMD(a_ring_before_it_sleeps_is_not_lost),
        WITH_PMD(a_child_has_none_of_it),
        cmocka_unit_test(without_address_space_for_it_the_bell_still_is),
        cmocka_unit_test(without_a_slot_it_sleeps_on_its_host_words),
        cmocka_unit_test(what_makes_no_sense_is_refused_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
