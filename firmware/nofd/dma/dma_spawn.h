/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A DMA helper as a process: build/nofd-dma, found beside nofd, with a ring and a window of its own (dma_ring.h), an
 * address space of its own, and nothing else of ours.
 *
 *   start -> ... -> kill, or its user kills it -> ended() on the main thread, by the loop -> free
 *
 * Threads: main; nofd_dma_process_kill() also the core. */
#ifndef NOFD_DMA_SPAWN_H
#define NOFD_DMA_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nofd/dma/dma_ring.h"
#include "nofd/sys/loop.h"

struct nofd_dma_process {
    struct nofd_watch watch; /* its pidfd; -1: not running */
    pid_t pid;
    int wake_fd; /* eventfd, written by the helper while core_asleep */
    struct nofd_dma_ring *ring; /* with the window behind it */
    int signal; /* reaped: that it died of, 0: none */
    bool crashed; /* by one that programs bring upon themselves */
};

/* Whom a helper copies for. */
struct nofd_dma_user {
    uid_t uid;
    gid_t gid;
    uint64_t caps; /* permitted set of its ranks */
};

/* Whether the ids can be taken on at all: own ids always, others with the capabilities to. */
bool nofd_dma_user_possible(const struct nofd_dma_user *user);
/* The permitted capabilities of a process, where they count: 0 for any user but root. 0 or -errno. */
int nofd_dma_user_caps(uid_t uid, pid_t pid, uint64_t *caps_out);

/* ended: called by the loop once the process has ended; then nofd_dma_process_free(). 0, or -errno with a sentence. */
int nofd_dma_process_start(struct nofd_dma_process *process, struct nofd_loop *loop,
                           const struct nofd_dma_user *user,
                           void (*ended)(struct nofd_watch *watch, uint32_t events), char *err,
                           size_t err_bytes);
/* Tells it to end, and sees to it where the kernel lets us. */
void nofd_dma_process_kill(struct nofd_dma_process *process);
/* Takes its exit status, waiting for it if need be; why it could not start, and others would not either, or NULL. */
const char *nofd_dma_process_reap(struct nofd_dma_process *process, struct nofd_loop *loop);
void nofd_dma_process_free(struct nofd_dma_process *process);

static inline uint8_t *nofd_dma_block(const struct nofd_dma_process *process, unsigned block)
{
    return (uint8_t *)process->ring + NOFD_DMA_WINDOW_OFFSET + block * (size_t)NOF_DMA_BLOCK_BYTES;
}

#endif
