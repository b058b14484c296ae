/* SPDX-License-Identifier: BSD-3-Clause */
#include "hostile_copy.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

void hostile_know_myself(struct intruder *in)
{
    struct nof_desc peer = {.opcode = NOF_DESC_PEER, .peer = 0};

    memcpy(peer.inline_data, &in->id.card, sizeof(in->id.card));
    hostile_submit(in, &peer);
}

void hostile_transfer(struct intruder *in, void *from, void *to)
{
    static int32_t tag;
    struct nof_desc receive = {.opcode = NOF_DESC_RECV,
                               .cookie = 1,
                               .peer = 0,
                               .tag = ++tag,
                               .len = HOSTILE_LEN,
                               .addr = (uint64_t)(uintptr_t)to};
    struct nof_desc send = {.opcode = NOF_DESC_SEND,
                            .cookie = 2,
                            .peer = 0,
                            .tag = tag,
                            .len = HOSTILE_LEN,
                            .addr = (uint64_t)(uintptr_t)from};

    hostile_submit(in, &receive);
    hostile_submit(in, &send);
}

/* Status of the completion of `opcode`, or 1 after ms. */
int hostile_await(struct intruder *in, int opcode, int ms)
{
    struct timespec nap = {.tv_nsec = 1000000};

    while (ms-- > 0) {
        struct nof_comp comp;

        while (nof_ring_get(in->complete, &comp, 1) == 1)
            if (comp.opcode == opcode)
                return comp.status;
        nanosleep(&nap, NULL);
    }
    return 1;
}

uint8_t *hostile_buffer(void)
{
    void *p =
        mmap(NULL, HOSTILE_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    check(p != MAP_FAILED);
    return p;
}

void hostile_become_nobody(void)
{
    check(setresgid(HOSTILE_NOBODY, HOSTILE_NOBODY, HOSTILE_NOBODY) == 0);
    check(setresuid(HOSTILE_NOBODY, HOSTILE_NOBODY, HOSTILE_NOBODY) == 0);
    check(prctl(PR_SET_DUMPABLE, 1) == 0); /* as any program that user starts */
}

static bool is_live_child_of(int pid, int parent)
{
    char path[64];
    int found = 0;
    char state = 'Z';
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "r");
    if (file == NULL)
        return false;
    if (fscanf(file, "%*d %*s %c %d", &state, &found) != 2)
        found = 0;
    fclose(file);
    return found == parent && state != 'Z' && state != 'X';
}

unsigned hostile_signal_helpers(const struct hostile *h, int signal_number)
{
    unsigned n = 0;

    for (int pid = 2; pid < 4194304 && pid < (int)h->nofd + 200000; pid++)
        if (kill(pid, 0) == 0 && is_live_child_of(pid, (int)h->nofd) && kill(pid, signal_number) == 0)
            n++;
    return n;
}
