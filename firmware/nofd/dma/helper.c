/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nofd-dma: copies between the memory of one user's ranks and a window that it shares with the daemon (dma_ring.h),
 * with that user's ids, so that the kernel checks every access. Started by dma_spawn.c with descriptors 0 to 4.
 *
 *   map the ring -> close all else -> the user's ids, no effective capability -> not dumpable, dies with the daemon
 *   -> seccomp: copies, futex, looks at pidfds, one eventfd -> serve
 *
 * It is executed before it takes on the ids, so that its user never sees it dumpable, and nothing of the daemon's
 * memory comes along. No heap, no stdio. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nof/status.h"
#include "nof_private/fence.h"

#include "nofd/sys/clock.h"
#include "nofd/dma/dma_copy.h"
#include "nofd/dma/dma_ring.h"

#define SPIN_NS (20 * NOFD_US) /* a stream brings its next block before this */
#define TURN_NS (20 * NOFD_US) /* copying without a break beside a core on the same CPU: a turn of its own */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0 /* not known here: the helper refuses, and ranks copy themselves */
#endif

struct known {
    uint32_t generation; /* 0: nobody */
    pid_t pid;
    int pidfd;
};

static struct nofd_dma_ring *ring;
static uint8_t *window;
static struct known table[NOFD_DMA_RANKS];

static int map_ring(void)
{
    struct stat st;
    void *at;

    if (fstat(NOFD_DMA_FD_RING, &st) != 0 || (size_t)st.st_size != NOFD_DMA_RING_BYTES)
        return -1;
    at = mmap(NULL, NOFD_DMA_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, NOFD_DMA_FD_RING,
              0);
    if (at == MAP_FAILED)
        return -1;
    ring = at;
    window = (uint8_t *)at + NOFD_DMA_WINDOW_OFFSET;
    return ring->magic == NOFD_DMA_MAGIC ? 0 : -1;
}

/* What the daemon, or a library of its, left open across the exec. */
static int close_others(void)
{
    struct rlimit limit;

    if (syscall(SYS_close_range, NOFD_DMA_FD_WAKE + 1, UINT_MAX, 0) == 0)
        return 0;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) /* before Linux 5.9 */
        return -1;
    for (rlim_t fd = NOFD_DMA_FD_WAKE + 1; fd < limit.rlim_max && fd < INT_MAX; fd++)
        close((int)fd);
    return 0;
}

/* The permitted set is the rank's own, not more: the kernel lets a process without effective capabilities reach one
 * whose permitted set is no larger. An ordinary user's is empty. */
static int take_ids(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {
        {.permitted = (uint32_t)ring->caps},
        {.permitted = (uint32_t)(ring->caps >> 32)},
    };
    bool own =
        ring->uid == getuid() && ring->gid == getgid() && ring->uid == geteuid() && ring->gid == getegid();

    if (setgroups(0, NULL) != 0 && !own)
        return -1;
    if (setresgid(ring->gid, ring->gid, ring->gid) != 0 || setresuid(ring->uid, ring->uid, ring->uid) != 0)
        return -1;
    return (int)syscall(SYS_capset, &head, caps);
}

/* Only after the change of ids, which clears the parent's death signal. */
static int forbid_looks(void)
{
    struct rlimit none = {0};

    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                   prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || setrlimit(RLIMIT_CORE, &none) != 0
               ? -1
               : 0;
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define IF_NOT(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, skip)
#define MAY(name) IF_NOT(SYS_##name, 1), ALLOW

/* A write goes to the eventfd alone. */
static int filter(void)
{
    static const struct sock_filter code[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
        KILL,
        LOAD(nr),
        IF_NOT(SYS_write, 3),
        LOAD(args[0]), /* the kernel takes a descriptor's low half */
        IF_NOT(NOFD_DMA_FD_WAKE, 1),
        ALLOW,
        LOAD(nr),
        MAY(process_vm_readv),
        MAY(process_vm_writev),
        MAY(futex),
        MAY(ppoll),
        MAY(pidfd_open),
        MAY(close),
        MAY(sched_yield),
        MAY(clock_gettime),
        MAY(restart_syscall), /* a wait that was stopped and goes on */
        MAY(exit_group),
        KILL,
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]),
                                 .filter = (struct sock_filter *)(uintptr_t)code};

    return ARCH != 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) : -1;
}

static uint32_t load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static int know(const struct nofd_dma_order *order)
{
    struct known *k = &table[order->rank];

    if (k->generation != 0 && k->pidfd >= 0)
        close(k->pidfd);
    k->generation = order->generation;
    k->pid = order->pid;
    k->pidfd = (int)syscall(SYS_pidfd_open, order->pid, 0);
    if (k->pidfd >= 0)
        return NOF_OK;
    return errno == ESRCH ? NOF_EPEERDEAD : NOF_EFAULT;
}

static int copy(const struct nofd_dma_order *order)
{
    const struct known *k = &table[order->rank];
    struct nof_buf local = {.base = window + order->block * (size_t)NOF_DMA_BLOCK_BYTES,
                            .len_bytes = order->len_bytes};
    int rc;

    if (k->generation != order->generation || !nofd_pidfd_alive(k->pidfd))
        return NOF_EPEERDEAD;
    rc = nofd_dma_copy(k->pid, order->what == NOFD_DMA_WRITE, order->remote, order->nremote, &local, 1);
    return rc == NOF_OK && !nofd_pidfd_alive(k->pidfd) ? NOF_EPEERDEAD : rc;
}

static int carry_out(const struct nofd_dma_order *order)
{
    if (order->rank >= NOFD_DMA_RANKS || order->block >= NOFD_DMA_SLOTS ||
        order->len_bytes > NOF_DMA_BLOCK_BYTES)
        return NOF_EFAULT;
    return order->what == NOFD_DMA_KNOW ? know(order) : copy(order);
}

static bool has_more(void)
{
    return load(&ring->posted) != ring->taken || load(&ring->stop) != 0;
}

static bool beside_core(void)
{
    cpu_set_t cpus;

    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) < 2;
}

static void wait_for_more(uint64_t spin_for_ns)
{
    uint64_t until_ns = nofd_clock_ns() + spin_for_ns;
    uint32_t bell;

    while (!has_more() && nofd_clock_ns() < until_ns)
        sched_yield(); /* the core or the rank may need this CPU */
    bell = load(&ring->bell);
    __atomic_store_n(&ring->asleep, 1, __ATOMIC_RELAXED);
    nof_fence_full();
    while (!has_more() && load(&ring->bell) == bell)
        (void)syscall(SYS_futex, &ring->bell, FUTEX_WAIT, bell, NULL, NULL, 0);
    __atomic_store_n(&ring->asleep, 0, __ATOMIC_RELAXED);
}

static void wake_core(void)
{
    uint64_t one = 1;
    ssize_t n;

    nof_fence_full();
    if (__atomic_load_n(&ring->core_asleep, __ATOMIC_RELAXED) == 0)
        return;
    n = write(NOFD_DMA_FD_WAKE, &one, sizeof(one));
    (void)n; /* full: it is awake already */
}

/* On the core's own CPU nothing comes while we spin, and each look costs two changes of threads. And a user with much to
 * copy would keep it for a slice of the scheduler's, milliseconds in which no rank at all is served. */
static void serve(bool with_core)
{
    uint64_t spin_for_ns = with_core ? 0 : SPIN_NS;
    uint64_t turn_ends_ns = nofd_clock_ns() + TURN_NS;

    while (load(&ring->stop) == 0) {
        uint32_t queued = NOFD_ORDER_QUEUED;
        struct nofd_dma_order *order;

        if (load(&ring->posted) == ring->taken) {
            wait_for_more(spin_for_ns);
            continue;
        }
        order = &ring->orders[ring->taken % NOFD_DMA_SLOTS];
        if (__atomic_compare_exchange_n(&order->state, &queued, NOFD_ORDER_CLAIMED, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            order->status = carry_out(order);
            __atomic_store_n(&order->state, NOFD_ORDER_DONE, __ATOMIC_RELEASE);
        }
        __atomic_store_n(&ring->taken, ring->taken + 1, __ATOMIC_RELEASE);
        wake_core();
        if (with_core && nofd_clock_ns() >= turn_ends_ns) {
            sched_yield();
            turn_ends_ns = nofd_clock_ns() + TURN_NS;
        }
    }
}

int main(void)
{
    bool with_core = beside_core();

    /* With rights of its file's it would lend them to whoever starts it. */
    if (getauxval(AT_SECURE) != 0)
        return NOFD_DMA_EXIT_IDS;
    if (map_ring() != 0)
        return NOFD_DMA_EXIT_RING;
    if (close_others() != 0)
        return NOFD_DMA_EXIT_CLOSED;
    if (take_ids() != 0)
        return NOFD_DMA_EXIT_IDS;
    if (forbid_looks() != 0)
        return NOFD_DMA_EXIT_CLOSED;
    if (getppid() != ring->nofd_pid)
        return NOFD_DMA_EXIT_ORPHAN;
    close(NOFD_DMA_FD_RING); /* the mapping stays */
    if (filter() != 0)
        return NOFD_DMA_EXIT_CLOSED;
    serve(with_core);
    _exit(NOFD_DMA_EXIT_STOP);
}
