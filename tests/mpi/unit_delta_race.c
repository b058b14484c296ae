/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fault of a page whose message has ended before the handler looked is tried again, however often that happens at one address; one
 * that comes back although nothing has ended is the program's. The kernel's faults are signals that this thread sends itself. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"
#include "delta/delta_fault.h"
#include "delta/delta_watch.h"

static uint32_t ends;
static volatile sig_atomic_t passed_on;

bool nof_delta_watch_fault(struct nof_delta_access access)
{
    (void)access;
    return false; /* nobody's */
}

bool nof_delta_way_fault(uintptr_t address)
{
    (void)address;
    return false;
}

uint32_t nof_delta_watch_ends(void)
{
    return ends;
}

static void of_program(int number)
{
    (void)number;
    passed_on++;
}

/* Is it told the program? */
static bool fault(void *address)
{
    siginfo_t info;
    sig_atomic_t before = passed_on;

    memset(&info, 0, sizeof(info));
    info.si_signo = SIGBUS;
    info.si_code = BUS_ADRERR;
    info.si_addr = address;
    check(syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGBUS, &info) == 0);
    return passed_on != before;
}

int main(void)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction act = {.sa_handler = of_program};
    unsigned tries = 0;

    check(page != MAP_FAILED && sigaction(SIGBUS, &act, NULL) == 0);
    if (access("/proc/self/maps", R_OK) != 0) {
        printf("skipped: there is no /proc\n");
        return 77;
    }
    check(nof_delta_fault_open());
    for (int i = 0; i < 100; i++) {
        ends++;
        check(!fault(page));
    }
    while (!fault(page) && tries < 100)
        tries++;
    check(tries > 0 && tries < 10);
    ends++;
    check(!fault(page));
    check(munmap(page, 4096) == 0);
    check(fault(page)); /* nothing of ours was there */
    return 0;
}
