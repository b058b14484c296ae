/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loop of `nof run`. One poll() over the signals, the PMI sockets, the ranks' output and, from a
 * terminal, our own input. Deaths are looked at before anything that the survivors say about them, so that
 * the sentence names the rank that died first. */
#include "hang.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "needed.h"
#include "nof/status.h"

#define GRACE_NS 300000000u /* between SIGTERM and SIGKILL when the job ends itself */
#define USER_GRACE_NS 5000000000u /* when the user's signal ended it */
#define GONE_NS 1000000000u /* a process that ends closes its descriptors first */
#define DRAIN_NS 1000000000u /* output that a surviving grandchild may still hold open */

uint64_t nof_job_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void signal_ranks(const struct nof_job *job, int sig)
{
    for (unsigned i = 0; i < job->ranks; i++)
        if (job->rank[i].pid > 0)
            kill(-job->rank[i].pid, sig);
}

static void end_job(struct nof_job *job, int exit_code)
{
    if (job->exit_code == 0)
        job->exit_code = exit_code;
    if (job->ending)
        return;
    job->ending = true;
    signal_ranks(job, SIGTERM);
    signal_ranks(job, SIGCONT); /* a stopped one must hear it */
    job->kill_at_ns = nof_job_now_ns() + GRACE_NS;
}

static void close_pmi(struct nof_rank *rank)
{
    if (rank->pmi_fd >= 0)
        close(rank->pmi_fd);
    rank->pmi_fd = -1;
}

static const char *consequence(const struct nof_job *job)
{
    return job->keep_going ? "the others go on (--on-failure=continue)" : "the job ends";
}

/* A rank has ended. Returns true if that is a failure. */
static bool judge(struct nof_job *job, const struct nof_rank *rank, int status)
{
    enum nof_pmi_phase phase = nof_pmi_phase(job->pmi, rank->rank);
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

    if (code == 0 && phase != NOF_PMI_INITIALIZED)
        return false;
    /* What dies after the end was announced dies of it; the user's signal gets the code it led to. */
    if (job->ending) {
        if (job->told_by_user != 0 && job->exit_code == 0)
            job->exit_code = code != 0 ? code : 1;
        return true;
    }
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s: rank %u (host %u, pid %d) was killed by signal %d (%s): %s\n", job->self,
                rank->rank, rank->host, rank->pid, WTERMSIG(status), strsignal(WTERMSIG(status)),
                consequence(job));
    else if (phase == NOF_PMI_INITIALIZED)
        fprintf(stderr, "%s: rank %u (host %u, pid %d) left with exit code %d and without MPI_Finalize: %s\n",
                job->self, rank->rank, rank->host, rank->pid, code, consequence(job));
    else if (phase == NOF_PMI_NEW)
        fprintf(stderr, "%s: rank %u (host %u, pid %d) failed with exit code %d: %s\n", job->self, rank->rank,
                rank->host, rank->pid, code, consequence(job));
    if (job->exit_code == 0)
        job->exit_code = code != 0 ? code : 1;
    return phase != NOF_PMI_FINALIZED || WIFSIGNALED(status);
}

static void read_pmi(struct nof_job *job, struct nof_rank *rank);

static void reap_rank(struct nof_job *job, struct nof_rank *rank)
{
    int status = 0;
    bool failed;

    /* What it said last (finalize, abort) is still in its socket. */
    job->reaping = true;
    read_pmi(job, rank);
    job->reaping = false;
    /* Its own children are in its group, and the group is its own until it is reaped. */
    kill(-rank->pid, SIGKILL);
    nof_guard_remove(&job->guard, rank->pid);
    waitpid(rank->pid, &status, 0);
    job->initialized |= nof_pmi_phase(job->pmi, rank->rank) != NOF_PMI_NEW;
    failed = judge(job, rank, status);
    rank->pid = 0;
    job->alive--;
    close_pmi(rank);
    nof_pmi_gone(job->pmi, rank->rank);
    if (failed && !job->keep_going && !job->ending)
        end_job(job, job->exit_code);
    if (job->alive == 0)
        job->drain_until_ns = nof_job_now_ns() + DRAIN_NS;
}

static void reap_daemon(struct nof_job *job, int code, int status)
{
    char how[96];

    nof_guard_remove(&job->guard, job->daemon);
    waitpid(job->daemon, NULL, 0);
    if (code == CLD_EXITED && status == 0) {
        /* Its last endpoint closed: the ranks are through MPI_Finalize, though not yet reaped. */
        job->daemon = 0;
        return;
    }
    if (code == CLD_EXITED)
        snprintf(how, sizeof(how), "ended with exit code %d", status);
    else
        snprintf(how, sizeof(how), "was killed by signal %d (%s)", status, strsignal(status));
    if (!job->ending)
        fprintf(stderr, "%s: the daemon nofd (pid %d) %s: its NICs are gone, the job ends\n", job->self,
                job->daemon, how);
    job->daemon = 0;
    end_job(job, NOF_JOB_EXIT_OWN);
}

static struct nof_rank *rank_of(const struct nof_job *job, pid_t pid)
{
    for (unsigned i = 0; i < job->ranks; i++)
        if (job->rank[i].pid == pid)
            return &job->rank[i];
    return NULL;
}

/* All that are dead now, the daemon before its victims, then those that a signal killed: the others may
 * have died of them. */
static void reap_all(struct nof_job *job)
{
    siginfo_t info = {0};

    if (job->daemon > 0 && waitid(P_PID, (id_t)job->daemon, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == job->daemon)
        reap_daemon(job, info.si_code, info.si_status);
    for (int pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < job->ranks; i++) {
            pid_t pid = job->rank[i].pid;

            info.si_pid = 0;
            if (pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                info.si_pid == pid && (pass == 1 || info.si_code != CLD_EXITED))
                reap_rank(job, rank_of(job, pid));
        }
    }
}

static void pmi_reply(void *ctx, unsigned rank, const char *line, size_t len)
{
    struct nof_job *job = ctx;
    int fd = job->rank[rank].pmi_fd;

    /* A rank reads its answers before it asks again: what does not fit the socket is not read by intent. */
    if (fd >= 0 && send(fd, line, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len)
        shutdown(fd, SHUT_RDWR);
}

static void pmi_abort(void *ctx, unsigned rank, int exit_code, bool called)
{
    struct nof_job *job = ctx;
    const struct nof_rank *r = &job->rank[rank];

    /* Its error may be the echo of a death that we have not looked at yet: that one's sentence says more. */
    if (!job->ending && !job->reaping)
        reap_all(job);
    if (job->ending)
        return;
    fprintf(stderr, "%s: rank %u (host %u, pid %d) %s with code %d: the job ends\n", job->self, rank, r->host,
            r->pid, called ? "called MPI_Abort" : "ended by the error it told of", exit_code);
    end_job(job, (exit_code & 255) != 0 ? exit_code & 255 : 1);
}

static void read_pmi(struct nof_job *job, struct nof_rank *rank)
{
    char bytes[4096];
    ssize_t n;

    while (rank->pmi_fd >= 0 && (n = recv(rank->pmi_fd, bytes, sizeof(bytes), MSG_DONTWAIT)) != 0) {
        if (n < 0)
            return;
        if (nof_pmi_feed(job->pmi, rank->rank, bytes, (size_t)n) == NOF_OK)
            continue;
        fprintf(stderr, "%s: rank %u (host %u, pid %d) broke the launch protocol (%s) and is stopped\n",
                job->self, rank->rank, rank->host, rank->pid, nof_pmi_error(job->pmi));
        close_pmi(rank);
        kill(-rank->pid, SIGKILL);
    }
    close_pmi(rank);
    if (!job->reaping && nof_pmi_phase(job->pmi, rank->rank) == NOF_PMI_INITIALIZED)
        rank->gone_at_ns = nof_job_now_ns() + GONE_NS;
}

/* Those that have hung up in the midst of MPI and have not ended: nobody else would end the job. Returns when to look again. */
static uint64_t stop_gone(struct nof_job *job, uint64_t now)
{
    uint64_t next = UINT64_MAX;

    for (unsigned i = 0; i < job->ranks; i++) {
        struct nof_rank *rank = &job->rank[i];

        if (rank->pid == 0 || rank->gone_at_ns == 0 || job->ending)
            continue;
        if (now < rank->gone_at_ns) {
            next = earlier(next, rank->gone_at_ns);
            continue;
        }
        rank->gone_at_ns = 0;
        reap_all(job); /* who has ended meanwhile has a sentence that says more */
        if (rank->pid == 0 || job->ending)
            continue;
        fprintf(
            stderr,
            "%s: rank %u (host %u, pid %d) has left MPI without MPI_Finalize, but its process goes on, by "
            "exec of another program or with its descriptors closed: %s\n",
            job->self, rank->rank, rank->host, rank->pid, consequence(job));
        if (job->keep_going)
            kill(-rank->pid, SIGKILL);
        else
            end_job(job, 1);
    }
    return next;
}

/* Whether rank i's process has a handler for this signal: one without dies of it, though it was only asked of us. */
static bool handles(pid_t pid, int sig)
{
    char path[32], line[256];
    unsigned long long mask = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "SigCgt: %llx", &mask) == 1)
            break;
    if (f != NULL)
        fclose(f);
    return (mask >> (sig - 1) & 1) != 0;
}

static void report_to_user(struct nof_job *job)
{
    nof_hang_report(job);
    for (unsigned i = 0; i < job->ranks; i++)
        if (job->rank[i].pid > 0 && handles(job->rank[i].pid, SIGUSR1))
            kill(-job->rank[i].pid, SIGUSR1);
}

/* The user's signals go to the ranks; those that end a program end this one once the ranks have gone. */
static void take_signal(struct nof_job *job, int sig)
{
    switch (sig) {
    case SIGCHLD:
        break;
    case SIGTSTP:
        signal_ranks(job, SIGSTOP);
        kill(getpid(), SIGSTOP);
        break;
    case SIGUSR1:
        report_to_user(job);
        break;
    case SIGCONT:
    case SIGUSR2:
        signal_ranks(job, sig);
        break;
    default:
        if (job->told_by_user != 0) { /* the second time: at once */
            signal_ranks(job, SIGKILL);
            break;
        }
        if (sig == SIGQUIT)
            nof_hang_report(job);
        job->told_by_user = sig;
        job->ending = true;
        signal_ranks(job, sig);
        signal_ranks(job, SIGCONT);
        job->kill_at_ns = nof_job_now_ns() + USER_GRACE_NS;
        break;
    }
}

static void read_signals(struct nof_job *job)
{
    struct signalfd_siginfo info;

    while (read(job->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        take_signal(job, (int)info.ssi_signo);
}

/* One that does not read its input is not waited for. */
static bool takes_input(const struct nof_job *job)
{
    struct pollfd pipe = {.fd = job->stdin_pipe, .events = POLLOUT};

    return poll(&pipe, 1, 0) > 0;
}

static void pump_stdin(struct nof_job *job)
{
    char bytes[PIPE_BUF]; /* what takes_input() has found room for */
    ssize_t n = read(0, bytes, sizeof(bytes));

    if (n < 0 && errno == EINTR)
        return;
    if (n > 0 && write(job->stdin_pipe, bytes, (size_t)n) == n)
        return;
    close(job->stdin_pipe);
    job->stdin_pipe = -1;
}

enum { AT_SIGNALS, AT_STDIN, AT_OUT, AT_ERR, AT_RANKS };

static void want(struct pollfd *p, int fd, short events)
{
    p->fd = fd;
    p->events = events;
    p->revents = 0;
}

static nfds_t fill_polls(const struct nof_job *job, struct pollfd *p)
{
    bool typed = job->stdin_pipe >= 0 && tcgetpgrp(0) == getpgrp();
    bool taken = typed && takes_input(job);

    want(&p[AT_SIGNALS], job->signals, POLLIN);
    want(&p[AT_STDIN], !typed ? -1 : taken ? 0 : job->stdin_pipe, taken ? POLLIN : POLLOUT);
    want(&p[AT_OUT], job->out.fill > 0 ? job->out.fd : -1, POLLOUT);
    want(&p[AT_ERR], job->err.fill > 0 ? job->err.fd : -1, POLLOUT);
    for (unsigned i = 0; i < job->started; i++) {
        const struct nof_rank *r = &job->rank[i];

        want(&p[AT_RANKS + 3 * i], r->pmi_fd, POLLIN);
        want(&p[AT_RANKS + 3 * i + 1], nof_sink_full(&job->out) ? -1 : r->out.fd, POLLIN);
        want(&p[AT_RANKS + 3 * i + 2], nof_sink_full(&job->err) ? -1 : r->err.fd, POLLIN);
    }
    /* No more: poll() refuses a longer list than there may be descriptors. */
    return AT_RANKS + 3 * (nfds_t)job->started;
}

static void time_out(struct nof_job *job)
{
    if (job->ending || job->alive == 0)
        return;
    fprintf(stderr, "%s: the job has not ended after %.3g s (--timeout) and is stopped\n", job->self,
            (double)job->timeout_ns / 1e9);
    nof_hang_report(job);
    end_job(job, NOF_JOB_EXIT_TIMEOUT);
}

/* Ranks that have not obeyed the user's signal: they catch it, or wait for what does not come. */
static void tell_deaf(const struct nof_job *job)
{
    const struct nof_rank *first = NULL;
    unsigned n = 0;

    for (unsigned i = 0; i < job->ranks; i++)
        if (job->rank[i].pid > 0 && n++ == 0)
            first = &job->rank[i];
    if (job->told_by_user == 0 || first == NULL)
        return;
    fprintf(stderr, "%s: rank %u (host %u, pid %d)", job->self, first->rank, first->host, first->pid);
    if (n > 1)
        fprintf(stderr, " and %u more", n - 1);
    fprintf(stderr, " still run%s %u s after signal %d (%s) and %s killed\n", n > 1 ? "" : "s",
            (unsigned)(USER_GRACE_NS / 1000000000u), job->told_by_user, strsignal(job->told_by_user),
            n > 1 ? "are" : "is");
}

/* Timers; returns how long poll() may sleep, in ms, -1: for ever. */
static int run_timers(struct nof_job *job)
{
    uint64_t now = nof_job_now_ns();
    uint64_t next = UINT64_MAX;

    if (now >= job->kill_at_ns) {
        tell_deaf(job);
        signal_ranks(job, SIGKILL);
        job->kill_at_ns = UINT64_MAX;
    }
    if (now >= job->timeout_at_ns) {
        job->timeout_at_ns = UINT64_MAX;
        time_out(job);
    }
    next = earlier(next, job->timeout_at_ns);
    next = earlier(next, job->kill_at_ns);
    next = earlier(next, stop_gone(job, now));
    for (unsigned i = 0; i < job->ranks; i++) {
        next = earlier(next, nof_stream_expire(&job->rank[i].out, now));
        next = earlier(next, nof_stream_expire(&job->rank[i].err, now));
    }
    next = earlier(next, nof_starting_look(&job->starting, job, job->ranks, now));
    if (job->alive == 0)
        next = earlier(next, job->drain_until_ns);
    if (next == UINT64_MAX)
        return -1;
    return next <= now ? 0 : (int)((next - now) / 1000000u) + 1;
}

/* Output first: what a rank printed before it died stands before the sentence about its death. */
static void serve(struct nof_job *job, const struct pollfd *p)
{
    uint64_t now = nof_job_now_ns();

    for (unsigned i = 0; i < job->ranks; i++) {
        if (p[AT_RANKS + 3 * i + 1].revents != 0)
            nof_stream_read(&job->rank[i].out, now);
        if (p[AT_RANKS + 3 * i + 2].revents != 0)
            nof_stream_read(&job->rank[i].err, now);
    }
    nof_sink_flush(&job->out);
    nof_sink_flush(&job->err);
    if (p[AT_SIGNALS].revents != 0)
        read_signals(job);
    reap_all(job);
    for (unsigned i = 0; i < job->ranks; i++)
        if (p[AT_RANKS + 3 * i].revents != 0)
            read_pmi(job, &job->rank[i]);
    if (p[AT_STDIN].fd == 0 && p[AT_STDIN].revents != 0)
        pump_stdin(job);
}

static bool output_ended(const struct nof_job *job)
{
    for (unsigned i = 0; i < job->ranks; i++)
        if (job->rank[i].out.fd >= 0 || job->rank[i].err.fd >= 0)
            return false;
    return true;
}

static void loop(struct nof_job *job, struct pollfd *p)
{
    while (job->alive > 0 || (!output_ended(job) && nof_job_now_ns() < job->drain_until_ns)) {
        int timeout_ms = run_timers(job);
        nfds_t n = fill_polls(job, p);

        if (poll(p, n, timeout_ms) < 0)
            continue;
        serve(job, p);
    }
    for (unsigned i = 0; i < job->ranks; i++) {
        nof_stream_close(&job->rank[i].out);
        nof_stream_close(&job->rank[i].err);
    }
    /* Ours to wait for now: everything is said. */
    while (!nof_sink_flush(&job->out) || !nof_sink_flush(&job->err)) {
        fill_polls(job, p);
        poll(&p[AT_OUT], 2, -1);
    }
}

/* What the ranks printed is lost, and they have ended well: that is no success. A reader that left knows it. */
static void tell_lost_output(struct nof_job *job)
{
    int error = job->out.broken ? job->out.error : 0;

    if (error == 0 || error == EPIPE)
        return;
    fprintf(stderr, "%s: output of the ranks is lost: it cannot be written: %s\n", job->self,
            strerror(error));
    if (job->exit_code == 0)
        job->exit_code = NOF_JOB_EXIT_OWN;
}

static int start_ranks(struct nof_job *job)
{
    for (unsigned i = 0; i < job->ranks; i++) {
        int code = nof_rank_start(job, i);

        (void)nof_starting_look(&job->starting, job, i, nof_job_now_ns());
        if (code != 0)
            return code;
    }
    return 0;
}

int nof_job_run(struct nof_job *job)
{
    static const struct nof_pmi_ops ops = {.reply = pmi_reply, .abort = pmi_abort};
    struct pollfd *polls = calloc(AT_RANKS + 3 * (size_t)job->ranks, sizeof(*polls));
    int code = NOF_JOB_EXIT_OWN;

    job->rank = calloc(job->ranks, sizeof(*job->rank));
    job->pmi = nof_pmi_new(job->ranks, job->hosts, job->id, &ops, job);
    if (polls == NULL || job->rank == NULL || job->pmi == NULL) {
        fprintf(stderr, "%s: no memory for %u ranks\n", job->self, job->ranks);
        goto out;
    }
    job->out.fd = 1;
    job->err.fd = 2;
    job->stdin_pipe = -1;
    job->kill_at_ns = UINT64_MAX;
    job->timeout_at_ns = job->timeout_ns == 0 ? UINT64_MAX : nof_job_now_ns() + job->timeout_ns;
    nof_hang_open(job);
    for (unsigned i = 0; i < job->ranks; i++)
        job->rank[i] = (struct nof_rank){.rank = i,
                                         .host = nof_pmi_host_of(i, job->ranks, job->hosts),
                                         .pmi_fd = -1,
                                         .out.fd = -1,
                                         .err.fd = -1};
    nof_starting_begin(&job->starting, nof_job_now_ns());
    code = start_ranks(job);
    if (code != 0)
        end_job(job, code);
    loop(job, polls);
    tell_lost_output(job);
    code = job->exit_code;
    if (job->told_by_user == 0)
        nof_needed_tell(job->argv[0], job->self, code == 0 && !job->initialized);
out:
    nof_hang_count(job);
    nof_hang_close(job);
    nof_sink_close(&job->out);
    nof_sink_close(&job->err);
    nof_pmi_delete(job->pmi);
    free(job->rank);
    free(polls);
    return code;
}
