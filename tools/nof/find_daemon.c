/* SPDX-License-Identifier: BSD-3-Clause */
#include "find_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nof_private/env.h"
#include "nof_private/rundir.h"

void nof_daemon_arg(struct nof_daemon_args *args, const char *arg)
{
    if (args->n == NOF_DAEMON_ARGS_MAX) {
        fprintf(stderr,
                "nof: nofd would get more than %d words of options: leave some out, or put them into a file "
                "for its --config\n",
                NOF_DAEMON_ARGS_MAX);
        exit(2);
    }
    args->arg[args->n++] = arg;
}

void nof_daemon_option(struct nof_daemon_args *args, const char *option, const char *value)
{
    nof_daemon_arg(args, option);
    nof_daemon_arg(args, value);
}

/* A folder may be entered, which is not what is asked. */
static bool is_program(const char *path)
{
    struct stat st;

    if (access(path, X_OK) != 0 || stat(path, &st) != 0)
        return false;
    if (S_ISREG(st.st_mode))
        return true;
    errno = S_ISDIR(st.st_mode) ? EISDIR : EACCES;
    return false;
}

static bool find_on_path(char *path, size_t path_bytes)
{
    const char *dirs = getenv("PATH");

    while (dirs != NULL && *dirs != '\0') {
        int len = (int)strcspn(dirs, ":");

        snprintf(path, path_bytes, "%.*s/nofd", len, dirs);
        if (is_program(path))
            return true;
        dirs += len + (dirs[len] == ':');
    }
    return false;
}

bool nof_daemon_find(char *path, size_t path_bytes, const char *self)
{
    const char *told = nof_env("NOF_NOFD");
    char here[4096];
    ssize_t n;
    char *slash;

    if (told != NULL) {
        snprintf(path, path_bytes, "%s", told);
        if (is_program(path))
            return true;
        fprintf(stderr, "%s: NOF_NOFD=%s cannot be run (%s): point it at nofd, or unset it\n", self, told,
                strerror(errno));
        return false;
    }
    n = readlink("/proc/self/exe", here, sizeof(here) - 1);
    here[n > 0 ? n : 0] = '\0';
    slash = strrchr(here, '/');
    if (slash != NULL) {
        *slash = '\0';
        snprintf(path, path_bytes, "%s/nofd", here);
        if (is_program(path))
            return true;
    }
    if (find_on_path(path, path_bytes))
        return true;
    fprintf(stderr,
            "%s: nofd, the daemon that plays the NICs, is neither %s%s nor on PATH: build it "
            "(ninja nofd; needs libdpdk-dev), or set NOF_NOFD to its path\n",
            self, slash != NULL ? "in " : "beside this program (where that is cannot be told without /proc)",
            slash != NULL ? here : "");
    return false;
}

static void child_io(const struct nof_daemon_start *how)
{
    int null = open("/dev/null", O_RDWR);
    int log = how->log_path != NULL
                  ? open(how->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW, 0600)
                  : -1;

    dup2(null, 0);
    if (log >= 0)
        dup2(log, 2);
    /* stdout belongs to the program that runs, never to the daemon. */
    dup2(how->background ? null : 2, 1);
    if (how->background && log < 0)
        dup2(null, 2);
}

_Noreturn static void child_main(const char *path, struct nof_daemon_args *args,
                                 const struct nof_daemon_start *how, int ready_fd, pid_t parent)
{
    const char *const *argv;
    char **unconst;
    sigset_t none;

    if (how->background) {
        setsid();
    } else {
        setpgid(0, 0);
        /* It has files to remove: a signal that it can answer. */
        prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
        if (getppid() != parent)
            _exit(1);
    }
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    child_io(how);
    fcntl(ready_fd, F_SETFD, 0);
    args->arg[args->n] = NULL;
    argv = args->arg;
    memcpy(&unconst, &argv, sizeof(unconst)); /* exec's signature predates const */
    execv(path, unconst);
    fprintf(stderr, "nof: %s cannot be run: %s\n", path, strerror(errno));
    _exit(127);
}

/* nofd writes a byte when it is ready and just ends when it cannot be. */
static bool await_ready(int fd, pid_t pid, const char *self)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte;
    int rc;

    do {
        rc = poll(&p, 1, NOF_DAEMON_READY_MS);
    } while (rc < 0 && errno == EINTR);
    if (rc > 0 && read(fd, &byte, 1) == 1)
        return true;
    if (rc == 0) {
        fprintf(stderr, "%s: nofd is not ready after %d s and was stopped: try again with --log debug\n",
                self, NOF_DAEMON_READY_MS / 1000);
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
    }
    return false;
}

pid_t nof_daemon_start(struct nof_daemon_args *args, const struct nof_daemon_start *how, const char *self)
{
    static char ready_fd[16];
    char path[4096];
    pid_t parent = getpid();
    int ready[2];
    int status;
    pid_t pid;
    bool ok;

    if (!nof_daemon_find(path, sizeof(path), self))
        return -1;
    if (pipe2(ready, O_CLOEXEC) != 0) {
        fprintf(stderr, "%s: no pipe for nofd: %s\n", self, strerror(errno));
        return -1;
    }
    snprintf(ready_fd, sizeof(ready_fd), "%d", ready[1]);
    nof_daemon_option(args, "--ready-fd", ready_fd);
    pid = fork();
    if (pid == 0)
        child_main(path, args, how, ready[1], parent);
    close(ready[1]);
    if (pid < 0) {
        fprintf(stderr, "%s: no process for nofd: %s\n", self, strerror(errno));
        close(ready[0]);
        return -1;
    }
    if (!how->background)
        setpgid(pid, pid);
    ok = await_ready(ready[0], pid, self);
    close(ready[0]);
    if (ok)
        return pid;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s: nofd was killed by signal %d (%s) while it started\n", self, WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else if (!how->background)
        fprintf(
            stderr,
            "%s: nofd ended before it was ready, with exit status %d: what it says, if anything, is above\n",
            self, WEXITSTATUS(status));
    return -1;
}

void nof_daemon_dir(char *path, size_t path_bytes)
{
    nof_rundir_path(path, path_bytes);
}

bool nof_daemon_address(char address_out[NOF_ADDRESS_BYTES], const char *text, const char *self)
{
    if (text[0] == '\0') {
        fprintf(stderr, "%s: an empty text is no socket's address: give a path, or @NAME\n", self);
        return false;
    }
    if (snprintf(address_out, NOF_ADDRESS_BYTES, "%s", text) < NOF_ADDRESS_BYTES)
        return true;
    fprintf(stderr, "%s: '%s' is no socket's address: it has more than %d characters\n", self, text,
            NOF_ADDRESS_BYTES - 1);
    return false;
}

static bool from_environment(char address_out[NOF_ADDRESS_BYTES], const char *name, const char *self)
{
    const char *told = nof_env(name);

    return address_out[0] != '\0' || told == NULL || nof_daemon_address(address_out, told, self);
}

bool nof_daemon_locate(struct nof_daemon_at *at, enum nof_daemon_else otherwise, const char *self)
{
    bool named = at->socket[0] != '\0';
    char dir[NOF_ADDRESS_BYTES - 16];

    if (!from_environment(at->socket, "NOF_SOCKET", self))
        return false;
    if (at->socket[0] == '\0') {
        if (otherwise == NOF_DAEMON_ELSE_PRIVATE && at->control[0] != '\0')
            fprintf(stderr, "%s: --control without a daemon: give --nofd SOCKET, too\n", self);
        if (otherwise == NOF_DAEMON_ELSE_PRIVATE)
            return at->control[0] == '\0';
        nof_daemon_dir(dir, sizeof(dir));
        snprintf(at->socket, sizeof(at->socket), "%s/nofd.sock", dir);
    }
    if (!named && !from_environment(at->control, "NOF_CONTROL", self))
        return false;
    if (at->control[0] != '\0' ||
        snprintf(at->control, sizeof(at->control), "%s.ctl", at->socket) < (int)sizeof(at->control))
        return true;
    fprintf(stderr, "%s: '%s' is too long to append \".ctl\": give --control ADDRESS, or a shorter socket\n",
            self, at->socket);
    return false;
}

void nof_daemon_show_log(const char *path)
{
    char line[1024];
    FILE *log = fopen(path, "r");

    if (log == NULL) {
        fprintf(stderr, "  nothing: its log cannot be written: %s: %s\n", path, strerror(errno));
        return;
    }
    while (fgets(line, sizeof(line), log) != NULL)
        fprintf(stderr, "  %s", line);
    if (ftell(log) == 0)
        fprintf(stderr, "  nothing, and has ended\n");
    fclose(log);
}

char nof_daemon_state(pid_t pid)
{
    char path[64];
    char state = '?';
    FILE *stat;

    if (kill(pid, 0) != 0 && errno == ESRCH)
        return 'X';
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    stat = fopen(path, "r");
    if (stat == NULL)
        return '?';
    if (fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
        state = '?';
    fclose(stat);
    return state == 'Z' ? 'X' : state;
}
