/* SPDX-License-Identifier: BSD-3-Clause */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[256];
static pid_t owner;
static pid_t guard;
static int alive = -1; /* the guard reads the end of the file when nobody holds this any more */

void nof_bench_empty(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *e;
    char name[512];

    while (dir != NULL && (e = readdir(dir)) != NULL) {
        snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        (void)unlink(name);
    }
    if (dir != NULL)
        closedir(dir);
}

_Noreturn static void wait_and_remove(int end)
{
    char none;

    (void)setsid(); /* what a terminal ends is the bench */
    for (int fd = 0; fd < 3; fd++)
        close(fd); /* whoever reads the bench's output waits for the bench alone */
    while (read(end, &none, 1) < 0 && errno == EINTR)
        ;
    nof_bench_empty(folder);
    (void)rmdir(folder);
    _exit(0);
}

static void at_exit(void)
{
    if (getpid() != owner)
        return;
    close(alive);
    while (waitpid(guard, NULL, 0) < 0 && errno == EINTR)
        ;
}

const char *nof_bench_scratch(void)
{
    const char *tmp = getenv("TMPDIR");
    int end[2];

    if (folder[0] != '\0')
        return folder;
    snprintf(folder, sizeof(folder), "%s/nof-bench-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (pipe2(end, O_CLOEXEC) < 0)
        goto err_folder;
    if (mkdtemp(folder) == NULL)
        goto err_pipe;
    owner = getpid();
    guard = fork();
    if (guard == 0) {
        close(end[1]);
        wait_and_remove(end[0]);
    }
    if (guard < 0)
        goto err_made;
    close(end[0]);
    alive = end[1];
    (void)atexit(at_exit);
    return folder;

err_made:
    (void)rmdir(folder);
err_pipe:
    close(end[0]);
    close(end[1]);
err_folder:
    folder[0] = '\0';
    return NULL;
}
