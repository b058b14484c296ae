/* SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nof_private/env.h"

#include "launch/launch.h"

#define READY_MS 30000
#define READY_FD 3
#define RANKS_MAX 1024 /* what one NIC serves */
#define RANKS_USUAL 64
#define PEERS_USUAL 4096
#define PEERS_MOST 4194304 /* what nofd --max-peers takes */
#define PATH_BYTES 4096

/* Where nofd lies, seen from the folder of this library: of a build tree, and as installed. */
static const char *const beside[] = {"nofd", NOF_LIB_TO_BIN "/nofd"};

/* A folder may be entered, which is not what is asked. */
static bool is_program(const char *path)
{
    struct stat st;
    return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool find_nofd(char path[PATH_BYTES])
{
    const char *told = nof_env("NOF_NOFD");
    Dl_info here;
    path[0] = '\0';
    if (told != NULL) {
        snprintf(path, PATH_BYTES, "%s", told);
        return is_program(path);
    }
    if (dladdr(&nof_lib, &here) == 0 || here.dli_fname == NULL)
        return false;
    const char *slash = strrchr(here.dli_fname, '/');
    int folder = slash == NULL ? 0 : (int)(slash - here.dli_fname + 1);
    for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
        snprintf(path, PATH_BYTES, "%.*s%s", folder, here.dli_fname, beside[i]);
        if (is_program(path))
            return true;
    }
    return false;
}

/* Only the launcher's output and the pipe go along: a daemon that held the launcher's own descriptors would hide from
 * it that this process has ended. Signals are for the ranks. */
static int spawn(const char *path, char *const argv[], int ready, pid_t *pid_out)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    if (posix_spawn_file_actions_init(&files) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&attr) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    posix_spawn_file_actions_adddup2(&files, ready, READY_FD);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, READY_FD + 1);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int rc = posix_spawn(pid_out, path, &files, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return rc;
}

/* nofd writes when it is ready and just ends, after saying why, when it cannot be. */
static bool await_ready(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint64_t until_ns = nof_lib_now_ns() + READY_MS * 1000000ull, now_ns;
    char byte;
    int rc = 0;
    while ((now_ns = nof_lib_now_ns()) < until_ns) {
        rc = poll(&p, 1, (int)((until_ns - now_ns) / 1000000u) + 1);
        if (rc >= 0 || errno != EINTR)
            break;
    }
    return rc > 0 && read(fd, &byte, 1) == 1;
}

/* The pipe's end that nofd gets must not be READY_FD itself, which dup2() would leave close-on-exec. */
static int open_pipe(int ready[2])
{
    if (pipe2(ready, O_CLOEXEC) != 0)
        return -1;
    int above = fcntl(ready[1], F_DUPFD_CLOEXEC, READY_FD + 1);
    close(ready[1]);
    ready[1] = above;
    if (above >= 0)
        return 0;
    close(ready[0]);
    return -1;
}

static int start(const char *path, char *const argv[], char *text, size_t text_bytes)
{
    int ready[2];
    pid_t pid;
    if (open_pipe(ready) != 0) {
        snprintf(text, text_bytes, "no pipe for nofd: %s; raise the limit (ulimit -n)", strerror(errno));
        return -1;
    }
    int rc = spawn(path, argv, ready[1], &pid);
    close(ready[1]);
    if (rc != 0)
        snprintf(text, text_bytes, "%s cannot be run: %s", path, strerror(rc));
    else if (!await_ready(ready[0]))
        snprintf(text, text_bytes,
                 "the private NIC daemon %s did not start: see what it said, or set NOF_LOG=debug", path);
    else
        text[0] = '\0';
    close(ready[0]);
    /* It may hang. Where the program ignores SIGCHLD, one that has ended is not ours to wait for, nor is its number. */
    if (rc == 0 && text[0] != '\0' && waitpid(pid, NULL, WNOHANG) == 0)
        (void)kill(pid, SIGKILL);
    /* --background: the process that we started ends at once, and the daemon is another. */
    while (rc == 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return text[0] == '\0' ? 0 : -1;
}

int nof_launch_daemon(const char *socket, int ranks, const char *port, char *text, size_t text_bytes)
{
    char path[PATH_BYTES], control[NOF_LAUNCH_SOCKET_BYTES + 8], address[NOF_LAUNCH_SOCKET_BYTES];
    char endpoints[16], peers[24], where[NOF_LAUNCH_PORT_BYTES];
    if (ranks > RANKS_MAX) {
        snprintf(text, text_bytes,
                 "%d ranks on %s without a NIC daemon, and one NIC serves %d at most: start it with \"nof "
                 "run --hosts "
                 "%d\"",
                 ranks, nof_lib.host, RANKS_MAX, (ranks + RANKS_MAX - 1) / RANKS_MAX);
        return -1;
    }
    if (!find_nofd(path)) {
        snprintf(text, text_bytes,
                 "no NIC daemon runs on %s, and none can be started: nofd is not where it belongs (%s); set "
                 "NOF_NOFD "
                 "to its path, or start it with \"nof up\"",
                 nof_lib.host, path);
        return -1;
    }
    int more = ranks > RANKS_USUAL ? ranks : RANKS_USUAL;
    /* A pair is of a rank here and any rank of the job. */
    int64_t pairs = (int64_t)ranks * (nof_lib.world_size > ranks ? nof_lib.world_size : ranks);
    if (pairs < PEERS_USUAL)
        pairs = PEERS_USUAL;
    if (pairs > PEERS_MOST)
        pairs = PEERS_MOST;
    snprintf(address, sizeof(address), "%s", socket);
    snprintf(control, sizeof(control), "%s.ctl", socket);
    snprintf(where, sizeof(where), "%s", port != NULL ? port : "1");
    snprintf(endpoints, sizeof(endpoints), "%d", more);
    snprintf(peers, sizeof(peers), "%lld", (long long)pairs);
    char *const argv[] = {(char[]){"nofd"},
                          (char[]){"--private"},
                          (char[]){"--background"},
                          port != NULL ? (char[]){"--port"} : (char[]){"--fabric"},
                          where,
                          (char[]){"--ready-fd"},
                          (char[]){"3"},
                          (char[]){"--socket"},
                          address,
                          (char[]){"--control"},
                          control,
                          (char[]){"--max-endpoints"},
                          endpoints,
                          (char[]){"--max-peers"},
                          peers,
                          NULL};
    return start(path, argv, text, text_bytes);
}
