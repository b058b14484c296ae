/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_as.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES (256u << 10)

struct run {
    struct nofd_run_as job;
    pid_t daemon;
};

static bool have_capability(unsigned cap)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

    if (syscall(SYS_capget, &head, data) != 0)
        return false;
    return (data[cap / 32].effective >> (cap % 32) & 1) != 0;
}

/* With fs.suid_dumpable at 1 the user could trace a helper, and so read the daemon, between its change of ids and its
 * next instruction. */
static bool exposes_memory(void)
{
    int fd = open("/proc/sys/fs/suid_dumpable", O_RDONLY | O_CLOEXEC);
    char value = '1';
    ssize_t n = fd >= 0 ? read(fd, &value, 1) : 0;

    if (fd >= 0)
        close(fd);
    return n != 1 || value == '1';
}

bool nofd_run_as_possible(uid_t uid)
{
    return uid == geteuid() ||
           (have_capability(CAP_SETUID) && have_capability(CAP_SETGID) && !exposes_memory());
}

/* Raw system calls: the C library would change the ids of every thread of the daemon. The change of ids gives the
 * memory that we share with the daemon the dumpable state of fs.suid_dumpable; 0 again at once, for the daemon too. */
static int become(const struct run *run)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    uid_t uid = run->job.uid;
    gid_t gid = run->job.gid;

    if (syscall(SYS_setgroups, 0, NULL) != 0 || syscall(SYS_setresgid, gid, gid, gid) != 0 ||
        syscall(SYS_setresuid, uid, uid, uid) != 0 || syscall(SYS_capset, &head, none) != 0 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    /* Only now: a change of ids clears it. A daemon that died before is seen by the parent's pid. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != run->daemon)
        return -1;
    return 0;
}

static int process_main(void *arg)
{
    const struct run *run = arg;

    if (become(run) == 0)
        run->job.fn(run->job.arg);
    return 0;
}

static void run_in_process(struct run *run)
{
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    int pid;

    if (stack == MAP_FAILED)
        return;
    pid = clone(process_main, (char *)stack + STACK_BYTES, CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_VFORK,
                run);
    if (pid > 0)
        while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
            continue;
    munmap(stack, STACK_BYTES);
}

static void *thread_main(void *arg)
{
    struct run *run = arg;

    if (run->job.uid == geteuid())
        run->job.fn(run->job.arg);
    else
        run_in_process(run);
    run->job.ended(run->job.arg);
    free(run);
    return NULL;
}

int nofd_run_as(const struct nofd_run_as *job)
{
    struct run *run;
    pthread_attr_t attr;
    pthread_t thread;
    int rc;

    if (!nofd_run_as_possible(job->uid))
        return -EPERM;
    run = malloc(sizeof(*run));
    if (run == NULL)
        return -ENOMEM;
    run->job = *job;
    run->daemon = getpid();
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    rc = pthread_create(&thread, &attr, thread_main, run);
    pthread_attr_destroy(&attr);
    if (rc != 0)
        free(run);
    return -rc;
}
