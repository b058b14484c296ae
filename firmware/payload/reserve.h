/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks for the payload of receives whose writes may be pending: a part of network memory of its own. A receive reserves
 * blocks before its sender may send, and takes single ones as bytes come, so a request that never ends costs the endpoint
 * its share and nobody else anything. */
#ifndef NOF_RESERVE_H
#define NOF_RESERVE_H

#include "nic.h"

/* Payload that a reserved block stands for. It holds more; the rest pays for the two blocks that are
 * not full: the last one of what is being written, and of what waits behind that. */
#define NOF_RESERVE_BYTES_PER_BLOCK 448u

/* A delta send's runs are at least a unit, unless they are the last, and each begins a block: so many blocks pay for the pieces
 * of runs. */
#define NOF_RESERVE_BROKEN 3u

#define NOF_RESERVE_LEAST 16u /* blocks that a rendezvous begins with */

static inline uint64_t nof_reserve_per_block(uint32_t unit_log2)
{
    uint64_t unit = unit_log2 < 16 ? 1ull << unit_log2 : NOF_RESERVE_BYTES_PER_BLOCK;
    return unit_log2 > 0 && unit < NOF_RESERVE_BYTES_PER_BLOCK ? unit : NOF_RESERVE_BYTES_PER_BLOCK;
}
/* Blocks for so many bytes of r; bytes that fit into those which it has, however they come. */
static inline uint64_t nof_reserve_need(const struct nof_recv *r, uint64_t bytes)
{
    return bytes / nof_reserve_per_block(r->unit_log2) + 2 + (r->unit_log2 > 0 ? NOF_RESERVE_BROKEN : 0);
}
static inline uint64_t nof_reserve_bytes(const struct nof_recv *r)
{
    uint64_t broken = r->unit_log2 > 0 ? NOF_RESERVE_BROKEN : 0;
    uint64_t blocks = r->reserved_blocks > broken ? r->reserved_blocks - broken : 0;
    return blocks * nof_reserve_per_block(r->unit_log2);
}

/* Up to `want` blocks for r; returns how many it got (0 or at least `least`). */
uint32_t nof_reserve_take(struct nof_nic *nic, struct nof_recv *r, uint32_t want, uint32_t least);
/* The same for one whose sender may be long in sending: of what is nobody's minimum, of which an endpoint has a quarter for such, and one
 * receive a quarter of what is left of that, or `least`. */
uint32_t nof_reserve_ahead(struct nof_nic *nic, struct nof_recv *r, uint32_t want, uint32_t least);
/* All that r has, when none is in use. */
void nof_reserve_give(struct nof_nic *nic, struct nof_recv *r);
/* All of `want` blocks for r, out of those that no endpoint's minimum needs, or none (false). They count
 * as the endpoint's only when claimed, or given back. */
bool nof_reserve_borrow(struct nof_nic *nic, struct nof_recv *r, uint32_t want);
void nof_reserve_claim(struct nof_nic *nic, const struct nof_recv *r);

/* n blocks of r's reserve, in a chain; NOF_NIL: it has used them up. */
static inline uint32_t nof_reserve_chain(struct nof_nic *nic, struct nof_recv *r, uint32_t n)
{
    if (n > r->reserved_blocks - r->used_blocks)
        return NOF_NIL;
    uint32_t chain = nof_netmem_take(&nic->netmem, n);
    if (chain != NOF_NIL)
        r->used_blocks += n;
    return chain;
}
/* Such a chain is free again. */
static inline void nof_reserve_free(struct nof_nic *nic, struct nof_recv *r, uint32_t chain)
{
    r->used_blocks -= nof_netmem_free(&nic->netmem, chain);
}

#endif
