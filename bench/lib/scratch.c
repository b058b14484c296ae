/* SPDX-License-Identifier: BSD-3-Clause */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REMOVALS 500u /* 10 ms apart */

static char folder[256], memory[256];
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

/* Who else writes there may have written a file meanwhile. */
static void remove_folder(const char *path)
{
    for (unsigned n = 0; n < REMOVALS; n++) {
        nof_bench_empty(path);
        if (rmdir(path) == 0 || errno != ENOTEMPTY)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

/* Under the folder's last name. */
static void name_memory(void)
{
    snprintf(memory, sizeof(memory), "/dev/shm%s", strrchr(folder, '/'));
}

static void make_memory(void)
{
    name_memory();
    if (mkdir(memory, 0700) != 0)
        memory[0] = '\0';
}

/* The folder never is without who removes it: the guard makes it, too. What the bench has started dies with it, a little
 * later, and may put a file there meanwhile. */
_Noreturn static void make_and_remove(int end, int told)
{
    char none;
    int error = mkdtemp(folder) == NULL ? errno : 0;

    if (error == 0)
        make_memory();
    (void)setsid(); /* what a terminal ends is the bench */
    for (int fd = 0; fd < 3; fd++)
        close(fd); /* whoever reads the bench's output waits for the bench alone */
    bool heard = write(told, &error, sizeof(error)) == sizeof(error) &&
                 write(told, folder, sizeof(folder)) == sizeof(folder);
    while (heard && read(end, &none, 1) < 0 && errno == EINTR)
        ;
    if (error == 0 && memory[0] != '\0')
        remove_folder(memory);
    if (error == 0)
        remove_folder(folder);
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
    int end[2], told[2], error = 0;

    if (folder[0] != '\0')
        return folder;
    snprintf(folder, sizeof(folder), "%s/nof-bench-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (pipe2(end, O_CLOEXEC) < 0)
        goto err_folder;
    if (pipe2(told, O_CLOEXEC) < 0)
        goto err_end;
    owner = getpid();
    guard = fork();
    if (guard == 0) {
        (void)signal(SIGPIPE, SIG_IGN);
        close(end[1]);
        close(told[0]);
        make_and_remove(end[0], told[1]);
    }
    if (guard < 0)
        goto err_told;
    close(end[0]);
    close(told[1]);
    alive = end[1];
    (void)atexit(at_exit);
    bool heard = read(told[0], &error, sizeof(error)) == sizeof(error) && error == 0 &&
                 read(told[0], folder, sizeof(folder)) == sizeof(folder);
    close(told[0]);
    if (heard)
        return folder;
    errno = error != 0 ? error : ECHILD;
    folder[0] = '\0';
    return NULL;

err_told:
    close(told[0]);
    close(told[1]);
err_end:
    close(end[0]);
    close(end[1]);
err_folder:
    folder[0] = '\0';
    return NULL;
}

const char *nof_bench_scratch_memory(void)
{
    const char *dir = nof_bench_scratch();

    if (dir == NULL)
        return NULL;
    name_memory();
    return access(memory, W_OK) == 0 ? memory : dir;
}

const char *nof_bench_scratch_for(const char *bench, const char *program)
{
    const char *dir = NULL;

    if (access(program, X_OK) != 0)
        fprintf(stderr, "%s: %s is not there: run this from the build tree, with the MPI library built\n",
                bench, program);
    else if ((dir = nof_bench_scratch()) == NULL)
        fprintf(stderr, "%s: no folder for temporary files: %s; set TMPDIR\n", bench, strerror(errno));
    return dir;
}
