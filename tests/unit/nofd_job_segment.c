/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The segment of a job on a host: what is there and what is not, who gets which slot, what the roster says when, and that
 * nothing stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nof/bar.h"
#include "nof/status.h"

#include "nofd/door/job_segment.h"

#define HOST 11u
#define SLOTS 4u

static struct nofd_segment *segments;
static char why[128];

static int end(void **state)
{
    (void)state;
    nofd_segments_end(&segments);
    return segments == NULL ? 0 : -1;
}

static struct nofd_segment *of(uint32_t host_id, uint32_t nslots)
{
    return nofd_segment_of(&segments, host_id, nslots, why, sizeof(why));
}

static struct nofd_slot given(struct nofd_segment *s, uint32_t rank)
{
    struct nofd_slot slot = {0};

    assert_true(nofd_segment_give(s, rank, &slot));
    return slot;
}

static const struct nof_roster_rank *entry(const struct nofd_segment *s, uint32_t slot)
{
    return (const struct nof_roster_rank *)(const void *)(s->roster + 1) + slot;
}

static int lowest_free(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

static void bells_are_there_and_parts_are_not(void **state)
{
    struct nofd_segment *s = of(HOST, SLOTS);
    struct stat st;

    (void)state;
    assert_non_null(s);
    assert_string_equal(why, "");
    assert_int_equal(fstat(s->fd, &st), 0);
    assert_int_equal(st.st_size, nof_segment_part_offset(SLOTS) + SLOTS * nof_segment_part_bytes(SLOTS));
    assert_int_equal(st.st_size, s->segment_bytes);
    assert_int_equal((uint64_t)st.st_blocks * 512, nof_segment_part_offset(SLOTS));
    assert_int_equal(fstat(s->roster_fd, &st), 0);
    assert_int_equal(st.st_size, s->roster_bytes);
    assert_int_equal((uint64_t)st.st_blocks * 512, s->roster_bytes);
}

static void the_roster_says_what_it_is(void **state)
{
    struct nofd_segment *s = of(HOST, SLOTS);
    struct nofd_segment *other = of(HOST + 1, SLOTS);

    (void)state;
    assert_int_equal(s->roster->magic, NOF_SEGMENT_MAGIC);
    assert_int_equal(s->roster->abi_version, NOF_ABI_VERSION);
    assert_int_equal(s->roster->nslots, SLOTS);
    assert_int_equal(s->roster->part_offset, nof_segment_part_offset(SLOTS));
    assert_int_equal(s->roster->part_bytes, nof_segment_part_bytes(SLOTS));
    assert_int_equal(s->roster->segment_bytes, s->segment_bytes);
    assert_int_not_equal(s->roster->segment_id, 0);
    assert_int_not_equal(s->roster->segment_id, other->roster->segment_id);
}

static void neither_can_be_resized_and_the_roster_not_be_written(void **state)
{
    struct nofd_segment *s = of(HOST, SLOTS);
    void *theirs = mmap(NULL, s->roster_bytes, PROT_READ, MAP_SHARED, s->roster_fd, 0);

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        int fd = i == 0 ? s->fd : s->roster_fd;

        assert_int_equal(ftruncate(fd, 0), -1);
        assert_int_equal(ftruncate(fd, 1 << 30), -1);
        assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
        assert_int_not_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    }
    assert_ptr_not_equal(theirs, MAP_FAILED);
    assert_int_equal(mprotect(theirs, s->roster_bytes, PROT_READ | PROT_WRITE), -1);
    assert_ptr_equal(mmap(NULL, s->roster_bytes, PROT_WRITE, MAP_SHARED, s->roster_fd, 0), MAP_FAILED);
    assert_int_equal(pwrite(s->roster_fd, "x", 1, 0), -1);
    assert_int_not_equal(fallocate(s->roster_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
    munmap(theirs, s->roster_bytes);
}

static void a_host_has_one_and_its_first_rank_says_how_large(void **state)
{
    struct nofd_segment *s = of(HOST, SLOTS);

    (void)state;
    assert_ptr_equal(of(HOST, SLOTS), s);
    assert_ptr_equal(of(HOST, 2), s);
    assert_ptr_equal(of(HOST, 0), s);
    assert_ptr_not_equal(of(HOST + 1, SLOTS), s);
    assert_null(of(HOST + 2, 1));
    assert_null(of(HOST + 2, 0));
    assert_string_equal(why, ""); /* alone is no news */
    assert_non_null(of(HOST + 2, 2));
}

static void a_slot_is_given_once_and_a_rank_has_one(void **state)
{
    struct nofd_segment *s = of(HOST, SLOTS);
    struct nofd_slot slot, none = {0};

    (void)state;
    for (uint32_t i = 0; i < SLOTS; i++) {
        slot = given(s, 10 + i);
        assert_int_equal(slot.index, i);
        assert_ptr_equal(nofd_segment_bell(&slot), &s->bells[i]);
        assert_int_equal(nofd_segment_id(&slot), s->roster->segment_id);
        nofd_segment_keep(&slot, 4711);
        nofd_segment_gone(&slot, NOF_OK);
    }
    assert_false(nofd_segment_give(s, 20, &none)); /* though all have left */
    assert_null(none.segment);
    nofd_segments_end(&segments);
    s = of(HOST, SLOTS);
    slot = given(s, 10);
    nofd_segment_keep(&slot, 4711);
    nofd_segment_gone(&slot, NOF_OK);
    assert_false(nofd_segment_give(s, 10, &none)); /* back again */
    assert_int_equal(given(s, 11).index, 1);
}

static void one_that_was_not_kept_is_the_next_ones(void **state)
{
    struct nofd_segment *s = of(HOST, SLOTS);
    struct nofd_slot slot = given(s, 3);

    (void)state;
    nofd_segment_release(&slot);
    assert_null(slot.segment);
    assert_int_equal(entry(s, 0)->state, NOF_ROSTER_FREE);
    assert_int_equal(given(s, 3).index, 0);
    slot = (struct nofd_slot){0};
    nofd_segment_release(&slot); /* none */
    assert_int_equal(s->given, 1);
}

static void the_roster_tells_who_came_and_how_they_went(void **state)
{
    struct nofd_segment *s = of(HOST, SLOTS);
    struct nofd_slot slot[SLOTS];
    static const int reason[SLOTS] = {NOF_OK, NOF_EPEERDEAD, NOF_EFAULT, NOF_ENICDEAD};
    static const uint32_t then[SLOTS] = {NOF_ROSTER_LEFT, NOF_ROSTER_DEAD, NOF_ROSTER_DEAD,
                                         NOF_ROSTER_ATTACHED};

    (void)state;
    for (uint32_t i = 0; i < SLOTS; i++) {
        slot[i] = given(s, 7 - i);
        assert_int_equal(entry(s, i)->state, NOF_ROSTER_FREE);
        nofd_segment_gone(&slot[i], NOF_EPEERDEAD); /* nobody has come */
        assert_int_equal(entry(s, i)->state, NOF_ROSTER_FREE);
        nofd_segment_keep(&slot[i], i == 2 ? 0 : (pid_t)(100 + i));
        assert_int_equal(entry(s, i)->state, NOF_ROSTER_ATTACHED);
        assert_int_equal(entry(s, i)->rank, 7 - i);
        assert_int_equal(entry(s, i)->pid, i == 2 ? 0 : 100 + i);
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        nofd_segment_gone(&slot[i], reason[i]);
        assert_int_equal(entry(s, i)->state, then[i]);
        nofd_segment_gone(&slot[i], i == 0 ? NOF_EPEERDEAD : NOF_OK); /* it is gone already */
        if (i < 3)
            assert_int_equal(entry(s, i)->state, then[i]);
    }
}

static void a_death_rings_all_and_is_counted(void **state)
{
    struct nofd_segment *s = of(HOST, SLOTS);
    struct nofd_slot left = given(s, 0), dead = given(s, 1);

    (void)state;
    (void)given(s, 2);
    nofd_segment_keep(&left, 1);
    nofd_segment_keep(&dead, 2);
    s->bells[0].asleep = 1;
    s->bells[2].asleep = 77; /* whoever wrote that */
    s->bells[3].asleep = 1; /* nobody's */
    s->bells[2].wake = UINT32_MAX;
    nofd_segment_gone(&left, NOF_OK);
    nofd_segment_alarm(&left);
    assert_int_equal(s->roster->deaths, 0);
    assert_int_equal(s->bells[0].wake, 0);
    nofd_segment_gone(&dead, NOF_EPEERDEAD);
    assert_int_equal(s->roster->deaths, 0); /* the core tells its peers first */
    nofd_segment_alarm(&dead);
    assert_int_equal(s->roster->deaths, 1);
    assert_int_equal(s->bells[0].wake, 1);
    assert_int_equal(s->bells[0].asleep, 0);
    assert_int_equal(s->bells[1].wake,
                     1); /* its `asleep` may have been cleared by the dead one, who then woke nobody */
    assert_int_equal(s->bells[2].wake, 0);
    assert_int_equal(s->bells[2].asleep, 0);
    assert_int_equal(s->bells[3].wake, 0);
}

static void without_a_slot_nothing_happens(void **state)
{
    struct nofd_slot none = {0};
    struct nof_segment_reply told = nofd_segment_told(&none);

    (void)state;
    assert_null(nofd_segment_bell(&none));
    assert_int_equal(nofd_segment_id(&none), 0);
    assert_int_equal(told.nslots, 0);
    nofd_segment_keep(&none, 1);
    nofd_segment_gone(&none, NOF_EPEERDEAD);
    nofd_segment_alarm(&none);
}

static void the_reply_tells_slot_and_sizes(void **state)
{
    struct nofd_segment *s = of(HOST, SLOTS);
    struct nofd_slot slot;
    struct nof_segment_reply told;

    (void)state;
    (void)given(s, 0);
    slot = given(s, 1);
    told = nofd_segment_told(&slot);
    assert_int_equal(told.nslots, SLOTS);
    assert_int_equal(told.slot, 1);
    assert_int_equal(told.segment_bytes, s->segment_bytes);
    assert_int_equal(told.roster_bytes, s->roster_bytes);
}

static void too_many_or_no_memory_is_said_once_and_leaves_nothing(void **state)
{
    struct rlimit was, few;
    int before = lowest_free();

    (void)state;
    assert_null(of(HOST, NOF_SEGMENT_SLOTS_MAX + 1));
    assert_non_null(strstr(why, "room for 4096"));
    assert_null(of(HOST, 2)); /* the job is of one mind */
    assert_string_equal(why, "");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    for (unsigned i = 0; i < 2; i++) { /* no descriptor; one, and none for the roster */
        few = was;
        few.rlim_cur = (rlim_t)before + i;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        assert_null(of(HOST + 1 + i, 2));
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
        assert_non_null(strstr(why, strerror(EMFILE)));
        assert_int_equal(lowest_free(), before);
    }
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    few = was;
    few.rlim_cur = 1 << 20; /* a larger file would be the end of nofd */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    assert_null(of(HOST + 3, 2));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_non_null(strstr(why, strerror(EFBIG)));
    assert_int_equal(lowest_free(), before);
}

static void a_thousand_jobs_leave_nothing(void **state)
{
    int before = lowest_free();

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        assert_non_null(of(HOST, 2 + i % 7));
        assert_non_null(of(HOST + 1, 2));
        nofd_segments_end(&segments);
        assert_null(segments);
    }
    assert_int_equal(lowest_free(), before);
}

static void the_largest_one_can_be_made(void **state)
{
    struct nofd_segment *s = of(HOST, NOF_SEGMENT_SLOTS_MAX);

    (void)state;
    assert_non_null(s);
    for (uint32_t i = 0; i < NOF_SEGMENT_SLOTS_MAX; i++)
        assert_int_equal(given(s, i).index, i);
    assert_int_equal(s->bells[NOF_SEGMENT_SLOTS_MAX - 1].wake, 0);
}

#define EACH(test) cmocka_unit_test_teardown(test, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(bells_are_there_and_parts_are_not),
        EACH(the_roster_says_what_it_is),
        EACH(neither_can_be_resized_and_the_roster_not_be_written),
        EACH(a_host_has_one_and_its_first_rank_says_how_large),
        EACH(a_slot_is_given_once_and_a_rank_has_one),
        EACH(one_that_was_not_kept_is_the_next_ones),
        EACH(the_roster_tells_who_came_and_how_they_went),
        EACH(a_death_rings_all_and_is_counted),
        EACH(without_a_slot_nothing_happens),
        EACH(the_reply_tells_slot_and_sizes),
        EACH(too_many_or_no_memory_is_said_once_and_leaves_nothing),
        EACH(a_thousand_jobs_leave_nothing),
        EACH(the_largest_one_can_be_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
