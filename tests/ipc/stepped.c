/* SPDX-License-Identifier: BSD-3-Clause */
#include "stepped.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

#define CODE_BYTES 15 /* of the longest instruction */
#define TOO_SHORT 70 /* exit code */

#if STEPPED_WORKS
#include <sys/user.h>

enum stop { AT_MARK, STEPPED, ENDED };

struct child {
    pid_t pid;
    int status; /* of waitpid(), once it has ENDED */
};

/* How: PTRACE_CONT or PTRACE_SINGLESTEP. Signals that are not ours are the program's. */
static enum stop go_on(struct child *c, enum __ptrace_request how)
{
    siginfo_t info;
    int sig = 0;

    do {
        check(ptrace(how, c->pid, NULL, (void *)(long)(sig == SIGSTOP ? 0 : sig)) == 0);
        while (waitpid(c->pid, &c->status, 0) < 0)
            check(errno == EINTR);
        if (!WIFSTOPPED(c->status))
            return ENDED;
        sig = WSTOPSIG(c->status);
    } while (sig != SIGTRAP);
    check(ptrace(PTRACE_GETSIGINFO, c->pid, NULL, &info) == 0);
    return info.si_code == SI_KERNEL ? AT_MARK : STEPPED; /* int3 against a step, or an exec */
}

/* Lets it run to its next mark, or its end. */
static enum stop run(struct child *c)
{
    enum stop stop;

    do {
        stop = go_on(c, PTRACE_CONT);
    } while (stop == STEPPED);
    return stop;
}

static enum stop step(struct child *c)
{
    return go_on(c, PTRACE_SINGLESTEP);
}

static void traced(void)
{
    check(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
    check(raise(SIGSTOP) == 0);
}

/* Of a child that is traced(). */
static void take(struct child *c)
{
    int status;

    check(waitpid(c->pid, &status, 0) == c->pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    check(ptrace(PTRACE_SETOPTIONS, c->pid, NULL, (void *)(long)PTRACE_O_EXITKILL) == 0);
}

static struct child start(void (*victim)(void *arg), void *arg)
{
    struct child c = {.pid = fork()};

    check(c.pid >= 0);
    if (c.pid == 0) {
        traced();
        victim(arg);
        _exit(0);
    }
    take(&c);
    check(run(&c) == AT_MARK);
    return c;
}

static bool is_prefix(uint8_t byte)
{
    static const uint8_t prefixes[] = {0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65};

    return memchr(prefixes, byte, sizeof(prefixes)) != NULL;
}

static void count(const struct child *c, struct stepped_cost *cost)
{
    uint8_t code[CODE_BYTES + 1] = {0};
    struct user_regs_struct regs;
    struct iovec here = {.iov_base = code, .iov_len = CODE_BYTES};
    struct iovec there;
    const uint8_t *at = code;

    check(ptrace(PTRACE_GETREGS, c->pid, NULL, &regs) == 0);
    there =
        (struct iovec){.iov_base = (void *)(uintptr_t)regs.rip, .iov_len = CODE_BYTES}; // NOLINT: its address
    check(process_vm_readv(c->pid, &here, 1, &there, 1, 0) > 0);
    while (is_prefix(*at))
        at++;
    cost->instructions++;
    if (*at == 0xf0) {
        cost->locked++;
        return;
    }
    if ((*at & 0xf0) == 0x40) /* REX */
        at++;
    if ((at[0] == 0x86 || at[0] == 0x87) && at[1] < 0xc0)
        cost->locked++;
    cost->system_calls += at[0] == 0x0f && at[1] == 0x05;
    cost->fences += at[0] == 0x0f && at[1] == 0xae && at[2] >= 0xe8;
}

/* Its mark itself is no instruction of the piece. */
static bool at_mark(const struct child *c)
{
    struct user_regs_struct regs;

    check(ptrace(PTRACE_GETREGS, c->pid, NULL, &regs) == 0);
    errno = 0;
    return ((unsigned long)ptrace(PTRACE_PEEKTEXT, c->pid, (void *)(uintptr_t)regs.rip, NULL) & 0xff) ==
               0xcc && // NOLINT
           errno == 0;
}

void stepped_cost(void (*victim)(void *arg), void *arg, struct stepped_cost *cost_out)
{
    struct child c = start(victim, arg);

    *cost_out = (struct stepped_cost){0};
    while (!at_mark(&c)) {
        count(&c, cost_out);
        check(step(&c) == STEPPED);
    }
    check(run(&c) == AT_MARK);
    check(run(&c) == ENDED && WIFEXITED(c.status) && WEXITSTATUS(c.status) == 0);
}

static void kill_child(const struct child *c)
{
    int status;

    check(kill(c->pid, SIGKILL) == 0);
    check(waitpid(c->pid, &status, 0) == c->pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* k steps; false: the piece was over before. */
static bool go(struct child *c, uint64_t k)
{
    for (uint64_t i = 0; i < k; i++) {
        enum stop stop = step(c);

        if (stop == AT_MARK)
            return false;
        check(stop == STEPPED);
    }
    return true;
}

bool stepped_look_and_kill(void (*victim)(void *arg), void *arg, uint64_t k, void (*look)(void *arg))
{
    struct child c = start(victim, arg);

    if (go(&c, k)) {
        if (look != NULL)
            look(arg);
        kill_child(&c);
        return true;
    }
    check(run(&c) == ENDED && WIFEXITED(c.status) && WEXITSTATUS(c.status) == 0);
    return false;
}

/* As it has ended. */
static _Noreturn void end_like(const struct child *c)
{
    if (WIFEXITED(c->status))
        _exit(WEXITSTATUS(c->status));
    (void)signal(WTERMSIG(c->status), SIG_DFL);
    (void)raise(WTERMSIG(c->status));
    _exit(1);
}

void stepped_rank(uint64_t k)
{
    struct child c = {.pid = fork()};

    check(c.pid >= 0);
    if (c.pid == 0) {
        traced();
        return;
    }
    take(&c);
    if (run(&c) == ENDED)
        end_like(&c);
    if (!go(&c, k)) {
        kill_child(&c);
        _exit(TOO_SHORT);
    }
    kill_child(&c);
    c.status = SIGKILL; /* WTERMSIG() */
    end_like(&c);
}

static void nothing(void *arg)
{
    (void)arg;
    stepped_begin();
    stepped_end();
}

/* Asked of a process of its own: the first thing that is refused ends it. */
const char *stepped_why_not(void)
{
    int status;
    pid_t pid = fork();

    check(pid >= 0);
    if (pid == 0) {
        struct stepped_cost cost;
        (void)freopen("/dev/null", "w", stderr);
        stepped_cost(nothing, NULL, &cost);
        _exit(0);
    }
    check(waitpid(pid, &status, 0) == pid);
    return status == 0 ? NULL : "this kernel does not let a process trace its child step by step";
}

#else

const char *stepped_why_not(void)
{
    return "single-stepping is known here for Linux on x86-64 alone";
}

void stepped_cost(void (*victim)(void *arg), void *arg, struct stepped_cost *cost_out)
{
    (void)victim;
    (void)arg;
    (void)cost_out;
    abort();
}

bool stepped_look_and_kill(void (*victim)(void *arg), void *arg, uint64_t k, void (*look)(void *arg))
{
    (void)victim;
    (void)arg;
    (void)k;
    (void)look;
    abort();
}

void stepped_rank(uint64_t k)
{
    (void)k;
    abort();
}

#endif

bool stepped_kill(void (*victim)(void *arg), void *arg, uint64_t k)
{
    return stepped_look_and_kill(victim, arg, k, NULL);
}
