/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_signal.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "delta/delta_hold.h"

#define EXPORT __attribute__((visibility("default")))
#define LAST_SIGNAL 64

typedef int sigaction_call(int number, const struct sigaction *act, struct sigaction *old);
typedef int sigmask_call(int how, const sigset_t *set, sigset_t *old);

static const int watched[] = {SIGSEGV, SIGBUS};
enum { WATCHED = sizeof(watched) / sizeof(watched[0]) };

static sigaction_call *real_sigaction;
static void (*(*real_signal)(int number, void (*handler)(int)))(int);
static sigmask_call *real_sigprocmask, *real_pthread_sigmask;
static bool unmasked; /* those of `watched` are kept out of all masks */

/* Under the lock of delta_hold.h. */
static struct {
    nof_delta_signal_handler *handler; /* NULL: the program's is in the kernel */
    struct sigaction program;
} state[WATCHED];

/* What the program thinks is blocked; bit i: watched[i]. */
static unsigned char handler_blocks[LAST_SIGNAL + 1]; /* while a handler runs; atomic */
static __thread unsigned char blocked __attribute__((tls_model("initial-exec")));

/* libc's, and where that is looked up before this library, whosoever is the first. */
static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    return found != NULL ? found : dlsym(RTLD_DEFAULT, name);
}

/* Others' constructors may call before ours has run. */
static void find_real(void)
{
    if (real_sigaction != NULL)
        return;
    *(void **)&real_signal = next("signal");
    *(void **)&real_sigprocmask = next("sigprocmask");
    *(void **)&real_pthread_sigmask = next("pthread_sigmask");
    *(void **)&real_sigaction = next("sigaction");
}

__attribute__((constructor)) static void begin(void)
{
    const char *trigger = getenv("NOF_DELTA"); /* a sanitizer comes before there is an environment */
    unmasked = trigger != NULL && (strcmp(trigger, "os") == 0 || strcmp(trigger, "auto") == 0);
    find_real();
}

static int index_of(int number)
{
    for (int i = 0; i < WATCHED; i++)
        if (watched[i] == number)
            return i;
    return -1;
}

/* Takes them out of *set; which were in it. */
static unsigned char take_out(sigset_t *set)
{
    unsigned char found = 0;
    for (int i = 0; unmasked && i < WATCHED; i++) {
        if (sigismember(set, watched[i]) == 1)
            found |= (unsigned char)(1u << i);
        sigdelset(set, watched[i]);
    }
    return found;
}

static void put_in(sigset_t *set, unsigned char found)
{
    for (int i = 0; i < WATCHED; i++)
        if ((found >> i & 1) != 0)
            sigaddset(set, watched[i]);
}

/* In the kernel, with a mask that lets ours through. */
static int set_real(int number, const struct sigaction *act, struct sigaction *old)
{
    struct sigaction wanted, was;
    unsigned char out = 0;
    if (act != NULL) {
        wanted = *act;
        out = take_out(&wanted.sa_mask);
    }
    int rc = real_sigaction(number, act == NULL ? NULL : &wanted, &was);
    if (rc != 0 || number < 1 || number > LAST_SIGNAL)
        return rc;
    unsigned char had = __atomic_load_n(&handler_blocks[number], __ATOMIC_RELAXED);
    if (act != NULL)
        __atomic_store_n(&handler_blocks[number], out, __ATOMIC_RELAXED);
    if (old != NULL) {
        put_in(&was.sa_mask, had);
        *old = was;
    }
    return 0;
}

static bool has_handler(const struct sigaction *act)
{
    return (act->sa_flags & SA_SIGINFO) != 0 || (act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN);
}

/* Ours, on the stack and with the restarts that the program's would have. It begins with all signals blocked, and opens them before
 * it waits or calls the program's: faults nest there. */
static int install(int i)
{
    const struct sigaction *program = &state[i].program;
    int flags =
        has_handler(program) ? program->sa_flags & (SA_ONSTACK | SA_RESTART) : SA_ONSTACK | SA_RESTART;
    struct sigaction ours = {.sa_sigaction = state[i].handler, .sa_flags = SA_SIGINFO | flags};
    sigfillset(&ours.sa_mask);
    return real_sigaction(watched[i], &ours, NULL);
}

bool nof_delta_signal_take(int number, nof_delta_signal_handler *handler)
{
    struct sigaction now;
    sigset_t before;
    int i = index_of(number);
    find_real();
    if (i < 0 || real_sigaction == NULL || set_real(number, NULL, &now) != 0)
        return false;
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handler)
        return true;
    nof_delta_hold(&before);
    state[i].program = now;
    state[i].handler = handler;
    bool taken = install(i) == 0;
    if (!taken)
        state[i].handler = NULL;
    nof_delta_let_go(&before);
    return taken;
}

EXPORT sigaction_call sigaction;
int sigaction(int number, const struct sigaction *act, struct sigaction *old)
{
    struct sigaction wanted, was;
    sigset_t before;
    int i = index_of(number), rc = 0;
    find_real();
    if (i < 0 || __atomic_load_n(&state[i].handler, __ATOMIC_RELAXED) == NULL)
        return set_real(number, act, old);
    if (act != NULL)
        wanted = *act; /* may fault: it is the program's */
    nof_delta_hold(&before);
    was = state[i].program;
    if (act != NULL) {
        state[i].program = wanted;
        rc = install(i);
    }
    nof_delta_let_go(&before);
    if (old != NULL)
        *old = was;
    return rc;
}

/* signal() and its names: BSD's semantics, or System V's. */
static void (*set_handler(int number, void (*handler)(int), int flags))(int)
{
    struct sigaction act = {.sa_handler = handler, .sa_flags = flags}, old;
    if (handler == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    return sigaction(number, &act, &old) != 0 ? SIG_ERR : old.sa_handler;
}

typedef void (*signal_call(int number, void (*handler)(int)))(int);
EXPORT signal_call signal, bsd_signal, ssignal, sysv_signal, __sysv_signal;

void (*signal(int number, void (*handler)(int)))(int)
{
    find_real();
    return index_of(number) < 0 ? real_signal(number, handler) : set_handler(number, handler, SA_RESTART);
}

void (*bsd_signal(int number, void (*handler)(int)))(int)
{
    return signal(number, handler);
}

void (*ssignal(int number, void (*handler)(int)))(int)
{
    return signal(number, handler);
}

void (*__sysv_signal(int number, void (*handler)(int)))(int)
{
    return set_handler(number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

void (*sysv_signal(int number, void (*handler)(int)))(int)
{
    return __sysv_signal(number, handler);
}

/* `blocked` after `how` with these. */
static unsigned char blocked_after(int how, unsigned char these)
{
    return how == SIG_BLOCK ? blocked | these : how == SIG_UNBLOCK ? blocked & (unsigned char)~these : these;
}

static int set_mask(sigmask_call *real, int how, const sigset_t *set, sigset_t *old)
{
    sigset_t wanted, was;
    unsigned char these = 0, had = blocked;
    if (set != NULL) {
        wanted = *set;
        these = take_out(&wanted);
    }
    int rc = real(how, set == NULL ? NULL : &wanted, &was);
    if (rc != 0)
        return rc;
    if (set != NULL && unmasked)
        blocked = blocked_after(how, these);
    if (old != NULL) {
        put_in(&was, had);
        *old = was;
    }
    return 0;
}

EXPORT sigmask_call sigprocmask, pthread_sigmask;

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    find_real();
    return set_mask(real_sigprocmask, how, set, old);
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    find_real();
    return set_mask(real_pthread_sigmask, how, set, old);
}

/* By the same fault once more; what was sent is sent again. */
static void by_default(int number, const siginfo_t *info)
{
    (void)real_sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    if (info->si_code <= 0)
        (void)raise(number);
}

/* As the kernel would call it, with its mask but for those that we need. What was blocked before, the end of our handler blocks. */
static void call(const struct sigaction *program, int number, siginfo_t *info, void *context)
{
    sigset_t mask = program->sa_mask;
    for (int i = 0; i < WATCHED; i++)
        sigdelset(&mask, watched[i]);
    nof_delta_hold_open(&mask);
    if ((program->sa_flags & SA_SIGINFO) != 0)
        program->sa_sigaction(number, info, context);
    else
        program->sa_handler(number);
}

void nof_delta_signal_pass_on(int number, siginfo_t *info, void *context)
{
    sigset_t before;
    int i = index_of(number);
    nof_delta_hold(&before);
    struct sigaction program = state[i].program;
    if ((program.sa_flags & (int)SA_RESETHAND) != 0)
        state[i].program = (struct sigaction){.sa_handler = SIG_DFL};
    nof_delta_let_go(&before);
    if (has_handler(&program))
        call(&program, number, info, context);
    else if (program.sa_handler == SIG_DFL || info->si_code > 0)
        by_default(number, info);
}
