/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../check.h"
#include "nofd/dma/dma_copy.h"

struct fake fake;

void fake_reset(void)
{
    fake = (struct fake){.possible = true, .lives = true};
}

bool nofd_dma_user_possible(const struct nofd_dma_user *user)
{
    (void)user;
    return fake.possible;
}

int nofd_dma_user_caps(uid_t uid, pid_t pid, uint64_t *caps_out)
{
    (void)uid;
    (void)pid;
    *caps_out = fake.caps;
    return fake.caps_say;
}

int nofd_dma_process_start(struct nofd_dma_process *p, struct nofd_loop *loop,
                           const struct nofd_dma_user *user,
                           void (*ended)(struct nofd_watch *watch, uint32_t events), char *err,
                           size_t err_bytes)
{
    (void)loop;
    (void)user;
    if (fake.start_says != 0) {
        snprintf(err, err_bytes, "no process");
        return fake.start_says;
    }
    check(fake.started < FAKE_PROCESSES);
    *p = (struct nofd_dma_process){
        .watch = {.fd = eventfd(1, EFD_CLOEXEC), .fn = ended}, .pid = 1000, .wake_fd = -1};
    p->ring = calloc(1, NOFD_DMA_RING_BYTES);
    check(p->ring != NULL && p->watch.fd >= 0);
    fake.process[fake.started++] = p;
    return 0;
}

void nofd_dma_process_kill(struct nofd_dma_process *p)
{
    p->ring->stop = 1;
    fake.killed++;
}

const char *nofd_dma_process_reap(struct nofd_dma_process *p, struct nofd_loop *loop)
{
    (void)p;
    (void)loop;
    return fake.reap_says;
}

void nofd_dma_process_free(struct nofd_dma_process *p)
{
    for (unsigned i = 0; i < fake.started; i++)
        if (fake.process[i] == p)
            fake.process[i] = NULL;
    close(p->watch.fd);
    free(p->ring);
    fake.freed++;
}

bool nofd_pidfd_alive(int pidfd)
{
    (void)pidfd;
    return fake.lives;
}

void nofd_lcore_run(struct nofd_lcore *lcore, void (*fn)(struct nofd_lcore *lcore, void *arg), void *arg)
{
    fn(lcore, arg);
}

int nofd_lcore_watch(struct nofd_lcore *lcore, int fd, bool edge)
{
    (void)lcore;
    (void)fd;
    (void)edge;
    return 0;
}

void nofd_lcore_unwatch(struct nofd_lcore *lcore, int fd)
{
    (void)lcore;
    (void)fd;
}

void nofd_lcore_wake(struct nofd_lcore *lcore)
{
    (void)lcore;
}

void nofd_lcore_tell_main(const struct nofd_lcore *lcore)
{
    (void)lcore;
    fake.main_told++;
}

void nof_nic_dma_done(struct nof_nic *nic, uint64_t now_ns, uint64_t token, int status)
{
    (void)nic;
    (void)now_ns;
    check(fake.nended < sizeof(fake.ended) / sizeof(fake.ended[0]));
    fake.ended[fake.nended].token = token;
    fake.ended[fake.nended++].status = status;
}

struct nofd_dma_order *fake_claim(struct nofd_dma_process *process)
{
    struct nofd_dma_ring *ring = process->ring;

    while (ring->taken != ring->posted) {
        struct nofd_dma_order *order = &ring->orders[ring->taken % NOFD_DMA_SLOTS];

        if (order->state == NOFD_ORDER_QUEUED) {
            order->state = NOFD_ORDER_CLAIMED;
            return order;
        }
        if (order->state == NOFD_ORDER_CLAIMED)
            break;
        ring->taken++;
    }
    return NULL;
}

void fake_finish(struct nofd_dma_process *process, struct nofd_dma_order *order, int status)
{
    order->status = status;
    order->state = NOFD_ORDER_DONE;
    process->ring->taken++;
}

unsigned fake_serve(struct nofd_dma_process *process)
{
    struct nofd_dma_order *order;
    unsigned n = 0;

    while ((order = fake_claim(process)) != NULL) {
        fake_finish(process, order, NOF_OK);
        n++;
    }
    return n;
}
