/* SPDX-License-Identifier: BSD-3-Clause */
/* What a private daemon is started with: a script in its place writes that down. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "launch/launch.h"

struct nof_lib nof_lib = {.host = "here"};

uint64_t nof_lib_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* In front of the C library's: who has ended, and is not waited for, has no number any more. */
int kill(pid_t pid, int sig)
{
    siginfo_t info;

    check(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0);
    return (int)syscall(SYS_kill, pid, sig);
}

static char folder[] = "/tmp/nof-launch-daemon-XXXXXX", script[64], said[64], text[512];

static void write_script(const char *ready)
{
    snprintf(script, sizeof(script), "%s/nofd", folder);
    snprintf(said, sizeof(said), "%s/said", folder);
    FILE *f = fopen(script, "w");
    check(f != NULL);
    fprintf(f, "#!/bin/sh\necho \" $* \" >%s\n%s\n", said, ready);
    check(fclose(f) == 0 && chmod(script, 0700) == 0);
    setenv("NOF_NOFD", script, 1);
}

static void starts_with(int ranks, int world, const char *port, const char *const expected[])
{
    char line[1024] = "";
    nof_lib.world_size = world;
    int rc = nof_launch_daemon("@nof-test", ranks, port, text, sizeof(text));
    FILE *f = fopen(said, "r");
    check(rc == 0 && f != NULL && fgets(line, sizeof(line), f) != NULL);
    fclose(f);
    for (size_t i = 0; expected[i] != NULL; i++) {
        if (strstr(line, expected[i]) == NULL)
            fprintf(stderr, "%d of %d ranks: no \"%s\" in %s\n", ranks, world, expected[i], line);
        check(strstr(line, expected[i]) != NULL);
    }
}

int main(void)
{
    check(mkdtemp(folder) != NULL);
    write_script("printf r >&3");
    starts_with(2, 2, NULL,
                (const char *const[]){" --private --background --fabric 1 ", " --socket @nof-test ",
                                      " --control @nof-test.ctl ", " --max-endpoints 64 ",
                                      " --max-peers 4096 ", NULL});
    starts_with(2, 4, "udp:10.0.0.1:0", (const char *const[]){" --port udp:10.0.0.1:0 ", NULL});
    /* A pair is of a rank here and any rank of the job, wherever that is. */
    starts_with(64, 256, "udp:10.0.0.1:0",
                (const char *const[]){" --max-endpoints 64 ", " --max-peers 16384 ", NULL});
    starts_with(1, 10000, "udp:10.0.0.1:0",
                (const char *const[]){" --max-endpoints 64 ", " --max-peers 10000 ", NULL});
    starts_with(100, 1000, "udp:10.0.0.1:0",
                (const char *const[]){" --max-endpoints 100 ", " --max-peers 100000 ", NULL});
    starts_with(1024, 1024, NULL,
                (const char *const[]){" --max-endpoints 1024 ", " --max-peers 1048576 ", NULL});
    starts_with(1024, 100000, "udp:10.0.0.1:0", (const char *const[]){" --max-peers 4194304 ", NULL});
    check(nof_launch_daemon("@nof-test", 1025, NULL, text, sizeof(text)) != 0);
    check(strstr(text, "one NIC serves 1024 at most") != NULL);
    /* One that hangs is not waited for. */
    write_script("exec 3>&-\nexec sleep 600");
    check(nof_launch_daemon("@nof-test", 2, NULL, text, sizeof(text)) != 0);
    check(strstr(text, "did not start") != NULL);
    /* Nor is one stopped that has ended before, in a program whose children the kernel waits for. */
    check(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    write_script("sleep 1 &");
    check(nof_launch_daemon("@nof-test", 2, NULL, text, sizeof(text)) != 0);
    check(strstr(text, "did not start") != NULL);
    setenv("NOF_NOFD", "/nonexistent/nofd", 1);
    check(nof_launch_daemon("@nof-test", 2, NULL, text, sizeof(text)) != 0);
    check(strstr(text, "nofd is not where it belongs (/nonexistent/nofd)") != NULL);
    setenv("NOF_NOFD", folder, 1);
    check(nof_launch_daemon("@nof-test", 2, NULL, text, sizeof(text)) != 0);
    check(strstr(text, "nofd is not where it belongs (") != NULL && strstr(text, folder) != NULL);
    check(unlink(script) == 0 && unlink(said) == 0 && rmdir(folder) == 0);
    return 0;
}
