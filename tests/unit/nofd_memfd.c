/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory to share: all of it is there, nobody else can name it, and what cannot be had leaves nothing behind. */
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

#include "nofd/sys/memfd.h"

#define BYTES (256u << 10)

static int lowest_free(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

static unsigned interrupted; /* calls that a signal ends */

int __real_fallocate64(int fd, int mode, off_t at, off_t bytes);
int __wrap_fallocate64(int fd, int mode, off_t at, off_t bytes);
int __wrap_fallocate64(int fd, int mode, off_t at, off_t bytes)
{
    if (interrupted == 0)
        return __real_fallocate64(fd, mode, at, bytes);
    interrupted--;
    errno = EINTR;
    return -1;
}

static void a_daemon_that_was_stopped_goes_on(void **state)
{
    struct stat st;
    int fd;

    (void)state;
    interrupted = 2;
    fd = nofd_memfd_create("test", BYTES);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true((uint64_t)st.st_blocks * 512 >= BYTES);
    close(fd);
}

/* A hole would be a SIGBUS on a machine without memory. */
static void every_page_is_allocated(void **state)
{
    int fd = nofd_memfd_create("test", BYTES);
    struct stat st;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, BYTES);
    assert_true((uint64_t)st.st_blocks * 512 >= BYTES);
    close(fd);
}

static void it_is_not_inherited_and_can_be_sealed_by_the_caller(void **state)
{
    int fd = nofd_memfd_create("test", BYTES);

    (void)state;
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(ftruncate(fd, 2 * BYTES), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    assert_int_equal(ftruncate(fd, BYTES), -1);
    assert_int_equal(ftruncate(fd, 3 * BYTES), -1);
    close(fd);
}

static void two_mappings_are_one_memory(void **state)
{
    int fd = nofd_memfd_create("test", BYTES);
    char *ours = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *theirs = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);

    (void)state;
    assert_ptr_not_equal(ours, MAP_FAILED);
    strcpy(ours + BYTES - 8, "seen");
    assert_string_equal(theirs + BYTES - 8, "seen");
    munmap(ours, BYTES);
    munmap(theirs, BYTES);
    close(fd);
}

static void a_size_that_cannot_be_had_is_told_and_nothing_stays_open(void **state)
{
    int before = lowest_free();

    (void)state;
    errno = 0;
    assert_int_equal(nofd_memfd_create("test", UINT64_MAX), -EINVAL);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(lowest_free(), before);
}

static void without_descriptors_it_says_so(void **state)
{
    struct rlimit files, none;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = files;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(nofd_memfd_create("test", BYTES), -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_page_is_allocated),
        cmocka_unit_test(a_daemon_that_was_stopped_goes_on),
        cmocka_unit_test(it_is_not_inherited_and_can_be_sealed_by_the_caller),
        cmocka_unit_test(two_mappings_are_one_memory),
        cmocka_unit_test(a_size_that_cannot_be_had_is_told_and_nothing_stays_open),
        cmocka_unit_test(without_descriptors_it_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
