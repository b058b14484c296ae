/* SPDX-License-Identifier: BSD-3-Clause */
#include "bind/system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nof_private/env.h"

#define PATIENCE_MS 10000 /* for one answer of the kernel */
#define PROGRAM_MS 30000 /* for a program: modprobe may load firmware */
#define LOOK_MS 5
#define CHUNK 4096u

extern char **environ;

static const char lock_path[] = "/run/nof/bind/lock";

static void put_path(const struct nof_system *m, char path[PATH_MAX], const char *at)
{
    snprintf(path, PATH_MAX, "%s%s", m->root, at);
}

static char *read_all(int fd)
{
    size_t room = CHUNK, fill = 0;
    char *text = malloc(room);
    ssize_t n = 0;

    while (text != NULL && (n = read(fd, text + fill, room - fill - 1)) > 0) {
        char *more;

        fill += (size_t)n;
        if (room - fill > 1)
            continue;
        more = realloc(text, room *= 2);
        if (more == NULL)
            free(text);
        text = more;
    }
    if (text != NULL && n < 0) {
        free(text);
        return NULL;
    }
    if (text != NULL)
        text[fill] = '\0';
    return text;
}

static char *real_text(struct nof_system *m, const char *at)
{
    char path[PATH_MAX], *text;
    int fd, e;

    put_path(m, path, at);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    text = read_all(fd);
    e = errno;
    close(fd);
    errno = e;
    return text;
}

static int write_once(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), e;
    size_t len = strlen(text);

    if (fd < 0)
        return errno;
    e = write(fd, text, len) == (ssize_t)len ? 0 : errno != 0 ? errno : EIO;
    close(fd);
    return e;
}

/* Waits for the child; false: it still runs. */
static bool ended(pid_t pid, int *status, unsigned patience_ms)
{
    const struct timespec nap = {.tv_nsec = LOOK_MS * 1000000l};

    for (unsigned ms = 0; waitpid(pid, status, WNOHANG) == 0; ms += LOOK_MS) {
        if (ms >= patience_ms)
            return false;
        (void)nanosleep(&nap, NULL);
    }
    return true;
}

/* In a process of its own: a driver whose device is in use waits for its user, for ever, and takes no signal. */
static int real_write(struct nof_system *m, const char *at, const char *text)
{
    char path[PATH_MAX];
    int status;
    pid_t pid;

    put_path(m, path, at);
    errno = 0;
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        /* It may outlive the command: with it neither the lock nor what the command prints into shall stay held. */
        (void)close_range(0, ~0U, 0);
        _exit(write_once(path, text));
    }
    if (!ended(pid, &status, PATIENCE_MS))
        return -ETIMEDOUT;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

static int real_link(struct nof_system *m, const char *at, char *target, size_t target_bytes)
{
    char path[PATH_MAX];
    ssize_t n;

    put_path(m, path, at);
    n = readlink(path, target, target_bytes - 1);
    if (n < 0)
        return -errno;
    target[n] = '\0';
    return 0;
}

static int wanted(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static json_t *real_list(struct nof_system *m, const char *at)
{
    struct dirent **entries;
    char path[PATH_MAX];
    json_t *names;
    int n;

    put_path(m, path, at);
    n = scandir(path, &entries, wanted, alphasort);
    if (n < 0)
        return NULL;
    names = json_array();
    for (int i = 0; i < n; i++) {
        json_array_append_new(names, json_string(entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
    return names;
}

/* Everything until the program closes its end, or its time is up. */
static char *listen_to(int fd, pid_t pid)
{
    size_t fill = 0, room = CHUNK;
    char *text = malloc(room);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    ssize_t n = 1;

    while (text != NULL && n > 0) {
        char *more;

        if (poll(&p, 1, PROGRAM_MS) <= 0) {
            kill(pid, SIGKILL);
            break;
        }
        n = read(fd, text + fill, room - fill - 1);
        fill += n > 0 ? (size_t)n : 0;
        if (room - fill > 1)
            continue;
        more = realloc(text, room *= 2);
        if (more == NULL)
            free(text);
        text = more;
    }
    if (text != NULL)
        text[fill] = '\0';
    return text;
}

static int spawn(struct nof_system *m, const char *const *argv, int out_fd, pid_t *pid)
{
    char path[PATH_MAX], *const *args = (char *const *)(uintptr_t)argv;
    posix_spawn_file_actions_t actions;
    int e;

    snprintf(path, sizeof(path), "%s/bin/%s", m->root, argv[0]);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out_fd, 1);
    posix_spawn_file_actions_adddup2(&actions, out_fd, 2);
    if (m->root[0] != '\0')
        e = posix_spawn(pid, path, &actions, NULL, args, environ);
    else
        e = posix_spawnp(pid, argv[0], &actions, NULL, args, environ);
    posix_spawn_file_actions_destroy(&actions);
    return -e;
}

static int real_run(struct nof_system *m, const char *const *argv, char **out)
{
    int fds[2], status, rc;
    char *text;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return -errno;
    rc = spawn(m, argv, fds[1], &pid);
    close(fds[1]);
    text = rc == 0 ? listen_to(fds[0], pid) : NULL;
    close(fds[0]);
    if (rc != 0)
        return rc;
    if (!ended(pid, &status, PROGRAM_MS)) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    if (out != NULL)
        *out = text;
    else
        free(text);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -ETIMEDOUT;
}

/* The folders above a file of ours. */
static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        int rc;

        *slash = '\0';
        rc = mkdir(path, 0755) != 0 && errno != EEXIST ? -errno : 0;
        *slash = '/';
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int real_keep(struct nof_system *m, const char *at, const json_t *value)
{
    char path[PATH_MAX], fresh[PATH_MAX + 8];
    int rc;

    put_path(m, path, at);
    if (value == NULL)
        return unlink(path) != 0 && errno != ENOENT ? -errno : 0;
    rc = make_folders(path);
    if (rc != 0)
        return rc;
    snprintf(fresh, sizeof(fresh), "%s.new", path);
    errno = 0;
    if (json_dump_file(value, fresh, JSON_INDENT(2)) != 0 || rename(fresh, path) != 0) {
        rc = errno != 0 ? -errno : -EIO;
        unlink(fresh);
    }
    return rc;
}

static void real_pause(struct nof_system *m, unsigned ms)
{
    const struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000l};

    (void)m;
    (void)nanosleep(&nap, NULL);
}

void nof_system_open(struct nof_system *m, const char *self)
{
    static const struct nof_system_ops ops = {
        .text = real_text,
        .write = real_write,
        .link = real_link,
        .list = real_list,
        .run = real_run,
        .keep = real_keep,
        .pause = real_pause,
    };
    const char *root = nof_env("NOF_BIND_ROOT");

    *m = (struct nof_system){.ops = &ops, .root = root != NULL ? root : "", .self = self, .err = stderr};
}

int nof_system_lock(const struct nof_system *m)
{
    char path[PATH_MAX];
    int fd = -1, e = 0;

    put_path(m, path, lock_path);
    if (make_folders(path) != 0 || (fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0) {
        nof_say(m, "%s cannot be written: %s; it remembers what is bound: as root, `mkdir -p /run/nof/bind`",
                path, strerror(errno));
        return -1;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    e = errno;
    close(fd);
    if (e == EWOULDBLOCK)
        nof_say(m, "another `nof bind` or `nof unbind` runs at this moment; try again when it has ended");
    else
        nof_say(m, "%s cannot be locked: %s", path, strerror(e));
    return -1;
}

void nof_say(const struct nof_system *m, const char *format, ...)
{
    va_list args;

    fprintf(m->err, "%s: ", m->self);
    va_start(args, format);
    vfprintf(m->err, format, args);
    va_end(args);
    fputc('\n', m->err);
}

#define FORMAT_PATH(path, format) \
    do { \
        va_list args; \
\
        va_start(args, format); \
        vsnprintf(path, sizeof(path), format, args); \
        va_end(args); \
    } while (0)

bool nof_system_read(struct nof_system *m, char *line, size_t line_bytes, const char *format, ...)
{
    char path[NOF_PATH_BYTES], *text;

    FORMAT_PATH(path, format);
    text = m->ops->text(m, path);
    line[0] = '\0';
    if (text == NULL)
        return false;
    snprintf(line, line_bytes, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
    return true;
}

long nof_system_number(struct nof_system *m, long otherwise, const char *format, ...)
{
    char path[NOF_PATH_BYTES], *text, *end;
    long number;

    FORMAT_PATH(path, format);
    text = m->ops->text(m, path);
    if (text == NULL)
        return otherwise;
    number = strtol(text, &end, 0);
    if (end == text)
        number = otherwise;
    free(text);
    return number;
}

int nof_system_write(struct nof_system *m, const char *text, const char *format, ...)
{
    char path[NOF_PATH_BYTES];

    FORMAT_PATH(path, format);
    return m->ops->write(m, path, text);
}

bool nof_system_points(struct nof_system *m, char *name, size_t name_bytes, const char *format, ...)
{
    char path[NOF_PATH_BYTES], target[PATH_MAX];
    const char *slash;

    FORMAT_PATH(path, format);
    name[0] = '\0';
    if (m->ops->link(m, path, target, sizeof(target)) != 0)
        return false;
    slash = strrchr(target, '/');
    snprintf(name, name_bytes, "%s", slash != NULL ? slash + 1 : target);
    return true;
}

json_t *nof_system_names(struct nof_system *m, const char *format, ...)
{
    char path[NOF_PATH_BYTES];
    json_t *names;

    FORMAT_PATH(path, format);
    names = m->ops->list(m, path);
    return names != NULL ? names : json_array();
}

bool nof_system_has(struct nof_system *m, const char *format, ...)
{
    char path[NOF_PATH_BYTES];
    json_t *names;
    char *text;

    FORMAT_PATH(path, format);
    names = m->ops->list(m, path);
    if (names != NULL) {
        json_decref(names);
        return true;
    }
    text = m->ops->text(m, path);
    free(text);
    return text != NULL;
}

json_t *nof_system_ask(struct nof_system *m, const char *const *argv)
{
    json_t *answer = NULL;
    char *text = NULL;

    if (m->ops->run(m, argv, &text) == 0 && text != NULL)
        answer = text[strspn(text, " \n")] != '\0' ? json_loads(text, 0, NULL) : json_array();
    free(text);
    return answer;
}
