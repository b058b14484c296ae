/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Single copy: another process's memory is read, or not, and what was read of one that has died does not count. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "chan/shm/cma.h"

enum { BYTES = 3 << 20 };
static uint8_t *theirs;
static uint64_t word = 0x1234567890;
static struct nof_cma_probe probe;
static struct nof_cma_peer peer;
static pid_t child;

static int begin(void **state)
{
    (void)state;
    theirs = malloc(BYTES);
    assert_non_null(theirs);
    for (size_t i = 0; i < BYTES; i++)
        theirs[i] = (uint8_t)(i * 7);
    probe = (struct nof_cma_probe){.address = (uint64_t)(uintptr_t)&word, .value = word};
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    memset(theirs, 0, BYTES); /* ours: the child's is what it was */
    return 0;
}

static int end(void **state)
{
    (void)state;
    nof_cma_close(&peer);
    free(theirs);
    if (child > 0 && kill(child, SIGKILL) == 0)
        (void)waitpid(child, NULL, 0);
    return 0;
}

static bool opens(pid_t pid)
{
    nof_cma_open(&peer, pid, &probe);
    assert_true(peer.tried);
    assert_int_equal(peer.works, peer.pidfd >= 0);
    return peer.works;
}

/* Where a test may not read its own child's memory there is nothing to try. */
static void need_it(void)
{
    if (!opens(child))
        skip();
}

static void it_is_read_at_any_place(void **state)
{
    uint8_t *mine = malloc(BYTES);
    (void)state;
    need_it();
    assert_int_equal(nof_cma_read(&peer, (uint64_t)(uintptr_t)theirs + 1, mine, BYTES - 1), 0);
    for (size_t i = 0; i < BYTES - 1; i++)
        assert_int_equal(mine[i], (uint8_t)((i + 1) * 7));
    free(mine);
}

static void a_word_that_is_another_is_another_process(void **state)
{
    (void)state;
    need_it();
    nof_cma_close(&peer);
    probe.value++;
    assert_false(opens(child));
    assert_false(opens(0));
    assert_false(
        opens(getpid() == 1 ? 2 : 1)); /* that one has another word there, or none that we may read */
}

static void what_is_no_memory_is_a_fault(void **state)
{
    uint8_t mine[8192];
    uint8_t *hole = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    need_it();
    assert_true(hole != MAP_FAILED);
    assert_int_equal(nof_cma_read(&peer, 64, mine, 8), -EFAULT);
    assert_int_equal(nof_cma_read(&peer, UINT64_MAX - 4, mine, 8), -EFAULT);
    assert_int_equal(nof_cma_read(&peer, (uint64_t)(uintptr_t)theirs, hole, 8), -EFAULT);
    munmap(hole, 8192);
}

static void the_dead_are_not_read(void **state)
{
    uint8_t mine[64];
    (void)state;
    need_it();
    assert_int_equal(kill(child, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(nof_cma_read(&peer, (uint64_t)(uintptr_t)theirs, mine, sizeof(mine)), -ESRCH);
    (void)waitpid(child, NULL, 0);
    child = 0;
    assert_int_equal(nof_cma_read(&peer, (uint64_t)(uintptr_t)theirs, mine, sizeof(mine)), -ESRCH);
    /* Whoever has the number now: it is not that process. */
    pid_t pid = peer.pid;
    peer.pid = getpid();
    assert_int_equal(nof_cma_read(&peer, (uint64_t)(uintptr_t)&word, mine, sizeof(word)), -ESRCH);
    peer.pid = pid;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_read_at_any_place, begin, end),
        cmocka_unit_test_setup_teardown(a_word_that_is_another_is_another_process, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_memory_is_a_fault, begin, end),
        cmocka_unit_test_setup_teardown(the_dead_are_not_read, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
