/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watchdog of a private daemon: a copy that does not end is noticed, whoever does it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"
#include "nofd/control/daemon.h"
#include "nofd/control/watchdog.h"
#include "nofd/dma/copier.h"
#include "nofd/sys/clock.h"

static struct nofd d;
static struct nofd_core cores[2];
static struct nofd_busy copier_busy;
static int overdue; /* crosses */
static char copier_place;

const struct nofd_busy *nofd_copier_busy(const struct nofd_copier *copier)
{
    check((const void *)copier == &copier_place);
    return &copier_busy;
}

void nofd_copier_overdue(struct nofd_copier *copier)
{
    check((const void *)copier == &copier_place);
    __atomic_fetch_add(&overdue, 1, __ATOMIC_SEQ_CST);
}

static int start(void **state)
{
    (void)state;
    memset(&d, 0, sizeof(d));
    memset(cores, 0, sizeof(cores));
    memset(&copier_busy, 0, sizeof(copier_busy));
    overdue = 0;
    d.cores = cores;
    d.ncores = 2;
    d.options.dma_timeout_ns = 20 * NOFD_MS;
    cores[1].lcore.index = 1;
    cores[1].dma.copier = (struct nofd_copier *)(void *)&copier_place;
    return 0;
}

static void until_overdue(int n)
{
    uint64_t end_ns = nofd_clock_ns() + CHECK_PATIENCE_MS * NOFD_MS;

    while (__atomic_load_n(&overdue, __ATOMIC_SEQ_CST) < n && nofd_clock_ns() < end_ns)
        usleep(1000);
    assert_int_equal(__atomic_load_n(&overdue, __ATOMIC_SEQ_CST), n);
}

static void a_copier_that_does_not_come_back_is_told_to_its_core_once(void **state)
{
    struct nofd_watchdog *dog;

    (void)state;
    nofd_busy_begin(&copier_busy, 100, 1);
    dog = nofd_watchdog_start(&d);
    assert_non_null(dog);
    until_overdue(1);
    usleep(60000); /* three timeouts more: it has been said */
    assert_int_equal(__atomic_load_n(&overdue, __ATOMIC_SEQ_CST), 1);
    nofd_busy_end(&copier_busy);
    nofd_busy_begin(&copier_busy, 100, 1); /* another copy */
    until_overdue(2);
    nofd_watchdog_stop(dog);
}

static void nothing_under_way_is_never_overdue(void **state)
{
    struct nofd_watchdog *dog;

    (void)state;
    d.options.dma_timeout_ns = 1; /* looked at every millisecond, not more often */
    dog = nofd_watchdog_start(&d);
    assert_non_null(dog);
    usleep(50000);
    nofd_watchdog_stop(dog);
    assert_int_equal(overdue, 0);
}

/* How the process ends in which `busy` does not end; its words on stderr. */
static int end_of(struct nofd_busy *busy, pid_t pid, uint32_t rank, char *said, size_t said_bytes)
{
    int pipes[2];
    ssize_t n;
    pid_t child;
    int status;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        dup2(pipes[1], 2);
        nofd_busy_begin(busy, pid, rank);
        (void)nofd_watchdog_start(&d);
        sleep(CHECK_PATIENCE_S);
        _exit(0);
    }
    close(pipes[1]);
    n = read(pipes[0], said, said_bytes - 1);
    said[n > 0 ? n : 0] = '\0';
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_core_that_does_not_come_back_ends_the_daemon_with_a_sentence(void **state)
{
    char said[2048];

    (void)state;
    assert_int_equal(end_of(&cores[1].dma.busy, 4711, 12, said, sizeof(said)), 1);
    assert_non_null(strstr(said, "NIC core 1: memory of rank 12 (pid 4711) blocks its copy for 20 ms"));
    assert_non_null(strstr(said, "NOF_DMA_TIMEOUT"));
}

static void so_does_the_probe_of_a_rank_that_attaches(void **state)
{
    char said[2048];

    (void)state;
    assert_int_equal(end_of(&d.busy, 4711, 12, said, sizeof(said)), 1);
    assert_non_null(strstr(said, "attach: memory of rank 12 (pid 4711)"));
}

static void none_is_stopped_too(void **state)
{
    (void)state;
    nofd_watchdog_stop(NULL);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, NULL)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_copier_that_does_not_come_back_is_told_to_its_core_once),
        EACH(nothing_under_way_is_never_overdue),
        EACH(a_core_that_does_not_come_back_ends_the_daemon_with_a_sentence),
        EACH(so_does_the_probe_of_a_rank_that_attaches),
        EACH(none_is_stopped_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
