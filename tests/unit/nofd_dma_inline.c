/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The copies of a private daemon: of whom they are begun, who reads what, and how often the process is looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nofd/dma/copier.h"
#include "nofd/dma/dma.h"
#include "nofd/dma/dma_copy.h"
#include "nofd/dma/dma_direct.h"
#include "nofd/sys/clock.h"

static struct nofd_lcore lcore;
static struct nofd_dma engine;
static struct nofd_dma_memory memory;
static bool lives;
static unsigned looks, direct, handed_over, cancelled;
static int direct_says, copier_says;
static char block[NOF_DMA_BLOCK_BYTES];

bool nofd_pidfd_alive(int pidfd)
{
    assert_int_equal(pidfd, 33);
    looks++;
    return lives;
}

int nofd_dma_direct(struct nofd_busy *busy, pid_t pid, uint32_t rank, bool write,
                    const struct nof_segment *remote, unsigned nremote, const struct nof_buf *local,
                    unsigned nlocal)
{
    (void)remote;
    (void)nremote;
    (void)local;
    (void)nlocal;
    (void)write;
    assert_ptr_equal(busy, &engine.busy); /* of the core, which the watchdog sees */
    assert_int_equal(pid, 11);
    assert_int_equal(rank, 3);
    direct++;
    return direct_says;
}

int nofd_copier_read(struct nofd_copier *copier, struct nofd_dma_memory *of, const struct nof_segment *remote,
                     unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    (void)remote;
    (void)nremote;
    (void)local;
    (void)nlocal;
    assert_ptr_equal(copier, engine.copier);
    assert_ptr_equal(of, &memory);
    assert_int_equal(token, 7);
    handed_over++;
    return copier_says;
}

void nofd_copier_cancel(struct nofd_copier *copier, const struct nofd_dma_memory *of)
{
    assert_ptr_equal(copier, engine.copier);
    assert_ptr_equal(of, &memory);
    cancelled++;
}

static int start(void **state)
{
    (void)state;
    lcore = (struct nofd_lcore){.now_ns = NOFD_S};
    engine = (struct nofd_dma){.lcore = &lcore, .copier = (struct nofd_copier *)(void *)block};
    memory = (struct nofd_dma_memory){
        .ops = &nofd_dma_split, .dma = &engine, .pid = 11, .rank = 3, .pidfd = 33, .alive_ns = NOFD_S};
    lives = true;
    looks = direct = handed_over = cancelled = 0;
    direct_says = NOF_OK;
    copier_says = NOF_DMA_PENDING;
    return 0;
}

static int copy(bool write, size_t bytes)
{
    struct nof_segment remote = {.addr = 0x1000, .len_bytes = bytes};
    struct nof_buf local[2] = {{.base = block, .len_bytes = bytes / 2},
                               {.base = block + bytes / 2, .len_bytes = bytes - bytes / 2}};

    return memory.ops->copy(&memory, write, &remote, 1, local, 2, 7);
}

static void inline_never_answers_later(void **state)
{
    (void)state;
    memory.ops = &nofd_dma_inline;
    assert_true(memory.ops->is_inline);
    assert_false(memory.ops->reads_late);
    assert_int_equal(copy(false, NOF_DMA_BLOCK_BYTES), NOF_DMA_DONE);
    assert_int_equal(copy(true, true), NOF_DMA_DONE);
    assert_int_equal(handed_over, 0);
    direct_says = NOF_EFAULT;
    assert_int_equal(copy(true, true), NOF_EFAULT);
}

static void large_reads_are_handed_over_and_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(copy(false, NOFD_COPIER_LEAST_BYTES), NOF_DMA_PENDING);
    assert_int_equal(direct, 0);
    assert_int_equal(copy(false, NOFD_COPIER_LEAST_BYTES - 1), NOF_DMA_DONE);
    assert_int_equal(copy(true, NOF_DMA_BLOCK_BYTES), NOF_DMA_DONE);
    assert_int_equal(handed_over, 1);
    assert_int_equal(direct, 2);
}

static void what_the_copier_does_not_take_is_read_at_once(void **state)
{
    (void)state;
    copier_says = NOF_EAGAIN;
    assert_int_equal(copy(false, NOF_DMA_BLOCK_BYTES), NOF_DMA_DONE);
    assert_int_equal(handed_over, 1);
    assert_int_equal(direct, 1);
}

/* Its number may be another's by then. */
static void a_dead_process_is_not_touched(void **state)
{
    (void)state;
    lives = false;
    lcore.now_ns += 2 * NOFD_MS;
    assert_int_equal(copy(false, NOF_DMA_BLOCK_BYTES), NOF_EPEERDEAD);
    assert_int_equal(copy(true, 8), NOF_EPEERDEAD);
    memory.ops = &nofd_dma_inline;
    assert_int_equal(copy(false, 8), NOF_EPEERDEAD);
    assert_int_equal(direct + handed_over, 0);
}

static void it_is_looked_at_once_a_millisecond(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(copy(true, 8), NOF_DMA_DONE);
    assert_int_equal(looks, 0); /* just before */
    lcore.now_ns += NOFD_MS;
    assert_int_equal(copy(true, 8), NOF_DMA_DONE);
    assert_int_equal(looks, 0);
    lcore.now_ns += 1;
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(copy(true, 8), NOF_DMA_DONE);
    assert_int_equal(looks, 1);
}

static void the_end_is_told_to_the_copier(void **state)
{
    (void)state;
    assert_null(nofd_dma_inline.cancel);
    memory.ops->cancel(&memory);
    assert_int_equal(cancelled, 1);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, NULL)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(inline_never_answers_later),
        EACH(large_reads_are_handed_over_and_nothing_else),
        EACH(what_the_copier_does_not_take_is_read_at_once),
        EACH(a_dead_process_is_not_touched),
        EACH(it_is_looked_at_once_a_millisecond),
        EACH(the_end_is_told_to_the_copier),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
