/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Helper processes come with a ring and go with their reason. Programs of a line each stand in for nofd-dma.
 *
 * usage: nofd_dma_spawn (the linker wraps readlink(): where this program says that it lies) */
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
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"
#include "nofd/dma/dma_spawn.h"

static char folder[] = "/tmp/nofd-unit-XXXXXX";
static struct nofd_loop loop;
static struct nofd_dma_process process;
static unsigned nended;
static char err[512];

ssize_t __wrap_readlink(const char *path, char *buf, size_t buf_bytes);

ssize_t __wrap_readlink(const char *path, char *buf, size_t buf_bytes)
{
    assert_string_equal(path, "/proc/self/exe");
    return snprintf(buf, buf_bytes, "%s/nofd", folder);
}

/* Beside which it is looked for. */
static char *program(void)
{
    static char path[64];

    snprintf(path, sizeof(path), "%s/nofd-dma", folder);
    return path;
}

static void is(const char *script)
{
    FILE *f = fopen(program(), "w");

    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", script);
    fclose(f);
    assert_int_equal(chmod(program(), 0755), 0);
}

static int start(void **state)
{
    (void)state;
    nended = 0;
    return nofd_loop_init(&loop);
}

static int end(void **state)
{
    (void)state;
    (void)unlink(program());
    close(loop.epoll_fd);
    return 0;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void on_ended(struct nofd_watch *watch, uint32_t events)
{
    (void)events;
    assert_ptr_equal(watch, &process.watch);
    nended++;
    nofd_loop_stop(&loop);
}

static int start_process(void)
{
    struct nofd_dma_user user = {.uid = 1234, .gid = 5678, .caps = 0x55};

    return nofd_dma_process_start(&process, &loop, &user, on_ended, err, sizeof(err));
}

static int open_files(void)
{
    int n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Until the loop has told that it ended. */
static const char *reap(void)
{
    const char *why;

    assert_int_equal(nofd_loop_run(&loop), 0);
    why = nofd_dma_process_reap(&process, &loop);
    assert_int_equal(nended, 1);
    assert_int_equal(waitpid(process.pid, NULL, WNOHANG), -1); /* nothing is left of it */
    return why;
}

static void it_finds_its_user_in_the_ring_and_its_descriptors_in_place(void **state)
{
    int before = open_files();

    (void)state;
    is("[ \"$0\" = \"${0%/*}/nofd-dma\" ] || exit 1\n"
       "for fd in 0 1 2; do [ /dev/fd/$fd -ef /dev/null ] || exit 2; done\n"
       "case $(readlink /proc/$$/fd/3) in /memfd:nofd-dma*) ;; *) exit 3 ;; esac\n"
       "case $(readlink /proc/$$/fd/4) in *eventfd*) ;; *) exit 4 ;; esac\n"
       "[ -z \"$NOFD_UNIT\" ] || exit 5\n"
       "exit 11");
    setenv("NOFD_UNIT", "not for helpers", 1);
    assert_int_equal(start_process(), 0);
    assert_int_equal(process.ring->magic, NOFD_DMA_MAGIC);
    assert_int_equal(process.ring->uid, 1234);
    assert_int_equal(process.ring->gid, 5678);
    assert_int_equal(process.ring->caps, 0x55);
    assert_int_equal(process.ring->nofd_pid, getpid());
    assert_string_equal(reap(), "the kernel does not let a helper take on that user's ids");
    nofd_dma_process_free(&process);
    assert_int_equal(open_files(), before);
}

static void why_it_could_not_start_is_told(void **state)
{
    static const struct {
        const char *script, *why;
        int signal;
        bool crashed;
    } ways[] = {
        {"exit 10", "nofd-dma is of another build than nofd", 0, false},
        {"exit 12", "the kernel does not let a helper shut itself in (seccomp)", 0, false},
        {"exit 13", NULL, 0, false},
        {"exit 0", NULL, 0, false},
        {"exit 127", "nofd-dma ends as soon as it is started; by hand, `nofd-dma </dev/null` may say why", 0,
         false},
        {"kill -KILL $$", NULL, SIGKILL, false},
        {"kill -TERM $$", NULL, SIGTERM, false},
        {"kill -SYS $$", "nofd-dma crashes before it has done anything", SIGSYS, true},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        const char *why;

        nended = 0;
        loop.stop = false;
        is(ways[i].script);
        assert_int_equal(start_process(), 0);
        why = reap();
        if (ways[i].why == NULL)
            assert_null(why);
        else
            assert_string_equal(why, ways[i].why);
        assert_int_equal(process.signal, ways[i].signal);
        assert_int_equal(process.crashed, ways[i].crashed);
        nofd_dma_process_free(&process);
    }
}

/* Others have worked, and will. */
static void a_crash_in_the_midst_of_work_is_no_reason_to_start_no_other(void **state)
{
    (void)state;
    is("exec sleep 600");
    assert_int_equal(start_process(), 0);
    process.ring->taken = 1;
    assert_int_equal(kill(process.pid, SIGSEGV), 0);
    assert_null(reap());
    assert_int_equal(process.signal, SIGSEGV);
    assert_true(process.crashed);
    nofd_dma_process_free(&process);
}

static void one_that_is_killed_ends(void **state)
{
    (void)state;
    is("exec sleep 600");
    assert_int_equal(start_process(), 0);
    nofd_dma_process_kill(&process);
    assert_int_equal(process.ring->stop, 1);
    assert_int_not_equal(process.ring->bell, 0);
    assert_null(reap());
    nofd_dma_process_free(&process);
}

static void without_a_program_there_is_a_sentence_and_nothing_stays_open(void **state)
{
    int before = open_files();

    (void)state;
    assert_int_equal(start_process(), -ENOENT);
    assert_non_null(strstr(err, program()));
    assert_non_null(strstr(err, "it belongs beside nofd"));
    assert_int_equal(open_files(), before);
    assert_null(process.ring);
}

static void without_descriptors_nothing_stays_open_either(void **state)
{
    struct rlimit files, few;
    int before = open_files();

    (void)state;
    is("exit 0");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    few = files;
    few.rlim_cur = 16; /* below those that are kept out of the helper's way */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_true(start_process() < 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_int_equal(open_files(), before);
}

static void only_root_and_oneself_can_be_helped(void **state)
{
    struct nofd_dma_user other = {.uid = 1234, .gid = 1234};
    int status;
    pid_t child;

    (void)state;
    child = fork();
    if (child == 0) {
        struct nofd_dma_user self;

        if (geteuid() == 0 && (!nofd_dma_user_possible(&other) || setgid(65534) != 0 || setuid(65534) != 0))
            _exit(1);
        self = (struct nofd_dma_user){.uid = geteuid(), .gid = getegid()};
        if (!nofd_dma_user_possible(&self))
            _exit(2);
        self.gid++;
        _exit(nofd_dma_user_possible(&other) || nofd_dma_user_possible(&self) ? 3 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void capabilities_count_for_root_alone(void **state)
{
    uint64_t caps = 1;

    (void)state;
    assert_int_equal(nofd_dma_user_caps(1000, getpid(), &caps), 0);
    assert_int_equal(caps, 0);
    assert_int_equal(nofd_dma_user_caps(0, getpid(), &caps), 0);
    assert_int_equal(caps != 0, geteuid() == 0);
    caps = 77;
    assert_int_equal(nofd_dma_user_caps(0, 0x3fffffff, &caps), -ESRCH);
    assert_int_equal(caps, 77);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(it_finds_its_user_in_the_ring_and_its_descriptors_in_place),
        EACH(why_it_could_not_start_is_told),
        EACH(a_crash_in_the_midst_of_work_is_no_reason_to_start_no_other),
        EACH(one_that_is_killed_ends),
        EACH(without_a_program_there_is_a_sentence_and_nothing_stays_open),
        EACH(without_descriptors_nothing_stays_open_either),
        EACH(only_root_and_oneself_can_be_helped),
        EACH(capabilities_count_for_root_alone),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
