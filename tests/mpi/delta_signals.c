/* SPDX-License-Identifier: BSD-3-Clause */
/* NOF_DELTA=os beside a program that handles SIGSEGV itself, from before, or from the midst of a message on, in every way that
 * sigaction() knows; and beside threads and handlers that block all signals. What it sets it reads back, what is its own fault it
 * gets, and messages stay whole. */
#include "mpi_offload.h"

#include "mpitest.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 64, BYTES = PAGES * PAGE, TAG = 5 };

static unsigned char *out, *in;
static int other;
static MPI_Request req;

static unsigned char *page; /* of the program's own, that cannot be written */
static volatile sig_atomic_t faults;
static sigjmp_buf back;
static char stack[1 << 16];
static volatile sig_atomic_t on_stack;

static void leave(int number)
{
    char here;
    (void)number;
    faults++;
    on_stack = (uintptr_t)&here >= (uintptr_t)stack && (uintptr_t)&here < (uintptr_t)stack + sizeof(stack);
    siglongjmp(back, 1);
}

static void leave_info(int number, siginfo_t *info, void *context)
{
    CHECK(context != NULL && info->si_signo == number && info->si_addr == page &&
          info->si_code == SEGV_ACCERR);
    leave(number);
}

static void repair(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    CHECK(info->si_addr == page && mprotect(page, PAGE, PROT_READ | PROT_WRITE) == 0);
    faults++;
}

static void own_fault(void)
{
    int was = faults;
    CHECK(mprotect(page, PAGE, PROT_READ) == 0);
    if (sigsetjmp(back, 1) == 0)
        *(volatile unsigned char *)page = 1;
    CHECK(faults == was + 1);
}

static void set(const struct sigaction *wanted)
{
    struct sigaction found;
    CHECK(sigaction(SIGSEGV, wanted, NULL) == 0 && sigaction(SIGSEGV, NULL, &found) == 0);
    CHECK(found.sa_sigaction == wanted->sa_sigaction && (found.sa_flags & ~0x4000000) == wanted->sa_flags);
    CHECK(sigismember(&found.sa_mask, SIGUSR2) == sigismember(&wanted->sa_mask, SIGUSR2));
}

static void by_signal(void)
{
    CHECK(signal(SIGSEGV, leave) != SIG_ERR && signal(SIGSEGV, leave) == leave);
    own_fault();
    CHECK(signal(SIGSEGV, SIG_ERR) == SIG_ERR && signal(SIGSEGV, leave) == leave);
}

static void with_info(void)
{
    struct sigaction act = {.sa_sigaction = leave_info, .sa_flags = SA_SIGINFO};
    sigaddset(&act.sa_mask, SIGUSR2);
    set(&act);
    own_fault();
}

static void on_its_stack(void)
{
    const stack_t there = {.ss_sp = stack, .ss_size = sizeof(stack)}, none = {.ss_flags = SS_DISABLE};
    CHECK(sigaltstack(&there, NULL) == 0);
    set(&(struct sigaction){.sa_handler = leave, .sa_flags = SA_ONSTACK});
    own_fault();
    CHECK(on_stack);
    set(&(struct sigaction){.sa_handler = leave, .sa_flags = SA_NODEFER});
    own_fault();
    CHECK(!on_stack && sigaltstack(&none, NULL) == 0);
}

static void once(void)
{
    struct sigaction found;
    set(&(struct sigaction){.sa_handler = leave, .sa_flags = (int)SA_RESETHAND});
    own_fault();
    CHECK(sigaction(SIGSEGV, NULL, &found) == 0 && found.sa_handler == SIG_DFL);
}

static void ignored(void)
{
    set(&(struct sigaction){.sa_handler = SIG_IGN});
    CHECK(raise(SIGSEGV) == 0);
}

static void repairing(void)
{
    set(&(struct sigaction){.sa_sigaction = repair, .sa_flags = SA_SIGINFO});
    own_fault();
    CHECK(*page == 1);
}

/* The half of the message that is left. */
static void touch(size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (t_rank == 0)
            out[i] = t_byte(1, i);
        else
            CHECK(in[i] == t_byte(1, i));
    }
}

static void *blocked(void *arg)
{
    sigset_t all, was;
    (void)arg;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0 && pthread_sigmask(SIG_BLOCK, NULL, &was) == 0);
    CHECK(sigismember(&was, SIGSEGV) == 1 && sigismember(&was, SIGBUS) == 1 &&
          sigismember(&was, SIGUSR2) == 1);
    touch(BYTES / 2, BYTES / 2 + BYTES / 4);
    CHECK(sigprocmask(SIG_UNBLOCK, &all, &was) == 0 && sigismember(&was, SIGSEGV) == 1);
    CHECK(sigprocmask(SIG_BLOCK, NULL, &was) == 0 && sigismember(&was, SIGSEGV) == 0);
    return NULL;
}

static void in_blocked_thread(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, blocked, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static void touch_in_handler(int number)
{
    (void)number;
    touch(BYTES / 2, BYTES / 2 + BYTES / 4);
}

static void in_blocked_handler(void)
{
    struct sigaction act = {.sa_handler = touch_in_handler}, found;
    sigfillset(&act.sa_mask);
    CHECK(sigaction(SIGUSR1, &act, NULL) == 0 && sigaction(SIGUSR1, NULL, &found) == 0);
    CHECK(sigismember(&found.sa_mask, SIGSEGV) == 1 && found.sa_handler == touch_in_handler);
    CHECK(raise(SIGUSR1) == 0);
}

static void message(void (*meanwhile)(void), size_t touched)
{
    if (t_rank == 0) {
        OK(MPIX_Delta_send_begin(out, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &req));
    } else {
        memset(in, 0xee, BYTES);
        OK(MPIX_Delta_recv(in, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    touch(0, BYTES / 2);
    meanwhile();
    touch(BYTES / 2 + touched, BYTES);
    if (t_rank == 0)
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    else
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    struct sigaction found;
    t_begin(&argc, &argv, 2);
    t_errors_return();
    other = t_rank ^ 1;
    out = mmap(NULL, 2 * BYTES + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(out != MAP_FAILED);
    in = out + BYTES;
    page = in + BYTES + PAGE;
    message(by_signal, 0); /* what is set first is set in the midst of one */
    message(with_info, 0);
    message(on_its_stack, 0);
    message(once, 0);
    message(ignored, 0);
    message(repairing, 0);
    message(in_blocked_thread, BYTES / 4);
    message(in_blocked_handler, BYTES / 4);
    with_info();
    CHECK(sigaction(SIGSEGV, NULL, &found) == 0 && found.sa_sigaction == leave_info);
    return t_end();
}
