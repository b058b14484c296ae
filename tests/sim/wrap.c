/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Looks into the core's own state. Numbers that are drawn (connections, nonces) have no end to be near to; those of 64
 * bits are not lived to see. */
#include "nic.h"
#include "transport/state.h"

#include "rng.h"
#include "wrap.h"

#define EVERY 10u
#define BEFORE_MAX 200u

uint32_t nof_wrap_of_seed(uint64_t seed)
{
    return seed % EVERY == 0 ? 1 + (uint32_t)(nof_rng_mix(seed + 0x3a9) % BEFORE_MAX) : 0;
}

/* Every object has been given out almost as often as its handle can tell. */
static void age_pool(struct nof_pool *pool)
{
    uint32_t taken = 0;
    while (nof_pool_take(pool) != NOF_NIL)
        taken++;
    for (uint32_t i = taken; i-- > 0;) {
        nof_pool_obj(pool, i)->gen = NOF_GEN_MAX - 2;
        nof_pool_give(pool, i);
    }
}

void nof_wrap_nic(struct nof_nic *nic, uint32_t before)
{
    struct nof_pool *const pool[] = {&nic->sends, &nic->recvs, &nic->envs,
                                     &nic->peers, &nic->reads, &nic->writes};
    nic->first_seq = 0u - before;
    nic->turn = 0u - before;
    nic->transport->near_wrap = before;
    nic->grants.epoch = UINT16_MAX - 2;
    for (uint32_t i = 0; i < nic->cfg.max_endpoints; i++)
        nic->eps[i].generation = UINT16_MAX - 1;
    for (unsigned i = 0; i < sizeof(pool) / sizeof(pool[0]); i++)
        if (pool[i]->used == 0)
            age_pool(pool[i]);
}
