/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The copy between a process and ourselves, and whether that process is still the one that was meant.
 *
 * process_vm_* goes by number, and the kernel gives a dead process's number to another. A pidfd does not: as long as
 * the process of the pidfd has not ended, the number is its own. So a copy is good when the pidfd is alive *after* it,
 * and a write is begun only when it is alive before. What remains between that look and the system call, and why it
 * harms nobody, is in docs/decisions. No lock, no heap; any thread, and the helper program. */
#ifndef NOFD_DMA_COPY_H
#define NOFD_DMA_COPY_H

#include <stdbool.h>
#include <sys/types.h>

#include "nof/port.h"

/* Resumes after short counts. Totals of both lists are equal. Returns NOF_OK; NOF_EINVAL (more than NOF_DMA_SEGMENTS_MAX);
 * NOF_EFAULT (a page is not there, or may not be written); NOF_EPEERDEAD (no such process); NOF_EPERM (the kernel
 * forbids it). Pages are written only where the process itself may write them. */
int nofd_dma_copy(pid_t pid, bool write, const struct nof_segment *remote, unsigned nremote,
                  const struct nof_buf *local, unsigned nlocal);

/* The process of a pidfd has not ended. */
bool nofd_pidfd_alive(int pidfd);

#endif
