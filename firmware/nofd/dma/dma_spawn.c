/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/dma/dma_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nofd/sys/memfd.h"

#define PROGRAM "nofd-dma"
#define FD_LEAST 16 /* above those that the helper gets: none is overwritten by another */

static bool have_capability(unsigned cap)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

    if (syscall(SYS_capget, &head, data) != 0)
        return false;
    return (data[cap / 32].effective >> (cap % 32) & 1) != 0;
}

bool nofd_dma_user_possible(const struct nofd_dma_user *user)
{
    return (user->uid == geteuid() && user->gid == getegid()) ||
           (have_capability(CAP_SETUID) && have_capability(CAP_SETGID));
}

int nofd_dma_user_caps(uid_t uid, pid_t pid, uint64_t *caps_out)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = pid};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

    if (uid == 0 && syscall(SYS_capget, &head, data) != 0)
        return -errno;
    *caps_out = data[0].permitted | (uint64_t)data[1].permitted << 32;
    return 0;
}

/* Beside our own file, wherever that was started from. */
static int program_path(char *path, size_t path_bytes)
{
    ssize_t n = readlink("/proc/self/exe", path, path_bytes - 1);
    char *slash;

    if (n <= 0)
        return -1;
    path[n] = '\0';
    slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash + 1 - path) + sizeof(PROGRAM) > path_bytes)
        return -1;
    memcpy(slash + 1, PROGRAM, sizeof(PROGRAM));
    return 0;
}

/* The descriptor moved up, out of the way of the helper's. */
static int lift(int fd)
{
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FD_LEAST);

    if (fd >= 0)
        close(fd);
    return high;
}

static int share_ring(struct nofd_dma_process *p, const struct nofd_dma_user *user)
{
    int fd = lift(nofd_memfd_create("nofd-dma", NOFD_DMA_RING_BYTES));
    void *at;

    if (fd < 0)
        return -1;
    at = mmap(NULL, NOFD_DMA_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (at == MAP_FAILED || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        if (at != MAP_FAILED)
            munmap(at, NOFD_DMA_RING_BYTES);
        close(fd);
        return -1;
    }
    p->ring = at;
    p->ring->magic = NOFD_DMA_MAGIC;
    p->ring->caps = user->caps;
    p->ring->uid = user->uid;
    p->ring->gid = user->gid;
    p->ring->nofd_pid = getpid();
    return fd;
}

/* posix_spawn() neither copies page tables nor runs code of ours in the child. */
static int execute(struct nofd_dma_process *p, const char *path, int ring_fd)
{
    char name[] = PROGRAM;
    char *argv[] = {name, NULL};
    char *envp[] = {NULL};
    posix_spawn_file_actions_t actions;
    int rc = posix_spawn_file_actions_init(&actions);

    if (rc != 0)
        return -rc;
    for (int fd = 0; fd <= 2 && rc == 0; fd++)
        rc = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, ring_fd, NOFD_DMA_FD_RING);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, p->wake_fd, NOFD_DMA_FD_WAKE);
    if (rc == 0)
        rc = posix_spawn(&p->pid, path, &actions, NULL, argv, envp);
    posix_spawn_file_actions_destroy(&actions);
    return -rc;
}

int nofd_dma_process_start(struct nofd_dma_process *p, struct nofd_loop *loop,
                           const struct nofd_dma_user *user,
                           void (*ended)(struct nofd_watch *watch, uint32_t events), char *err,
                           size_t err_bytes)
{
    char path[PATH_MAX] = PROGRAM;
    int ring_fd;
    int rc;

    *p = (struct nofd_dma_process){.watch = {.fd = -1, .fn = ended}, .wake_fd = -1};
    ring_fd = share_ring(p, user);
    p->wake_fd = lift(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    rc = ring_fd < 0 || p->wake_fd < 0 || program_path(path, sizeof(path)) != 0 ? -errno : 0;
    if (rc == 0)
        rc = execute(p, path, ring_fd);
    if (ring_fd >= 0)
        close(ring_fd);
    if (rc == 0) {
        p->watch.fd = pidfd_open(p->pid, 0); /* nobody but us reaps it: the number is its own */
        rc = p->watch.fd < 0 ? -errno : nofd_loop_add(loop, &p->watch, EPOLLIN);
        if (rc != 0) {
            (void)kill(p->pid, SIGKILL);
            (void)waitpid(p->pid, NULL, 0);
        }
    }
    if (rc != 0) {
        snprintf(err, err_bytes, "%s cannot be started (%s): it belongs beside nofd", path, strerror(-rc));
        nofd_dma_process_free(p);
    }
    return rc;
}

void nofd_dma_process_kill(struct nofd_dma_process *p)
{
    __atomic_store_n(&p->ring->stop, 1, __ATOMIC_RELEASE);
    (void)__atomic_fetch_add(&p->ring->bell, 1, __ATOMIC_SEQ_CST);
    (void)syscall(SYS_futex, &p->ring->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    (void)pidfd_send_signal(p->watch.fd, SIGKILL, NULL, 0);
}

/* Those that a fault of its own brings, as far as one can tell: its user can send them, too. */
static bool is_crash(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
           signal == SIGSYS || signal == SIGABRT || signal == SIGTRAP;
}

static const char *why_exit(int status)
{
    switch (status) {
    case NOFD_DMA_EXIT_STOP:
    case NOFD_DMA_EXIT_ORPHAN:
        return NULL;
    case NOFD_DMA_EXIT_RING:
        return "nofd-dma is of another build than nofd";
    case NOFD_DMA_EXIT_IDS:
        return "the kernel does not let a helper take on that user's ids";
    case NOFD_DMA_EXIT_CLOSED:
        return "the kernel does not let a helper shut itself in (seccomp)";
    default: /* the loader's, most likely */
        return "nofd-dma ends as soon as it is started; by hand, `nofd-dma </dev/null` may say why";
    }
}

const char *nofd_dma_process_reap(struct nofd_dma_process *p, struct nofd_loop *loop)
{
    siginfo_t info = {0};

    nofd_loop_remove(loop, &p->watch);
    while (waitid(P_PIDFD, (id_t)p->watch.fd, &info, WEXITED) != 0 && errno == EINTR)
        continue;
    if (info.si_code == CLD_EXITED)
        return why_exit(info.si_status);
    p->signal = info.si_status;
    p->crashed = is_crash(p->signal);
    if (p->crashed && __atomic_load_n(&p->ring->taken, __ATOMIC_RELAXED) == 0)
        return "nofd-dma crashes before it has done anything";
    return NULL;
}

void nofd_dma_process_free(struct nofd_dma_process *p)
{
    if (p->ring != NULL)
        munmap(p->ring, NOFD_DMA_RING_BYTES);
    if (p->wake_fd >= 0)
        close(p->wake_fd);
    if (p->watch.fd >= 0)
        close(p->watch.fd);
    *p = (struct nofd_dma_process){.watch = {.fd = -1}, .wake_fd = -1};
}
