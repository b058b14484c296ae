/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nofd: start, serve, end. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nof_private/rundir.h"

#include "nofd/control/attach.h"
#include "nofd/sys/limits.h"
#include "nofd/sys/clock.h"
#include "nofd/control/control.h"
#include "nofd/dma/copier.h"
#include "nofd/control/daemon.h"
#include "nofd/sys/eal.h"
#include "nofd/sys/log.h"
#include "nofd/plug.h"
#include "nofd/control/serve.h"
#include "nofd/control/watchdog.h"

static struct nofd *daemon_of(struct nofd_watch *watch, size_t offset)
{
    return (struct nofd *)(void *)((char *)watch - offset);
}

static void on_signal(struct nofd_watch *watch, uint32_t events)
{
    struct nofd *d = daemon_of(watch, offsetof(struct nofd, signals));
    struct signalfd_siginfo info;

    (void)events;
    if (read(watch->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    if (info.ssi_signo == SIGHUP && nofd_log_reopen()) {
        nofd_notice("SIGHUP: the log was opened again, if it is a file");
        return;
    }
    nofd_notice("signal %u: the daemon ends", info.ssi_signo);
    nofd_stop(d, 0);
}

static bool let_go(struct nofd *d)
{
    uint64_t now_ns = nofd_clock_ns();
    bool again = false;

    for (unsigned i = 0; i < d->nparts; i++)
        again = nofd_nic_let_go(&d->nics[i], now_ns) || again;
    return again;
}

static bool on_tick(struct nofd_tick *tick)
{
    return let_go((struct nofd *)(void *)((char *)tick - offsetof(struct nofd, removal)));
}

static void on_cores(struct nofd_watch *watch, uint32_t events)
{
    struct nofd *d = daemon_of(watch, offsetof(struct nofd, cores_watch));
    uint64_t count;

    (void)events;
    if (read(watch->fd, &count, sizeof(count)) != (ssize_t)sizeof(count))
        return;
    nofd_attach_look(d);
    if (let_go(d))
        nofd_ticks_need(&d->ticks);
    nofd_dma_crew_look(&d->crew);
}

static void on_parent(struct nofd_watch *watch, uint32_t events)
{
    struct nofd *d = daemon_of(watch, offsetof(struct nofd, parent));

    (void)events;
    if (d->options.background && d->nattached > 0) {
        /* The ranks are others' children: the last of them ends us. */
        nofd_loop_remove(&d->loop, watch);
        close(watch->fd);
        watch->fd = -1;
        return;
    }
    nofd_info("the parent has gone: the private daemon ends");
    nofd_stop(d, 0);
}

static int watch(struct nofd *d, struct nofd_watch *w, int fd, void (*fn)(struct nofd_watch *, uint32_t))
{
    if (fd < 0)
        return -errno;
    w->fd = fd;
    w->fn = fn;
    return nofd_loop_add(&d->loop, w, EPOLLIN);
}

/* Before any thread exists: all of them inherit the mask. */
static int block_signals(void)
{
    sigset_t set;

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that ulimit -f forbids is an error like others, also of DPDK's */
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigdelset(&set, SIGUSR1);
    sigdelset(&set, SIGUSR2);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

#define FILES_LEAST 64u /* of EAL, the sockets, and a rank or two */
#define ADDRESSES_BASE ((rlim_t)112 << 20) /* of EAL without its threads' stacks: 88 MiB were enough for it */

/* Of EAL: a thread for each core, and one of its own. */
static rlim_t addresses_least(unsigned cores)
{
    struct rlimit stack;

    if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur == RLIM_INFINITY)
        stack.rlim_cur = (rlim_t)2 << 20; /* what glibc takes then */
    return stack.rlim_cur > (RLIM_INFINITY - ADDRESSES_BASE) / (cores + 1)
               ? RLIM_INFINITY
               : ADDRESSES_BASE + (cores + 1) * stack.rlim_cur;
}

/* Returns whether the daemon can start with what it may have: DPDK ends a process that it cannot give a descriptor, or
 * a thread's stack. */
static bool raise_limits(unsigned cores)
{
    struct rlimit addresses;
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    rlim_t least = addresses_least(cores);

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur < least) {
        nofd_error("at most %llu KiB of address space (ulimit -v), and the daemon needs %llu to begin: raise "
                   "the limit",
                   (unsigned long long)addresses.rlim_cur / 1024, (unsigned long long)least / 1024);
        return false;
    }
    if (limit.rlim_cur >= FILES_LEAST)
        return true;
    nofd_error("at most %llu open files (ulimit -n), and the daemon needs %u: raise the limit (EMFILE)",
               (unsigned long long)limit.rlim_cur, FILES_LEAST);
    return false;
}

/* Who started a private daemon; -1: init, or an orphan's: then only the ranks count, unless somebody waits for us. */
static int open_parent(const struct nofd_options *o)
{
    if (!o->private_job || (getppid() <= 1 && o->ready_fd < 0))
        return -1;
    return pidfd_open(getppid(), 0);
}

/* A process that waits for its child sees us no more, a signal to its group or from its terminal does not reach us,
 * and where a launcher bound it is no place for a NIC. Before any thread exists. */
static int go_background(void)
{
    cpu_set_t all;
    pid_t pid = fork();

    if (pid < 0)
        return -1;
    if (pid > 0)
        _exit(0);
    /* Not a session: a scheduler that shares by session would set us against all ranks. */
    (void)setpgid(0, 0);
    memset(&all, 0xff, sizeof(all));
    (void)sched_setaffinity(0, sizeof(all), &all);
    return 0;
}

static int start_events(struct nofd *d, int signal_fd, int parent_fd)
{
    int rc = nofd_loop_init(&d->loop);

    if (rc == 0)
        rc = watch(d, &d->signals, signal_fd, on_signal);
    if (rc == 0)
        rc = watch(d, &d->cores_watch, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), on_cores);
    if (rc == 0)
        rc = nofd_ticks_init(&d->ticks, &d->loop);
    d->removal.fn = on_tick;
    if (rc == 0)
        nofd_ticks_add(&d->ticks, &d->removal);
    d->parent.fd = -1;
    if (rc == 0 && d->options.private_job) {
        nofd_ticks_need(&d->ticks);
        if (parent_fd >= 0)
            rc = watch(d, &d->parent, parent_fd, on_parent);
    }
    if (rc != 0)
        nofd_error("cannot start: %s", strerror(-rc));
    return rc;
}

#define ATTACH_NS NOFD_MS /* of the main thread, for one rank: about, and while others want it too */
#define AT_ONCE_LEAST_NS (100 * NOFD_MS)

static int open_doors(struct nofd *d)
{
    const struct nofd_options *o = &d->options;
    uint64_t all_ns = o->max_endpoints * (uint64_t)(o->fabric.nics + o->nports) * ATTACH_NS;
    char err[NOFD_ERROR_BYTES];
    int rc = 0;

    nofd_dma_crew_init(&d->crew, &d->loop, &d->ticks, o->dma_timeout_ns);
    nofd_allowances_init(&d->shares, o->private_job, geteuid(),
                         all_ns > AT_ONCE_LEAST_NS ? all_ns : AT_ONCE_LEAST_NS, d->started_ns);
    if (d->options.directory[0] != '\0')
        rc = nof_rundir_make(d->options.directory, err, sizeof(err));
    if (rc != 0)
        d->options.directory[0] = '\0'; /* not ours to remove */
    if (rc != 0 || nofd_attach_open(d, err, sizeof(err)) != 0 ||
        nofd_control_open(d, err, sizeof(err)) != 0 ||
        /* Only now: who comes second writes nothing into the first one's file. */
        nofd_log_open(d->options.log_to, err, sizeof(err)) != 0) {
        nofd_error("%s", err);
        return -1;
    }
    return 0;
}

static int launch(struct nofd *d)
{
    for (unsigned i = 0; i < d->ncores; i++) {
        int rc = nofd_core_launch(&d->cores[i], d->options.private_job);

        if (rc != 0) {
            nofd_error("cannot start NIC core %u: %s%s", i, strerror(-rc), nofd_limits_hint(-rc));
            return -1;
        }
        d->nrunning++;
    }
    if (d->options.private_job)
        d->watchdog = nofd_watchdog_start(d);
    return 0;
}

static void say_ready(struct nofd *d)
{
    static const char word[] = "ready\n";
    ssize_t n;

    nofd_notice("%s serves %u NIC(s) on %u core(s) at %s", argp_program_version, d->nnics, d->ncores,
                d->options.socket);
    nofd_log_started();
    if (d->options.ready_fd < 0)
        return;
    n = write(d->options.ready_fd, word, sizeof(word) - 1);
    (void)n;
    close(d->options.ready_fd);
    d->options.ready_fd = -1;
}

static void close_doors(struct nofd *d)
{
    nofd_attach_close(d);
    nofd_control_close(d);
    if (d->options.directory[0] != '\0')
        (void)rmdir(d->options.directory); /* unless somebody else uses it */
}

static void stop_cores(struct nofd *d)
{
    for (unsigned i = 0; i < d->nrunning; i++)
        nofd_core_stop(&d->cores[i]);
    for (unsigned i = 0; i < d->nrunning; i++)
        nofd_core_wait(&d->cores[i]);
    nofd_watchdog_stop(d->watchdog);
    d->watchdog = NULL;
    for (unsigned i = 0; i < d->nrunning; i++)
        nofd_copier_stop(d->cores[i].dma.copier);
    d->nrunning = 0;
}

int main(int argc, char **argv)
{
    static struct nofd d;
    char err[NOFD_ERROR_BYTES];
    int signal_fd;
    int parent_fd;

    /* A large pool costs memory only where it is used, unless the environment has malloc() fill what it gives. */
    (void)mallopt(M_PERTURB, 0);
    nofd_daemon_init(&d);
    nofd_options_read(&d.options, argc, argv);
    nofd_log_set_level((enum nofd_log_level)d.options.feature[NOF_F_LOG_LEVEL]);
    d.started_ns = nofd_clock_ns();
    d.exit_code = 1;
    parent_fd = open_parent(&d.options);
    if (d.options.background && go_background() != 0) {
        nofd_error("no process for the background: %s", strerror(errno));
        return 1;
    }
    signal_fd = block_signals();
    if (!raise_limits(d.options.cores))
        return 1;
    /* Other users' payload passes through us: nobody with our ids alone may look into us. */
    if (!d.options.private_job)
        (void)prctl(PR_SET_DUMPABLE, 0);
    if (start_events(&d, signal_fd, parent_fd) != 0 || open_doors(&d) != 0)
        goto out;
    if (nofd_eal_start(&d.options, err, sizeof(err)) != 0) {
        nofd_error("%s", err);
        goto out;
    }
    if (nofd_plug_in(&d, err, sizeof(err)) != 0) {
        nofd_error("%s", err);
        goto out_eal;
    }
    if (launch(&d) == 0) {
        nofd_serve_count(&d);
        say_ready(&d);
        d.exit_code = 0;
        if (nofd_loop_run(&d.loop) != 0)
            d.exit_code = 1;
    }
    close_doors(&d);
    stop_cores(&d);
    nofd_plug_out(&d);
out_eal:
    nofd_eal_stop();
out:
    close_doors(&d);
    return d.exit_code;
}
