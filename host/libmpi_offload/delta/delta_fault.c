/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#include "delta/delta_count.h"
#include "delta/delta_hold.h"
#include "delta/delta_pages.h"
#include "delta/delta_signal.h"
#include "delta/delta_watch.h"
#include "delta/delta_way.h"

#define TRIES 3u

/* Where the C library's code lies: by a function of it that no one before it, as a sanitizer, has under the same name. */
static uintptr_t libc_low, libc_high;

static int find_libc(struct dl_phdr_info *object, size_t bytes, void *arg)
{
    uintptr_t inside = *(const uintptr_t *)arg, low = UINTPTR_MAX, high = 0;
    (void)bytes;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
            continue;
        uintptr_t at = (uintptr_t)object->dlpi_addr + part->p_vaddr;
        low = at < low ? at : low;
        high = at + part->p_memsz > high ? at + part->p_memsz : high;
    }
    if (inside < low || inside >= high)
        return 0;
    libc_low = low;
    libc_high = high;
    return 1;
}

/* The instruction that faulted; functions that fill a range (memcpy and its like) keep its address where they return it. 0: nobody
 * knows. */
static void registers(const void *context, uintptr_t *at_out, uintptr_t *into_out)
{
    const ucontext_t *of = context;
#if defined(__x86_64__)
    *at_out = (uintptr_t)of->uc_mcontext.gregs[REG_RIP];
    *into_out = (uintptr_t)of->uc_mcontext.gregs[REG_RAX];
#elif defined(__aarch64__)
    *at_out = (uintptr_t)of->uc_mcontext.pc;
    *into_out = (uintptr_t)of->uc_mcontext.regs[0];
#else
    (void)of;
    *at_out = *into_out = 0;
#endif
}

/* An access that is allowed meanwhile was another thread's fault, too, or of a message that has ended before the handler looked. What
 * lies there cannot be seen of SIGBUS: whether trying again helps is found out, anew when a message has ended since. */
static bool allowed(int number, uintptr_t address)
{
    static __thread uintptr_t tried __attribute__((tls_model("initial-exec")));
    static __thread unsigned tries __attribute__((tls_model("initial-exec")));
    static __thread uint32_t ends __attribute__((tls_model("initial-exec")));
    uint32_t ends_now = nof_delta_watch_ends();
    if (number == SIGSEGV)
        return nof_delta_pages_usable(address);
    tries = tried == address && ends == ends_now ? tries + 1 : 0;
    tried = address;
    ends = ends_now;
    return tries < TRIES && nof_delta_pages_own(address);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    nof_delta_hold_enter(&((const ucontext_t *)context)->uc_sigmask);
    uintptr_t address = (uintptr_t)info->si_addr;
    uintptr_t at, into;
    registers(context, &at, &into);
    const struct nof_delta_access access = {
        .address = address, .by_libc = at == 0 || (at >= libc_low && at < libc_high), .into = into};
    /* Where it is the instruction itself, the program runs what is no code. */
    bool by_page = info->si_code == (number == SIGSEGV ? SEGV_ACCERR : BUS_ADRERR) && at != address;
    bool again = by_page &&
                 (nof_delta_watch_fault(access) || nof_delta_way_fault(address) || allowed(number, address));
    errno = saved;
    if (again)
        nof_delta_count(NOF_DELTA_COUNT_FAULTS, 1);
    else
        nof_delta_signal_pass_on(number, info, context);
    nof_delta_hold_leave();
}

bool nof_delta_fault_open(void)
{
    void *next = dlsym(RTLD_NEXT, "memcpy"); /* NULL: libc is looked up before this library */
    uintptr_t inside = (uintptr_t)(next != NULL ? next : dlsym(RTLD_DEFAULT, "memcpy"));
    if (!nof_delta_pages_open() || (libc_high == 0 && dl_iterate_phdr(find_libc, &inside) == 0))
        return false;
    return nof_delta_signal_take(SIGSEGV, on_fault) && nof_delta_signal_take(SIGBUS, on_fault);
}
