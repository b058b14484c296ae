/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/netmem.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof(struct nof_stored) <= NOF_STORED_BYTES, "a stored message keeps its header in 64 bytes");

void nof_netmem_init(struct nof_netmem *nm, void *data, uint32_t *next, uint32_t *held, uint32_t nblocks)
{
    *nm = (struct nof_netmem){.data = data, .next = next, .held = held, .nblocks = nblocks, .head = NOF_NIL};
}

static uint32_t take_one(struct nof_netmem *nm)
{
    uint32_t b = nm->head;
    if (b != NOF_NIL)
        nm->head = nm->next[b];
    else
        nm->held[b = nm->high++] = 0;
    nm->used++;
    return b;
}

uint32_t nof_netmem_take(struct nof_netmem *nm, uint32_t n)
{
    if (n > nm->nblocks - nm->used)
        return NOF_NIL;
    uint32_t first = NOF_NIL;
    uint32_t last = NOF_NIL;
    /* bound: blocks of one message, 64 KiB, or of one reserve; paid by the flow's bytes */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t b = take_one(nm);
        if (last == NOF_NIL)
            first = b;
        else
            nm->next[last] = b;
        last = b;
    }
    nm->next[last] = NOF_NIL;
    if (nm->used > nm->peak)
        nm->peak = nm->used;
    return first;
}

uint32_t nof_netmem_free(struct nof_netmem *nm, uint32_t chain)
{
    uint32_t n = 1;
    uint32_t last = chain;
    /* bound: blocks of one chain; paid by the flow's bytes */
    while (nm->next[last] != NOF_NIL) {
        last = nm->next[last];
        n++;
    }
    nm->next[last] = nm->head;
    nm->head = chain;
    nm->used -= n;
    return n;
}

struct nof_stored *nof_stored_at(const struct nof_netmem *nm, uint32_t chain)
{
    void *at = nof_netmem_at(nm, chain);
    return at;
}

uint32_t nof_stored_take(struct nof_netmem *nm, uint64_t len_bytes, bool sync)
{
    uint32_t blocks = nof_netmem_charge(len_bytes, sync);
    uint32_t chain = nof_netmem_take(nm, blocks);
    if (chain == NOF_NIL)
        return NOF_NIL;
    *nof_stored_at(nm, chain) = (struct nof_stored){
        .len = len_bytes, .tail = chain, .owner = NOF_NIL, .blocks = blocks, .line = NOF_NIL};
    return chain;
}

uint32_t nof_stored_hold(struct nof_netmem *nm, uint32_t chain)
{
    nm->gen = nm->gen >= NOF_GEN_MAX ? 1 : nm->gen + 1;
    nm->held[chain] = nm->gen;
    nof_stored_at(nm, chain)->owner_kind = NOF_STORED_HELD;
    return nm->gen;
}

bool nof_stored_unhold(struct nof_netmem *nm, uint32_t chain, uint32_t gen)
{
    if (chain >= nm->high || gen == 0 || nm->held[chain] != gen)
        return false;
    nm->held[chain] = 0;
    return true;
}

void nof_stored_rewind(struct nof_netmem *nm, uint32_t chain)
{
    struct nof_stored *st = nof_stored_at(nm, chain);
    st->arrived = 0;
    st->tail = chain;
}

void nof_stored_append(struct nof_netmem *nm, uint32_t chain, const uint8_t *data, uint32_t n)
{
    struct nof_stored *st = nof_stored_at(nm, chain);
    /* bound: bytes of one frame; paid by the flow's bytes */
    while (n > 0) {
        uint32_t at = (NOF_STORED_BYTES + st->arrived) % NOF_NETMEM_BLOCK;
        if (at == 0)
            st->tail = nm->next[st->tail];
        uint32_t room = NOF_NETMEM_BLOCK - at;
        uint32_t piece = n < room ? n : room;
        memcpy(nof_netmem_at(nm, st->tail) + at, data, piece);
        data += piece;
        n -= piece;
        st->arrived += piece;
    }
}

unsigned nof_chain_bufs(const struct nof_netmem *nm, uint32_t chain, uint32_t skip, uint32_t n,
                        struct nof_buf *bufs, unsigned max, uint32_t *covered_out)
{
    unsigned count = 0;
    uint32_t covered = 0;
    /* bound: blocks of one chain, 64 KiB; paid by the flow's bytes */
    for (; skip >= NOF_NETMEM_BLOCK; skip -= NOF_NETMEM_BLOCK)
        chain = nm->next[chain];
    /* bound: NOF_DMA_SEGMENTS_MAX, 64, and the blocks that touch; paid by the flow's bytes */
    while (covered < n && count < max) {
        uint32_t piece = NOF_NETMEM_BLOCK - skip;
        if (piece > n - covered)
            piece = n - covered;
        unsigned char *at = nof_netmem_at(nm, chain) + skip;
        if (count > 0 && (unsigned char *)bufs[count - 1].base + bufs[count - 1].len_bytes == at)
            bufs[count - 1].len_bytes += piece;
        else
            bufs[count++] = (struct nof_buf){.base = at, .len_bytes = piece};
        covered += piece;
        skip = 0;
        chain = nm->next[chain];
    }
    *covered_out = covered;
    return count;
}

void nof_stored_copy(const struct nof_netmem *nm, uint32_t chain, uint8_t *to, uint32_t n)
{
    uint32_t skip = NOF_STORED_BYTES;
    /* bound: bytes of one message, 64 KiB; paid by the flow's bytes */
    while (n > 0) {
        uint32_t piece = NOF_NETMEM_BLOCK - skip;
        if (piece > n)
            piece = n;
        memcpy(to, nof_netmem_at(nm, chain) + skip, piece);
        to += piece;
        n -= piece;
        skip = 0;
        chain = nm->next[chain];
    }
}
