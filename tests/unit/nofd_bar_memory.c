/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A BAR: every part has a place of its own, the host can change only what is its, and what cannot be made leaves
 * nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nof/claim.h"
#include "nof/counters.h"
#include "nof_private/library_counts.h"

#include "nofd/door/bar_memory.h"

static const struct nofd_bar_config config = {
    .submit_slots = 64,
    .complete_slots = 256,
    .staging_bytes = 10000,
    .bounce_bytes = 5000,
    .bounce_max_bytes = 1024,
    .program_area_bytes = 1,
    .assist_bytes = 4096,
};
static struct nofd_bar bar;

static int start(void **state)
{
    (void)state;
    return nofd_bar_create(&bar, &config);
}

static int end(void **state)
{
    (void)state;
    nofd_bar_destroy(&bar);
    return 0;
}

static int lowest_free(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

static uint64_t file_bytes(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return (uint64_t)st.st_size;
}

struct part {
    uint64_t at, bytes;
};

static void parts_do_not_overlap_and_fit(void **state)
{
    const struct nof_bar_identity *id = bar.identity;
    const struct part parts[] = {
        {0, sizeof(*id)},
        {id->nic_words_offset, sizeof(struct nof_nic_words)},
        {id->counters_offset, NOF_COUNTER_COUNT * sizeof(uint64_t)},
        {id->submit_offset, NOF_RING_HEAD_BYTES + nof_ring_rw_bytes(config.submit_slots)},
        {id->complete_offset, NOF_RING_HEAD_BYTES + nof_ring_rw_bytes(config.complete_slots)},
        {id->host_words_offset, sizeof(struct nof_host_words)},
        {id->claim_offset, sizeof(struct nof_claim_words)},
        {id->library_counts_offset, NOF_LIBRARY_COUNT_MAX * sizeof(uint64_t)},
        {id->bounce_offset, id->bounce_bytes},
        {id->program_area_offset, id->program_area_bytes},
        {id->assist_offset, id->assist_bytes},
        {id->staging_offset, id->staging_bytes},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        assert_true(parts[i].bytes > 0);
        assert_true(parts[i].at + parts[i].bytes <= id->bar_bytes);
        for (unsigned j = 0; j < i; j++)
            assert_true(parts[j].at + parts[j].bytes <= parts[i].at ||
                        parts[i].at + parts[i].bytes <= parts[j].at);
    }
    assert_int_equal(id->unexpected_offset, id->counters_offset + NOF_C_UNEXPECTED * sizeof(uint64_t));
    assert_int_equal(id->bounce_bytes, 8192); /* whole pages */
    assert_int_equal(id->staging_bytes, 12288);
    assert_true(nof_ring_placed(id->submit_offset, id->submit_slots, id->bar_bytes));
    assert_true(nof_ring_placed(id->complete_offset, id->complete_slots, id->bar_bytes));
    assert_int_equal(id->submit_slots, 63);
    assert_int_equal(id->complete_slots, 255);
}

static void segments_fill_the_range_and_both_memfds(void **state)
{
    const struct nof_bar_identity *id = bar.identity;
    uint64_t range = 0, file[2] = {0, 0};

    (void)state;
    assert_in_range(id->nsegments, 1, NOF_BAR_SEGMENTS_MAX);
    for (uint32_t i = 0; i < id->nsegments; i++) {
        const struct nof_bar_segment *s = &id->segment[i];

        assert_true(s->fd == NOF_BAR_FD_RO || s->fd == NOF_BAR_FD_RW);
        assert_int_equal(s->bar_offset, range);
        assert_int_equal(s->file_offset, file[s->fd]);
        range += s->len;
        file[s->fd] += s->len;
    }
    assert_int_equal(range, id->bar_bytes);
    assert_int_equal(file[NOF_BAR_FD_RO], file_bytes(bar.fd[NOF_BAR_FD_RO]));
    assert_int_equal(file[NOF_BAR_FD_RW], file_bytes(bar.fd[NOF_BAR_FD_RW]));
}

/* As a rank maps it: `prot` of the segment in which `offset` lies. */
static uint8_t *map_as_host(uint64_t offset, int prot)
{
    const struct nof_bar_identity *id = bar.identity;

    for (uint32_t i = 0; i < id->nsegments; i++) {
        const struct nof_bar_segment *s = &id->segment[i];
        uint8_t *at;

        if (offset < s->bar_offset || offset >= s->bar_offset + s->len)
            continue;
        at = mmap(NULL, s->len, prot, MAP_SHARED, bar.fd[s->fd], (off_t)s->file_offset);
        return at == MAP_FAILED ? NULL : at + (offset - s->bar_offset);
    }
    return NULL;
}

static void what_the_nic_says_cannot_be_written_by_the_host(void **state)
{
    const uint64_t ours[] = {0, bar.identity->nic_words_offset, bar.identity->counters_offset,
                             bar.identity->staging_offset};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        assert_null(map_as_host(ours[i], PROT_READ | PROT_WRITE));
        assert_non_null(map_as_host(ours[i], PROT_READ));
    }
    bar.counters[3] = 77;
    assert_int_equal(((uint64_t *)(void *)map_as_host(bar.identity->counters_offset, PROT_READ))[3], 77);
}

static void what_the_host_writes_is_seen(void **state)
{
    uint8_t *words = map_as_host(bar.identity->host_words_offset, PROT_READ | PROT_WRITE);

    (void)state;
    assert_non_null(words);
    ((struct nof_host_words *)(void *)words)->host_asleep = 1;
    assert_int_equal(bar.host_words->host_asleep, 1);
    words = map_as_host(bar.identity->library_counts_offset, PROT_READ | PROT_WRITE);
    assert_non_null(words);
    assert_int_equal(bar.identity->nlibrary_counts, NOF_LIBRARY_COUNT_MAX);
    for (unsigned i = 0; i < NOF_LIBRARY_COUNT_MAX; i++) {
        assert_int_equal(bar.library_counts[i], 0);
        ((uint64_t *)(void *)words)[i] = UINT64_MAX - i;
        assert_int_equal(bar.library_counts[i], UINT64_MAX - i);
    }
}

static void nobody_resizes_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t bytes = file_bytes(bar.fd[i]);

        assert_int_equal(ftruncate(bar.fd[i], 0), -1);
        assert_int_equal(ftruncate(bar.fd[i], (off_t)(2 * bytes)), -1);
        assert_int_equal(fcntl(bar.fd[i], F_ADD_SEALS, F_SEAL_WRITE), -1);
        assert_int_equal(file_bytes(bar.fd[i]), bytes);
    }
}

static void rings_hold_one_less_than_their_slots(void **state)
{
    uint8_t slot[NOF_DESC_BYTES] = {0};
    unsigned n = 0;

    (void)state;
    while (nof_ring_put(bar.submit, slot, 1) == 1)
        n++;
    assert_int_equal(n, 63);
    for (n = 0; nof_ring_put(bar.complete, slot, 1) == 1; n++)
        continue;
    assert_int_equal(n, 255);
}

static void without_staging_and_assist_there_is_none(void **state)
{
    struct nofd_bar_config less = config;

    (void)state;
    nofd_bar_destroy(&bar);
    less.staging_bytes = less.assist_bytes = 0;
    assert_int_equal(nofd_bar_create(&bar, &less), 0);
    assert_int_equal(bar.identity->staging_bytes, 0);
    assert_int_equal(bar.identity->assist_bytes, 0);
    segments_fill_the_range_and_both_memfds(state);
}

static void what_cannot_be_made_leaves_nothing(void **state)
{
    struct nofd_bar_config odd = config;
    struct rlimit files, few;
    int first;

    (void)state;
    nofd_bar_destroy(&bar);
    first = lowest_free();
    odd.submit_slots = 63;
    assert_int_equal(nofd_bar_create(&bar, &odd), -EINVAL);
    assert_int_equal(lowest_free(), first);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    for (int room = 0; room < NOF_BAR_FDS; room++) {
        few = files;
        few.rlim_cur = (rlim_t)(first + room);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        assert_int_equal(nofd_bar_create(&bar, &config), -EMFILE);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
        assert_int_equal(lowest_free(), first);
        assert_null(bar.base);
    }
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(parts_do_not_overlap_and_fit),
        EACH(segments_fill_the_range_and_both_memfds),
        EACH(what_the_nic_says_cannot_be_written_by_the_host),
        EACH(what_the_host_writes_is_seen),
        EACH(nobody_resizes_it),
        EACH(rings_hold_one_less_than_their_slots),
        EACH(without_staging_and_assist_there_is_none),
        EACH(what_cannot_be_made_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
