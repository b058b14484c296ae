/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fall-back DMA: where the kernel forbids the daemon to touch our memory, it asks us to copy between our
 * buffer and the assist area. The copy goes through process_vm_* on ourselves, which the kernel always
 * allows, so that a bad buffer is an answer (EFAULT) and not a crash; where even that system call is
 * filtered away, it is a plain memcpy. */
#include "pmd_state.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int copy_plain(bool to_user, void *user, void *area, size_t len_bytes)
{
    if (to_user)
        memcpy(user, area, len_bytes);
    else
        memcpy(area, user, len_bytes);
    return NOF_OK;
}

static int copy_checked(bool to_user, uint64_t addr, unsigned char *area, size_t len_bytes)
{
    size_t done = 0;

    while (done < len_bytes) {
        void *at = (void *)(uintptr_t)(addr + done); // NOLINT: an address told as a number
        struct iovec here = {.iov_base = area + done, .iov_len = len_bytes - done};
        struct iovec user = {.iov_base = at, .iov_len = len_bytes - done};
        ssize_t n = to_user ? process_vm_writev(getpid(), &here, 1, &user, 1, 0)
                            : process_vm_readv(getpid(), &here, 1, &user, 1, 0);

        if (n < 0 && errno == EFAULT)
            return NOF_EFAULT;
        if (n <= 0)
            return copy_plain(to_user, at, area + done, len_bytes - done);
        done += (size_t)n;
    }
    return NOF_OK;
}

void nof_pmd_assist(struct nof_pmd *pmd, const struct nof_comp *comp)
{
    const struct nof_bar_identity *id = &pmd->identity;
    uint64_t offset = comp->assist.area_offset;
    uint64_t len = comp->assist.area_len;
    int status = NOF_EINVAL;

    if (comp->assist.slot >= NOF_ASSIST_SLOTS)
        return; /* not of this ABI: nobody reads an answer */
    if (offset <= id->assist_bytes && len <= id->assist_bytes - offset)
        status = copy_checked((comp->flags & NOF_COMP_F_WRITE) != 0, comp->assist.addr,
                              pmd->bar + id->assist_offset + offset, len);

    uint64_t *word = &pmd->host_words->assist[comp->assist.slot];
    uint64_t before = __atomic_load_n(word, __ATOMIC_RELAXED); /* only we write it */
    uint16_t done = 0;

    if (before >> 32 == comp->assist.generation) {
        done = (uint16_t)(before >> 16);
        status = (int16_t)before != NOF_OK ? (int16_t)before : status;
    }
    /* What was copied into the area is there when the word says so. */
    __atomic_store_n(word, nof_assist_answer(comp->assist.generation, (uint16_t)(done + 1), (int16_t)status),
                     __ATOMIC_RELEASE);
}
