/* SPDX-License-Identifier: BSD-3-Clause */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_NO_EXEC 127

uint64_t nof_bench_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void nof_bench_sleep_ms(unsigned ms)
{
    struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
        ;
}

bool nof_bench_have(const char *program)
{
    const char *dirs = getenv("PATH");
    char path[4096];

    while (dirs && *dirs != '\0') {
        int len = (int)strcspn(dirs, ":");

        snprintf(path, sizeof(path), "%.*s/%s", len, dirs, program);
        if (access(path, X_OK) == 0)
            return true;
        dirs += len + (dirs[len] == ':');
    }
    return false;
}

static void redirect(int fd, int to)
{
    if (fd >= 0)
        (void)dup2(fd, to);
}

_Noreturn static void child_main(const char *netns, const char *const *argv, int in_fd, int out_fd,
                                 const char *log_path, pid_t parent)
{
    const char *words[NOF_CHILD_ARGS_MAX + 5];
    const char *const *const_words = words;
    char **unconst;
    unsigned n = 0;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int log = log_path ? open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : null;

    if (netns) {
        /* As the lab does it: also gives the child the namespace's own /sys. */
        words[n++] = "ip";
        words[n++] = "netns";
        words[n++] = "exec";
        words[n++] = netns;
    }
    for (unsigned i = 0; argv[i] && i < NOF_CHILD_ARGS_MAX; i++)
        words[n++] = argv[i];
    words[n] = NULL;
    redirect(in_fd >= 0 ? in_fd : null, 0);
    redirect(out_fd >= 0 ? out_fd : log, 1);
    redirect(log, 2);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent)
        _exit(1);
    memcpy(&unconst, &const_words, sizeof(unconst)); /* exec's signature predates const */
    execvp(words[0], unconst);
    _exit(EXIT_NO_EXEC);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int nof_child_start(struct nof_child *child, const char *netns, const char *const *argv, int pipes,
                    const char *log_path)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    pid_t parent = getpid();

    child->pid = 0;
    child->in_fd = child->out_fd = -1;
    if (((pipes & NOF_CHILD_STDIN) && pipe2(in, O_CLOEXEC) < 0) ||
        ((pipes & NOF_CHILD_STDOUT) && pipe2(out, O_CLOEXEC) < 0))
        goto err_pipes;
    child->pid = fork();
    if (child->pid < 0)
        goto err_pipes;
    if (child->pid == 0)
        child_main(netns, argv, in[0], out[1], log_path, parent);
    close_fd(&in[0]);
    close_fd(&out[1]);
    child->in_fd = in[1];
    child->out_fd = out[0];
    return 0;

err_pipes : {
    int e = errno;

    child->pid = 0;
    close_fd(&in[0]);
    close_fd(&in[1]);
    close_fd(&out[0]);
    close_fd(&out[1]);
    return -e;
}
}

/* One read into text at *fill, before `until`. Returns 1 data, 0 end, -ETIMEDOUT. */
static int read_some(struct nof_child *child, char *text, size_t text_bytes, size_t *fill, uint64_t until_ns)
{
    char spill[4096];
    uint64_t now_ns = nof_bench_now_ns();
    struct pollfd p = {.fd = child->out_fd, .events = POLLIN};
    size_t room = text_bytes - 1 - *fill;
    ssize_t n;
    int rc;

    if (now_ns >= until_ns)
        return -ETIMEDOUT;
    rc = poll(&p, 1, (int)((until_ns - now_ns) / 1000000u) + 1);
    if (rc < 0 && errno == EINTR)
        return 1;
    if (rc == 0)
        return -ETIMEDOUT;
    n = room > 0 ? read(child->out_fd, text + *fill, room) : read(child->out_fd, spill, sizeof(spill));
    if (n <= 0)
        return n < 0 && errno == EINTR;
    if (room > 0)
        *fill += (size_t)n;
    text[*fill] = '\0';
    return 1;
}

size_t nof_child_read_all(struct nof_child *child, char *text, size_t text_bytes, int timeout_ms)
{
    uint64_t until_ns = nof_bench_now_ns() + (uint64_t)timeout_ms * 1000000u;
    size_t fill = 0;

    text[0] = '\0';
    while (read_some(child, text, text_bytes, &fill, until_ns) == 1)
        ;
    return fill;
}

int nof_child_read_until(struct nof_child *child, char *text, size_t text_bytes, const char *needle,
                         int timeout_ms)
{
    uint64_t until_ns = nof_bench_now_ns() + (uint64_t)timeout_ms * 1000000u;
    size_t fill = 0;

    text[0] = '\0';
    while (!strstr(text, needle)) {
        int rc = read_some(child, text, text_bytes, &fill, until_ns);

        if (rc <= 0)
            return rc == 0 ? -EPIPE : rc;
        if (fill + 1 == text_bytes) {
            /* Keep the tail: what is looked for comes last. */
            memmove(text, text + text_bytes / 2, fill - text_bytes / 2 + 1);
            fill -= text_bytes / 2;
        }
    }
    return 0;
}

int nof_child_write(struct nof_child *child, const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        ssize_t n = write(child->in_fd, text, left);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            text += n;
            left -= (size_t)n;
        }
    }
    return 0;
}

static int exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* -1: still running. */
static int reap(struct nof_child *child, int timeout_ms)
{
    uint64_t until_ns = nof_bench_now_ns() + (uint64_t)timeout_ms * 1000000u;
    int status;

    do {
        if (waitpid(child->pid, &status, WNOHANG) == child->pid) {
            child->pid = 0;
            return exit_code(status);
        }
        nof_bench_sleep_ms(2);
    } while (nof_bench_now_ns() < until_ns);
    return -1;
}

int nof_child_wait(struct nof_child *child, int timeout_ms)
{
    int status, code;

    close_fd(&child->in_fd);
    close_fd(&child->out_fd);
    if (child->pid <= 0)
        return EXIT_NO_EXEC;
    code = reap(child, timeout_ms);
    if (code >= 0)
        return code;
    (void)kill(child->pid, SIGKILL);
    (void)waitpid(child->pid, &status, 0);
    child->pid = 0;
    return 128 + SIGKILL;
}

void nof_child_end(struct nof_child *child, int grace_ms)
{
    if (child->pid > 0)
        (void)kill(child->pid, SIGTERM);
    if (child->pid > 0)
        (void)nof_child_wait(child, grace_ms);
    close_fd(&child->in_fd);
    close_fd(&child->out_fd);
}

int nof_run(const char *format, ...)
{
    char line[1024];
    const char *argv[NOF_CHILD_ARGS_MAX + 1];
    struct nof_child child;
    unsigned n = 0;
    char *save = NULL;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    for (char *w = strtok_r(line, " ", &save); w && n < NOF_CHILD_ARGS_MAX; w = strtok_r(NULL, " ", &save))
        argv[n++] = w;
    argv[n] = NULL;
    if (n == 0 || nof_child_start(&child, NULL, argv, 0, NULL) < 0)
        return EXIT_NO_EXEC;
    return nof_child_wait(&child, 20000);
}
