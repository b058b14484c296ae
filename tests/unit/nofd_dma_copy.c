/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The copy between a process and ourselves, and the window that payload passes through: whole, and with its sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nof/status.h"

#include "nofd/dma/dma_copy.h"
#include "nofd/dma/dma_direct.h"
#include "nofd/dma/dma_ring.h"
#include "nofd/dma/dma_window.h"

#define BYTES 10000u

static uint8_t theirs[BYTES], ours[BYTES];

static int start(void **state)
{
    (void)state;
    for (unsigned i = 0; i < BYTES; i++) {
        theirs[i] = (uint8_t)(i * 7);
        ours[i] = 0;
    }
    return 0;
}

static struct nof_segment segment(const void *at, uint64_t len)
{
    return (struct nof_segment){.addr = (uintptr_t)at, .len_bytes = len};
}

static struct nof_buf buffer(void *at, size_t len)
{
    return (struct nof_buf){.base = at, .len_bytes = len};
}

static void pieces_need_not_have_the_same_cuts(void **state)
{
    struct nof_segment remote[] = {segment(theirs, 1), segment(theirs + 1, 5000),
                                   segment(theirs + 5001, 4999)};
    struct nof_buf local[] = {buffer(ours, 4096), buffer(ours + 4096, 5904)};

    (void)state;
    assert_int_equal(nofd_dma_copy(getpid(), false, remote, 3, local, 2), NOF_OK);
    assert_memory_equal(ours, theirs, BYTES);
    memset(ours, 0x5a, BYTES);
    assert_int_equal(nofd_dma_copy(getpid(), true, remote, 3, local, 2), NOF_OK);
    assert_memory_equal(ours, theirs, BYTES);
}

static void a_page_that_is_not_there_is_a_fault(void **state)
{
    uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct nof_segment remote = segment(pages + 4096 - 100, 200);
    struct nof_buf local = buffer(ours, 200);

    (void)state;
    assert_int_equal(munmap(pages + 4096, 4096), 0);
    assert_int_equal(nofd_dma_copy(getpid(), false, &remote, 1, &local, 1), NOF_EFAULT);
    assert_int_equal(mprotect(pages, 4096, PROT_READ), 0);
    remote.len_bytes = local.len_bytes = 100;
    assert_int_equal(nofd_dma_copy(getpid(), false, &remote, 1, &local, 1), NOF_OK);
    assert_int_equal(nofd_dma_copy(getpid(), true, &remote, 1, &local, 1), NOF_EFAULT);
    munmap(pages, 4096);
}

static void a_process_that_has_ended_is_dead(void **state)
{
    struct nof_segment remote = segment(theirs, 8);
    struct nof_buf local = buffer(ours, 8);
    pid_t child = fork();
    int pidfd;

    (void)state;
    if (child == 0) {
        pause();
        _exit(0);
    }
    pidfd = pidfd_open(child, 0);
    assert_true(nofd_pidfd_alive(pidfd));
    assert_int_equal(nofd_dma_copy(child, false, &remote, 1, &local, 1), NOF_OK);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(nofd_pidfd_alive(pidfd));
    assert_int_equal(nofd_dma_copy(child, false, &remote, 1, &local, 1), NOF_EPEERDEAD);
    assert_false(nofd_pidfd_alive(-1));
    close(pidfd);
}

static void more_segments_than_there_may_be_are_refused(void **state)
{
    static struct nof_segment remote[NOF_DMA_SEGMENTS_MAX + 1];
    static struct nof_buf local[NOF_DMA_SEGMENTS_MAX + 1];

    (void)state;
    for (unsigned i = 0; i <= NOF_DMA_SEGMENTS_MAX; i++) {
        remote[i] = segment(theirs + i, 1);
        local[i] = buffer(ours + i, 1);
    }
    assert_int_equal(
        nofd_dma_copy(getpid(), false, remote, NOF_DMA_SEGMENTS_MAX, local, NOF_DMA_SEGMENTS_MAX), NOF_OK);
    assert_int_equal(
        nofd_dma_copy(getpid(), false, remote, NOF_DMA_SEGMENTS_MAX + 1, local, NOF_DMA_SEGMENTS_MAX),
        NOF_EINVAL);
    assert_int_equal(
        nofd_dma_copy(getpid(), false, remote, NOF_DMA_SEGMENTS_MAX, local, NOF_DMA_SEGMENTS_MAX + 1),
        NOF_EINVAL);
}

static void a_probe_believes_only_the_value(void **state)
{
    struct nofd_busy busy = {0};
    uint64_t word = 0x123456789abcdef0u;

    (void)state;
    assert_int_equal(nofd_dma_probe(&busy, getpid(), 3, (uintptr_t)&word, word), NOF_OK);
    assert_int_equal(nofd_dma_probe(&busy, getpid(), 3, (uintptr_t)&word, word + 1), NOF_EFAULT);
    assert_int_equal(nofd_dma_probe(&busy, getpid(), 3, 8, word), NOF_EFAULT);
    assert_int_equal(busy.copies, 3); /* whoever looks sees each */
    assert_int_equal(busy.whom, 0);
}

static void reads_bring_their_sums(void **state)
{
    struct nofd_busy busy = {0};
    uint8_t sums[2][4];
    uint8_t want[4];
    struct nof_segment remote = segment(theirs, 300);
    struct nof_buf local[] = {buffer(ours, 100), buffer(ours + 100, 200)};

    (void)state;
    local[0].sum = sums[0];
    local[1].sum = sums[1];
    assert_int_equal(nofd_dma_direct(&busy, getpid(), 0, false, &remote, 1, local, 2), NOF_OK);
    nof_put32(want, nof_crc32c(theirs, 100));
    assert_memory_equal(sums[0], want, 4);
    nof_put32(want, nof_crc32c(theirs + 100, 200));
    assert_memory_equal(sums[1], want, 4);
}

static void what_goes_through_the_window_comes_out(void **state)
{
    static uint8_t block[BYTES];
    uint8_t sum[4];
    uint8_t want[4];
    struct nof_buf out[] = {buffer(theirs, 1), buffer(theirs + 1, 4096), buffer(theirs + 4097, 5903)};
    struct nof_buf in[] = {buffer(ours, 5000), buffer(ours + 5000, 5000)};

    (void)state;
    in[1].sum = sum;
    nofd_window_gather(block, out, 3);
    nofd_window_scatter(block, in, 2);
    assert_memory_equal(ours, theirs, BYTES);
    nof_put32(want, nof_crc32c(theirs + 5000, 5000));
    assert_memory_equal(sum, want, 4);
}

static void the_window_lies_behind_the_ring_on_pages_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(NOFD_DMA_WINDOW_OFFSET % 4096, 0);
    assert_true(NOFD_DMA_WINDOW_OFFSET >= sizeof(struct nofd_dma_ring));
    assert_int_equal(NOFD_DMA_RING_BYTES - NOFD_DMA_WINDOW_OFFSET,
                     NOFD_DMA_SLOTS * (size_t)NOF_DMA_BLOCK_BYTES);
    /* What the two sides write lies in different cache lines. */
    assert_true(offsetof(struct nofd_dma_ring, taken) / 64 != offsetof(struct nofd_dma_ring, posted) / 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(pieces_need_not_have_the_same_cuts, start),
        cmocka_unit_test_setup(a_page_that_is_not_there_is_a_fault, start),
        cmocka_unit_test_setup(a_process_that_has_ended_is_dead, start),
        cmocka_unit_test_setup(more_segments_than_there_may_be_are_refused, start),
        cmocka_unit_test_setup(a_probe_believes_only_the_value, start),
        cmocka_unit_test_setup(reads_bring_their_sums, start),
        cmocka_unit_test_setup(what_goes_through_the_window_comes_out, start),
        cmocka_unit_test_setup(the_window_lies_behind_the_ring_on_pages_of_its_own, start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
