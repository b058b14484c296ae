/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nofd-dma itself, of which the test is the daemon: what it carries out, for whom, and when it ends.
 *
 * usage: nofd_helper NOFD_DMA */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"
#include "nof/status.h"
#include "nofd/dma/dma_ring.h"
#include "nofd/sys/clock.h"
#include "nofd/sys/memfd.h"

static const char *program;
static struct nofd_dma_ring *ring;
static int ring_fd, wake_fd;
static pid_t helper;
static uint8_t theirs[2 * NOF_DMA_BLOCK_BYTES]; /* ours, as a rank's */

static void spawn(void)
{
    helper = fork();
    if (helper != 0)
        return;
    if (dup2(ring_fd, NOFD_DMA_FD_RING) < 0 || dup2(wake_fd, NOFD_DMA_FD_WAKE) < 0)
        _exit(99);
    execl(program, "nofd-dma", (char *)NULL);
    _exit(98);
}

/* As a rank of ours has them. */
static uint64_t own_caps(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

    check(syscall(SYS_capget, &head, data) == 0);
    return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

static int start(void **state)
{
    (void)state;
    ring_fd = fcntl(nofd_memfd_create("nofd-dma", NOFD_DMA_RING_BYTES), F_DUPFD, 16);
    wake_fd = fcntl(eventfd(0, EFD_NONBLOCK), F_DUPFD, 16);
    ring = mmap(NULL, NOFD_DMA_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd, 0);
    if (ring == MAP_FAILED)
        return -1;
    ring->magic = NOFD_DMA_MAGIC;
    ring->uid = geteuid();
    ring->gid = getegid();
    ring->nofd_pid = getpid();
    ring->caps = own_caps();
    helper = -1;
    for (unsigned i = 0; i < sizeof(theirs); i++)
        theirs[i] = (uint8_t)(i * 13);
    return 0;
}

static int exit_code(void)
{
    int status;

    check(waitpid(helper, &status, 0) == helper);
    helper = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void ring_bell(void)
{
    __atomic_fetch_add(&ring->bell, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &ring->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static int end(void **state)
{
    (void)state;
    if (helper > 0) {
        kill(helper, SIGKILL);
        (void)exit_code();
    }
    munmap(ring, NOFD_DMA_RING_BYTES);
    close(ring_fd);
    close(wake_fd);
    return 0;
}

static uint8_t *block(uint32_t i)
{
    return (uint8_t *)ring + NOFD_DMA_WINDOW_OFFSET + i * (size_t)NOF_DMA_BLOCK_BYTES;
}

static struct nofd_dma_order *place(void)
{
    return &ring->orders[ring->posted % NOFD_DMA_SLOTS];
}

static void until_taken(void)
{
    uint64_t end_ns = nofd_clock_ns() + CHECK_PATIENCE_MS * NOFD_MS;

    while (__atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE) != ring->posted && nofd_clock_ns() < end_ns)
        sched_yield();
    assert_int_equal(ring->taken, ring->posted);
}

/* One order, until it is passed. Its status. */
static int carry_out(const struct nofd_dma_order *order)
{
    struct nofd_dma_order *at = place();

    *at = *order;
    at->status = 12345;
    at->state = order->state != 0 ? order->state : NOFD_ORDER_QUEUED;
    __atomic_store_n(&ring->posted, ring->posted + 1, __ATOMIC_RELEASE);
    ring_bell();
    until_taken();
    return at->status;
}

static struct nofd_dma_order to_know(uint32_t rank, uint32_t generation, pid_t pid)
{
    return (struct nofd_dma_order){.what = NOFD_DMA_KNOW, .rank = rank, .generation = generation, .pid = pid};
}

static struct nofd_dma_order to_copy(uint32_t what, uint32_t rank, uint32_t generation, uint32_t bytes)
{
    struct nofd_dma_order order = {
        .what = what, .rank = rank, .generation = generation, .block = 3, .len_bytes = bytes, .nremote = 1};

    order.remote[0] = (struct nof_segment){.addr = (uintptr_t)theirs, .len_bytes = bytes};
    return order;
}

static void know_ourselves(void)
{
    struct nofd_dma_order order = to_know(7, 1, getpid());

    spawn();
    assert_int_equal(carry_out(&order), NOF_OK);
}

static void it_copies_between_window_and_rank(void **state)
{
    struct nofd_dma_order order = to_copy(NOFD_DMA_READ, 7, 1, NOF_DMA_BLOCK_BYTES);

    (void)state;
    know_ourselves();
    assert_int_equal(carry_out(&order), NOF_OK);
    assert_memory_equal(block(3), theirs, NOF_DMA_BLOCK_BYTES);
    memset(block(3), 0x5a, 100);
    order = to_copy(NOFD_DMA_WRITE, 7, 1, 100);
    assert_int_equal(carry_out(&order), NOF_OK);
    assert_int_equal(theirs[99], 0x5a);
    assert_int_not_equal(theirs[100], 0x5a);
}

static void whom_it_does_not_know_is_dead(void **state)
{
    struct nofd_dma_order order = to_copy(NOFD_DMA_READ, 8, 1, 8);

    (void)state;
    know_ourselves();
    assert_int_equal(carry_out(&order), NOF_EPEERDEAD);
    order = to_copy(NOFD_DMA_READ, 7, 2, 8); /* the place is another's by now */
    assert_int_equal(carry_out(&order), NOF_EPEERDEAD);
    order = to_know(8, 1, 0x3fffffff);
    assert_int_equal(carry_out(&order), NOF_EPEERDEAD);
}

static void who_has_ended_is_dead(void **state)
{
    struct nofd_dma_order order;
    pid_t child = fork();

    (void)state;
    if (child == 0)
        for (;;)
            pause();
    know_ourselves();
    order = to_know(8, 1, child);
    assert_int_equal(carry_out(&order), NOF_OK);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    order = to_copy(NOFD_DMA_READ, 8, 1, 8);
    assert_int_equal(carry_out(&order), NOF_EPEERDEAD);
}

static void what_is_out_of_range_is_refused(void **state)
{
    struct nofd_dma_order order;

    (void)state;
    know_ourselves();
    order = to_know(NOFD_DMA_RANKS, 1, getpid());
    assert_int_equal(carry_out(&order), NOF_EFAULT);
    order = to_copy(NOFD_DMA_READ, 7, 1, 8);
    order.block = NOFD_DMA_SLOTS;
    assert_int_equal(carry_out(&order), NOF_EFAULT);
    order = to_copy(NOFD_DMA_READ, 7, 1, NOF_DMA_BLOCK_BYTES + 1);
    assert_int_equal(carry_out(&order), NOF_EFAULT);
    order = to_copy(NOFD_DMA_READ, 7, 1, 8);
    order.remote[0].addr = 16;
    assert_int_equal(carry_out(&order), NOF_EFAULT);
    order = to_copy(NOFD_DMA_READ, 7, 1, 8); /* and it goes on */
    assert_int_equal(carry_out(&order), NOF_OK);
}

static void what_was_taken_back_is_passed_untouched(void **state)
{
    struct nofd_dma_order order = to_copy(NOFD_DMA_WRITE, 7, 1, 8);

    (void)state;
    know_ourselves();
    order.state = NOFD_ORDER_STOLEN;
    memset(block(3), 0x5a, 8);
    assert_int_equal(carry_out(&order), 12345);
    assert_int_not_equal(theirs[1], 0x5a);
}

static void the_core_is_woken_if_it_sleeps(void **state)
{
    struct nofd_dma_order order = to_copy(NOFD_DMA_READ, 7, 1, 8);
    struct pollfd wake = {.fd = wake_fd, .events = POLLIN};
    uint64_t count = 0;

    (void)state;
    know_ourselves();
    assert_int_equal(read(wake_fd, &count, sizeof(count)), -1);
    __atomic_store_n(&ring->core_asleep, 1, __ATOMIC_SEQ_CST);
    assert_int_equal(carry_out(&order), NOF_OK);
    assert_int_equal(poll(&wake, 1, CHECK_PATIENCE_MS), 1);
}

static void told_to_stop_it_does(void **state)
{
    (void)state;
    know_ourselves();
    __atomic_store_n(&ring->stop, 1, __ATOMIC_RELEASE);
    ring_bell();
    assert_int_equal(exit_code(), NOFD_DMA_EXIT_STOP);
}

static void another_builds_ring_is_refused(void **state)
{
    (void)state;
    ring->magic++;
    spawn();
    assert_int_equal(exit_code(), NOFD_DMA_EXIT_RING);
    ring->magic = NOFD_DMA_MAGIC;
    assert_int_equal(ftruncate(ring_fd, (off_t)NOFD_DMA_RING_BYTES + 4096), 0);
    spawn();
    assert_int_equal(exit_code(), NOFD_DMA_EXIT_RING);
}

static void ids_that_it_may_not_take_end_it(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip();
    ring->uid++;
    spawn();
    assert_int_equal(exit_code(), NOFD_DMA_EXIT_IDS);
}

static void another_daemons_ring_is_not_served(void **state)
{
    (void)state;
    ring->nofd_pid++;
    spawn();
    assert_int_equal(exit_code(), NOFD_DMA_EXIT_ORPHAN);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        EACH(it_copies_between_window_and_rank),
        EACH(whom_it_does_not_know_is_dead),
        EACH(who_has_ended_is_dead),
        EACH(what_is_out_of_range_is_refused),
        EACH(what_was_taken_back_is_passed_untouched),
        EACH(the_core_is_woken_if_it_sleeps),
        EACH(told_to_stop_it_does),
        EACH(another_builds_ring_is_refused),
        EACH(ids_that_it_may_not_take_end_it),
        EACH(another_daemons_ring_is_not_served),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: %s NOFD_DMA\n", argv[0]);
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
