/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank and a NIC on one pair of rings, both falling asleep whenever they find nothing: everything comes
 * once, in order, and nobody sleeps for ever. Two processes by default; `threads` for ThreadSanitizer. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"
#include "fake_nofd.h"
#include "pmd_driver.h"

#define BURST 32u

static struct fake_nofd fake;
static uint64_t total;

/* The NIC: answers every descriptor with a completion that carries its cookie. */
static int play_nic(void)
{
    uint64_t done = 0;
    uint64_t naps = 0;

    fake_answer(&fake);
    while (done < total) {
        struct nof_desc descs[BURST];
        struct nof_comp comps[BURST];
        unsigned n = fake_get(&fake, descs, BURST);

        for (unsigned i = 0; i < n; i++) {
            if (descs[i].cookie != done + i || descs[i].tag != (int32_t)((done + i) % 1000)) {
                fprintf(stderr, "descriptor %llu came in place %llu\n", (unsigned long long)descs[i].cookie,
                        (unsigned long long)(done + i));
                return 1;
            }
            memset(&comps[i], 0, sizeof(comps[i]));
            comps[i].opcode = NOF_COMP_SEND;
            comps[i].cookie = descs[i].cookie;
            comps[i].len = descs[i].len;
        }
        fake_complete(&fake, comps, n);
        done += n;
        if (n == 0 && done < total) {
            naps++;
            if (!fake_sleep(&fake, CHECK_PATIENCE_MS)) {
                fprintf(stderr, "the NIC was not woken after %llu descriptors\n", (unsigned long long)done);
                return 1;
            }
        }
    }
    printf("NIC: %llu descriptors, %llu naps, %llu wake-ups\n", (unsigned long long)done,
           (unsigned long long)naps, (unsigned long long)fake.wakes);
    return 0;
}

static void *nic_thread(void *unused)
{
    (void)unused;
    return play_nic() == 0 ? NULL : (void *)&fake;
}

static unsigned fill(struct nof_desc *descs, uint64_t first, uint64_t limit)
{
    unsigned n = limit - first < BURST ? (unsigned)(limit - first) : BURST;

    memset(descs, 0, n * sizeof(*descs));
    for (unsigned i = 0; i < n; i++) {
        descs[i].opcode = NOF_DESC_SEND;
        descs[i].cookie = first + i;
        descs[i].tag = (int32_t)((first + i) % 1000);
        descs[i].len = first + i;
    }
    return n;
}

static int play_rank(void)
{
    struct nof_pmd_attach_args args = {.socket = fake.address, .size = 1, .nic = UINT32_MAX};
    struct nof_pmd *pmd;
    char text[256] = "";
    uint64_t sent = 0;
    uint64_t got = 0;
    unsigned window = 1;

    if (nof_pmd_attach(&args, &pmd, text, sizeof(text)) != NOF_OK) {
        fprintf(stderr, "attach: %s\n", text);
        return 1;
    }
    while (got < total) {
        uint32_t seen = nof_pmd_wake_count(pmd);
        struct nof_desc descs[BURST];
        struct nof_comp comps[BURST];
        int n;

        /* From ping-pong to a full ring and back. */
        if (sent == got)
            window = window % (2 * FAKE_SLOTS) * 2 + 1;
        if (sent < total && sent - got < window) {
            n = nof_pmd_submit(
                pmd, descs,
                fill(descs, sent,
                     sent + window - (sent - got) < total ? sent + window - (sent - got) : total));
            if (n < 0)
                return 1;
            sent += (uint64_t)n;
        }
        n = nof_pmd_reap(pmd, comps, BURST);
        for (int i = 0; i < n; i++) {
            if (comps[i].cookie != got || comps[i].len != got) {
                fprintf(stderr, "completion %llu came in place %llu\n", (unsigned long long)comps[i].cookie,
                        (unsigned long long)got);
                return 1;
            }
            got++;
        }
        if (n < 0 || (n == 0 && nof_pmd_wait(pmd, seen, UINT64_MAX) != NOF_OK)) {
            fprintf(stderr, "after %llu completions: %s\n", (unsigned long long)got, nof_pmd_death(pmd));
            return 1;
        }
    }
    nof_pmd_detach(pmd);
    return 0;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    int status = 0;
    int rc;

    total = argc > 2 ? strtoull(argv[2], NULL, 10) : 200000;
    fake_open(&fake);
    if (threads) {
        pthread_t thread;
        void *failed;

        if (pthread_create(&thread, NULL, nic_thread, NULL) != 0)
            return 1;
        rc = play_rank();
        pthread_join(thread, &failed);
        status = failed != NULL;
    } else {
        pid_t nic = fork();

        if (nic == 0)
            exit(play_nic());
        rc = play_rank();
        waitpid(nic, &status, 0);
    }
    fake_close(&fake);
    return rc != 0 || status != 0;
}
