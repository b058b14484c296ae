/* SPDX-License-Identifier: BSD-3-Clause */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GROUPS_MAX 8192
#define GENTLE_STEPS 40
#define GENTLE_STEP_NS 50000000

/* What the pipe carries; writes of this size are never torn. */
struct order {
    pid_t pgid;
    int what; /* enum nof_guard_how, or REMOVE */
};

#define REMOVE (-1)

struct watched {
    struct order group[GROUPS_MAX];
    unsigned n;
};

static void obey(struct watched *w, const struct order *told)
{
    if (told->what != REMOVE) {
        if (w->n < GROUPS_MAX)
            w->group[w->n++] = *told;
        return;
    }
    for (unsigned i = 0; i < w->n; i++) {
        if (w->group[i].pgid == told->pgid) {
            w->group[i] = w->group[--w->n];
            return;
        }
    }
}

static void keep_list(int fd, struct watched *w)
{
    struct order told;
    ssize_t got;

    while ((got = read(fd, &told, sizeof(told))) != 0) {
        if (got == (ssize_t)sizeof(told))
            obey(w, &told);
        else if (got > 0 || errno != EINTR)
            return;
    }
}

static void end_gently(pid_t pgid)
{
    const struct timespec step = {.tv_nsec = GENTLE_STEP_NS};

    kill(-pgid, SIGTERM);
    for (int i = 0; i < GENTLE_STEPS && kill(-pgid, 0) == 0; i++)
        nanosleep(&step, NULL);
    kill(-pgid, SIGKILL);
}

_Noreturn static void guard_main(int fd)
{
    static struct watched watched;
    int null = open("/dev/null", O_RDWR);
    sigset_t all;

    /* A session of its own: no terminal's signal reaches it. Nobody may wait for our output's end. */
    setsid();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "nof-run-guard", 0, 0, 0);
    for (int i = 0; i < 3; i++)
        dup2(null, i);
    if (fd != 3)
        dup2(fd, 3);
    close_range(4, ~0u, 0);
    keep_list(3, &watched);
    for (unsigned i = 0; i < watched.n; i++)
        if (watched.group[i].what == NOF_GUARD_KILL)
            kill(-watched.group[i].pgid, SIGKILL);
    for (unsigned i = 0; i < watched.n; i++)
        if (watched.group[i].what == NOF_GUARD_GENTLY)
            end_gently(watched.group[i].pgid);
    _exit(0);
}

int nof_guard_start(struct nof_guard *guard)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        return -errno;
    guard->pid = fork();
    if (guard->pid < 0) {
        int rc = -errno;

        close(fds[0]);
        close(fds[1]);
        return rc;
    }
    if (guard->pid == 0)
        guard_main(fds[0]);
    close(fds[0]);
    guard->pipe = fds[1];
    return 0;
}

static void tell(struct nof_guard *guard, pid_t pgid, int what)
{
    struct order told = {.pgid = pgid, .what = what};

    while (write(guard->pipe, &told, sizeof(told)) < 0 && errno == EINTR)
        ;
}

void nof_guard_add(struct nof_guard *guard, pid_t pgid, enum nof_guard_how how)
{
    tell(guard, pgid, (int)how);
}

void nof_guard_remove(struct nof_guard *guard, pid_t pgid)
{
    tell(guard, pgid, REMOVE);
}

void nof_guard_stop(struct nof_guard *guard)
{
    close(guard->pipe);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
