/* SPDX-License-Identifier: BSD-3-Clause */
#include "process_dma.h"

#include <stdlib.h>
#include <string.h>

#include "nof/bar.h"
#include "nof_private/buf_cursor.h"
#include "transport/wire.h"
#include "base/crc32c.h"

#define LATE_MAX_NS 2000000u
#define SOON_MAX_NS 10000u

struct copy {
    struct nof_dma *dma;
    uint32_t incarnation;
    bool write;
    unsigned nremote, nlocal;
    uint64_t token;
    struct nof_segment remote[NOF_DMA_SEGMENTS_MAX];
    struct nof_buf local[NOF_DMA_SEGMENTS_MAX];
};

/* Memory of a rank, which is ours here, or of the arena. */
static uint8_t *memory_at(const struct nof_dma *d, uint64_t addr)
{
    return addr & NOF_BAR_ARENA ? d->arena + (addr ^ NOF_BAR_ARENA) : (uint8_t *)(uintptr_t)addr;
}

static void copy_run(const struct copy *t)
{
    struct nof_buf_cursor c = nof_buf_begin(t->local, t->nlocal);
    for (unsigned i = 0; i < t->nremote; i++)
        (void)nof_buf_move(&c, memory_at(t->dma, t->remote[i].addr), t->remote[i].len_bytes, t->write);
    for (unsigned i = 0; i < t->nlocal && t->dma->sums && !t->write; i++)
        if (t->local[i].sum != NULL)
            nof_put32(t->local[i].sum, nof_crc32c(t->local[i].base, t->local[i].len_bytes));
}

static void copy_done(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct copy *t = user;
    int status = t->dma->alive ? NOF_OK : NOF_EFAULT;
    (void)arg;
    if (status == NOF_OK)
        copy_run(t);
    nof_cluster_dma_done(c, t->dma->nic, t->incarnation, t->token, status);
    free(t);
}

/* True: it lies in the arena, whole. */
static bool in_arena(const struct nof_dma *d, unsigned nremote, const struct nof_segment *remote)
{
    for (unsigned i = 0; i < nremote; i++)
        if (!(remote[i].addr & NOF_BAR_ARENA) || (remote[i].addr ^ NOF_BAR_ARENA) > d->arena_bytes ||
            remote[i].len_bytes > d->arena_bytes - (remote[i].addr ^ NOF_BAR_ARENA))
            return false;
    return true;
}

static bool valid(unsigned nremote, const struct nof_segment *remote, unsigned nlocal,
                  const struct nof_buf *local)
{
    uint64_t theirs = 0, ours = 0;
    if (nremote > NOF_DMA_SEGMENTS_MAX || nlocal > NOF_DMA_SEGMENTS_MAX)
        return false;
    for (unsigned i = 0; i < nremote; i++)
        theirs += remote[i].len_bytes;
    for (unsigned i = 0; i < nlocal; i++)
        ours += local[i].len_bytes;
    return theirs == ours && theirs <= NOF_DMA_BLOCK_BYTES && theirs > 0;
}

int nof_dma_run(struct nof_dma *d, bool write, const struct nof_segment *remote, unsigned nremote,
                const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    if (!valid(nremote, remote, nlocal, local)) {
        nof_cluster_fail(d->cluster, "%s: invalid DMA request (%u remote, %u local pieces)", d->name, nremote,
                         nlocal);
        return NOF_EFAULT;
    }
    bool near = in_arena(d, nremote, remote);
    if (!near && !d->is_inline && nof_rng_chance(&d->rng, 2))
        return NOF_EAGAIN;
    struct copy now = {.dma = d, .write = write, .nremote = nremote, .nlocal = nlocal, .token = token};
    memcpy(now.remote, remote, nremote * sizeof(*remote));
    memcpy(now.local, local, nlocal * sizeof(*local));
    now.incarnation = nof_cluster_incarnation(d->cluster, d->nic);
    if (near || d->is_inline || nof_rng_chance(&d->rng, 40)) {
        copy_run(&now);
        return NOF_DMA_DONE;
    }
    struct copy *t = malloc(sizeof(*t));
    if (t == NULL)
        abort();
    *t = now;
    uint64_t late_ns = nof_rng_chance(&d->rng, d->late_percent) ? nof_rng_below(&d->rng, LATE_MAX_NS)
                                                                : nof_rng_below(&d->rng, SOON_MAX_NS);
    nof_cluster_at(d->cluster, nof_cluster_now(d->cluster) + late_ns, copy_done, t, 0);
    return NOF_DMA_PENDING;
}
