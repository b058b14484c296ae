/* SPDX-License-Identifier: BSD-3-Clause */
#include "gate.h"

#include <stdlib.h>
#include <string.h>

#include "nof/core.h"

#include "steer.h"

#define FRAME_BYTES 9300u
#define SHIFT 2u /* puts IP at a multiple of four */

struct nof_gate {
    uint32_t nblocks;
    _Alignas(8) uint8_t frame[SHIFT + FRAME_BYTES];
    union nof_steer_block block[];
};

static inline void *nof_steer_table(void *where, uint32_t core)
{
    (void)core; /* there is one */
    return where;
}

static inline const union nof_steer_block *nof_steer_block(void *table, uint32_t index)
{
    const struct nof_gate *gate = table;
    return index < gate->nblocks ? &gate->block[index] : NULL;
}

#include "steer_judge.h"

struct nof_gate *nof_gate_open(uint64_t nic_id, uint32_t ip4, uint32_t max_paths)
{
    uint32_t paths = max_paths != 0 ? max_paths : NOF_PATHS_DEFAULT;
    uint32_t n = NOF_STEER_BLOCK_PATHS + (paths + NOF_STEER_IDS - 1) / NOF_STEER_IDS;
    struct nof_gate *gate = calloc(1, sizeof(*gate) + n * sizeof(gate->block[0]));
    if (gate == NULL)
        return NULL;
    gate->nblocks = n;
    gate->block[0].head.nic_id = nic_id;
    gate->block[0].head.ip4 = STEER_BE32(ip4);
    return gate;
}

void nof_gate_close(struct nof_gate *gate)
{
    free(gate);
}

void nof_gate_conn(struct nof_gate *gate, uint32_t slot, uint64_t id)
{
    uint32_t at = NOF_STEER_BLOCK_DEAD * NOF_STEER_IDS + slot;
    if (at / NOF_STEER_IDS >= gate->nblocks)
        abort();
    gate->block[at / NOF_STEER_IDS].id[at % NOF_STEER_IDS] = id;
}

void nof_gate_group(struct nof_gate *gate, uint32_t ip4, bool join)
{
    struct nof_steer_head *head = &gate->block[0].head;
    uint32_t group = STEER_BE32(ip4);
    unsigned at = 0;
    if (join) { /* one entry for each join: those of one address are as many */
        if (head->ngroups == NOF_STEER_GROUPS)
            abort();
        head->group[head->ngroups++] = group;
        return;
    }
    while (at < head->ngroups && head->group[at] != group)
        at++;
    if (at < head->ngroups)
        head->group[at] = head->group[--head->ngroups];
}

unsigned nof_gate_pass(struct nof_gate *gate, struct nof_frame **out, struct nof_frame *const *frames,
                       unsigned n)
{
    unsigned passed = 0;
    for (unsigned i = 0; i < n; i++) {
        uint32_t len_bytes = frames[i]->len_bytes;
        const uint8_t *begin = gate->frame + SHIFT;
        if (len_bytes > FRAME_BYTES)
            abort();
        memcpy(gate->frame + SHIFT, frames[i]->data, len_bytes);
        if (nof_steer_judge(gate, begin, begin + len_bytes) == NOF_STEER_TAKEN)
            out[passed++] = frames[i];
    }
    return passed;
}
