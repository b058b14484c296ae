/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/wait_board.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lib.h"
#include "nof_private/fence.h"

struct nof_board_place *nof_board;
uint64_t nof_board_nap_ns = UINT64_MAX;

void nof_board_open(void)
{
    const char *text = getenv(NOF_BOARD_ENV);
    struct stat st;
    if (text == NULL)
        return;
    int fd = atoi(text);
    size_t all = (size_t)nof_lib.world_size * sizeof(*nof_board);
    /* Another launcher below ours may have handed our environment on without the descriptor. */
    if (fd < 3 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size != (off_t)all)
        return;
    struct nof_board_place *places = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (places == MAP_FAILED)
        return;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    nof_board = &places[nof_lib.world_rank];
    nof_board_nap_ns = NOF_BOARD_AFTER_NS;
    __atomic_store_n(&nof_board->phase, NOF_BOARD_RUNNING, __ATOMIC_RELEASE);
}

void nof_board_count(unsigned at, uint64_t value)
{
    if (nof_board != NULL)
        nof_board->counted[at] = value;
}

void nof_board_close(void)
{
    if (nof_board != NULL)
        __atomic_store_n(&nof_board->phase, NOF_BOARD_FINALIZED, __ATOMIC_RELEASE);
    nof_board = NULL;
    nof_board_nap_ns = UINT64_MAX;
}

static void begin_write(void)
{
    __atomic_store_n(&nof_board->seq, nof_board->seq + 1, __ATOMIC_RELAXED);
    nof_fence_full();
}

static void end_write(void)
{
    __atomic_store_n(&nof_board->seq, nof_board->seq + 1, __ATOMIC_RELEASE);
}

bool nof_board_begin(const char *call, uint64_t *since_ns, uint64_t now_ns)
{
    if (*since_ns == 0)
        *since_ns = now_ns;
    nof_board_nap_ns = NOF_BOARD_AFTER_NS;
    if (now_ns - *since_ns < NOF_BOARD_AFTER_NS || nof_board->kind != NOF_BOARD_NOTHING)
        return false; /* or another thread is on it */
    nof_board_nap_ns = NOF_BOARD_AGAIN_NS;
    begin_write();
    nof_board->kind = NOF_BOARD_CALL;
    nof_board->tag = NOF_BOARD_ANY;
    nof_board->since_ns = *since_ns;
    nof_board->bytes = 0;
    nof_board->posted = 0;
    nof_board->sends = 0;
    nof_board->unlooked = 0;
    nof_board->peers = 0;
    nof_board->comm[0] = '\0';
    nof_board->missing[0] = '\0';
    snprintf(nof_board->call, sizeof(nof_board->call), "%.39s", call + (call[0] == 'P'));
    return true;
}

void nof_board_name_comm(const char *name)
{
    snprintf(nof_board->comm, sizeof(nof_board->comm), "%.47s",
             name[0] != '\0' ? name : "a communicator without a name");
}

void nof_board_add_peer(int32_t peer)
{
    for (uint32_t i = 0; i < nof_board->peers && i < NOF_BOARD_PEERS; i++)
        if (nof_board->peer[i] == peer)
            return;
    if (nof_board->peers < NOF_BOARD_PEERS)
        nof_board->peer[nof_board->peers++] = peer;
}

void nof_board_end(void)
{
    end_write();
}

void nof_board_clear(void)
{
    if (nof_board == NULL)
        return;
    begin_write();
    nof_board->kind = NOF_BOARD_NOTHING;
    end_write();
}
